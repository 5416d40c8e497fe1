//! What real agents printed, read; then spoilt, and read again.

use super::notes::TEXT_BYTES;
use super::*;
use crate::agent::atif::{Agent, Source, Trajectory};
use crate::agent::{Ended, ToolKind};
use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;

const PROMPT: &str = "Make gist.rs of the test of this project.";

/// What one run left.
struct Fixture {
    name: String,
    parser: Parser,
    printed: String,
    /// Of mini-swe-agent alone.
    file: Option<String>,
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/agents/streams")
}

fn fixtures() -> Vec<Fixture> {
    let mut names: Vec<(String, String)> = fs_err::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| name.rsplit_once('.').map(|(name, ext)| (name.to_owned(), ext.to_owned())))
        .filter(|(_, ext)| ["jsonl", "txt"].contains(&ext.as_str()))
        .collect();
    names.sort();
    let read = |(name, ext): (String, String)| {
        let parser = match name.split('-').next().unwrap() {
            "claude" => Parser::ClaudeStreamJson,
            "codex" => Parser::CodexJsonl,
            "gemini" | "qwen" => Parser::GeminiStreamJson,
            "opencode" => Parser::OpencodeJson,
            "copilot" => Parser::CopilotJson,
            "mini" => Parser::MiniSweAgent,
            other => panic!("whose is {other}?"),
        };
        let printed = fs_err::read_to_string(folder().join(format!("{name}.{ext}"))).unwrap();
        let file =
            (parser == Parser::MiniSweAgent).then(|| fs_err::read_to_string(folder().join(format!("{name}.json"))).unwrap());
        Fixture { name, parser, printed, file }
    };
    names.into_iter().map(read).collect()
}

fn read<'a>(parser: Parser, lines: impl IntoIterator<Item = &'a str>, file: Option<&str>) -> Heard {
    let mut reader = Reader::new(parser, PROMPT);
    for line in lines {
        reader.line(line);
    }
    if let Some(file) = file {
        reader.file(file);
    }
    reader.finish()
}

fn read_fixture(fixture: &Fixture) -> Heard {
    read(fixture.parser, fixture.printed.lines(), fixture.file.as_deref())
}

fn fixture(name: &str) -> Fixture {
    fixtures().into_iter().find(|fixture| fixture.name == name).unwrap()
}

fn trajectory(heard: &Heard) -> Value {
    let agent = Agent { name: "it".into(), version: "1".into(), ..Agent::default() };
    serde_json::to_value(Trajectory::of("attempt-1".into(), agent, heard)).unwrap()
}

fn readable(heard: &Heard) -> String {
    let mut out = String::new();
    let usage = serde_json::to_string(&heard.usage).unwrap();
    writeln!(out, "ended: {:?}", heard.ended).unwrap();
    writeln!(out, "session {:?}, version {:?}, model {:?}", heard.session, heard.version, heard.model).unwrap();
    writeln!(out, "used: {usage}\ntools: {:?}", heard.tools).unwrap();
    for step in &heard.steps {
        let time = step.timestamp.as_deref().unwrap_or("no time");
        writeln!(out, "\n{:?} ({time}): {}", step.source, step.message).unwrap();
        if let Some(thoughts) = &step.reasoning_content {
            writeln!(out, "  thought: {thoughts}").unwrap();
        }
        for call in step.tool_calls.iter().flatten() {
            writeln!(out, "  call {}: {} {}", call.tool_call_id, call.function_name, sorted(&call.arguments)).unwrap();
        }
        for result in step.observation.iter().flat_map(|seen| &seen.results) {
            writeln!(out, "  result of {}: {:?}", result.source_call_id.as_deref().unwrap_or("nothing"), result.content)
                .unwrap();
        }
        if let Some(metrics) = &step.metrics {
            writeln!(out, "  used: {}", serde_json::to_string(metrics).unwrap()).unwrap();
        }
        if !step.extra.is_empty() {
            writeln!(out, "  besides: {}", serde_json::to_string(&step.extra).unwrap()).unwrap();
        }
    }
    out
}

