//! Children: each in a process group of its own, with a time limit, closed stdin (unless a file is given) and capped
//! output.
//!
//! Every child of this tool is started here, so Ctrl-C can end all of them ([`interrupt`]).

pub mod interrupt;

use crate::error::{Error, Result};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What a child may use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Wall time; the whole process group is killed after it.
    pub timeout: Option<Duration>,
    /// Bytes of each of stdout and stderr; who prints more is killed, with the whole process group.
    pub max_output: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { timeout: None, max_output: 64 << 20 }
    }
}

/// How a child ended and what it said.
#[derive(Clone, Debug)]
pub struct Output {
    /// As the system reports it.
    pub status: ExitStatus,
    /// Captured standard output, capped.
    pub stdout: Vec<u8>,
    /// Captured standard error, capped.
    pub stderr: Vec<u8>,
    /// The time limit was hit, and the group was killed.
    pub timed_out: bool,
    /// Output was longer than the cap, and the group was killed.
    pub truncated: bool,
    /// Wall time.
    pub wall: Duration,
}

impl Output {
    /// Standard output as text.
    #[must_use]
    pub fn stdout_text(&self) -> String {
        text(&self.stdout)
    }

    /// Standard error as text.
    #[must_use]
    pub fn stderr_text(&self) -> String {
        text(&self.stderr)
    }

    /// The last lines of standard error.
    #[must_use]
    pub fn stderr_tail(&self, lines: usize) -> String {
        let text = self.stderr_text();
        let all: Vec<&str> = text.lines().collect();
        all[all.len().saturating_sub(lines)..].join("\n")
    }

    /// The signal that ended the child, if one did.
    #[must_use]
    pub fn signal(&self) -> Option<i32> {
        self.status.signal()
    }
}

/// What a child printed, as text. Bytes that are no UTF-8 are shown as `\xff`, so that two different ones stay different.
fn text(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        out.extend(chunk.invalid().iter().map(|b| format!("\\x{b:02x}")));
    }
    out
}

/// Runs `command` with both outputs captured and nothing to read.
///
/// # Errors
/// When it can't be started, or when the run is interrupted. A non-zero exit is not an error.
pub fn run(command: &mut Command, limits: Limits) -> Result<Output> {
    run_fed(command, Stdio::null(), limits)
}

/// Runs `command` with both outputs captured and its standard input given.
///
/// # Errors
/// As [`run`].
pub fn run_fed(command: &mut Command, input: Stdio, limits: Limits) -> Result<Output> {
    command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
    let (mut child, group) = spawn(command)?;
    let max = limits.max_output;
    let too_much = Arc::new(AtomicBool::new(false));
    let reader = |from: Box<dyn Read + Send>| {
        let too_much = Arc::clone(&too_much);
        std::thread::spawn(move || read_capped(from, max, &too_much))
    };
    let out = child.stdout.take().map(|r| reader(Box::new(r)));
    let err = child.stderr.take().map(|r| reader(Box::new(r)));
    let (status, timed_out, wall) = wait(&mut child, &group, limits.timeout, &|| too_much.load(Ordering::Relaxed))?;
    let take = |t: Option<std::thread::JoinHandle<Vec<u8>>>| t.and_then(|t| t.join().ok()).unwrap_or_default();
    let (stdout, stderr) = (take(out), take(err));
    interrupt::check()?;
    Ok(Output { status, stdout, stderr, timed_out, truncated: too_much.load(Ordering::Relaxed), wall })
}

/// Runs `command` with both outputs captured and nothing to read, and shows each line of its standard output to `on_line` as it comes.
/// When that says `false`, the whole process group is killed.
///
/// # Errors
/// As [`run`].
pub fn run_watched(command: &mut Command, limits: Limits, on_line: impl FnMut(&str) -> bool + Send) -> Result<Output> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let (mut child, group) = spawn(command)?;
    let max = limits.max_output;
    let (stop, too_much) = (AtomicBool::new(false), AtomicBool::new(false));
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let mut lines = Lines { pending: Vec::new(), on_line, stop: &stop };
    let (waited, stdout, stderr) = std::thread::scope(|scope| {
        let too_much = &too_much;
        let out = scope.spawn(move || {
            let kept = stdout.map(|s| read_through(s, max, too_much, |chunk| lines.take(chunk)));
            lines.rest();
            kept.unwrap_or_default()
        });
        let err = scope.spawn(move || stderr.map(|s| read_capped(s, max, too_much)).unwrap_or_default());
        let is_over = || stop.load(Ordering::Relaxed) || too_much.load(Ordering::Relaxed);
        let waited = wait(&mut child, &group, limits.timeout, &is_over);
        (waited, out.join().unwrap_or_default(), err.join().unwrap_or_default())
    });
    interrupt::check()?;
    let (status, timed_out, wall) = waited?;
    Ok(Output { status, stdout, stderr, timed_out, truncated: too_much.into_inner(), wall })
}

