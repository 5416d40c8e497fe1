//! `cargo gistify bench run`: agents over a set of tasks, cell by cell.
//!
//! A cell is done in `work/`, and its folder is renamed to its place below `cells/` when it is over. So a kill at any time loses no cell that was
//! done, and no half of one is met; a lock keeps two runs apart.

use super::super::parallel::workers;
use super::super::shell::Shell;
use super::args::{Engine, RunArgs};
use super::cells::{Doer, is_claimed};
use super::matrix::{Matrix, Others};
use super::progress::Progress;
use super::room::{Room, sweep};
use super::slurm;
use camino::Utf8PathBuf;
use cargo_gistify::bench::cell::CellId;
use cargo_gistify::error::{Error, ExitCode, Result};
use std::time::SystemTime;

pub(super) fn run(args: &RunArgs, shell: &Shell) -> Result<u8> {
    if args.engine == Engine::Slurm {
        return slurm::run(args, shell);
    }
    let slurm = &args.slurm;
    if !slurm.sbatch.is_empty() || slurm.cells_per_job > 1 || slurm.detach || slurm.collect.is_some() {
        return Err(Error::Usage("`--sbatch`, `--cells-per-job` and `--detach` are for `--engine slurm`".into()));
    }
    let matrix = Matrix::open(&args.matrix, Others::None)?;
    if let Some(day) = matrix.manifest.is_stale(SystemTime::now()) {
        shell
            .warn(&format!("the set is stale since {day}; `cargo gistify bench refresh {}` makes it anew", args.matrix.set));
    }
    let todo: Vec<&CellId> = matrix.cells.iter().filter(|id| matrix.is_due(id)).collect();
    shell.status("Cells", &format!("{} of {} to do", todo.len(), matrix.cells.len()));
    let jobs = args.jobs.as_deref().map_or(1, |jobs| workers(Some(jobs)));
    local(&matrix, &todo, jobs, &matrix.runs.join("build"), shell)?;
    matrix.tell_results(&matrix.cells.iter().collect::<Vec<_>>(), shell);
    all_there(&matrix, &matrix.cells.iter().collect::<Vec<_>>(), shell)
}

/// Does cells on this machine.
pub(super) fn local(matrix: &Matrix<'_>, todo: &[&CellId], jobs: usize, build: &Utf8PathBuf, shell: &Shell) -> Result<()> {
    let work = matrix.runs.join("work");
    let room = Room::new(&work, "")?;
    let progress = Progress::new(todo, shell);
    let silent = shell.silent();
    let doer = Doer { matrix, build: build.clone(), room: room.path()?, jobs, progress: &progress, shell, silent };
    doer.all(todo)?;
    drop(progress);
    drop(room);
    sweep(&work, "")?;
    if matrix.others == Others::None {
        // Where others work, one of them may just be about to make something in these.
        let _ = std::fs::remove_dir(&work);
        let _ = std::fs::remove_dir(matrix.runs.join("claims"));
    }
    Ok(())
}

/// Says which of these cells could not be done.
pub(super) fn all_there(matrix: &Matrix<'_>, cells: &[&CellId], shell: &Shell) -> Result<u8> {
    let (elsewhere, missing): (Vec<&CellId>, Vec<&CellId>) =
        cells.iter().copied().filter(|id| matrix.over(id).is_none()).partition(|id| is_claimed(&matrix.runs, id));
    if !elsewhere.is_empty() {
        shell.status("Elsewhere", &format!("{} cells are being done by other processes", elsewhere.len()));
    }
    // What was being done a moment ago may be over now.
    let missing: Vec<String> = missing.into_iter().filter(|id| matrix.over(id).is_none()).map(CellId::name).collect();
    if missing.is_empty() {
        return Ok(ExitCode::Verified as u8);
    }
    let shown = missing.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
    shell.error(&format!(
        "{} cells could not be done, since their tests are not there or their crates can't be worked on with this toolchain: {shown}; \
         the set was made with rustc {}",
        missing.len(),
        matrix.manifest.toolchain
    ));
    Ok(ExitCode::Setup as u8)
}
