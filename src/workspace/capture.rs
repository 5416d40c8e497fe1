//! The instrumented build: one `cargo test --no-run` (or, for a program, `cargo build`) with this binary as the
//! workspace wrapper.

use super::record::{Extern, RustcCall};
use super::{Workspace, cargo, wrapper};
use crate::error::{Error, Result};
use camino::{Utf8Path, Utf8PathBuf};
use cargo_metadata::{Artifact, Message, PackageId, TargetKind as CargoKind};
use serde::Serialize;
use std::collections::BTreeMap;

/// What kind of target a test belongs to, as cargo selects it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetKind {
    /// Unit tests of the library (`--lib`).
    Lib,
    /// Unit tests of a binary (`--bin NAME`).
    Bin,
    /// An integration test (`--test NAME`).
    Test,
    /// Tests in an example (`--example NAME`).
    Example,
    /// Tests in a benchmark target (`--bench NAME`).
    Bench,
    /// The documentation of the library (`--doc`).
    Doc,
}

impl TargetKind {
    /// The word `list` shows.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            TargetKind::Lib => "unit",
            TargetKind::Bin => "binary",
            TargetKind::Test => "integration",
            TargetKind::Example => "example",
            TargetKind::Bench => "bench",
            TargetKind::Doc => "doc",
        }
    }
}

/// What is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    /// The test executables of the selected targets.
    Tests,
    /// The selected binaries and examples themselves.
    Programs,
    /// The libraries, for their doctests.
    Doctests,
}

impl Build {
    /// What cargo is told.
    fn args(self) -> &'static [&'static str] {
        match self {
            Build::Tests => &["test", "--no-run"],
            Build::Programs => &["build"],
            Build::Doctests => &["test", "--doc"],
        }
    }

    /// Whether an artifact is one that was asked for, and not only built along the way.
    fn is_for(self, artifact: &Artifact) -> bool {
        match self {
            Build::Tests => artifact.profile.test,
            Build::Programs => !artifact.profile.test && !is_build_script(artifact) && artifact.executable.is_some(),
            Build::Doctests => false,
        }
    }
}

/// A target, built and instrumented: with its tests, or as the program that it is.
#[derive(Clone, Debug)]
pub struct TestTarget {
    /// The package.
    pub package_id: PackageId,
    /// The package's name.
    pub package: String,
    /// The package's folder; tests run there.
    pub package_dir: Utf8PathBuf,
    /// What kind of target.
    pub kind: TargetKind,
    /// The target's name, as cargo has it.
    pub name: String,
    /// The instrumented executable.
    pub executable: Utf8PathBuf,
    /// How it was compiled.
    pub call: RustcCall,
    /// The package's own library as it was compiled for it, when it uses one.
    pub library: Option<BuiltCrate>,
    /// Libraries of other packages whose source goes into the bundle, each behind those that it needs.
    pub members: Vec<BuiltCrate>,
    /// The package's own library is the last of the members: see [`TestTarget::with_library_apart`].
    pub library_apart: bool,
}

/// A library whose source goes into the bundle, as it was compiled.
#[derive(Clone, Debug)]
pub struct BuiltCrate {
    /// The package.
    pub package_id: PackageId,
    /// How it was compiled.
    pub call: RustcCall,
    /// The library file, without its extension: cargo passes the `.rmeta` or the `.rlib` of the same artifact.
    artifact: Utf8PathBuf,
}

impl BuiltCrate {
    /// A library and one of its files (`.rmeta`, `.rlib`).
    #[must_use]
    pub fn new(package_id: PackageId, call: RustcCall, file: &Utf8Path) -> BuiltCrate {
        BuiltCrate { package_id, call, artifact: file.with_extension("") }
    }
}

/// Which crate of a bundle an `--extern` stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bundled {
    /// The crate at the root: the package's own library.
    Root,
    /// A library of another package: its number in [`TestTarget::members`].
    Member(usize),
}

/// An `--extern` of a gist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GistExtern {
    /// Its name in the gist.
    pub name: String,
    /// Its name in the crate that uses it.
    pub own_name: String,
    /// The package of the crate that uses it.
    pub package_id: PackageId,
    /// The value of the option, with an absolute path.
    pub argument: String,
    /// The library file without its extension; `None` for crates that rustc finds itself.
    artifact: Option<Utf8PathBuf>,
}

