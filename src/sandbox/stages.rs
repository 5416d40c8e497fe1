//! The processes that a boxed command is made of: this binary as `relay`, `supervise` and `enter`.

use super::cgroup::Cgroup;
use super::{Breach, Kind, Report, STAGE, Spec, bwrap, json, landlock, probe, seccomp, shown, tree};
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getpid, getppid};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, String>;

/// What a stage ends with when it can't do its work; shells use it, too.
const FAILED: u8 = 126;

/// How a process ended: a code or a signal.
#[derive(Clone, Copy, Debug)]
enum End {
    Code(i32),
    Signal(i32),
}

/// What `enter` tells the supervisor.
#[derive(Debug, Serialize, Deserialize)]
enum Word {
    /// It is restricted, and starts the command.
    Entered,
    /// It could not.
    Fault(String),
    /// The command was ended by a signal; bubblewrap would make a code of it.
    Signal(i32),
    /// How many tasks there were in bubblewrap's namespace when the command had ended, before the kernel ended the rest.
    Tasks(u64),
}

/// This process as a stage of a box, when it was started as one. Called before anything else.
#[must_use]
pub fn entry(args: &[OsString]) -> Option<ExitCode> {
    match args.get(1)?.to_str()? {
        STAGE => Some(stage(&args[2..]).unwrap_or_else(|e| {
            eprintln!("error: cargo gistify in a sandbox: {e}");
            ExitCode::from(FAILED)
        })),
        probe::COMMAND => Some(probe::command(&args[2..])),
        _ => None,
    }
}

fn stage(args: &[OsString]) -> Result<ExitCode> {
    let [name, spec, command @ ..] = args else { return Err("no stage is named".into()) };
    let spec: Spec = serde_json::from_slice(spec.as_encoded_bytes()).map_err(|e| e.to_string())?;
    match name.to_str() {
        Some("relay") => relay(spec, command),
        Some("supervise") => supervise(spec, command),
        Some("enter") => enter(&spec, command),
        _ => Err("there is no such stage".into()),
    }
}

/// This binary again.
fn next(stage: &str, spec: &Spec, rest: &[OsString]) -> Result<Command> {
    let mut command = Command::new("/proc/self/exe");
    command.args([STAGE, stage, &json(spec).map_err(|e| e.to_string())?]).args(rest);
    Ok(command)
}

/// The leader of the process group that the caller kills. The supervisor is in another one, and sees this process go.
fn relay(mut spec: Spec, rest: &[OsString]) -> Result<ExitCode> {
    close_inherited();
    // Should the caller be killed, nobody is left who would end the box.
    nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL).map_err(|e| e.to_string())?;
    spec.relay = getpid().as_raw();
    let status = next("supervise", &spec, rest)?.process_group(0).status().map_err(|e| e.to_string())?;
    Ok(end_as(status.signal().map_or_else(|| End::Code(status.code().unwrap_or(1)), End::Signal)))
}

/// What the caller has open, and did not mean to hand on, is a way past every wall.
fn close_inherited() {
    let entries = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers: Vec<i32> = entries.filter_map(|e| e.file_name().to_str()?.parse().ok()).collect();
    for number in numbers.into_iter().filter(|n| *n > 2) {
        // That of the listing itself is closed already.
        let _ = nix::unistd::close(number);
    }
}

/// Ends this process as another one ended.
fn end_as(end: End) -> ExitCode {
    match end {
        End::Code(code) => ExitCode::from(code as u8),
        End::Signal(signal) => {
            let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
            let _ = signal_hook::low_level::emulate_default_handler(signal);
            ExitCode::from((128 + signal) as u8)
        }
    }
}

/// Starts the box, enforces what the kernel does not, and ends everything with the command.
fn supervise(mut spec: Spec, rest: &[OsString]) -> Result<ExitCode> {
    let (report, end) = match supervised(&mut spec, rest) {
        Ok((report, end)) => (report, end),
        Err(fault) => (Report { fault: Some(fault), ..Report::default() }, End::Code(i32::from(FAILED))),
    };
    if report != Report::default() {
        std::fs::write(&spec.report, json(&report).map_err(|e| e.to_string())?)
            .map_err(|e| format!("{}: {e}", spec.report))?;
    }
    Ok(end_as(end))
}

