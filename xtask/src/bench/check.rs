//! The interestingness test that the other tools get: a candidate has to hold the test as it is, to compile, and
//! the test has to end and print as it does in the bundle.
//!
//! It is a program, not a shell script, so that a candidate that is no Rust costs them a millisecond. A candidate
//! that is not refused by its text is compiled once: rustc reports errors of types and borrows before it makes code, so
//! a compile without code in front would only cost more.
//!
//! The smallest candidate that passed is kept beside the log: it is the tool's state at any time.

use super::size::Size;
use crate::corpus::sources::{Module, Sources, plain};
use anyhow::{Context, Result};
use fs_err::{self as fs, File};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens as _;
use serde::{Deserialize, Serialize};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use syn::Item;

/// A candidate may not eat the machine.
const MEMORY: u64 = 8 << 30;

/// The name of the log in the state's folder: a line for each candidate.
const LOG: &str = "log.csv";

/// The name of the smallest candidate so far in the state's folder.
const BEST: &str = "best.rs";

/// The arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What to check against
    config: PathBuf,
    /// The candidate
    candidate: PathBuf,
}

/// What candidates are checked against.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Check {
    /// The compiler.
    pub(super) rustc: PathBuf,
    /// Its arguments, without file and output.
    pub(super) arguments: Vec<String>,
    /// The test's path in the bundle.
    pub(super) test: String,
    /// The test's tokens.
    pub(super) tokens: String,
    /// How it ends in the bundle.
    pub(super) outcome: Outcome,
    /// How long a compile may take.
    pub(super) compile_limit: Duration,
    /// How long a run may take.
    pub(super) run_limit: Duration,
    /// When the tool was started, since the epoch.
    pub(super) started: Duration,
    /// Where log and smallest candidate go.
    pub(super) state: PathBuf,
}

/// How a run ended and what it printed, in a form that can be compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Outcome {
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Outcome {
    /// Whether the test passed, and nothing panicked on the way.
    pub(super) fn passed(&self) -> bool {
        self.status == Some(0) && self.stdout.contains("test result: ok. 1 passed") && !self.stderr.contains("panicked at")
    }
}

/// What became of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is no Rust, or does not hold the test as it is.
    Text,
    /// rustc refuses it.
    Compile,
    /// The test ends or prints differently.
    Run,
    /// It will do.
    Interesting,
}

impl Verdict {
    fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Compile => "compile",
            Self::Run => "run",
            Self::Interesting => "interesting",
        }
    }
}

/// Checks one candidate.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let (_, hard) = getrlimit(Resource::RLIMIT_AS)?;
    setrlimit(Resource::RLIMIT_AS, MEMORY.min(hard), hard)?;
    let check: Check = serde_json::from_str(&fs::read_to_string(&args.config)?)?;
    let text = fs::read(&args.candidate)?;
    let verdict = check.verdict(&text)?;
    check.keep(&text, verdict)?;
    Ok(verdict == Verdict::Interesting)
}

/// The tokens of the test: of its function, or of the macro call that makes it and of that macro's definition.
pub(super) fn test_tokens(text: &str, test: &str) -> Option<String> {
    let sources = Sources::of_text(text).ok()?;
    let path: Vec<&str> = test.split("::").collect();
    let (name, parents) = path.split_last()?;
    let module = sources.modules.iter().find(|m| m.path == parents)?;
    let function = module.items.iter().find_map(|item| match item {
        Item::Fn(f) if plain(&f.sig.ident) == **name => Some(f.to_token_stream().to_string()),
        _ => None,
    });
    let made = || {
        let call = module.items.iter().find_map(|item| match item {
            Item::Macro(m) if m.ident.is_none() && holds(&m.mac.tokens, name) => Some(m),
            _ => None,
        })?;
        let macro_name = plain(&call.mac.path.segments.last()?.ident);
        let around = |m: &Module| parents.len() >= m.path.len() && m.path.iter().zip(parents).all(|(a, b)| a == b);
        // The nearest, as the text's order has it.
        let nearest = sources.definitions(&macro_name).filter(|(m, _)| around(m)).max_by_key(|(m, _)| m.path.len());
        let (_, definition) = nearest.or_else(|| sources.definitions(&macro_name).next())?;
        Some(format!("{} {}", call.to_token_stream(), definition.to_token_stream()))
    };
    function.or_else(made)
}

/// Whether a name is among tokens.
fn holds(tokens: &TokenStream, name: &str) -> bool {
    tokens.clone().into_iter().any(|tree| match tree {
        TokenTree::Ident(ident) => plain(&ident) == name,
        TokenTree::Group(group) => holds(&group.stream(), name),
        _ => false,
    })
}

