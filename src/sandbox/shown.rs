//! What every box shows, read-only: system libraries, the linker, the toolchain. Nothing else of the machine.

use camino::{Utf8Path, Utf8PathBuf};
use std::env::var;

/// Folders and links at the root that programs, libraries and linkers are in.
pub(super) const ROOTS: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"];

/// What the loader, the linker driver and libc read of `/etc`; no secrets among them.
pub(super) const ETC: &[&str] = &[
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/alternatives",
    "/etc/passwd",
    "/etc/group",
    "/etc/nsswitch.conf",
    "/etc/localtime",
];

/// What finding hosts takes.
const NETWORK: &[&str] = &["/etc/resolv.conf", "/etc/hosts", "/etc/host.conf", "/etc/gai.conf", "/etc/services"];

/// The certificates of public authorities; private keys are in the folders beside them.
const CERTIFICATES: &[&str] = &[
    "/etc/ssl/certs",
    "/etc/ssl/cert.pem",
    "/etc/ssl/openssl.cnf",
    "/etc/pki/tls/certs",
    "/etc/pki/ca-trust",
    "/etc/ca-certificates",
];

/// What finding hosts and checking their certificates takes, where it is.
pub(super) fn network() -> Vec<Utf8PathBuf> {
    there(NETWORK).chain(there(CERTIFICATES)).collect()
}

/// The machine's certificates of public authorities: some programs do not start without, whatever they reach.
#[must_use]
pub fn certificates() -> Vec<Utf8PathBuf> {
    there(CERTIFICATES).collect()
}

fn there(paths: &'static [&'static str]) -> impl Iterator<Item = Utf8PathBuf> {
    paths.iter().map(Utf8PathBuf::from).filter(|path| path.exists())
}

/// Programs of the toolchain, by their names in the system's folders.
const TOOLS: &[&str] = &["cargo", "rustc", "rustdoc", "rustup", "rustfmt", "cargo-clippy", "clippy-driver", "cargo-nextest"];

/// What of the system's folders has to be covered where there is to be no toolchain: folders, and programs.
pub(super) fn toolchain_in_roots() -> (Vec<Utf8PathBuf>, Vec<Utf8PathBuf>) {
    let in_roots = |path: &Utf8PathBuf| ROOTS.iter().any(|root| path.starts_with(root));
    let real = |path: Utf8PathBuf| path.canonicalize_utf8().unwrap_or(path);
    let folders = toolchains().into_iter().chain([Utf8PathBuf::from("/usr/lib/rustlib")]);
    let folders = folders.map(real).filter(in_roots).filter(|f| f.is_dir()).collect();
    let at = ["/usr/bin", "/usr/local/bin", "/usr/local/sbin"].into_iter();
    let programs = at.flat_map(|dir| TOOLS.iter().map(move |tool| Utf8Path::new(dir).join(tool)));
    let programs = programs.filter(|p| p.is_file()).map(real).filter(in_roots).collect::<std::collections::BTreeSet<_>>();
    (folders, programs.into_iter().collect())
}

/// What of the caller's environment a box has, beside what its command sets.
pub(super) const ENVIRONMENT: &[&str] =
    &["PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "CARGO_HOME"];

/// The caller's home, where it has one that can be covered.
pub(super) fn home() -> Option<Utf8PathBuf> {
    var("HOME").ok().map(Utf8PathBuf::from).filter(|h| h.is_absolute() && h.parent().is_some())
}

/// rustup's toolchains and the folder of its proxies.
pub(super) fn toolchains() -> Vec<Utf8PathBuf> {
    let at = |name: &str, under: &str| var(name).ok().map(Utf8PathBuf::from).or_else(|| home().map(|h| h.join(under)));
    let folders = [at("RUSTUP_HOME", ".rustup"), at("CARGO_HOME", ".cargo").map(|c| c.join("bin"))];
    folders.into_iter().flatten().filter(|p| p.is_absolute() && p.is_dir()).collect()
}

/// What a program outside of the system's folders needs: the toolchain that it is the compiler of, else itself.
pub(super) fn of_program(program: &std::ffi::OsStr, path: Option<&std::ffi::OsStr>) -> Option<Utf8PathBuf> {
    let program = Utf8Path::new(program.to_str()?);
    let found = match program.components().count() {
        1 => std::env::split_paths(path?).map(|dir| dir.join(program)).find(|p| p.is_file())?,
        _ => program.into(),
    };
    let found = Utf8PathBuf::from_path_buf(found.canonicalize().ok()?).ok()?;
    if ROOTS.iter().any(|root| found.starts_with(root)) {
        return None;
    }
    let sysroot = found.parent().and_then(Utf8Path::parent).filter(|root| root.join("lib/rustlib").is_dir());
    Some(sysroot.map_or_else(|| found.clone(), Utf8Path::to_owned))
}