fn supervised(spec: &mut Spec, rest: &[OsString]) -> Result<(Report, End)> {
    let said = |e: nix::Error| e.to_string();
    nix::sys::prctl::set_child_subreaper(true).map_err(said)?;
    let cgroup = Cgroup::make(&spec.policy.limits);
    let user = nix::unistd::geteuid();
    // A fork bomb is faster than any process that watches it: the kernel must hold it, by one limit or the other.
    if user.is_root() && cgroup.is_none() && spec.kind != Kind::None {
        return Err(
            "no control group with memory and pids can be made here, and without one nothing limits the processes of root; \
                    run as an ordinary user"
                .into(),
        );
    }
    // RLIMIT_NPROC counts all tasks of the user, and none of root's. It holds at twice as many, so that the watch has the time
    // to see that there are too many: who is refused one more may be gone a moment later.
    spec.tasks = (!user.is_root()).then(|| tree::tasks_of(Some(user.as_raw())) + 2 * spec.policy.limits.processes);
    let (mut words, to_words) = std::io::pipe().map_err(|e| e.to_string())?;
    fcntl(&to_words, FcntlArg::F_SETFD(FdFlag::empty())).map_err(said)?;
    spec.words = to_words.as_raw_fd();
    let mut command = box_command(spec, rest)?;
    let watch = Watch::new(spec, cgroup.as_ref());
    if cgroup.as_ref().is_some_and(|g| g.enter().is_none()) {
        return Err("the control group is gone".into());
    }
    let child = command.spawn().map_err(|e| format!("failed to start {}: {e}", command.get_program().to_string_lossy()));
    cgroup.as_ref().map(Cgroup::leave);
    let child = Pid::from_raw(child?.id() as i32);
    drop(to_words);
    let end = std::thread::scope(|scope| {
        let (done, until) = channel();
        scope.spawn(|| watch.run(until));
        let end = end_of(child);
        drop(done);
        end
    })?;
    watch.end_all();
    let mut text = String::new();
    words.read_to_string(&mut text).map_err(|e| e.to_string())?;
    let words: Vec<Word> = text.lines().filter_map(|l| serde_json::from_str(l).ok()).collect();
    let signal = words.iter().find_map(|w| if let Word::Signal(s) = w { Some(End::Signal(*s)) } else { None });
    let fault = words.iter().find_map(|w| if let Word::Fault(f) = w { Some(f.clone()) } else { None });
    let left = words.iter().find_map(|w| if let Word::Tasks(n) = w { Some(*n) } else { None });
    let crowded = left.is_some_and(|n| n > spec.policy.limits.processes).then_some(Breach::Processes);
    let end = signal.unwrap_or(end);
    let by_signal = match end {
        End::Signal(libc::SIGXCPU) => Some(Breach::Cpu),
        End::Signal(libc::SIGXFSZ) => Some(Breach::FileSize),
        _ => None,
    };
    let breach = watch.breach().or_else(|| cgroup.as_ref()?.breach()).or(by_signal).or(crowded);
    let never = words.is_empty() && breach.is_none() && !watch.abandoned();
    let fault = fault.or_else(|| never.then(|| "the box could not be made".into()));
    Ok((Report { breach, fault }, end))
}

/// What starts the last stage, in its box.
fn box_command(spec: &Spec, rest: &[OsString]) -> Result<Command> {
    if spec.kind != Kind::Bwrap {
        return next("enter", spec, rest);
    }
    let exe = std::env::current_exe().map_err(|e| e.to_string())?;
    let cwd = std::env::current_dir().map_err(|e| e.to_string())?;
    let cwd = camino::Utf8PathBuf::from_path_buf(cwd).map_err(|p| format!("{} is not UTF-8", p.display()))?;
    let mut command = Command::new("bwrap");
    command.args(bwrap::arguments(spec, &exe, shown::home().as_deref(), &cwd)).args(["--", bwrap::INSIDE]);
    command.args([STAGE, "enter", &json(spec).map_err(|e| e.to_string())?]).args(rest);
    Ok(command)
}

