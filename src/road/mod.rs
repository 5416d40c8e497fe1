//! The whole road for the tests of one target, or for one program: what they share is made once.

#[cfg(feature = "agents")]
mod ask;
mod baseline;
mod figures;
#[cfg(feature = "agents")]
mod host;
pub mod judge;
mod original;
#[cfg(feature = "agents")]
mod pieces;

use crate::bundle::{Bundle, bundle};
use crate::compile::Compiler;
use crate::error::{Error, Result};
use crate::gist::{Facts, Gist, finish};
use crate::reduce::ran::Ran;
use crate::reduce::{Goal, Level, Prepared, prepare};
use crate::report::Made;
use crate::sandbox::Sandbox;
use crate::score::existence::{CrateText, Index, Options, Wrapper};
use crate::score::size::code_lines;
use crate::source::map::SourceMap;
use crate::task::Task;
use crate::trace::{Coverage, CoverageMap};
use crate::verify::clean_room::CleanRoom;
use crate::verify::inject::OriginalTest;
use crate::verify::own_files::{list, named_behind, strings};
use crate::verify::run::{Entry, ProjectRun, REFERENCE_RUNS, Reference, project_run, reference};
use crate::verify::surroundings::Surroundings;
use crate::verify::verdict::{Claim, Verdict, Verified, verify};
use crate::workspace::Workspace;
use crate::workspace::capture::TestTarget;
#[cfg(feature = "agents")]
pub use ask::AskOptions;
use baseline::Memory;
use camino::{Utf8Path, Utf8PathBuf};
#[cfg(feature = "agents")]
pub use host::AgentHost;
use original::Names;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// How long a test may take in the project unless told otherwise.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(300);
/// How often the gist of a test that goes other ways from run to run has to end as the test does.
const RUNS_WHERE_IT_VARIES: usize = 5;
/// How often such a test is run once more in the project, and for how long at most: rare ways show late.
const MORE_RUNS: (usize, Duration) = (10, Duration::from_secs(2));

/// How a gist is to be made.
#[derive(Clone, Debug)]
pub struct MakeOptions {
    /// How far it is reduced, and whether stubs are allowed.
    pub goal: Goal,
    /// Ignored tests are run.
    pub ignored: bool,
    /// For one run of the test.
    pub timeout: Option<Duration>,
    /// The file's name, as the header's run line has it.
    pub file_name: String,
    /// How many cores it may use: from two on, it tries two texts at once where that pays.
    pub jobs: usize,
}

impl Default for MakeOptions {
    /// As far as it goes, without stubs, as `gist.rs`, with one core.
    fn default() -> Self {
        MakeOptions { goal: Goal::default(), ignored: false, timeout: None, file_name: "gist.rs".into(), jobs: 1 }
    }
}

/// What all tests of a target share.
#[derive(Debug)]
pub struct Session<'w> {
    workspace: &'w Workspace,
    target: Cow<'w, TestTarget>,
    compiler: Compiler,
    room: CleanRoom<'w>,
    /// Where a gist of this tool's is tried that does not do in the room what it does outside.
    fallback: Option<CleanRoom<'w>>,
    /// The project's own runs are in the room, too.
    reference_in_room: bool,
    /// Of what the project does for its tasks; none makes it anew each time.
    memory: Option<Memory>,
    coverage_map: CoverageMap,
    prepared: Prepared,
    index: Index,
    layout: Options,
    names: Names,
    bundle_lines: usize,
    prepare_calls: usize,
    /// Wall seconds of the shared stages.
    pub stages: BTreeMap<&'static str, f64>,
}

/// Runs `f` and adds its wall time to a stage.
fn timed<T>(stages: &mut BTreeMap<&'static str, f64>, stage: &'static str, f: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let out = f();
    *stages.entry(stage).or_default() += start.elapsed().as_secs_f64();
    out
}

