//! `cargo gistify bench plan`: a set of tasks from projects.

use super::super::agent::workspace_root;
use super::super::args::{ProgramArgs, SelectionArgs};
use super::super::make::{ends_the_run, forget_parsed};
use super::super::shell::Shell;
use super::super::work::{Work, work};
use super::args::PlanArgs;
use camino::{Utf8Path, Utf8PathBuf};
use cargo_gistify::agent::tree::link_tree;
use cargo_gistify::agent::workspace::{copy, project_root};
use cargo_gistify::bench::consider::{Dropped, Gold, consider};
use cargo_gistify::bench::harbor::{self, dockerfile, task_toml, test_sh};
use cargo_gistify::bench::k8s;
use cargo_gistify::bench::order::cells;
use cargo_gistify::bench::set::{
    self, FUNNEL, Funnel, MANIFEST, Manifest, Project, TaskEntry, TestName, hardest, in_sample_order, task_id, tree_digest,
    write_json,
};
use cargo_gistify::error::{Error, ExitCode, Result};
use cargo_gistify::process::{self, Limits};
use cargo_gistify::road::{AskOptions, Session};
use cargo_gistify::sandbox::Sandbox;
use cargo_gistify::screen::ScreenOptions;
use cargo_gistify::task::Task;
use cargo_gistify::trace::CoverageMap;
use cargo_gistify::verify::clean_room::CleanRoom;
use cargo_gistify::workspace::capture::TestTarget;
use cargo_gistify::workspace::{Inline, cargo};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::time::{Duration, SystemTime};

/// How often a test is run in the project before it is believed.
const SCREEN_RUNS: usize = 3;
/// Seconds that an agent has, as the task says; who runs it may say otherwise.
const AGENT_S: u32 = 1800;

/// Tests of projects that are taken before others.
pub(super) type Preferred = BTreeMap<String, BTreeSet<TestName>>;

pub(super) fn plan(args: &PlanArgs, cargo_words: &[String], shell: &Shell) -> Result<u8> {
    if args.k8s.k8s && args.output.join(MANIFEST).is_file() {
        print_job(args)?;
        return Ok(ExitCode::Verified as u8);
    }
    let sources: Vec<_> = args.projects.iter().map(|source| (source.clone(), None)).collect();
    let code = made(args, &sources, cargo_words, &Preferred::new(), shell, |_, _, _| Ok(()))?;
    if args.k8s.k8s && args.output.join(MANIFEST).is_file() {
        print_job(args)?;
    }
    Ok(code)
}

/// Prints the job of Kubernetes that runs a matrix over the set.
fn print_job(args: &PlanArgs) -> Result<()> {
    let (manifest, digest) = Manifest::load(&args.output)?;
    let agents: BTreeSet<String> = args.k8s.agents.iter().cloned().collect();
    let job = k8s::job(&k8s::Facts {
        image: args.k8s.image.as_deref().unwrap_or_default(),
        claim: &args.k8s.claim,
        agents: &args.k8s.agents,
        attempts: args.k8s.attempts,
        cells: cells(manifest.tasks.keys(), &agents, args.k8s.attempts).len(),
        pods: args.k8s.pods,
        suffix: &digest[..8],
    });
    anstream::print!("{job}");
    Ok(())
}

