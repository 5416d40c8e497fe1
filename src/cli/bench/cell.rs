//! `cargo gistify bench cell`: some cells of a matrix, as one job of many, wherever these run.

use super::super::parallel::workers;
use super::super::shell::Shell;
use super::args::CellArgs;
use super::cells::Doer;
use super::matrix::{Matrix, Others};
use super::progress::Progress;
use super::room::Room;
use super::run::{all_there, local};
use cargo_gistify::bench::cell::CellId;
use cargo_gistify::bench::job::INDEXES;
use cargo_gistify::bench::order::Indexes;
use cargo_gistify::error::{Error, ExitCode, Result};

pub(super) fn cell(args: &CellArgs, shell: &Shell) -> Result<u8> {
    let matrix = Matrix::open(&args.matrix, Others::Some)?;
    let mine = selected(args, &matrix)?;
    let build = args.build_dir.clone().unwrap_or_else(|| matrix.runs.join("build"));
    if args.prepare {
        let room = Room::new(&matrix.runs.join("work"), "")?;
        let progress = Progress::new(&[], shell);
        let silent = shell.silent();
        Doer { matrix: &matrix, build, room: room.path()?, jobs: 1, progress: &progress, shell, silent }.prepare(&mine)?;
        return Ok(ExitCode::Verified as u8);
    }
    let todo: Vec<&CellId> = mine.iter().copied().filter(|id| matrix.is_due(id)).collect();
    shell.status("Cells", &format!("{} of {} to do", todo.len(), mine.len()));
    local(&matrix, &todo, args.jobs.as_deref().map_or(1, |jobs| workers(Some(jobs))), &build, shell)?;
    matrix.tell_results(&mine, shell);
    let code = all_there(&matrix, &mine, shell)?;
    // An engine that is to do failed jobs again hears of what says nothing about the agent.
    let retryable = mine.iter().filter_map(|id| matrix.over(id)).any(|cell| cell.infrastructure);
    Ok(if retryable { ExitCode::Setup as u8 } else { code })
}

/// The cells that are meant.
fn selected<'m>(args: &CellArgs, matrix: &'m Matrix<'_>) -> Result<Vec<&'m CellId>> {
    let all = matrix.cells.iter().enumerate();
    if args.prepare && args.index.is_none() && args.partition.is_none() {
        return Ok(matrix.cells.iter().collect());
    }
    if let Some(part) = args.partition {
        return Ok(all.filter(|(i, id)| part.has(*i, id)).map(|(_, id)| id).collect());
    }
    let of_environment = || -> Result<Indexes> {
        let set = INDEXES.into_iter().find_map(|name| Some((name, std::env::var(name).ok()?)));
        let (name, value) = set.ok_or_else(|| {
            Error::Usage(format!(
                "which cells? Pass `--index I` or `--partition slice:M/N`, or set {}",
                INDEXES.join(" or ")
            ))
        })?;
        value.parse().map_err(|e| Error::Usage(format!("{name}: {e}")))
    };
    let indexes = args.index.clone().map_or_else(of_environment, Ok)?;
    if indexes.last() >= matrix.cells.len() {
        let last = matrix.cells.len().saturating_sub(1);
        return Err(Error::Usage(format!("there is no cell {}: they go from 0 to {last}", indexes.last())));
    }
    Ok(all.filter(|(i, _)| indexes.has(*i)).map(|(_, id)| id).collect())
}
