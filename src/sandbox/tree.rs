//! The processes below this one, as `/proc` shows them: they may have left their group and session, but not the tree, since
//! this process is where orphans go.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::read_to_string;

/// What processes use together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    /// Processes and threads.
    pub(super) tasks: u64,
    /// Resident bytes, shared ones counted for each process.
    pub(super) resident: u64,
    /// Processor time in clock ticks, with that of children that have ended.
    pub(super) ticks: u64,
}

/// All processes below this one.
pub(super) fn below() -> Vec<i32> {
    let mut found = children(std::process::id() as i32);
    let mut at = 0;
    while at < found.len() {
        found.extend(children(found[at]));
        at += 1;
    }
    found
}

fn children(pid: i32) -> Vec<i32> {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let lists = tasks.flatten().filter_map(|task| read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|p| p.parse().ok()).collect::<Vec<_>>()).collect()
}

/// Kills them all; those that are made meanwhile are for the next call.
pub(super) fn kill_all(processes: &[i32]) {
    for pid in processes {
        // It may be gone already: that is what is wanted.
        let _ = kill(Pid::from_raw(*pid), Signal::SIGKILL);
    }
}

/// What these use, and what children of this process have used that have ended.
pub(super) fn usage(processes: &[i32]) -> Usage {
    let mut sum = Usage::default();
    for pid in processes {
        let Some(fields) = stat(*pid) else { continue };
        let field = |n: usize| fields.get(n).copied().unwrap_or(0);
        sum.ticks += field(UTIME) + field(UTIME + 1) + field(UTIME + 2) + field(UTIME + 3);
        // One that has ended and was not waited for has no threads, and still counts for the kernel.
        sum.tasks += field(THREADS).max(1);
        sum.resident += field(RESIDENT) * page_bytes();
    }
    if let Some(own) = stat(std::process::id() as i32) {
        sum.ticks += own.get(UTIME + 2).unwrap_or(&0) + own.get(UTIME + 3).unwrap_or(&0);
    }
    sum
}

/// Bytes of these processes with shared ones counted once; nothing when the kernel does not say.
pub(super) fn proportional(processes: &[i32]) -> u64 {
    let pss = |pid: &i32| -> Option<u64> {
        let text = read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
        let line = text.lines().find_map(|l| l.strip_prefix("Pss:"))?;
        line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()
    };
    processes.iter().filter_map(pss).sum::<u64>() << 10
}

/// Tasks of all processes that are seen here, or of one user's.
pub(super) fn tasks_of(user: Option<u32>) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let Ok(entries) = std::fs::read_dir("/proc") else { return 0 };
    let is_own = |entry: &std::fs::DirEntry| user.is_none_or(|user| entry.metadata().is_ok_and(|m| m.uid() == user));
    let pids = entries.flatten().filter(is_own).filter_map(|e| e.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid: i32| Some((*stat(pid)?.get(THREADS)?).max(1))).sum()
}

/// Fields after the name, which may hold anything.
const UTIME: usize = 11;
const THREADS: usize = 17;
const RESIDENT: usize = 21;

/// Numbers of `/proc/PID/stat` from the state on; what is no number is 0.
fn stat(pid: i32) -> Option<Vec<u64>> {
    let text = read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    Some(rest.split_whitespace().map(|f| f.parse().unwrap_or(0)).collect())
}

fn page_bytes() -> u64 {
    sysconf(nix::unistd::SysconfVar::PAGE_SIZE).unwrap_or(4096)
}

/// Clock ticks in a second.
pub(super) fn ticks_per_second() -> u64 {
    sysconf(nix::unistd::SysconfVar::CLK_TCK).unwrap_or(100)
}

fn sysconf(name: nix::unistd::SysconfVar) -> Option<u64> {
    nix::unistd::sysconf(name).ok().flatten().and_then(|n| u64::try_from(n).ok())
}

#[cfg(test)]
mod unit {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_process_that_has_ended_and_was_not_waited_for_counts() {
        let mut child = Command::new("true").stdin(Stdio::null()).spawn().unwrap();
        let pid = child.id() as i32;
        let state = || read_to_string(format!("/proc/{pid}/stat")).unwrap().rsplit_once(") ").unwrap().1.to_owned();
        while !state().starts_with('Z') {
            std::thread::yield_now();
        }
        assert_eq!(usage(&[pid]).tasks, 1);
        child.wait().unwrap();
        assert_eq!(usage(&[pid]).tasks, 0);
    }
}
