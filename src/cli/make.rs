//! `cargo gistify TEST`: makes gists.

use super::args::{Cli, MessageFormat};
use super::list::{print_json, select};
use super::shell::Shell;
use camino::{Utf8Path, Utf8PathBuf};
use cargo_gistify::error::{Error, ExitCode, Result};
use cargo_gistify::gist::shell_word;
use cargo_gistify::reduce::Goal;
use cargo_gistify::report::{Cost, Made, Metrics, Report, SCHEMA, TestId, peak_rss_bytes};
use cargo_gistify::road::{MakeOptions, Session, Task, tasks};
use cargo_gistify::source::map::SourceMap;
use cargo_gistify::verify::verdict::Verdict;
use cargo_gistify::workspace::capture::{TargetKind, TestTarget};
use cargo_gistify::workspace::wrapper::{temp_file_in, write_atomically};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Stages of one test that move the progress bar, and those of a target.
const TEST_STAGES: u64 = 3;
const TARGET_STAGES: u64 = 2;

pub(super) fn make(cli: &Cli, shell: &Shell) -> Result<u8> {
    let args = &cli.make;
    if args.selection.tests.is_empty() {
        return Err(Error::Usage(
            "which test? pass (a part of) its path, like `cargo gistify parse::empty_input`; `cargo gistify list` shows all"
                .into(),
        ));
    }
    if args.output_path.as_deref().is_some_and(|p| p == "-") && cli.output.message_format != MessageFormat::Human {
        return Err(Error::Usage("`-o -` and `--message-format json` both want standard output; choose one".into()));
    }
    if args.timeout == Some(0) {
        return Err(Error::Usage("`--timeout 0` leaves no time at all; give at least 1 second".into()));
    }
    let start = Instant::now();
    let selected = select(&args.selection, shell)?;
    let build_s = start.elapsed().as_secs_f64();
    let work: Vec<(&TestTarget, Vec<Task>)> =
        selected.targets.iter().map(|(t, tests)| (t, runnable(tests, args.selection.ignored, shell))).collect();
    let total: usize = work.iter().map(|(_, tasks)| tasks.len()).sum();
    if total == 0 {
        shell.error("only ignored tests match; pass --ignored to make gists of them");
        return Ok(ExitCode::NoTest as u8);
    }
    if args.map.is_some() && total > 1 {
        return Err(Error::Usage(format!("{total} tests match, and `--map` is for one; name it with --exact")));
    }
    let places = Places::new(args.output_path.as_deref(), total, &selected.workspace.state_dir)?;
    shell.start_bar(TEST_STAGES * total as u64 + TARGET_STAGES * work.len() as u64);
    let mut worst = ExitCode::Verified;
    let mut carried = build_s;
    for (target, tasks) in &work {
        let opened = Instant::now();
        let stage = |verb: &str, what: &str| shell.stage(verb, what);
        let session = Session::open(&selected.workspace, target, &stage);
        for (i, task) in tasks.iter().enumerate() {
            let begun = if i == 0 { opened } else { Instant::now() };
            let options = MakeOptions {
                goal: Goal { level: args.level.into(), stubs: args.allow_stubs },
                ignored: args.selection.ignored,
                timeout: args.timeout.map(Duration::from_secs),
                file_name: places.file_name(target, task),
            };
            let made = match &session {
                Ok(session) => session.make(task, &options, &stage),
                Err(e) => Err(repeated(e)),
            };
            let mut report = Report {
                schema: SCHEMA,
                test: TestId {
                    package: target.package.clone(),
                    target_kind: target.kind,
                    target: target.name.clone(),
                    name: task.name.clone(),
                },
                gist: None,
                verdict: Verdict::NoGist.name().to_owned(),
                error: None,
                metrics: Metrics::default(),
                cost: Cost { wall_s: 0.0, rustc_calls: 0, peak_rss_bytes: 0, stages: BTreeMap::new() },
            };
            if carried > 0.0 {
                report.cost.stages.insert("build", carried);
            }
            if let (0, Ok(session)) = (i, &session) {
                report.cost.stages.extend(session.stages.iter().map(|(k, v)| (*k, *v)));
                report.cost.rustc_calls += session.prepare_calls();
            }
            let code = match made {
                Ok(made) => {
                    written(made, &places, target, task, args.map.as_deref(), &mut report, shell, &mut |r, m, s| {
                        r.cost.wall_s = begun.elapsed().as_secs_f64() + carried;
                        if cli.output.message_format == MessageFormat::Human {
                            summary(r, m, s);
                        }
                    })?
                }
                Err(e @ (Error::Interrupted | Error::Io { .. })) => {
                    shell.end_bar();
                    return Err(e);
                }
                Err(e) => {
                    report.verdict = class(&e).to_owned();
                    report.error = Some(e.to_string());
                    shell.error(&e.to_string());
                    e.exit_code()
                }
            };
            report.cost.wall_s = begun.elapsed().as_secs_f64() + carried;
            report.cost.peak_rss_bytes = peak_rss_bytes();
            carried = 0.0;
            match cli.output.message_format {
                MessageFormat::Human => {}
                MessageFormat::Json => print_json(&report, false)?,
                MessageFormat::JsonPretty => print_json(&report, true)?,
            }
            if worst == ExitCode::Verified {
                worst = code;
            }
        }
    }
    shell.end_bar();
    Ok(worst as u8)
}