/// Waits until the box has ended; orphans that end meanwhile are reaped.
fn end_of(child: Pid) -> Result<End> {
    loop {
        match waitpid(None, None) {
            Ok(WaitStatus::Exited(pid, code)) if pid == child => return Ok(End::Code(code)),
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == child => return Ok(End::Signal(signal as i32)),
            Ok(_) | Err(nix::Error::EINTR) => {}
            Err(e) => return Err(e.to_string()),
        }
    }
}

/// The eyes of the supervisor.
struct Watch<'a> {
    spec: &'a Spec,
    cgroup: Option<&'a Cgroup>,
    /// Bytes in the writable folders before the run.
    disk_before: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    breach: Option<Breach>,
    abandoned: bool,
}

impl<'a> Watch<'a> {
    fn new(spec: &'a Spec, cgroup: Option<&'a Cgroup>) -> Watch<'a> {
        Watch { spec, cgroup, disk_before: disk(spec, u64::MAX), state: Mutex::default() }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn breach(&self) -> Option<Breach> {
        self.state().breach
    }

    fn abandoned(&self) -> bool {
        self.state().abandoned
    }

    /// Looks until the command has ended; ends it when it wants too much, or when nobody waits for it.
    fn run(&self, until: Receiver<()>) {
        let mut pause = Duration::from_millis(2);
        let mut disk_seen = Instant::now();
        while until.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
            pause = (pause * 2).min(Duration::from_millis(10));
            let abandoned = getppid().as_raw() != self.spec.relay;
            let look_at_disk = disk_seen.elapsed() > Duration::from_millis(200);
            if look_at_disk {
                disk_seen = Instant::now();
            }
            let processes = tree::below();
            let breach = self.breach().or_else(|| self.too_much(&processes, look_at_disk));
            if abandoned || breach.is_some() {
                *self.state() = State { breach, abandoned };
                tree::kill_all(&processes);
                // Until the last one is gone there is nothing else to do.
                pause = Duration::from_micros(100);
            }
        }
    }

    fn too_much(&self, processes: &[i32], look_at_disk: bool) -> Option<Breach> {
        let limits = &self.spec.policy.limits;
        let usage = tree::usage(processes);
        let too_much = |memory: u64| self.cgroup.is_none() && memory > limits.memory_bytes;
        if usage.tasks > limits.processes {
            Some(Breach::Processes)
        } else if usage.ticks > limits.cpu_s * tree::ticks_per_second() {
            Some(Breach::Cpu)
        } else if too_much(usage.resident) && too_much(tree::proportional(processes)) {
            Some(Breach::Memory)
        } else if look_at_disk && self.disk_is_full() {
            Some(Breach::Disk)
        } else {
            self.cgroup.and_then(Cgroup::breach)
        }
    }

    fn disk_is_full(&self) -> bool {
        let most = self.disk_before.saturating_add(self.spec.policy.limits.disk_bytes);
        disk(self.spec, most) > most
    }

    /// Ends what the command has left, and waits for it.
    fn end_all(&self) {
        // A command that can't start one more may end before it is seen how many there are.
        if self.breach().is_none() && tree::usage(&tree::below()).tasks > self.spec.policy.limits.processes {
            self.state().breach = Some(Breach::Processes);
        }
        loop {
            let mut left = tree::below();
            left.extend(self.cgroup.map(Cgroup::processes).unwrap_or_default());
            tree::kill_all(&left);
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Err(nix::Error::ECHILD) => break,
                Ok(WaitStatus::StillAlive) => std::thread::sleep(Duration::from_micros(100)),
                _ => {}
            }
        }
        if self.breach().is_none() && self.disk_is_full() {
            self.state().breach = Some(Breach::Disk);
        }
    }
}

