//! The arguments of benchmarks.

use super::super::agent::args::HowArgs;
use super::super::args::{CargoArgs, SandboxArg};
use camino::Utf8PathBuf;
use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    pub(super) command: BenchCommand,
}

impl BenchArgs {
    /// Whether cargo's flags are among them.
    pub(crate) fn is_plan(&self) -> bool {
        matches!(self.command, BenchCommand::Plan(_))
    }
}

#[derive(Debug, Subcommand)]
pub(super) enum BenchCommand {
    /// Make a set of tasks of the tests of one or many projects
    Plan(PlanArgs),
    /// Run agents over a set of tasks; what is done already is not done again
    Run(RunArgs),
    /// Show what runs came to
    Report(ReportArgs),
}

#[derive(Debug, Args)]
pub(super) struct ReportArgs {
    /// The folder that `bench run` wrote to
    #[arg(value_name = "RUNS")]
    pub(super) runs: Utf8PathBuf,
    /// As what
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(super) format: Format,
    /// Write it here instead of to standard output
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<Utf8PathBuf>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Tables for a terminal
    #[default]
    Human,
    /// Tables for a page
    Markdown,
    /// All of it, for programs
    Json,
    /// A line a cell
    Csv,
}

#[derive(Debug, Args)]
pub(super) struct RunArgs {
    /// The set, as `bench plan` made it
    #[arg(value_name = "TASKS")]
    pub(super) set: Utf8PathBuf,
    /// An agent (may be given several times): a preset, one of the configuration, or `builtin` for the extractor
    #[arg(long = "agent", id = "agent", value_name = "NAME", required = true)]
    pub(super) agents: Vec<String>,
    /// Attempts of each agent at each task
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) attempts: u32,
    /// Where results go; there may be results of earlier runs with the same settings
    #[arg(short, long, value_name = "RUNS")]
    pub(super) output: Utf8PathBuf,
    /// Cells at once [default: 1]
    #[arg(short, long, value_name = "N")]
    pub(super) jobs: Option<String>,
    /// Do those cells again that failed for reasons outside of the agent
    #[arg(long, value_enum, value_name = "WHICH")]
    pub(super) retry_failed: Option<Retry>,
    /// Do this cell again (may be given several times): TASK/AGENT/N
    #[arg(long, value_name = "CELL")]
    pub(super) force: Vec<String>,
    /// What agents work and gists run in
    #[arg(long, value_enum, default_value_t, value_name = "SANDBOX")]
    pub(super) sandbox: SandboxArg,
    /// Seconds that one run of a test may take [default: 300; later runs and the gist's ten times the first, at least 20]
    #[arg(long, value_name = "SECONDS")]
    pub(super) timeout: Option<u64>,
    #[command(flatten)]
    pub(super) how: HowArgs,
}

/// Which cells are done again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Retry {
    /// Those that say nothing about the agent: its model was down, its key refused, the machine in trouble
    Infra,
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
    /// Go on with the other projects when one can't be planned; the exit code is that of the first
    #[arg(long)]
    pub(super) keep_going: bool,
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