/// How long a child may take to end by itself once it is not talked to any more.
#[cfg(feature = "acp")]
const FAREWELL: Duration = Duration::from_secs(1);

/// Runs `command` and has `talk` hold its standard input and output. When that comes back the child has a second to end by itself,
/// then the whole process group is killed; when the child ends, or its time is up, what `talk` reads from ends. Of the outputs only
/// standard error is kept.
///
/// # Errors
/// As [`run`].
#[cfg(feature = "acp")]
pub fn run_talking<T: Send>(
    command: &mut Command,
    limits: Limits,
    talk: impl FnOnce(std::process::ChildStdin, std::process::ChildStdout) -> T + Send,
) -> Result<(Output, T)> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let (mut child, group) = spawn(command)?;
    let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(Error::Internal("a child has no pipes".into()));
    };
    let stderr = child.stderr.take();
    let (too_much, said) = (AtomicBool::new(false), std::sync::OnceLock::new());
    let (waited, talked, stderr) = std::thread::scope(|scope| {
        let (too_much, said) = (&too_much, &said);
        let talker = scope.spawn(move || {
            let talked = talk(stdin, stdout);
            said.get_or_init(Instant::now);
            talked
        });
        let err = scope.spawn(move || stderr.map(|s| read_capped(s, limits.max_output, too_much)).unwrap_or_default());
        let is_over = || {
            too_much.load(Ordering::Relaxed)
                || said.get().is_some_and(|at| at.elapsed() > FAREWELL)
                // A talk that panicked says nothing any more.
                || talker.is_finished() && said.get().is_none()
        };
        let waited = wait(&mut child, &group, limits.timeout, &is_over);
        (waited, talker.join(), err.join().unwrap_or_default())
    });
    interrupt::check()?;
    let (status, timed_out, wall) = waited?;
    let talked = talked.map_err(|_| Error::Internal("talking to a child panicked".into()))?;
    Ok((Output { status, stdout: Vec::new(), stderr, timed_out, truncated: too_much.into_inner(), wall }, talked))
}

/// Cuts what comes into lines; a line that is longer than all that is kept of an output is shown in parts.
struct Lines<'a, F> {
    pending: Vec<u8>,
    on_line: F,
    stop: &'a AtomicBool,
}

/// The longest line that is shown in one piece, in bytes.
const LONGEST_LINE: usize = 16 << 20;

impl<F: FnMut(&str) -> bool> Lines<'_, F> {
    fn take(&mut self, chunk: &[u8]) {
        for part in chunk.split_inclusive(|b| *b == b'\n') {
            self.pending.extend_from_slice(part);
            if part.ends_with(b"\n") || self.pending.len() > LONGEST_LINE {
                self.rest();
            }
        }
    }

    fn rest(&mut self) {
        let line = String::from_utf8_lossy(&self.pending);
        let line = line.trim_end_matches(['\n', '\r']);
        if !self.pending.is_empty() && !self.stop.load(Ordering::Relaxed) && !(self.on_line)(line) {
            self.stop.store(true, Ordering::Relaxed);
        }
        self.pending.clear();
    }
}

/// Runs `command`, feeding each line of its outputs to the callbacks as they come.
///
/// # Errors
/// As [`run`].
pub fn run_lines(
    command: &mut Command,
    on_stdout: impl FnMut(String) + Send,
    on_stderr: impl FnMut(String) + Send,
) -> Result<ExitStatus> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let (mut child, group) = spawn(command)?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let status = std::thread::scope(|scope| {
        scope.spawn(move || stdout.map(|s| feed(s, on_stdout)));
        scope.spawn(move || stderr.map(|s| feed(s, on_stderr)));
        wait(&mut child, &group, None, &|| false)
    });
    interrupt::check()?;
    Ok(status?.0)
}

fn feed(from: impl Read, mut line: impl FnMut(String)) {
    let mut reader = BufReader::new(from);
    let mut raw = Vec::new();
    while matches!(reader.read_until(b'\n', &mut raw), Ok(n) if n > 0) {
        line(String::from_utf8_lossy(&raw).trim_end_matches(['\n', '\r']).to_owned());
        raw.clear();
    }
}

/// Runs `command` with the caller's own stdin, stdout and stderr, in the caller's process group.
///
/// # Errors
/// When it can't be started.
pub fn run_inherited(command: &mut Command) -> Result<ExitStatus> {
    let name = program(command);
    command.status().map_err(Error::io(format!("failed to start {name}")))
}

