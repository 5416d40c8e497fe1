//! Our own small agent: a model behind an OpenAI-compatible endpoint, and the tools of the Gistify paper.
//!
//! It is the reference that other agents are compared with, so everything that the paper varies can be switched ([`ToolSet`]),
//! and everything that it limits is counted and enforced here: steps, context, time. It runs in this process; what has to be run
//! for it (commands, the gist) is run by a [`Host`], in a sandbox. [`one_shot`] is the paper's baseline without any tool.
//!
//! The loop is here; `endpoint` asks the model (`answer` reads what it says), `context` keeps what was said short enough,
//! `tools` says which tools there are, and `files` is what they may touch.

mod answer;
mod context;
mod endpoint;
mod files;
mod one_shot;
#[cfg(test)]
mod server;
mod tools;
#[cfg(test)]
mod unit;

pub use one_shot::one_shot;
pub use tools::{Extra, NAMES, ToolSet};

use super::atif::{Observation, Source, Step, ToolCall, ToolResult};
use super::secret::Secret;
use super::{AgentLimits, Ended, Heard, ToolKind};
use crate::error::Result;
use crate::process::interrupt;
use answer::{Answer, Call};
use camino::Utf8PathBuf;
use context::{Conversation, Dropped, Size};
use endpoint::{Endpoint, Fault};
use files::{GistFile, Said, Tree};
use serde_json::{Map, Value, json};
use std::fmt;
use std::time::{Duration, Instant};
use tools::Tool;

/// Bytes of a tool's result that the model sees.
const MAX_RESULT: usize = 16 << 10;
/// Answers in a row without a call that are answered with a nudge; the next one ends the attempt.
const MAX_NUDGES: usize = 2;

/// A model, and where it is asked.
#[derive(Clone)]
pub struct Model {
    /// What stands before `/chat/completions`: `http://localhost:8080/v1`. A query stays at the end.
    pub base_url: String,
    /// Sent as a bearer token, and nowhere shown.
    pub key: Option<Secret>,
    /// As the endpoint knows it.
    pub name: String,
    /// Further tries of a request that failed in a way that may pass.
    pub retries: u32,
    /// Wall time of one request.
    pub request_timeout: Duration,
    /// Members of each request beside the model, the messages and the tools: `temperature`, `reasoning_effort`, `max_tokens`.
    pub options: Map<String, Value>,
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model")
            .field("base_url", &endpoint::shown(&self.base_url))
            .field("key", &self.key)
            .field("name", &self.name)
            .field("retries", &self.retries)
            .field("request_timeout", &self.request_timeout)
            .finish_non_exhaustive()
    }
}

impl Model {
    /// Where requests go; nothing when there is no scheme.
    fn url(&self) -> Option<String> {
        let (base, query) = self.base_url.split_once('?').map_or((self.base_url.as_str(), None), |(b, q)| (b, Some(q)));
        let query = query.map(|q| format!("?{q}")).unwrap_or_default();
        base.contains("://").then(|| format!("{}/chat/completions{query}", base.trim_end_matches('/')))
    }

    fn redact(&self, text: &str) -> String {
        self.key.as_ref().map_or_else(|| text.to_owned(), |key| key.redact(text))
    }

    /// What each request has beside its messages.
    fn request(&self, tools: &[Tool]) -> Value {
        let mut request = self.options.clone();
        request.insert("model".into(), json!(self.name));
        request.insert("stream".into(), json!(false));
        if !tools.is_empty() {
            request.insert("tools".into(), tools.iter().map(|tool| tool.declaration()).collect());
        }
        Value::Object(request)
    }
}

/// What the model is told first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// What holds for every task.
    pub system: String,
    /// The task.
    pub task: String,
}

/// Where an attempt takes place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The project's copy; the tools see nothing else.
    pub workspace: Utf8PathBuf,
    /// The gist, inside of it or elsewhere; the tools write nothing else.
    pub gist: Utf8PathBuf,
}

/// What the agent has others do. Each gives what the model is to see.
///
/// # Errors
/// An error is shown to the model as well, and ends nothing.
pub trait Host {
    /// Compiles and runs the gist alone, within the wall time that is left of the attempt.
    fn run_gist(&self, left: Duration) -> Result<String, String>;
    /// Runs a command in the workspace, within the wall time that is left of the attempt.
    fn bash(&self, command: &str, left: Duration) -> Result<String, String>;
    /// Files and functions that the test's run touches.
    fn trace(&self) -> Result<String, String>;
    /// Definitions and uses of an item.
    fn graph(&self, name: &str) -> Result<String, String>;
}

