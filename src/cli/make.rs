//! `cargo gistify TEST`: makes gists.

use super::args::{Cli, MakeArgs, MessageFormat, SandboxArg};
use super::list::print_json;
use super::parallel::{in_order, workers};
use super::places::Places;
use super::shell::Shell;
use super::verify::rate;
use super::work::{Work, some_time, work};
use camino::{Utf8Path, Utf8PathBuf};
#[cfg(feature = "agents")]
use cargo_gistify::agent::config::BUILTIN;
use cargo_gistify::error::{Error, ExitCode, Result};
use cargo_gistify::program::{Program, shell_word};
use cargo_gistify::reduce::Goal;
use cargo_gistify::report::{Cost, Made, Report, TestId, peak_rss_bytes};
use cargo_gistify::road::{MakeOptions, Session};
use cargo_gistify::sandbox::{Choice, Kind, Sandbox};
use cargo_gistify::source::map::SourceMap;
use cargo_gistify::task::Task;
use cargo_gistify::verify::verdict::Verdict;
use cargo_gistify::workspace::wrapper::write_atomically;
use cargo_gistify::workspace::{Inline, relative};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Stages of one test that move the progress bar, and those of a target.
const TEST_STAGES: u64 = 3;
const TARGET_STAGES: u64 = 2;

pub(super) fn make(cli: &Cli, shell: &Shell) -> Result<u8> {
    let args = &cli.make;
    if args.selection.tests.is_empty() && !args.program.is_meant() {
        return Err(Error::Usage(
            "which test? pass (a part of) its path, like `cargo gistify parse::empty_input`; `cargo gistify list` shows all; \
             `--bin NAME -- ARGS` and `--example NAME -- ARGS` are for programs"
                .into(),
        ));
    }
    if args.output_path.as_deref().is_some_and(|p| p == "-") && cli.output.message_format != MessageFormat::Human {
        return Err(Error::Usage("`-o -` and `--message-format json` both want standard output; choose one".into()));
    }
    if args.output_path.as_deref().is_some_and(|p| p == "-") && args.explain {
        return Err(Error::Usage("`-o -` and `--explain` both want standard output; choose one".into()));
    }
    some_time("timeout", args.timeout)?;
    #[cfg(feature = "agents")]
    if args.agent.agent.as_deref().is_some_and(|name| name != BUILTIN) {
        return super::agent::make(cli, shell);
    }
    let start = Instant::now();
    let boxes = Boxes::open(args.sandbox, shell)?;
    let inline = match (args.inline_all, args.inline.as_slice()) {
        (true, _) => Inline::All,
        (false, []) => Inline::None,
        (false, names) => Inline::Named(names.to_vec()),
    };
    let work = work(&args.selection, &args.program, inline, shell)?;
    let code = gists(args, &boxes, work, start, shell, |outcome| match (cli.output.message_format, outcome.made) {
        (MessageFormat::Human, None) => Ok(()),
        (MessageFormat::Human, Some(made)) => {
            summary(outcome.task, outcome.report, made, shell);
            if let Some(explanation) = &outcome.report.explanation {
                anstream::print!("{}", explanation.text());
            }
            Ok(())
        }
        (MessageFormat::Json, _) => print_json(outcome.report, false),
        (MessageFormat::JsonPretty, _) => print_json(outcome.report, true),
    })?;
    Ok(code as u8)
}

/// What this tool's own gists are built and run in.
pub(super) struct Boxes {
    sandbox: Sandbox,
    /// For tests that need what the first one closes.
    open: Option<Sandbox>,
}

impl Boxes {
    pub(super) fn open(choice: SandboxArg, shell: &Shell) -> Result<Boxes> {
        let sandbox = sandbox(choice.into(), shell)?;
        let open = if choice == SandboxArg::Auto { Some(Sandbox::open(Choice::None)?) } else { None };
        Ok(Boxes { sandbox, open })
    }
}

/// What became of one test.
pub(super) struct Outcome<'a> {
    pub(super) task: &'a Task,
    pub(super) report: &'a Report,
    /// The gist; none when it could not be made.
    pub(super) made: Option<&'a Made>,
}

