//! Control groups: the kernel's own limits for all processes of a box together, where one can be made. Version 2 where it
//! is delegated to us, else version 1.
//!
//! The supervisor steps into the group, starts the box, which is born there, and steps out again.

use super::{Breach, ResourceLimits};
use std::fs::{read_to_string, write};
use std::path::{Path, PathBuf};

/// The groups of one box. They go when dropped.
#[derive(Debug)]
pub(super) struct Cgroup(Vec<Group>);

#[derive(Debug)]
struct Group {
    dir: PathBuf,
    /// Where the supervisor was.
    home: PathBuf,
}

/// A mounted hierarchy, and where in it this process is.
#[derive(Debug, PartialEq, Eq)]
struct Hierarchy {
    mount: PathBuf,
    home: PathBuf,
}

impl Cgroup {
    /// Groups with these limits, when this process may make them and move into them.
    pub(super) fn make(limits: &ResourceLimits) -> Option<Cgroup> {
        let (mounts, own) = (read_to_string("/proc/self/mountinfo").ok()?, read_to_string("/proc/self/cgroup").ok()?);
        let memory = limits.memory_bytes.to_string();
        let processes = limits.processes.to_string();
        let unified = || {
            let settings =
                [("memory.max", memory.as_str(), true), ("pids.max", &processes, true), ("memory.swap.max", "0", false)];
            Some(vec![Group::make(
                &hierarchy(&mounts, &own, None)?,
                &[settings.as_slice(), &[("memory.oom.group", "1", false)]].concat(),
            )?])
        };
        let separate = || {
            let settings =
                [("memory.limit_in_bytes", memory.as_str(), true), ("memory.memsw.limit_in_bytes", &memory, false)];
            let of_memory = Group::make(&hierarchy(&mounts, &own, Some("memory"))?, &settings)?;
            let of_processes = Group::make(&hierarchy(&mounts, &own, Some("pids"))?, &[("pids.max", &processes, true)])?;
            Some(vec![of_memory, of_processes])
        };
        let tried = [&unified as &dyn Fn() -> Option<Vec<Group>>, &separate];
        let mut made = tried.iter().filter_map(|make| make().map(Cgroup));
        made.find(|group| group.enter().is_some() && group.leave().is_some())
    }

    /// This process, and what it starts from now on.
    pub(super) fn enter(&self) -> Option<()> {
        self.0.iter().try_for_each(|group| join(&group.dir))
    }

    /// This process goes back to where it was.
    pub(super) fn leave(&self) -> Option<()> {
        self.0.iter().try_for_each(|group| join(&group.home))
    }

    /// The limit that the kernel had to enforce.
    pub(super) fn breach(&self) -> Option<Breach> {
        let dirs: Vec<&Path> = self.0.iter().map(|group| group.dir.as_path()).collect();
        breach(&dirs)
    }

    /// All processes in it.
    pub(super) fn processes(&self) -> Vec<i32> {
        let lists = self.0.iter().filter_map(|g| read_to_string(g.dir.join("cgroup.procs")).ok());
        lists.flat_map(|list| list.lines().filter_map(|l| l.parse().ok()).collect::<Vec<_>>()).collect()
    }
}

/// The limit that the kernel had to enforce on groups.
fn breach(dirs: &[&Path]) -> Option<Breach> {
    let read = |file: &str| dirs.iter().find_map(|dir| read_to_string(dir.join(file)).ok());
    let events = |file: &str, name: &str| read(file).map_or(0, |text| count(&text, name));
    if events("memory.events", "oom_kill") + events("memory.oom_control", "oom_kill") > 0 {
        // A group that never came to its limit had to pay for one above it. Version 2 counts how often it came there; version 1 does so only where swap is
        // not counted in, and tells the most that was used. Large pages do not fit while some room is left.
        let number = |file: &str| read(file).and_then(|n| n.trim().parse::<u64>().ok());
        let reached = match (number("memory.max_usage_in_bytes"), number("memory.limit_in_bytes")) {
            (Some(most), Some(limit)) => most >= limit - limit / 16,
            _ => false,
        };
        let own = reached || events("memory.events", "max") > 0;
        return Some(if own { Breach::Memory } else { Breach::Machine });
    }
    (events("pids.events", "max") > 0).then_some(Breach::Processes)
}

