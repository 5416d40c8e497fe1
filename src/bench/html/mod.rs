//! Results as one page: it stands alone, needs no network and no script, and says what it leaves out.

mod code;
mod escape;
mod plot;

use super::cell::{Cell, CellId};
use super::kept::{LINES, Line, ORIGINAL, Original};
use super::render::share;
use super::summary::{AgentRow, Summary, TaskRow};
use crate::agent::ToolKind;
use camino::Utf8Path;
use code::{LEGEND, Shown};
use escape::{attribute, cut, text};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

const STYLE: &str = include_str!("style.css");
/// Bytes of a message of a trajectory, and of what a tool answered.
const MESSAGE: usize = 1500;
const ANSWER: usize = 1000;
/// Bytes of a trajectory in all.
const TRAJECTORY: usize = 40_000;
/// Bytes of a reason: rustc's errors, a diff of outputs.
const REASON: usize = 6000;

/// The page of a folder of runs.
#[must_use]
pub fn page(summary: &Summary, runs: &Utf8Path) -> String {
    let names: Vec<String> = summary.agents.iter().map(|agent| agent.name.clone()).collect();
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"referrer\" content=\"no-referrer\"><link rel=\"icon\" href=\"data:,\"><title>Benchmark of coding agents</title><style>{STYLE}</style></head><body>\n"
    );
    head(&mut out, summary);
    out.push_str("<main>");
    agents(&mut out, summary);
    details(&mut out, summary);
    difficulty(&mut out, summary, &names);
    matrix(&mut out, summary, &names);
    out.push_str("<h2 id=\"tasks\">Tasks</h2>");
    out.push_str(LEGEND);
    let mut by_task: BTreeMap<&str, Vec<&Cell>> = BTreeMap::new();
    for cell in &summary.cells {
        by_task.entry(&cell.id.task).or_default().push(cell);
    }
    for (n, row) in summary.tasks.iter().enumerate() {
        task(&mut out, n, row, by_task.get(row.id.as_str()).map_or(&[][..], Vec::as_slice), runs);
    }
    let _ = writeln!(out, "<footer>Made by cargo gistify {}.</footer></main></body></html>", env!("CARGO_PKG_VERSION"));
    out
}

fn head(out: &mut String, summary: &Summary) {
    let about = &summary.about;
    let told = |name: &str, value: &Option<String>| value.as_ref().map(|v| format!("{name} {}", text(v)));
    let digest = about.set.as_ref().map(|set| set.chars().take(12).collect());
    let mut facts = vec![format!("{} tasks of {} projects", about.tasks.max(summary.tasks.len()), about.projects)];
    facts.push(format!("{} cells", summary.cells.len()));
    if about.missing > 0 {
        facts.push(format!("<strong class=\"away\">{} cells are missing</strong>", about.missing));
    }
    facts.extend(
        [told("set", &digest), told("tool", &about.tool), told("rustc", &about.toolchain), told("sandbox", &about.sandbox)]
            .into_iter()
            .flatten(),
    );
    let _ = write!(
        out,
        "<header><h1>Benchmark of coding agents</h1><p class=\"soft\">{}</p>\
         <p>Each agent was to make one file of a test: self-contained, minimal, and doing what the test does. A cell is one attempt at one task; \
         it is <b>ok</b> when the file, with the original test put back, does the same as the project.</p></header>\
         <nav aria-label=\"Parts\"><ul><li><a href=\"#agents\">Agents</a></li><li><a href=\"#pairs\">Pairs</a></li><li><a href=\"#faults\">Faults</a></li>\
         <li><a href=\"#difficulty\">Difficulty</a></li><li><a href=\"#matrix\">Matrix</a></li><li><a href=\"#tasks\">Tasks</a></li></ul></nav>",
        facts.join(" · ")
    );
}

/// A table in a box that scrolls by itself.
fn table(out: &mut String, label: &str, head: &[String], rows: &[Vec<String>]) {
    let _ = write!(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table><thead><tr>",
        attribute(label)
    );
    head.iter().for_each(|h| out.push_str(&format!("<th scope=\"col\">{h}</th>")));
    out.push_str("</tr></thead><tbody>");
    for row in rows {
        out.push_str("<tr>");
        for (i, cell) in row.iter().enumerate() {
            let _ = match i {
                0 => write!(out, "<th scope=\"row\">{cell}</th>"),
                _ => write!(out, "<td>{cell}</td>"),
            };
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>\n");
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|w| (*w).to_owned()).collect()
}

fn interval(interval: Option<(f64, f64)>) -> String {
    interval.map_or_else(|| "–".into(), |(low, high)| format!("{:.1}–{:.1}%", 100.0 * low, 100.0 * high))
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "–".into(), |v| format!("{v:.digits$}"))
}

