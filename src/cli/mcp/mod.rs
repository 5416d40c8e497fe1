//! `cargo gistify mcp`: the tool as a server of the Model Context Protocol, so that coding agents can call it.
//!
//! Only the protocol goes to standard output; what people would see goes to standard error, as ever. A call works as the
//! subcommand does, on the files as they are then: nothing but the caches on disk is kept between calls, so no answer is out of date.
//! Calls are done one after the other: cargo locks its folder, and runs of tests may share a port or a file.

mod calls;
mod paced;

use super::args::{McpArgs, McpTool, OutputArgs};
use super::make::forget_parsed;
use super::shell::Shell;
use super::told;
use super::work::some_time;
use calls::{Answer, Extract, Graph, List, Served, Trace, Verify};
use cargo_gistify::error::{Error, ExitCode, Result};
use cargo_gistify::process::interrupt;
use clap::ValueEnum;
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolResult, ContentBlock, Implementation, ServerCapabilities, ServerConfig};
use rmcp::service::ServerInitializeError;
use rmcp::{ServerHandler, ServiceExt, tool, tool_handler, tool_router};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};

/// How long calls that nobody waits for any more may take to end.
const ENDING: Duration = Duration::from_secs(5);
/// Calls that may wait for their turn: each holds what it was asked, which may be a whole gist.
const MOST_CALLS: usize = 16;
/// How often it is looked for a signal.
const PAUSE: Duration = Duration::from_millis(50);

const INSTRUCTIONS: &str = "cargo gistify turns one test of this Cargo project into a single, minimal, verified Rust file (a gist). \
    Find the test's path with list_tests; trace says what it runs, graph who uses an item; extract makes the gist; verify judges any \
    file as the gist of a test. A first call builds the project and may take minutes.";

/// Serves until the client closes the connection, or a signal comes.
pub(super) fn serve(args: &McpArgs, output: &OutputArgs) -> Result<u8> {
    some_time("timeout", args.timeout)?;
    some_time("build-timeout", args.build_timeout)?;
    let server = Server::new(Served { args: args.clone(), shell: Shell::new(output) });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .thread_stack_size(crate::STACK_BYTES)
        .build()
        .map_err(Error::io("failed to start the server"))?;
    let ended = runtime.block_on(server.talk());
    // A thread of it may wait for a line of standard input that never comes.
    runtime.shutdown_background();
    server.end();
    ended
}

#[derive(Clone)]
struct Server {
    served: Arc<Served>,
    /// Calls that are not over.
    calls: Arc<AtomicUsize>,
    /// Held while a call works.
    turn: Arc<Mutex<()>>,
    tool_router: ToolRouter<Server>,
}

impl Server {
    fn new(served: Served) -> Server {
        let mut tool_router = Server::tool_router();
        let chosen = &served.args.tools;
        for tool in McpTool::value_variants().iter().filter(|tool| !chosen.is_empty() && !chosen.contains(tool)) {
            if let Some(value) = tool.to_possible_value() {
                tool_router.remove_route(value.get_name());
            }
        }
        Server { served: Arc::new(served), calls: Arc::default(), turn: Arc::default(), tool_router }
    }

    async fn talk(&self) -> Result<u8> {
        let talk = async {
            match self.clone().serve(paced::paced()).await {
                Ok(running) => running.waiting().await.map(drop).map_err(|e| Error::Internal(e.to_string())),
                // Who asks for nothing gets nothing.
                Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
                Err(e) => {
                    let why = match e {
                        ServerInitializeError::ExpectedInitializeRequest(_) => {
                            "it has to begin with `initialize`".to_owned()
                        }
                        e => e.to_string(),
                    };
                    Err(Error::Setup(format!(
                        "the client does not speak the Model Context Protocol: {why}; docs/mcp.md says how to register this server"
                    )))
                }
            }
        };
        tokio::select! {
            ended = talk => ended.map(|()| ExitCode::Verified as u8),
            e = interrupted() => Err(e),
        }
    }

