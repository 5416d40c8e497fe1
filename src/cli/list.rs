//! `cargo gistify list`, and the selection that the other subcommands share.

use super::args::{MessageFormat, OutputArgs, SelectionArgs};
use super::shell::Shell;
use cargo_gistify::error::{Error, ExitCode, Result};
use cargo_gistify::tests::{self, Selection, Test};
use cargo_gistify::workspace::capture::{TestTarget, build};
use cargo_gistify::workspace::{CargoOptions, Inline, Workspace, relative};

/// A project, built, and the tests that were selected in it.
pub(super) struct Selected {
    pub(super) workspace: Workspace,
    pub(super) targets: Vec<(TestTarget, Vec<Test>)>,
}

/// Builds the project and selects tests.
pub(super) fn select(args: &SelectionArgs, inline: Inline, shell: &Shell) -> Result<Selected> {
    let workspace = Workspace::load(CargoOptions { inline, ..args.cargo.options() })?;
    let targets = build(&workspace, &|line| shell.cargo(line))?;
    let selection =
        Selection { patterns: args.tests.clone(), exact: args.exact, skip: args.skip.clone(), ignored: args.ignored };
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
        let pattern = args.tests.join("` or `");
        return Err(Error::NoTest { nearest: tests::nearest(&args.tests[0], names.iter().map(String::as_str)), pattern });
    }
    Ok(Selected { workspace, targets: selected })
}

pub(super) fn list(args: &SelectionArgs, output: &OutputArgs, shell: &Shell) -> Result<u8> {
    let selected = select(args, Inline::None, shell)?;
    let all: Vec<&Test> = selected.targets.iter().flat_map(|(_, tests)| tests).collect();
    match output.message_format {
        MessageFormat::Human => {
            for (target, tests) in &selected.targets {
                let s = if tests.len() == 1 { "" } else { "s" };
                anstream::println!("{} {} ({} test{s})", target.package, target.selector(), tests.len());
                for t in tests {
                    anstream::println!("    {}", line(t, &selected.workspace));
                }
            }
        }
        MessageFormat::Json => all.iter().try_for_each(|t| print_json(t, false))?,
        MessageFormat::JsonPretty => print_json(&all, true)?,
    }
    if all.is_empty() {
        shell.error("the project has no tests");
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
