//! Runs: the entry (a test, or a program) in the project, several times, and the gist in an empty directory.

use super::clean_room::{CleanRoom, Reach};
use super::mask::{Masks, masks};
use super::normalise::Normaliser;
use super::outcome::{ExitClass, Outcome};
use super::surroundings::Surroundings;
use super::verdict::Claim;
use crate::compile::{FILE_NAME, temp_dir, utf8};
use crate::error::{Error, Result};
use crate::process::{Limits, Output, run_fed};
use crate::program::Program;
use crate::sandbox::Breach;
use crate::source::map::{SourceFile, SourceMap, line_starts, position};
use crate::trace::{Coverage, CoverageMap};
use crate::workspace::capture::TestTarget;
use camino::{Utf8Path, Utf8PathBuf};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How often an entry is run in the project.
pub const REFERENCE_RUNS: usize = 3;

/// What the temporary folder of a run is called in outputs that are compared.
const TEMP: &str = "<tmp>";

/// What the folder that a run has is called there, and the project's.
const PROJECT: &str = "<project>";

/// What the executable is called in outputs that are compared.
const EXECUTABLE: &str = "<executable>";

/// What is run, on both sides.
#[derive(Clone, Debug)]
pub enum Entry {
    /// Cases of libtest.
    Tests(Cases),
    /// The program itself.
    Program(Program),
}

impl Entry {
    /// Paths of the cases in the project; a program has none.
    #[must_use]
    pub fn names(&self) -> &[String] {
        match self {
            Entry::Tests(cases) => &cases.names,
            Entry::Program(_) => &[],
        }
    }

    /// What stands behind the program's name on a command line; tests have another one.
    #[must_use]
    pub fn call(&self) -> Option<String> {
        match self {
            Entry::Tests(_) => None,
            Entry::Program(program) => Some(program.call()),
        }
    }

    /// Where it runs in the project.
    #[must_use]
    pub fn dir<'a>(&'a self, target: &'a TestTarget) -> &'a Utf8Path {
        match self {
            Entry::Tests(_) => &target.package_dir,
            Entry::Program(program) => &program.dir,
        }
    }

    /// The entry as messages name it.
    fn what(&self) -> String {
        match self {
            Entry::Tests(cases) => cases.names.first().cloned().unwrap_or_default(),
            Entry::Program(program) => program.to_string(),
        }
    }

    /// An error for a run that did not end in time.
    #[must_use]
    pub fn time_out(&self, limit: Duration) -> Error {
        let kind = match self {
            Entry::Tests(_) => "test",
            Entry::Program(_) => "program",
        };
        Error::TimeOut { what: format!("the {kind} {}", self.what()), limit_s: limit.as_secs() }
    }

    /// How a run ended, of texts that are normalised.
    fn outcome(&self, stdout: &str, stderr: &str, exit: ExitClass) -> Outcome {
        match self {
            Entry::Tests(cases) => {
                let selected: Vec<&str> = cases.names.iter().map(String::as_str).collect();
                Outcome::parse(stdout, stderr, exit, &selected)
            }
            Entry::Program(_) => Outcome::of_program(stdout, stderr, exit),
        }
    }

