//! The verdict on a gist: built, run, compared.

use super::clean_room::CleanRoom;
use super::embedded::manifest;
use super::inject::{InjectFault, OriginalTest, inject};
use super::outcome::{Comparison, ExitClass, Which, compare};
use super::run::{Entry, GistRan, GistRun, Reference, gist_run};
use super::scan::{beyond, scan};
use super::surroundings::{Surroundings, needed};
use crate::compile::{Checked, Compiler, Diagnostic, FILE_NAME, temp_dir, utf8};
use crate::error::{Error, Result};
use crate::gist::read_manifest;
use crate::sandbox::Kind;
use crate::score::partial::{Partial, partial};
use crate::source::map::SourceMap;
use crate::trace::Coverage;
use crate::workspace::capture::TestTarget;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// The package that a gist with dependencies is: cargo reads it (`insta` asks it for the workspace).
const PACKAGE: &str =
    "[package]\nname = \"gist\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[lib]\npath = \"gist.rs\"\n\n[workspace]\n";

/// The fault classes, in the order they are looked for; the first that applies is the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Nothing was written.
    NoGist,
    /// The test is not in it, or not where it was.
    MissingTest,
    /// The crate under test comes in from outside.
    SelfImport,
    /// It does what a gist must not do.
    Forbidden,
    /// rustc refuses it.
    DoesNotCompile,
    /// A signal, an abort, a time-out.
    Crash,
    /// It ends or prints differently.
    OutputDiffers,
    /// It does what the project does.
    Ok,
}

impl Verdict {
    /// The class as it is written everywhere.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Verdict::NoGist => "no-gist",
            Verdict::MissingTest => "missing-test",
            Verdict::SelfImport => "self-import",
            Verdict::Forbidden => "forbidden",
            Verdict::DoesNotCompile => "does-not-compile",
            Verdict::Crash => "crash",
            Verdict::OutputDiffers => "output-differs",
            Verdict::Ok => "ok",
        }
    }
}

/// A verdict and what it rests on.
#[derive(Debug)]
pub struct Verified {
    /// The fault class, or `ok`.
    pub verdict: Verdict,
    /// Why, for people: a compiler error, a diff, what was found.
    pub reason: String,
    /// The comparison of the outcomes, when it ran.
    pub comparison: Option<Comparison>,
    /// How near it comes, when it ran.
    pub partial: Option<Partial>,
    /// What ran, when it ran.
    pub run: Option<VerificationRun>,
    /// In which surroundings it does what the project does, when it does so only there.
    pub needs: Option<Surroundings>,
}

/// A gist's run.
#[derive(Debug)]
pub struct VerificationRun {
    /// What it was built and run in.
    pub sandbox: Kind,
    /// What was built: the gist with the original test put back into it.
    pub text: String,
    /// What ran of that.
    pub coverage: Coverage,
}

impl VerificationRun {
    /// The count of each executable line of the text; `None` when nothing of it was counted.
    #[must_use]
    pub fn line_counts(&self) -> Option<BTreeMap<usize, u64>> {
        let file = self.coverage.files.iter().position(|f| f.file_name() == Some(FILE_NAME))?;
        Some(self.coverage.line_counts(file))
    }
}

impl Verified {
    /// A verdict without a run.
    #[must_use]
    pub fn fault(verdict: Verdict, reason: impl Into<String>) -> Verified {
        Verified { verdict, reason: reason.into(), comparison: None, partial: None, run: None, needs: None }
    }
}

/// What a gist is verified against.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// The target of the test in the project.
    pub target: &'a TestTarget,
    /// The original text of the test, or of the program's `main`.
    pub original: &'a OriginalTest,
    /// How it ends in the project.
    pub reference: &'a Reference,
    /// What is run, as it is called in the project.
    pub entry: &'a Entry,
    /// Its cases in the gist.
    pub gist_names: &'a [String],
    /// Names of the crates under test.
    pub crates: &'a [String],
    /// Where the project's own dependencies come from, as far as that is git.
    pub repositories: &'a [String],
    /// The project as one text: what it does itself is not held against a gist.
    pub project_text: &'a str,
    /// Where that text comes from.
    pub project_map: &'a SourceMap,
    /// Prefixes of type names in the gist, and what they are in the project.
    pub types: &'a [(String, String)],
    /// For the gist's run.
    pub timeout: Duration,
    /// How often the gist has to do it: at least once.
    pub runs: usize,
    /// The gist is this tool's own, made of the project's text: it may be tried in the project's folder, to see what it needs.
    pub own: bool,
    /// Where it is built and run.
    pub room: CleanRoom<'a>,
}

