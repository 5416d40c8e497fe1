//! The rates of a gist, line by line, so that they can be checked with a pencil: what of a line ran, which lines of the
//! layout begin in it, where the project has these, and the sums.
//!
//! Line execution is counted in the text that ran, which is the gist with the original test put back. Where that
//! differs from the gist, lines of both are listed: those of the gist that were replaced have no count, those that
//! were put back have no number and are nothing that could exist. So each line of either text is counted once.

use super::ParseError;
use super::execution::Execution;
use super::existence::{Found, Index, Options};
use crate::source::map::{line_starts, position};
use crate::trace::{Coverage, Region};
use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};
use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;
use std::time::{Duration, Instant};

/// What ran of a text.
#[derive(Clone, Debug)]
pub struct Run<'a> {
    /// The gist with the original test put back.
    text: &'a str,
    counts: BTreeMap<usize, u64>,
    regions: Vec<Region>,
}

impl<'a> Run<'a> {
    /// Of a text that is file number `file` of `coverage`.
    #[must_use]
    pub fn new(text: &'a str, coverage: &Coverage, file: usize) -> Run<'a> {
        Run { text, counts: coverage.line_counts(file), regions: coverage.merged_regions(file) }
    }

    /// How many of its lines ran.
    ///
    /// # Errors
    /// A text that is not Rust.
    pub fn execution(&self) -> Result<Execution, ParseError> {
        Execution::of(self.text, &self.counts, &self.regions)
    }
}

/// A line of one of the project's files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The file.
    pub file: Utf8PathBuf,
    /// 1-based.
    pub line: usize,
}

/// What a gist's rates are made of.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// Every line of the gist, and every line of the text that ran, in order.
    pub lines: Vec<ExplainedLine>,
    /// Their sums.
    pub sums: Sums,
}

/// What a line counts for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExplainedLine {
    /// Its number in the gist; `null` when it was put back with the original test.
    pub line: Option<usize>,
    /// Its number in the text that ran; `null` when it was replaced by the original test, or when nothing ran.
    pub line_that_ran: Option<usize>,
    /// The line.
    pub text: String,
    /// How often it ran; `null` when it is not executable.
    pub count: Option<u64>,
    /// What that makes it.
    pub execution: LineState,
    /// The lines of the layout that begin in it.
    pub laid: Vec<LaidOut>,
    /// How many lines of the layout that began above reach into it.
    pub continues: usize,
}

/// What line execution says of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LineState {
    /// It is not in the text that ran.
    DidNotTakePart,
    /// No code is counted in it.
    NotExecutable,
    /// Its count is above 0.
    Executed,
    /// Its count is 0.
    Idle,
    /// Its count is 0, and rustc demands it.
    Demanded,
}

/// A line of the layout by which texts are compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LaidOut {
    /// As it is compared.
    pub text: String,
    /// The block it stands in: `fn a::<T as Tr>::f`, `top level of a`.
    pub block: String,
    /// Whether the project has it there.
    pub existence: Existing,
    /// The first line in the project's block that is equal; `null` for what does not exist, and for what stands for a
    /// crate's root or is said for the compiler.
    pub place: Option<Place>,
}

/// What line existence says of a line of the layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Existing {
    /// The block of the same identity has an equal line.
    Exists,
    /// That block has none.
    NoSuchLine,
    /// The project has no such block.
    NoSuchBlock,
}

/// The sums over all lines, and the rates that follow.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Sums {
    /// `executed + idle + demanded`
    pub executable: usize,
    /// Lines with a count above 0.
    pub executed: usize,
    /// Lines with a count of 0 that could go.
    pub idle: usize,
    /// Lines with a count of 0 that rustc demands.
    pub demanded: usize,
    /// `executed / executable`; `null` without executable lines.
    pub line_execution_rate: Option<f64>,
    /// `executed / (executable - demanded)`
    pub line_execution_rate_possible: Option<f64>,
    /// Lines of the layout: `existing + foreign`.
    pub laid: usize,
    /// Those that the project has.
    pub existing: usize,
    /// Those that it has not.
    pub foreign: usize,
    /// `existing / laid`; 0 without lines.
    pub line_existence_rate: f64,
}

/// Past it the pairing of the two texts' lines is coarser; no sum depends on it.
const DIFF_TIME: Duration = Duration::from_secs(2);

