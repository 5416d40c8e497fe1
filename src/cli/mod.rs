//! The command line: one file a subcommand.

#[cfg(feature = "agents")]
mod agent;
mod args;
#[cfg(feature = "agents")]
mod bench;
mod check;
mod clean;
mod list;
mod make;
#[cfg(feature = "mcp")]
mod mcp;
mod parallel;
mod places;
mod run;
mod shell;
mod trace;
mod verify;
mod work;

use args::{CargoArgs, Cli, Command};
use cargo_gistify::error::{Error, ExitCode};
use clap::{CommandFactory, FromArgMatches};
use shell::Shell;
use std::ffi::OsString;

/// Runs the command line and gives the exit code.
pub(crate) fn main(mut args: Vec<OsString>) -> u8 {
    // As a subcommand cargo passes our own name first.
    if args.get(1).is_some_and(|a| a == "gistify") {
        args.remove(1);
    }
    let dashes = args.iter().any(|a| a == "--");
    let matches = Cli::command().try_get_matches_from(args);
    let parsed = matches.and_then(|matches| {
        let mut cli = Cli::from_arg_matches(&matches)?;
        match &cli.command {
            None => cli.cargo_words = CargoArgs::words(&matches),
            #[cfg(feature = "agents")]
            Some(Command::Bench(args)) if args.is_plan() => {
                let plan = matches.subcommand().and_then(|(_, bench)| bench.subcommand());
                cli.cargo_words = plan.map(|(_, plan)| CargoArgs::build_words(plan)).unwrap_or_default();
            }
            Some(_) => {}
        }
        Ok(cli)
    });
    let mut cli = match parsed {
        Ok(cli) => cli,
        Err(e) => {
            let _ = e.print();
            return u8::try_from(e.exit_code()).unwrap_or(ExitCode::Usage as u8);
        }
    };
    match &mut cli.command {
        None => cli.make.program.dashes = dashes,
        Some(Command::Trace(options)) => options.program.dashes = dashes,
        Some(Command::Verify(options)) => options.program.dashes = dashes,
        Some(Command::Score(options)) => options.verify.program.dashes = dashes,
        Some(_) => {}
    }
    let shell = Shell::new(&cli.output);
    let result = cargo_gistify::process::interrupt::install().and_then(|()| match &cli.command {
        None => make::make(&cli, &shell),
        Some(Command::List(selection)) => list::list(selection, &cli.output, &shell),
        Some(Command::Trace(options)) => trace::trace(options, &cli.output, &shell),
        Some(Command::Verify(options)) => verify::verify(options, false, &cli.output, &shell),
        Some(Command::Score(options)) => verify::verify(&options.verify, options.explain, &cli.output, &shell),
        Some(Command::CheckTests(options)) => check::check_tests(options, &cli.output, &shell),
        #[cfg(feature = "mcp")]
        Some(Command::Mcp(options)) => mcp::serve(options, &cli.output),
        #[cfg(feature = "agents")]
        Some(Command::Bench(options)) => bench::bench(options, &cli.cargo_words, &shell),
        Some(Command::Run(options)) => run::run(options, &shell),
        Some(Command::Clean(options)) => clean::clean(options, &shell),
        Some(Command::Completions { shell }) => {
            clap_complete::generate(*shell, &mut Cli::command(), "cargo-gistify", &mut std::io::stdout());
            Ok(ExitCode::Verified as u8)
        }
    });
    shell.end_bar();
    result.unwrap_or_else(|e| fail(&shell, &e))
}

fn fail(shell: &Shell, e: &Error) -> u8 {
    shell.error(&told(e));
    e.exit_code() as u8
}

/// An error as it is told, without the word for it: what cargo and rustc say begins with the same.
fn told(e: &Error) -> String {
    let text = e.to_string();
    text.strip_prefix("error: ").map_or_else(|| text.clone(), str::to_owned)
}