impl Check {
    /// Judges a candidate.
    fn verdict(&self, text: &[u8]) -> Result<Verdict> {
        let same = std::str::from_utf8(text).ok().and_then(|text| test_tokens(text, &self.test));
        if same.as_ref() != Some(&self.tokens) {
            return Ok(Verdict::Text);
        }
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join("bundle.rs"), text)?;
        if !self.compile(folder.path())? {
            return Ok(Verdict::Compile);
        }
        let ran = self.execute(folder.path())?;
        Ok(if ran.as_ref() == Some(&self.outcome) { Verdict::Interesting } else { Verdict::Run })
    }

    /// Compiles `bundle.rs` in a folder; whether rustc made a program.
    pub(super) fn compile(&self, folder: &Path) -> Result<bool> {
        let mut rustc = Command::new(&self.rustc);
        rustc.args(&self.arguments).args(["bundle.rs", "-o", "test"]).current_dir(folder).stdin(Stdio::null());
        rustc.stdout(Stdio::null()).stderr(File::create(folder.join("rustc.err"))?.into_parts().0);
        let status = wait(&mut rustc.spawn().context("rustc can't be run")?, self.compile_limit)?;
        Ok(status.is_some_and(|s| s.success()))
    }

    /// Runs the test of the program in a folder; nothing when it takes too long.
    pub(super) fn execute(&self, folder: &Path) -> Result<Option<Outcome>> {
        let empty = folder.join("empty");
        fs::create_dir_all(&empty)?;
        let mut test = Command::new(folder.join("test"));
        test.args(["--exact", &self.test, "--nocapture", "--test-threads=1", "--color=never"]).current_dir(&empty);
        for (name, value) in [("TZ", "UTC"), ("LC_ALL", "C"), ("RUST_BACKTRACE", "0"), ("NO_COLOR", "1")] {
            test.env(name, value);
        }
        let (out, err) = (folder.join("out"), folder.join("err"));
        test.stdin(Stdio::null()).stdout(File::create(&out)?.into_parts().0).stderr(File::create(&err)?.into_parts().0);
        let status = wait(&mut test.spawn()?, self.run_limit)?;
        let text = |file: &Path| -> Result<String> { Ok(String::from_utf8_lossy(&fs::read(file)?).into_owned()) };
        Ok(match status {
            Some(status) => Some(Outcome { status: status.code(), stdout: comparable(&text(&out)?), stderr: text(&err)? }),
            None => None,
        })
    }

    /// Adds a line to the log; and keeps the candidate, if it is the smallest.
    fn keep(&self, text: &[u8], verdict: Verdict) -> Result<()> {
        fs::create_dir_all(&self.state)?;
        let seconds = (SystemTime::now().duration_since(UNIX_EPOCH)?.saturating_sub(self.started)).as_secs_f64();
        let size = match (verdict, std::str::from_utf8(text)) {
            (Verdict::Interesting, Ok(text)) => Size::of(text)?,
            _ => Size::default(),
        };
        // Two checks run at once.
        let lock = File::create(self.state.join("lock"))?;
        lock.file().lock()?;
        let best = self.state.join(BEST);
        if verdict == Verdict::Interesting && (!best.exists() || size < Size::of(&fs::read_to_string(&best)?)?) {
            let partial = self.state.join("best.partial");
            fs::write(&partial, text)?;
            fs::rename(&partial, &best)?;
        }
        let mut log = fs::OpenOptions::new().create(true).append(true).open(self.state.join(LOG))?;
        log.write_all(format!("{seconds:.3},{},{}\n", verdict.word(), size.tokens).as_bytes())?;
        Ok(())
    }
}

/// What libtest prints of other tests and of time says nothing of this one.
fn comparable(stdout: &str) -> String {
    let line = |line: &str| match line.split_once(" 0 measured; ") {
        Some((result, _)) if line.starts_with("test result:") => result.to_owned(),
        _ => line.to_owned(),
    };
    stdout.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Waits for a child's end, or stops it at its limit.
fn wait(child: &mut Child, limit: Duration) -> Result<Option<ExitStatus>> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if start.elapsed() > limit {
            // It may have ended just now.
            let _ = child.kill();
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_micros(500));
    }
}

/// A tool's state and how it came to it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct State {
    /// The size of the smallest candidate that passed.
    pub(super) size: Size,
    /// How many candidates were checked.
    pub(super) checks: u64,
    /// How many of them passed.
    pub(super) interesting: u64,
    /// Each new smallest size in tokens, with the seconds since the start.
    pub(super) curve: Vec<(f64, u64)>,
}

/// Reads what the checks of one run have left.
pub(super) fn state(folder: &Path) -> Result<State> {
    let size = Size::of(&fs::read_to_string(folder.join(BEST))?)?;
    let log = fs::read_to_string(folder.join(LOG))?;
    Ok(State { size, ..of_log(&log)? })
}

