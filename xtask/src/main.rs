//! What developers of `cargo gistify` run: `cargo xtask --help`.

mod bench;
mod corpus;
mod jsonl;
mod llvm_cov;
mod matrix;
mod sandbox;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Developer tasks.
#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

/// The tasks.
#[derive(Subcommand)]
enum Task {
    /// Run the tool on the public corpus, check every gist again, write `docs/corpus.md`
    Corpus(corpus::Args),
    /// Measure the tool beside others and beside cargo, write `docs/benchmarks.md`
    Bench(bench::Args),
    /// The interestingness test that `bench` gives to other tools
    #[command(hide = true)]
    BenchCheck(bench::check::Args),
    /// Try the gists of a sample of the corpus without each of their items, write `docs/minimality.md`
    Minimality(corpus::minimality::Args),
    /// Compare the counts of lines with those of `llvm-cov`, write `docs/llvm-cov.md`
    LlvmCov(llvm_cov::Args),
    /// Run the example of docs/bench-example, of which it is known what has to come out
    Matrix(matrix::example::Args),
    /// Measure what the harness itself takes for a cell, and kill it again and again
    Cells(matrix::cells::Args),
    /// Cancel jobs of Slurm, let them run out of memory and of time, and count the cells
    Slurm(matrix::slurm::Args),
    /// Measure what each kind of sandbox costs a verification
    Sandbox(sandbox::Args),
}

fn main() -> ExitCode {
    let Cli { task } = Cli::parse();
    let done = match task {
        Task::Corpus(args) => corpus::run(&args),
        Task::Bench(args) => bench::run(&args),
        Task::BenchCheck(args) => bench::check::run(&args),
        Task::Minimality(args) => corpus::minimality::run(&args),
        Task::LlvmCov(args) => llvm_cov::run(&args),
        Task::Matrix(args) => matrix::example::run(&args),
        Task::Cells(args) => matrix::cells::run(&args),
        Task::Slurm(args) => matrix::slurm::run(&args),
        Task::Sandbox(args) => sandbox::run(&args),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}