/// What the format's own validator asks for.
fn assert_is_atif(trajectory: &Value) {
    let keys = |value: &Value, known: &[&str]| {
        for key in value.as_object().unwrap().keys() {
            assert!(known.contains(&key.as_str()), "the format has no {key} in {value}");
        }
    };
    keys(trajectory, &["schema_version", "session_id", "agent", "steps", "final_metrics", "extra"]);
    keys(&trajectory["agent"], &["name", "version", "model_name", "extra"]);
    let sums = ["total_prompt_tokens", "total_completion_tokens", "total_cached_tokens", "total_cost_usd", "total_steps"];
    keys(&trajectory["final_metrics"], &sums);
    let steps = trajectory["steps"].as_array().unwrap();
    assert!(!steps.is_empty());
    for (number, step) in (1_usize..).zip(steps) {
        let always = ["step_id", "timestamp", "source", "message", "observation", "extra"];
        let agents = ["reasoning_content", "tool_calls", "metrics"];
        match step["source"].as_str().unwrap() {
            "agent" => keys(step, &[&always[..], &agents].concat()),
            "system" | "user" => keys(step, &always),
            other => panic!("{other} is no source"),
        }
        assert_eq!(step["step_id"], number);
        let calls = step["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
        for call in calls {
            keys(call, &["tool_call_id", "function_name", "arguments"]);
            assert!(call["arguments"].is_object(), "{call}");
        }
        let names: BTreeSet<&str> = calls.iter().map(|call| call["tool_call_id"].as_str().unwrap()).collect();
        assert_eq!(names.len(), calls.len(), "two calls have one name in {step}");
        for result in step["observation"]["results"].as_array().into_iter().flatten() {
            keys(result, &["source_call_id", "content"]);
            assert!(result["content"].is_string());
            assert!(result["source_call_id"].as_str().is_none_or(|of| names.contains(of)), "{result} answers nothing");
        }
        if step["metrics"].is_object() {
            keys(&step["metrics"], &["prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd"]);
        }
        assert!(step["timestamp"].is_null() || step["timestamp"].as_str().is_some_and(|time| time.len() >= 20));
    }
}

/// What holds whatever was read.
fn assert_sound(heard: &Heard) {
    let trajectory = trajectory(heard);
    assert_is_atif(&trajectory);
    assert_eq!(heard.steps[0].source, Source::User);
    assert_eq!(heard.steps[0].message, PROMPT);
    let calls: usize = heard.steps.iter().flat_map(|step| &step.tool_calls).map(Vec::len).sum();
    assert_eq!(calls, heard.tools.values().sum::<usize>());
    assert!(heard.usage.cost_usd.is_none_or(|cost| cost.is_finite() && cost >= 0.0));
    for step in &heard.steps {
        assert!(step.message.len() <= TEXT_BYTES);
        assert!(step.observation.iter().flat_map(|seen| &seen.results).all(|result| result.content.len() <= TEXT_BYTES));
    }
}

/// A value with its keys in order: whether `serde_json` keeps another one hangs on the features of the build.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let members: std::collections::BTreeMap<_, _> =
                members.iter().map(|(key, v)| (key.clone(), sorted(v))).collect();
            members.into_iter().collect()
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

#[test]
fn what_real_agents_print_reads_like_this() {
    for fixture in fixtures() {
        insta::assert_snapshot!(fixture.name.clone(), readable(&read_fixture(&fixture)));
    }
}

#[test]
fn trajectories_of_real_agents_keep_the_formats_rules() {
    let kept = std::env::var("GISTIFY_TRAJECTORIES").ok();
    for fixture in fixtures() {
        let heard = read_fixture(&fixture);
        assert_sound(&heard);
        // For the format's own validator.
        if let Some(folder) = &kept {
            fs_err::write(format!("{folder}/{}.json", fixture.name), trajectory(&heard).to_string()).unwrap();
        }
    }
}

#[test]
fn every_agent_has_a_run_that_is_done_and_some_that_say_what_was_wrong() {
    let fixtures = fixtures();
    let agents: BTreeSet<&str> = fixtures.iter().map(|fixture| fixture.name.split('-').next().unwrap()).collect();
    assert_eq!(agents.len(), 7);
    for fixture in &fixtures {
        let heard = read_fixture(fixture);
        let (agent, how) = fixture.name.split_once('-').unwrap();
        let ended = heard.ended.clone();
        match how {
            "good" => {
                assert_eq!(ended, Some(Ended::Done), "{agent}");
                assert!(heard.agent_steps() >= 4, "{agent}");
                // Claude is told to look at a file that is not there, too.
                let views = if agent == "claude" { 2 } else { 1 };
                assert_eq!(heard.tools.get(&ToolKind::View), Some(&views), "{agent}");
                assert_eq!(heard.tools.get(&ToolKind::Search), Some(&1), "{agent}");
            }
            "edit" => assert_eq!((ended, heard.tools.get(&ToolKind::Edit)), (Some(Ended::Done), Some(&1)), "{agent}"),
            // It says so on standard error alone, and with exit code 53.
            "limited" if agent == "qwen" => assert_eq!(ended, None),
            "limited" => assert_eq!(ended, Some(Ended::StepLimit), "{agent}"),
            "refused" => assert!(matches!(ended, Some(Ended::NoKey(_))), "{agent}: {ended:?}"),
            "down" | "broken" | "retrying" => {
                assert!(matches!(ended, Some(Ended::ModelUnavailable(_))), "{agent}: {ended:?}")
            }
            other => panic!("{other}"),
        }
        assert_eq!(heard.agent_steps() == 0, !["good", "edit", "limited"].contains(&how), "{agent} {how}");
    }
}

#[test]
fn parts_of_one_answer_are_one_step_and_its_usage_counts_once() {
    let heard = read_fixture(&fixture("claude-good"));
    assert_eq!(heard.agent_steps(), 5);
    let first = heard.steps.iter().find(|step| step.source == Source::Agent).unwrap();
    assert_eq!((first.message.as_str(), first.tool_calls.as_ref().unwrap().len()), ("I look first.", 1));
    // Without the result at the end the sum is the steps' own.
    let fixture = fixture("claude-good");
    let cut: Vec<&str> = fixture.printed.lines().filter(|line| !line.contains("\"type\":\"result\"")).collect();
    let unfinished = read(fixture.parser, cut, None);
    assert_eq!((unfinished.ended, unfinished.usage.input_tokens, unfinished.usage.cost_usd), (None, Some(500), None));
    assert_eq!((heard.usage.input_tokens, heard.usage.cost_usd), (Some(500), Some(0.00375)));
}

#[test]
fn a_caller_sees_each_step_as_it_begins() {
    let counts = |name: &str| {
        let fixture = fixture(name);
        let mut reader = Reader::new(fixture.parser, PROMPT);
        let count = |line| {
            reader.line(line);
            reader.heard().agent_steps()
        };
        let counts: BTreeSet<usize> = [0].into_iter().chain(fixture.printed.lines().map(count)).collect();
        counts.into_iter().collect::<Vec<_>>()
    };
    for name in ["codex-good", "gemini-good", "opencode-good", "copilot-good", "qwen-good", "mini-good"] {
        assert_eq!(counts(name), [0, 1, 2, 3, 4], "{name}");
    }
}

#[test]
fn without_a_last_word_nobody_knows_the_end() {
    let heard = read(Parser::OpencodeJson, [r#"{"type":"step_finish","part":{"reason":"tool-calls"}}"#], None);
    assert_eq!(heard.ended, None);
}

#[test]
fn an_error_that_passes_is_no_end() {
    let error = r#"{"type":"error","message":"Reconnecting... (network)"}"#;
    let message = r#"{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"I am back."}}"#;
    assert!(matches!(read(Parser::CodexJsonl, [error], None).ended, Some(Ended::ModelUnavailable(_))));
    assert_eq!(read(Parser::CodexJsonl, [error, message], None).ended, None);
}

#[test]
fn calls_side_by_side_are_one_step() {
    let line =
        |kind: &str, id: &str| json!({"type": kind, "tool_id": id, "tool_name": "read_file", "output": "x"}).to_string();
    let lines = [
        line("tool_use", "a"),
        line("tool_use", "b"),
        line("tool_result", "b"),
        line("tool_result", "a"),
        line("tool_use", "c"),
    ];
    let heard = read(Parser::GeminiStreamJson, lines.iter().map(String::as_str), None);
    let calls: Vec<usize> = heard.steps[1..].iter().map(|step| step.tool_calls.as_ref().unwrap().len()).collect();
    assert_eq!(calls, [2, 1]);
}

#[test]
fn a_half_written_file_gives_the_messages_that_are_whole() {
    let fixture = fixture("mini-good");
    let file = fixture.file.unwrap();
    let at = file.find("call_2").unwrap();
    let heard = read(fixture.parser, fixture.printed.lines(), Some(&file[..at]));
    assert_eq!((heard.agent_steps(), heard.ended), (2, None));
    // What is no file at all leaves what the terminal said.
    assert_eq!(read(fixture.parser, fixture.printed.lines(), Some("{\"mess")).agent_steps(), 4);
}

#[test]
fn long_texts_are_cut_and_say_so() {
    let long = "x".repeat(2 << 20);
    let call =
        json!({"type": "tool_use", "tool_id": "a", "tool_name": "bash", "parameters": {"command": "cat x"}}).to_string();
    let result = json!({"type": "tool_result", "tool_id": "a", "output": long}).to_string();
    let heard = read(Parser::GeminiStreamJson, [call.as_str(), &result], None);
    let step = &heard.steps[1];
    assert_eq!(step.observation.as_ref().unwrap().results[0].content.len(), TEXT_BYTES);
    assert_eq!(step.extra["cut_bytes"], (2 << 20) - TEXT_BYTES);
    let words = read(Parser::Plain, [long.as_str(), "more"], None);
    assert_eq!((words.agent_steps(), words.steps[1].message.len()), (1, TEXT_BYTES));
    let write =
        json!({"type": "tool_use", "tool_id": "a", "tool_name": "write_file", "parameters": {"content": long}}).to_string();
    let heard = read(Parser::GeminiStreamJson, [write.as_str()], None);
    assert_eq!(heard.steps[1].tool_calls.as_ref().unwrap()[0].arguments["cut"].as_str().unwrap().len(), TEXT_BYTES);
    assert_eq!(heard.tools[&ToolKind::Edit], 1);
}

#[test]
fn what_is_kept_of_an_endless_stream_is_bounded() {
    let mut reader = Reader::new(Parser::ClaudeStreamJson, PROMPT);
    for id in 0..1200 {
        let content = json!([{"type": "text", "text": "y".repeat(TEXT_BYTES)}]);
        reader.line(&json!({"type": "assistant", "message": {"id": id.to_string(), "content": content}}).to_string());
    }
    let heard = reader.finish();
    assert_eq!(heard.agent_steps(), 1200);
    assert!(heard.steps.iter().map(|step| step.message.len()).sum::<usize>() <= 64 << 20);
    assert_eq!(heard.steps[1200].extra["cut_bytes"], TEXT_BYTES);
}

#[test]
fn a_line_that_is_too_long_is_left_out_and_that_is_told() {
    let heard = read(Parser::CodexJsonl, [" ".repeat(LINE_BYTES + 1).as_str()], None);
    assert_eq!(heard.steps[1].message, "a line of 16777217 bytes was left out");
}

#[test]
fn sums_do_not_overflow() {
    let usage = json!({"input_tokens": u64::MAX, "cache_read_input_tokens": u64::MAX, "output_tokens": u64::MAX});
    let line = |id: &str| json!({"type": "assistant", "message": {"id": id, "usage": usage}}).to_string();
    let heard = read(Parser::ClaudeStreamJson, [line("a").as_str(), &line("b"), &line("b")], None);
    assert_eq!(heard.usage.input_tokens, Some(u64::MAX));
    let finish = r#"{"type":"step_finish","part":{"cost":1e308,"tokens":{"input":1}}}"#;
    let start = r#"{"type":"step_start"}"#;
    assert_sound(&read(Parser::OpencodeJson, [start, finish, start, finish], None));
}

#[test]
fn a_time_that_is_none_is_not_taken_for_one() {
    let at = |time: &str| {
        let line = json!({"type": "message", "role": "assistant", "content": "x", "timestamp": time}).to_string();
        read(Parser::GeminiStreamJson, [line.as_str()], None).steps[1].timestamp.clone()
    };
    for time in ["2026-12-01T00:06:47.010Z", "2026-01-31T23:59:59Z", "2026-02-28T00:00:00+01:00"] {
        assert_eq!(at(time).as_deref(), Some(time));
    }
    for time in
        ["yesterday", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-04-31T00:00:00Z", "1796083642297", "2026-12-01"]
    {
        assert_eq!(at(time), None, "{time}");
    }
}

#[test]
fn parsers_have_the_names_of_the_configuration() {
    for parser in Parser::ALL {
        assert_eq!(parser.name().parse::<Parser>().unwrap(), parser);
    }
    let error = "json".parse::<Parser>().unwrap_err().to_string();
    assert!(error.contains("`json`") && error.contains("codex-jsonl"), "{error}");
}

/// How a line is spoilt: it is cut, something stands in the middle of it, it comes twice, or it is a value of another type.
#[derive(Clone, Debug)]
enum Spoil {
    Cut(usize),
    Put(usize, usize, String),
    Twice,
    Swap(usize, Value),
}

fn spoil() -> impl Strategy<Value = Spoil> {
    let value = prop_oneof![
        Just(Value::Null),
        Just(json!([])),
        Just(json!({})),
        Just(json!([null, {"type": "text", "text": 1}, []])),
        Just(json!(-1)),
        Just(json!(u64::MAX)),
        Just(json!(1e308)),
        ".{0,12}".prop_map(Value::String),
    ];
    prop_oneof![
        any::<usize>().prop_map(Spoil::Cut),
        (any::<usize>(), 0..9_usize, ".{0,9}").prop_map(|(at, len, with)| Spoil::Put(at, len, with)),
        Just(Spoil::Twice),
        (any::<usize>(), value).prop_map(|(at, value)| Spoil::Swap(at, value)),
    ]
}

/// Puts `with` in place of the part of `value` with this number.
fn swap(value: &mut Value, at: &mut usize, with: &Value) {
    if *at == 0 {
        *value = with.clone();
    }
    *at = at.wrapping_sub(1);
    match value {
        Value::Array(list) => list.iter_mut().for_each(|part| swap(part, at, with)),
        Value::Object(map) => map.values_mut().for_each(|part| swap(part, at, with)),
        _ => {}
    }
}

fn spoilt(line: &str, how: &Spoil) -> String {
    match how {
        Spoil::Cut(at) => line[..line.floor_char_boundary(at % (line.len() + 1))].to_owned(),
        Spoil::Put(at, len, with) => {
            let start = line.floor_char_boundary(at % (line.len() + 1));
            let end = line.floor_char_boundary((start + len).min(line.len())).max(start);
            format!("{}{with}{}", &line[..start], &line[end..])
        }
        Spoil::Twice => format!("{line}\n{line}"),
        Spoil::Swap(at, with) => match serde_json::from_str::<Value>(line) {
            Ok(mut value) => {
                swap(&mut value, &mut (at % 24), with);
                value.to_string()
            }
            Err(_) => line.to_owned(),
        },
    }
}

proptest! {
    #[test]
    fn spoilt_lines_are_read_without_a_panic(which in any::<usize>(), how in prop::collection::vec(spoil(), 1..12), other in 0..7_usize) {
        let fixtures = fixtures();
        let fixture = &fixtures[which % fixtures.len()];
        let lines: Vec<String> =
            fixture.printed.lines().zip(how.iter().cycle()).map(|(line, how)| spoilt(line, how)).collect();
        let file = fixture.file.as_ref().map(|file| spoilt(file, &how[0]));
        for parser in [fixture.parser, Parser::ALL[other]] {
            assert_sound(&read(parser, lines.iter().flat_map(|line| line.lines()), file.as_deref()));
        }
    }

    #[test]
    fn any_text_is_read_without_a_panic(lines in prop::collection::vec(".{0,40}", 0..9), file in ".{0,80}", other in 0..7_usize) {
        assert_sound(&read(Parser::ALL[other], lines.iter().map(String::as_str), Some(&file)));
    }
}
