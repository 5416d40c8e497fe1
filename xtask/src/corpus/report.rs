//! The page: a summary, a table by crate, a table by test.

use super::record::{Compared, Metrics, Record, RunFault};
use super::rows::{Key, Row, Size, Target};
use super::stats::{mean, median, percentile};
use std::collections::{BTreeMap, BTreeSet};

/// What the page says about how it was made.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    /// The command.
    pub(super) command: String,
    /// The machine's cores.
    pub(super) cores: usize,
    /// `rustc --version`.
    pub(super) rustc: String,
}

/// A test with what is known of it.
struct Line<'a> {
    row: &'a Row,
    record: Option<&'a Record>,
}

impl Line<'_> {
    fn metrics(&self) -> Option<&Metrics> {
        self.record.and_then(|r| r.output.metrics.as_ref())
    }

    fn metric(&self, of: impl Fn(&Metrics) -> Option<f64>) -> Option<f64> {
        self.metrics().and_then(of)
    }

    fn count(&self, of: impl Fn(&Metrics) -> Option<u64>) -> Option<u64> {
        self.metrics().and_then(of)
    }

    /// Code lines of the gist as a share of the bundle's lines.
    fn share(&self) -> Option<f64> {
        let metrics = self.metrics()?;
        let bundle = metrics.bundle_lines.filter(|&b| b > 0)?;
        Some(metrics.code_lines? as f64 / bundle as f64)
    }

    fn rustc_calls(&self) -> Option<u64> {
        self.record.and_then(|r| r.output.cost.as_ref()).and_then(|c| c.rustc_calls)
    }

    fn peak(&self) -> Option<u64> {
        self.record.and_then(|r| r.output.cost.as_ref()).and_then(|c| c.peak_rss_bytes)
    }
}

/// Renders the page as Markdown.
pub(super) fn render(rows: &[Row], records: &BTreeMap<Key, Record>, facts: &Facts) -> String {
    let lines: Vec<Line<'_>> = rows.iter().map(|row| Line { row, record: records.get(&row.key) }).collect();
    let mut out = String::from("# Corpus\n\n");
    let versions: BTreeSet<&str> = lines.iter().filter_map(|l| l.record).map(|r| r.tool.as_str()).collect();
    let versions: Vec<&str> = versions.into_iter().collect();
    out += &format!(
        "Made by `{}`; don't edit. {}, {}, {} cores.\n\n",
        facts.command,
        versions.join(", "),
        facts.rustc,
        facts.cores
    );
    out += "Each gist is checked again without the tool: alone in an empty folder, with the crate's folder taken away, it is built\n\
            and the test is run; and the test's tokens are compared with the project's. Lines of the gist are code lines, those of\n\
            the bundle are all lines; wall time is the tool's, with the crate's dependencies built.\n\
            `possible` is line execution without lines that rustc demands but that did not run ([metrics](metrics.md#demanded-lines)).\n\
            `%` is code lines as a share of the bundle.\n\n\
            Each test is a process of its own, target by target. Before each target the tool is made to forget the crate (`cargo gistify\n\
            clean`). So the first test of a target builds the crate with coverage and asks rustc for its graph; a further one finds\n\
            both there. How long that takes is a further test's wall time as a share of the first's of the same target.\n\n";
    out += "## Summary\n\n";
    out += &table(&["figure", "value"], &summary(&lines));
    out += "\n## By size\n\n";
    out += &up_to_size(&lines);
    out += "\n## By crate\n\n";
    out += &by_crate(&lines);
    out += "\n## By test\n\n";
    out += &by_test(&lines);
    out
}

