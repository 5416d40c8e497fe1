//! Checks a gist again, trusting nothing that the tool says about it: alone in an empty folder, with the crate's
//! own folder taken away, it has to build and the test has to pass.

use super::away::Away;
use super::checkout::Checkout;
use super::child::{self, Logs, cargo, command};
use super::compare::{Comparison, LIBRARY, wrapper};
use super::header::{self, Header};
use super::record::{Compared, Recheck, RunFault};
use super::rows::{Row, Target};
use super::scan;
use super::sources::Sources;
use super::tokens::Rules;
use anyhow::{Context, Result};
use fs_err as fs;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use toml::Table;

/// What the checks of one crate share.
#[derive(Debug)]
pub(super) struct Checker<'a> {
    /// The crate.
    pub(super) checkout: &'a Checkout,
    /// The root file of each of its targets.
    pub(super) roots: BTreeMap<Target, PathBuf>,
    /// An empty folder that is not below the checkout.
    pub(super) clean: &'a Path,
    /// Where dependencies are built.
    pub(super) target_dir: &'a Path,
    /// How long each child may take.
    pub(super) limit: Duration,
}

impl Checker<'_> {
    /// Checks the gist of one test; the children's output is kept in the folder.
    pub(super) fn check(&self, row: &Row, gist: &Path, folder: &Path) -> Result<Recheck> {
        let text = String::from_utf8_lossy(&fs::read(gist)?).into_owned();
        let home = cargo_home();
        let mut faults = scan::faults(
            &text,
            &[Some(self.checkout.root.as_path()), home.as_deref()].map(|p| p.unwrap_or(Path::new("\0"))),
        );
        let sources = Sources::of_text(&text);
        let wrapper = match (&row.key.target, &sources) {
            (Target::Test(name), Ok(sources)) => Some(wrapper(sources, name)),
            (Target::Test(name), Err(_)) => Some(name.replace('-', "_")),
            (Target::Lib, _) => None,
        };
        let compared = match &sources {
            Ok(sources) => self.compare(row, sources, wrapper.clone())?,
            Err(error) => Compared::Differs(format!("the gist does not parse: {error}")),
        };
        let path = wrapper.iter().chain([&row.key.test]).cloned().collect::<Vec<_>>().join("::");
        let run = match header::parse(&text) {
            Err(error) => Some(RunFault { stage: "header".to_owned(), message: format!("{error:#}") }),
            Ok(header) => {
                if let Header::Manifest(manifest) = &header {
                    faults.extend(header::manifest_faults(manifest, &row.key.krate));
                }
                self.run(&header, gist, &path, folder)?
            }
        };
        Ok(Recheck { faults, run, compared })
    }

    fn compare(&self, row: &Row, gist: &Sources, wrapper: Option<String>) -> Result<Compared> {
        let mut original = Sources::default();
        let root = self.roots.get(&row.key.target).with_context(|| format!("no target {}", row.key.target))?;
        original.add_crate(&self.checkout.root, root, &[])?;
        if let (Target::Test(_), Some(library)) = (&row.key.target, self.roots.get(&Target::Lib)) {
            original.add_crate(&self.checkout.root, library, &[LIBRARY.to_owned()])?;
        }
        let rules = Rules {
            library: wrapper.as_ref().map(|_| row.key.krate.replace('-', "_")),
            wrapper,
            edition_2015: row.edition == "2015",
            folder: Some(self.checkout.root.clone()),
        };
        Ok(Comparison { original: &original, gist, test: &row.key.test, place: row.place.as_ref(), rules: &rules }.run())
    }

    /// Builds and runs the gist in the clean folder.
    fn run(&self, header: &Header, gist: &Path, path: &str, folder: &Path) -> Result<Option<RunFault>> {
        let (mut build, mut run) = match self.commands(header, gist)? {
            Ok(commands) => commands,
            Err(message) => return Ok(Some(RunFault { stage: "header".to_owned(), message })),
        };
        // Its own, so that files that other runs have left do not count.
        let temporary = self.clean.join("tmp");
        fs::create_dir(&temporary)?;
        run.args(["--exact", path, "--test-threads", "1"]).env("TMPDIR", &temporary);
        let _away = Away::take(&self.checkout.root)?;
        let logs = Logs::at(folder, "recheck-build");
        let built = child::run(build.current_dir(self.clean), &logs, self.limit)?;
        if !built.success() {
            let errors = String::from_utf8_lossy(&fs::read(&logs.err)?).into_owned();
            let stage = if built.status.is_some() { "build" } else { "time" };
            return Ok(Some(RunFault {
                stage: stage.to_owned(),
                message: format!("{}: {}", built.describe(), first_error(&errors)),
            }));
        }
        let logs = Logs::at(folder, "recheck-run");
        let ran = child::run(run.current_dir(self.clean), &logs, self.limit)?;
        let output = String::from_utf8_lossy(&fs::read(&logs.out)?).into_owned();
        if ran.success() && one_passed(&output) {
            return Ok(None);
        }
        let stage = if ran.status.is_some() { "run" } else { "time" };
        let result = summary(&output).unwrap_or("no test result");
        Ok(Some(RunFault { stage: stage.to_owned(), message: format!("{}: {result}", ran.describe()) }))
    }

    /// Puts the gist into the clean folder; what builds it there and what runs it, or what is wrong with its header.
    pub(super) fn commands(&self, header: &Header, gist: &Path) -> Result<Result<(Command, Command), String>> {
        if self.clean.exists() {
            fs::remove_dir_all(self.clean)?;
        }
        fs::create_dir_all(self.clean)?;
        match header {
            Header::Rustc(arguments) => Ok(Ok(self.with_rustc(arguments, gist)?)),
            Header::Manifest(manifest) => self.with_cargo(manifest, gist),
        }
    }

    /// A gist without dependencies.
    fn with_rustc(&self, arguments: &[String], gist: &Path) -> Result<(Command, Command)> {
        fs::copy(gist, self.clean.join("gist.rs"))?;
        let program = self.clean.join("gist-test");
        let mut build = command(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        build.args(arguments).arg("gist.rs").arg("-o").arg(&program);
        Ok((build, command(program)))
    }

    /// A gist with dependencies, as a package.
    fn with_cargo(&self, manifest: &Table, gist: &Path) -> Result<Result<(Command, Command), String>> {
        let manifest = match header::package_manifest(manifest) {
            Ok(text) => text,
            Err(error) => return Ok(Err(format!("{error:#}"))),
        };
        fs::create_dir_all(self.clean.join("src"))?;
        fs::write(self.clean.join("Cargo.toml"), manifest)?;
        // The crate's own: cargo leaves the versions it has, and drops what is not needed.
        fs::copy(self.checkout.root.join("Cargo.lock"), self.clean.join("Cargo.lock"))?;
        fs::copy(gist, self.clean.join("src/lib.rs"))?;
        let test = || {
            let mut test = cargo();
            test.args(["test", "--offline", "--lib"]).env("CARGO_TARGET_DIR", self.target_dir).env("CARGO_INCREMENTAL", "0");
            test
        };
        let (mut build, mut run) = (test(), test());
        build.arg("--no-run");
        run.arg("--");
        Ok(Ok((build, run)))
    }
}

