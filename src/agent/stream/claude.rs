//! Claude Code's `stream-json`: messages as the model's interface has them, block by block, and a result at the end.
//!
//! Qwen Code prints the same events. But there each block is a message with a name of its own, the tokens of a prompt are those
//! of the cache, too, and when the endpoint fails the client says so in the model's place, with success and exit code 0.

use super::faults::fault;
use super::notes::Notes;
use crate::agent::atif::{Metrics, Source};
use crate::agent::{Ended, Usage};
use serde_json::Value;

/// The model's name in messages that are the client's own.
const SYNTHETIC: &str = "<synthetic>";

/// Whose events they are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Claude,
    Qwen,
}

pub(super) fn event(notes: &mut Notes, event: &Value, dialect: Dialect) {
    notes.session(event["session_id"].as_str());
    match event["type"].as_str() {
        Some("system") if event["subtype"] == "init" => {
            notes.model(event["model"].as_str());
            notes.version(event["claude_code_version"].as_str().or(event["qwen_code_version"].as_str()));
        }
        Some("assistant") => assistant(notes, event, dialect),
        Some("user") => user(notes, event),
        Some("result") => result(notes, event, dialect),
        _ => {}
    }
}

/// A part of an answer of the model; parts of one answer have the same name.
fn assistant(notes: &mut Notes, event: &Value, dialect: Dialect) {
    let message = &event["message"];
    if message["model"] == SYNTHETIC {
        let words = text(&message["content"]);
        notes.remark(&words);
        if event["error"].is_string() || words.starts_with("API Error") {
            let kind = event["error"].as_str().unwrap_or_default();
            notes.fault(fault(None, &format!("{words} ({kind})")));
        }
        return;
    }
    if dialect == Dialect::Qwen
        && let Some(words) = api_error(message)
    {
        notes.remark(&words);
        return notes.fault(fault(None, &words));
    }
    let step = match message["id"].as_str() {
        _ if dialect == Dialect::Qwen => notes.answer_now(),
        Some(name) => notes.answer_named(name),
        None => notes.answer(),
    };
    notes.model(message["model"].as_str());
    notes.at(step, event["timestamp"].as_str());
    if let Some(of) = event["parent_tool_use_id"].as_str() {
        notes.mark(step, "parent_tool_use_id", of);
    }
    match &message["content"] {
        Value::String(words) => notes.say_more(step, words),
        Value::Array(blocks) => {
            for block in blocks {
                match block["type"].as_str() {
                    Some("text") => notes.say_more(step, block["text"].as_str().unwrap_or_default()),
                    Some("thinking") => notes.think(step, block["thinking"].as_str().unwrap_or_default()),
                    Some("tool_use" | "server_tool_use" | "mcp_tool_use") => {
                        notes.call(step, block["id"].as_str(), block["name"].as_str().unwrap_or_default(), &block["input"]);
                    }
                    _ => {}
                }
            }
        }
        _ => {}
    }
    let usage = &message["usage"];
    if usage.is_object() {
        let (prompt, cached) = prompt(usage, dialect);
        let metrics = Metrics {
            prompt_tokens: prompt,
            completion_tokens: usage["output_tokens"].as_u64(),
            cached_tokens: cached,
            cost_usd: None,
        };
        notes.used(step, metrics);
    }
}

/// What Qwen Code says in the place of a model that did not answer: nothing was used for it.
fn api_error(message: &Value) -> Option<String> {
    let words = text(&message["content"]);
    let is_client = message["usage"]["output_tokens"] == 0 && words.starts_with("[API Error: ") && words.ends_with(']');
    is_client.then_some(words)
}

/// Tokens of a prompt and the cached ones among them; Claude's interface counts those apart.
fn prompt(usage: &Value, dialect: Dialect) -> (Option<u64>, Option<u64>) {
    let cached = usage["cache_read_input_tokens"].as_u64();
    if dialect == Dialect::Qwen {
        return (usage["input_tokens"].as_u64(), cached);
    }
    let written = usage["cache_creation_input_tokens"].as_u64().unwrap_or(0);
    let prompt = usage["input_tokens"].as_u64().map(|new| new.saturating_add(cached.unwrap_or(0)).saturating_add(written));
    (prompt, cached)
}

/// What tools answered, or words that the client put in.
fn user(notes: &mut Notes, event: &Value) {
    match &event["message"]["content"] {
        Value::String(words) => notes.other(Source::User, words),
        Value::Array(blocks) => {
            for block in blocks {
                match block["type"].as_str() {
                    Some("tool_result") => notes.result(block["tool_use_id"].as_str(), &text(&block["content"])),
                    Some("text") => notes.other(Source::User, block["text"].as_str().unwrap_or_default()),
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

/// The words of a content, which is a text or blocks.
fn text(content: &Value) -> String {
    match content {
        Value::String(words) => words.clone(),
        Value::Array(blocks) => {
            let words: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
            words.join("\n")
        }
        _ => String::new(),
    }
}

fn result(notes: &mut Notes, event: &Value, dialect: Dialect) {
    let usage = &event["usage"];
    let (input_tokens, cached_tokens) = prompt(usage, dialect);
    notes.used_in_all(Usage {
        input_tokens,
        output_tokens: usage["output_tokens"].as_u64(),
        cached_tokens,
        cost_usd: event["total_cost_usd"].as_f64(),
    });
    let subtype = event["subtype"].as_str().unwrap_or_default();
    let earlier = notes.last_fault();
    let is_error = event["is_error"].as_bool().unwrap_or(subtype != "success");
    notes.end(match subtype {
        "error_max_turns" => Ended::StepLimit,
        "error_max_budget_usd" => Ended::ResourceLimit("money".to_owned()),
        _ if !is_error => match earlier {
            Some(earlier) if dialect == Dialect::Qwen => earlier,
            _ => Ended::Done,
        },
        _ => {
            let errors = event["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
            let errors: Vec<&str> = errors.iter().filter_map(Value::as_str).collect();
            let words = match event["result"].as_str().or(event["error"]["message"].as_str()) {
                Some(words) => words.to_owned(),
                None if errors.is_empty() => subtype.to_owned(),
                None => errors.join("\n"),
            };
            match (fault(event["api_error_status"].as_u64(), &words), earlier) {
                // The event before may say more about it.
                (Ended::Failed(_), Some(earlier)) => earlier,
                (told, _) => told,
            }
        }
    });
}