/// Makes a set of sources, some of which have their names already; `finish` sees it before it is put in its place.
pub(super) fn made(
    args: &PlanArgs,
    sources: &[(String, Option<String>)],
    cargo_words: &[String],
    preferred: &Preferred,
    shell: &Shell,
    finish: impl FnOnce(&Utf8Path, &Manifest, &BTreeMap<String, Funnel>) -> Result<()>,
) -> Result<u8> {
    let output = &args.output;
    if output.symlink_metadata().is_ok() {
        return Err(Error::Usage(format!("{output} is there already; name a new folder, or remove it")));
    }
    if let Some(flag) = args.cargo.not_for_sets() {
        return Err(Error::Usage(format!(
            "`{flag}` is not for `bench plan`: name projects by their folders; doctests make no tasks yet"
        )));
    }
    let sandbox = Sandbox::open(args.sandbox.into())?;
    // Half a set must not look like one, and what a killed run leaves is told by its name.
    let parent = output.parent().filter(|p| !p.as_str().is_empty()).unwrap_or(Utf8Path::new("."));
    std::fs::create_dir_all(parent).map_err(Error::path("make the directory", parent))?;
    let room =
        tempfile::Builder::new().prefix(".gistify-plan-").tempdir_in(parent).map_err(Error::path("write to", parent))?;
    let dir = Utf8Path::from_path(room.path()).ok_or_else(|| Error::Usage(format!("{output} is not UTF-8")))?;
    let dir = dir.canonicalize_utf8().map_err(Error::path("find", dir))?;
    let plan = Plan { args, preferred, dir: &dir, sandbox: &sandbox, shell, toolchain: toolchain()? };
    let mut manifest = Manifest {
        schema: set::SCHEMA,
        made_by: format!("cargo-gistify {}", env!("CARGO_PKG_VERSION")),
        toolchain: plan.toolchain.clone(),
        cargo: cargo_words.to_vec(),
        seed: args.seed,
        per_package: args.per_package as usize,
        hard: args.hard,
        keep_failing: args.keep_failing,
        expires: args.expiry.map(|days| set::day(SystemTime::now(), days)),
        projects: BTreeMap::new(),
        tasks: BTreeMap::new(),
    };
    let mut funnels = BTreeMap::new();
    let mut code = ExitCode::Verified;
    for (source, name) in sources {
        let name = name.clone().unwrap_or_else(|| free_name(source, &manifest));
        match plan.project(source, &name, &mut manifest) {
            Ok(funnel) => {
                shell.status("Planned", &format!("{name}: {}", funnel.line()));
                funnels.insert(name, funnel);
            }
            Err(e) if !args.keep_going || ends_the_run(&e) => return Err(e),
            Err(e) => {
                shell.error(&format!("{source} is left out: {e}"));
                code = if code == ExitCode::Verified { e.exit_code() } else { code };
                plan.forget(&name, &mut manifest)?;
            }
        }
    }
    if let Some(n) = args.hard {
        let keep = hardest(&manifest.tasks, n as usize);
        for (id, _) in manifest.tasks.extract_if(.., |id, _| !keep.contains(id)) {
            let folder = dir.join("tasks").join(&id);
            std::fs::remove_dir_all(&folder).map_err(Error::path("remove", &folder))?;
        }
    }
    if manifest.tasks.is_empty() {
        shell.error("no test makes a task; the lines above say at which stage they went");
        for (test, reason) in funnels.values().flat_map(|f| f.dropped.values().flatten()).take(10) {
            shell.warn(&format!("{}: {reason}", test.test));
        }
        return Ok(ExitCode::NoTest as u8);
    }
    finish(&dir, &manifest, &funnels)?;
    write_json(&dir.join(FUNNEL), &funnels)?;
    write_json(&dir.join(MANIFEST), &manifest)?;
    // Build output names the folder that it was built in.
    let built = dir.join("build");
    std::fs::remove_dir_all(&built).map_err(Error::path("remove", &built))?;
    std::fs::rename(&dir, output).map_err(Error::path("make", output))?;
    shell.status("Set", &format!("{} tasks of {} projects in {output}", manifest.tasks.len(), manifest.projects.len()));
    Ok(code as u8)
}

struct Plan<'a> {
    args: &'a PlanArgs,
    preferred: &'a Preferred,
    dir: &'a Utf8Path,
    sandbox: &'a Sandbox,
    shell: &'a Shell,
    toolchain: String,
}

