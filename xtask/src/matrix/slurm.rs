//! The same with Slurm, on a cluster of this machine alone: jobs are cancelled, run out of memory, and run out of time, and no cell is lost or done twice.

use super::{cells_of, json};
use crate::corpus::child::{Logs, catch_signals, command, run as run_child, tail};
use crate::corpus::tool::Tool;
use anyhow::{Context, Result, ensure};
use fs_err as fs;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// For all cells together.
const LIMIT: Duration = Duration::from_secs(60 * 60);
/// Attempts of the agent that works; the other two have one each.
const ATTEMPTS: usize = 18;
/// What the three agents do: a moment's work, more memory than a job has, and more time.
const AGENTS: &str = r#"
[agents.works]
kind = "command"
argv = ["sleep", "0.5"]
[agents.hungry]
kind = "command"
argv = ["bash", "-c", "x=$(head -c 900000000 /dev/zero | tr '\\0' x); echo ${#x}"]
[agents.slow]
kind = "command"
argv = ["bash", "-c", "case $(grep -m 1 -o 'The test is .[^`]*' {prompt_file} | sha256sum) in [0-3]*) sleep 100 ;; esac"]
"#;

/// The arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The project whose tests are the tasks; ten of them
    #[arg(long, value_name = "DIR")]
    project: PathBuf,
    /// Jobs that are cancelled
    #[arg(long, default_value_t = 10, value_name = "N")]
    cancelled: usize,
    /// Where the set and the runs go [default: target/slurm]
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    /// Use this program instead of building the tool
    #[arg(long, value_name = "FILE")]
    tool: Option<PathBuf>,
}

/// The cluster; it ends when it is dropped.
struct Cluster<'a> {
    script: PathBuf,
    dir: &'a Path,
}

impl Drop for Cluster<'_> {
    fn drop(&mut self) {
        let _ = Command::new(&self.script).arg("stop").arg(self.dir).status();
    }
}

/// Does 200 cells with faults, then those again that do not count, and prints what came of it.
pub(crate) fn run(args: &Args) -> Result<bool> {
    catch_signals()?;
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has no parent folder")?;
    let work = args.work.clone().unwrap_or_else(|| repository.join("target/slurm"));
    if work.exists() {
        fs::remove_dir_all(&work)?;
    }
    fs::create_dir_all(work.join("cluster"))?;
    let work = fs::canonicalize(&work)?;
    let tool = match &args.tool {
        Some(program) => Tool::at(program, &work)?,
        None => Tool::build(repository, &work)?,
    };
    let dir = work.join("cluster");
    let cluster = Cluster { script: repository.join(".ci/slurm"), dir: &dir };
    ensure!(Command::new(&cluster.script).arg("start").arg(&dir).status()?.success(), "the cluster does not start");
    let conf = dir.join("slurm.conf");
    let project = fs::canonicalize(&args.project)?;
    let call = |words: &[&str]| {
        let mut call = command(&tool.program);
        call.current_dir(&work).env("SLURM_CONF", &conf).args(["gistify", "bench"]).args(words);
        call
    };
    let finished = |words: &[&str], name: &str| -> Result<()> {
        let logs = Logs::at(&work, name);
        let ended = run_child(&mut call(words), &logs, LIMIT)?;
        ensure!(ended.success(), "{name}: {}\n{}", ended.describe(), tail(&fs::read_to_string(&logs.err)?, 20));
        Ok(())
    };
    let path = project.to_str().context("the project's path is not UTF-8")?;
    finished(&["plan", path, "--lib", "--per-package", "10", "-o", "set"], "plan")?;
    fs::write(work.join("agents.toml"), AGENTS)?;
    let runs = work.join("runs");
    let attempts = ATTEMPTS.to_string();
    let base = ["run", "set", "-o", "runs", "--config=agents.toml", "--engine=slurm"];
    let with = |more: &[&'static str]| [base.as_slice(), more].concat();

    // Many cells, of which some are cancelled while they run.
    let mut words: Vec<&str> = with(&["--agent=works", "--attempts"]);
    words.push(&attempts);
    let err = fs::File::create(work.join("works.err"))?.into_parts().0;
    let mut child = call(&words).stdin(Stdio::null()).stderr(err).spawn()?;
    let begun = Instant::now();
    let mut cancelled = BTreeSet::new();
    while child.try_wait()?.is_none() {
        ensure!(begun.elapsed() < LIMIT, "it takes too long");
        let listed = Command::new("squeue")
            .args(["--noheader", "--array", "--states=running", "--format=%F_%K %M"])
            .env("SLURM_CONF", &conf)
            .output()?;
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        // One that has run for a while has begun its cell.
        let job = listed.lines().filter_map(|l| l.split_once(' ')).find(|(id, time)| !id.contains("N/A") && *time != "0:00");
        if let Some((id, _)) = job.filter(|_| cancelled.len() < args.cancelled)
            && cancelled.insert(id.to_owned())
        {
            Command::new("scancel").arg(id).env("SLURM_CONF", &conf).status()?;
        }
        std::thread::sleep(Duration::from_millis(1500));
    }
    finished(&with(&["--agent=hungry", "--sbatch=--mem=500M"]), "hungry")?;
    finished(&with(&["--agent=slow", "--sbatch=--time=1"]), "slow")?;
    let first = cells_of(&runs)?;
    println!("{} cells, {} jobs cancelled:", first.len(), cancelled.len());
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (cell, _) in first.values() {
        let text = |value: &serde_json::Value| value.as_str().unwrap_or("-").to_owned();
        let what = match cell["ended"]["why"].as_str() {
            Some("machine-memory") => "machine-memory".to_owned(),
            _ => text(&cell["verdict"]),
        };
        let counted = if cell["infrastructure"] == true { "not counted" } else { "counted" };
        *counts.entry(format!("{}: {what}, {counted}", text(&cell["agent"]))).or_default() += 1;
    }
    counts.iter().for_each(|(what, n)| println!("  {n} {what}"));

    // What says nothing about its agent is done again, and nothing else.
    words.push("--retry-failed=infra");
    finished(&words, "works-again")?;
    finished(&with(&["--agent=hungry", "--retry-failed=infra", "--sbatch=--mem=4G"]), "hungry-again")?;
    finished(&with(&["--agent=slow", "--retry-failed=infra", "--sbatch=--time=10"]), "slow-again")?;
    let second = cells_of(&runs)?;
    let tasks = json(&work.join("set/manifest.json"))?["tasks"].as_object().map_or(0, serde_json::Map::len);
    let all = tasks * (ATTEMPTS + 2);
    let again = first
        .iter()
        .filter(|(name, (cell, file))| cell["infrastructure"] == false && second.get(*name).map(|c| c.1) != Some(*file))
        .count();
    let left = second.values().filter(|(cell, _)| cell["infrastructure"] == true).count();
    println!(
        "after `--retry-failed infra`: {} of {all} cells, {left} not counted; {again} that counted were done again",
        second.len()
    );
    Ok(second.len() == all && left == 0 && again == 0)
}
