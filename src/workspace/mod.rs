//! Packages, targets, the instrumented build and the rustc calls recorded in it.
//!
//! Invariants: the user's files are never written to; what is built here never makes cargo rebuild what the user
//! has built. Cargo keys workspace members by their wrapper, so our instrumented builds stand beside the user's
//! in the same build directory and share its dependencies; final artifacts go to a directory of our own.

pub mod capture;
pub mod record;
pub mod wrapper;

use crate::cache::Cache;
use crate::error::{Error, Result};
use camino::{Utf8Path, Utf8PathBuf};
use cargo_metadata::{Metadata, Package, PackageId};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::process::Command;

/// What cargo is told, named as cargo names it.
#[derive(Clone, Debug, Default)]
pub struct CargoOptions {
    /// `--manifest-path`
    pub manifest_path: Option<Utf8PathBuf>,
    /// `--package`
    pub packages: Vec<String>,
    /// `--workspace`
    pub workspace: bool,
    /// `--exclude`
    pub exclude: Vec<String>,
    /// `--lib`
    pub lib: bool,
    /// `--bins`
    pub all_bins: bool,
    /// `--bin`
    pub bins: Vec<String>,
    /// `--tests`
    pub all_tests: bool,
    /// `--test`
    pub tests: Vec<String>,
    /// `--examples`
    pub all_examples: bool,
    /// `--example`
    pub examples: Vec<String>,
    /// `--features`
    pub features: Vec<String>,
    /// `--all-features`
    pub all_features: bool,
    /// `--no-default-features`
    pub no_default_features: bool,
    /// `--profile`
    pub profile: Option<String>,
    /// `--target`
    pub target: Option<String>,
    /// `--target-dir`
    pub target_dir: Option<Utf8PathBuf>,
    /// `--jobs`
    pub jobs: Option<String>,
    /// `--locked`
    pub locked: bool,
    /// `--offline`
    pub offline: bool,
    /// `--frozen`
    pub frozen: bool,
    /// Dependencies whose source goes into the bundle.
    pub inline: Inline,
}

/// Dependencies whose source goes into the bundle, besides the workspace's members and path dependencies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Inline {
    /// None.
    #[default]
    None,
    /// Those of these names, `NAME` or `NAME@VERSION`.
    Named(Vec<String>),
    /// All that can be: not procedural macros, nor what links native libraries.
    All,
}

impl CargoOptions {
    /// The arguments every cargo command takes.
    fn common(&self) -> Vec<String> {
        let mut args = Vec::new();
        if let Some(path) = &self.manifest_path {
            args.extend(["--manifest-path".to_owned(), path.to_string()]);
        }
        for (on, flag) in [(self.locked, "--locked"), (self.offline, "--offline"), (self.frozen, "--frozen")] {
            if on {
                args.push(flag.to_owned());
            }
        }
        args
    }

    fn feature_args(&self) -> Vec<String> {
        let mut args = Vec::new();
        for f in &self.features {
            args.extend(["--features".to_owned(), f.clone()]);
        }
        if self.all_features {
            args.push("--all-features".to_owned());
        }
        if self.no_default_features {
            args.push("--no-default-features".to_owned());
        }
        args
    }

    /// What selects packages, targets, features and profile for `cargo test`.
    fn selection(&self) -> Vec<String> {
        let mut args = self.feature_args();
        let mut each = |flag: &str, values: &[String]| {
            for v in values {
                args.extend([flag.to_owned(), v.clone()]);
            }
        };
        each("--package", &self.packages);
        each("--exclude", &self.exclude);
        each("--bin", &self.bins);
        each("--test", &self.tests);
        each("--example", &self.examples);
        each("--profile", self.profile.as_slice());
        each("--target", self.target.as_slice());
        each("--jobs", self.jobs.as_slice());
        let flags = [
            (self.workspace, "--workspace"),
            (self.lib, "--lib"),
            (self.all_bins, "--bins"),
            (self.all_tests, "--tests"),
            (self.all_examples, "--examples"),
        ];
        args.extend(flags.iter().filter(|(on, _)| *on).map(|(_, flag)| (*flag).to_owned()));
        args
    }
}

/// A Cargo project as `cargo metadata` describes it, and where this tool keeps its state.
#[derive(Debug)]
pub struct Workspace {
    /// What cargo says.
    pub metadata: Metadata,
    /// The options it was asked with.
    pub options: CargoOptions,
    /// Cargo's build directory: shared with the user's own builds.
    pub build_dir: Utf8PathBuf,
    /// This tool's own directory, under the target directory.
    pub state_dir: Utf8PathBuf,
    /// Packages outside the workspace whose source goes into the bundle.
    inlined: BTreeSet<PackageId>,
    /// A lock file that cargo made for us where there was none, to be taken away again.
    new_lock_file: Option<Utf8PathBuf>,
}