/// Makes the gists of what was selected and writes them to their places; `heard` is told of each in order. Gives the first code
/// that is not success.
pub(super) fn gists(
    args: &MakeArgs,
    boxes: &Boxes,
    work: Work,
    start: Instant,
    shell: &Shell,
    mut heard: impl FnMut(Outcome<'_>) -> Result<()>,
) -> Result<ExitCode> {
    let Work { workspace, mut targets, _room } = work;
    let build_s = start.elapsed().as_secs_f64();
    for (_, tasks) in &mut targets {
        tasks.retain(|t| is_runnable(t, args.selection.ignored, shell));
    }
    let total: usize = targets.iter().map(|(_, tasks)| tasks.len()).sum();
    if total == 0 {
        shell.error("only ignored tests match; pass --ignored to make gists of them");
        return Ok(ExitCode::NoTest);
    }
    if args.map.is_some() && total > 1 {
        return Err(Error::Usage(format!("{total} tests match, and `--map` is for one; name it with --exact")));
    }
    let places = Places::new(args.output_path.as_deref(), total, &workspace.state_dir)?;
    shell.start_bar(TEST_STAGES * total as u64 + TARGET_STAGES * targets.len() as u64);
    let stage = |verb: &str, what: &str| shell.stage(verb, what);
    let mut code = ExitCode::Verified;
    let mut say = |task: &Task, report: &mut Report, made: Option<&Made>, own: ExitCode| {
        report.cost.peak_rss_bytes = peak_rss_bytes();
        if code == ExitCode::Verified {
            code = own;
        }
        heard(Outcome { task, report, made })
    };
    // What tests share is charged to the first of them.
    let mut shared = Cost { wall_s: build_s, stages: BTreeMap::from([("build", build_s)]), ..Cost::default() };
    for (target, tasks) in &targets {
        let begun = Instant::now();
        forget_parsed();
        let opened = tasks.iter().try_for_each(|t| t.compile(target));
        let session = match opened.and_then(|()| Session::open(&workspace, target, &boxes.sandbox, &stage)) {
            Ok(session) => session.with_reference_in_sandbox(args.sandbox_reference).with_fallback(boxes.open.as_ref()),
            Err(e) if ends_the_run(&e) => return Err(e),
            Err(e) => {
                shell.error(&e.to_string());
                for task in tasks {
                    let cost = std::mem::take(&mut shared);
                    say(task, &mut Report::failed(TestId::new(target, task), &e, cost), None, e.exit_code())?;
                }
                continue;
            }
        };
        shared.wall_s += begun.elapsed().as_secs_f64();
        shared.rustc_calls += session.prepare_calls();
        shared.stages.extend(&session.stages);
        let jobs = workers(args.selection.cargo.jobs.as_deref());
        let work = |task: &Task| {
            forget_parsed();
            let begun = Instant::now();
            let options = MakeOptions {
                goal: Goal { level: args.level.into(), stubs: args.allow_stubs },
                ignored: args.selection.ignored,
                timeout: args.timeout.map(Duration::from_secs),
                file_name: places.file_name(target, task),
                jobs: jobs / jobs.min(tasks.len()).max(1),
            };
            (session.make(task, &options, &stage), begun.elapsed().as_secs_f64())
        };
        in_order(tasks, jobs, work, |task, (made, wall_s)| {
            let test = TestId::new(target, task);
            let mut cost = std::mem::take(&mut shared);
            cost.wall_s += wall_s;
            match made {
                Ok(made) => {
                    let mut report = Report::made(test, &made, cost);
                    if made.sandbox() == Some(Kind::None) && boxes.sandbox.kind() != Kind::None {
                        let kind = boxes.sandbox.kind().name();
                        shell.warn(&format!(
                            "{} needs what the sandbox {kind} closes; its gist was verified without",
                            task.what()
                        ));
                    }
                    report.gist = places.write(&made, target, task, shell)?;
                    if let Some(file) = &args.map {
                        write_atomically(file, map_json(&made.gist.map)?.as_bytes())?;
                    }
                    if args.explain {
                        forget_parsed();
                        report.explanation = Some(session.explain(&made.gist.text, session.layout(), made.run.as_ref())?);
                    }
                    let own = if made.verdict == Verdict::Ok { ExitCode::Verified } else { ExitCode::Unverified };
                    say(task, &mut report, Some(&made), own)
                }
                Err(e) if ends_the_run(&e) => Err(e),
                Err(e) => {
                    shell.error(&e.to_string());
                    say(task, &mut Report::failed(test, &e, cost), None, e.exit_code())
                }
            }
        })?;
    }
    Ok(code)
}

/// The sandbox that is asked for. A gist that this tool makes is the user's own code: where no sandbox works it runs as
/// its test does.
fn sandbox(choice: Choice, shell: &Shell) -> Result<Sandbox> {
    match (choice, Sandbox::open(choice)) {
        (Choice::Auto, Err(e @ Error::Setup(_))) => {
            shell.warn(&format!("{e}; the gist will run unprotected, as your test does"));
            Sandbox::open(Choice::None)
        }
        (_, opened) => opened,
    }
}

/// Every text that was parsed stays in memory while somebody may ask where its tokens stand: nobody does between tasks.
pub(super) fn forget_parsed() {
    proc_macro2::extra::invalidate_current_thread_spans();
}

/// Faults of the surroundings, which the next test would meet as well.
pub(super) fn ends_the_run(e: &Error) -> bool {
    matches!(e, Error::Interrupted | Error::Io { .. })
}

/// Whether a task is run: ignored ones only when asked for.
pub(super) fn is_runnable(task: &Task, ignored: bool, shell: &Shell) -> bool {
    let run = ignored || !task.is_ignored();
    if !run {
        shell.warn(&format!("{} is ignored; pass --ignored to make a gist of it", task.name()));
    }
    run
}

/// The source map: files, and stretches `[start, length, file, offset]` of the gist in bytes; text that the tool
/// wrote has neither file nor offset.
fn map_json(map: &SourceMap) -> Result<String> {
    let segments: Vec<Vec<usize>> = map
        .segments
        .iter()
        .map(|s| [s.start, s.len].into_iter().chain(s.origin.into_iter().flat_map(|(f, o)| [f, o])).collect())
        .collect();
    let files: Vec<&str> = map.files.iter().map(|f| f.path.as_str()).collect();
    let value = serde_json::json!({ "schema": 1, "files": files, "segments": segments });
    serde_json::to_string(&value).map_err(|e| Error::Internal(e.to_string()))
}

fn summary(task: &Task, report: &Report, made: &Made, shell: &Shell) {
    let what = task.what();
    let m = &report.metrics;
    let (code, whole) = (m.code_lines.unwrap_or(0), m.bundle_lines.unwrap_or(0).max(1));
    #[expect(clippy::cast_precision_loss, reason = "line counts are small")]
    let share = 100.0 * code as f64 / whole as f64;
    if made.verdict == Verdict::Ok {
        shell.status("Verified", &format!("{what} in {:.2}s", report.cost.wall_s));
    } else {
        shell.error(&format!("the gist of {what} does not verify: {}\n{}", made.verdict.name(), made.reason));
    }
    shell.status("Size", &format!("{code} of {whole} code lines ({share:.1}%)"));
    shell.status(
        "Scores",
        &format!(
            "fidelity {}, line execution {} ({} of what can run), line existence {}, stubs {}",
            rate(m.execution_fidelity),
            rate(m.line_execution_rate),
            rate(m.line_execution_rate_possible),
            rate(m.line_existence_rate),
            m.stubs.unwrap_or(0)
        ),
    );
    if let Some(path) = &report.gist {
        let here = std::env::current_dir().ok().and_then(|d| Utf8PathBuf::from_path_buf(d).ok());
        let path = here.as_deref().map_or(path.as_path(), |here| relative(path, here));
        shell.status("Gist", path.as_str());
        shell.status("Run", &run_line(path, task, made));
    }
}

/// The line that runs a gist from here.
fn run_line(path: &Utf8Path, task: &Task, made: &Made) -> String {
    let call = task.program().map(Program::call).unwrap_or_default();
    match path.parent().filter(|folder| !folder.as_str().is_empty()) {
        None => made.run_line.clone(),
        Some(folder) if call.is_empty() => format!("cd {} && {}", shell_word(folder.as_str()), made.run_line),
        // Files that arguments name are seen from here.
        Some(_) => format!("cargo gistify run {} --{call}", shell_word(path.as_str())),
    }
}
