//! One attempt of an agent that is a program: it is called in its box, what it prints is read as it comes, and limits end it.

#[cfg(feature = "acp")]
use super::bridge::CLIENT;
use super::bridge::{BRIDGE, FAILED};
use super::config::{AgentSpec, Kind as AgentKind};
use super::door::Door;
use super::place::{Place, Program, program};
use super::relay::{Endpoint, Relay, Traffic};
use super::secret::Secret;
use super::stream::{Parser, Reader};
use super::{AgentLimits, Ended, Heard};
use crate::error::{Error, Result};
use crate::process::{Limits, Output, run_watched};
use crate::sandbox::{Breach, Kind, Policy, ResourceLimits, Sandbox, certificates};
use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};
use std::process::Command;
use std::time::Duration;

/// The port in the box that leads to the model.
const PORT: u16 = 8123;
/// What stands in the place of the key, where the agent wants one.
const NO_KEY: &str = "the-key-is-added-outside";
/// What agents know our own server by.
#[cfg(feature = "acp")]
const SERVER: &str = "gistify";
/// Most of what an agent may print on each of its outputs, in bytes.
const MOST_OUTPUT: usize = 64 << 20;
/// Lines of standard error that a failure is told with.
pub(super) const TAIL: usize = 20;
/// The longest trajectory of an agent's own that is read, in bytes.
const LONGEST_TRAJECTORY: u64 = 64 << 20;
/// Variables that say where the toolchain is.
const TOOLCHAIN: [(&str, &str); 2] = [("RUSTUP_HOME", ".rustup"), ("CARGO_HOME", ".cargo")];

/// What of the network an agent reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    /// Its model's endpoint alone.
    #[default]
    Model,
    /// All of it.
    Full,
}

/// How an attempt is made.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// What it may use.
    pub limits: AgentLimits,
    /// What it reaches.
    pub network: Network,
    /// cargo and rustc are there.
    pub execution: bool,
}

/// How an attempt went.
#[derive(Debug)]
pub struct Attempt {
    /// What was heard of it.
    pub heard: Heard,
    /// Why it ended.
    pub ended: Ended,
    /// All that it printed.
    pub stdout: Vec<u8>,
    /// The same of its other output.
    pub stderr: Vec<u8>,
    /// Its exit code.
    pub exit_code: Option<i32>,
    /// What went to its model, where that went through us.
    pub traffic: Option<Traffic>,
    /// What held it.
    pub sandbox: Kind,
    /// Wall time.
    pub wall: Duration,
}

/// The resources of an agent and all that it starts: runtimes of scripts reserve much, and compilers need it.
fn resources(limits: AgentLimits) -> ResourceLimits {
    ResourceLimits {
        cpu_s: limits.timeout.as_secs().saturating_mul(4).max(60),
        memory_bytes: 8 << 30,
        processes: 2048,
        file_bytes: 1 << 30,
        disk_bytes: 4 << 30,
        tmp_bytes: 1 << 30,
    }
}

/// The program of an agent that is one, when a box of that kind can hold it.
///
/// # Errors
/// [`Error::Setup`] when it is not installed, or when the box can't, with what to do.
pub fn ready(spec: &AgentSpec, sandbox: Kind) -> Result<Program> {
    if sandbox == Kind::Landlock {
        return Err(Error::Setup(
            "agents need bubblewrap: landlock can't give them a network with their model alone, nor hide the toolchain; \
             install it (`apt-get install bubblewrap`), or pass `--sandbox none` if you trust the agent"
                .into(),
        ));
    }
    let name = spec.argv.first().map_or("", String::as_str);
    let path = std::env::var("PATH").unwrap_or_default();
    program(name, &path).ok_or_else(|| {
        let how = spec
            .install
            .as_ref()
            .map_or_else(|| "put it on the PATH, or give its path in `argv`".into(), |i| format!("`{i}`"));
        Error::Setup(format!("agent `{}`: there is no program `{name}`; {how}", spec.name))
    })
}

