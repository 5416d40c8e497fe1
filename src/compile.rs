//! Compiles a text in the place of a recorded crate: same compiler, edition, harness, libraries and codegen options.

use crate::error::{Error, Result};
use crate::process::{Limits, run};
use crate::verify::clean_room::CleanRoom;
use crate::workspace::capture::TestTarget;
use crate::workspace::wrapper::INSTRUMENT;
use camino::{Utf8Path, Utf8PathBuf};
pub use cargo_metadata::diagnostic::{Diagnostic, DiagnosticLevel, DiagnosticSpan};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The name a text has while it is compiled and run; it is what panics print.
pub const FILE_NAME: &str = "gist.rs";

/// The lint of `clone` called on a reference to what can't be cloned: the reference is copied.
pub const NOOP: &str = "noop_method_call";

/// What cargo tells rustc of the temporary package that `cargo gistify run` makes of a gist. The project's own `env!`s
/// are literals by then; those that macros of dependencies bring see this.
const PACKAGE_ENV: &[(&str, &str)] = &[
    ("CARGO_CRATE_NAME", "gist"),
    ("CARGO_PKG_NAME", "gist"),
    ("CARGO_PKG_VERSION", "0.0.0"),
    ("CARGO_PKG_VERSION_MAJOR", "0"),
    ("CARGO_PKG_VERSION_MINOR", "0"),
    ("CARGO_PKG_VERSION_PATCH", "0"),
    ("CARGO_PKG_VERSION_PRE", ""),
    ("CARGO_PKG_AUTHORS", ""),
    ("CARGO_PKG_DESCRIPTION", ""),
    ("CARGO_PKG_HOMEPAGE", ""),
    ("CARGO_PKG_REPOSITORY", ""),
    ("CARGO_PKG_LICENSE", ""),
    ("CARGO_PKG_LICENSE_FILE", ""),
    ("CARGO_PKG_RUST_VERSION", ""),
    ("CARGO_PKG_README", ""),
];

/// Of those, what the manifest in the header of a gist with dependencies says as the project's does.
const IN_MANIFEST: &[&str] = &[
    "CARGO_PKG_NAME",
    "CARGO_PKG_VERSION",
    "CARGO_PKG_AUTHORS",
    "CARGO_PKG_DESCRIPTION",
    "CARGO_PKG_HOMEPAGE",
    "CARGO_PKG_REPOSITORY",
];

/// Compiles texts as the crate of one target was compiled.
#[derive(Debug)]
pub struct Compiler {
    rustc: String,
    args: Vec<String>,
    envs: Vec<(String, String)>,
    edition: String,
    /// With the test harness.
    harness: bool,
    timeout: Duration,
    /// Checks that may run at once.
    jobs: usize,
    calls: AtomicUsize,
}

/// What rustc said about a text.
#[derive(Debug)]
pub struct Checked {
    /// It compiles.
    pub ok: bool,
    /// All messages, in order.
    pub diagnostics: Vec<Diagnostic>,
    /// What was printed and is no message (a crash of the compiler).
    pub noise: String,
}

impl Checked {
    /// What rustc printed, line by line: messages, and what is none.
    #[must_use]
    pub fn of(ok: bool, stderr: &[u8]) -> Checked {
        let mut diagnostics = Vec::new();
        let mut noise = String::new();
        for line in stderr.split(|&byte| byte == b'\n') {
            match serde_json::from_slice(line) {
                Ok(d) => diagnostics.push(needed(d)),
                Err(_) => {
                    noise.push_str(&String::from_utf8_lossy(line));
                    noise.push('\n');
                }
            }
        }
        Checked { ok, diagnostics, noise }
    }

    /// The errors.
    pub fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics.iter().filter(|d| {
            matches!(d.level, DiagnosticLevel::Error | DiagnosticLevel::Ice) && !d.message.starts_with("aborting due to")
        })
    }

    /// What [`NOOP`] found, if that was asked for.
    pub fn noops(&self) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics.iter().filter(|d| is_noop(d))
    }

    /// The first error as rustc renders it, or what it printed instead.
    #[must_use]
    pub fn first_error(&self) -> String {
        self.errors()
            .next()
            .map_or_else(|| self.noise.trim().to_owned(), |d| d.rendered.clone().unwrap_or_else(|| d.message.clone()))
    }
}

