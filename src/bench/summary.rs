//! What a folder of runs comes to: a row an agent, a row a task, and the cells.

use super::cell::Cell;
use super::stats::{interval, mcnemar, mean, pass_at};
use crate::agent::{Ended, ToolKind};
use crate::error::{Error, Result};
use camino::Utf8Path;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Version of [`Summary`].
pub const SCHEMA: u32 = 1;

/// All of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The agents, the best first.
    pub agents: Vec<AgentRow>,
    /// Each two agents, on the cells that count for both.
    pub pairs: Vec<Pair>,
    /// The tasks.
    pub tasks: Vec<TaskRow>,
    /// The cells.
    pub cells: Vec<Cell>,
}

/// An agent. Rates go from 0 to 1, over the cells that count; `null` where nothing can be said.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgentRow {
    /// Its name.
    pub name: String,
    /// Cells that are over.
    pub cells: usize,
    /// Those that do not count: they failed for reasons outside of the agent.
    pub not_counted: usize,
    /// Those whose gist verified.
    pub ok: usize,
    /// The share of `ok`.
    pub ok_rate: Option<f64>,
    /// Its 95% interval (Wilson's). Attempts at one task are taken for independent, which they are not quite.
    pub ok_interval: Option<(f64, f64)>,
    /// Mean execution fidelity; a gist that does not run has 0.
    pub execution_fidelity: Option<f64>,
    /// The chance that one of `k` attempts is `ok`, by `k`, over the tasks with that many.
    pub pass_at: BTreeMap<usize, f64>,
    /// Mean line existence, of the gists that have one.
    pub line_existence_rate: Option<f64>,
    /// Mean line execution, of the gists that ran.
    pub line_execution_rate: Option<f64>,
    /// Mean test F1, of the gists that have one.
    pub test_f1: Option<f64>,
    /// Verdicts other than `ok`, by how many.
    pub faults: BTreeMap<String, usize>,
    /// The share of cells that ended at the step limit.
    pub max_steps_rate: Option<f64>,
    /// Mean steps.
    pub steps: Option<f64>,
    /// Mean calls of tools, by kind.
    pub tools: BTreeMap<ToolKind, f64>,
    /// Tokens, as far as they are told.
    pub tokens: Option<u64>,
    /// Money, as far as it is told.
    pub cost_usd: Option<f64>,
    /// Mean seconds of an attempt.
    pub wall_s: Option<f64>,
}

/// Two agents, side by side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// The one.
    pub first: String,
    /// The other.
    pub second: String,
    /// Cells (task and attempt) that count for both.
    pub cells: usize,
    /// Those that are `ok` for the first alone.
    pub only_first: usize,
    /// Those that are `ok` for the second alone.
    pub only_second: usize,
    /// McNemar's exact test: how likely so large a difference is among equals.
    pub p_value: f64,
}

/// A task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskRow {
    /// Its id.
    pub id: String,
    /// By agent, how many of the cells that count are `ok`, and how many count.
    pub agents: BTreeMap<String, (usize, usize)>,
}

/// The cells below a folder of runs.
///
/// # Errors
/// [`Error::Usage`] when there are none.
pub fn cells(runs: &Utf8Path) -> Result<Vec<Cell>> {
    let folders = |dir: &Utf8Path| -> Vec<_> {
        let entries = dir.read_dir_utf8().into_iter().flatten().flatten();
        let mut dirs: Vec<_> = entries.map(|e| e.path().to_owned()).filter(|path| path.is_dir()).collect();
        dirs.sort();
        dirs
    };
    let attempts =
        folders(&runs.join("cells")).into_iter().flat_map(|task| folders(&task)).flat_map(|agent| folders(&agent));
    let cells: Vec<Cell> = attempts.filter_map(|folder| Cell::load(&folder)).collect();
    if cells.is_empty() {
        return Err(Error::Usage(format!(
            "there are no results in {runs}; `cargo gistify bench run TASKS -o {runs}` makes some"
        )));
    }
    Ok(cells)
}

impl Summary {
    /// What the cells come to.
    #[must_use]
    pub fn of(mut cells: Vec<Cell>) -> Summary {
        cells.sort_by(|a, b| a.id.cmp(&b.id));
        let names: BTreeSet<&str> = cells.iter().map(|cell| cell.id.agent.as_str()).collect();
        let mut agents: Vec<AgentRow> = names.iter().map(|name| row(name, &cells)).collect();
        agents.sort_by(|a, b| b.ok_rate.partial_cmp(&a.ok_rate).unwrap_or(std::cmp::Ordering::Equal));
        let order: Vec<&str> = agents.iter().map(|agent| agent.name.as_str()).collect();
        let pairs = order.iter().enumerate().flat_map(|(i, first)| order[i + 1..].iter().map(move |second| (first, second)));
        let pairs = pairs.map(|(first, second)| pair(first, second, &cells)).collect();
        let tasks = tasks(&cells);
        Summary { schema: SCHEMA, agents, pairs, tasks, cells }
    }
}

