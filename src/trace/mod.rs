//! What ran, from LLVM source-based coverage, read in-process.
//!
//! An executable that was built with `-C instrument-coverage` carries a *map* (which counters stand for which
//! regions of which files), and each of its processes writes a *profile* (the counters) when it ends. Both are
//! read here, without any LLVM tool: [`CoverageMap`] once per executable, [`Coverage`] once per run.
//!
//! This module knows nothing of tests or cargo. No type of the parsing library leaves it, and no panic of it.
//!
//! What rustc 1.95 puts into a map (pinned by the tests of this module):
//!
//! - A function's first region is its signature (a closure's or an `async` body's is the body); the count of that
//!   region is the number of calls. Regions are as small as an expression. Columns count bytes, from 1; ends are
//!   exclusive.
//! - Each instantiation of a generic function is a function of its own over the same regions; one that is never
//!   instantiated is there once, never run. Closures, `async` bodies (beside the function that makes the
//!   future), and methods of impls are functions too.
//! - A function made by a macro is at the macro's *definition*, and all that the macro made share its regions.
//!   **What was passed to the macro has no region**, even if it is the whole body. Macros of other crates make
//!   functions "in" files of those crates, `thread_local!` in files that don't exist (`/rustc/…`). A macro call
//!   inside a body is one region, its arguments have theirs, and its expansion has none.
//! - Not there: derives, consts, statics, types, and closures that only give a constant (`|| 5`), which have no
//!   region. A `const fn` shows 0 for what the compiler evaluated.
//! - Paths are relative to the directory that rustc ran in, which the map records; they come out absolute here,
//!   without `.` and `..`.
//!
//! What a process leaves: `exit`, a panic and a failed test write the profile. `abort` and a kill leave an empty
//! file or none (none if the pattern has `%m`), *unless* the executable was built with
//! `-C llvm-args=-runtime-counter-relocation` and `LLVM_PROFILE_FILE` has `%c`: then the counters live in the file
//! and nothing is lost. A child needs a `%p` in the pattern, and its executable in the list if it is another one.

mod counter;
mod lines;
mod map;
mod profile;
mod render;
mod report;
mod trusted;
#[cfg(test)]
mod unit;

pub use map::CoverageMap;
pub use report::{CalledFunction, LineCount, TraceReport, TracedFile, TracedRegion};

use crate::error::{Error, Result};
use crate::source::map::Position;
use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Coverage of one or more processes of instrumented executables.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    /// Each instantiation of each function, those that did not run included.
    pub functions: Vec<Function>,
    /// Absolute paths of the files that functions and regions refer to by number.
    pub files: Vec<Utf8PathBuf>,
    /// Profiles that were read: one for each process that ended by itself.
    pub profiles: usize,
    /// Profiles that a process opened but never wrote: it aborted or was killed. Not every such process leaves
    /// one, so 0 proves nothing.
    pub unwritten: usize,
}

/// One instantiation of a function, a closure, or a coroutine's body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Demangled, without the hashes of crates.
    pub name: String,
    /// As the linker knows it.
    pub symbol: String,
    /// Number of the file in which its first region stands.
    pub file: usize,
    /// How many times it was entered.
    pub calls: u64,
    /// Its first region first.
    pub regions: Vec<Region>,
}

/// A stretch of a file, and how many times it ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Number of the file.
    pub file: usize,
    /// Its first byte.
    pub start: Position,
    /// The byte after its last.
    pub end: Position,
    /// How many times it ran.
    pub count: u64,
    /// What it stands for.
    pub kind: RegionKind,
}

/// What a region stands for. rustc makes code regions only; the other kinds come from other front ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RegionKind {
    /// Code that runs or doesn't.
    Code,
    /// A macro call whose body is a file of its own.
    Expansion,
    /// Text that was not compiled.
    Skipped,
    /// Space between code, which counts for lines with nothing else only.
    Gap,
}

/// Reads the profiles (all `.profraw` files in `profile_dir`) of runs of `executables`.
///
/// A run that left no profile (it aborted, or was killed) is not an error: [`Coverage::is_empty`] says so.
///
/// # Errors
/// When an executable or a profile can't be read, or an executable was built without coverage.
pub fn read(executables: &[&Utf8Path], profile_dir: &Utf8Path) -> Result<Coverage> {
    CoverageMap::load(executables)?.coverage(profile_dir)
}

impl Coverage {
    /// Whether the same regions ran as in another run of the same executables.
    #[must_use]
    pub fn ran_the_same(&self, other: &Coverage) -> bool {
        let ran = |coverage: &Coverage| -> Vec<bool> {
            coverage.functions.iter().flat_map(|f| &f.regions).map(|region| region.count > 0).collect()
        };
        ran(self) == ran(other)
    }

    /// What several runs of the same executables did, taken together.
    #[must_use]
    pub fn of_runs<'c>(runs: impl IntoIterator<Item = &'c Coverage>) -> Coverage {
        let mut runs = runs.into_iter();
        let mut all = runs.next().cloned().unwrap_or_default();
        for run in runs.filter(|run| run.files == all.files).collect::<Vec<_>>() {
            all.functions.extend(run.functions.iter().cloned());
        }
        all
    }

    /// No process left a profile, so nothing is known about what ran (every count is 0). That is what a
    /// process leaves that aborts (`process::abort`, `panic = "abort"`, a stack overflow) or is killed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.profiles == 0
    }

    /// The count of each executable line of a file, exactly as `llvm-cov` prints it; other lines are absent.
    #[must_use]
    pub fn line_counts(&self, file: usize) -> BTreeMap<usize, u64> {
        lines::counts(&self.merged_regions(file))
    }

    /// The distinct regions of a file in the order of the text, outer ones first, each with the sum of its
    /// counts over all instantiations.
    #[must_use]
    pub fn merged_regions(&self, file: usize) -> Vec<Region> {
        let regions = self.functions.iter().flat_map(|f| &f.regions);
        lines::merged(regions.filter(|r| r.file == file).cloned().collect())
    }

    /// The functions that ran.
    pub fn called(&self) -> impl Iterator<Item = &Function> {
        self.functions.iter().filter(|f| f.calls > 0)
    }

    /// Function calls executed.
    #[must_use]
    pub fn trace_length(&self) -> u64 {
        self.called().fold(0, |sum, f| sum.saturating_add(f.calls))
    }

    /// Numbers of the files that have a function that ran.
    #[must_use]
    pub fn touched(&self) -> BTreeSet<usize> {
        self.called().map(|f| f.file).collect()
    }

    /// How many files have a function that ran.
    #[must_use]
    pub fn files_touched(&self) -> usize {
        self.touched().len()
    }
}

/// Runs a parser of foreign bytes; what it refuses, and where it panics, becomes an error that names the file.
fn guarded<T>(file: &Utf8Path, parse: impl FnOnce() -> Result<T, String>) -> Result<T> {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(parse)) {
        Ok(Ok(parsed)) => Ok(parsed),
        Ok(Err(reason)) => Err(Error::Setup(format!("failed to read coverage from {file}: {reason}"))),
        Err(_) => Err(Error::Internal(format!("coverage in {file} could not be parsed"))),
    }
}
