//! The report on a run: what a reader, a program or a benchmark wants to know of it.

use super::{Coverage, Region, RegionKind, lines};
use crate::source::map::Position;
use camino::{Utf8Path, Utf8PathBuf};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// What ran, in the files that were asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceReport {
    /// Function calls executed.
    pub trace_length: u64,
    /// Files that have a function that ran.
    pub files_touched: usize,
    /// The functions that ran, each instantiation by itself, in the order of the files.
    pub functions: Vec<CalledFunction>,
    /// The files that have a function that ran.
    pub files: Vec<TracedFile>,
}

/// A function that ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CalledFunction {
    /// Demangled, without the hashes of crates.
    pub name: String,
    /// Relative to the root when inside it.
    pub file: Utf8PathBuf,
    /// The line of its signature.
    pub line: usize,
    /// How many times it was entered.
    pub calls: u64,
}

/// A file of which something ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedFile {
    /// Relative to the root when inside it.
    pub path: Utf8PathBuf,
    /// Executable lines that ran.
    pub lines_executed: usize,
    /// Executable lines.
    pub lines_executable: usize,
    /// The count of each executable line, as `llvm-cov` prints it.
    pub lines: Vec<LineCount>,
    /// Regions in the order of the text, outer ones first.
    pub regions: Vec<TracedRegion>,
}

/// An executable line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineCount {
    /// 1-based.
    pub line: usize,
    /// How many times it ran.
    pub count: u64,
}

/// A region of a file, over all instantiations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedRegion {
    /// Its first byte.
    pub start: Position,
    /// The byte after its last.
    pub end: Position,
    /// How many times it ran.
    pub count: u64,
    /// What it stands for.
    pub kind: RegionKind,
}

impl TraceReport {
    /// Reports on the files whose absolute path `keep` accepts; paths inside `root` are made relative to it.
    #[must_use]
    pub fn new(coverage: &Coverage, root: &Utf8Path, keep: impl Fn(&Utf8Path) -> bool) -> TraceReport {
        let shown = |file: usize| {
            let path = &coverage.files[file];
            path.strip_prefix(root).unwrap_or(path).to_owned()
        };
        let mut regions: FxHashMap<usize, Vec<Region>> = FxHashMap::default();
        for file in coverage.touched().into_iter().filter(|f| keep(&coverage.files[*f])) {
            regions.insert(file, Vec::new());
        }
        for region in coverage.functions.iter().flat_map(|f| &f.regions) {
            if let Some(list) = regions.get_mut(&region.file) {
                list.push(region.clone());
            }
        }
        let called = coverage.called().filter(|f| regions.contains_key(&f.file));
        let mut functions: Vec<CalledFunction> = called
            .map(|f| CalledFunction {
                name: f.name.clone(),
                file: shown(f.file),
                line: f.regions.first().map_or(0, |r| r.start.line),
                calls: f.calls,
            })
            .collect();
        functions.sort_by(|a, b| (&a.file, a.line, &a.name).cmp(&(&b.file, b.line, &b.name)));
        let mut files: Vec<TracedFile> = regions.into_iter().map(|(file, list)| traced(shown(file), list)).collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        TraceReport {
            trace_length: functions.iter().fold(0, |sum, f| sum.saturating_add(f.calls)),
            files_touched: files.len(),
            functions,
            files,
        }
    }
}

fn traced(path: Utf8PathBuf, regions: Vec<Region>) -> TracedFile {
    let regions = lines::merged(regions);
    let lines: Vec<LineCount> = lines::counts(&regions).into_iter().map(|(line, count)| LineCount { line, count }).collect();
    TracedFile {
        path,
        lines_executed: lines.iter().filter(|l| l.count > 0).count(),
        lines_executable: lines.len(),
        lines,
        regions: regions.iter().map(|r| TracedRegion { start: r.start, end: r.end, count: r.count, kind: r.kind }).collect(),
    }
}
