//! What is known about a test after a run: one JSON line each, in the work folder.

use super::rows::Key;
use crate::jsonl;
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The tool's figures for one gist, as it prints them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Metrics {
    /// 1 if the gist ends as the project's test does.
    pub(super) execution_fidelity: Option<f64>,
    /// Share of executable lines that ran.
    pub(super) line_execution_rate: Option<f64>,
    /// The same without lines that rustc demands but that did not run.
    pub(super) line_execution_rate_possible: Option<f64>,
    /// Share of lines that stand in the project.
    pub(super) line_existence_rate: Option<f64>,
    /// Lines that are neither blank nor comment.
    pub(super) code_lines: Option<u64>,
    /// Lines of the full bundle.
    pub(super) bundle_lines: Option<u64>,
    /// Bodies that were replaced.
    pub(super) stubs: Option<u64>,
    /// Lines that the project does not have.
    pub(super) foreign_lines: Option<u64>,
}

/// What the gist cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Cost {
    /// Compiler calls.
    pub(super) rustc_calls: Option<u64>,
    /// Peak memory.
    pub(super) peak_rss_bytes: Option<u64>,
}

/// The object that the tool prints, as far as it is used here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ToolOutput {
    /// `ok`, or a fault class.
    pub(super) verdict: Option<String>,
    /// What went wrong.
    pub(super) error: Option<serde_json::Value>,
    /// Figures of the gist.
    pub(super) metrics: Option<Metrics>,
    /// Figures of the run.
    pub(super) cost: Option<Cost>,
}

/// How the test in the gist compares with the project's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "result", content = "detail", rename_all = "kebab-case")]
pub(super) enum Compared {
    /// The same tokens.
    Same,
    /// The test is made by a macro: the call is the same, and so are the definitions it goes through.
    SameMacro,
    /// The test is made by a macro: its function there and its part of the call are the same, but others that the
    /// macro makes are left out.
    SameInMacro,
    /// Could not be compared, with the reason.
    NotComparable(String),
    /// Other tokens, with the first difference.
    Differs(String),
}

/// The check that does not trust the tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Recheck {
    /// What must not be in a gist, and is.
    pub(super) faults: Vec<String>,
    /// How building and running it failed, if it did.
    pub(super) run: Option<RunFault>,
    /// The test's tokens.
    pub(super) compared: Compared,
}

/// How building and running a gist failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct RunFault {
    /// `header`, `build`, `run` or `time`.
    pub(super) stage: String,
    /// The message.
    pub(super) message: String,
}

impl Recheck {
    /// Whether the gist stands, comparable or not.
    pub(super) fn ok(&self) -> bool {
        self.faults.is_empty() && self.run.is_none() && !matches!(self.compared, Compared::Differs(_))
    }

    /// In a word or two, for tables.
    pub(super) fn label(&self) -> String {
        if let Some(fault) = &self.run {
            return format!("fails: {}", fault.stage);
        }
        if !self.faults.is_empty() {
            return "forbidden".to_owned();
        }
        match &self.compared {
            Compared::Same | Compared::SameMacro | Compared::SameInMacro => "ok".to_owned(),
            Compared::NotComparable(_) => "ok, tokens not comparable".to_owned(),
            Compared::Differs(_) => "tokens differ".to_owned(),
        }
    }

    /// The messages behind the label.
    pub(super) fn messages(&self) -> Vec<String> {
        let mut out: Vec<String> = self.run.iter().map(|r| format!("{}: {}", r.stage, r.message)).collect();
        out.extend(self.faults.iter().map(|f| format!("forbidden: {f}")));
        match &self.compared {
            Compared::Differs(detail) => out.push(format!("tokens differ: {detail}")),
            Compared::NotComparable(why) => out.push(format!("tokens not comparable: {why}")),
            Compared::Same | Compared::SameMacro | Compared::SameInMacro => {}
        }
        out
    }
}

