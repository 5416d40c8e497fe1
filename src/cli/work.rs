//! What is worked on: the tests or doctests that are selected, or one program with its arguments.

use super::args::{ProgramArgs, SelectionArgs};
use super::list::{Selected, SelectedDoctests, select, select_doctests};
use super::shell::Shell;
use cargo_gistify::error::{Error, Result};
use cargo_gistify::program::Program;
use cargo_gistify::task::{Task, tasks};
use cargo_gistify::workspace::capture::{Build, TestTarget, build};
use cargo_gistify::workspace::{CargoOptions, Inline, Workspace, current_dir};
use tempfile::TempDir;

/// A project, built, and what was selected in it.
pub(super) struct Work {
    pub(super) workspace: Workspace,
    pub(super) targets: Vec<(TestTarget, Vec<Task>)>,
    /// Holds executables that only this run has.
    pub(super) _room: Option<TempDir>,
}

impl Work {
    /// The one task that was selected.
    ///
    /// # Errors
    /// [`Error::Usage`] with the names when there are several, and `how` to name one.
    pub(super) fn only(&self, how: &str) -> Result<(&TestTarget, &Task)> {
        let all: Vec<(&TestTarget, &Task)> =
            self.targets.iter().flat_map(|(target, tasks)| tasks.iter().map(move |t| (target, t))).collect();
        match all.as_slice() {
            [only] => Ok(*only),
            several => {
                let names: Vec<String> =
                    several.iter().take(5).map(|(target, t)| format!("{} ({})", t.what(), target.selector())).collect();
                let more = if several.len() > names.len() { ", …" } else { "" };
                Err(Error::Usage(format!("{} tests match; {how}: {}{more}", several.len(), names.join(", "))))
            }
        }
    }
}

impl ProgramArgs {
    /// Whether a program is meant, and no test.
    pub(super) fn is_meant(&self) -> bool {
        self.dashes || self.stdin.is_some()
    }
}

/// A limit of no time at all is a mistake.
pub(super) fn some_time(name: &str, seconds: Option<u64>) -> Result<()> {
    if seconds == Some(0) {
        return Err(Error::Usage(format!("`--{name} 0` leaves no time at all; give at least 1 second")));
    }
    Ok(())
}

/// Builds the project and selects what is worked on.
pub(super) fn work(selection: &SelectionArgs, program: &ProgramArgs, inline: Inline, shell: &Shell) -> Result<Work> {
    if program.is_meant() {
        return one_program(selection, program, inline, shell);
    }
    if selection.cargo.doc {
        let SelectedDoctests { workspace, doctests, room } = select_doctests(selection, inline, shell)?;
        let targets = doctests.into_iter().map(|(target, doctest)| (target, vec![Task::Doctest(doctest)])).collect();
        return Ok(Work { workspace, targets, _room: Some(room) });
    }
    let Selected { workspace, targets } = select(selection, inline, shell)?;
    let targets = targets.into_iter().map(|(target, tests)| (target, tasks(tests))).collect();
    Ok(Work { workspace, targets, _room: None })
}

fn one_program(selection: &SelectionArgs, args: &ProgramArgs, inline: Inline, shell: &Shell) -> Result<Work> {
    let (kind, name) = selection.cargo.only_program().ok_or_else(|| {
        Error::Usage("`--` and `--stdin` are for a program; name it, alone, with `--bin NAME` or `--example NAME`".into())
    })?;
    if let Some(test) = selection.tests.first() {
        return Err(Error::Usage(format!(
            "`{test}` selects a test, and `--` or `--stdin` the program itself; leave one of them out"
        )));
    }
    if args.args.iter().any(|a| a.contains(['\n', '\r', '\0'])) {
        return Err(Error::Usage(
            "an argument with a line break has no place in the header of a gist; use `--stdin`".into(),
        ));
    }
    let program = Program {
        name: name.to_owned(),
        args: args.args.clone(),
        stdin: args.stdin.clone(),
        dir: current_dir()?,
        by_cargo: false,
    };
    // Better to hear it before the build than after it.
    program.input()?;
    let workspace = Workspace::load(CargoOptions { inline, ..selection.cargo.options() })?;
    let mut targets = build(&workspace, Build::Programs, &|line| shell.cargo(line))?;
    targets.retain(|t| t.kind == kind && t.name == name);
    let task = Task::Program(program);
    let targets = targets.into_iter().map(|target| (target, vec![task.clone()])).collect();
    Ok(Work { workspace, targets, _room: None })
}
