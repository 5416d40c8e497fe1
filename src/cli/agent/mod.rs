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
use args::HowArgs;
use camino::{Utf8Path, Utf8PathBuf};
use cargo_gistify::agent::chat::ToolSet;
use cargo_gistify::agent::config::{AgentSpec, FILE, Kind, find};
use cargo_gistify::agent::door::Door;
use cargo_gistify::agent::own::{Means, own_attempt};
use cargo_gistify::agent::place::{Place, Template};
use cargo_gistify::agent::record::{Asked, AttemptReport, hidden, keep, next_folder};
use cargo_gistify::agent::run::{Options, attempt, ready, without_secrets};
use cargo_gistify::agent::workspace::project_root;
use cargo_gistify::agent::{AgentLimits, Ended};
use cargo_gistify::bench::set::write_json;
use cargo_gistify::error::{Error, ExitCode, Result};
use cargo_gistify::process::{self, Limits};
use cargo_gistify::report::{Cost, Report, TestId, peak_rss_bytes};
use cargo_gistify::road::judge::{Judged, VerifyOptions, unreadable};
use cargo_gistify::road::{AgentHost, AskOptions, Session, unverified};
use cargo_gistify::sandbox::Sandbox;
use cargo_gistify::task::Task;
use cargo_gistify::verify::gist_file::read_gist;
use cargo_gistify::verify::verdict::Verdict;
use cargo_gistify::workspace::capture::TestTarget;
use cargo_gistify::workspace::{Inline, Workspace, cargo};
use clap::ValueEnum;
use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

/// An agent, and how it is asked.
pub(super) struct Asking {
    pub(super) spec: AgentSpec,
    tools: ToolSet,
    pub(super) options: Options,
    pub(super) asked: Asked,
}

/// What all tasks of a run share.
pub(super) struct Run<'a> {
    pub(super) asking: &'a Asking,
    /// Ignored tests are run.
    pub(super) ignored: bool,
    /// For one run of a test.
    pub(super) timeout: Option<Duration>,
    /// The figures are explained line by line.
    pub(super) explain: bool,
    /// What our own server is started with, beside the tools: it selects the same project, in the same way.
    pub(super) server: Vec<String>,
    /// What the agent gets of the project.
    pub(super) project: &'a Template,
    pub(super) sandbox: &'a Sandbox,
    pub(super) shell: &'a Shell,
}

/// What became of an attempt.
pub(super) struct Outcome {
    pub(super) report: Report,
    pub(super) judged: Judged,
}

impl Outcome {
    fn code(&self) -> ExitCode {
        let infrastructure = self.report.attempt.as_ref().is_some_and(|attempt| attempt.infrastructure);
        match self.judged.verified.verdict {
            Verdict::Ok => ExitCode::Verified,
            _ if infrastructure => ExitCode::Setup,
            _ => ExitCode::Unverified,
        }
    }
}

