//! The attack suite: gists that cheat, that are wrong by accident, or that are honest, under each kind of sandbox that works here.
//!
//! What is to be said of each stands in `fixtures/attacks/expected.tsv`. None of them is ever run outside of a sandbox.

use crate::project::{Project, Ran};
use camino::{Utf8Path, Utf8PathBuf};
use nix::sys::stat::Mode;
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::UnixListener;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const HONEST: &str = "honest_as_the_tool_makes_it";
/// Time for the test and for rustc.
const IN_TIME: &[&str] = &["--timeout", "20", "--build-timeout", "60"];
const SOON: &[&str] = &["--timeout", "3", "--build-timeout", "5"];
/// However long the project's own build takes, one verification is over by then.
const LONGEST: Duration = Duration::from_secs(100);
/// What `verify` itself may need, whatever the gist does.
const MOST_MEMORY: u64 = 1 << 30;

/// A line of the table.
#[derive(Clone, Debug)]
struct Case {
    gist: String,
    how: How,
    test: String,
    class: String,
    reason: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// It ends before anything is compiled.
    Read,
    /// What it does has nothing to do with the sandbox.
    Once,
    /// In every kind of sandbox.
    Run,
    /// The same, alone and last.
    Bomb,
    /// A bomb that goes on until its time is up.
    Endless,
}

fn table() -> Vec<Case> {
    let text = include_str!("../../fixtures/attacks/expected.tsv");
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    rows.map(|row| {
        let [gist, how, test, class, reason, _note] = row.split('\t').collect::<Vec<_>>()[..] else {
            panic!("six columns: {row}")
        };
        let how = match how {
            "read" => How::Read,
            "once" => How::Once,
            "run" => How::Run,
            "bomb" => How::Bomb,
            "endless" => How::Endless,
            other => panic!("`{other}` in {row}"),
        };
        let [gist, test, class, reason] = [gist, test, class, reason].map(str::to_owned);
        Case { gist, how, test, class, reason }
    })
    .collect()
}

fn gists() -> Utf8PathBuf {
    Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/attacks/gists")
}

/// A machine as a stranger's code would like to find it: a project, a home with a secret, a process, ports and a socket that answer.
struct Host {
    project: Project,
    home: Utf8PathBuf,
    victim: Child,
    tcp: TcpListener,
    udp: UdpSocket,
    _socket: UnixListener,
    /// A number that no process has in its arguments.
    orphan: String,
    before: BTreeMap<Utf8PathBuf, Vec<u8>>,
}

impl Host {
    fn new() -> Host {
        let project = Project::new("attacks/project");
        let home = project.beside("home");
        fs_err::create_dir_all(home.join(".ssh")).unwrap();
        fs_err::write(home.join("secret"), "what nobody is to know\n").unwrap();
        fs_err::write(home.join(".ssh/id_ed25519"), "the key\n").unwrap();
        let socket = UnixListener::bind(home.join("socket")).unwrap();
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        tcp.set_nonblocking(true).unwrap();
        let udp = UdpSocket::bind(tcp.local_addr().unwrap()).unwrap();
        udp.set_nonblocking(true).unwrap();
        let victim = Command::new("sleep").arg("3600").stdin(Stdio::null()).spawn().unwrap();
        let orphan = format!("{}", 7_000_000 + u64::from(std::process::id()));
        let mut host = Host { project, home, victim, tcp, udp, _socket: socket, orphan, before: BTreeMap::new() };
        host.before = host.files();
        host
    }

    /// All that must stay as it is: the project's files (the lock file is cargo's to write) and the home's.
    fn files(&self) -> BTreeMap<Utf8PathBuf, Vec<u8>> {
        let home = ["secret", ".ssh/id_ed25519"].map(|name| self.home.join(name));
        let mut files = self.project.files();
        files.extend(home.map(|path| (path.clone(), fs_err::read(&path).unwrap_or_default())));
        files
    }