impl Compiler {
    /// A compiler for gists of `target`.
    #[must_use]
    pub fn new(target: &TestTarget) -> Compiler {
        let call = &target.call;
        let mut args = Vec::new();
        let mut it = call.base_args().into_iter();
        while let Some(arg) = it.next() {
            match arg.as_str() {
                // Those of all crates of the bundle follow.
                "--extern" => _ = it.next(),
                "-L" => args.extend([arg, absolute(&it.next().unwrap_or_default(), &call.cwd)]),
                _ => args.push(arg),
            }
        }
        let mut externs: Vec<String> = target.externs().into_iter().map(|e| e.argument).collect();
        externs.sort();
        externs.dedup();
        args.extend(externs.into_iter().flat_map(|e| ["--extern".to_owned(), e]));
        // Procedural macros may read what cargo says of the package: the manifest of a gist with dependencies says it, too.
        let dependent = args.iter().any(|a| a == "--extern");
        let stays =
            |name: &str| name.contains("LIBRARY_PATH") || dependent && IN_MANIFEST.iter().any(|said| name.starts_with(said));
        let envs = call.env.iter().filter(|(k, _)| stays(k)).map(|(k, v)| (k.clone(), v.clone())).collect();
        Compiler {
            rustc: call.rustc.clone(),
            args,
            envs,
            edition: call.edition().to_owned(),
            harness: call.has_harness(),
            timeout: Duration::from_secs(300),
            jobs: 1,
            calls: AtomicUsize::new(0),
        }
    }

    /// The same, for another edition.
    #[must_use]
    pub fn with_edition(&self, edition: &str) -> Compiler {
        let args = self.args.iter().filter(|a| !a.starts_with("--edition=")).cloned();
        Compiler {
            args: args.chain([format!("--edition={edition}")]).collect(),
            edition: edition.to_owned(),
            calls: AtomicUsize::new(self.calls()),
            ..self.afresh()
        }
    }

    /// The same, with no calls counted yet.
    #[must_use]
    pub fn afresh(&self) -> Compiler {
        Compiler {
            rustc: self.rustc.clone(),
            args: self.args.clone(),
            envs: self.envs.clone(),
            edition: self.edition.clone(),
            harness: self.harness,
            timeout: self.timeout,
            jobs: self.jobs,
            calls: AtomicUsize::new(0),
        }
    }

    /// The same, for a caller that leaves it `jobs` cores.
    #[must_use]
    pub fn with_jobs(self, jobs: usize) -> Compiler {
        Compiler { jobs, ..self }
    }

