//! The arguments of benchmarks.

use super::super::agent::args::HowArgs;
use super::super::args::{CargoArgs, SandboxArg};
use camino::Utf8PathBuf;
use cargo_gistify::bench::order::{Indexes, Partition};
use cargo_gistify::error::{Error, Result};
use clap::builder::PossibleValue;
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
    /// Make a set anew of what its projects are now, and say what is kept, changed and gone
    Refresh(RefreshArgs),
    /// Run agents over a set of tasks; what is done already is not done again
    Run(RunArgs),
    /// Do some cells of what `bench run` would do, as one job of many
    Cell(CellArgs),
    /// Join the results of several machines, and say what is missing
    Merge(MergeArgs),
    /// Show what runs came to
    Report(ReportArgs),
    /// Write a set, or the gists of runs, as other harnesses read them
    Export(ExportArgs),
}

#[derive(Debug, Args)]
pub(super) struct ExportArgs {
    /// A set; for predictions a folder of runs
    #[arg(value_name = "FROM")]
    pub(super) from: Utf8PathBuf,
    /// As what
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(super) format: ExportFormat,
    /// A new folder; for predictions a file
    #[arg(short, long, value_name = "TO")]
    pub(super) output: Utf8PathBuf,
    /// Predictions of this agent (may be given several times) [default: of all]
    #[arg(long = "agent", value_name = "NAME")]
    pub(super) agents: Vec<String>,
    /// Which attempts predictions are of: the format has one for a task and an agent
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) attempt: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ExportFormat {
    /// Tasks of Harbor, which those of a set are already: copies whose files are nobody else's
    Harbor,
    /// A task repository of SWE-bench 5
    Swebench,
    /// Samples of Inspect
    Inspect,
    /// Predictions, a line a task, for the instances of `swebench`
    Predictions,
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
    /// A test suite an agent, for CI servers
    Junit,
    /// One page that stands alone, with every gist beside its original
    Html,
}

/// What a matrix is made of.
#[derive(Clone, Debug, Args)]
pub(super) struct MatrixArgs {
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

impl MatrixArgs {
    /// The words that say the same, for another process, whatever folder that is in.
    pub(super) fn words(&self) -> Result<Vec<String>> {
        let absolute = |path: &Utf8PathBuf| -> Result<String> {
            Ok(path.canonicalize_utf8().map_err(Error::path("find", path))?.into_string())
        };
        let name = |value: Option<PossibleValue>| value.map(|v| v.get_name().to_owned()).unwrap_or_default();
        let mut words = vec![absolute(&self.set)?, format!("--attempts={}", self.attempts)];
        words.push(format!("--output={}", absolute(&self.output)?));
        words.extend(self.agents.iter().map(|agent| format!("--agent={agent}")));
        words.extend(self.retry_failed.map(|which| format!("--retry-failed={}", name(which.to_possible_value()))));
        words.extend(self.force.iter().map(|cell| format!("--force={cell}")));
        words.push(format!("--sandbox={}", name(self.sandbox.to_possible_value())));
        words.extend(self.timeout.map(|seconds| format!("--timeout={seconds}")));
        words.extend(self.how.config.as_ref().map(absolute).transpose()?.map(|file| format!("--config={file}")));
        words.extend(self.how.words());
        Ok(words)
    }
}

#[derive(Debug, Args)]
pub(super) struct RunArgs {
    #[command(flatten)]
    pub(super) matrix: MatrixArgs,
    /// Cells at once [default: 1; with an engine what that has room for]
    #[arg(short, long, value_name = "N")]
    pub(super) jobs: Option<String>,
    /// What does the cells
    #[arg(long, value_enum, default_value_t, value_name = "ENGINE")]
    pub(super) engine: Engine,
    #[command(flatten)]
    pub(super) slurm: SlurmArgs,
}

/// What does the cells of a matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Engine {
    /// This machine
    #[default]
    Local,
    /// A Slurm cluster, by array jobs; TASKS and RUNS have to be in folders that its nodes see
    Slurm,
}