/// An error that holds for all tests of a target.
fn repeated(e: &Error) -> Error {
    match e {
        Error::Unsupported { test, reason } => Error::Unsupported { test: test.clone(), reason: reason.clone() },
        Error::Bundling { test, reason } => Error::Bundling { test: test.clone(), reason: reason.clone() },
        Error::TimeOut { what, limit_s } => Error::TimeOut { what: what.clone(), limit_s: *limit_s },
        Error::Interrupted => Error::Interrupted,
        Error::Setup(s) => Error::Setup(s.clone()),
        Error::Io { context, source } => {
            Error::Io { context: context.clone(), source: std::io::Error::new(source.kind(), source.to_string()) }
        }
        other => Error::Internal(other.to_string()),
    }
}

/// The verdict when there is no gist because of an error.
fn class(e: &Error) -> &'static str {
    match e {
        Error::Unsupported { .. } => "unsupported",
        Error::Nondeterministic { .. } => "nondeterministic",
        Error::TimeOut { .. } => "time-out",
        Error::Bundling { .. } => "bundling",
        _ => "no-gist",
    }
}

fn runnable(tests: &[cargo_gistify::tests::Test], ignored: bool, shell: &Shell) -> Vec<Task> {
    let (run, skipped): (Vec<Task>, Vec<Task>) =
        tasks(tests.to_vec()).into_iter().partition(|t| ignored || t.tests.iter().any(|x| !x.ignored));
    for t in skipped {
        shell.warn(&format!("{} is ignored; pass --ignored to make a gist of it", t.name));
    }
    run
}

/// Where gists go.
enum Places {
    Stdout,
    File(Utf8PathBuf),
    Directory(Utf8PathBuf),
}

impl Places {
    fn new(output: Option<&Utf8Path>, tests: usize, state_dir: &Utf8Path) -> Result<Places> {
        let place = match output {
            Some(p) if p == "-" && tests == 1 => return Ok(Places::Stdout),
            Some(p) if p == "-" => {
                return Err(Error::Usage(format!(
                    "{tests} tests match, which is too many for `-o -`; name a directory, or one test with --exact"
                )));
            }
            Some(p) if tests == 1 && !p.is_dir() && !p.as_str().ends_with('/') => Places::File(p.to_owned()),
            Some(p) if p.is_file() || p.extension() == Some("rs") => {
                return Err(Error::Usage(format!(
                    "{tests} tests match, so `-o {p}` has to be a directory; or name one test with --exact"
                )));
            }
            Some(p) => Places::Directory(p.to_owned()),
            None => Places::Directory(state_dir.join("gists")),
        };
        let dir = match &place {
            Places::File(f) => f.parent().filter(|p| !p.as_str().is_empty()),
            Places::Directory(d) => Some(d.as_path()),
            Places::Stdout => None,
        };
        if let Some(dir) = dir {
            std::fs::create_dir_all(dir).map_err(Error::path("make the directory", dir))?;
            // Better to hear it before the work than after it; a device is written to in place.
            if !matches!(&place, Places::File(f) if f.exists()) {
                temp_file_in(dir).map_err(Error::path("write in the directory", dir))?;
            }
        }
        Ok(place)
    }