/// One test's run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    /// Which test.
    #[serde(flatten)]
    pub(super) key: Key,
    /// The version that the tool gave.
    pub(super) tool: String,
    /// Whether it was the first of its target since the tool had forgotten the crate; older records don't say.
    #[serde(default)]
    pub(super) first: Option<bool>,
    /// How the tool's process ended, unless with status 0.
    pub(super) ended: Option<String>,
    /// What it printed.
    pub(super) output: ToolOutput,
    /// The end of what it said on standard error, when it did not say ok.
    pub(super) stderr: Option<String>,
    /// Wall time of the tool, as seen from outside.
    pub(super) wall_s: f64,
    /// Wall time of building the crate's test targets beforehand.
    pub(super) build_s: f64,
    /// The second check; `None` without a gist.
    pub(super) recheck: Option<Recheck>,
}

impl Record {
    /// What the tool claims: its verdict, or what happened instead of one.
    pub(super) fn verdict(&self) -> String {
        match (&self.output.verdict, &self.ended) {
            (Some(verdict), None) => verdict.clone(),
            (Some(verdict), Some(_)) if verdict != "ok" => verdict.clone(),
            (_, Some(ended)) if ended.starts_with("stopped") => "time-out".to_owned(),
            (_, _) => "no verdict".to_owned(),
        }
    }

    /// Whether the tool says that the gist is right.
    pub(super) fn tool_ok(&self) -> bool {
        self.verdict() == "ok"
    }

    /// Whether the second check agrees.
    pub(super) fn recheck_ok(&self) -> bool {
        self.recheck.as_ref().is_some_and(Recheck::ok)
    }

    /// Whether both do.
    pub(super) fn ok(&self) -> bool {
        self.tool_ok() && self.recheck_ok()
    }
}

/// The latest record of each test.
pub(super) fn load(file: &Path) -> Result<BTreeMap<Key, Record>> {
    Ok(jsonl::load(file)?.into_iter().map(|record: Record| (record.key.clone(), record)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::rows::Target;

    fn record() -> Record {
        Record {
            key: Key {
                krate: "heck".to_owned(),
                version: "0.5.0".to_owned(),
                target: Target::Test("t".to_owned()),
                test: "a::b".to_owned(),
            },
            tool: "cargo-gistify 0.1.0".to_owned(),
            first: Some(true),
            ended: None,
            output: ToolOutput { verdict: Some("ok".to_owned()), ..ToolOutput::default() },
            stderr: None,
            wall_s: 1.5,
            build_s: 3.0,
            recheck: Some(Recheck { faults: Vec::new(), run: None, compared: Compared::Same }),
        }
    }

    #[test]
    fn last_record_of_a_test_counts() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("results.jsonl");
        assert!(load(&file).unwrap().is_empty());
        jsonl::append(&file, &record()).unwrap();
        let later = Record { wall_s: 9.0, ..record() };
        jsonl::append(&file, &later).unwrap();
        assert_eq!(load(&file).unwrap().into_values().collect::<Vec<_>>(), [later]);
    }

    #[test]
    fn ok_needs_the_verdict_the_exit_code_and_the_second_check() {
        assert!(record().ok());
        let ended = Record { ended: Some("exit status: 100".to_owned()), ..record() };
        assert_eq!((ended.verdict().as_str(), ended.ok()), ("no verdict", false));
        let stopped = Record { ended: Some("stopped after 180 s".to_owned()), ..record() };
        assert_eq!(stopped.verdict(), "time-out");
        assert!(!Record { recheck: None, ..record() }.ok());
        let check = |compared| Recheck { faults: Vec::new(), run: None, compared };
        assert!(check(Compared::NotComparable(String::new())).ok());
        assert!(!check(Compared::Differs(String::new())).ok());
    }

    #[test]
    fn tool_output_may_lack_or_add_anything() {
        let some: ToolOutput = serde_json::from_str(r#"{"schema":1,"verdict":"no-gist","metrics":null,"new":1}"#).unwrap();
        assert_eq!(some.verdict.as_deref(), Some("no-gist"));
        assert!(some.metrics.is_none());
    }
}
