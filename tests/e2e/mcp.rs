//! `cargo gistify mcp`: a client of the Model Context Protocol at the server's pipes.

use crate::project::Project;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

const TEST: &str = "a_voucher_is_taken_off";

/// A server, and how far its client has counted.
struct Server {
    child: Child,
    to: Option<ChildStdin>,
    from: Lines<BufReader<ChildStdout>>,
    asked: u64,
}

impl Server {
    /// Starts one and shakes hands.
    fn new(project: &Project, args: &[&str]) -> Server {
        let mut command = project.command(["mcp", "--quiet"].into_iter().chain(args.iter().copied()));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (to, from) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()).lines());
        let mut server = Server { child, to, from, asked: 0 };
        let hello =
            json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "e2e", "version": "0" } });
        let told = server.ask("initialize", &hello);
        assert_eq!(told["serverInfo"]["name"], "cargo-gistify");
        assert!(told["capabilities"]["tools"].is_object() && told["instructions"].is_string(), "{told}");
        server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        server
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.to.as_mut().unwrap(), "{message}").unwrap();
    }

    fn request(&mut self, method: &str, params: &Value) {
        self.asked += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.asked, "method": method, "params": params }));
    }

    /// The next answer; whatever stands on standard output has to be of the protocol.
    fn answer(&mut self) -> Value {
        loop {
            let line = self.from.next().expect("the server ended").unwrap();
            let message: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e} in {line}"));
            assert_eq!(message["jsonrpc"], "2.0");
            if message.get("id").is_some() {
                return message;
            }
        }
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.request(method, params);
        let answer = self.answer();
        assert_eq!(answer["id"], self.asked);
        assert!(answer["result"].is_object(), "{answer}");
        answer["result"].clone()
    }

    /// The answer of a tool: whether it failed, its text, its object.
    fn call(&mut self, tool: &str, arguments: Value) -> (bool, String, Value) {
        let result = self.ask("tools/call", &json!({ "name": tool, "arguments": arguments }));
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}")).to_owned();
        (result["isError"] == true, text, result["structuredContent"].clone())
    }

    /// Closes the connection; gives the exit code and how long the end took.
    fn close(mut self) -> (Option<i32>, Duration) {
        drop(self.to.take());
        let start = Instant::now();
        let code = wait(&mut self.child);
        assert!(self.from.next().is_none());
        (code, start.elapsed())
    }
}