impl Plan<'_> {
    /// A project and its tasks.
    fn project(&self, source: &str, name: &str, manifest: &mut Manifest) -> Result<Funnel> {
        let project = self.fetched(source, name)?;
        manifest.projects.insert(name.to_owned(), project);
        self.tasks_of(name, manifest)
    }

    /// Takes back what there is of a project.
    fn forget(&self, name: &str, manifest: &mut Manifest) -> Result<()> {
        manifest.projects.remove(name);
        let tasks = manifest.tasks.extract_if(.., |_, task| task.project == name);
        let tasks = tasks.map(|(id, _)| self.dir.join("tasks").join(id)).collect::<Vec<_>>();
        let folders = tasks.into_iter().chain(["projects", "build"].map(|part| self.dir.join(part).join(name)));
        folders
            .chain([self.dir.join("clone")])
            .filter(|folder| folder.exists())
            .try_for_each(|folder| std::fs::remove_dir_all(&folder).map_err(Error::path("remove", &folder)))
    }

    /// A copy of a project, with a lock file.
    fn fetched(&self, source: &str, name: &str) -> Result<Project> {
        let to = self.dir.join("projects").join(name);
        std::fs::create_dir_all(&to).map_err(Error::path("make the directory", &to))?;
        self.shell.stage("Copying", source);
        let (root, workspace, audit) = if is_address(source) {
            let clone = self.dir.join("clone");
            clone_of(source, &clone)?;
            let audit = copy(&clone, &[], &to)?;
            std::fs::remove_dir_all(&clone).map_err(Error::path("remove", &clone))?;
            (clone, Utf8PathBuf::new(), audit)
        } else {
            let folder = Utf8Path::new(source).canonicalize_utf8().map_err(|_| {
                Error::Usage(format!("there is no folder `{source}`; name a project's folder, or a repository's address"))
            })?;
            let root = project_root(&workspace_of(&folder));
            let workspace = folder.strip_prefix(&root).unwrap_or(Utf8Path::new("")).to_owned();
            let target = std::env::var("CARGO_TARGET_DIR").map_or_else(|_| folder.join("target"), Utf8PathBuf::from);
            let audit = copy(&root, &[target], &to)?;
            (root, workspace, audit)
        };
        let manifest = to.join(&workspace).join("Cargo.toml");
        if !manifest.is_file() {
            let at = root.join(&workspace);
            return Err(Error::Usage(format!("there is no Cargo.toml in {at}; name a folder with a crate or a workspace")));
        }
        // A lock file that git ignores pins the dependencies all the same.
        let (own, copied) = [&root, &to].map(|dir| dir.join(&workspace).join("Cargo.lock")).into();
        if own.is_file() && !copied.exists() {
            std::fs::copy(&own, &copied).map_err(Error::path("copy", &own))?;
        }
        if !has_lock(&manifest) {
            // Tasks must be the same tomorrow.
            let flags = self.args.cargo.lock_words();
            let arguments = ["generate-lockfile", "--manifest-path", manifest.as_str()].into_iter().chain(flags);
            said(cargo().args(arguments), "cargo generate-lockfile")?;
        }
        Ok(Project { source: name_of(source), workspace, digest: tree_digest(&to)?, audit })
    }

    /// Sends the tests of a project through the funnel.
    fn tasks_of(&self, name: &str, manifest: &mut Manifest) -> Result<Funnel> {
        let project = manifest.projects[name].clone();
        let at = self.dir.join("projects").join(name).join(&project.workspace).join("Cargo.toml");
        let cargo = self.args.cargo.clone().of(at, self.dir.join("build").join(name));
        let selection = SelectionArgs { cargo, ..SelectionArgs::default() };
        let Work { workspace, targets, _room } = work(&selection, &ProgramArgs::default(), Inline::None, self.shell)?;
        let mut funnel = Funnel::default();
        let mut by_package: BTreeMap<&str, Vec<(usize, &Task)>> = BTreeMap::new();
        for (i, (target, tasks)) in targets.iter().enumerate() {
            funnel.tests += tasks.iter().map(|t| t.tests().len()).sum::<usize>();
            funnel.grouped += tasks.len();
            by_package.entry(&target.package).or_default().extend(tasks.iter().map(|task| (i, task)));
        }
        let room = CleanRoom::new(self.sandbox);
        let options = ScreenOptions { ignored: false, timeout: Duration::from_secs(self.args.timeout), runs: SCREEN_RUNS };
        let stage = |verb: &str, what: &str| self.shell.stage(verb, what);
        // Of each target that is asked for: what its tests share, or why it can't be worked on.
        let mut opened: BTreeMap<usize, std::result::Result<(Session<'_>, CoverageMap), String>> = BTreeMap::new();
        for (_, tasks) in by_package {
            let mut tasks = in_sample_order(tasks, self.args.seed, |(i, task)| test_name(&targets[*i].0, task));
            // What an older set has is kept while it holds.
            let preferred = self.preferred.get(name);
            tasks.sort_by_key(|(i, task)| !preferred.is_some_and(|own| own.contains(&test_name(&targets[*i].0, task))));
            let mut taken = 0;
            for (i, task) in tasks {
                if taken == self.args.per_package {
                    break;
                }
                let target = &targets[i].0;
                let test = test_name(target, task);
                funnel.looked_at += 1;
                forget_parsed();
                if let std::collections::btree_map::Entry::Vacant(free) = opened.entry(i) {
                    let session = Session::open(&workspace, target, self.sandbox, &stage);
                    let both = session.and_then(|s| Ok((s, CoverageMap::load(&[&target.executable])?)));
                    free.insert(match both {
                        Err(e) if ends_the_run(&e) => return Err(e),
                        other => other.map_err(|e| e.to_string()),
                    });
                }
                stage("Considering", &task.what());
                let found = match &opened[&i] {
                    Err(reason) => Err(Dropped { stage: "unsupported", reason: reason.clone() }),
                    Ok((session, map)) => {
                        match consider(session, target, task, map, &room, options, self.args.keep_failing)? {
                            Ok(gold) => {
                                self.write(session, task, &test, &gold, name, manifest)?;
                                Ok(())
                            }
                            Err(dropped) => Err(dropped),
                        }
                    }
                };
                match found {
                    Ok(()) => taken += 1,
                    Err(Dropped { stage, reason }) => {
                        funnel.dropped.entry(stage.to_owned()).or_default().push((test, reason));
                    }
                }
            }
            funnel.tasks += taken as usize;
        }
        Ok(funnel)
    }

    /// Writes a task.
    fn write(
        &self,
        session: &Session<'_>,
        task: &Task,
        test: &TestName,
        gold: &Gold,
        name: &str,
        manifest: &mut Manifest,
    ) -> Result<()> {
        let project = &manifest.projects[name];
        let id = task_id(test, name, &project.digest);
        let dir = self.dir.join("tasks").join(&id);
        let ask =
            AskOptions { execution: true, timeout: Some(Duration::from_secs(self.args.timeout)), ..AskOptions::default() };
        let (instruction, _) = session.ask(task, Utf8Path::new(harbor::GIST), &ask, &|_, _| ())?;
        let facts = harbor::Facts {
            id: &id,
            project: name,
            project_digest: &project.digest,
            workspace: &project.workspace,
            test,
            cargo: &manifest.cargo,
            difficulty: gold.difficulty,
            toolchain: &self.toolchain,
            agent_s: AGENT_S,
        };
        let toml = task_toml(&facts).map_err(|e| Error::Internal(e.to_string()))?;
        let files = [
            ("task.toml", toml.as_str()),
            ("instruction.md", &instruction),
            ("environment/Dockerfile", &dockerfile(&facts)),
            ("tests/test.sh", &test_sh(&facts)),
            ("solution/solve.sh", harbor::SOLVE_SH),
            ("solution/gist.rs", &gold.gist),
        ];
        for (file, text) in files {
            let file = dir.join(file);
            if let Some(folder) = file.parent() {
                std::fs::create_dir_all(folder).map_err(Error::path("make the directory", folder))?;
            }
            std::fs::write(&file, text).map_err(Error::path("write", &file))?;
        }
        let entry = TaskEntry {
            project: name.to_owned(),
            test: test.clone(),
            difficulty: gold.difficulty,
            digest: tree_digest(&dir)?,
        };
        // Who takes the folder by itself has all that it needs.
        let copy = dir.join("environment/project");
        std::fs::create_dir_all(&copy).map_err(Error::path("make the directory", &copy))?;
        link_tree(&self.dir.join("projects").join(name), &copy)?;
        manifest.tasks.insert(id, entry);
        Ok(())
    }
}

