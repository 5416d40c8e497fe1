//! `cargo gistify bench report`: what runs came to.

use super::args::{Format, ReportArgs};
use cargo_gistify::bench::html::page;
use cargo_gistify::bench::junit::junit;
use cargo_gistify::bench::render::{csv, human, markdown};
use cargo_gistify::bench::summary::{Runs, Summary};
use cargo_gistify::error::{Error, ExitCode, Result};
use cargo_gistify::workspace::wrapper::write_atomically;
use std::io::Write;

pub(super) fn report(args: &ReportArgs) -> Result<u8> {
    let summary = Summary::of(Runs::load(&args.runs)?);
    let text = match args.format {
        Format::Human => human(&summary),
        Format::Markdown => markdown(&summary),
        Format::Csv => csv(&summary),
        Format::Junit => junit(&summary)?,
        Format::Html => page(&summary, &args.runs),
        Format::Json => serde_json::to_string_pretty(&summary).map_err(|e| Error::Internal(e.to_string()))? + "\n",
    };
    match &args.output {
        Some(file) => write_atomically(file, text.as_bytes())?,
        None => match std::io::stdout().write_all(text.as_bytes()) {
            // `… | head` is no fault.
            Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => {}
            other => other.map_err(Error::io("failed to write to standard output"))?,
        },
    }
    Ok(ExitCode::Verified as u8)
}
