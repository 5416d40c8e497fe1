//! Folders of one process that the next one clears away when it was killed.

use camino::{Utf8Path, Utf8PathBuf};
use cargo_gistify::error::{Error, Result};
use std::fs::{DirBuilder, File};
use std::os::unix::fs::PermissionsExt;
use tempfile::TempDir;

/// The file whose lock says that somebody is still there; it stands beside the folder's own files.
const LOCK: &str = ".lock";

/// A folder of its own, which goes when it is dropped.
pub(super) struct Room {
    dir: TempDir,
    _lock: File,
}

impl Room {
    /// A new folder in `parent`, named `prefix` and something. What killed processes left there under that prefix is removed: nobody holds its lock.
    pub(super) fn new(parent: &Utf8Path, prefix: &str) -> Result<Room> {
        DirBuilder::new().recursive(true).create(parent).map_err(Error::path("make the directory", parent))?;
        sweep(parent, prefix)?;
        let mut builder = tempfile::Builder::new();
        // What is in it is nobody else's to read.
        builder.prefix(prefix).permissions(std::fs::Permissions::from_mode(0o700));
        let dir = builder.tempdir_in(parent).map_err(Error::path("write to", parent))?;
        // Who looks for what nobody holds must not find it before it is held.
        let [new, path] = [".lock.new", LOCK].map(|name| dir.path().join(name));
        let held = || {
            let lock = File::create(&new)?;
            lock.lock()?;
            std::fs::rename(&new, &path).map(|()| lock)
        };
        let lock = held().map_err(Error::io("failed to lock a folder"))?;
        Ok(Room { dir, _lock: lock })
    }

    /// Where it is.
    pub(super) fn path(&self) -> Result<&Utf8Path> {
        let path = self.dir.path();
        Utf8Path::from_path(path).ok_or_else(|| Error::Usage(format!("{} is not UTF-8", path.display())))
    }
}

/// Removes the folders of processes that are no longer there.
pub(super) fn sweep(parent: &Utf8Path, prefix: &str) -> Result<()> {
    for entry in parent.read_dir_utf8().into_iter().flatten().flatten() {
        let dir = entry.path();
        if !entry.file_name().starts_with(prefix) {
            continue;
        }
        // Without a lock it is being made, or being removed.
        let Ok(lock) = File::open(dir.join(LOCK)) else { continue };
        if lock.try_lock().is_ok() {
            match std::fs::remove_dir_all(dir) {
                // Another process was quicker.
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
                removed => removed.map_err(Error::path("remove what an earlier run left, ", dir))?,
            }
        }
    }
    Ok(())
}

/// Has all temporary files of this process in a folder of its own, so that what a killed one left is found by the next with the same `name`.
pub(super) fn temporary(name: &str) -> Result<Room> {
    let parent = Utf8PathBuf::from_path_buf(std::env::temp_dir());
    let parent = parent.map_err(|p| Error::Setup(format!("{} is not UTF-8", p.display())))?;
    let room = Room::new(&parent, &format!("gistify-bench-{name}-"))?;
    // Nothing has asked for a temporary file yet.
    let _ = tempfile::env::override_temp_dir(room.dir.path());
    Ok(room)
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn what_nobody_holds_is_swept_and_what_somebody_holds_stays() {
        let parent = tempfile::tempdir().unwrap();
        let parent = Utf8Path::from_path(parent.path()).unwrap();
        let held = Room::new(parent, "a-").unwrap();
        for left in ["a-left", "b-left"] {
            std::fs::create_dir_all(parent.join(left).join("x")).unwrap();
            std::fs::write(parent.join(left).join(LOCK), "").unwrap();
        }
        let other = Room::new(parent, "a-").unwrap();
        assert!(held.path().unwrap().exists() && other.path().unwrap().exists());
        assert!(!parent.join("a-left").exists() && parent.join("b-left").exists());
        let path = held.path().unwrap().to_owned();
        drop(held);
        assert!(!path.exists());
    }
}
