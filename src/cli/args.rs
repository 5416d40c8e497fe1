//! The arguments, named as cargo names them.

#[cfg(feature = "agents")]
pub(crate) use super::agent::args::AgentArgs;
#[cfg(feature = "agents")]
use super::bench::args::BenchArgs;
use camino::Utf8PathBuf;
use cargo_gistify::reduce::Level;
use cargo_gistify::sandbox::Choice;
use cargo_gistify::workspace::capture::TargetKind;
use cargo_gistify::workspace::{CargoOptions, Inline};
#[cfg(feature = "agents")]
use clap::FromArgMatches;
use clap::builder::styling::{AnsiColor, Styles};
use clap::{ArgAction, ArgMatches, Args, Parser, Subcommand, ValueEnum};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Turn one test (or one run of a program) of a Cargo project into a single, minimal, verified Rust file
///
/// The test is built with coverage and run; the crate is bundled into one file and reduced to what ran and what
/// rustc needs to compile that; the original test is put back, both are run and compared, and the scores printed.
/// Your files are never written to.
#[derive(Debug, Parser)]
#[command(name = "cargo gistify", bin_name = "cargo gistify", version, styles = STYLES, args_conflicts_with_subcommands = true)]
#[command(
    after_help = "Exit codes: 0 verified, 2 usage, 3 time-out, 4 no test selected, 5 unsupported or not deterministic,\n\
    70 internal, 96 set-up, 100 made but not verified, 101 project doesn't build, 102 metadata, 104 listing failed.\n\n\
    Examples:\n  cargo gistify parse::empty_input\n  cargo gistify --test api --exact round_trip -o repro.rs\n  cargo gistify --bin tool --stdin input.txt -- --sort\n  cargo gistify run repro.rs"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) make: MakeArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Cargo's flags as they were given.
    #[arg(skip)]
    pub(crate) cargo_words: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List every test of every target: place, kind, ignored, should-panic, group
    List(SelectionArgs),
    /// Show what a test or program runs: functions, lines, regions, call counts
    Trace(TraceArgs),
    /// Verify and score any file as the gist of a test, whoever wrote it
    Verify(VerifyArgs),
    /// As `verify`, for the scores: with `--explain` what they count, line by line
    Score(ScoreArgs),
    /// Screen tests: which end the same each time, wherever they run, and why the others do not
    CheckTests(CheckArgs),
    /// Serve these to coding agents: the Model Context Protocol over standard input and output
    #[cfg(feature = "mcp")]
    Mcp(McpArgs),
    /// Benchmark coding agents on the tests of any crates
    #[cfg(feature = "agents")]
    Bench(BenchArgs),
    /// Run a gist, also one with dependencies; exits as the test exits
    Run(RunArgs),
    /// Remove what is kept under the target directory: instrumented builds, records, gists, graphs
    Clean(CleanArgs),
    /// Print a completion script
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
}

#[derive(Clone, Debug, Args)]
pub(crate) struct MakeArgs {
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    /// Where the gist goes: a file, a directory, or `-` for standard output [default: target/gistify/gists/]
    #[arg(short, long = "output", value_name = "PATH")]
    pub(crate) output_path: Option<Utf8PathBuf>,
    /// How far to go: the whole crate, items only, or statements, too
    #[arg(long, value_enum, default_value_t = LevelArg::Full)]
    pub(crate) level: LevelArg,
    /// Let bodies, and branches with a value, that never ran become `unimplemented!()`
    #[arg(long)]
    pub(crate) allow_stubs: bool,
    /// Put the source of this dependency into the gist, too: a name, or NAME@VERSION
    #[arg(long, value_name = "DEP")]
    pub(crate) inline: Vec<String>,
    /// Put the source of all dependencies into the gist, except what can't be there: procedural macros, native libraries
    #[arg(long, conflicts_with = "inline")]
    pub(crate) inline_all: bool,
    /// What gists are built and run in; with `auto`, none where no sandbox works or a test needs what it closes
    #[arg(long, value_enum, default_value_t, value_name = "SANDBOX")]
    pub(crate) sandbox: SandboxArg,
    /// Run the project's own test in the sandbox as well
    #[arg(long)]
    pub(crate) sandbox_reference: bool,
    /// Print for every line of the gist what the scores count: whether it ran, whether and where the project has it
    #[arg(long)]
    pub(crate) explain: bool,
    /// Write the source map (JSON) here
    #[arg(long, value_name = "FILE")]
    pub(crate) map: Option<Utf8PathBuf>,
    #[command(flatten)]
    pub(crate) program: ProgramArgs,
    /// Seconds that one run of the test may take [default: 300; later runs ten times the first, at least 20]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
    #[cfg(feature = "agents")]
    #[command(flatten)]
    pub(crate) agent: AgentArgs,
}

