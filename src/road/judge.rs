//! The verdict on any file that says it is the gist of a test, whoever wrote it, and its figures.

use super::baseline::Baseline;
use super::{RUNS_WHERE_IT_VARIES, Session, timed};
use crate::error::Result;
use crate::reduce::ran::Ran;
use crate::report::Metrics;
use crate::sandbox::Kind;
use crate::score::existence::Options;
use crate::score::explain::Explanation;
use crate::score::replay::project_code_ran;
use crate::task::Task;
use crate::trace::Coverage;
use crate::verify::inject::{Helper, InjectFault, MadeBy, OriginalTest, locate};
use crate::verify::replay::called_names;
use crate::verify::run::Entry;
use crate::verify::verdict::{Claim, Verdict, Verified, verify};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How a gist is to be verified.
#[derive(Clone, Copy, Debug, Default)]
pub struct VerifyOptions {
    /// Ignored tests are run.
    pub ignored: bool,
    /// For one run of the test.
    pub timeout: Option<Duration>,
    /// For building the gist.
    pub build_timeout: Option<Duration>,
    /// The figures are explained line by line.
    pub explain: bool,
}

/// What is suspicious in a gist that is no fault by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flag {
    /// The test calls functions of the project, and of the gist no line ran that the project has, outside of the test and of signatures:
    /// the output may be replayed from literals.
    NothingOfTheProjectRan,
}

impl Flag {
    /// It as a sentence.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Flag::NothingOfTheProjectRan => {
                "the test calls functions of the project, but by the gist's profile no line of theirs ran: is its output replayed from literals?"
            }
        }
    }
}

/// A gist that was judged.
#[derive(Debug)]
pub struct Judged {
    /// The verdict and what it rests on.
    pub verified: Verified,
    /// The figures.
    pub metrics: Metrics,
    /// What it was built and run in, when it was.
    pub sandbox: Option<Kind>,
    /// The figures line by line, when that was asked for.
    pub explanation: Option<Explanation>,
    /// What is suspicious.
    pub flags: Vec<Flag>,
    /// Wall seconds by stage.
    pub stages: BTreeMap<&'static str, f64>,
    /// Calls of rustc.
    pub rustc_calls: usize,
}

