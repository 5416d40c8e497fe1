//! A summary as text: for a terminal, as Markdown, as CSV.

use super::summary::{About, AgentRow, Axis, Correlation, Pair, Quarter, Summary};
use std::fmt::Write;

/// The columns of the table of agents.
const COLUMNS: [&str; 10] =
    ["agent", "cells", "ok", "rate", "95% interval", "fidelity", "existence", "execution", "test F1", "cost"];

pub(super) fn share(value: Option<f64>) -> String {
    value.map_or_else(|| "-".into(), |v| format!("{:.1}%", 100.0 * v))
}

fn row(agent: &AgentRow) -> [String; 10] {
    let counted = agent.cells - agent.not_counted;
    let aside = if agent.not_counted == 0 { String::new() } else { format!(" (+{})", agent.not_counted) };
    let interval =
        agent.ok_interval.map_or_else(|| "-".into(), |(low, high)| format!("{:.1}-{:.1}%", 100.0 * low, 100.0 * high));
    [
        agent.name.clone(),
        format!("{counted}{aside}"),
        agent.ok.to_string(),
        share(agent.ok_rate),
        interval,
        share(agent.execution_fidelity),
        share(agent.line_existence_rate),
        share(agent.line_execution_rate),
        share(agent.test_f1),
        agent.cost_usd.map_or_else(|| "-".into(), |usd| format!("{usd:.2} USD")),
    ]
}

/// More of an agent, in words.
fn more(agent: &AgentRow) -> Vec<String> {
    let listed = |items: Vec<String>| items.join(", ");
    let mut out = Vec::new();
    if agent.execution == Some(true) {
        out.push("it could run code".to_owned());
    }
    if agent.pass_at.len() > 1 {
        out.push(listed(agent.pass_at.iter().map(|(k, rate)| format!("pass@{k} {}", share(Some(*rate)))).collect()));
    }
    if !agent.faults.is_empty() {
        let faults = agent.faults.iter().map(|(fault, n)| format!("{n} {fault}")).collect();
        out.push(format!("faults: {}", listed(faults)));
    }
    if let Some(size) = agent.size_to_gold {
        out.push(format!("verified gists have {size:.2} code lines for each of the gold solution's, in the median"));
    }
    if let Some(Correlation { coefficient, interval: (low, high), cells }) = agent.test_f1_with_success {
        out.push(format!("test F1 and success: r = {coefficient:.2} (95% {low:.2} to {high:.2}, {cells} cells)"));
    }
    if let Some(steps) = agent.steps {
        out.push(format!("{steps:.1} steps a cell, {} at the step limit", share(agent.max_steps_rate)));
    }
    if !agent.tools.is_empty() {
        let kind = |kind| serde_json::to_value(kind).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default();
        let tools = agent.tools.iter().map(|(k, calls)| format!("{} {calls:.1}", kind(k))).collect();
        out.push(format!("tool calls a cell: {}", listed(tools)));
    }
    if let Some(tokens) = agent.tokens {
        out.push(format!("{tokens} tokens in all"));
    }
    out.extend(agent.wall_s.map(|seconds| format!("{seconds:.1} s an attempt")));
    out
}

fn pair(pair: &Pair) -> String {
    let Pair { first, second, cells, only_first, only_second, p_value } = pair;
    let p = if *p_value < 0.0001 { "p < 0.0001".to_owned() } else { format!("p = {p_value:.4}") };
    format!(
        "{first} and {second}: of {cells} cells {only_first} ok for {first} alone, {only_second} for {second} alone, {p}"
    )
}

/// What was run, as one line.
fn about(summary: &Summary) -> String {
    let About { set, tool, toolchain, sandbox, tasks, projects, missing } = &summary.about;
    let mut facts = vec![format!("{} cells", summary.cells.len())];
    if *tasks > 0 {
        facts.push(format!("{tasks} tasks of {projects} projects"));
    }
    facts.extend(set.as_ref().map(|set| format!("set {}", set.chars().take(12).collect::<String>())));
    facts.extend(
        [("tool", tool), ("rustc", toolchain), ("sandbox", sandbox)]
            .iter()
            .filter_map(|(name, value)| value.as_ref().map(|value| format!("{name} {value}"))),
    );
    if *missing > 0 {
        facts.push(format!("{missing} cells are MISSING"));
    }
    facts.join(", ")
}

