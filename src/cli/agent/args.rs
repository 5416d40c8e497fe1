//! The arguments of agents.

#[cfg(feature = "mcp")]
use super::super::args::McpTool;
use camino::Utf8PathBuf;
use cargo_gistify::agent::prompt::Strategy;
use cargo_gistify::agent::run::Network;
use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};

/// Who makes the gist, and how.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Agents")]
pub(crate) struct AgentArgs {
    /// Have a coding agent make the gist: a preset like claude or codex, or one of the configuration; `builtin` is the extractor
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    #[command(flatten)]
    pub(crate) how: HowArgs,
}

/// How agents are asked. Each needs `--agent`, whatever the subcommand.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Agents")]
pub(crate) struct HowArgs {
    /// The configuration with `[agents.NAME]` [default: .cargo/gistify.toml of the workspace]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<Utf8PathBuf>,
    /// The model that the agent is to use
    #[arg(long, value_name = "MODEL", requires = "agent")]
    pub(crate) model: Option<String>,
    /// How the agent is told to go about it
    #[arg(long, value_enum, default_value_t, value_name = "STRATEGY", requires = "agent")]
    pub(crate) strategy: StrategyArg,
    /// Tools of the chat agent: search, read and edit, beside them edit-and-execute, bash, trace, graph; `none` is edit alone
    #[arg(long, value_name = "LIST", requires = "agent")]
    pub(crate) tools: Option<String>,
    /// Give the test's text in the prompt
    #[arg(long, requires = "agent")]
    pub(crate) give_test_body: bool,
    /// The agent may run code: cargo and rustc are in its box
    #[arg(long, requires = "agent")]
    pub(crate) execution: bool,
    /// The agent may not run code: there is no toolchain in its box (the default)
    #[arg(long, requires = "agent", conflicts_with = "execution")]
    pub(crate) no_execution: bool,
    /// What the agent reaches: its model's endpoint alone, or the whole network
    #[arg(long, value_enum, default_value_t, value_name = "NETWORK", requires = "agent")]
    pub(crate) agent_network: NetworkArg,
    /// Tools of `cargo gistify mcp` that the agent is given, over a socket: list_tests, trace, graph, verify; for agents of kind `acp`
    #[cfg(feature = "mcp")]
    #[arg(long, value_enum, value_name = "TOOLS", value_delimiter = ',', requires = "agent")]
    pub(crate) mcp: Vec<McpTool>,
    /// Steps (answers of its model) that the agent may take
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..), requires = "agent")]
    pub(crate) agent_steps: u32,
    /// Seconds that the agent may take
    #[arg(long, value_name = "SECONDS", default_value_t = 1800, value_parser = clap::value_parser!(u64).range(1..), requires = "agent")]
    pub(crate) agent_timeout: u64,
}

impl HowArgs {
    /// The words that say the same to another process, without `--config`, which hangs on the folder.
    pub(crate) fn words(&self) -> Vec<String> {
        let name = |value: Option<PossibleValue>| value.map(|v| v.get_name().to_owned()).unwrap_or_default();
        let mut words = vec![
            format!("--strategy={}", name(self.strategy.to_possible_value())),
            format!("--agent-network={}", name(self.agent_network.to_possible_value())),
            format!("--agent-steps={}", self.agent_steps),
            format!("--agent-timeout={}", self.agent_timeout),
        ];
        words.extend(self.model.iter().map(|model| format!("--model={model}")));
        words.extend(self.tools.iter().map(|tools| format!("--tools={tools}")));
        let flags = [
            ("--give-test-body", self.give_test_body),
            ("--execution", self.execution),
            ("--no-execution", self.no_execution),
        ];
        words.extend(flags.iter().filter(|(_, given)| *given).map(|(flag, _)| (*flag).to_owned()));
        #[cfg(feature = "mcp")]
        words.extend(self.mcp.iter().map(|tool| format!("--mcp={}", name(tool.to_possible_value()))));
        words
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum StrategyArg {
    /// The task alone
    #[default]
    Base,
    /// From the test to what it uses, and on from there
    Reading,
    /// Along the execution, as far as it can be foretold
    Tracing,
}

impl From<StrategyArg> for Strategy {
    fn from(arg: StrategyArg) -> Strategy {
        match arg {
            StrategyArg::Base => Strategy::Base,
            StrategyArg::Reading => Strategy::Reading,
            StrategyArg::Tracing => Strategy::Tracing,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum NetworkArg {
    /// The model's endpoint, and nothing else
    #[default]
    Model,
    /// The whole network; results say so
    Full,
}

impl From<NetworkArg> for Network {
    fn from(arg: NetworkArg) -> Network {
        match arg {
            NetworkArg::Model => Network::Model,
            NetworkArg::Full => Network::Full,
        }
    }
}
