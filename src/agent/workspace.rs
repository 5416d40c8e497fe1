//! The copy of the project that an agent works in: the files as they are, and nothing of how they came to be.
//!
//! A history, a build folder, a gist that was made before can each hold the answer. So only files are copied that belong to the
//! project (what git tracks or would track; without git, what no ignore file names), and the copy's own repository has one commit.

use crate::error::{Error, Result};
use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};
use std::process::Command;

/// A folder with this file holds what can be made again.
const CACHE_TAG: &str = "CACHEDIR.TAG";
/// Author and committer of the one commit, and its time, so that two copies are the same.
const IDENTITY: &[(&str, &str)] = &[
    ("GIT_AUTHOR_NAME", "gistify"),
    ("GIT_AUTHOR_EMAIL", "gistify@localhost"),
    ("GIT_COMMITTER_NAME", "gistify"),
    ("GIT_COMMITTER_EMAIL", "gistify@localhost"),
    ("GIT_AUTHOR_DATE", "2000-01-01T00:00:00Z"),
    ("GIT_COMMITTER_DATE", "2000-01-01T00:00:00Z"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
];

/// What was copied, and what was left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audit {
    /// The commit that the project is at, when git knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Files differ from that commit; they were copied as they are.
    pub modified: bool,
    /// Files and links copied.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Commits of the project's history that the copy does not have.
    pub commits_removed: usize,
    /// Repositories inside of the project, whose files were copied and whose histories were not.
    pub nested_repositories: Vec<Utf8PathBuf>,
    /// Folders of build output; sets of tasks and results of benchmarks among them.
    pub build_folders: Vec<Utf8PathBuf>,
    /// Files that are gists.
    pub gists: Vec<Utf8PathBuf>,
    /// Links that lead out of the project.
    pub links: Vec<Utf8PathBuf>,
    /// The copy has a repository, with one commit.
    pub repository: bool,
}

impl Audit {
    /// It as one line.
    #[must_use]
    pub fn line(&self) -> String {
        let at = match &self.commit {
            Some(commit) => {
                let modified = if self.modified { ", with changes" } else { "" };
                format!(" of {}{modified}", &commit[..commit.len().min(12)])
            }
            None => String::new(),
        };
        format!(
            "{} files{at}; left out: {} commits of history, {} nested repositories, {} build folders, {} gists, {} links that lead out",
            self.files,
            self.commits_removed,
            self.nested_repositories.len(),
            self.build_folders.len(),
            self.gists.len(),
            self.links.len()
        )
    }
}

/// The folder that is copied for a project: its repository, where git knows one around it, else the workspace.
#[must_use]
pub fn project_root(workspace_root: &Utf8Path) -> Utf8PathBuf {
    let top = git(workspace_root, &["rev-parse", "--show-toplevel"]).map(|top| Utf8PathBuf::from(top.trim()));
    top.filter(|top| workspace_root.starts_with(top)).unwrap_or_else(|| workspace_root.to_owned())
}

/// Copies the project at `root` to `to`, an empty folder, and makes a repository of it with one commit. What is below `built` is build
/// output, whatever git says of it.
///
/// # Errors
/// When a file can't be read or written. Where there is no git, the copy has no repository.
pub fn copy(root: &Utf8Path, built: &[Utf8PathBuf], to: &Utf8Path) -> Result<Audit> {
    let mut audit = Audit::default();
    let listed = git(root, &["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"]);
    if listed.is_some() {
        audit.commit = git(root, &["rev-parse", "HEAD"]).map(|c| c.trim().to_owned());
        audit.modified = git(root, &["status", "--porcelain"]).is_some_and(|s| !s.is_empty());
        audit.commits_removed =
            git(root, &["rev-list", "--count", "--all"]).and_then(|n| n.trim().parse().ok()).unwrap_or(0);
    }
    let mut files = match listed {
        Some(list) => list.split('\0').filter(|p| !p.is_empty()).map(Utf8PathBuf::from).collect(),
        None => walk(root, Utf8Path::new("")),
    };
    // What git lists as one is a repository of its own.
    let inner: Vec<Utf8PathBuf> = files.iter().filter(|f| is_folder(&root.join(f))).cloned().collect();
    files.retain(|f| !inner.contains(f));
    for folder in inner {
        let folder = Utf8PathBuf::from(folder.as_str().trim_end_matches('/'));
        files.extend(walk(root, &folder));
        audit.nested_repositories.push(folder);
    }
    let built = built.iter().filter_map(|dir| dir.strip_prefix(root).ok());
    let mut built: Vec<_> = built.filter(|dir| !dir.as_str().is_empty() && root.join(dir).exists()).collect();
    built.sort_by_key(|dir| dir.components().count());
    for dir in built {
        if !audit.build_folders.iter().any(|outer| dir.starts_with(outer)) {
            audit.build_folders.push(dir.to_owned());
        }
    }
    files.retain(|f| !audit.build_folders.iter().any(|b| f.starts_with(b)));
    for folder in files.iter().flat_map(|f| f.ancestors().skip(1)).filter(|f| !f.as_str().is_empty()) {
        if root.join(folder).join(".git").exists() && !audit.nested_repositories.iter().any(|n| n == folder) {
            audit.nested_repositories.push(folder.to_owned());
        }
        let ours = crate::bench::set::is_ours(&root.join(folder));
        if (ours || root.join(folder).join(CACHE_TAG).exists()) && !audit.build_folders.iter().any(|b| b == folder) {
            audit.build_folders.push(folder.to_owned());
        }
    }
    files.retain(|f| !audit.build_folders.iter().any(|b| f.starts_with(b)));
    // Cargo.lock pins what the test was traced with, ignored or not.
    let lock = Utf8PathBuf::from("Cargo.lock");
    if !files.contains(&lock) && root.join(&lock).is_file() {
        files.push(lock);
    }
    files.iter().try_for_each(|file| copy_file(root, to, file, &mut audit))?;
    audit.repository = one_commit(to);
    Ok(audit)
}

