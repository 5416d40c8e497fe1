//! A folder copied as it is.

use crate::error::{Error, Result};
use camino::Utf8Path;

/// Copies all that is in `from` into `to`, a folder that is there: files with their permissions, links as links.
///
/// # Errors
/// When something can't be read or written.
pub fn copy_tree(from: &Utf8Path, to: &Utf8Path) -> Result<()> {
    each(from, to, &|old, new| std::fs::copy(old, new).map(drop))
}

/// The same files at another place: further names of them where the disk can do that, else copies.
///
/// # Errors
/// As [`copy_tree`].
pub fn link_tree(from: &Utf8Path, to: &Utf8Path) -> Result<()> {
    each(from, to, &|old, new| std::fs::hard_link(old, new).or_else(|_| std::fs::copy(old, new).map(drop)))
}

fn each(from: &Utf8Path, to: &Utf8Path, file: &dyn Fn(&Utf8Path, &Utf8Path) -> std::io::Result<()>) -> Result<()> {
    for entry in from.read_dir_utf8().map_err(Error::path("read the directory", from))? {
        let entry = entry.map_err(Error::path("read the directory", from))?;
        let (old, new) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().map_err(Error::path("look at", old))?;
        if kind.is_dir() {
            std::fs::create_dir(&new).map_err(Error::path("make the directory", &new))?;
            each(old, &new, file)?;
        } else if kind.is_symlink() {
            let target = old.read_link_utf8().map_err(Error::path("read the link", old))?;
            std::os::unix::fs::symlink(target, &new).map_err(Error::path("write", &new))?;
        } else if kind.is_file() {
            file(old, &new).map_err(Error::path("copy", old))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod unit {
    use super::*;
    use crate::compile::{temp_dir, utf8};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_copy_is_the_same_to_the_links_and_permissions() {
        let room = temp_dir().unwrap();
        let dir = utf8(room.path()).unwrap();
        let [from, to] = ["from", "to"].map(|name| dir.join(name));
        std::fs::create_dir_all(from.join("a/.git")).unwrap();
        std::fs::create_dir(&to).unwrap();
        std::fs::write(from.join("a/run.sh"), "x").unwrap();
        std::fs::set_permissions(from.join("a/run.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::symlink("a/run.sh", from.join("link")).unwrap();
        copy_tree(&from, &to).unwrap();
        assert_eq!(std::fs::metadata(to.join("a/run.sh")).unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(to.join("link").read_link_utf8().unwrap(), "a/run.sh");
        assert!(to.join("a/.git").is_dir());
    }
}
