//! What an endpoint answers, read as leniently as can be.
//!
//! "OpenAI-compatible" means many things: content as text, as parts or null, calls without ids, arguments as an object, as text
//! that is no JSON, numbers as floats, members that nobody asked for. What can't be understood in a call is said to the model;
//! an answer is refused only when there is no message in it.

use crate::agent::Usage;
use crate::agent::atif::Metrics;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// Calls of one answer that are carried out; a model that asks for more has lost its way.
const MAX_CALLS: usize = 32;

/// An answer with a message in it.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    /// What it says.
    pub(super) text: String,
    /// What it shows of its thoughts.
    pub(super) reasoning: Option<String>,
    pub(super) calls: Vec<Call>,
    /// Calls beyond [`MAX_CALLS`], which are dropped.
    pub(super) ignored: usize,
    /// The message as the next request has it.
    pub(super) message: Value,
    pub(super) metrics: Option<Metrics>,
    pub(super) model: Option<String>,
    pub(super) finish: Option<String>,
}

impl Answer {
    /// The endpoint's own limit ended it in the middle.
    pub(super) fn was_cut(&self) -> bool {
        self.finish.as_deref() == Some("length")
    }
}

#[derive(Clone, Debug)]
pub(super) struct Call {
    /// No other call of the attempt has it.
    pub(super) id: String,
    pub(super) name: String,
    /// The text when it is no JSON object.
    pub(super) arguments: Result<Map<String, Value>, String>,
}

/// Reads the body of an answer. `ids` are those of all calls so far.
pub(super) fn read(body: &Value, ids: &mut BTreeSet<String>) -> Result<Answer, String> {
    let choice = body.get("choices").and_then(|c| c.get(0)).ok_or_else(|| match error_text(body) {
        Some(text) => format!("it answered with an error: {text}"),
        None => String::from("its answer has no `choices`"),
    })?;
    let message = choice.get("message").and_then(Value::as_object).ok_or("its answer has no `message`")?;
    let text = content(message.get("content"));
    let asked = message.get("tool_calls").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let calls: Vec<Call> = asked.iter().take(MAX_CALLS).map(|call| read_call(call, ids)).collect();
    let reasoning =
        ["reasoning_content", "reasoning"].iter().find_map(|k| message.get(*k)?.as_str()).filter(|r| !r.is_empty());
    Ok(Answer {
        reasoning: reasoning.map(str::to_owned),
        message: to_send_back(message, &text, asked, &calls),
        text,
        ignored: asked.len() - calls.len(),
        calls,
        metrics: body.get("usage").and_then(metrics),
        model: body.get("model").and_then(Value::as_str).map(str::to_owned),
        finish: choice.get("finish_reason").and_then(Value::as_str).map(str::to_owned),
    })
}

/// The words of an error, wherever the endpoint puts them.
pub(super) fn error_text(body: &Value) -> Option<String> {
    let error = body.get("error")?;
    let part =
        |key: &str| error.get(key).and_then(|v| v.as_str().map(str::to_owned).or_else(|| v.as_i64().map(|n| n.to_string())));
    let text = error.as_str().map(str::to_owned).or_else(|| part("message")).unwrap_or_default();
    let code = part("code").or_else(|| part("type")).map(|code| format!(" ({code})")).unwrap_or_default();
    (!error.is_null()).then(|| format!("{text}{code}"))
}

/// Text, or the texts of an array of parts.
fn content(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            parts.iter().filter_map(|part| part.as_str().or_else(|| part.get("text")?.as_str())).collect()
        }
        _ => String::new(),
    }
}

fn read_call(call: &Value, ids: &mut BTreeSet<String>) -> Call {
    let function = call.get("function");
    let member = |key: &str| function.and_then(|f| f.get(key));
    let given = call.get("id").and_then(Value::as_str).filter(|id| !id.is_empty() && !ids.contains(*id));
    let id = given.map_or_else(|| format!("call-{}", ids.len() + 1), str::to_owned);
    ids.insert(id.clone());
    let arguments = match member("arguments") {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(members)) => Ok(members.clone()),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(Map::new()),
        Some(Value::String(text)) => serde_json::from_str(text).map_err(|_| text.clone()),
        Some(other) => Err(other.to_string()),
    };
    Call { id, name: member("name").and_then(Value::as_str).unwrap_or_default().to_owned(), arguments }
}

/// The message as it came, with what some endpoints want back and don't name (signatures of thoughts), but in a form that all of
/// them take: no null but for the content, arguments that are JSON, ids that stand once.
fn to_send_back(message: &Map<String, Value>, text: &str, asked: &[Value], calls: &[Call]) -> Value {
    let mut back = Map::new();
    for (key, value) in message {
        let empty = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
        // `reasoning` is what the endpoints that send it refuse to take; `reasoning_content` is wanted back by those that send it.
        if !empty && !["tool_calls", "function_call", "reasoning", "annotations"].contains(&key.as_str()) {
            back.insert(key.clone(), value.clone());
        }
    }
    back.insert("role".into(), json!("assistant"));
    if !calls.is_empty() {
        back.entry("content").or_insert(Value::Null);
        let calls = asked.iter().zip(calls).map(|(asked, call)| {
            let mut back = asked.as_object().cloned().unwrap_or_default();
            let arguments = call.arguments.as_ref().map(|a| Value::Object(a.clone()).to_string());
            back.insert("id".into(), json!(call.id));
            back.insert("type".into(), json!("function"));
            let function = json!({"name": call.name, "arguments": arguments.unwrap_or_else(|_| "{}".into())});
            back.insert("function".into(), function);
            Value::Object(back)
        });
        back.insert("tool_calls".into(), calls.collect());
    } else if text.is_empty() {
        // A message of nothing is refused by most.
        back.insert("content".into(), json!("(no answer)"));
    }
    Value::Object(back)
}

