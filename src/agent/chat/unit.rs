//! The agent against a scripted server: what it does, and what it does when things go wrong. No test waits for a clock but the
//! two that are about one.

use super::server::{Server, Turn, body, call, calls, error, message, words};
use super::*;
use crate::agent::atif::{Agent, Trajectory};
use std::cell::RefCell;

const KEY: &str = "sk-planted-0123456789";

/// What is plugged in for tests: it says what it was asked.
#[derive(Default)]
struct Echo {
    bash: RefCell<Vec<String>>,
    left: RefCell<Vec<Duration>>,
}

impl Host for Echo {
    fn run_gist(&self, left: Duration) -> Result<String, String> {
        self.left.borrow_mut().push(left);
        Err("test a failed".into())
    }
    fn bash(&self, command: &str, left: Duration) -> Result<String, String> {
        self.left.borrow_mut().push(left);
        self.bash.borrow_mut().push(command.to_owned());
        Ok(format!("{}{}", "x".repeat(20_000), command))
    }
    fn trace(&self) -> Result<String, String> {
        Ok(format!("src/lib.rs: f ({KEY})"))
    }
    fn graph(&self, name: &str) -> Result<String, String> {
        Ok(format!("{name} is defined in src/lib.rs:1"))
    }
}

/// A project, a server, a model and how the model may work.
struct Bench {
    dir: tempfile::TempDir,
    server: Server,
    model: Model,
    limits: AgentLimits,
    tools: ToolSet,
    waits: RefCell<Vec<Duration>>,
    host: Echo,
}

impl Bench {
    fn new(script: Vec<Turn>) -> Bench {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("project/src")).unwrap();
        std::fs::create_dir_all(dir.path().join("project/.git")).unwrap();
        std::fs::write(
            dir.path().join("project/src/lib.rs"),
            "pub fn one() -> u8 {\n    1\n}\npub fn two() -> u8 {\n    2\n}\n",
        )
        .unwrap();
        std::fs::write(dir.path().join("project/.git/config"), "pub fn").unwrap();
        std::fs::write(dir.path().join("project/data.bin"), b"pub fn\0\xff").unwrap();
        std::fs::write(dir.path().join("secret.txt"), "out of reach").unwrap();
        let server = Server::new(script);
        let model = Model {
            base_url: server.url.clone(),
            key: Some(Secret::new(KEY)),
            name: "model".into(),
            retries: 2,
            request_timeout: Duration::from_secs(60),
            options: Map::new(),
        };
        let tools = "edit-and-execute,bash,trace,graph".parse().unwrap();
        let (limits, waits, host) = (AgentLimits::default(), RefCell::default(), Echo::default());
        Bench { dir, server, model, limits, tools, waits, host }
    }

    fn project(&self) -> Utf8PathBuf {
        Utf8PathBuf::from_path_buf(self.dir.path().join("project")).unwrap()
    }

    fn place(&self) -> Place {
        Place { workspace: self.project(), gist: self.project().join("gist.rs") }
    }

    fn gist(&self) -> Option<String> {
        std::fs::read_to_string(self.place().gist).ok()
    }

    fn run(&self) -> Heard {
        let sleep = |wait| {
            self.waits.borrow_mut().push(wait);
            Ok(())
        };
        chat_with(&self.model, &self.tools, &self.limits, &prompt(), &self.place(), &self.host, &sleep).unwrap()
    }

    fn ask_once(&self, files: &[(Utf8PathBuf, String)]) -> (Heard, Option<String>) {
        one_shot::one_shot_with(&self.model, &self.limits, &prompt(), files, &|_| Ok(())).unwrap()
    }

    fn waits(&self) -> Vec<u64> {
        self.waits.borrow().iter().map(|w| u64::try_from(w.as_millis()).unwrap()).collect()
    }
}

fn prompt() -> Prompt {
    Prompt { system: "be brief".into(), task: "make the gist".into() }
}

/// What the tools said, in order.
fn results(heard: &Heard) -> Vec<String> {
    heard.steps.iter().filter_map(|s| s.observation.as_ref()).flat_map(|o| &o.results).map(|r| r.content.clone()).collect()
}

/// What one call is answered.
fn result_of(name: &str, arguments: Value) -> String {
    let heard = Bench::new(vec![call(name, arguments), call("submit", json!({}))]).run();
    assert_eq!(heard.ended, Some(Ended::Done));
    results(&heard)[0].clone()
}

