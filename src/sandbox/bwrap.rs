//! bubblewrap's arguments: an allow-list, never the whole machine.
//!
//! As root a plain bubblewrap is no box at all: it keeps all capabilities, and remounts what is read-only. So the user
//! in the box is always another one, without capabilities, and can't make user namespaces.

use super::{Spec, shown};
use camino::{Utf8Path, Utf8PathBuf};
use std::ffi::OsString;
use std::path::Path;

/// Where this binary is in the box.
pub(super) const INSIDE: &str = "/.gistify";

/// What comes before `-- PROGRAM`.
pub(super) fn arguments(spec: &Spec, exe: &Path, home: Option<&Utf8Path>, cwd: &Utf8Path) -> Vec<OsString> {
    let mut args = Args(Vec::new());
    args.add(["--unshare-all", "--unshare-user", "--uid", "1000", "--gid", "1000", "--cap-drop", "ALL", "--disable-userns"]);
    args.add(["--die-with-parent", "--new-session"]);
    if spec.policy.network {
        args.add(["--share-net"]);
    }
    for root in shown::ROOTS {
        match std::fs::read_link(root) {
            Ok(target) => args.add(["--symlink", &target.to_string_lossy(), root]),
            Err(_) => args.add(["--ro-bind-try", root, root]),
        }
    }
    for file in shown::ETC {
        args.add(["--ro-bind-try", file, file]);
    }
    args.add(
        if spec.host_proc { ["--ro-bind", "/proc", "/proc"].as_slice() } else { ["--proc", "/proc"].as_slice() }.iter(),
    );
    args.add(["--dev", "/dev"]);
    let size = spec.policy.limits.tmp_bytes.to_string();
    for folder in ["/tmp", "/var/tmp", "/dev/shm"].into_iter().chain(home.map(Utf8Path::as_str)) {
        args.add(["--size", &size, "--tmpfs", folder]);
    }
    for (path, writable) in binds(spec) {
        args.add([if writable { "--bind" } else { "--ro-bind" }, path.as_str(), path.as_str()]);
    }
    if spec.policy.without_toolchain {
        let (folders, programs) = shown::toolchain_in_roots();
        folders.iter().for_each(|folder| args.add(["--tmpfs", folder.as_str(), "--remount-ro", folder.as_str()]));
        programs.iter().for_each(|program| args.add(["--ro-bind", "/dev/null", program.as_str()]));
    }
    args.add(["--dir", cwd.as_str()]);
    args.0.extend(["--ro-bind".into(), exe.into(), INSIDE.into()]);
    // Both are memory without a bound, which the user in the box owns.
    args.add(["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", cwd.as_str()]);
    args.0
}

/// What the policy shows, outer folders first, so that none covers another.
fn binds(spec: &Spec) -> Vec<(Utf8PathBuf, bool)> {
    let paths = |paths: &[Utf8PathBuf], writable| paths.iter().map(|p| (p.clone(), writable)).collect::<Vec<_>>();
    let mut all = paths(&spec.policy.read_only, false);
    all.extend(paths(&spec.policy.writable, true));
    all.sort_by_key(|(path, writable)| (path.components().count(), *writable));
    all.dedup();
    all
}

struct Args(Vec<OsString>);

impl Args {
    fn add<S: AsRef<str>>(&mut self, args: impl IntoIterator<Item = S>) {
        self.0.extend(args.into_iter().map(|a| OsString::from(a.as_ref())));
    }
}
