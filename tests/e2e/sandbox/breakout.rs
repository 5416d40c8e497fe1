//! Tries one way out of a box. It is compiled by the tests, run inside, and says `refused` or `ESCAPED`.

use std::ffi::{CString, c_char, c_int, c_long, c_ulong, c_void};
use std::io::{Error, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

unsafe extern "C" {
    fn mount(source: *const c_char, target: *const c_char, kind: *const c_char, flags: c_ulong, data: *const c_void) -> c_int;
    fn unshare(flags: c_int) -> c_int;
    fn ptrace(request: c_long, pid: c_int, address: *const c_void, data: *const c_void) -> c_long;
    fn kill(pid: c_int, signal: c_int) -> c_int;
    fn fork() -> c_int;
    fn setsid() -> c_int;
    fn ioctl(fd: c_int, request: c_ulong, argument: *const c_void) -> c_int;
    fn mknod(path: *const c_char, mode: u32, device: u64) -> c_int;
    fn socket(family: c_int, kind: c_int, protocol: c_int) -> c_int;
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let arg = |n: usize| args[n].as_str();
    let text = |n: usize| CString::new(args[n].as_str()).unwrap();
    let number = |n: usize| args[n].parse::<i32>().unwrap();
    let root = c"/".as_ptr();
    let null = std::ptr::null();
    match arg(1) {
        "remount" => {
            // MS_REMOUNT | MS_BIND
            let remounted = unsafe { mount(null, root, null, 32 | 4096, null.cast()) } + unsafe { mount(null, c"/usr".as_ptr(), null, 32 | 4096, null.cast()) };
            said(if remounted == -2 { Err(Error::last_os_error()) } else { Ok(()) });
        }
        // CLONE_NEWUSER
        "userns" => said(code(unsafe { unshare(0x1000_0000) })),
        "read" => said(std::fs::read(arg(2)).map(drop)),
        "list" => said(std::fs::read_dir(arg(2)).map(drop)),
        "write" => said(std::fs::write(arg(2), "escaped")),
        "chmod" => said(std::fs::set_permissions(arg(2), std::fs::Permissions::from_mode(0o777))),
        "tcp" => said(std::net::TcpStream::connect(arg(2)).map(drop)),
        "udp" => said(std::net::UdpSocket::bind("0.0.0.0:0").and_then(|s| s.send_to(b"escaped", arg(2))).map(drop)),
        "abstract" => {
            let address = std::os::unix::net::SocketAddr::from_abstract_name(arg(2)).unwrap();
            said(std::os::unix::net::UnixStream::connect_addr(&address).map(drop));
        }
        "unix" => said(std::os::unix::net::UnixStream::connect(arg(2)).map(drop)),
        // AF_VSOCK, AF_NETLINK, AF_PACKET
        "families" => said(if [40, 16, 17].iter().all(|f| unsafe { socket(*f, 3, 0) } < 0) { Err(Error::last_os_error()) } else { Ok(()) }),
        "kill" => said(code(unsafe { kill(number(2), 0) })),
        // PTRACE_ATTACH
        "ptrace" => said(code(unsafe { ptrace(16, number(2), null.cast(), null.cast()) } as c_int)),
        // S_IFBLK
        "mknod" => said(code(unsafe { mknod(text(2).as_ptr(), 0o60600, 0xfe00) })),
        // TIOCSTI: on what is no terminal it would be ENOTTY.
        "tiocsti" => {
            unsafe { ioctl(0, 0x5412, c"x".as_ptr().cast()) };
            let e = Error::last_os_error();
            said(if e.raw_os_error() == Some(1) { Err(e) } else { Ok(()) });
        }
        // As many as take a machine's breath away, and no more: a box that fails must not take the machine.
        "fork-bomb" => {
            for _ in 0..400 {
                if unsafe { fork() } == 0 {
                    sleep();
                }
            }
            sleep()
        }
        "orphan" => {
            if unsafe { fork() } == 0 {
                unsafe { setsid() };
                if unsafe { fork() } == 0 {
                    // Its arguments are what it is known by.
                    let _ = Command::new(arg(0)).args(["sleep", arg(2)]).status();
                }
                std::process::exit(0);
            }
            std::thread::sleep(std::time::Duration::from_millis(300));
            println!("left");
        }
        "orphan-and-sleep" => {
            let _ = Command::new(arg(0)).args(["orphan", arg(2)]).status();
            sleep();
        }
        "sleep" => sleep(),
        "memory" => {
            let kept: Vec<_> = (0..1000).map(|_| vec![1_u8; 1 << 20]).collect();
            sleep_with(kept.concat())
        }
        "memory-of-children" => {
            for _ in 0..40 {
                if unsafe { fork() } == 0 {
                    let kept = std::hint::black_box(vec![1_u8; 16 << 20]);
                    sleep_with(kept);
                }
            }
            sleep()
        }
        "big-file" => {
            let mut file = std::fs::File::create(arg(2)).unwrap();
            let written = (0..1000).take_while(|_| file.write_all(&[1; 1 << 16]).is_ok()).count();
            println!("{written} pieces");
        }
        "fill" => {
            for n in 0..200 {
                if let Err(e) = std::fs::write(format!("{}/{n}", arg(2)), vec![1; 1 << 20]) {
                    println!("refused: {e} after {n} MiB");
                    break;
                }
            }
        }
        "spin" => loop {
            std::hint::spin_loop();
        },
        "exit" => std::process::exit(number(2)),
        "abort" => std::process::abort(),
        "name" => println!("{}", arg(0)),
        "loopback" => {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            said(std::net::TcpStream::connect(listener.local_addr().unwrap()).map(drop));
        }
        "descriptors" => {
            let all = std::fs::read_dir("/proc/self/fd").unwrap();
            // The listing's own is one of them.
            println!("{}", all.count() - 1);
        }
        other => panic!("no way out is called {other}"),
    }
}

fn sleep() -> ! {
    loop {
        std::thread::sleep(std::time::Duration::from_secs(1));
    }
}

fn sleep_with(kept: Vec<u8>) -> ! {
    std::hint::black_box(&kept);
    sleep()
}

fn code(returned: c_int) -> Result<(), Error> {
    if returned < 0 { Err(Error::last_os_error()) } else { Ok(()) }
}

fn said(tried: Result<(), Error>) {
    match tried {
        Ok(()) => println!("ESCAPED"),
        Err(e) => println!("refused: {e}"),
    }
}
