//! A task set on the disk.
//!
//! ```text
//! TASKS/manifest.json            what is there, with digests
//! TASKS/funnel.json              what was left out, and why
//! TASKS/projects/NAME/           a copy of a project, one commit and no history
//! TASKS/tasks/ID/                a Harbor task
//! TASKS/build/                   what was built of the projects; can be deleted
//! ```
//!
//! A set is written into a new folder that gets its name when it is whole, so half a set is never met.

use super::digest;
use crate::agent::workspace::Audit;
use crate::error::{Error, Result};
use crate::workspace::wrapper::write_atomically;
use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

/// Version of [`Manifest`].
pub const SCHEMA: u32 = 1;
/// The manifest's name.
pub const MANIFEST: &str = "manifest.json";
/// The funnel's name.
pub const FUNNEL: &str = "funnel.json";

/// What is in a set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The tool that made it.
    pub made_by: String,
    /// The rustc that the gold solutions were verified with.
    pub toolchain: String,
    /// Features, profile and target triple that it was built with, as cargo's flags.
    pub cargo: Vec<String>,
    /// What the sample was drawn with.
    pub seed: u64,
    /// Tasks that a package has at most.
    pub per_package: usize,
    /// Only so many of the hardest were kept, by each measure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hard: Option<u32>,
    /// Tests that fail in the project are tasks, too.
    #[serde(default)]
    pub keep_failing: bool,
    /// The day (UTC, `2027-01-31`) after which the set is stale: models may have seen it, and the projects have gone on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// The projects, by their names in the set.
    pub projects: BTreeMap<String, Project>,
    /// The tasks, by their ids.
    pub tasks: BTreeMap<String, TaskEntry>,
}

/// A project of a set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Project {
    /// Where it came from, as it was named: of a path only the last part, since the rest is a matter of one machine.
    pub source: String,
    /// Its workspace, from its folder on; empty where that is the folder itself.
    pub workspace: Utf8PathBuf,
    /// The digest of its files.
    pub digest: String,
    /// What was copied and left out.
    pub audit: Audit,
}

/// A task of a set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskEntry {
    /// The name of its project.
    pub project: String,
    /// The test.
    #[serde(flatten)]
    pub test: TestName,
    /// How hard it is.
    pub difficulty: Difficulty,
    /// The digest of its folder's files, other than the project's.
    pub digest: String,
}

/// Names a test in its project.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TestName {
    /// The package.
    pub package: String,
    /// The target, as cargo's flag: `--lib`, `--test api`.
    pub target: String,
    /// The path in the target; of parameterised tests that of their function.
    pub test: String,
}

/// How hard a task is, by the axes of the Gistify paper (trace length, files touched) and by size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difficulty {
    /// Function calls that the test executes in the project.
    pub trace_length: u64,
    /// Files of the project that run.
    pub files_touched: usize,
    /// Code lines of the crates that the test is built of.
    pub bundle_lines: usize,
    /// Code lines of the gold solution.
    pub gold_lines: usize,
}

/// What became of the tests of a project, stage by stage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Funnel {
    /// Test functions and cases that were listed.
    pub tests: usize,
    /// Those with cases of one function taken together.
    pub grouped: usize,
    /// Those that were looked at: the others come later in the sample's order, and their package has enough.
    pub looked_at: usize,
    /// Those that make no task, by the stage that they did not pass: test and reason.
    pub dropped: BTreeMap<String, Vec<(TestName, String)>>,
    /// Those that are tasks.
    pub tasks: usize,
}

impl Funnel {
    /// It as a line.
    #[must_use]
    pub fn line(&self) -> String {
        let dropped: Vec<String> = self.dropped.iter().map(|(stage, tests)| format!("{} {stage}", tests.len())).collect();
        let dropped = if dropped.is_empty() { String::new() } else { format!(" ({})", dropped.join(", ")) };
        format!(
            "{} tests, {} without their parameters, {} looked at{dropped}, {} tasks",
            self.tests, self.grouped, self.looked_at, self.tasks
        )
    }
}