/// How a program is called. Either of these (a bare `--`, too) selects the program of the one `--bin` or `--example`.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ProgramArgs {
    /// Standard input of the program: as `--`, it says that the one --bin or --example is meant itself
    #[arg(long, value_name = "FILE")]
    pub(crate) stdin: Option<Utf8PathBuf>,
    /// Arguments of the program: behind `--` (there may be none) the one --bin or --example is meant itself, not its tests
    #[arg(last = true, value_name = "ARGS")]
    pub(crate) args: Vec<String>,
    /// There is a `--` on the command line.
    #[arg(skip)]
    pub(crate) dashes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ScoreArgs {
    /// Print for every line of the gist what the scores count: whether it ran, whether and where the project has it
    #[arg(long)]
    pub(crate) explain: bool,
    #[command(flatten)]
    pub(crate) verify: VerifyArgs,
}

/// `--test` names the test here, so the target of an integration test goes by another name.
#[derive(Clone, Debug, Args)]
#[command(mut_arg("test", |a| a.long("test-target")))]
pub(crate) struct VerifyArgs {
    /// The file to verify
    pub(crate) gist: Utf8PathBuf,
    /// The test that it is a gist of: a part of its path that no other test has, or the whole path with --exact
    #[arg(long = "test", value_name = "TEST")]
    pub(crate) entry: Option<String>,
    /// TEST is the whole path
    #[arg(long)]
    pub(crate) exact: bool,
    /// TEST may be an ignored test
    #[arg(long, visible_alias = "include-ignored")]
    pub(crate) ignored: bool,
    #[command(flatten)]
    pub(crate) cargo: CargoArgs,
    #[command(flatten)]
    pub(crate) program: ProgramArgs,
    /// What the gist is built and run in; with `auto`, one that works here, or an error
    #[arg(long, value_enum, default_value_t, value_name = "SANDBOX")]
    pub(crate) sandbox: SandboxArg,
    /// Run the project's own test in the sandbox as well
    #[arg(long)]
    pub(crate) sandbox_reference: bool,
    /// Write the result (JSON) here, too
    #[arg(long, value_name = "FILE")]
    pub(crate) json_out: Option<Utf8PathBuf>,
    /// Seconds that one run of the test may take [default: 300; later runs and the gist's ten times the first, at least 20]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
    /// Seconds that rustc may take for the gist [default: 300]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) build_timeout: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct TraceArgs {
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    #[command(flatten)]
    pub(crate) program: ProgramArgs,
    /// Show the source with a count at each line
    #[arg(long)]
    pub(crate) source: bool,
    /// Seconds that the test may take
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    pub(crate) timeout: u64,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    /// How often each test is run in the project
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(2..))]
    pub(crate) runs: u32,
    /// What a test is run in once more
    #[arg(long, value_enum, default_value_t, value_name = "SANDBOX")]
    pub(crate) sandbox: SandboxArg,
    /// Seconds that one run of a test may take
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) timeout: u64,
    /// Write the list (JSON, one object a line) here, too
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub(crate) list: Option<Utf8PathBuf>,
}