fn wait(child: &mut Child) -> Option<i32> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        if start.elapsed() > Duration::from_secs(20) {
            child.kill().unwrap();
            panic!("it does not end");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn names(listed: &Value) -> Vec<&str> {
    listed["tools"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect()
}

#[test]
fn each_tool_answers_with_text_and_an_object() {
    let project = Project::new("shop");
    let before = project.files();
    let mut server = Server::new(&project, &[]);
    let listed = server.ask("tools/list", &json!({}));
    assert_eq!(names(&listed), ["extract", "graph", "list_tests", "trace", "verify"]);
    for tool in listed["tools"].as_array().unwrap() {
        assert!(tool["description"].as_str().is_some_and(|d| d.len() > 40), "{tool}");
        assert!(tool["inputSchema"]["properties"].is_object(), "{tool}");
    }

    let (failed, text, value) = server.call("list_tests", json!({ "filter": "voucher" }));
    assert!(!failed && text.contains(&format!("    {TEST}  tests/checkout.rs:11  [integration]")), "{text}");
    let found: Vec<&Value> = value["tests"].as_array().unwrap().iter().filter(|t| t["name"] == TEST).collect();
    assert_eq!((found.len(), &found[0]["target"], &value["left_out"]), (1, &json!("checkout"), &json!(0)), "{value}");

    let (failed, text, value) = server.call("trace", json!({ "test": TEST }));
    assert!(!failed && text.contains("src/cart.rs: ") && !text.contains("fn total"), "{text}");
    let total = value["functions"].as_array().unwrap().iter().find(|f| f["name"].as_str().unwrap().ends_with("::total"));
    assert!(
        total.is_some_and(|f| f["file"] == "src/cart.rs" && f["line"].as_u64() > Some(1) && f["calls"].as_u64() > Some(0))
    );
    assert!(value["files"].as_array().unwrap().iter().any(|f| f["path"] == "src/cart.rs" && f["lines"].is_null()));
    assert!(value["source"].is_null());
    let (_, text, value) = server.call("trace", json!({ "test": TEST, "source": true }));
    let source = value["source"].as_str().unwrap();
    assert!(source.contains("fn total") && text.ends_with(source), "{text}");

    let (failed, text, value) = server.call("graph", json!({ "test": TEST, "name": "Line::total" }));
    assert!(!failed && text.starts_with("method cart::Line::total (src/cart.rs:"), "{text}");
    let item = &value["items"][0];
    let users: Vec<&str> = item["used_by"].as_array().unwrap().iter().map(|u| u["path"].as_str().unwrap()).collect();
    assert!(users.iter().any(|u| u.starts_with("cart::Cart::")), "{item}");
    assert!(item["used_by"][0]["at"][0].as_u64() > Some(1), "{item}");
    assert!(item["uses"].as_array().unwrap().iter().any(|u| u["path"] == "money::Money"), "{item}");

    let (failed, text, value) = server.call("extract", json!({ "test": TEST }));
    assert!(!failed && text.starts_with("verdict: ok\nscores: fidelity 1.00, "), "{text}");
    let gist = value["gist"].as_str().unwrap().to_owned();
    let made = fs_err::read_to_string(&gist).unwrap();
    assert!(made.contains(&format!("fn {TEST}")) && text.ends_with(&made) && value["text"] == made.as_str());
    assert_eq!((&value["verdict"], &value["metrics"]["execution_fidelity"]), (&json!("ok"), &json!(1.0)));

    // Two in a row: the file, then its text.
    let (failed, text, value) = server.call("verify", json!({ "gist": gist, "test": TEST }));
    assert!(!failed && text.starts_with("verdict: ok\n") && value["gist"] == gist.as_str(), "{text}");
    let (failed, text, value) = server.call("verify", json!({ "gist": made, "test": TEST }));
    assert!(!failed && text.starts_with("verdict: ok\n") && value["gist"].is_null(), "{text}");
    assert_eq!(server.close().0, Some(0));
    project.assert_no_temps();
    assert!(project.files() == before);
}

#[test]
fn a_bad_gist_has_a_verdict_and_what_can_not_be_asked_is_an_error_that_the_server_survives() {
    let project = Project::new("shop");
    let mut server = Server::new(&project, &[]);
    // The same words as on the command line.
    let told = project.gistify(["trace", "a_vocher_is_taken_off"]);
    let (failed, text, value) = server.call("trace", json!({ "test": "a_vocher_is_taken_off" }));
    assert!(failed && text.contains("did you mean `a_voucher_is_taken_off`?"), "{text}");
    told.assert_code(4).assert_says(&text);
    assert_eq!((&value["exit_code"], &value["error"]), (&json!(4), &json!(text)));

    let (failed, text, value) = server.call("verify", json!({ "gist": "fn nothing() {}", "test": TEST }));
    assert!(!failed && text.starts_with("verdict: missing-test\n"), "{text}");
    assert_eq!(value["verdict"], "missing-test");
    let (failed, text, value) = server.call("verify", json!({ "gist": "gone.rs", "test": TEST }));
    assert!(!failed && text.starts_with("verdict: no-gist\nthere is no file gone.rs"), "{text}");
    assert_eq!(value["gist"], "gone.rs");

    let (failed, text, _) = server.call("graph", json!({ "test": TEST, "name": "totl" }));
    assert!(failed && text.contains("no item of") && text.contains("did you mean `"), "{text}");
    let (failed, text, _) = server.call("trace", json!({ "test": "e" }));
    assert!(failed && text.contains("tests match; pass the whole path of one, and its `target`: "), "{text}");
    let (failed, text, _) = server.call("trace", json!({ "test": TEST, "target": "shop" }));
    assert!(failed && text.contains("`--test checkout`"), "{text}");
    let (failed, text, _) = server.call("extract", json!({ "test": TEST, "output": "-" }));
    assert!(failed && text.contains("the protocol's"), "{text}");

    // What is no call of a tool is an error of the protocol.
    for params in [json!({ "name": "destroy", "arguments": {} }), json!({ "name": "trace", "arguments": { "test": 1 } })] {
        server.request("tools/call", &params);
        let answer = server.answer();
        assert!(answer["error"]["code"].is_i64() || answer["result"]["isError"] == true, "{answer}");
    }

    // The project breaks under the server, and is well again.
    let source = project.root.join("src/money.rs");
    let good = fs_err::read_to_string(&source).unwrap();
    fs_err::write(&source, format!("{good}\nfn broken( {{}}\n")).unwrap();
    let (failed, text, value) = server.call("trace", json!({ "test": TEST }));
    assert!(failed && text.contains("the selected targets do not build") && value["exit_code"] == 101, "{text}");
    fs_err::write(&source, good).unwrap();
    let (failed, text, _) = server.call("trace", json!({ "test": TEST, "target": "--test checkout" }));
    assert!(!failed, "{text}");
    assert_eq!(server.close().0, Some(0));
    project.assert_no_temps();
}

#[test]
fn only_the_chosen_tools_are_served() {
    let project = Project::new("shop");
    let mut server = Server::new(&project, &["--tools", "trace,list_tests"]);
    assert_eq!(names(&server.ask("tools/list", &json!({}))), ["list_tests", "trace"]);
    server.request("tools/call", &json!({ "name": "verify", "arguments": { "gist": "a.rs", "test": TEST } }));
    let answer = server.answer();
    assert!(answer["error"]["code"].is_i64() || answer["result"]["isError"] == true, "{answer}");
    assert_eq!(server.close().0, Some(0));
    project.gistify(["mcp", "--tools", "destroy"]).assert_code(2).assert_says("list_tests");
}

#[test]
fn an_ignored_test_is_served_on_request_alone() {
    let project = Project::new("outcomes");
    let trace = |args: &[&str]| {
        let mut server = Server::new(&project, args);
        let (failed, text, _) = server.call("trace", json!({ "test": "ignored" }));
        assert_eq!(server.close().0, Some(0));
        (failed, text)
    };
    let (failed, text) = trace(&[]);
    assert!(failed && text.ends_with("is ignored; start the server with --ignored"), "{text}");
    let (failed, text) = trace(&["--ignored"]);
    assert!(!failed, "{text}");
}

#[test]
fn when_the_client_goes_or_a_signal_comes_the_call_ends_and_no_child_is_left() {
    let project = Project::new("slow");
    for by_signal in [false, true] {
        let mut server = Server::new(&project, &[]);
        let (failed, text, _) = server.call("list_tests", json!({}));
        assert!(!failed, "{text}");
        server.request("tools/call", &json!({ "name": "trace", "arguments": { "test": "waits_for_long" } }));
        crate::interrupt::wait_for_process(&project, "waits_for_long");
        if by_signal {
            kill(Pid::from_raw(i32::try_from(server.child.id()).unwrap()), Signal::SIGINT).unwrap();
            assert_eq!(wait(&mut server.child), Some(130));
        } else {
            assert_eq!(server.close().0, Some(0));
        }
        crate::interrupt::assert_no_process(&project, "serving");
        project.assert_no_temps();
    }
}

#[test]
fn who_does_not_speak_the_protocol_is_told() {
    let project = Project::new("shop");
    // Nothing at all is no fault.
    project.gistify(["mcp"]).assert_code(0);
    let words = project.beside("words");
    fs_err::write(&words, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n").unwrap();
    let mut command = project.command(["mcp"]);
    let ran = project.finish(command.stdin(std::fs::File::open(&words).unwrap()));
    ran.assert_code(96).assert_says("does not speak the Model Context Protocol: it has to begin with `initialize`");
}

#[test]
fn who_asks_without_end_and_reads_nothing_is_not_listened_to() {
    let project = Project::new("shop");
    let mut server = Server::new(&project, &[]);
    let mut to = server.to.take().unwrap();
    let written = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = std::sync::Arc::clone(&written);
    let line = format!("{}\n", json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }));
    // It ends with the server.
    let asks = std::thread::spawn(move || {
        while to.write_all(line.as_bytes()).is_ok() {
            count.fetch_add(line.len(), std::sync::atomic::Ordering::Relaxed);
        }
    });
    let bytes = || written.load(std::sync::atomic::Ordering::Relaxed);
    let start = Instant::now();
    let mut before = usize::MAX;
    while bytes() != before && start.elapsed() < Duration::from_secs(60) {
        before = bytes();
        std::thread::sleep(Duration::from_secs(1));
    }
    assert_eq!(bytes(), before, "it still reads");
    assert!((1..4 << 20).contains(&before), "{before} bytes were read");
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    asks.join().unwrap();
}

#[test]
fn more_calls_than_can_wait_are_refused() {
    let project = Project::new("shop");
    let mut server = Server::new(&project, &[]);
    for _ in 0..40 {
        server.request("tools/call", &json!({ "name": "verify", "arguments": { "gist": "fn a() {}", "test": TEST } }));
    }
    let answers: Vec<Value> = (0..40).map(|_| server.answer()).collect();
    let refused = answers.iter().filter(|answer| answer.to_string().contains("calls wait already")).count();
    let worked = answers.iter().filter(|answer| answer["result"]["structuredContent"]["verdict"].is_string()).count();
    assert!(refused > 0 && worked >= 16 && refused + worked == 40, "{refused} refused, {worked} worked");
    assert_eq!(server.close().0, Some(0));
}
