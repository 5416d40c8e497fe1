//! `cargo xtask sandbox`: what each kind of sandbox costs a verification.

use crate::corpus::child::{catch_signals, command, output};
use crate::corpus::tool::Tool;
use anyhow::{Context, Result};
use fs_err as fs;
use std::path::{Path, PathBuf};

/// A test of the demo crate.
const TEST: &str = "cart::tests::a_bulk_discount_gives_one_piece_free";
/// The first is what the others are compared with: limits, and no walls.
const KINDS: &[&str] = &["none", "landlock", "bwrap"];

/// The arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How often a gist is verified in each kind
    #[arg(long, default_value_t = 21, value_name = "N")]
    runs: usize,
    /// Use this program instead of building the tool
    #[arg(long, value_name = "FILE")]
    tool: Option<PathBuf>,
}

/// Verifies one gist in each kind in turn, and prints medians: of the stage that builds and runs it, and of the whole command, which
/// holds the trial run as well.
pub(crate) fn run(args: &Args) -> Result<bool> {
    catch_signals()?;
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has no parent folder")?;
    let work = repository.join("target/sandbox");
    fs::create_dir_all(&work)?;
    let tool = match &args.tool {
        Some(program) => Tool::at(program, &work)?,
        None => Tool::build(repository, &work)?,
    };
    let manifest = repository.join("fixtures/shop/Cargo.toml");
    let gist = work.join("gist.rs");
    let call = |words: &[&str]| -> Result<String> {
        let mut tool = command(&tool.program);
        tool.arg("gistify").args(words).arg("-m").arg(&manifest).args(["--lib", "--exact", "--message-format", "json"]);
        output(&mut tool, &work, "tool")
    };
    let path = gist.to_str().context("the repository's path is not UTF-8")?;
    call(&[TEST, "-o", path])?;
    let mut times = vec![(Vec::new(), Vec::new()); KINDS.len()];
    for _ in 0..args.runs {
        for (kind, (stage, whole)) in KINDS.iter().zip(&mut times) {
            let told = call(&["verify", path, "--test", TEST, "--sandbox", kind]);
            let told: serde_json::Value = serde_json::from_str(&told?)?;
            let seconds = |value: &serde_json::Value| value.as_f64().context("the report has no times");
            stage.push(seconds(&told["cost"]["stages"]["verify"])?);
            whole.push(seconds(&told["cost"]["wall_s"])?);
        }
    }
    println!("{} runs each, medians in seconds\n\n| sandbox | build and run | whole command |\n|---|---|---|", args.runs);
    for (kind, (stage, whole)) in KINDS.iter().zip(times) {
        println!("| {kind} | {:.3} | {:.3} |", median(stage), median(whole));
    }
    Ok(true)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod unit {
    #[test]
    fn the_median_is_the_middle_one() {
        assert!((super::median(vec![3.0, 9.0, 1.0]) - 3.0).abs() < f64::EPSILON);
    }
}
