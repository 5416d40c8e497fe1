//! One request to the model's endpoint, with all that can go wrong on the way.
//!
//! What may pass (a closed port, 429, 5xx, an answer that can't be read) is tried again after a wait that grows, or as long as
//! the endpoint asks for; what can't (a refused key, an unknown model) ends the attempt at once. Neither is the agent's fault,
//! and the end says so ([`Ended::is_infrastructure`]).

use super::answer::{self, Answer};
use super::{Model, Sleep};
use crate::agent::Ended;
use crate::error::{Error, Result};
use crate::process::interrupt;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use ureq::http;

/// Bytes of an answer's body.
const MAX_BODY: u64 = 16 << 20;
/// The first wait when the endpoint does not say how long; each further one is twice as long.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// The longest of such waits.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// The longest wait that the endpoint may ask for.
const LONGEST_ASKED: Duration = Duration::from_secs(600);
/// Bytes of the endpoint's words that a message repeats.
const MAX_WORDS: usize = 400;
/// How often a waiting request looks for Ctrl-C.
const TICK: Duration = Duration::from_millis(100);

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Fault {
    /// The endpoint says that the request is too long.
    TooLong(String),
    /// The attempt is over.
    End(Ended),
    /// Interrupted.
    Error(Error),
}

impl From<Error> for Fault {
    fn from(e: Error) -> Fault {
        Fault::Error(e)
    }
}

/// The endpoint, as one attempt talks to it.
pub(super) struct Endpoint<'a> {
    model: &'a Model,
    agent: ureq::Agent,
    /// Without what may be a secret in it.
    shown: String,
    deadline: Instant,
    sleep: Sleep<'a>,
    answered: bool,
    ids: BTreeSet<String>,
}

/// What came of one try.
enum Try {
    Answer(Box<Answer>),
    /// It may pass; the endpoint may say when.
    Again(String, Option<Duration>),
    TimedOut,
    Fault(Fault),
}

/// What came back, before it is understood.
struct Reply {
    status: u16,
    wait: Option<Duration>,
    body: Vec<u8>,
}

