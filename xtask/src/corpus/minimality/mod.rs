//! `cargo xtask minimality`: takes each item of a sample of gists away, alone, and sees whether the rest still
//! compiles and its test still passes. What can go should not have been there.
//!
//! | module | what it does |
//! |---|---|
//! | [`items`] | the items of a gist, and what goes with each |
//! | [`owned`] | which of them are the test's own, and not looked at |
//! | [`trial`] | builds and runs a gist without one |
//! | [`page`] | the page |

mod items;
mod owned;
mod page;
mod trial;

use super::checkout::{self, Checkout};
use super::child;
use super::compare::wrapper;
use super::header;
use super::recheck::Checker;
use super::rows::{self, Key, Row, Selection, Size, Target};
use super::sources::Sources;
use super::tool::{self, Tool};
use super::{LIMIT, repository};
use crate::jsonl;
use anyhow::{Context, Result};
use fs_err as fs;
use items::Candidate;
use owned::Owned;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use trial::Bench;

/// The arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How many gists, spread over the crates
    #[arg(long, default_value_t = 40, value_name = "N")]
    sample: usize,
    /// Which tests of each crate: another number, another choice
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Only crates of these sizes
    #[arg(long, value_delimiter = ',', value_name = "SIZES")]
    sizes: Vec<Size>,
    /// Only this crate; may be given again
    #[arg(long = "crate", value_name = "NAME")]
    crates: Vec<String>,
    /// Where the page goes
    #[arg(long, default_value = "docs/minimality.md", value_name = "FILE")]
    out: PathBuf,
    /// Where checkouts, gists and results go; shared with `corpus` [default: target/corpus]
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    /// Use this program instead of building the tool
    #[arg(long, value_name = "FILE")]
    tool: Option<PathBuf>,
}

impl Args {
    /// The command as the page shows it: what was selected, no paths.
    fn command(&self) -> String {
        let mut out = format!("cargo xtask minimality --sample {} --seed {}", self.sample, self.seed);
        if !self.sizes.is_empty() {
            let sizes: Vec<String> = self.sizes.iter().map(Size::to_string).collect();
            out += &format!(" --sizes {}", sizes.join(","));
        }
        for name in &self.crates {
            out += &format!(" --crate {name}");
        }
        out
    }
}

/// An item that its gist does not need.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Removable {
    kind: String,
    path: String,
    /// The test calls a function of it, and does not mind when it is gone.
    ran: bool,
}

/// What was found out about one gist.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Finding {
    #[serde(flatten)]
    key: Key,
    /// Of the gist's text: a finding holds as long as the tool writes the same.
    digest: u64,
    /// Items by kind.
    items: BTreeMap<String, usize>,
    removable: Vec<Removable>,
    /// Why nothing was found out, if so.
    fault: Option<String>,
}

/// Runs the sample; whether there was a gist of every test in it.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let repository = repository()?;
    let work = args.work.clone().unwrap_or_else(|| repository.join("target/corpus"));
    fs::create_dir_all(&work)?;
    let work = fs::canonicalize(work)?;
    let all = rows::select(&Selection { sizes: args.sizes.clone(), crates: args.crates.clone(), limit: None })?;
    let rows = sample(all, args.sample, args.seed);
    child::catch_signals()?;
    let tool = match &args.tool {
        Some(program) => Tool::at(program, &work)?,
        None => Tool::build(repository, &work)?,
    };
    let crates: BTreeSet<(String, String)> = rows.iter().map(|r| (r.key.krate.clone(), r.key.version.clone())).collect();
    let crates: Vec<(String, String)> = crates.into_iter().collect();
    let clean = tempfile::tempdir()?;
    let session = Session { known: load(&work.join("minimality.jsonl"))?, clean: clean.path().join("0"), tool, work };
    let mut findings = Vec::new();
    for checkout in checkout::make(&session.work, &repository.join("xtask/corpus/locks"), &crates)? {
        let here: Vec<&Row> = rows.iter().filter(|r| r.key.krate == checkout.name).collect();
        findings.extend(session.one_crate(&checkout, &here)?);
    }
    let facts = page::Facts {
        command: args.command(),
        tool: session.tool.version.clone(),
        rustc: child::output(child::command("rustc").arg("--version"), &session.work, "rustc-version")?.trim().to_owned(),
    };
    let out = if args.out.is_absolute() { args.out.clone() } else { repository.join(&args.out) };
    fs::write(&out, page::render(&findings, &facts))?;
    eprintln!("    Finished {}; {}", page::summary(&findings), args.out.display());
    Ok(findings.iter().all(|f| f.fault.is_none()))
}

/// So many rows, as evenly over the crates as their numbers allow: each crate's in an order that the seed decides, one of
/// each crate, then a second one, and so on.
fn sample(rows: Vec<Row>, number: usize, seed: u64) -> Vec<Row> {
    let digest = |key: &Key| digest(&(seed, key));
    let mut crates: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    for row in rows {
        crates.entry(row.key.krate.clone()).or_default().push(row);
    }
    let mut turns: Vec<(usize, u64, Row)> = Vec::new();
    for mut rows in crates.into_values() {
        rows.sort_by_key(|row| digest(&row.key));
        turns.extend(rows.into_iter().enumerate().map(|(turn, row)| (turn, digest(&row.key), row)));
    }
    turns.sort_by_key(|&(turn, digest, _)| (turn, digest));
    turns.into_iter().take(number).map(|(_, _, row)| row).collect()
}

