//! `cargo gistify bench run`: agents over a set of tasks, cell by cell.
//!
//! A cell is done in `work/`, and its folder is renamed to its place below `cells/` when it is over. So a kill at any time loses no cell that was
//! done, and no half of one is met; a lock keeps two runs apart.

use super::super::agent::{Asking, Run};
use super::super::args::{CargoArgs, ProgramArgs, SelectionArgs};
use super::super::make::{ends_the_run, forget_parsed};
use super::super::parallel::{in_order, workers};
use super::super::shell::Shell;
use super::super::work::{Work, some_time, work};
use super::args::{Retry, RunArgs};
use camino::{Utf8Path, Utf8PathBuf};
use cargo_gistify::agent::config::BUILTIN;
use cargo_gistify::agent::record::hidden;
use cargo_gistify::bench;
use cargo_gistify::bench::cell::{CELL, Cell, CellId, differences};
use cargo_gistify::bench::set::{Manifest, TestName, write_json};
use cargo_gistify::error::{Error, ExitCode, Result};
use cargo_gistify::report::{Cost, Report, TestId};
use cargo_gistify::road::{MakeOptions, Session, unverified};
use cargo_gistify::sandbox::Sandbox;
use cargo_gistify::task::Task;
use cargo_gistify::verify::verdict::Verdict;
use cargo_gistify::workspace::capture::TestTarget;
use cargo_gistify::workspace::{Inline, Workspace, current_dir};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, TryLockError};
use std::os::unix::fs::DirBuilderExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Settings of a folder of runs.
const SETTINGS: &str = "settings.json";

/// What all cells share.
struct Bench<'a> {
    args: &'a RunArgs,
    set: Utf8PathBuf,
    runs: Utf8PathBuf,
    manifest: Manifest,
    /// By name; none is the extractor.
    agents: BTreeMap<String, Option<Asking>>,
    sandbox: Sandbox,
    shell: &'a Shell,
    /// For what happens in a cell.
    silent: Shell,
    counts: Counts,
}

/// How far it is.
#[derive(Default)]
struct Counts {
    total: usize,
    done: AtomicUsize,
    ok: AtomicUsize,
    infrastructure: AtomicUsize,
}

