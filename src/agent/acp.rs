//! The Agent Client Protocol, from the client's side: one session, one prompt, and what is heard of it.
//!
//! All of the protocol's library is in this module, since its majors come often. No files and no terminals are offered, so agents use
//! their own tools; what they ask permission for is allowed once. The process is ours: the library would hand it our environment.
//!
//! The protocol does not say where one answer of the model ends and the next begins, so a step is what comes until a tool has
//! answered, or until the agent names another message.

use super::atif::{Observation, Source, Step, ToolCall, ToolResult};
use super::run::TAIL;
use super::{AgentLimits, Ended, Heard, ToolKind};
use crate::error::{Error, Result};
use crate::process::{Limits, Output, run_talking};
use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    CancelNotification, ContentBlock, ContentChunk, Implementation, InitializeRequest, McpServer as Server, McpServerStdio,
    NewSessionRequest, PermissionOption, PermissionOptionKind, PromptRequest, RequestPermissionOutcome,
    RequestPermissionRequest, RequestPermissionResponse, SelectedPermissionOutcome, SessionNotification, SessionUpdate,
    StopReason, TextContent, ToolCallContent, ToolCallStatus, ToolCallUpdate, ToolKind as Kind,
};
use agent_client_protocol::{Agent, ByteStreams, Client, ErrorCode};
use camino::Utf8Path;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::process::{ChildStdin, ChildStdout, Command};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::watch;
use tokio_util::compat::{TokioAsyncReadCompatExt, TokioAsyncWriteCompatExt};
use tokio_util::io::InspectReader;

/// Most of what an agent may print on each of its outputs, in bytes.
const MOST_OUTPUT: usize = 64 << 20;
/// Lines that are no JSON which an agent may print: some log to the wrong output.
const MOST_GARBAGE: usize = 100;
/// How long a turn that was cancelled may take to end.
const CANCELLING: Duration = Duration::from_secs(2);
/// How long beyond its time limit the talk may last, should a process that has left its group hold the pipe.
const GRACE: Duration = Duration::from_secs(5);

/// An MCP server that the agent is to start and use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct McpServer {
    /// What the agent calls it.
    pub name: String,
    /// The program; an absolute path.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
}

/// A conversation, and how the process that it was with ended.
#[derive(Debug)]
pub struct Conversation {
    /// What was heard; [`Heard::ended`] is always there.
    pub heard: Heard,
    /// The process; none when it could not be started. Its standard output is what the agent said, line by line as JSON.
    pub output: Option<Output>,
}

/// Starts an agent with `command`, exactly as it is given but for its pipes and process group, and has it answer `prompt` in the
/// folder `cwd`.
///
/// # Errors
/// When it is interrupted. Whatever the agent does is heard, and no error.
pub fn converse(
    command: &mut Command,
    cwd: &Utf8Path,
    prompt: &str,
    mcp: &[McpServer],
    limits: &AgentLimits,
) -> Result<Conversation> {
    let ear = Arc::new(Ear::new(prompt, limits.steps));
    let process = Limits { timeout: Some(limits.timeout), max_output: MOST_OUTPUT };
    let talk = |stdin, stdout| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|e| Ended::NotStarted(format!("failed to talk to it: {e}")))?;
        runtime.block_on(talk(stdin, stdout, cwd, prompt, mcp, limits.timeout, &ear))
    };
    match run_talking(command, process, talk) {
        Ok((mut output, said)) => {
            let mut listener = ear.listener();
            output.stdout = std::mem::take(&mut listener.raw);
            let ended = ended(&output, listener.over.take(), said);
            Ok(Conversation { heard: listener.finish(ended), output: Some(output) })
        }
        Err(e @ (Error::Interrupted | Error::Internal(_))) => Err(e),
        Err(e) => Ok(Conversation { heard: ear.listener().finish(Ended::NotStarted(e.to_string())), output: None }),
    }
}