/// The day that comes `days` after `from`, in UTC.
///
/// ```
/// use cargo_gistify::bench::set::day;
/// use std::time::{Duration, SystemTime};
/// let leap = SystemTime::UNIX_EPOCH + Duration::from_secs(951_782_400);
/// assert_eq!((day(leap, 0), day(leap, 1)), ("2000-02-29".to_owned(), "2000-03-01".to_owned()));
/// ```
#[must_use]
pub fn day(from: SystemTime, days: u32) -> String {
    let at = from + Duration::from_secs(u64::from(days) * 24 * 60 * 60);
    humantime::format_rfc3339(at).to_string().chars().take(10).collect()
}

/// The id of a task: readable, and the same for the same test of the same project under the same name.
#[must_use]
pub fn task_id(test: &TestName, project: &str, project_digest: &str) -> String {
    let key = digest([project, project_digest, &test.package, &test.target, &test.test]);
    let words = [test.package.as_str(), test.test.rsplit("::").next().unwrap_or_default()];
    let plain = |word: &str| -> String {
        word.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect()
    };
    let words = words.map(|word| plain(word).trim_matches('-').chars().take(40).collect::<String>());
    format!("{}-{}", words.join("-"), &key[..10])
}

/// Tests in the order in which they are sampled: as random as the seed, and the same for the same seed whatever else is there.
#[must_use]
pub fn in_sample_order<T>(mut tests: Vec<T>, seed: u64, name: impl Fn(&T) -> TestName) -> Vec<T> {
    tests.sort_by_cached_key(|test| {
        let name = name(test);
        (digest([&seed.to_string(), &name.package, &name.target, &name.test]), name)
    });
    tests
}

/// The ids of the hardest tasks: `n` by the length of their traces and `n` by the files that they touch, as the paper's hard subset.
#[must_use]
pub fn hardest(tasks: &BTreeMap<String, TaskEntry>, n: usize) -> BTreeSet<String> {
    let by = |key: &dyn Fn(&Difficulty) -> u64| {
        let mut ids: Vec<&String> = tasks.keys().collect();
        // Equally hard ones in the order of their ids.
        ids.sort_by_key(|id| std::cmp::Reverse(key(&tasks[*id].difficulty)));
        ids.into_iter().take(n).cloned().collect::<Vec<_>>()
    };
    let files = |d: &Difficulty| u64::try_from(d.files_touched).unwrap_or(u64::MAX);
    by(&|d| d.trace_length).into_iter().chain(by(&files)).collect()
}

/// The digest of the files below a folder, by their paths; histories, links and what is built are left out.
///
/// # Errors
/// When a file can't be read.
pub fn tree_digest(dir: &Utf8Path) -> Result<String> {
    let mut files = BTreeMap::new();
    let mut open = vec![dir.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in folder.read_dir_utf8().map_err(Error::path("read the directory", &folder))? {
            let entry = entry.map_err(Error::path("read the directory", &folder))?;
            let kind = entry.file_type().map_err(Error::path("look at", entry.path()))?;
            match (kind.is_dir(), kind.is_file()) {
                (true, _) if entry.file_name() != ".git" => open.push(entry.path().to_owned()),
                (_, true) => {
                    let bytes = std::fs::read(entry.path()).map_err(Error::path("read", entry.path()))?;
                    let name = entry.path().strip_prefix(dir).unwrap_or(entry.path()).to_string();
                    files.insert(name, bytes);
                }
                _ => {}
            }
        }
    }
    Ok(digest(files.iter().flat_map(|(name, bytes)| [name.as_bytes(), bytes.as_slice()])))
}

impl Manifest {
    /// The day after which it is stale, when that has come.
    #[must_use]
    pub fn is_stale(&self, now: SystemTime) -> Option<&str> {
        self.expires.as_deref().filter(|expires| day(now, 0).as_str() > *expires)
    }

