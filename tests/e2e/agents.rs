//! Coding agents: small ones that are shell scripts, and real ones from the package registries that talk to a model which follows a script.
//!
//! The real ones are looked for in the folder that `GISTIFY_AGENTS` names (`.ci/agents` puts them there), else in `target/agents`.
//! Where they are not, their tests say `skipped`, unless `GISTIFY_AGENTS` is set: then they fail.

use crate::model::{Model, Step};
use crate::project::{Project, Ran};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};

const TEST: &str = "cart::tests::a_bulk_discount_gives_one_piece_free";
/// What stands in the environment and may stand in no file.
const KEY: &str = "planted-key-0123456789";

/// A project, with a gist of the test that verifies.
struct Bench {
    project: Project,
    gold: String,
    config: Utf8PathBuf,
}

impl Bench {
    fn new() -> Bench {
        let project = Project::new("shop");
        let gold = project.beside("gold.rs");
        project.gistify(["--lib", "--exact", TEST, "-o", gold.as_str()]).assert_code(0);
        let gold = fs_err::read_to_string(gold).unwrap().replace('`', "");
        let config = project.beside("agents.toml");
        Bench { project, gold, config }
    }

    /// Runs an agent of a configuration.
    fn run(&self, config: &str, agent: &str, more: &[&str]) -> (Ran, Option<Value>) {
        let ran = self.run_as(config, agent, "json", more);
        let report = ran.stdout.lines().next().map(|line| serde_json::from_str(line).unwrap());
        (ran, report)
    }

    fn run_as(&self, config: &str, agent: &str, format: &str, more: &[&str]) -> Ran {
        fs_err::write(&self.config, config).unwrap();
        let args =
            ["--config", self.config.as_str(), "--agent", agent, "--lib", "--exact", TEST, "--message-format", format];
        let mut command = self.project.command(args.iter().chain(more));
        command.env("PLANTED", KEY).env("PATH", path());
        self.project.finish(&mut command)
    }

    /// An agent that is a shell script.
    fn script(&self, script: &str, more: &[&str]) -> (Ran, Value) {
        let script = script.replace("GOLD", &format!("cat > {{gist}} <<'END_OF_GIST'\n{}\nEND_OF_GIST\n", self.gold));
        let argv = toml_list(&["bash", "-c", &script]);
        let (ran, report) = self.run(&format!("[agents.script]\nkind = \"command\"\nargv = {argv}\n"), "script", more);
        let report = report.unwrap_or_else(|| panic!("{}", ran.stderr));
        (ran, report)
    }

    /// Everything that is kept of attempts.
    fn kept(&self) -> Vec<(Utf8PathBuf, String)> {
        let mut out = Vec::new();
        let mut open = vec![self.project.root.join("target/gistify/attempts")];
        while let Some(dir) = open.pop() {
            for entry in dir.read_dir_utf8().into_iter().flatten().flatten() {
                match entry.file_type().unwrap().is_dir() {
                    true => open.push(entry.path().to_owned()),
                    false => {
                        let text = String::from_utf8_lossy(&fs_err::read(entry.path()).unwrap()).into_owned();
                        out.push((entry.path().to_owned(), text));
                    }
                }
            }
        }
        out
    }

    /// A file of the only attempt.
    fn file(&self, name: &str) -> String {
        let all = self.kept();
        all.into_iter().find(|(path, _)| path.file_name() == Some(name)).unwrap_or_else(|| panic!("no {name}")).1
    }
}

fn toml_list(items: &[&str]) -> String {
    let quoted: Vec<String> = items.iter().map(|i| serde_json::to_string(i).unwrap()).collect();
    format!("[{}]", quoted.join(", "))
}

/// Where the real agents are.
fn agents() -> Utf8PathBuf {
    let named = std::env::var("GISTIFY_AGENTS").ok().map(Utf8PathBuf::from);
    named.unwrap_or_else(|| Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("target/agents"))
}

fn path() -> String {
    let agents = agents();
    format!("{agents}/node_modules/.bin:{agents}/venv/bin:{}", std::env::var("PATH").unwrap())
}

