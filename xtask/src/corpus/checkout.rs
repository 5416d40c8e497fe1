//! Checkouts of the corpus's crates, made with cargo alone.
//!
//! A scratch package pinned to the exact versions is fetched (cargo verifies the checksums), `cargo metadata`
//! says where each source lies, and it is copied. Each copy gets the corpus's lock file, so that `--offline`
//! works afterwards, and an empty `[workspace]` table, since it may lie below this repository's own workspace.

use super::child::{cargo, output};
use super::rows::Target;
use anyhow::{Context, Result};
use fs_err as fs;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// One crate's checkout.
#[derive(Clone, Debug)]
pub(crate) struct Checkout {
    /// The crate's name.
    pub(crate) name: String,
    /// Its version.
    pub(crate) version: String,
    /// Its folder.
    pub(crate) root: PathBuf,
}

/// What `cargo metadata` prints, as far as it is of use here.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    manifest_path: PathBuf,
    targets: Vec<MetaTarget>,
}

#[derive(Deserialize)]
struct MetaTarget {
    name: String,
    kind: Vec<String>,
    src_path: PathBuf,
}

/// Makes the checkouts that are not there yet, below a folder.
///
/// `crates` are names and versions; `locks` is the folder of lock files.
pub(crate) fn make(work: &Path, locks: &Path, crates: &[(String, String)]) -> Result<Vec<Checkout>> {
    let folder = work.join("crates");
    fs::create_dir_all(&folder)?;
    let all: Vec<Checkout> = crates
        .iter()
        .map(|(name, version)| Checkout {
            name: name.clone(),
            version: version.clone(),
            root: folder.join(format!("{name}-{version}")),
        })
        .collect();
    for checkout in &all {
        super::away::bring_back(&checkout.root)?;
    }
    let missing: Vec<&Checkout> = all.iter().filter(|c| !c.root.is_dir()).collect();
    if missing.is_empty() {
        return Ok(all);
    }
    let scratch = work.join("scratch");
    let found = fetch(&scratch, &missing)?;
    for checkout in missing {
        eprintln!("    Fetching {} {}", checkout.name, checkout.version);
        let source = found
            .get(&(checkout.name.clone(), plain(&checkout.version).to_owned()))
            .with_context(|| format!("cargo metadata does not list {} {}", checkout.name, checkout.version))?;
        // Under another name until it is complete, so that what is there is whole.
        let partial = folder.join(format!("{}.partial", checkout.name));
        if partial.exists() {
            fs::remove_dir_all(&partial)?;
        }
        copy_tree(source, &partial)?;
        prepare(&partial, &locks.join(format!("{}.lock", checkout.name)))?;
        output(cargo().args(["fetch", "-q", "--locked"]).current_dir(&partial), &scratch, "fetch")?;
        fs::rename(&partial, &checkout.root)?;
    }
    Ok(all)
}

/// The root files of the crate's targets, from the crate's folder: the library's and the integration tests'.
pub(crate) fn roots(checkout: &Checkout, logs: &Path) -> Result<BTreeMap<Target, PathBuf>> {
    let metadata = metadata(&checkout.root, &["--no-deps"], logs)?;
    let root = fs::canonicalize(&checkout.root)?;
    let mut out = BTreeMap::new();
    for target in metadata.packages.into_iter().flat_map(|p| p.targets) {
        let key = match target.kind.first().map(String::as_str) {
            Some("test") => Target::Test(target.name),
            Some("lib" | "rlib" | "proc-macro" | "dylib" | "cdylib" | "staticlib") => Target::Lib,
            _ => continue,
        };
        let file = fs::canonicalize(&target.src_path)?;
        out.insert(key, file.strip_prefix(&root).unwrap_or(&file).to_owned());
    }
    Ok(out)
}