/// The value behind a name, of lines of names and values.
fn count(text: &str, name: &str) -> u64 {
    text.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok()).unwrap_or(0)
}

fn join(dir: &Path) -> Option<()> {
    write(dir.join("cgroup.procs"), "0").ok()
}

impl Group {
    /// In our own group, or as near above it as we may: on a desktop that is the user's slice.
    fn make(hierarchy: &Hierarchy, settings: &[(&str, &str, bool)]) -> Option<Group> {
        let mut parents = hierarchy.home.ancestors().take_while(|dir| dir.starts_with(&hierarchy.mount));
        parents.find_map(|parent| {
            let group = Group { dir: new_dir(parent)?, home: hierarchy.home.clone() };
            let set = |(file, value, needed): &(&str, &str, bool)| write(group.dir.join(file), value).is_ok() || !needed;
            settings.iter().all(set).then_some(group)
        })
    }
}

/// A new group in one that is there. A supervisor that was killed has left its own, and process numbers come again.
fn new_dir(parent: &Path) -> Option<PathBuf> {
    let own = std::process::id();
    let names = std::iter::once(format!("gistify-{own}")).chain((2..10).map(|n| format!("gistify-{own}-{n}")));
    names.map(|name| parent.join(name)).find(|dir| {
        // Only one without processes can be removed.
        std::fs::create_dir(dir).or_else(|_| std::fs::remove_dir(dir).and_then(|()| std::fs::create_dir(dir))).is_ok()
    })
}

impl Drop for Group {
    fn drop(&mut self) {
        // The last processes may still be on their way out.
        for _ in 0..100 {
            if std::fs::remove_dir(&self.dir).is_ok() || !self.dir.exists() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }
}

/// The hierarchy of a version 1 controller, or version 2's, of `/proc/self/mountinfo` and `/proc/self/cgroup`.
fn hierarchy(mounts: &str, own: &str, controller: Option<&str>) -> Option<Hierarchy> {
    let path = own.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (id, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let meant = match controller {
            Some(name) => controllers.split(',').any(|c| c == name),
            None => id == "0" && controllers.is_empty(),
        };
        meant.then_some(path)
    })?;
    mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let (root, mount) = (before.split(' ').nth(3)?, before.split(' ').nth(4)?);
        let mut after = after.split(' ');
        let (kind, options) = (after.next()?, after.nth(1)?);
        let meant = match controller {
            Some(name) => kind == "cgroup" && options.split(',').any(|o| o == name),
            None => kind == "cgroup2",
        };
        // In a container the path may be one of the machine's that is not in sight.
        let below = Path::new(path).strip_prefix(root).ok().map(|p| Path::new(mount).join(p)).filter(|dir| dir.is_dir());
        meant.then(|| Hierarchy { mount: mount.into(), home: below.unwrap_or_else(|| mount.into()) })
    })
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn memory_is_the_machines_where_the_limit_was_never_reached() {
        let group = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| std::fs::write(group.path().join(file), text).unwrap();
        let seen = || breach(&[group.path()]);
        assert_eq!(seen(), None);
        write("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
        write("memory.limit_in_bytes", "50000000\n");
        write("memory.max_usage_in_bytes", "20000000\n");
        assert_eq!(seen(), Some(Breach::Machine));
        write("memory.max_usage_in_bytes", "49500000\n");
        assert_eq!(seen(), Some(Breach::Memory));
        std::fs::remove_file(group.path().join("memory.oom_control")).unwrap();
        write("memory.max_usage_in_bytes", "20000000\n");
        write("memory.events", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 2\noom_group_kill 0\n");
        assert_eq!(seen(), Some(Breach::Machine));
        write("memory.events", "low 0\nhigh 0\nmax 4\noom 1\noom_kill 2\noom_group_kill 1\n");
        assert_eq!(seen(), Some(Breach::Memory));
    }

    #[test]
    fn what_a_supervisor_of_the_same_number_left_is_taken_over_or_stepped_aside_from() {
        let parent = tempfile::tempdir().unwrap();
        let first = new_dir(parent.path()).unwrap();
        assert_eq!(new_dir(parent.path()).unwrap(), first);
        // As if a process was still in it.
        std::fs::write(first.join("held"), "").unwrap();
        let second = new_dir(parent.path()).unwrap();
        assert!(second != first && first.join("held").exists(), "{}", second.display());
    }
}
