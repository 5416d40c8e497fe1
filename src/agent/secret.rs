//! A key that no message, file or debug output shows.
//!
//! It can't be serialised, so it can't get into a report or a trajectory by accident; what others say may hold it
//! ([`Secret::redact`]).

use serde_json::Value;
use std::fmt;

/// What stands in the place of a key.
const HIDDEN: &str = "[key]";

/// Keys shorter than this are words like `EMPTY` or `none` that local servers are given: to replace them in texts would spoil
/// the texts and hide nothing.
const SHORTEST: usize = 8;

/// A key.
///
/// ```
/// let key = cargo_gistify::agent::secret::Secret::new("sk-0123456789");
/// assert_eq!(format!("{key:?}"), "Secret([key])");
/// assert_eq!(key.redact("wrong key: sk-0123456789"), "wrong key: [key]");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The key without white space around it, which files and shells leave there.
    #[must_use]
    pub fn new(text: &str) -> Secret {
        Secret(text.trim().to_owned())
    }

    /// The key itself, for the one place that sends it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// A text with the key hidden. One of fewer than 8 bytes is no secret and stays.
    #[must_use]
    pub fn redact(&self, text: &str) -> String {
        if self.0.len() < SHORTEST { text.to_owned() } else { text.replace(&self.0, HIDDEN) }
    }

    /// Hides the key in all strings of a value, names of members among them.
    pub fn redact_value(&self, value: &mut Value) {
        match value {
            Value::String(text) if text.contains(&self.0) => *text = self.redact(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_value(item)),
            Value::Object(members) => {
                members.values_mut().for_each(|member| self.redact_value(member));
                if members.keys().any(|name| name.contains(&self.0)) {
                    *members = std::mem::take(members).into_iter().map(|(name, v)| (self.redact(&name), v)).collect();
                }
            }
            _ => {}
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({HIDDEN})")
    }
}

#[cfg(test)]
mod unit {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_key_is_hidden_wherever_it_stands_in_a_value() {
        let key = Secret::new(" sk-0123456789\n");
        let mut value = json!({"a": ["x sk-0123456789 y", 1], "sk-0123456789": {"b": "sk-0123456789"}});
        key.redact_value(&mut value);
        assert_eq!(value, json!({"a": ["x [key] y", 1], "[key]": {"b": "[key]"}}));
    }

    #[test]
    fn the_placeholder_that_a_local_server_gets_as_a_key_is_no_secret() {
        assert_eq!(Secret::new("none").redact("none of it"), "none of it");
        assert_eq!(Secret::new("").redact("text"), "text");
    }
}
