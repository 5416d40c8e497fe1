//! How far a matrix is: a table on a terminal, else a line a cell.

use super::super::shell::Shell;
use cargo_gistify::bench::cell::{Cell, CellId};
use cargo_gistify::bench::render::aligned;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What is known of the cells that are to be done.
pub(super) struct Progress<'s> {
    shell: &'s Shell,
    on_terminal: bool,
    begun: Instant,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    total: usize,
    done: usize,
    rows: BTreeMap<String, Row>,
}

/// An agent's cells.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    to_do: usize,
    running: usize,
    done: usize,
    ok: usize,
    failed: usize,
    not_counted: usize,
    tokens: Option<u64>,
    cost_usd: Option<f64>,
}

impl Row {
    fn add(&mut self, cell: &Cell) {
        self.done += 1;
        self.running = self.running.saturating_sub(1);
        match (cell.infrastructure, cell.is_ok()) {
            (true, _) => self.not_counted += 1,
            (_, true) => self.ok += 1,
            _ => self.failed += 1,
        }
        if let Some(tokens) = cell.usage.tokens() {
            self.tokens = Some(self.tokens.unwrap_or(0).saturating_add(tokens));
        }
        if let Some(usd) = cell.usage.cost_usd {
            self.cost_usd = Some(self.cost_usd.unwrap_or(0.0) + usd);
        }
    }

    fn cells(&self, name: &str) -> Vec<String> {
        let told = |value: Option<String>| value.unwrap_or_else(|| "-".into());
        vec![
            name.to_owned(),
            format!("{}/{}", self.done, self.to_do),
            self.running.to_string(),
            self.ok.to_string(),
            self.failed.to_string(),
            self.not_counted.to_string(),
            told(self.tokens.map(|n| n.to_string())),
            told(self.cost_usd.map(|usd| format!("{usd:.2} USD"))),
        ]
    }
}

impl<'s> Progress<'s> {
    /// Of these cells, none of which is done.
    pub(super) fn new(ids: &[&CellId], shell: &'s Shell) -> Progress<'s> {
        let mut state = State { total: ids.len(), ..State::default() };
        for id in ids {
            state.rows.entry(id.agent.clone()).or_default().to_do += 1;
        }
        let on_terminal = shell.start_table();
        let progress = Progress { shell, on_terminal, begun: Instant::now(), state: Mutex::new(state) };
        progress.draw();
        progress
    }

    /// A cell is being done.
    pub(super) fn begins(&self, id: &CellId) {
        self.state().rows.entry(id.agent.clone()).or_default().running += 1;
        self.draw();
    }

    /// So many of an agent's cells are being done, as an engine says.
    pub(super) fn running(&self, counts: &BTreeMap<String, usize>) {
        for (name, row) in &mut self.state().rows {
            row.running = counts.get(name).copied().unwrap_or(0);
        }
        self.draw();
    }

    /// A cell is over.
    pub(super) fn over(&self, cell: &Cell) {
        let (done, total, row) = {
            let mut state = self.state();
            state.done += 1;
            let row = state.rows.entry(cell.id.agent.clone()).or_default();
            row.add(cell);
            let row = *row;
            (state.done, state.total, row)
        };
        if self.on_terminal {
            return self.draw();
        }
        let aside = if row.not_counted == 0 { String::new() } else { format!(", {} not counted", row.not_counted) };
        let left = left(self.begun.elapsed(), done, total).map(|left| format!(", {left} left")).unwrap_or_default();
        let Cell { id, verdict, cell_s, .. } = cell;
        let name = id.name();
        let counts = format!("{} ok, {} failed{aside}{left}", row.ok, row.failed);
        self.shell.status("Cell", &format!("{done}/{total} {name} {verdict} in {cell_s:.1}s ({counts})"));
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn draw(&self) {
        if self.on_terminal {
            let text = table(&self.state(), self.begun.elapsed());
            self.shell.table(&text);
        }
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        self.shell.end_bar();
    }
}

/// The state as a table.
fn table(state: &State, elapsed: Duration) -> String {
    let head = ["agent", "done", "running", "ok", "failed", "not counted", "tokens", "cost"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(state.rows.iter().map(|(name, row)| row.cells(name)));
    let left = left(elapsed, state.done, state.total).map(|left| format!(", about {left} left")).unwrap_or_default();
    format!("{}{} of {} cells{left}", aligned(&rows), state.done, state.total)
}

/// How long what is left will take, if it goes on as it went; nothing while nothing is done, or all is.
fn left(elapsed: Duration, done: usize, total: usize) -> Option<String> {
    let to_do = u32::try_from(total.saturating_sub(done)).ok().filter(|n| *n > 0)?;
    let each = elapsed.checked_div(u32::try_from(done).ok()?)?;
    let seconds = each.saturating_mul(to_do).as_secs();
    Some(match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s}s"),
        (0, m, s) => format!("{m}m{s:02}s"),
        (h, m, _) => format!("{h}h{m:02}m"),
    })
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn what_is_left_goes_by_what_was_done() {
        let after = |s, done, total| left(Duration::from_secs(s), done, total);
        assert_eq!((after(10, 0, 5), after(10, 5, 5)), (None, None));
        assert_eq!(after(10, 2, 5).as_deref(), Some("15s"));
        assert_eq!(after(100, 10, 100).as_deref(), Some("15m00s"));
        assert_eq!(after(3600, 10, 100).as_deref(), Some("9h00m"));
    }

    #[test]
    fn the_table_looks_like_this() {
        let row = Row { to_do: 60, running: 2, done: 31, ok: 20, failed: 10, not_counted: 1, ..Row::default() };
        let paid = Row { tokens: Some(120_000), cost_usd: Some(1.5), ..row };
        let rows = [("builtin".to_owned(), row), ("claude".to_owned(), paid)].into();
        insta::assert_snapshot!(table(&State { total: 120, done: 62, rows }, Duration::from_secs(620)));
    }
}
