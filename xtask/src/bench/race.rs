//! This tool and the others on the same test: the others get the full bundle that this tool makes, and a check that
//! asks of it what this tool's verifier asks.

use super::check::{self, Check, Outcome};
use super::compiler::{self, Compiler, counted};
use super::cost::{self, Subject, rounded};
use super::record::{Race, Setting, ToolName};
use super::size::Size;
use crate::corpus::checkout::Checkout;
use crate::corpus::child::{self, Logs, cargo, command};
use crate::corpus::rows::{Key, Target};
use anyhow::{Context, Result, bail, ensure};
use fs_err as fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What all runs share.
#[derive(Debug)]
pub(super) struct Track<'a> {
    /// This tool.
    pub(super) tool: &'a Path,
    /// The compiler.
    pub(super) compiler: &'a Compiler,
    /// Where runs are kept.
    pub(super) work: &'a Path,
    /// When a tool is stopped.
    pub(super) limit: Duration,
    /// How often this tool is measured.
    pub(super) repeat: usize,
    /// How many cores there are.
    pub(super) cores: usize,
}

/// A test that is ready for all tools.
#[derive(Debug)]
pub(super) struct Start<'a> {
    checkout: &'a Checkout,
    key: &'a Key,
    /// Where everything about the test is.
    folder: PathBuf,
    check: Check,
    bundle: Size,
}

/// What a tool says of its version; how it is installed when it is not there.
pub(super) fn version(name: ToolName, work: &Path) -> Result<String> {
    let (program, how) = match name {
        ToolName::Gistify => bail!("it is built, not installed"),
        ToolName::Treereduce => ("treereduce-rust", "cargo install --locked treereduce-rust"),
        ToolName::Cvise => ("cvise", "apt-get install cvise"),
    };
    let text = child::output(command(program).arg("--version"), work, "version")
        .with_context(|| format!("{program} can't be run; install it with `{how}`, or leave it out with --tools"))?;
    // `treereduce-rust` leaves its own name out.
    Ok(text.trim().replacen("treereduce ", "treereduce-rust ", 1))
}

impl Track<'_> {
    /// Makes the bundle and the check, and finds out how the test ends in the bundle.
    pub(super) fn start<'a>(&self, checkout: &'a Checkout, key: &'a Key) -> Result<Start<'a>> {
        let slug = format!("{}-{}-{}", key.krate, key.target.to_string().replace(':', "-"), key.test.replace("::", "."));
        let folder = self.work.join("race").join(slug);
        fs::create_dir_all(&folder)?;
        let arguments = self.recorded(checkout, key, &folder)?;
        let bundle = folder.join("bundle.rs");
        let mut make = command(self.tool);
        make.args(["gistify", "--offline"]).args(key.target.args()).args(["--exact", &key.test, "--level", "bundle", "-o"]);
        child::output(make.arg(&bundle).current_dir(&checkout.root), &folder, "bundle")?;
        let text = fs::read_to_string(&bundle)?;
        let test = match &key.target {
            Target::Lib => key.test.clone(),
            Target::Test(name) => format!("{}::{}", crate::corpus::compare::wrapper(&of_text(&text)?, name), key.test),
        };
        let tokens = check::test_tokens(&text, &test)
            .with_context(|| format!("neither a function nor a macro call of the bundle is seen to make `{test}`"))?;
        let check = Check {
            rustc: self.compiler.program.clone(),
            arguments: compiler::replayed(&arguments, &key.krate.replace('-', "_")),
            test,
            tokens,
            outcome: Outcome::default(),
            compile_limit: Duration::from_secs(120),
            run_limit: Duration::from_secs(60),
            started: Duration::ZERO,
            state: folder.join("state"),
        };
        let check = with_outcome(check, &bundle, &folder)?;
        Ok(Start { checkout, key, folder, check, bundle: Size::of(&text)? })
    }

    /// The arguments of the rustc call with which cargo builds the test.
    fn recorded(&self, checkout: &Checkout, key: &Key, folder: &Path) -> Result<Vec<String>> {
        let clean = ["clean", "-q", "--offline", "-p", &key.krate];
        child::output(cargo().args(clean).current_dir(&checkout.root), folder, "clean")?;
        let arguments = folder.join("arguments");
        let mut build = cargo();
        build.args(["test", "--no-run", "--offline", "-q"]).args(key.target.args()).current_dir(&checkout.root);
        self.compiler.record(&mut build, &arguments)?;
        child::output(&mut build, folder, "build")?;
        compiler::test_call(&arguments)
    }

    /// Measures one tool.
    pub(super) fn run(&self, start: &Start<'_>, name: ToolName, setting: Setting) -> Result<Race> {
        let blank = Race {
            test: start.key.clone(),
            tool: name,
            limit: self.limit.as_secs(),
            setting,
            command: String::new(),
            stopped: false,
            walls: Vec::new(),
            plain: Vec::new(),
            calls: 0,
            checks: None,
            bundle: start.bundle,
            size: Size::default(),
            curve: Vec::new(),
        };
        match name {
            ToolName::Gistify => self.gistify(start, blank),
            ToolName::Treereduce | ToolName::Cvise => self.other(start, name, blank),
        }
    }

    fn gistify(&self, start: &Start<'_>, blank: Race) -> Result<Race> {
        let Key { krate, target, test, .. } = start.key;
        let subject = Subject { root: &start.checkout.root, package: krate, target, test };
        let (measured, gist) = cost::measure(self.tool, self.compiler, subject, &start.folder.join("gistify"), self.repeat)?;
        let size = Size::of(&fs::read_to_string(gist)?)?;
        let wall = super::page::middle(&measured.first);
        Ok(Race {
            command: cost::shown(target, test),
            walls: measured.first,
            plain: measured.plain,
            calls: measured.calls,
            size,
            curve: vec![(wall, size.tokens)],
            ..blank
        })
    }

    fn other(&self, start: &Start<'_>, name: ToolName, blank: Race) -> Result<Race> {
        let folder = start.folder.join(name.to_string());
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        fs::copy(start.folder.join("bundle.rs"), folder.join("bundle.rs"))?;
        // Candidates and what is compiled of them are in memory, as treereduce's guide advises.
        let memory = Path::new("/dev/shm");
        let temporary = if memory.is_dir() { tempfile::tempdir_in(memory)? } else { tempfile::tempdir()? };
        let check = Check {
            state: folder.join("state"),
            started: SystemTime::now().duration_since(UNIX_EPOCH)?,
            ..start.check.clone()
        };
        fs::write(folder.join("check.json"), serde_json::to_string(&check)?)?;
        let program = std::env::current_exe()?;
        script(&folder.join("check.sh"), &program, &folder.join("check.json"))?;
        let words = words(name, self.cores);
        let filled = words.iter().map(|word| match word.as_str() {
            "XTASK" => program.as_os_str().to_owned(),
            "check.json" => folder.join(word).into_os_string(),
            "$TMPDIR" => temporary.path().as_os_str().to_owned(),
            _ => word.into(),
        });
        let filled: Vec<_> = filled.collect();
        let mut child = command(&filled[0]);
        child.args(&filled[1..]).current_dir(&folder).env("TMPDIR", temporary.path());
        let calls = folder.join("calls");
        self.compiler.count(&mut child, &calls)?;
        let logs = Logs::at(&folder, "log");
        let ended = child::run(&mut child, &logs, self.limit)?;
        if ended.status.is_some() && !ended.success() {
            let err = fs::read_to_string(&logs.err).unwrap_or_default();
            bail!("{name}: {}\n{}", ended.describe(), child::tail(&err, 20));
        }
        let state = check::state(&check.state).with_context(|| format!("{name} has not checked the bundle itself"))?;
        Ok(Race {
            command: words.join(" ").replace("XTASK", "xtask"),
            stopped: ended.status.is_none(),
            walls: vec![rounded(ended.wall).min(self.limit.as_secs_f64())],
            calls: counted(&calls)?,
            checks: Some(state.checks),
            size: state.size,
            curve: state.curve,
            ..blank
        })
    }
}