/// How a wait is spent.
type Sleep<'a> = &'a dyn Fn(Duration) -> Result<()>;

/// Has a model work on a gist until it submits or a limit is hit. How it ended is in [`Heard::ended`]; what it left is at
/// [`Place::gist`], whatever the end.
///
/// # Errors
/// [`crate::error::Error::Interrupted`]; [`crate::error::Error::Io`] when the workspace can't be opened or the gist's folder can't
/// be made. What goes wrong with the model is no error.
pub fn chat(
    model: &Model,
    tools: &ToolSet,
    limits: &AgentLimits,
    prompt: &Prompt,
    place: &Place,
    host: &dyn Host,
) -> Result<Heard> {
    chat_with(model, tools, limits, prompt, place, host, &sleep)
}

fn chat_with(
    model: &Model,
    tools: &ToolSet,
    limits: &AgentLimits,
    prompt: &Prompt,
    place: &Place,
    host: &dyn Host,
    sleep: Sleep<'_>,
) -> Result<Heard> {
    let tree = Tree::open(&place.workspace)?;
    let gist = GistFile::open(&tree, &place.workspace, &place.gist)?;
    let tools = tools.tools();
    let begun = Instant::now();
    let deadline = deadline(begun, limits.timeout);
    let mut attempt = Attempt {
        talk: Conversation::new(model.request(&tools), &prompt.system, &prompt.task),
        endpoint: Endpoint::new(model, deadline, sleep),
        tools: &tools,
        limits,
        begun,
        deadline,
        tree,
        gist,
        host,
        heard: heard(model, prompt),
    };
    let ended = match attempt.run() {
        Ok(ended) | Err(Fault::End(ended)) => ended,
        Err(Fault::TooLong(_)) => Ended::ContextLimit,
        Err(Fault::Error(e)) => return Err(e),
    };
    Ok(finished(attempt.heard, model, ended))
}

/// Sleeps in short naps, so that Ctrl-C need not wait.
fn sleep(wait: Duration) -> Result<()> {
    let until = Instant::now() + wait;
    while let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
        interrupt::check()?;
        std::thread::sleep(left.min(Duration::from_millis(100)));
    }
    Ok(())
}

/// A time limit that no clock can hold is none.
fn deadline(begun: Instant, timeout: Duration) -> Instant {
    const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
    begun + timeout.min(CENTURY)
}

/// What is heard before the model has said anything.
fn heard(model: &Model, prompt: &Prompt) -> Heard {
    Heard {
        steps: vec![Step::now(Source::System, &prompt.system), Step::now(Source::User, &prompt.task)],
        version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        model: Some(model.name.clone()),
        ..Heard::default()
    }
}

/// Hides the key in all that was heard: a file of the project or a command may have shown it.
fn finished(mut heard: Heard, model: &Model, ended: Ended) -> Heard {
    heard.ended = Some(ended);
    let Some(key) = &model.key else { return heard };
    let hide = |text: &mut String| *text = key.redact(text);
    for step in &mut heard.steps {
        hide(&mut step.message);
        step.reasoning_content.iter_mut().for_each(hide);
        for call in step.tool_calls.iter_mut().flatten() {
            hide(&mut call.tool_call_id);
            hide(&mut call.function_name);
            key.redact_value(&mut call.arguments);
        }
        for result in step.observation.iter_mut().flat_map(|o| &mut o.results) {
            hide(&mut result.content);
            result.source_call_id.iter_mut().for_each(hide);
        }
        step.extra.values_mut().for_each(|value| key.redact_value(value));
    }
    heard.model.iter_mut().for_each(hide);
    heard
}

/// The step that an answer is.
fn step_of(answer: &Answer) -> Step {
    let mut step = Step::now(Source::Agent, &answer.text);
    step.reasoning_content = answer.reasoning.clone();
    step.metrics = answer.metrics;
    if let Some(finish) = &answer.finish {
        step.extra.insert("finish_reason".into(), json!(finish));
    }
    step
}

/// How long the context was, and who says so.
fn context_of(answer: &Answer, size: Size, told: bool) -> Value {
    match answer.metrics.and_then(|m| m.prompt_tokens).filter(|tokens| *tokens > 0) {
        Some(tokens) => json!({"tokens": tokens, "counted_by": "endpoint"}),
        None if told => json!({"tokens": size.tokens, "counted_by": "estimate from earlier counts of the endpoint"}),
        None => json!({"tokens": size.tokens, "counted_by": "estimate"}),
    }
}