fn agents(out: &mut String, summary: &Summary) {
    out.push_str("<h2 id=\"agents\">Agents</h2>");
    let most = summary.agents.iter().flat_map(|a| a.pass_at.keys()).copied().max().unwrap_or(1);
    let mut head = words(&["agent", "runs code", "cells", "ok", "rate", "95% interval"]);
    head.extend((2..=most).map(|k| format!("pass@{k}")));
    head.extend(words(&[
        "fidelity",
        "existence",
        "execution",
        "test F1",
        "size / gold",
        "steps",
        "at step limit",
        "tokens",
        "USD",
        "s",
    ]));
    let row = |agent: &AgentRow| {
        let aside = if agent.not_counted == 0 { String::new() } else { format!(" (+{})", agent.not_counted) };
        let runs_code = agent.execution.map_or("–", |yes| if yes { "yes" } else { "no" });
        let mut row = vec![text(&agent.name).into_owned(), runs_code.to_owned()];
        row.extend([format!("{}{aside}", agent.cells - agent.not_counted), agent.ok.to_string()]);
        row.extend([share(agent.ok_rate), interval(agent.ok_interval)]);
        row.extend((2..=most).map(|k| share(agent.pass_at.get(&k).copied())));
        row.extend(
            [agent.execution_fidelity, agent.line_existence_rate, agent.line_execution_rate, agent.test_f1].map(share),
        );
        row.extend([number(agent.size_to_gold, 2), number(agent.steps, 1), share(agent.max_steps_rate)]);
        row.extend([
            agent.tokens.map_or_else(|| "–".into(), |n| n.to_string()),
            number(agent.cost_usd, 2),
            number(agent.wall_s, 1),
        ]);
        row
    };
    table(out, "Agents", &head, &summary.agents.iter().map(row).collect::<Vec<_>>());
    out.push_str(
        "<p class=\"facts\">Rates are over the cells that count; <b>+</b> those that say nothing about the agent, since the machine or its model failed. Intervals are \
         Wilson's and take attempts at one task for independent. Existence, execution and test F1 are means of the gists that have them; size is in the median, of \
         verified gists, in code lines for each of the gold solution's.</p>",
    );
    for agent in &summary.agents {
        if let Some(with) = &agent.test_f1_with_success {
            let (low, high) = with.interval;
            let _ = write!(
                out,
                "<p class=\"facts\">{}: test F1 and success go together by {:.2} (95% {low:.2} to {high:.2}, {} cells).</p>",
                text(&agent.name),
                with.coefficient,
                with.cells
            );
        }
    }
    out.push_str("<h2 id=\"pairs\">Pairs</h2>");
    if summary.pairs.is_empty() {
        out.push_str("<p class=\"soft\">There is one agent only.</p>");
        return;
    }
    let head = words(&["agents", "cells of both", "ok for the first alone", "ok for the second alone", "p"]);
    let row = |pair: &super::summary::Pair| {
        vec![
            format!("{} – {}", text(&pair.first), text(&pair.second)),
            pair.cells.to_string(),
            pair.only_first.to_string(),
            pair.only_second.to_string(),
            if pair.p_value < 0.0001 { "&lt; 0.0001".into() } else { format!("{:.4}", pair.p_value) },
        ]
    };
    table(out, "Pairs of agents", &head, &summary.pairs.iter().map(row).collect::<Vec<_>>());
    out.push_str("<p class=\"facts\">p is of McNemar's exact test: how likely so large a difference is between agents that are equally good.</p>");
}

/// Faults and tools.
fn details(out: &mut String, summary: &Summary) {
    out.push_str("<h2 id=\"faults\">Faults and tools</h2><div class=\"grid\"><div>");
    let faults: BTreeSet<&String> = summary.agents.iter().flat_map(|a| a.faults.keys()).collect();
    if faults.is_empty() {
        out.push_str("<p class=\"soft\">No cell that counts has a fault.</p>");
    } else {
        let head: Vec<String> =
            std::iter::once("agent".to_owned()).chain(faults.iter().map(|f| text(f).into_owned())).collect();
        let row = |agent: &AgentRow| {
            let counts = faults.iter().map(|f| agent.faults.get(*f).map_or_else(|| "–".into(), ToString::to_string));
            std::iter::once(text(&agent.name).into_owned()).chain(counts).collect()
        };
        table(out, "Faults by agent", &head, &summary.agents.iter().map(row).collect::<Vec<_>>());
    }
    out.push_str("</div><div>");
    let kinds: BTreeSet<ToolKind> = summary.agents.iter().flat_map(|a| a.tools.keys().copied()).collect();
    if kinds.is_empty() {
        out.push_str("<p class=\"soft\">No agent told of a tool that it called.</p>");
    } else {
        let name = |kind: &ToolKind| {
            serde_json::to_value(kind).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
        };
        let head: Vec<String> = std::iter::once("calls a cell".to_owned()).chain(kinds.iter().map(name)).collect();
        let row = |agent: &AgentRow| {
            let counts = kinds.iter().map(|kind| number(agent.tools.get(kind).copied(), 1));
            std::iter::once(text(&agent.name).into_owned()).chain(counts).collect()
        };
        table(out, "Calls of tools by agent", &head, &summary.agents.iter().map(row).collect::<Vec<_>>());
    }
    out.push_str("</div></div>");
}