    fn file_name(&self, target: &TestTarget, task: &Task) -> String {
        match self {
            Places::File(f) => f.file_name().unwrap_or("gist.rs").to_owned(),
            _ => default_name(target, task),
        }
    }

    fn path(&self, target: &TestTarget, task: &Task) -> Option<Utf8PathBuf> {
        match self {
            Places::Stdout => None,
            Places::File(f) => Some(f.clone()),
            Places::Directory(d) => Some(d.join(default_name(target, task))),
        }
    }
}

/// A file name that shells, file systems and rustc (which makes a crate's name of it) don't mind:
/// `package-module-test.rs`, with `--kind-target` behind the package for all but the library.
fn default_name(target: &TestTarget, task: &Task) -> String {
    let selector = match target.kind {
        TargetKind::Lib => String::new(),
        _ => target.selector().replace(' ', "-"),
    };
    format!("{}{selector}-{}.rs", target.package, task.name.replace("::", "-"))
}

/// Writes a gist; one that did not verify never stands under the name of the result.
#[expect(clippy::too_many_arguments, reason = "one call, all of it named")]
fn written(
    made: Made,
    places: &Places,
    target: &TestTarget,
    task: &Task,
    map_file: Option<&Utf8Path>,
    report: &mut Report,
    shell: &Shell,
    done: &mut dyn FnMut(&mut Report, &Made, &Shell),
) -> Result<ExitCode> {
    let verified = made.verdict == Verdict::Ok;
    if let Some(path) = places.path(target, task) {
        let unverified = path.with_extension("unverified.rs");
        if verified {
            // What an earlier run left beside it is out of date.
            let _ = std::fs::remove_file(&unverified);
        } else if path.is_file() {
            shell.warn(&format!("{path} is from an earlier run"));
        }
        let path = if verified { path } else { unverified };
        write_atomically(&path, made.gist.text.as_bytes())?;
        report.gist = Some(path);
    } else {
        use std::io::Write;
        match std::io::stdout().write_all(made.gist.text.as_bytes()) {
            // `… | head` is no fault.
            Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => {}
            other => other.map_err(Error::io("failed to write to standard output"))?,
        }
    }
    if let Some(file) = map_file {
        write_atomically(file, map_json(&made.gist.map)?.as_bytes())?;
    }
    report.verdict = made.verdict.name().to_owned();
    report.metrics = made.metrics.clone();
    report.cost.rustc_calls += made.rustc_calls;
    report.cost.stages.extend(made.stages.iter().map(|(k, v)| (*k, *v)));
    if !verified {
        report.error = Some(made.reason.clone());
    }
    done(report, &made, shell);
    Ok(if verified { ExitCode::Verified } else { ExitCode::Unverified })
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

fn summary(report: &mut Report, made: &Made, shell: &Shell) {
    let m = &report.metrics;
    let rate = |r: Option<f64>| r.map_or_else(|| "-".to_owned(), |r| format!("{r:.2}"));
    let (code, whole) = (m.code_lines.unwrap_or(0), m.bundle_lines.unwrap_or(0).max(1));
    #[expect(clippy::cast_precision_loss, reason = "line counts are small")]
    let share = 100.0 * code as f64 / whole as f64;
    if made.verdict == Verdict::Ok {
        shell.status("Verified", &format!("{} in {:.2}s", report.test.name, report.cost.wall_s));
    } else {
        shell.error(&format!("the gist of {} does not verify: {}\n{}", report.test.name, made.verdict.name(), made.reason));
    }
    shell.status("Size", &format!("{code} of {whole} code lines ({share:.1}%)"));
    shell.status(
        "Scores",
        &format!(
            "fidelity {}, line execution {}, line existence {}, stubs {}",
            rate(m.execution_fidelity),
            rate(m.line_execution_rate),
            rate(m.line_existence_rate),
            m.stubs.unwrap_or(0)
        ),
    );
    if let Some(path) = &report.gist {
        shell.status("Gist", path.as_str());
        let at = path
            .parent()
            .filter(|p| !p.as_str().is_empty())
            .map(|p| format!("cd {} && ", shell_word(p.as_str())))
            .unwrap_or_default();
        shell.status("Run", &format!("{at}{}", made.run_line));
    }
}
