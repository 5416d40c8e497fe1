//! What the project itself does for a task: the runs that gists are compared with, remembered where many gists of one task are judged.

use super::Session;
use crate::error::Result;
use crate::trace::Coverage;
use crate::verify::run::{Entry, REFERENCE_RUNS, Reference, reference};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The project's side of a task.
#[derive(Debug)]
pub(super) struct Baseline {
    /// What the first run ran.
    pub(super) coverage: Coverage,
    /// What the runs agree on.
    pub(super) reference: Reference,
    /// How long a gist's run may take.
    pub(super) limit: Duration,
    /// It goes other ways from run to run.
    pub(super) varies: bool,
}

/// Who asks for what: the task, its cases, and how long a run may take.
type Key = (String, Vec<String>, Option<Duration>);

/// The place of one baseline: whoever needs it while another makes it waits for that.
type Slot = Arc<Mutex<Option<Arc<Baseline>>>>;

/// The last baselines, up to a number: traces of large crates are large.
#[derive(Debug)]
pub(super) struct Memory {
    most: usize,
    slots: Mutex<VecDeque<(Key, Slot)>>,
}

impl Memory {
    pub(super) fn of(most: usize) -> Memory {
        Memory { most, slots: Mutex::default() }
    }

    fn slot(&self, key: Key) -> Slot {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, slot)) = slots.iter().find(|(other, _)| *other == key) {
            return Arc::clone(slot);
        }
        slots.truncate(self.most.saturating_sub(1));
        let slot = Slot::default();
        slots.push_front((key, Arc::clone(&slot)));
        slot
    }
}

impl Session<'_> {
    /// The project's side of an entry, from memory where there is one.
    pub(super) fn baseline(&self, entry: &Entry, name: &str, timeout: Option<Duration>) -> Result<Arc<Baseline>> {
        let Some(memory) = &self.memory else { return self.fresh_baseline(entry, name, timeout).map(Arc::new) };
        let slot = memory.slot((name.to_owned(), entry.names().to_vec(), timeout));
        let mut kept = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(baseline) = &*kept {
            return Ok(Arc::clone(baseline));
        }
        let baseline = Arc::new(self.fresh_baseline(entry, name, timeout)?);
        *kept = Some(Arc::clone(&baseline));
        Ok(baseline)
    }

    fn fresh_baseline(&self, entry: &Entry, name: &str, timeout: Option<Duration>) -> Result<Baseline> {
        let (first, limit) = self.first_run(entry, name, timeout)?;
        let coverage = first.coverage().cloned().unwrap_or_default();
        let mut runs = vec![first];
        for _ in 1..REFERENCE_RUNS {
            runs.push(self.project_run(entry, limit)?);
        }
        let varies = runs.iter().filter_map(|run| run.coverage()).any(|other| !other.ran_the_same(&coverage));
        let files = &self.prepared.bundle.map.files;
        let reference = reference(&self.target, entry, runs, limit, Some(files))?;
        Ok(Baseline { coverage, reference, limit, varies })
    }
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn a_memory_has_one_place_a_task_and_forgets_the_oldest() {
        let memory = Memory::of(2);
        let key = |name: &str| (name.to_owned(), Vec::new(), None);
        let first = memory.slot(key("a"));
        assert!(Arc::ptr_eq(&first, &memory.slot(key("a"))));
        memory.slot(key("b"));
        assert!(Arc::ptr_eq(&first, &memory.slot(key("a"))));
        memory.slot(key("c"));
        assert!(!Arc::ptr_eq(&first, &memory.slot(key("a"))));
        assert_eq!(memory.slots.lock().unwrap().len(), 2);
    }
}
