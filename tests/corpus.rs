//! The fuzz targets on the seeds that are committed, with stable Rust: what crashed once is among them.

#[path = "../fuzz/src/targets.rs"]
#[expect(unreachable_pub, reason = "it is a module of the fuzz crate as well")]
mod targets;

use std::path::Path;
use targets::{TARGETS, on_deep_stack};

#[test]
fn every_target_takes_its_corpus() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    for (name, target) in TARGETS {
        let seeds: Vec<_> = fs_err::read_dir(corpus.join(name)).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(!seeds.is_empty(), "{name} has no seeds");
        for seed in seeds {
            assert!(on_deep_stack(*target, &fs_err::read(&seed).unwrap()).is_ok(), "{name} panics on {}", seed.display());
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