/// Why it ended: what we did to it first, then what it said.
fn ended(output: &Output, over: Option<Ended>, said: std::result::Result<Ended, Ended>) -> Ended {
    if let Some(over) = over {
        return match over {
            Ended::Failed(how) => Ended::Failed(with_tail(how, output)),
            other => other,
        };
    }
    if output.truncated {
        return Ended::ResourceLimit("output limit".into());
    }
    match said {
        Ok(ended) => ended,
        Err(_) if output.timed_out => Ended::TimeLimit,
        Err(Ended::Failed(how)) => Ended::Failed(with_tail(how, output)),
        Err(ended) => ended,
    }
}

/// A failure with the end of what the process had to say.
fn with_tail(how: String, output: &Output) -> String {
    let tail = output.stderr_tail(TAIL);
    if tail.is_empty() { how } else { format!("{how}\n{tail}") }
}

/// The conversation itself; `Err` is an end that how the process ended may explain better.
async fn talk(
    stdin: ChildStdin,
    stdout: ChildStdout,
    cwd: &Utf8Path,
    prompt: &str,
    mcp: &[McpServer],
    timeout: Duration,
    ear: &Arc<Ear>,
) -> std::result::Result<Ended, Ended> {
    let pipes = || -> std::io::Result<(Sender, Receiver)> {
        Ok((Sender::from_owned_fd(OwnedFd::from(stdin))?, Receiver::from_owned_fd(OwnedFd::from(stdout))?))
    };
    let (to, from) = pipes().map_err(|e| Ended::NotStarted(format!("failed to talk to it: {e}")))?;
    let noting = Arc::clone(ear);
    let noted = InspectReader::new(from, move |bytes: &[u8]| noting.note(bytes));
    let transport = ByteStreams::new(to.compat_write(), noted.compat());
    let connection = Client
        .v1()
        .name("cargo-gistify")
        .on_receive_notification(
            async |told: SessionNotification, _connection| {
                ear.hears(told.update);
                Ok(())
            },
            agent_client_protocol::on_receive_notification!(),
        )
        .on_receive_request(
            async |asked: RequestPermissionRequest, responder, _connection| {
                responder.respond(RequestPermissionResponse::new(permitted(&asked.options)))
            },
            agent_client_protocol::on_receive_request!(),
        )
        .connect_with(transport, async |agent: ConnectionTo<Agent>| {
            let ours = Implementation::new("cargo-gistify", env!("CARGO_PKG_VERSION"));
            let hello = InitializeRequest::new(ProtocolVersion::V1).client_info(ours);
            let told = agent.send_request(hello).block_task().await?;
            ear.listener().heard.version = told.agent_info.map(|info| info.version);
            let servers = mcp.iter().map(server).collect();
            let asked = NewSessionRequest::new(cwd.as_std_path()).mcp_servers(servers);
            let session = agent.send_request(asked).block_task().await?.session_id;
            ear.listener().heard.session = Some(session.to_string());
            let prompt = ContentBlock::Text(TextContent::new(prompt));
            let turn = agent.send_request(PromptRequest::new(session.clone(), vec![prompt])).block_task();
            tokio::pin!(turn);
            tokio::select! {
                ended = &mut turn => Ok(Some(ended?.stop_reason)),
                () = ear.is(Over::Steps) => {
                    agent.send_notification(CancelNotification::new(session))?;
                    // What it still has to say of its last step is heard.
                    let _ = tokio::time::timeout(CANCELLING, turn).await;
                    Ok(None)
                }
            }
        });
    tokio::pin!(connection);
    let deadline = tokio::time::sleep(timeout + GRACE);
    tokio::pin!(deadline);
    let said = tokio::select! {
        said = &mut connection => said,
        () = &mut deadline => return Err(Ended::TimeLimit),
        // Nothing can be said to it.
        () = ear.is(Over::Unheard) => Ok(None),
    };
    match said {
        Ok(Some(StopReason::EndTurn)) => Ok(Ended::Done),
        Ok(Some(StopReason::Refusal)) => {
            ear.listener().note("stop_reason", json!("refusal"));
            Ok(Ended::Done)
        }
        Ok(Some(StopReason::MaxTurnRequests)) => Ok(Ended::StepLimit),
        Ok(Some(StopReason::MaxTokens)) => Ok(Ended::ResourceLimit("tokens of the model".into())),
        Ok(Some(StopReason::Cancelled)) => Ok(Ended::Failed("it says that its turn was cancelled".into())),
        Ok(Some(other)) => Ok(Ended::Failed(format!("it stopped for a reason that is not known here: {other:?}"))),
        Ok(None) => Ok(Ended::StepLimit),
        Err(e) if e.code == ErrorCode::AUTH_REQUIRED => Err(Ended::NoKey(e.message)),
        Err(e) => {
            let data = e.data.map(|data| data.as_str().map_or_else(|| data.to_string(), str::to_owned));
            Err(Ended::Failed(data.map_or(e.message.clone(), |data| format!("{}: {data}", e.message))))
        }
    }
}