/// Whether a real agent is there.
fn is_there(program: &str) -> bool {
    let found = path().split(':').take(2).any(|dir| Utf8Path::new(dir).join(program).exists());
    if !found {
        assert!(std::env::var_os("GISTIFY_AGENTS").is_none(), "{program} is not in {}", agents());
        eprintln!("skipped: {program} is not in {}; `.ci/agents` installs it", agents());
    }
    found
}

#[test]
fn an_agent_that_writes_the_gist_verifies_and_all_of_it_is_kept() {
    let bench = Bench::new();
    let (ran, report) = bench.script("echo working; GOLD", &[]);
    ran.assert_code(0);
    let attempt = &report["attempt"];
    assert_eq!((report["verdict"].as_str(), attempt["ended"]["why"].as_str()), (Some("ok"), Some("done")), "{report}");
    assert_eq!((attempt["sandbox"].as_str(), attempt["network"].as_str()), (Some("bwrap"), Some("model")));
    for name in ["prompt.md", "stdout.log", "stderr.log", "trajectory.json", "attempt.json", "result.json", "gist.rs"] {
        bench.file(name);
    }
    assert_eq!(bench.file("stdout.log"), "working\n");
    let trajectory: Value = serde_json::from_str(&bench.file("trajectory.json")).unwrap();
    assert_eq!(trajectory["schema_version"], "ATIF-v1.7");
    assert!(
        trajectory["steps"]
            .as_array()
            .unwrap()
            .iter()
            .all(|step| step["timestamp"].as_str().is_some_and(|t| t.ends_with('Z')))
    );
    assert_eq!(trajectory["steps"][0]["message"].as_str(), Some(bench.file("prompt.md").as_str()));
}

#[test]
fn an_agent_sees_the_project_without_its_history_its_users_home_and_a_toolchain() {
    let bench = Bench::new();
    let outside = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    outside.set_nonblocking(true).unwrap();
    let script = "git log --oneline | wc -l; ls -a; ls -a ~; for tool in cargo rustc; do $tool --version && echo found; done; \
                  find / -name '*.profraw' -o -name attempts 2>/dev/null | head; (echo > /dev/tcp/127.0.0.1/PORT) 2>/dev/null; env";
    let port = outside.local_addr().unwrap().port().to_string();
    let (ran, report) = bench.script(&script.replace("PORT", &port), &[]);
    assert!(outside.accept().is_err(), "a port of the machine was reached");
    ran.assert_code(100);
    assert_eq!(report["verdict"], "no-gist");
    let seen = bench.file("stdout.log");
    assert!(seen.starts_with("1\n") && seen.contains("Cargo.toml"), "{seen}");
    for hidden in ["target", "found", "attempts", KEY, "E2E_MARK"] {
        assert!(!seen.contains(hidden), "{hidden} in {seen}");
    }
    assert!(bench.project.files().keys().all(|f| !f.as_str().ends_with("gist.rs")));
}

#[test]
fn with_execution_the_toolchain_is_there() {
    let bench = Bench::new();
    let (ran, report) = bench.script("cargo test --lib --offline 2>&1 | tail -5; rustc --version; GOLD", &["--execution"]);
    ran.assert_code(0);
    assert_eq!(report["attempt"]["execution"], true);
    let seen = bench.file("stdout.log");
    assert!(seen.contains("test result: ok") && seen.contains("rustc 1."), "{seen}");
}

#[test]
fn what_an_agent_does_wrong_is_its_own_and_what_it_left_is_judged() {
    let cases = [
        ("exit 3", "no-gist", "failed", 100),
        ("true", "no-gist", "done", 100),
        ("GOLD exit 7", "ok", "failed", 0),
        ("GOLD sleep 600", "ok", "time-limit", 0),
        ("head -c 100000000 /dev/zero", "no-gist", "resource-limit", 100),
        ("sleep 600 & GOLD", "ok", "done", 0),
        ("kill -9 $$", "no-gist", "failed", 100),
        ("ln -s /etc/passwd {gist}", "forbidden", "done", 100),
        ("printf '\\xff\\xfe garbage' > {gist}; printf '\\xff\\n'", "does-not-compile", "done", 100),
        ("echo 'fn main() {}' > {gist}", "missing-test", "done", 100),
    ];
    let bench = Bench::new();
    for (script, verdict, why, code) in cases {
        let (ran, report) = bench.script(script, &["--agent-timeout", "4"]);
        assert_eq!(report["verdict"], verdict, "{script}: {report}\n{}", ran.stderr);
        assert_eq!(report["attempt"]["ended"]["why"], why, "{script}: {report}");
        assert_eq!(report["attempt"]["infrastructure"], false);
        ran.assert_code(code);
    }
}