impl TestTarget {
    /// The target as cargo's flags select it.
    #[must_use]
    pub fn selector(&self) -> String {
        match self.kind {
            TargetKind::Lib => "--lib".to_owned(),
            TargetKind::Bin => format!("--bin {}", self.name),
            TargetKind::Test => format!("--test {}", self.name),
            TargetKind::Example => format!("--example {}", self.name),
            TargetKind::Bench => format!("--bench {}", self.name),
            TargetKind::Doc => "--doc".to_owned(),
        }
    }

    /// Which crate of the bundle an `--extern` of one of its crates stands for, if it is one of them.
    #[must_use]
    pub fn bundled(&self, ext: &Extern) -> Option<Bundled> {
        let artifact = ext.path.as_ref()?.with_extension("");
        if let Some(i) = self.members.iter().position(|m| m.artifact == artifact) {
            return Some(if self.stands_for_root(&self.members[i]) { Bundled::Root } else { Bundled::Member(i) });
        }
        self.library.as_ref().is_some_and(|l| l.artifact == artifact).then_some(Bundled::Root)
    }

    /// The same target with its library as one more member: a module of the bundle, of which the test sees no more than
    /// its public items. `None` when there is no library, or when a member was built with it.
    #[must_use]
    pub fn with_library_apart(&self) -> Option<TestTarget> {
        let mut apart = self.clone();
        if apart.members.iter().any(|m| m.package_id == self.package_id) {
            return None;
        }
        apart.members.push(apart.library.take()?);
        apart.library_apart = true;
        Some(apart)
    }

    /// The members that become modules of the bundle, by number.
    pub fn mounted(&self) -> impl Iterator<Item = (usize, &BuiltCrate)> {
        self.members.iter().enumerate().filter(|(_, m)| !self.stands_for_root(m))
    }

    /// The library that a member was built with stands for the one under test, be it built for tests or not.
    fn stands_for_root(&self, member: &BuiltCrate) -> bool {
        member.package_id == self.package_id && !self.library_apart
    }

    /// The crates of the bundle: package and call; the test's own first, then the library, then the members.
    pub fn crates(&self) -> impl Iterator<Item = (&PackageId, &RustcCall)> {
        let built = self.library.iter().chain(&self.members).map(|b| (&b.package_id, &b.call));
        std::iter::once((&self.package_id, &self.call)).chain(built)
    }

    /// What the crates of the bundle are compiled with and is not in it. Where two mean different libraries by one
    /// name, the later one has another name in the gist.
    #[must_use]
    pub fn externs(&self) -> Vec<GistExtern> {
        let mut out: Vec<GistExtern> = Vec::new();
        for (package_id, call) in self.crates() {
            for ext in call.externs() {
                if self.bundled(&ext).is_some() {
                    continue;
                }
                let artifact = ext.path.as_ref().map(|p| p.with_extension(""));
                let same = |e: &&GistExtern| e.own_name == ext.name && e.artifact == artifact;
                let name = match out.iter().find(same) {
                    Some(known) if known.package_id == *package_id => continue,
                    Some(known) => known.name.clone(),
                    None => free_name(&ext.name, |n| out.iter().any(|e| e.name == n)),
                };
                let argument = match (ext.argument.split_once('='), &ext.path) {
                    (Some((head, _)), Some(path)) => format!("{}={}", head.replace(&ext.name, &name), linkable(path)),
                    _ => ext.argument.clone(),
                };
                out.push(GistExtern { name, own_name: ext.name, package_id: package_id.clone(), argument, artifact });
            }
        }
        out
    }
}

impl GistExtern {
    /// Whether it is a library file: rustc finds others (`proc_macro`) itself.
    #[must_use]
    pub fn is_file(&self) -> bool {
        self.artifact.is_some()
    }
}

/// Cargo gives a library that is built the metadata of its dependencies; what is linked needs the whole.
fn linkable(path: &Utf8Path) -> Utf8PathBuf {
    let whole = path.with_extension("rlib");
    if path.extension() == Some("rmeta") && whole.exists() { whole } else { path.to_owned() }
}

/// `name`, with a number behind it when it is taken.
fn free_name(name: &str, taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2..).map(|n| format!("{name}_{n}"));
    std::iter::once(name.to_owned()).chain(numbered).find(|n| !taken(n)).unwrap_or_default()
}

