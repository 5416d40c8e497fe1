//! One attempt of an agent that is a part of this tool: the chat agent, and the baseline that asks a model once.

use super::chat::{self, Host, Model, Prompt, ToolSet};
use super::config::{AgentSpec, Kind};
use super::place::Place;
use super::run::{Attempt, Options};
use super::{Ended, Heard};
use crate::error::{Error, Result};
use crate::sandbox;
use crate::workspace::wrapper::write_atomically;
use camino::Utf8PathBuf;
use std::time::{Duration, Instant};

/// How often a request is sent again.
const RETRIES: u32 = 4;
/// How long an answer may take.
const REQUEST: Duration = Duration::from_secs(600);
/// What holds for every task.
const SYSTEM: &str =
    "You are a careful Rust engineer. You work with the tools that you have, one step after the other, and say little.";
/// The same where there are no tools.
const SYSTEM_ONCE: &str =
    "You are a careful Rust engineer. You answer with one block of Rust, the whole file, and nothing else.";

/// What an agent of our own works with.
pub struct Means<'a> {
    /// The tools of the chat agent.
    pub tools: &'a ToolSet,
    /// Who does for it what it can't do itself.
    pub host: &'a dyn Host,
    /// What a single request gives: files by their paths in the project, with their texts.
    pub files: &'a [(Utf8PathBuf, String)],
    /// What holds the host's runs.
    pub sandbox: sandbox::Kind,
}

/// Asks the model of `spec`.
///
/// # Errors
/// When `spec` names no endpoint, when files can't be written, or at an interruption. What goes wrong with the model is no error.
pub fn own_attempt(spec: &AgentSpec, place: &Place, prompt: &str, options: &Options, means: &Means<'_>) -> Result<Attempt> {
    let missing = |what: &str| Error::Usage(format!("agent `{}`: `{what}` is missing", spec.name));
    let model = Model {
        base_url: spec.endpoint.clone().ok_or_else(|| missing("endpoint"))?,
        key: spec.key.clone(),
        name: spec.model.clone().ok_or_else(|| missing("model"))?,
        retries: RETRIES,
        request_timeout: REQUEST.min(options.limits.timeout),
        options: serde_json::Map::new(),
    };
    let begun = Instant::now();
    let heard = match spec.kind {
        Kind::Static => {
            let prompt = Prompt { system: SYSTEM_ONCE.to_owned(), task: prompt.to_owned() };
            let (heard, gist) = chat::one_shot(&model, &options.limits, &prompt, means.files)?;
            if let Some(gist) = gist {
                write_atomically(&place.gist, gist.as_bytes())?;
            }
            heard
        }
        _ => {
            let prompt = Prompt { system: SYSTEM.to_owned(), task: prompt.to_owned() };
            let room = chat::Place { workspace: place.workspace.clone(), gist: place.gist.clone() };
            chat::chat(&model, means.tools, &options.limits, &prompt, &room, means.host)?
        }
    };
    Ok(attempt(heard, means.sandbox, begun.elapsed()))
}

fn attempt(heard: Heard, sandbox: sandbox::Kind, wall: Duration) -> Attempt {
    Attempt {
        ended: heard.ended.clone().unwrap_or(Ended::Done),
        heard,
        stdout: Vec::new(),
        stderr: Vec::new(),
        exit_code: None,
        traffic: None,
        sandbox,
        wall,
    }
}