fn copy_file(root: &Utf8Path, to: &Utf8Path, file: &Utf8Path, audit: &mut Audit) -> Result<()> {
    let (from, new) = (root.join(file), to.join(file));
    // A tracked file may have been deleted.
    let Ok(about) = from.symlink_metadata() else { return Ok(()) };
    if let Some(dir) = new.parent() {
        std::fs::create_dir_all(dir).map_err(Error::path("make the directory", dir))?;
    }
    if about.is_symlink() {
        let target = from.read_link_utf8().map_err(Error::path("read the link", &from))?;
        let inside = from.canonicalize_utf8().is_ok_and(|real| root.canonicalize_utf8().is_ok_and(|r| real.starts_with(r)));
        if target.is_absolute() || !inside {
            audit.links.push(file.to_owned());
            return Ok(());
        }
        std::os::unix::fs::symlink(&target, &new).map_err(Error::path("write", &new))?;
    } else if about.is_file() {
        if is_gist(&from) {
            audit.gists.push(file.to_owned());
            return Ok(());
        }
        std::fs::copy(&from, &new).map_err(Error::path("copy", &from))?;
        audit.bytes += about.len();
    } else {
        return Ok(());
    }
    audit.files += 1;
    Ok(())
}

/// A directory, and not a link to one.
fn is_folder(path: &Utf8Path) -> bool {
    path.symlink_metadata().is_ok_and(|about| about.is_dir())
}

fn is_gist(file: &Utf8Path) -> bool {
    use std::io::Read;
    let mark = format!("//! {}", crate::gist::OF_THE);
    let mut head = Vec::new();
    let read = std::fs::File::open(file).and_then(|f| f.take(mark.len() as u64).read_to_end(&mut head));
    file.extension() == Some("rs") && read.is_ok() && head == mark.as_bytes()
}

/// Files below a folder of the project, by their paths in the project, that no ignore file names; histories left out.
fn walk(root: &Utf8Path, below: &Utf8Path) -> Vec<Utf8PathBuf> {
    let entries = ignore::WalkBuilder::new(root.join(below))
        .hidden(false)
        .require_git(false)
        .filter_entry(|entry| entry.file_name() != ".git")
        .sort_by_file_path(Ord::cmp)
        .build();
    let files = entries.flatten().filter(|e| e.file_type().is_some_and(|t| !t.is_dir()));
    files.filter_map(|e| Utf8Path::from_path(e.path())?.strip_prefix(root).ok().map(Utf8Path::to_owned)).collect()
}

/// A repository with all files in one commit and no other trace; `false` when there is no git.
fn one_commit(dir: &Utf8Path) -> bool {
    let steps: [&[&str]; 3] = [
        &["init", "-q", "-b", "main", "--template="],
        &["add", "-A", "-f"],
        &[
            "-c",
            "core.logAllRefUpdates=false",
            "commit",
            "-q",
            "--no-gpg-sign",
            "--no-verify",
            "--allow-empty",
            "-m",
            "The project",
        ],
    ];
    steps.iter().all(|step| git(dir, step).is_some())
}