#[test]
fn an_agent_that_forks_without_end_is_ended() {
    let bench = Bench::new();
    let (ran, report) = bench.script("for i in $(seq 5000); do sleep 30 & done; GOLD", &["--agent-timeout", "20"]);
    assert_eq!(report["attempt"]["ended"]["detail"], "process limit", "{report}");
    ran.assert_code(100);
}

#[test]
fn a_key_never_reaches_a_file() {
    let bench = Bench::new();
    // In outputs, in what a failure is told with, in the gist, and in what rustc says of the gist.
    let broken = bench.gold.replace("#[test]", "const _: u8 = \"$TOKEN\";\n#[test]");
    let script =
        format!("echo \"$TOKEN\"; echo \"$TOKEN\" >&2; cat > {{gist}} <<END_OF_GIST\n{broken}\nEND_OF_GIST\nexit 3");
    let argv = toml_list(&["bash", "-c", &script]);
    let config = format!("[agents.leak]\nkind = \"command\"\nargv = {argv}\nenv = {{ TOKEN = \"$PLANTED\" }}\n");
    for format in ["json", "human"] {
        let ran = bench.run_as(&config, "leak", format, &["--explain"]);
        ran.assert_code(100).assert_says("[key]");
        assert!(bench.file("stdout.log").contains("[key]") && bench.file("result.json").contains("does-not-compile"));
        for (path, text) in bench.kept() {
            assert!(!text.contains(KEY), "{path}");
        }
        assert!(!ran.stdout.contains(KEY) && !ran.stderr.contains(KEY), "{}\n{}", ran.stdout, ran.stderr);
    }
}

#[test]
fn mistakes_are_told_before_anything_is_built() {
    let bench = Bench::new();
    bench.run("", "nobody", &[]).0.assert_code(2).assert_says("there is no agent `nobody`; there are builtin, chat, claude");
    let missing = "[agents.a]\nkind = \"command\"\nargv = [\"no-such-program\"]\n";
    bench.run(missing, "a", &[]).0.assert_code(96).assert_says("there is no program `no-such-program`");
    bench.run("[agents.a]\nkin = 1\n", "a", &[]).0.assert_code(2).assert_says("unknown field `kin`");
    let unset = "[agents.claude]\nkey = \"$NOT_SET_ANYWHERE\"\n";
    bench.run(unset, "claude", &[]).0.assert_code(2).assert_says("$NOT_SET_ANYWHERE is not set");
    let script = "[agents.a]\nkind = \"command\"\nargv = [\"true\"]\n";
    bench.run(script, "a", &["--sandbox", "landlock"]).0.assert_code(96).assert_says("agents need bubblewrap");
    let builtin = "[agents.a]\nkind = \"builtin\"\n";
    bench.run(builtin, "a", &[]).0.assert_code(2).assert_says("call it as `--agent builtin`");
    bench.run(script, "a", &["-o", "x.rs"]).0.assert_code(2).assert_says("`-o` is for the built-in extractor");
    bench.project.gistify(["--config", "none.toml", "--agent", "a", TEST]).assert_code(2).assert_says("no file none.toml");
}

#[test]
fn the_builtin_agent_is_the_extractor() {
    let bench = Bench::new();
    bench.project.gistify(["--agent", "builtin", "--lib", "--exact", TEST, "-o", "own.rs"]).assert_code(0);
    assert_eq!(
        fs_err::read_to_string(bench.project.root.join("own.rs")).unwrap().lines().count(),
        bench.gold.lines().count()
    );
}

