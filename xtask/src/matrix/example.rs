//! The example: every figure of scripted agents is known beforehand, and has to come out exactly.

use super::{cells_of, json};
use crate::corpus::checkout;
use crate::corpus::child::{Logs, catch_signals, command, output, run as run_child, tail};
use crate::corpus::tool::Tool;
use anyhow::{Context, Result, ensure};
use fs_err as fs;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The crates, all of the corpus.
const CRATES: &[(&str, &str)] = &[
    ("arrayvec", "0.7.8"),
    ("byteorder", "1.5.0"),
    ("heck", "0.5.0"),
    ("http", "1.5.0"),
    ("humantime", "2.4.0"),
    ("num-traits", "0.2.19"),
    ("slab", "0.4.12"),
    ("url", "2.5.8"),
];
const FAKE: &str = include_str!("fake.sh");
const ATTEMPTS: usize = 2;
/// For all cells together.
const LIMIT: Duration = Duration::from_secs(3 * 60 * 60);

/// The arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Tasks of a crate at most
    #[arg(long, default_value_t = 8, value_name = "N")]
    per_package: usize,
    /// Where the reports go [default: docs/bench-example]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Where checkouts, the set and the runs go [default: target/matrix]
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    /// Use this program instead of building the tool
    #[arg(long, value_name = "FILE")]
    tool: Option<PathBuf>,
}

/// Plans, runs and reports, and holds the results against what is known.
pub(crate) fn run(args: &Args) -> Result<bool> {
    catch_signals()?;
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has no parent folder")?;
    let work = args.work.clone().unwrap_or_else(|| repository.join("target/matrix"));
    fs::create_dir_all(&work)?;
    let work = fs::canonicalize(&work)?;
    let tool = match &args.tool {
        Some(program) => Tool::at(program, &work)?,
        None => Tool::build(repository, &work)?,
    };
    let crates: Vec<(String, String)> = CRATES.iter().map(|(name, version)| ((*name).into(), (*version).into())).collect();
    let checkouts = checkout::make(&work, &repository.join("xtask/corpus/locks"), &crates)?;
    let (set, runs) = (work.join("set"), work.join("runs"));
    for old in [&set, &runs] {
        if old.exists() {
            fs::remove_dir_all(old)?;
        }
    }
    let begun = Instant::now();
    let call = |name: &str, add: &dyn Fn(&mut Command)| -> Result<()> {
        let mut tool = command(&tool.program);
        tool.current_dir(&work).args(["gistify", "bench"]);
        add(&mut tool);
        let logs = Logs::at(&work, name);
        let ended = run_child(&mut tool, &logs, LIMIT)?;
        let said = fs::read_to_string(&logs.err)?;
        ensure!(ended.success(), "bench {name}: {}\n{}", ended.describe(), tail(&said, 20));
        Ok(())
    };
    call("plan", &|tool| {
        tool.args(["plan", "-o", "set", "--per-package", &args.per_package.to_string()]);
        tool.args(checkouts.iter().map(|checkout| &checkout.root));
    })?;
    let planned = begun.elapsed();
    write_agents(&work, &set)?;
    call("run", &|tool| {
        tool.args(["run", "set", "-o", "runs", "--config", "agents.toml", "--attempts", &ATTEMPTS.to_string()]);
        tool.args(["builtin", "half", "faulty", "noop"].iter().flat_map(|name| ["--agent", *name]));
    })?;
    let ran = begun.elapsed() - planned;
    let out = args.out.clone().unwrap_or_else(|| repository.join("docs/bench-example"));
    fs::create_dir_all(&out)?;
    let out = fs::canonicalize(&out)?;
    // The page shows the crates' own sources, which are not ours to publish: it stays in the work folder.
    for (format, file, folder) in
        [("markdown", "report.md", &out), ("html", "report.html", &work), ("csv", "cells.csv", &out)]
    {
        let to = folder.join(file);
        call(file, &|tool| _ = tool.args(["report", "runs", "--format", format, "-o"]).arg(&to))?;
    }
    fs::copy(set.join("funnel.json"), out.join("funnel.json"))?;
    let manifest = json(&set.join("manifest.json"))?;
    let expected = expected(&manifest, &work)?;
    let found = found(&runs)?;
    let same = expected == found;
    fs::write(out.join("README.md"), page(&manifest, &expected, &found, planned, ran, &tool.version)?)?;
    if !same {
        eprintln!("error: the known qualities do not come out: expected {expected:?}, found {found:?}");
    }
    Ok(same)
}