/// Explains the rates of `gist`; `run` is what ran of it, if it ran. `place` gives the line of the project that byte
/// `offset` of crate number `krate` of the index comes from.
///
/// # Errors
/// A text that is not Rust.
pub fn explain(
    gist: &str,
    run: Option<&Run<'_>>,
    index: &Index,
    options: &Options,
    place: &dyn Fn(usize, usize) -> Option<Place>,
) -> Result<Explanation, ParseError> {
    let execution = run.map(Run::execution).transpose()?;
    let (own, ran) = (split(gist), run.map(|r| split(r.text)).unwrap_or_default());
    let mut laid = Laid::new(gist, index, options, place)?;
    let mut lines = Vec::with_capacity(own.len());
    for (line, line_that_ran) in pairs(&own, &ran) {
        let text = line.map(|n| own[n - 1]).or_else(|| line_that_ran.map(|n| ran[n - 1])).unwrap_or_default();
        let count = line_that_ran.and_then(|n| run?.counts.get(&n).copied());
        let execution = match (line_that_ran, &execution, count) {
            (None, ..) | (_, None, _) => LineState::DidNotTakePart,
            (_, _, None) => LineState::NotExecutable,
            (Some(n), Some(execution), Some(0)) if execution.demanded.contains(&n) => LineState::Demanded,
            (_, _, Some(0)) => LineState::Idle,
            (_, _, Some(_)) => LineState::Executed,
        };
        lines.push(ExplainedLine {
            line,
            line_that_ran,
            text: text.to_owned(),
            count,
            execution,
            laid: line.and_then(|n| laid.begin.remove(&n)).unwrap_or_default(),
            continues: line.and_then(|n| laid.continue_.get(&n).copied()).unwrap_or(0),
        });
    }
    let sums = Sums::of(&lines);
    Ok(Explanation { lines, sums })
}

/// Lines as coverage counts them.
fn split(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.split('\n').collect();
    lines.pop_if(|last| last.is_empty());
    lines
}

/// The numbers of the lines of two texts, those that are in both side by side.
fn pairs(own: &[&str], ran: &[&str]) -> Vec<(Option<usize>, Option<usize>)> {
    let ops = if own == ran {
        vec![DiffOp::Equal { old_index: 0, new_index: 0, len: own.len() }]
    } else {
        capture_diff_slices_deadline(Algorithm::Myers, own, ran, Some(Instant::now() + DIFF_TIME))
    };
    let numbers = |range: Range<usize>| range.map(|i| Some(i + 1));
    let mut out = Vec::with_capacity(own.len());
    for op in ops {
        let (own, ran) = (numbers(op.old_range()), numbers(op.new_range()));
        if matches!(op, DiffOp::Equal { .. }) {
            out.extend(own.zip(ran));
        } else {
            out.extend(own.map(|n| (n, None)));
            out.extend(ran.map(|n| (None, n)));
        }
    }
    out
}

/// The layout, by lines of the gist.
struct Laid {
    begin: BTreeMap<usize, Vec<LaidOut>>,
    continue_: BTreeMap<usize, usize>,
}

impl Laid {
    fn new(
        gist: &str,
        index: &Index,
        options: &Options,
        place: &dyn Fn(usize, usize) -> Option<Place>,
    ) -> Result<Laid, ParseError> {
        let starts = line_starts(gist);
        let line = |at: usize| position(&starts, at.min(gist.len())).line;
        let mut laid = Laid { begin: BTreeMap::new(), continue_: BTreeMap::new() };
        let mut judged = index.judge(gist, options)?;
        judged.sort_by_key(|l| l.at.start);
        for judged in judged {
            let (first, last) = (line(judged.at.start), line(judged.at.end.saturating_sub(1)));
            let (existence, place) = match judged.found {
                Found::At { krate, offset } => (Existing::Exists, offset.and_then(|offset| place(krate, offset))),
                Found::Said => (Existing::Exists, None),
                Found::NoLine => (Existing::NoSuchLine, None),
                Found::NoBlock => (Existing::NoSuchBlock, None),
            };
            let out = LaidOut { text: judged.text, block: judged.block, existence, place };
            laid.begin.entry(first).or_default().push(out);
            for line in first + 1..=last {
                *laid.continue_.entry(line).or_default() += 1;
            }
        }
        Ok(laid)
    }
}

