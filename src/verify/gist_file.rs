//! A gist as it lies on the disk: what stands in its place need not be a file, and not a small one.

use super::verdict::Verdict;
use crate::source::nesting::{DEEPEST, too_deep};
use camino::Utf8Path;
use nix::fcntl::OFlag;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;

/// The largest gist that is read, in bytes: far more than any bundle that was met.
pub const MAX_BYTES: u64 = 16 << 20;

/// The text of the gist at `path`, or the fault that it is: nothing there or no file is `no-gist`, a symbolic link (it leads out) and a
/// file beyond [`MAX_BYTES`] are `forbidden`, bytes that are not UTF-8 do not compile, nor does what is nested too deep.
///
/// # Errors
/// The fault class, and the reason for people.
pub fn read_gist(path: &Utf8Path) -> Result<String, (Verdict, String)> {
    let no_gist = |reason: String| (Verdict::NoGist, reason);
    // A pipe must not keep us waiting, nor may what is looked at be exchanged before it is read.
    let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(|e| match e.kind() {
        ErrorKind::NotFound => no_gist(format!("there is no file {path}")),
        _ if path.is_symlink() => (Verdict::Forbidden, format!("{path} is a symbolic link, not a file")),
        _ => no_gist(format!("{path} can't be read: {e}")),
    })?;
    let about = file.metadata().map_err(|e| no_gist(format!("{path} can't be read: {e}")))?;
    if !about.is_file() {
        return Err(no_gist(format!("{path} is no regular file")));
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|e| no_gist(format!("{path} can't be read: {e}")))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err((Verdict::Forbidden, format!("{path} is larger than {} MiB", MAX_BYTES >> 20)));
    }
    let text = String::from_utf8(bytes).map_err(|e| {
        let line = e.as_bytes()[..e.utf8_error().valid_up_to()].iter().filter(|b| **b == b'\n').count() + 1;
        (Verdict::DoesNotCompile, format!("{path} is not UTF-8 at line {line}"))
    })?;
    if text.trim().is_empty() {
        return Err(no_gist(format!("there is nothing in {path}")));
    }
    match too_deep(&text) {
        Some(line) => {
            Err((Verdict::DoesNotCompile, format!("{path} is nested deeper than {DEEPEST} tokens at line {line}")))
        }
        None => Ok(text),
    }
}

#[cfg(test)]
mod unit {
    use super::*;
    use crate::compile::{temp_dir, utf8};

    #[test]
    fn what_is_no_small_text_file_is_a_fault_that_is_named() {
        let room = temp_dir().unwrap();
        let dir = utf8(room.path()).unwrap();
        let told =
            |name: &str| read_gist(&dir.join(name)).map_err(|(verdict, reason)| (verdict, reason.replace(dir.as_str(), "")));
        let fault = |name: &str, verdict: Verdict, reason: &str| assert_eq!(told(name), Err((verdict, reason.to_owned())));
        fault("gone.rs", Verdict::NoGist, "there is no file /gone.rs");
        std::fs::create_dir(dir.join("folder.rs")).unwrap();
        fault("folder.rs", Verdict::NoGist, "/folder.rs is no regular file");
        std::fs::write(dir.join("good.rs"), "fn a() {}").unwrap();
        assert_eq!(told("good.rs").unwrap(), "fn a() {}");
        std::os::unix::fs::symlink(dir.join("good.rs"), dir.join("link.rs")).unwrap();
        fault("link.rs", Verdict::Forbidden, "/link.rs is a symbolic link, not a file");
        nix::unistd::mkfifo(dir.join("pipe.rs").as_std_path(), nix::sys::stat::Mode::S_IRWXU).unwrap();
        fault("pipe.rs", Verdict::NoGist, "/pipe.rs is no regular file");
        std::fs::write(dir.join("blank.rs"), " \n\t\n").unwrap();
        fault("blank.rs", Verdict::NoGist, "there is nothing in /blank.rs");
        std::fs::write(dir.join("deep.rs"), format!("fn a() {{\n{}{} }}", "[".repeat(1 << 20), "]".repeat(1 << 20)))
            .unwrap();
        fault("deep.rs", Verdict::DoesNotCompile, "/deep.rs is nested deeper than 20000 tokens at line 2");
        std::fs::write(dir.join("bytes.rs"), b"fn a() {}\n// \xff").unwrap();
        fault("bytes.rs", Verdict::DoesNotCompile, "/bytes.rs is not UTF-8 at line 2");
        let large = std::fs::File::create(dir.join("large.rs")).unwrap();
        large.set_len(200 << 20).unwrap();
        fault("large.rs", Verdict::Forbidden, "/large.rs is larger than 16 MiB");
    }
}
