//! Ways out of the sandbox, each tried under each kind of box that works here, as the user of the tests and, where that is
//! root, as an ordinary one. What is skipped is printed.

use camino::{Utf8Path, Utf8PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

/// A user that no machine has.
const ORDINARY: &str = "54321";

/// A kind of box, for one user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Setup {
    kind: &'static str,
    ordinary: bool,
}

/// Where the programs are, that any user may run, and nobody else's files.
struct Bench {
    temp: tempfile::TempDir,
}

/// The binary and the program that breaks out, compiled once.
fn programs() -> &'static Utf8Path {
    static MADE: OnceLock<Utf8PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        // Not under the target directory: an ordinary user may have no way there.
        let dir =
            Utf8PathBuf::from_path_buf(std::env::temp_dir()).unwrap().join(format!("e2e-sandbox-{}", std::process::id()));
        // Nothing that is static is dropped: each run takes away what earlier ones have left.
        for old in fs_err::read_dir(std::env::temp_dir()).unwrap().flatten() {
            let name = old.file_name().to_string_lossy().into_owned();
            if let Some(id) = name.strip_prefix("e2e-sandbox-")
                && !Utf8Path::new("/proc").join(id).exists()
            {
                let _ = std::fs::remove_dir_all(old.path());
            }
        }
        fs_err::create_dir_all(&dir).unwrap();
        fs_err::copy(env!("CARGO_BIN_EXE_cargo-gistify"), dir.join("cargo-gistify")).unwrap();
        let source = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/sandbox/breakout.rs");
        let rustc =
            Command::new("rustc").args(["--edition=2024", "-o"]).arg(dir.join("breakout")).arg(source).output().unwrap();
        assert!(rustc.status.success(), "{}", String::from_utf8_lossy(&rustc.stderr));
        open_to_all(&dir);
        dir
    })
}

fn open_to_all(path: &Utf8Path) {
    use std::os::unix::fs::PermissionsExt;
    fs_err::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    fs_err::metadata("/proc/self").unwrap().uid() == 0
}

/// All that work here.
fn setups() -> &'static [Setup] {
    static FOUND: OnceLock<Vec<Setup>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let mut found = Vec::new();
        for kind in ["bwrap", "landlock"] {
            for ordinary in if is_root() { vec![false, true] } else { vec![true] } {
                let setup = Setup { kind, ordinary };
                let out =
                    Bench::new().command(setup, &[], programs().join("breakout").as_str(), &["exit", "0"]).output().unwrap();
                if out.status.success() {
                    found.push(setup);
                } else {
                    eprintln!("skipped: {setup:?}: {}", String::from_utf8_lossy(&out.stderr));
                }
            }
        }
        if !is_root() {
            eprintln!("skipped: boxes of root, whom the tests are not run by");
        }
        found
    })
}

/// The same, and the box that is none: root's have control groups, others RLIMIT_NPROC and a supervisor that watches.
fn limited() -> Vec<Setup> {
    let none = [false, true].map(|ordinary| Setup { kind: "none", ordinary });
    let none = none.into_iter().filter(|s| s.ordinary || is_root());
    setups().iter().copied().chain(none).collect()
}

impl Bench {
    fn new() -> Bench {
        let temp = tempfile::Builder::new().prefix("e2e-").tempdir().unwrap();
        let bench = Bench { temp };
        fs_err::create_dir(bench.work()).unwrap();
        open_to_all(&bench.dir());
        open_to_all(&bench.work());
        bench
    }

    fn dir(&self) -> Utf8PathBuf {
        Utf8Path::from_path(self.temp.path()).unwrap().canonicalize_utf8().unwrap()
    }

    /// The one folder that the box may write to.
    fn work(&self) -> Utf8PathBuf {
        self.dir().join("work")
    }

    fn command(&self, setup: Setup, options: &[&str], program: &str, args: &[&str]) -> Command {
        let programs = programs();
        let mut command = if setup.ordinary && is_root() {
            let mut command = Command::new("setpriv");
            command.args(["--reuid", ORDINARY, "--regid", ORDINARY, "--clear-groups"]).arg(programs.join("cargo-gistify"));
            command
        } else {
            Command::new(programs.join("cargo-gistify"))
        };
        command.args(["__sandbox-probe", "--kind", setup.kind, "--rw", self.work().as_str()]).args(options);
        command.args(["--ro", programs.join("breakout").as_str(), "--", program]).args(args);
        command.current_dir(self.dir()).env("TMPDIR", self.dir()).stdin(Stdio::null());
        if setup.ordinary && is_root() {
            command.env("HOME", self.dir().join("home"));
        }
        command
    }

    /// What became of `breakout ARGS`.
    #[track_caller]
    fn run(&self, setup: Setup, options: &[&str], breakout: &[&str]) -> serde_json::Value {
        self.run_program(setup, options, programs().join("breakout").as_str(), breakout)
    }