/// Builds the selected targets, instrumented, and gives them with their recorded calls. For doctests these are the
/// libraries with the calls of rustdoc, and without an executable.
///
/// `status` gets cargo's own status lines (`Compiling …`) as they come.
///
/// # Errors
/// [`Error::BuildFailed`] with all that cargo said; [`Error::Usage`] when cargo does not accept the selection.
pub fn build(workspace: &Workspace, what: Build, status: &(dyn Fn(&str) + Sync)) -> Result<Vec<TestTarget>> {
    let records = workspace.records_dir();
    std::fs::create_dir_all(&records).map_err(Error::io("failed to make a directory for records"))?;
    // Calls of rustdoc belong to one run.
    let room = tempfile::Builder::new().prefix("gistify-").tempdir();
    let room = room.map_err(Error::io("failed to make a temporary directory"))?;
    let rustdoc = Utf8Path::from_path(room.path()).filter(|_| what == Build::Doctests);
    let mut artifacts = cargo_build(workspace, what, &records, rustdoc, status)?;
    // An artifact that is fresh but has no record of ours (removed, or by another version of this tool): only a
    // rebuild brings it back.
    let known = |record: &Utf8PathBuf| RustcCall::read(record).is_ok_and(|call| call.tool == wrapper::tool());
    let lost: Vec<Utf8PathBuf> = artifacts
        .iter()
        .filter(|a| workspace.is_bundled(&a.package_id) && !is_build_script(a))
        .flat_map(|a| a.filenames.iter().cloned().chain(hashed_executable(workspace, what, a)))
        .filter(|f| has_hash(workspace, f) && wrapper::record_of(f, &records).is_some_and(|r| !known(&r)))
        .collect();
    if !lost.is_empty() {
        for file in lost {
            let _ = std::fs::remove_file(file);
        }
        artifacts = cargo_build(workspace, what, &records, rustdoc, status)?;
    }
    let libraries = library_records(workspace, &artifacts, &records);
    let mut targets = match rustdoc {
        Some(calls) => documented(workspace, calls, &libraries)?,
        None => Vec::new(),
    };
    let wanted = || artifacts.iter().filter(|a| what.is_for(a));
    for (i, artifact) in wanted().enumerate() {
        // Cargo puts programs of one name in one place: which package's is there can't be told.
        if wanted().take(i).any(|a| a.executable == artifact.executable && a.package_id != artifact.package_id) {
            let name = &artifact.target.name;
            return Err(Error::Usage(format!("several packages have a `{name}`; choose one with `-p`")));
        }
    }
    for artifact in wanted() {
        if let Some(executable) = &artifact.executable {
            let hashed = hashed_executable(workspace, what, artifact);
            targets.push(test_target(workspace, artifact, executable, hashed, &records, &libraries)?);
        }
    }
    targets.sort_by(|a, b| (&a.package, a.kind, &a.name).cmp(&(&b.package, b.kind, &b.name)));
    Ok(targets)
}

/// Whether the file is an intermediate artifact, which has the hash in its name (uplifted copies do not).
fn has_hash(workspace: &Workspace, file: &Utf8Path) -> bool {
    let dir = file.parent().and_then(Utf8Path::file_name);
    matches!(dir, Some("deps" | "examples"))
        && !file.starts_with(out_dir(workspace))
        && matches!(file.extension(), None | Some("rlib" | "rmeta"))
}

/// An artifact's executable under the name that has the hash in it. Cargo names that of a test; of a program it names the
/// uplifted copy, which is the same file under a second name (or has the same content, on another file system).
fn hashed_executable(workspace: &Workspace, what: Build, artifact: &Artifact) -> Option<Utf8PathBuf> {
    let executable = artifact.executable.as_ref().filter(|_| what.is_for(artifact))?;
    if artifact.profile.test {
        return Some(executable.clone());
    }
    let profile = executable.strip_prefix(out_dir(workspace)).ok()?.parent()?;
    let built = workspace.build_dir.join(profile);
    let dir = if built.file_name() == Some("examples") { built } else { built.join("deps") };
    let prefix = format!("{}-", artifact.target.name.replace('-', "_"));
    let named = |f: &Utf8PathBuf| f.extension().is_none() && f.file_name().is_some_and(|n| n.starts_with(&prefix));
    let mut files: Vec<Utf8PathBuf> = dir.read_dir_utf8().ok()?.filter_map(|e| Some(e.ok()?.into_path())).collect();
    files.retain(named);
    let linked = files.iter().find(|f| is_link_of(f, executable));
    linked.or_else(|| files.iter().find(|f| is_copy_of(f, executable))).cloned()
}