impl<'a> Endpoint<'a> {
    pub(super) fn new(model: &'a Model, deadline: Instant, sleep: Sleep<'a>) -> Endpoint<'a> {
        let mut config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("cargo-gistify/", env!("CARGO_PKG_VERSION")));
        if is_loopback(&model.base_url) {
            config = config.proxy(None);
        }
        let agent = config.build().new_agent();
        let shown = shown(&model.base_url);
        Endpoint { model, agent, shown, deadline, sleep, answered: false, ids: BTreeSet::new() }
    }

    /// Sends a request and reads the answer, with as many further tries as the model's settings allow.
    pub(super) fn ask(&mut self, body: &Value) -> std::result::Result<Answer, Fault> {
        let mut last: Option<String> = None;
        for tried in 0..=self.model.retries {
            interrupt::check()?;
            let left = self.left();
            let limit = left.min(self.model.request_timeout);
            let (why, asked) = match if limit.is_zero() { Try::TimedOut } else { self.once(body, limit)? } {
                Try::Answer(answer) => {
                    self.answered = true;
                    return Ok(*answer);
                }
                Try::Fault(fault) => return Err(fault),
                // The time of the attempt is up, not that of the request alone.
                Try::TimedOut if limit == left => return Err(Fault::End(self.out_of_time(last))),
                Try::TimedOut => (format!("it did not answer within {} s", limit.as_secs_f32()), None),
                Try::Again(why, asked) => (why, asked),
            };
            if tried < self.model.retries {
                let wait = asked.unwrap_or_else(|| back_off(tried));
                if wait > LONGEST_ASKED || wait >= self.left() {
                    let why = format!("{why}; to wait {} s for it is too long", wait.as_secs_f32());
                    return Err(Fault::End(self.unavailable(&why)));
                }
                (self.sleep)(wait)?;
            }
            last = Some(why);
        }
        let why = last.unwrap_or_default();
        let tries = u64::from(self.model.retries) + 1;
        let why = if tries > 1 { format!("{why} (tried {tries} times)") } else { why };
        Err(Fault::End(self.unavailable(&why)))
    }

    fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// An endpoint that never answered, or failed until the end, is what used up the time.
    fn out_of_time(&self, last: Option<String>) -> Ended {
        match last {
            Some(why) => self.unavailable(&format!("{why}; then the time was up")),
            None if !self.answered => self.unavailable("it had not answered when the time was up"),
            None => Ended::TimeLimit,
        }
    }

    fn unavailable(&self, why: &str) -> Ended {
        Ended::ModelUnavailable(self.redact(&format!("{}: {why}; check that the server runs, and `base_url`", self.shown)))
    }

    fn refused(&self, why: &str) -> Try {
        let why = format!("{}: {why}; check the model's name and the settings of the agent", self.shown);
        Try::Fault(Fault::End(Ended::ModelUnavailable(self.redact(&why))))
    }

    fn no_key(&self, why: &str) -> Try {
        let hint = if self.model.key.is_some() { "check the key" } else { "there is no key; set one" };
        Try::Fault(Fault::End(Ended::NoKey(self.redact(&format!("{}: {why}; {hint}", self.shown)))))
    }

    fn redact(&self, text: &str) -> String {
        self.model.redact(text)
    }

    fn once(&mut self, body: &Value, limit: Duration) -> Result<Try> {
        let Some(url) = self.model.url().filter(|_| !self.shown.is_empty()) else {
            return Ok(self.refused("`base_url` is no http or https URL"));
        };
        let mut request =
            self.agent.post(url).header("content-type", "application/json").header("accept", "application/json");
        if let Some(key) = &self.model.key {
            let Ok(mut bearer) = http::HeaderValue::from_str(&format!("Bearer {}", key.expose())) else {
                return Ok(self.no_key("the key has characters that no key may have"));
            };
            bearer.set_sensitive(true);
            request = request.header("authorization", bearer);
        }
        let request = request.config().timeout_global(Some(limit)).build();
        let body = body.to_string();
        // On a thread, so that Ctrl-C does not have to wait for a slow endpoint.
        let (send, receive) = channel();
        std::thread::spawn(move || send.send(request.send(body).and_then(receive_all)));
        let came = loop {
            match receive.recv_timeout(TICK) {
                Ok(came) => break came,
                Err(RecvTimeoutError::Timeout) => interrupt::check()?,
                Err(RecvTimeoutError::Disconnected) => return Err(Error::Internal("a request was lost".into())),
            }
        };
        Ok(match came {
            Ok(reply) => self.understand(&reply),
            Err(ureq::Error::Timeout(_)) => Try::TimedOut,
            Err(ureq::Error::BodyExceedsLimit(_)) => Try::Again(format!("its answer has more than {MAX_BODY} bytes"), None),
            Err(e @ (ureq::Error::Http(_) | ureq::Error::BadUri(_) | ureq::Error::InvalidProxyUrl)) => {
                self.refused(&e.to_string())
            }
            Err(e) => Try::Again(e.to_string(), None),
        })
    }

    fn understand(&mut self, reply: &Reply) -> Try {
        let mut body: Option<Value> = serde_json::from_slice(&reply.body).ok();
        if let (Some(body), Some(key)) = (&mut body, &self.model.key) {
            key.redact_value(body);
        }
        let words =
            body.as_ref().and_then(answer::error_text).unwrap_or_else(|| String::from_utf8_lossy(&reply.body).into_owned());
        let words = words.trim();
        let words = &words[..words.floor_char_boundary(MAX_WORDS)];
        let why = format!("it answered {} {words}", reply.status);
        match reply.status {
            200..=299 => {
                match body.ok_or_else(|| "its answer is no JSON".to_owned()).and_then(|b| answer::read(&b, &mut self.ids)) {
                    Ok(answer) => Try::Answer(Box::new(answer)),
                    Err(why) if is_too_long(&why) => Try::Fault(Fault::TooLong(why)),
                    Err(why) => Try::Again(why, reply.wait),
                }
            }
            401 | 403 => self.no_key(&why),
            429 if words.contains("insufficient_quota") => self.refused(&why),
            408 | 409 | 425 | 429 => Try::Again(why, reply.wait),
            413 => Try::Fault(Fault::TooLong(why)),
            _ if is_too_long(words) => Try::Fault(Fault::TooLong(why)),
            500..=599 => Try::Again(why, reply.wait),
            _ => self.refused(&why),
        }
    }
}

