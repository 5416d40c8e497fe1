//! A cell of a benchmark's matrix, one attempt of one agent at one task, as it is kept: `cells/TASK/AGENT/N/cell.json`.
//!
//! A cell's folder is made under another name and gets its own when the cell is over. So what is there is whole, and what is not there has to be done.

use super::job::Job;
use crate::agent::{Ended, ToolKind, Usage};
use crate::report::{Metrics, Report};
use crate::verify::verdict::Verdict;
use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of [`Cell`].
pub const SCHEMA: u32 = 1;
/// The file with it.
pub const CELL: &str = "cell.json";

/// Which cell.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CellId {
    /// The task.
    pub task: String,
    /// The agent.
    pub agent: String,
    /// From 1 on.
    pub attempt: u32,
}

impl CellId {
    /// Its folder in a folder of runs.
    #[must_use]
    pub fn folder(&self, runs: &Utf8Path) -> Utf8PathBuf {
        runs.join("cells").join(&self.task).join(&self.agent).join(self.attempt.to_string())
    }

    /// `TASK/AGENT/N`, as people write it.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}/{}/{}", self.task, self.agent, self.attempt)
    }
}

/// What became of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Which one.
    #[serde(flatten)]
    pub id: CellId,
    /// `ok`, or the fault class.
    pub verdict: String,
    /// Why it is not `ok`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// It failed for reasons outside of the agent: it says nothing about it, and may be done again.
    pub infrastructure: bool,
    /// Why the attempt ended; none for the extractor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
    /// Answers of the agent's model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<usize>,
    /// Calls of tools by kind.
    #[serde(default)]
    pub tools: BTreeMap<ToolKind, usize>,
    /// What the model used.
    #[serde(default)]
    pub usage: Usage,
    /// The figures.
    pub metrics: Metrics,
    /// Seconds that the agent took; for the extractor all of it.
    pub wall_s: f64,
    /// Seconds that the whole cell took.
    pub cell_s: f64,
    /// The engine's job that did it; none for one of `bench run` itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<Job>,
}

impl Cell {
    /// Of a report; `failed` says that nothing could be judged, which is never the agent's fault.
    #[must_use]
    pub fn of(id: CellId, report: &Report, failed: bool) -> Cell {
        let attempt = report.attempt.as_ref();
        let ok = report.verdict == Verdict::Ok.name();
        Cell {
            schema: SCHEMA,
            id,
            verdict: report.verdict.clone(),
            error: report.error.clone(),
            infrastructure: failed || !ok && attempt.is_some_and(|a| a.infrastructure),
            ended: attempt.map(|a| a.ended.clone()),
            steps: attempt.map(|a| a.steps),
            tools: attempt.map(|a| a.tools.clone()).unwrap_or_default(),
            usage: attempt.map(|a| a.usage).unwrap_or_default(),
            metrics: report.metrics.clone(),
            wall_s: attempt.map_or(report.cost.wall_s, |a| a.wall_s),
            cell_s: report.cost.wall_s,
            job: None,
        }
    }

    /// Whether its gist verified.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.verdict == Verdict::Ok.name()
    }

    /// The cell in that folder; none when it is not over, or can't be read: then it is done again.
    #[must_use]
    pub fn load(folder: &Utf8Path) -> Option<Cell> {
        let cell: Cell = serde_json::from_slice(&std::fs::read(folder.join(CELL)).ok()?).ok()?;
        (cell.schema == SCHEMA).then_some(cell)
    }
}
