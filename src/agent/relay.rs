//! Our end of the agent's way to its model: it takes requests from a unix socket (or, without a box, a port of the loopback),
//! adds the key, sends them to the one endpoint, and hands the answers back as they come.
//!
//! So an agent reaches nothing but its model, and never holds the key. What went wrong on the way is remembered: an endpoint that is
//! down is no fault of the agent's.

use super::Ended;
use super::config::Auth;
use super::secret::Secret;
use crate::error::{Error, Result};
use camino::Utf8Path;
use std::io::{Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tiny_http::{Request, Server};

/// The largest request that is passed on.
const MOST_BYTES: u64 = 64 << 20;
/// How often a request is sent that the endpoint could not take.
const TRIES: u32 = 4;
/// The longest pause between two of them.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Headers of one connection, and those that are set anew.
const OWN_HEADERS: &[&str] = &[
    "host",
    "connection",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "content-length",
    "accept-encoding",
    "content-encoding",
    "authorization",
    "x-api-key",
    "x-goog-api-key",
];

/// Where requests go.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Its address, without a slash at the end.
    pub url: String,
    /// How the key is sent.
    pub auth: Auth,
    /// The key; `None` for endpoints that want none.
    pub key: Option<Secret>,
    /// The pause before the second try; the next ones are twice as long each.
    pub pause: Duration,
    /// How many requests are answered; `None` where the agent's steps are counted by what it prints.
    pub most_answers: Option<usize>,
}

/// What went through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Requests of the agent.
    pub requests: usize,
    /// Those that were answered with success.
    pub answered: usize,
    /// How the last request failed, unless it was answered.
    pub last_fault: Option<Ended>,
    /// There was a request beyond the last that is answered.
    pub used_up: bool,
}

/// A relay at work; it stops when it is dropped.
pub struct Relay {
    server: Arc<Server>,
    traffic: Arc<Mutex<Traffic>>,
}

impl Relay {
    /// Listens on a unix socket that is made at `socket`.
    ///
    /// # Errors
    /// When it can't be made.
    pub fn on_socket(socket: &Utf8Path, endpoint: Endpoint) -> Result<Relay> {
        let server = Server::http_unix(socket.as_std_path());
        let server = server.map_err(|e| Error::Setup(format!("failed to listen on {socket}: {e}")))?;
        Ok(Relay::start(server, endpoint))
    }

    /// Listens on a free port of the loopback, and gives its number.
    ///
    /// # Errors
    /// When there is none.
    pub fn on_port(endpoint: Endpoint) -> Result<(Relay, u16)> {
        let server = Server::http("127.0.0.1:0");
        let server = server.map_err(|e| Error::Setup(format!("failed to listen on the loopback: {e}")))?;
        let port = server.server_addr().to_ip().map(|a| a.port());
        let port = port.ok_or_else(|| Error::Internal("a port without a number".into()))?;
        Ok((Relay::start(server, endpoint), port))
    }

    fn start(server: Server, endpoint: Endpoint) -> Relay {
        let relay = Relay { server: Arc::new(server), traffic: Arc::default() };
        let (server, traffic) = (Arc::clone(&relay.server), Arc::clone(&relay.traffic));
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(Duration::from_secs(30)))
            .timeout_recv_response(Some(Duration::from_secs(600)))
            .max_redirects(0)
            .build()
            .into();
        std::thread::spawn(move || {
            while let Ok(request) = server.recv() {
                let (agent, endpoint, traffic) = (agent.clone(), endpoint.clone(), Arc::clone(&traffic));
                std::thread::spawn(move || forward(request, &agent, &endpoint, &traffic));
            }
        });
        relay
    }

    /// What went through so far.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        self.traffic.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.server.unblock();
    }
}