/// A measure's table: the agents by quarters of the tasks.
fn by_difficulty(axis: &Axis, agents: &[AgentRow]) -> Vec<Vec<String>> {
    let range = |q: &Quarter| if q.from == q.to { q.to.to_string() } else { format!("{}-{}", q.from, q.to) };
    let head = std::iter::once(format!("ok by {}", axis.measure.replace('_', " "))).chain(axis.quarters.iter().map(range));
    let row = |agent: &AgentRow| {
        let shares = axis.quarters.iter().map(|q| share(q.agents.get(&agent.name).and_then(|s| s.rate)));
        std::iter::once(agent.name.clone()).chain(shares).collect()
    };
    std::iter::once(head.collect()).chain(agents.iter().map(row)).collect()
}

/// Rows as lines, whose columns stand below each other: the first to the left, the others to the right.
#[must_use]
pub fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> =
        (0..columns).map(|c| rows.iter().filter_map(|r| r.get(c)).map(|t| t.chars().count()).max().unwrap_or(0)).collect();
    let mut out = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).enumerate().map(|(c, (text, width))| match c {
            0 => format!("{text:<width$}"),
            _ => format!("{text:>width$}"),
        });
        let _ = writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    out
}

/// For a terminal.
#[must_use]
pub fn human(summary: &Summary) -> String {
    let rows: Vec<Vec<String>> =
        std::iter::once(COLUMNS.map(str::to_owned)).chain(summary.agents.iter().map(row)).map(Vec::from).collect();
    let mut out = format!("{}\n\n", about(summary));
    out += &aligned(&rows);
    for agent in &summary.agents {
        let _ = writeln!(out, "\n{}", agent.name);
        for line in more(agent) {
            let _ = writeln!(out, "    {line}");
        }
    }
    if !summary.pairs.is_empty() {
        out.push('\n');
        for both in &summary.pairs {
            let _ = writeln!(out, "{}", pair(both));
        }
    }
    for axis in &summary.difficulty {
        let _ = write!(out, "\n{}", aligned(&by_difficulty(axis, &summary.agents)));
    }
    out
}

/// As Markdown: the agents, the pairs, the tasks.
#[must_use]
pub fn markdown(summary: &Summary) -> String {
    let line =
        |cells: &[String]| format!("| {} |\n", cells.iter().map(|c| c.replace('|', "\\|")).collect::<Vec<_>>().join(" | "));
    let mut out = format!("{}.\n\n", about(summary));
    out += &line(&COLUMNS.map(str::to_owned));
    out += &format!("|{}\n", "---|".repeat(COLUMNS.len()));
    summary.agents.iter().for_each(|agent| out += &line(&row(agent)));
    for agent in &summary.agents {
        let _ = write!(out, "\n**{}**: {}.\n", agent.name, more(agent).join("; "));
    }
    if !summary.pairs.is_empty() {
        out.push('\n');
        for both in &summary.pairs {
            let _ = writeln!(out, "- {}", pair(both));
        }
    }
    for axis in &summary.difficulty {
        for (i, row) in by_difficulty(axis, &summary.agents).iter().enumerate() {
            out += if i == 0 { "\n" } else { "" };
            out += &line(row);
            out += &if i == 0 { format!("|{}\n", "---|".repeat(row.len())) } else { String::new() };
        }
    }
    let names: Vec<String> = summary.agents.iter().map(|agent| agent.name.clone()).collect();
    out.push('\n');
    out += &line(&[vec!["task".to_owned()], names.clone()].concat());
    out += &format!("|{}\n", "---|".repeat(names.len() + 1));
    for task in &summary.tasks {
        let cells =
            names.iter().map(|name| task.agents.get(name).map_or_else(|| "-".into(), |(ok, n)| format!("{ok} of {n}")));
        out += &line(&[vec![format!("`{}`", task.id)], cells.collect()].concat());
    }
    out
}

