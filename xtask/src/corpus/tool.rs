//! The tool under test: builds it, and runs it on one test.

use super::checkout::Checkout;
use super::child::{self, Logs, PATIENT, cargo, command, output};
use super::record::ToolOutput;
use super::rows::{Key, Target};
use anyhow::{Context, Result, bail};
use fs_err as fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The tool's program and the version it gives.
#[derive(Clone, Debug)]
pub(crate) struct Tool {
    /// Where it is.
    pub(crate) program: PathBuf,
    /// What `--version` prints.
    pub(crate) version: String,
    /// What it is told beside the test: `--allow-stubs`, `--sandbox=KIND`.
    pub(crate) options: Vec<String>,
}

/// What the tool did for one test.
#[derive(Debug)]
pub(super) struct Attempt {
    /// What it printed; empty when that was no JSON object.
    pub(super) output: ToolOutput,
    /// How it ended, unless with status 0.
    pub(super) ended: Option<String>,
    /// The end of its standard error.
    pub(super) stderr: String,
    /// How long it took.
    pub(super) wall: Duration,
    /// The gist, if there is one.
    pub(super) gist: Option<PathBuf>,
}

impl Tool {
    /// Builds the repository's tool, optimised.
    pub(crate) fn build(repository: &Path, work: &Path) -> Result<Self> {
        eprintln!("    Building cargo-gistify");
        let args = ["build", "--release", "-p", "cargo-gistify", "--message-format", "json-render-diagnostics"];
        let messages = output(cargo().args(args).current_dir(repository), work, "tool-build")?;
        let program = messages
            .lines()
            .filter_map(|l| serde_json::from_str::<serde_json::Value>(l).ok())
            .filter(|m| m["target"]["name"] == "cargo-gistify")
            .find_map(|m| m["executable"].as_str().map(PathBuf::from))
            .context("cargo does not say where it has put cargo-gistify")?;
        Self::at(&program, work)
    }

    /// A program that is there.
    pub(crate) fn at(program: &Path, work: &Path) -> Result<Self> {
        let program = fs::canonicalize(program)?;
        let version = output(command(&program).arg("--version"), work, "tool-version")?.trim().to_owned();
        Ok(Self { program, version, options: Vec::new() })
    }

    /// Makes it forget what it knows of a crate: builds with coverage, and graphs.
    pub(super) fn forget(&self, checkout: &Checkout, work: &Path) -> Result<()> {
        let mut clean = command(&self.program);
        clean.args(["gistify", "clean", "-m"]).arg(checkout.root.join("Cargo.toml"));
        output(&mut clean, work, &format!("clean-{}", checkout.name)).map(drop)
    }

    /// Runs it on one test; everything it gives is kept in the folder.
    pub(super) fn attempt(&self, checkout: &Checkout, key: &Key, folder: &Path, limit: Duration) -> Result<Attempt> {
        let gist = folder.join("gist.rs");
        if gist.exists() {
            fs::remove_file(&gist)?;
        }
        let logs = Logs { out: folder.join("result.json"), err: folder.join("stderr.txt") };
        let mut tool = command(&self.program);
        tool.args(["gistify", "--message-format", "json", "--offline", "-m"]);
        tool.arg(checkout.root.join("Cargo.toml")).args(key.target.args());
        tool.args(&self.options);
        tool.args(["--exact", &key.test]).arg("-o").arg(&gist).current_dir(folder);
        let ended = child::run(&mut tool, &logs, limit)?;
        let stdout = String::from_utf8_lossy(&fs::read(&logs.out)?).into_owned();
        let stderr = String::from_utf8_lossy(&fs::read(&logs.err)?).into_owned();
        Ok(Attempt {
            output: serde_json::from_str(stdout.trim()).unwrap_or_default(),
            ended: (!ended.success()).then(|| ended.describe()),
            stderr: child::tail(&stderr, 40),
            wall: ended.wall,
            gist: gist.is_file().then_some(gist),
        })
    }
}

/// Builds the targets of a crate as `cargo test` does, so that the tool is not timed building dependencies.
pub(super) fn build_targets(checkout: &Checkout, targets: &[&Target], work: &Path) -> Result<Duration> {
    let mut build = cargo();
    build.args(["test", "--no-run", "--offline", "-q"]).current_dir(&checkout.root);
    for target in targets {
        build.args(target.args());
    }
    let logs = Logs::at(work, &format!("build-{}", checkout.name));
    let ended = child::run(&mut build, &logs, PATIENT)?;
    if !ended.success() {
        let err = fs::read_to_string(&logs.err).unwrap_or_default();
        bail!("{} does not build: {}\n{}", checkout.name, ended.describe(), child::tail(&err, 20));
    }
    Ok(ended.wall)
}