fn forward(mut request: Request, agent: &ureq::Agent, endpoint: &Endpoint, traffic: &Mutex<Traffic>) {
    let note = |change: &dyn Fn(&mut Traffic)| change(&mut traffic.lock().unwrap_or_else(PoisonError::into_inner));
    note(&|t| {
        t.requests += 1;
        t.used_up |= endpoint.most_answers.is_some_and(|most| t.answered >= most);
    });
    if traffic.lock().unwrap_or_else(PoisonError::into_inner).used_up {
        let text = serde_json::json!({ "error": { "type": "invalid_request_error", "message": "the steps are used up" } });
        let _ = request.respond(tiny_http::Response::from_string(text.to_string()).with_status_code(400));
        return;
    }
    // Behind the host of an address anything else would name another host, and send the key there.
    if !request.url().starts_with('/') {
        let _ = request.respond(tiny_http::Response::from_string("no path").with_status_code(400));
        return;
    }
    let mut body = Vec::new();
    let read = request.as_reader().take(MOST_BYTES + 1).read_to_end(&mut body);
    if read.is_err() || body.len() as u64 > MOST_BYTES {
        let _ = request.respond(tiny_http::Response::from_string("the request is too large").with_status_code(413));
        return;
    }
    match sent(&request, &body, agent, endpoint) {
        Ok(answer) => {
            let fault = fault_of(answer.status().as_u16(), &endpoint.url);
            note(&|t| {
                t.answered += usize::from(fault.is_none());
                t.last_fault = fault.clone();
            });
            // Who has gone away does not wait for the rest.
            let _ = hand_back(request, answer);
        }
        Err(e) => {
            note(&|t| t.last_fault = Some(Ended::ModelUnavailable(format!("{}: {e}", endpoint.url))));
            let message = format!("the model's endpoint: {e}");
            let text = serde_json::json!({ "error": { "type": "api_error", "message": message } });
            let _ = request.respond(tiny_http::Response::from_string(text.to_string()).with_status_code(502));
        }
    }
}

/// What a status says of the endpoint.
fn fault_of(status: u16, url: &str) -> Option<Ended> {
    match status {
        401 | 403 => Some(Ended::NoKey(format!("{url} answers {status}: set the key that the agent's configuration names"))),
        429 | 500.. => Some(Ended::ModelUnavailable(format!("{url} answers {status}"))),
        _ => None,
    }
}

/// The answer to a request, which is sent again while the endpoint can't be reached or has no time.
fn sent(
    request: &Request,
    body: &[u8],
    agent: &ureq::Agent,
    endpoint: &Endpoint,
) -> Result<ureq::http::Response<ureq::Body>, String> {
    let (start, mut pause, mut tries) = (Instant::now(), endpoint.pause, 0);
    loop {
        let mut copy = ureq::http::Request::builder().method(request.method().as_str()).uri(format!(
            "{}{}",
            endpoint.url,
            request.url()
        ));
        for header in request.headers() {
            let name = header.field.as_str().as_str();
            if !OWN_HEADERS.iter().any(|own| name.eq_ignore_ascii_case(own)) {
                copy = copy.header(name, header.value.as_str());
            }
        }
        copy = copy.header("accept-encoding", "identity");
        if let Some(key) = &endpoint.key {
            let (name, value) = endpoint.auth.header(key);
            copy = copy.header(name, value);
        }
        let answer = agent.run(copy.body(body.to_vec()).map_err(|e| e.to_string())?);
        tries += 1;
        let again = match &answer {
            Ok(answer) => matches!(answer.status().as_u16(), 429 | 502 | 503 | 504 | 529),
            Err(_) => true,
        };
        if !again || tries >= TRIES || start.elapsed() > LONGEST_PAUSE * TRIES {
            return answer.map_err(|e| e.to_string());
        }
        let asked = answer.ok().and_then(|a| a.headers().get("retry-after")?.to_str().ok()?.trim().parse().ok());
        std::thread::sleep(asked.map_or(pause, Duration::from_secs).min(LONGEST_PAUSE));
        pause *= 2;
    }
}

