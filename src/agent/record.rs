//! What is kept of an attempt: files in a folder of its own, each whole or not there, without any secret.

use super::atif::{Agent, Trajectory};
use super::config::AgentSpec;
use super::place::Place;
use super::prompt::Strategy;
use super::run::{Attempt, Network, Options, without_secrets};
use super::secret::Secret;
use super::workspace::Audit;
use super::{Ended, ToolKind, Usage};
use crate::error::{Error, Result};
use crate::sandbox::Kind;
use crate::workspace::wrapper::write_atomically;
use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;
use std::collections::BTreeMap;

/// The largest file of an agent's that is kept, in bytes.
const MOST_KEPT: u64 = 16 << 20;

/// How an attempt went, as results have it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AttemptReport {
    /// The agent, by its name in the configuration.
    pub agent: String,
    /// Its version, when it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The model that was asked for, or that the agent says it used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How it was told to go about it.
    pub strategy: Strategy,
    /// The test's text was given.
    pub test_body_given: bool,
    /// It could run code.
    pub execution: bool,
    /// What it reached of the network.
    pub network: Network,
    /// Tools of this tool's own server that it was given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mcp: Vec<String>,
    /// What held it.
    pub sandbox: Kind,
    /// Steps that it could take.
    pub step_limit: usize,
    /// Seconds that it could take.
    pub time_limit_s: u64,
    /// Why it ended.
    pub ended: Ended,
    /// That is no fault of the agent's: the attempt says nothing about it.
    pub infrastructure: bool,
    /// Exit code of its process.
    pub exit_code: Option<i32>,
    /// Answers of its model.
    pub steps: usize,
    /// Calls of tools by kind.
    pub tools: BTreeMap<ToolKind, usize>,
    /// What its model used, as far as it is told.
    pub usage: Usage,
    /// Requests to its model, where they went through us.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<usize>,
    /// Wall time in seconds.
    pub wall_s: f64,
    /// What its workspace was made of.
    pub workspace: Audit,
    /// Where all this is kept.
    pub record: Utf8PathBuf,
}

/// How an agent was asked, beside [`Options`].
#[derive(Clone, Debug)]
pub struct Asked {
    /// How it was told to go about it.
    pub strategy: Strategy,
    /// The test's text was given.
    pub body: bool,
    /// Tools of this tool's own server that it is given.
    pub mcp: Vec<String>,
}

/// Makes the folder of the next attempt below `dir`: `1`, `2`, …
///
/// # Errors
/// When it can't be made.
pub fn next_folder(dir: &Utf8Path) -> Result<Utf8PathBuf> {
    std::fs::create_dir_all(dir).map_err(Error::path("make the directory", dir))?;
    for number in 1_u64.. {
        let folder = dir.join(number.to_string());
        match std::fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(Error::path("make the directory", folder)(e)),
        }
    }
    Err(Error::Internal("there are too many attempts".into()))
}

/// Keeps an attempt in `folder`: prompt, outputs, trajectory, what the agent left in the gist's place, and the report that it gives.
///
/// # Errors
/// When a file can't be written.
pub fn keep(
    folder: &Utf8Path,
    spec: &AgentSpec,
    place: &Place,
    prompt: &str,
    attempt: &Attempt,
    options: &Options,
    asked: &Asked,
) -> Result<AttemptReport> {
    let heard = &attempt.heard;
    let model = heard.model.clone().or_else(|| spec.model.clone());
    let report = AttemptReport {
        agent: spec.name.clone(),
        version: heard.version.clone(),
        model: model.clone(),
        strategy: asked.strategy,
        test_body_given: asked.body,
        execution: options.execution,
        network: options.network,
        mcp: asked.mcp.clone(),
        sandbox: attempt.sandbox,
        step_limit: options.limits.steps,
        time_limit_s: options.limits.timeout.as_secs(),
        ended: attempt.ended.clone(),
        infrastructure: attempt.ended.is_infrastructure(),
        exit_code: attempt.exit_code,
        steps: heard.agent_steps(),
        tools: heard.tools.clone(),
        usage: heard.usage,
        requests: attempt.traffic.as_ref().map(|t| t.requests),
        wall_s: attempt.wall.as_secs_f64(),
        workspace: place.audit.clone(),
        record: folder.to_owned(),
    };
    let agent = Agent {
        name: spec.name.clone(),
        version: heard.version.clone().unwrap_or_else(|| "unknown".into()),
        model_name: model,
        extra: serde_json::Map::new(),
    };
    let session = heard.session.clone().unwrap_or_else(|| folder.file_name().unwrap_or("1").to_owned());
    let trajectory = json(&Trajectory::of(session, agent, heard), &spec.secrets)?;
    let texts = [
        ("prompt.md", prompt.to_owned()),
        ("stdout.log", String::from_utf8_lossy(&attempt.stdout).into_owned()),
        ("stderr.log", String::from_utf8_lossy(&attempt.stderr).into_owned()),
        ("trajectory.json", trajectory),
        ("attempt.json", json(&report, &spec.secrets)?),
    ];
    for (name, text) in texts {
        write(&folder.join(name), &text, &spec.secrets)?;
    }
    if place.gist.symlink_metadata().is_ok_and(|about| about.is_file() && about.len() <= MOST_KEPT) {
        let gist = std::fs::read(&place.gist).map_err(Error::path("read", &place.gist))?;
        write(&folder.join("gist.rs"), &String::from_utf8_lossy(&gist), &spec.secrets)?;
    }
    Ok(report)
}

/// A value as JSON without what nobody is to read, however it would be written in JSON.
///
/// # Errors
/// [`Error::Internal`] for what is no JSON.
pub fn hidden(value: &impl Serialize, secrets: &[Secret]) -> Result<serde_json::Value> {
    let mut value = serde_json::to_value(value).map_err(|e| Error::Internal(e.to_string()))?;
    secrets.iter().for_each(|secret| secret.redact_value(&mut value));
    Ok(value)
}

fn json(value: &impl Serialize, secrets: &[Secret]) -> Result<String> {
    let value = hidden(value, secrets)?;
    serde_json::to_string_pretty(&value).map(|text| text + "\n").map_err(|e| Error::Internal(e.to_string()))
}

fn write(file: &Utf8Path, text: &str, secrets: &[Secret]) -> Result<()> {
    write_atomically(file, without_secrets(text, secrets).as_bytes())
}
