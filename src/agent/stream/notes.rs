//! The record that all formats write: steps by what belongs to them, sums, and how much of it is kept.

use super::kinds::kind;
use crate::agent::atif::{Metrics, Source, Step, ToolCall, ToolResult};
use crate::agent::{Ended, Heard, Usage};
use regex::Regex;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use std::sync::LazyLock;

/// Bytes that are kept of one text: a message, thoughts, the arguments of a call, a result.
pub(super) const TEXT_BYTES: usize = 64 << 10;
/// Bytes of texts that are kept of a whole attempt.
const ALL_BYTES: usize = 64 << 20;
/// Bytes of a name: of a tool, a call, a model, a session.
const NAME_BYTES: usize = 256;
/// Bytes of what an agent says about its end.
const END_BYTES: usize = 2 << 10;

/// What is noted of an attempt while it goes on.
#[derive(Debug)]
pub(super) struct Notes {
    heard: Heard,
    /// Where the call of a name stands, and its result when there is one: step, place among the results.
    calls: FxHashMap<String, (usize, Option<usize>)>,
    /// The step of a name that the agent gave to it.
    named: FxHashMap<String, usize>,
    /// The last step of the agent's.
    last: Option<usize>,
    /// Calls of the last step that have no result yet.
    unanswered: usize,
    /// Texts may take as much as this.
    left: usize,
    sums: Sums,
    /// The last fault after which nothing more was heard of the model.
    fault: Option<Ended>,
}

/// Sums over steps. Wide enough for any number of steps, so that what a step had before can be taken away again.
#[derive(Debug, Default)]
struct Sums {
    input: Option<u128>,
    output: Option<u128>,
    cached: Option<u128>,
    cost: Option<f64>,
}

impl Sums {
    fn replace(&mut self, before: Metrics, now: Metrics) {
        fn sum(sum: &mut Option<u128>, before: Option<u64>, now: Option<u64>) {
            if let Some(now) = now {
                let rest = sum.unwrap_or(0).saturating_sub(u128::from(before.unwrap_or(0)));
                *sum = Some(rest.saturating_add(u128::from(now)));
            }
        }
        sum(&mut self.input, before.prompt_tokens, now.prompt_tokens);
        sum(&mut self.output, before.completion_tokens, now.completion_tokens);
        sum(&mut self.cached, before.cached_tokens, now.cached_tokens);
        if let Some(now) = now.cost_usd {
            self.cost = Some(self.cost.unwrap_or(0.0) - before.cost_usd.unwrap_or(0.0) + now);
        }
    }

    fn usage(&self) -> Usage {
        let tokens = |sum: Option<u128>| sum.map(|sum| u64::try_from(sum).unwrap_or(u64::MAX));
        Usage {
            input_tokens: tokens(self.input),
            output_tokens: tokens(self.output),
            cached_tokens: tokens(self.cached),
            cost_usd: self.cost.map(|cost| cost.clamp(0.0, f64::MAX)),
        }
    }
}