    /// A gist's file, with what it has to know of this machine.
    fn gist(&self, name: &str) -> Utf8PathBuf {
        let file = self.project.beside("gists").join(format!("{name}.rs"));
        fs_err::create_dir_all(file.parent().unwrap()).unwrap();
        if name == "made_device" {
            return "/dev/zero".into();
        }
        if name.starts_with("made_") {
            self.make(name, &file);
            return file;
        }
        let mut bytes = fs_err::read(gists().join(format!("{name}.rs"))).unwrap();
        if let Ok(text) = std::str::from_utf8(&bytes) {
            let filled = [
                ("{{HOME}}", self.home.to_string()),
                ("{{PROJECT}}", self.project.root.to_string()),
                ("{{CARGO_HOME}}", of_rust("CARGO_HOME", ".cargo").to_string()),
                ("{{PID}}", std::process::id().to_string()),
                ("{{VICTIM}}", self.victim.id().to_string()),
                ("{{PORT}}", self.tcp.local_addr().unwrap().port().to_string()),
                ("{{ORPHAN}}", self.orphan.clone()),
            ];
            bytes = filled.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value)).into_bytes();
        }
        fs_err::write(&file, bytes).unwrap();
        file
    }

    /// What no repository holds.
    fn make(&self, name: &str, file: &Utf8Path) {
        let honest = || fs_err::read_to_string(gists().join(format!("{HONEST}.rs"))).unwrap();
        match name {
            "made_two_hundred_megabytes" => fs_err::write(file, format!("{}{}", "// Nothing.\n".repeat(17 << 20), honest())),
            "made_deeply_nested" => {
                let (open, close) = ("(".repeat(100_000), ")".repeat(100_000));
                fs_err::write(file, format!("{}\nfn deep() {{ {open}{close} }}\n", honest()))
            }
            "made_symlink_to_a_secret" => fs_err::os::unix::fs::symlink(self.home.join("secret"), file),
            "made_directory" => fs_err::create_dir(file),
            "made_pipe" => {
                nix::unistd::mkfifo(file.as_std_path(), Mode::S_IRWXU).unwrap();
                Ok(())
            }
            "made_nothing" => Ok(()),
            other => panic!("nobody makes {other}"),
        }
        .unwrap();
    }

    /// `cargo gistify verify`, which a limit of the suite's own ends should it not end by itself.
    fn verify(&self, gist: &Utf8Path, test: &str, sandbox: &str, format: &str, more: &[&str]) -> Ran {
        let args = ["verify", gist.as_str(), "--exact", "--test", test, "--message-format", format, "--sandbox", sandbox];
        let inner = self.project.command(args.iter().chain(more));
        let mut command = Command::new("timeout");
        command.args(["-s", "KILL", "120"]).arg(inner.get_program()).args(inner.get_args());
        command.current_dir(&self.project.root).stdin(Stdio::null());
        for (name, value) in inner.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.env("GISTIFY_SECRET", "what nobody is to know").env("HOME", &self.home);
        command.env("CARGO_HOME", of_rust("CARGO_HOME", ".cargo")).env("RUSTUP_HOME", of_rust("RUSTUP_HOME", ".rustup"));
        Ran::of(&mut command)
    }

    /// What is wrong with what a gist was called, or with how it went.
    fn judged(&self, case: &Case, sandbox: &str) -> Result<(), String> {
        let time = if case.how == How::Endless { SOON } else { IN_TIME };
        let start = Instant::now();
        let ran = self.verify(&self.gist(&case.gist), &case.test, sandbox, "json", time);
        let wall = start.elapsed();
        let what = |wrong: &str| format!("{} ({sandbox}): {wrong}\n{}\n{}", case.gist, ran.stdout.trim(), ran.stderr.trim());
        if wall > LONGEST {
            return Err(what(&format!("it took {wall:?}")));
        }
        let told: Value = serde_json::from_str(&ran.stdout).map_err(|e| what(&e.to_string()))?;
        let class = told["verdict"].as_str().unwrap_or_default();
        let reason = if class == "ok" {
            told["flags"].as_array().map(|f| format!("{f:?}")).unwrap_or_default()
        } else {
            told["error"].as_str().unwrap_or_default().into()
        };
        let fits =
            if case.class == "ok" && case.reason.is_empty() { reason.is_empty() } else { reason.contains(&case.reason) };
        if class != case.class || !fits {
            return Err(what(&format!("not {} for `{}`", case.class, case.reason)));
        }
        if ran.code != Some(if class == "ok" { 0 } else { 100 }) {
            return Err(what(&format!("it ends with {:?}", ran.code)));
        }
        let built = told["sandbox"].as_str();
        if case.how == How::Read && built.is_some() || class == "ok" && built != Some(sandbox) {
            return Err(what(&format!("it ran in {built:?}")));
        }
        if told["cost"]["peak_rss_bytes"].as_u64().is_none_or(|bytes| bytes > MOST_MEMORY) {
            return Err(what("verify took too much memory"));
        }
        Ok(())
    }

    /// What is not as it was before.
    fn harm(&mut self) -> Vec<String> {
        let mut found = Vec::new();
        let after = self.files();
        for path in self.before.keys().chain(after.keys()).filter(|p| self.before.get(*p) != after.get(*p)) {
            found.push(format!("{path} was written, made or removed"));
        }
        for escaped in ["/etc".into(), of_rust("CARGO_HOME", ".cargo").join("bin")].map(|dir| dir.join("gistify-escaped")) {
            if escaped.exists() {
                found.push(format!("{escaped} was made"));
            }
        }
        if let Ok(Some(end)) = self.victim.try_wait() {
            found.push(format!("a process of the host was ended: {end}"));
        }
        if self.tcp.accept().is_ok() || self.udp.recv(&mut [0; 64]).is_ok() {
            found.push("a port of the host was reached".to_owned());
        }
        // What was killed may still be on its way out.
        let gone_by = Instant::now() + Duration::from_secs(5);
        let mut left = self.left();
        while !left.is_empty() && Instant::now() < gone_by {
            std::thread::sleep(Duration::from_millis(50));
            left = self.left();
        }
        found.extend(left);
        found
    }

    /// Processes of gists, and files in the temporary folder.
    fn left(&self) -> Vec<String> {
        let place = self.project.beside("tmp");
        let files = fs_err::read_dir(&place).unwrap().map(|e| format!("left: {}", e.unwrap().path().display()));
        let mut found: Vec<String> = files.collect();
        for entry in fs_err::read_dir("/proc").unwrap().flatten() {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            if line.contains(place.as_str()) || line.contains(&self.orphan) {
                found.push(format!("still running: {line}"));
            }
        }
        found
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
    }
}