fn digest(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// What all gists of a run share.
struct Session {
    work: PathBuf,
    clean: PathBuf,
    tool: Tool,
    /// Of earlier runs.
    known: BTreeMap<Key, Finding>,
}

impl Session {
    fn one_crate(&self, checkout: &Checkout, rows: &[&Row]) -> Result<Vec<Finding>> {
        let logs = self.work.join("logs");
        fs::create_dir_all(&logs)?;
        let targets: BTreeSet<&Target> = rows.iter().map(|r| &r.key.target).collect();
        tool::build_targets(checkout, &targets.into_iter().collect::<Vec<_>>(), &logs)?;
        let checker = Checker {
            checkout,
            roots: checkout::roots(checkout, &logs)?,
            clean: &self.clean,
            target_dir: &self.work.join("recheck-target"),
            limit: LIMIT,
        };
        let mut out = Vec::new();
        for row in rows {
            let finding = self.one_test(&checker, row).with_context(|| row.to_string())?;
            eprintln!("             {row}: {}", page::summary(std::slice::from_ref(&finding)));
            out.push(finding);
        }
        Ok(out)
    }

    fn one_test(&self, checker: &Checker<'_>, row: &Row) -> Result<Finding> {
        let folder = self.work.join("minimality").join(format!("{:016x}", digest(&row.key)));
        fs::create_dir_all(&folder)?;
        let attempt = self.tool.attempt(checker.checkout, &row.key, &folder, LIMIT)?;
        let mut finding =
            Finding { key: row.key.clone(), digest: 0, items: BTreeMap::new(), removable: Vec::new(), fault: None };
        let gist = match attempt.gist {
            Some(gist) if attempt.output.verdict.as_deref() == Some("ok") => gist,
            _ => {
                finding.fault = Some(attempt.ended.unwrap_or_else(|| "the tool gives no verified gist".to_owned()));
                return Ok(finding);
            }
        };
        let text = fs::read_to_string(&gist)?;
        finding.digest = digest(&text);
        if let Some(known) = self.known.get(&row.key).filter(|known| known.digest == finding.digest) {
            return Ok(known.clone());
        }
        try_all(checker, row, &gist, &text, &mut finding)?;
        jsonl::append(&self.work.join("minimality.jsonl"), &finding)?;
        Ok(finding)
    }
}

/// Tries a gist without each of its items.
fn try_all(checker: &Checker<'_>, row: &Row, gist: &Path, text: &str, finding: &mut Finding) -> Result<()> {
    let sources = Sources::of_text(text)?;
    let wrapper = match &row.key.target {
        Target::Test(name) => Some(wrapper(&sources, name)),
        Target::Lib => None,
    };
    let mut original = Sources::default();
    let root = checker.roots.get(&row.key.target).with_context(|| format!("no target {}", row.key.target))?;
    original.add_crate(&checker.checkout.root, root, &[])?;
    let owned = Owned::find(&sources, &original, wrapper.as_ref(), &row.key.test);
    let candidates = items::candidates(text, &owned)?;
    let test = wrapper.iter().chain([&row.key.test]).cloned().collect::<Vec<_>>().join("::");
    let bench = Bench::new(checker, &header::parse(text)?, gist, test)?;
    if !bench.passes(text)? {
        finding.fault = Some("the gist itself does not pass".to_owned());
        return Ok(());
    }
    for candidate in &candidates {
        *finding.items.entry(candidate.kind.to_owned()).or_default() += 1;
        let without = candidate.without(text);
        if bench.checks(&without)? && bench.passes(&without)? {
            let ran = reached(&bench, candidate, text)?;
            finding.removable.push(Removable { kind: candidate.kind.to_owned(), path: candidate.path.clone(), ran });
        }
    }
    Ok(())
}

/// Whether the test calls a function of an item.
fn reached(bench: &Bench, candidate: &Candidate, text: &str) -> Result<bool> {
    match candidate.with_statement(text, &Bench::statement()) {
        Some(marked) => bench.reaches(&marked),
        None => Ok(false),
    }
}

/// The latest finding of each test.
fn load(file: &Path) -> Result<BTreeMap<Key, Finding>> {
    Ok(jsonl::load(file)?.into_iter().map(|finding: Finding| (finding.key.clone(), finding)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sample_is_spread_over_the_crates_and_repeats_with_its_seed() {
        let all = || rows::select(&Selection::default()).unwrap();
        let keys = |number, seed| sample(all(), number, seed).into_iter().map(|r| r.key).collect::<Vec<_>>();
        let first = keys(40, 1);
        assert_eq!(first.len(), 40);
        let crates: BTreeSet<&String> = first[..24].iter().map(|k| &k.krate).collect();
        assert_eq!(crates.len(), 24);
        assert_eq!(first, keys(40, 1));
        assert_ne!(first, keys(40, 2));
    }
}
