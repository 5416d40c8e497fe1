//! The fuzz targets on the seeds that are committed, with stable Rust: what crashed once is among them.

#[path = "../fuzz/src/targets.rs"]
#[expect(unreachable_pub, reason = "it is a module of the fuzz crate as well")]
mod targets;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use targets::{TARGETS, on_deep_stack};

/// How many changed seeds a target takes; `GISTIFY_MUTATIONS=N` is more, `GISTIFY_TARGET=NAME` one target alone.
const MUTATIONS: usize = 40;
/// No seed is long: what takes as long as this does not end in time for a large one.
const SLOW: Duration = Duration::from_secs(10);

fn seeds(name: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name);
    let mut paths: Vec<PathBuf> = fs_err::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{name} has no seeds");
    paths.into_iter().map(|path| (path.clone(), fs_err::read(path).unwrap())).collect()
}

#[test]
fn every_target_takes_its_corpus() {
    for (name, target) in TARGETS {
        for (path, bytes) in seeds(name) {
            assert!(on_deep_stack(*target, &bytes).is_ok(), "{name} panics on {}", path.display());
        }
    }
}

/// Changes a stretch of `bytes`: it goes, comes twice, changes its place, gives way to one of `other`, or has a byte changed.
fn mutate(bytes: &mut Vec<u8>, other: &[u8], next: &mut impl FnMut() -> usize) {
    // Half of the stretches are whole words and marks, so that what is Rust often stays so.
    let stretch = |of: &[u8], start: usize, len: usize| {
        let start = start % (of.len() + 1);
        let end = (start + len % 24).min(of.len());
        let inside =
            |at: usize| at > 0 && at < of.len() && of[at - 1].is_ascii_alphanumeric() && of[at].is_ascii_alphanumeric();
        let to_end = |at: usize| (at..of.len()).find(|&at| !inside(at)).unwrap_or(of.len());
        if len.is_multiple_of(2) { to_end(start)..to_end(end) } else { start..end }
    };
    let range = stretch(bytes, next(), next());
    let with = match next() % 6 {
        0 => Vec::new(),
        1 => bytes[range.clone()].repeat(2 + next() % 3),
        2 => other[stretch(other, next(), next())].to_vec(),
        3 => bytes[stretch(bytes, next(), next())].to_vec(),
        4 => bytes[range.clone()].iter().rev().copied().collect(),
        _ => bytes[range.clone()].iter().map(|byte| byte ^ (1 << (next() % 8))).collect(),
    };
    bytes.splice(range, with);
}

#[test]
fn every_target_takes_its_corpus_with_stretches_changed() {
    let count = std::env::var("GISTIFY_MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(MUTATIONS);
    let only = std::env::var("GISTIFY_TARGET").ok();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as usize
    };
    for (name, target) in TARGETS.iter().filter(|(name, _)| only.as_ref().is_none_or(|only| only == name)) {
        let seeds = seeds(name);
        for _ in 0..count {
            let (mut bytes, other) = (seeds[next() % seeds.len()].1.clone(), &seeds[next() % seeds.len()].1);
            (0..1 + next() % 4).for_each(|_| mutate(&mut bytes, other, &mut next));
            let start = Instant::now();
            let end = on_deep_stack(*target, &bytes);
            assert!(end.is_ok(), "{name} panics on {:?}", String::from_utf8_lossy(&bytes));
            assert!(start.elapsed() < SLOW, "{name} is slow on {:?}", String::from_utf8_lossy(&bytes));
        }
    }
}

#[test]
fn every_target_is_handed_to_libfuzzer() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/fuzz_targets");
    let mut files: Vec<String> = fs_err::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    files.sort();
    assert_eq!(files, TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>());
}