/// A folder of rustup's or cargo's: the suite's home is not where they are.
fn of_rust(variable: &str, under: &str) -> Utf8PathBuf {
    let set = std::env::var(variable).ok().map(Utf8PathBuf::from);
    set.unwrap_or_else(|| Utf8PathBuf::from(std::env::var("HOME").unwrap()).join(under))
}

/// Runs cases, some at once, and gives what is wrong.
fn all(host: &Host, cases: &[(Case, &str)], at_once: usize) -> Vec<String> {
    let (queue, wrong) = (Mutex::new(cases.iter()), Mutex::new(Vec::new()));
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                while let Some((case, sandbox)) = next() {
                    if let Err(e) = host.judged(case, sandbox) {
                        wrong.lock().unwrap_or_else(PoisonError::into_inner).push(e);
                    }
                }
            });
        }
    });
    wrong.into_inner().unwrap()
}

/// The kinds of sandbox in which the honest gist verifies; at least one has to.
fn kinds(host: &Host) -> Vec<&'static str> {
    let honest = table().into_iter().find(|case| case.gist == HONEST).unwrap();
    let mut found = Vec::new();
    for kind in ["bwrap", "landlock"] {
        let ran = host.verify(&host.gist(HONEST), &honest.test, kind, "json", &[]);
        match ran.code {
            Some(0) => found.push(kind),
            Some(96) => eprintln!("skipped: {kind}: {}", ran.stderr.trim()),
            _ => panic!("the honest gist in {kind}:\n{}\n{}", ran.stdout, ran.stderr),
        }
    }
    assert!(!found.is_empty(), "no sandbox works here");
    found
}

#[test]
fn every_gist_ends_in_its_class_within_limits_and_leaves_the_host_as_it_was() {
    let mut host = Host::new();
    let kinds = kinds(&host);
    let (bombs, harmless): (Vec<Case>, Vec<Case>) =
        table().into_iter().partition(|case| matches!(case.how, How::Bomb | How::Endless));
    let once = |case: &Case| if matches!(case.how, How::Read | How::Once) { &kinds[..1] } else { &kinds[..] }.to_vec();
    let cases: Vec<(Case, &str)> =
        harmless.iter().flat_map(|case| once(case).into_iter().map(|kind| (case.clone(), kind))).collect();
    let mut wrong = all(&host, &cases, 2);
    wrong.extend(host.harm());
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n\n"));
    for kind in kinds {
        for bomb in &bombs {
            // What one did not survive, the next must not try.
            host.judged(bomb, kind).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(host.harm(), Vec::<String>::new(), "{} in {kind}", bomb.gist);
        }
    }
}

#[test]
fn a_terminal_sees_no_control_characters_of_a_gists() {
    let host = Host::new();
    let kind = kinds(&host)[0];
    let escapes: Vec<Case> = table().into_iter().filter(|case| case.gist.contains("terminal_escapes")).collect();
    assert_eq!(escapes.len(), 3);
    for case in escapes {
        let odd = host.project.beside("gists").join(format!("\x1b[2J{}.rs", case.gist));
        fs_err::rename(host.gist(&case.gist), &odd).unwrap();
        // With colours, so that nothing is taken out for want of a terminal.
        let ran = host.verify(&odd, &case.test, kind, "human", &["--color", "always"]);
        ran.assert_code(100);
        let ours = without_our_colours(&ran.stderr);
        assert!(!ours.contains('\x1b') && !ran.stdout.contains('\x1b'), "{}: {ours:?}", case.gist);
    }
}

/// Without the colours that are ours.
fn without_our_colours(text: &str) -> String {
    ["\x1b[0m", "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[33m"]
        .iter()
        .fold(text.to_owned(), |text, code| text.replace(code, ""))
}

#[test]
fn the_table_and_the_files_are_the_same_gists() {
    let mut files: Vec<String> =
        gists().read_dir_utf8().unwrap().map(|e| e.unwrap().path().file_stem().unwrap().to_owned()).collect();
    let mut rows: Vec<String> = table().into_iter().map(|c| c.gist).filter(|name| !name.starts_with("made_")).collect();
    files.sort();
    rows.sort();
    assert_eq!(rows, files);
}