/// The start of a text, not longer than `bytes`.
fn start(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

impl Notes {
    pub(super) fn new(prompt: &str) -> Notes {
        let mut notes = Notes {
            heard: Heard::default(),
            calls: FxHashMap::default(),
            named: FxHashMap::default(),
            last: None,
            unanswered: 0,
            left: ALL_BYTES,
            sums: Sums::default(),
            fault: None,
        };
        let first = notes.open(Source::User);
        notes.say(first, prompt);
        notes
    }

    pub(super) fn heard(&self) -> &Heard {
        &self.heard
    }

    pub(super) fn finish(mut self) -> Heard {
        self.heard.ended = self.heard.ended.or(self.fault);
        self.heard
    }

    /// Forgets the agent's steps and what was summed over them: a better source has them.
    pub(super) fn start_again(&mut self) {
        self.heard.steps.truncate(1);
        self.heard.tools.clear();
        self.heard.usage = Usage::default();
        let first = self.heard.steps.first().map_or(0, |step| step.message.len());
        self.left = ALL_BYTES.saturating_sub(first);
        self.sums = Sums::default();
        self.calls.clear();
        self.named.clear();
        self.last = None;
        self.unanswered = 0;
    }

    fn open(&mut self, source: Source) -> usize {
        self.heard.steps.push(Step::new(source, ""));
        let step = self.heard.steps.len() - 1;
        if source == Source::Agent {
            self.last = Some(step);
            self.unanswered = 0;
            // It goes on, whatever was said before.
            self.fault = None;
            self.heard.ended = None;
        }
        step
    }

    /// A new step of the model's.
    pub(super) fn answer(&mut self) -> usize {
        self.open(Source::Agent)
    }

    /// The step of the model's that the agent calls `name`, made when there is none.
    pub(super) fn answer_named(&mut self, name: &str) -> usize {
        let name = start(name, NAME_BYTES);
        if let Some(&step) = self.named.get(name) {
            return step;
        }
        let step = self.answer();
        self.named.insert(name.to_owned(), step);
        step
    }

    /// The step that the model is at, where the agent does not say: a new one once all calls of the last are answered.
    pub(super) fn answer_now(&mut self) -> usize {
        let open = self.last.filter(|&step| self.unanswered > 0 || self.heard.steps[step].tool_calls.is_none());
        open.unwrap_or_else(|| self.answer())
    }

    /// The last step of the model's, made when there is none.
    pub(super) fn answer_last(&mut self) -> usize {
        self.last.unwrap_or_else(|| self.answer())
    }

    /// Words of someone else than the model: a step of their own.
    pub(super) fn other(&mut self, source: Source, text: &str) {
        let step = self.open(source);
        self.say(step, text);
    }

    /// What the agent or this tool has to say besides.
    pub(super) fn remark(&mut self, text: &str) {
        if !text.is_empty() {
            self.other(Source::System, text);
        }
    }

    /// A line of an agent that prints words: they are one step.
    pub(super) fn plain(&mut self, line: &str) {
        let step = self.answer_last();
        if !self.heard.steps[step].message.is_empty() {
            self.say(step, "\n");
        }
        self.say(step, line);
    }

    /// As much of `text` as may be kept next to `before` bytes that are; the rest is counted in the step.
    fn kept<'a>(&mut self, step: usize, before: usize, text: &'a str) -> &'a str {
        let kept = start(text, TEXT_BYTES.saturating_sub(before).min(self.left));
        self.left -= kept.len();
        if kept.len() < text.len() {
            let extra = &mut self.heard.steps[step].extra;
            let cut = extra.get("cut_bytes").and_then(Value::as_u64).unwrap_or(0);
            extra.insert("cut_bytes".to_owned(), json!(cut.saturating_add((text.len() - kept.len()) as u64)));
        }
        kept
    }

    /// Adds to the message of a step.
    pub(super) fn say(&mut self, step: usize, text: &str) {
        let kept = self.kept(step, self.heard.steps[step].message.len(), text);
        self.heard.steps[step].message.push_str(kept);
    }

    /// Adds to the message of a step, on a new line.
    pub(super) fn say_more(&mut self, step: usize, text: &str) {
        if !text.is_empty() && !self.heard.steps[step].message.is_empty() {
            self.say(step, "\n");
        }
        self.say(step, text);
    }

    /// Adds to what the model thought, on a new line.
    pub(super) fn think(&mut self, step: usize, text: &str) {
        let before = self.heard.steps[step].reasoning_content.as_ref().map_or(0, String::len);
        if text.is_empty() {
            return;
        }
        let kept = self.kept(step, before + 1, text);
        let thoughts = self.heard.steps[step].reasoning_content.get_or_insert_default();
        if !thoughts.is_empty() {
            thoughts.push('\n');
        }
        thoughts.push_str(kept);
    }

    /// A call of a tool; one that stands there already is not noted twice. A call without a name of its own gets one.
    pub(super) fn call(&mut self, step: usize, id: Option<&str>, tool: &str, arguments: &Value) {
        let calls = self.heard.steps[step].tool_calls.as_ref().map_or(0, Vec::len);
        let id = id.map_or_else(|| format!("{step}-{calls}"), |id| start(id, NAME_BYTES).to_owned());
        if self.calls.get(&id).is_some_and(|(of, _)| *of == step) {
            return;
        }
        let arguments = match arguments {
            Value::Object(_) => arguments.clone(),
            Value::Null => json!({}),
            // Arguments are often JSON in a string.
            Value::String(text) => match serde_json::from_str(text) {
                Ok(Value::Object(object)) => Value::Object(object),
                _ => json!({ "value": text }),
            },
            other => json!({ "value": other }),
        };
        let kind = kind(tool, &arguments);
        *self.heard.tools.entry(kind).or_default() += 1;
        let text = arguments.to_string();
        let kept = self.kept(step, 0, &text);
        let arguments = if kept.len() < text.len() { json!({ "cut": kept }) } else { arguments };
        if self.last == Some(step) {
            self.unanswered += 1;
        }
        self.calls.insert(id.clone(), (step, None));
        let call = ToolCall { tool_call_id: id, function_name: start(tool, NAME_BYTES).to_owned(), arguments };
        self.heard.steps[step].tool_calls.get_or_insert_default().push(call);
    }

    /// Whether a call of this name was noted.
    pub(super) fn knows(&self, id: &str) -> bool {
        self.calls.contains_key(start(id, NAME_BYTES))
    }

    /// What a tool answered; a later answer to the same call is in place of the one before. An answer to no call that was noted
    /// stands with the last step.
    pub(super) fn result(&mut self, id: Option<&str>, text: &str) {
        let id = id.map(|id| start(id, NAME_BYTES));
        let known = id.and_then(|id| self.calls.get(id).copied());
        let Some(step) = known.map(|(step, _)| step).or(self.last) else { return };
        let content = self.kept(step, 0, text).to_owned();
        let results = &mut self.heard.steps[step].observation.get_or_insert_default().results;
        if let Some(before) = known.and_then(|(_, place)| results.get_mut(place?)) {
            before.content = content;
            return;
        }
        let source_call_id = known.and(id).map(str::to_owned);
        let place = results.len();
        results.push(ToolResult { source_call_id, content });
        if let Some((_, before)) = known.and(id).and_then(|id| self.calls.get_mut(id)) {
            *before = Some(place);
            if self.last == Some(step) {
                self.unanswered = self.unanswered.saturating_sub(1);
            }
        }
    }

    /// What a step used, in place of what was known of it.
    pub(super) fn used(&mut self, step: usize, metrics: Metrics) {
        let before = self.heard.steps[step].metrics.replace(metrics).unwrap_or_default();
        self.sums.replace(before, metrics);
        self.heard.usage = self.sums.usage();
    }

    /// What the agent says that it used altogether, as far as it says so.
    pub(super) fn used_in_all(&mut self, told: Usage) {
        let usage = &mut self.heard.usage;
        usage.input_tokens = told.input_tokens.or(usage.input_tokens);
        usage.output_tokens = told.output_tokens.or(usage.output_tokens);
        usage.cached_tokens = told.cached_tokens.or(usage.cached_tokens);
        usage.cost_usd = told.cost_usd.filter(|cost| *cost >= 0.0).or(usage.cost_usd);
    }

    /// When a step was, if that is a time.
    pub(super) fn at(&mut self, step: usize, time: Option<&str>) {
        static TIME: LazyLock<Option<Regex>> = LazyLock::new(|| {
            Regex::new(concat!(
                r"^[1-9]\d{3}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?(Z|[+-]\d\d:[0-5]\d)$|",
                // Days that not every month has.
                r"^[1-9]\d{3}-(0[13-9]|1[0-2])-(29|30)T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?Z$|",
                r"^[1-9]\d{3}-(0[13578]|1[02])-31T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?Z$",
            ))
            .ok()
        });
        let time = time.filter(|time| TIME.as_ref().is_some_and(|pattern| pattern.is_match(time)));
        let before = &mut self.heard.steps[step].timestamp;
        if let (None, Some(time)) = (&before, time) {
            *before = Some(time.to_owned());
        }
    }

    /// Gives the last steps that have no time this one.
    pub(super) fn stamp(&mut self, now: &str) {
        for step in self.heard.steps.iter_mut().rev().take_while(|step| step.timestamp.is_none()) {
            step.timestamp = Some(now.to_owned());
        }
    }

    /// Notes something of a step that the format has no place for.
    pub(super) fn mark(&mut self, step: usize, key: &str, value: &str) {
        let value = json!(start(value, NAME_BYTES));
        self.heard.steps[step].extra.insert(key.to_owned(), value);
    }

    pub(super) fn session(&mut self, name: Option<&str>) {
        set(&mut self.heard.session, name);
    }

    pub(super) fn version(&mut self, version: Option<&str>) {
        set(&mut self.heard.version, version);
    }

    pub(super) fn model(&mut self, model: Option<&str>) {
        set(&mut self.heard.model, model);
    }

    /// How the agent says that it ended.
    pub(super) fn end(&mut self, ended: Ended) {
        self.heard.ended = Some(bounded(ended));
    }

    /// A fault that may pass: it is the end if nothing comes after it.
    pub(super) fn fault(&mut self, fault: Ended) {
        self.fault = Some(bounded(fault));
    }

    /// The fault that has not passed.
    pub(super) fn last_fault(&mut self) -> Option<Ended> {
        self.fault.take()
    }
}

/// The first name that is told stays.
fn set(place: &mut Option<String>, name: Option<&str>) {
    if let (None, Some(name)) = (&place, name.filter(|name| !name.is_empty())) {
        *place = Some(start(name, NAME_BYTES).to_owned());
    }
}

fn bounded(ended: Ended) -> Ended {
    let cut = |text: String| start(&text, END_BYTES).to_owned();
    match ended {
        Ended::ResourceLimit(which) => Ended::ResourceLimit(cut(which)),
        Ended::Failed(why) => Ended::Failed(cut(why)),
        Ended::ModelUnavailable(why) => Ended::ModelUnavailable(cut(why)),
        Ended::NoKey(why) => Ended::NoKey(cut(why)),
        Ended::NotStarted(why) => Ended::NotStarted(cut(why)),
        short @ (Ended::Done | Ended::StepLimit | Ended::TimeLimit | Ended::ContextLimit | Ended::MachineMemory) => short,
    }
}
