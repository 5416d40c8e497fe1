//! `cargo xtask bench`: this tool beside `treereduce-rust` and `cvise` on the same tests, its cost beside a plain build,
//! and how that cost grows with a crate's size. Writes `docs/benchmarks.md` and its plots.
//!
//! | module | what it does |
//! |---|---|
//! | [`size`] | how large a text is |
//! | [`compiler`] | rustc, counted; the arguments that cargo gives it |
//! | [`check`] | the interestingness test of the others, and their state at any time |
//! | [`synthetic`] | crates of a given length |
//! | [`record`] | results as JSON lines |
//! | [`cost`] | this tool and cargo, measured on one test |
//! | [`race`] | all tools on one test |
//! | [`plot`], [`page`] | the page |

pub(crate) mod check;
mod compiler;
mod cost;
mod page;
mod plot;
mod race;
mod record;
mod size;
mod synthetic;

use crate::corpus::checkout;
use crate::corpus::child;
use crate::corpus::rows::{self, Row, Selection, Target};
use crate::corpus::tool::Tool;
use crate::jsonl;
use anyhow::{Context, Result, bail};
use compiler::Compiler;
use cost::Subject;
use fs_err as fs;
use race::Track;
use record::{Growth, Record, Records, Setting, ToolName};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Tests of the corpus whose bundles have about 500, 3,000 and 8,000 code lines.
const TESTS: [&str; 3] = [
    "heck lib train::tests::test25",
    "fallible-iterator lib test::flat_map",
    "http lib uri::tests::test_uri_parse_authority_no_port",
];

/// Seconds after which the other tools are stopped.
const LIMIT: u64 = 1200;
/// Code lines of the synthetic crates.
const LINES: [usize; 5] = [1_000, 3_000, 10_000, 30_000, 100_000];
/// How often this tool and the plain build are measured.
const REPEAT: usize = 3;

/// One half of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// Side by side
    Tools,
    /// Growth with size
    Growth,
}

/// The arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only this part
    #[arg(long, value_name = "PART")]
    only: Option<Part>,
    /// Only these tools
    #[arg(long, value_enum, value_delimiter = ',', value_name = "TOOLS", default_values_t = ToolName::ALL)]
    tools: Vec<ToolName>,
    /// Stop the other tools after so many seconds
    #[arg(long, default_value_t = LIMIT, value_name = "SECONDS")]
    limit: u64,
    /// A test of the corpus, as `CRATE TARGET TEST`; may be given again [default: three of 500 to 8,000 lines]
    #[arg(long = "test", value_name = "TEST")]
    tests: Vec<String>,
    /// Code lines of the synthetic crates
    #[arg(long, value_delimiter = ',', value_name = "LINES", default_values_t = LINES)]
    lines: Vec<usize>,
    /// How often this tool and the plain build are measured, if that takes less than a minute; the median is shown
    #[arg(long, default_value_t = REPEAT, value_name = "N")]
    repeat: usize,
    /// Where the page goes; its plots go beside it
    #[arg(long, default_value = "docs/benchmarks.md", value_name = "FILE")]
    out: PathBuf,
    /// Where crates, runs and results go [default: target/bench]
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    /// Use this program instead of building the tool
    #[arg(long, value_name = "FILE")]
    tool: Option<PathBuf>,
    /// Measure again what is measured already
    #[arg(long)]
    fresh: bool,
    /// Measure nothing: write the page from the results that are there
    #[arg(long, conflicts_with = "fresh")]
    report_only: bool,
}

impl Args {
    /// The command as the page shows it: what changes results, no paths.
    fn command(&self) -> String {
        let mut out = "cargo xtask bench".to_owned();
        if self.limit != LIMIT {
            out += &format!(" --limit {}", self.limit);
        }
        for test in &self.tests {
            out += &format!(" --test \"{test}\"");
        }
        if self.lines != LINES {
            let lines: Vec<String> = self.lines.iter().map(ToString::to_string).collect();
            out += &format!(" --lines {}", lines.join(","));
        }
        if self.repeat != REPEAT {
            out += &format!(" --repeat {}", self.repeat);
        }
        out
    }
}

/// Measures what is not measured yet, and writes the page.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has no folder above it")?;
    let work = args.work.clone().unwrap_or_else(|| repository.join("target/bench"));
    fs::create_dir_all(&work)?;
    let work = fs::canonicalize(work)?;
    let results = work.join("results.jsonl");
    if !args.report_only {
        child::catch_signals()?;
        let tool = match &args.tool {
            Some(program) => Tool::at(program, &work)?,
            None => Tool::build(repository, &work)?,
        };
        let compiler = Compiler::make(&work)?;
        let known = if args.fresh { Records::default() } else { record::load(&results)? };
        let session = Session { args, repository, work: &work, results: &results, tool, compiler, known };
        if args.only != Some(Part::Growth) {
            session.races()?;
        }
        if args.only != Some(Part::Tools) {
            session.growth()?;
        }
    }
    let page = page::render(&record::load(&results)?, args.limit, &args.command());
    let out = repository.join(&args.out);
    let folder = out.parent().context("the page has no folder")?;
    fs::create_dir_all(folder)?;
    fs::write(&out, page.text)?;
    for (name, plot) in page.plots {
        fs::write(folder.join(name), plot)?;
    }
    eprintln!("    Finished {}", args.out.display());
    Ok(true)
}

