//! The Agent Trajectory Interchange Format, version 1.7 (Harbor's): how an attempt went, step by step.
//!
//! Keys that the format does not have are refused by its readers, but in `extra`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The version that is written.
pub const VERSION: &str = "ATIF-v1.7";

/// A whole attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trajectory {
    /// [`VERSION`].
    pub schema_version: String,
    /// Names the attempt.
    pub session_id: String,
    /// Who acted.
    pub agent: Agent,
    /// What happened, in order.
    pub steps: Vec<Step>,
    /// Sums.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_metrics: Option<FinalMetrics>,
    /// What the format has no place for.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

/// Who acted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Agent {
    /// As the configuration has it.
    pub name: String,
    /// `unknown` when it does not say.
    pub version: String,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_name: Option<String>,
    /// What the format has no place for.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

/// Who a step is by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Instructions.
    System,
    /// The task.
    User,
    /// The model.
    Agent,
}

/// One message, with the calls in it and what came of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// From 1 on.
    pub step_id: usize,
    /// RFC 3339, when it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// Who said it.
    pub source: Source,
    /// What was said.
    pub message: String,
    /// What the model thought, as far as it is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_content: Option<String>,
    /// Calls of tools; of the agent's steps alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<Vec<ToolCall>>,
    /// What the tools answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observation: Option<Observation>,
    /// What the step used; of the agent's steps alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<Metrics>,
    /// What the format has no place for.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

impl Step {
    /// A step of words alone; its number is set when a trajectory is made.
    #[must_use]
    pub fn new(source: Source, message: impl Into<String>) -> Step {
        Step {
            step_id: 0,
            timestamp: None,
            source,
            message: message.into(),
            reasoning_content: None,
            tool_calls: None,
            observation: None,
            metrics: None,
            extra: Map::new(),
        }
    }

    /// The same, with the time of day.
    #[must_use]
    pub fn now(source: Source, message: impl Into<String>) -> Step {
        Step { timestamp: Some(now()), ..Step::new(source, message) }
    }
}

/// The time of day, as steps have it.
#[must_use]
pub fn now() -> String {
    humantime::format_rfc3339_millis(std::time::SystemTime::now()).to_string()
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Its name among those of the attempt.
    pub tool_call_id: String,
    /// The tool.
    pub function_name: String,
    /// An object.
    pub arguments: Value,
}

/// What tools answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// One for each call.
    pub results: Vec<ToolResult>,
}

/// What a tool answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// [`ToolCall::tool_call_id`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_call_id: Option<String>,
    /// Its words.
    pub content: String,
}

/// What one step used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// Tokens of the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_tokens: Option<u64>,
    /// Tokens of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_tokens: Option<u64>,
    /// Those of the prompt that came from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
    /// US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// Sums of an attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FinalMetrics {
    /// Tokens of all prompts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_prompt_tokens: Option<u64>,
    /// Tokens of all answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_completion_tokens: Option<u64>,
    /// Those of the prompts that came from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_cached_tokens: Option<u64>,
    /// US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_cost_usd: Option<f64>,
    /// How many steps there are.
    pub total_steps: usize,
}

impl Trajectory {
    /// The trajectory of what was heard of an attempt; steps are numbered from 1 on.
    #[must_use]
    pub fn of(session_id: String, agent: Agent, heard: &super::Heard) -> Trajectory {
        let mut steps = heard.steps.clone();
        steps.iter_mut().zip(1..).for_each(|(step, number)| step.step_id = number);
        let usage = heard.usage;
        let final_metrics = FinalMetrics {
            total_prompt_tokens: usage.input_tokens,
            total_completion_tokens: usage.output_tokens,
            total_cached_tokens: usage.cached_tokens,
            total_cost_usd: usage.cost_usd,
            total_steps: steps.len(),
        };
        Trajectory {
            schema_version: VERSION.to_owned(),
            session_id,
            agent,
            steps,
            final_metrics: Some(final_metrics),
            extra: Map::new(),
        }
    }
}