fn summary(lines: &[Line<'_>]) -> Vec<Vec<String>> {
    let total = lines.len();
    let of = |count: usize| format!("{count} of {total}");
    let count = |wanted: &dyn Fn(&Record) -> bool| lines.iter().filter_map(|l| l.record).filter(|r| wanted(r)).count();
    let compared = |r: &Record, wanted: fn(&Compared) -> bool| r.recheck.as_ref().is_some_and(|c| wanted(&c.compared));
    let rate = |of: fn(&Metrics) -> Option<f64>| {
        let values: Vec<f64> = lines.iter().filter_map(|l| l.metric(of)).collect();
        format!("{} (n = {})", percent(mean(values.iter().copied())), values.len())
    };
    let sum = |of: fn(&Metrics) -> Option<u64>| lines.iter().filter_map(|l| l.count(of)).sum::<u64>().to_string();
    let walls = || lines.iter().filter_map(|l| l.record).map(|r| r.wall_s);
    let large = lines.iter().filter(|l| l.row.size >= Size::M).filter_map(Line::share);
    // A later run finds the crate built: the longest build is the one that built it.
    let mut builds: BTreeMap<&str, f64> = BTreeMap::new();
    for record in lines.iter().filter_map(|l| l.record) {
        let longest = builds.entry(&record.key.krate).or_default();
        *longest = longest.max(record.build_s);
    }
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    vec![
        row("tests", total.to_string()),
        row("ok by the tool", of(count(&Record::tool_ok))),
        row("ok by the second check", of(count(&Record::recheck_ok))),
        row("tokens: the same function", count(&|r| compared(r, |c| *c == Compared::Same)).to_string()),
        row(
            "tokens: the same macro call and definitions",
            count(&|r| compared(r, |c| *c == Compared::SameMacro)).to_string(),
        ),
        row(
            "tokens: the same function in a macro that makes fewer tests",
            count(&|r| compared(r, |c| *c == Compared::SameInMacro)).to_string(),
        ),
        row("tokens: not comparable", count(&|r| compared(r, |c| matches!(c, Compared::NotComparable(_)))).to_string()),
        row("tokens: different", count(&|r| compared(r, |c| matches!(c, Compared::Differs(_)))).to_string()),
        row("mean line existence", rate(|m| m.line_existence_rate)),
        row("mean line execution", rate(|m| m.line_execution_rate)),
        row("mean line execution, of what can run (`possible`)", rate(|m| m.line_execution_rate_possible)),
        row("stubs", sum(|m| m.stubs)),
        row("foreign lines", sum(|m| m.foreign_lines)),
        row("wall, median", seconds(median(walls()))),
        row("wall, 95th percentile", seconds(percentile(walls(), 95.0))),
        row("wall, longest", seconds(percentile(walls(), 100.0))),
        row("wall of a further test of a target as a share of the first's, median", {
            let shares = further_shares(lines);
            format!("{} (n = {})", percent(median(shares.iter().copied())), shares.len())
        }),
        row("building the crates' tests beforehand, all", seconds(Some(builds.values().sum()))),
        row("rustc calls, median", number(median(lines.iter().filter_map(Line::rustc_calls).map(|c| c as f64)))),
        row("code lines as a share of the bundle, mean over crates of size M and larger", percent(mean(large))),
        row("peak memory", lines.iter().filter_map(Line::peak).max().map_or_else(dash, |b| format!("{} MiB", b >> 20))),
    ]
}

/// Of each test that was not the first of its target: its wall time as a share of the first's. Only tests that are ok
/// count, and only targets with one first test: after a run of a part of them there may be several.
fn further_shares(lines: &[Line<'_>]) -> Vec<f64> {
    let mut targets: BTreeMap<(&str, &Target), Vec<&Record>> = BTreeMap::new();
    for record in lines.iter().filter_map(|l| l.record).filter(|r| r.tool_ok()) {
        targets.entry((&record.key.krate, &record.key.target)).or_default().push(record);
    }
    let mut shares = Vec::new();
    for records in targets.values() {
        let firsts: Vec<f64> = records.iter().filter(|r| r.first == Some(true)).map(|r| r.wall_s).collect();
        if let [first] = firsts[..] {
            shares.extend(records.iter().filter(|r| r.first == Some(false)).map(|r| r.wall_s / first));
        }
    }
    shares
}

/// The crates by their sizes: those up to `S`, `M`, … together.
fn up_to_size(lines: &[Line<'_>]) -> String {
    let sizes: BTreeSet<Size> = lines.iter().map(|l| l.row.size).collect();
    let rows: Vec<Vec<String>> = sizes
        .iter()
        .map(|size| {
            let group = || lines.iter().filter(|l| l.row.size <= *size);
            let records = || group().filter_map(|l| l.record);
            let rate = |of: fn(&Metrics) -> Option<f64>| percent(mean(group().filter_map(|l| l.metric(of))));
            vec![
                format!("up to {size}"),
                group().count().to_string(),
                records().filter(|r| r.tool_ok() && r.recheck_ok()).count().to_string(),
                rate(|m| m.line_execution_rate),
                rate(|m| m.line_execution_rate_possible),
                rate(|m| m.line_existence_rate),
                percent(mean(group().filter_map(|l| l.share()))),
                seconds(median(records().map(|r| r.wall_s))),
                seconds(percentile(records().map(|r| r.wall_s), 95.0)),
                number(median(group().filter_map(|l| l.rustc_calls()).map(|c| c as f64))),
            ]
        })
        .collect();
    let head = [
        "crates",
        "tests",
        "ok",
        "execution",
        "possible",
        "existence",
        "%",
        "wall, median",
        "wall, 95th percentile",
        "rustc calls, median",
    ];
    table(&head, &rows)
}

fn by_crate(lines: &[Line<'_>]) -> String {
    let mut groups: BTreeMap<&str, Vec<&Line<'_>>> = BTreeMap::new();
    for line in lines {
        groups.entry(&line.row.key.krate).or_default().push(line);
    }
    let rows: Vec<Vec<String>> = groups
        .iter()
        .map(|(name, group)| {
            let records = || group.iter().filter_map(|l| l.record);
            let rate = |of: fn(&Metrics) -> Option<f64>| percent(mean(group.iter().filter_map(|l| l.metric(of))));
            let walls = || records().map(|r| r.wall_s);
            let first = group[0].row;
            vec![
                format!("{name} {}", first.key.version),
                first.size.to_string(),
                group.len().to_string(),
                records().filter(|r| r.tool_ok()).count().to_string(),
                records().filter(|r| r.recheck_ok()).count().to_string(),
                rate(|m| m.line_execution_rate),
                rate(|m| m.line_execution_rate_possible),
                rate(|m| m.line_existence_rate),
                number(median(group.iter().filter_map(|l| l.count(|m| m.code_lines)).map(|c| c as f64))),
                percent(mean(group.iter().filter_map(|l| l.share()))),
                seconds(median(walls())),
                seconds(percentile(walls(), 100.0)),
                number(median(group.iter().filter_map(|l| l.rustc_calls()).map(|c| c as f64))),
                seconds(records().map(|r| r.build_s).reduce(f64::max)),
            ]
        })
        .collect();
    let head = [
        "crate",
        "size",
        "tests",
        "ok",
        "re-check",
        "execution",
        "possible",
        "existence",
        "code lines, median",
        "%",
        "wall, median",
        "wall, max",
        "rustc calls, median",
        "build",
    ];
    table(&head, &rows)
}

fn by_test(lines: &[Line<'_>]) -> String {
    let count = |value: Option<u64>| value.map_or_else(dash, |v| v.to_string());
    let rows: Vec<Vec<String>> = lines
        .iter()
        .map(|line| {
            let key = &line.row.key;
            let recheck = line.record.and_then(|r| r.recheck.as_ref());
            vec![
                key.krate.clone(),
                key.target.to_string(),
                format!("`{}`", key.test),
                line.record.map_or_else(|| "not run".to_owned(), Record::verdict),
                recheck.map_or_else(dash, super::record::Recheck::label),
                percent(line.metric(|m| m.line_execution_rate)),
                percent(line.metric(|m| m.line_execution_rate_possible)),
                percent(line.metric(|m| m.line_existence_rate)),
                count(line.count(|m| m.code_lines)),
                count(line.count(|m| m.bundle_lines)),
                percent(line.share()),
                seconds(line.record.map(|r| r.wall_s)),
                count(line.rustc_calls()),
            ]
        })
        .collect();
    let head = [
        "crate",
        "target",
        "test",
        "verdict",
        "re-check",
        "execution",
        "possible",
        "existence",
        "code lines",
        "bundle lines",
        "%",
        "wall",
        "rustc calls",
    ];
    table(&head, &rows)
}

/// What failed and why, grouped by kind, for the terminal.
pub(super) fn failures(rows: &[Row], records: &BTreeMap<Key, Record>) -> String {
    let mut kinds: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in rows {
        let Some(record) = records.get(&row.key) else {
            kinds.entry("not run".to_owned()).or_default().push(format!("{row}"));
            continue;
        };
        if record.ok() {
            continue;
        }
        let mut text = row.to_string();
        let said = record.output.error.as_ref().map(|e| e.as_str().map_or_else(|| e.to_string(), str::to_owned));
        // What it printed as its error it also said on standard error.
        for message in said.iter().chain(record.stderr.iter().filter(|_| said.is_none())).filter(|_| !record.tool_ok()) {
            text += &indented(message);
        }
        for message in record.recheck.iter().flat_map(super::record::Recheck::messages) {
            text += &indented(&message);
        }
        let recheck = record.recheck.as_ref().map_or_else(|| "no gist".to_owned(), super::record::Recheck::label);
        kinds.entry(format!("{} / {recheck}", record.verdict())).or_default().push(text);
    }
    let mut out = String::new();
    for (kind, texts) in kinds {
        out += &format!("{kind}: {}\n", texts.len());
        for text in texts {
            out += &format!("  {text}\n");
        }
    }
    out
}

fn indented(message: &str) -> String {
    message.lines().map(|l| format!("\n      {l}")).collect()
}

/// How a run fault reads on a progress line.
pub(super) fn short(fault: &RunFault) -> String {
    format!("{}: {}", fault.stage, fault.message.lines().next().unwrap_or_default())
}

fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let mut out = format!("| {} |\n|{}\n", head.join(" | "), "---|".repeat(head.len()));
    for row in rows {
        let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
        out += &format!("| {} |\n", cells.join(" | "));
    }
    out
}

fn dash() -> String {
    "-".to_owned()
}

fn percent(value: Option<f64>) -> String {
    value.map_or_else(dash, |v| format!("{:.1}%", v * 100.0))
}

fn seconds(value: Option<f64>) -> String {
    value.map_or_else(dash, |v| format!("{v:.1} s"))
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(dash, |v| if v.fract() == 0.0 { format!("{v:.0}") } else { format!("{v:.1}") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::record::{Cost, Recheck, ToolOutput};
    use crate::corpus::rows::{Selection, select};

    fn facts() -> Facts {
        Facts { command: "cargo xtask corpus".to_owned(), cores: 2, rustc: "rustc 1.95.0".to_owned() }
    }

    fn rows() -> Vec<Row> {
        select(&Selection { crates: vec!["arrayvec".to_owned()], limit: Some(2), ..Selection::default() }).unwrap()
    }

    fn records(rows: &[Row]) -> BTreeMap<Key, Record> {
        let metrics = Metrics {
            line_execution_rate: Some(0.5),
            line_execution_rate_possible: Some(0.75),
            line_existence_rate: Some(1.0),
            code_lines: Some(30),
            bundle_lines: Some(300),
            stubs: Some(1),
            ..Metrics::default()
        };
        let record = Record {
            key: rows[0].key.clone(),
            tool: "cargo-gistify 0.1.0".to_owned(),
            first: Some(true),
            ended: None,
            output: ToolOutput {
                verdict: Some("ok".to_owned()),
                error: None,
                metrics: Some(metrics),
                cost: Some(Cost { rustc_calls: Some(7), peak_rss_bytes: Some(64 << 20) }),
            },
            stderr: None,
            wall_s: 2.25,
            build_s: 4.0,
            recheck: Some(Recheck { faults: Vec::new(), run: None, compared: Compared::Same }),
        };
        BTreeMap::from([(record.key.clone(), record)])
    }

    #[test]
    fn page_has_what_was_run_and_what_was_not() {
        let rows = rows();
        let page = render(&rows, &records(&rows), &facts());
        let has = |line: &str| assert!(page.contains(line), "{line}\n{page}");
        has("Made by `cargo xtask corpus`; don't edit. cargo-gistify 0.1.0, rustc 1.95.0, 2 cores.");
        has("| ok by the second check | 1 of 2 |\n");
        has("| mean line execution | 50.0% (n = 1) |\n");
        has("| mean line execution, of what can run (`possible`) | 75.0% (n = 1) |\n");
        has("| peak memory | 64 MiB |\n");
        has("| arrayvec 0.7.8 | M | 2 | 1 | 1 | 50.0% | 75.0% | 100.0% | 30 | 10.0% | 2.2 s | 2.2 s | 7 | 4.0 s |\n");
        has(
            "| arrayvec | lib | `char::test_encode_utf8_oob` | ok | ok | 50.0% | 75.0% | 100.0% | 30 | 300 | 10.0% | 2.2 s | 7 |\n",
        );
        has("| arrayvec | test:tests | `test_string_from_bytes` | not run | - | - |");
    }

    #[test]
    fn a_further_test_is_compared_with_the_first_of_its_target() {
        let rows = select(&Selection { crates: vec!["heck".to_owned()], limit: Some(4), ..Selection::default() }).unwrap();
        assert!(rows.iter().all(|r| r.key.target == Target::Lib));
        let any = records(&rows).into_values().next().unwrap();
        let shares = |timed: &[(Option<bool>, f64)]| {
            let of = |(row, (first, wall_s)): (&Row, &(Option<bool>, f64))| {
                let record = Record { key: row.key.clone(), first: *first, wall_s: *wall_s, ..any.clone() };
                (row.key.clone(), record)
            };
            let records: BTreeMap<Key, Record> = rows.iter().zip(timed).map(of).collect();
            let lines: Vec<Line<'_>> = rows.iter().map(|row| Line { row, record: records.get(&row.key) }).collect();
            further_shares(&lines)
        };
        assert_eq!(shares(&[(Some(true), 4.0), (Some(false), 1.0), (Some(false), 2.0), (None, 1.0)]), [0.25, 0.5]);
        assert_eq!(shares(&[(Some(true), 4.0), (Some(true), 2.0), (Some(false), 2.0)]), [0.0; 0]);
    }

    #[test]
    fn failures_are_grouped_and_say_why() {
        let rows = rows();
        let mut records = records(&rows);
        let record = records.get_mut(&rows[0].key).unwrap();
        record.recheck.as_mut().unwrap().compared = Compared::Differs("`1`, `2`".to_owned());
        let text = failures(&rows, &records);
        assert!(
            text.contains(
                "ok / tokens differ: 1\n  arrayvec lib char::test_encode_utf8_oob\n      tokens differ: `1`, `2`\n"
            )
        );
        assert!(text.contains("not run: 1\n"));
    }
}