    /// The same, which takes no longer for one call.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Compiler {
        Compiler { timeout, ..self }
    }

    /// Whether two checks may run at once.
    #[must_use]
    pub fn has_two_jobs(&self) -> bool {
        self.jobs > 1
    }

    /// How often rustc was called.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    /// The edition that texts are compiled with.
    #[must_use]
    pub fn edition(&self) -> &str {
        &self.edition
    }

    /// All that has a say in what becomes of a text, itself aside: compiler, arguments, libraries.
    ///
    /// # Errors
    /// When rustc can't be run.
    pub fn identity(&self) -> Result<String> {
        let mut command = Command::new(&self.rustc);
        command.arg("-vV");
        let version = run(&mut command, Limits::default())?.stdout_text();
        // Directories change with everything that is built in them, and say nothing of what is read from there.
        let paths = self.args.iter().filter_map(|a| a.split_once('=').map(|(_, path)| path));
        let files = paths.filter(|p| p.starts_with('/') && Utf8Path::new(p).is_file());
        let stamps: Vec<String> = files.map(crate::cache::stamp).collect();
        let harness = if self.harness { "tests" } else { "program" };
        Ok(format!("{}\n{version}\n{:?}\n{:?}\n{stamps:?}\n{}\n{harness}", self.rustc, self.args, self.envs, self.edition))
    }

    /// Type-checks `text`; lints are silent but those in `lints`.
    ///
    /// # Errors
    /// When rustc can't be run or takes too long; errors in the text are in the result.
    pub fn check(&self, text: &str, lints: &[&str]) -> Result<Checked> {
        let dir = temp_dir()?;
        let mut extra: Vec<String> = ["--emit=metadata", "--cap-lints=allow"].map(str::to_owned).to_vec();
        extra.extend(lints.iter().map(|l| format!("--force-warn={l}")));
        self.rustc(text, utf8(dir.path())?, &extra, None)
    }

    /// Builds the executable of `text` in `dir`, as `dir/gist`; in a clean room, if one is given.
    ///
    /// # Errors
    /// As [`Compiler::check`].
    pub fn build(&self, text: &str, dir: &Utf8Path, instrument: bool, room: Option<&CleanRoom<'_>>) -> Result<Checked> {
        let mut extra = vec!["-o".to_owned(), dir.join("gist").to_string(), "-Cdebuginfo=0".to_owned()];
        if instrument {
            extra.extend(INSTRUMENT.map(str::to_owned));
        }
        self.rustc(text, dir, &extra, room)
    }

    fn rustc(&self, text: &str, dir: &Utf8Path, extra: &[String], room: Option<&CleanRoom<'_>>) -> Result<Checked> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        std::fs::write(dir.join(FILE_NAME), text).map_err(Error::io("failed to write a text to compile"))?;
        let mut command = Command::new(&self.rustc);
        command
            .current_dir(dir)
            .args(&self.args)
            .args(["--crate-name", "gist", "--error-format=json", FILE_NAME])
            .args(self.harness.then_some("--test"))
            .args(extra)
            .envs(PACKAGE_ENV.iter().copied())
            .env("CARGO_MANIFEST_DIR", dir)
            .env("CARGO_MANIFEST_PATH", dir.join("Cargo.toml"))
            .envs(self.envs.iter().map(|(k, v)| (k, v)));
        if room.is_some() {
            // The linker's driver has temporary files, too, and may write nowhere else.
            command.env("TMPDIR", dir);
        }
        if !extra.iter().any(|a| a == "-o") {
            command.args(["--out-dir", dir.as_str()]);
        }
        let limits = Limits { timeout: Some(self.timeout), max_output: 1 << 30 };
        let (out, breach) = match room {
            // The linker wants a place for temporary files.
            Some(room) => room.compile(command.env("TMPDIR", dir), dir, limits)?,
            None => (run(&mut command, limits)?, None),
        };
        if out.timed_out {
            return Err(Error::TimeOut { what: "compiling the gist".into(), limit_s: self.timeout.as_secs() });
        }
        let mut checked = Checked::of(out.status.success() && breach.is_none(), &out.stderr);
        if let Some(breach) = breach {
            checked.noise = format!("rustc was ended: {}\n{}", breach.name(), checked.noise);
        }
        Ok(checked)
    }
}

fn is_noop(message: &Diagnostic) -> bool {
    message.code.as_ref().is_some_and(|code| code.code == NOOP)
}

/// What is of use of a message: warnings come by the ten thousand, and only their places and names are read.
fn needed(mut message: Diagnostic) -> Diagnostic {
    if message.level == DiagnosticLevel::Warning && !is_noop(&message) {
        message.rendered = None;
        message.children = Vec::new();
        message.spans.iter_mut().for_each(|span| span.text = Vec::new());
    }
    message
}

/// `name=path` or `kind=path` or a path, with the path absolute.
fn absolute(value: &str, cwd: &Utf8Path) -> String {
    match value.split_once('=') {
        Some((name, path)) => format!("{name}={}", cwd.join(path)),
        None if value.contains('/') => cwd.join(value).to_string(),
        None => value.to_owned(),
    }
}

/// A temporary directory that goes when dropped.
///
/// # Errors
/// When none can be made.
pub fn temp_dir() -> Result<tempfile::TempDir> {
    tempfile::Builder::new().prefix("gistify-").tempdir().map_err(Error::io("failed to make a temporary directory"))
}

/// A path as UTF-8.
///
/// # Errors
/// [`Error::Setup`] when it is not.
pub fn utf8(path: &std::path::Path) -> Result<&Utf8Path> {
    Utf8Path::from_path(path)
        .ok_or_else(|| Error::Setup(format!("{} is not UTF-8; set TMPDIR to a path that is", path.display())))
}

/// A path as UTF-8, owned.
///
/// # Errors
/// As [`utf8`].
pub fn utf8_buf(path: std::path::PathBuf) -> Result<Utf8PathBuf> {
    Utf8PathBuf::from_path_buf(path).map_err(|p| Error::Setup(format!("{} is not UTF-8", p.display())))
}
