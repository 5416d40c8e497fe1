//! Codex's `--json`: items of a turn as they begin and end, and the turn's end.
//!
//! It does not say where an answer of the model ends, nor what one answer used.

use super::faults::fault;
use super::notes::Notes;
use crate::agent::{Ended, Usage};
use serde_json::{Map, Value, json};

pub(super) fn event(notes: &mut Notes, event: &Value) {
    match event["type"].as_str() {
        Some("thread.started") => notes.session(event["thread_id"].as_str()),
        Some("item.started" | "item.updated") => item(notes, &event["item"], false),
        Some("item.completed") => item(notes, &event["item"], true),
        Some("turn.completed") => {
            let usage = &event["usage"];
            notes.used_in_all(Usage {
                input_tokens: usage["input_tokens"].as_u64(),
                output_tokens: usage["output_tokens"].as_u64(),
                cached_tokens: usage["cached_input_tokens"].as_u64(),
                cost_usd: None,
            });
            notes.last_fault();
            notes.end(Ended::Done);
        }
        Some("turn.failed") => {
            let words = event["error"]["message"].as_str().unwrap_or("the turn failed");
            notes.end(fault(None, words));
        }
        // It may try again, and for ever when there is no network.
        Some("error") => notes.fault(fault(None, event["message"].as_str().unwrap_or("error"))),
        _ => {}
    }
}

fn item(notes: &mut Notes, item: &Value, completed: bool) {
    let text = item["text"].as_str().unwrap_or_default();
    match item["type"].as_str() {
        Some("agent_message") if completed => {
            let step = notes.answer_now();
            notes.say_more(step, text);
        }
        Some("reasoning") if completed => {
            let step = notes.answer_now();
            notes.think(step, text);
        }
        Some("error") if completed => notes.remark(item["message"].as_str().unwrap_or_default()),
        Some("command_execution") => {
            let command = json!({ "command": item["command"] });
            call(notes, item, "command_execution", &command, completed, item["aggregated_output"].as_str());
        }
        Some("file_change") => {
            let changes = json!({ "changes": item["changes"] });
            call(notes, item, "apply_patch", &changes, completed, item["status"].as_str());
        }
        Some("mcp_tool_call") => {
            let (server, tool) = (item["server"].as_str().unwrap_or_default(), item["tool"].as_str().unwrap_or_default());
            let words = answer(item);
            call(notes, item, &format!("mcp__{server}__{tool}"), &item["arguments"], completed, Some(&words));
        }
        Some(kind @ ("web_search" | "todo_list" | "collab_tool_call")) => {
            let own = |(key, _): &(&String, &Value)| !["id", "type", "status"].contains(&key.as_str());
            let arguments: Map<String, Value> = item
                .as_object()
                .into_iter()
                .flatten()
                .filter(own)
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect();
            call(notes, item, kind, &Value::Object(arguments), completed, item["status"].as_str());
        }
        _ => {}
    }
}

/// A call, noted when it is first heard of, and its result once it is there.
fn call(notes: &mut Notes, item: &Value, tool: &str, arguments: &Value, completed: bool, result: Option<&str>) {
    let id = item["id"].as_str();
    if !id.is_some_and(|id| notes.knows(id)) {
        let step = notes.answer_now();
        notes.call(step, id, tool, arguments);
    }
    if completed && id.is_some() {
        notes.result(id, result.unwrap_or_default());
    }
}

/// The words of what an MCP server answered.
fn answer(item: &Value) -> String {
    if let Some(error) = item["error"]["message"].as_str() {
        return error.to_owned();
    }
    let blocks = item["result"]["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let words: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
    words.join("\n")
}
