//! The cost of this tool for one test: from a state in which only the dependencies are built, and again right after;
//! beside it, cargo's own cost of building the same target.

use super::compiler::{Compiler, counted};
use super::record::Measured;
use crate::corpus::child::{self, Logs, PATIENT, cargo, command};
use crate::corpus::rows::Target;
use anyhow::{Context, Result, ensure};
use fs_err as fs;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A round that takes longer is not repeated: what varies between runs is little against it.
const LONG: f64 = 60.0;

/// A test of a package that is checked out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subject<'a> {
    /// The package's folder.
    pub(super) root: &'a Path,
    /// Its name.
    pub(super) package: &'a str,
    /// The target.
    pub(super) target: &'a Target,
    /// The test's path in the target.
    pub(super) test: &'a str,
}

/// What the tool prints, as far as it is used here.
#[derive(Debug, Deserialize)]
struct Report {
    verdict: String,
    metrics: Metrics,
    cost: Cost,
}

#[derive(Debug, Deserialize)]
struct Metrics {
    code_lines: u64,
    bundle_lines: u64,
}

#[derive(Debug, Deserialize)]
struct Cost {
    peak_rss_bytes: u64,
    stages: BTreeMap<String, f64>,
}

/// Measures both, up to so many times; the gist of the last run is in the folder.
pub(super) fn measure(
    tool: &Path,
    compiler: &Compiler,
    subject: Subject<'_>,
    folder: &Path,
    repeat: usize,
) -> Result<(Measured, PathBuf)> {
    fs::create_dir_all(folder)?;
    let gist = folder.join("gist.rs");
    let mut out = Measured::default();
    // Once more than is counted: it builds the dependencies, and brings the files into memory.
    timed(compiler, plain(subject), folder, "plain")?;
    for _ in 0..repeat.max(1) {
        forget(subject, folder)?;
        out.plain.push(timed(compiler, plain(subject), folder, "plain")?.0);
        forget(subject, folder)?;
        let (wall, calls) = timed(compiler, gistify(tool, subject, &gist), folder, "gistify")?;
        out.first.push(wall);
        let text = fs::read_to_string(folder.join("gistify.out"))?;
        let report: Report = serde_json::from_str(text.trim()).with_context(|| format!("the tool's report is `{text}`"))?;
        ensure!(report.verdict == "ok", "the tool's verdict is {}", report.verdict);
        out = Measured {
            calls,
            bundle_lines: report.metrics.bundle_lines,
            code_lines: report.metrics.code_lines,
            peak_bytes: report.cost.peak_rss_bytes,
            stages: report.cost.stages,
            ..out
        };
        let again = timed(compiler, gistify(tool, subject, &gist), folder, "again")?.0;
        out.again.push(again);
        if wall + again > LONG {
            break;
        }
    }
    Ok((out, gist))
}

/// The command that the page shows.
pub(super) fn shown(target: &Target, test: &str) -> String {
    format!("cargo gistify --offline {} --exact {test} -o gist.rs --message-format json", target.args().join(" "))
}

fn plain(subject: Subject<'_>) -> Command {
    let mut command = cargo();
    command.args(["test", "--no-run", "--offline", "-q"]).args(subject.target.args()).current_dir(subject.root);
    command
}

fn gistify(tool: &Path, subject: Subject<'_>, gist: &Path) -> Command {
    let mut command = command(tool);
    command.args(["gistify", "--offline"]).args(subject.target.args());
    command.args(["--exact", subject.test, "-o"]).arg(gist).args(["--message-format", "json"]).current_dir(subject.root);
    command
}

/// Removes what is built of the package itself, and all that the tool keeps.
fn forget(subject: Subject<'_>, folder: &Path) -> Result<()> {
    let mut clean = cargo();
    clean.args(["clean", "-q", "--offline", "-p", subject.package]).current_dir(subject.root);
    child::output(&mut clean, folder, "clean")?;
    let kept = subject.root.join("target/gistify");
    if kept.exists() {
        fs::remove_dir_all(kept)?;
    }
    Ok(())
}

/// Runs a command that has to succeed: its wall time in seconds, and its compiles.
fn timed(compiler: &Compiler, mut command: Command, folder: &Path, stem: &str) -> Result<(f64, u64)> {
    let calls = folder.join("calls");
    compiler.count(&mut command, &calls)?;
    let logs = Logs::at(folder, stem);
    let ended = child::run(&mut command, &logs, PATIENT)?;
    if !ended.success() {
        let err = fs::read_to_string(&logs.err).unwrap_or_default();
        anyhow::bail!("{command:?}: {}\n{}", ended.describe(), child::tail(&err, 20));
    }
    Ok((rounded(ended.wall), counted(&calls)?))
}

/// Seconds, to the millisecond.
pub(super) fn rounded(wall: Duration) -> f64 {
    (wall.as_secs_f64() * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_build_and_tool_get_the_same_target() {
        let target = Target::Test("t".to_owned());
        let subject = Subject { root: Path::new("/c"), package: "c", target: &target, test: "a::b" };
        let words = |c: &Command| c.get_args().map(|a| a.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ");
        assert_eq!(words(&plain(subject)), "test --no-run --offline -q --test t");
        let tool = words(&gistify(Path::new("/g"), subject, Path::new("gist.rs")));
        assert_eq!(format!("cargo {tool}"), shown(&target, "a::b"));
    }

    #[test]
    fn report_is_read_as_the_tool_documents_it() {
        let text = r#"{"schema":1,"verdict":"ok","metrics":{"code_lines":112,"bundle_lines":506,"new":1},
                       "cost":{"wall_s":0.8,"rustc_calls":10,"peak_rss_bytes":14118912,"stages":{"build":0.144}}}"#;
        let report: Report = serde_json::from_str(text).unwrap();
        assert_eq!((report.verdict.as_str(), report.metrics.code_lines, report.cost.stages["build"]), ("ok", 112, 0.144));
    }
}
