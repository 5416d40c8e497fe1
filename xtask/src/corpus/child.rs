//! Children: each in its own process group, with a time limit, its output in files, and an environment that
//! does not tell it that it was started by `cargo run`.

use anyhow::{Result, bail};
use fs_err::File;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// For steps that no one waits for: fetching and building.
pub(crate) const PATIENT: Duration = Duration::from_secs(3600);

/// How long a child has to stop by itself.
const GRACE: Duration = Duration::from_secs(3);

/// Prefixes of what `cargo run` sets, and of what would change where and how children build.
const ADDED: &[&str] = &[
    "CARGO_BIN_",
    "CARGO_CRATE_NAME",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_INCREMENTAL",
    "CARGO_MANIFEST_",
    "CARGO_PKG_",
    "CARGO_PRIMARY_PACKAGE",
    "CARGO_TARGET_DIR",
    "LD_LIBRARY_PATH",
    "RUSTFLAGS",
];

static INTERRUPTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// From here on Ctrl-C and termination set a flag that [`run`] looks at, so that guards get to run.
pub(crate) fn catch_signals() -> Result<()> {
    let flag = Arc::clone(INTERRUPTED.get_or_init(Arc::default));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&flag))?;
    }
    Ok(())
}

/// Whether Ctrl-C was pressed.
pub(crate) fn interrupted() -> bool {
    INTERRUPTED.get().is_some_and(|flag| flag.load(Ordering::Relaxed))
}

/// How a child ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Its status; `None` when it was stopped at the time limit.
    pub(crate) status: Option<ExitStatus>,
    /// How long it took.
    pub(crate) wall: Duration,
}

impl Ended {
    /// Whether it ended by itself, with status 0.
    pub(crate) fn success(&self) -> bool {
        self.status.is_some_and(|s| s.success())
    }

    /// In words.
    pub(crate) fn describe(&self) -> String {
        self.status.map_or_else(|| format!("stopped after {:.0} s", self.wall.as_secs_f64()), |s| s.to_string())
    }
}

/// Where a child's output goes.
#[derive(Clone, Debug)]
pub(crate) struct Logs {
    /// Its standard output.
    pub(crate) out: PathBuf,
    /// Its standard error.
    pub(crate) err: PathBuf,
}

impl Logs {
    /// `STEM.out` and `STEM.err` in a folder.
    pub(crate) fn at(folder: &Path, stem: &str) -> Self {
        Self { out: folder.join(format!("{stem}.out")), err: folder.join(format!("{stem}.err")) }
    }
}

/// A command whose environment is what the developer's shell gave, not what `cargo run` added.
pub(crate) fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if ADDED.iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            command.env_remove(&name);
        }
    }
    command.env("CARGO_TERM_COLOR", "never").env("RUST_BACKTRACE", "0");
    command
}

/// The cargo that runs us.
pub(crate) fn cargo() -> Command {
    command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Runs a child to its end, or to the limit's, or until Ctrl-C, which is an error.
pub(crate) fn run(command: &mut Command, logs: &Logs, limit: Duration) -> Result<Ended> {
    if interrupted() {
        bail!("interrupted");
    }
    command.stdin(Stdio::null()).stdout(File::create(&logs.out)?.into_parts().0);
    command.stderr(File::create(&logs.err)?.into_parts().0).process_group(0);
    let start = Instant::now();
    let mut child = command.spawn().map_err(|e| anyhow::anyhow!("{}: {e}", command.get_program().display()))?;
    let group = Pid::from_raw(i32::try_from(child.id())?);
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if interrupted() || start.elapsed() > limit {
            stop(&mut child, group)?;
            if interrupted() {
                bail!("interrupted");
            }
            break None;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let wall = start.elapsed();
    // What it left behind in its group.
    let _ = killpg(group, Signal::SIGKILL);
    Ok(Ended { status, wall })
}

/// Stops a child: it gets a moment to stop children of its own, which may be in other groups.
fn stop(child: &mut Child, group: Pid) -> Result<()> {
    // The group may be gone already: then there is nothing to stop.
    let _ = killpg(group, Signal::SIGTERM);
    let start = Instant::now();
    while start.elapsed() < GRACE && child.try_wait()?.is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let _ = killpg(group, Signal::SIGKILL);
    child.wait()?;
    Ok(())
}

/// Runs a child that has to succeed, and gives its output.
pub(crate) fn output(command: &mut Command, folder: &Path, stem: &str) -> Result<String> {
    let logs = Logs::at(folder, stem);
    let ended = run(command, &logs, PATIENT)?;
    if !ended.success() {
        let err = fs_err::read_to_string(&logs.err).unwrap_or_default();
        bail!("{command:?}: {}\n{}", ended.describe(), tail(&err, 20));
    }
    Ok(fs_err::read_to_string(&logs.out)?)
}

/// The last lines of a text.
pub(crate) fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn child_is_stopped_at_its_limit() {
        let dir = tempfile::tempdir().unwrap();
        let mut sleep = Command::new("sleep");
        sleep.arg("30");
        let ended = run(&mut sleep, &Logs::at(dir.path(), "sleep"), Duration::from_millis(50)).unwrap();
        assert!(ended.status.is_none() && ended.wall < Duration::from_secs(10));
        assert!(ended.describe().starts_with("stopped after"));
    }

    #[test]
    fn output_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let mut echo = Command::new("echo");
        echo.arg("hi");
        assert_eq!(output(&mut echo, dir.path(), "echo").unwrap(), "hi\n");
    }

    #[test]
    fn tail_of_a_short_text_is_the_text() {
        assert_eq!(tail("a\nb", 3), "a\nb");
        assert_eq!(tail("a\nb\nc", 2), "b\nc");
    }
}
