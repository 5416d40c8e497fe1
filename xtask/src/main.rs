//! What developers of `cargo gistify` run: `cargo xtask --help`.

mod corpus;

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
}

fn main() -> ExitCode {
    let Cli { task } = Cli::parse();
    let done = match task {
        Task::Corpus(args) => corpus::run(&args),
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
