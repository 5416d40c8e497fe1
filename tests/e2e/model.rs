//! A model that follows a script, as a server on the loopback: what real agents ask it in four wire formats (OpenAI's chat completions
//! and responses, Anthropic's messages, Gemini's contents) it answers with the next step.
//!
//! Which step that is says the number of tool results in the request, so the server keeps no state.

use serde_json::{Map, Value, json};
use std::sync::{Arc, Mutex};
use tiny_http::{Header, Request, Response, Server};

/// What the model does next.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// A command for a shell.
    Shell(String),
    /// A call of that tool.
    Tool(String, Value),
    /// A call of that tool of the server `gistify`.
    Served(String, Value),
    /// Words; the agent is done.
    Say(String),
    /// An error of the endpoint.
    Status(u16),
}

/// A server with a script. The last step is repeated.
pub(crate) struct Model {
    pub(crate) url: String,
    server: Arc<Server>,
    /// Headers and bodies of what was asked.
    pub(crate) asked: Arc<Log>,
}

impl Model {
    pub(crate) fn new(script: Vec<Step>) -> Model {
        let server = Arc::new(Server::http("127.0.0.1:0").unwrap());
        let url = format!("http://{}", server.server_addr().to_ip().unwrap());
        let asked: Arc<Log> = Arc::default();
        let (own, log) = (Arc::clone(&server), Arc::clone(&asked));
        std::thread::spawn(move || {
            while let Ok(request) = own.recv() {
                answer(request, &script, &log);
            }
        });
        Model { url, server, asked }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.server.unblock();
    }
}

/// Headers and body of each request.
type Log = Mutex<Vec<(Headers, Value)>>;
type Headers = Vec<(String, String)>;

fn answer(mut request: Request, script: &[Step], log: &Log) {
    let mut body = String::new();
    request.as_reader().read_to_string(&mut body).unwrap();
    let asked: Value = serde_json::from_str(&body).unwrap_or_default();
    let headers = request.headers().iter().map(|h| (h.field.to_string().to_lowercase(), h.value.to_string())).collect();
    log.lock().unwrap().push((headers, asked.clone()));
    let path = request.url().split('?').next().unwrap_or_default().to_owned();
    let step = |results: usize| script[results.min(script.len() - 1)].clone();
    let answered = match path.rsplit('/').next() {
        Some("completions") => chat(&asked, &step),
        Some("responses") => responses(&asked, &step),
        Some("messages") => messages(&asked, &step),
        Some("models") => {
            Ok((json!({"object": "list", "data": [{"id": "scripted", "object": "model"}], "models": []}), None))
        }
        Some(last) if last.ends_with(":streamGenerateContent") => contents(&asked, &step),
        Some(last) if last.ends_with(":generateContent") => {
            contents(&asked, &step).map(|(_, events)| (events.map_or(Value::Null, |events| events[0].1.clone()), None))
        }
        Some(last) if last.ends_with(":countTokens") => Ok((json!({"totalTokens": 100}), None)),
        Some("count_tokens") => Ok((json!({"input_tokens": 10}), None)),
        _ => Ok((json!({}), None)),
    };
    let typed = |kind: &str| Header::from_bytes("content-type", kind).unwrap();
    let _ = match answered {
        Err(status) => {
            request.respond(Response::from_string("{\"error\":{\"message\":\"scripted\"}}").with_status_code(status))
        }
        Ok((_, Some(events))) => {
            let line = |(name, data): &(&str, Value)| match (*name, data) {
                ("", Value::String(text)) => format!("data: {text}\n\n"),
                ("", data) => format!("data: {data}\n\n"),
                (name, data) => format!("event: {name}\ndata: {data}\n\n"),
            };
            let text: String = events.iter().map(line).collect();
            request.respond(Response::from_string(text).with_header(typed("text/event-stream")))
        }
        Ok((value, None)) => {
            request.respond(Response::from_string(value.to_string()).with_header(typed("application/json")))
        }
    };
}