/// Two names of one file.
fn is_link_of(a: &Utf8Path, b: &Utf8Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    matches!((a.metadata(), b.metadata()), (Ok(a), Ok(b)) if (a.dev(), a.ino()) == (b.dev(), b.ino()))
}

fn is_copy_of(a: &Utf8Path, b: &Utf8Path) -> bool {
    let size = |f: &Utf8Path| f.metadata().map(|m| m.len()).ok();
    size(a).is_some() && size(a) == size(b) && matches!((std::fs::read(a), std::fs::read(b)), (Ok(a), Ok(b)) if a == b)
}

/// Where cargo puts final artifacts for us.
fn out_dir(workspace: &Workspace) -> Utf8PathBuf {
    workspace.state_dir.join("out")
}

fn is_build_script(artifact: &Artifact) -> bool {
    artifact.target.kind.contains(&CargoKind::CustomBuild)
}

/// Libraries whose source goes into bundles, by their file without its extension. Procedural macros run in the compiler:
/// they can't be in the text.
fn library_records(workspace: &Workspace, artifacts: &[Artifact], records: &Utf8Path) -> BTreeMap<Utf8PathBuf, BuiltCrate> {
    artifacts
        .iter()
        .filter(|a| workspace.is_bundled(&a.package_id) && !a.profile.test && !is_build_script(a))
        .filter(|a| !a.target.kind.contains(&CargoKind::ProcMacro))
        .flat_map(|a| a.filenames.iter().map(move |f| (a, f)))
        .filter_map(|(a, f)| {
            let call = RustcCall::read(&wrapper::record_of(f, records)?).ok()?;
            let built = BuiltCrate::new(a.package_id.clone(), call, f);
            Some((built.artifact.clone(), built))
        })
        .collect()
}

fn test_target(
    workspace: &Workspace,
    artifact: &Artifact,
    executable: &Utf8Path,
    hashed: Option<Utf8PathBuf>,
    records: &Utf8Path,
    libraries: &BTreeMap<Utf8PathBuf, BuiltCrate>,
) -> Result<TestTarget> {
    let record = hashed
        .and_then(|file| wrapper::record_of(&file, records))
        .filter(|r| r.exists())
        .ok_or_else(|| Error::Internal(format!("cargo built {executable} without calling the wrapper")))?;
    let mut call = RustcCall::read(&record)?;
    if call.externs().iter().any(|e| e.name == "proc_macro" && e.path.is_none()) {
        find_dynamic_std(&mut call);
    }
    let package = workspace
        .package(&artifact.package_id)
        .ok_or_else(|| Error::Internal(format!("cargo named an unknown package {}", artifact.package_id)))?;
    let kind = match artifact.target.kind.first() {
        Some(CargoKind::Bin) => TargetKind::Bin,
        Some(CargoKind::Test) => TargetKind::Test,
        Some(CargoKind::Example) => TargetKind::Example,
        Some(CargoKind::Bench) => TargetKind::Bench,
        _ => TargetKind::Lib,
    };
    let (library, members) = used_by(&call, &artifact.package_id, kind, libraries);
    Ok(TestTarget {
        package_id: artifact.package_id.clone(),
        package: package.name.to_string(),
        package_dir: package.manifest_path.parent().unwrap_or(Utf8Path::new("/")).to_owned(),
        kind,
        name: artifact.target.name.clone(),
        executable: executable.to_owned(),
        call,
        library,
        members,
        library_apart: false,
    })
}

/// Tests of a procedural macro's crate link the standard library dynamically: cargo says where it is when it runs them.
fn find_dynamic_std(call: &mut RustcCall) {
    let name = if cfg!(target_os = "macos") { "DYLD_FALLBACK_LIBRARY_PATH" } else { "LD_LIBRARY_PATH" };
    let mut command = std::process::Command::new(&call.rustc);
    command.args(["--print", "target-libdir"]).current_dir(&call.cwd);
    if let Ok(out) = crate::process::run(&mut command, crate::process::Limits::default()) {
        let dir = out.stdout_text().trim().to_owned();
        let others = call.env.get(name).cloned().or_else(|| std::env::var(name).ok()).filter(|o| !o.is_empty());
        call.env.insert(name.to_owned(), others.map_or(dir.clone(), |o| format!("{dir}:{o}")));
    }
}

