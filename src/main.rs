//! The binary: parses, prints, and maps errors to exit codes.
fn main() {}
