//! mini-swe-agent: words on the terminal, which only tell how many steps there were, and a trajectory in a file.

use super::faults::fault;
use super::notes::Notes;
use crate::agent::atif::{Metrics, Source};
use crate::agent::{Ended, Usage};
use serde::Deserialize;
use serde_json::{Deserializer, Value};

/// In front of the version, on the first line.
const VERSION: &str = "This is mini-swe-agent version ";
/// In front of a step's number.
const STEP: &str = "mini-swe-agent (step ";

/// A line on the terminal.
pub(super) fn line(notes: &mut Notes, line: &str) {
    if let Some(version) = line.strip_prefix(VERSION) {
        notes.version(Some(version.trim().trim_end_matches('.')));
    }
    let number = line.strip_prefix(STEP).and_then(|rest| rest.split(',').next()?.parse::<usize>().ok());
    if number == Some(notes.heard().agent_steps() + 1) {
        notes.answer();
    }
}

/// The trajectory, in place of what the terminal said.
pub(super) fn file(notes: &mut Notes, text: &str) {
    let (messages, info) = match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(mut whole)) => {
            let messages = whole.remove("messages").and_then(|list| Vec::deserialize(list).ok()).unwrap_or_default();
            (messages, whole.remove("info").unwrap_or_default())
        }
        _ => (whole_elements(text, "\"messages\": ["), Value::Null),
    };
    if messages.is_empty() && info.is_null() {
        return;
    }
    notes.start_again();
    notes.version(info["mini_version"].as_str());
    notes.model(info["config"]["model"]["model_name"].as_str());
    let is_task = |message: &Value| message["role"] == "system" || message["role"] == "user";
    // What stands before the first answer is the prompt with the agent's own words around it.
    for message in messages.iter().skip_while(|message| is_task(message)) {
        note(notes, message);
    }
    let stats = &info["model_stats"];
    notes.used_in_all(Usage { cost_usd: stats["instance_cost"].as_f64(), ..Usage::default() });
    if let Some(status) = info["exit_status"].as_str() {
        let last = messages.iter().rev().find(|message| message["role"] == "exit");
        let words = last.and_then(|message| message["content"].as_str()).unwrap_or_default();
        end(notes, status, words);
    }
}

fn end(notes: &mut Notes, status: &str, words: &str) {
    notes.end(match status {
        "Submitted" => Ended::Done,
        "LimitsExceeded" => Ended::StepLimit,
        "TimeExceeded" => Ended::TimeLimit,
        _ if words.is_empty() => fault(None, status),
        _ => fault(None, &format!("{status}: {words}")),
    });
}

fn note(notes: &mut Notes, message: &Value) {
    let (words, extra) = (message["content"].as_str().unwrap_or_default(), &message["extra"]);
    match message["role"].as_str() {
        Some("assistant") => {
            let step = notes.answer();
            notes.say(step, words);
            notes.think(step, message["reasoning_content"].as_str().unwrap_or_default());
            for call in message["tool_calls"].as_array().into_iter().flatten() {
                let function = &call["function"];
                notes.call(step, call["id"].as_str(), function["name"].as_str().unwrap_or_default(), &function["arguments"]);
            }
            // Configurations without tools have commands in the words.
            if message["tool_calls"].as_array().is_none_or(Vec::is_empty) {
                for action in extra["actions"].as_array().into_iter().flatten() {
                    notes.call(step, action["tool_call_id"].as_str(), "bash", action);
                }
            }
            let usage = &extra["response"]["usage"];
            notes.used(
                step,
                Metrics {
                    prompt_tokens: usage["prompt_tokens"].as_u64(),
                    completion_tokens: usage["completion_tokens"].as_u64(),
                    cached_tokens: usage["prompt_tokens_details"]["cached_tokens"].as_u64(),
                    cost_usd: extra["cost"].as_f64().filter(|cost| *cost >= 0.0),
                },
            );
        }
        Some("tool") => {
            let raw = extra["raw_output"].as_str().filter(|raw| !raw.is_empty());
            notes.result(message["tool_call_id"].as_str(), raw.unwrap_or(words));
        }
        Some("user") => match extra["raw_output"].as_str() {
            Some(raw) => notes.result(None, raw),
            None => notes.other(Source::User, words),
        },
        Some("exit") => {
            notes.remark(words);
            if let Some(status) = extra["exit_status"].as_str() {
                end(notes, status, words);
            }
        }
        _ => {}
    }
}

/// The elements of a list that are whole, in JSON that ends too early.
fn whole_elements(text: &str, key: &str) -> Vec<Value> {
    let Some(at) = text.find(key) else { return Vec::new() };
    let between = |c: char| c == ',' || c.is_whitespace();
    let mut rest = &text[at + key.len()..];
    let mut found = Vec::new();
    loop {
        rest = rest.trim_start_matches(between);
        let mut values = Deserializer::from_str(rest).into_iter::<Value>();
        let Some(Ok(value @ Value::Object(_))) = values.next() else { return found };
        rest = rest.get(values.byte_offset()..).unwrap_or_default();
        found.push(value);
    }
}
