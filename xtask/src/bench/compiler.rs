//! rustc as all tools get it: through a script that counts its calls, and can write down their arguments.

use crate::corpus::child::{self, command};
use anyhow::{Context, Result};
use fs_err as fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names the file that gets a byte for each compile.
const CALLS: &str = "BENCH_CALLS";

/// Names the folder that gets a file of arguments for each compile.
const ARGUMENTS: &str = "BENCH_ARGUMENTS";

/// The script. One short write to a file that is open for appending is whole, also when several run at once.
/// Questions (for the version, for `cfg`s) are no compiles.
const SCRIPT: &str = r#"#!/bin/sh
for argument in "$@"; do
    case $argument in
        -vV | -V | --version | --print | --print=*) exec "RUSTC" "$@" ;;
    esac
done
if [ -n "$BENCH_CALLS" ]; then printf . >> "$BENCH_CALLS"; fi
if [ -n "$BENCH_ARGUMENTS" ]; then printf '%s\0' "$@" > "$BENCH_ARGUMENTS/$$"; fi
exec "RUSTC" "$@"
"#;

/// The counting compiler.
#[derive(Clone, Debug)]
pub(super) struct Compiler {
    /// The script.
    pub(super) program: PathBuf,
    /// What `rustc --version` prints.
    pub(super) version: String,
}

impl Compiler {
    /// Writes the script. It calls the toolchain's own rustc, so that no one pays for a shim in front of it.
    pub(super) fn make(work: &Path) -> Result<Self> {
        let rustc = || command(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        let version = child::output(rustc().arg("--version"), work, "rustc-version")?.trim().to_owned();
        let sysroot = child::output(rustc().args(["--print", "sysroot"]), work, "rustc-sysroot")?;
        let real = Path::new(sysroot.trim()).join("bin/rustc");
        let program = work.join("rustc");
        fs::write(&program, SCRIPT.replace("RUSTC\"", &format!("{}\"", real.display())))?;
        fs::set_permissions(&program, PermissionsExt::from_mode(0o755))?;
        Ok(Self { program, version })
    }

    /// Lets a child and its children use it, and count into a file.
    pub(super) fn count(&self, child: &mut Command, calls: &Path) -> Result<()> {
        fs::write(calls, "")?;
        child.env("RUSTC", &self.program).env(CALLS, calls);
        Ok(())
    }

    /// Lets a child use it, and write down each compile's arguments in a folder, which is emptied.
    pub(super) fn record(&self, child: &mut Command, folder: &Path) -> Result<()> {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        fs::create_dir_all(folder)?;
        child.env("RUSTC", &self.program).env(ARGUMENTS, folder);
        Ok(())
    }
}

/// How many compiles were counted.
pub(super) fn counted(calls: &Path) -> Result<u64> {
    Ok(fs::metadata(calls)?.len())
}

/// The arguments of the one recorded compile that made the test executable.
pub(super) fn test_call(folder: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let text = fs::read_to_string(entry?.path())?;
        let arguments: Vec<String> = text.split_terminator('\0').map(str::to_owned).collect();
        if arguments.iter().any(|a| a == "--test") {
            found.push(arguments);
        }
    }
    anyhow::ensure!(found.len() < 2, "cargo made {} test executables where one was asked for", found.len());
    found.pop().context("cargo made no test executable")
}

/// What is left of a recorded call for a compile of another text in its place: edition, libraries, `cfg`s and
/// code generation, without the library under test, which is in the text, and without what costs time and changes
/// no result (debug info, lints).
pub(super) fn replayed(recorded: &[String], library: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut words = recorded.iter();
    while let Some(word) = words.next() {
        let (flag, value) = match word.as_str() {
            "-C" | "--extern" | "-L" | "--out-dir" | "--emit" | "--error-format" | "--json" | "--cap-lints"
            | "--diagnostic-width" => (word.as_str(), words.next().cloned().unwrap_or_default()),
            _ if word.starts_with("-C") => ("-C", word[2..].to_owned()),
            _ => match word.split_once('=') {
                Some((flag, value)) if flag.starts_with("--") => (flag, value.to_owned()),
                _ => (word.as_str(), String::new()),
            },
        };
        let codegen = value.split('=').next().unwrap_or_default();
        let extern_name = codegen.rsplit(':').next().unwrap_or_default();
        let dropped = match flag {
            "--out-dir" | "--emit" | "--error-format" | "--json" | "--cap-lints" | "--diagnostic-width" => true,
            "-C" => matches!(codegen, "metadata" | "extra-filename" | "incremental" | "debuginfo"),
            "--extern" => extern_name == library,
            _ => Path::new(word).extension().is_some_and(|e| e == "rs") && !word.starts_with('-'),
        };
        match flag {
            _ if dropped => {}
            "-C" | "--extern" | "-L" => out.extend([flag.to_owned(), value]),
            _ => out.push(word.clone()),
        }
    }
    out.extend(["--emit", "link", "-C", "debuginfo=0", "--cap-lints", "allow"].map(str::to_owned));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn replayed_call_keeps_what_decides_the_result() {
        let recorded = words(
            "--crate-name t --edition=2021 tests/t.rs --error-format=json --json=artifacts --emit=dep-info,link \
             -C embed-bitcode=no -C debuginfo=2 --test --cfg feature=\"a\" -C metadata=1 -C extra-filename=-1 --out-dir /t \
             -C incremental=/i -L dependency=/t/deps --extern libc=/t/liblibc.rlib --extern priv:the_lib=/t/lib.rlib",
        );
        assert_eq!(
            replayed(&recorded, "the_lib"),
            words(
                "--crate-name t --edition=2021 -C embed-bitcode=no --test --cfg feature=\"a\" -L dependency=/t/deps \
                 --extern libc=/t/liblibc.rlib --emit link -C debuginfo=0 --cap-lints allow"
            )
        );
    }

    #[test]
    fn compiles_are_counted_and_questions_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let compiler = Compiler::make(dir.path()).unwrap();
        assert!(compiler.version.starts_with("rustc "));
        let calls = dir.path().join("calls");
        fs::write(dir.path().join("a.rs"), "fn f() {}").unwrap();
        let mut sh = Command::new("sh");
        let script =
            "\"$RUSTC\" -vV > v && \"$RUSTC\" --crate-type lib --emit metadata a.rs 2> e && \"$RUSTC\" --print cfg a.rs > c";
        sh.args(["-c", script]).current_dir(dir.path());
        compiler.count(&mut sh, &calls).unwrap();
        let arguments = dir.path().join("arguments");
        compiler.record(&mut sh, &arguments).unwrap();
        assert!(sh.status().unwrap().success());
        assert_eq!(counted(&calls).unwrap(), 1);
        assert!(test_call(&arguments).is_err());
        let recorded = fs::read_dir(&arguments).unwrap().next().unwrap().unwrap().path();
        assert_eq!(fs::read_to_string(recorded).unwrap(), "--crate-type\0lib\0--emit\0metadata\0a.rs\0");
    }
}
