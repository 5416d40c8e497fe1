//! The way of an agent in its box to this tool's own server (`cargo gistify mcp`), for agents that are given it.
//!
//! The server needs a toolchain and the project, so it stands outside, as its user; a unix socket leads to it, as another one leads to the
//! model. Each connection has a server of its own, whose standard input and output it is. What the server does for the agent is the server's
//! to restrict: see `--only-gist`.

use crate::error::{Error, Result};
use camino::{Utf8Path, Utf8PathBuf};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Servers at once; further connections are closed. An agent has one, and another one while the first still ends.
const MOST: usize = 4;
/// How often it is looked for a connection.
const PAUSE: Duration = Duration::from_millis(20);
/// How long a server may take to end.
const ENDING: Duration = Duration::from_secs(10);

/// A socket that leads to servers; they end when it is dropped.
#[derive(Debug)]
pub struct Door {
    /// Where the socket is.
    pub socket: Utf8PathBuf,
    closed: Arc<AtomicBool>,
    keeper: Option<JoinHandle<()>>,
}

impl Door {
    /// Makes the socket at `socket`; `server` makes the command of a server.
    ///
    /// # Errors
    /// [`Error::Setup`] when it can't be made.
    pub fn open(socket: &Utf8Path, server: impl Fn() -> Command + Send + 'static) -> Result<Door> {
        let failed = |e| Error::Setup(format!("failed to listen on {socket}: {e}"));
        let listener = UnixListener::bind(socket).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let closed = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&closed);
        let keeper = std::thread::spawn(move || keep(&listener, &server, &told));
        Ok(Door { socket: socket.to_owned(), closed, keeper: Some(keeper) })
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::Relaxed);
        let _ = self.keeper.take().map(JoinHandle::join);
    }
}

fn keep(listener: &UnixListener, server: &dyn Fn() -> Command, closed: &AtomicBool) {
    let mut servers: Vec<Child> = Vec::new();
    while !closed.load(Ordering::Relaxed) {
        servers.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
        match listener.accept() {
            Ok((client, _)) if servers.len() < MOST => servers.extend(serve(client, server())),
            Ok(_) => {}
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
    // A call that is under way has nobody who waits for it; the server ends what it has started.
    for child in &servers {
        let _ = i32::try_from(child.id()).map(|id| kill(Pid::from_raw(id), Signal::SIGTERM));
    }
    let start = Instant::now();
    for mut child in servers {
        while matches!(child.try_wait(), Ok(None)) && start.elapsed() < ENDING {
            std::thread::sleep(PAUSE);
        }
        let _ = child.kill();
        let _ = child.wait();
    }
}

fn serve(client: UnixStream, mut command: Command) -> Option<Child> {
    client.set_nonblocking(false).ok()?;
    let input = OwnedFd::from(client.try_clone().ok()?);
    // A signal of the terminal is for us; the server is told to end in time.
    command.process_group(0);
    command.stdin(Stdio::from(input)).stdout(Stdio::from(OwnedFd::from(client))).stderr(Stdio::null()).spawn().ok()
}

#[cfg(test)]
mod unit {
    use super::*;
    use crate::compile::{temp_dir, utf8};
    use std::io::{BufRead, BufReader, Write};

    fn shell(script: &'static str) -> impl Fn() -> Command + Send + 'static {
        move || {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        }
    }

    fn line(client: &UnixStream) -> String {
        client.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let mut line = String::new();
        BufReader::new(client).read_line(&mut line).unwrap();
        line
    }

    #[test]
    fn each_connection_has_a_server_of_its_own_up_to_a_number_and_all_end_with_it() {
        let room = temp_dir().unwrap();
        let socket = utf8(room.path()).unwrap().join("s");
        let door = Door::open(&socket, shell("trap 'exit 0' TERM; while read l; do echo \"$$ $l\"; done")).unwrap();
        let mut clients: Vec<UnixStream> = (0..MOST).map(|_| UnixStream::connect(&socket).unwrap()).collect();
        let told: Vec<String> = clients
            .iter_mut()
            .map(|client| {
                writeln!(client, "hello").unwrap();
                line(client)
            })
            .collect();
        let ids: std::collections::BTreeSet<i32> =
            told.iter().map(|l| l.strip_suffix(" hello\n").unwrap().parse().unwrap()).collect();
        assert_eq!(ids.len(), MOST);
        assert_eq!(line(&UnixStream::connect(&socket).unwrap()), "");
        drop(door);
        assert!(ids.into_iter().all(|id| kill(Pid::from_raw(id), None).is_err()));
        assert!(UnixStream::connect(&socket).is_err());
    }
}
