//! A model server for tests: it answers from a script, in order, and remembers what it was asked.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What one request is answered.
#[derive(Clone)]
pub(super) enum Turn {
    /// A status, headers (`name: value`), a body.
    Say(u16, Vec<&'static str>, Vec<u8>),
    /// Nothing, until the client gives up.
    Hang,
    /// The beginning of an answer, and nothing more until the client gives up.
    Stall,
    /// Nothing: the connection is closed.
    Close,
}

/// What was asked.
#[derive(Clone)]
pub(super) struct Asked {
    pub(super) path: String,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Value,
}

impl Asked {
    pub(super) fn messages(&self) -> &[Value] {
        self.body["messages"].as_array().unwrap()
    }
}

/// It listens until its script is at its end; then its port is closed.
pub(super) struct Server {
    pub(super) url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    pub(super) fn new(script: Vec<Turn>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        std::thread::spawn(move || {
            for turn in script {
                let Ok((stream, _)) = listener.accept() else { return };
                // A client that gave up is what some tests are about.
                let _ = serve(stream, &turn, &seen);
            }
        });
        Server { url, asked }
    }

    pub(super) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

fn serve(stream: TcpStream, turn: &Turn, asked: &Mutex<Vec<Asked>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim().split_once(": ") else { break };
        headers.insert(name.to_lowercase(), value.to_owned());
    }
    let mut body = vec![0; headers.get("content-length").and_then(|n| n.parse().ok()).unwrap_or(0)];
    reader.read_exact(&mut body)?;
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    asked.lock().unwrap().push(Asked { path, headers, body });
    match turn {
        Turn::Say(status, headers, body) => {
            let mut head = format!("HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
            headers.iter().for_each(|h| head.push_str(&format!("{h}\r\n")));
            let mut stream = stream;
            stream.write_all(head.as_bytes())?;
            stream.write_all(b"\r\n")?;
            stream.write_all(body)
        }
        Turn::Hang => reader.read_to_end(&mut Vec::new()).map(drop),
        Turn::Stall => {
            let mut stream = stream;
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{")?;
            reader.read_to_end(&mut Vec::new()).map(drop)
        }
        Turn::Close => Ok(()),
    }
}

/// An answer with words alone.
pub(super) fn words(text: &str) -> Turn {
    message(json!({"role": "assistant", "content": text}), Value::Null)
}

/// An answer with calls: name and arguments.
pub(super) fn calls(calls: &[(&str, Value)]) -> Turn {
    let calls = calls.iter().zip(0..).map(|((name, arguments), i)| {
        json!({"id": format!("c{i}"), "type": "function", "function": {"name": name, "arguments": arguments.to_string()}})
    });
    message(json!({"role": "assistant", "content": null, "tool_calls": calls.collect::<Vec<_>>()}), Value::Null)
}

/// An answer with one call.
pub(super) fn call(name: &str, arguments: Value) -> Turn {
    calls(&[(name, arguments)])
}

/// Any message; `usage` may be null.
pub(super) fn message(message: Value, usage: Value) -> Turn {
    body(
        200,
        json!({"id": "x", "model": "model-2026", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage}),
    )
}

pub(super) fn body(status: u16, body: Value) -> Turn {
    Turn::Say(status, vec!["content-type: application/json"], body.to_string().into_bytes())
}

/// An error as OpenAI words it.
pub(super) fn error(status: u16, text: &str) -> Turn {
    body(status, json!({"error": {"message": text, "type": "some_error"}}))
}