/// The libraries that a crate needs, at any distance, each behind those that it needs itself.
fn collect(call: &RustcCall, libraries: &BTreeMap<Utf8PathBuf, BuiltCrate>, out: &mut Vec<BuiltCrate>) {
    for ext in call.externs() {
        let Some(built) = ext.path.as_ref().and_then(|p| libraries.get(&p.with_extension(""))) else { continue };
        if !out.iter().any(|b| b.artifact == built.artifact) {
            collect(&built.call, libraries, out);
            out.push(built.clone());
        }
    }
}

/// The library of the package that a target uses, and the libraries of other packages.
fn used_by(
    call: &RustcCall,
    package: &PackageId,
    kind: TargetKind,
    libraries: &BTreeMap<Utf8PathBuf, BuiltCrate>,
) -> (Option<BuiltCrate>, Vec<BuiltCrate>) {
    let mut used = Vec::new();
    collect(call, libraries, &mut used);
    let own = used.iter().position(|b| b.package_id == *package && kind != TargetKind::Lib);
    let library = own.map(|i| used.remove(i));
    (library, used)
}

/// The libraries whose documentation rustdoc was to test, from the calls that were written down.
fn documented(
    workspace: &Workspace,
    calls: &Utf8Path,
    libraries: &BTreeMap<Utf8PathBuf, BuiltCrate>,
) -> Result<Vec<TestTarget>> {
    let mut targets = Vec::new();
    for file in calls.read_dir_utf8().into_iter().flatten().filter_map(|e| Some(e.ok()?.into_path())) {
        let call = RustcCall::read(&file)?;
        let root = call.root()?;
        let all = workspace.metadata.workspace_packages().into_iter();
        let mut all = all.flat_map(|p| p.targets.iter().map(move |t| (p, t)));
        let found = all.find(|(_, t)| t.src_path == root);
        let (package, lib) = found
            .ok_or_else(|| Error::Internal(format!("cargo tests the documentation of {root}, which no package has")))?;
        let (library, members) = used_by(&call, &package.id, TargetKind::Doc, libraries);
        targets.push(TestTarget {
            package_id: package.id.clone(),
            package: package.name.to_string(),
            package_dir: package.manifest_path.parent().unwrap_or(Utf8Path::new("/")).to_owned(),
            kind: TargetKind::Doc,
            name: lib.name.clone(),
            executable: Utf8PathBuf::new(),
            call,
            library,
            members,
            library_apart: false,
        });
    }
    Ok(targets)
}

/// Runs cargo and collects its artifacts.
fn cargo_build(
    workspace: &Workspace,
    what: Build,
    records: &Utf8Path,
    rustdoc: Option<&Utf8Path>,
    status: &(dyn Fn(&str) + Sync),
) -> Result<Vec<Artifact>> {
    wrapper::save_base_env(records)?;
    let this = std::env::current_exe().map_err(Error::io("failed to find this program's own path"))?;
    let options = &workspace.options;
    let mut command = cargo();
    command
        .args(what.args())
        .args(["--message-format", "json-render-diagnostics"])
        .args(options.common())
        .args(options.selection())
        .args(["--target-dir", out_dir(workspace).as_str()])
        .arg("--config")
        .arg(format!("build.build-dir={}", toml::Value::String(workspace.build_dir.to_string())))
        .env(wrapper::RECORDS_VAR, records)
        // Build scripts and proc macros may link instrumented libraries: keep their profiles out of the tree.
        .env("LLVM_PROFILE_FILE", workspace.state_dir.join("build-profiles/%p-%m.profraw"));
    let inlined = workspace.inlined_dirs();
    let kind = if inlined.is_empty() { WrapperKind::Workspace } else { WrapperKind::All };
    command.env(kind.variable(), &this);
    if kind == WrapperKind::All {
        // This one sees every crate, and is told which are meant.
        let dirs: Vec<&str> = inlined.into_iter().chain(workspace.member_dirs()).map(Utf8Path::as_str).collect();
        command.env(wrapper::ONLY_VAR, dirs.join("\n")).env(WrapperKind::Workspace.variable(), "");
    }
    if let Some(chain) = users_wrapper(kind) {
        command.env(wrapper::CHAIN_VAR, chain);
    }
    if let Some(calls) = rustdoc {
        // In the place of rustdoc this binary only writes down how it was called.
        command.env("RUSTDOC", this).env(wrapper::RUSTDOC_VAR, calls);
    }
    let mut artifacts = Vec::new();
    let mut compiler_errors = false;
    let mut said = String::new();
    let exit = crate::process::run_lines(
        &mut command,
        |line| match serde_json::from_str::<Message>(&line) {
            Ok(Message::CompilerArtifact(a)) => artifacts.push(a),
            Ok(Message::CompilerMessage(_) | Message::BuildFinished(_)) => compiler_errors = true,
            _ => {}
        },
        |line| {
            if is_status(&line) {
                status(&line);
            } else {
                said.push_str(&line);
                said.push('\n');
            }
        },
    )?;
    let _ = std::fs::remove_dir_all(workspace.state_dir.join("build-profiles"));
    if exit.success() {
        return Ok(artifacts);
    }
    let said = said.trim_end().to_owned();
    // Without a build, cargo did not accept what was selected.
    Err(if compiler_errors { Error::BuildFailed(said) } else { Error::Usage(said) })
}

