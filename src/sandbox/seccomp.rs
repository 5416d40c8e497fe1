//! The filter of system calls. What it refuses is an `EPERM` to the caller.

use super::Kind;
use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter,
};
use std::collections::BTreeMap;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;
type Result<T> = std::result::Result<T, String>;

/// Never needed by a test, and each a way out, or into another process, or into the kernel's less tried parts. Numbers where
/// libc has no name; they are the same on all architectures.
const NEVER: &[c_long] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_process_madvise,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    467, // open_tree_attr
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_kexec_file_load,
];

/// Where the machine's own files, sockets and memory are in sight: what Landlock lets pass of them. Modes, owners, times and
/// attributes of files; sockets with a path; memory and queues with a name.
const ON_THE_MACHINE: &[c_long] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    452, // fchmodat2
    463, // setxattrat
    466, // removexattrat
    469, // file_setattr
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
    libc::SYS_connect,
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semctl,
    libc::SYS_semtimedop,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// FS_IOC_SETFLAGS and FS_IOC_FSSETXATTR: attributes of files that are open for reading only.
const FILE_FLAGS: [u64; 2] = [0x4008_6602, 0x401c_5820];

/// Restricts this process and all that it starts, for good.
pub(super) fn restrict(kind: Kind) -> Result<()> {
    // Its flags stand in memory, where no filter sees them; libc falls back to `clone`.
    let clone3 = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    apply(clone3, libc::ENOSYS)?;
    apply(rules(kind)?, libc::EPERM)
}

fn rules(kind: Kind) -> Result<Rules> {
    let mut rules = Rules::new();
    let extra = if kind == Kind::Landlock { ON_THE_MACHINE } else { &[] };
    for call in NEVER.iter().chain(extra) {
        rules.insert(*call, Vec::new());
    }
    rules.insert(libc::SYS_socket, sockets(kind)?);
    // Limits of other processes, and priorities of whole users.
    rules.insert(libc::SYS_prlimit64, vec![all(&[(0, Op::Ne, 0)])?]);
    rules.insert(libc::SYS_setpriority, vec![all(&[(1, Op::Ne, 0)])?]);
    // Typing into the terminal.
    let mut ioctls = vec![0x5412, 0x541c];
    if kind == Kind::Landlock {
        ioctls.extend(FILE_FLAGS);
    }
    rules.insert(libc::SYS_ioctl, ioctls.into_iter().map(|request| all(&[(1, Op::Eq, request)])).collect::<Result<_>>()?);
    let devices =
        |at| [libc::S_IFCHR, libc::S_IFBLK].map(|kind| all(&[(at, Op::MaskedEq(u64::from(libc::S_IFMT)), u64::from(kind))]));
    rules.insert(libc::SYS_mknodat, devices(2).into_iter().collect::<Result<_>>()?);
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_mknod, devices(1).into_iter().collect::<Result<_>>()?);
    rules.insert(libc::SYS_clone, namespaces()?);
    // The same calls by their x32 numbers, where the kernel has those.
    if cfg!(target_arch = "x86_64") {
        let again: Vec<_> = rules.iter().map(|(call, rules)| (call | 0x4000_0000, rules.clone())).collect();
        rules.extend(again);
    }
    Ok(rules)
}

/// Within bubblewrap the network is one's own. Outside there is none; nor are there datagrams to the machine's services.
fn sockets(kind: Kind) -> Result<Vec<SeccompRule>> {
    let not = |family: i32| (0, Op::Ne, family as u64);
    if kind == Kind::Bwrap {
        return Ok(vec![all(&[not(libc::AF_UNIX), not(libc::AF_INET), not(libc::AF_INET6)])?]);
    }
    Ok(vec![all(&[not(libc::AF_UNIX)])?, all(&[(1, Op::MaskedEq(0xf), libc::SOCK_DGRAM as u64)])?])
}

/// `clone` with a flag that makes a namespace.
fn namespaces() -> Result<Vec<SeccompRule>> {
    let flags = [
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWNS,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWCGROUP,
    ];
    flags.into_iter().map(|flag| all(&[(0, Op::MaskedEq(flag as u64), flag as u64)])).collect()
}

/// A rule that holds where all of these do: argument, comparison, value.
fn all(conditions: &[(u8, Op, u64)]) -> Result<SeccompRule> {
    let conditions = conditions.iter().map(|(at, op, value)| SeccompCondition::new(*at, Len::Dword, op.clone(), *value));
    let conditions = conditions.collect::<std::result::Result<_, _>>().map_err(|e| e.to_string())?;
    SeccompRule::new(conditions).map_err(|e| e.to_string())
}

fn apply(rules: Rules, errno: i32) -> Result<()> {
    let arch =
        std::env::consts::ARCH.try_into().map_err(|_| format!("seccomp: no filter for {}", std::env::consts::ARCH))?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(errno as u32), arch);
    let program: BpfProgram = filter.and_then(TryInto::try_into).map_err(|e| format!("seccomp: {e}"))?;
    apply_filter(&program).map_err(|e| format!("seccomp: {e}"))
}
