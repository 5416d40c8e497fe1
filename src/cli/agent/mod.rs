//! `cargo gistify --agent NAME TEST`: a coding agent makes the gists.

pub(super) mod args;

#[cfg(feature = "mcp")]
use super::args::McpTool;
use super::args::{Cli, MessageFormat};
use super::list::print_json;
use super::make::{ends_the_run, forget_parsed, is_runnable};
use super::places::default_name;
use super::shell::Shell;
use super::verify::summary;
use super::work::{Work, work};
use args::AgentArgs;
use camino::{Utf8Path, Utf8PathBuf};
use cargo_gistify::agent::chat::ToolSet;
use cargo_gistify::agent::config::{AgentSpec, FILE, Kind, find};
use cargo_gistify::agent::door::Door;
use cargo_gistify::agent::own::{Means, own_attempt};
use cargo_gistify::agent::place::Place;
use cargo_gistify::agent::record::{Asked, AttemptReport, hidden, keep, next_folder};
use cargo_gistify::agent::run::{Options, attempt, ready, without_secrets};
use cargo_gistify::agent::workspace::project_root;
use cargo_gistify::agent::{AgentLimits, Ended};
use cargo_gistify::error::{Error, ExitCode, Result};
use cargo_gistify::process::{self, Limits};
use cargo_gistify::report::{Cost, Report, TestId, peak_rss_bytes};
use cargo_gistify::road::judge::{VerifyOptions, unreadable};
use cargo_gistify::road::{AgentHost, AskOptions, Session, unverified};
use cargo_gistify::sandbox::Sandbox;
use cargo_gistify::task::Task;
use cargo_gistify::verify::gist_file::read_gist;
use cargo_gistify::verify::verdict::Verdict;
use cargo_gistify::workspace::capture::TestTarget;
use cargo_gistify::workspace::wrapper::write_atomically;
use cargo_gistify::workspace::{Inline, Workspace, cargo};
use clap::ValueEnum;
use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

/// What all tasks of a run share.
struct Run<'a> {
    cli: &'a Cli,
    spec: AgentSpec,
    tools: ToolSet,
    options: Options,
    workspace: &'a Workspace,
    sandbox: &'a Sandbox,
    shell: &'a Shell,
}

