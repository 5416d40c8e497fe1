#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cargo_gistify_fuzz::isolated(cargo_gistify_fuzz::targets::stream, bytes));