impl Sums {
    fn of(lines: &[ExplainedLine]) -> Sums {
        let are = |state: LineState| lines.iter().filter(|l| l.execution == state).count();
        let (executed, idle, demanded) = (are(LineState::Executed), are(LineState::Idle), are(LineState::Demanded));
        let executable = executed + idle + demanded;
        let laid = lines.iter().map(|l| l.laid.len()).sum();
        let exists = |l: &ExplainedLine| l.laid.iter().filter(|l| l.existence == Existing::Exists).count();
        let existing = lines.iter().map(exists).sum();
        Sums {
            executable,
            executed,
            idle,
            demanded,
            line_execution_rate: share(executed, executable),
            line_execution_rate_possible: share(executed, executable - demanded),
            laid,
            existing,
            foreign: laid - existing,
            line_existence_rate: share(existing, laid).unwrap_or(0.0),
        }
    }
}

fn share(part: usize, whole: usize) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "line counts are small")]
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Wider cells are not aligned.
const WIDEST: usize = 48;

impl Explanation {
    /// As text for people: one row a line, then the sums.
    #[must_use]
    pub fn text(&self) -> String {
        let head = ["line", "count", "runs", "exist", "where", "block"].map(str::to_owned);
        let rows: Vec<[String; 6]> = std::iter::once(head).chain(self.lines.iter().map(cells)).collect();
        let widths: [usize; 6] = std::array::from_fn(|column| {
            let fits = |width: &usize| *width <= WIDEST;
            rows.iter().map(|row| row[column].chars().count()).filter(fits).max().unwrap_or(0)
        });
        let [line, count, runs, exist, place, block] = widths;
        let texts = std::iter::once("text").chain(self.lines.iter().map(|l| l.text.as_str()));
        let mut out = String::new();
        for (row, text) in rows.iter().zip(texts) {
            let [a, b, c, d, e, f] = row;
            let row = format!(
                "{a:>line$}  {b:>count$}  {c:<runs$}  {d:>exist$}  {e:<place$}  {f:<block$}  | {}",
                printable(text.strip_suffix('\r').unwrap_or(text))
            );
            out.push_str(row.trim_end());
            out.push('\n');
        }
        out.push('\n');
        out.push_str(&self.sums.text());
        out
    }
}

impl Sums {
    /// As text for people: each rate with the numbers that it is made of.
    #[must_use]
    pub fn text(&self) -> String {
        let Sums { executable, executed, idle, demanded, laid, existing, foreign, .. } = self;
        let rate = |rate: Option<f64>| rate.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.4}"));
        let possible = executable - demanded;
        [
            format!("executable lines      {executed} executed + {idle} idle + {demanded} demanded = {executable}"),
            format!("line execution        {executed} / {executable} = {}", rate(self.line_execution_rate)),
            format!(
                "  of what can run     {executed} / ({executable} - {demanded}) = {executed} / {possible} = {}",
                rate(self.line_execution_rate_possible)
            ),
            format!("lines of the layout   {existing} existing + {foreign} foreign = {laid}"),
            format!("line existence        {existing} / {laid} = {:.4}", self.line_existence_rate),
            String::new(),
        ]
        .join("\n")
    }
}

fn cells(l: &ExplainedLine) -> [String; 6] {
    let number = match (l.line, l.line_that_ran) {
        (Some(n), _) => n.to_string(),
        (None, n) => format!("+{}", n.unwrap_or_default()),
    };
    let (count, runs) = match l.execution {
        LineState::DidNotTakePart => ("", "no part"),
        LineState::NotExecutable => ("-", ""),
        LineState::Executed => ("", "ran"),
        LineState::Idle => ("", "idle"),
        LineState::Demanded => ("", "demanded"),
    };
    let count = l.count.map_or_else(|| count.to_owned(), |count| count.to_string());
    let exist = match (l.laid.len(), l.continues) {
        (0, 0) => String::new(),
        (0, _) => "..".to_owned(),
        (all, _) => format!("{}/{all}", l.laid.iter().filter(|l| l.existence == Existing::Exists).count()),
    };
    let place = |l: &LaidOut| match (l.existence, &l.place) {
        (Existing::NoSuchLine, _) => "no such line".to_owned(),
        (Existing::NoSuchBlock, _) => "no such block".to_owned(),
        (Existing::Exists, None) => "crate".to_owned(),
        (Existing::Exists, Some(place)) => printable(&format!("{}:{}", place.file, place.line)),
    };
    let places = counted(l.laid.iter().map(place));
    let blocks = counted(l.laid.iter().map(|l| printable(&l.block)));
    let blocks: Vec<String> = blocks.into_iter().map(|(block, _)| block).collect();
    let times = |(place, n): (String, usize)| if n == 1 { place } else { format!("{place} x{n}") };
    let places: Vec<String> = places.into_iter().map(times).collect();
    [number, count, runs.to_owned(), exist, places.join(", "), blocks.join("; ")]
}