    /// What became of any program.
    #[track_caller]
    fn run_program(&self, setup: Setup, options: &[&str], program: &str, args: &[&str]) -> serde_json::Value {
        let out = self.command(setup, options, program, args).output().unwrap();
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        serde_json::from_str(&text)
            .unwrap_or_else(|e| panic!("{setup:?}: {e}: {text}{}", String::from_utf8_lossy(&out.stderr)))
    }
}

/// Tries it under each box: it must run, and be refused.
#[track_caller]
fn refused(breakout: impl Fn(&Bench) -> Vec<String>) {
    for setup in setups() {
        let bench = Bench::new();
        let args = breakout(&bench);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let ran = bench.run(*setup, &[], &args);
        assert!(ran["stdout"].as_str().unwrap().starts_with("refused"), "{setup:?}: {args:?}: {ran}");
    }
}

fn case<const N: usize>(args: [&str; N]) -> Vec<String> {
    args.map(str::to_owned).to_vec()
}

/// Tries it under each limit: it must be ended for that reason.
#[track_caller]
fn ended_by(limit: &str, option: [&str; 2], breakout: impl Fn(&Bench) -> Vec<String>) {
    for setup in limited() {
        let bench = Bench::new();
        let args = breakout(&bench);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let ran = bench.run(setup, &option, &args);
        assert_eq!(ran["breach"], limit, "{setup:?}: {args:?}: {ran}");
        assert_none_left(setup, bench.dir().as_str());
    }
}

/// No process has that in its arguments. One that is dead may still be on its way.
#[track_caller]
fn assert_none_left(setup: Setup, mark: &str) {
    let running = || {
        let all = fs_err::read_dir("/proc").unwrap().flatten();
        let lines = all.filter_map(|e| std::fs::read(e.path().join("cmdline")).ok());
        lines.map(|l| String::from_utf8_lossy(&l).replace('\0', " ")).filter(|l| l.contains(mark)).collect::<Vec<_>>()
    };
    let mut left = running();
    for _ in 0..100 {
        if left.is_empty() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
        left = running();
    }
    panic!("{setup:?}: left running: {left:?}");
}

#[test]
fn a_box_can_not_be_remounted() {
    refused(|_| case(["remount"]));
}

#[test]
fn a_box_can_not_make_user_namespaces() {
    refused(|_| case(["userns"]));
}

#[test]
fn secrets_of_the_machine_are_not_read() {
    refused(|_| case(["read", "/etc/shadow"]));
    refused(|_| case(["list", "/etc/ssh"]));
}

#[test]
fn files_that_nobody_shared_are_neither_read_nor_written() {
    let secret = |bench: &Bench| {
        let secret = bench.dir().join("secret");
        fs_err::write(&secret, "secret").unwrap();
        open_to_all(&secret);
        secret.to_string()
    };
    refused(|bench| vec!["read".into(), secret(bench)]);
    refused(|bench| vec!["chmod".into(), secret(bench)]);
    refused(|_| case(["list", env!("CARGO_MANIFEST_DIR")]));
    for setup in setups() {
        let bench = Bench::new();
        let path = secret(&bench);
        bench.run(*setup, &[], &["write", &path]);
        assert_eq!(fs_err::read_to_string(&path).unwrap(), "secret", "{setup:?}");
    }
}

#[test]
fn what_is_shown_to_read_is_not_changed() {
    refused(|_| vec!["write".into(), programs().join("breakout").to_string()]);
    refused(|_| vec!["chmod".into(), programs().join("breakout").to_string()]);
    refused(|_| case(["write", "/usr/escaped"]));
}

#[test]
fn devices_can_not_be_made() {
    refused(|bench| vec!["mknod".into(), bench.work().join("disk").to_string()]);
}

#[test]
fn nothing_outside_is_reached_by_tcp() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    refused(|_| vec!["tcp".into(), listener.local_addr().unwrap().to_string()]);
    refused(|_| case(["tcp", "192.0.2.1:80"]));
}

#[test]
fn nothing_outside_is_reached_by_udp() {
    let receiver = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    receiver.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    for setup in setups() {
        Bench::new().run(*setup, &[], &["udp", &receiver.local_addr().unwrap().to_string()]);
        assert!(receiver.recv(&mut [0; 16]).is_err(), "{setup:?}");
    }
    refused(|_| case(["udp", "192.0.2.1:53"]));
}

#[test]
fn sockets_of_unusual_families_are_refused() {
    refused(|_| case(["families"]));
}

#[test]
fn sockets_of_other_processes_are_not_reached() {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixListener};
    let name = format!("e2e-{}", std::process::id());
    let _hidden = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    refused(|_| case(["abstract", &name]));
    let bench = Bench::new();
    let path = bench.dir().join("socket");
    let _named = UnixListener::bind(&path).unwrap();
    open_to_all(&path);
    refused(|_| case(["unix", path.as_str()]));
}

