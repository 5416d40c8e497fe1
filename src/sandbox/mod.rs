//! A box for strangers' code: gists, and the procedural macros that rustc loads for them.
//!
//! Linux only. [`Kind::Bwrap`] is bubblewrap: namespaces of its own, in which only what the [`Policy`], the toolchain and
//! the system's libraries need is there at all; Landlock and seccomp stand behind it. [`Kind::Landlock`] is for where
//! namespaces can't be made: the machine is visible, but closed. [`Kind::None`] only limits and cleans up.
//!
//! A boxed command is a chain of processes, all of them this binary until the last (`stages`):
//!
//! ```text
//! relay      killed with its process group when the time is up
//!   supervise    in a group of its own: limits, orphans, cleaning up; sees the relay die
//!     (bwrap)
//!       enter    restricts itself for good, and becomes (or starts) what was asked for
//! ```
//!
//! Paths inside are those outside, so nothing is rewritten.

#[cfg(target_os = "linux")]
mod bwrap;
#[cfg(target_os = "linux")]
mod cgroup;
#[cfg(target_os = "linux")]
mod landlock;
mod limits;
#[cfg(target_os = "linux")]
mod probe;
#[cfg(target_os = "linux")]
mod seccomp;
mod shown;
#[cfg(target_os = "linux")]
mod stages;
#[cfg(target_os = "linux")]
mod tree;

pub use limits::{Breach, ResourceLimits};
pub use shown::certificates;
#[cfg(target_os = "linux")]
pub use stages::entry;

use crate::error::{Error, Result};
use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What follows the program's name when this binary is a stage of a box.
const STAGE: &str = "__sandbox-exec";

/// What a command line asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The best that works here; never [`Kind::None`].
    #[default]
    Auto,
    /// bubblewrap, or an error.
    Bwrap,
    /// Landlock and seccomp, or an error.
    Landlock,
    /// No box: limits only.
    None,
}

impl Choice {
    /// All of them, in the order in which help shows them.
    pub const ALL: [Choice; 4] = [Choice::Auto, Choice::Bwrap, Choice::Landlock, Choice::None];

    /// As on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Choice::Auto => "auto",
            Choice::Bwrap => Kind::Bwrap.name(),
            Choice::Landlock => Kind::Landlock.name(),
            Choice::None => Kind::None.name(),
        }
    }
}

impl std::str::FromStr for Choice {
    type Err = Error;

    fn from_str(name: &str) -> Result<Choice> {
        let found = Choice::ALL.into_iter().find(|c| c.name() == name);
        found.ok_or_else(|| Error::Usage(format!("`{name}` is no sandbox; there are auto, bwrap, landlock and none")))
    }
}

/// What is used; it stands in every result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// bubblewrap, with Landlock and seccomp inside.
    Bwrap,
    /// Landlock and seccomp.
    Landlock,
    /// Nothing but limits.
    None,
}

impl Kind {
    /// As in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Bwrap => "bwrap",
            Kind::Landlock => "landlock",
            Kind::None => "none",
        }
    }
}

/// What one command may reach and use, beside system libraries, which are always there to read, and the toolchain, which is unless the
/// policy says otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Files and folders to read, and to execute from.
    pub read_only: Vec<Utf8PathBuf>,
    /// Files and folders to write, too.
    pub writable: Vec<Utf8PathBuf>,
    /// The toolchain is not there. Only bubblewrap can do that.
    pub without_toolchain: bool,
    /// The machine's network is open. Only bubblewrap can do that, or no box at all.
    pub network: bool,
    /// What it may use.
    pub limits: ResourceLimits,
}

/// A kind of box that was seen to hold on this machine.
#[derive(Debug)]
pub struct Sandbox {
    kind: Kind,
    /// The binary of which the stages are made.
    exe: PathBuf,
    host_proc: bool,
    reports: tempfile::TempDir,
    commands: AtomicUsize,
}

