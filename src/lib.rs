//! `cargo gistify`: one test of a real Cargo project becomes one self-contained, minimal, verified Rust file.
//!
//! The modules stand in the order the data goes; each imports only what stands before it.
//!
//! | module | what it does |
//! |---|---|
//! | [`source`] | byte spans, edits, the source map, `cfg` evaluation |
//! | [`process`] | children: process groups, time limits, Ctrl-C |
//! | [`error`] | every expected error, each with its exit code |
//! | [`workspace`] | packages, targets, the instrumented build, recorded rustc calls |
//! | [`tests`] | which tests there are, and where |
//! | [`trace`] | what ran, from LLVM coverage |
//! | [`verify`] | whether a gist does what the project does |
//! | [`score`] | how grounded and how small it is |
//!
//! The binary only parses arguments, prints, and maps errors to exit codes.

pub mod bundle;
pub mod compile;
pub mod error;
pub mod gist;
pub mod process;
pub mod reduce;
pub mod report;
pub mod road;
pub mod score;
pub mod source;
pub mod tests;
pub mod trace;
pub mod verify;
pub mod workspace;
