//! The cells of a matrix, done: the agent is asked, its gist judged, the folder put in its place.

use super::super::agent::{Run, template};
use super::super::args::{CargoArgs, ProgramArgs, SelectionArgs};
use super::super::make::{ends_the_run, forget_parsed};
use super::super::parallel::in_order;
use super::super::shell::Shell;
use super::super::work::{Work, work};
use super::matrix::Matrix;
use super::progress::Progress;
use camino::{Utf8Path, Utf8PathBuf};
use cargo_gistify::agent::place::Template;
use cargo_gistify::agent::record::hidden;
use cargo_gistify::bench::cell::{CELL, Cell, CellId};
use cargo_gistify::bench::job::Job;
use cargo_gistify::bench::kept::{self, LINES, ORIGINAL};
use cargo_gistify::bench::set::{TestName, write_json};
use cargo_gistify::error::{Error, Result};
use cargo_gistify::report::{Cost, Report, TestId};
use cargo_gistify::road::{MakeOptions, Session, unverified};
use cargo_gistify::task::Task;
use cargo_gistify::verify::verdict::Verdict;
use cargo_gistify::workspace::Inline;
use cargo_gistify::workspace::capture::TestTarget;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, TryLockError};
use std::time::{Duration, Instant};

/// Who does cells.
pub(super) struct Doer<'a> {
    pub(super) matrix: &'a Matrix<'a>,
    /// Where projects are built.
    pub(super) build: Utf8PathBuf,
    /// Where cells are until they are over; nobody else works there.
    pub(super) room: &'a Utf8Path,
    /// Cells at once.
    pub(super) jobs: usize,
    pub(super) progress: &'a Progress<'a>,
    pub(super) shell: &'a Shell,
    /// For what happens in a cell.
    pub(super) silent: Shell,
}

/// What the cells of a target share.
struct Target<'a> {
    session: &'a Session<'a>,
    target: &'a TestTarget,
    /// What agents get of the project; none where only the extractor is asked.
    project: Option<&'a Template>,
    /// What our own server is started with.
    server: &'a [String],
}