impl Drop for Workspace {
    fn drop(&mut self) {
        if let Some(path) = &self.new_lock_file {
            // The tree is left as it was found; a file that is gone already is as good.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The cargo that called us, else the one on the path.
#[must_use]
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

impl Workspace {
    /// Asks `cargo metadata`.
    ///
    /// # Errors
    /// [`Error::Metadata`] with cargo's own words.
    pub fn load(options: CargoOptions) -> Result<Workspace> {
        let mut fresh_lock = LockGuard(lock_file(&options).filter(|p| !p.exists()));
        let mut command = cargo();
        command.args(["metadata", "--format-version", "1"]).args(options.common()).args(options.feature_args());
        let out = crate::process::run(&mut command, crate::process::Limits::default())?;
        if !out.status.success() {
            return Err(Error::Metadata(out.stderr_text().trim_end().to_owned()));
        }
        let mut metadata = cargo_metadata::MetadataCommand::parse(out.stdout_text())
            .map_err(|e| Error::Metadata(format!("its answer can't be read: {e}")))?;
        if let Some(dir) = &options.target_dir {
            let dir = if dir.is_absolute() { dir.clone() } else { current_dir()?.join(dir) };
            metadata.build_directory = Some(dir.clone());
            metadata.target_directory = dir;
        }
        let mut build_dir = metadata.build_directory.clone().unwrap_or_else(|| metadata.target_directory.clone());
        let state_dir = metadata.target_directory.join("gistify");
        let inlined = inlined(&metadata, &options.inline)?;
        if !inlined.is_empty() {
            // Their instrumented builds are not the user's, and cargo would not tell them apart.
            let names: Vec<&str> = inlined.iter().map(|id| id.repr.as_str()).collect();
            build_dir = state_dir.join("inline").join(short_digest(&names.join("\n")));
        }
        Ok(Workspace { metadata, options, build_dir, state_dir, inlined, new_lock_file: fresh_lock.0.take() })
    }

    /// What is kept between runs.
    #[must_use]
    pub fn cache(&self) -> Cache {
        Cache::new(self.state_dir.join("cache"))
    }

    /// The package of that id.
    #[must_use]
    pub fn package(&self, id: &PackageId) -> Option<&Package> {
        self.metadata.packages.iter().find(|p| p.id == *id)
    }

    /// Whether the package's source goes into the bundle: one of the workspace's own, a path dependency, one that is asked
    /// for.
    #[must_use]
    pub fn is_bundled(&self, id: &PackageId) -> bool {
        self.metadata.workspace_members.contains(id) || self.inlined.contains(id)
    }

    /// The folders of packages outside the workspace whose source goes into the bundle.
    #[must_use]
    pub fn inlined_dirs(&self) -> Vec<&Utf8Path> {
        self.inlined.iter().filter_map(|id| self.package(id)?.manifest_path.parent()).collect()
    }

    /// The folders of the workspace's members.
    #[must_use]
    pub fn member_dirs(&self) -> Vec<&Utf8Path> {
        self.metadata.workspace_members.iter().filter_map(|id| self.package(id)?.manifest_path.parent()).collect()
    }

    /// Where the recorded calls of rustc are.
    #[must_use]
    pub fn records_dir(&self) -> Utf8PathBuf {
        if self.inlined.is_empty() { self.state_dir.join("records") } else { self.build_dir.join("records") }
    }
}

/// A name for what is made of `text`.
fn short_digest(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(8).map(|b| format!("{b:02x}")).collect()
}

/// The packages outside the workspace whose source goes into the bundle.
fn inlined(metadata: &Metadata, inline: &Inline) -> Result<BTreeSet<PackageId>> {
    let others: Vec<&Package> = metadata.packages.iter().filter(|p| !metadata.workspace_members.contains(&p.id)).collect();
    // A procedural macro's package has tests and examples as well, but no library that could be linked.
    let library = |p: &Package| p.targets.iter().any(|t| t.is_lib() || t.is_rlib() || t.is_dylib());
    let matches = |p: &Package, spec: &str| {
        let (name, version) = spec.split_once('@').map_or((spec, None), |(n, v)| (n, Some(v)));
        p.name.replace('-', "_") == name.replace('-', "_") && version.is_none_or(|v| p.version.to_string() == v)
    };
    if let Inline::Named(specs) = inline {
        for spec in specs {
            let Some(package) = others.iter().find(|p| matches(p, spec)) else {
                return Err(Error::Usage(format!("`--inline {spec}`: no dependency of that name; `cargo tree` shows all")));
            };
            if !library(package) {
                return Err(Error::Usage(format!(
                    "`--inline {spec}`: it is a procedural macro, which the compiler runs, so it can't be in the file"
                )));
            }
        }
    }
    let asked = |p: &Package| match inline {
        Inline::None => false,
        Inline::Named(specs) => specs.iter().any(|s| matches(p, s)),
        Inline::All => p.links.is_none(),
    };
    Ok(others.into_iter().filter(|p| library(p) && (p.source.is_none() || asked(p))).map(|p| p.id.clone()).collect())
}

/// Removes a lock file that cargo made during a call that then failed.
struct LockGuard(Option<Utf8PathBuf>);

impl Drop for LockGuard {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The current directory, as UTF-8.
///
/// # Errors
/// When it is gone or not UTF-8.
pub fn current_dir() -> Result<Utf8PathBuf> {
    let dir = std::env::current_dir().map_err(Error::io("failed to find the current directory"))?;
    Utf8PathBuf::from_path_buf(dir).map_err(|p| Error::Setup(format!("the current directory {} is not UTF-8", p.display())))
}

/// Where the lock file of the project stands or would stand.
fn lock_file(options: &CargoOptions) -> Option<Utf8PathBuf> {
    let mut command = cargo();
    command.args(["locate-project", "--workspace", "--message-format", "plain"]);
    if let Some(path) = &options.manifest_path {
        command.arg("--manifest-path").arg(path);
    }
    let out = crate::process::run(&mut command, crate::process::Limits::default()).ok()?;
    let manifest = Utf8PathBuf::from(out.stdout_text().trim());
    Some(manifest.parent().filter(|p| !p.as_str().is_empty())?.join("Cargo.lock"))
}

/// `path` relative to `base` when it is inside it.
#[must_use]
pub fn relative<'a>(path: &'a Utf8Path, base: &Utf8Path) -> &'a Utf8Path {
    path.strip_prefix(base).unwrap_or(path)
}
