//! Results as JSON, one a line: what is written stays when a run is interrupted, and the next goes on from there.

use anyhow::{Context, Result};
use fs_err as fs;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::Write as _;
use std::path::Path;

/// What is in a file, in order; nothing when there is none.
pub(crate) fn load<T: DeserializeOwned>(file: &Path) -> Result<Vec<T>> {
    if !file.exists() {
        return Ok(Vec::new());
    }
    let text = fs::read_to_string(file)?;
    let lines = text.lines().filter(|l| !l.trim().is_empty());
    lines.map(|l| serde_json::from_str(l).with_context(|| format!("{}: `{l}`", file.display()))).collect()
}

/// Adds a value.
pub(crate) fn append<T: Serialize>(file: &Path, value: &T) -> Result<()> {
    let line = serde_json::to_string(value)? + "\n";
    Ok(fs::OpenOptions::new().create(true).append(true).open(file)?.write_all(line.as_bytes())?)
}