/// The real ones: preset, program, and what says that it is done.
const REAL: [(&str, &str); 5] = [
    ("claude", "claude"),
    ("codex", "codex"),
    ("mini-swe-agent", "mini"),
    ("claude-acp", "claude-agent-acp"),
    ("codex-acp", "codex-acp"),
];

/// More of them, for which one good run is tried: with the server, where they can be told of one.
const FURTHER: [(&str, &str); 6] = [
    ("gemini", "gemini"),
    ("opencode", "opencode"),
    ("copilot", "copilot"),
    ("gemini-acp", "gemini"),
    ("opencode-acp", "opencode"),
    ("copilot-acp", "copilot"),
];

/// Whether an agent shows its model the server that it is given; Copilot does not.
fn served(agent: &str) -> bool {
    agent.ends_with("-acp") && agent != "copilot-acp"
}

/// A script of commands for a real agent.
fn commands(agent: &str, commands: &[&str]) -> Vec<Step> {
    let mut steps: Vec<Step> = commands.iter().map(|c| Step::Shell((*c).to_owned())).collect();
    steps.push(match agent {
        "mini-swe-agent" => Step::Shell("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT".to_owned()),
        _ => Step::Say("The gist is written.".to_owned()),
    });
    steps
}

/// A command that writes the gist. Some agents refuse what looks like a command within the command, wherever it stands.
fn writing(gist: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || " _:,;=.".contains(c);
    let text: String =
        gist.chars().map(|c| if plain(c) { c.to_string() } else { format!("\\{:03o}", u32::from(c)) }).collect();
    format!("printf '{text}' > gist.rs")
}

fn preset(agent: &str, url: &str) -> String {
    format!("[agents.{agent}]\nendpoint = \"{url}\"\nmodel = \"scripted\"\nkey = \"$PLANTED\"\n")
}