fn receive_all(response: http::Response<ureq::Body>) -> std::result::Result<Reply, ureq::Error> {
    let (parts, mut body) = response.into_parts();
    let wait = asked_wait(&parts.headers);
    let body = body.with_config().limit(MAX_BODY).read_to_vec()?;
    Ok(Reply { status: parts.status.as_u16(), wait, body })
}

/// `Retry-After` in seconds, or in milliseconds as some have it. (A date is not understood: then the wait is ours.)
fn asked_wait(headers: &http::HeaderMap) -> Option<Duration> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    let seconds = number("retry-after-ms").map(|ms| ms / 1000.0).or_else(|| number("retry-after"))?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// How long to wait after so many tries before.
fn back_off(tried: u32) -> Duration {
    FIRST_WAIT.saturating_mul(2_u32.saturating_pow(tried)).min(LONGEST_WAIT)
}

/// How endpoints say that a request has too many tokens.
fn is_too_long(words: &str) -> bool {
    const SAYINGS: [&str; 9] = [
        "context_length_exceeded",
        "exceed_context_size",
        "context length",
        "context window",
        "context size",
        "maximum context",
        "prompt is too long",
        "input is too long",
        "too many tokens",
    ];
    let words = words.to_lowercase();
    SAYINGS.iter().any(|saying| words.contains(saying))
}

/// Scheme, host and path: neither user and password nor a query, which may hold a key. Empty for what is no URL.
pub(super) fn shown(url: &str) -> String {
    let Ok(url) = url.parse::<http::Uri>() else { return String::new() };
    match (url.scheme_str(), url.host()) {
        (Some(scheme @ ("http" | "https")), Some(host)) => {
            let port = url.port().map(|p| format!(":{p}")).unwrap_or_default();
            format!("{scheme}://{host}{port}{}", url.path().trim_end_matches('/'))
        }
        _ => String::new(),
    }
}

/// A server on this machine is never behind a proxy.
fn is_loopback(url: &str) -> bool {
    let url = url.parse::<http::Uri>().ok();
    let Some(host) = url.as_ref().and_then(http::Uri::host) else { return false };
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|a| a.is_loopback())
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn waits_double_up_to_a_minute() {
        let waits: Vec<_> = [0, 1, 2, 5, 6, 7, 40].map(|tried| back_off(tried).as_secs()).into();
        assert_eq!(waits, [1, 2, 4, 32, 60, 60, 60]);
    }

    #[test]
    fn a_wait_is_read_in_seconds_or_milliseconds() {
        let wait = |name: &'static str, value: &'static str| {
            asked_wait(&http::HeaderMap::from_iter([(
                http::HeaderName::from_static(name),
                http::HeaderValue::from_static(value),
            )]))
        };
        assert_eq!(wait("retry-after", " 7"), Some(Duration::from_secs(7)));
        assert_eq!(wait("retry-after-ms", "250"), Some(Duration::from_millis(250)));
        for odd in ["-1", "NaN", "1e300", "Wed, 21 Oct 2026 07:28:00 GMT"] {
            assert_eq!(wait("retry-after", odd), None);
        }
    }

    #[test]
    fn a_shown_url_has_no_password_and_no_query() {
        assert_eq!(shown("http://user:pass@host:81/v1/?key=abc"), "http://host:81/v1");
        for odd in ["localhost:80", "ftp://x/", "", "http://"] {
            assert_eq!(shown(odd), "", "{odd}");
        }
    }

    #[test]
    fn only_this_machine_is_asked_past_a_proxy() {
        assert!(["http://localhost:1/v1", "http://127.0.0.1/", "http://[::1]:8/"].into_iter().all(is_loopback));
        assert!(!["http://example.com/", "http://10.0.0.1/", "x"].into_iter().any(is_loopback));
    }
}