fn test_name(target: &TestTarget, task: &Task) -> TestName {
    TestName { package: target.package.clone(), target: target.selector(), test: task.name().to_owned() }
}

/// What a project is called in a set, if no other has that name.
pub(super) fn name_in_set(source: &str) -> String {
    let address = if is_address(source) { address_and_commit(source).0 } else { source };
    let path = Utf8Path::new(address).canonicalize_utf8().unwrap_or_else(|_| address.into());
    path.file_name().unwrap_or("project").trim_end_matches(".git").to_owned()
}

/// A name for a project that no other has.
fn free_name(source: &str, manifest: &Manifest) -> String {
    let last = name_in_set(source);
    let names = std::iter::once(last.clone()).chain((2_u32..).map(|n| format!("{last}-{n}")));
    names.into_iter().find(|name| !manifest.projects.contains_key(name)).unwrap_or(last)
}

/// Whether it is a repository's address, and no folder.
pub(super) fn is_address(source: &str) -> bool {
    (source.contains("://") || source.starts_with("git@")) && !Utf8Path::new(source).exists()
}

/// What a set says of where a project came from.
fn name_of(source: &str) -> String {
    if !is_address(source) {
        let path = Utf8Path::new(source).canonicalize_utf8().unwrap_or_else(|_| source.into());
        return path.file_name().unwrap_or("project").to_owned();
    }
    // Who logs in, and with what, is nobody's business.
    let Some((scheme, rest)) = source.split_once("://") else { return source.to_owned() };
    let host = rest.find('/').unwrap_or(rest.len());
    let login = rest[..host].rfind('@').map_or(0, |at| at + 1);
    format!("{scheme}://{}", &rest[login..])
}