#[test]
fn real_agents_make_gists_that_verify_and_never_hold_the_key() {
    for (agent, program) in REAL
        .into_iter()
        .chain(FURTHER.into_iter().filter(|(agent, _)| !served(agent)))
        .filter(|(_, program)| is_there(program))
    {
        let bench = Bench::new();
        let write = writing(&bench.gold);
        let model = Model::new(commands(agent, &["ls; env; which cargo", &write]));
        let (ran, report) = bench.run(&preset(agent, &model.url), agent, &["--agent-timeout", "100"]);
        assert_eq!(ran.code, Some(0), "{agent} ({program}): {}\n{}", ran.stderr, bench.file("stdout.log"));
        let attempt = &report.as_ref().unwrap()["attempt"];
        assert_eq!(attempt["ended"]["why"], "done", "{agent}: {attempt}");
        assert_eq!(attempt["steps"], 3, "{agent}: {attempt}");
        // The protocol and Copilot do not tell tokens.
        let told = attempt["usage"]["input_tokens"].as_u64();
        assert!(agent.ends_with("-acp") || agent == "copilot" || told.is_some_and(|n| n >= 300), "{agent}: {attempt}");
        let calls: u64 = attempt["tools"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
        assert!(calls >= 2, "{agent}: {attempt}");
        // The model got the key, and the agent's own place for it is empty.
        let asked = model.asked.lock().unwrap();
        assert!(asked.iter().any(|(headers, _)| headers.iter().any(|(_, value)| value.contains(KEY))), "{agent}");
        assert!(asked.iter().all(|(_, body)| !body.to_string().contains(KEY)), "{agent}");
        for (path, text) in bench.kept() {
            assert!(!text.contains(KEY), "{path}");
        }
    }
}

#[test]
fn a_real_agent_that_cheats_is_caught() {
    for (agent, _) in REAL.into_iter().filter(|(_, program)| is_there(program)) {
        let bench = Bench::new();
        let shadow = "macro_rules! assert_eq { ($($t:tt)*) => {}; }";
        let cheat = writing(&format!("{}\n{shadow}\n", bench.gold));
        let model = Model::new(commands(agent, &[&cheat]));
        let (ran, report) = bench.run(&preset(agent, &model.url), agent, &["--agent-timeout", "100"]);
        ran.assert_code(100);
        assert_eq!(report.unwrap()["verdict"], "forbidden", "{agent}: {}", ran.stderr);
    }
}

#[test]
fn a_real_agent_that_goes_on_is_ended_at_its_step_limit_and_what_it_left_is_judged() {
    for (agent, _) in REAL.into_iter().filter(|(_, program)| is_there(program)) {
        let bench = Bench::new();
        let write = writing(&bench.gold);
        let mut script = vec![Step::Shell(write)];
        script.push(Step::Shell("echo once more".to_owned()));
        let model = Model::new(script);
        let (ran, report) = bench.run(&preset(agent, &model.url), agent, &["--agent-steps", "4", "--agent-timeout", "100"]);
        let report = report.unwrap();
        assert_eq!(report["attempt"]["ended"]["why"], "step-limit", "{agent}: {report}");
        assert!(model.asked.lock().unwrap().len() < 12, "{agent}");
        assert_eq!(report["verdict"], "ok", "{agent}: {}", ran.stderr);
    }
}

#[test]
fn a_model_that_is_down_or_refuses_the_key_is_no_fault_of_the_agents() {
    for (agent, _) in REAL.into_iter().filter(|(_, program)| is_there(program)) {
        let bench = Bench::new();
        for (status, why) in [(500, "model-unavailable"), (401, "no-key")] {
            let model = Model::new(vec![Step::Status(status)]);
            let (ran, report) = bench.run(&preset(agent, &model.url), agent, &["--agent-timeout", "8"]);
            let report = report.unwrap();
            let attempt = &report["attempt"];
            assert_eq!(
                (attempt["infrastructure"].as_bool(), attempt["ended"]["why"].as_str()),
                (Some(true), Some(why)),
                "{agent}: {report}"
            );
            ran.assert_code(96).assert_says("not counted against the agent");
        }
    }
}

/// An answer of the model that calls a tool of the chat agent's.
fn tool(name: &str, arguments: &Value) -> Step {
    Step::Tool(name.to_owned(), arguments.clone())
}

fn chat(url: &str, kind: &str) -> String {
    format!("[agents.own]\nkind = \"{kind}\"\nmodel = \"scripted\"\nendpoint = \"{url}/v1\"\nkey = \"$PLANTED\"\n")
}

#[test]
fn the_chat_agent_makes_a_gist_with_every_tool() {
    let bench = Bench::new();
    let script = vec![
        tool("list_dir", &json!({"path": "src"})),
        tool("search", &json!({"pattern": "fn a_bulk_discount"})),
        tool("trace", &json!({})),
        tool("graph", &json!({"name": "Cart"})),
        tool("bash", &json!({"command": "cargo --version; ls; cat /etc/shadow"})),
        tool("write_gist", &json!({"content": bench.gold.replace("pub mod cart", "pub mod cort")})),
        tool("run_gist", &json!({})),
        tool("edit_gist", &json!({"old": "pub mod cort", "new": "pub mod cart"})),
        tool("run_gist", &json!({})),
        tool("submit", &json!({})),
    ];
    let model = Model::new(script);
    let (ran, report) =
        bench.run(&chat(&model.url, "chat"), "own", &["--tools", "search,read,edit,edit-and-execute,bash,trace,graph"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let attempt = &report.unwrap()["attempt"];
    assert_eq!((attempt["ended"]["why"].as_str(), attempt["steps"].as_u64()), (Some("done"), Some(10)), "{attempt}");
    let trajectory: Value = serde_json::from_str(&bench.file("trajectory.json")).unwrap();
    let results: Vec<&str> = trajectory["steps"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|step| step["observation"]["results"][0]["content"].as_str())
        .collect();
    let seen = |at: usize, part: &str| assert!(results[at].contains(part), "{part} is not in {}", results[at]);
    seen(0, "cart.rs");
    seen(1, "cart.rs");
    seen(2, "calls");
    seen(3, "Cart");
    seen(4, "cargo 1.");
    assert!(!results[4].contains("root:"), "{}", results[4]);
    seen(6, "it does not compile");
    seen(8, "test result: ok. 1 passed");
    for (path, text) in bench.kept() {
        assert!(!text.contains(KEY), "{path}");
    }
}

#[test]
fn the_chat_agent_is_ended_at_its_limits_and_what_it_left_is_judged() {
    let bench = Bench::new();
    let model =
        Model::new(vec![tool("write_gist", &json!({"content": bench.gold})), tool("list_dir", &json!({"path": "."}))]);
    let (ran, report) = bench.run(&chat(&model.url, "chat"), "own", &["--agent-steps", "5"]);
    ran.assert_code(0);
    assert_eq!(report.unwrap()["attempt"]["ended"]["why"], "step-limit");
    assert_eq!(model.asked.lock().unwrap().len(), 5);
    let model = Model::new(vec![Step::Status(401)]);
    let (ran, report) = bench.run(&chat(&model.url, "chat"), "own", &[]);
    ran.assert_code(96);
    assert_eq!(report.unwrap()["attempt"]["ended"]["why"], "no-key");
}

#[test]
fn the_static_baseline_asks_once_with_the_files_that_ran() {
    let bench = Bench::new();
    let model = Model::new(vec![Step::Say(format!("Here it is:\n\n````rust\n{}\n````\n", bench.gold))]);
    let (ran, report) = bench.run(&chat(&model.url, "static"), "own", &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(report.unwrap()["attempt"]["steps"], 1);
    let asked = model.asked.lock().unwrap();
    let text = asked[0].1.to_string();
    assert!(asked.len() == 1 && text.contains("src/cart.rs") && text.contains("fn a_bulk_discount"), "{text}");
}

#[test]
fn the_whole_network_is_open_when_it_is_asked_for_and_the_result_says_so() {
    let bench = Bench::new();
    let outside = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    outside.set_nonblocking(true).unwrap();
    let script = format!("echo > /dev/tcp/127.0.0.1/{}; GOLD", outside.local_addr().unwrap().port());
    let (ran, report) = bench.script(&script, &["--agent-network", "full"]);
    ran.assert_code(0);
    assert_eq!(report["attempt"]["network"], "full");
    assert!(outside.accept().is_ok(), "the port was not reached");
}

/// An agent that speaks the Agent Client Protocol, and calls the server that it is given: a shell script.
const SERVED: &str = r#"
ask() { read -r line; id=$(printf '%s' "$line" | sed 's/.*"id":\("[^"]*"\|[0-9][0-9]*\).*/\1/'); }
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
ask; answer '{"protocolVersion":1}'; ask; answer '{"sessionId":"s1"}'
server=$(printf '%s' "$line" | sed 's/.*"command":"\([^"]*\)","args":\["\([^"]*\)","\([^"]*\)"\].*/\1 \2 \3/')
ask; turn=$id
coproc $server
to() { printf '%s\n' "$1" >&"${COPROC[1]}"; }
heard() { read -r told <&"${COPROC[0]}"; printf '%s\n' "$told" >&2; }
to '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"s","version":"0"}}}'; heard
to '{"jsonrpc":"2.0","method":"notifications/initialized"}'
to '{"jsonrpc":"2.0","id":2,"method":"tools/list"}'; heard
call() { to "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"$1\",\"arguments\":$2}}"; heard; }
call trace '{"test":"TEST"}'
call verify '{"test":"TEST","gist":"/etc/passwd"}'
echo 'fn main() {}' > {gist}; call verify '{"test":"TEST","gist":"{gist}"}'
cat > {gist} <<'END_OF_GIST'
GOLD
END_OF_GIST
call verify '{"test":"TEST","gist":"{gist}"}'
call extract '{"test":"TEST"}'
id=$turn; answer '{"stopReason":"end_turn"}'
"#;

#[cfg(feature = "mcp")]
#[test]
fn an_agent_in_its_box_reaches_the_server_that_it_is_given_and_no_file_but_its_gist() {
    let bench = Bench::new();
    let script = SERVED.replace("TEST", TEST).replace("GOLD", &bench.gold);
    let config = format!("[agents.served]\nkind = \"acp\"\nargv = {}\n", toml_list(&["bash", "-c", &script]));
    let (ran, report) = bench.run(&config, "served", &["--mcp", "trace,verify"]);
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.stderr, bench.file("stderr.log"));
    assert_eq!(report.unwrap()["attempt"]["mcp"], json!(["trace", "verify"]));
    let told = bench.file("stderr.log");
    let told: Vec<Value> =
        told.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {told}"))).collect();
    let [hello, tools, trace, other, wrong, right, extract] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!(hello["result"]["serverInfo"]["name"], "cargo-gistify");
    let names: Vec<&str> = tools["result"]["tools"].as_array().unwrap().iter().filter_map(|t| t["name"].as_str()).collect();
    assert_eq!(names, ["trace", "verify"]);
    let text = |answer: &Value| answer["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned();
    assert!(text(trace).contains("src/cart.rs"), "{trace}");
    assert!(other["result"]["isError"] == true && text(other).contains("alone can be verified here"), "{other}");
    assert!(text(wrong).starts_with("verdict: missing-test"), "{wrong}");
    assert!(text(right).starts_with("verdict: ok"), "{right}");
    assert!(extract["error"].is_object() || extract["result"]["isError"] == true, "{extract}");
    assert!(bench.file("prompt.md").contains("these tools, which you may use: `trace`, `verify`."));
}

#[cfg(feature = "mcp")]
#[test]
fn only_agents_that_can_be_told_of_a_server_are_given_one_and_never_the_extractor() {
    let bench = Bench::new();
    let script = "[agents.a]\nkind = \"command\"\nargv = [\"true\"]\n[agents.b]\nkind = \"acp\"\nargv = [\"true\"]\n";
    bench
        .run(script, "a", &["--mcp", "trace"])
        .0
        .assert_code(2)
        .assert_says("`--mcp` is for agents of kind `acp`, and `a` is none");
    bench.run(script, "b", &["--mcp", "extract"]).0.assert_code(2).assert_says("would do the agent's work");
}

#[cfg(feature = "mcp")]
#[test]
fn real_agents_call_the_server_that_they_are_given() {
    for (agent, _) in REAL.into_iter().chain(FURTHER).filter(|(agent, program)| served(agent) && is_there(program)) {
        let bench = Bench::new();
        let write = writing(&bench.gold);
        let verify = Step::Served("verify".to_owned(), json!({"gist": bench.gold, "test": TEST}));
        let model = Model::new(vec![Step::Shell(write), verify, Step::Say("The gist is written.".to_owned())]);
        let (ran, report) =
            bench.run(&preset(agent, &model.url), agent, &["--agent-timeout", "100", "--mcp", "trace,verify"]);
        assert_eq!(ran.code, Some(0), "{agent}: {}\n{}", ran.stderr, bench.file("stdout.log"));
        assert_eq!(report.unwrap()["attempt"]["ended"]["why"], "done", "{agent}");
        let asked = model.asked.lock().unwrap();
        let last = asked
            .iter()
            .map(|(_, body)| body.to_string())
            .find(|body| ["execution_fidelity", "verdict: ok"].iter().any(|told| body.contains(told)));
        assert!(last.is_some(), "{agent}: {}", asked.last().unwrap().1);
    }
}

#[test]
fn when_the_tool_is_killed_its_agent_ends() {
    let bench = Bench::new();
    // A number that no other process has.
    let sleep = format!("{}.{}", 20_000, std::process::id());
    fs_err::write(&bench.config, format!("[agents.long]\nkind = \"command\"\nargv = [\"sleep\", \"{sleep}\"]\n")).unwrap();
    let args = ["--config", bench.config.as_str(), "--agent", "long", "--lib", "--exact", TEST];
    let mut tool = bench.project.command(args).spawn().unwrap();
    let sleeps = || {
        let all = Utf8Path::new("/proc").read_dir_utf8().unwrap().flatten();
        let wanted = format!("sleep\0{sleep}\0");
        all.filter_map(|e| fs_err::read(e.path().join("cmdline")).ok()).any(|line| line.ends_with(wanted.as_bytes()))
    };
    let within = |seconds, wanted: bool| {
        let start = std::time::Instant::now();
        while sleeps() != wanted && start.elapsed().as_secs() < seconds {
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        sleeps() == wanted
    };
    assert!(within(120, true), "the agent was not started");
    tool.kill().unwrap();
    tool.wait().unwrap();
    assert!(within(20, false), "the agent goes on");
}
