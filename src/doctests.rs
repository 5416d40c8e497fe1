//! Doctests: what rustdoc makes of the examples in a library's documentation, each as a program of its own.
//!
//! rustdoc itself says which there are and what their code is (`--output-format=doctest`), hidden lines, `fn main` and
//! `?` included. Each becomes a file under the state directory and is compiled as rustdoc compiles it, with coverage.

use crate::error::{Error, Result};
use crate::process::{Limits, run};
use crate::program::Program;
use crate::tests::Test;
use crate::workspace::capture::{TargetKind, TestTarget};
use crate::workspace::record::RustcCall;
use crate::workspace::wrapper::{INSTRUMENT, write_atomically};
use crate::workspace::{Workspace, relative};
use camino::{Utf8Path, Utf8PathBuf};
use serde::Deserialize;
use std::process::Command;

/// The crate that a doctest is.
const CRATE: &str = "doctest";

/// A doctest and the program that it is.
#[derive(Clone, Debug)]
pub struct Doctest {
    /// Its name, as `cargo test --doc` has it, and its place.
    pub test: Test,
    /// The whole program.
    code: String,
    /// Why it is not run.
    refused: Option<&'static str>,
}

/// rustdoc's answer.
#[derive(Deserialize)]
struct Extracted {
    doctests: Vec<Found>,
}

#[derive(Deserialize)]
struct Found {
    file: Utf8PathBuf,
    line: usize,
    name: String,
    doctest_attributes: Attributes,
    original_code: String,
    doctest_code: Option<Code>,
}

#[derive(Deserialize)]
struct Attributes {
    should_panic: bool,
    no_run: bool,
    ignore: serde_json::Value,
    rust: bool,
    compile_fail: bool,
    edition: Option<String>,
}

#[derive(Deserialize)]
struct Code {
    crate_level: String,
    code: String,
    wrapper: Option<Wrapper>,
}

#[derive(Deserialize)]
struct Wrapper {
    before: String,
    after: String,
}

impl Found {
    /// Why rustdoc does not run it.
    fn refused(&self) -> Option<&'static str> {
        let a = &self.doctest_attributes;
        match &a.ignore {
            _ if a.compile_fail => Some("it is marked `compile_fail`: there is nothing to run"),
            serde_json::Value::String(word) if word == "None" => {
                a.no_run.then_some("it is marked `no_run`: it is compiled and never run")
            }
            _ => Some("it is marked `ignore`: rustdoc does not run it"),
        }
    }

    /// The program that rustdoc makes of it.
    fn program(&self) -> String {
        match &self.doctest_code {
            None => self.original_code.clone(),
            Some(Code { crate_level, code, wrapper: None }) => format!("{crate_level}{code}\n"),
            Some(Code { crate_level, code, wrapper: Some(w) }) => format!("{crate_level}{}{code}{}\n", w.before, w.after),
        }
    }
}

/// The doctests of a library, each as a target of its own, not compiled yet; `dir` is where executables will go.
///
/// # Errors
/// [`Error::ListFailed`] with what rustdoc says.
pub fn list(workspace: &Workspace, library: &TestTarget, dir: &Utf8Path) -> Result<Vec<(TestTarget, Doctest)>> {
    let extracted = extract(library)?;
    let of_rust = extracted.doctests.into_iter().filter(|f| f.doctest_attributes.rust);
    Ok(of_rust
        .enumerate()
        .map(|(i, found)| target(workspace, library, &found, dir.join(format!("{}-{i}", library.package))))
        .collect())
}

fn extract(library: &TestTarget) -> Result<Extracted> {
    let fail = |reason: String| Error::ListFailed { target: format!("{} --doc", library.package), reason };
    let mut command = Command::new(rustdoc(library)?);
    command
        .args(&library.call.args)
        .args(["-Zunstable-options", "--output-format=doctest"])
        .current_dir(&library.call.cwd)
        .envs(&library.call.env)
        .env("RUSTC_BOOTSTRAP", "1");
    let out = run(&mut command, Limits::default())?;
    if !out.status.success() {
        return Err(fail(out.stderr_text().trim().to_owned()));
    }
    serde_json::from_slice(&out.stdout).map_err(|e| fail(format!("rustdoc's answer can't be read: {e}")))
}