/// Checks the bundle with the edition of the test's crate; should it not compile, with those of the other crates in it,
/// newest first. The first error is the one that is told.
fn prepared(workspace: &Workspace, target: &TestTarget, bundle: Bundle, what: &str) -> Result<(Compiler, Prepared)> {
    let cache = workspace.cache();
    let compiler = Compiler::new(target);
    let first = match prepare(bundle.clone(), &compiler, what, Some(&cache)) {
        Ok(prepared) => return Ok((compiler, prepared)),
        Err(e @ Error::Bundling { .. }) => e,
        Err(e) => return Err(e),
    };
    let own = target.call.edition();
    let others: BTreeSet<&str> = target.crates().map(|(_, call)| call.edition()).filter(|e| *e != own).collect();
    for edition in others.into_iter().rev() {
        let compiler = compiler.with_edition(edition);
        let bundle = Bundle { edition: edition.to_owned(), ..bundle.clone() };
        if let Ok(prepared) = prepare(bundle, &compiler, what, Some(&cache)) {
            return Ok((compiler, prepared));
        }
    }
    Err(first)
}

/// How long a run may take after the first.
fn later_limit(first: &ProjectRun) -> Duration {
    (first.wall() * 10).max(Duration::from_secs(20)).min(DEFAULT_TIMEOUT)
}

/// Where a gist that does not verify goes, instead of where it was to go.
#[must_use]
pub fn unverified(path: &Utf8Path) -> Utf8PathBuf {
    path.with_extension("unverified.rs")
}