fn difficulty(out: &mut String, summary: &Summary, names: &[String]) {
    out.push_str("<h2 id=\"difficulty\">Difficulty</h2>");
    if summary.difficulty.is_empty() {
        out.push_str("<p class=\"soft\">The set's manifest is not here, so nothing is known of how hard its tasks are.</p>");
        return;
    }
    out.push_str("<p>The share of gists that verify, by quarters of the tasks, the easiest first.</p><div class=\"grid\">");
    for axis in &summary.difficulty {
        let measure = match axis.measure {
            "trace_length" => "Trace length: function calls that the test executes",
            "files_touched" => "Files that the test touches",
            _ => "Code lines of the crates that the test is built of",
        };
        let _ = write!(out, "<div><h4>{measure}</h4>{}", plot::plot(axis, names));
        let mut head = words(&["agent"]);
        head.extend(axis.quarters.iter().map(|q| format!("{}–{} <span class=\"soft\">({})</span>", q.from, q.to, q.tasks)));
        let row = |name: &String| {
            let shares = axis.quarters.iter().map(|q| {
                q.agents.get(name).map_or_else(
                    || "–".into(),
                    |s| format!("{} <span class=\"soft\">{}/{}</span>", share(s.rate), s.ok, s.cells),
                )
            });
            std::iter::once(text(name).into_owned()).chain(shares).collect()
        };
        table(out, measure, &head, &names.iter().map(row).collect::<Vec<_>>());
        out.push_str("</div>");
    }
    out.push_str("</div>");
}

fn matrix(out: &mut String, summary: &Summary, names: &[String]) {
    out.push_str("<h2 id=\"matrix\">Matrix</h2>");
    let mut head = words(&["task"]);
    head.extend(names.iter().map(|name| text(name).into_owned()));
    let row = |(n, task): (usize, &TaskRow)| {
        let results = names.iter().map(|name| match task.agents.get(name) {
            None => "–".to_owned(),
            Some((_, 0)) => "<span class=\"away\">not counted</span>".to_owned(),
            Some((ok, of)) => {
                let class = if ok == of { "ok" } else { "bad" };
                format!("<span class=\"{class}\">{} {ok} of {of}</span>", if ok == of { "✓" } else { "✗" })
            }
        });
        std::iter::once(format!("<a href=\"#t{n}\">{}</a>", text(&task.id))).chain(results).collect()
    };
    table(out, "Tasks by agents", &head, &summary.tasks.iter().enumerate().map(row).collect::<Vec<_>>());
}

fn read<T: DeserializeOwned>(file: &Utf8Path) -> Option<T> {
    serde_json::from_slice(&std::fs::read(file).ok()?).ok()
}

fn task(out: &mut String, n: usize, row: &TaskRow, cells: &[&Cell], runs: &Utf8Path) {
    let _ = write!(out, "<section class=\"task\" id=\"t{n}\"><h3>{}</h3>", text(&row.id));
    if let Some(entry) = &row.entry {
        let d = &entry.difficulty;
        let _ = write!(
            out,
            "<p class=\"facts\">test <b>{}</b> of {} {} in {} · {} calls · {} files · bundle of {} lines · gold solution of {}</p>",
            text(&entry.test.test),
            text(&entry.test.package),
            text(&entry.test.target),
            text(&entry.project),
            d.trace_length,
            d.files_touched,
            d.bundle_lines,
            d.gold_lines
        );
    }
    let original: Option<Original> = read(&runs.join("tasks").join(&row.id).join(ORIGINAL));
    let mut shown = Shown::default();
    let pane = original.map(|original| code::original(n, &original, &mut shown));
    out.push_str("<div class=\"sides\"><div>");
    let mut seen: Vec<(&CellId, Vec<Line>)> = Vec::new();
    for cell in cells {
        self::cell(out, n, cell, runs, &shown, &mut seen);
    }
    out.push_str("</div>");
    if let Some(pane) = pane {
        let _ = write!(
            out,
            "<div class=\"original\"><h4>The project: what the test runs</h4><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"The project's lines for {}\">{pane}</div></div>",
            attribute(&row.id)
        );
    }
    out.push_str("</div></section>\n");
}

