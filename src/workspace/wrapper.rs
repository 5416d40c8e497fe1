//! This binary as cargo's `RUSTC_WORKSPACE_WRAPPER`: records each workspace member's rustc call, adds coverage
//! instrumentation, and becomes the compiler.
//!
//! Build scripts and proc macros are recorded but not instrumented: they would drop profiles while building.
//!
//! For doctests it stands in the place of rustdoc, too, and only writes down what rustdoc is to test.

use super::record::RustcCall;
use crate::error::{Error, Result};
use camino::{Utf8Path, Utf8PathBuf};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Set for the wrapper: the directory that records go to.
pub const RECORDS_VAR: &str = "CARGO_GISTIFY_RECORDS";
/// Set for the wrapper: the workspace wrapper that the user has.
pub const CHAIN_VAR: &str = "CARGO_GISTIFY_CHAIN";
/// Set for the wrapper when it is called for all crates: the folders of the packages that are meant, one a line.
pub const ONLY_VAR: &str = "CARGO_GISTIFY_ONLY";
/// Set when this binary stands in the place of rustdoc: the directory that its calls go to.
pub const RUSTDOC_VAR: &str = "CARGO_GISTIFY_RUSTDOC";
/// What instruments a crate. Counters live in the profile itself, so that a test which aborts leaves one, too.
pub const INSTRUMENT: [&str; 2] = ["-Cinstrument-coverage", "-Cllvm-args=-runtime-counter-relocation"];
/// File in the records directory: the environment cargo was called with, values as hashes.
const BASE_ENV: &str = "base-env.json";

/// Whether this process was started by cargo as a wrapper.
#[must_use]
pub fn is_wrapper(args: &[OsString]) -> bool {
    // Cargo passes the compiler first; people pass a subcommand.
    std::env::var_os(RECORDS_VAR).is_some() && args.len() > 1
}

/// Notes the environment that cargo is about to inherit, so that the wrapper can tell what cargo added.
///
/// # Errors
/// When the file can't be written.
pub fn save_base_env(records: &Utf8Path) -> Result<()> {
    let env: BTreeMap<String, u64> = utf8_env().into_iter().map(|(k, v)| (k, hash(&v))).collect();
    let path = records.join(BASE_ENV);
    let text = serde_json::to_string(&env).map_err(|e| Error::Internal(e.to_string()))?;
    write_atomically(&path, text.as_bytes())
}

/// Records the call and becomes the compiler; or, in the place of rustdoc, records the call and does nothing.
///
/// # Errors
/// When the record can't be written or the compiler can't be started.
pub fn run(args: &[OsString]) -> Result<()> {
    // A wrapper is given the compiler first, rustdoc its options.
    if let (Some(dir), true) = (std::env::var_os(RUSTDOC_VAR), args[1].to_string_lossy().starts_with('-')) {
        return record_rustdoc(args, &dir);
    }
    let chain = std::env::var_os(CHAIN_VAR);
    let mut command = match &chain {
        Some(wrapper) => {
            let mut c = Command::new(wrapper);
            c.arg(&args[1]);
            c
        }
        None => Command::new(&args[1]),
    };
    command.args(&args[2..]).env_remove(CHAIN_VAR).env_remove(RECORDS_VAR).env_remove(ONLY_VAR).env_remove(RUSTDOC_VAR);
    let utf8: Option<Vec<String>> = args[1..].iter().map(|a| a.to_str().map(str::to_owned)).collect();
    if let (Some(all), Some(records)) = (utf8, std::env::var(RECORDS_VAR).ok())
        && is_meant()
        && let Some(call) = member_call(&all, Utf8Path::new(&records))?
    {
        let file = Utf8Path::new(&records).join(record_name(&call));
        let text = serde_json::to_string_pretty(&call).map_err(|e| Error::Internal(e.to_string()))?;
        write_atomically(&file, text.as_bytes())?;
        let types = call.crate_types();
        if !call.crate_name().starts_with("build_script_") && !types.contains(&"proc-macro") {
            command.args(INSTRUMENT);
        }
    }
    let program = command.get_program().to_string_lossy().into_owned();
    Err(Error::io(format!("failed to start {program}"))(command.exec()))
}

/// Whether the crate's package is one whose calls are wanted.
fn is_meant() -> bool {
    let Ok(only) = std::env::var(ONLY_VAR) else { return true };
    std::env::var("CARGO_MANIFEST_DIR").is_ok_and(|dir| only.lines().any(|l| l == dir))
}

/// What this tool itself puts in the environment.
const OUR_OWN: &[&str] = &[
    RECORDS_VAR,
    CHAIN_VAR,
    ONLY_VAR,
    RUSTDOC_VAR,
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC_WRAPPER",
    "RUSTDOC",
    "LLVM_PROFILE_FILE",
];

/// Writes down what rustdoc is to test.
fn record_rustdoc(args: &[OsString], dir: &std::ffi::OsStr) -> Result<()> {
    let all: Option<Vec<String>> = args[1..].iter().map(|a| a.to_str().map(str::to_owned)).collect();
    let (Some(args), Ok(records), Some(dir)) = (all, std::env::var(RECORDS_VAR), dir.to_str()) else {
        return Err(Error::Setup("cargo passed rustdoc an argument that is not UTF-8".into()));
    };
    let call = recorded(String::new(), args, Utf8Path::new(&records))?;
    let text = serde_json::to_string_pretty(&call).map_err(|e| Error::Internal(e.to_string()))?;
    let name = format!("{}-{:x}.json", call.crate_name(), hash(call.root()?.as_str()));
    write_atomically(&Utf8Path::new(dir).join(name), text.as_bytes())
}

