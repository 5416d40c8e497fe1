//! `cargo gistify verify`: the verdict on any file.

use super::args::{MessageFormat, OutputArgs, SelectionArgs, VerifyArgs};
use super::list::print_json;
use super::shell::Shell;
use super::work::{Work, some_time, work};
use cargo_gistify::error::{Error, ExitCode, Result};
use cargo_gistify::report::{Cost, Metrics, Report, TestId, peak_rss_bytes};
use cargo_gistify::road::Session;
use cargo_gistify::road::judge::{Judged, VerifyOptions, unreadable};
use cargo_gistify::sandbox::Sandbox;
use cargo_gistify::task::Task;
use cargo_gistify::verify::gist_file::read_gist;
use cargo_gistify::verify::verdict::Verdict;
use cargo_gistify::workspace::Inline;
use cargo_gistify::workspace::wrapper::write_atomically;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// What helps where several tests match.
const HOW: &str = "name one with --exact and its target (--lib, --test-target NAME, …)";

pub(super) fn verify(args: &VerifyArgs, explain: bool, output: &OutputArgs, shell: &Shell) -> Result<u8> {
    some_time("timeout", args.timeout)?;
    some_time("build-timeout", args.build_timeout)?;
    let start = Instant::now();
    let sandbox = Sandbox::open(args.sandbox.into())?;
    let work = selected(args, shell)?;
    let (report, judged) = judged(args, explain, &work, &sandbox, start, shell)?;
    if let Some(file) = &args.json_out {
        let text = serde_json::to_string_pretty(&report).map_err(|e| Error::Internal(e.to_string()))?;
        write_atomically(file, format!("{text}\n").as_bytes())?;
    }
    match output.message_format {
        MessageFormat::Human => {
            if let Some(explanation) = &judged.explanation {
                anstream::print!("{}", explanation.text());
            }
            summary(work.only(HOW)?.1, &report, &judged, shell);
        }
        MessageFormat::Json => print_json(&report, false)?,
        MessageFormat::JsonPretty => print_json(&report, true)?,
    }
    Ok(if judged.verified.verdict == Verdict::Ok { ExitCode::Verified } else { ExitCode::Unverified } as u8)
}

/// The verdict on the file, as the gist of the one task that there is.
pub(super) fn judged(
    args: &VerifyArgs,
    explain: bool,
    work: &Work,
    sandbox: &Sandbox,
    start: Instant,
    shell: &Shell,
) -> Result<(Report, Judged)> {
    let (target, task) = work.only(HOW)?;
    let build_s = start.elapsed().as_secs_f64();
    let mut cost = Cost { stages: BTreeMap::from([("build", build_s)]), ..Cost::default() };
    let judged = match read_gist(&args.gist) {
        Err((verdict, reason)) => unreadable(verdict, reason),
        Ok(text) => {
            task.compile(target)?;
            let stage = |verb: &str, what: &str| shell.stage(verb, what);
            let session =
                Session::open(&work.workspace, target, sandbox, &stage)?.with_reference_in_sandbox(args.sandbox_reference);
            cost.rustc_calls += session.prepare_calls();
            cost.stages.extend(&session.stages);
            let options = VerifyOptions {
                ignored: args.ignored,
                timeout: args.timeout.map(Duration::from_secs),
                build_timeout: args.build_timeout.map(Duration::from_secs),
                explain,
            };
            session.judge(task, &text, options, &stage)?
        }
    };
    cost.wall_s = start.elapsed().as_secs_f64();
    cost.peak_rss_bytes = peak_rss_bytes();
    let report = Report::judged(TestId::new(target, task), args.gist.clone(), &judged, cost);
    Ok((report, judged))
}

/// The project, built, with what `--test` selects.
fn selected(args: &VerifyArgs, shell: &Shell) -> Result<Work> {
    if args.entry.is_none() && !args.program.is_meant() {
        return Err(Error::Usage(
            "a gist of which test? name it with `--test`, like `cargo gistify verify repro.rs --test parse::empty_input`"
                .into(),
        ));
    }
    let selection = SelectionArgs {
        tests: args.entry.iter().cloned().collect(),
        exact: args.exact,
        ignored: args.ignored,
        cargo: args.cargo.clone(),
        ..SelectionArgs::default()
    };
    work(&selection, &args.program, Inline::None, shell)
}

/// A rate as it is shown; what could not be measured is a dash.
pub(super) fn rate(r: Option<f64>) -> String {
    r.map_or_else(|| "-".to_owned(), |r| format!("{r:.2}"))
}

/// The figures of a gist that was judged, in one line.
pub(super) fn scores(m: &Metrics) -> String {
    format!(
        "fidelity {}, line execution {} ({} of what can run), line existence {}, test F1 {}, stubs {}",
        rate(m.execution_fidelity),
        rate(m.line_execution_rate),
        rate(m.line_execution_rate_possible),
        rate(m.line_existence_rate),
        rate(m.test_f1),
        m.stubs.unwrap_or(0)
    )
}

pub(super) fn summary(task: &Task, report: &Report, judged: &Judged, shell: &Shell) {
    let what = task.what();
    let m = &report.metrics;
    match judged.verified.verdict {
        Verdict::Ok => shell.status("Verified", &format!("{what} in {:.2}s", report.cost.wall_s)),
        verdict => {
            shell.error(&format!("the gist of {what} does not verify: {}\n{}", verdict.name(), judged.verified.reason))
        }
    }
    for flag in &judged.flags {
        shell.warn(flag.describe());
    }
    if m.line_existence_rate.is_none() {
        return;
    }
    shell.status("Scores", &scores(m));
    if m.cases_agreeing.is_some() {
        shell.status(
            "Partial",
            &format!(
                "{} of the cases end as in the project, output similarity {}",
                rate(m.cases_agreeing),
                rate(m.output_similarity)
            ),
        );
    }
}
