//! The conversation, and how much of it fits.
//!
//! Tokens are the endpoint's own count where it tells one: how many it counted for the bytes of the last request says how many
//! it will count for the next. Until then they are estimated. When a request would be too long, the oldest results of tools give
//! way to a short note; what the model itself said stays.

use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Bytes of a request for one token, until the endpoint tells how many it counted: code in JSON has between 3 and 4.
const BYTES_PER_TOKEN: f64 = 3.5;

/// The messages so far.
pub(super) struct Conversation {
    messages: Vec<Value>,
    /// Those of them that are notes in the place of results.
    notes: BTreeSet<usize>,
    /// All of the request but its messages.
    request: Value,
    bytes_per_token: Option<f64>,
}

/// The result of a tool that gave way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Dropped {
    pub(super) call: String,
    pub(super) bytes: usize,
}

/// How long a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) bytes: usize,
    pub(super) tokens: u64,
}

impl Conversation {
    /// `request` is an object with all that stands beside the messages in each request.
    pub(super) fn new(request: Value, system: &str, task: &str) -> Conversation {
        let messages = vec![json!({"role": "system", "content": system}), json!({"role": "user", "content": task})];
        Conversation { messages, notes: BTreeSet::new(), request, bytes_per_token: None }
    }

    pub(super) fn push(&mut self, message: Value) {
        self.messages.push(message);
    }

    /// The request as it would be sent now.
    pub(super) fn body(&self) -> Value {
        let mut body = self.request.clone();
        body["messages"] = json!(self.messages);
        body
    }

    pub(super) fn size(&self) -> Size {
        self.sized(length(&self.body()))
    }

    fn sized(&self, bytes: usize) -> Size {
        let tokens = (bytes as f64 / self.bytes_per_token.unwrap_or(BYTES_PER_TOKEN)).ceil();
        Size { bytes, tokens: tokens as u64 }
    }

    /// What the endpoint counted for a request of that many bytes.
    pub(super) fn learn(&mut self, bytes: usize, tokens: u64) {
        if tokens > 0 {
            self.bytes_per_token = Some(bytes as f64 / tokens as f64);
        }
    }

    /// Whether [`Conversation::size`] stands on what the endpoint counted.
    pub(super) fn is_told(&self) -> bool {
        self.bytes_per_token.is_some()
    }

    /// Drops the oldest results until the request has at most `limit` tokens, or nothing is left to drop. The last result stays:
    /// the model has not seen it.
    pub(super) fn shorten_to(&mut self, limit: u64) -> Vec<Dropped> {
        let mut bytes = self.size().bytes;
        let results: Vec<usize> = (0..self.messages.len()).filter(|i| self.messages[*i]["role"] == "tool").collect();
        let mut dropped = Vec::new();
        for index in results.iter().rev().skip(1).rev() {
            if self.sized(bytes).tokens <= limit {
                break;
            }
            if self.notes.contains(index) {
                continue;
            }
            let message = &mut self.messages[*index];
            let content = message["content"].as_str().unwrap_or_default().len();
            let mut note = message.clone();
            note["content"] =
                json!(format!("[dropped to make room: {content} bytes; call the tool again if you need them]"));
            let (old, new) = (length(message), length(&note));
            // A result that is no longer than the note stays.
            if new < old {
                bytes = bytes - old + new;
                dropped.push(Dropped { call: note["tool_call_id"].as_str().unwrap_or_default().to_owned(), bytes: content });
                *message = note;
                self.notes.insert(*index);
            }
        }
        dropped
    }
}

fn length(value: &Value) -> usize {
    value.to_string().len()
}

#[cfg(test)]
mod unit {
    use super::*;

    fn conversation(results: &[usize]) -> Conversation {
        let mut talk = Conversation::new(json!({"model": "m"}), "system", "task");
        for (i, bytes) in results.iter().enumerate() {
            talk.push(json!({"role": "assistant", "content": "x".repeat(500)}));
            talk.push(json!({"role": "tool", "tool_call_id": i.to_string(), "content": "y".repeat(*bytes)}));
        }
        talk
    }

    #[test]
    fn the_oldest_results_go_first_and_only_as_many_as_must() {
        let mut talk = conversation(&[2000, 10, 2000, 2000]);
        let before = talk.size();
        assert_eq!(talk.shorten_to(before.tokens), []);
        let dropped = talk.shorten_to(before.tokens - 1);
        assert_eq!(dropped, [Dropped { call: "0".into(), bytes: 2000 }]);
        assert!(talk.size().bytes < before.bytes - 1900);
        // The second is shorter than a note, the first is one.
        assert_eq!(talk.shorten_to(talk.size().tokens - 1), [Dropped { call: "2".into(), bytes: 2000 }]);
    }

    #[test]
    fn the_last_result_and_what_the_model_said_stay() {
        let mut talk = conversation(&[2000, 2000]);
        assert_eq!(talk.shorten_to(0).len(), 1);
        assert_eq!(talk.shorten_to(0), []);
        let text = talk.body().to_string();
        assert_eq!((text.matches(&"x".repeat(500)).count(), text.matches(&"y".repeat(2000)).count()), (2, 1));
    }

    #[test]
    fn what_the_endpoint_counted_holds_for_the_next_request() {
        let mut talk = conversation(&[2000]);
        let size = talk.size();
        assert!(!talk.is_told() && size.tokens > 700);
        talk.learn(size.bytes, 7);
        assert_eq!((talk.is_told(), talk.size().tokens), (true, 7));
        talk.learn(size.bytes, 0);
        assert_eq!(talk.size().tokens, 7);
    }
}
