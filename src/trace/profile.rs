//! Raw profiles: the counters that the instrumented processes wrote when they ended.

use super::{guarded, trusted};
use crate::error::{Error, Result};
use camino::Utf8Path;
use llvm_profparser::instrumentation_profile::InstrProfReader;
use llvm_profparser::instrumentation_profile::raw_profile::{RawInstrProf32, RawInstrProf64};
use llvm_profparser::instrumentation_profile::types::InstrumentationProfile;
use rustc_hash::FxHashMap;

/// The part of a profile's version that is its number.
const NUMBER: u64 = 0xffff_ffff;
/// Set in the version of a profile with a byte for a counter; others have eight. rustc makes none.
const BYTE_COUNTERS: u64 = 1 << 60;

/// The counters of all processes of a run, summed.
#[derive(Debug, Default)]
pub(super) struct Profile {
    /// By the hash of a function's name: its counters, for each structural hash that was met.
    functions: FxHashMap<u64, Vec<(u64, Vec<u64>)>>,
    /// Profiles that were read.
    pub(super) read: usize,
    /// Profiles that were left empty.
    pub(super) unwritten: usize,
}

/// What a profile has about a function.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Counts<'a> {
    Known(&'a [u64]),
    /// The function was never part of a process that wrote a profile.
    Unknown,
    /// Another version of the function was.
    Mismatch,
}

impl Profile {
    pub(super) fn counts(&self, name: u64, structure: u64) -> Counts<'_> {
        let Some(versions) = self.functions.get(&name) else { return Counts::Unknown };
        let version = versions.iter().find(|(hash, _)| *hash == structure);
        version.map_or(Counts::Mismatch, |(_, counts)| Counts::Known(counts))
    }

    fn add(&mut self, name: u64, structure: u64, counts: &[u64]) {
        let versions = self.functions.entry(name).or_default();
        match versions.iter_mut().find(|(hash, own)| *hash == structure && own.len() == counts.len()) {
            Some((_, own)) => own.iter_mut().zip(counts).for_each(|(a, b)| *a = a.saturating_add(*b)),
            None => versions.push((structure, counts.to_vec())),
        }
    }
}

/// Reads every `.profraw` file that stands in `dir`.
pub(super) fn read(dir: &Utf8Path) -> Result<Profile> {
    let mut profile = Profile::default();
    for entry in dir.read_dir_utf8().map_err(Error::path("read", dir))? {
        let entry = entry.map_err(Error::path("read", dir))?;
        if entry.path().extension() != Some("profraw") {
            continue;
        }
        let bytes = std::fs::read(entry.path()).map_err(Error::path("read", entry.path()))?;
        if bytes.is_empty() {
            profile.unwritten += 1;
            continue;
        }
        let parsed = guarded(entry.path(), || parsed(&bytes))?;
        profile.read += 1;
        for record in parsed.records() {
            if let (Some(name), Some(structure)) = (record.name_hash, record.hash) {
                profile.add(name, structure, record.counts());
            }
        }
    }
    Ok(profile)
}

fn parsed(bytes: &[u8]) -> Result<InstrumentationProfile, String> {
    let (header, pointer) = if RawInstrProf64::has_format(bytes) {
        (RawInstrProf64::parse_header(bytes), 8)
    } else if RawInstrProf32::has_format(bytes) {
        (RawInstrProf32::parse_header(bytes), 4)
    } else {
        return Err("it is not a raw profile".to_owned());
    };
    // The parser makes room for what the header promises, and an allocation that fails can't be caught.
    let (body, header) = header.map_err(|_| "its header is damaged")?;
    // Of a function: two hashes, four addresses (five from 11 on), four numbers of 32 bits, up to a multiple of 8.
    let record: u64 = match header.version & NUMBER {
        9 | 10 => 16 + 4 * pointer + 16,
        11 => (16 + 5 * pointer + 16_u64).next_multiple_of(8),
        other => return Err(format!("it is of version {other}")),
    };
    if header.version & BYTE_COUNTERS != 0 {
        return Err("its counters are bytes".to_owned());
    }
    let before_names = [
        header.binary_ids_len,
        header.data_len.saturating_mul(record),
        header.padding_bytes_before_counters,
        header.counters_len.saturating_mul(8),
        header.padding_bytes_after_counters,
        header.num_bitmap_bytes,
        header.padding_bytes_after_bitmap_bytes,
        header.num_uniform_counters.saturating_mul(8),
        header.padding_bytes_after_uniform_counters,
    ];
    let start = before_names.iter().fold(0, |sum: u64, part| sum.saturating_add(*part));
    let names = usize::try_from(start).ok().and_then(|start| body.get(start..));
    let behind = names.and_then(|names| names.len().checked_sub(usize::try_from(header.names_len).ok()?));
    let (Some(names), Some(behind)) = (names, behind) else { return Err("it is shorter than its header says".to_owned()) };
    trusted::profile_names(names, behind)?;
    llvm_profparser::parse_bytes(bytes).map_err(|e| e.to_string())
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn counters_of_several_processes_are_summed() {
        let mut p = Profile::default();
        p.add(1, 7, &[1, 2]);
        p.add(1, 7, &[10, 20]);
        p.add(1, 8, &[5]);
        assert_eq!(p.counts(1, 7), Counts::Known(&[11, 22]));
        assert_eq!(p.counts(1, 8), Counts::Known(&[5]));
        assert_eq!(p.counts(1, 9), Counts::Mismatch);
        assert_eq!(p.counts(2, 7), Counts::Unknown);
    }

    #[test]
    fn a_profile_that_promises_more_than_it_has_is_refused_before_room_is_made() {
        let whole = include_bytes!("../../fuzz/corpus/profile/grade.profraw");
        assert!(parsed(whole).is_ok());
        // Behind magic, version and the length of the build's identifiers: how many functions.
        let mut damaged = whole.to_vec();
        damaged[24..32].copy_from_slice(&(1u64 << 40).to_le_bytes());
        assert_eq!(parsed(&damaged).unwrap_err(), "it is shorter than its header says");
        assert_eq!(parsed(b":ir\n").unwrap_err(), "it is not a raw profile");
    }

    #[test]
    fn a_damaged_profile_is_an_error_that_names_it() {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        std::fs::write(dir.join("a.profraw"), b"\x81rforpl\xff\x0a").unwrap();
        let e = read(dir).unwrap_err();
        assert!(e.to_string().contains("a.profraw"), "{e}");
    }
}