fn metrics(usage: &Value) -> Option<Metrics> {
    let count = |path: &str| {
        let value = usage.pointer(path)?;
        // Some send floats; what is negative or too large becomes the nearest number that there is.
        value.as_u64().or_else(|| value.as_f64().filter(|n| *n >= 0.0).map(|n| n as u64))
    };
    let metrics = Metrics {
        prompt_tokens: count("/prompt_tokens"),
        completion_tokens: count("/completion_tokens"),
        cached_tokens: count("/prompt_tokens_details/cached_tokens").or_else(|| count("/prompt_cache_hit_tokens")),
        cost_usd: usage.get("cost").and_then(Value::as_f64).filter(|c| c.is_finite() && *c >= 0.0),
    };
    (metrics != Metrics::default()).then_some(metrics)
}

/// Adds what a step used.
pub(super) fn add(sum: &mut Usage, step: Metrics) {
    let count = |sum: &mut Option<u64>, n: Option<u64>| {
        if let Some(n) = n {
            *sum = Some(sum.unwrap_or(0).saturating_add(n));
        }
    };
    count(&mut sum.input_tokens, step.prompt_tokens);
    count(&mut sum.output_tokens, step.completion_tokens);
    count(&mut sum.cached_tokens, step.cached_tokens);
    if let Some(cost) = step.cost_usd {
        sum.cost_usd = Some(sum.cost_usd.unwrap_or(0.0) + cost);
    }
}

#[cfg(test)]
mod unit {
    use super::*;

    fn of(message: Value) -> Answer {
        read(&json!({"choices": [{"message": message}]}), &mut BTreeSet::new()).unwrap()
    }

    #[test]
    fn content_may_be_text_parts_or_nothing() {
        assert_eq!(of(json!({"content": "a"})).text, "a");
        assert_eq!(of(json!({"content": [{"type": "text", "text": "a"}, {"type": "thinking"}, "b"]})).text, "ab");
        assert_eq!(of(json!({"content": null})).text, "");
        assert_eq!(of(json!({"content": null})).message["content"], "(no answer)");
    }

    #[test]
    fn thoughts_are_kept_and_sent_back_under_the_name_that_is_wanted_back() {
        let answer = of(json!({"content": "a", "reasoning_content": "because", "refusal": null, "annotations": []}));
        assert_eq!(answer.reasoning.as_deref(), Some("because"));
        assert_eq!(answer.message, json!({"role": "assistant", "content": "a", "reasoning_content": "because"}));
        let answer = of(json!({"content": "a", "reasoning": "because"}));
        assert_eq!(answer.reasoning.as_deref(), Some("because"));
        assert_eq!(answer.message.get("reasoning"), None);
    }

    #[test]
    fn calls_of_odd_servers_are_sent_back_in_the_usual_form() {
        let call =
            |id: &str, arguments: Value| json!({"id": id, "index": 0, "function": {"name": "f", "arguments": arguments}});
        let answer = of(json!({"content": null, "tool_calls": [
            call("a", json!({"x": 1})), call("a", json!("{not json")), call("", json!("")), {"x": 1},
        ]}));
        let ids: Vec<_> = answer.calls.iter().map(|c| c.id.as_str()).collect();
        assert_eq!(ids, ["a", "call-2", "call-3", "call-4"]);
        assert_eq!(answer.calls[0].arguments.as_ref().unwrap()["x"], 1);
        assert_eq!(answer.calls[1].arguments.as_ref().unwrap_err(), "{not json");
        assert_eq!(answer.message["content"], Value::Null);
        assert_eq!(answer.message["tool_calls"][0]["function"]["arguments"], r#"{"x":1}"#);
        assert_eq!(answer.message["tool_calls"][1]["function"]["arguments"], "{}");
        assert_eq!(answer.message["tool_calls"][1]["type"], "function");
    }

    #[test]
    fn thousands_of_calls_are_not_carried_out() {
        let call = json!({"function": {"name": "submit"}});
        let answer = of(json!({"tool_calls": vec![call; 5000]}));
        assert_eq!((answer.calls.len(), answer.ignored), (MAX_CALLS, 5000 - MAX_CALLS));
        assert_eq!(answer.message["tool_calls"].as_array().unwrap().len(), MAX_CALLS);
    }

    #[test]
    fn an_answer_without_a_message_says_what_came_instead() {
        let none = &mut BTreeSet::new();
        assert!(
            read(&json!({"error": {"message": "overloaded", "code": 529}}), none).unwrap_err().contains("overloaded (529)")
        );
        assert!(read(&json!({"error": "bad"}), none).unwrap_err().contains("bad"));
        for garbage in [json!({}), json!([]), json!({"choices": []}), json!({"choices": [{"message": "x"}]})] {
            assert!(read(&garbage, none).is_err());
        }
    }

    #[test]
    fn what_was_used_is_added_up_as_far_as_it_is_told() {
        let told = |usage: Value| metrics(&usage);
        assert_eq!(told(json!({})), None);
        assert_eq!(told(json!({"prompt_tokens": 3.0, "prompt_cache_hit_tokens": 2})).unwrap().cached_tokens, Some(2));
        let mut sum = Usage::default();
        for usage in [
            json!({"prompt_tokens": u64::MAX, "cost": 0.5}),
            json!({"prompt_tokens": 9, "completion_tokens": 1, "cost": 0.25}),
        ] {
            add(&mut sum, told(usage).unwrap());
        }
        let all = Usage { input_tokens: Some(u64::MAX), output_tokens: Some(1), cached_tokens: None, cost_usd: Some(0.75) };
        assert_eq!(sum, all);
    }
}
