//! What a test needs around it: a gist that ends differently by itself is run again as the project's test is.

use super::own_files::{list, named_in, strings};
use super::run::Entry;
use crate::error::Result;
use crate::workspace::capture::TestTarget;
use std::collections::BTreeSet;

/// Where a gist is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surroundings {
    /// In an empty folder, without cargo, in the clean room.
    Nothing,
    /// The same outside of the clean room.
    Machine,
    /// In the folder in which the project's test or program runs.
    Folder,
    /// There, and in cargo's environment.
    Environment,
}

/// The least surroundings in which a gist does what the project does, of one that did not with nothing around it.
///
/// `same` runs it. Before something is held to be needed, it has to be missed a second time: what ends differently now and
/// then proves nothing.
///
/// # Errors
/// Those of `same`.
pub fn needed(mut same: impl FnMut(Surroundings) -> Result<bool>) -> Result<Option<Surroundings>> {
    for more in [Surroundings::Machine, Surroundings::Folder, Surroundings::Environment] {
        if same(more)? {
            return Ok((!same(Surroundings::Nothing)?).then_some(more));
        }
    }
    Ok(None)
}

impl Surroundings {
    /// What the code, or a program's own arguments, name of them: files and folders, variables.
    #[must_use]
    pub fn names(self, gist: &str, entry: &Entry, target: &TestTarget) -> BTreeSet<String> {
        if matches!(self, Surroundings::Nothing | Surroundings::Machine) {
            return BTreeSet::new();
        }
        let own = match entry {
            Entry::Program(program) if !program.by_cargo => program.args.as_slice(),
            _ => &[],
        };
        let strings: BTreeSet<String> = strings(gist).into_iter().chain(own.iter().cloned()).collect();
        let files = named_in(entry.dir(target), &strings);
        let variables = target.call.env.keys().filter(|name| self == Surroundings::Environment && strings.contains(*name));
        variables.cloned().chain(files).collect()
    }

    /// Why there is no gist of what needs them, and what to do instead.
    #[must_use]
    pub fn reason(self, gist: &str, entry: &Entry, target: &TestTarget) -> String {
        if self == Surroundings::Machine {
            return "when it runs it needs what the sandbox closes: the network, the home folder, other files or processes of the \
                    machine. Outside of it its gist does the same; `--sandbox none` makes one that runs unprotected"
                .to_owned();
        }
        let folder = entry.dir(target);
        let names = self.names(gist, entry, target);
        let needs = match self {
            Surroundings::Environment => "cargo's environment in",
            _ if names.is_empty() => "to run in",
            _ => "files of",
        };
        let named = if names.is_empty() { String::new() } else { format!(": {}", list(&names)) };
        let advice = match entry {
            Entry::Program(program) if !program.by_cargo => "give it the text with --stdin, or the file by an absolute path",
            _ => "what is read at compile time (`env!`, `include_str!`, `include_bytes!`) comes with a gist",
        };
        format!("when it runs it needs {needs} {folder}{named}. There its gist does the same, but not elsewhere; {advice}")
    }
}

#[cfg(test)]
mod unit {
    use super::*;

    fn needed_by(enough: impl Fn(Surroundings, usize) -> bool) -> Option<Surroundings> {
        let mut runs = 0;
        let same = |surroundings| {
            runs += 1;
            Ok(enough(surroundings, runs))
        };
        needed(same).unwrap()
    }

    #[test]
    fn the_least_that_is_enough_is_needed() {
        assert_eq!(needed_by(|s, _| s != Surroundings::Nothing), Some(Surroundings::Machine));
        assert_eq!(
            needed_by(|s, _| matches!(s, Surroundings::Folder | Surroundings::Environment)),
            Some(Surroundings::Folder)
        );
        assert_eq!(needed_by(|s, _| s == Surroundings::Environment), Some(Surroundings::Environment));
        assert_eq!(needed_by(|_, _| false), None);
    }

    #[test]
    fn what_is_missed_only_once_is_not_needed() {
        assert_eq!(needed_by(|_, _| true), None);
        assert_eq!(needed_by(|_, run| run > 1), None);
    }
}
