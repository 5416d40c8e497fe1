//! `cargo gistify bench run --engine slurm`: cells as array jobs of a cluster.
//!
//! What is submitted is `bench cell`, and each submission is written down in `slurm/N/`. A cell is over when its own file says so; Slurm is asked only what
//! became of jobs that left none. So this process may be killed: the jobs go on, and the same command follows them.

use super::super::shell::Shell;
use super::args::RunArgs;
use super::cells::{Claim, put_in_place};
use super::matrix::{Matrix, Others};
use super::progress::Progress;
use super::run::all_there;
use camino::{Utf8Path, Utf8PathBuf};
use cargo_gistify::bench::cell::{CELL, Cell, CellId, SCHEMA};
use cargo_gistify::bench::digest;
use cargo_gistify::bench::job::Job;
use cargo_gistify::bench::order::Indexes;
use cargo_gistify::bench::set::write_json;
use cargo_gistify::bench::slurm::{Array, FORMAT, Fate, JobId, Submission, is_over, split, states};
use cargo_gistify::error::{Error, ExitCode, Result};
use cargo_gistify::process::{self, Limits, interrupt};
use cargo_gistify::workspace::wrapper::write_atomically;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::process::Command;
use std::time::{Duration, Instant};

/// How often Slurm is asked: more often at first, since short jobs are soon over.
const POLL: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(5));
/// How long Slurm may fail to answer.
const PATIENCE: Duration = Duration::from_secs(300);
/// Jobs of an array where Slurm does not say how many there may be: its own default.
const ARRAY_JOBS: usize = 1001;
/// The end of a job's log that is read, in bytes.
const TAIL: u64 = 16 << 10;
/// The files of a submission.
const SUBMISSION: &str = "submission.json";
const STATES: &str = "states.json";
const COLLECTED: &str = "collected";

pub(super) fn run(args: &RunArgs, shell: &Shell) -> Result<u8> {
    let matrix = Matrix::open(&args.matrix, Others::Some)?;
    let folder = matrix.runs.join("slurm");
    std::fs::create_dir_all(&folder).map_err(Error::path("make the directory", &folder))?;
    if let Some(number) = args.slurm.collect {
        let mut own = Submitted::load(&folder.join(number.to_string()))?;
        let now = asked(&own.submission.jobs())?.unwrap_or_default();
        own.see(&now)?;
        if own.is_over(&now) {
            own.collect(&matrix, shell)?;
        } else {
            // A job that is to begin anew counts as ended for the one that waits for it.
            own.submission.collector = Some(collector(args, &own, "--begin=now+60")?);
            own.save()?;
        }
        return Ok(ExitCode::Verified as u8);
    }
    let lock = File::create(folder.join("lock")).map_err(Error::path("write to", &folder))?;
    if lock.try_lock().is_err() {
        return Err(Error::Usage(format!("another `bench run` follows the jobs of {}; wait for it", matrix.runs)));
    }
    let mut followed = Vec::new();
    for mut earlier in Submitted::open(&folder)? {
        let now = asked(&earlier.submission.jobs())?.unwrap_or_default();
        earlier.see(&now)?;
        match earlier.is_over(&now) {
            true => earlier.collect(&matrix, shell)?,
            false => followed.push(earlier),
        }
    }
    let under_way: BTreeSet<&CellId> = followed.iter().flat_map(|s| s.submission.groups.iter().flatten()).collect();
    let due: Vec<(usize, &CellId)> = matrix.cells.iter().enumerate().filter(|(_, id)| matrix.is_due(id)).collect();
    let todo: Vec<(usize, &CellId)> = due.iter().copied().filter(|(_, id)| !under_way.contains(id)).collect();
    let what = format!("{} of {} to do, {} of them under way", due.len(), matrix.cells.len(), due.len() - todo.len());
    shell.status("Cells", &what);
    let before: BTreeMap<&CellId, Option<(u64, u64)>> = due.iter().map(|(_, id)| (*id, mark(&matrix, id))).collect();
    if !todo.is_empty() {
        followed.push(submit(args, &folder, &todo, shell)?);
    }
    let numbers: Vec<String> = followed.iter().flat_map(|s| s.submission.jobs()).map(|n| n.to_string()).collect();
    if args.slurm.detach {
        shell.status("Submitted", &format!("jobs {}; the same command without `--detach` follows them", numbers.join(" ")));
        return Ok(ExitCode::Verified as u8);
    }
    let due: Vec<&CellId> = due.into_iter().map(|(_, id)| id).collect();
    if !followed.is_empty() {
        let progress = Progress::new(&due, shell);
        if let Err(e) = follow(&mut followed, &matrix, &before, &progress) {
            drop(progress);
            shell.warn(&format!(
                "the jobs go on: the same command follows them, and `scancel {}` ends them",
                numbers.join(" ")
            ));
            return Err(e);
        }
        drop(progress);
        followed.iter().try_for_each(|submitted| submitted.collect(&matrix, shell))?;
    }
    let all: Vec<&CellId> = matrix.cells.iter().collect();
    matrix.tell_results(&all, shell);
    let begun_none = all.iter().filter(|id| matrix.over(id).is_none()).count();
    if begun_none > 0 {
        shell.warn(&format!("{begun_none} cells have no result; where their jobs ended before they began, the same command submits them again"));
    }
    all_there(&matrix, &all, shell)
}