fn counted<'c>(cells: &'c [Cell], agent: &'c str) -> impl Iterator<Item = &'c Cell> + Clone {
    cells.iter().filter(move |cell| cell.id.agent == agent && !cell.infrastructure)
}

#[expect(clippy::cast_precision_loss, reason = "counts of cells are small")]
fn row(name: &str, cells: &[Cell]) -> AgentRow {
    let own = counted(cells, name);
    let all = cells.iter().filter(|cell| cell.id.agent == name).count();
    let (n, ok) = (own.clone().count(), own.clone().filter(|cell| cell.is_ok()).count());
    let share = |hits: usize| (n > 0).then(|| hits as f64 / n as f64);
    let mut faults = BTreeMap::new();
    own.clone().filter(|cell| !cell.is_ok()).for_each(|cell| *faults.entry(cell.verdict.clone()).or_default() += 1);
    let mut by_task: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for cell in own.clone() {
        let (ok, n) = by_task.entry(&cell.id.task).or_default();
        *ok += usize::from(cell.is_ok());
        *n += 1;
    }
    let most = by_task.values().map(|(_, n)| *n).max().unwrap_or(0);
    let at = |k: usize| mean(by_task.values().filter_map(|(ok, n)| pass_at(k, *ok, *n)));
    let mut tools: BTreeMap<ToolKind, f64> = BTreeMap::new();
    for (kind, calls) in own.clone().flat_map(|cell| &cell.tools) {
        *tools.entry(*kind).or_default() += *calls as f64 / n as f64;
    }
    let tokens = own.clone().filter_map(|cell| match (cell.usage.input_tokens, cell.usage.output_tokens) {
        (None, None) => None,
        (input, output) => Some(input.unwrap_or(0) + output.unwrap_or(0)),
    });
    let costs = own.clone().filter_map(|cell| cell.usage.cost_usd);
    let at_limit = own.clone().filter(|cell| cell.ended == Some(Ended::StepLimit)).count();
    AgentRow {
        name: name.to_owned(),
        cells: all,
        not_counted: all - n,
        ok,
        ok_rate: share(ok),
        ok_interval: interval(ok, n),
        execution_fidelity: mean(own.clone().map(|cell| cell.metrics.execution_fidelity.unwrap_or(0.0))),
        pass_at: (1..=most).filter_map(|k| Some((k, at(k)?))).collect(),
        line_existence_rate: mean(own.clone().filter_map(|cell| cell.metrics.line_existence_rate)),
        line_execution_rate: mean(own.clone().filter_map(|cell| cell.metrics.line_execution_rate)),
        test_f1: mean(own.clone().filter_map(|cell| cell.metrics.test_f1)),
        faults,
        max_steps_rate: share(at_limit),
        steps: mean(own.clone().filter_map(|cell| cell.steps.map(|steps| steps as f64))),
        tools,
        tokens: tokens.fold(None, |sum: Option<u64>, own| Some(sum.unwrap_or(0).saturating_add(own))),
        cost_usd: costs.fold(None, |sum: Option<f64>, own| Some(sum.unwrap_or(0.0) + own)),
        wall_s: mean(own.map(|cell| cell.wall_s)),
    }
}

fn pair(first: &str, second: &str, cells: &[Cell]) -> Pair {
    let of = |agent| -> BTreeMap<(&str, u32), bool> {
        counted(cells, agent).map(|cell| ((cell.id.task.as_str(), cell.id.attempt), cell.is_ok())).collect()
    };
    let (one, other) = (of(first), of(second));
    let both: Vec<(bool, bool)> = one.iter().filter_map(|(key, ok)| Some((*ok, *other.get(key)?))).collect();
    let only_first = both.iter().filter(|(a, b)| *a && !b).count();
    let only_second = both.iter().filter(|(a, b)| !a && *b).count();
    Pair {
        first: first.to_owned(),
        second: second.to_owned(),
        cells: both.len(),
        only_first,
        only_second,
        p_value: mcnemar(only_first, only_second),
    }
}

fn tasks(cells: &[Cell]) -> Vec<TaskRow> {
    let mut rows: BTreeMap<&str, BTreeMap<String, (usize, usize)>> = BTreeMap::new();
    for cell in cells.iter() {
        let (ok, n) = rows.entry(&cell.id.task).or_default().entry(cell.id.agent.clone()).or_default();
        *ok += usize::from(cell.is_ok() && !cell.infrastructure);
        *n += usize::from(!cell.infrastructure);
    }
    rows.into_iter().map(|(id, agents)| TaskRow { id: id.to_owned(), agents }).collect()
}