#[cfg(feature = "mcp")]
#[derive(Clone, Debug, Args)]
pub(crate) struct McpArgs {
    /// Serve these tools only
    #[arg(long, value_enum, value_name = "TOOLS", value_delimiter = ',')]
    pub(crate) tools: Vec<McpTool>,
    /// Ignored tests are served, too
    #[arg(long, visible_alias = "include-ignored")]
    pub(crate) ignored: bool,
    /// What gists are built and run in. With `auto` those that are verified need one that works here
    #[arg(long, value_enum, default_value_t, value_name = "SANDBOX")]
    pub(crate) sandbox: SandboxArg,
    /// Run the project's own test in the sandbox as well
    #[arg(long)]
    pub(crate) sandbox_reference: bool,
    /// Seconds that one run of a test may take [default: 300; later runs and a gist's ten times the first, at least 20]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
    /// Seconds that rustc may take for a gist that is verified [default: 300]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) build_timeout: Option<u64>,
    /// Serve an agent in its box: of files it may name this gist alone
    #[arg(long, value_name = "FILE", hide = true)]
    pub(crate) only_gist: Option<Utf8PathBuf>,
    #[command(flatten)]
    pub(crate) cargo: CargoArgs,
}

/// A tool of the server.
#[cfg(feature = "mcp")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum McpTool {
    /// Which tests there are
    ListTests,
    /// What a test runs
    Trace,
    /// Who uses an item, and whom it uses
    Graph,
    /// Makes a gist
    Extract,
    /// The verdict on a gist
    Verify,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The gist
    pub(crate) gist: Utf8PathBuf,
    /// A rustup toolchain to use, like `1.95` or `nightly`
    #[arg(long)]
    pub(crate) toolchain: Option<String>,
    /// Do not reach for the network
    #[arg(long)]
    pub(crate) offline: bool,
    /// Arguments for the test harness, or for the program that the gist is
    #[arg(last = true)]
    pub(crate) args: Vec<String>,
}

#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SelectionArgs {
    /// Tests to select: parts of their paths, or whole paths with --exact
    #[arg(value_name = "TEST")]
    pub(crate) tests: Vec<String>,
    /// TEST is a whole path
    #[arg(long)]
    pub(crate) exact: bool,
    /// Leave out tests whose path has this part (or is this, with --exact)
    #[arg(long, value_name = "TEST")]
    pub(crate) skip: Vec<String>,
    /// Select ignored tests, too
    #[arg(long, visible_alias = "include-ignored")]
    pub(crate) ignored: bool,
    #[command(flatten)]
    pub(crate) cargo: CargoArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CleanArgs {
    /// Path to Cargo.toml
    #[arg(short, long, value_name = "PATH")]
    pub(crate) manifest_path: Option<Utf8PathBuf>,
    /// Directory for build artifacts
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) target_dir: Option<Utf8PathBuf>,
}

#[derive(Clone, Debug, Default, Args)]
pub(crate) struct CargoArgs {
    /// Package(s) to select
    #[arg(short, long, value_name = "SPEC", help_heading = "Package and target selection")]
    package: Vec<String>,
    /// All packages of the workspace
    #[arg(long, help_heading = "Package and target selection")]
    workspace: bool,
    /// Packages to leave out
    #[arg(long, value_name = "SPEC", help_heading = "Package and target selection")]
    exclude: Vec<String>,
    /// Unit tests of the library
    #[arg(long, help_heading = "Package and target selection")]
    lib: bool,
    /// Unit tests of all binaries
    #[arg(long, help_heading = "Package and target selection")]
    bins: bool,
    /// Unit tests of a binary, or with `--` the binary
    #[arg(long, value_name = "NAME", help_heading = "Package and target selection")]
    bin: Vec<String>,
    /// An integration test
    #[arg(long, value_name = "NAME", help_heading = "Package and target selection")]
    test: Vec<String>,
    /// Tests of an example, or with `--` the example
    #[arg(long, value_name = "NAME", help_heading = "Package and target selection")]
    example: Vec<String>,
    /// Examples in the library's documentation
    #[arg(long, help_heading = "Package and target selection")]
    pub(crate) doc: bool,
    /// Benchmarks are not supported; this says why
    #[arg(long, value_name = "NAME", hide = true)]
    bench: Vec<String>,
    /// As --bench
    #[arg(long, hide = true)]
    benches: bool,
    /// Features to activate
    #[arg(short = 'F', long, value_name = "FEATURES", help_heading = "Feature selection")]
    features: Vec<String>,
    /// All features
    #[arg(long, help_heading = "Feature selection")]
    all_features: bool,
    /// No default features
    #[arg(long, help_heading = "Feature selection")]
    no_default_features: bool,
    /// Unit tests and integration tests, no examples
    #[arg(long = "tests", help_heading = "Package and target selection")]
    all_tests: bool,
    /// Tests of all examples
    #[arg(long = "examples", help_heading = "Package and target selection")]
    all_examples: bool,
    /// Build with the release profile
    #[arg(short, long, help_heading = "Compilation options", conflicts_with = "profile")]
    release: bool,
    /// Build profile
    #[arg(long, value_name = "PROFILE", help_heading = "Compilation options")]
    profile: Option<String>,
    /// Target triple
    #[arg(long, value_name = "TRIPLE", help_heading = "Compilation options")]
    target: Option<String>,
    /// Directory for build artifacts
    #[arg(long, value_name = "DIRECTORY", help_heading = "Compilation options")]
    target_dir: Option<Utf8PathBuf>,
    /// Number of parallel jobs: of cargo, and of tests that are worked on at once
    #[arg(short, long, value_name = "N", help_heading = "Compilation options")]
    pub(crate) jobs: Option<String>,
    /// Path to Cargo.toml
    #[arg(short, long, value_name = "PATH", help_heading = "Manifest options")]
    manifest_path: Option<Utf8PathBuf>,
    /// The lock file must not change
    #[arg(long, help_heading = "Manifest options")]
    locked: bool,
    /// Do not reach for the network
    #[arg(long, help_heading = "Manifest options")]
    offline: bool,
    /// --locked and --offline
    #[arg(long, help_heading = "Manifest options")]
    frozen: bool,
}