pub(super) fn run(args: &RunArgs, shell: &Shell) -> Result<u8> {
    some_time("timeout", args.timeout)?;
    let (manifest, digest) = Manifest::load(&args.set)?;
    std::fs::create_dir_all(&args.output).map_err(Error::path("make the directory", &args.output))?;
    let absolute = |path: &Utf8Path| path.canonicalize_utf8().map_err(Error::path("find", path));
    let (set, runs) = (absolute(&args.set)?, absolute(&args.output)?);
    let _lock = locked(&runs)?;
    let _temporary = Temporary::of(&runs)?;
    let sandbox = Sandbox::open(args.sandbox.into())?;
    // What is wrong with an agent is told before anything is built.
    let root = current_dir()?;
    let mut agents = BTreeMap::new();
    for name in &args.agents {
        let asking = (name != BUILTIN).then(|| Asking::new(name, &args.how, Some(&root), &sandbox)).transpose()?;
        agents.insert(name.clone(), asking);
    }
    check_settings(&runs, &settings(args, &digest, &agents, &sandbox))?;
    let room = runs.join("work");
    if room.exists() {
        std::fs::remove_dir_all(&room).map_err(Error::path("remove", &room))?;
    }
    std::fs::create_dir_all(&room).map_err(Error::path("make the directory", &room))?;

    let all: Vec<CellId> = cells(&manifest, args);
    let todo: Vec<CellId> = all.iter().filter(|id| is_due(id, &runs, args)).cloned().collect();
    if let Some(name) = args.force.iter().find(|name| all.iter().all(|id| id.name() != **name)) {
        return Err(Error::Usage(format!("--force: there is no cell `{name}` here; a cell is TASK/AGENT/N")));
    }
    shell.status("Cells", &format!("{} of {} to do", todo.len(), all.len()));
    let counts = Counts { total: todo.len(), ..Counts::default() };
    let matrix = Bench { args, set, runs, manifest, agents, sandbox, shell, silent: shell.silent(), counts };
    let mut by_project: BTreeMap<&str, Vec<&CellId>> = BTreeMap::new();
    for id in &todo {
        by_project.entry(&matrix.manifest.tasks[&id.task].project).or_default().push(id);
    }
    for (project, ids) in by_project {
        matrix.project(project, &ids)?;
    }
    std::fs::remove_dir_all(&room).map_err(Error::path("remove", &room))?;
    let over: Vec<Cell> = all.iter().filter_map(|id| Cell::load(&id.folder(&matrix.runs))).collect();
    for name in matrix.agents.keys() {
        let own: Vec<&Cell> = over.iter().filter(|cell| cell.id.agent == *name).collect();
        let counted = own.iter().filter(|cell| !cell.infrastructure).count();
        let ok = own.iter().filter(|cell| cell.is_ok()).count();
        let left = own.len() - counted;
        let left =
            if left == 0 { String::new() } else { format!("; {left} not counted, `--retry-failed infra` does them again") };
        shell.status("Result", &format!("{name}: {ok} of {counted} ok{left}"));
    }
    let there: BTreeSet<&CellId> = over.iter().map(|cell| &cell.id).collect();
    let missing: Vec<String> = all.iter().filter(|id| !there.contains(id)).map(CellId::name).collect();
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

/// Where this run has its temporary files, all of them, so that what a killed one left is found by the next.
struct Temporary(std::path::PathBuf);

impl Temporary {
    fn of(runs: &Utf8Path) -> Result<Temporary> {
        let dir = std::env::temp_dir().join(format!("gistify-bench-{}", &bench::digest([runs.as_str()])[..12]));
        if dir.exists() {
            std::fs::remove_dir_all(&dir).map_err(Error::io("failed to remove what an earlier run left"))?;
        }
        // What is in it is nobody else's to read.
        let made = std::fs::DirBuilder::new().mode(0o700).create(&dir);
        made.map_err(Error::io("failed to make a temporary directory"))?;
        // Nothing has asked for a temporary file yet.
        let _ = tempfile::env::override_temp_dir(&dir);
        Ok(Temporary(dir))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Every cell, task by task.
fn cells(manifest: &Manifest, args: &RunArgs) -> Vec<CellId> {
    let agents: BTreeSet<&String> = args.agents.iter().collect();
    let of_task = |task: &String| -> Vec<CellId> {
        let cell = |attempt, agent: &String| CellId { task: task.clone(), agent: agent.clone(), attempt };
        (1..=args.attempts).flat_map(|n| agents.iter().map(move |agent| cell(n, agent))).collect()
    };
    manifest.tasks.keys().flat_map(of_task).collect()
}

/// Whether a cell has to be done.
fn is_due(id: &CellId, runs: &Utf8Path, args: &RunArgs) -> bool {
    let Some(cell) = Cell::load(&id.folder(runs)) else { return true };
    args.force.contains(&id.name()) || args.retry_failed == Some(Retry::Infra) && cell.infrastructure
}

/// Keeps a second run out of the folder.
fn locked(runs: &Utf8Path) -> Result<File> {
    let file = runs.join("lock");
    let lock = File::create(&file).map_err(Error::path("write", &file))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => {
            Err(Error::Usage(format!("another `bench run` works in {runs}; wait for it, or name another folder")))
        }
        Err(TryLockError::Error(e)) => Err(Error::path("lock", &file)(e)),
    }
}

/// What has to be the same for results that are compared.
fn settings(args: &RunArgs, digest: &str, agents: &BTreeMap<String, Option<Asking>>, sandbox: &Sandbox) -> Value {
    let of = |asking: &Option<Asking>| match asking {
        None => json!({ "kind": BUILTIN }),
        Some(Asking { spec, options, asked, .. }) => {
            // Values that are the caller's own are nobody else's business, and need not be the same.
            let secret = |value: &str| spec.secrets.iter().any(|s| s.expose() == value);
            let env: BTreeMap<&String, &str> =
                spec.env.iter().map(|(name, v)| (name, if secret(v.expose()) { "$" } else { v.expose() })).collect();
            json!({
                "kind": spec.kind, "argv": spec.argv, "parser": spec.parser.name(), "model": spec.model, "endpoint": spec.endpoint,
                "tools": spec.tools, "env": env, "files": spec.files, "strategy": asked.strategy, "test_body": asked.body,
                "mcp": asked.mcp, "execution": options.execution, "network": options.network,
                "steps": options.limits.steps, "timeout_s": options.limits.timeout.as_secs(),
            })
        }
    };
    let agents: BTreeMap<&String, Value> = agents.iter().map(|(name, asking)| (name, of(asking))).collect();
    json!({
        "tasks": digest, "tool": env!("CARGO_PKG_VERSION"), "sandbox": sandbox.kind(), "timeout_s": args.timeout, "agents": agents,
    })
}

/// Refuses what would make results incomparable; agents that are new are added.
fn check_settings(runs: &Utf8Path, now: &Value) -> Result<()> {
    let file = runs.join(SETTINGS);
    let mut all = now.clone();
    if let Ok(bytes) = std::fs::read(&file) {
        let before: Value = serde_json::from_slice(&bytes)
            .map_err(|e| Error::Usage(format!("{file} can't be read: {e}; name another folder with `-o`")))?;
        let differences = differences(&before, now);
        if !differences.is_empty() {
            return Err(Error::Usage(format!(
                "{runs} has results of other settings, which can't be compared; name another folder with `-o`, or go back to them:\n  {}",
                differences.join("\n  ")
            )));
        }
        if let (Some(agents), Some(old)) = (all["agents"].as_object_mut(), before["agents"].as_object()) {
            agents.extend(old.iter().map(|(name, agent)| (name.clone(), agent.clone())));
        }
    }
    write_json(&file, &all)
}

impl Bench<'_> {
    /// All cells of one project, target by target.
    fn project(&self, name: &str, ids: &[&CellId]) -> Result<()> {
        let project = &self.manifest.projects[name];
        let at = self.set.join("projects").join(name).join(&project.workspace).join("Cargo.toml");
        let packages: BTreeSet<&String> = ids.iter().map(|id| &self.manifest.tasks[&id.task].test.package).collect();
        let cargo = CargoArgs::said_again(&self.manifest.cargo, packages.into_iter().cloned().collect())
            .map_err(|e| Error::Usage(format!("the set's manifest has flags that cargo does not know: {e}")))?
            .of(at.clone(), self.runs.join("build").join(name));
        let server = self.server(&at, name);
        let selection = SelectionArgs { cargo, ..SelectionArgs::default() };
        let Work { workspace, targets, _room } = work(&selection, &ProgramArgs::default(), Inline::None, self.shell)?;
        for (target, tasks) in &targets {
            let own: Vec<(&CellId, &Task)> = ids
                .iter()
                .filter_map(|id| {
                    let test = &self.manifest.tasks[&id.task].test;
                    let TestName { package, target: selector, test } = test;
                    let here = *package == target.package && *selector == target.selector();
                    Some((*id, tasks.iter().find(|task| here && task.name() == test)?))
                })
                .collect();
            if own.is_empty() {
                continue;
            }
            forget_parsed();
            let stage = |verb: &str, what: &str| self.shell.stage(verb, what);
            let session = match Session::open(&workspace, target, &self.sandbox, &stage) {
                Ok(session) => session,
                Err(e) if ends_the_run(&e) => return Err(e),
                Err(e) => {
                    self.shell.error(&e.to_string());
                    continue;
                }
            };
            let jobs = self.args.jobs.as_deref().map_or(1, |jobs| workers(Some(jobs)));
            in_order(&own, jobs, |(id, task)| self.cell(id, &workspace, &session, target, task, &server), |_, done| done)?;
        }
        Ok(())
    }

    /// What our own server is started with, for agents that are given it.
    fn server(&self, manifest: &Utf8Path, project: &str) -> Vec<String> {
        let build = self.runs.join("build").join(project);
        let mut words = vec![format!("--manifest-path={manifest}"), format!("--target-dir={build}")];
        words.push(format!("--sandbox={}", self.sandbox.kind().name()));
        words.extend(self.args.timeout.map(|seconds| format!("--timeout={seconds}")));
        words.extend(self.manifest.cargo.iter().cloned());
        words
    }

    /// One cell, from nothing to its folder in its place.
    fn cell(
        &self,
        id: &CellId,
        workspace: &Workspace,
        session: &Session<'_>,
        target: &TestTarget,
        task: &Task,
        server: &[String],
    ) -> Result<()> {
        forget_parsed();
        let begun = Instant::now();
        let room = self.runs.join("work").join(id.name().replace('/', "."));
        std::fs::create_dir_all(&room).map_err(Error::path("make the directory", &room))?;
        let place = id.folder(&self.runs);
        let (made, secrets) = match self.agents.get(&id.agent).and_then(Option::as_ref) {
            None => (self.extracted(session, target, task, &room), Vec::new()),
            Some(asking) => {
                let run = Run {
                    asking,
                    ignored: false,
                    timeout: self.args.timeout.map(Duration::from_secs),
                    explain: false,
                    server: server.to_vec(),
                    workspace,
                    sandbox: &self.sandbox,
                    shell: &self.silent,
                };
                let made = run.one(session, target, task, || Ok(room.clone())).map(|outcome| outcome.report);
                (made, asking.spec.secrets.clone())
            }
        };
        let (mut report, failed) = match made {
            Ok(report) => (report, false),
            Err(e) if ends_the_run(&e) => return Err(e),
            Err(e) => (Report::failed(TestId::new(target, task), &e, Cost::default()), true),
        };
        report.cost.wall_s = begun.elapsed().as_secs_f64();
        report.gist = report.gist.and_then(|gist| Some(place.join(gist.file_name()?)));
        if let Some(attempt) = &mut report.attempt {
            attempt.record.clone_from(&place);
            // All that it says is in the result, with its true place.
            let _ = std::fs::remove_file(room.join("attempt.json"));
        }
        let cell = Cell::of(id.clone(), &report, failed);
        write_json(&room.join("result.json"), &hidden(&report, &secrets)?)?;
        write_json(&room.join(CELL), &hidden(&cell, &secrets)?)?;
        put_in_place(&room, &place)?;
        self.tell(&cell);
        Ok(())
    }

    /// The extractor's own.
    fn extracted(&self, session: &Session<'_>, target: &TestTarget, task: &Task, room: &Utf8Path) -> Result<Report> {
        let options = MakeOptions { timeout: self.args.timeout.map(Duration::from_secs), ..MakeOptions::default() };
        let made = session.make(task, &options, &|_, _| ())?;
        let gist = room.join("gist.rs");
        let gist = if made.verdict == Verdict::Ok { gist } else { unverified(&gist) };
        std::fs::write(&gist, &made.gist.text).map_err(Error::path("write", &gist))?;
        let mut report = Report::made(TestId::new(target, task), &made, Cost::default());
        report.gist = Some(gist);
        Ok(report)
    }

    /// A line for a cell that is over.
    fn tell(&self, cell: &Cell) {
        let count =
            |counter: &AtomicUsize, one: bool| counter.fetch_add(usize::from(one), Ordering::Relaxed) + usize::from(one);
        let counts = &self.counts;
        let done = count(&counts.done, true);
        let ok = count(&counts.ok, cell.is_ok());
        let not_counted = count(&counts.infrastructure, cell.infrastructure);
        let failed = done.saturating_sub(ok + not_counted);
        let aside = if not_counted == 0 { String::new() } else { format!(", {not_counted} not counted") };
        self.shell.status(
            "Cell",
            &format!(
                "{done}/{} {} {} in {:.1}s ({ok} ok, {failed} failed{aside})",
                counts.total,
                cell.id.name(),
                cell.verdict,
                cell.cell_s
            ),
        );
    }
}

/// Renames a folder to its place, over what an earlier run left there.
fn put_in_place(room: &Utf8Path, place: &Utf8Path) -> Result<()> {
    if let Some(parent) = place.parent() {
        std::fs::create_dir_all(parent).map_err(Error::path("make the directory", parent))?;
    }
    if place.exists() {
        let old = Utf8PathBuf::from(format!("{room}.old"));
        std::fs::rename(place, &old).map_err(Error::path("rename", place))?;
        std::fs::rename(room, place).map_err(Error::path("rename", room))?;
        return std::fs::remove_dir_all(&old).map_err(Error::path("remove", &old));
    }
    std::fs::rename(room, place).map_err(Error::path("rename", room))
}
