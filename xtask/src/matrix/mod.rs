//! `cargo xtask matrix`: the example of docs/bench-example, of which it is known what has to come out. `cargo xtask cells`: what the harness itself takes for a
//! cell, and whether it survives being killed.
//!
//! | module | what it does |
//! |---|---|
//! | [`example`] | real crates, the extractor and three scripted agents |
//! | [`cells`] | many cells of an agent that does nothing, killed again and again |
//! | [`slurm`] | 200 cells as jobs of Slurm, which are cancelled, run out of memory and of time |

pub(crate) mod cells;
pub(crate) mod example;
pub(crate) mod slurm;

use anyhow::{Context, Result, ensure};
use fs_err as fs;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A file of JSON.
fn json(file: &Path) -> Result<Value> {
    Ok(serde_json::from_str(&fs::read_to_string(file)?)?)
}

/// The cells of a folder of runs: what is in their files, and which files these are.
fn cells_of(runs: &Path) -> Result<BTreeMap<String, (Value, u64)>> {
    use std::os::unix::fs::MetadataExt;
    let folders = |dir: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
    };
    let top = runs.join("cells");
    let mut out = BTreeMap::new();
    for folder in folders(&top).iter().flat_map(|task| folders(task)).flat_map(|agent| folders(&agent)) {
        let file = folder.join("cell.json");
        let name = folder.strip_prefix(&top)?.to_str().context("a cell's name is not UTF-8")?.to_owned();
        ensure!(file.is_file(), "{name} is there and has no cell.json");
        out.insert(name, (json(&file)?, fs::metadata(&file)?.ino()));
    }
    Ok(out)
}