    /// Tells an executable what to run, and runs it, in a clean room where one is given. `names` are those of the cases in that
    /// executable.
    fn run(
        &self,
        mut command: Command,
        names: &[String],
        timeout: Duration,
        room: Option<(&CleanRoom<'_>, Reach)>,
    ) -> Result<(Output, Option<Breach>)> {
        pin_environment(&mut command);
        let limits = Limits { timeout: Some(timeout), ..Limits::default() };
        let input = match self {
            Entry::Tests(cases) => {
                test_args(&mut command, names, cases.ignored);
                Stdio::null()
            }
            Entry::Program(program) => {
                // What a program is called may be in what it prints.
                command.arg0(&program.name).args(&program.args);
                program.input()?
            }
        };
        let arg0 = match self {
            Entry::Tests(_) => None,
            Entry::Program(program) => Some(program.name.as_str()),
        };
        let _alone = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        match room {
            Some((room, reach)) => room.execute(&command, arg0, reach, input, limits),
            None => Ok((run_fed(&mut command, input, limits)?, None)),
        }
    }
}

/// One run at a time, however many tests are worked on: they may share a port or a file.
static RUNNING: Mutex<()> = Mutex::new(());

/// Which cases are run: the paths in the project, and what libtest is told.
#[derive(Clone, Debug)]
pub struct Cases {
    /// Paths of the test's cases in the project.
    pub names: Vec<String>,
    /// Ignored tests are run, too.
    pub ignored: bool,
}

/// How an entry ends in the project.
#[derive(Debug)]
pub struct Reference {
    /// What all runs agree on.
    pub outcome: Outcome,
    /// What differs between runs in stdout, and is masked on both sides.
    pub stdout_masks: Masks,
    /// The same for stderr.
    pub stderr_masks: Masks,
    /// What ran, of the first run.
    pub coverage: Coverage,
    /// The longest run.
    pub wall: Duration,
}

/// One run in the project.
#[derive(Debug)]
pub struct ProjectRun {
    output: Output,
    coverage: Option<Coverage>,
    /// The temporary folder it had.
    temp: String,
}

impl ProjectRun {
    /// What ran.
    #[must_use]
    pub fn coverage(&self) -> Option<&Coverage> {
        self.coverage.as_ref()
    }

    /// It ran into its time limit.
    #[must_use]
    pub fn timed_out(&self) -> bool {
        self.output.timed_out
    }

    /// The signal that ended it.
    #[must_use]
    pub fn signal(&self) -> Option<i32> {
        self.output.signal()
    }