/// Equal neighbours as one, with their number.
fn counted(words: impl Iterator<Item = String>) -> Vec<(String, usize)> {
    let mut out: Vec<(String, usize)> = Vec::new();
    for word in words {
        match out.last_mut() {
            Some((last, n)) if *last == word => *n += 1,
            _ => out.push((word, 1)),
        }
    }
    out
}

/// What a terminal would obey, or that turns the direction of text, is shown as an escape.
fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if (c.is_control() && c != '\t') || turns {
            let _ = write!(out, "{}", c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod unit {
    use super::*;
    use crate::score::existence::CrateText;
    use crate::source::map::Position;
    use crate::trace::{Function, RegionKind};

    const PROJECT: &str = "\
pub fn f(n: u8) -> u8 {
    match n {
        0 => 1,
        1 => 7,
        _ => 2,
    }
}
#[derive(Clone, Debug)]
pub struct S;
mod tests {
    use super::{f, S};
    #[test]
    fn t() {
        assert_eq!(f(0), 1);
        assert_eq!(f(0), 1);
    }
}
";
    const GIST: &str = "\
pub fn f(n: u8) -> u8 {
    match n {
        0 => 1,
        _ => 2,
    }
}
#[derive(Clone, Default)] pub struct S;
fn mine() {
    g(1,
      2)
}
mod tests {
    use super::f;
    #[test]
    fn t() {
        assert!(true);
    }
}
";

    fn put_back() -> String {
        GIST.replace("        assert!(true);\n", "        assert_eq!(f(0), 1);\n        assert_eq!(f(0), 1);\n")
    }

    /// Regions of the text that ran: the function ran twice, its second arm and `mine` never.
    fn coverage() -> Coverage {
        let region = |start: (usize, usize), end: (usize, usize), count| {
            let at = |(line, column)| Position { line, column };
            Region { file: 0, start: at(start), end: at(end), count, kind: RegionKind::Code }
        };
        let function = |regions: Vec<Region>| Function {
            name: String::new(),
            symbol: String::new(),
            file: 0,
            calls: regions[0].count,
            regions,
        };
        let f = vec![
            region((1, 1), (2, 12), 2),
            region((3, 14), (3, 15), 2),
            region((4, 14), (4, 15), 0),
            region((6, 1), (6, 2), 2),
        ];
        let mine = vec![region((8, 1), (11, 2), 0)];
        let t = vec![region((15, 5), (18, 6), 1)];
        Coverage {
            functions: [f, mine, t].map(function).to_vec(),
            files: vec!["/gist.rs".into()],
            profiles: 1,
            unwritten: 0,
        }
    }

    fn explained(gist: &str, ran: Option<&str>) -> Explanation {
        let index = Index::new(&[CrateText::new("demo", PROJECT)]).unwrap();
        let starts = line_starts(PROJECT);
        let place = |_, offset| Some(Place { file: "src/lib.rs".into(), line: position(&starts, offset).line });
        let coverage = coverage();
        let run = ran.map(|text| Run::new(text, &coverage, 0));
        explain(gist, run.as_ref(), &index, &Options::default(), &place).unwrap()
    }

    fn row(explanation: &Explanation, line: usize) -> &ExplainedLine {
        explanation.lines.iter().find(|l| l.line == Some(line)).unwrap()
    }

    #[test]
    fn the_sums_are_those_of_the_lines_and_the_rates_follow() {
        let text = put_back();
        let e = explained(GIST, Some(&text));
        // Of the text that ran. With a count: 1, 2 and 3 of `f`, 6; 15 to 18 of the test: 8 executed. Never: 4 (the only arm for
        // all other numbers, so demanded), 8 to 11 (`mine`: 4 idle). 8 + 4 + 1 = 13.
        let s = e.sums;
        assert_eq!((s.executed, s.idle, s.demanded, s.executable), (8, 4, 1, 13));
        assert_eq!(s.line_execution_rate, Some(8.0 / 13.0));
        assert_eq!(s.line_execution_rate_possible, Some(8.0 / 12.0));
        // Of the gist's layout. `f`: 4. The struct: 3, of which `derive(Default)` is foreign. `mine`: 2, both foreign. `mod tests`
        // and its `use`: 2. The test: `#[test]`, `fn t`, and a foreign `assert!(true)`. 4 + 3 + 2 + 2 + 3 = 14, 4 of them foreign.
        assert_eq!((s.laid, s.existing, s.foreign), (14, 10, 4));
        assert_eq!(s.line_existence_rate, 10.0 / 14.0);
    }

    #[test]
    fn the_sums_are_what_the_metrics_say() {
        let text = put_back();
        let e = explained(GIST, Some(&text));
        let index = Index::new(&[CrateText::new("demo", PROJECT)]).unwrap();
        let existence = index.score(GIST, &Options::default()).unwrap();
        assert_eq!((e.sums.line_existence_rate, e.sums.foreign), (existence.rate, existence.foreign.len()));
        let coverage = coverage();
        let execution = Run::new(&text, &coverage, 0).execution().unwrap();
        assert_eq!(
            (e.sums.line_execution_rate, e.sums.line_execution_rate_possible),
            (execution.rate(), execution.rate_possible())
        );
    }

    #[test]
    fn lines_that_were_put_back_are_listed_and_those_that_they_replace_have_no_count() {
        let text = put_back();
        let e = explained(GIST, Some(&text));
        let replaced = row(&e, 16);
        assert_eq!((replaced.line_that_ran, replaced.count, replaced.execution), (None, None, LineState::DidNotTakePart));
        assert_eq!(replaced.laid[0].existence, Existing::NoSuchLine);
        let put_back: Vec<(Option<usize>, Option<u64>)> =
            e.lines.iter().filter(|l| l.line.is_none()).map(|l| (l.line_that_ran, l.count)).collect();
        assert_eq!(put_back, [(Some(16), Some(1)), (Some(17), Some(1))]);
        assert_eq!(row(&e, 17).line_that_ran, Some(18));
    }

    #[test]
    fn a_line_names_each_line_of_the_layout_that_begins_in_it_and_where_the_project_has_it() {
        let e = explained(GIST, None);
        let laid: Vec<(&str, Existing, Option<usize>)> =
            row(&e, 7).laid.iter().map(|l| (l.text.as_str(), l.existence, l.place.as_ref().map(|p| p.line))).collect();
        assert_eq!(
            laid,
            [
                ("#[derive(Clone)]", Existing::Exists, Some(8)),
                ("#[derive(Default)]", Existing::NoSuchLine, None),
                ("pub struct S", Existing::Exists, Some(9)),
            ]
        );
        let mine = row(&e, 9);
        assert_eq!((mine.laid[0].text.as_str(), mine.laid[0].existence), ("g(1, 2)", Existing::NoSuchBlock));
        assert_eq!((row(&e, 10).laid.len(), row(&e, 10).continues), (0, 1));
        assert_eq!((e.sums.executable, e.sums.line_execution_rate), (0, None));
    }

    #[test]
    fn places_count_what_stands_before_the_first_token() {
        for start in ["\u{feff}", "#!/usr/bin/env x\n", "\n\n"] {
            let gist = format!("{start}{GIST}");
            let e = explained(&gist, None);
            let line = e.lines.iter().find(|l| l.text.contains("0 => 1")).unwrap();
            assert_eq!((line.laid[0].text.as_str(), line.laid.len()), ("0 => 1", 1), "{start:?}");
        }
    }

    #[test]
    fn a_terminal_is_not_given_orders() {
        let e = explained("// \u{1b}[2J\u{202e}\r\nfn a() {}\n", None);
        let text = e.text();
        assert!(text.contains("// \\u{1b}[2J\\u{202e}\n"), "{text}");
    }

    #[test]
    fn every_row_is_a_line_and_every_sum_shows_its_terms() {
        let text = put_back();
        insta::assert_snapshot!(explained(GIST, Some(&text)).text());
    }
}
