//! What the chat agent has this tool do: the gist run alone, a shell in the box, the gold trace, the reference graph.

use super::Session;
use crate::agent::chat::Host;
use crate::agent::place::Place;
use crate::agent::run::{execution_environment, execution_sources};
use crate::compile::{temp_dir, utf8};
use crate::error::{Error, Result};
use crate::process::{Limits, Output};
use crate::sandbox::{Policy, ResourceLimits, Sandbox};
use crate::task::Task;
use crate::trace::{Coverage, TraceReport};
use crate::verify::clean_room::Reach;
use crate::verify::gist_file::read_gist;
use camino::{Utf8Path, Utf8PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Most of what a run of the gist or a command prints, in bytes.
const MOST_OUTPUT: usize = 1 << 20;

/// The host of an attempt at a task.
pub struct AgentHost<'a> {
    session: &'a Session<'a>,
    task: &'a Task,
    place: &'a Place,
    sandbox: &'a Sandbox,
    trace: TraceReport,
    ignored: bool,
}

impl<'a> AgentHost<'a> {
    /// A host; `coverage` is what the test runs, `ignored` says that ignored tests are run.
    #[must_use]
    pub fn new(
        session: &'a Session<'a>,
        task: &'a Task,
        place: &'a Place,
        sandbox: &'a Sandbox,
        coverage: &Coverage,
        ignored: bool,
    ) -> AgentHost<'a> {
        let ours = |path: &Utf8Path| session.prepared.bundle.map.file(path).is_some();
        let trace = TraceReport::new(coverage, &session.workspace.metadata.workspace_root, ours);
        AgentHost { session, task, place, sandbox, trace, ignored }
    }

    /// The files that the test's run touches, with their texts, by their paths in the project.
    #[must_use]
    pub fn files(&self) -> Vec<(Utf8PathBuf, String)> {
        let root = &self.session.workspace.metadata.workspace_root;
        self.trace
            .files
            .iter()
            .filter_map(|f| Some((f.path.clone(), std::fs::read_to_string(root.join(&f.path)).ok()?)))
            .collect()
    }

    fn run_alone(&self, left: Duration) -> Result<String> {
        let text = match read_gist(&self.place.gist) {
            Ok(text) => text,
            Err((_, reason)) => return Ok(reason),
        };
        let room = temp_dir()?;
        let dir = utf8(room.path())?;
        let compiler = self.session.compiler.afresh().with_timeout(left.max(Duration::from_secs(1)));
        let built = match compiler.build(&text, dir, false, Some(&self.session.room)) {
            Ok(built) => built,
            Err(e @ Error::TimeOut { .. }) => return Ok(e.to_string()),
            Err(e) => return Err(e),
        };
        if !built.ok {
            return Ok(format!("it does not compile:\n{}", built.first_error()));
        }
        let mut command = Command::new(dir.join("gist"));
        if self.task.program().is_none() {
            command.args(["--exact", self.task.name(), "--test-threads", "1"]);
            command.args(self.ignored.then_some("--include-ignored"));
        }
        command.current_dir(dir);
        let reach = Reach { read_only: Vec::new(), writable: vec![dir.to_owned()] };
        let limits = Limits { timeout: Some(left), max_output: MOST_OUTPUT };
        let (output, breach) = self.session.room.execute(&command, None, reach, Stdio::null(), limits)?;
        Ok(format!("{}{}", said(&output), breach.map(|b| format!("\n[ended: {}]", b.name())).unwrap_or_default()))
    }

    fn shell(&self, line: &str, left: Duration) -> Result<String> {
        let place = self.place;
        let mut inner = Command::new("/bin/bash");
        inner.args(["-c", line]).current_dir(&place.workspace).env("HOME", &place.home);
        inner.envs(execution_environment());
        let policy = Policy {
            read_only: execution_sources(),
            writable: vec![place.workspace.clone(), place.home.clone()],
            limits: ResourceLimits::for_compiler(),
            ..Policy::default()
        };
        let mut command = self.sandbox.command(&inner, &policy)?;
        let limits = Limits { timeout: Some(left), max_output: MOST_OUTPUT };
        let output = crate::process::run(&mut command, limits)?;
        Ok(said(&output))
    }
}

/// What a process printed, and how it ended.
fn said(output: &Output) -> String {
    let end = match (output.status.code(), output.signal()) {
        _ if output.timed_out => "its time was up".to_owned(),
        (Some(code), _) => format!("exit code {code}"),
        (None, signal) => format!("signal {}", signal.unwrap_or(0)),
    };
    format!("{}{}[{end}]", output.stdout_text(), output.stderr_text())
}

impl Host for AgentHost<'_> {
    fn run_gist(&self, left: Duration) -> Result<String, String> {
        self.run_alone(left).map_err(|e| e.to_string())
    }

    fn bash(&self, command: &str, left: Duration) -> Result<String, String> {
        self.shell(command, left).map_err(|e| e.to_string())
    }

    fn trace(&self) -> Result<String, String> {
        Ok(self.trace.text())
    }

    fn graph(&self, name: &str) -> Result<String, String> {
        let root = &self.session.workspace.metadata.workspace_root;
        let found = self.session.prepared.neighbours(name, root, &self.task.what()).map_err(|e| e.to_string())?;
        serde_json::to_string_pretty(&found).map_err(|e| e.to_string())
    }
}
