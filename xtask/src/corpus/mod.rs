//! `cargo xtask corpus`: runs the tool on every test of the public corpus, checks each gist again without it, and
//! writes the page with the results.
//!
//! | module | what it does |
//! |---|---|
//! | [`rows`] | which tests there are, and which were asked for |
//! | [`child`] | children with time limits |
//! | [`checkout`], [`away`] | the crates' folders: made with cargo, and taken away while a gist runs |
//! | [`tool`] | the tool under test |
//! | [`recheck`] | the second check of a gist; it uses [`header`], [`scan`] and [`compare`] |
//! | [`sources`], [`tokens`], [`compare`] | the test in the project and in the gist |
//! | [`record`] | results as JSON lines |
//! | [`stats`], [`report`] | the page |
//! | [`minimality`] | `cargo xtask minimality`: whether gists could do without single items |
//!
//! Nothing here comes from `cargo-gistify`: what checks it must not share its mistakes.

mod away;
pub(crate) mod checkout;
pub(crate) mod child;
pub(crate) mod compare;
pub(crate) mod header;
pub(crate) mod minimality;
mod recheck;
mod record;
mod report;
pub(crate) mod rows;
mod scan;
pub(crate) mod sources;
pub(crate) mod stats;
pub(crate) mod tokens;
pub(crate) mod tool;

use crate::jsonl;
use anyhow::{Context, Result};
use checkout::Checkout;
use fs_err as fs;
use recheck::Checker;
use record::Record;
use rows::{Row, Selection, Size, Target};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tool::Tool;

/// How long the tool, and each step of the second check, may take for one test.
const LIMIT: Duration = Duration::from_secs(180);

/// The arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only crates of these sizes
    #[arg(long, value_delimiter = ',', value_name = "SIZES")]
    sizes: Vec<Size>,
    /// Only this crate; may be given again
    #[arg(long = "crate", value_name = "NAME")]
    crates: Vec<String>,
    /// At most N tests of each crate
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// How many crates are worked on at once
    #[arg(long, default_value_t = 1, value_name = "N")]
    jobs: usize,
    /// Where the page goes [default: docs/corpus.md]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Where checkouts, gists, logs and results go [default: target/corpus]
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    /// Use this program instead of building the tool
    #[arg(long, value_name = "FILE")]
    tool: Option<PathBuf>,
    /// Run nothing: write the page from the results that are there
    #[arg(long, conflicts_with = "only_failed")]
    report_only: bool,
    /// Run only the tests whose latest result is not ok, or that have none
    #[arg(long)]
    only_failed: bool,
    /// Bodies that never ran may become stubs; results and page are kept apart [page: docs/corpus-stubs.md]
    #[arg(long)]
    allow_stubs: bool,
    /// What the tool is told to build and run gists in; results are kept apart, and give the page with --out
    #[arg(long, value_name = "KIND", requires = "out")]
    sandbox: Option<String>,
}

impl Args {
    /// Where the results go: those with stubs or in a named sandbox are kept apart.
    fn results(&self, work: &Path) -> PathBuf {
        let stubs = if self.allow_stubs { "-stubs" } else { "" };
        let sandbox = self.sandbox.as_ref().map_or(String::new(), |kind| format!("-{kind}"));
        work.join(format!("results{stubs}{sandbox}.jsonl"))
    }

    /// The command as the page shows it: what was selected, no paths.
    fn command(&self) -> String {
        let mut out = String::from("cargo xtask corpus");
        if !self.sizes.is_empty() {
            let sizes: Vec<String> = self.sizes.iter().map(Size::to_string).collect();
            out += &format!(" --sizes {}", sizes.join(","));
        }
        for name in &self.crates {
            out += &format!(" --crate {name}");
        }
        if let Some(limit) = self.limit {
            out += &format!(" --limit {limit}");
        }
        if self.jobs != 1 {
            out += &format!(" --jobs {}", self.jobs);
        }
        if self.allow_stubs {
            out += " --allow-stubs";
        }
        if let Some(kind) = &self.sandbox {
            out += &format!(" --sandbox {kind}");
        }
        out
    }
}

/// The repository's folder.
fn repository() -> Result<&'static Path> {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has no folder above it")
}

/// Runs the corpus; whether all selected tests are ok.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let repository = repository()?;
    let work = args.work.clone().unwrap_or_else(|| repository.join("target/corpus"));
    fs::create_dir_all(&work)?;
    let work = fs::canonicalize(work)?;
    let results = args.results(&work);
    let selection = Selection { sizes: args.sizes.clone(), crates: args.crates.clone(), limit: args.limit };
    let rows = rows::select(&selection)?;
    if !args.report_only {
        let known = record::load(&results)?;
        let wanted = |row: &&Row| !args.only_failed || !known.get(&row.key).is_some_and(Record::ok);
        let todo: Vec<&Row> = rows.iter().filter(wanted).collect();
        child::catch_signals()?;
        let session = Session::new(args, repository, &work, todo.len())?;
        session.run(&todo, args.jobs)?;
    }
    let records = record::load(&results)?;
    let rustc = child::output(child::command("rustc").arg("--version"), &work, "rustc-version")?.trim().to_owned();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let page = report::render(&rows, &records, &report::Facts { command: args.command(), cores, rustc });
    let page_of = |stubs: bool| PathBuf::from(if stubs { "docs/corpus-stubs.md" } else { "docs/corpus.md" });
    let out = repository.join(args.out.clone().unwrap_or_else(|| page_of(args.allow_stubs)));
    if let Some(folder) = out.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(&out, page)?;
    eprint!("{}", report::failures(&rows, &records));
    let ok = rows.iter().filter(|row| records.get(&row.key).is_some_and(Record::ok)).count();
    eprintln!("    Finished {ok} of {} ok; {}", rows.len(), out.display());
    Ok(ok == rows.len())
}

