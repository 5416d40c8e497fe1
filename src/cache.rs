//! What is kept between runs, under the target directory: results that follow from what they were made of alone.
//!
//! An entry is a file named by the digest of all that went into it, so it is never wrong, only absent. It appears whole
//! (written to a temporary name and renamed), so runs beside each other and killed runs do no harm; one that can't
//! be read counts as absent. Nothing fails when nothing can be kept.

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};
use std::io::Write;
use std::time::SystemTime;

/// How many entries are kept; the oldest go first.
const MAX_ENTRIES: usize = 64;

/// A directory of results.
#[derive(Clone, Debug)]
pub struct Cache {
    dir: Utf8PathBuf,
}

impl Cache {
    /// The cache in a directory, which need not be there yet.
    #[must_use]
    pub fn new(dir: Utf8PathBuf) -> Cache {
        Cache { dir }
    }

    /// The name of the entry that is made of these parts by this build of the tool.
    ///
    /// ```
    /// use cargo_gistify::cache::Cache;
    /// assert_eq!(Cache::key(&["a", "b"]), Cache::key(&["a", "b"]));
    /// assert_ne!(Cache::key(&["a", "b"]), Cache::key(&["ab", ""]));
    /// ```
    #[must_use]
    pub fn key(parts: &[&str]) -> String {
        let mut hasher = Sha256::new();
        let own = std::env::current_exe().ok().map(|exe| stamp(&exe)).unwrap_or_default();
        for part in [env!("CARGO_PKG_VERSION"), &own].iter().chain(parts) {
            hasher.update(part.len().to_le_bytes());
            hasher.update(part.as_bytes());
        }
        hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The entry of that name.
    #[must_use]
    pub fn load<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        serde_json::from_slice(&std::fs::read(self.path(key)).ok()?).ok()
    }

    /// Keeps an entry, if that can be done.
    pub fn store<T: Serialize>(&self, key: &str, value: &T) {
        // A full disk or a read-only target directory costs time in the next run, nothing else.
        let _ = self.try_store(key, value);
        self.make_room();
    }

    fn try_store<T: Serialize>(&self, key: &str, value: &T) -> std::io::Result<()> {
        std::fs::create_dir_all(&self.dir)?;
        let mut file = tempfile::NamedTempFile::new_in(&self.dir)?;
        file.write_all(&serde_json::to_vec(value)?)?;
        file.persist(self.path(key)).map_err(|e| e.error)?;
        Ok(())
    }

    fn make_room(&self) {
        let Ok(entries) = std::fs::read_dir(&self.dir) else { return };
        let mut files: Vec<(SystemTime, std::path::PathBuf)> =
            entries.flatten().filter_map(|e| Some((e.metadata().ok()?.modified().ok()?, e.path()))).collect();
        files.sort();
        for (_, path) in files.iter().take(files.len().saturating_sub(MAX_ENTRIES)) {
            let _ = std::fs::remove_file(path);
        }
    }

    fn path(&self, key: &str) -> Utf8PathBuf {
        self.dir.join(format!("{key}.json"))
    }
}

/// What tells two states of a file apart without reading it.
#[must_use]
pub fn stamp(path: impl AsRef<std::path::Path>) -> String {
    let Ok(meta) = std::fs::metadata(path.as_ref()) else { return "absent".to_owned() };
    let changed = meta.modified().ok().and_then(|t| t.duration_since(SystemTime::UNIX_EPOCH).ok());
    format!("{} {}", meta.len(), changed.map_or(0, |d| d.as_nanos()))
}

/// Removes all that this tool keeps under a target directory; gives whether there was anything.
///
/// # Errors
/// When something can't be removed.
pub fn clean(state_dir: &Utf8Path) -> std::io::Result<bool> {
    match std::fs::remove_dir_all(state_dir) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e),
    }
}

#[cfg(test)]
mod unit {
    use super::*;

    fn cache() -> (tempfile::TempDir, Cache) {
        let dir = tempfile::tempdir().unwrap();
        let path = Utf8PathBuf::from_path_buf(dir.path().join("new")).unwrap();
        (dir, Cache::new(path))
    }

    #[test]
    fn what_is_kept_comes_back_and_what_is_broken_does_not() {
        let (_dir, cache) = cache();
        assert_eq!(cache.load::<Vec<u8>>("a"), None);
        cache.store("a", &vec![1u8, 2]);
        assert_eq!(cache.load::<Vec<u8>>("a"), Some(vec![1, 2]));
        std::fs::write(cache.path("a"), "[1,").unwrap();
        assert_eq!(cache.load::<Vec<u8>>("a"), None);
    }

    #[test]
    fn the_oldest_entries_make_room() {
        let (_dir, cache) = cache();
        for i in 0..MAX_ENTRIES + 5 {
            cache.store(&format!("{i}"), &i);
        }
        assert_eq!(std::fs::read_dir(&cache.dir).unwrap().count(), MAX_ENTRIES);
        assert_eq!(cache.load::<usize>(&format!("{}", MAX_ENTRIES + 4)), Some(MAX_ENTRIES + 4));
    }

    #[test]
    fn nothing_fails_where_nothing_can_be_kept() {
        let (dir, _) = cache();
        let file = Utf8PathBuf::from_path_buf(dir.path().join("file")).unwrap();
        std::fs::write(&file, "").unwrap();
        let cache = Cache::new(file.join("below"));
        cache.store("a", &1);
        assert_eq!(cache.load::<i32>("a"), None);
    }
}