/// One attempt under way.
struct Attempt<'a> {
    talk: Conversation,
    endpoint: Endpoint<'a>,
    tools: &'a [Tool],
    limits: &'a AgentLimits,
    begun: Instant,
    deadline: Instant,
    tree: Tree,
    gist: GistFile,
    host: &'a dyn Host,
    heard: Heard,
}

impl Attempt<'_> {
    fn run(&mut self) -> std::result::Result<Ended, Fault> {
        let mut nudges = 0;
        for _ in 0..self.limits.steps {
            if Instant::now() >= self.deadline {
                return Ok(Ended::TimeLimit);
            }
            let (answer, mut step) = self.ask()?;
            self.talk.push(answer.message.clone());
            if answer.calls.is_empty() {
                self.heard.steps.push(step);
                if nudges == MAX_NUDGES {
                    return Ok(Ended::Done);
                }
                nudges += 1;
                let nudge = if answer.was_cut() {
                    "Your answer was cut off at the limit of its length. Go on in smaller pieces, with a call of a tool."
                } else {
                    "That was no call of a tool. Call one to go on, or `submit` when the gist is done."
                };
                self.talk.push(json!({"role": "user", "content": nudge}));
                self.heard.steps.push(Step::now(Source::User, nudge));
                continue;
            }
            nudges = 0;
            let submitted = self.carry_out(&answer, &mut step);
            self.heard.steps.push(step);
            interrupt::check()?;
            if submitted {
                return Ok(Ended::Done);
            }
        }
        Ok(if Instant::now() >= self.deadline { Ended::TimeLimit } else { Ended::StepLimit })
    }

    /// The next answer. What is too long, by our count or by the endpoint's word, is shortened first; what was dropped is noted.
    fn ask(&mut self) -> std::result::Result<(Answer, Step), Fault> {
        let mut dropped = self.talk.shorten_to(self.limits.context_tokens);
        let (answer, size) = loop {
            let size = self.talk.size();
            if size.tokens > self.limits.context_tokens {
                self.note_drops(&dropped);
                return Err(Fault::End(Ended::ContextLimit));
            }
            match self.endpoint.ask(&self.talk.body()) {
                Ok(answer) => break (answer, size),
                Err(Fault::TooLong(why)) => {
                    let more = self.talk.shorten_to(size.tokens / 4 * 3);
                    let done = more.is_empty();
                    dropped.extend(more);
                    if done {
                        self.note_drops(&dropped);
                        return Err(Fault::TooLong(why));
                    }
                }
                Err(fault) => return Err(fault),
            }
        };
        let mut step = step_of(&answer);
        step.extra.insert("context".into(), context_of(&answer, size, self.talk.is_told()));
        step.extra.insert("elapsed_ms".into(), json!(u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)));
        if !dropped.is_empty() {
            step.extra.insert("dropped_results".into(), self.drops(&dropped));
        }
        if let Some(metrics) = answer.metrics {
            answer::add(&mut self.heard.usage, metrics);
            self.talk.learn(size.bytes, metrics.prompt_tokens.unwrap_or(0));
        }
        if let Some(model) = &answer.model {
            self.heard.model = Some(model.clone());
        }
        Ok((answer, step))
    }

    /// Drops that no answer follows stand in the last step.
    fn note_drops(&mut self, dropped: &[Dropped]) {
        if dropped.is_empty() {
            return;
        }
        let drops = self.drops(dropped);
        if let Some(step) = self.heard.steps.last_mut() {
            step.extra.insert("dropped_after".into(), drops);
        }
    }

    fn drops(&self, dropped: &[Dropped]) -> Value {
        let calls = || self.heard.steps.iter().flat_map(|s| s.tool_calls.iter().flatten());
        let tool = |id: &str| calls().find(|call| call.tool_call_id == id).map(|call| call.function_name.clone());
        dropped.iter().map(|d| json!({"tool_call_id": d.call, "tool": tool(&d.call), "bytes": d.bytes})).collect()
    }

    /// Carries out the calls of an answer, one after the other; whether one of them was `submit`.
    fn carry_out(&mut self, answer: &Answer, step: &mut Step) -> bool {
        let (mut calls, mut results, mut submitted) = (Vec::new(), Vec::new(), false);
        for (i, call) in answer.calls.iter().enumerate() {
            let tool = self.tools.iter().copied().find(|tool| tool.name() == call.name);
            *self.heard.tools.entry(tool.map_or(ToolKind::Other, Tool::kind)).or_default() += 1;
            let said = if submitted {
                Err(String::from("not carried out: the gist was submitted before"))
            } else if Instant::now() >= self.deadline || interrupt::check().is_err() {
                Err(String::from("not carried out: the time is up"))
            } else {
                self.carry_out_one(tool, call, answer.was_cut())
            };
            submitted |= tool == Some(Tool::Submit) && said.is_ok();
            let mut content = capped(tool, &said.unwrap_or_else(|why| format!("error: {why}")));
            if answer.ignored > 0 && i + 1 == answer.calls.len() {
                content
                    .push_str(&format!("\n[{} further calls were not carried out: too many in one answer]", answer.ignored));
                step.extra.insert("ignored_calls".into(), json!(answer.ignored));
            }
            self.talk.push(json!({"role": "tool", "tool_call_id": call.id, "content": content}));
            results.push(ToolResult { source_call_id: Some(call.id.clone()), content });
            let arguments = match &call.arguments {
                Ok(arguments) => Value::Object(arguments.clone()),
                Err(text) => json!({"unreadable": text}),
            };
            calls.push(ToolCall { tool_call_id: call.id.clone(), function_name: call.name.clone(), arguments });
        }
        step.tool_calls = Some(calls);
        step.observation = Some(Observation { results });
        submitted
    }

    fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    fn carry_out_one(&self, tool: Option<Tool>, call: &Call, was_cut: bool) -> Said {
        let Some(tool) = tool else {
            let names: Vec<_> = self.tools.iter().map(|tool| tool.name()).collect();
            return Err(format!("there is no tool `{}`; there are {}", call.name, names.join(", ")));
        };
        let arguments = call.arguments.as_ref().map_err(|_| match was_cut {
            true => String::from("the arguments were cut off at the limit of the answer's length; use smaller pieces"),
            false => String::from("the arguments are no JSON object; call the tool again"),
        })?;
        match tool {
            Tool::ReadFile => self.tree.read(text(arguments, "path")?, line(arguments, "start")?, line(arguments, "end")?),
            Tool::ListDir => self.tree.list(optional(arguments, "path")?.unwrap_or(".")),
            Tool::Search => {
                let path = optional(arguments, "path")?.unwrap_or(".");
                self.tree.search(text(arguments, "pattern")?, path, self.deadline)
            }
            Tool::WriteGist => self.gist.write(text(arguments, "content")?),
            Tool::EditGist => self.gist.edit(text(arguments, "old")?, text(arguments, "new")?),
            Tool::RunGist => self.host.run_gist(self.left()),
            Tool::Bash => self.host.bash(text(arguments, "command")?, self.left()),
            Tool::Trace => self.host.trace(),
            Tool::Graph => self.host.graph(text(arguments, "name")?),
            Tool::Submit => Ok(String::from("submitted")),
        }
    }
}