/// Puts in how the test ends in the bundle, and limits that follow from how long that takes.
fn with_outcome(check: Check, bundle: &Path, folder: &Path) -> Result<Check> {
    let place = folder.join("reference");
    fs::create_dir_all(&place)?;
    fs::copy(bundle, place.join("bundle.rs"))?;
    let start = std::time::Instant::now();
    let compiled = check.compile(&place)?;
    let compile_wall = start.elapsed();
    ensure!(compiled, "the bundle does not compile: {}", place.join("rustc.err").display());
    let start = std::time::Instant::now();
    let outcome = check.execute(&place)?.context("the test of the bundle does not end")?;
    let run_wall = start.elapsed();
    ensure!(outcome.passed(), "the test has to pass without a panic, so that what it prints has no line numbers");
    ensure!(check.execute(&place)?.as_ref() == Some(&outcome), "the test prints something else from run to run");
    Ok(Check {
        outcome,
        compile_limit: (5 * compile_wall).max(Duration::from_secs(10)),
        run_limit: (20 * run_wall).max(Duration::from_secs(1)),
        ..check
    })
}

/// The check as an executable without arguments: C-Vise calls it in a folder with the candidate.
fn script(file: &Path, program: &Path, config: &Path) -> Result<()> {
    fs::write(file, format!("#!/bin/sh\nexec '{}' bench-check '{}' bundle.rs\n", program.display(), config.display()))?;
    Ok(fs::set_permissions(file, PermissionsExt::from_mode(0o755))?)
}

/// The command of a tool; `XTASK` stands for this program.
fn words(name: ToolName, cores: usize) -> Vec<String> {
    let text = match name {
        ToolName::Gistify => String::new(),
        ToolName::Treereduce => format!(
            "treereduce-rust --fast --jobs {cores} --on-parse-error ignore --temp-dir $TMPDIR -s bundle.rs -o small.rs -- \
             XTASK bench-check check.json @@.rs"
        ),
        ToolName::Cvise => format!("cvise --not-c --n {cores} --skip-key-off --tidy ./check.sh bundle.rs"),
    };
    text.split_whitespace().map(str::to_owned).collect()
}

fn of_text(text: &str) -> Result<crate::corpus::sources::Sources> {
    crate::corpus::sources::Sources::of_text(text).context("the bundle can't be parsed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_get_all_cores() {
        assert!(words(ToolName::Treereduce, 2).join(" ").contains("--jobs 2"));
        assert!(words(ToolName::Cvise, 3).join(" ").contains("--n 3"));
    }

    #[test]
    fn script_calls_the_check_with_the_candidate_of_its_folder() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("check.sh");
        script(&file, Path::new("/bin/echo"), Path::new("/a b/check.json")).unwrap();
        let out = child::output(&mut command(&file), dir.path(), "out").unwrap();
        assert_eq!(out, "bench-check /a b/check.json bundle.rs\n");
    }
}
