//! What a run says: one stable object for machines, a short summary for people.

#[cfg(feature = "agents")]
use crate::agent::record::AttemptReport;
use crate::error::Error;
use crate::gist::Gist;
use crate::road::judge::{Flag, Judged};
use crate::sandbox::Kind;
use crate::score::explain::Explanation;
use crate::task::{EntryKind, Task};
use crate::verify::verdict::{Verdict, VerificationRun};
use crate::workspace::capture::{TargetKind, TestTarget};
use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of [`Report`]; raised when a field changes its meaning or goes.
pub const SCHEMA: u32 = 1;

/// Which test or program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TestId {
    /// The package's name.
    pub package: String,
    /// The kind of target.
    pub target_kind: TargetKind,
    /// The target's name.
    pub target: String,
    /// What kind of entry it is.
    pub entry: EntryKind,
    /// The test's path; for a parameterised group the function's; for a program `main`.
    pub name: String,
    /// A program's arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,
    /// The file of a program's standard input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdin: Option<Utf8PathBuf>,
}

impl TestId {
    /// An entry of a target.
    #[must_use]
    pub fn new(target: &TestTarget, task: &Task) -> TestId {
        let program = task.program();
        TestId {
            package: target.package.clone(),
            target_kind: target.kind,
            target: target.name.clone(),
            entry: task.kind(),
            name: task.name().to_owned(),
            args: program.map(|p| p.args.clone()),
            stdin: program.and_then(|p| p.stdin.clone()),
        }
    }
}

/// The figures of `docs/metrics.md`. Rates go from 0 to 1; `null` when there is nothing to measure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// 1 if the outcome equals the reference outcome, else 0.
    pub execution_fidelity: Option<f64>,
    /// Share of the cases whose status agrees with the project's: partial credit.
    pub cases_agreeing: Option<f64>,
    /// Similarity of the normalised output, by lines: partial credit.
    pub output_similarity: Option<f64>,
    /// Share of the cases that pass in the project and pass in the gist, too.
    pub pass_rate: Option<f64>,
    /// Line F1 of the test in the gist, before the original is put back, against the original.
    pub test_f1: Option<f64>,
    /// Executed share of the gist's executable lines.
    pub line_execution_rate: Option<f64>,
    /// The same without lines that rustc demands but that did not run.
    pub line_execution_rate_possible: Option<f64>,
    /// Share of the gist's lines that stand in the same place of the project.
    pub line_existence_rate: Option<f64>,
    /// Lines of the gist, header included.
    pub lines: Option<usize>,
    /// Lines that are neither blank nor comment.
    pub code_lines: Option<usize>,
    /// Code lines of the full bundle.
    pub bundle_lines: Option<usize>,
    /// Bodies that were replaced by `unimplemented!()` and the like.
    pub stubs: Option<usize>,
    /// Lines that the project does not have there.
    pub foreign_lines: Option<usize>,
    /// Function calls executed by the test in the project.
    pub trace_length: Option<u64>,
    /// Files of the project that ran.
    pub files_touched: Option<usize>,
}

/// What it cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Cost {
    /// Wall time in seconds; the first test of a target carries the build, the bundle and the graph.
    pub wall_s: f64,
    /// Calls of rustc, other than those that cargo made.
    pub rustc_calls: usize,
    /// Peak memory of this tool in bytes, children not included.
    pub peak_rss_bytes: u64,
    /// Wall seconds by stage.
    pub stages: BTreeMap<&'static str, f64>,
}

/// One test's result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Which test.
    pub test: TestId,
    /// Where the gist is; `null` when none was written.
    pub gist: Option<Utf8PathBuf>,
    /// The fault class, or `ok`; `unsupported`, `nondeterministic`, `time-out`, `bundling` and the like when no gist
    /// could be made.
    pub verdict: String,
    /// Why it is not `ok`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What the gist was built and run in; absent when it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Kind>,
    /// What is suspicious and no fault by itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<Flag>,
    /// The figures.
    pub metrics: Metrics,
    /// What they are made of, line by line, when it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
    /// How the attempt went, when an agent made the gist.
    #[cfg(feature = "agents")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<AttemptReport>,
    /// What it cost.
    pub cost: Cost,
}

impl Report {
    /// For a gist that was made; where it was written is not known here.
    #[must_use]
    pub fn made(test: TestId, made: &Made, mut cost: Cost) -> Report {
        cost.rustc_calls += made.rustc_calls;
        cost.stages.extend(&made.stages);
        Report {
            schema: SCHEMA,
            test,
            gist: None,
            verdict: made.verdict.name().to_owned(),
            error: (made.verdict != Verdict::Ok).then(|| made.reason.clone()),
            sandbox: made.sandbox(),
            flags: Vec::new(),
            metrics: made.metrics.clone(),
            explanation: None,
            #[cfg(feature = "agents")]
            attempt: None,
            cost,
        }
    }

    /// For a file that was judged.
    #[must_use]
    pub fn judged(test: TestId, gist: Utf8PathBuf, judged: &Judged, mut cost: Cost) -> Report {
        cost.rustc_calls += judged.rustc_calls;
        cost.stages.extend(&judged.stages);
        let verdict = judged.verified.verdict;
        Report {
            schema: SCHEMA,
            test,
            gist: Some(gist),
            verdict: verdict.name().to_owned(),
            error: (verdict != Verdict::Ok).then(|| judged.verified.reason.clone()),
            sandbox: judged.sandbox,
            flags: judged.flags.clone(),
            metrics: judged.metrics.clone(),
            explanation: judged.explanation.clone(),
            #[cfg(feature = "agents")]
            attempt: None,
            cost,
        }
    }

    /// For a test of which no gist could be made.
    #[must_use]
    pub fn failed(test: TestId, error: &Error, cost: Cost) -> Report {
        let verdict = match error {
            Error::Unsupported { .. } => "unsupported",
            Error::Nondeterministic { .. } => "nondeterministic",
            Error::TimeOut { .. } => "time-out",
            Error::Bundling { .. } => "bundling",
            _ => Verdict::NoGist.name(),
        };
        let (verdict, error) = (verdict.to_owned(), Some(error.to_string()));
        Report {
            schema: SCHEMA,
            test,
            gist: None,
            verdict,
            error,
            sandbox: None,
            flags: Vec::new(),
            metrics: Metrics::default(),
            explanation: None,
            #[cfg(feature = "agents")]
            attempt: None,
            cost,
        }
    }
}

/// A gist that was made, whether it verified or not.
#[derive(Debug)]
pub struct Made {
    /// The file.
    pub gist: Gist,
    /// The verdict on it.
    pub verdict: Verdict,
    /// Why it is not `ok`.
    pub reason: String,
    /// What ran of it, when it ran.
    pub run: Option<VerificationRun>,
    /// The line that runs it.
    pub run_line: String,
    /// The figures.
    pub metrics: Metrics,
    /// Wall seconds by stage.
    pub stages: BTreeMap<&'static str, f64>,
    /// Calls of rustc.
    pub rustc_calls: usize,
}

impl Made {
    /// What it was built and run in, when it was.
    #[must_use]
    pub fn sandbox(&self) -> Option<Kind> {
        self.run.as_ref().map(|run| run.sandbox)
    }
}

/// Peak memory of this process, in bytes.
#[must_use]
pub fn peak_rss_bytes() -> u64 {
    let usage = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_SELF);
    usage.ok().and_then(|u| u64::try_from(u.max_rss()).ok()).unwrap_or(0) * 1024
}
