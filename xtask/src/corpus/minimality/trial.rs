//! Builds and runs variants of one gist: with rustc alone, called as the second check of the corpus calls it.

use super::super::child::{self, Logs, command};
use super::super::header::{Header, words};
use super::super::recheck::{Checker, first_error, one_passed};
use anyhow::{Context, Result, ensure};
use fs_err as fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// What a panic says that shows that a function was called.
const MARK: &str = "gistify-minimality-reached";

/// How variants of a gist are built.
#[derive(Debug)]
pub(super) struct Bench {
    program: String,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    /// The test's path in the gist.
    test: String,
    /// Where it is done.
    folder: PathBuf,
    limit: Duration,
}

impl Bench {
    /// Prepares the trials of a gist: its dependencies are built.
    pub(super) fn new(checker: &Checker<'_>, header: &Header, gist: &std::path::Path, test: String) -> Result<Self> {
        let (mut build, _) = checker.commands(header, gist)?.map_err(anyhow::Error::msg)?;
        let call = match header {
            Header::Rustc(arguments) => {
                let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
                [vec![rustc], arguments.clone()].concat()
            }
            Header::Manifest(_) => {
                let logs = Logs::at(checker.clean, "trial-build");
                let ended = child::run(build.arg("-vv").current_dir(checker.clean), &logs, child::PATIENT)?;
                let printed = fs::read_to_string(&logs.err)?;
                ensure!(ended.success(), "{}: {}", ended.describe(), first_error(&printed));
                last_call(&printed)?
            }
        };
        let mut call = call.into_iter().peekable();
        let mut environment = Vec::new();
        while let Some((name, value)) = call.peek().and_then(|word| word.split_once('=')) {
            environment.push((name.to_owned(), value.to_owned()));
            call.next();
        }
        let program = call.next().context("no rustc in the call")?;
        let arguments = without_output(call);
        Ok(Self { program, arguments, environment, test, folder: checker.clean.to_owned(), limit: checker.limit })
    }

    /// Whether a text compiles, as far as its types go.
    pub(super) fn checks(&self, text: &str) -> Result<bool> {
        self.compiles(text, &["--emit=metadata", "-o", "trial.rmeta"])
    }

    /// Whether a text compiles and its test passes.
    pub(super) fn passes(&self, text: &str) -> Result<bool> {
        Ok(self.outcome(text)?.is_some_and(|(ended, output)| ended && one_passed(&output)))
    }

    /// Whether the test reaches a place where a text has [`Bench::statement`].
    pub(super) fn reaches(&self, text: &str) -> Result<bool> {
        Ok(self.outcome(text)?.is_some_and(|(_, output)| output.contains(MARK)))
    }

    /// What is put where it matters whether the test comes by.
    pub(super) fn statement() -> String {
        format!(" if true {{ panic!({MARK:?}) }} ")
    }

    fn outcome(&self, text: &str) -> Result<Option<(bool, String)>> {
        if !self.compiles(text, &["-C", "debuginfo=0", "-o", "trial-test"])? {
            return Ok(None);
        }
        // Its own, so that files that other runs have left do not count.
        let temporary = self.folder.join("tmp");
        if temporary.exists() {
            fs::remove_dir_all(&temporary)?;
        }
        fs::create_dir(&temporary)?;
        let mut run = command(self.folder.join("trial-test"));
        run.args(["--exact", &self.test, "--test-threads", "1", "--nocapture"]).env("TMPDIR", &temporary);
        let logs = Logs::at(&self.folder, "trial-run");
        let ended = child::run(run.current_dir(&self.folder), &logs, self.limit)?;
        let read = |file| fs::read(file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        Ok(Some((ended.success(), read(&logs.err)? + "\n" + &read(&logs.out)?)))
    }

    fn compiles(&self, text: &str, output: &[&str]) -> Result<bool> {
        fs::write(self.folder.join("trial.rs"), text)?;
        let mut rustc: Command = command(&self.program);
        rustc.envs(self.environment.iter().map(|(name, value)| (name, value))).args(&self.arguments);
        rustc.args(["trial.rs", "--cap-lints", "allow"]).args(output).current_dir(&self.folder);
        Ok(child::run(&mut rustc, &Logs::at(&self.folder, "trial-rustc"), self.limit)?.success())
    }
}

/// The words of the last rustc call that cargo says that it ran.
fn last_call(printed: &str) -> Result<Vec<String>> {
    // A value in the environment may have several lines (a package's description), and backticks at the end of one.
    let call = |rest: &str| rest.match_indices("`\n").find_map(|(end, _)| words(&rest[..end]).ok());
    let calls = printed.split("Running `").skip(1).filter_map(call);
    let crates = calls.filter(|call| call.iter().any(|word| word == "--crate-name"));
    crates.last().context("cargo does not say how it calls rustc")
}

/// The arguments of a call, but not those about its input, its output and how it prints errors.
fn without_output(call: impl Iterator<Item = String>) -> Vec<String> {
    let mut out = Vec::new();
    let mut call = call;
    while let Some(word) = call.next() {
        let about_output = ["--emit", "--out-dir", "--error-format", "--json", "--diagnostic-width"];
        if about_output.iter().any(|name| word.starts_with(name)) {
            if !word.contains('=') {
                call.next();
            }
            continue;
        }
        if word == "-C" {
            let value = call.next().unwrap_or_default();
            let about_files = ["extra-filename=", "incremental=", "debuginfo="].iter().any(|name| value.starts_with(name));
            if !about_files {
                out.extend([word, value]);
            }
            continue;
        }
        if !word.ends_with(".rs") || word.contains('=') {
            out.push(word);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_is_read_from_what_cargo_prints() {
        let printed = "     Running `A=1 rustc --crate-name dep x.rs`\n     Running `B='a b' rustc --crate-name gist \
                       --edition=2021 src/lib.rs --error-format=json --emit=dep-info,link -C opt-level=1 --test -C \
                       extra-filename=-1 --out-dir /t --extern d=/t/d.rlib`\n     Executable lib.rs (/t/gist)\n";
        let call = last_call(printed).unwrap();
        assert_eq!(call[..4], ["B=a b", "rustc", "--crate-name", "gist"]);
        let rest = without_output(call.into_iter().skip(2));
        assert_eq!(
            rest,
            ["--crate-name", "gist", "--edition=2021", "-C", "opt-level=1", "--test", "--extern", "d=/t/d.rlib"]
        );
    }

    #[test]
    fn a_call_may_have_several_lines() {
        let printed = "     Running `A='one `a`\n`b`\ntwo' rustc --crate-name gist src/lib.rs`\n    Finished `test`\n";
        assert_eq!(last_call(printed).unwrap()[..3], ["A=one `a`\n`b`\ntwo", "rustc", "--crate-name"]);
    }

    #[test]
    fn no_call_is_an_error() {
        assert!(last_call("    Fresh gist v0.0.0\n").is_err());
    }
}