/// The rustdoc of the compiler that the library was built with, unless the user has chosen one.
fn rustdoc(library: &TestTarget) -> Result<Utf8PathBuf> {
    if let Some(chosen) = std::env::var("RUSTDOC").ok().filter(|v| !v.is_empty()) {
        return Ok(chosen.into());
    }
    let mut command = Command::new(rustc(library));
    command.args(["--print", "sysroot"]).current_dir(&library.call.cwd);
    Ok(Utf8Path::new(run(&mut command, Limits::default())?.stdout_text().trim()).join("bin/rustdoc"))
}

fn rustc(library: &TestTarget) -> &str {
    library.library.as_ref().map_or("rustc", |l| &l.call.rustc)
}

fn target(workspace: &Workspace, library: &TestTarget, found: &Found, executable: Utf8PathBuf) -> (TestTarget, Doctest) {
    let slug: String = found.name.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
    let file = workspace.state_dir.join("doctests").join(&library.package).join(format!("{slug}.rs"));
    let cwd = &library.call.cwd;
    let edition = found.doctest_attributes.edition.as_deref().unwrap_or_else(|| library.call.edition());
    let mut args = vec!["--crate-name".to_owned(), CRATE.to_owned(), format!("--edition={edition}")];
    // What panics print is the path that rustc is given.
    args.push(relative(&file, cwd).to_string());
    args.extend(compiler_args(&library.call));
    let call = RustcCall { rustc: rustc(library).to_owned(), args, ..library.call.clone() };
    let test = Test {
        package: library.package.clone(),
        target_kind: TargetKind::Doc,
        target: library.name.clone(),
        name: found.name.clone(),
        file: Some(cwd.join(&found.file)),
        line: found.line,
        column: 1,
        ignored: found.doctest_attributes.ignore != "None",
        should_panic: found.doctest_attributes.should_panic,
        group: None,
    };
    let doctest = Doctest { test, code: found.program(), refused: found.refused() };
    (TestTarget { executable, call, ..library.clone() }, doctest)
}

/// Of rustdoc's arguments those that it hands on to rustc.
fn compiler_args(call: &RustcCall) -> Vec<String> {
    const HANDED_ON: &[&str] = &["--extern", "-L", "--cfg", "-C", "--target", "-Z"];
    let mut out = Vec::new();
    let mut args = call.args.iter();
    while let Some(arg) = args.next() {
        if HANDED_ON.contains(&arg.as_str()) {
            out.push(arg.clone());
            out.extend(args.next().cloned());
        } else if HANDED_ON.iter().any(|flag| arg.starts_with(flag)) {
            out.push(arg.clone());
        }
    }
    out
}

impl Doctest {
    /// How it is called.
    #[must_use]
    pub fn program(&self, dir: &Utf8Path) -> Program {
        Program { name: CRATE.into(), args: Vec::new(), stdin: None, dir: dir.to_owned(), by_cargo: true }
    }

    /// Compiles it, with coverage, to the executable of its target.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for one that is not run; [`Error::BuildFailed`] with what rustc says.
    pub fn compile(&self, target: &TestTarget) -> Result<()> {
        if let Some(reason) = self.refused {
            return Err(Error::Unsupported { test: self.test.name.clone(), reason: reason.into() });
        }
        let root = target.call.root()?;
        if let Some(dir) = root.parent() {
            std::fs::create_dir_all(dir).map_err(Error::path("make the directory", dir))?;
        }
        write_atomically(&root, self.code.as_bytes())?;
        let mut command = Command::new(&target.call.rustc);
        command
            .args(&target.call.args)
            .args(INSTRUMENT)
            .args(["--cap-lints=allow", "-o", target.executable.as_str()])
            .current_dir(&target.call.cwd)
            .envs(&target.call.env);
        let out = run(&mut command, Limits::default())?;
        if out.status.success() { Ok(()) } else { Err(Error::BuildFailed(out.stderr_text().trim_end().to_owned())) }
    }
}