fn server(asked: &McpServer) -> Server {
    Server::Stdio(McpServerStdio::new(&asked.name, &asked.command).args(asked.args.clone()))
}

/// What is allowed: by its kind, since the order and the names are the agent's.
fn permitted(options: &[PermissionOption]) -> RequestPermissionOutcome {
    let of_kind = |kind: PermissionOptionKind| options.iter().find(|o| o.kind == kind);
    match of_kind(PermissionOptionKind::AllowOnce).or_else(|| of_kind(PermissionOptionKind::AllowAlways)) {
        Some(option) => RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option.option_id.clone())),
        None => RequestPermissionOutcome::Cancelled,
    }
}

/// Why the agent is not listened to any more.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Over {
    Not,
    /// It has taken all its steps.
    Steps,
    /// It says too much, or nothing that can be understood.
    Unheard,
}

/// What hears the agent, and tells who waits.
struct Ear {
    listener: Mutex<Listener>,
    over: watch::Sender<Over>,
}

impl Ear {
    fn new(prompt: &str, limit: usize) -> Ear {
        Ear { listener: Mutex::new(Listener::new(prompt, limit)), over: watch::Sender::new(Over::Not) }
    }

    fn listener(&self) -> MutexGuard<'_, Listener> {
        self.listener.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Comes back when it is over in that way.
    async fn is(&self, wanted: Over) {
        // The sender is ours, so it can't be closed.
        let _ = self.over.subscribe().wait_for(|over| *over == wanted).await;
    }

    fn end(&self, listener: &mut Listener, over: Over, ended: Ended) {
        if listener.over.is_none() {
            listener.over = Some(ended);
            self.over.send_replace(over);
        }
    }

    fn hears(&self, update: SessionUpdate) {
        let mut listener = self.listener();
        if listener.over.is_none() {
            listener.hear(update);
        } else if let SessionUpdate::ToolCallUpdate(update) = update {
            // What the last step came to.
            listener.update(update);
        }
        if listener.heard.agent_steps() > listener.limit {
            self.end(&mut listener, Over::Steps, Ended::StepLimit);
        }
    }

    /// Keeps what the agent prints, as far as there is room.
    fn note(&self, bytes: &[u8]) {
        let mut listener = self.listener();
        let room = MOST_OUTPUT.saturating_sub(listener.raw.len()).min(bytes.len());
        listener.raw.extend_from_slice(&bytes[..room]);
        listener.count(bytes);
        if room < bytes.len() {
            self.end(&mut listener, Over::Unheard, Ended::ResourceLimit("output limit".into()));
        } else if listener.garbage > MOST_GARBAGE {
            let how = "it does not speak the Agent Client Protocol: too many of its lines are no JSON";
            self.end(&mut listener, Over::Unheard, Ended::Failed(how.into()));
        }
    }
}

/// The steps so far.
struct Listener {
    heard: Heard,
    limit: usize,
    over: Option<Ended>,
    /// All that the agent printed.
    raw: Vec<u8>,
    /// Lines that are no JSON, and whether the next byte begins a line.
    garbage: usize,
    at_start: bool,
    /// A tool has answered since the last step began: what comes next is another one.
    answered: bool,
    /// The message and the thought that the last step is made of, where the agent names them.
    message: Option<String>,
    thought: Option<String>,
    /// In which step each call stands, at which place, and of what kind it is.
    calls: BTreeMap<String, (usize, usize, ToolKind)>,
}

