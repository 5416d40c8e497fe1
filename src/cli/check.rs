//! `cargo gistify check-tests`

use super::args::{CheckArgs, MessageFormat, OutputArgs, ProgramArgs};
use super::list::{NO_TESTS, print_json};
use super::shell::Shell;
use super::work::{Work, work};
use cargo_gistify::error::{Error, ExitCode, Result};
use cargo_gistify::sandbox::Sandbox;
use cargo_gistify::screen::{Fitness, ScreenOptions, Screening, screen};
use cargo_gistify::trace::CoverageMap;
use cargo_gistify::verify::clean_room::CleanRoom;
use cargo_gistify::workspace::Inline;
use cargo_gistify::workspace::wrapper::write_atomically;
use std::collections::BTreeMap;
use std::time::Duration;

pub(super) fn check_tests(args: &CheckArgs, output: &OutputArgs, shell: &Shell) -> Result<u8> {
    let sandbox = Sandbox::open(args.sandbox.into())?;
    let room = CleanRoom::new(&sandbox);
    let options = ScreenOptions {
        ignored: args.selection.ignored,
        timeout: Duration::from_secs(args.timeout),
        runs: usize::try_from(args.runs).unwrap_or(usize::MAX),
    };
    let Work { workspace: _workspace, targets, _room } =
        work(&args.selection, &ProgramArgs::default(), Inline::None, shell)?;
    let total: usize = targets.iter().map(|(_, tasks)| tasks.len()).sum();
    if total == 0 {
        shell.error(NO_TESTS);
        return Ok(ExitCode::NoTest as u8);
    }
    shell.start_bar(total as u64);
    let mut screened: Vec<Screening> = Vec::new();
    for (target, tasks) in &targets {
        tasks.iter().try_for_each(|t| t.compile(target))?;
        let map = CoverageMap::load(&[&target.executable])?;
        for task in tasks {
            shell.stage("Screening", &task.what());
            let screening = screen(target, task, &map, &room, options)?;
            match output.message_format {
                MessageFormat::Human => anstream::println!("{}", line(&screening)),
                MessageFormat::Json => print_json(&screening, false)?,
                MessageFormat::JsonPretty => print_json(&screening, true)?,
            }
            screened.push(screening);
        }
    }
    shell.end_bar();
    if let Some(file) = &args.list {
        let lines = screened.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>();
        let lines = lines.map_err(|e| Error::Internal(e.to_string()))?;
        write_atomically(file, format!("{}\n", lines.join("\n")).as_bytes())?;
    }
    let mut counts: BTreeMap<Fitness, usize> = BTreeMap::new();
    screened.iter().for_each(|s| *counts.entry(s.fitness).or_default() += 1);
    let counts = counts.iter().map(|(fitness, n)| format!("{n} {}", fitness.name())).collect::<Vec<_>>().join(", ");
    shell.status("Screened", &format!("{total} tests ({}): {counts}", room.kind().name()));
    Ok(ExitCode::Verified as u8)
}

/// One test for people: what it is called, what was found, what it touches.
fn line(s: &Screening) -> String {
    let uses: Vec<&str> = s.uses.iter().map(|u| u.name()).collect();
    let uses = if uses.is_empty() { String::new() } else { format!("  [{}]", uses.join(", ")) };
    let reason = s.reason.as_ref().map(|r| format!(": {r}")).unwrap_or_default();
    format!("{:<18} {} {}{uses}{reason}", s.fitness.name(), s.test.target, s.test.name)
}
