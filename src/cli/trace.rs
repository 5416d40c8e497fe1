//! `cargo gistify trace`

use super::args::{MessageFormat, OutputArgs, TraceArgs};
use super::list::print_json;
use super::shell::Shell;
use super::work::{Work, work};
use cargo_gistify::error::{Error, ExitCode, Result};
use cargo_gistify::report::{SCHEMA, TestId};
use cargo_gistify::task::Task;
use cargo_gistify::trace::{CoverageMap, TraceReport};
use cargo_gistify::verify::run::project_run;
use cargo_gistify::workspace::capture::TestTarget;
use cargo_gistify::workspace::{Inline, Workspace};
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
    let Work { workspace, targets, _room } = work(&args.selection, &args.program, Inline::None, shell)?;
    let root = &workspace.metadata.workspace_root;
    let limit = Duration::from_secs(args.timeout);
    let mut traced = 0;
    for (target, tasks) in &targets {
        tasks.iter().try_for_each(|t| t.compile(target))?;
        let map = CoverageMap::load(&[&target.executable])?;
        for task in tasks {
            if task.is_ignored() && !args.selection.ignored {
                shell.warn(&format!("{} is ignored; pass --ignored to trace it", task.name()));
                continue;
            }
            let what = task.what();
            shell.status("Tracing", &what);
            let report = traced_by(&workspace, target, &map, task, args.selection.ignored, limit)?;
            traced += 1;
            match output.message_format {
                MessageFormat::Human if args.source => anstream::print!("{what}\n\n{}", report.listing(root)?),
                MessageFormat::Human => anstream::print!("{what}\n\n{}", report.text()),
                MessageFormat::Json | MessageFormat::JsonPretty => {
                    let test = TestId::new(target, task);
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

/// Runs a task once in the project and says what of the project ran.
pub(super) fn traced_by(
    workspace: &Workspace,
    target: &TestTarget,
    map: &CoverageMap,
    task: &Task,
    ignored: bool,
    limit: Duration,
) -> Result<TraceReport> {
    let root = &workspace.metadata.workspace_root;
    let (build_dir, state_dir) = (&workspace.build_dir, &workspace.state_dir);
    let entry = task.entry(target, ignored);
    let run = project_run(target, &entry, Some(map), limit, None)?;
    if run.timed_out() {
        return Err(entry.time_out(limit));
    }
    let coverage = run.coverage().cloned().unwrap_or_default();
    let ours = |path: &camino::Utf8Path| {
        path.starts_with(root) && !path.starts_with(state_dir) && !path.starts_with(build_dir)
            || path.starts_with(&target.package_dir)
    };
    let report = TraceReport::new(&coverage, root, ours);
    if report.trace_length == 0 {
        let why = if coverage.is_empty() { "its process left no profile" } else { "no code of the project ran" };
        return Err(Error::Unsupported { test: task.what(), reason: format!("its profile is empty: {why}") });
    }
    Ok(report)
}
