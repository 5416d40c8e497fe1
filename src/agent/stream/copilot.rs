//! Copilot CLI's `--output-format json`: the events of its session, and a result with an exit code.

use super::faults::fault;
use super::notes::Notes;
use crate::agent::Ended;
use crate::agent::atif::Metrics;
use serde_json::Value;

pub(super) fn event(notes: &mut Notes, event: &Value) {
    let (data, time) = (&event["data"], event["timestamp"].as_str());
    match event["type"].as_str() {
        Some("session.start") => {
            notes.session(data["sessionId"].as_str());
            notes.version(data["copilotVersion"].as_str());
            notes.model(data["selectedModel"].as_str());
        }
        Some("session.tools_updated") => notes.model(data["model"].as_str()),
        Some("assistant.message") => message(notes, data, time),
        Some("assistant.reasoning") => {
            let step = notes.answer_now();
            notes.think(step, data["content"].as_str().unwrap_or_default());
        }
        Some("assistant.usage") => {
            let step = notes.answer_last();
            notes.used(
                step,
                Metrics {
                    prompt_tokens: data["inputTokens"].as_u64(),
                    completion_tokens: data["outputTokens"].as_u64(),
                    cached_tokens: data["cacheReadTokens"].as_u64(),
                    cost_usd: None,
                },
            );
        }
        Some("tool.execution_complete") => {
            let words = data["result"]["content"].as_str().or(data["error"]["message"].as_str());
            notes.result(data["toolCallId"].as_str(), words.unwrap_or_default());
        }
        Some("model.call_failure") => {
            let words = data["errorMessage"].as_str().unwrap_or("a call of the model failed");
            notes.fault(fault(data["statusCode"].as_u64(), words));
        }
        Some("session.error") => {
            let words = data["message"].as_str().unwrap_or("error");
            notes.remark(words);
            notes.fault(fault(data["statusCode"].as_u64(), words));
        }
        Some("result") => {
            notes.session(event["sessionId"].as_str());
            let earlier = notes.last_fault();
            notes.end(match event["exitCode"].as_i64() {
                Some(0) => Ended::Done,
                code => earlier.unwrap_or_else(|| {
                    Ended::Failed(code.map_or_else(|| "no exit code".to_owned(), |code| format!("exit code {code}")))
                }),
            });
        }
        _ => {}
    }
}

/// An answer of the model, whole; its pieces come before it, and are not needed.
fn message(notes: &mut Notes, data: &Value, time: Option<&str>) {
    let step = match data["messageId"].as_str() {
        Some(name) => notes.answer_named(name),
        None => notes.answer(),
    };
    notes.at(step, time);
    notes.model(data["model"].as_str());
    notes.think(step, data["reasoningText"].as_str().unwrap_or_default());
    notes.say_more(step, data["content"].as_str().unwrap_or_default());
    if let Some(of) = data["parentToolCallId"].as_str() {
        notes.mark(step, "parent_tool_use_id", of);
    }
    for call in data["toolRequests"].as_array().into_iter().flatten() {
        notes.call(step, call["toolCallId"].as_str(), call["name"].as_str().unwrap_or_default(), &call["arguments"]);
    }
    if let Some(tokens) = data["outputTokens"].as_u64() {
        notes.used(step, Metrics { completion_tokens: Some(tokens), ..Metrics::default() });
    }
}
