//! Coverage maps: which regions of which files an executable's counters stand for.
//!
//! The only module that knows how `llvm_profparser` shows a map.

use super::counter::{self, Counter, Expression};
use super::profile::{self, Counts, Profile};
use super::{Coverage, Function, Region, RegionKind, guarded, trusted};
use crate::error::{Error, Result};
use crate::source::map::Position;
use camino::{Utf8Component, Utf8Path, Utf8PathBuf};
use llvm_profparser::coverage::coverage_mapping::{SectionReadError, read_object_file};
use llvm_profparser::coverage::{self as llvm, CounterType, ExprKind};
use rustc_hash::{FxHashMap, FxHashSet};

/// The coverage maps of some executables; one serves any number of runs of them.
#[derive(Debug, Default)]
pub struct CoverageMap {
    files: Vec<Utf8PathBuf>,
    records: Vec<Record>,
}

/// What the map says about one instantiation of one function.
#[derive(Debug)]
struct Record {
    symbol: String,
    name: String,
    name_hash: u64,
    structure: u64,
    expressions: Vec<Expression>,
    regions: Vec<(Region, Counter)>,
}

/// Any version from 5 on: the file table then starts with the compilation directory. Every rustc since 1.60
/// writes it that way.
const MAP_VERSION: u64 = 5;

/// The bit of an end column that tells a gap from code.
const GAP: usize = 1 << 31;

impl CoverageMap {
    /// Reads the maps of `executables`. One without any instrumented function (all of it is behind a `cfg` that
    /// is not set) has no map, and adds nothing.
    ///
    /// # Errors
    /// When one can't be read, or none was built with `-C instrument-coverage`.
    pub fn load(executables: &[&Utf8Path]) -> Result<CoverageMap> {
        let mut map = CoverageMap::default();
        let mut numbers = FxHashMap::default();
        let mut mapped = false;
        for executable in executables {
            std::fs::metadata(executable).map_err(Error::path("read", *executable))?;
            if let Some(object) = guarded(executable, || object(executable))? {
                map.add(&object, &mut numbers);
                mapped = true;
            }
        }
        if mapped || executables.is_empty() {
            return Ok(map);
        }
        let names: Vec<&str> = executables.iter().map(|e| e.as_str()).collect();
        Err(Error::Setup(format!("no coverage map in {}; build with -C instrument-coverage", names.join(", "))))
    }

    fn add(&mut self, object: &llvm::CoverageMappingInfo, numbers: &mut FxHashMap<Utf8PathBuf, usize>) {
        let mut tables: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
        for (id, paths) in &object.cov_map {
            let number = |path: &std::path::PathBuf| {
                let path = normalised(Utf8Path::new(&path.to_string_lossy()));
                *numbers.entry(path).or_insert_with_key(|path| {
                    self.files.push(path.clone());
                    self.files.len() - 1
                })
            };
            tables.insert(*id, paths.iter().map(number).collect());
        }
        for function in one_record_a_name(&object.cov_fun) {
            let Some(table) = tables.get(&function.header.filenames_ref) else { continue };
            let symbol = object.prof_names.get(&function.header.name_hash).cloned().unwrap_or_default();
            self.records.push(Record {
                name: format!("{:#}", rustc_demangle::demangle(&symbol)),
                symbol,
                name_hash: function.header.name_hash,
                structure: function.header.fn_hash,
                expressions: function.expressions.iter().map(expression).collect(),
                regions: function.regions.iter().filter_map(|r| region(r, table)).collect(),
            });
        }
    }

    /// What ran, by the profiles that stand in `profile_dir`.
    ///
    /// # Errors
    /// When a profile can't be read; an empty or absent one is not an error, see [`Coverage::is_empty`].
    pub fn coverage(&self, profile_dir: &Utf8Path) -> Result<Coverage> {
        let profile = profile::read(profile_dir)?;
        let mut seen = FxHashSet::default();
        let functions = self.records.iter().filter_map(|r| counted(r, &profile, &mut seen)).collect();
        Ok(Coverage { functions, files: self.files.clone(), profiles: profile.read, unwritten: profile.unwritten })
    }
}

/// The map of an executable, as the library has it; `None` when there is none in it.
fn object(executable: &Utf8Path) -> Result<Option<llvm::CoverageMappingInfo>, String> {
    trusted::check(std::fs::File::open(executable).map_err(|e| e.to_string())?)?;
    match read_object_file(executable.as_std_path(), MAP_VERSION) {
        Ok(object) => Ok(Some(object)),
        Err(e) if matches!(e.downcast_ref(), Some(SectionReadError::MissingSection(_))) => Ok(None),
        Err(e) => Err(e.to_string()),
    }
}