/// What the stages are told. It is an argument, so it holds nothing secret.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Spec {
    kind: Kind,
    policy: Policy,
    /// Where the supervisor writes down what happened; out of the box's reach.
    report: Utf8PathBuf,
    /// bubblewrap shows the `/proc` of outside: a new one can't be mounted here.
    host_proc: bool,
    /// What the program is to be called, if not by its path.
    arg0: Option<String>,
    /// `PWD` as the command set it; bubblewrap sets one, too.
    pwd: Option<String>,
    /// Set by the relay: its process id.
    relay: i32,
    /// Set by the supervisor: descriptor that `enter` speaks to it through.
    words: i32,
    /// Set by the supervisor: what RLIMIT_NPROC is to be.
    tasks: Option<u64>,
}

/// What the supervisor found out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The limit that ended the run.
    pub breach: Option<Breach>,
    /// Why the command was never started.
    pub fault: Option<String>,
}

impl Sandbox {
    /// The box that `choice` means, after a run in it has shown that it holds.
    ///
    /// # Errors
    /// [`Error::Setup`] when it does not work here, with what to do about it.
    pub fn open(choice: Choice) -> Result<Sandbox> {
        let exe = std::env::current_exe().map_err(Error::io("failed to find the running program"))?;
        Sandbox::open_with(choice, exe)
    }

    /// The same, with another `cargo-gistify` for its stages: the running program may be none.
    ///
    /// # Errors
    /// As [`Sandbox::open`].
    pub fn open_with(choice: Choice, exe: PathBuf) -> Result<Sandbox> {
        let open = |kind, host_proc| -> Result<Sandbox> {
            let reports = tempfile::Builder::new().prefix("gistify-").tempdir();
            let reports = reports.map_err(Error::io("failed to make a temporary directory"))?;
            Ok(Sandbox { kind, exe: exe.clone(), host_proc, reports, commands: AtomicUsize::new(0) })
        };
        let tried = |kind, host_proc| -> Result<Sandbox> {
            let sandbox = open(kind, host_proc)?;
            sandbox.probe()?;
            Ok(sandbox)
        };
        // In containers a new `/proc` is often refused where the rest works.
        let bwrap = || tried(Kind::Bwrap, false).or_else(|first| tried(Kind::Bwrap, true).map_err(|_| first));
        let hint = "install bubblewrap 0.8 or later (`apt-get install bubblewrap`), use a kernel with Landlock (6.12 or later), \
                    or pass `--sandbox none` if you trust the code";
        match choice {
            Choice::None => open(Kind::None, false),
            Choice::Bwrap => bwrap().map_err(|e| Error::Setup(format!("the sandbox bwrap does not work here: {e}; {hint}"))),
            Choice::Landlock => tried(Kind::Landlock, false)
                .map_err(|e| Error::Setup(format!("the sandbox landlock does not work here: {e}; {hint}"))),
            Choice::Auto => bwrap().or_else(|bwrap| {
                tried(Kind::Landlock, false).map_err(|landlock| {
                    Error::Setup(format!("no sandbox works here (bwrap: {bwrap}; landlock: {landlock}); {hint}"))
                })
            }),
        }
    }

    /// What is used.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// `inner` in the box: program, arguments, folder, and the environment that it sets; of the caller's environment only
    /// a few names like `PATH`. Streams are the caller's to set afterwards.
    ///
    /// It ends as `inner` does, by the same code or signal. A name that `inner` was given with `arg0` can't be read from
    /// it: see [`Sandbox::command_as`].
    ///
    /// # Errors
    /// When what the policy names is not there.
    pub fn command(&self, inner: &Command, policy: &Policy) -> Result<Command> {
        self.command_as(inner, policy, None)
    }

