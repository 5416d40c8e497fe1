//! Whose fault it is that an agent gave up: its own, its key's, or its model's.
//!
//! Agents tell it in words, and a few with the endpoint's status. What the model itself says is never looked at here.

use crate::agent::Ended;
use regex::Regex;
use std::sync::LazyLock;

/// What the words of a refused key have; the numbers are statuses.
const KEY: &str = r#"(?i)\b(status|error|code|http)\b\W{0,4}(code\W{1,4})?(401|403)\b|unauthori[sz]ed|forbidden|authenticat|(invalid|incorrect|missing|no) (x-)?api[ -]?key|api key not valid|not logged in|please run /login"#;
/// Of a context that is full.
const CONTEXT: &str = r"(?i)context[ _](length|window|size)|prompt is too long|maximum context|too many (input )?tokens";
/// Of an endpoint that is down, slow, or out of order.
const MODEL: &str = r#"(?i)\b(status|error|code|http)\b\W{0,4}(code\W{1,4})?(408|429|5\d\d)\b|\b5\d\d (internal|bad gateway|service|gateway)|connect|network|fetch failed|econn|enotfound|eai_again|etimedout|socket|timed? ?out|overloaded|high demand|rate.?limit|too many requests|quota|unavailable|internal ?server ?error|api_error|server_error|stream (disconnected|error)|dns error|\btls\b"#;

static PATTERNS: LazyLock<[Option<Regex>; 3]> = LazyLock::new(|| [KEY, CONTEXT, MODEL].map(|words| Regex::new(words).ok()));

/// How an attempt ended with a fault, by the status of the endpoint when it is known, and what was said.
pub(super) fn fault(status: Option<u64>, words: &str) -> Ended {
    let said = words.to_owned();
    match status {
        Some(401 | 403) => return Ended::NoKey(said),
        Some(408 | 429 | 500..) => return Ended::ModelUnavailable(said),
        _ => {}
    }
    let [key, context, model] = PATTERNS.each_ref().map(|words_of| words_of.as_ref().is_some_and(|p| p.is_match(words)));
    if key {
        Ended::NoKey(said)
    } else if context {
        Ended::ContextLimit
    } else if model {
        Ended::ModelUnavailable(said)
    } else {
        Ended::Failed(said)
    }
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn a_status_says_more_than_words() {
        assert_eq!(fault(Some(401), "connection"), Ended::NoKey("connection".into()));
        assert_eq!(fault(Some(529), "not logged in"), Ended::ModelUnavailable("not logged in".into()));
        assert_eq!(fault(Some(400), "bad request"), Ended::Failed("bad request".into()));
    }

    #[test]
    fn words_tell_the_key_the_model_and_the_agent_apart() {
        for words in
            ["unexpected status 401 Unauthorized: x", "API Error: 403 no", "{\"code\":401}", "Incorrect API key provided"]
        {
            assert_eq!(fault(None, words), Ended::NoKey(words.into()));
        }
        let down = [
            "error 429: slow down",
            "{\"code\":503}",
            "dns error",
            "Overloaded",
            "Unable to connect to API (ConnectionRefused)",
        ];
        for words in down {
            assert_eq!(fault(None, words), Ended::ModelUnavailable(words.into()));
        }
        for words in ["Cannot read properties of undefined", "line 401 of lib.rs", "exit 500"] {
            assert_eq!(fault(None, words), Ended::Failed(words.into()));
        }
        assert_eq!(fault(None, "prompt is too long: 210000 tokens"), Ended::ContextLimit);
    }
}