fn program(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

fn spawn(command: &mut Command) -> Result<(std::process::Child, interrupt::Group)> {
    interrupt::check()?;
    command.process_group(0);
    let name = program(command);
    let child = command.spawn().map_err(Error::io(format!("failed to start {name}")))?;
    let group = interrupt::Group::register(child.id());
    Ok((child, group))
}

fn wait(
    child: &mut std::process::Child,
    group: &interrupt::Group,
    timeout: Option<Duration>,
    is_over: &dyn Fn() -> bool,
) -> Result<(ExitStatus, bool, Duration)> {
    let start = Instant::now();
    let mut pause = Duration::from_micros(500);
    let mut timed_out = false;
    loop {
        if let Some(status) = child.try_wait().map_err(Error::io("failed to wait for a child"))? {
            // Grandchildren that outlive the child would keep the pipes open for ever.
            group.kill();
            return Ok((status, timed_out, start.elapsed()));
        }
        if !timed_out && timeout.is_some_and(|t| start.elapsed() > t) {
            timed_out = true;
            group.kill();
        }
        if is_over() {
            group.kill();
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

fn read_capped(from: impl Read, max: usize, too_much: &AtomicBool) -> Vec<u8> {
    read_through(from, max, too_much, |_| {})
}

/// Reads to the end, keeps the first `max` bytes, and shows every piece.
fn read_through(mut from: impl Read, max: usize, too_much: &AtomicBool, mut show: impl FnMut(&[u8])) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut chunk = [0_u8; 64 << 10];
    loop {
        match from.read(&mut chunk) {
            Ok(0) => break,
            Ok(n) => {
                let room = max.saturating_sub(kept.len()).min(n);
                kept.extend_from_slice(&chunk[..room]);
                too_much.fetch_or(room < n, Ordering::Relaxed);
                show(&chunk[..n]);
            }
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    kept
}

#[cfg(test)]
mod unit {
    use super::*;

    fn sh(script: &str) -> Command {
        let mut c = Command::new("sh");
        c.args(["-c", script]);
        c
    }

    #[test]
    fn both_outputs_and_the_status_come_back() {
        let out = run(&mut sh("echo out; echo err >&2; exit 7"), Limits::default()).unwrap();
        assert_eq!((out.status.code(), out.stdout_text().as_str(), out.stderr_text().as_str()), (Some(7), "out\n", "err\n"));
    }

    #[test]
    fn bytes_that_are_no_text_stay_apart() {
        assert_eq!(text(b"a\xff\xc3\xa4\xc3"), "a\\xffä\\xc3");
    }

    #[test]
    fn a_file_is_read_as_standard_input() {
        let mut file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut file, b"fed").unwrap();
        std::io::Seek::rewind(&mut file).unwrap();
        let out = run_fed(&mut sh("cat"), file.into(), Limits::default()).unwrap();
        assert_eq!(out.stdout_text(), "fed");
    }

    #[test]
    fn a_time_limit_kills_the_whole_group() {
        let limits = Limits { timeout: Some(Duration::from_millis(200)), ..Limits::default() };
        let out = run(&mut sh("sleep 600 & sleep 600"), limits).unwrap();
        assert!(out.timed_out);
        assert_eq!(out.signal(), Some(9));
    }

    #[test]
    fn who_prints_past_the_cap_is_killed() {
        let out = run(&mut sh("yes; sleep 600"), Limits { max_output: 1000, ..Limits::default() }).unwrap();
        assert_eq!((out.stdout.len(), out.truncated, out.timed_out, out.signal()), (1000, true, false, Some(9)));
    }

    #[test]
    fn lines_are_seen_as_they_come_and_can_end_the_run() {
        let mut seen = Vec::new();
        let script = "echo one; printf two; echo; echo three; sleep 600; echo four";
        let out = run_watched(&mut sh(script), Limits::default(), |line| {
            seen.push(line.to_owned());
            line != "three"
        });
        let out = out.unwrap();
        assert_eq!((out.signal(), out.stdout_text().as_str(), out.truncated), (Some(9), "one\ntwo\nthree\n", false));
        assert_eq!(seen, ["one", "two", "three"]);
        let mut last = String::new();
        run_watched(&mut sh("printf 'no end of line'"), Limits::default(), |line| {
            last = line.to_owned();
            true
        })
        .unwrap();
        assert_eq!(last, "no end of line");
    }

    #[test]
    fn an_orphan_that_holds_the_pipe_does_not_block() {
        let out = run(&mut sh("sleep 600 & echo done"), Limits::default()).unwrap();
        assert_eq!(out.stdout_text(), "done\n");
    }

    #[test]
    fn a_missing_program_is_named() {
        let e = run(&mut Command::new("no-such-program-here"), Limits::default()).unwrap_err();
        assert!(e.to_string().contains("no-such-program-here"), "{e}");
    }
}