/// Writes an answer piece by piece, each as soon as it is there.
fn hand_back(request: Request, answer: ureq::http::Response<ureq::Body>) -> std::io::Result<()> {
    let (head, body) = answer.into_parts();
    let mut out = request.into_writer();
    write!(out, "HTTP/1.1 {} {}\r\n", head.status.as_u16(), head.status.canonical_reason().unwrap_or("Status"))?;
    for (name, value) in &head.headers {
        if !OWN_HEADERS.contains(&name.as_str()) {
            write!(out, "{name}: ")?;
            out.write_all(value.as_bytes())?;
            out.write_all(b"\r\n")?;
        }
    }
    out.write_all(b"transfer-encoding: chunked\r\nconnection: close\r\n\r\n")?;
    let mut body = body.into_reader();
    let mut chunk = [0; 16 << 10];
    loop {
        let n = body.read(&mut chunk)?;
        write!(out, "{n:x}\r\n")?;
        out.write_all(&chunk[..n])?;
        out.write_all(b"\r\n")?;
        out.flush()?;
        if n == 0 {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod unit {
    use super::*;
    use std::net::TcpStream;

    const KEY: &str = "sk-0123456789";

    type Seen = Mutex<Vec<(String, String)>>;

    /// A model's endpoint that answers with these statuses in turn, the last one for ever; it remembers path and key of each request.
    fn upstream(statuses: &'static [u16]) -> (String, Arc<Seen>) {
        let server = Server::http("127.0.0.1:0").unwrap();
        let url = format!("http://{}", server.server_addr().to_ip().unwrap());
        let seen: Arc<Seen> = Arc::default();
        let log = Arc::clone(&seen);
        std::thread::spawn(move || {
            while let Ok(mut request) = server.recv() {
                let mut body = String::new();
                request.as_reader().read_to_string(&mut body).unwrap();
                let keys = request.headers().iter().filter(|h| h.field.equiv("x-api-key"));
                let keys: Vec<String> = keys.map(|h| h.value.to_string()).collect();
                let mut log = log.lock().unwrap();
                let status = statuses[log.len().min(statuses.len() - 1)];
                log.push((request.url().to_owned(), keys.join(",")));
                let _ = request.respond(tiny_http::Response::from_string(format!("got {body}")).with_status_code(status));
            }
        });
        (url, seen)
    }

    fn relay(url: &str, most_answers: Option<usize>) -> (Relay, u16) {
        let pause = Duration::from_millis(1);
        let key = Some(Secret::new(KEY));
        Relay::on_port(Endpoint { url: url.to_owned(), auth: Auth::XApiKey, key, pause, most_answers }).unwrap()
    }

    /// Sends a request as it is written and gives the answer.
    fn ask(port: u16, target: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        write!(
            stream,
            "POST {target} HTTP/1.1\r\nhost: x\r\nx-api-key: own\r\ncontent-length: 2\r\nconnection: close\r\n\r\nhi"
        )
        .unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer
    }

    #[test]
    fn a_request_goes_on_with_the_key_in_the_place_of_the_agents_own() {
        let (url, seen) = upstream(&[200]);
        let (relay, port) = relay(&url, None);
        let answer = ask(port, "/v1/messages?beta=true");
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("got hi"), "{answer}");
        assert_eq!(*seen.lock().unwrap(), [("/v1/messages?beta=true".to_owned(), KEY.to_owned())]);
        assert_eq!(relay.traffic(), Traffic { requests: 1, answered: 1, last_fault: None, used_up: false });
    }

    #[test]
    fn a_request_that_would_name_another_host_is_refused() {
        let (url, seen) = upstream(&[200]);
        let (_relay, port) = relay(&url, None);
        for target in ["@127.0.0.1:1/", ".example.org/", "http://example.org/", "*", ":1/"] {
            let answer = ask(port, target);
            assert!(answer.starts_with("HTTP/1.1 400"), "{target}: {answer}");
        }
        assert!(seen.lock().unwrap().is_empty());
    }

    #[test]
    fn what_the_endpoint_has_no_time_for_is_sent_again_and_its_faults_are_remembered() {
        let (url, seen) = upstream(&[503, 429, 200]);
        let (busy, port) = relay(&url, None);
        assert!(ask(port, "/").starts_with("HTTP/1.1 200"));
        assert_eq!((seen.lock().unwrap().len(), busy.traffic().last_fault), (3, None));
        for (statuses, requests, fault) in [(&[503][..], 4, false), (&[500], 1, false), (&[401], 1, true)] {
            let (url, seen) = upstream(statuses);
            let (broken, port) = relay(&url, None);
            ask(port, "/");
            let found = broken.traffic().last_fault.unwrap();
            assert_eq!((seen.lock().unwrap().len(), matches!(found, Ended::NoKey(_))), (requests, fault), "{found:?}");
            assert!(found.is_infrastructure());
        }
        let (gone, port) = relay("http://127.0.0.1:9", None);
        assert!(ask(port, "/").starts_with("HTTP/1.1 502"));
        assert!(matches!(gone.traffic().last_fault, Some(Ended::ModelUnavailable(_))));
    }

    #[test]
    fn beyond_the_last_answer_nothing_is_asked() {
        let (url, seen) = upstream(&[200]);
        let (relay, port) = relay(&url, Some(2));
        let answers = [0; 4].map(|_| ask(port, "/"));
        assert_eq!(answers.map(|a| a.starts_with("HTTP/1.1 200")), [true, true, false, false]);
        assert_eq!((seen.lock().unwrap().len(), relay.traffic().used_up), (2, true));
    }
}