    /// Wall time.
    #[must_use]
    pub fn wall(&self) -> Duration {
        self.output.wall
    }
}

fn test_args(command: &mut Command, names: &[String], ignored: bool) {
    command.args(["--exact", "--nocapture", "--test-threads=1", "--color=never"]);
    if ignored {
        command.arg("--include-ignored");
    }
    command.args(names);
}

/// The same surroundings for both sides.
fn pin_environment(command: &mut Command) {
    for (name, value) in [
        ("TZ", "UTC"),
        ("LC_ALL", "C"),
        ("LANG", "C"),
        ("RUST_BACKTRACE", "0"),
        ("NO_COLOR", "1"),
        ("CARGO_TERM_COLOR", "never"),
        ("INSTA_UPDATE", "no"),
        ("INSTA_FORCE_PASS", "0"),
    ] {
        command.env(name, value);
    }
    for name in [
        "RUST_TEST_THREADS",
        "RUST_TEST_NOCAPTURE",
        "RUST_TEST_SHUFFLE",
        "RUST_LOG",
        "TRYBUILD",
        "FORCE_COLOR",
        "CLICOLOR_FORCE",
    ] {
        command.env_remove(name);
    }
}

/// Runs an entry once in the project; with a room, in that, where it may read the project and write to nothing of it.
///
/// # Errors
/// When the executable can't be started, or its profile can't be read.
pub fn project_run(
    target: &TestTarget,
    entry: &Entry,
    map: Option<&CoverageMap>,
    timeout: Duration,
    room: Option<&CleanRoom<'_>>,
) -> Result<ProjectRun> {
    let profiles = temp_dir()?;
    // Two runs at once must not meet in the same temporary folder.
    let temp = temp_dir()?;
    let mut command = Command::new(&target.executable);
    in_environment(command.current_dir(entry.dir(target)), target, entry);
    command.env("TMPDIR", temp.path()).env("LLVM_PROFILE_FILE", profiles.path().join("%p%c.profraw"));
    let room = match room {
        Some(room) => {
            let mut reach = own_reach(target, &target.executable);
            reach.read_only.extend([target.call.cwd.clone(), target.package_dir.clone(), entry.dir(target).to_owned()]);
            reach.writable.extend([utf8(profiles.path())?.to_owned(), utf8(temp.path())?.to_owned()]);
            Some((room, reach))
        }
        None => None,
    };
    let (output, _) = entry.run(command, entry.names(), timeout, room)?;
    let coverage = match map {
        Some(map) => Some(map.coverage(utf8(profiles.path())?)?),
        None => None,
    };
    Ok(ProjectRun { output, coverage, temp: temp.path().to_string_lossy().into_owned() })
}

/// Where the project's own executable is run, to see what the test needs.
#[derive(Clone, Debug)]
pub enum Place<'a> {
    /// As in the project.
    Project,
    /// In a copy of the package, in cargo's environment, which leads to the copy.
    Copy(&'a Utf8Path),
    /// In an empty folder, without cargo.
    Empty,
    /// The same in the clean room, where it may reach some more.
    Room(&'a CleanRoom<'a>, Reach),
}

/// Runs an entry of the project's own executable somewhere, and gives how it ends, as its reference outcome is told.
///
/// # Errors
/// When the executable can't be started.
pub fn project_run_at(
    target: &TestTarget,
    entry: &Entry,
    reference: &Reference,
    place: &Place<'_>,
    timeout: Duration,
) -> Result<Outcome> {
    let (empty, temp, profiles) = (temp_dir()?, temp_dir()?, temp_dir()?);
    let home = entry.dir(target);
    let folder = match place {
        Place::Project => home.to_owned(),
        Place::Copy(copy) => copy.join(home.strip_prefix(&target.package_dir).unwrap_or(Utf8Path::new(""))),
        Place::Empty | Place::Room(..) => utf8(empty.path())?.to_owned(),
    };
    let mut command = Command::new(&target.executable);
    command.current_dir(&folder);
    match place {
        Place::Project => _ = in_environment(&mut command, target, entry),
        Place::Copy(copy) => {
            in_environment(&mut command, target, entry);
            let leads = target.call.env.iter().filter(|(_, value)| value.contains(target.package_dir.as_str()));
            command.envs(leads.map(|(name, value)| (name, value.replace(target.package_dir.as_str(), copy.as_str()))));
        }
        Place::Empty | Place::Room(..) => _ = without_cargo(&mut command, target),
    }
    command.env("TMPDIR", temp.path()).env("LLVM_PROFILE_FILE", profiles.path().join("%p%c.profraw"));
    let room = match place {
        Place::Room(room, more) => {
            let mut reach = own_reach(target, &target.executable);
            reach.read_only.extend(more.read_only.iter().cloned());
            reach.writable.extend([folder.to_owned(), utf8(profiles.path())?.to_owned(), utf8(temp.path())?.to_owned()]);
            Some((*room, reach))
        }
        _ => None,
    };
    let (output, _) = entry.run(command, entry.names(), timeout, room)?;
    let paths = vec![
        (temp.path().to_string_lossy().into_owned(), TEMP.into()),
        (target.call.cwd.to_string(), PROJECT.into()),
        (home.to_string(), PROJECT.into()),
        (folder.to_string(), PROJECT.into()),
        (target.executable.to_string(), EXECUTABLE.into()),
    ];
    let normaliser = Normaliser { location: None, tests: Vec::new(), types: Vec::new(), paths };
    let (stdout, stderr) = (normaliser.apply(&output.stdout_text()), normaliser.apply(&output.stderr_text()));
    let outcome = entry.outcome(&stdout, &stderr, class(&output));
    Ok(outcome.masked(&reference.stdout_masks, &reference.stderr_masks))
}

/// What an executable needs to be started.
fn own_reach(target: &TestTarget, executable: &Utf8Path) -> Reach {
    let libraries = target.call.env.iter().filter(|(name, _)| name.contains("LIBRARY_PATH"));
    let libraries = libraries.flat_map(|(_, paths)| paths.split(':')).map(Utf8PathBuf::from);
    let libraries = libraries.filter(|p| p.is_absolute() && p.exists());
    Reach { read_only: libraries.chain([executable.to_owned()]).collect(), writable: Vec::new() }
}

/// The environment in which an entry runs in the project.
fn in_environment<'a>(command: &'a mut Command, target: &TestTarget, entry: &Entry) -> &'a mut Command {
    match entry {
        // A program is run by people, without cargo.
        Entry::Program(program) if !program.by_cargo => without_cargo(command, target),
        _ => command.envs(&target.call.env),
    }
}