/// Calls an agent with `prompt` in `place`; behind `door` is our own server, for agents that can be told of one.
///
/// # Errors
/// When it is not installed, when no box holds it, or when files can't be written. What the agent does wrong is no error.
pub fn attempt(
    spec: &AgentSpec,
    place: &Place,
    prompt: &str,
    sandbox: &Sandbox,
    options: &Options,
    door: Option<&Door>,
) -> Result<Attempt> {
    let program = ready(spec, sandbox.kind())?;
    std::fs::write(&place.prompt_file, prompt).map_err(Error::path("write", &place.prompt_file))?;
    let boxed = sandbox.kind() == Kind::Bwrap;
    // With the whole network open there is no loopback of its own.
    let own_loopback = boxed && options.network == Network::Model;
    let socket = place.model.join("socket");
    let endpoint = spec.endpoint.clone().map(|url| Endpoint {
        url,
        auth: spec.auth,
        key: spec.key.clone(),
        pause: Duration::from_secs(1),
        most_answers: matches!(spec.parser, Parser::MiniSweAgent | Parser::Plain).then_some(options.limits.steps),
    });
    let (relay, port) = match (endpoint, own_loopback) {
        (None, _) => (None, None),
        (Some(endpoint), true) => (Some(Relay::on_socket(&socket, endpoint)?), Some(PORT)),
        (Some(endpoint), false) => {
            let (relay, port) = Relay::on_port(endpoint)?;
            (Some(relay), Some(port))
        }
    };
    let words = Words { spec, place, prompt, options, url: port.map(|port| format!("http://127.0.0.1:{port}")) };
    for (path, text) in &spec.files {
        put(&place.home, path, &words.filled(text))?;
    }
    let bridged = port.filter(|_| own_loopback).map(|port| (port, socket.as_path()));
    let inner = command(&words, &program, bridged)?;
    let policy = policy(spec, place, &program, options)?;
    let mut command = sandbox.command(&inner, &policy)?;
    let (output, heard) = match spec.kind {
        AgentKind::Acp => talked(&mut command, place, prompt, options, door)?,
        _ => watched(&mut command, spec, place, prompt, options)?,
    };
    let report = sandbox.report(&command);
    if let Some(fault) = report.fault {
        let said = output.stderr_text();
        let said = said.trim_end();
        let said = if said.is_empty() { String::new() } else { format!("\n{said}") };
        return Err(Error::Setup(format!("the sandbox {} could not start the agent: {fault}{said}", sandbox.kind().name())));
    }
    let traffic = relay.map(|relay| relay.traffic());
    let steps = heard.agent_steps() > options.limits.steps || traffic.as_ref().is_some_and(|t| t.used_up);
    let mut ended = ended(&output, &heard, traffic.as_ref(), report.breach, steps, bridged.is_some(), spec.kind);
    if let Ended::Failed(said) | Ended::ModelUnavailable(said) | Ended::NoKey(said) | Ended::NotStarted(said) = &mut ended {
        *said = without_secrets(said, &spec.secrets);
    }
    Ok(Attempt {
        heard,
        ended,
        exit_code: output.status.code(),
        stdout: output.stdout,
        stderr: output.stderr,
        traffic,
        sandbox: sandbox.kind(),
        wall: output.wall,
    })
}

/// Runs a program and reads what it prints.
fn watched(
    command: &mut Command,
    spec: &AgentSpec,
    place: &Place,
    prompt: &str,
    options: &Options,
) -> Result<(Output, Heard)> {
    let mut reader = Reader::new(spec.parser, prompt);
    let limits = Limits { timeout: Some(options.limits.timeout), max_output: MOST_OUTPUT };
    let output = run_watched(command, limits, |line| {
        reader.line(line);
        reader.stamp();
        // The answer that would be one too many ends it, so that what the last one did still stands.
        reader.heard().agent_steps() <= options.limits.steps
    })?;
    if spec.parser == Parser::MiniSweAgent {
        reader.file(&trajectory(&place.out.join("trajectory.json")));
    }
    Ok((output, reader.finish()))
}

/// Talks to a program that speaks the Agent Client Protocol.
#[cfg(feature = "acp")]
fn talked(
    command: &mut Command,
    place: &Place,
    prompt: &str,
    options: &Options,
    door: Option<&Door>,
) -> Result<(Output, Heard)> {
    let server = |door: &Door| -> Result<_> {
        let args = vec![CLIENT.to_owned(), door.socket.to_string()];
        Ok(super::acp::McpServer { name: SERVER.to_owned(), command: this_program()?.into_string(), args })
    };
    let servers: Vec<_> = door.map(server).transpose()?.into_iter().collect();
    let talk = super::acp::converse(command, &place.workspace, prompt, &servers, &options.limits)?;
    let output = talk.output.ok_or_else(|| {
        let why = talk.heard.ended.as_ref().map(Ended::describe).unwrap_or_default();
        Error::Setup(format!("the agent could not be started: {why}"))
    })?;
    Ok((output, talk.heard))
}