/// Verifies a gist: looks for what it must not hold, puts the original test back, builds, runs, compares.
///
/// # Errors
/// When the compiler or the executable can't be run; faults of the gist are verdicts.
pub fn verify(gist: &str, map: Option<&SourceMap>, claim: &Claim<'_>, compiler: &Compiler) -> Result<Verified> {
    let injected = match inject(gist, claim.original) {
        Ok(injected) => injected,
        Err(InjectFault::NotRust(e)) => return Ok(Verified::fault(Verdict::DoesNotCompile, e.to_string())),
        Err(e) => return Ok(Verified::fault(Verdict::MissingTest, e.to_string())),
    };
    let found = match scan(gist, claim.crates) {
        Ok(found) => found,
        Err(e) => return Ok(Verified::fault(Verdict::DoesNotCompile, e.to_string())),
    };
    // Most gists hold nothing of the kind: then the project, which may be large, need not be read.
    let mut found = match found.is_empty() {
        true => found,
        false => beyond(found, &scan(claim.project_text, claim.crates).unwrap_or_default()),
    };
    match manifest(gist, claim.crates, claim.repositories) {
        Ok(more) => found.extend(more),
        Err(e) => return Ok(Verified::fault(Verdict::DoesNotCompile, e.to_string())),
    }
    if let Some(f) = found.iter().find(|f| f.kind.is_self_import()).or(found.first()) {
        let verdict = if f.kind.is_self_import() { Verdict::SelfImport } else { Verdict::Forbidden };
        return Ok(Verified::fault(verdict, f.to_string()));
    }
    let map = map.map(|m| m.edited(&injected.pieces).overlaid(&claim.project_map.edited(&injected.put_back)));
    let room = temp_dir()?;
    let dir = utf8(room.path())?;
    let built = match compiler.build(&injected.text, dir, true, Some(&claim.room)) {
        Ok(built) => built,
        Err(Error::TimeOut { what, limit_s }) => {
            return Ok(Verified::fault(Verdict::DoesNotCompile, format!("{what} took longer than {limit_s} s")));
        }
        Err(e) => return Err(e),
    };
    if !built.ok {
        let verdict = if imports(&built, claim.crates) { Verdict::SelfImport } else { Verdict::DoesNotCompile };
        return Ok(Verified::fault(verdict, built.first_error()));
    }
    if read_manifest(gist).is_ok_and(|m| !m.dependencies.is_empty()) {
        // `cargo gistify run` makes a package of it, and macros of dependencies may look for that at run time.
        std::fs::write(dir.join("Cargo.toml"), PACKAGE).map_err(Error::io("failed to write a manifest"))?;
    }
    let run = GistRun {
        text: &injected.text,
        map: map.as_ref(),
        executable: &dir.join("gist"),
        names: claim.gist_names.to_vec(),
        types: claim.types.to_vec(),
    };
    let run_in = |around| gist_run(claim, &run, around);
    let GistRan { mut outcome, coverage, breach } = run_in(Surroundings::Nothing)?;
    let mut comparison = compare(&claim.reference.outcome, &outcome);
    for _ in 1..claim.runs {
        if comparison.equal {
            outcome = run_in(Surroundings::Nothing)?.outcome;
            comparison = compare(&claim.reference.outcome, &outcome);
        }
    }
    let needs = if comparison.equal || !claim.own || matches!(outcome.exit, ExitClass::TimeOut | ExitClass::TooMuchOutput) {
        None
    } else {
        needed(|around| Ok(compare(&claim.reference.outcome, &run_in(around)?.outcome).equal))?
    };
    let verdict = match (&comparison, outcome.exit) {
        (c, _) if c.equal => Verdict::Ok,
        _ if breach.is_some() => Verdict::Crash,
        (_, ExitClass::Signal(_) | ExitClass::TimeOut | ExitClass::TooMuchOutput)
            if claim.reference.outcome.exit != outcome.exit =>
        {
            Verdict::Crash
        }
        _ => Verdict::OutputDiffers,
    };
    let reason = match (verdict, comparison.differs) {
        (Verdict::Ok, _) => String::new(),
        (Verdict::Crash, _) if let Some(breach) = breach => format!("it was ended: {}", breach.name()),
        (_, Some(Which::Exit)) => {
            format!("it ends as {:?}, the original as {:?}\n{}", outcome.exit, claim.reference.outcome.exit, comparison.diff)
        }
        _ => comparison.diff.clone(),
    };
    let run = VerificationRun { sandbox: claim.room.kind(), text: injected.text, coverage };
    let partial = Some(partial(&claim.reference.outcome, &outcome));
    Ok(Verified { verdict, reason, comparison: Some(comparison), partial, run: Some(run), needs })
}

/// Whether rustc misses one of the crates under test: the gist imports what it should hold.
fn imports(checked: &Checked, crates: &[String]) -> bool {
    let unresolved =
        |e: &&Diagnostic| e.code.as_ref().is_some_and(|c| matches!(c.code.as_str(), "E0432" | "E0433" | "E0463"));
    let quoted =
        |message: &str, name: &str| message.contains(&format!("`{name}`")) || message.contains(&format!("`{name}::"));
    checked.errors().filter(unresolved).any(|e| crates.iter().any(|name| quoted(&e.message, name)))
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn cargo_reads_the_package_that_a_gist_is_built_in() {
        let room = temp_dir().unwrap();
        std::fs::write(room.path().join("Cargo.toml"), PACKAGE).unwrap();
        std::fs::write(room.path().join(FILE_NAME), "").unwrap();
        let mut cargo = std::process::Command::new("cargo");
        let asked = cargo.args(["metadata", "--format-version=1", "--no-deps", "--offline"]).current_dir(&room).output();
        let asked = asked.unwrap();
        assert!(asked.status.success(), "{}", String::from_utf8_lossy(&asked.stderr));
    }
}
