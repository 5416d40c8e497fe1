//! Takes a crate's folder away while its gist runs, so that a gist that leans on it fails.

use anyhow::Result;
use fs_err as fs;
use std::path::{Path, PathBuf};

/// A folder that is away until this is dropped.
#[derive(Debug)]
pub(super) struct Away {
    root: PathBuf,
}

impl Away {
    /// Renames the folder.
    pub(super) fn take(root: &Path) -> Result<Self> {
        fs::rename(root, hidden(root))?;
        Ok(Self { root: root.to_owned() })
    }
}

impl Drop for Away {
    fn drop(&mut self) {
        if let Err(error) = bring_back(&self.root) {
            eprintln!("warning: {} could not be brought back: {error:#}", self.root.display());
        }
    }
}

/// Undoes what a killed run has left.
pub(super) fn bring_back(root: &Path) -> Result<()> {
    if hidden(root).is_dir() && !root.exists() {
        fs::rename(hidden(root), root)?;
    }
    Ok(())
}

fn hidden(root: &Path) -> PathBuf {
    let mut name = root.file_name().unwrap_or_default().to_owned();
    name.push(".away");
    root.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_is_away_and_comes_back() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("c-1.0.0");
        fs::create_dir(&root).unwrap();
        let away = Away::take(&root).unwrap();
        assert!(!root.exists());
        drop(away);
        assert!(root.is_dir());
        bring_back(&root).unwrap();
        assert!(root.is_dir());
    }
}
