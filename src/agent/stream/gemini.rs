//! Gemini CLI's `stream-json`: words in pieces, calls, results, and statistics at the end.
//!
//! It does not say where an answer of the model ends. Qwen Code, which was made from it, prints events like Claude Code's.

use super::claude::{self, Dialect};
use super::faults::fault;
use super::notes::Notes;
use crate::agent::{Ended, Usage};
use serde_json::Value;

pub(super) fn event(notes: &mut Notes, event: &Value) {
    let time = event["timestamp"].as_str();
    match event["type"].as_str() {
        Some("init") => {
            notes.session(event["session_id"].as_str());
            notes.model(event["model"].as_str());
        }
        Some("message") if event["role"] == "assistant" => {
            let step = notes.answer_now();
            notes.at(step, time);
            notes.say(step, event["content"].as_str().unwrap_or_default());
        }
        Some("tool_use") => {
            let step = notes.answer_now();
            notes.at(step, time);
            notes.call(
                step,
                event["tool_id"].as_str(),
                event["tool_name"].as_str().unwrap_or_default(),
                &event["parameters"],
            );
        }
        Some("tool_result") => {
            let words = event["output"].as_str().or(event["error"]["message"].as_str());
            notes.result(event["tool_id"].as_str(), words.unwrap_or_default());
        }
        Some("error") => {
            let words = event["message"].as_str().unwrap_or_default();
            notes.remark(words);
            if event["severity"] != "warning" {
                notes.fault(end(&Value::Null, words));
            }
        }
        Some("result") if event["status"].is_string() => {
            let stats = &event["stats"];
            notes.used_in_all(Usage {
                input_tokens: stats["input_tokens"].as_u64(),
                output_tokens: stats["output_tokens"].as_u64(),
                cached_tokens: stats["cached"].as_u64(),
                cost_usd: None,
            });
            let earlier = notes.last_fault();
            if event["status"] == "success" {
                notes.end(earlier.filter(|fault| *fault == Ended::StepLimit).unwrap_or(Ended::Done));
            } else {
                let error = &event["error"];
                notes.end(end(&error["type"], error["message"].as_str().unwrap_or("error")));
            }
        }
        Some("system" | "assistant" | "user" | "result") => claude::event(notes, event, Dialect::Qwen),
        _ => {}
    }
}

/// How it ended, by the name of the client's error and its words.
fn end(kind: &Value, words: &str) -> Ended {
    if kind == "FatalTurnLimitedError" || words.contains("max session turns") {
        return Ended::StepLimit;
    }
    fault(None, words)
}