/// How jobs are given to Slurm.
#[derive(Debug, Args)]
#[command(next_help_heading = "Slurm")]
pub(super) struct SlurmArgs {
    /// Something for sbatch (may be given several times), like `--sbatch=--mem=8G`
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    pub(super) sbatch: Vec<String>,
    /// Cells that one job of an array does, one after the other
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) cells_per_job: u32,
    /// Do not wait for the jobs; the same command without this follows them
    #[arg(long)]
    pub(super) detach: bool,
    /// Write down what became of the jobs of a submission: what its last job does
    #[arg(long, hide = true, value_name = "N")]
    pub(super) collect: Option<u32>,
}

#[derive(Debug, Args)]
pub(super) struct CellArgs {
    #[command(flatten)]
    pub(super) matrix: MatrixArgs,
    /// The cells, by their places in the matrix, from 0 on: `7`, or `0,3,8-11`
    /// [default: SLURM_ARRAY_TASK_ID, JOB_COMPLETION_INDEX or HQ_TASK_ID of the environment]
    #[arg(long, value_name = "I", verbatim_doc_comment)]
    pub(super) index: Option<Indexes>,
    /// A part of the matrix: `slice:M/N` is every N-th cell, `hash:M/N` all cells of every N-th task
    #[arg(long, value_name = "PART", conflicts_with = "index")]
    pub(super) partition: Option<Partition>,
    /// Build what the cells need, and do none
    #[arg(long)]
    pub(super) prepare: bool,
    /// Where projects are built [default: RUNS/build]; a disk of the machine's own is quicker than a network's
    #[arg(long, value_name = "DIR")]
    pub(super) build_dir: Option<Utf8PathBuf>,
    /// Cells at once [default: 1]
    #[arg(short, long, value_name = "N")]
    pub(super) jobs: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct MergeArgs {
    /// Folders of runs of one matrix
    #[arg(value_name = "RUNS", required = true)]
    pub(super) from: Vec<Utf8PathBuf>,
    /// Where all of it goes; there may be results already
    #[arg(short, long, value_name = "RUNS")]
    pub(super) output: Utf8PathBuf,
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
    /// Take tests that fail in the project, too: their gists have to fail in the same way
    #[arg(long)]
    pub(super) keep_failing: bool,
    /// Say in the set that it is stale after so many days: `bench run` warns then, and `bench refresh` makes it anew
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) expiry: Option<u32>,
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
    #[command(flatten)]
    pub(super) k8s: K8sArgs,
}

/// A job of Kubernetes for the set.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Kubernetes")]
pub(super) struct K8sArgs {
    /// Print an Indexed Job that runs a matrix over the set; a set that is there already is not made again
    #[arg(long, requires = "agent", requires = "image")]
    pub(super) k8s: bool,
    /// An agent of the matrix (may be given several times)
    #[arg(long = "agent", id = "agent", value_name = "NAME", requires = "k8s")]
    pub(super) agents: Vec<String>,
    /// Attempts of each agent at each task
    #[arg(long, value_name = "N", default_value_t = 1, requires = "k8s", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) attempts: u32,
    /// An image with cargo, this tool, bubblewrap and the agents
    #[arg(long, id = "image", value_name = "IMAGE", requires = "k8s")]
    pub(super) image: Option<String>,
    /// The volume claim that has the set as `tasks`, the configuration as `gistify.toml`, and gets the results as `runs`
    #[arg(long, value_name = "CLAIM", default_value = "gistify-bench", requires = "k8s")]
    pub(super) claim: String,
    /// Pods at once
    #[arg(long, value_name = "N", default_value_t = 10, requires = "k8s", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) pods: u32,
}

#[derive(Debug, Args)]
pub(super) struct RefreshArgs {
    /// The set
    #[arg(value_name = "TASKS")]
    pub(super) set: Utf8PathBuf,
    /// Where its projects are now: folders, or addresses, told by their names [default: of git repositories the heads of where they came from]
    #[arg(value_name = "PROJECT")]
    pub(super) projects: Vec<String>,
    /// The folder of the new set, which must not be there yet
    #[arg(short, long, value_name = "NEW")]
    pub(super) output: Utf8PathBuf,
    /// Say in the set that it is stale after so many days
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) expiry: Option<u32>,
    /// What tests are screened and gold solutions run in
    #[arg(long, value_enum, default_value_t, value_name = "SANDBOX")]
    pub(super) sandbox: SandboxArg,
    /// Seconds that one run of a test may take
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) timeout: u64,
}
