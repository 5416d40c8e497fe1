//! OpenCode's `--format json`: parts of messages, between where a step starts and where it finishes.

use super::faults::fault;
use super::notes::Notes;
use crate::agent::Ended;
use crate::agent::atif::Metrics;
use serde_json::Value;

pub(super) fn event(notes: &mut Notes, event: &Value) {
    notes.session(event["sessionID"].as_str());
    let part = &event["part"];
    match event["type"].as_str() {
        Some("step_start") => {
            notes.answer();
        }
        Some("text") => {
            let step = notes.answer_last();
            notes.say_more(step, part["text"].as_str().unwrap_or_default());
        }
        Some("reasoning") => {
            let step = notes.answer_last();
            notes.think(step, part["text"].as_str().unwrap_or_default());
        }
        Some("tool_use") => {
            let step = notes.answer_last();
            let (id, state) = (part["callID"].as_str(), &part["state"]);
            notes.call(step, id, part["tool"].as_str().unwrap_or_default(), &state["input"]);
            notes.result(id, state["output"].as_str().or(state["error"].as_str()).unwrap_or_default());
        }
        Some("step_finish") => finish(notes, part),
        Some("error") => {
            let error = &event["error"];
            let data = &error["data"];
            let words = data["message"].as_str().or(error["message"].as_str()).or(error["name"].as_str()).unwrap_or("error");
            let status = data["statusCode"].as_u64();
            let words = status.map_or_else(|| words.to_owned(), |status| format!("{words} (status {status})"));
            notes.end(fault(status, &words));
        }
        _ => {}
    }
}

fn finish(notes: &mut Notes, part: &Value) {
    let step = notes.answer_last();
    let tokens = &part["tokens"];
    let (read, written) = (tokens["cache"]["read"].as_u64(), tokens["cache"]["write"].as_u64());
    let more = read.unwrap_or(0).saturating_add(written.unwrap_or(0));
    let reasoning = tokens["reasoning"].as_u64().unwrap_or(0);
    notes.used(
        step,
        Metrics {
            prompt_tokens: tokens["input"].as_u64().map(|new| new.saturating_add(more)),
            completion_tokens: tokens["output"].as_u64().map(|output| output.saturating_add(reasoning)),
            cached_tokens: read,
            cost_usd: part["cost"].as_f64().filter(|cost| *cost >= 0.0),
        },
    );
    match part["reason"].as_str() {
        Some("stop") => notes.end(Ended::Done),
        // Not an end: a step with the results follows.
        Some("tool-calls" | "tool_calls") | None => {}
        Some(other) => notes.end(Ended::Failed(format!("the model's last answer ended with `{other}`"))),
    }
}
