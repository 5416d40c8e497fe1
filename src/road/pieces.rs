//! The lines of the project that a report shows for a task.

use super::Session;
use crate::bench::kept::{Original, Wanted};
use crate::error::Result;
use crate::task::Task;
use crate::workspace::relative;
use camino::{Utf8Path, Utf8PathBuf};
use std::collections::BTreeMap;
use std::time::Duration;

impl Session<'_> {
    /// The lines that `gold`, a gist of this tool's, has of the project, and those of the functions that the test runs.
    ///
    /// # Errors
    /// When the test can't be run, or `gold` is no Rust.
    pub fn pieces(&self, task: &Task, gold: &str, timeout: Option<Duration>) -> Result<Original> {
        let root = &self.workspace.metadata.workspace_root;
        let entry = task.entry(&self.target, false);
        let baseline = self.baseline(&entry, &task.what(), timeout)?;
        let trace = &baseline.coverage;
        let mut needed = Wanted::new();
        for place in self.explain(gold, &self.layout, None)?.lines.into_iter().flat_map(|l| l.laid).filter_map(|l| l.place) {
            needed.entry(place.file).or_default().insert(place.line);
        }
        let ours = |file: &Utf8Path| self.prepared.bundle.map.file(file).is_some();
        let own: BTreeMap<usize, Utf8PathBuf> = trace
            .touched()
            .into_iter()
            .filter(|&f| ours(&trace.files[f]))
            .map(|f| (f, Utf8PathBuf::from(relative(&trace.files[f], root))))
            .collect();
        let mut ran = Wanted::new();
        for region in trace.called().flat_map(|f| &f.regions) {
            if let Some(file) = own.get(&region.file) {
                ran.entry(file.clone()).or_default().extend(region.start.line..=region.end.line);
            }
        }
        let counts: BTreeMap<&Utf8Path, BTreeMap<usize, u64>> =
            own.iter().map(|(f, path)| (path.as_path(), trace.line_counts(*f))).collect();
        let read = |file: &Utf8Path| std::fs::read_to_string(root.join(file)).ok();
        Ok(Original::of(&needed, &ran, read, |file, line| counts.get(file)?.get(&line).copied()))
    }
}