/// What tells whether a cell's file is another one than before.
fn mark(matrix: &Matrix<'_>, id: &CellId) -> Option<(u64, u64)> {
    let about = std::fs::metadata(id.folder(&matrix.runs).join(CELL)).ok()?;
    Some((about.ino(), about.mtime_nsec().unsigned_abs()))
}

/// Waits for jobs, and tells of cells as they are over.
fn follow(
    followed: &mut [Submitted],
    matrix: &Matrix<'_>,
    before: &BTreeMap<&CellId, Option<(u64, u64)>>,
    progress: &Progress<'_>,
) -> Result<()> {
    let numbers: Vec<u64> = followed.iter().flat_map(|s| s.submission.jobs()).collect();
    let mut left: BTreeSet<&CellId> = before.keys().copied().collect();
    let begun = Instant::now();
    let mut heard = begun;
    loop {
        let now = match asked(&numbers) {
            Ok(now) => now,
            Err(e @ (Error::Interrupted | Error::Usage(_))) => return Err(e),
            Err(e) if heard.elapsed() > PATIENCE => return Err(e),
            Err(_) => None,
        };
        left.retain(|id| match mark(matrix, id) {
            same if same == before[id] => true,
            _ => matrix.over(id).is_none_or(|cell| {
                progress.over(&cell);
                false
            }),
        });
        if let Some(now) = now {
            heard = Instant::now();
            let mut running: BTreeMap<String, usize> = BTreeMap::new();
            for submitted in followed.iter_mut() {
                submitted.see(&now)?;
                for id in submitted.running(&now, &left) {
                    *running.entry(id.agent.clone()).or_default() += 1;
                }
            }
            progress.running(&running);
            if followed.iter().all(|submitted| submitted.is_over(&now)) {
                return Ok(());
            }
        }
        let until = Instant::now() + (begun.elapsed() / 20).clamp(POLL.0, POLL.1);
        while Instant::now() < until {
            interrupt::check()?;
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// What Slurm knows of jobs; none where it does not answer, nothing of those that it has forgotten.
fn asked(jobs: &[u64]) -> Result<Option<BTreeMap<JobId, String>>> {
    if jobs.is_empty() {
        return Ok(Some(BTreeMap::new()));
    }
    let list: Vec<String> = jobs.iter().map(ToString::to_string).collect();
    let mut squeue = Command::new("squeue");
    squeue.args([
        "--noheader",
        "--array",
        "--states=all",
        &format!("--format={FORMAT}"),
        &format!("--jobs={}", list.join(",")),
    ]);
    let output = process::run(&mut squeue, Limits::default()).map_err(|e| match e {
        Error::Io { .. } => Error::Setup(format!("squeue can't be called ({e}); is this a machine of a Slurm cluster?")),
        e => e,
    })?;
    let said = output.stderr_text();
    match output.status.success() || said.contains("Invalid job id") {
        true => Ok(Some(states(&output.stdout_text()))),
        false => Err(Error::Setup(format!("squeue failed: {}", said.trim()))),
    }
}

/// A submission on the disk.
struct Submitted {
    dir: Utf8PathBuf,
    submission: Submission,
    /// How jobs ended that did not end well, as long as Slurm knew it.
    seen: BTreeMap<String, String>,
}

impl Submitted {
    fn load(dir: &Utf8Path) -> Result<Submitted> {
        let file = dir.join(SUBMISSION);
        let bytes = std::fs::read(&file).map_err(Error::path("read", &file))?;
        let submission = serde_json::from_slice(&bytes).map_err(|e| {
            Error::Usage(format!("{file} can't be read: {e}; remove {dir}, and its cells are submitted again"))
        })?;
        let seen = std::fs::read(dir.join(STATES)).ok().and_then(|b| serde_json::from_slice(&b).ok()).unwrap_or_default();
        Ok(Submitted { dir: dir.to_owned(), submission, seen })
    }

    fn save(&self) -> Result<()> {
        write_json(&self.dir.join(SUBMISSION), &self.submission)
    }

    /// Those of which it is not yet written down what became of them.
    fn open(folder: &Utf8Path) -> Result<Vec<Submitted>> {
        let mut numbers = numbers(folder);
        numbers.retain(|n| {
            let dir = folder.join(n.to_string());
            dir.join(SUBMISSION).exists() && !dir.join(COLLECTED).exists()
        });
        numbers.into_iter().map(|n| Submitted::load(&folder.join(n.to_string()))).collect()
    }

    /// Remembers what Slurm will forget.
    fn see(&mut self, now: &BTreeMap<JobId, String>) -> Result<()> {
        let own: BTreeSet<u64> = self.submission.jobs().into_iter().collect();
        let ended = now.iter().filter(|(id, state)| own.contains(&id.job) && is_over(state) && *state != "COMPLETED");
        let mut news = false;
        for (id, state) in ended {
            news |= self.seen.insert(id.to_string(), state.clone()).as_ref() != Some(state);
        }
        if news { write_json(&self.dir.join(STATES), &self.seen) } else { Ok(()) }
    }

    /// Whether none of its jobs will do a cell any more.
    fn is_over(&self, now: &BTreeMap<JobId, String>) -> bool {
        let doing: BTreeSet<u64> = self.submission.arrays.iter().map(|a| a.job).chain(self.submission.prepare).collect();
        now.iter().all(|(id, state)| !doing.contains(&id.job) || is_over(state))
    }

    /// The first cell that is not over of each running job.
    fn running<'m>(&self, now: &BTreeMap<JobId, String>, left: &BTreeSet<&'m CellId>) -> Vec<&'m CellId> {
        let runs = |group: usize| {
            self.submission.job_of(group).and_then(|id| now.get(&id)).is_some_and(|s| s == "RUNNING" || s == "COMPLETING")
        };
        let groups = self.submission.groups.iter().enumerate().filter(|(group, _)| runs(*group));
        groups.filter_map(|(_, ids)| ids.iter().find_map(|id| left.get(id).copied())).collect()
    }

    fn log(&self, job: JobId) -> Utf8PathBuf {
        self.dir.join("logs").join(format!("{job}.log"))
    }

    /// Writes down what became of cells whose jobs left no result. They say nothing about their agents. A cell whose job did not begin is left as it is.
    fn collect(&self, matrix: &Matrix<'_>, shell: &Shell) -> Result<()> {
        if let Some(failed) = self.failed_preparation() {
            shell.error(&format!(
                "the projects could not be built, so no cell was done; the end of {failed}:\n{}",
                tail(&failed)
            ));
        }
        for (group, ids) in self.submission.groups.iter().enumerate() {
            let Some(job) = self.submission.job_of(group) else { continue };
            let log = self.log(job);
            // One that Slurm begins anew is not lost, whatever squeue says of it just now.
            let said = tail(&log);
            let begins_anew = said.matches("DUE TO JOB REQUEUE").count() >= said.matches(" to do\n").count().max(1);
            if !log.exists() || begins_anew {
                continue;
            }
            for id in ids {
                let Some(_claim) = Claim::take(&matrix.runs.join("claims"), id)? else { continue };
                if matrix.over(id).is_some() {
                    continue;
                }
                let fate = Fate::of(self.seen.get(&job.to_string()).map(String::as_str), &tail(&log));
                let cell = lost(id, fate, job, &log);
                let room = matrix.runs.join("work").join(format!("lost.{}", id.name().replace('/', ".")));
                std::fs::create_dir_all(&room).map_err(Error::path("make the directory", &room))?;
                write_json(&room.join(CELL), &cell)?;
                put_in_place(&room, &id.folder(&matrix.runs))?;
                shell.warn(&format!("{}: {}", id.name(), cell.error.as_deref().unwrap_or_default()));
            }
        }
        super::room::sweep(&matrix.runs.join("work"), "")?;
        write_atomically(&self.dir.join(COLLECTED), b"")
    }

    /// The log of the job that builds the projects, when it failed.
    fn failed_preparation(&self) -> Option<Utf8PathBuf> {
        let job = JobId { job: self.submission.prepare?, index: None };
        self.seen.contains_key(&job.to_string()).then(|| self.log(job))
    }
}

/// The cell of a job that left none.
fn lost(id: &CellId, fate: Fate, job: JobId, log: &Utf8Path) -> Cell {
    Cell {
        schema: SCHEMA,
        id: id.clone(),
        verdict: fate.name().into(),
        error: Some(format!("Slurm's job {job}: {} ({log})", fate.describe())),
        infrastructure: true,
        ended: None,
        steps: None,
        tools: BTreeMap::new(),
        usage: cargo_gistify::agent::Usage::default(),
        metrics: cargo_gistify::report::Metrics::default(),
        wall_s: 0.0,
        cell_s: 0.0,
        job: Some(Job { engine: "slurm".into(), id: job.to_string(), restarts: 0 }),
    }
}

/// The end of a file.
fn tail(file: &Utf8Path) -> String {
    use std::io::{Read, Seek, SeekFrom};
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(file)?;
        let long = file.metadata()?.len();
        file.seek(SeekFrom::Start(long.saturating_sub(TAIL)))?;
        let mut bytes = Vec::new();
        file.take(TAIL).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
}

/// The numbers of submissions.
fn numbers(folder: &Utf8Path) -> Vec<u32> {
    let entries = folder.read_dir_utf8().into_iter().flatten().flatten();
    let mut numbers: Vec<u32> = entries.filter_map(|e| e.file_name().parse().ok()).collect();
    numbers.sort_unstable();
    numbers
}

/// Gives cells, with their indexes, to Slurm: a job that builds the projects, arrays that do the cells, and one that collects.
fn submit(args: &RunArgs, folder: &Utf8Path, todo: &[(usize, &CellId)], shell: &Shell) -> Result<Submitted> {
    let number = numbers(folder).last().map_or(1, |n| n + 1);
    let dir = folder.join(number.to_string());
    std::fs::create_dir_all(dir.join("logs")).map_err(Error::path("make the directory", &dir))?;
    let each = args.slurm.cells_per_job as usize;
    let groups: Vec<&[(usize, &CellId)]> = todo.chunks(each).collect();
    let lines: Vec<String> = groups.iter().map(|group| Indexes::of(group.iter().map(|(i, _)| *i)).to_string()).collect();
    write_atomically(&dir.join("cells"), (lines.join("\n") + "\n").as_bytes())?;
    write_atomically(&dir.join("job.sh"), script(args, &dir, number)?.as_bytes())?;
    let ids = groups.iter().map(|group| group.iter().map(|(_, id)| (*id).clone()).collect()).collect();
    let mut submission = Submission { groups: ids, ..Submission::default() };
    let save = |submission: &Submission| write_json(&dir.join(SUBMISSION), submission);
    let sbatch = |words: &[String]| sbatch(&name_of(&dir), &dir, &args.slurm.sbatch, words);
    save(&submission)?;
    let prepare = sbatch(&[format!("--output={dir}/logs/%j.log"), script_of(&dir), "prepare".into()])?;
    submission.prepare = Some(prepare);
    save(&submission)?;
    let at_once = args.jobs.as_ref().map(|n| format!("%{n}")).unwrap_or_default();
    for (first, jobs) in split(groups.len(), most_array_jobs()) {
        let array = [
            format!("--output={dir}/logs/%A_%a.log"),
            format!("--array=0-{}{at_once}", jobs - 1),
            format!("--dependency=afterok:{prepare}"),
            "--kill-on-invalid-dep=yes".into(),
            script_of(&dir),
            "cells".into(),
            first.to_string(),
        ];
        let job = sbatch(&array)?;
        submission.arrays.push(Array { job, first, jobs });
        save(&submission)?;
    }
    let arrays: Vec<String> = submission.arrays.iter().map(|a| a.job.to_string()).collect();
    let mut submitted = Submitted { dir, submission, seen: BTreeMap::new() };
    let after = format!("--dependency=afterany:{}", arrays.join(":"));
    submitted.submission.collector = Some(collector(args, &submitted, &after)?);
    submitted.save()?;
    shell.status("Submitted", &format!("{} cells as {} jobs of arrays {}", todo.len(), groups.len(), arrays.join(" ")));
    Ok(submitted)
}

/// Submits the job that writes down what became of the others.
fn collector(args: &RunArgs, submitted: &Submitted, when: &str) -> Result<u64> {
    let dir = &submitted.dir;
    let words = [format!("--output={dir}/logs/%j.log"), when.to_owned(), script_of(dir), "collect".into()];
    sbatch(&name_of(dir), dir, &args.slurm.sbatch, &words)
}

/// What jobs of a submission are called.
fn name_of(dir: &Utf8Path) -> String {
    format!("gistify-bench-{}", &digest([dir.as_str()])[..8])
}

fn script_of(dir: &Utf8Path) -> String {
    dir.join("job.sh").into_string()
}

/// What every job of a submission runs; its arguments say which part.
fn script(args: &RunArgs, dir: &Utf8Path, number: u32) -> Result<String> {
    let exe = std::env::current_exe().map_err(Error::io("failed to find the running program"))?;
    let quoted = |word: &str| -> Result<String> {
        let quoted = shlex::try_quote(word).map_err(|e| Error::Usage(format!("`{word}` can't stand in a script: {e}")))?;
        Ok(quoted.into_owned())
    };
    let tool = quoted(&exe.to_string_lossy())?;
    let words = args.matrix.words()?.iter().map(|word| quoted(word)).collect::<Result<Vec<_>>>()?.join(" ");
    let cells = quoted(dir.join("cells").as_str())?;
    Ok(format!(
        "#!/bin/bash\n\
         # A job of `cargo gistify bench run --engine slurm`: $1 says which, $2 which line of the list of cells is the first.\n\
         tool={tool}\n\
         case $1 in\n\
         prepare) exec \"$tool\" gistify bench cell {words} --prepare ;;\n\
         cells) exec \"$tool\" gistify bench cell {words} --index \"$(sed -n \"$(($2 + SLURM_ARRAY_TASK_ID + 1))p\" {cells})\" ;;\n\
         collect) exec \"$tool\" gistify bench run {words} --engine slurm --collect {number} ;;\n\
         esac\n"
    ))
}

/// Submits one job and gives its number.
fn sbatch(name: &str, dir: &Utf8Path, users: &[String], words: &[String]) -> Result<u64> {
    let mut sbatch = Command::new("sbatch");
    sbatch.args(["--parsable", "--requeue", "--open-mode=append", &format!("--job-name={name}")]);
    sbatch.args(users).args(words);
    let output = process::run(&mut sbatch, Limits::default()).map_err(|e| match e {
        Error::Io { .. } => Error::Setup(format!("sbatch can't be called ({e}); is this a machine of a Slurm cluster?")),
        e => e,
    })?;
    let printed = output.stdout_text();
    // On a federation the cluster's name follows.
    let number = printed.trim().split(';').next().and_then(|n| n.parse().ok());
    number.filter(|_| output.status.success()).ok_or_else(|| {
        Error::Setup(format!(
            "sbatch refused a job of {dir}: {}{}; what was submitted before goes on, and the same command submits the rest",
            output.stderr_text().trim(),
            printed.trim()
        ))
    })
}

/// How many jobs an array may have here.
fn most_array_jobs() -> usize {
    let output = process::run(Command::new("scontrol").args(["show", "config"]), Limits::default()).ok();
    let text = output.map(|output| output.stdout_text()).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MaxArraySize")?.split_once('=').map(|(_, n)| n.trim()));
    line.and_then(|n| n.parse().ok()).unwrap_or(ARRAY_JOBS)
}