/// The environment outside of cargo: its variables are gone, but those by which libraries are found.
fn without_cargo<'a>(command: &'a mut Command, target: &TestTarget) -> &'a mut Command {
    for (name, value) in target.call.env.iter().filter(|(name, _)| name.contains("LIBRARY_PATH")) {
        command.env(name, value);
    }
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|n| n.starts_with("CARGO_")) {
            command.env_remove(name);
        }
    }
    command
}

fn class(output: &Output) -> ExitClass {
    if output.truncated && !output.timed_out {
        return ExitClass::TooMuchOutput;
    }
    ExitClass::of(output.status.code(), output.signal(), output.timed_out)
}

/// What several runs agree on. With `lines_of` some files, places in them are told by the text of the line, for gists without a source
/// map.
///
/// # Errors
/// [`Error::Nondeterministic`] when they agree on too little; [`Error::TimeOut`] when one did not end.
pub fn reference(
    target: &TestTarget,
    entry: &Entry,
    runs: Vec<ProjectRun>,
    timeout: Duration,
    lines_of: Option<&[SourceFile]>,
) -> Result<Reference> {
    let what = || entry.what();
    let mut outcomes = Vec::new();
    let mut coverage = None;
    let mut wall = Duration::ZERO;
    for r in runs {
        if r.output.timed_out {
            return Err(entry.time_out(timeout));
        }
        if r.output.truncated {
            let mib = Limits::default().max_output >> 20;
            let reason = format!("it prints more than {mib} MiB, which is too much to compare");
            return Err(Error::Unsupported { test: what(), reason });
        }
        wall = wall.max(r.output.wall);
        let paths = vec![
            (r.temp.clone(), TEMP.into()),
            (target.call.cwd.to_string(), PROJECT.into()),
            (entry.dir(target).to_string(), PROJECT.into()),
            (target.executable.to_string(), EXECUTABLE.into()),
        ];
        let location = lines_of.map(|files| -> Box<super::normalise::MapLocation<'_>> {
            Box::new(|path, line, _| {
                let path = target.call.cwd.join(path);
                line_there(&files.iter().find(|f| f.path == path)?.text, line)
            })
        });
        let normaliser = Normaliser { location, tests: Vec::new(), types: Vec::new(), paths };
        let (stdout, stderr) = (normaliser.apply(&r.output.stdout_text()), normaliser.apply(&r.output.stderr_text()));
        outcomes.push(entry.outcome(&stdout, &stderr, class(&r.output)));
        coverage = coverage.or(r.coverage);
    }
    let Some(first) = outcomes.first() else { return Err(Error::Internal("no reference run".into())) };
    if let Some(other) = outcomes.iter().find(|o| o.cases != first.cases || o.exit != first.exit) {
        return Err(Error::Nondeterministic {
            test: what(),
            reason: format!(
                "it ended as {:?} {:?} in one run and as {:?} {:?} in another",
                first.exit, first.cases, other.exit, other.cases
            ),
        });
    }
    let agree = |text: fn(&Outcome) -> &String, stream: &str| {
        let texts: Vec<String> = outcomes.iter().map(|o| text(o).clone()).collect();
        masks(&texts).map_err(|d| Error::Nondeterministic {
            test: what(),
            reason: format!(
                "line {} of its {stream} differs between runs: `{}` and `{}`",
                d.line,
                d.first.trim(),
                d.other.trim()
            ),
        })
    };
    let stdout_masks = agree(|o| &o.stdout, "stdout")?;
    let stderr_masks = agree(|o| &o.stderr, "stderr")?;
    let outcome = first.masked(&stdout_masks, &stderr_masks);
    Ok(Reference { outcome, stdout_masks, stderr_masks, coverage: coverage.unwrap_or_default(), wall })
}

/// A gist as it is run: its text and where that comes from.
#[derive(Clone, Debug)]
pub struct GistRun<'a> {
    /// The text, with the test injected.
    pub text: &'a str,
    /// Its source map; without one, places are told by the text of their lines.
    pub map: Option<&'a SourceMap>,
    /// The executable.
    pub executable: &'a Utf8Path,
    /// Paths of the cases in the gist.
    pub names: Vec<String>,
    /// Type name prefixes in the gist, and what they are in the project.
    pub types: Vec<(String, String)>,
}