#[cfg(not(feature = "acp"))]
fn talked(_: &mut Command, _: &Place, _: &str, _: &Options, _: Option<&Door>) -> Result<(Output, Heard)> {
    Err(Error::Usage(
        "this `cargo-gistify` was built without the feature `acp`; install it with its default features".into(),
    ))
}

/// Why it ended: what we did to it first, then what its endpoint did, then what it says, then how the process ended.
fn ended(
    output: &Output,
    heard: &Heard,
    traffic: Option<&Traffic>,
    breach: Option<Breach>,
    steps: bool,
    bridged: bool,
    kind: AgentKind,
) -> Ended {
    if steps {
        return Ended::StepLimit;
    }
    if output.timed_out {
        // An agent that waits for an endpoint which is down has used up no time of its own.
        return traffic.and_then(|t| t.last_fault.clone()).unwrap_or(Ended::TimeLimit);
    }
    let limit = match breach {
        Some(Breach::Machine) => return Ended::MachineMemory,
        Some(breach) => Some(breach.name()),
        None => output.truncated.then_some("output limit"),
    };
    if let Some(limit) = limit {
        return Ended::ResourceLimit(limit.to_owned());
    }
    // Over the Agent Client Protocol some say that they are done whatever has become of their last request.
    let said_well = match heard.ended {
        Some(Ended::StepLimit | Ended::ContextLimit) => true,
        Some(Ended::Done) => output.status.success() && kind != AgentKind::Acp,
        _ => false,
    };
    // An agent that has got over a fault of its endpoint has ended by itself.
    if let Some(fault) = traffic.and_then(|t| t.last_fault.clone()).filter(|_| !said_well) {
        return fault;
    }
    if let Some(ended) = &heard.ended {
        return ended.clone();
    }
    if output.status.success() {
        return Ended::Done;
    }
    let tail = output.stderr_tail(TAIL);
    if bridged && output.status.code() == Some(i32::from(FAILED)) {
        return Ended::NotStarted(tail);
    }
    let how = match (output.status.code(), output.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, signal) => format!("signal {}", signal.unwrap_or(0)),
    };
    Ended::Failed(if tail.is_empty() { how } else { format!("{how}\n{tail}") })
}

/// This binary, which runs in the box, too.
fn this_program() -> Result<Utf8PathBuf> {
    let exe = std::env::current_exe().map_err(Error::io("failed to find the running program"))?;
    Utf8PathBuf::from_path_buf(exe).map_err(|p| Error::Setup(format!("{} is not UTF-8", p.display())))
}

/// What placeholders stand for.
struct Words<'a> {
    spec: &'a AgentSpec,
    place: &'a Place,
    prompt: &'a str,
    options: &'a Options,
    url: Option<String>,
}

impl Words<'_> {
    /// A text with its placeholders filled in, once: what is filled in may look like one.
    fn filled(&self, text: &str) -> String {
        let place = self.place;
        let trajectory = place.out.join("trajectory.json");
        let steps = self.options.limits.steps.to_string();
        let words: [(&str, &str); 10] = [
            ("{prompt}", self.prompt),
            ("{prompt_file}", place.prompt_file.as_str()),
            ("{workspace}", place.workspace.as_str()),
            ("{gist}", place.gist.as_str()),
            ("{home}", place.home.as_str()),
            ("{model}", self.spec.model.as_deref().unwrap_or("default")),
            ("{endpoint}", self.url.as_deref().unwrap_or("http://127.0.0.1:9")),
            ("{key}", NO_KEY),
            ("{steps}", &steps),
            ("{trajectory}", trajectory.as_str()),
        ];
        let (mut out, mut rest) = (String::new(), text);
        while let Some(at) = rest.find('{') {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            let word = words.iter().find(|(name, _)| rest.starts_with(name));
            let (taken, value) = word.map_or((1, "{"), |(name, value)| (name.len(), value));
            out.push_str(value);
            rest = &rest[taken..];
        }
        out + rest
    }
}