/// `ADDRESS@COMMIT`, taken apart: the commit, branch or tag is what stands behind the last `@` of the path. An address may have an `@` before that, for who
/// logs in.
pub(super) fn address_and_commit(source: &str) -> (&str, Option<&str>) {
    let path = match source.split_once("://") {
        Some((scheme, rest)) => scheme.len() + 3 + rest.find('/').unwrap_or(rest.len()),
        None => source.find(':').unwrap_or(0),
    };
    match source[path..].split_once('@') {
        Some((folder, commit)) if !commit.is_empty() => (&source[..path + folder.len()], Some(commit)),
        _ => (source, None),
    }
}

/// The repository at `ADDRESS@COMMIT`, or at its default branch.
fn clone_of(source: &str, to: &Utf8Path) -> Result<()> {
    let (address, commit) = address_and_commit(source);
    let mut clone = Command::new("git");
    clone.args(["clone", "--quiet", "--recurse-submodules", "--", address, to.as_str()]);
    said(&mut clone, "git clone")?;
    if let Some(commit) = commit {
        let git = |args: &[&str]| {
            let mut git = Command::new("git");
            git.arg("-C").arg(to).args(args);
            git
        };
        // A branch is the other side's: a clone has its own of the default one alone.
        let names = [commit.to_owned(), format!("origin/{commit}")];
        let is_there = |name: &String| {
            let known = git(&["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{name}^{{commit}}")]);
            process::run(&mut { known }, Limits::default()).is_ok_and(|output| output.status.success())
        };
        let name = names
            .iter()
            .find(|name| is_there(name))
            .ok_or_else(|| Error::Usage(format!("there is no commit, branch or tag `{commit}` in {}", name_of(address))))?;
        said(&mut git(&["checkout", "--quiet", "--recurse-submodules", "--detach", name]), "git checkout")?;
    }
    Ok(())
}

/// Runs a command that has to succeed.
fn said(command: &mut Command, what: &str) -> Result<()> {
    command.env("GIT_TERMINAL_PROMPT", "0");
    let output = process::run(command, Limits::default())?;
    match output.status.success() {
        true => Ok(()),
        false => Err(Error::Setup(format!("{what} failed: {}", output.stderr_text().trim()))),
    }
}

/// The workspace around a folder; the folder itself where cargo knows of none.
fn workspace_of(folder: &Utf8Path) -> Utf8PathBuf {
    workspace_root(Some(&folder.join("Cargo.toml"))).unwrap_or_else(|| folder.to_owned())
}

/// Whether the workspace of a manifest has a lock file: it stands there, or in a folder above when it is a member.
fn has_lock(manifest: &Utf8Path) -> bool {
    workspace_root(Some(manifest)).is_some_and(|root| root.join("Cargo.lock").is_file())
}

/// The version of rustc.
fn toolchain() -> Result<String> {
    let output = process::run(Command::new("rustc").arg("--version"), Limits::default())?;
    let text = output.stdout_text();
    text.split_whitespace().nth(1).map(str::to_owned).ok_or_else(|| Error::Setup("rustc does not tell its version".into()))
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn an_address_is_told_from_its_commit_and_from_who_logs_in() {
        let taken = |source| (address_and_commit(source), name_of(source));
        assert_eq!(
            taken("https://me:secret@host/a/crate.git@1a2b"),
            (("https://me:secret@host/a/crate.git", Some("1a2b")), "https://host/a/crate.git@1a2b".into())
        );
        assert_eq!(taken("https://me@host/crate"), (("https://me@host/crate", None), "https://host/crate".into()));
        assert_eq!(taken("git@host:a/crate.git"), (("git@host:a/crate.git", None), "git@host:a/crate.git".into()));
        let branch = "https://me@host/a/crate.git@feature/new@2";
        assert_eq!(address_and_commit(branch), ("https://me@host/a/crate.git", Some("feature/new@2")));
        assert_eq!(
            taken("git@host:a/crate.git@v1"),
            (("git@host:a/crate.git", Some("v1")), "git@host:a/crate.git@v1".into())
        );
    }
}
