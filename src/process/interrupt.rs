//! Ctrl-C: one flag, and every child's process group on a list.
//!
//! A signal sets the flag and kills all groups; the road then ends at its next step with
//! [`Error::Interrupted`], so temporary directories are removed by their owners. A second signal, or a road
//! that does not end within a few seconds, ends the process at once.

use crate::error::{Error, ExitCode, Result};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
static GROUPS: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// A child's process group, listed as long as this lives.
#[derive(Debug)]
pub(super) struct Group(u32);

impl Group {
    pub(super) fn register(id: u32) -> Group {
        groups().push(id);
        // The signal may have come between the spawn and the line above.
        let group = Group(id);
        if INTERRUPTED.load(Ordering::SeqCst) {
            group.kill();
        }
        group
    }

    pub(super) fn kill(&self) {
        kill(self.0);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        groups().retain(|g| *g != self.0);
    }
}

fn groups() -> std::sync::MutexGuard<'static, Vec<u32>> {
    GROUPS.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn kill(group: u32) {
    if let Ok(id) = i32::try_from(group) {
        // The group may be gone already: that is what is wanted.
        let _ = killpg(Pid::from_raw(id), Signal::SIGKILL);
    }
}

/// [`Error::Interrupted`] once a signal has come.
///
/// # Errors
/// Only that one.
pub fn check() -> Result<()> {
    if INTERRUPTED.load(Ordering::SeqCst) { Err(Error::Interrupted) } else { Ok(()) }
}

/// Ends all children and whatever waits for them, as a signal does: for who notices by other means that nobody waits any more. Says
/// whether that was so before.
pub fn raise() -> bool {
    let before = INTERRUPTED.swap(true, Ordering::SeqCst);
    groups().iter().for_each(|g| kill(*g));
    before
}

/// Starts handling SIGINT, SIGTERM and SIGHUP. Call once, from the binary.
///
/// # Errors
/// When the handlers can't be installed.
pub fn install() -> Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])
        .map_err(Error::io("failed to install signal handlers"))?;
    std::thread::spawn(move || {
        for _ in signals.forever() {
            if raise() {
                std::process::exit(i32::from(ExitCode::Interrupted as u8));
            }
            std::thread::spawn(|| {
                std::thread::sleep(Duration::from_secs(5));
                std::process::exit(i32::from(ExitCode::Interrupted as u8));
            });
        }
    });
    Ok(())
}
