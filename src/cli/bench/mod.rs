//! `cargo gistify bench`: benchmarks of coding agents.

pub(super) mod args;
mod plan;

use super::shell::Shell;
use args::{BenchArgs, BenchCommand};
use cargo_gistify::error::Result;

pub(super) fn bench(args: &BenchArgs, shell: &Shell) -> Result<u8> {
    match &args.command {
        BenchCommand::Plan(args) => plan::plan(args, shell),
    }
}
