//! What strangers' code may use, and how it is called when it wanted more.

use serde::{Deserialize, Serialize};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// What all processes of one run may use together, unless a field says otherwise. Wall time and output are limited by
/// [`crate::process::Limits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceLimits {
    /// Processor time in seconds.
    pub cpu_s: u64,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Processes and threads.
    pub processes: u64,
    /// Size of one file in bytes.
    pub file_bytes: u64,
    /// Growth of all writable folders in bytes; an entry counts as one block of 4 KiB at least.
    pub disk_bytes: u64,
    /// Size of each private temporary folder (`/tmp`, home, `/dev/shm`) in bytes, where there are such.
    pub tmp_bytes: u64,
}

impl Default for ResourceLimits {
    /// For a run of a gist: 10 minutes of processor time, 2 GiB of memory, 1,024 processes and threads, files of 128 MiB,
    /// 256 MiB of disk and of each temporary folder.
    fn default() -> Self {
        ResourceLimits {
            cpu_s: 600,
            memory_bytes: 2 * GIB,
            processes: 1024,
            file_bytes: 128 * MIB,
            disk_bytes: 256 * MIB,
            tmp_bytes: 256 * MIB,
        }
    }
}

impl ResourceLimits {
    /// For rustc and the procedural macros that it loads: 20 minutes, 6 GiB, files of 1 GiB, 2 GiB of disk.
    #[must_use]
    pub fn for_compiler() -> ResourceLimits {
        ResourceLimits {
            cpu_s: 1200,
            memory_bytes: 6 * GIB,
            file_bytes: GIB,
            disk_bytes: 2 * GIB,
            ..ResourceLimits::default()
        }
    }
}

/// The limit that ended a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Breach {
    /// [`ResourceLimits::cpu_s`].
    Cpu,
    /// [`ResourceLimits::memory_bytes`].
    Memory,
    /// [`ResourceLimits::processes`].
    Processes,
    /// [`ResourceLimits::file_bytes`].
    FileSize,
    /// [`ResourceLimits::disk_bytes`].
    Disk,
    /// None of ours: the machine, or the job that this runs in, had less memory than was allowed here.
    Machine,
}

impl Breach {
    /// As reports name it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Breach::Cpu => "CPU limit",
            Breach::Memory => "memory limit",
            Breach::Processes => "process limit",
            Breach::FileSize => "file size limit",
            Breach::Disk => "disk limit",
            Breach::Machine => "memory of the machine or of its job",
        }
    }
}