impl Listener {
    fn new(prompt: &str, limit: usize) -> Listener {
        Listener {
            heard: Heard { steps: vec![Step::now(Source::User, prompt)], ..Heard::default() },
            limit,
            over: None,
            raw: Vec::new(),
            garbage: 0,
            at_start: true,
            answered: false,
            message: None,
            thought: None,
            calls: BTreeMap::new(),
        }
    }

    /// Counts the lines that begin like no JSON object.
    fn count(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            match byte {
                b'\n' => self.at_start = true,
                b' ' | b'\t' | b'\r' => {}
                _ if self.at_start => {
                    self.garbage += usize::from(byte != b'{');
                    self.at_start = false;
                }
                _ => {}
            }
        }
    }

    fn hear(&mut self, update: SessionUpdate) {
        match update {
            SessionUpdate::AgentMessageChunk(chunk) => {
                let id = chunk.message_id.as_ref().map(ToString::to_string);
                let another = id.is_some() && self.message.is_some() && self.message != id;
                let said = said(&chunk);
                self.step(another).message.push_str(&said);
                self.message = id.or(self.message.take());
            }
            SessionUpdate::AgentThoughtChunk(chunk) => {
                let id = chunk.message_id.as_ref().map(ToString::to_string);
                let another = id.is_some() && self.thought.is_some() && self.thought != id;
                let said = said(&chunk);
                self.step(another).reasoning_content.get_or_insert_default().push_str(&said);
                self.thought = id.or(self.thought.take());
            }
            SessionUpdate::ToolCall(call) => self.update(call.into()),
            SessionUpdate::ToolCallUpdate(update) => self.update(update),
            SessionUpdate::UsageUpdate(usage) => {
                if let Some(cost) = usage.cost.filter(|cost| cost.currency.eq_ignore_ascii_case("usd")) {
                    self.heard.usage.cost_usd = Some(cost.amount);
                }
                self.note("context_tokens", json!(usage.used));
            }
            // Plans, modes, commands, titles: nothing that an attempt is made of.
            _ => {}
        }
    }

    /// The step that is under way; another one when it is over.
    fn step(&mut self, another: bool) -> &mut Step {
        let last = self.heard.steps.last().is_some_and(|s| s.source == Source::Agent);
        if !last || another || std::mem::take(&mut self.answered) {
            (self.message, self.thought, self.answered) = (None, None, false);
            self.heard.steps.push(Step::now(Source::Agent, ""));
        }
        let at = self.heard.steps.len() - 1;
        &mut self.heard.steps[at]
    }

    /// Writes something that the format has no place for to the agent's last step.
    fn note(&mut self, name: &str, value: Value) {
        if let Some(step) = self.heard.steps.iter_mut().rev().find(|s| s.source == Source::Agent) {
            step.extra.insert(name.to_owned(), value);
        }
    }

    /// A call of a tool, new or known.
    fn update(&mut self, update: ToolCallUpdate) {
        let id = update.tool_call_id.to_string();
        let fields = update.fields;
        if !self.calls.contains_key(&id) {
            if self.over.is_some() {
                return;
            }
            let call = ToolCall { tool_call_id: id.clone(), function_name: String::new(), arguments: json!({}) };
            let calls = self.step(false).tool_calls.get_or_insert_default();
            calls.push(call);
            let place = calls.len() - 1;
            self.calls.insert(id.clone(), (self.heard.steps.len() - 1, place, ToolKind::Other));
        }
        let Some((at, place, kind)) = self.calls.get_mut(&id) else { return };
        if let Some(told) = fields.kind {
            *kind = kind_of(told);
        }
        let Some(step) = self.heard.steps.get_mut(*at) else { return };
        if let Some(call) = step.tool_calls.as_mut().and_then(|calls| calls.get_mut(*place)) {
            // Some agents name their tools in a corner of their own.
            let theirs = update.meta.as_ref().and_then(|m| m.values().find_map(|v| v.get("toolName")?.as_str()));
            if let Some(name) = fields.name.as_deref().or(theirs) {
                call.function_name = name.to_owned();
            } else if let Some(kind) = fields.kind.filter(|_| call.function_name.is_empty()) {
                call.function_name =
                    serde_json::to_value(kind).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default();
            }
            match (fields.raw_input, fields.title) {
                (Some(Value::Object(input)), _) if !input.is_empty() => call.arguments = Value::Object(input),
                (Some(input), _) if !input.is_null() && !input.is_object() => call.arguments = json!({ "input": input }),
                (_, Some(title)) if call.arguments.as_object().is_none_or(|a| a.is_empty() || a.contains_key("title")) => {
                    call.arguments = json!({ "title": title });
                }
                _ => {}
            }
        }
        let content: Option<String> =
            fields.content.filter(|c| !c.is_empty()).map(|content| content.iter().map(shown).collect::<Vec<_>>().join("\n"));
        let raw = fields.raw_output.map(|raw| raw.as_str().map_or_else(|| raw.to_string(), str::to_owned));
        let over = matches!(fields.status, Some(ToolCallStatus::Completed | ToolCallStatus::Failed));
        if let Some(text) = content.or(raw).or_else(|| over.then(String::new)) {
            let results = &mut step.observation.get_or_insert_with(Observation::default).results;
            match results.iter_mut().find(|r| r.source_call_id.as_deref() == Some(&id)) {
                Some(_) if text.is_empty() => {}
                Some(result) => result.content = text,
                None => results.push(ToolResult { source_call_id: Some(id), content: text }),
            }
        }
        self.answered |= over && *at + 1 == self.heard.steps.len();
    }

    /// All that was heard.
    fn finish(&mut self, ended: Ended) -> Heard {
        let mut heard = std::mem::take(&mut self.heard);
        for call in heard.steps.iter_mut().filter_map(|s| s.tool_calls.as_mut()).flatten() {
            if call.function_name.is_empty() {
                "other".clone_into(&mut call.function_name);
            }
        }
        for (_, _, kind) in self.calls.values() {
            *heard.tools.entry(*kind).or_default() += 1;
        }
        heard.ended = Some(ended);
        heard
    }
}