fn optional<'a>(arguments: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>, String> {
    match arguments.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("`{name}` has to be a string")),
    }
}

fn text<'a>(arguments: &'a Map<String, Value>, name: &str) -> Result<&'a str, String> {
    optional(arguments, name)?.ok_or_else(|| format!("`{name}` is missing"))
}

/// A line number, in one of the ways that models write one.
fn line(arguments: &Map<String, Value>, name: &str) -> Result<Option<u64>, String> {
    let number = match arguments.get(name) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => text.trim().parse().ok(),
        Some(value) => value.as_u64().or_else(|| value.as_f64().filter(|n| *n >= 0.0 && n.fract() == 0.0).map(|n| n as u64)),
    };
    number.map(Some).ok_or_else(|| format!("`{name}` has to be a line number, from 1 on"))
}

/// A result as the model sees it. Of what was run, the end matters as much as the beginning.
fn capped(tool: Option<Tool>, text: &str) -> String {
    if text.len() <= MAX_RESULT {
        return text.to_owned();
    }
    let total = text.len();
    if tool.is_some_and(|tool| tool.kind() == ToolKind::Execute) {
        let head = &text[..text.floor_char_boundary(MAX_RESULT / 2)];
        let tail = &text[text.ceil_char_boundary(total - MAX_RESULT / 2)..];
        let left_out = total - head.len() - tail.len();
        return format!("{head}\n[cut: {left_out} of {total} bytes are left out here]\n{tail}");
    }
    let head = &text[..text.floor_char_boundary(MAX_RESULT)];
    format!(
        "{head}\n[cut: {} of {total} bytes, the first {} lines, are shown; ask for less]",
        head.len(),
        head.lines().count()
    )
}