fn write_agents(work: &Path, set: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let fake = work.join("fake");
    fs::write(&fake, FAKE)?;
    fs::set_permissions(&fake, std::fs::Permissions::from_mode(0o755))?;
    let mut toml = String::from("[agents.noop]\nkind = \"command\"\nargv = [\"true\"]\n");
    for kind in ["half", "faulty"] {
        let (fake, set) = (fake.display(), set.display());
        writeln!(
            toml,
            "[agents.{kind}]\nkind = \"command\"\nargv = [\"bash\", \"{fake}\", \"{kind}\", \"{set}\", \"{{prompt_file}}\", \"{{gist}}\"]\nshow = [\"{fake}\", \"{set}\"]"
        )?;
    }
    Ok(fs::write(work.join("agents.toml"), toml)?)
}

/// Cells by agent and verdict.
type Counts = BTreeMap<String, BTreeMap<String, usize>>;

/// What has to come out, from the names of the tests alone.
fn expected(manifest: &Value, work: &Path) -> Result<Counts> {
    let mut counts = Counts::new();
    for task in manifest["tasks"].as_object().context("the manifest has no tasks")?.values() {
        let part = |key: &str| task[key].as_str().with_context(|| format!("a task has no {key}"));
        let name = format!("{}|{}|{}", part("package")?, part("target")?, part("test")?);
        let file = work.join("name");
        fs::write(&file, name)?;
        let digest = output(Command::new("sha256sum").arg(&file), work, "digest")?;
        let digit = digest.chars().next().and_then(|c| c.to_digit(16)).context("sha256sum prints no digest")?;
        let half = if digit < 8 { "ok" } else { "no-gist" };
        let faulty = ["ok", "does-not-compile", "missing-test", "no-gist"][digit as usize / 4];
        for (agent, verdict) in [("builtin", "ok"), ("noop", "no-gist"), ("half", half), ("faulty", faulty)] {
            *counts.entry(agent.to_owned()).or_default().entry(verdict.to_owned()).or_default() += ATTEMPTS;
        }
    }
    Ok(counts)
}

fn found(runs: &Path) -> Result<Counts> {
    let mut counts = Counts::new();
    for (cell, _) in cells_of(runs)?.into_values() {
        let text = |key: &str| cell[key].as_str().map(str::to_owned).with_context(|| format!("a cell has no {key}"));
        let verdict = if cell["infrastructure"] == true { "not counted".into() } else { text("verdict")? };
        *counts.entry(text("agent")?).or_default().entry(verdict).or_default() += 1;
    }
    Ok(counts)
}

fn page(
    manifest: &Value,
    expected: &Counts,
    found: &Counts,
    planned: Duration,
    ran: Duration,
    version: &str,
) -> Result<String> {
    let count = |key: &str| manifest[key].as_object().map_or(0, serde_json::Map::len);
    let cells: usize = found.values().flat_map(BTreeMap::values).sum();
    let mut out = format!(
        "# An example: {} tasks of {} crates\n\n\
         Made by `cargo xtask matrix` with {version} and rustc {} on two cores: the set in {:.0} s, its {cells} cells in {:.0} s, one at a time. Written by the tool itself:\n\
         [report.md](report.md), [cells.csv](cells.csv), [funnel.json](funnel.json) (what was left out of the set). The HTML page is not here, since it holds the crates' sources: the command leaves it in `target/matrix`.\n\n\
         The crates are {}. The agents are the built-in extractor and three scripts ([fake.sh](../../xtask/src/matrix/fake.sh)) of known quality: what they do hangs on a\n\
         digest of the test's name, so what has to come out can be told from the names alone, without the tool.\n\n\
         | agent | what it does |\n|---|---|\n\
         | `builtin` | the extractor |\n\
         | `half` | the gold solution for about half of the tasks, else nothing |\n\
         | `faulty` | by quarters: the gold solution, one that does not compile, a file without the test, nothing |\n\
         | `noop` | nothing |\n\n\
         Cells by verdict, expected and found:\n\n| agent | verdict | expected | found |\n|---|---|---|---|\n",
        count("tasks"),
        count("projects"),
        manifest["toolchain"].as_str().unwrap_or("?"),
        planned.as_secs_f64(),
        ran.as_secs_f64(),
        CRATES.iter().map(|(name, version)| format!("{name} {version}")).collect::<Vec<_>>().join(", "),
    );
    for (agent, verdicts) in expected {
        let all: std::collections::BTreeSet<&String> =
            verdicts.keys().chain(found.get(agent).into_iter().flat_map(BTreeMap::keys)).collect();
        for verdict in all {
            let of = |counts: &Counts| counts.get(agent).and_then(|own| own.get(verdict)).copied().unwrap_or(0);
            writeln!(out, "| `{agent}` | `{verdict}` | {} | {} |", of(expected), of(found))?;
        }
    }
    Ok(out)
}