impl Asking {
    /// The agent of that name, as it is asked for, when it can be called here.
    pub(super) fn new(name: &str, args: &HowArgs, root: Option<&Utf8Path>, sandbox: &Sandbox) -> Result<Asking> {
        let spec = spec(name, args, config_file(args, root)?)?;
        is_ready(&spec, sandbox)?;
        let tools = spec.tools.as_deref().map(str::parse).transpose()?.unwrap_or_default();
        let limits = AgentLimits {
            steps: args.agent_steps as usize,
            timeout: Duration::from_secs(args.agent_timeout),
            ..AgentLimits::default()
        };
        let options = Options { limits, network: args.agent_network.into(), execution: args.execution };
        let asked = Asked { strategy: args.strategy.into(), body: args.give_test_body, mcp: served(args)? };
        Ok(Asking { spec, tools, options, asked })
    }
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
    let name = asked.agent.as_deref().unwrap_or_default();
    let asking = Asking::new(name, &asked.how, root.as_deref(), &sandbox)?;
    let Work { workspace, mut targets, _room } = work(&args.selection, &args.program, Inline::None, shell)?;
    for (_, tasks) in &mut targets {
        tasks.retain(|task| is_runnable(task, args.selection.ignored, shell));
    }
    targets.retain(|(_, tasks)| !tasks.is_empty());
    if targets.is_empty() {
        return Ok(ExitCode::NoTest as u8);
    }
    let project = template(&workspace)?;
    shell.stage("Copied", &project.audit.line());
    let run = Run {
        asking: &asking,
        ignored: args.selection.ignored,
        timeout: args.timeout.map(Duration::from_secs),
        explain: args.explain,
        server: server_words(cli),
        project: &project,
        sandbox: &sandbox,
        shell,
    };
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
                    say(&report, &asking.spec, cli)?;
                    code = worse(code, e.exit_code());
                }
                shell.error(&e.to_string());
                continue;
            }
        };
        for task in tasks {
            let mut cost = std::mem::take(&mut shared);
            let begun = Instant::now();
            let name = default_name(target, task);
            let dir = workspace.state_dir.join("attempts").join(&asking.spec.name).join(name.trim_end_matches(".rs"));
            let own = match run.one(&session, target, task, || next_folder(&dir)) {
                Ok(outcome) => {
                    let own = outcome.code();
                    let Outcome { mut report, judged } = outcome;
                    cost.wall_s += report.cost.wall_s;
                    cost.rustc_calls += report.cost.rustc_calls;
                    cost.stages.append(&mut report.cost.stages);
                    cost.peak_rss_bytes = peak_rss_bytes();
                    report.cost = cost;
                    keep_result(&report, &asking.spec)?;
                    if cli.output.message_format == MessageFormat::Human {
                        if let Some(explanation) = &judged.explanation {
                            anstream::print!("{}", without_secrets(&explanation.text(), &asking.spec.secrets));
                        }
                        summary(task, &report, &judged, shell);
                        if let Some(path) = &report.gist {
                            shell.status("Gist", path.as_str());
                        }
                    }
                    say(&report, &asking.spec, cli)?;
                    own
                }
                Err(e) if ends_the_run(&e) || matches!(e, Error::Setup(_)) => return Err(e),
                Err(e) => {
                    shell.error(&e.to_string());
                    cost.wall_s += begun.elapsed().as_secs_f64();
                    say(&Report::failed(TestId::new(target, task), &e, cost), &asking.spec, cli)?;
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
pub(super) fn workspace_root(manifest: Option<&Utf8Path>) -> Option<Utf8PathBuf> {
    let mut locate = cargo();
    locate.args(["locate-project", "--workspace", "--message-format", "plain"]);
    locate.args(manifest.map(|path| format!("--manifest-path={path}")));
    let output = process::run(&mut locate, Limits::default()).ok().filter(|output| output.status.success())?;
    Utf8Path::new(output.stdout_text().trim()).parent().map(Utf8Path::to_owned)
}

/// The file with the agents; the workspace's own when none is named and there is one.
fn config_file(args: &HowArgs, root: Option<&Utf8Path>) -> Result<Option<Utf8PathBuf>> {
    match &args.config {
        Some(file) if !file.is_file() => Err(Error::Usage(format!("--config: there is no file {file}"))),
        Some(file) => Ok(Some(file.clone())),
        None => Ok(root.map(|root| root.join(FILE)).filter(|file| file.is_file())),
    }
}

fn spec(name: &str, args: &HowArgs, config: Option<Utf8PathBuf>) -> Result<AgentSpec> {
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
fn served(args: &HowArgs) -> Result<Vec<String>> {
    if args.mcp.contains(&McpTool::Extract) {
        return Err(Error::Usage("`--mcp extract` would do the agent's work; `--agent builtin` is the extractor".into()));
    }
    Ok(args.mcp.iter().filter_map(ValueEnum::to_possible_value).map(|value| value.get_name().to_owned()).collect())
}

#[cfg(not(feature = "mcp"))]
#[expect(clippy::unnecessary_wraps, reason = "the other one can fail")]
fn served(_: &HowArgs) -> Result<Vec<String>> {
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

/// What agents get of a workspace.
pub(super) fn template(workspace: &Workspace) -> Result<Template> {
    let target_dir = workspace.metadata.target_directory.clone();
    let built = [target_dir, workspace.build_dir.clone(), workspace.state_dir.clone()];
    Template::new(&project_root(&workspace.metadata.workspace_root), &built)
}

impl Run<'_> {
    /// One task: the agent is asked, what it leaves is kept in a folder that `folder` makes, and judged.
    pub(super) fn one(
        &self,
        session: &Session<'_>,
        target: &TestTarget,
        task: &Task,
        folder: impl FnOnce() -> Result<Utf8PathBuf>,
    ) -> Result<Outcome> {
        let Asking { spec, tools, options, asked } = self.asking;
        let shell = self.shell;
        let stage = |verb: &str, what: &str| shell.stage(verb, what);
        let begun = Instant::now();
        let place = Place::new(self.project)?;
        let ask = AskOptions {
            strategy: asked.strategy,
            body: asked.body,
            execution: options.execution,
            mcp: &asked.mcp,
            ignored: self.ignored,
            timeout: self.timeout,
        };
        let (prompt, coverage) = session.ask(task, &place.gist, &ask, &stage)?;
        shell.stage("Asking", &format!("{} for {}", spec.name, task.what()));
        let door = self.door(&place, &asked.mcp)?;
        let attempt = match spec.kind {
            Kind::Chat | Kind::Static => {
                let host = AgentHost::new(session, task, &place, self.sandbox, &coverage, self.ignored);
                let files = if spec.kind == Kind::Static { host.files() } else { Vec::new() };
                let means = Means { tools, host: &host, files: &files, sandbox: self.sandbox.kind() };
                own_attempt(spec, &place, &prompt, options, &means)?
            }
            Kind::Builtin | Kind::Command | Kind::Acp => {
                attempt(spec, &place, &prompt, self.sandbox, options, door.as_ref())?
            }
        };
        drop(door);
        // An attempt that was interrupted leaves nothing.
        let folder = folder()?;
        let attempted = keep(&folder, spec, &place, &prompt, &attempt, options, asked)?;
        self.tell(&attempted);
        let mut judged = match read_gist(&place.gist) {
            Err((verdict, reason)) => {
                unreadable(verdict, format!("{reason}; the agent ended: {}", attempted.ended.describe()))
            }
            Ok(text) => {
                let options = VerifyOptions {
                    ignored: self.ignored,
                    timeout: self.timeout,
                    build_timeout: None,
                    explain: self.explain,
                };
                session.judge(task, &text, options, &stage)?
            }
        };
        // What the gist prints may be what the agent put there.
        judged.verified.reason = without_secrets(&judged.verified.reason, &spec.secrets);
        let verdict = judged.verified.verdict;
        let kept = folder.join("gist.rs");
        if kept.is_file() && verdict != Verdict::Ok {
            std::fs::rename(&kept, unverified(&kept)).map_err(Error::path("rename", &kept))?;
        }
        let gist = if verdict == Verdict::Ok { kept } else { unverified(&kept) };
        let cost = Cost { wall_s: begun.elapsed().as_secs_f64(), ..Cost::default() };
        let mut report = Report::judged(TestId::new(target, task), gist.clone(), &judged, cost);
        report.gist = gist.is_file().then_some(gist);
        report.attempt = Some(attempted);
        Ok(Outcome { report, judged })
    }

    /// The way to our own server with these tools, if there are any.
    fn door(&self, place: &Place, tools: &[String]) -> Result<Option<Door>> {
        if tools.is_empty() {
            return Ok(None);
        }
        let program = std::env::current_exe().map_err(Error::io("failed to find the running program"))?;
        let mut words =
            ["mcp", "--quiet", "--tools", &tools.join(","), "--only-gist", place.gist.as_str()].map(str::to_owned).to_vec();
        words.extend(self.server.iter().cloned());
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
}

/// What our own server is started with to serve this project.
fn server_words(cli: &Cli) -> Vec<String> {
    let make = &cli.make;
    let sandbox = make.sandbox.to_possible_value().map(|value| format!("--sandbox={}", value.get_name()));
    let mut words: Vec<String> = sandbox.into_iter().collect();
    words.extend(make.selection.ignored.then(|| "--ignored".to_owned()));
    words.extend(make.sandbox_reference.then(|| "--sandbox-reference".to_owned()));
    words.extend(make.timeout.map(|seconds| format!("--timeout={seconds}")));
    words.extend(cli.cargo_words.iter().cloned());
    words
}

/// Keeps a report in the folder of its attempt.
fn keep_result(report: &Report, spec: &AgentSpec) -> Result<()> {
    let Some(attempt) = &report.attempt else { return Ok(()) };
    write_json(&attempt.record.join("result.json"), &hidden(report, &spec.secrets)?)
}

fn say(report: &Report, spec: &AgentSpec, cli: &Cli) -> Result<()> {
    let pretty = match cli.output.message_format {
        MessageFormat::Human => return Ok(()),
        format => format == MessageFormat::JsonPretty,
    };
    print_json(&hidden(report, &spec.secrets)?, pretty)
}