    /// Ends the call that is under way, if one is: nobody waits for it any more.
    fn end(&self) {
        let start = Instant::now();
        while matches!(self.turn.try_lock(), Err(TryLockError::WouldBlock)) && start.elapsed() < ENDING {
            interrupt::raise();
            std::thread::sleep(PAUSE);
        }
    }

    /// Works in a thread of its own, which has the stack that deep syntax trees need.
    async fn call(&self, work: impl FnOnce(&Served) -> Result<Answer> + Send + 'static) -> CallToolResult {
        let waiting = Waiting::new(&self.calls);
        if waiting.before >= MOST_CALLS {
            return failed(&Error::Usage(format!("{MOST_CALLS} calls wait already; wait for their answers")));
        }
        let (served, turn) = (Arc::clone(&self.served), Arc::clone(&self.turn));
        let worked = tokio::task::spawn_blocking(move || {
            let _waiting = waiting;
            let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
            forget_parsed();
            let answer = interrupt::check().and_then(|()| work(&served));
            forget_parsed();
            answer
        });
        match worked.await.unwrap_or_else(|_| Err(Error::Internal("a call panicked".into()))) {
            Ok(Answer { text, value, failed }) => {
                let content = vec![ContentBlock::text(text)];
                let mut result = if failed { CallToolResult::error(content) } else { CallToolResult::success(content) };
                result.structured_content = Some(value);
                result
            }
            Err(e) => failed(&e),
        }
    }
}

/// A call that is counted until it is over, also when nobody waits for it any more.
struct Waiting {
    before: usize,
    calls: Arc<AtomicUsize>,
}

impl Waiting {
    fn new(calls: &Arc<AtomicUsize>) -> Waiting {
        Waiting { before: calls.fetch_add(1, Ordering::Relaxed), calls: Arc::clone(calls) }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.calls.fetch_sub(1, Ordering::Relaxed);
    }
}

/// An error as an answer.
fn failed(e: &Error) -> CallToolResult {
    let mut result = CallToolResult::error(vec![ContentBlock::text(told(e))]);
    result.structured_content = Some(serde_json::json!({ "error": told(e), "exit_code": e.exit_code() as u8 }));
    result
}

#[tool_router]
impl Server {
    /// List the tests of the project: path, place, target, ignored, should-panic, group of parameterised cases.
    #[tool(annotations(read_only_hint = true))]
    async fn list_tests(&self, Parameters(asked): Parameters<List>) -> CallToolResult {
        self.call(move |served| served.list(&asked)).await
    }

    /// Run one test with coverage and show what of the project it runs: functions with file, line and calls, files with executed lines.
    #[tool(annotations(read_only_hint = true))]
    async fn trace(&self, Parameters(asked): Parameters<Trace>) -> CallToolResult {
        self.call(move |served| served.trace(&asked)).await
    }

    /// Where an item (function, method, type, trait, macro, const) is defined, who uses it and what it uses, with file and line, as rustc
    /// resolved it; in the crates that the test is built of.
    #[tool(annotations(read_only_hint = true))]
    async fn graph(&self, Parameters(asked): Parameters<Graph>) -> CallToolResult {
        self.call(move |served| served.graph(&asked)).await
    }

    /// Make the gist of one test: a single, minimal Rust file that does what the test does, verified against the project. Gives its path,
    /// verdict and figures, and its text when that is small.
    #[tool(annotations(destructive_hint = false))]
    async fn extract(&self, Parameters(asked): Parameters<Extract>) -> CallToolResult {
        self.call(move |served| served.extract(&asked)).await
    }

    /// Judge any file as the gist of a test: the original test is put back, both are built and run in a sandbox and compared. Gives the
    /// verdict (`ok`, or the fault), its reason and the figures.
    #[tool(annotations(read_only_hint = true))]
    async fn verify(&self, Parameters(asked): Parameters<Verify>) -> CallToolResult {
        self.call(move |served| served.verify(&asked)).await
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("cargo-gistify", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }
}

/// Comes back when a signal has come.
async fn interrupted() -> Error {
    loop {
        if let Err(e) = interrupt::check() {
            return e;
        }
        tokio::time::sleep(PAUSE).await;
    }
}