/// As CSV (RFC 4180): a line a cell.
#[must_use]
pub fn csv(summary: &Summary) -> String {
    let quoted = |text: &str| match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    };
    let number = |value: Option<f64>| value.map(|v| v.to_string()).unwrap_or_default();
    let mut out = "task,agent,attempt,verdict,counted,execution_fidelity,line_existence_rate,line_execution_rate,test_f1,steps,input_tokens,output_tokens,cost_usd,wall_s\r\n".to_owned();
    for cell in &summary.cells {
        let (m, u) = (&cell.metrics, &cell.usage);
        let fields = [
            quoted(&cell.id.task),
            quoted(&cell.id.agent),
            cell.id.attempt.to_string(),
            cell.verdict.clone(),
            (!cell.infrastructure).to_string(),
            number(m.execution_fidelity),
            number(m.line_existence_rate),
            number(m.line_execution_rate),
            number(m.test_f1),
            cell.steps.map(|n| n.to_string()).unwrap_or_default(),
            u.input_tokens.map(|n| n.to_string()).unwrap_or_default(),
            u.output_tokens.map(|n| n.to_string()).unwrap_or_default(),
            number(u.cost_usd),
            format!("{:.3}", cell.wall_s),
        ];
        out += &(fields.join(",") + "\r\n");
    }
    out
}

#[cfg(test)]
mod unit {
    use super::*;
    use crate::agent::{Ended, ToolKind, Usage};
    use crate::bench::cell::{Cell, CellId, SCHEMA};
    use crate::bench::summary::Runs;
    use crate::report::Metrics;

    fn cell(task: &str, agent: &str, attempt: u32, verdict: &str) -> Cell {
        let ok = verdict == "ok";
        let rate = ok.then_some(1.0);
        Cell {
            schema: SCHEMA,
            id: CellId { task: task.into(), agent: agent.into(), attempt },
            verdict: verdict.into(),
            error: None,
            infrastructure: verdict == "time-out",
            ended: Some(if ok { Ended::Done } else { Ended::StepLimit }),
            steps: Some(if ok { 10 } else { 50 }),
            tools: [(ToolKind::View, 4), (ToolKind::Edit, 1)].into(),
            usage: Usage { input_tokens: Some(1000), output_tokens: Some(50), cached_tokens: None, cost_usd: Some(0.25) },
            metrics: Metrics { execution_fidelity: rate.or(Some(0.0)), line_existence_rate: rate, ..Metrics::default() },
            wall_s: 2.0,
            cell_s: 3.0,
            job: None,
        }
    }

    fn summary() -> Summary {
        let good = ["a", "b", "c"].map(|task| [cell(task, "good", 1, "ok"), cell(task, "good", 2, "ok")]).concat();
        let bad = vec![
            cell("a", "so, so", 1, "ok"),
            cell("a", "so, so", 2, "no-gist"),
            cell("b", "so, so", 1, "forbidden"),
            cell("b", "so, so", 2, "no-gist"),
            cell("c", "so, so", 1, "no-gist"),
            cell("c", "so, so", 2, "time-out"),
        ];
        Summary::of(Runs { cells: [good, bad].concat(), ..Runs::default() })
    }

    #[test]
    fn a_summary_for_a_terminal_looks_like_this() {
        insta::assert_snapshot!(human(&summary()));
    }

    #[test]
    fn a_summary_as_markdown_looks_like_this() {
        insta::assert_snapshot!(markdown(&summary()));
    }

    #[test]
    fn a_line_of_csv_is_a_cell() {
        let text = csv(&summary());
        let lines: Vec<&str> = text.split("\r\n").collect();
        assert_eq!(lines.len(), 1 + 12 + 1);
        assert_eq!(lines[1], "a,good,1,ok,true,1,1,,,10,1000,50,0.25,2.000");
        assert_eq!(lines[3], "a,\"so, so\",1,ok,true,1,1,,,10,1000,50,0.25,2.000");
        assert!(lines.iter().any(|line| line.starts_with("c,\"so, so\",2,time-out,false,")));
    }
}