impl Session<'_> {
    /// Verifies and scores a file as the gist of a task. Nothing in it is trusted: it is never run in the project's
    /// folder or with its environment, and panics are compared by the text of the line they point at.
    ///
    /// # Errors
    /// When the test can't be verified against: unsupported, not deterministic, out of time. Faults of the gist are verdicts.
    pub fn judge(&self, task: &Task, gist: &str, options: VerifyOptions, stage: &dyn Fn(&str, &str)) -> Result<Judged> {
        let mut stages = BTreeMap::new();
        let mut compiler = self.compiler.afresh();
        if let Some(limit) = options.build_timeout {
            compiler = compiler.with_timeout(limit);
        }
        let entry = task.entry(&self.target, options.ignored);
        let name = task.what();
        stage("Tracing", &name);
        let baseline = timed(&mut stages, "trace", || self.baseline(&entry, &name, options.timeout))?;
        let Baseline { coverage, reference, limit, varies } = &*baseline;
        let site = self.locate(task, &Ran::new(&self.prepared.bundle, &self.prepared.tree, coverage))?;

        stage("Verifying", &name);
        let gist_test = self.gist_test(task, &entry);
        let first_case = entry.names().first().map(|n| self.in_gist(n));
        let original = self.original(&site, first_case.as_ref().unwrap_or(&gist_test));
        let (original, gist_names, beside) = self.as_it_stands(gist, original, entry.names());
        let runs = if *varies { RUNS_WHERE_IT_VARIES } else { 1 };
        let claim = Claim { runs, ..self.claim(&original, reference, &entry, &gist_names, *limit) };
        let verified = timed(&mut stages, "verify", || verify(gist, None, &claim, &compiler))?;
        let layout = Options { beside, ..self.layout.clone() };
        let metrics = timed(&mut stages, "score", || self.metrics(gist, &layout, &original, &verified, coverage));
        let replayed = self.is_replayed(&verified, &original, &entry, &layout, coverage);
        let flags = replayed.then_some(Flag::NothingOfTheProjectRan).into_iter().collect();
        let sandbox = verified.run.as_ref().map(|run| run.sandbox);
        // Of a gist that is no Rust there is nothing to explain; its verdict says that.
        let explanation = options.explain.then(|| self.explain(gist, &layout, verified.run.as_ref()).ok()).flatten();
        Ok(Judged { explanation, sandbox, verified, metrics, flags, stages, rustc_calls: compiler.calls() })
    }

    /// Whether the test calls functions of the project, and none of the project's code ran in the gist.
    fn is_replayed(
        &self,
        verified: &Verified,
        original: &OriginalTest,
        entry: &Entry,
        layout: &Options,
        trace: &Coverage,
    ) -> bool {
        let cases = entry.names().iter().map(|n| n.rsplit("::").next().unwrap_or(n));
        let test: BTreeSet<String> = original.functions().chain(cases).map(str::to_owned).collect();
        let called = called_names(trace, |f| self.prepared.bundle.map.file(f).is_some());
        let Some(run) = verified.run.as_ref().filter(|_| !called.is_subset(&test)) else { return false };
        // A gist that makes its profile unreadable has nothing to show for itself.
        let Some(counts) = run.line_counts() else { return true };
        project_code_ran(&self.index, &run.text, layout, &counts, &test).is_ok_and(|ran| !ran)
    }

    /// An integration test's crate is a module in a gist of this tool's; who writes a gist by hand may as well leave it at
    /// the root, where the project has it. Gives the test and the paths of its cases as the gist has them, and in the latter case
    /// the name of the test's crate.
    fn as_it_stands(&self, gist: &str, test: OriginalTest, names: &[String]) -> (OriginalTest, Vec<String>, Option<String>) {
        let wrapped = names.iter().map(|n| self.in_gist(n)).collect();
        let Some(wrapper) = &self.prepared.bundle.wrapper else { return (test, wrapped, None) };
        if !matches!(locate(gist, &test), Err(InjectFault::MissingTest { .. })) {
            return (test, wrapped, None);
        }
        let unwrap = |path: &[String]| match path {
            [first, rest @ ..] if first == wrapper => rest.to_vec(),
            path => path.to_vec(),
        };
        // Paths from the root of the crate lead into the module in the bundle.
        let (from, to) = (format!("crate::{wrapper}::"), "crate::");
        let bare_helper = |helper: &Helper| Helper {
            path: unwrap(&helper.path),
            text: helper.text.replace(&from, to),
            at: None,
            ..helper.clone()
        };
        let cut = test.tokens.matches(&from).count() * (from.len() - to.len());
        let bare = OriginalTest {
            path: unwrap(&test.path),
            tokens: test.tokens.replace(&from, to),
            at: None,
            helpers: test.helpers.iter().map(bare_helper).collect(),
            // Their places count from the start of the bundle's text.
            made_by: test
                .made_by
                .as_ref()
                .filter(|_| cut == 0)
                .map(|made| MadeBy { definition: bare_helper(&made.definition), ..*made }),
            others: if cut == 0 { test.others.clone() } else { Vec::new() },
            ..test.clone()
        };
        match locate(gist, &bare) {
            Ok(_) => {
                let beside = self.layout.wrappers.iter().find(|w| w.module == *wrapper).map(|w| w.krate.clone());
                (bare, names.to_vec(), beside)
            }
            Err(_) => (test, wrapped, None),
        }
    }
}

/// The verdict on what stands in a gist's place and can't be read as one.
#[must_use]
pub fn unreadable(verdict: Verdict, reason: String) -> Judged {
    let verified = Verified::fault(verdict, reason);
    let metrics = Metrics { execution_fidelity: Some(0.0), ..Metrics::default() };
    Judged {
        verified,
        metrics,
        sandbox: None,
        explanation: None,
        flags: Vec::new(),
        stages: BTreeMap::new(),
        rustc_calls: 0,
    }
}
