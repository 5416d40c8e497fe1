//! A fixture's copy in a temporary directory, and the binary called on it.

use camino::{Utf8Path, Utf8PathBuf};
use std::collections::BTreeMap;
use std::process::{Command, Stdio};

/// The name under which cargo does not see a fixture's manifest.
const HIDDEN_MANIFEST: &str = "Cargo_fixture.toml";

/// A project of one's own. Its folder goes when it is dropped.
pub(crate) struct Project {
    temp: tempfile::TempDir,
    base: Utf8PathBuf,
    pub(crate) root: Utf8PathBuf,
}

/// How a process ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Project {
    /// A copy of `fixtures/NAME`.
    pub(crate) fn new(fixture: &str) -> Project {
        Project::in_folder(fixture, "project")
    }

    /// A copy in a folder of that name.
    pub(crate) fn in_folder(fixture: &str, folder: &str) -> Project {
        let project = Project::empty(folder);
        copy(&Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(fixture), &project.root);
        project
    }

    /// An empty folder.
    pub(crate) fn empty(folder: &str) -> Project {
        let temp = tempfile::Builder::new().prefix("e2e-").tempdir().unwrap();
        let base = Utf8Path::from_path(temp.path()).unwrap().canonicalize_utf8().unwrap();
        let root = base.join(folder);
        fs_err::create_dir_all(&root).unwrap();
        fs_err::create_dir(base.join("tmp")).unwrap();
        Project { temp, base, root }
    }

    /// A place beside the project, for outputs.
    pub(crate) fn beside(&self, name: &str) -> Utf8PathBuf {
        self.base.join(name)
    }

    /// What is in all processes' environment that were started for this project.
    pub(crate) fn mark(&self) -> String {
        format!("E2E_MARK={}", self.temp.path().display())
    }

    /// `cargo-gistify gistify ARGS` in the project's folder.
    pub(crate) fn command<S: AsRef<str>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = self.plain(env!("CARGO_BIN_EXE_cargo-gistify"));
        command.arg("gistify");
        for arg in args {
            command.arg(arg.as_ref());
        }
        command
    }

    /// Runs `cargo gistify ARGS`; whatever comes, no temporary directory may be left.
    pub(crate) fn gistify<S: AsRef<str>>(&self, args: impl IntoIterator<Item = S>) -> Ran {
        self.finish(&mut self.command(args))
    }

    /// Runs a command of [`Project::command`].
    pub(crate) fn finish(&self, command: &mut Command) -> Ran {
        let ran = Ran::of(command);
        self.assert_no_temps();
        ran
    }

    /// Runs cargo in the project's folder.
    pub(crate) fn cargo(&self, args: &[&str]) -> Ran {
        Ran::of(self.plain(env!("CARGO")).args(args))
    }

    /// What a script prints, in the same environment.
    #[cfg(all(target_os = "linux", feature = "agents"))]
    pub(crate) fn in_bash(&self, script: &str) -> String {
        let output = self.plain("bash").args(["-c", script]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// No directory of ours is left where temporary files go.
    pub(crate) fn assert_no_temps(&self) {
        let left: Vec<String> = fs_err::read_dir(self.beside("tmp"))
            .unwrap()
            .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
            .filter(|n| n.starts_with("gistify-"))
            .collect();
        assert!(left.is_empty(), "left in TMPDIR: {left:?}");
    }

    /// Every file of the project outside `target/`, with its bytes.
    pub(crate) fn files(&self) -> BTreeMap<Utf8PathBuf, Vec<u8>> {
        let mut out = BTreeMap::new();
        collect(&self.root, &mut out);
        out
    }

    /// A program in the project's folder, without what the outer cargo and the developer's shell have set.
    fn plain(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let kept = ["CARGO", "CARGO_HOME"];
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            let ours = name.starts_with("CARGO") && !kept.contains(&name.as_str());
            if ours || name.starts_with("RUSTC") || name.contains("RUSTFLAGS") || name == "LD_LIBRARY_PATH" {
                command.env_remove(&name);
            }
        }
        let (name, value) = self.mark().split_once('=').map(|(n, v)| (n.to_owned(), v.to_owned())).unwrap();
        command
            .current_dir(&self.root)
            .env(name, value)
            .env("TMPDIR", self.beside("tmp"))
            .env("XDG_CACHE_HOME", Utf8Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"))
            .env("CARGO_TERM_COLOR", "never")
            .stdin(Stdio::null());
        command
    }
}

impl Ran {
    /// Runs to the end.
    pub(crate) fn of(command: &mut Command) -> Ran {
        let out = command.output().unwrap();
        Ran {
            code: out.status.code(),
            stdout: String::from_utf8_lossy(&out.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&out.stderr).into_owned(),
        }
    }

    /// It ended with that code.
    #[track_caller]
    pub(crate) fn assert_code(&self, code: i32) -> &Ran {
        assert_eq!(self.code, Some(code), "\n--- stdout\n{}\n--- stderr\n{}", self.stdout, self.stderr);
        self
    }

    /// Its standard error has that part.
    #[track_caller]
    pub(crate) fn assert_says(&self, part: &str) -> &Ran {
        assert!(self.stderr.contains(part), "`{part}` is not in\n{}", self.stderr);
        self
    }

    /// The JSON objects on standard output, one a line.
    #[track_caller]
    pub(crate) fn reports(&self) -> Vec<serde_json::Value> {
        let parse = |l: &str| serde_json::from_str(l).unwrap_or_else(|e| panic!("{e} in {l}\n{}", self.stderr));
        self.stdout.lines().map(parse).collect()
    }
}

fn copy(from: &Utf8Path, to: &Utf8Path) {
    fs_err::create_dir_all(to).unwrap();
    for entry in from.read_dir_utf8().unwrap() {
        let entry = entry.unwrap();
        match entry.file_name() {
            "target" => {}
            HIDDEN_MANIFEST => drop(fs_err::copy(entry.path(), to.join("Cargo.toml")).unwrap()),
            name if entry.file_type().unwrap().is_dir() => copy(entry.path(), &to.join(name)),
            name => drop(fs_err::copy(entry.path(), to.join(name)).unwrap()),
        }
    }
}

fn collect(dir: &Utf8Path, out: &mut BTreeMap<Utf8PathBuf, Vec<u8>>) {
    for entry in dir.read_dir_utf8().unwrap() {
        let entry = entry.unwrap();
        if entry.file_name() == "target" {
            continue;
        }
        if entry.file_type().unwrap().is_dir() {
            collect(entry.path(), out);
        } else {
            out.insert(entry.path().to_owned(), fs_err::read(entry.path()).unwrap());
        }
    }
}