/// An answer, or the events that it is streamed as; else a status.
type Answer = Result<(Value, Option<Vec<(&'static str, Value)>>), u16>;

const SHELLS: &[&str] = &["bash", "Bash", "exec_command", "shell_command", "shell", "run_shell_command"];

/// The tool that runs commands, of those that the agent has, and the arguments for a command.
fn call(tools: &Map<String, Value>, command: &str) -> Option<(String, Value)> {
    let (name, schema) = SHELLS.iter().find_map(|s| tools.get_key_value(*s))?;
    let mut arguments = Map::new();
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    for (key, about) in schema["properties"].as_object().into_iter().flatten() {
        let kind = about["type"].as_str().unwrap_or("string");
        if ["command", "cmd", "script"].contains(&key.as_str()) {
            let value = if kind == "array" { json!(["bash", "-c", command]) } else { json!(command) };
            arguments.insert(key.clone(), value);
        } else if required.iter().any(|r| r == key) {
            let value = match kind {
                "boolean" => json!(false),
                "number" | "integer" => json!(1),
                "array" => json!([]),
                "object" => json!({}),
                _ => json!("a step"),
            };
            arguments.insert(key.clone(), value);
        }
    }
    Some((name.clone(), Value::Object(arguments)))
}

fn list<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    value[key].as_array().into_iter().flatten()
}

fn next(step: Step, tools: &Map<String, Value>) -> Result<Result<(String, Value), String>, u16> {
    match step {
        Step::Status(status) => Err(status),
        Step::Say(text) => Ok(Err(text)),
        Step::Tool(name, arguments) => Ok(Ok((name, arguments))),
        Step::Served(name, arguments) => {
            // `mcp__gistify__verify`, `gistify_verify`, `gistify-verify`; where it is in a namespace it is not listed.
            let known = tools.keys().find(|known| known.contains("gistify") && known.ends_with(&name)).cloned();
            Ok(Ok((known.unwrap_or_else(|| format!("mcp__gistify__{name}")), arguments)))
        }
        // Titles and summaries are asked for without tools.
        Step::Shell(command) => Ok(call(tools, &command).ok_or_else(|| "a title".to_owned())),
    }
}

fn chat(asked: &Value, step: &dyn Fn(usize) -> Step) -> Answer {
    let results = list(asked, "messages").filter(|m| m["role"] == "tool").count();
    let tools = list(asked, "tools").map(|t| &t["function"]);
    let tools = tools.filter_map(|f| Some((f["name"].as_str()?.to_owned(), f["parameters"].clone()))).collect();
    let (message, end) = match next(step(results), &tools)? {
        Ok((name, arguments)) => {
            let function = json!({"name": name, "arguments": arguments.to_string()});
            let calls = json!([{"index": 0, "id": format!("call_{results}"), "type": "function", "function": function}]);
            (json!({"role": "assistant", "content": format!("step {results}"), "tool_calls": calls}), "tool_calls")
        }
        Err(text) => (json!({"role": "assistant", "content": text}), "stop"),
    };
    let usage = json!({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110});
    let whole = |object: &str, choices: Value| json!({"id": "c", "created": 1, "model": asked["model"], "object": object, "choices": choices, "usage": usage});
    if asked["stream"] != true {
        let choices = json!([{"index": 0, "message": message, "finish_reason": end}]);
        return Ok((whole("chat.completion", choices), None));
    }
    let chunk = |choices: Value| whole("chat.completion.chunk", choices);
    let events = vec![
        ("", chunk(json!([{"index": 0, "delta": message, "finish_reason": null}]))),
        ("", chunk(json!([{"index": 0, "delta": {}, "finish_reason": end}]))),
        ("", json!("[DONE]")),
    ];
    Ok((Value::Null, Some(events)))
}

fn responses(asked: &Value, step: &dyn Fn(usize) -> Step) -> Answer {
    let is_result = |i: &&Value| i["type"].as_str().is_some_and(|t| t.ends_with("call_output"));
    let results = list(asked, "input").filter(is_result).count();
    let tools = list(asked, "tools").filter(|t| t["type"] == "function");
    let tools = tools.filter_map(|t| Some((t["name"].as_str()?.to_owned(), t["parameters"].clone()))).collect();
    let item = match next(step(results), &tools)? {
        Ok((name, arguments)) => {
            let mut call = json!({
                "type": "function_call", "id": format!("fc_{results}"), "call_id": format!("call_{results}"), "name": name,
                "arguments": arguments.to_string(), "status": "completed",
            });
            // Tools of servers are in a namespace here.
            if let Some((server, tool)) = name.strip_prefix("mcp__").and_then(|name| name.split_once("__")) {
                call["namespace"] = json!(format!("mcp__{server}"));
                call["name"] = json!(tool);
            }
            call
        }
        Err(text) => json!({
            "type": "message", "id": format!("msg_{results}"), "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        }),
    };
    let usage = json!({
        "input_tokens": 100, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 10,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 110,
    });
    let response = |status: &str, output: Value| {
        json!({
            "id": format!("resp_{results}"), "object": "response", "created_at": 1, "model": asked["model"], "status": status,
            "output": output, "usage": usage,
        })
    };
    let event = |kind: &'static str, key: &str, value: &Value| (kind, json!({"type": kind, "output_index": 0, key: value}));
    let events = vec![
        event("response.created", "response", &response("in_progress", json!([]))),
        event("response.output_item.added", "item", &item),
        event("response.output_item.done", "item", &item),
        event("response.completed", "response", &response("completed", json!([item]))),
    ];
    Ok((Value::Null, Some(events)))
}

fn contents(asked: &Value, step: &dyn Fn(usize) -> Step) -> Answer {
    let parts = list(asked, "contents").flat_map(|content| list(content, "parts"));
    let results = parts.filter(|part| part["functionResponse"].is_object()).count();
    let functions = list(asked, "tools").flat_map(|tool| list(tool, "functionDeclarations"));
    let tools = functions
        .filter_map(|f| {
            let schema = [&f["parametersJsonSchema"], &f["parameters"]].into_iter().find(|schema| schema.is_object());
            Some((f["name"].as_str()?.to_owned(), schema.cloned().unwrap_or_default()))
        })
        .collect();
    let part = match next(step(results), &tools)? {
        Ok((name, arguments)) => json!({"functionCall": {"id": format!("call_{results}"), "name": name, "args": arguments}}),
        Err(text) => json!({"text": text}),
    };
    let usage = json!({"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110});
    let candidate = json!({"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0});
    let whole = json!({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"});
    Ok((Value::Null, Some(vec![("", whole)])))
}

fn messages(asked: &Value, step: &dyn Fn(usize) -> Step) -> Answer {
    let results = list(asked, "messages").flat_map(|m| list(m, "content")).filter(|b| b["type"] == "tool_result").count();
    let tools =
        list(asked, "tools").filter_map(|t| Some((t["name"].as_str()?.to_owned(), t["input_schema"].clone()))).collect();
    let (block, delta, stop) = match next(step(results), &tools)? {
        Ok((name, arguments)) => (
            json!({"type": "tool_use", "id": format!("toolu_{results:024}"), "name": name, "input": {}}),
            json!({"type": "input_json_delta", "partial_json": arguments.to_string()}),
            "tool_use",
        ),
        Err(text) => (json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": text}), "end_turn"),
    };
    let usage =
        json!({"input_tokens": 100, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 10});
    let message = json!({
        "id": format!("msg_{results:024}"), "type": "message", "role": "assistant", "model": asked["model"], "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage,
    });
    let event = |kind: &'static str, mut value: Value| {
        value["type"] = json!(kind);
        (kind, value)
    };
    let end = json!({"delta": {"stop_reason": stop, "stop_sequence": null}, "usage": {"output_tokens": 10}});
    let events = vec![
        event("message_start", json!({"message": message})),
        event("content_block_start", json!({"index": 0, "content_block": block})),
        event("content_block_delta", json!({"index": 0, "delta": delta})),
        event("content_block_stop", json!({"index": 0})),
        event("message_delta", end),
        event("message_stop", json!({})),
    ];
    Ok((Value::Null, Some(events)))
}