#[test]
fn other_processes_are_out_of_reach() {
    for way in ["kill", "ptrace"] {
        // A number that means nobody in a process namespace.
        let mut other = Command::new(programs().join("breakout")).arg("sleep").spawn().unwrap();
        let id = other.id().to_string();
        refused(|_| case([way, &id]));
        refused(|_| vec!["read".into(), format!("/proc/{id}/environ")]);
        refused(|_| vec!["read".into(), format!("/proc/{id}/cmdline")]);
        other.kill().unwrap();
        other.wait().unwrap();
    }
}

#[test]
fn nothing_is_typed_into_a_terminal() {
    refused(|_| case(["tiocsti"]));
}

#[test]
fn an_orphan_in_a_session_of_its_own_ends_with_the_run() {
    for setup in limited() {
        let bench = Bench::new();
        let ran = bench.run(setup, &[], &["orphan", bench.dir().as_str()]);
        assert_eq!(ran["stdout"], "left\n", "{setup:?}: {ran}");
        assert_none_left(setup, bench.dir().as_str());
    }
}

#[test]
fn an_orphan_ends_when_the_time_is_up() {
    for setup in limited() {
        let bench = Bench::new();
        let ran = bench.run(setup, &["--timeout", "1"], &["orphan-and-sleep", bench.dir().as_str()]);
        assert_eq!(ran["timed_out"], true, "{setup:?}: {ran}");
        assert_none_left(setup, bench.dir().as_str());
    }
}

#[test]
fn a_fork_bomb_is_ended_by_the_process_limit() {
    ended_by("process limit", ["--processes", "100"], |bench| case(["fork-bomb", bench.dir().as_str()]));
}

#[test]
fn memory_is_limited() {
    ended_by("memory limit", ["--memory", "200000000"], |bench| case(["memory", bench.dir().as_str()]));
}

#[test]
fn memory_of_all_processes_is_limited_together() {
    ended_by("memory limit", ["--memory", "200000000"], |bench| case(["memory-of-children", bench.dir().as_str()]));
}

#[test]
fn processor_time_is_limited() {
    ended_by("CPU limit", ["--cpu", "1"], |bench| case(["spin", bench.dir().as_str()]));
}

#[test]
fn the_size_of_a_file_is_limited() {
    ended_by("file size limit", ["--file", "10000000"], |bench| case(["big-file", bench.work().join("big").as_str()]));
}

#[test]
fn the_disk_is_not_filled() {
    ended_by("disk limit", ["--disk", "20000000"], |bench| case(["fill", bench.work().as_str()]));
}

#[test]
fn private_folders_are_not_filled() {
    for setup in setups().iter().filter(|s| s.kind == "bwrap") {
        for folder in ["/tmp", "/dev/shm", "/dev", "/"] {
            let ran = Bench::new().run(*setup, &["--tmp", "5000000"], &["fill", folder]);
            assert!(ran["stdout"].as_str().unwrap().starts_with("refused"), "{setup:?}: {folder}: {ran}");
        }
    }
}

#[test]
fn a_boxed_command_ends_as_the_command_does() {
    for setup in limited() {
        let bench = Bench::new();
        let code = |ran: serde_json::Value| (ran["code"].as_i64(), ran["signal"].as_i64(), ran["breach"].is_null());
        assert_eq!(code(bench.run(setup, &[], &["exit", "101"])), (Some(101), None, true), "{setup:?}");
        // What a shell makes of a signal stays a code.
        assert_eq!(code(bench.run(setup, &[], &["exit", "134"])), (Some(134), None, true), "{setup:?}");
        assert_eq!(code(bench.run(setup, &[], &["abort"])), (None, Some(6), true), "{setup:?}");
    }
}

#[test]
fn a_program_that_is_missing_is_said_to_be() {
    for setup in limited() {
        let ran = Bench::new().run_program(setup, &[], "/gone", &[]);
        assert_eq!(ran["code"], 126, "{setup:?}: {ran}");
        assert!(ran["fault"].as_str().unwrap().contains("/gone"), "{setup:?}: {ran}");
    }
}

#[test]
fn a_boxed_command_keeps_the_name_that_it_is_called_by() {
    for setup in limited() {
        assert_eq!(Bench::new().run(setup, &["--arg0", "tool"], &["name"])["stdout"], "tool\n", "{setup:?}");
    }
}

#[test]
fn no_descriptor_but_the_three_streams_is_handed_on() {
    for setup in limited() {
        if setup.kind == "landlock" {
            // Its own entries in /proc are not for children to list.
            continue;
        }
        assert_eq!(Bench::new().run(setup, &[], &["descriptors"])["stdout"], "3\n", "{setup:?}");
    }
}

#[test]
fn tests_may_use_a_loopback_of_their_own() {
    for setup in setups().iter().filter(|s| s.kind == "bwrap") {
        assert_eq!(Bench::new().run(*setup, &[], &["loopback"])["stdout"], "ESCAPED\n", "{setup:?}");
    }
}