/// What the writable folders hold, counted until it is more than `most`.
fn disk(spec: &Spec, most: u64) -> u64 {
    let mut sum = 0;
    let mut open: Vec<std::path::PathBuf> = spec.policy.writable.iter().map(Into::into).collect();
    while let Some(path) = open.pop() {
        use std::os::unix::fs::MetadataExt;
        let Ok(data) = path.symlink_metadata() else { continue };
        sum += (data.blocks() * 512).max(4096);
        if sum > most {
            break;
        }
        if data.is_dir() {
            open.extend(std::fs::read_dir(&path).into_iter().flatten().flatten().map(|e| e.path()));
        }
    }
    sum
}

/// Restricts itself for good, and becomes the command.
fn enter(spec: &Spec, rest: &[OsString]) -> Result<ExitCode> {
    // The descriptor is the supervisor's pipe; the command must not see it.
    let mut words = File::options().write(true).open(format!("/proc/self/fd/{}", spec.words)).map_err(|e| e.to_string())?;
    nix::unistd::close(spec.words).map_err(|e| e.to_string())?;
    let mut say = |word: &Word| {
        let line = serde_json::to_string(word).unwrap_or_default();
        // The supervisor takes silence for a fault.
        let _ = writeln!(words, "{line}");
    };
    if let Err(fault) = restrict(spec) {
        say(&Word::Fault(fault.clone()));
        return Err(fault);
    }
    let [program, args @ ..] = rest else { return Err("no command is named".into()) };
    if program == probe::INSIDE {
        say(&Word::Entered);
        return probe::inside(spec.kind, args);
    }
    let mut command = Command::new(program);
    command.args(args);
    if let Some(name) = &spec.arg0 {
        command.arg0(name);
    }
    if spec.kind == Kind::Bwrap {
        match &spec.pwd {
            Some(pwd) => command.env("PWD", pwd),
            None => command.env_remove("PWD"),
        };
    }
    let failed = |e: std::io::Error| format!("failed to start {}: {e}", program.to_string_lossy());
    if spec.kind != Kind::Bwrap {
        say(&Word::Entered);
        let fault = failed(command.exec());
        say(&Word::Fault(fault.clone()));
        return Err(fault);
    }
    let status = command.spawn().and_then(|mut child| {
        say(&Word::Entered);
        child.wait()
    });
    match status {
        Ok(status) => {
            say(&Word::Tasks(tree::tasks_of(None)));
            if let Some(signal) = status.signal() {
                say(&Word::Signal(signal));
            }
            Ok(ExitCode::from(status.code().unwrap_or(1) as u8))
        }
        Err(e) => {
            say(&Word::Fault(failed(e)));
            Ok(ExitCode::from(FAILED))
        }
    }
}

fn restrict(spec: &Spec) -> Result<()> {
    let limits = &spec.policy.limits;
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    let mut caps =
        vec![(Resource::RLIMIT_CORE, 0), (Resource::RLIMIT_FSIZE, limits.file_bytes), (Resource::RLIMIT_CPU, limits.cpu_s)];
    caps.extend(spec.tasks.map(|n| (Resource::RLIMIT_NPROC, n)));
    for (resource, most) in caps {
        let (_, hard) = nix::sys::resource::getrlimit(resource).map_err(|e| e.to_string())?;
        // A second between the signal that says why and the one that nobody survives.
        let soft = most.min(hard);
        let hard = if resource == Resource::RLIMIT_CPU { hard.min(most + 1) } else { soft };
        setrlimit(resource, soft, hard).map_err(|e| format!("{resource:?}: {e}"))?;
    }
    if spec.kind == Kind::None {
        return Ok(());
    }
    if spec.kind == Kind::Landlock {
        landlock::drop_capabilities()?;
    }
    landlock::restrict(spec)?;
    nix::sys::prctl::set_no_new_privs().map_err(|e| e.to_string())?;
    seccomp::restrict(spec.kind)
}