pub(super) fn make(cli: &Cli, shell: &Shell) -> Result<u8> {
    let args = &cli.make;
    let asked = &args.agent;
    let extractors = [
        ("-o", args.output_path.is_some()),
        ("--map", args.map.is_some()),
        ("--allow-stubs", args.allow_stubs),
        ("--inline", args.inline_all || !args.inline.is_empty()),
    ];
    if let Some((option, _)) = extractors.iter().find(|(_, given)| *given) {
        return Err(Error::Usage(format!(
            "`{option}` is for the built-in extractor; an agent's gist stands in the folder of its attempt, which is printed"
        )));
    }
    let start = Instant::now();
    let sandbox = Sandbox::open(args.sandbox.into())?;
    // What is wrong with the agent is told before anything is built.
    let root = workspace_root(args.selection.cargo.options().manifest_path.as_deref());
    let spec = spec(asked, config_file(asked, root.as_deref())?)?;
    is_ready(&spec, &sandbox)?;
    let tools = spec.tools.as_deref().map(str::parse).transpose()?.unwrap_or_default();
    let Work { workspace, mut targets, _room } = work(&args.selection, &args.program, Inline::None, shell)?;
    for (_, tasks) in &mut targets {
        tasks.retain(|task| is_runnable(task, args.selection.ignored, shell));
    }
    targets.retain(|(_, tasks)| !tasks.is_empty());
    if targets.is_empty() {
        return Ok(ExitCode::NoTest as u8);
    }
    let limits = AgentLimits {
        steps: asked.agent_steps as usize,
        timeout: Duration::from_secs(asked.agent_timeout),
        ..AgentLimits::default()
    };
    let options = Options { limits, network: asked.agent_network.into(), execution: asked.execution };
    let run = Run { cli, spec, tools, options, workspace: &workspace, sandbox: &sandbox, shell };
    let mut code = ExitCode::Verified;
    let mut shared = Cost { stages: BTreeMap::from([("build", start.elapsed().as_secs_f64())]), ..Cost::default() };
    shared.wall_s = start.elapsed().as_secs_f64();
    for (target, tasks) in &targets {
        forget_parsed();
        let stage = |verb: &str, what: &str| shell.stage(verb, what);
        let opened = tasks.iter().try_for_each(|t| t.compile(target));
        let session = match opened.and_then(|()| Session::open(&workspace, target, &sandbox, &stage)) {
            Ok(session) => session.with_reference_in_sandbox(args.sandbox_reference),
            Err(e) if ends_the_run(&e) => return Err(e),
            Err(e) => {
                for task in tasks {
                    let report = Report::failed(TestId::new(target, task), &e, std::mem::take(&mut shared));
                    run.say(&report)?;
                    code = worse(code, e.exit_code());
                }
                shell.error(&e.to_string());
                continue;
            }
        };
        for task in tasks {
            let mut cost = std::mem::take(&mut shared);
            let begun = Instant::now();
            let own = match run.one(&session, target, task) {
                Ok((mut report, own)) => {
                    cost.wall_s += report.cost.wall_s;
                    cost.rustc_calls += report.cost.rustc_calls;
                    cost.stages.append(&mut report.cost.stages);
                    cost.peak_rss_bytes = peak_rss_bytes();
                    report.cost = cost;
                    run.keep_result(&report)?;
                    run.say(&report)?;
                    own
                }
                Err(e) if ends_the_run(&e) || matches!(e, Error::Setup(_)) => return Err(e),
                Err(e) => {
                    shell.error(&e.to_string());
                    cost.wall_s += begun.elapsed().as_secs_f64();
                    run.say(&Report::failed(TestId::new(target, task), &e, cost))?;
                    e.exit_code()
                }
            };
            code = worse(code, own);
        }
    }
    Ok(code as u8)
}

/// The first that is not well is the one that the command ends with.
fn worse(before: ExitCode, own: ExitCode) -> ExitCode {
    if before == ExitCode::Verified { own } else { before }
}

/// Where the workspace is; none where cargo does not know, which it will say itself.
fn workspace_root(manifest: Option<&Utf8Path>) -> Option<Utf8PathBuf> {
    let mut locate = cargo();
    locate.args(["locate-project", "--workspace", "--message-format", "plain"]);
    locate.args(manifest.map(|path| format!("--manifest-path={path}")));
    let output = process::run(&mut locate, Limits::default()).ok().filter(|output| output.status.success())?;
    Utf8Path::new(output.stdout_text().trim()).parent().map(Utf8Path::to_owned)
}

/// The file with the agents; the workspace's own when none is named and there is one.
fn config_file(args: &AgentArgs, root: Option<&Utf8Path>) -> Result<Option<Utf8PathBuf>> {
    match &args.config {
        Some(file) if !file.is_file() => Err(Error::Usage(format!("--config: there is no file {file}"))),
        Some(file) => Ok(Some(file.clone())),
        None => Ok(root.map(|root| root.join(FILE)).filter(|file| file.is_file())),
    }
}

fn spec(args: &AgentArgs, config: Option<Utf8PathBuf>) -> Result<AgentSpec> {
    let name = args.agent.as_deref().unwrap_or_default();
    let mut spec = find(name, config.as_deref(), |variable| std::env::var(variable).ok())?;
    spec.model = args.model.clone().or(spec.model);
    if args.tools.is_some() && spec.kind != Kind::Chat {
        return Err(Error::Usage(format!("`--tools` is for agents of kind `chat`, and `{name}` is none")));
    }
    if !served(args)?.is_empty() && spec.kind != Kind::Acp {
        return Err(Error::Usage(format!("`--mcp` is for agents of kind `acp`, and `{name}` is none")));
    }
    spec.tools = args.tools.clone().or(spec.tools);
    Ok(spec)
}

