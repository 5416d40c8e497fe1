//! What the server's tools do: each is a subcommand on one test, with its answer as text and as an object.

#[cfg(feature = "agents")]
use super::super::args::AgentArgs;
use super::super::args::{LevelArg, MakeArgs, McpArgs, ProgramArgs, SelectionArgs, VerifyArgs};
use super::super::list::{NO_TESTS, Selected};
use super::super::make::{Boxes, gists};
use super::super::shell::Shell;
use super::super::trace::traced_by;
use super::super::verify::{judged, scores};
use super::super::work::{Work, work};
use camino::Utf8PathBuf;
use cargo_gistify::compile::{temp_dir, utf8};
use cargo_gistify::error::{Error, Result};
use cargo_gistify::reduce::neighbours::Neighbours;
use cargo_gistify::report::{Report, SCHEMA, TestId};
use cargo_gistify::road::{DEFAULT_TIMEOUT, Session};
use cargo_gistify::sandbox::{Choice, Sandbox};
use cargo_gistify::tests::Test;
use cargo_gistify::trace::CoverageMap;
use cargo_gistify::verify::verdict::Verdict;
use cargo_gistify::workspace::Inline;
use rmcp::schemars;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Bytes of text that an answer has at most: clients cut what is longer, and not where a line ends.
const MAX_TEXT: usize = 48 << 10;
/// Entries of a list that an answer has at most.
const MAX_LISTED: usize = 400;
/// What helps where several tests match.
const HOW: &str = "pass the whole path of one, and its `target`";

/// What a call gives back.
pub(super) struct Answer {
    /// For people and models.
    pub(super) text: String,
    /// For programs.
    pub(super) value: Value,
    /// What was asked for was not reached.
    pub(super) failed: bool,
}

impl Answer {
    fn new(text: String, value: Value) -> Answer {
        Answer { text: capped(text), value, failed: false }
    }
}

