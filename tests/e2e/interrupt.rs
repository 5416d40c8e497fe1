//! Ctrl-C, at every stage: no child, no half-written file, no temporary directory is left.

use crate::project::Project;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Interrupts `command` a while after it has said `moment`, and checks what is left.
fn interrupt(project: &Project, command: &mut Command, moment: &str, pause: Duration) {
    let before = project.files();
    let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let seen = lines.by_ref().find(|l| l.contains(moment));
    assert!(seen.is_some(), "it never said {moment}");
    std::thread::sleep(pause);
    kill(pid(&child), Signal::SIGINT).unwrap();
    let rest: Vec<String> = lines.collect();
    let code = wait(&mut child);
    assert_eq!(code, Some(130), "at {moment}: {rest:?}");
    assert!(rest.iter().any(|l| l.contains("interrupted; nothing is left half-written")), "at {moment}: {rest:?}");
    assert_no_process(project, moment);
    project.assert_no_temps();
    assert!(project.files() == before, "at {moment}: {:?}", project.files().keys());
}

fn pid(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).unwrap())
}

/// Its exit code; it may not take longer than the time after which it gives up on its own.
fn wait(child: &mut Child) -> Option<i32> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        if start.elapsed() > Duration::from_secs(15) {
            child.kill().unwrap();
            panic!("it does not end");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The command lines of the processes that have the project's mark in their environment.
fn marked(project: &Project) -> Vec<String> {
    let mark = project.mark();
    let processes = fs_err::read_dir("/proc").unwrap().filter_map(|e| Some(e.ok()?.path()));
    processes
        .filter(|p| std::fs::read(p.join("environ")).is_ok_and(|e| e.split(|b| *b == 0).any(|v| v == mark.as_bytes())))
        .map(|p| String::from_utf8_lossy(&std::fs::read(p.join("cmdline")).unwrap_or_default()).replace('\0', " "))
        .collect()
}

/// A process of the project's runs whose command line has that part.
#[cfg(feature = "mcp")]
pub(crate) fn wait_for_process(project: &Project, part: &str) {
    let start = Instant::now();
    while !marked(project).iter().any(|line| line.contains(part)) {
        assert!(start.elapsed() < Duration::from_secs(60), "no process with {part}: {:?}", marked(project));
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// No process has the project's mark in its environment.
pub(crate) fn assert_no_process(project: &Project, moment: &str) {
    // What was killed may not be reaped yet.
    let start = Instant::now();
    while !marked(project).is_empty() && start.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(marked(project).is_empty(), "left at {moment}: {:?}", marked(project));
}

fn assert_empty(dir: &camino::Utf8Path) {
    let left: Vec<_> = dir.read_dir_utf8().map(|d| d.map(|e| e.unwrap().path().to_owned()).collect()).unwrap_or_default();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn while_the_project_builds() {
    let project = Project::new("slow");
    let mut command = project.command(["waits_for_nothing", "-o", project.beside("out/gist.rs").as_str()]);
    interrupt(&project, command.env("SLOW_BUILD", "1"), "Compiling", Duration::from_secs(1));
    assert_empty(&project.beside("out"));
}

#[test]
fn while_the_test_runs() {
    let project = Project::new("slow");
    let mut command = project.command(["waits_for_long", "-o", project.beside("out/gist.rs").as_str()]);
    interrupt(&project, &mut command, "Tracing", Duration::from_millis(500));
    assert_empty(&project.beside("out"));
}

#[test]
fn while_it_bundles_reduces_or_verifies() {
    let project = Project::new("shop");
    for stage in ["Bundling", "Graphing", "Tracing", "Reducing", "Verifying"] {
        for pause in [0, 60] {
            let out = project.beside("out/gist.rs");
            let mut command = project.command(["a_bulk_discount", "-o", out.as_str()]);
            interrupt(&project, &mut command, stage, Duration::from_millis(pause));
            assert_empty(&project.beside("out"));
        }
    }
}

#[test]
fn while_a_gist_runs() {
    let project = Project::empty("gists");
    let gist = "#[test]\nfn sleeps() {\n    eprintln!(\"sleeping\");\n    std::thread::sleep(std::time::Duration::from_secs(600));\n}\n";
    fs_err::write(project.root.join("gist.rs"), gist).unwrap();
    let mut command = project.command(["run", "gist.rs", "--", "--nocapture"]);
    // As in a terminal: the signal goes to the whole group.
    let mut child = command.process_group(0).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.by_ref().any(|l| l.contains("sleeping")));
    killpg(pid(&child), Signal::SIGINT).unwrap();
    assert_eq!(wait(&mut child), Some(130));
    assert_no_process(&project, "running a gist");
    project.assert_no_temps();
}