/// A record with its counts, unless there is nothing to say about it or it was seen before.
///
/// The rules for what is left out are LLVM's (`CoverageMapping::loadFunctionRecord`).
fn counted(record: &Record, profile: &Profile, seen: &mut FxHashSet<(u64, Vec<usize>)>) -> Option<Function> {
    let counts = match profile.counts(record.name_hash, record.structure) {
        Counts::Known(counts) => Some(counts),
        Counts::Unknown => None,
        Counts::Mismatch => return None,
    };
    if let [(_, Counter::Zero)] = record.regions[..]
        && counts.and_then(<[u64]>::first).is_some_and(|c| *c > 0)
    {
        // Unused in this codegen unit, used in another one that has the real record.
        return None;
    }
    let expressions = counter::evaluate(&record.expressions, counts);
    let mut regions = Vec::with_capacity(record.regions.len());
    for (region, counter) in &record.regions {
        let count = counter::reported(counter::value(*counter, counts, &expressions)?);
        regions.push(Region { count, ..region.clone() });
    }
    let first = regions.first()?;
    let (file, calls) = (first.file, first.count);
    let mut files: Vec<usize> = regions.iter().map(|r| r.file).collect();
    files.dedup();
    seen.insert((record.name_hash, files)).then(|| Function {
        name: record.name.clone(),
        symbol: record.symbol.clone(),
        file,
        calls,
        regions,
    })
}

/// Of several records of one function in one executable, the first that is not a placeholder.
fn one_record_a_name(functions: &[llvm::FunctionRecordV3]) -> Vec<&llvm::FunctionRecordV3> {
    let placeholder = |f: &llvm::FunctionRecordV3| {
        f.header.fn_hash == 0 && f.expressions.is_empty() && matches!(&f.regions[..], [only] if only.count.is_zero())
    };
    let mut at: FxHashMap<u64, usize> = FxHashMap::default();
    let mut kept: Vec<&llvm::FunctionRecordV3> = Vec::with_capacity(functions.len());
    for function in functions {
        match at.get(&function.header.name_hash) {
            None => {
                at.insert(function.header.name_hash, kept.len());
                kept.push(function);
            }
            Some(&i) if placeholder(kept[i]) && !placeholder(function) => kept[i] = function,
            Some(_) => {}
        }
    }
    kept
}

/// A region, without its count; `None` for what has no count of its own (branches, conditions: rustc makes
/// them with an unstable flag only).
fn region(region: &llvm::CounterMappingRegion, table: &[usize]) -> Option<(Region, Counter)> {
    let loc = &region.loc;
    let kind = match region.kind {
        llvm::RegionKind::Code if loc.column_end != usize::MAX && loc.column_end & GAP != 0 => RegionKind::Gap,
        llvm::RegionKind::Code => RegionKind::Code,
        llvm::RegionKind::Expansion => RegionKind::Expansion,
        llvm::RegionKind::Skipped => RegionKind::Skipped,
        llvm::RegionKind::Gap => RegionKind::Gap,
        llvm::RegionKind::Branch | llvm::RegionKind::MCDCDecision | llvm::RegionKind::MCDCBranch => return None,
    };
    let column_end = if kind == RegionKind::Gap { loc.column_end & !GAP } else { loc.column_end };
    let region_of = Region {
        file: *table.get(region.file_id)?,
        start: Position { line: loc.line_start, column: loc.column_start },
        end: Position { line: loc.line_end, column: column_end },
        count: 0,
        kind,
    };
    Some((region_of, counter(&region.count)))
}

fn expression(e: &llvm::Expression) -> Expression {
    Expression { subtract: e.kind == ExprKind::Subtract, left: counter(&e.lhs), right: counter(&e.rhs) }
}

fn counter(c: &llvm::Counter) -> Counter {
    let id = usize::try_from(c.id).unwrap_or(usize::MAX);
    match c.kind {
        CounterType::Zero => Counter::Zero,
        CounterType::ProfileInstrumentation => Counter::Count(id),
        CounterType::Expression(_) => Counter::Expression(id),
    }
}

/// The path without `.` and `..`, by its text alone: `#[path = "../a.rs"]` shows in the map as it is written,
/// and the same file may be named in several ways.
fn normalised(path: &Utf8Path) -> Utf8PathBuf {
    let mut out = Utf8PathBuf::new();
    for component in path.components() {
        match component {
            Utf8Component::CurDir => {}
            Utf8Component::ParentDir if out.file_name().is_some() => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn paths_lose_their_dots() {
        assert_eq!(normalised("/w/./src/../tests/a.rs".into()), "/w/tests/a.rs");
        assert_eq!(normalised("../a.rs".into()), "../a.rs");
    }

    #[test]
    fn an_executable_without_a_map_is_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let file = Utf8Path::from_path(dir.path()).unwrap().join("plain");
        std::fs::write(&file, b"#!/bin/sh\n").unwrap();
        let e = CoverageMap::load(&[&file]).unwrap_err();
        assert!(e.to_string().contains("plain"), "{e}");
        let e = CoverageMap::load(&["/no/such/file".into()]).unwrap_err();
        assert!(e.to_string().contains("/no/such/file"), "{e}");
    }
}
