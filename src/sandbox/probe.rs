//! Runs that show whether a box holds: one at each opening, and any command for those who test it.

use super::{Choice, Kind, Policy, Sandbox};
use crate::error::{Error, Result};
use crate::process::{Limits, run as run_child, run_fed};
use camino::Utf8PathBuf;
use std::ffi::OsString;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

/// Hidden command: any command in a box, and one JSON object of how it ended.
pub(super) const COMMAND: &str = "__sandbox-probe";
/// What stands for a program: the last stage then tries itself what must not work.
pub(super) const INSIDE: &str = "__sandbox-inside";

/// Tries to break out.
///
/// # Errors
/// When the box can't be made, or does not hold.
pub(super) fn run(sandbox: &Sandbox) -> Result<()> {
    let secret = sandbox.reports.path().join("secret");
    std::fs::write(&secret, "secret").map_err(Error::io("failed to write a file to try the sandbox with"))?;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").map_err(Error::io("failed to listen on the loopback"))?;
    let port = listener.local_addr().map_err(Error::io("failed to listen on the loopback"))?.port();
    let mut inner = Command::new(INSIDE);
    inner.arg(&secret).arg(port.to_string()).arg(std::process::id().to_string()).current_dir("/");
    let mut command = sandbox.command(&inner, &Policy::default())?;
    let out = run_child(&mut command, Limits { timeout: Some(Duration::from_secs(20)), max_output: 1 << 16 })?;
    if out.status.success() && out.stdout == HOLDS.as_bytes() {
        return Ok(());
    }
    let report = sandbox.report(&command);
    let said = out.stderr_text().lines().next().map(str::to_owned).or(report.fault);
    Err(Error::Setup(said.unwrap_or_else(|| format!("a trial run ended with {}", out.status))))
}

const HOLDS: &str = "holds\n";

/// The trial, inside: a file that is not shown, a port of the machine, a process outside.
pub(super) fn inside(kind: Kind, args: &[OsString]) -> std::result::Result<ExitCode, String> {
    let [secret, port, pid] = args else { return Err("the trial lacks arguments".into()) };
    let number = |text: &OsString| text.to_str().and_then(|t| t.parse::<i32>().ok()).ok_or("no number");
    let (port, pid) = (number(port)?, number(pid)?);
    if std::fs::read(secret).is_ok() || std::fs::write(secret, "changed").is_ok() {
        return Err("files outside can be reached".into());
    }
    if std::net::TcpStream::connect(("127.0.0.1", port as u16)).is_ok() {
        return Err("ports outside can be reached".into());
    }
    // In a process namespace the number means another process.
    if kind == Kind::Landlock && nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), None).is_ok() {
        return Err("processes outside can be reached".into());
    }
    print!("{HOLDS}");
    Ok(ExitCode::SUCCESS)
}

/// `__sandbox-probe [--kind K] [--ro P] [--rw P] [--cpu N] [--memory N] [--processes N] [--file N] [--disk N]
/// [--tmp N] [--timeout S] [--set NAME=VALUE] [--arg0 NAME] -- COMMAND…`
pub(super) fn command(args: &[OsString]) -> ExitCode {
    match report(args) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(e) => {
            eprintln!("error: {e}");
            ExitCode::from(e.exit_code() as u8)
        }
    }
}

fn report(args: &[OsString]) -> Result<String> {
    let mut args = args.iter();
    let (mut choice, mut policy, mut timeout) = (Choice::Auto, Policy::default(), 60);
    let (mut sets, mut arg0) = (Vec::new(), None);
    while let Some(arg) = args.next().and_then(|a| a.to_str()).filter(|a| *a != "--") {
        let value = args.next().and_then(|a| a.to_str()).ok_or_else(|| Error::Usage(format!("{arg} wants a value")))?;
        let number = || value.parse::<u64>().map_err(|_| Error::Usage(format!("{arg} wants a number")));
        let limits = &mut policy.limits;
        match arg {
            "--kind" => choice = value.parse()?,
            "--ro" => policy.read_only.push(Utf8PathBuf::from(value)),
            "--rw" => policy.writable.push(Utf8PathBuf::from(value)),
            "--cpu" => limits.cpu_s = number()?,
            "--memory" => limits.memory_bytes = number()?,
            "--processes" => limits.processes = number()?,
            "--file" => limits.file_bytes = number()?,
            "--disk" => limits.disk_bytes = number()?,
            "--tmp" => limits.tmp_bytes = number()?,
            "--timeout" => timeout = number()?,
            "--set" => sets.extend(value.split_once('=')),
            "--arg0" => arg0 = Some(value),
            _ => return Err(Error::Usage(format!("there is no {arg}"))),
        }
    }
    let program = args.next().ok_or_else(|| Error::Usage("no command is named".into()))?;
    let sandbox = Sandbox::open(choice)?;
    let mut inner = Command::new(program);
    inner.args(args).envs(sets);
    if let Some(dir) = policy.writable.first() {
        inner.current_dir(dir);
    }
    let mut command = sandbox.command_as(&inner, &policy, arg0)?;
    let limits = Limits { timeout: Some(Duration::from_secs(timeout)), max_output: 1 << 20 };
    let out = run_fed(&mut command, Stdio::null(), limits)?;
    let report = sandbox.report(&command);
    let value = serde_json::json!({
        "kind": sandbox.kind(), "code": out.status.code(), "signal": out.signal(), "stdout": out.stdout_text(),
        "stderr": out.stderr_text(), "timed_out": out.timed_out, "wall_ms": out.wall.as_millis() as u64,
        "breach": report.breach.map(super::Breach::name), "fault": report.fault,
    });
    Ok(value.to_string())
}
