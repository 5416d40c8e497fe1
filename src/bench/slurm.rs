//! Slurm: what is given to it, and what it says of jobs. What a cell came to is never taken from Slurm: our own files say that.

use super::cell::CellId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Cells that were submitted at one time, as `slurm/N/submission.json` has them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Submission {
    /// The cells, one list a job of the arrays.
    pub groups: Vec<Vec<CellId>>,
    /// The job that builds the projects first.
    pub prepare: Option<u64>,
    /// The arrays.
    pub arrays: Vec<Array>,
    /// The job that writes down, at the end, what became of the others.
    pub collector: Option<u64>,
}

/// An array of jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Array {
    /// Its number.
    pub job: u64,
    /// The group that its first job does.
    pub first: usize,
    /// How many jobs it has.
    pub jobs: usize,
}

impl Submission {
    /// The numbers of all of its jobs.
    #[must_use]
    pub fn jobs(&self) -> Vec<u64> {
        self.arrays.iter().map(|a| a.job).chain(self.prepare).chain(self.collector).collect()
    }

    /// A group's job, as Slurm names it, when it was submitted.
    #[must_use]
    pub fn job_of(&self, group: usize) -> Option<JobId> {
        let array = self.arrays.iter().find(|a| (a.first..a.first + a.jobs).contains(&group))?;
        Some(JobId { job: array.job, index: Some((group - array.first) as u64) })
    }
}

/// How arrays of at most `most` jobs cover `groups`: where each begins, and how many jobs it has.
///
/// ```
/// use cargo_gistify::bench::slurm::split;
/// assert_eq!(split(2500, 1001), [(0, 1001), (1001, 1001), (2002, 498)]);
/// ```
#[must_use]
pub fn split(groups: usize, most: usize) -> Vec<(usize, usize)> {
    let most = most.max(1);
    (0..groups).step_by(most).map(|first| (first, most.min(groups - first))).collect()
}

/// A job, or one of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct JobId {
    /// Its number, or the array's.
    pub job: u64,
    /// Its index in the array.
    pub index: Option<u64>,
}

impl std::fmt::Display for JobId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.index {
            Some(index) => write!(f, "{}_{index}", self.job),
            None => write!(f, "{}", self.job),
        }
    }
}

/// What squeue is asked to print: the number, the index, the state.
pub const FORMAT: &str = "%F|%K|%T";

/// The states that `squeue --array --states=all --noheader --format=`[`FORMAT`] printed.
#[must_use]
pub fn states(printed: &str) -> BTreeMap<JobId, String> {
    let line = |line: &str| {
        let mut fields = line.trim().split('|');
        let (job, index, state) = (fields.next()?.parse().ok()?, fields.next()?, fields.next()?);
        Some((JobId { job, index: index.parse().ok() }, state.to_owned()))
    };
    printed.lines().filter_map(line).collect()
}

/// Whether a job in that state will not run any more.
#[must_use]
pub fn is_over(state: &str) -> bool {
    const OVER: [&str; 10] = [
        "COMPLETED",
        "FAILED",
        "CANCELLED",
        "TIMEOUT",
        "OUT_OF_MEMORY",
        "NODE_FAIL",
        "PREEMPTED",
        "BOOT_FAIL",
        "DEADLINE",
        "REVOKED",
    ];
    OVER.contains(&state)
}

/// How a job ended that left no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Somebody ended it.
    Cancelled,
    /// It used more memory than it had asked for.
    OutOfMemory,
    /// It took longer than it had asked for.
    TimeLimit,
    /// Its node failed, or another job took its place.
    Evicted,
    /// It ended by itself, or was killed from outside of Slurm.
    Died,
}

