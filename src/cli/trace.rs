//! `cargo gistify trace`

use super::args::{MessageFormat, OutputArgs, TraceArgs};
use super::list::{print_json, select};
use super::shell::Shell;
use cargo_gistify::error::{Error, ExitCode, Result};
use cargo_gistify::report::{SCHEMA, TestId};
use cargo_gistify::road::tasks;
use cargo_gistify::trace::{CoverageMap, TraceReport};
use cargo_gistify::verify::run::{Cases, project_run};
use cargo_gistify::workspace::Inline;
use std::time::Duration;

/// One test's trace for machines.
#[derive(serde::Serialize)]
struct Traced<'a> {
    schema: u32,
    test: TestId,
    #[serde(flatten)]
    report: &'a TraceReport,
}

pub(super) fn trace(args: &TraceArgs, output: &OutputArgs, shell: &Shell) -> Result<u8> {
    let selected = select(&args.selection, Inline::None, shell)?;
    let root = &selected.workspace.metadata.workspace_root;
    let (build_dir, state_dir) = (&selected.workspace.build_dir, &selected.workspace.state_dir);
    let mut traced = 0;
    for (target, tests) in &selected.targets {
        let map = CoverageMap::load(&[&target.executable])?;
        for task in tasks(tests.clone()) {
            if task.tests.iter().all(|t| t.ignored) && !args.selection.ignored {
                shell.warn(&format!("{} is ignored; pass --ignored to trace it", task.name));
                continue;
            }
            shell.status("Tracing", &task.name);
            let cases =
                Cases { names: task.tests.iter().map(|t| t.name.clone()).collect(), ignored: args.selection.ignored };
            let run = project_run(target, &cases, Some(&map), Duration::from_secs(args.timeout))?;
            if run.timed_out() {
                return Err(Error::TimeOut { what: format!("the test {}", task.name), limit_s: args.timeout });
            }
            let coverage = run.coverage().cloned().unwrap_or_default();
            let ours = |path: &camino::Utf8Path| {
                path.starts_with(root) && !path.starts_with(state_dir) && !path.starts_with(build_dir)
                    || path.starts_with(&target.package_dir)
            };
            let report = TraceReport::new(&coverage, root, ours);
            if report.trace_length == 0 {
                let why =
                    if coverage.is_empty() { "the test's process left no profile" } else { "no code of the project ran" };
                return Err(Error::Unsupported { test: task.name.clone(), reason: format!("its profile is empty: {why}") });
            }
            traced += 1;
            match output.message_format {
                MessageFormat::Human if args.source => anstream::print!("{}\n\n{}", task.name, report.listing(root)?),
                MessageFormat::Human => anstream::print!("{}\n\n{}", task.name, report.text()),
                MessageFormat::Json | MessageFormat::JsonPretty => {
                    let test = TestId::new(target, &task.name);
                    print_json(
                        &Traced { schema: SCHEMA, test, report: &report },
                        output.message_format == MessageFormat::JsonPretty,
                    )?;
                }
            }
        }
    }
    if traced == 0 {
        shell.error("no test was traced");
        return Ok(ExitCode::NoTest as u8);
    }
    Ok(ExitCode::Verified as u8)
}
