//! What a folder of runs comes to: a row an agent, a row a task, and the cells.

use super::cell::{Cell, CellId};
use super::set::{MANIFEST, Manifest, TaskEntry};
use super::settings::{self, asked_for};
use super::stats::{correlation, interval, mcnemar, mean, median, pass_at};
use crate::agent::{Ended, ToolKind};
use crate::error::{Error, Result};
use camino::Utf8Path;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Version of [`Summary`].
pub const SCHEMA: u32 = 1;

/// A folder of runs, as it is read.
#[derive(Clone, Debug, Default)]
pub struct Runs {
    /// The cells that are over.
    pub cells: Vec<Cell>,
    /// The set's manifest.
    pub manifest: Option<Manifest>,
    /// What the results share.
    pub settings: Option<Value>,
}

/// All of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// [`SCHEMA`].
    pub schema: u32,
    /// What was run.
    pub about: About,
    /// The agents, the best first.
    pub agents: Vec<AgentRow>,
    /// Each two agents, on the cells that count for both.
    pub pairs: Vec<Pair>,
    /// How often gists verify by how hard their tasks are, for each measure of that.
    pub difficulty: Vec<Axis>,
    /// The tasks.
    pub tasks: Vec<TaskRow>,
    /// The cells.
    pub cells: Vec<Cell>,
}

/// What was run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct About {
    /// The digest of the set.
    pub set: Option<String>,
    /// The version of the tool that ran the agents.
    pub tool: Option<String>,
    /// The rustc that the set was made with.
    pub toolchain: Option<String>,
    /// What agents worked and gists ran in.
    pub sandbox: Option<String>,
    /// Tasks of the set.
    pub tasks: usize,
    /// Projects of the set.
    pub projects: usize,
    /// Cells that were asked for and are not over.
    pub missing: usize,
}

/// A measure of how hard tasks are.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Axis {
    /// `trace_length`, `files_touched` or `bundle_lines`.
    pub measure: &'static str,
    /// The tasks by quarters, the easiest first; fewer where many tasks are equally hard.
    pub quarters: Vec<Quarter>,
}

/// A quarter of the tasks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Quarter {
    /// The least of them.
    pub from: u64,
    /// The most.
    pub to: u64,
    /// How many tasks.
    pub tasks: usize,
    /// By agent, what came of them.
    pub agents: BTreeMap<String, Share>,
}

/// A share of cells that count.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Share {
    /// Those that are `ok`.
    pub ok: usize,
    /// All of them.
    pub cells: usize,
    /// The share.
    pub rate: Option<f64>,
    /// Its 95% interval (Wilson's).
    pub interval: Option<(f64, f64)>,
}

/// How two figures go together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Correlation {
    /// From -1 to 1.
    pub coefficient: f64,
    /// Its 95% interval.
    pub interval: (f64, f64),
    /// Cells that have both.
    pub cells: usize,
}

/// An agent. Rates go from 0 to 1, over the cells that count; `null` where nothing can be said.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgentRow {
    /// Its name.
    pub name: String,
    /// It could run code; none for the extractor.
    pub execution: Option<bool>,
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
    /// How test F1 goes with success: of cells that have a test F1.
    pub test_f1_with_success: Option<Correlation>,
    /// Code lines of a verified gist for each of the gold solution's, in the median.
    pub size_to_gold: Option<f64>,
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
    /// What it is, when the set's manifest is at hand.
    #[serde(flatten)]
    pub entry: Option<TaskEntry>,
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

impl Runs {
    /// What is in a folder of runs.
    ///
    /// # Errors
    /// [`Error::Usage`] when there are no results, or what is there can't be read.
    pub fn load(runs: &Utf8Path) -> Result<Runs> {
        let manifest = runs.join(MANIFEST).is_file().then(|| Manifest::load(runs)).transpose()?;
        Ok(Runs { cells: cells(runs)?, manifest: manifest.map(|(manifest, _)| manifest), settings: settings::load(runs)? })
    }
}