impl Fate {
    /// What became of a job, of its last known state and what its log says: Slurm forgets states after some minutes, and what it did to a job stands
    /// in the log as well.
    #[must_use]
    pub fn of(state: Option<&str>, log: &str) -> Fate {
        let says = |word: &str| log.contains(word);
        match state {
            Some("OUT_OF_MEMORY") => Fate::OutOfMemory,
            Some("TIMEOUT" | "DEADLINE") => Fate::TimeLimit,
            Some("NODE_FAIL" | "PREEMPTED" | "BOOT_FAIL" | "REVOKED") => Fate::Evicted,
            // The kernel may have ended what the job started, and not the job.
            _ if says("oom_kill event") || says("oom-kill event") || says("Out Of Memory") => Fate::OutOfMemory,
            _ if says("DUE TO TIME LIMIT") => Fate::TimeLimit,
            _ if says("DUE TO PREEMPTION") || says("DUE TO NODE FAILURE") => Fate::Evicted,
            Some("CANCELLED") => Fate::Cancelled,
            _ if says(" CANCELLED AT ") => Fate::Cancelled,
            _ => Fate::Died,
        }
    }

    /// Its name in results, in the place of a verdict.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Fate::Cancelled => "job-cancelled",
            Fate::OutOfMemory => "job-out-of-memory",
            Fate::TimeLimit => "job-time-limit",
            Fate::Evicted => "job-evicted",
            Fate::Died => "job-died",
        }
    }

    /// It as a sentence, with what to do.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Fate::Cancelled => "it was cancelled",
            Fate::OutOfMemory => "it used more memory than it had; give it more with `--sbatch=--mem=…`",
            Fate::TimeLimit => "it took longer than it had; give it more with `--sbatch=--time=…`",
            Fate::Evicted => "its node failed, or another job took its place",
            Fate::Died => "it ended without a result; its log says more",
        }
    }
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn states_are_read_of_arrays_and_single_jobs() {
        let printed = "12|0|RUNNING\n12|1|OUT_OF_MEMORY\n13|N/A|PENDING\nnonsense\n";
        let read = states(printed);
        let id = |job, index| JobId { job, index };
        assert_eq!(read.len(), 3);
        assert_eq!((read[&id(12, Some(1))].as_str(), read[&id(13, None)].as_str()), ("OUT_OF_MEMORY", "PENDING"));
        assert!(is_over("OUT_OF_MEMORY") && !is_over("COMPLETING") && !is_over("REQUEUED"));
    }

    #[test]
    fn groups_are_covered_once_and_know_their_jobs() {
        let arrays = split(5, 2).into_iter().zip([20, 21, 22]).map(|((first, jobs), job)| Array { job, first, jobs });
        let submission = Submission { groups: vec![Vec::new(); 5], arrays: arrays.collect(), ..Submission::default() };
        let jobs: Vec<String> = (0..6).map(|g| submission.job_of(g).map(|id| id.to_string()).unwrap_or_default()).collect();
        assert_eq!(jobs, ["20_0", "20_1", "21_0", "21_1", "22_0", ""]);
    }

    #[test]
    fn what_ended_a_job_is_told_by_its_state_or_by_its_log() {
        let time = "slurmstepd: error: *** JOB 7 ON n CANCELLED AT 2026-11-30T10:00:00 DUE TO TIME LIMIT ***";
        let cancelled = "slurmstepd: error: *** JOB 7 ON n CANCELLED AT 2026-11-30T10:00:00 ***";
        let memory =
            "slurmstepd: error: Detected 1 oom_kill event in StepId=7.batch. Some of the step tasks have been OOM Killed.";
        assert_eq!((Fate::of(Some("TIMEOUT"), ""), Fate::of(None, time)), (Fate::TimeLimit, Fate::TimeLimit));
        assert_eq!((Fate::of(Some("CANCELLED"), ""), Fate::of(None, cancelled)), (Fate::Cancelled, Fate::Cancelled));
        assert_eq!(
            (Fate::of(Some("OUT_OF_MEMORY"), ""), Fate::of(Some("FAILED"), memory)),
            (Fate::OutOfMemory, Fate::OutOfMemory)
        );
        assert_eq!((Fate::of(Some("PREEMPTED"), cancelled), Fate::of(Some("FAILED"), "")), (Fate::Evicted, Fate::Died));
    }
}