/// The tools of our own server that an agent is given.
#[cfg(feature = "mcp")]
fn served(args: &AgentArgs) -> Result<Vec<String>> {
    if args.mcp.contains(&McpTool::Extract) {
        return Err(Error::Usage("`--mcp extract` would do the agent's work; `--agent builtin` is the extractor".into()));
    }
    Ok(args.mcp.iter().filter_map(ValueEnum::to_possible_value).map(|value| value.get_name().to_owned()).collect())
}

#[cfg(not(feature = "mcp"))]
#[expect(clippy::unnecessary_wraps, reason = "the other one can fail")]
fn served(_: &AgentArgs) -> Result<Vec<String>> {
    Ok(Vec::new())
}

/// Whether an agent can be called here at all.
fn is_ready(spec: &AgentSpec, sandbox: &Sandbox) -> Result<()> {
    match spec.kind {
        Kind::Command | Kind::Acp => ready(spec, sandbox.kind()).map(drop),
        Kind::Chat | Kind::Static => Ok(()),
        Kind::Builtin => {
            Err(Error::Usage(format!("agent `{}` is the built-in extractor: call it as `--agent builtin`", spec.name)))
        }
    }
}

impl Run<'_> {
    /// One task: the agent is asked, what it leaves is kept and judged.
    fn one(&self, session: &Session<'_>, target: &TestTarget, task: &Task) -> Result<(Report, ExitCode)> {
        let (args, shell) = (&self.cli.make, self.shell);
        let stage = |verb: &str, what: &str| shell.stage(verb, what);
        let begun = Instant::now();
        let workspace = self.workspace;
        let target_dir = workspace.metadata.target_directory.clone();
        let built = [target_dir, workspace.build_dir.clone(), workspace.state_dir.clone()];
        let place = Place::new(&project_root(&workspace.metadata.workspace_root), &built)?;
        shell.stage("Copied", &place.audit.line());
        let timeout = args.timeout.map(Duration::from_secs);
        let asked =
            Asked { strategy: args.agent.strategy.into(), body: args.agent.give_test_body, mcp: served(&args.agent)? };
        let ask = AskOptions {
            strategy: asked.strategy,
            body: asked.body,
            execution: self.options.execution,
            mcp: &asked.mcp,
            ignored: args.selection.ignored,
            timeout,
        };
        let (prompt, coverage) = session.ask(task, &place.gist, &ask, &stage)?;
        let name = default_name(target, task);
        let dir = workspace.state_dir.join("attempts").join(&self.spec.name).join(name.trim_end_matches(".rs"));
        shell.stage("Asking", &format!("{} for {}", self.spec.name, task.what()));
        let door = self.door(&place, &asked.mcp)?;
        let attempt = match self.spec.kind {
            Kind::Chat | Kind::Static => {
                let host = AgentHost::new(session, task, &place, self.sandbox, &coverage, args.selection.ignored);
                let files = if self.spec.kind == Kind::Static { host.files() } else { Vec::new() };
                let means = Means { tools: &self.tools, host: &host, files: &files, sandbox: self.sandbox.kind() };
                own_attempt(&self.spec, &place, &prompt, &self.options, &means)?
            }
            Kind::Builtin | Kind::Command | Kind::Acp => {
                attempt(&self.spec, &place, &prompt, self.sandbox, &self.options, door.as_ref())?
            }
        };
        drop(door);
        // An attempt that was interrupted leaves nothing.
        let folder = next_folder(&dir)?;
        let attempted = keep(&folder, &self.spec, &place, &prompt, &attempt, &self.options, &asked)?;
        self.tell(&attempted);
        let mut judged = match read_gist(&place.gist) {
            Err((verdict, reason)) => {
                unreadable(verdict, format!("{reason}; the agent ended: {}", attempted.ended.describe()))
            }
            Ok(text) => {
                let options =
                    VerifyOptions { ignored: args.selection.ignored, timeout, build_timeout: None, explain: args.explain };
                session.judge(task, &text, options, &stage)?
            }
        };
        // What the gist prints may be what the agent put there.
        judged.verified.reason = without_secrets(&judged.verified.reason, &self.spec.secrets);
        let verdict = judged.verified.verdict;
        let kept = folder.join("gist.rs");
        if kept.is_file() && verdict != Verdict::Ok {
            std::fs::rename(&kept, unverified(&kept)).map_err(Error::path("rename", &kept))?;
        }
        let gist = if verdict == Verdict::Ok { kept } else { unverified(&kept) };
        let cost = Cost { wall_s: begun.elapsed().as_secs_f64(), ..Cost::default() };
        let mut report = Report::judged(TestId::new(target, task), gist.clone(), &judged, cost);
        report.gist = gist.is_file().then_some(gist);
        let infrastructure = attempted.infrastructure;
        report.attempt = Some(attempted);
        if self.cli.output.message_format == MessageFormat::Human {
            if let Some(explanation) = &judged.explanation {
                anstream::print!("{}", without_secrets(&explanation.text(), &self.spec.secrets));
            }
            summary(task, &report, &judged, shell);
            if let Some(path) = &report.gist {
                shell.status("Gist", path.as_str());
            }
        }
        let code = match verdict {
            Verdict::Ok => ExitCode::Verified,
            _ if infrastructure => ExitCode::Setup,
            _ => ExitCode::Unverified,
        };
        Ok((report, code))
    }

    /// The way to our own server with these tools, if there are any.
    fn door(&self, place: &Place, tools: &[String]) -> Result<Option<Door>> {
        if tools.is_empty() {
            return Ok(None);
        }
        let make = &self.cli.make;
        let program = std::env::current_exe().map_err(Error::io("failed to find the running program"))?;
        let sandbox = make.sandbox.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
        let mut words =
            ["mcp", "--quiet", "--tools", &tools.join(","), "--only-gist", place.gist.as_str(), "--sandbox", &sandbox]
                .map(str::to_owned)
                .to_vec();
        words.extend(make.selection.ignored.then(|| "--ignored".to_owned()));
        words.extend(make.sandbox_reference.then(|| "--sandbox-reference".to_owned()));
        words.extend(make.timeout.map(|seconds| format!("--timeout={seconds}")));
        words.extend(self.cli.cargo_words.iter().cloned());
        let server = move || {
            let mut command = Command::new(&program);
            command.args(&words);
            command
        };
        Door::open(&place.model.join("mcp"), server).map(Some)
    }

    /// How the attempt went.
    fn tell(&self, attempt: &AttemptReport) {
        let tools: usize = attempt.tools.values().sum();
        let tokens = match (attempt.usage.input_tokens, attempt.usage.output_tokens) {
            (None, None) => String::new(),
            (input, output) => format!(", {} + {} tokens", input.unwrap_or(0), output.unwrap_or(0)),
        };
        let money = attempt.usage.cost_usd.map(|usd| format!(", {usd:.4} USD")).unwrap_or_default();
        self.shell.status(
            "Attempt",
            &format!(
                "{} steps, {tools} tool calls{tokens}{money} in {:.1}s; {}",
                attempt.steps, attempt.wall_s, attempt.record
            ),
        );
        match &attempt.ended {
            Ended::Done => {}
            ended if ended.is_infrastructure() => {
                self.shell.error(&format!("{}; this is not counted against the agent", ended.describe()));
            }
            ended => self.shell.warn(&format!("the agent ended: {}", ended.describe())),
        }
    }

    fn keep_result(&self, report: &Report) -> Result<()> {
        let Some(attempt) = &report.attempt else { return Ok(()) };
        let value = hidden(report, &self.spec.secrets)?;
        let text = serde_json::to_string_pretty(&value).map_err(|e| Error::Internal(e.to_string()))?;
        write_atomically(&attempt.record.join("result.json"), format!("{text}\n").as_bytes())
    }

    fn say(&self, report: &Report) -> Result<()> {
        let pretty = match self.cli.output.message_format {
            MessageFormat::Human => return Ok(()),
            format => format == MessageFormat::JsonPretty,
        };
        print_json(&hidden(report, &self.spec.secrets)?, pretty)
    }
}
