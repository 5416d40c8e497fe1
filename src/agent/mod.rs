//! Coding agents that make gists: the same task as the built-in extractor has, and the same verdict on what they leave.
//!
//! An agent gets a copy of the project without its history ([`workspace`]), a prompt ([`prompt`]) and a place for its file. What
//! stands there when it ends, or when a limit ends it, is its gist. How an attempt went is a trajectory ([`atif`]), whatever kind of
//! agent made it; nothing an agent says of itself decides anything.

#[cfg(feature = "acp")]
pub mod acp;
pub mod atif;
pub mod bridge;
pub mod chat;
pub mod config;
pub mod door;
pub mod own;
pub mod place;
pub mod prompt;
pub mod record;
pub mod relay;
pub mod run;
pub mod secret;
pub mod stream;
pub mod tree;
pub mod workspace;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// What one attempt may use. The defaults are those of the Gistify paper (50 steps, 128k tokens), and half an hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentLimits {
    /// Steps: answers of the model.
    pub steps: usize,
    /// Tokens of context, where this tool builds the context itself.
    pub context_tokens: u64,
    /// Wall time of the attempt.
    pub timeout: Duration,
}

impl Default for AgentLimits {
    fn default() -> Self {
        AgentLimits { steps: 50, context_tokens: 128_000, timeout: Duration::from_secs(1800) }
    }
}

/// Why an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "why", content = "detail")]
pub enum Ended {
    /// The agent said that it was done, or just ended with success.
    Done,
    /// It took all steps that it may take.
    StepLimit,
    /// Its time was up.
    TimeLimit,
    /// It printed or stored more than it may, or used too much memory or too many processes: which limit.
    ResourceLimit(String),
    /// The context was full, and nothing could be left out any more.
    ContextLimit,
    /// The agent failed by itself: its exit code or signal, and the end of what it said.
    Failed(String),
    /// The model's endpoint could not be reached, answered with an error or not at all, after all retries.
    ModelUnavailable(String),
    /// The model's endpoint refused the key, or there is none.
    NoKey(String),
    /// The agent could not be started.
    NotStarted(String),
    /// The machine, or the job that it ran in, had less memory than the agent may use.
    MachineMemory,
}

impl Ended {
    /// Whether it is no fault of the agent's: such an attempt says nothing about it and may be made again.
    #[must_use]
    pub fn is_infrastructure(&self) -> bool {
        matches!(self, Ended::ModelUnavailable(_) | Ended::NoKey(_) | Ended::NotStarted(_) | Ended::MachineMemory)
    }

    /// It for people.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Ended::Done => "it was done".into(),
            Ended::StepLimit => "its steps were used up".into(),
            Ended::TimeLimit => "its time was up".into(),
            Ended::ResourceLimit(limit) => format!("it ran into the {limit}"),
            Ended::ContextLimit => "its context was full".into(),
            Ended::Failed(how) => format!("it failed: {how}"),
            Ended::ModelUnavailable(how) => format!("its model could not be reached: {how}"),
            Ended::NoKey(how) => format!("its key was refused: {how}"),
            Ended::NotStarted(how) => format!("it could not be started: {how}"),
            Ended::MachineMemory => "the machine, or the job that it ran in, had too little memory".into(),
        }
    }
}

/// What a model used, as far as it was told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of all prompts, cached ones among them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens of all answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Those of the prompts that came from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
    /// US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

impl Usage {
    /// Tokens of prompts and answers, as far as they are told.
    #[must_use]
    pub fn tokens(&self) -> Option<u64> {
        match (self.input_tokens, self.output_tokens) {
            (None, None) => None,
            (input, output) => Some(input.unwrap_or(0).saturating_add(output.unwrap_or(0))),
        }
    }
}

/// What a tool is for, in the words of the Gistify paper, which counts edits as others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolKind {
    /// It shows a file or a folder.
    View,
    /// It looks for something.
    Search,
    /// It runs something.
    Execute,
    /// It changes files.
    Edit,
    /// Anything else.
    Other,
}

/// What is heard of an attempt, by whatever way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Heard {
    /// The steps, the prompt the first of them.
    pub steps: Vec<atif::Step>,
    /// What the model used.
    pub usage: Usage,
    /// The agent's own name of its session.
    pub session: Option<String>,
    /// The agent's version, when it says so.
    pub version: Option<String>,
    /// The model, when the agent says which.
    pub model: Option<String>,
    /// How the agent says that it ended; what it does not say is for who started it to find out.
    pub ended: Option<Ended>,
    /// Calls of tools by kind.
    pub tools: BTreeMap<ToolKind, usize>,
}

impl Heard {
    /// Answers of the model so far.
    #[must_use]
    pub fn agent_steps(&self) -> usize {
        self.steps.iter().filter(|s| s.source == atif::Source::Agent).count()
    }
}
