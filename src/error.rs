//! Every expected error, each with its exit code.
//!
//! Messages are lower-case fragments that name the cause, and end with what to do next.

use camino::Utf8PathBuf;

/// Exit codes of the binary; `docs/exit-codes.md` has a line for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitCode {
    /// Everything asked for was made and verified.
    Verified = 0,
    /// The command line can't be understood.
    Usage = 2,
    /// A time limit was hit.
    TimeOut = 3,
    /// No test was selected.
    NoTest = 4,
    /// The test is unsupported or not deterministic.
    Unsupported = 5,
    /// A fault of this tool.
    Internal = 70,
    /// Something around the run is missing: a directory, permission, disk space, a tool.
    Setup = 96,
    /// A gist was made, but it did not verify.
    Unverified = 100,
    /// The selected targets do not build.
    BuildFailed = 101,
    /// `cargo metadata` failed.
    Metadata = 102,
    /// The tests could not be listed.
    ListFailed = 104,
    /// Interrupted by a signal (128 + SIGINT).
    Interrupted = 130,
}

/// What can go wrong and is expected to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Contradictory or unusable arguments.
    #[error("{0}")]
    Usage(String),
    /// Not a cargo project, or a manifest that cargo refuses.
    #[error("cargo could not read the project: {0}")]
    Metadata(String),
    /// The selected targets do not build; carries what cargo and rustc said.
    #[error("{0}\nthe selected targets do not build; fix the errors above, or pass the features and targets that do build")]
    BuildFailed(String),
    /// A test binary could not list its tests.
    #[error("{target} could not list its tests: {reason}")]
    ListFailed {
        /// The target, as cargo names it.
        target: String,
        /// What it said.
        reason: String,
    },
    /// Nothing matched.
    #[error("no test matches `{pattern}`{}", nearest_names(.nearest))]
    NoTest {
        /// What was asked for.
        pattern: String,
        /// Names that come close.
        nearest: Vec<String>,
    },
    /// A file has no test that would run.
    #[error("{file} has no test that matches; see its tests with `cargo gistify run {file} -- --list`")]
    NothingRan {
        /// The gist.
        file: Utf8PathBuf,
    },
    /// This tool does not support that test.
    #[error("{test}: not supported: {reason}")]
    Unsupported {
        /// The test's name.
        test: String,
        /// Why, and what to do instead.
        reason: String,
    },
    /// The test ends differently each time it runs.
    #[error("{test}: not deterministic: {reason}")]
    Nondeterministic {
        /// The test's name.
        test: String,
        /// What differed between runs.
        reason: String,
    },
    /// A child ran longer than it may.
    #[error("{what} took longer than {limit_s} s; give it more time with --timeout")]
    TimeOut {
        /// What ran.
        what: String,
        /// The limit, in seconds.
        limit_s: u64,
    },
    /// The full bundle of the project does not compile or does not pass.
    #[error("{test}: the bundle of the whole crate does not work, so nothing was removed:\n{reason}")]
    Bundling {
        /// The test's name.
        test: String,
        /// rustc's error, with locations mapped to the user's files.
        reason: String,
    },
    /// A file could not be read, written or made.
    #[error("{context}: {source}{}", io_hint(.source))]
    Io {
        /// What was being done.
        context: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// Something is missing on this machine.
    #[error("{0}")]
    Setup(String),
    /// Ctrl-C or a termination signal.
    #[error("interrupted; nothing is left half-written")]
    Interrupted,
    /// A fault of this tool.
    #[error("internal error: {0}; please report this with the command line")]
    Internal(String),
}

/// The library's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// The exit code that stands for this error.
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Error::Usage(_) => ExitCode::Usage,
            Error::Metadata(_) => ExitCode::Metadata,
            Error::BuildFailed(_) => ExitCode::BuildFailed,
            Error::ListFailed { .. } => ExitCode::ListFailed,
            Error::NoTest { .. } | Error::NothingRan { .. } => ExitCode::NoTest,
            Error::Unsupported { .. } | Error::Nondeterministic { .. } | Error::Bundling { .. } => ExitCode::Unsupported,
            Error::TimeOut { .. } => ExitCode::TimeOut,
            Error::Io { .. } | Error::Setup(_) => ExitCode::Setup,
            Error::Interrupted => ExitCode::Interrupted,
            Error::Internal(_) => ExitCode::Internal,
        }
    }

    /// An [`Error::Io`] that says what was being done.
    pub fn io(context: impl Into<String>) -> impl FnOnce(std::io::Error) -> Error {
        let context = context.into();
        move |source| Error::Io { context, source }
    }

    /// An [`Error::Io`] about one path.
    pub fn path(verb: &str, path: impl Into<Utf8PathBuf>) -> impl FnOnce(std::io::Error) -> Error {
        Error::io(format!("failed to {verb} {}", path.into()))
    }
}

fn nearest_names(names: &[String]) -> String {
    match names {
        [] => String::from("; `cargo gistify list` shows all tests"),
        names => format!("; did you mean {}?", names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")),
    }
}

fn io_hint(e: &std::io::Error) -> &'static str {
    match e.kind() {
        std::io::ErrorKind::StorageFull => "; free some disk space, or point TMPDIR and --target-dir elsewhere",
        std::io::ErrorKind::PermissionDenied => "; check the permissions, or choose another place with -o",
        _ => "",
    }
}
