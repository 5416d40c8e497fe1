//! `cargo gistify bench`: benchmarks of coding agents.

pub(super) mod args;
mod cell;
mod cells;
mod export;
mod matrix;
mod merge;
mod plan;
mod progress;
mod refresh;
mod report;
mod room;
mod run;
mod slurm;

use super::shell::Shell;
use args::{BenchArgs, BenchCommand};
use cargo_gistify::error::Result;

/// `cargo_words` are cargo's flags that say how code is built.
pub(super) fn bench(args: &BenchArgs, cargo_words: &[String], shell: &Shell) -> Result<u8> {
    match &args.command {
        BenchCommand::Plan(args) => plan::plan(args, cargo_words, shell),
        BenchCommand::Report(args) => report::report(args),
        BenchCommand::Export(args) => export::export(args, shell),
        BenchCommand::Refresh(args) => refresh::refresh(args, shell),
        BenchCommand::Run(args) => run::run(args, shell),
        BenchCommand::Cell(args) => cell::cell(args, shell),
        BenchCommand::Merge(args) => merge::merge(args, shell),
    }
}