impl Doer<'_> {
    /// Does these cells, project by project.
    pub(super) fn all(&self, ids: &[&CellId]) -> Result<()> {
        let mut by_project: BTreeMap<&str, Vec<&CellId>> = BTreeMap::new();
        for id in ids {
            by_project.entry(&self.matrix.manifest.tasks[&id.task].project).or_default().push(id);
        }
        by_project.into_iter().try_for_each(|(project, ids)| self.project(project, &ids))
    }

    /// Builds the projects of these cells, and no more.
    pub(super) fn prepare(&self, ids: &[&CellId]) -> Result<()> {
        let mut packages: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for task in ids.iter().map(|id| &self.matrix.manifest.tasks[&id.task]) {
            packages.entry(&task.project).or_default().insert(&task.test.package);
        }
        packages.into_iter().try_for_each(|(project, packages)| self.built(project, packages).map(drop))
    }

    fn manifest_of(&self, name: &str) -> Utf8PathBuf {
        let project = &self.matrix.manifest.projects[name];
        self.matrix.set.join("projects").join(name).join(&project.workspace).join("Cargo.toml")
    }

    /// A project, built.
    fn built(&self, name: &str, packages: BTreeSet<&str>) -> Result<Work> {
        let packages = packages.into_iter().map(str::to_owned).collect();
        let cargo = CargoArgs::said_again(&self.matrix.manifest.cargo, packages)
            .map_err(|e| Error::Usage(format!("the set's manifest has flags that cargo does not know: {e}")))?
            .of(self.manifest_of(name), self.build.join(name));
        let selection = SelectionArgs { cargo, ..SelectionArgs::default() };
        work(&selection, &ProgramArgs::default(), Inline::None, self.shell)
    }

    /// All cells of one project, target by target.
    fn project(&self, name: &str, ids: &[&CellId]) -> Result<()> {
        let matrix = self.matrix;
        let packages = ids.iter().map(|id| matrix.manifest.tasks[&id.task].test.package.as_str()).collect();
        let server = self.server(name);
        let Work { workspace, targets, _room } = self.built(name, packages)?;
        let asked = ids.iter().any(|id| matrix.agents.get(&id.agent).is_some_and(Option::is_some));
        let project = asked.then(|| template(&workspace)).transpose()?;
        for (target, tasks) in &targets {
            let own: Vec<(&CellId, &Task)> = ids
                .iter()
                .filter_map(|id| {
                    let test = &matrix.manifest.tasks[&id.task].test;
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
            let session = match Session::open(&workspace, target, &matrix.sandbox, &stage) {
                // Cells of one task come one after the other.
                Ok(session) => session.remembering(self.jobs + 1),
                Err(e) if ends_the_run(&e) => return Err(e),
                Err(e) => {
                    self.shell.error(&e.to_string());
                    continue;
                }
            };
            stage("Running", &format!("cells of {} {}", target.package, target.selector()));
            let shared = Target { session: &session, target, project: project.as_ref(), server: &server };
            in_order(&own, self.jobs, |(id, task)| self.cell(id, &shared, task), |_, done| done)?;
        }
        Ok(())
    }

    /// What our own server is started with, for agents that are given it.
    fn server(&self, project: &str) -> Vec<String> {
        let (manifest, build) = (self.manifest_of(project), self.build.join(project));
        let mut words = vec![format!("--manifest-path={manifest}"), format!("--target-dir={build}")];
        words.push(format!("--sandbox={}", self.matrix.sandbox.kind().name()));
        words.extend(self.matrix.args.timeout.map(|seconds| format!("--timeout={seconds}")));
        words.extend(self.matrix.manifest.cargo.iter().cloned());
        words
    }

    /// One cell, from nothing to its folder in its place.
    fn cell(&self, id: &CellId, shared: &Target<'_>, task: &Task) -> Result<()> {
        let matrix = self.matrix;
        let Some(_claim) = Claim::take(&matrix.runs.join("claims"), id)? else { return Ok(()) };
        // Another may have done it while this one came to it.
        if !matrix.is_due(id) {
            return Ok(());
        }
        self.progress.begins(id);
        forget_parsed();
        self.keep_task(id, shared, task)?;
        let begun = Instant::now();
        let room = self.room.join(id.name().replace('/', "."));
        std::fs::create_dir_all(&room).map_err(Error::path("make the directory", &room))?;
        let place = id.folder(&matrix.runs);
        let asking = matrix.agents.get(&id.agent).and_then(Option::as_ref).zip(shared.project);
        let made = match asking {
            None => self.extracted(shared, task, &room),
            Some((asking, project)) => {
                let run = Run {
                    asking,
                    ignored: false,
                    timeout: matrix.args.timeout.map(Duration::from_secs),
                    explain: true,
                    server: shared.server.to_vec(),
                    project,
                    sandbox: &matrix.sandbox,
                    shell: &self.silent,
                };
                run.one(shared.session, shared.target, task, || Ok(room.clone())).map(|outcome| outcome.report)
            }
        };
        let (mut report, failed) = match made {
            Ok(report) => (report, false),
            Err(e) if ends_the_run(&e) => return Err(e),
            Err(e) => (Report::failed(TestId::new(shared.target, task), &e, Cost::default()), true),
        };
        let secrets = asking.map(|(asking, _)| asking.spec.secrets.as_slice()).unwrap_or_default();
        report.cost.wall_s = begun.elapsed().as_secs_f64();
        report.gist = report.gist.and_then(|gist| Some(place.join(gist.file_name()?)));
        if let Some(attempt) = &mut report.attempt {
            attempt.record.clone_from(&place);
            // All that it says is in the result, with its true place.
            let _ = std::fs::remove_file(room.join("attempt.json"));
        }
        if let Some(explanation) = report.explanation.take() {
            write_json(&room.join(LINES), &hidden(&kept::lines(&explanation), secrets)?)?;
        }
        let job = Job::of(|name| std::env::var(name).ok());
        let cell = Cell { job, ..Cell::of(id.clone(), &report, failed) };
        write_json(&room.join("result.json"), &hidden(&report, secrets)?)?;
        write_json(&room.join(CELL), &hidden(&cell, secrets)?)?;
        put_in_place(&room, &place)?;
        self.progress.over(&cell);
        Ok(())
    }

    /// Keeps what a report shows of a task, once.
    fn keep_task(&self, id: &CellId, shared: &Target<'_>, task: &Task) -> Result<()> {
        let matrix = self.matrix;
        let original = matrix.runs.join("tasks").join(&id.task).join(ORIGINAL);
        if original.exists() {
            return Ok(());
        }
        let gold = matrix.set.join("tasks").join(&id.task).join("solution/gist.rs");
        let gold = std::fs::read_to_string(&gold).map_err(Error::path("read", &gold))?;
        match shared.session.pieces(task, &gold, matrix.args.timeout.map(Duration::from_secs)) {
            Ok(pieces) => {
                let dir = original.parent().unwrap_or(&matrix.runs);
                std::fs::create_dir_all(dir).map_err(Error::path("make the directory", dir))?;
                write_json(&original, &pieces)
            }
            Err(e) if ends_the_run(&e) => Err(e),
            // The cell will say it.
            Err(_) => Ok(()),
        }
    }

    /// The extractor's own.
    fn extracted(&self, shared: &Target<'_>, task: &Task, room: &Utf8Path) -> Result<Report> {
        let options = MakeOptions { timeout: self.matrix.args.timeout.map(Duration::from_secs), ..MakeOptions::default() };
        let made = shared.session.make(task, &options, &|_, _| ())?;
        let gist = room.join("gist.rs");
        let gist = if made.verdict == Verdict::Ok { gist } else { unverified(&gist) };
        std::fs::write(&gist, &made.gist.text).map_err(Error::path("write", &gist))?;
        let mut report = Report::made(TestId::new(shared.target, task), &made, Cost::default());
        report.explanation = shared.session.explain(&made.gist.text, shared.session.layout(), made.run.as_ref()).ok();
        report.gist = Some(gist);
        Ok(report)
    }
}

/// The right to do a cell, which one process has at a time. It ends with the process, however that ends.
pub(super) struct Claim {
    file: Utf8PathBuf,
    _lock: File,
}

impl Claim {
    /// None when another has it.
    pub(super) fn take(claims: &Utf8Path, id: &CellId) -> Result<Option<Claim>> {
        std::fs::create_dir_all(claims).map_err(Error::path("make the directory", claims))?;
        let file = claims.join(id.name().replace('/', "."));
        let lock = File::create(&file).map_err(Error::path("write", &file))?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(Claim { file, _lock: lock })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(e)) => Err(Error::path("lock", &file)(e)),
        }
    }
}

/// Whether some process does that cell now.
pub(super) fn is_claimed(runs: &Utf8Path, id: &CellId) -> bool {
    let file = File::open(runs.join("claims").join(id.name().replace('/', ".")));
    file.is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

impl Drop for Claim {
    fn drop(&mut self) {
        // Who has opened it meanwhile sees that the cell is over.
        let _ = std::fs::remove_file(&self.file);
    }
}

/// Renames a folder to its place, over what an earlier run left there.
pub(super) fn put_in_place(room: &Utf8Path, place: &Utf8Path) -> Result<()> {
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
