//! `cargo gistify list`, and the selection that the other subcommands share.

use super::args::{MessageFormat, OutputArgs, SelectionArgs};
use super::shell::Shell;
use cargo_gistify::benches;
use cargo_gistify::compile::{temp_dir, utf8};
use cargo_gistify::doctests::{self, Doctest};
use cargo_gistify::error::{Error, ExitCode, Result};
use cargo_gistify::tests::{self, Selection, Test};
use cargo_gistify::workspace::capture::{Build, TestTarget, build};
use cargo_gistify::workspace::{CargoOptions, Inline, Workspace, relative};
use tempfile::TempDir;

/// What is said of a project without tests.
pub(super) const NO_TESTS: &str =
    "the project has no tests; are they behind features (-F, --all-features) or in other packages (--workspace)?";

/// A project, built, and the tests that were selected in it.
pub(super) struct Selected {
    pub(super) workspace: Workspace,
    pub(super) targets: Vec<(TestTarget, Vec<Test>)>,
}

fn selection(args: &SelectionArgs) -> Selection {
    Selection { patterns: args.tests.clone(), exact: args.exact, skip: args.skip.clone(), ignored: args.ignored }
}

/// Builds the project and selects tests.
pub(super) fn select(args: &SelectionArgs, inline: Inline, shell: &Shell) -> Result<Selected> {
    if let Some(test) = args.cargo.asked_benches() {
        return Err(Error::Unsupported { test, reason: benches::REASON.to_owned() });
    }
    let workspace = Workspace::load(CargoOptions { inline, ..args.cargo.options() })?;
    let targets = build(&workspace, Build::Tests, &|line| shell.cargo(line))?;
    let selection = selection(args);
    let mut names = Vec::new();
    let mut selected = Vec::new();
    let mut unlisted = None;
    for target in targets {
        match tests::list(&target) {
            Ok(all) => {
                names.extend(all.iter().map(|t| t.name.clone()));
                let hits: Vec<Test> = all.into_iter().filter(|t| selection.matches(t)).collect();
                if !hits.is_empty() {
                    selected.push((target, hits));
                }
            }
            Err(e @ Error::Interrupted) => return Err(e),
            Err(e) => {
                if unlisted.is_none() {
                    unlisted = Some(e);
                } else {
                    shell.warn(&e.to_string());
                }
            }
        }
    }
    if let Some(e) = unlisted {
        if selected.is_empty() {
            return Err(e);
        }
        shell.warn(&e.to_string());
    }
    if selected.is_empty() && !(args.tests.is_empty() && names.is_empty()) {
        if let Some((pattern, bench)) = args.tests.iter().find_map(|t| Some((t, benches::named(&workspace, t, args.exact)?)))
        {
            let reason = format!("`{}` ({}:{}) is a benchmark; {}", bench.name, bench.file, bench.line, benches::REASON);
            return Err(Error::Unsupported { test: pattern.clone(), reason });
        }
        let pattern = args.tests.join("` or `");
        return Err(Error::NoTest { nearest: tests::nearest(&args.tests[0], names.iter().map(String::as_str)), pattern });
    }
    Ok(Selected { workspace, targets: selected })
}

/// A project, its libraries built, and the doctests that were selected in them.
pub(super) struct SelectedDoctests {
    pub(super) workspace: Workspace,
    pub(super) doctests: Vec<(TestTarget, Doctest)>,
    /// Where their executables go.
    pub(super) room: TempDir,
}

/// Builds the libraries and selects doctests.
pub(super) fn select_doctests(args: &SelectionArgs, inline: Inline, shell: &Shell) -> Result<SelectedDoctests> {
    let workspace = Workspace::load(CargoOptions { inline, ..args.cargo.options() })?;
    // Cargo has its own words for what can't be selected together with documentation.
    let libraries = build(&workspace, Build::Doctests, &|line| shell.cargo(line))?;
    let room = temp_dir()?;
    let mut all = Vec::new();
    for library in &libraries {
        all.extend(doctests::list(&workspace, library, utf8(room.path())?)?);
    }
    let names: Vec<String> = all.iter().map(|(_, d)| d.test.name.clone()).collect();
    let selection = selection(args);
    all.retain(|(_, doctest)| selection.matches(&doctest.test));
    if let (true, Some(first)) = (all.is_empty(), args.tests.first()) {
        let nearest = tests::nearest(first, names.iter().map(String::as_str));
        return Err(Error::NoTest { nearest, pattern: args.tests.join("` or `") });
    }
    Ok(SelectedDoctests { workspace, doctests: all, room })
}

/// Doctests as tests of their libraries.
fn by_library(doctests: Vec<(TestTarget, Doctest)>) -> Vec<(TestTarget, Vec<Test>)> {
    let mut out: Vec<(TestTarget, Vec<Test>)> = Vec::new();
    for (target, Doctest { test, .. }) in doctests {
        match out.last_mut() {
            Some((last, tests)) if last.package_id == target.package_id => tests.push(test),
            _ => out.push((target, vec![test])),
        }
    }
    out
}

impl Selected {
    /// The tests, or with `--doc` the doctests, that are selected.
    pub(super) fn of(args: &SelectionArgs, shell: &Shell) -> Result<Selected> {
        if args.cargo.doc {
            let SelectedDoctests { workspace, doctests, .. } = select_doctests(args, Inline::None, shell)?;
            return Ok(Selected { workspace, targets: by_library(doctests) });
        }
        select(args, Inline::None, shell)
    }

    /// A target a paragraph, a test a line.
    pub(super) fn lines(&self) -> impl Iterator<Item = String> + '_ {
        self.targets.iter().flat_map(|(target, tests)| {
            let s = if tests.len() == 1 { "" } else { "s" };
            let head = format!("{} {} ({} test{s})", target.package, target.selector(), tests.len());
            std::iter::once(head).chain(tests.iter().map(|t| format!("    {}", line(t, &self.workspace))))
        })
    }
}

pub(super) fn list(args: &SelectionArgs, output: &OutputArgs, shell: &Shell) -> Result<u8> {
    let selected = Selected::of(args, shell)?;
    let all: Vec<&Test> = selected.targets.iter().flat_map(|(_, tests)| tests).collect();
    match output.message_format {
        MessageFormat::Human => selected.lines().for_each(|line| anstream::println!("{line}")),
        MessageFormat::Json => all.iter().try_for_each(|t| print_json(t, false))?,
        MessageFormat::JsonPretty => print_json(&all, true)?,
    }
    if all.is_empty() {
        shell.error(NO_TESTS);
        return Ok(ExitCode::NoTest as u8);
    }
    Ok(ExitCode::Verified as u8)
}

fn line(t: &Test, workspace: &Workspace) -> String {
    let place = t
        .file
        .as_ref()
        .map(|f| format!("  {}:{}", relative(f, &workspace.metadata.workspace_root), t.line))
        .unwrap_or_default();
    let mut marks = vec![t.target_kind.describe().to_owned()];
    if t.ignored {
        marks.push("ignored".into());
    }
    if t.should_panic {
        marks.push("should panic".into());
    }
    marks.extend(t.group.as_ref().map(|g| format!("group {g}")));
    format!("{}{place}  [{}]", t.name, marks.join(", "))
}

pub(super) fn print_json(value: &impl serde::Serialize, pretty: bool) -> Result<()> {
    use std::io::Write;
    let text = if pretty { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) };
    let text = text.map_err(|e| Error::Internal(e.to_string()))?;
    match writeln!(std::io::stdout(), "{text}") {
        // `… | head` is no fault.
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(Error::io("failed to write to standard output")),
    }
}