    /// The manifest of the set in a folder, and its digest.
    ///
    /// # Errors
    /// [`Error::Usage`] when there is none, or one of another version.
    pub fn load(set: &Utf8Path) -> Result<(Manifest, String)> {
        let file = set.join(MANIFEST);
        let bytes = std::fs::read(&file).map_err(|e| {
            Error::Usage(format!("{set} is no set of tasks: {file}: {e}; `cargo gistify bench plan` makes one"))
        })?;
        let manifest: Manifest = serde_json::from_slice(&bytes)
            .map_err(|e| Error::Usage(format!("{file} is no manifest of this version: {e}")))?;
        if manifest.schema != SCHEMA {
            return Err(Error::Usage(format!("{file} is of version {}, and this tool reads {SCHEMA}", manifest.schema)));
        }
        Ok((manifest, digest([bytes])))
    }
}

/// Whether a folder is a set, or holds results: what one of these is made of must not be in the other.
#[must_use]
pub fn is_ours(dir: &Utf8Path) -> bool {
    let has = |file: &str, folder: &str| dir.join(file).is_file() && dir.join(folder).is_dir();
    has(FUNNEL, "tasks") && has(MANIFEST, "projects") || has(super::settings::SETTINGS, "cells")
}

/// A value as a file, whole or not there.
///
/// # Errors
/// When it can't be written.
pub fn write_json(file: &Utf8Path, value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value).map_err(|e| Error::Internal(e.to_string()))?;
    write_atomically(file, (text + "\n").as_bytes())
}

#[cfg(test)]
mod unit {
    use super::*;

    fn name(test: &str) -> TestName {
        TestName { package: "a-crate".into(), target: "--lib".into(), test: test.into() }
    }

    #[test]
    fn ids_are_readable_and_hang_on_the_project() {
        let id = task_id(&name("parse::tests::empty_input"), "p", "d1");
        assert!(id.starts_with("a-crate-empty-input-") && id.len() == "a-crate-empty-input-".len() + 10, "{id}");
        assert_ne!(id, task_id(&name("parse::tests::empty_input"), "p", "d2"));
        assert_ne!(id, task_id(&name("other::tests::empty_input"), "p", "d1"));
        assert_ne!(id, task_id(&name("parse::tests::empty_input"), "q", "d1"));
    }

    #[test]
    fn a_sample_is_the_seeds_and_does_not_hang_on_what_else_is_there() {
        let all: Vec<String> = (0..50).map(|n| format!("t{n}")).collect();
        let order = |tests: &[String], seed| in_sample_order(tests.to_vec(), seed, |t| name(t));
        assert_eq!(order(&all, 1), order(&all.iter().rev().cloned().collect::<Vec<_>>(), 1));
        assert_ne!(order(&all, 1), order(&all, 2));
        let half = order(&all[..25], 1);
        let of_all: Vec<String> = order(&all, 1).into_iter().filter(|t| half.contains(t)).collect();
        assert_eq!(half, of_all);
    }

    #[test]
    fn the_hard_subset_is_the_hardest_by_either_axis() {
        let entry = |trace_length, files_touched| TaskEntry {
            project: "p".into(),
            test: name("t"),
            difficulty: Difficulty { trace_length, files_touched, ..Difficulty::default() },
            digest: String::new(),
        };
        let tasks = [("a", entry(9, 1)), ("b", entry(1, 9)), ("c", entry(5, 5)), ("d", entry(9, 9))];
        let tasks = tasks.map(|(id, entry)| (id.to_owned(), entry)).into();
        assert_eq!(hardest(&tasks, 1).into_iter().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(hardest(&tasks, 2).into_iter().collect::<Vec<_>>(), ["a", "b", "d"]);
    }

    #[test]
    fn a_tree_is_told_by_its_files_and_not_by_its_history() {
        let room = crate::compile::temp_dir().unwrap();
        let dir = crate::compile::utf8(room.path()).unwrap();
        std::fs::create_dir_all(dir.join("a/.git")).unwrap();
        std::fs::write(dir.join("a/x.rs"), "1").unwrap();
        let first = tree_digest(dir).unwrap();
        std::fs::write(dir.join("a/.git/HEAD"), "2").unwrap();
        assert_eq!(tree_digest(dir).unwrap(), first);
        std::fs::rename(dir.join("a/x.rs"), dir.join("a/y.rs")).unwrap();
        assert_ne!(tree_digest(dir).unwrap(), first);
    }
}