fn of_log(log: &str) -> Result<State> {
    let mut state = State::default();
    for line in log.lines() {
        let fields: Vec<&str> = line.split(',').collect();
        let &[seconds, verdict, tokens] = fields.as_slice() else { anyhow::bail!("a line of the log is `{line}`") };
        state.checks += 1;
        if verdict == Verdict::Interesting.word() {
            state.interesting += 1;
            let tokens = tokens.parse()?;
            if state.curve.last().is_none_or(|&(_, least)| tokens < least) {
                state.curve.push((seconds.parse()?, tokens));
            }
        }
    }
    Ok(state)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUNDLE: &str = "mod a {\n    pub fn f() -> u32 { 1 }\n    pub fn g() {}\n    mod tests {\n        #[test]\n        fn one() { assert_eq!(super::f(), 1); }\n    }\n}\n";

    fn check(folder: &Path) -> Check {
        let arguments = ["--edition=2021", "--crate-name", "c", "--test"].map(str::to_owned).to_vec();
        Check {
            rustc: "rustc".into(),
            arguments: super::super::compiler::replayed(&arguments, "c"),
            test: "a::tests::one".to_owned(),
            tokens: test_tokens(BUNDLE, "a::tests::one").unwrap(),
            outcome: Outcome { status: Some(0), stdout: String::new(), stderr: String::new() },
            compile_limit: Duration::from_secs(60),
            run_limit: Duration::from_secs(10),
            started: Duration::ZERO,
            state: folder.to_owned(),
        }
    }

    #[test]
    fn candidate_has_to_hold_the_test_to_compile_and_to_end_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let mut check = check(dir.path());
        fs::write(dir.path().join("bundle.rs"), BUNDLE).unwrap();
        assert!(check.compile(dir.path()).unwrap());
        check.outcome = check.execute(dir.path()).unwrap().unwrap();
        assert!(check.outcome.passed());
        let verdict = |text: &str| check.verdict(text.as_bytes()).unwrap();
        assert_eq!(verdict(BUNDLE), Verdict::Interesting);
        assert_eq!(verdict(&BUNDLE.replace("pub fn g() {}", "")), Verdict::Interesting);
        assert_eq!(verdict("fn a( {"), Verdict::Text);
        assert_eq!(verdict(&BUNDLE.replace("assert_eq!(super::f(), 1);", "")), Verdict::Text);
        assert_eq!(verdict(&BUNDLE.replace("pub fn f() -> u32 { 1 }", "")), Verdict::Compile);
        assert_eq!(verdict(&BUNDLE.replace("{ 1 }", "{ 2 }")), Verdict::Run);
    }

    #[test]
    fn test_that_a_macro_makes_is_the_call_and_the_nearest_definition() {
        let text = "macro_rules! t { () => {} } mod tests { macro_rules! t { ($n:ident) => { #[test] fn $n() {} } } t!(a); t!(b); }";
        let tokens = test_tokens(text, "tests::b").unwrap();
        assert_eq!(tokens, "t ! (b) ; macro_rules ! t { ($ n : ident) => { # [test] fn $ n () { } } }");
        assert_eq!(test_tokens(&text.replace("t!(a);", ""), "tests::b").as_ref(), Some(&tokens));
        assert_eq!(test_tokens(text, "tests::c"), None);
    }

    #[test]
    fn smallest_candidate_is_the_state() {
        let dir = tempfile::tempdir().unwrap();
        let check = check(dir.path());
        for (text, verdict) in [
            ("fn a() {}", Verdict::Interesting),
            ("x", Verdict::Text),
            ("fn a() { b(); }", Verdict::Interesting),
            ("fn a();", Verdict::Interesting),
        ] {
            check.keep(text.as_bytes(), verdict).unwrap();
        }
        let state = state(dir.path()).unwrap();
        assert_eq!((state.checks, state.interesting, state.size.tokens), (4, 3, 5));
        assert_eq!(state.curve.iter().map(|&(_, tokens)| tokens).collect::<Vec<_>>(), [6, 5]);
    }

    #[test]
    fn other_tests_and_time_do_not_count() {
        let text = |filtered: u32| {
            format!(
                "\nrunning 1 test\ntest a ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; {filtered} filtered out; finished in 0.0{filtered}s\n"
            )
        };
        assert_eq!(comparable(&text(1)), comparable(&text(2)));
        assert_ne!(comparable(&text(1)), comparable(&text(1).replace("1 passed", "0 passed")));
    }

    #[test]
    fn child_is_stopped_at_its_limit() {
        let mut sleep = Command::new("sleep").arg("30").spawn().unwrap();
        assert_eq!(wait(&mut sleep, Duration::from_millis(20)).unwrap(), None);
    }
}