impl Summary {
    /// What the cells come to.
    #[must_use]
    pub fn of(runs: Runs) -> Summary {
        let about = about(&runs);
        let Runs { mut cells, manifest, settings } = runs;
        let entries = manifest.map(|manifest| manifest.tasks).unwrap_or_default();
        cells.sort_by(|a, b| a.id.cmp(&b.id));
        let names: BTreeSet<&str> = cells.iter().map(|cell| cell.id.agent.as_str()).collect();
        let mut agents: Vec<AgentRow> = names.iter().map(|name| row(name, &cells, &entries, settings.as_ref())).collect();
        agents.sort_by(|a, b| b.ok_rate.partial_cmp(&a.ok_rate).unwrap_or(std::cmp::Ordering::Equal));
        let order: Vec<&str> = agents.iter().map(|agent| agent.name.as_str()).collect();
        let pairs = order.iter().enumerate().flat_map(|(i, first)| order[i + 1..].iter().map(move |second| (first, second)));
        let pairs = pairs.map(|(first, second)| pair(first, second, &cells)).collect();
        let difficulty = difficulty(&cells, &entries, &order);
        let tasks = tasks(&cells, &entries);
        Summary { schema: SCHEMA, about, agents, pairs, difficulty, tasks, cells }
    }
}

fn counted<'c>(cells: &'c [Cell], agent: &'c str) -> impl Iterator<Item = &'c Cell> + Clone {
    cells.iter().filter(move |cell| cell.id.agent == agent && !cell.infrastructure)
}

#[expect(clippy::cast_precision_loss, reason = "counts of cells are small")]
fn row(name: &str, cells: &[Cell], entries: &BTreeMap<String, TaskEntry>, settings: Option<&Value>) -> AgentRow {
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
    let tokens = own.clone().filter_map(|cell| cell.usage.tokens());
    let costs = own.clone().filter_map(|cell| cell.usage.cost_usd);
    let at_limit = own.clone().filter(|cell| cell.ended == Some(Ended::StepLimit)).count();
    AgentRow {
        name: name.to_owned(),
        execution: settings.and_then(|settings| settings["agents"][name]["execution"].as_bool()),
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
        test_f1_with_success: f1_with_success(own.clone()),
        size_to_gold: median(own.clone().filter_map(|cell| size_to_gold(cell, entries))),
        faults,
        max_steps_rate: share(at_limit),
        steps: mean(own.clone().filter_map(|cell| cell.steps.map(|steps| steps as f64))),
        tools,
        tokens: tokens.fold(None, |sum: Option<u64>, own| Some(sum.unwrap_or(0).saturating_add(own))),
        cost_usd: costs.fold(None, |sum: Option<f64>, own| Some(sum.unwrap_or(0.0) + own)),
        wall_s: mean(own.map(|cell| cell.wall_s)),
    }
}

fn about(runs: &Runs) -> About {
    let text = |key: &str| runs.settings.as_ref().and_then(|s| s[key].as_str()).map(str::to_owned);
    let manifest = runs.manifest.as_ref();
    let there: BTreeSet<&CellId> = runs.cells.iter().map(|cell| &cell.id).collect();
    let asked = match (&runs.settings, manifest) {
        (Some(settings), Some(manifest)) => asked_for(settings, manifest.tasks.keys()),
        _ => BTreeSet::new(),
    };
    About {
        set: text("tasks"),
        tool: text("tool"),
        sandbox: text("sandbox"),
        toolchain: manifest.map(|m| m.toolchain.clone()),
        tasks: manifest.map_or(0, |m| m.tasks.len()),
        projects: manifest.map_or(0, |m| m.projects.len()),
        missing: asked.iter().filter(|id| !there.contains(id)).count(),
    }
}

fn f1_with_success<'c>(cells: impl Iterator<Item = &'c Cell>) -> Option<Correlation> {
    let success = |cell: &Cell| if cell.is_ok() { 1.0 } else { 0.0 };
    let pairs: Vec<(f64, f64)> = cells.filter_map(|cell| Some((cell.metrics.test_f1?, success(cell)))).collect();
    let (coefficient, interval) = correlation(&pairs)?;
    Some(Correlation { coefficient, interval, cells: pairs.len() })
}

#[expect(clippy::cast_precision_loss, reason = "counts of lines are small")]
fn size_to_gold(cell: &Cell, entries: &BTreeMap<String, TaskEntry>) -> Option<f64> {
    let gold = entries.get(&cell.id.task)?.difficulty.gold_lines;
    let own = cell.metrics.code_lines.filter(|_| cell.is_ok() && gold > 0)?;
    Some(own as f64 / gold as f64)
}

