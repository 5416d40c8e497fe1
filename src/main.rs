//! The binary: parses, prints, and maps errors to exit codes.

mod cli;

#[cfg(feature = "agents")]
use cargo_gistify::agent::bridge;
use cargo_gistify::error::{Error, ExitCode};
use cargo_gistify::sandbox;
use cargo_gistify::workspace::wrapper;

/// Syntax trees of generated code nest deeply.
const STACK_BYTES: usize = 256 << 20;

fn main() -> std::process::ExitCode {
    let args: Vec<_> = std::env::args_os().collect();
    #[cfg(feature = "agents")]
    if let Some(code) = bridge::entry(&args) {
        return code;
    }
    if let Some(code) = sandbox::entry(&args) {
        return code;
    }
    if wrapper::is_wrapper(&args) {
        return match wrapper::run(&args) {
            Ok(()) => std::process::ExitCode::SUCCESS,
            Err(e) => {
                eprintln!("error: cargo gistify as rustc wrapper: {e}");
                std::process::ExitCode::FAILURE
            }
        };
    }
    let code = std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(move || cli::main(args))
        .map_err(Error::io("failed to start a thread"))
        .map(|t| t.join().unwrap_or(ExitCode::Internal as u8));
    std::process::ExitCode::from(code.unwrap_or(ExitCode::Setup as u8))
}