/// Fetches the crates' sources; where each lies, by name and version.
fn fetch(scratch: &Path, crates: &[&Checkout]) -> Result<BTreeMap<(String, String), PathBuf>> {
    if scratch.exists() {
        fs::remove_dir_all(scratch)?;
    }
    fs::create_dir_all(scratch.join("src"))?;
    fs::write(scratch.join("src/lib.rs"), "")?;
    fs::write(scratch.join("Cargo.toml"), scratch_manifest(crates))?;
    output(cargo().args(["fetch", "-q"]).current_dir(scratch), scratch, "fetch")?;
    let metadata = metadata(scratch, &[], scratch)?;
    let folder = |p: &Path| p.parent().map(Path::to_owned).context("a manifest without a folder");
    metadata.packages.into_iter().map(|p| Ok(((p.name, plain(&p.version).to_owned()), folder(&p.manifest_path)?))).collect()
}

fn scratch_manifest(crates: &[&Checkout]) -> String {
    let mut out = String::from(
        "[package]\nname = \"scratch\"\nversion = \"0.0.0\"\nedition = \"2021\"\npublish = false\n\n[workspace]\n\n[dependencies]\n",
    );
    for c in crates {
        writeln!(out, "{} = {{ version = \"={}\", default-features = false }}", c.name, plain(&c.version))
            .expect("writing to a string");
    }
    out
}

/// `cargo metadata` in a folder.
fn metadata(folder: &Path, options: &[&str], logs: &Path) -> Result<Metadata> {
    let mut command = cargo();
    command.args(["metadata", "--offline", "--format-version", "1"]).args(options).current_dir(folder);
    serde_json::from_str(&output(&mut command, logs, "metadata")?).context("the output of cargo metadata")
}

/// A version without its build metadata, which cargo ignores in requirements.
fn plain(version: &str) -> &str {
    version.split('+').next().unwrap_or(version)
}

/// Makes a copied source a project that builds here: no registry marker, no toolchain of its own, its own
/// workspace, and the corpus's lock file.
fn prepare(root: &Path, lock: &Path) -> Result<()> {
    let set_aside = |name: &str| -> Result<()> {
        if root.join(name).is_file() {
            fs::rename(root.join(name), root.join(format!("{name}.shipped")))?;
        }
        Ok(())
    };
    for name in ["rust-toolchain", "rust-toolchain.toml", "Cargo.lock"] {
        set_aside(name)?;
    }
    if root.join(".cargo-ok").exists() {
        fs::remove_file(root.join(".cargo-ok"))?;
    }
    fs::write(root.join("Cargo.lock"), fs::read(lock)?)?;
    let manifest = root.join("Cargo.toml");
    let mut text = fs::read_to_string(&manifest)?;
    if !text.parse::<toml::Table>()?.contains_key("workspace") {
        text.push_str("\n[workspace]\n");
        fs::write(&manifest, text)?;
    }
    Ok(())
}

fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else {
            // Through the contents, so that a read-only registry does not make read-only checkouts.
            fs::write(&target, fs::read(entry.path())?)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prepared_source_is_a_project_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("c");
        fs::create_dir_all(&root).unwrap();
        fs::write(root.join("Cargo.toml"), "[package]\nname = \"c\"\n").unwrap();
        fs::write(root.join(".cargo-ok"), "").unwrap();
        fs::write(root.join("Cargo.lock"), "theirs").unwrap();
        fs::write(root.join("rust-toolchain.toml"), "").unwrap();
        fs::write(dir.path().join("c.lock"), "ours").unwrap();
        prepare(&root, &dir.path().join("c.lock")).unwrap();
        let text = |name: &str| fs::read_to_string(root.join(name)).unwrap();
        assert_eq!((text("Cargo.lock"), text("Cargo.lock.shipped")), ("ours".to_owned(), "theirs".to_owned()));
        assert!(text("Cargo.toml").ends_with("[workspace]\n"));
        assert!(!root.join(".cargo-ok").exists() && !root.join("rust-toolchain.toml").exists());
    }

    #[test]
    fn scratch_manifest_pins_versions_without_build_metadata() {
        let c = Checkout { name: "x".to_owned(), version: "1.0.0+zstd".to_owned(), root: PathBuf::new() };
        assert!(scratch_manifest(&[&c]).contains("x = { version = \"=1.0.0\", default-features = false }"));
    }
}
