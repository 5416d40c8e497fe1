//! Which tests can be scored: each is run several times in the project, and then where a gist is run.
//!
//! It is the project's own executable that runs there, so nothing has to be bundled or reduced: a test that ends differently in the
//! clean room can't have a gist that does. What it misses there is found out by giving it back bit by bit.

use crate::error::{Error, Result};
use crate::report::TestId;
use crate::task::Task;
use crate::trace::{Coverage, CoverageMap};
use crate::verify::clean_room::{CleanRoom, Reach};
use crate::verify::outcome::compare;
use crate::verify::own_files::{list, named_in, strings};
use crate::verify::run::{Place, project_run, project_run_at, reference};
use crate::workspace::capture::TestTarget;
use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// What a screening found of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fitness {
    /// It ends the same each time, in the clean room, too.
    Fit,
    /// It is ignored, and was not asked for.
    Ignored,
    /// It ends or prints differently from run to run.
    Nondeterministic,
    /// It reads files of its package, or hangs on the folder that it runs in or on cargo's environment.
    LocationDependent,
    /// It needs what a sandbox closes: the network, the home folder, the machine.
    NeedsMachine,
    /// It did not end in time.
    TimeOut,
    /// What it runs can't be traced.
    Unsupported,
}

impl Fitness {
    /// As in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Fitness::Fit => "fit",
            Fitness::Ignored => "ignored",
            Fitness::Nondeterministic => "nondeterministic",
            Fitness::LocationDependent => "location-dependent",
            Fitness::NeedsMachine => "needs-machine",
            Fitness::TimeOut => "time-out",
            Fitness::Unsupported => "unsupported",
        }
    }
}

/// What code that ran names of its surroundings. It says what to look at, not that a result hangs on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Use {
    /// The time of day, or a stopwatch.
    Clock,
    /// Sockets and names of hosts.
    Network,
    /// Files and folders.
    Files,
    /// Variables, arguments, the working directory.
    Environment,
    /// Other processes.
    Processes,
    /// Threads.
    Threads,
}

impl Use {
    /// As in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Use::Clock => "clock",
            Use::Network => "network",
            Use::Files => "files",
            Use::Environment => "environment",
            Use::Processes => "processes",
            Use::Threads => "threads",
        }
    }
}

/// Words of code, and what they are a use of.
const USES: &[(&str, Use)] = &[
    ("SystemTime", Use::Clock),
    ("Instant", Use::Clock),
    ("TcpListener", Use::Network),
    ("TcpStream", Use::Network),
    ("UdpSocket", Use::Network),
    ("ToSocketAddrs", Use::Network),
    ("File", Use::Files),
    ("OpenOptions", Use::Files),
    ("fs", Use::Files),
    ("read_dir", Use::Files),
    ("current_dir", Use::Environment),
    ("env", Use::Environment),
    ("Command", Use::Processes),
    ("thread", Use::Threads),
];

/// One test, screened.
#[derive(Clone, Debug, Serialize)]
pub struct Screening {
    /// Which test.
    pub test: TestId,
    /// What was found.
    pub fitness: Fitness,
    /// Why it is not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether it passes in the project; none where that is not known.
    pub passes: Option<bool>,
    /// What its code that ran names of its surroundings.
    pub uses: BTreeSet<Use>,
    /// Function calls executed.
    pub trace_length: Option<u64>,
    /// Seconds that the screening took.
    pub wall_s: f64,
}

/// How tests are screened.
#[derive(Clone, Copy, Debug)]
pub struct ScreenOptions {
    /// Ignored tests are run.
    pub ignored: bool,
    /// For one run of a test.
    pub timeout: Duration,
    /// How often it is run in the project.
    pub runs: usize,
}

/// Screens a test.
///
/// # Errors
/// When something around the runs fails; what is wrong with the test is in the result.
pub fn screen(
    target: &TestTarget,
    task: &Task,
    map: &CoverageMap,
    room: &CleanRoom<'_>,
    options: ScreenOptions,
) -> Result<Screening> {
    let start = Instant::now();
    let mut coverage = Coverage::default();
    let mut passes = None;
    let found = match task.is_ignored() && !options.ignored {
        true => Ok(Some((Fitness::Ignored, "it is ignored; `--ignored` screens it as well".to_owned()))),
        false => found(target, task, map, room, options, &mut coverage, &mut passes),
    };
    let found = match found {
        Ok(found) => found,
        Err(e @ Error::Nondeterministic { .. }) => Some((Fitness::Nondeterministic, reason(e))),
        Err(e @ Error::TimeOut { .. }) => Some((Fitness::TimeOut, e.to_string())),
        Err(e @ Error::Unsupported { .. }) => Some((Fitness::Unsupported, reason(e))),
        Err(e) => return Err(e),
    };
    let (fitness, reason) = found.map_or((Fitness::Fit, None), |(fitness, reason)| (fitness, Some(reason)));
    let trace_length = (!coverage.is_empty()).then(|| coverage.trace_length());
    let uses = uses(&coverage, &target.package_dir);
    let wall_s = start.elapsed().as_secs_f64();
    Ok(Screening { test: TestId::new(target, task), fitness, reason, passes, uses, trace_length, wall_s })
}

