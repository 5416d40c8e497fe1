//! The arguments of benchmarks.

use super::super::args::{CargoArgs, SandboxArg};
use camino::Utf8PathBuf;
use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    pub(super) command: BenchCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum BenchCommand {
    /// Make a set of tasks of the tests of one or many projects
    Plan(PlanArgs),
}

#[derive(Debug, Args)]
pub(super) struct PlanArgs {
    /// The projects: folders, or addresses of git repositories with a commit, like `https://…/crate.git@1a2b3c4`
    #[arg(value_name = "PROJECT", default_value = ".")]
    pub(super) projects: Vec<String>,
    /// The folder of the set, which must not be there yet
    #[arg(short, long, value_name = "TASKS")]
    pub(super) output: Utf8PathBuf,
    /// Tasks of a package at most
    #[arg(long, value_name = "N", default_value_t = 25, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) per_package: u32,
    /// Keep the hardest tasks only: N by the calls that their tests execute, and N by the files that they touch
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) hard: Option<u32>,
    /// What the sample is drawn with
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) seed: u64,
    /// What tests are screened and gold solutions run in
    #[arg(long, value_enum, default_value_t, value_name = "SANDBOX")]
    pub(super) sandbox: SandboxArg,
    /// Seconds that one run of a test may take
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) timeout: u64,
    #[command(flatten)]
    pub(super) cargo: CargoArgs,
}