/// What is served, and how.
pub(super) struct Served {
    pub(super) args: McpArgs,
    pub(super) shell: Shell,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(super) struct List {
    /// Only tests whose path has this part
    filter: Option<String>,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(super) struct Trace {
    /// The test's path, or a part of it that no other test has
    test: String,
    /// The test's target, where tests of several have that path: its name as list_tests gives it, or like `--lib`, `--test NAME`
    target: Option<String>,
    /// Show the source with a count at each line, too
    #[serde(default)]
    source: bool,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(super) struct Graph {
    /// The path of a test, or a part of it that no other test has: the crates that it is built of are looked at
    test: String,
    /// The test's target, where tests of several have that path: its name as list_tests gives it, or like `--lib`, `--test NAME`
    target: Option<String>,
    /// The item: its name, or the end of its path, like `Cart::add`
    name: String,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(super) struct Extract {
    /// The test's path, or a part of it that no other test has
    test: String,
    /// The test's target, where tests of several have that path: its name as list_tests gives it, or like `--lib`, `--test NAME`
    target: Option<String>,
    /// Where the gist goes: a file or a directory, from the server's folder on; target/gistify/gists/ if not given
    output: Option<String>,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(super) struct Verify {
    /// The gist: the path of a file, from the server's folder on, or the text itself (what has a line break or a brace is a text)
    gist: String,
    /// The path of the test that it is the gist of, or a part of it that no other test has
    test: String,
    /// The test's target, where tests of several have that path: its name as list_tests gives it, or like `--lib`, `--test NAME`
    target: Option<String>,
}

/// A file of which something ran, without its lines.
#[derive(Serialize)]
struct RanFile<'a> {
    path: &'a Utf8PathBuf,
    lines_executed: usize,
    lines_executable: usize,
}

impl Served {
    pub(super) fn list(&self, asked: &List) -> Result<Answer> {
        let args = SelectionArgs { tests: asked.filter.iter().cloned().collect(), ..self.selection() };
        let selected = Selected::of(&args, &self.shell)?;
        let all: Vec<&Test> = selected.targets.iter().flat_map(|(_, tests)| tests).collect();
        if all.is_empty() {
            return Err(Error::Usage(NO_TESTS.to_owned()));
        }
        let mut text: String = selected.lines().map(|line| line + "\n").collect();
        let left_out = all.len().saturating_sub(MAX_LISTED);
        if left_out > 0 {
            text = format!("{} tests; pass a filter to see those that matter\n{text}", all.len());
        }
        let listed = &all[..all.len() - left_out];
        Ok(Answer::new(text, json!({ "schema": SCHEMA, "tests": listed, "left_out": left_out })))
    }

    pub(super) fn trace(&self, asked: &Trace) -> Result<Answer> {
        let work = self.one(&asked.test, asked.target.as_deref())?;
        let (target, task) = work.only(HOW)?;
        task.compile(target)?;
        let map = CoverageMap::load(&[&target.executable])?;
        let limit = self.args.timeout.map_or(DEFAULT_TIMEOUT, Duration::from_secs);
        let report = traced_by(&work.workspace, target, &map, task, self.args.ignored, limit)?;
        let mut text = format!("{}\n\n{}", task.what(), report.text());
        // Some clients show models the object alone.
        let listing = match asked.source {
            true => Some(capped(report.listing(&work.workspace.metadata.workspace_root)?)),
            false => None,
        };
        if let Some(listing) = &listing {
            text += &format!("\n{listing}");
        }
        let files = report.files.iter().map(|f| RanFile {
            path: &f.path,
            lines_executed: f.lines_executed,
            lines_executable: f.lines_executable,
        });
        let functions = &report.functions[..report.functions.len().min(MAX_LISTED)];
        let value = json!({
            "schema": SCHEMA,
            "test": TestId::new(target, task),
            "trace_length": report.trace_length,
            "files_touched": report.files_touched,
            "functions": functions,
            "left_out": report.functions.len() - functions.len(),
            "files": files.collect::<Vec<_>>(),
            "source": listing,
        });
        Ok(Answer::new(text, value))
    }

    pub(super) fn graph(&self, asked: &Graph) -> Result<Answer> {
        let work = self.one(&asked.test, asked.target.as_deref())?;
        let (target, task) = work.only(HOW)?;
        task.compile(target)?;
        // Nothing is run.
        let sandbox = Sandbox::open(Choice::None)?;
        let session = Session::open(&work.workspace, target, &sandbox, &|verb, what| self.shell.stage(verb, what))?;
        let root = &work.workspace.metadata.workspace_root;
        let found = session.prepared().neighbours(&asked.name, root, &task.what())?;
        let text: Vec<String> = found.iter().map(Neighbours::text).collect();
        let listed = &found[..found.len().min(MAX_LISTED)];
        let value = json!({ "schema": SCHEMA, "items": listed, "left_out": found.len() - listed.len() });
        Ok(Answer::new(text.join("\n"), value))
    }

    pub(super) fn extract(&self, asked: &Extract) -> Result<Answer> {
        if self.args.only_gist.is_some() {
            return Err(Error::Usage("extract would do the agent's work".into()));
        }
        if asked.output.as_deref() == Some("-") {
            return Err(Error::Usage("standard output is the protocol's; name a file or a directory".into()));
        }
        let start = Instant::now();
        let boxes = Boxes::open(self.args.sandbox, &self.shell)?;
        let work = self.one(&asked.test, asked.target.as_deref())?;
        let args = MakeArgs {
            selection: self.selection(),
            output_path: asked.output.as_ref().map(Utf8PathBuf::from),
            level: LevelArg::Full,
            allow_stubs: false,
            inline: Vec::new(),
            inline_all: false,
            sandbox: self.args.sandbox,
            sandbox_reference: self.args.sandbox_reference,
            explain: false,
            map: None,
            program: ProgramArgs::default(),
            timeout: self.args.timeout,
            #[cfg(feature = "agents")]
            agent: AgentArgs::default(),
        };
        let mut answer = None;
        gists(&args, &boxes, work, start, &self.shell, |outcome| {
            let mut text = outcome.report.error.clone().unwrap_or_default();
            let mut value = object(outcome.report)?;
            if let Some(made) = outcome.made {
                text = told(outcome.report);
                if made.gist.text.len() <= MAX_TEXT {
                    text += &format!("\n\n{}", made.gist.text);
                    value["text"] = Value::from(made.gist.text.as_str());
                }
            }
            let failed = outcome.report.verdict != Verdict::Ok.name();
            // The text has its own limit.
            answer = Some(Answer { text, value, failed });
            Ok(())
        })?;
        answer.ok_or_else(|| Error::Internal(format!("nothing was made of {}", asked.test)))
    }

    pub(super) fn verify(&self, asked: &Verify) -> Result<Answer> {
        let start = Instant::now();
        let sandbox = Sandbox::open(self.args.sandbox.into())?;
        let work = self.one(&asked.test, asked.target.as_deref())?;
        let room = temp_dir()?;
        let is_text = asked.gist.contains(['\n', '{']);
        let gist = if is_text {
            let file = utf8(room.path())?.join("gist.rs");
            std::fs::write(&file, &asked.gist).map_err(Error::path("write", &file))?;
            file
        } else {
            Utf8PathBuf::from(&asked.gist)
        };
        if let Some(only) = self.args.only_gist.as_ref().filter(|only| !is_text && **only != gist) {
            return Err(Error::Usage(format!("of files {only} alone can be verified here; pass that, or the text")));
        }
        let args = VerifyArgs {
            gist,
            entry: None,
            exact: false,
            ignored: self.args.ignored,
            cargo: self.args.cargo.clone(),
            program: ProgramArgs::default(),
            sandbox: self.args.sandbox,
            sandbox_reference: self.args.sandbox_reference,
            json_out: None,
            timeout: self.args.timeout,
            build_timeout: self.args.build_timeout,
        };
        let (mut report, judged) = judged(&args, false, &work, &sandbox, start, &self.shell)?;
        if is_text {
            report.gist = None;
        }
        let flags = judged.flags.iter().map(|f| format!("\nwarning: {}", f.describe()));
        let text = told(&report) + &flags.collect::<String>();
        Ok(Answer::new(text, object(&report)?))
    }

    fn selection(&self) -> SelectionArgs {
        SelectionArgs { ignored: self.args.ignored, cargo: self.args.cargo.clone(), ..SelectionArgs::default() }
    }

    /// The project, built, with the one test that is meant: that of the whole path, or else the only one whose path has that part.
    fn one(&self, test: &str, target: Option<&str>) -> Result<Work> {
        let selected = |exact: bool| {
            let args = SelectionArgs { tests: vec![test.to_owned()], exact, ..self.selection() };
            work(&args, &ProgramArgs::default(), Inline::None, &self.shell)
        };
        let mut work = match selected(true) {
            Err(Error::NoTest { .. }) => selected(false)?,
            other => other?,
        };
        if let Some(wanted) = target {
            let of = work.targets.iter().map(|(t, _)| format!("`{}`", t.selector())).collect::<Vec<_>>().join(", ");
            work.targets.retain(|(t, _)| t.name == wanted || t.selector() == wanted);
            if work.targets.is_empty() {
                return Err(Error::Usage(format!("no test of the target `{wanted}` matches `{test}`, but some of {of}")));
            }
        }
        let (_, task) = work.only(HOW)?;
        if task.is_ignored() && !self.args.ignored {
            return Err(Error::Usage(format!("{} is ignored; start the server with --ignored", task.name())));
        }
        Ok(work)
    }
}

/// A report in words.
fn told(report: &Report) -> String {
    let mut text = format!("verdict: {}", report.verdict);
    if let Some(reason) = &report.error {
        text += &format!("\n{reason}");
    }
    if report.metrics.line_existence_rate.is_some() {
        text += &format!("\nscores: {}", scores(&report.metrics));
    }
    if let Some(path) = &report.gist {
        text += &format!("\ngist: {path}");
    }
    text
}

fn object(value: &impl Serialize) -> Result<Value> {
    serde_json::to_value(value).map_err(|e| Error::Internal(e.to_string()))
}

/// A text with what is too much of it left out, and a line that says so.
fn capped(mut text: String) -> String {
    if text.len() > MAX_TEXT {
        let whole = text.len();
        let end = text.floor_char_boundary(MAX_TEXT);
        text.truncate(text[..end].rfind('\n').map_or(end, |line| line + 1));
        text += &format!("[cut off: {} of {whole} bytes are shown]\n", text.len());
    }
    text
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn a_long_text_ends_with_a_whole_line_and_says_that_it_was_cut() {
        let line = format!("{}\n", "ä".repeat(50));
        let long = line.repeat(MAX_TEXT / 50);
        let cut = capped(long.clone());
        let (kept, note) = cut.split_at(cut.find('[').unwrap());
        assert!(long.starts_with(kept) && kept.ends_with('\n') && kept.len() > MAX_TEXT - line.len());
        assert_eq!(note, format!("[cut off: {} of {} bytes are shown]\n", kept.len(), long.len()));
        assert_eq!(capped(line.clone()), line);
    }
}