/// Cargo's status lines: a right-aligned verb.
fn is_status(line: &str) -> bool {
    let verb = line.trim_start();
    ["Compiling", "Downloading", "Downloaded", "Updating", "Blocking", "Locking", "Adding"]
        .iter()
        .any(|v| verb.starts_with(v))
}

/// Which crates cargo calls a wrapper for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WrapperKind {
    /// The members of the workspace.
    Workspace,
    /// All.
    All,
}

impl WrapperKind {
    /// The variable that names it.
    fn variable(self) -> &'static str {
        match self {
            WrapperKind::Workspace => "RUSTC_WORKSPACE_WRAPPER",
            WrapperKind::All => "RUSTC_WRAPPER",
        }
    }

    /// Cargo's setting for it.
    fn setting(self) -> &'static str {
        match self {
            WrapperKind::Workspace => "build.rustc-workspace-wrapper",
            WrapperKind::All => "build.rustc-wrapper",
        }
    }
}

/// The wrapper of that kind that the user has, from the environment or cargo's configuration, as a path that does not
/// depend on where rustc runs.
fn users_wrapper(kind: WrapperKind) -> Option<String> {
    let from_env = [kind.variable().to_owned(), format!("CARGO_BUILD_{}", kind.variable())]
        .iter()
        .find_map(|name| std::env::var(name).ok())
        .filter(|v| !v.is_empty());
    if let Some(wrapper) = from_env {
        return Some(program_path(&wrapper, &super::current_dir().ok()?));
    }
    let mut command = cargo();
    command.args(["-Zunstable-options", "config", "get", "--show-origin", kind.setting()]).env("RUSTC_BOOTSTRAP", "1");
    let out = crate::process::run(&mut command, crate::process::Limits::default()).ok()?;
    let (wrapper, file) = setting(out.stdout_text().lines().next()?, kind.setting())?;
    // Such paths count from the folder that holds `.cargo/`.
    Some(program_path(&wrapper, file.parent()?.parent()?))
}

/// The value and the file of a line of `cargo config get --show-origin`: `key = "value" # file`.
fn setting(line: &str, key: &str) -> Option<(String, Utf8PathBuf)> {
    let value = line.strip_prefix(key)?.trim_start().strip_prefix('=')?;
    // The value may hold a `#`, too: the first split that leaves a whole value is the right one.
    value.match_indices(" # ").find_map(|(at, mark)| {
        let table: toml::Table = toml::from_str(&format!("value = {}", &value[..at])).ok()?;
        Some((table.get("value")?.as_str()?.to_owned(), value[at + mark.len()..].into()))
    })
}

/// A program as cargo finds it: a bare name on the path, anything else from `base`.
fn program_path(program: &str, base: &Utf8Path) -> String {
    if program.contains('/') { base.join(program).into_string() } else { program.to_owned() }
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn a_setting_is_read_with_its_file() {
        let read = |line: &str| setting(line, WrapperKind::Workspace.setting()).map(|(v, f)| (v, f.into_string()));
        let want = |v: &str, f: &str| Some((v.to_owned(), f.to_owned()));
        assert_eq!(
            read("build.rustc-workspace-wrapper = \"a/b\" # /p/.cargo/config.toml"),
            want("a/b", "/p/.cargo/config.toml")
        );
        assert_eq!(read("build.rustc-workspace-wrapper = \"a # b\" # /p # q/x"), want("a # b", "/p # q/x"));
        assert_eq!(read("build.other = \"a\" # /p"), None);
    }

    #[test]
    fn a_bare_name_stays_one() {
        assert_eq!(program_path("sccache", "/p".into()), "sccache");
        assert_eq!(program_path("./x", "/p".into()), "/p/./x");
        assert_eq!(program_path("/x", "/p".into()), "/x");
    }
}