/// What git says, when it ends well.
fn git(dir: &Utf8Path, args: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    command.arg("-C").arg(dir).args(args);
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(name);
    }
    if args[0] == "init" || args.contains(&"commit") {
        command.envs(IDENTITY.iter().copied());
    }
    let output = crate::process::run(&mut command, crate::process::Limits::default()).ok()?;
    output.status.success().then(|| output.stdout_text())
}

#[cfg(test)]
mod unit {
    use super::*;
    use crate::compile::{temp_dir, utf8};

    /// A project with all that an agent must not see, in a repository or not.
    fn project(git_there: bool) -> (tempfile::TempDir, Utf8PathBuf) {
        let room = temp_dir().unwrap();
        let root = utf8(room.path()).unwrap().canonicalize_utf8().unwrap().join("project");
        let files = [
            ("Cargo.toml", "[package]"),
            ("Cargo.lock", "# lock"),
            (".gitignore", "Cargo.lock\n/ignored\n"),
            ("ignored", "x"),
            ("src/lib.rs", "pub fn now() {}"),
            ("out/CACHEDIR.TAG", "Signature"),
            ("out/debug/answer.rs", "fn answer() {}"),
            ("build/gistify/gists/mine.rs", "fn answer() {}"),
            ("tests/repro.rs", "//! A gist of the test `a` (--lib)\nfn answer() {}"),
            ("vendor/inner/src/lib.rs", "pub fn inner() {}"),
        ];
        for (name, text) in files {
            std::fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            std::fs::write(root.join(name), text).unwrap();
        }
        std::os::unix::fs::symlink("src/lib.rs", root.join("link")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", root.join("leads_out")).unwrap();
        std::os::unix::fs::symlink("../beside", root.join("leads_beside")).unwrap();
        std::fs::write(root.parent().unwrap().join("beside"), "x").unwrap();
        if git_there {
            assert!(one_commit(&root.join("vendor/inner")));
            std::fs::write(root.join("src/lib.rs"), "pub fn then() {}").unwrap();
            assert!(one_commit(&root));
            std::fs::write(root.join("src/lib.rs"), "pub fn now() {}").unwrap();
            git(&root, &["remote", "add", "origin", "https://example.org/x"]).unwrap();
            git(&root, &["branch", "answer"]).unwrap();
        }
        (room, root)
    }

    fn names(root: &Utf8Path) -> Vec<String> {
        let mut all: Vec<String> = walk(root, Utf8Path::new("")).iter().map(ToString::to_string).collect();
        all.extend(["Cargo.lock", "ignored"].into_iter().filter(|f| root.join(f).exists()).map(str::to_owned));
        all.sort();
        all
    }

    #[test]
    fn a_copy_has_the_files_as_they_are_and_nothing_that_may_hold_the_answer() {
        for git_there in [true, false] {
            let (room, root) = project(git_there);
            let to = utf8(room.path()).unwrap().canonicalize_utf8().unwrap().join("copy");
            std::fs::create_dir(&to).unwrap();
            let audit = copy(&root, &[root.join("build")], &to).unwrap();
            // What git tracks belongs to the project, ignored or not.
            let tracked = ["ignored"].into_iter().filter(|_| git_there);
            let mut expected =
                vec![".gitignore", "Cargo.lock", "Cargo.toml", "link", "src/lib.rs", "vendor/inner/src/lib.rs"];
            expected.extend(tracked);
            expected.sort_unstable();
            assert_eq!(names(&to), expected);
            assert_eq!(std::fs::read_to_string(to.join("src/lib.rs")).unwrap(), "pub fn now() {}");
            let found = |list: &[Utf8PathBuf]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
            assert_eq!(found(&audit.build_folders), ["build", "out"]);
            assert_eq!(found(&audit.gists), ["tests/repro.rs"]);
            assert_eq!(found(&audit.links), ["leads_beside", "leads_out"]);
            assert_eq!((audit.files, audit.modified, audit.repository), (expected.len(), git_there, true));
            if git_there {
                assert_eq!(found(&audit.nested_repositories), ["vendor/inner"]);
                assert_eq!(audit.commits_removed, 1);
            }
            let said = |args: &[&str]| git(&to, args).unwrap();
            assert_eq!(said(&["rev-list", "--count", "--all"]).trim(), "1");
            assert_eq!(
                (said(&["branch", "--all"]).trim(), said(&["remote"]).trim(), said(&["reflog"]).trim()),
                ("* main", "", "")
            );
            assert!(!to.join("vendor/inner/.git").exists() && !to.join(".git/logs").exists());
            assert_eq!(git(&to, &["show", "main:src/lib.rs"]).unwrap(), "pub fn now() {}");
        }
    }
}
