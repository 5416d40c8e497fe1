//! What engines that run many jobs say to each in its environment.

use serde::{Deserialize, Serialize};

/// Which job of an engine did a cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The engine.
    pub engine: String,
    /// What the engine calls the job; of an array with its index.
    pub id: String,
    /// How often the engine had begun it before, as after a requeue.
    pub restarts: u32,
}

impl Job {
    /// Of the variables that Slurm sets.
    ///
    /// ```
    /// use cargo_gistify::bench::job::Job;
    /// let set = [("SLURM_ARRAY_JOB_ID", "12"), ("SLURM_ARRAY_TASK_ID", "3"), ("SLURM_RESTART_COUNT", "1")];
    /// let job = Job::of(|name| set.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned())).unwrap();
    /// assert_eq!((job.id.as_str(), job.restarts), ("12_3", 1));
    /// ```
    #[must_use]
    pub fn of(get: impl Fn(&str) -> Option<String>) -> Option<Job> {
        let id = match (get("SLURM_ARRAY_JOB_ID"), get("SLURM_ARRAY_TASK_ID")) {
            (Some(job), Some(task)) => format!("{job}_{task}"),
            _ => get("SLURM_JOB_ID")?,
        };
        let restarts = get("SLURM_RESTART_COUNT").and_then(|n| n.parse().ok()).unwrap_or(0);
        Some(Job { engine: "slurm".into(), id, restarts })
    }
}

/// Variables with the index of a job among many: of Slurm's arrays, Kubernetes' Indexed Jobs, HyperQueue.
pub const INDEXES: [&str; 3] = ["SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX", "HQ_TASK_ID"];