/// What all tests of a run share.
struct Session {
    work: PathBuf,
    locks: PathBuf,
    tool: Tool,
    /// Below it, each worker has an empty folder for gists.
    clean: tempfile::TempDir,
    results: Mutex<PathBuf>,
    done: AtomicUsize,
    total: usize,
}

impl Session {
    fn new(args: &Args, repository: &Path, work: &Path, total: usize) -> Result<Self> {
        let mut tool = match &args.tool {
            Some(program) => Tool::at(program, work)?,
            None => Tool::build(repository, work)?,
        };
        tool.options.extend(args.allow_stubs.then(|| "--allow-stubs".to_owned()));
        tool.options.extend(args.sandbox.as_ref().map(|kind| format!("--sandbox={kind}")));
        Ok(Self {
            work: work.to_owned(),
            locks: repository.join("xtask/corpus/locks"),
            tool,
            clean: tempfile::tempdir()?,
            results: Mutex::new(args.results(work)),
            done: AtomicUsize::new(0),
            total,
        })
    }

    /// Works on the rows, crate by crate; the first error ends it.
    fn run(&self, rows: &[&Row], jobs: usize) -> Result<()> {
        let crates: BTreeSet<(String, String)> = rows.iter().map(|r| (r.key.krate.clone(), r.key.version.clone())).collect();
        let crates: Vec<(String, String)> = crates.into_iter().collect();
        let checkouts = checkout::make(&self.work, &self.locks, &crates)?;
        let next = AtomicUsize::new(0);
        let worker = |number: usize| -> Result<()> {
            while let Some(checkout) = checkouts.get(next.fetch_add(1, Ordering::Relaxed)) {
                let here: Vec<&Row> = rows.iter().copied().filter(|r| r.key.krate == checkout.name).collect();
                let done = self.one_crate(checkout, &here, number);
                if done.is_err() {
                    next.store(checkouts.len(), Ordering::Relaxed);
                    return done.with_context(|| format!("{} {}", checkout.name, checkout.version));
                }
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..jobs.max(1)).map(|number| scope.spawn(move || worker(number))).collect();
            workers.into_iter().try_for_each(|w| w.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    }

    fn one_crate(&self, checkout: &Checkout, rows: &[&Row], worker: usize) -> Result<()> {
        let logs = self.work.join("logs");
        fs::create_dir_all(&logs)?;
        let targets: BTreeSet<&Target> = rows.iter().map(|r| &r.key.target).collect();
        let targets: Vec<&Target> = targets.into_iter().collect();
        let build = tool::build_targets(checkout, &targets, &logs)?;
        eprintln!("       Built {} {}: {:.1} s", checkout.name, checkout.version, build.as_secs_f64());
        let checker = Checker {
            checkout,
            roots: checkout::roots(checkout, &logs)?,
            clean: &self.clean.path().join(worker.to_string()),
            target_dir: &self.work.join("recheck-target"),
            limit: LIMIT,
        };
        for target in targets {
            self.tool.forget(checkout, &logs)?;
            for (i, row) in rows.iter().filter(|r| r.key.target == *target).enumerate() {
                let record = Record { first: Some(i == 0), ..self.one_test(&checker, row, build)? };
                self.keep(row, &record)?;
            }
        }
        Ok(())
    }

    fn one_test(&self, checker: &Checker<'_>, row: &Row, build: Duration) -> Result<Record> {
        let key = &row.key;
        let folder = self
            .work
            .join("runs")
            .join(&key.krate)
            .join(key.target.to_string().replace(':', "-"))
            .join(key.test.replace("::", "."));
        fs::create_dir_all(&folder)?;
        let attempt = self.tool.attempt(checker.checkout, key, &folder, LIMIT)?;
        let recheck = attempt.gist.as_deref().map(|gist| checker.check(row, gist, &folder)).transpose()?;
        let mut record = Record {
            key: key.clone(),
            tool: self.tool.version.clone(),
            first: None,
            ended: attempt.ended,
            output: attempt.output,
            stderr: None,
            wall_s: attempt.wall.as_secs_f64(),
            build_s: build.as_secs_f64(),
            recheck,
        };
        record.stderr = (!record.tool_ok()).then_some(attempt.stderr);
        Ok(record)
    }

    fn keep(&self, row: &Row, record: &Record) -> Result<()> {
        let results = self.results.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        jsonl::append(&results, record)?;
        let number = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        let recheck = match &record.recheck {
            None => "no gist".to_owned(),
            Some(check) => {
                check.run.as_ref().map_or_else(|| check.label(), |fault| format!("fails: {}", report::short(fault)))
            }
        };
        let (verdict, wall, total) = (record.verdict(), record.wall_s, self.total);
        eprintln!("[{number:>3}/{total}] {row}: {verdict}; re-check {recheck}; {wall:.1} s");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_shows_the_command_without_paths() {
        let args = Args {
            sizes: vec![Size::S, Size::Xl],
            crates: vec!["heck".to_owned()],
            limit: Some(3),
            jobs: 1,
            out: Some(PathBuf::from("/tmp/out.md")),
            work: Some(PathBuf::from("/tmp/work")),
            tool: None,
            report_only: false,
            only_failed: false,
            allow_stubs: false,
            sandbox: None,
        };
        assert_eq!(args.command(), "cargo xtask corpus --sizes S,XL --crate heck --limit 3");
    }
}