fn said(chunk: &ContentChunk) -> String {
    words(&chunk.content)
}

/// The text of a block; what has none is named.
fn words(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::ResourceLink(link) => link.uri.clone(),
        other => serde_json::to_value(other)
            .ok()
            .and_then(|v| Some(format!("[{}]", v.get("type")?.as_str()?)))
            .unwrap_or_default(),
    }
}

fn shown(content: &ToolCallContent) -> String {
    match content {
        ToolCallContent::Content(content) => words(&content.content),
        ToolCallContent::Diff(diff) => format!("changed {}:\n{}", diff.path.display(), diff.new_text),
        other => serde_json::to_string(other).unwrap_or_default(),
    }
}

fn kind_of(kind: Kind) -> ToolKind {
    match kind {
        Kind::Read => ToolKind::View,
        Kind::Search => ToolKind::Search,
        Kind::Execute => ToolKind::Execute,
        Kind::Edit | Kind::Delete | Kind::Move => ToolKind::Edit,
        _ => ToolKind::Other,
    }
}

#[cfg(test)]
mod unit {
    use super::*;
    use std::process::Stdio;

    /// What a scripted agent begins with: it reads requests and answers them, and tells on standard error what it read.
    const PRELUDE: &str = r#"
ask() { read -r line; echo "$line" >&2; id=$(printf '%s' "$line" | sed 's/.*"id":\("[^"]*"\|[0-9][0-9]*\).*/\1/'); }
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
refuse() { printf '{"jsonrpc":"2.0","id":%s,"error":%s}\n' "$id" "$1"; }
update() { printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":%s}}\n' "$1"; }
hello() { ask; answer '{"protocolVersion":1,"agentInfo":{"name":"it","version":"1.2"}}'; ask; answer '{"sessionId":"s1"}'; ask; }
say() { update "{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"$1\"}}"; }
call() { update "{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"$1\",\"title\":\"a title\",\"kind\":\"$2\"}"; }
done_with() { update "{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"$1\",\"status\":\"completed\",\"content\":[{\"type\":\"content\",\"content\":{\"type\":\"text\",\"text\":\"$2\"}}]}"; }
"#;

    fn agent(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{PRELUDE}{script}")]).stdin(Stdio::null());
        command
    }

    fn limits(steps: usize, seconds: u64) -> AgentLimits {
        AgentLimits { steps, timeout: Duration::from_secs(seconds), ..AgentLimits::default() }
    }

    fn talk_to(command: &mut Command, limits: &AgentLimits) -> (Heard, String) {
        let told = converse(command, Utf8Path::new("/tmp"), "do it", &[], limits).unwrap();
        (told.heard, told.output.map(|o| o.stderr_text()).unwrap_or_default())
    }

    fn end_of(script: &str) -> Ended {
        talk_to(&mut agent(script), &limits(50, 60)).0.ended.unwrap()
    }

    #[test]
    fn a_turn_becomes_steps_with_their_calls_and_what_came_of_them() {
        let script = r#"hello
            update '{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}'
            say 'I will '; say look
            call c1 read
            update '{"sessionUpdate":"tool_call_update","toolCallId":"c1","rawInput":{"path":"a.rs"},"_meta":{"theirs":{"toolName":"Read"}}}'
            call c2 execute
            done_with c1 'fn a() {}'
            done_with c2 ok
            say done
            update '{"sessionUpdate":"usage_update","used":120,"size":1000,"cost":{"amount":0.25,"currency":"USD"}}'
            answer '{"stopReason":"end_turn"}'"#;
        let (heard, _) = talk_to(&mut agent(script), &limits(2, 60));
        assert_eq!(
            (heard.ended.as_ref(), heard.session.as_deref(), heard.version.as_deref()),
            (Some(&Ended::Done), Some("s1"), Some("1.2"))
        );
        let [prompt, first, last] = heard.steps.as_slice() else { panic!("{:#?}", heard.steps) };
        assert_eq!((prompt.source, prompt.message.as_str()), (Source::User, "do it"));
        assert_eq!((first.message.as_str(), first.reasoning_content.as_deref()), ("I will look", Some("hm")));
        let calls: Vec<(&str, &Value)> =
            first.tool_calls.as_ref().unwrap().iter().map(|c| (c.function_name.as_str(), &c.arguments)).collect();
        assert_eq!(calls, [("Read", &json!({ "path": "a.rs" })), ("execute", &json!({ "title": "a title" }))]);
        let results: Vec<(&str, &str)> = first
            .observation
            .as_ref()
            .unwrap()
            .results
            .iter()
            .map(|r| (r.source_call_id.as_deref().unwrap(), r.content.as_str()))
            .collect();
        assert_eq!(results, [("c1", "fn a() {}"), ("c2", "ok")]);
        assert_eq!((last.message.as_str(), &last.extra["context_tokens"]), ("done", &json!(120)));
        assert_eq!(heard.usage.cost_usd, Some(0.25));
        assert_eq!(heard.tools, BTreeMap::from([(ToolKind::View, 1), (ToolKind::Execute, 1)]));
    }

    #[test]
    fn permission_is_given_once_wherever_that_stands_in_the_list() {
        let script = r#"hello; turn=$id
            printf '{"jsonrpc":"2.0","id":77,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"c"},"options":[{"optionId":"no","name":"n","kind":"reject_once"},{"optionId":"ever","name":"e","kind":"allow_always"},{"optionId":"once","name":"o","kind":"allow_once"}]}}\n'
            ask; id=$turn; answer '{"stopReason":"end_turn"}'"#;
        let (heard, read) = talk_to(&mut agent(script), &limits(5, 60));
        assert_eq!(heard.ended, Some(Ended::Done));
        assert!(
            read.lines().last().is_some_and(|l| l.contains("\"optionId\":\"once\"") && l.contains("\"id\":77")),
            "{read}"
        );
    }

    #[test]
    fn one_step_too_many_cancels_the_turn() {
        let script = r#"hello; turn=$id
            for i in 1 2 3 4; do say "step $i"; call "c$i" edit; done_with "c$i" ok; sleep 0.1; done
            ask; id=$turn; answer '{"stopReason":"cancelled"}'; sleep 600"#;
        let (heard, read) = talk_to(&mut agent(script), &limits(2, 60));
        assert_eq!(heard.ended, Some(Ended::StepLimit));
        assert!(read.lines().last().is_some_and(|l| l.contains("session/cancel")), "{read}");
        assert_eq!(heard.agent_steps(), 3);
    }

    #[test]
    fn who_dies_says_nothing_or_takes_too_long_has_an_end_that_says_so() {
        let Ended::Failed(how) = end_of("hello; echo 'lost my mind' >&2; exit 7") else { panic!() };
        assert!(how.ends_with("lost my mind"), "{how}");
        let Ended::Failed(how) = end_of("echo 'no key, no work' >&2") else { panic!() };
        assert!(how.ends_with("no key, no work"), "{how}");
        let Ended::Failed(how) = end_of("yes garbage") else { panic!() };
        assert!(how.contains("does not speak"), "{how}");
        let slow = talk_to(&mut agent("hello; say begun; sleep 600 & sleep 600"), &limits(5, 1)).0;
        assert_eq!((slow.ended.as_ref(), slow.agent_steps()), (Some(&Ended::TimeLimit), 1));
        let none = converse(&mut Command::new("no-such-agent"), Utf8Path::new("/"), "p", &[], &limits(1, 1)).unwrap();
        assert!(none.output.is_none());
        assert!(matches!(none.heard.ended, Some(Ended::NotStarted(why)) if why.contains("no-such-agent")));
    }

    #[test]
    fn the_reasons_to_stop_have_their_ends() {
        let stopped = |why: &str| end_of(&format!("hello; say x; answer '{{\"stopReason\":\"{why}\"}}'"));
        assert_eq!(stopped("max_turn_requests"), Ended::StepLimit);
        assert!(matches!(stopped("max_tokens"), Ended::ResourceLimit(_)));
        assert!(matches!(stopped("cancelled"), Ended::Failed(_)));
        let heard = talk_to(&mut agent(r#"hello; say no; answer '{"stopReason":"refusal"}'"#), &limits(5, 60)).0;
        assert_eq!((heard.ended, &heard.steps[1].extra["stop_reason"]), (Some(Ended::Done), &json!("refusal")));
        assert_eq!(end_of(r#"ask; refuse '{"code":-32000,"message":"log in first"}'"#), Ended::NoKey("log in first".into()));
        let Ended::Failed(how) =
            end_of(r#"hello; refuse '{"code":-32603,"message":"Internal error","data":"the model is gone"}'"#)
        else {
            panic!()
        };
        assert!(how.starts_with("Internal error: the model is gone"), "{how}");
    }

    #[test]
    fn the_command_is_called_as_it_is_and_told_of_its_folder_and_servers() {
        let mut command = agent("hello; env >&2; answer '{\"stopReason\":\"end_turn\"}'");
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("ONLY", "this");
        let servers = [McpServer { name: "gistify".into(), command: "/bin/gistify".into(), args: vec!["mcp".into()] }];
        let told = converse(&mut command, Utf8Path::new("/somewhere"), "p", &servers, &limits(5, 60)).unwrap();
        let output = told.output.unwrap();
        let read = output.stderr_text();
        let session = read.lines().find(|l| l.contains("session/new")).unwrap();
        let session: Value = serde_json::from_str(session).unwrap();
        assert_eq!(session["params"]["cwd"], "/somewhere");
        let server = json!({ "name": "gistify", "command": "/bin/gistify", "args": ["mcp"], "env": [] });
        assert_eq!(session["params"]["mcpServers"], json!([server]));
        assert!(read.contains("ONLY=this") && !read.contains("CARGO"), "{read}");
        assert!(output.stdout_text().lines().count() >= 3 && output.status.success());
    }
}