fn cell<'c>(
    out: &mut String,
    n: usize,
    cell: &'c Cell,
    runs: &Utf8Path,
    shown: &Shown,
    seen: &mut Vec<(&'c CellId, Vec<Line>)>,
) {
    let folder = cell.id.folder(runs);
    let (class, mark) = match (cell.infrastructure, cell.is_ok()) {
        (true, _) => ("away", "not counted"),
        (_, true) => ("ok", "✓"),
        _ => ("bad", "✗"),
    };
    let m = &cell.metrics;
    let _ = write!(
        out,
        "<details id=\"c{n}-{}-{}\"><summary><b>{}</b> attempt {} · <span class=\"{class}\">{mark} {}</span> <span class=\"soft\">· {}existence {} · execution {} · test F1 {} · {:.1} s</span></summary>",
        anchor(&cell.id.agent),
        cell.id.attempt,
        text(&cell.id.agent),
        cell.id.attempt,
        text(&cell.verdict),
        m.code_lines.map(|lines| format!("{lines} lines · ")).unwrap_or_default(),
        share(m.line_existence_rate),
        share(m.line_execution_rate),
        share(m.test_f1),
        cell.wall_s
    );
    if let Some(ended) = &cell.ended {
        let steps = cell.steps.map(|steps| format!("; {steps} steps")).unwrap_or_default();
        let tokens = cell.usage.tokens().map(|tokens| format!("; {tokens} tokens")).unwrap_or_default();
        let _ = write!(out, "<p class=\"facts\">It ended: {}{steps}{tokens}.</p>", text(&cut(&ended.describe(), MESSAGE)));
    }
    if let Some(job) = &cell.job {
        let again = if job.restarts == 0 { String::new() } else { format!(", begun anew {} times", job.restarts) };
        let _ = write!(out, "<p class=\"facts\">{} job {}{again}.</p>", text(&job.engine), text(&job.id));
    }
    if let Some(error) = &cell.error {
        let _ = write!(out, "<h4>Why it is not ok</h4><pre class=\"text\">{}</pre>", text(&cut(error, REASON)));
    }
    if let Some(lines) = read::<Vec<Line>>(&folder.join(LINES)) {
        match seen.iter().find(|(_, other)| *other == lines) {
            Some((same, _)) => {
                let _ = write!(
                    out,
                    "<p>The same gist as that of <a href=\"#c{n}-{}-{}\">{} attempt {}</a>.</p>",
                    anchor(&same.agent),
                    same.attempt,
                    text(&same.agent),
                    same.attempt
                );
            }
            None => {
                let code = code::gist(n, &lines, shown);
                let label = attribute(&format!("The gist of {}", cell.id.name()));
                let _ =
                    write!(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{label}\">{code}</div>");
                seen.push((&cell.id, lines));
            }
        }
    }
    if let Some(trajectory) = read::<Value>(&folder.join("trajectory.json")) {
        steps(out, &trajectory);
    }
    out.push_str("</details>");
}

fn anchor(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

/// The steps of an agent, as far as there is room.
fn steps(out: &mut String, trajectory: &Value) {
    let steps = trajectory["steps"].as_array().map_or(&[][..], Vec::as_slice);
    if steps.is_empty() {
        return;
    }
    let _ = write!(out, "<details><summary>Trajectory: {} steps</summary><ol class=\"steps\">", steps.len());
    let begin = out.len();
    for (i, step) in steps.iter().enumerate() {
        if out.len() - begin > TRAJECTORY {
            let _ = write!(out, "<li>{} more steps are in <code>trajectory.json</code>.</li>", steps.len() - i);
            break;
        }
        let message = plain(&step["message"]);
        let _ = write!(out, "<li><b>{}</b>", text(step["source"].as_str().unwrap_or("?")));
        if !message.is_empty() {
            let _ = write!(out, "<pre class=\"text\">{}</pre>", text(&cut(&message, MESSAGE)));
        }
        for call in step["tool_calls"].as_array().into_iter().flatten() {
            let arguments = cut(&plain(&call["arguments"]), MESSAGE).into_owned();
            let name = text(call["function_name"].as_str().unwrap_or("?")).into_owned();
            let _ = write!(out, "<pre class=\"text\"><b>{name}</b> {}</pre>", text(&arguments));
        }
        for result in step["observation"]["results"].as_array().into_iter().flatten() {
            let answer = plain(&result["content"]);
            let _ = write!(out, "<pre class=\"text soft\">{}</pre>", text(&cut(&answer, ANSWER)));
        }
        out.push_str("</li>");
    }
    out.push_str("</ol></details>");
}

/// A value as text: what is no text as JSON.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(parts) if parts.iter().all(|part| part["text"].is_string()) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        other => other.to_string(),
    }
}