/// What all measurements share.
struct Session<'a> {
    args: &'a Args,
    repository: &'a Path,
    work: &'a Path,
    results: &'a Path,
    tool: Tool,
    compiler: Compiler,
    known: Records,
}

impl Session<'_> {
    fn setting(&self, version: String) -> Setting {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Setting { version, rustc: self.compiler.version.clone(), cores }
    }

    fn races(&self) -> Result<()> {
        let names: Vec<&str> =
            if self.args.tests.is_empty() { TESTS.to_vec() } else { self.args.tests.iter().map(String::as_str).collect() };
        let rows = names.into_iter().map(row).collect::<Result<Vec<Row>>>()?;
        let missing = |row: &Row, tool: ToolName| !self.known.races.contains_key(&(row.key.clone(), tool, self.args.limit));
        for row in &rows {
            let todo: Vec<ToolName> = self.args.tools.iter().copied().filter(|tool| missing(row, *tool)).collect();
            if !todo.is_empty() {
                self.race(row, &todo).with_context(|| row.to_string())?;
            }
        }
        Ok(())
    }

    fn race(&self, row: &Row, todo: &[ToolName]) -> Result<()> {
        let locks = self.repository.join("xtask/corpus/locks");
        let crates = [(row.key.krate.clone(), row.key.version.clone())];
        let checkouts = checkout::make(self.work, &locks, &crates)?;
        let track = Track {
            tool: &self.tool.program,
            compiler: &self.compiler,
            work: self.work,
            limit: Duration::from_secs(self.args.limit),
            repeat: self.args.repeat,
            cores: self.setting(String::new()).cores,
        };
        let start = track.start(&checkouts[0], &row.key)?;
        for tool in todo {
            eprintln!("     Running {tool} on {row}");
            let version = match tool {
                ToolName::Gistify => self.tool.version.clone(),
                other => race::version(*other, self.work)?,
            };
            let race = track.run(&start, *tool, self.setting(version))?;
            let (wall, tokens) = (page::middle(&race.walls), race.size.tokens);
            eprintln!(
                "       Ended {tool}: {wall:.1} s, {} compiler calls, {tokens} of {} tokens",
                race.calls, race.bundle.tokens
            );
            jsonl::append(self.results, &Record::Race(race))?;
        }
        Ok(())
    }

    fn growth(&self) -> Result<()> {
        for &lines in self.args.lines.iter().filter(|lines| !self.known.growth.contains_key(lines)) {
            eprintln!("     Growing {lines} code lines");
            let folder = self.work.join("growth").join(lines.to_string());
            synthetic::write(&folder, lines)?;
            let target = Target::Lib;
            let subject = Subject { root: &folder, package: synthetic::NAME, target: &target, test: synthetic::TEST };
            let logs = folder.join("logs");
            let (measured, _) = cost::measure(&self.tool.program, &self.compiler, subject, &logs, self.args.repeat)
                .with_context(|| format!("a synthetic crate of {lines} code lines"))?;
            let (first, peak) = (page::middle(&measured.first), measured.peak_bytes >> 20);
            eprintln!("       Ended {lines}: {first:.1} s, {peak} MiB");
            let setting = self.setting(self.tool.version.clone());
            jsonl::append(self.results, &Record::Growth(Growth { lines, setting, measured }))?;
            fs::remove_dir_all(folder.join("target"))?;
        }
        Ok(())
    }
}

/// The row of the corpus that `CRATE TARGET TEST` names.
fn row(name: &str) -> Result<Row> {
    let krate = name.split(' ').next().unwrap_or_default().to_owned();
    let rows = rows::select(&Selection { crates: vec![krate], ..Selection::default() })?;
    let Some(row) = rows.into_iter().find(|row| row.to_string() == name) else {
        bail!("no test `{name}` in the corpus; tests are named `CRATE TARGET TEST`, as in the table of docs/corpus.md");
    };
    Ok(row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: Args,
    }

    fn parsed(words: &[&str]) -> Args {
        Cli::parse_from([&["bench"], words].concat()).args
    }

    #[test]
    fn all_tools_run_unless_some_are_named() {
        assert_eq!(parsed(&[]).tools, ToolName::ALL);
        assert_eq!(parsed(&["--tools", "gistify,cvise"]).tools, [ToolName::Gistify, ToolName::Cvise]);
    }

    #[test]
    fn page_shows_what_changes_results() {
        assert_eq!(parsed(&["--only", "growth", "--work", "/x"]).command(), "cargo xtask bench");
        assert_eq!(parsed(&["--limit", "60"]).command(), "cargo xtask bench --limit 60");
    }

    #[test]
    fn tests_of_the_side_by_side_are_in_the_corpus() {
        for name in TESTS {
            assert_eq!(row(name).unwrap().to_string(), name);
        }
        assert!(row("heck lib nope").unwrap_err().to_string().contains("no test `heck lib nope`"));
    }
}