impl CargoArgs {
    /// Those of the flags that say how code is built, not which.
    #[cfg(feature = "agents")]
    pub(crate) fn build_words(matches: &ArgMatches) -> Vec<String> {
        let how = ["--features", "--all-features", "--no-default-features", "--release", "--profile", "--target"];
        let of = |word: &String| how.contains(&word.split('=').next().unwrap_or_default());
        CargoArgs::words(matches).into_iter().filter(of).collect()
    }

    /// Flags that were said before, with packages beside them.
    ///
    /// # Errors
    /// clap's, for what are no flags.
    #[cfg(feature = "agents")]
    pub(crate) fn said_again(words: &[String], packages: Vec<String>) -> std::result::Result<CargoArgs, clap::Error> {
        let command = CargoArgs::augment_args(clap::Command::new("cargo").no_binary_name(true));
        let args = CargoArgs::from_arg_matches(&command.try_get_matches_from(words)?)?;
        Ok(CargoArgs { package: packages, ..args })
    }

    /// The flags that were given, for another call of this tool.
    pub(crate) fn words(matches: &ArgMatches) -> Vec<String> {
        let mut words = Vec::new();
        for arg in CargoArgs::augment_args(clap::Command::new("cargo")).get_arguments() {
            let Some(long) = arg.get_long() else { continue };
            let id = arg.get_id().as_str();
            match arg.get_action() {
                ArgAction::SetTrue => words.extend(matches.get_flag(id).then(|| format!("--{long}"))),
                _ => {
                    let values = matches.get_raw(id).into_iter().flatten();
                    words.extend(values.map(|value| format!("--{long}={}", value.to_string_lossy())));
                }
            }
        }
        words
    }

    /// The same for another project, with build output of its own.
    #[cfg(feature = "agents")]
    pub(crate) fn of(self, manifest: Utf8PathBuf, target_dir: Utf8PathBuf) -> CargoArgs {
        CargoArgs { manifest_path: Some(manifest), target_dir: Some(target_dir), ..self }
    }