/// The last `test result:` line.
fn summary(output: &str) -> Option<&str> {
    output.lines().rev().map(str::trim).find(|l| l.starts_with("test result:"))
}

/// Whether the summary says that one test was run, and passed.
pub(super) fn one_passed(output: &str) -> bool {
    summary(output).is_some_and(|l| l.starts_with("test result: ok. 1 passed; 0 failed; 0 ignored;"))
}

/// The first error that rustc or cargo prints, with where it is.
pub(super) fn first_error(stderr: &str) -> String {
    let lines: Vec<&str> = stderr.lines().collect();
    match lines.iter().position(|l| l.starts_with("error")) {
        Some(at) => lines[at..].iter().take(2).map(|l| l.trim()).collect::<Vec<_>>().join(" "),
        None => child::tail(stderr, 3),
    }
}

fn cargo_home() -> Option<PathBuf> {
    std::env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| std::env::home_dir().map(|home| home.join(".cargo")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_one_test_has_to_pass() {
        let line =
            |text: &str| format!("\nrunning 1 test\n\ntest result: {text}; 0 measured; 9 filtered out; finished in 0.00s\n");
        assert!(one_passed(&line("ok. 1 passed; 0 failed; 0 ignored")));
        assert!(!one_passed(&line("ok. 0 passed; 0 failed; 0 ignored")));
        assert!(!one_passed(&line("ok. 0 passed; 0 failed; 1 ignored")));
        assert!(!one_passed(&line("FAILED. 0 passed; 1 failed; 0 ignored")));
        assert!(!one_passed("1 passed"));
    }

    #[test]
    fn first_error_comes_with_its_place() {
        let text = "warning: x\nerror[E0432]: unresolved import\n --> gist.rs:1:2\n  |\nerror: aborting";
        assert_eq!(first_error(text), "error[E0432]: unresolved import --> gist.rs:1:2");
    }
}
