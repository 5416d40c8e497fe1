//! `cargo gistify bench merge`: the results of several machines as one folder.

use super::super::shell::Shell;
use super::args::MergeArgs;
use super::cells::put_in_place;
use super::matrix::{Others, locked};
use super::room::Room;
use camino::{Utf8Path, Utf8PathBuf};
use cargo_gistify::agent::tree::copy_tree;
use cargo_gistify::bench::cell::{Cell, CellId};
use cargo_gistify::bench::set::{MANIFEST, Manifest, write_json};
use cargo_gistify::bench::settings::{self, SETTINGS};
use cargo_gistify::bench::summary::cells;
use cargo_gistify::error::{Error, ExitCode, Result};
use serde_json::Value;
use std::collections::BTreeSet;

/// Missing cells that are named.
const NAMED: usize = 20;

pub(super) fn merge(args: &MergeArgs, shell: &Shell) -> Result<u8> {
    let mut all: Option<Value> = settings::load(&args.output)?;
    // Nothing is written before it is clear that all can be compared.
    let mut locks = Vec::new();
    for from in &args.from {
        let own = settings::load(from)?.ok_or_else(|| {
            Error::Usage(format!("there are no results in {from}; `bench run` and `bench cell` make some"))
        })?;
        locks.push(locked(from, Others::Some)?);
        all = Some(match all {
            None => own,
            Some(before) => settings::joined(&before, &own).map_err(|differences| {
                Error::Usage(format!("{from} has other settings than the rest:\n  {}", differences.join("\n  ")))
            })?,
        });
    }
    let Some(all) = all else { return Err(Error::Usage("name the folders to merge".into())) };
    std::fs::create_dir_all(&args.output).map_err(Error::path("make the directory", &args.output))?;
    let output = args.output.canonicalize_utf8().map_err(Error::path("find", &args.output))?;
    if let Some(same) = args.from.iter().find(|from| from.canonicalize_utf8().is_ok_and(|from| from == output)) {
        return Err(Error::Usage(format!("{same} is where all goes; its results are kept without being named")));
    }
    let _lock = locked(&output, Others::None)?;
    let room = Room::new(&output.join("work"), "")?;
    let mut taken = 0;
    for from in &args.from {
        let from = from.canonicalize_utf8().map_err(Error::path("find", from))?;
        for cell in cells(&from)? {
            taken += usize::from(take(&cell, &from, &output, room.path()?)?);
        }
        copy_missing(&from, &output, room.path()?)?;
    }
    drop(room);
    let _ = std::fs::remove_dir(output.join("work"));
    write_json(&output.join(SETTINGS), &all)?;
    shell.status("Merged", &format!("{taken} cells of {} folders into {output}", args.from.len()));
    let (manifest, _) = Manifest::load(&output)?;
    let there: BTreeSet<CellId> = cells(&output)?.into_iter().map(|cell| cell.id).collect();
    let asked = settings::asked_for(&all, manifest.tasks.keys());
    let missing: Vec<&CellId> = asked.difference(&there).collect();
    if missing.is_empty() {
        shell.status("Complete", &format!("all {} cells are there", asked.len()));
        return Ok(ExitCode::Verified as u8);
    }
    let mut names: Vec<String> = missing.iter().take(NAMED).map(|id| id.name()).collect();
    if missing.len() > NAMED {
        names.push("…".into());
    }
    shell.error(&format!(
        "{} of {} cells are missing; `bench run` with `-o {output}` does them: {}",
        missing.len(),
        asked.len(),
        names.join(", ")
    ));
    Ok(ExitCode::Setup as u8)
}

/// Takes a cell over, unless there is one that says as much.
fn take(cell: &Cell, from: &Utf8Path, output: &Utf8Path, room: &Utf8Path) -> Result<bool> {
    let (old, place) = (cell.id.folder(from), cell.id.folder(output));
    if Cell::load(&place).is_some_and(|there| !there.infrastructure || cell.infrastructure) {
        return Ok(false);
    }
    let own = room.join(cell.id.name().replace('/', "."));
    std::fs::create_dir(&own).map_err(Error::path("make the directory", &own))?;
    copy_tree(&old, &own)?;
    moved(&own.join("result.json"), &place)?;
    put_in_place(&own, &place)?;
    Ok(true)
}

/// Has a result say where its files are now.
fn moved(result: &Utf8Path, place: &Utf8Path) -> Result<()> {
    // A job that was killed leaves none.
    let Ok(bytes) = std::fs::read(result) else { return Ok(()) };
    let mut value: Value =
        serde_json::from_slice(&bytes).map_err(|e| Error::Usage(format!("{result} can't be read: {e}")))?;
    let gist = value["gist"].as_str().and_then(|gist| Some(place.join(Utf8Path::new(gist).file_name()?)));
    if let Some(gist) = gist {
        value["gist"] = gist.as_str().into();
    }
    if let Some(record) = value.get_mut("attempt").and_then(|attempt| attempt.get_mut("record")) {
        *record = place.as_str().into();
    }
    write_json(result, &value)
}

/// What a report needs of the set: the manifest, and what is kept of tasks.
fn copy_missing(from: &Utf8Path, output: &Utf8Path, room: &Utf8Path) -> Result<()> {
    let manifest = output.join(MANIFEST);
    if !manifest.exists() {
        let own = from.join(MANIFEST);
        std::fs::copy(&own, &manifest).map_err(Error::path("copy", &own))?;
    }
    let tasks: Vec<Utf8PathBuf> =
        from.join("tasks").read_dir_utf8().into_iter().flatten().flatten().map(|e| e.path().to_owned()).collect();
    for task in tasks {
        let place = output.join("tasks").join(task.file_name().unwrap_or_default());
        if !place.exists() {
            let own = room.join(task.file_name().unwrap_or_default());
            std::fs::create_dir(&own).map_err(Error::path("make the directory", &own))?;
            copy_tree(&task, &own)?;
            put_in_place(&own, &place)?;
        }
    }
    Ok(())
}