fn unavailable(heard: &Heard) -> &str {
    match &heard.ended {
        Some(Ended::ModelUnavailable(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_whole_attempt_leaves_the_gist_and_a_trajectory() {
    let bench = Bench::new(vec![
        calls(&[("read_file", json!({"path": "src/lib.rs"})), ("search", json!({"pattern": "fn two"}))]),
        call("write_gist", json!({"content": "fn one() {}\n"})),
        call("edit_gist", json!({"old": "one", "new": "two"})),
        call("submit", json!({})),
    ]);
    let heard = bench.run();
    assert_eq!(heard.ended, Some(Ended::Done));
    assert_eq!(bench.gist().unwrap(), "fn two() {}\n");
    assert_eq!(heard.agent_steps(), 4);
    let sources: Vec<_> = heard.steps.iter().map(|s| s.source).collect();
    assert_eq!(sources[..3], [Source::System, Source::User, Source::Agent]);
    let kinds = [(ToolKind::View, 1), (ToolKind::Search, 1), (ToolKind::Edit, 2), (ToolKind::Other, 1)];
    assert_eq!(heard.tools, kinds.into());
    assert_eq!(heard.model.as_deref(), Some("model-2026"));
    // Ids that the server used twice stand once in the trajectory.
    let calls = heard.steps.iter().flat_map(|s| s.tool_calls.iter().flatten());
    let ids: std::collections::BTreeSet<_> = calls.map(|c| &c.tool_call_id).collect();
    assert_eq!(ids.len(), 5);
    let trajectory = Trajectory::of("s".into(), Agent::default(), &heard);
    let text = serde_json::to_string(&trajectory).unwrap();
    assert_eq!(serde_json::from_str::<Trajectory>(&text).unwrap(), trajectory);
}

#[test]
fn the_server_gets_what_the_format_asks_for() {
    let mut bench = Bench::new(vec![call("list_dir", json!({"path": "."})), call("submit", json!({}))]);
    bench.model.base_url.push_str("/?version=1");
    bench.model.options.insert("temperature".into(), json!(0));
    bench.tools = ToolSet::default();
    bench.run();
    let asked = bench.server.asked();
    assert_eq!(asked[0].path, "/v1/chat/completions?version=1");
    assert_eq!(asked[0].headers["authorization"], format!("Bearer {KEY}"));
    assert_eq!((&asked[0].body["model"], &asked[0].body["temperature"]), (&json!("model"), &json!(0)));
    let tools: Vec<_> =
        asked[0].body["tools"].as_array().unwrap().iter().map(|t| t["function"]["name"].as_str().unwrap()).collect();
    assert_eq!(tools, ["read_file", "list_dir", "search", "write_gist", "edit_gist", "submit"]);
    let roles: Vec<_> = asked[1].messages().iter().map(|m| m["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool"]);
    assert_eq!(asked[1].messages()[3]["tool_call_id"], asked[1].messages()[2]["tool_calls"][0]["id"]);
}

#[test]
fn files_are_shown_whole_or_by_lines() {
    assert!(result_of("read_file", json!({"path": "src/lib.rs"})).ends_with("2\n}\n"));
    let lines = "[lines 2 to 3 of 6]\n    1\n}\n";
    assert_eq!(result_of("read_file", json!({"path": "./src/lib.rs", "start": 2, "end": 3})), lines);
    assert_eq!(result_of("read_file", json!({"path": "src/lib.rs", "start": "2", "end": 3.0})), lines);
    assert!(result_of("read_file", json!({"path": "src/lib.rs", "start": 7})).contains("has 6 lines"));
    assert!(result_of("read_file", json!({"path": "src/lib.rs", "start": "x"})).contains("line number"));
    assert!(result_of("read_file", json!({"path": "src"})).contains("is a folder"));
    assert!(result_of("read_file", json!({"path": "data.bin"})).contains("not UTF-8"));
    assert!(result_of("read_file", json!({"path": "none.rs"})).starts_with("error: none.rs: "));
    assert_eq!(result_of("list_dir", json!({"path": ""})), ".git/\ndata.bin (8 bytes)\nsrc/");
}

#[test]
fn searches_pass_over_binaries_and_history() {
    let all = "src/lib.rs:1: pub fn one() -> u8 {\nsrc/lib.rs:4: pub fn two() -> u8 {";
    assert_eq!(result_of("search", json!({"pattern": "pub fn"})), all);
    assert_eq!(result_of("search", json!({"pattern": "pub fn", "path": "src/lib.rs"})), all);
    assert_eq!(result_of("search", json!({"pattern": "^fn", "path": "src"})), "[no match]");
    assert!(result_of("search", json!({"pattern": "(", "path": "src"})).contains("no regular expression"));
    assert!(result_of("search", json!({"pattern": "x{1000}{1000}{1000}"})).contains("no regular expression"));
}

#[test]
fn no_path_leads_out_of_the_project() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret.txt"), "out of reach").unwrap();
    let paths = ["../secret.txt", "src/../../secret.txt", "/etc/passwd", "link", "folder/secret.txt", "relative"];
    let script = paths.iter().flat_map(|path| {
        [
            call("read_file", json!({"path": path})),
            call("list_dir", json!({"path": path})),
            call("search", json!({"pattern": ".", "path": path})),
        ]
    });
    let bench = Bench::new(script.chain([call("search", json!({"pattern": "reach"})), call("submit", json!({}))]).collect());
    let link = |to: &std::path::Path, name: &str| std::os::unix::fs::symlink(to, bench.project().join(name)).unwrap();
    link(&outside.path().join("secret.txt"), "link");
    link(outside.path(), "folder");
    link(std::path::Path::new("../secret.txt"), "relative");
    let heard = bench.run();
    assert_eq!(heard.ended, Some(Ended::Done));
    let results = results(&heard);
    for result in &results[..paths.len() * 3] {
        assert!(result.starts_with("error: "), "{result}");
    }
    assert_eq!(results[paths.len() * 3], "[no match]");
}

#[test]
fn a_pipe_is_not_waited_for() {
    let bench = Bench::new(vec![
        call("read_file", json!({"path": "pipe"})),
        call("search", json!({"pattern": "x"})),
        call("submit", json!({})),
    ]);
    nix::unistd::mkfifo(bench.project().join("pipe").as_std_path(), nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert!(results(&bench.run())[0].contains("no regular file"));
}

#[test]
fn an_edit_needs_exactly_one_place() {
    let bench = Bench::new(vec![
        call("edit_gist", json!({"old": "a", "new": "b"})),
        call("write_gist", json!({"content": "aaa b"})),
        call("edit_gist", json!({"old": "aa", "new": "c"})),
        call("edit_gist", json!({"old": "d", "new": "c"})),
        call("edit_gist", json!({"old": "", "new": "c"})),
        call("edit_gist", json!({"old": "aaa"})),
        call("edit_gist", json!({"old": "aaa", "new": ""})),
        call("submit", json!({})),
    ]);
    let results = results(&bench.run());
    for (result, says) in results.iter().zip([
        "write_gist first",
        "written",
        "more than once",
        "not in the gist",
        "is empty",
        "`new` is missing",
    ]) {
        assert!(result.contains(says), "{result}");
    }
    assert_eq!(bench.gist().unwrap(), " b");
}

#[test]
fn a_gist_may_lie_outside_of_the_project_and_replaces_a_link_rather_than_what_it_leads_to() {
    let bench = Bench::new(vec![call("write_gist", json!({"content": "new"})), call("submit", json!({}))]);
    let place = Place { gist: bench.project().join("../out/gist.rs"), ..bench.place() };
    let victim = bench.project().join("src/lib.rs");
    std::fs::create_dir(bench.project().join("../out")).unwrap();
    std::os::unix::fs::symlink(&victim, &place.gist).unwrap();
    std::os::unix::fs::symlink(&victim, bench.project().join("../out/.gist.rs.tmp")).unwrap();
    chat_with(&bench.model, &bench.tools, &bench.limits, &prompt(), &place, &bench.host, &|_| Ok(())).unwrap();
    assert_eq!(std::fs::read_to_string(&place.gist).unwrap(), "new");
    assert!(std::fs::read_to_string(victim).unwrap().starts_with("pub fn one"));
    assert_eq!(std::fs::read_dir(bench.dir.path().join("out")).unwrap().count(), 1);
}

#[test]
fn a_gist_of_many_megabytes_is_refused() {
    let mut bench = Bench::new(vec![call("write_gist", json!({"content": "x".repeat(5 << 20)})), call("submit", json!({}))]);
    bench.limits.context_tokens = u64::MAX;
    assert!(results(&bench.run())[0].contains("too many for a gist"));
    assert_eq!(bench.gist(), None);
}

#[test]
fn the_host_does_what_is_to_be_run_or_known() {
    let bench = Bench::new(vec![
        calls(&[
            ("run_gist", json!({})),
            ("bash", json!({"command": "ls -a"})),
            ("trace", json!({})),
            ("graph", json!({"name": "one"})),
        ]),
        call("submit", json!({})),
    ]);
    let heard = bench.run();
    let results = results(&heard);
    assert_eq!(results[0], "error: test a failed");
    assert_eq!(bench.host.bash.borrow()[..], ["ls -a"]);
    let left = bench.host.left.borrow().clone();
    assert!(bench.limits.timeout > left[0] && left[0] >= left[1] && left[1] > Duration::from_secs(600));
    // Of a long output both ends are shown.
    assert!(
        results[1].len() < MAX_RESULT + 100 && results[1].ends_with("xxls -a") && results[1].contains("are left out here")
    );
    assert_eq!(results[3], "one is defined in src/lib.rs:1");
    assert_eq!(heard.tools[&ToolKind::Execute], 2);
}

#[test]
fn a_long_file_is_cut_and_says_so() {
    let bench = Bench::new(vec![call("read_file", json!({"path": "long.rs"})), call("submit", json!({}))]);
    std::fs::write(bench.project().join("long.rs"), "é\n".repeat(20_000)).unwrap();
    let heard = bench.run();
    let result = &results(&heard)[0];
    assert!(
        result.len() < MAX_RESULT + 100
            && result.ends_with("of 60000 bytes, the first 5461 lines, are shown; ask for less]"),
        "{}",
        &result[MAX_RESULT..]
    );
    assert_eq!(bench.server.asked()[1].messages()[3]["content"], **result);
}

#[test]
fn a_tool_that_is_switched_off_is_not_there() {
    for (tools, name) in
        [("none", "read_file"), ("edit", "search"), ("edit", "bash"), ("edit", "run_gist"), ("bash,read", "write_gist")]
    {
        let mut bench = Bench::new(vec![
            call(name, json!({"path": "src/lib.rs", "pattern": "x", "command": "ls", "content": "x"})),
            call("submit", json!({})),
        ]);
        bench.tools = tools.parse().unwrap();
        let result = &results(&bench.run())[0];
        assert!(result.starts_with(&format!("error: there is no tool `{name}`; there are ")), "{result}");
        assert_eq!((bench.gist(), bench.host.bash.borrow().len()), (None, 0));
        assert!(!bench.server.asked()[0].body["tools"].to_string().contains(&format!("\"{name}\"")));
    }
}

#[test]
fn garbage_in_calls_is_said_to_the_model() {
    let garbled = json!({"role": "assistant", "tool_calls": [
        {"id": "x", "function": {"name": "write_gist", "arguments": "{\"content\": \"fn"}},
        {"id": "y", "function": {"name": "write_gist", "arguments": "[1]"}},
        {"id": "z", "function": {"name": "write_gist", "arguments": {"content": 7}}},
        "call",
    ]});
    let cut = body(200, json!({"choices": [{"message": garbled.clone(), "finish_reason": "length"}]}));
    let bench = Bench::new(vec![message(garbled, Value::Null), cut, call("submit", json!({}))]);
    let heard = bench.run();
    assert_eq!(heard.ended, Some(Ended::Done));
    let results = results(&heard);
    for (result, says) in
        results.iter().zip(["no JSON object", "no JSON object", "has to be a string", "no tool ``", "cut off"])
    {
        assert!(result.contains(says), "{result}");
    }
    assert_eq!(heard.steps[2].tool_calls.as_ref().unwrap()[0].arguments, json!({"unreadable": "{\"content\": \"fn"}));
    assert_eq!(bench.server.asked()[1].messages()[2]["tool_calls"][0]["function"]["arguments"], "{}");
}

#[test]
fn of_thousands_of_calls_only_some_are_carried_out() {
    let bench = Bench::new(vec![calls(&vec![("list_dir", json!({"path": "."})); 3000]), call("submit", json!({}))]);
    let heard = bench.run();
    assert_eq!(results(&heard).len(), 32 + 1);
    assert!(results(&heard)[31].contains("[2968 further calls were not carried out"));
    assert_eq!(heard.steps[2].extra["ignored_calls"], 2968);
}

#[test]
fn nothing_is_carried_out_behind_submit() {
    let bench = Bench::new(vec![calls(&[("submit", json!({})), ("write_gist", json!({"content": "x"}))])]);
    let heard = bench.run();
    assert_eq!((heard.ended.clone(), bench.gist()), (Some(Ended::Done), None));
    assert!(results(&heard)[1].contains("was submitted before"));
}

#[test]
fn answers_without_a_call_are_nudged_twice_and_then_taken_for_the_end() {
    let bench = Bench::new(vec![words("a"), words("b"), call("list_dir", json!({})), words("c"), words(""), words("e")]);
    let heard = bench.run();
    assert_eq!((heard.ended.clone(), heard.agent_steps()), (Some(Ended::Done), 6));
    let asked = bench.server.asked();
    assert_eq!(asked[1].messages().last().unwrap()["role"], "user");
    assert!(heard.steps.iter().filter(|s| s.source == Source::User && s.message.contains("submit")).count() == 4);
}

#[test]
fn steps_are_counted_and_what_the_last_one_wrote_counts() {
    let mut bench = Bench::new(vec![
        call("list_dir", json!({})),
        call("write_gist", json!({"content": "x"})),
        call("submit", json!({})),
    ]);
    bench.limits.steps = 2;
    let heard = bench.run();
    assert_eq!((heard.ended.clone(), heard.agent_steps()), (Some(Ended::StepLimit), 2));
    assert_eq!((bench.gist().as_deref(), bench.server.asked().len()), (Some("x"), 2));
    bench.limits.steps = 0;
    assert_eq!(bench.run().ended, Some(Ended::StepLimit));
}

#[test]
fn no_time_is_no_request() {
    let mut bench = Bench::new(vec![]);
    bench.limits.timeout = Duration::ZERO;
    assert_eq!(bench.run().ended, Some(Ended::TimeLimit));
}

#[test]
fn a_request_takes_no_longer_than_what_is_left_of_the_attempt() {
    let mut bench = Bench::new(vec![call("list_dir", json!({})), Turn::Hang]);
    bench.limits.timeout = Duration::from_secs(2);
    let begun = Instant::now();
    assert_eq!(bench.run().ended, Some(Ended::TimeLimit));
    assert!(begun.elapsed() < Duration::from_secs(20));
    // An endpoint that has never answered is to blame itself.
    let mut bench = Bench::new(vec![Turn::Hang]);
    bench.limits.timeout = Duration::from_millis(100);
    assert!(unavailable(&bench.run()).contains("had not answered"));
}

#[test]
fn a_slow_endpoint_is_asked_again() {
    let mut bench = Bench::new(vec![Turn::Stall, call("submit", json!({}))]);
    bench.model.request_timeout = Duration::from_secs(1);
    assert_eq!(bench.run().ended, Some(Ended::Done));
    let mut bench = Bench::new(vec![Turn::Hang, Turn::Stall, Turn::Hang]);
    bench.model.request_timeout = Duration::from_millis(100);
    assert!(unavailable(&bench.run()).contains("did not answer within 0.1 s (tried 3 times)"));
}

#[test]
fn faults_that_may_pass_are_tried_again_after_growing_waits() {
    let bench = Bench::new(vec![error(503, "overloaded"), Turn::Close, call("submit", json!({}))]);
    assert_eq!(bench.run().ended, Some(Ended::Done));
    assert_eq!((bench.waits(), bench.server.asked().len()), (vec![1000, 2000], 3));
}

#[test]
fn retry_after_is_honoured() {
    let limited = |header| Turn::Say(429, vec![header], b"{\"error\": \"slow down\"}".to_vec());
    let bench = Bench::new(vec![limited("Retry-After: 7"), limited("retry-after-ms: 1500"), call("submit", json!({}))]);
    assert_eq!(bench.run().ended, Some(Ended::Done));
    assert_eq!(bench.waits(), [7000, 1500]);
    let bench = Bench::new(vec![limited("Retry-After: 86400")]);
    let heard = bench.run();
    assert!(unavailable(&heard).contains("429 slow down; to wait 86400 s"), "{}", unavailable(&heard));
    assert!(bench.waits().is_empty());
}

#[test]
fn after_all_retries_the_model_is_unavailable_and_the_agent_not_to_blame() {
    let bench = Bench::new(vec![error(500, "down"); 3]);
    let heard = bench.run();
    assert!(unavailable(&heard).contains("500 down (some_error) (tried 3 times)"));
    assert!(heard.ended.as_ref().unwrap().is_infrastructure());
    assert_eq!(bench.waits(), [1000, 2000]);
    assert_eq!(heard.steps.len(), 2);
}

#[test]
fn a_closed_port_is_an_unavailable_model() {
    let bench = Bench::new(vec![]);
    // The listener goes when the script, which is empty, is at its end.
    let why = loop {
        let heard = bench.run();
        let why = unavailable(&heard).to_owned();
        if why.contains("refused") {
            break why;
        }
    };
    assert!(why.contains(&bench.server.url) && why.contains("check that the server runs"), "{why}");
}

#[test]
fn what_was_made_before_the_endpoint_went_down_stays() {
    let mut bench = Bench::new(vec![call("write_gist", json!({"content": "x"})), error(502, "")]);
    bench.model.retries = 0;
    let heard = bench.run();
    assert!(unavailable(&heard).contains("502") && !unavailable(&heard).contains("tried"));
    assert_eq!((bench.gist().as_deref(), heard.agent_steps()), (Some("x"), 1));
}

#[test]
fn a_refused_key_is_not_tried_again() {
    for status in [401, 403] {
        let bench = Bench::new(vec![error(status, &format!("wrong key {KEY}")); 3]);
        let ended = bench.run().ended.unwrap();
        assert!(
            matches!(&ended, Ended::NoKey(why) if why.contains("wrong key [key]") && why.contains("check the key")),
            "{ended:?}"
        );
        assert_eq!((ended.is_infrastructure(), bench.server.asked().len()), (true, 1));
    }
    let mut bench = Bench::new(vec![error(401, "who are you")]);
    bench.model.key = None;
    assert!(matches!(bench.run().ended.unwrap(), Ended::NoKey(why) if why.contains("there is no key")));
    assert_eq!(bench.server.asked()[0].headers.get("authorization"), None);
    let mut bench = Bench::new(vec![]);
    bench.model.key = Some(Secret::new("line one\nline two"));
    assert!(matches!(bench.run().ended.unwrap(), Ended::NoKey(why) if !why.contains("line")));
}

#[test]
fn settings_that_can_not_work_are_not_tried_again() {
    let elsewhere = Turn::Say(307, vec!["location: http://127.0.0.1:1/"], vec![]);
    for turn in
        [error(404, "no such model"), error(400, "tools are not supported"), error(429, "insufficient_quota"), elsewhere]
    {
        let bench = Bench::new(vec![turn; 3]);
        assert!(unavailable(&bench.run()).contains("check the model's name"));
        assert_eq!(bench.server.asked().len(), 1);
    }
    for url in ["localhost:80", "ftp://localhost/", "http://", "http://a b/"] {
        let mut bench = Bench::new(vec![]);
        bench.model.base_url = url.into();
        assert!(unavailable(&bench.run()).contains("no http or https URL"), "{url}");
    }
}

#[test]
fn answers_that_can_not_be_read_are_tried_again() {
    let garbage = |body: &[u8]| Turn::Say(200, vec![], body.to_vec());
    let deep = "[".repeat(100_000);
    for (turn, says) in [
        (garbage(b"<html>"), "no JSON"),
        (garbage(b""), "no JSON"),
        (garbage(b"\xff\xfe"), "no JSON"),
        (garbage(deep.as_bytes()), "no JSON"),
        (garbage(b"{}"), "no `choices`"),
        (garbage(b"{\"choices\": [{\"text\": \"x\"}]}"), "no `message`"),
        (garbage(b"{\"error\": {\"message\": \"busy\", \"code\": 502}}"), "busy (502)"),
    ] {
        let bench = Bench::new(vec![turn.clone(), turn.clone(), call("submit", json!({}))]);
        assert_eq!(bench.run().ended, Some(Ended::Done), "{says}");
        let mut bench = Bench::new(vec![turn]);
        bench.model.retries = 0;
        let heard = bench.run();
        assert!(unavailable(&heard).contains(says), "{}", unavailable(&heard));
    }
    let bench = Bench::new(vec![garbage(b"<html>"); 3]);
    assert!(unavailable(&bench.run()).contains("its answer is no JSON (tried 3 times)"));
}

#[test]
fn a_body_of_more_than_16_megabytes_is_refused() {
    let huge = Turn::Say(200, vec![], vec![b' '; (16 << 20) + 1]);
    let mut bench = Bench::new(vec![huge]);
    bench.model.retries = 0;
    assert!(unavailable(&bench.run()).contains("more than 16777216 bytes"));
}

#[test]
fn when_the_context_is_full_the_oldest_results_go_and_it_is_recorded() {
    let read = || call("read_file", json!({"path": "long.rs"}));
    let mut bench = Bench::new(vec![read(), read(), read(), read(), call("submit", json!({}))]);
    std::fs::write(bench.project().join("long.rs"), "x".repeat(10_000)).unwrap();
    // Tools and prompt are some 1000 tokens, a result 2858.
    bench.limits.context_tokens = 8000;
    let heard = bench.run();
    assert_eq!(heard.ended, Some(Ended::Done));
    let drops: Vec<_> =
        heard.steps.iter().map(|s| s.extra.get("dropped_results").and_then(Value::as_array).map_or(0, Vec::len)).collect();
    assert_eq!(drops, [0, 0, 0, 0, 0, 1, 1]);
    let first = &heard.steps[2].tool_calls.as_ref().unwrap()[0].tool_call_id;
    assert_eq!(
        heard.steps[5].extra["dropped_results"],
        json!([{"tool_call_id": first, "tool": "read_file", "bytes": 10_000}])
    );
    let asked = bench.server.asked();
    assert!(asked[3].messages()[3]["content"].as_str().unwrap().starts_with("[dropped to make room: 10000 bytes"));
    assert_eq!(asked[3].messages()[5]["content"].as_str().unwrap().len(), 10_000);
    assert_eq!(
        asked[4].messages()[5]["content"].as_str().unwrap().len(),
        asked[3].messages()[3]["content"].as_str().unwrap().len()
    );
    for request in &asked {
        assert!(request.body.to_string().len() as f64 / 3.5 <= 8000.0);
    }
    assert_eq!(heard.steps[3].extra["context"]["counted_by"], "estimate");
    // The trajectory has the whole result.
    assert_eq!(results(&heard)[0].len(), 10_000);
}

#[test]
fn the_endpoints_own_count_decides_where_it_is_told() {
    let list = |tokens: u64| {
        let call = json!({"id": "", "function": {"name": "read_file", "arguments": {"path": "src/lib.rs"}}});
        message(json!({"tool_calls": [call]}), json!({"prompt_tokens": tokens, "completion_tokens": 5}))
    };
    let mut bench = Bench::new(vec![list(900), list(990), call("submit", json!({}))]);
    bench.limits.context_tokens = 1000;
    // By the estimate it would fit.
    bench.tools = "none".parse().unwrap();
    let heard = bench.run();
    assert_eq!(heard.ended, Some(Ended::ContextLimit));
    assert_eq!(heard.steps[2].extra["context"], json!({"tokens": 900, "counted_by": "endpoint"}));
    assert_eq!(heard.usage.input_tokens, Some(900 + if heard.agent_steps() == 2 { 990 } else { 0 }));
}

#[test]
fn a_context_that_can_not_be_shortened_ends_the_attempt() {
    let mut bench = Bench::new(vec![call("read_file", json!({"path": "long.rs"})), call("submit", json!({}))]);
    std::fs::write(bench.project().join("long.rs"), "x".repeat(10_000)).unwrap();
    bench.limits.context_tokens = 3000;
    assert_eq!((bench.run().ended, bench.server.asked().len()), (Some(Ended::ContextLimit), 1));
    bench.limits.context_tokens = 10;
    assert_eq!(bench.run().ended, Some(Ended::ContextLimit));
}

#[test]
fn when_the_endpoint_says_that_the_context_is_full_results_go_and_it_is_asked_again() {
    let read = || call("read_file", json!({"path": "long.rs"}));
    let full = || error(400, "This model's maximum context length is 4096 tokens");
    let bench = Bench::new(vec![read(), read(), full(), call("submit", json!({}))]);
    std::fs::write(bench.project().join("long.rs"), "x".repeat(10_000)).unwrap();
    let heard = bench.run();
    assert_eq!((heard.ended.clone(), bench.waits()), (Some(Ended::Done), vec![]));
    assert_eq!(heard.steps[4].extra["dropped_results"].as_array().unwrap().len(), 1);
    for turn in [
        full(),
        error(413, ""),
        error(500, "the request exceeds the available context size"),
        body(200, json!({"error": {"message": "prompt is too long"}})),
    ] {
        let bench = Bench::new(vec![turn]);
        assert_eq!((bench.run().ended, bench.server.asked().len()), (Some(Ended::ContextLimit), 1));
    }
    let bench = Bench::new(vec![read(), read(), full(), full()]);
    std::fs::write(bench.project().join("long.rs"), "x".repeat(10_000)).unwrap();
    let heard = bench.run();
    assert_eq!(heard.ended, Some(Ended::ContextLimit));
    assert_eq!(heard.steps.last().unwrap().extra["dropped_after"].as_array().unwrap().len(), 1);
}

#[test]
fn what_the_model_used_and_thought_is_kept() {
    let usage = |n: u64| json!({"prompt_tokens": n, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 2}, "cost": 0.5});
    let thinking = json!({"content": [{"type": "text", "text": "hm"}], "reasoning_content": "let me see", "unheard_of": {"a": 1},
        "tool_calls": [{"id": "a", "function": {"name": "submit", "arguments": ""}}]});
    let bench = Bench::new(vec![message(json!({"content": "so"}), usage(10)), message(thinking, usage(20))]);
    let heard = bench.run();
    let all =
        super::super::Usage { input_tokens: Some(30), output_tokens: Some(2), cached_tokens: Some(4), cost_usd: Some(1.0) };
    assert_eq!(heard.usage, all);
    let last = heard.steps.last().unwrap();
    assert_eq!((last.message.as_str(), last.reasoning_content.as_deref()), ("hm", Some("let me see")));
    assert_eq!(last.metrics.unwrap().prompt_tokens, Some(20));
}

#[test]
fn the_key_is_nowhere_but_in_the_header() {
    let echo = json!({"content": format!("it is {KEY}"), "reasoning_content": KEY, "tool_calls": [
        {"id": KEY, "function": {"name": KEY, "arguments": format!("{{\"{KEY}\": \"{KEY}\"}}")}},
        {"id": "w", "function": {"name": "write_gist", "arguments": {"content": format!("// {KEY}")}}},
        {"id": "t", "function": {"name": "trace", "arguments": {}}},
        {"id": "r", "function": {"name": "read_file", "arguments": {"path": "keys.txt"}}},
    ]});
    let mut bench = Bench::new(vec![message(echo, Value::Null), error(404, KEY)]);
    std::fs::write(bench.project().join("keys.txt"), KEY).unwrap();
    bench.model.base_url = bench.server.url.replace("http://", &format!("http://user:{KEY}@")) + "?key=" + KEY;
    let heard = bench.run();
    let text = format!("{heard:?}{:?}{}", bench.model, bench.gist().unwrap());
    assert!(!text.contains(KEY) && text.contains("// [key]") && text.contains("f ([key])"), "{text}");
    assert!(heard.agent_steps() == 1 && bench.server.asked()[0].headers["authorization"].starts_with("Bearer"));
    let trajectory = serde_json::to_string(&Trajectory::of("s".into(), Agent::default(), &heard)).unwrap();
    assert!(!trajectory.contains(KEY));
}

#[test]
fn one_request_with_all_files_makes_a_gist() {
    let bench = Bench::new(vec![words("Here:\n```rust\nfn f() {}\n```\n")]);
    let (heard, gist) = bench.ask_once(&[("src/lib.rs".into(), "fn f() {}\n/// ```\nfn g() {}".into())]);
    assert_eq!((heard.ended, gist.as_deref()), (Some(Ended::Done), Some("fn f() {}\n")));
    let asked = bench.server.asked();
    assert_eq!(asked[0].body.get("tools"), None);
    let task = asked[0].messages()[1]["content"].as_str().unwrap();
    assert!(
        task.starts_with("make the gist\n\nsrc/lib.rs:\n````rust\nfn f() {}") && task.ends_with("fn g() {}\n````"),
        "{task}"
    );
    assert_eq!(heard.steps.len(), 3);
}

#[test]
fn files_that_do_not_fit_are_not_sent() {
    let bench = Bench::new(vec![]);
    let (heard, gist) = bench.ask_once(&[("src/lib.rs".into(), "x".repeat(1 << 20))]);
    assert_eq!((heard.ended, gist, bench.server.asked().len()), (Some(Ended::ContextLimit), None, 0));
    let bench = Bench::new(vec![error(400, "prompt is too long: 9 tokens > 8")]);
    assert_eq!(bench.ask_once(&[]).0.ended, Some(Ended::ContextLimit));
}

#[test]
fn an_answer_without_code_is_no_gist() {
    let (heard, gist) = Bench::new(vec![words("I can't.")]).ask_once(&[]);
    assert_eq!((heard.ended, gist), (Some(Ended::Done), None));
    let cut = body(200, json!({"choices": [{"message": {"content": "```rust\nfn f("}, "finish_reason": "length"}]}));
    let (heard, gist) = Bench::new(vec![cut]).ask_once(&[]);
    assert_eq!((heard.ended, gist.as_deref()), (Some(Ended::ContextLimit), Some("fn f(")));
    let (heard, gist) = Bench::new(vec![error(401, "")]).ask_once(&[]);
    assert!(matches!(heard.ended, Some(Ended::NoKey(_))) && gist.is_none());
}
