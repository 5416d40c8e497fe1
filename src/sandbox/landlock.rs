//! Landlock: which files, ports, signals and abstract sockets a process reaches. And root's capabilities, which go.

use super::{Kind, Spec, shown};
use camino::Utf8PathBuf;
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetStatus, Scope, path_beneath_rules,
};

/// Files, TCP, devices, signals and abstract sockets: Linux 6.12.
const NEEDED: ABI = ABI::V6;

/// What of `/proc`, `/sys` and `/dev` is harmless, and read by runtimes; `self` is this process, which the program becomes.
const MACHINE: &[&str] = &[
    "/proc/self",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/sys/vm/overcommit_memory",
    "/sys/devices/system/cpu",
    "/dev/random",
    "/dev/urandom",
    "/dev/full",
];

/// Restricts this process and all that it starts, for good. Inside bubblewrap it is a second wall: what the kernel does not
/// know is left out there.
pub(super) fn restrict(spec: &Spec) -> Result<(), String> {
    let inside = spec.kind == Kind::Bwrap;
    let level = if inside { CompatLevel::BestEffort } else { CompatLevel::HardRequirement };
    let status = ruleset(spec, inside, level).map_err(|e| format!("landlock: {e}"))?;
    if !inside && status != RulesetStatus::FullyEnforced {
        return Err("landlock: the kernel enforces only a part of it".into());
    }
    Ok(())
}

fn ruleset(spec: &Spec, inside: bool, level: CompatLevel) -> Result<RulesetStatus, landlock::RulesetError> {
    let mut rules = Ruleset::default()
        .set_compatibility(level)
        .handle_access(AccessFs::from_all(NEEDED))?
        .scope(Scope::from_all(NEEDED))?;
    if !inside {
        // bubblewrap's own network has a loopback only, and tests may use it.
        rules = rules.handle_access(AccessNet::from_all(NEEDED))?;
    }
    let (read, write) = if inside { within_bwrap(spec) } else { on_the_machine(spec) };
    let rules = rules
        .create()?
        .add_rules(path_beneath_rules(&read, AccessFs::from_read(NEEDED)))?
        .add_rules(path_beneath_rules(&write, writing()))?;
    Ok(rules.restrict_self()?.ruleset)
}

/// All but devices: root could make the disk's in a folder of its own.
fn writing() -> BitFlags<AccessFs> {
    AccessFs::from_all(NEEDED) & !(AccessFs::MakeChar | AccessFs::MakeBlock)
}

/// The namespace is the allow-list.
fn within_bwrap(spec: &Spec) -> (Vec<Utf8PathBuf>, Vec<Utf8PathBuf>) {
    let mut write = paths(&["/tmp", "/var/tmp", "/dev"]);
    write.extend(shown::home());
    write.extend(spec.policy.writable.iter().cloned());
    (paths(&["/"]), write)
}

fn on_the_machine(spec: &Spec) -> (Vec<Utf8PathBuf>, Vec<Utf8PathBuf>) {
    let mut read = paths(shown::ROOTS);
    read.extend(paths(shown::ETC));
    read.extend(paths(MACHINE));
    read.extend(spec.policy.read_only.iter().cloned());
    let mut write = paths(&["/dev/null", "/dev/zero"]);
    write.extend(spec.policy.writable.iter().cloned());
    (read, write)
}

fn paths(names: &[&str]) -> Vec<Utf8PathBuf> {
    names.iter().map(Utf8PathBuf::from).collect()
}

/// Without capabilities root is the owner of root's files, and no more.
pub(super) fn drop_capabilities() -> Result<(), String> {
    use caps::CapSet;
    let fail = |e: caps::errors::CapsError| format!("capabilities: {e}");
    if caps::has_cap(None, CapSet::Effective, caps::Capability::CAP_SETPCAP).map_err(fail)? {
        caps::clear(None, CapSet::Bounding).map_err(fail)?;
    }
    for set in [CapSet::Ambient, CapSet::Inheritable, CapSet::Effective, CapSet::Permitted] {
        caps::clear(None, set).map_err(fail)?;
    }
    Ok(())
}