/// The tasks that have cells, by how hard they are.
fn difficulty(cells: &[Cell], entries: &BTreeMap<String, TaskEntry>, agents: &[&str]) -> Vec<Axis> {
    let tasks: BTreeSet<&str> = cells.iter().map(|cell| cell.id.task.as_str()).collect();
    let known: Vec<(&str, &TaskEntry)> = tasks.into_iter().filter_map(|id| Some((id, entries.get(id)?))).collect();
    let wide = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    type Measure<'m> = (&'static str, &'m dyn Fn(&TaskEntry) -> u64);
    let measures: [Measure<'_>; 3] = [
        ("trace_length", &|t| t.difficulty.trace_length),
        ("files_touched", &|t| wide(t.difficulty.files_touched)),
        ("bundle_lines", &|t| wide(t.difficulty.bundle_lines)),
    ];
    let axis = |(measure, value): Measure<'_>| {
        let of: Vec<(&str, u64)> = known.iter().map(|(id, task)| (*id, value(task))).collect();
        let quarter = |tasks: Vec<(&str, u64)>| {
            let ids: BTreeSet<&str> = tasks.iter().map(|(id, _)| *id).collect();
            let values = || tasks.iter().map(|(_, value)| *value);
            Quarter {
                from: values().min().unwrap_or(0),
                to: values().max().unwrap_or(0),
                tasks: ids.len(),
                agents: agents.iter().map(|name| ((*name).to_owned(), share(cells, name, &ids))).collect(),
            }
        };
        Axis { measure, quarters: quarters(of).into_iter().map(quarter).collect() }
    };
    if known.is_empty() { Vec::new() } else { measures.into_iter().map(axis).collect() }
}

/// Four parts as equal as can be of what has a value; what has the same value is in the same part.
fn quarters<T>(mut all: Vec<(T, u64)>) -> Vec<Vec<(T, u64)>> {
    all.sort_by_key(|(_, value)| *value);
    let ends: BTreeSet<u64> =
        (1..=4).filter_map(|q| all.get((all.len() * q).div_ceil(4).max(1) - 1)).map(|(_, v)| *v).collect();
    let mut rest = all.into_iter().peekable();
    let part = |end| std::iter::from_fn(|| rest.next_if(|(_, value)| *value <= end)).collect::<Vec<_>>();
    ends.into_iter().map(part).filter(|part| !part.is_empty()).collect()
}

#[expect(clippy::cast_precision_loss, reason = "counts of cells are small")]
fn share(cells: &[Cell], agent: &str, tasks: &BTreeSet<&str>) -> Share {
    let own: Vec<&Cell> = counted(cells, agent).filter(|cell| tasks.contains(cell.id.task.as_str())).collect();
    let ok = own.iter().filter(|cell| cell.is_ok()).count();
    let rate = (!own.is_empty()).then(|| ok as f64 / own.len() as f64);
    Share { ok, cells: own.len(), rate, interval: interval(ok, own.len()) }
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

fn tasks(cells: &[Cell], entries: &BTreeMap<String, TaskEntry>) -> Vec<TaskRow> {
    let mut rows: BTreeMap<&str, BTreeMap<String, (usize, usize)>> = BTreeMap::new();
    for cell in cells.iter() {
        let (ok, n) = rows.entry(&cell.id.task).or_default().entry(cell.id.agent.clone()).or_default();
        *ok += usize::from(cell.is_ok() && !cell.infrastructure);
        *n += usize::from(!cell.infrastructure);
    }
    rows.into_iter().map(|(id, agents)| TaskRow { id: id.to_owned(), entry: entries.get(id).cloned(), agents }).collect()
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn quarters_keep_what_is_equally_hard_together() {
        let parts = |values: &[u64]| -> Vec<Vec<u64>> {
            let all = values.iter().map(|v| ((), *v)).collect();
            quarters(all).into_iter().map(|part| part.into_iter().map(|(_, v)| v).collect()).collect()
        };
        assert_eq!(parts(&[4, 1, 3, 2]), [[1], [2], [3], [4]]);
        assert_eq!(parts(&[1, 1, 1, 1, 1, 1, 2, 9]), [vec![1; 6], vec![2, 9]]);
        assert_eq!((parts(&[]).len(), parts(&[5])), (0, vec![vec![5]]));
        assert_eq!(parts(&(0..100).collect::<Vec<_>>()).iter().map(Vec::len).collect::<Vec<_>>(), [25; 4]);
    }
}
