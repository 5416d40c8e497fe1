//! The agent's ends of the ways out of its box, which are unix sockets. They run in the box, as this binary.
//!
//! To its model a port on the loopback of the box leads; that bridge starts the agent and ends as the agent does. What stands at the other end
//! is [`super::relay`]'s. To this tool's own server standard input and output lead, and [`super::door`] is at the other end.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode};

/// What follows the program's name when this binary is a bridge: then the port, the socket and the command.
pub const BRIDGE: &str = "__agent-bridge";
/// What follows the program's name when this binary leads standard input and output to a socket: then the socket.
pub const CLIENT: &str = "__agent-mcp";
/// The exit code of a bridge that could not be built, or whose command could not be started.
pub const FAILED: u8 = 125;

/// This process as a bridge, when it was started as one.
#[must_use]
pub fn entry(args: &[OsString]) -> Option<ExitCode> {
    let (what, ended) = match args {
        [_, mark, port, socket, command @ ..] if mark == BRIDGE => ("model", bridge(port, socket, command)),
        [_, mark, socket] if mark == CLIENT => ("server", client(socket)),
        _ => return None,
    };
    Some(ended.unwrap_or_else(|e| {
        eprintln!("error: the bridge to the {what}: {e}");
        ExitCode::from(FAILED)
    }))
}

/// Ends when the server does: what stands in standard input is then for nobody.
fn client(socket: &OsString) -> Result<ExitCode, String> {
    let server = UnixStream::connect(socket).map_err(|e| format!("{}: {e}", socket.to_string_lossy()))?;
    let to = server.try_clone().map_err(|e| e.to_string())?;
    std::thread::spawn(move || {
        copy(io::stdin(), &to);
        let _ = to.shutdown(Shutdown::Write);
    });
    copy(server, io::stdout());
    Ok(ExitCode::SUCCESS)
}

fn bridge(port: &OsString, socket: &OsString, command: &[OsString]) -> Result<ExitCode, String> {
    let port: u16 = port.to_str().and_then(|p| p.parse().ok()).ok_or("no port is named")?;
    let [program, args @ ..] = command else { return Err("no command is named".into()) };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|e| format!("port {port}: {e}"))?;
    let socket = socket.clone();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let socket = socket.clone();
            std::thread::spawn(move || join(client, &socket));
        }
    });
    let failed = |e: io::Error| format!("failed to start {}: {e}", program.to_string_lossy());
    let status = Command::new(program).args(args).status().map_err(failed)?;
    // Shells say it so, too.
    let code = status.code().or_else(|| status.signal().map(|s| 128 + s)).unwrap_or(1);
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

/// Copies both ways until both have ended. A socket that nobody listens to closes the connection.
fn join(client: TcpStream, socket: &OsString) {
    let Ok(server) = UnixStream::connect(socket) else { return };
    let (Ok(from_client), Ok(from_server)) = (client.try_clone(), server.try_clone()) else { return };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            copy(from_client, &server);
            let _ = server.shutdown(Shutdown::Write);
        });
        copy(from_server, &client);
        let _ = client.shutdown(Shutdown::Write);
    });
}

/// Each piece goes on as soon as it is there: answers of models come in pieces.
fn copy(mut from: impl Read, mut to: impl Write) {
    let mut chunk = [0; 16 << 10];
    while let Ok(n) = from.read(&mut chunk) {
        if n == 0 || to.write_all(&chunk[..n]).and_then(|()| to.flush()).is_err() {
            break;
        }
    }
}