    /// [`Sandbox::command`] for a program that is called `arg0`.
    ///
    /// # Errors
    /// As [`Sandbox::command`].
    pub fn command_as(&self, inner: &Command, policy: &Policy, arg0: Option<&str>) -> Result<Command> {
        let mut policy = policy.clone();
        for path in policy.read_only.iter().chain(&policy.writable) {
            if !path.is_absolute() || !path.exists() {
                return Err(Error::Setup(format!("{path} can't be shown in a sandbox: no such absolute path")));
            }
        }
        let set = |name: &str| inner.get_envs().find(|(k, _)| *k == OsStr::new(name)).and_then(|(_, v)| v);
        let path = set("PATH").map(OsStr::to_owned).or_else(|| std::env::var_os("PATH"));
        // A link's target must be there by its own name, too: that is what the working directory goes by.
        for paths in [&mut policy.read_only, &mut policy.writable] {
            let real: Vec<_> = paths.iter().filter_map(|p| p.canonicalize_utf8().ok().filter(|real| real != p)).collect();
            paths.extend(real);
        }
        if (policy.without_toolchain || policy.network) && self.kind == Kind::Landlock {
            return Err(Error::Setup("landlock can neither hide the toolchain nor open the network; use bubblewrap".into()));
        }
        policy.read_only.extend(shown::of_program(inner.get_program(), path.as_deref()));
        if policy.network {
            policy.read_only.extend(shown::network());
        }
        if !policy.without_toolchain {
            policy.read_only.extend(shown::toolchains());
        }
        // `/tmp` is the machine's there, and closed.
        let scratch = policy.writable.iter().find(|path| self.kind == Kind::Landlock && path.is_dir()).cloned();
        let mut command = if cfg!(target_os = "linux") {
            let number = self.commands.fetch_add(1, Ordering::Relaxed);
            let report = Utf8PathBuf::from_path_buf(self.reports.path().join(number.to_string()))
                .map_err(|p| Error::Setup(format!("{} is not UTF-8; set TMPDIR to a path that is", p.display())))?;
            let spec = Spec {
                kind: self.kind,
                policy,
                report,
                host_proc: self.host_proc,
                arg0: arg0.map(str::to_owned),
                pwd: set("PWD").and_then(OsStr::to_str).map(str::to_owned),
                relay: 0,
                words: 0,
                tasks: None,
            };
            let mut command = Command::new(&self.exe);
            command.args([STAGE, "relay", &json(&spec)?]).arg(inner.get_program());
            command
        } else {
            let mut command = Command::new(inner.get_program());
            #[cfg(unix)]
            std::os::unix::process::CommandExt::arg0(&mut command, arg0.map_or(inner.get_program(), OsStr::new));
            command
        };
        command.args(inner.get_args()).env_clear();
        if let Some(dir) = inner.get_current_dir() {
            command.current_dir(dir);
        }
        for (name, value) in shown::ENVIRONMENT.iter().filter_map(|n| Some((n, std::env::var_os(n)?))) {
            command.env(name, value);
        }
        if let Some(dir) = scratch {
            command.env("TMPDIR", dir);
        }
        for (name, value) in inner.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        Ok(command)
    }

    /// What the supervisor of a command that has ended says of it; `command` is one of [`Sandbox::command`]'s.
    #[must_use]
    pub fn report(&self, command: &Command) -> Report {
        let spec = command.get_args().nth(2).and_then(OsStr::to_str).and_then(|s| serde_json::from_str::<Spec>(s).ok());
        let text = spec.and_then(|s| std::fs::read_to_string(s.report).ok());
        text.and_then(|t| serde_json::from_str(&t).ok()).unwrap_or_default()
    }

    #[cfg(target_os = "linux")]
    fn probe(&self) -> Result<()> {
        probe::run(self)
    }

    #[cfg(not(target_os = "linux"))]
    fn probe(&self) -> Result<()> {
        Err(Error::Setup("sandboxes are there on Linux only".into()))
    }
}

/// Does nothing: stages are Linux's.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn entry(_args: &[std::ffi::OsString]) -> Option<std::process::ExitCode> {
    None
}

fn json<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|e| Error::Internal(e.to_string()))
}