/// The reason alone: the test's name stands beside it.
fn reason(e: Error) -> String {
    match e {
        Error::Nondeterministic { reason, .. } | Error::Unsupported { reason, .. } => reason,
        e => e.to_string(),
    }
}

/// What is wrong with a test, if anything is.
fn found(
    target: &TestTarget,
    task: &Task,
    map: &CoverageMap,
    room: &CleanRoom<'_>,
    options: ScreenOptions,
    coverage: &mut Coverage,
    passes: &mut Option<bool>,
) -> Result<Option<(Fitness, String)>> {
    let entry = task.entry(target, options.ignored);
    let runs = (0..options.runs.max(1)).map(|_| project_run(target, &entry, Some(map), options.timeout, None));
    let reference = reference(target, &entry, runs.collect::<Result<Vec<_>>>()?, options.timeout, None)?;
    coverage.clone_from(&reference.coverage);
    *passes = Some(reference.outcome.passes());
    if coverage.trace_length() == 0 {
        return Ok(Some((Fitness::Unsupported, "no code of the project ran, or its process left no profile".to_owned())));
    }
    let same = |place: &Place<'_>| -> Result<bool> {
        let outcome = project_run_at(target, &entry, &reference, place, options.timeout)?;
        Ok(compare(&reference.outcome, &outcome).equal)
    };
    let clean =
        |read_only: &[Utf8PathBuf]| same(&Place::Room(room, Reach { read_only: read_only.to_vec(), writable: Vec::new() }));
    if clean(&[])? {
        return Ok(None);
    }
    let folder = entry.dir(target);
    let named = named(target, task, folder);
    if same(&Place::Empty)? {
        if clean(std::slice::from_ref(&target.package_dir))? {
            let reason = format!("it reads files of {folder} by their absolute path{named}");
            return Ok(Some((Fitness::LocationDependent, reason)));
        }
        let reason =
            "it needs what the sandbox closes: the network, the home folder, other files or processes of the machine";
        return Ok(Some((Fitness::NeedsMachine, reason.to_owned())));
    }
    // The same package somewhere else.
    let copy = crate::compile::temp_dir()?;
    let copied = crate::compile::utf8(copy.path())?.join("package");
    copy_package(&target.package_dir, &copied)?;
    let reason = if same(&Place::Copy(&copied))? {
        format!("it needs files of {folder}, or cargo's environment, while it runs{named}")
    } else if same(&Place::Project)? {
        format!("it ends as it does only in {folder}: a copy of the package at another path ends differently{named}")
    } else {
        return Ok(Some((Fitness::Nondeterministic, "it ended differently when it was run once more".to_owned())));
    };
    Ok(Some((Fitness::LocationDependent, reason)))
}

/// What the file of the test names in its folder.
fn named(target: &TestTarget, task: &Task, folder: &Utf8Path) -> String {
    let file = task.tests().first().and_then(|t| t.file.clone());
    let text = file.and_then(|f| std::fs::read_to_string(target.call.cwd.join(f)).ok()).unwrap_or_default();
    let names = named_in(folder, &strings(&text));
    if names.is_empty() { String::new() } else { format!(" (its source names {})", list(&names)) }
}

/// What the lines that ran name, in files of the package.
fn uses(coverage: &Coverage, package_dir: &Utf8Path) -> BTreeSet<Use> {
    let mut found = BTreeSet::new();
    for (number, path) in coverage.files.iter().enumerate().filter(|(_, path)| path.starts_with(package_dir)) {
        let counts = coverage.line_counts(number);
        let Ok(text) = std::fs::read_to_string(path) else { continue };
        for (i, line) in text.lines().enumerate() {
            if counts.get(&(i + 1)).is_some_and(|count| *count > 0) {
                let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
                found.extend(USES.iter().filter(|(word, _)| words.contains(word)).map(|(_, what)| *what));
            }
        }
    }
    found
}

/// Copies a package without what was built and without version control.
fn copy_package(from: &Utf8Path, to: &Utf8Path) -> Result<()> {
    std::fs::create_dir_all(to).map_err(Error::io(format!("failed to make {to}")))?;
    let entries = from.read_dir_utf8().map_err(Error::io(format!("failed to read {from}")))?;
    for entry in entries {
        let entry = entry.map_err(Error::io(format!("failed to read {from}")))?;
        let (path, name) = (entry.path(), entry.file_name());
        if path.is_symlink() {
            // What it leads to may be anything.
            continue;
        } else if path.is_dir() {
            if name != ".git" && !path.join("CACHEDIR.TAG").exists() {
                copy_package(path, &to.join(name))?;
            }
        } else if path.is_file() {
            std::fs::copy(path, to.join(name)).map_err(Error::io(format!("failed to copy {path}")))?;
        }
    }
    Ok(())
}