/// The call as a record, if it compiles a crate (cargo also asks for versions and cfgs).
fn member_call(all: &[String], records: &Utf8Path) -> Result<Option<RustcCall>> {
    let (rustc, args) = all.split_first().ok_or_else(|| Error::Internal("the wrapper got no compiler".into()))?;
    if !args.iter().any(|a| a.starts_with("--emit")) || args.iter().any(|a| a == "___") {
        return Ok(None);
    }
    recorded(rustc.clone(), args.to_vec(), records).map(Some)
}

/// A call as a record, with what cargo added to the environment.
fn recorded(rustc: String, args: Vec<String>, records: &Utf8Path) -> Result<RustcCall> {
    let base: BTreeMap<String, u64> =
        std::fs::read_to_string(records.join(BASE_ENV)).ok().and_then(|t| serde_json::from_str(&t).ok()).unwrap_or_default();
    let env = utf8_env()
        .into_iter()
        .filter(|(k, v)| base.get(k) != Some(&hash(v)))
        .filter(|(k, _)| !OUR_OWN.contains(&k.as_str()))
        .collect();
    let cwd = super::current_dir()?;
    Ok(RustcCall { rustc, args, cwd, env, tool: tool() })
}

/// What [`RustcCall::tool`] is for records of this version.
#[must_use]
pub fn tool() -> String {
    format!("{} {}", env!("CARGO_PKG_VERSION"), INSTRUMENT.join(" "))
}

/// The file a call is recorded in: the name that the artifact has too, so that a fresh artifact finds its record.
fn record_name(call: &RustcCall) -> String {
    let suffix = call.codegen("extra-filename").last().unwrap_or_default();
    format!("{}{suffix}.json", call.crate_name())
}

/// The record of an artifact (`deps/name-hash`, `deps/libname-hash.rlib`).
#[must_use]
pub fn record_of(artifact: &Utf8Path, records: &Utf8Path) -> Option<Utf8PathBuf> {
    let file = artifact.file_name()?;
    let stem = match artifact.extension() {
        Some("rlib" | "rmeta" | "so" | "dylib" | "a") => artifact.file_stem()?.strip_prefix("lib").unwrap_or(file),
        _ => file,
    };
    Some(records.join(format!("{stem}.json")))
}

fn utf8_env() -> BTreeMap<String, String> {
    std::env::vars_os().filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?))).collect()
}

fn hash(value: &str) -> u64 {
    let mut h = DefaultHasher::new();
    value.hash(&mut h);
    h.finish()
}

/// Writes to a temporary name beside `path` and renames.
///
/// A link is followed, and what is no regular file (`/dev/null`, `/dev/stdout`, a pipe) is written to as it is: a
/// rename would put a file in its place.
///
/// # Errors
/// When either fails; no half-written file is left under `path`.
pub fn write_atomically(path: &Utf8Path, content: &[u8]) -> Result<()> {
    use std::io::Write;
    let real = path.canonicalize_utf8().unwrap_or_else(|_| path.to_owned());
    if real.metadata().is_ok_and(|m| !m.is_file() && !m.is_dir()) {
        let mut file = std::fs::File::options().write(true).open(&real).map_err(Error::path("open", path))?;
        return file.write_all(content).map_err(Error::path("write", path));
    }
    let dir = real.parent().filter(|p| !p.as_str().is_empty()).unwrap_or(Utf8Path::new("."));
    let fail = |e: std::io::Error| Error::path("write", path)(e);
    let mut file = temp_file_in(dir).map_err(fail)?;
    file.write_all(content).map_err(fail)?;
    set_plain_permissions(file.as_file()).map_err(fail)?;
    file.persist(&real).map_err(|e| fail(e.error))?;
    Ok(())
}

/// A temporary file beside a result. Its error is the system's alone: the temporary name says nothing to anybody.
///
/// # Errors
/// When none can be made there.
pub fn temp_file_in(dir: &Utf8Path) -> std::io::Result<tempfile::NamedTempFile> {
    tempfile::NamedTempFile::new_in(dir).map_err(|e| {
        let inner = e.get_ref().and_then(std::error::Error::source).and_then(|s| s.downcast_ref::<std::io::Error>());
        inner.and_then(std::io::Error::raw_os_error).map_or(e, std::io::Error::from_raw_os_error)
    })
}

/// Temporary files are private to their owner; a result should be as readable as any new file.
fn set_plain_permissions(file: &std::fs::File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mask = nix::sys::stat::umask(nix::sys::stat::Mode::empty());
    nix::sys::stat::umask(mask);
    file.set_permissions(std::fs::Permissions::from_mode(0o666 & !mask.bits()))
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn an_artifact_finds_its_record_by_name() {
        let r = Utf8Path::new("/r");
        assert_eq!(record_of("/t/deps/a_b-12".into(), r).unwrap(), "/r/a_b-12.json");
        assert_eq!(record_of("/t/deps/liba-12.rlib".into(), r).unwrap(), "/r/a-12.json");
    }

    #[test]
    fn a_pipe_stays_one_and_a_link_is_followed() {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        let (pipe, link, file) = (dir.join("pipe"), dir.join("link"), dir.join("file"));
        nix::unistd::mkfifo(pipe.as_std_path(), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || std::fs::read_to_string(pipe).unwrap()
        });
        write_atomically(&pipe, b"text").unwrap();
        assert_eq!(reader.join().unwrap(), "text");
        assert!(!pipe.metadata().unwrap().is_file());
        write_atomically(&file, b"old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write_atomically(&link, b"new").unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(std::fs::read(&file).unwrap(), b"new");
    }

    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(dir.path()).unwrap().join("x");
        write_atomically(&path, b"old").unwrap();
        assert!(write_atomically(&path.join("not-a-dir"), b"new").is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
    }
}