/// The agent's command line, behind the bridge where it needs one.
fn command(words: &Words<'_>, program: &Program, bridge: Option<(u16, &Utf8Path)>) -> Result<Command> {
    let Words { spec, place, options, .. } = words;
    let mut inner = match bridge {
        None => Command::new(&program.path),
        Some((port, socket)) => {
            let mut inner = Command::new(this_program()?);
            inner.args([BRIDGE, &port.to_string(), socket.as_str(), program.path.as_str()]);
            inner
        }
    };
    inner.args(spec.argv[1..].iter().map(|arg| words.filled(arg))).current_dir(&place.workspace);
    let mut path: Vec<String> = program.bins.iter().map(ToString::to_string).collect();
    path.extend(["/usr/local/bin", "/usr/bin", "/bin"].map(str::to_owned));
    for (name, _) in TOOLCHAIN {
        inner.env_remove(name);
    }
    inner.env_remove("RUSTUP_TOOLCHAIN");
    if options.execution {
        for (name, value) in execution_environment() {
            path.extend((name == "CARGO_HOME").then(|| format!("{value}/bin")));
            inner.env(name, value);
        }
    }
    inner.env("HOME", &place.home).env("PATH", path.join(":")).env("NO_COLOR", "1").env("TERM", "dumb");
    inner.envs(spec.env.iter().map(|(name, value)| (name, words.filled(value.expose()))));
    Ok(inner)
}

/// Where the toolchain is, by the names of its variables.
fn toolchain() -> Vec<(&'static str, Utf8PathBuf)> {
    let home = std::env::var("HOME").unwrap_or_default();
    let place =
        |name: &str, under: &str| std::env::var(name).map_or_else(|_| Utf8Path::new(&home).join(under), Utf8PathBuf::from);
    TOOLCHAIN.map(|(name, under)| (name, place(name, under))).into_iter().filter(|(_, dir)| dir.is_dir()).collect()
}

/// What code that may use the toolchain needs in its environment.
pub(crate) fn execution_environment() -> Vec<(&'static str, String)> {
    let mut out: Vec<_> = toolchain().into_iter().map(|(name, dir)| (name, dir.into_string())).collect();
    out.push(("CARGO_NET_OFFLINE", "true".to_owned()));
    out
}

/// The sources of dependencies, for builds without a network.
pub(crate) fn execution_sources() -> Vec<Utf8PathBuf> {
    let cargo = toolchain().into_iter().find(|(name, _)| *name == "CARGO_HOME");
    let sources = cargo.iter().flat_map(|(_, home)| [home.join("registry"), home.join("git")]);
    sources.filter(|dir| dir.is_dir()).collect()
}

fn policy(spec: &AgentSpec, place: &Place, program: &Program, options: &Options) -> Result<Policy> {
    let mut read_only: Vec<Utf8PathBuf> = program.parts.iter().cloned().collect();
    read_only.extend(spec.show.iter().cloned());
    read_only.extend(certificates());
    read_only.extend([this_program()?, place.prompt_file.clone()]);
    if options.execution {
        read_only.extend(execution_sources());
    }
    let writable = [&place.workspace, &place.home, &place.model, &place.out].map(Clone::clone).to_vec();
    Ok(Policy {
        read_only,
        writable,
        without_toolchain: !options.execution,
        network: options.network == Network::Full,
        limits: resources(options.limits),
    })
}

/// A file in the agent's home.
fn put(home: &Utf8Path, path: &Utf8Path, text: &str) -> Result<()> {
    let inside = path.is_relative() && path.components().all(|c| matches!(c, camino::Utf8Component::Normal(_)));
    if !inside {
        return Err(Error::Usage(format!("`files`: {path} is no path in the agent's home")));
    }
    let file = home.join(path);
    if let Some(dir) = file.parent() {
        std::fs::create_dir_all(dir).map_err(Error::path("make the directory", dir))?;
    }
    std::fs::write(&file, text).map_err(Error::path("write", &file))
}

/// A trajectory of the agent's own; nothing when there is none, or no regular file.
fn trajectory(file: &Utf8Path) -> String {
    use std::io::Read;
    let mut bytes = Vec::new();
    if file.symlink_metadata().is_ok_and(|about| about.is_file()) {
        let read = std::fs::File::open(file).and_then(|f| f.take(LONGEST_TRAJECTORY).read_to_end(&mut bytes));
        // Half of it is better than nothing.
        drop(read);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A text without what nobody is to read.
#[must_use]
pub fn without_secrets(text: &str, secrets: &[Secret]) -> String {
    secrets.iter().fold(text.to_owned(), |text, secret| secret.redact(&text))
}