    /// What of the flags is for one project, or for its tests, and not for a set of tasks.
    #[cfg(feature = "agents")]
    pub(crate) fn not_for_sets(&self) -> Option<&'static str> {
        let flags = [("--manifest-path", self.manifest_path.is_some()), ("--target-dir", self.target_dir.is_some())];
        let flags = flags.into_iter().chain([("--doc", self.doc)]);
        flags.filter(|(_, given)| *given).map(|(flag, _)| flag).next()
    }

    /// Flags that say what cargo may do with the lock file and the network.
    #[cfg(feature = "agents")]
    pub(crate) fn lock_words(&self) -> Vec<&'static str> {
        let flags = [("--locked", self.locked), ("--offline", self.offline), ("--frozen", self.frozen)];
        flags.into_iter().filter(|(_, given)| *given).map(|(flag, _)| flag).collect()
    }

    /// Benchmarks that are asked for, as cargo's flag.
    pub(crate) fn asked_benches(&self) -> Option<String> {
        let named = self.bench.first().map(|name| format!("--bench {name}"));
        named.or_else(|| self.benches.then(|| "--benches".to_owned()))
    }

    /// The one binary or example that is selected, when nothing else is.
    pub(crate) fn only_program(&self) -> Option<(TargetKind, &str)> {
        let others = self.doc || self.lib || self.bins || self.all_tests || self.all_examples || !self.test.is_empty();
        match (self.bin.as_slice(), self.example.as_slice(), others) {
            ([name], [], false) => Some((TargetKind::Bin, name)),
            ([], [name], false) => Some((TargetKind::Example, name)),
            _ => None,
        }
    }

    pub(crate) fn options(&self) -> CargoOptions {
        let a = self.clone();
        CargoOptions {
            manifest_path: a.manifest_path,
            packages: a.package,
            workspace: a.workspace,
            exclude: a.exclude,
            lib: a.lib,
            all_bins: a.bins,
            bins: a.bin,
            all_tests: a.all_tests,
            tests: a.test,
            all_examples: a.all_examples,
            examples: a.example,
            features: a.features,
            all_features: a.all_features,
            no_default_features: a.no_default_features,
            profile: a.profile.or_else(|| a.release.then(|| "release".to_owned())),
            target: a.target,
            target_dir: a.target_dir,
            jobs: a.jobs,
            locked: a.locked,
            offline: a.offline,
            frozen: a.frozen,
            inline: Inline::None,
        }
    }
}

#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// What goes to standard output
    #[arg(long, value_enum, default_value_t, global = true, value_name = "FORMAT")]
    pub(crate) message_format: MessageFormat,
    /// Colours
    #[arg(long, value_enum, default_value_t, global = true, value_name = "WHEN", env = "CARGO_TERM_COLOR")]
    pub(crate) color: ColorChoice,
    /// No status lines
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// More about what is done
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum MessageFormat {
    /// For people
    #[default]
    Human,
    /// One JSON object a line
    Json,
    /// JSON with line breaks
    JsonPretty,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// When the terminal can
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LevelArg {
    /// The whole crate as one file
    Bundle,
    /// Only the items that are needed
    Items,
    /// Statements, arms and branches that never ran go, too
    Full,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum SandboxArg {
    /// The best that works here
    #[default]
    Auto,
    /// bubblewrap
    Bwrap,
    /// Landlock and seccomp
    Landlock,
    /// No sandbox: limits only
    None,
}

impl From<SandboxArg> for Choice {
    fn from(arg: SandboxArg) -> Choice {
        match arg {
            SandboxArg::Auto => Choice::Auto,
            SandboxArg::Bwrap => Choice::Bwrap,
            SandboxArg::Landlock => Choice::Landlock,
            SandboxArg::None => Choice::None,
        }
    }
}

impl From<LevelArg> for Level {
    fn from(arg: LevelArg) -> Level {
        match arg {
            LevelArg::Bundle => Level::Bundle,
            LevelArg::Items => Level::Items,
            LevelArg::Full => Level::Full,
        }
    }
}

#[cfg(test)]
mod unit {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_do_not_clash() {
        Cli::command().debug_assert();
    }

    #[test]
    fn cargos_flags_are_said_again_as_they_were() {
        let given =
            ["--package=a", "--package=b", "--lib", "--test=x", "--features=y,z", "--profile=dev", "--jobs=2", "--locked"];
        let matches = Cli::command().get_matches_from(["cargo gistify", "a_test", "--ignored"].iter().chain(&given));
        let again = CargoArgs::words(&matches);
        assert_eq!(again, given);
        Cli::command().get_matches_from(["cargo gistify", "mcp"].into_iter().chain(again.iter().map(String::as_str)));
    }
}