/// How a gist's run went.
#[derive(Debug)]
pub struct GistRan {
    /// How it ended, normalised and masked.
    pub outcome: Outcome,
    /// What ran.
    pub coverage: Coverage,
    /// The limit of the clean room that ended it.
    pub breach: Option<Breach>,
}

/// Runs a gist and gives its outcome and its coverage. It is in the clean room with nothing around it, and outside of it with
/// more.
///
/// # Errors
/// When it can't be started, or its profile can't be read.
pub fn gist_run(claim: &Claim<'_>, gist: &GistRun<'_>, surroundings: Surroundings) -> Result<GistRan> {
    let Claim { target, entry, reference, .. } = *claim;
    let room = temp_dir()?;
    let profiles = temp_dir()?;
    let temp = temp_dir()?;
    let folder = match surroundings {
        Surroundings::Nothing | Surroundings::Machine => utf8(room.path())?,
        Surroundings::Folder | Surroundings::Environment => entry.dir(target),
    };
    let mut command = Command::new(gist.executable);
    command.current_dir(folder);
    match surroundings {
        Surroundings::Nothing | Surroundings::Machine | Surroundings::Folder => without_cargo(&mut command, target),
        Surroundings::Environment => in_environment(&mut command, target, entry),
    };
    command.env("TMPDIR", temp.path()).env("LLVM_PROFILE_FILE", profiles.path().join("%p%c.profraw"));
    let in_room = match surroundings {
        Surroundings::Nothing => {
            let mut reach = own_reach(target, gist.executable);
            reach.writable.extend([folder.to_owned(), utf8(profiles.path())?.to_owned(), utf8(temp.path())?.to_owned()]);
            Some((&claim.room, reach))
        }
        _ => None,
    };
    let (output, breach) = entry.run(command, &gist.names, claim.timeout, in_room)?;
    // A gist may hold nothing that is counted, or write into its own profile.
    let profiles = utf8(profiles.path())?;
    let coverage = CoverageMap::load(&[gist.executable]).and_then(|map| map.coverage(profiles)).unwrap_or_default();
    let lines = line_starts(gist.text);
    let location: Box<super::normalise::MapLocation<'_>> = Box::new(|path, line, column| {
        if path.rsplit('/').next() != Some(FILE_NAME) {
            return None;
        }
        let Some(map) = gist.map else { return line_there(gist.text, line) };
        let start = *lines.get(line.checked_sub(1)?)?;
        let at = start + gist.text[start..].chars().take(column.saturating_sub(1)).map(char::len_utf8).sum::<usize>();
        original_place(map, at, &target.call.cwd)
    });
    let location = Some(location);
    let normaliser = Normaliser {
        location,
        tests: gist.names.iter().cloned().zip(entry.names().iter().cloned()).collect(),
        types: gist.types.clone(),
        paths: vec![
            (temp.path().to_string_lossy().into_owned(), TEMP.into()),
            (folder.to_string(), PROJECT.into()),
            (gist.executable.to_string(), EXECUTABLE.into()),
        ],
    };
    let (stdout, stderr) = (normaliser.apply(&output.stdout_text()), normaliser.apply(&output.stderr_text()));
    let outcome = entry.outcome(&stdout, &stderr, class(&output)).masked(&reference.stdout_masks, &reference.stderr_masks);
    Ok(GistRan { outcome, coverage, breach })
}

/// A place as the text of its line, white space left out.
fn line_there(text: &str, line: usize) -> Option<String> {
    let line = text.lines().nth(line.checked_sub(1)?)?;
    Some(format!("<{}>", line.split_whitespace().collect::<String>()))
}

/// A byte of a gist as the project's panic messages name the place: relative to where rustc ran, columns in
/// characters.
fn original_place(map: &SourceMap, at: usize, cwd: &Utf8Path) -> Option<String> {
    let (file, offset) = map.origin(at)?;
    let file = &map.files[file];
    let starts = line_starts(&file.text);
    let p = position(&starts, offset);
    let column = file.text[starts[p.line - 1]..offset].chars().count() + 1;
    Some(format!("{}:{}:{column}", crate::workspace::relative(&file.path, cwd), p.line))
}