impl<'w> Session<'w> {
    /// Bundles the target's crate and asks rustc for its graph. Gists will be built and run in `sandbox`.
    ///
    /// `stage` hears what is being done.
    ///
    /// # Errors
    /// What can't be bundled, with the reason.
    pub fn open(
        workspace: &'w Workspace,
        target: &'w TestTarget,
        sandbox: &'w Sandbox,
        stage: &dyn Fn(&str, &str),
    ) -> Result<Session<'w>> {
        let mut stages = BTreeMap::new();
        let what = format!("{} {}", target.package, target.selector());
        if target.call.has_harness() && target.call.codegen("panic").last() == Some("abort") {
            return Err(Error::Unsupported {
                test: what,
                reason: "it is built with `panic = \"abort\"`, so a failing test takes the whole run with it; use a profile that unwinds (--profile)".into(),
            });
        }
        stage("Bundling", &what);
        let joined = timed(&mut stages, "bundle", || bundle(target))?;
        stage("Graphing", &what);
        let first = timed(&mut stages, "graph", || prepared(workspace, target, joined, &what));
        let (target, (compiler, prepared)) = match (first, target.with_library_apart()) {
            // What is private at the library's root may be in the way.
            (Err(e @ Error::Bundling { .. }), Some(apart)) => {
                let again = timed(&mut stages, "bundle", || bundle(&apart))
                    .and_then(|bundle| timed(&mut stages, "graph", || prepared(workspace, &apart, bundle, &what)));
                // The user knows the first bundle's error better: there all stands as in the project.
                let told =
                    |other| if matches!(other, Error::Bundling { .. } | Error::Unsupported { .. }) { e } else { other };
                (Cow::Owned(apart), again.map_err(told)?)
            }
            (first, _) => (Cow::Borrowed(target), first?),
        };
        let prepare_calls = compiler.calls();
        let coverage_map = CoverageMap::load(&[&target.executable])?;
        let parse = |e: crate::score::ParseError| Error::Internal(format!("the bundle can't be scored: {e}"));
        let crates: Vec<CrateText> =
            prepared.bundle.crates.iter().map(|c| CrateText { names: c.names.clone(), text: c.text.text.clone() }).collect();
        let (index, bundle_lines) = timed(&mut stages, "index", || {
            Ok::<_, Error>((Index::new(&crates).map_err(parse)?, code_lines(&prepared.bundle.text)))
        })?;
        let wrappers = prepared
            .bundle
            .crates
            .iter()
            .filter_map(|c| Some(Wrapper { module: c.module.clone()?, krate: c.names.first()?.clone() }));
        let layout = Options {
            root: crates.first().and_then(|c| c.names.first().cloned()),
            wrappers: wrappers.collect(),
            beside: None,
        };
        let names = Names::of(&prepared.bundle, workspace);
        Ok(Session {
            workspace,
            target,
            compiler,
            room: CleanRoom::new(sandbox),
            fallback: None,
            reference_in_room: false,
            memory: None,
            coverage_map,
            prepared,
            index,
            layout,
            names,
            bundle_lines,
            prepare_calls,
            stages,
        })
    }

    /// The same with the project's own test run in the sandbox as well, where it may read the project and write to nothing of it.
    #[must_use]
    pub fn with_reference_in_sandbox(self, reference_in_room: bool) -> Session<'w> {
        Session { reference_in_room, ..self }
    }

    /// The same with another sandbox, a more open one, for tests that need what the first one closes. The gists are this tool's own:
    /// [`Session::judge`] has no use for it.
    #[must_use]
    pub fn with_fallback(self, sandbox: Option<&'w Sandbox>) -> Session<'w> {
        Session { fallback: sandbox.map(CleanRoom::new), ..self }
    }

    /// The same, for many gists of one task: what the project does for the last `most` tasks that were asked or judged is remembered. The project
    /// must not change meanwhile.
    #[must_use]
    pub fn remembering(self, most: usize) -> Session<'w> {
        Session { memory: Some(Memory::of(most)), ..self }
    }

    /// Calls of rustc that all tests share.
    #[must_use]
    pub fn prepare_calls(&self) -> usize {
        self.prepare_calls
    }

    /// How this tool's own gists are put together.
    #[must_use]
    pub fn layout(&self) -> &Options {
        &self.layout
    }

    /// The bundle and what is known of it.
    #[must_use]
    pub fn prepared(&self) -> &Prepared {
        &self.prepared
    }

    /// Makes, verifies and scores the gist of a task.
    ///
    /// # Errors
    /// When no gist can be made; one that does not verify is not an error.
    pub fn make(&self, task: &Task, options: &MakeOptions, stage: &dyn Fn(&str, &str)) -> Result<Made> {
        let mut stages = BTreeMap::new();
        let compiler = self.compiler.afresh().with_jobs(options.jobs);
        let entry = task.entry(&self.target, options.ignored);
        let name = task.what();
        stage("Tracing", &name);
        let (first, limit) = timed(&mut stages, "trace", || self.first_run(&entry, &name, options.timeout))?;
        let coverage = first.coverage().cloned().unwrap_or_default();

        stage("Reducing", &name);
        let ran = timed(&mut stages, "map-coverage", || Ran::new(&self.prepared.bundle, &self.prepared.tree, &coverage));
        let test = self.locate(task, &ran)?;
        let (reduced, rest) = std::thread::scope(|scope| {
            // The other reference runs wait for nothing.
            let runs =
                scope.spawn(|| (1..REFERENCE_RUNS).map(|_| self.project_run(&entry, limit)).collect::<Result<Vec<_>>>());
            let reduced = timed(&mut stages, "reduce", || self.prepared.reduce(&test, &ran, options.goal, &compiler));
            (reduced, runs.join())
        });
        let rest = rest.map_err(|_| Error::Internal("a reference run panicked".into()))?;
        let (mut reduced, mut ran) = (reduced?, ran);
        let mut runs = vec![first];
        runs.extend(rest?);
        // A test that goes other ways from run to run: what any of them took is kept.
        let varies = runs.iter().filter_map(|run| run.coverage()).any(|other| !other.ran_the_same(&coverage));
        let mut taken = vec![coverage.clone()];
        if varies {
            taken.extend(runs[1..].iter().filter_map(|run| run.coverage().cloned()));
            ran = self.ran_in_more(&entry, &mut taken, limit)?;
            reduced = timed(&mut stages, "reduce", || self.prepared.reduce(&test, &ran, options.goal, &compiler))?;
        }
        let reference = reference(&self.target, &entry, runs, limit, None)?;

        stage("Verifying", &name);
        let gist_names: Vec<String> = entry.names().iter().map(|n| self.in_gist(n)).collect();
        let gist_test = self.gist_test(task, &entry);
        let facts = Facts {
            workspace: self.workspace,
            target: &self.target,
            test: &name,
            gist_test: &gist_test,
            ignored: task.tests().iter().any(|t| t.ignored),
            kind: task.kind().name(),
            call: entry.call(),
            file_name: &options.file_name,
        };
        let original = self.original(&test, gist_names.first().unwrap_or(&gist_test));
        let runs = if varies { RUNS_WHERE_IT_VARIES } else { 1 };
        let mut claim = Claim { runs, own: true, ..self.claim(&original, &reference, &entry, &gist_names, limit) };
        // Should the smallest text not verify, wider ones are tried: the last is the whole crate.
        let levels: &[Level] = match options.goal.level {
            Level::Full => &[Level::Items, Level::Bundle],
            Level::Items => &[Level::Bundle],
            Level::Bundle => &[],
        };
        self.self_contained(&name, &reduced.text)?;
        let unverified = unverified(Utf8Path::new(&options.file_name));
        let check = |text: &str, map: &SourceMap, level: Level, claim: &Claim<'_>| -> Result<(Gist, Verified)> {
            let mut gist = finish(text, map, &self.prepared.bundle, &facts)?;
            let mut verified = verify(&gist.text, Some(&gist.map), claim, &compiler)?;
            if verified.needs == Some(Surroundings::Machine)
                && let Some(room) = self.fallback
            {
                verified = verify(&gist.text, Some(&gist.map), &Claim { room, ..*claim }, &compiler)?;
            }
            if verified.verdict != Verdict::Ok && std::env::var_os("GISTIFY_DEBUG").is_some() {
                eprintln!("--- not verified: {}\n{}", verified.verdict.name(), verified.reason);
            }
            if verified.verdict != Verdict::Ok {
                let facts = Facts { file_name: unverified.as_str(), ..facts.clone() };
                gist = finish(text, map, &self.prepared.bundle, &facts)?;
            }
            let named = |needs: &Surroundings| !needs.names(&gist.text, &entry, &self.target).is_empty();
            match verified.needs.filter(|needs| level == Level::Bundle || named(needs)) {
                // Where the code names nothing, a test may have ended otherwise by chance: a wider text will tell.
                None => Ok((gist, verified)),
                // No other text would end differently.
                Some(needs) => {
                    let reason = needs.reason(&gist.text, &entry, &self.target);
                    Err(Error::Unsupported { test: name.clone(), reason })
                }
            }
        };
        let (mut gist, mut verified) =
            timed(&mut stages, "verify", || check(&reduced.text, &reduced.map, options.goal.level, &claim))?;
        if matches!(verified.verdict, Verdict::OutputDiffers | Verdict::Crash) {
            // It may have gone a way that it goes in few runs.
            let more = self.ran_in_more(&entry, &mut taken, limit)?;
            if more.ran != ran.ran {
                ran = more;
                claim.runs = RUNS_WHERE_IT_VARIES;
                let reduced = timed(&mut stages, "reduce", || self.prepared.reduce(&test, &ran, options.goal, &compiler))?;
                self.self_contained(&name, &reduced.text)?;
                (gist, verified) =
                    timed(&mut stages, "verify", || check(&reduced.text, &reduced.map, options.goal.level, &claim))?;
            }
        }
        for &level in levels {
            if verified.verdict == Verdict::Ok {
                break;
            }
            let goal = Goal { level, stubs: false };
            let wider = timed(&mut stages, "reduce", || self.prepared.reduce(&test, &ran, goal, &compiler))?;
            // A wider text that leads back into the project proves nothing.
            if self.self_contained(&name, &wider.text).is_ok() {
                (gist, verified) = timed(&mut stages, "verify", || check(&wider.text, &wider.map, level, &claim))?;
            }
        }
        let metrics =
            timed(&mut stages, "score", || self.metrics(&gist.text, &self.layout, &original, &verified, &coverage));
        let run_line = gist.text.lines().find_map(|l| l.strip_prefix("//! Run: ")).unwrap_or_default().to_owned();
        Ok(Made {
            gist,
            verdict: verified.verdict,
            reason: verified.reason,
            run: verified.run,
            run_line,
            metrics,
            stages,
            rustc_calls: compiler.calls(),
        })
    }

    /// Runs an entry once in the project.
    fn project_run(&self, entry: &Entry, limit: Duration) -> Result<ProjectRun> {
        let room = self.reference_in_room.then_some(&self.room);
        project_run(&self.target, entry, Some(&self.coverage_map), limit, room)
    }

    /// What ran in any of the runs, of which some more are made.
    fn ran_in_more(&self, entry: &Entry, taken: &mut Vec<Coverage>, limit: Duration) -> Result<Ran> {
        let (runs, time) = MORE_RUNS;
        let start = Instant::now();
        for _ in (0..runs).take_while(|_| start.elapsed() < time) {
            let run = self.project_run(entry, limit)?;
            taken.extend(run.coverage().cloned());
        }
        Ok(Ran::new(&self.prepared.bundle, &self.prepared.tree, &Coverage::of_runs(&*taken)))
    }

    /// What a gist is verified against, once, and not as this tool's own.
    fn claim<'c>(
        &'c self,
        original: &'c OriginalTest,
        reference: &'c Reference,
        entry: &'c Entry,
        gist_names: &'c [String],
        timeout: Duration,
    ) -> Claim<'c> {
        Claim {
            target: &self.target,
            original,
            reference,
            entry,
            gist_names,
            crates: &self.names.crates,
            repositories: &self.names.repositories,
            project_text: &self.prepared.bundle.text,
            project_map: &self.prepared.bundle.map,
            types: &self.names.types,
            timeout,
            runs: 1,
            own: false,
            room: self.room,
        }
    }

    /// The first run, and how long later ones may take. It has to have left a profile with something in it.
    fn first_run(&self, entry: &Entry, name: &str, timeout: Option<Duration>) -> Result<(ProjectRun, Duration)> {
        let limit = timeout.unwrap_or(DEFAULT_TIMEOUT);
        let run = self.project_run(entry, limit)?;
        if run.timed_out() {
            return Err(entry.time_out(limit));
        }
        let coverage = run.coverage().cloned().unwrap_or_default();
        if coverage.trace_length() > 0 {
            let later = timeout.unwrap_or_else(|| later_limit(&run));
            return Ok((run, later));
        }
        let reason = match run.signal() {
            Some(signal) => format!("it was ended by signal {signal} and left no profile, so what ran is not known"),
            None if coverage.is_empty() => {
                "it left no profile: did it end the process without running exit handlers?".to_owned()
            }
            None => "its profile is empty: no code of the project ran".to_owned(),
        };
        Err(Error::Unsupported { test: name.to_owned(), reason })
    }

    /// What the compiler made of `env!("CARGO_MANIFEST_DIR")`, `env!("CARGO_BIN_EXE_…")` and the like leads back into
    /// the project.
    fn self_contained(&self, name: &str, text: &str) -> Result<()> {
        let packages = self.target.crates().filter_map(|(id, _)| self.workspace.package(id)?.manifest_path.parent());
        let places = [self.workspace.state_dir.as_path(), self.workspace.build_dir.as_path()];
        match packages.chain(places).find(|p| text.contains(p.as_str())) {
            None => Ok(()),
            Some(path) => {
                let files = named_behind(path, &strings(text));
                let named = if files.is_empty() { String::new() } else { format!(", and names there {}", list(&files)) };
                Err(Error::Unsupported {
                    test: name.to_owned(),
                    reason: format!(
                        "its code holds a path into the project, {path} (by `env!(\"CARGO_MANIFEST_DIR\")`, \
                         `env!(\"CARGO_BIN_EXE_…\")` or the like){named}, so a file of it would not run anywhere else; \
                         what is read at compile time (`include_str!`, `include_bytes!`) comes with a gist"
                    ),
                })
            }
        }
    }
}
