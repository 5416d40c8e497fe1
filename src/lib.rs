//! `cargo gistify`: one test (or program) of a real Cargo project becomes one self-contained, minimal, verified Rust file.
//!
//! The modules stand in the order the data goes; each imports only what stands before it.
//!
//! | module | what it does |
//! |---|---|
//! | [`source`] | byte spans, edits, the source map, `cfg` evaluation |
//! | [`process`] | children: process groups, time limits, Ctrl-C |
//! | [`error`] | every expected error, each with its exit code |
//! | [`sandbox`] | a box for strangers' code: bubblewrap, or Landlock and seccomp; limits, orphans |
//! | [`workspace`] | packages, targets, the instrumented build, recorded rustc calls |
//! | [`tests`] | which tests there are, and where |
//! | [`program`] | a program as an entry |
//! | [`doctests`] | the examples in a library's documentation |
//! | [`benches`] | benchmarks, of which no gist is made |
//! | [`trace`] | what ran, from LLVM coverage |
//! | [`bundle`] | the whole crate as one file |
//! | [`compile`] | rustc on a text, in the place of a recorded crate |
//! | [`reduce`] | from the bundle to what the test needs |
//! | [`gist`] | the file: header, manifest, text |
//! | [`verify`] | whether a gist does what the project does |
//! | [`task`] | what one gist is made of |
//! | [`cache`] | what is kept between runs |
//! | [`score`] | how grounded and how small it is |
//! | [`report`] | the machine-readable result |
//! | [`screen`] | which tests can be scored |
//! | [`road`] | all of it for the tests of one target |
//!
//! The stages are public functions; [`road::Session`] strings them together:
//!
//! ```no_run
//! use cargo_gistify::road::{MakeOptions, Session};
//! use cargo_gistify::sandbox::{Choice, Sandbox};
//! use cargo_gistify::task::tasks;
//! use cargo_gistify::workspace::{CargoOptions, Workspace, capture};
//!
//! # fn main() -> cargo_gistify::error::Result<()> {
//! let workspace = Workspace::load(CargoOptions { lib: true, ..CargoOptions::default() })?;
//! let sandbox = Sandbox::open(Choice::Auto)?;
//! for target in capture::build(&workspace, capture::Build::Tests, &|line| eprintln!("{line}"))? {
//!     let session = Session::open(&workspace, &target, &sandbox, &|_, _| {})?;
//!     for task in tasks(cargo_gistify::tests::list(&target)?) {
//!         let options = MakeOptions::default();
//!         let made = session.make(&task, &options, &|_, _| {})?;
//!         println!("{}: {}", task.name(), made.verdict.name());
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! `Workspace::load` and `capture::build` expect the running program to be the `cargo-gistify` binary, since cargo
//! calls it back as a compiler wrapper ([`workspace::wrapper`]).
//!
//! The binary only parses arguments, prints, and maps errors to exit codes.

#[cfg(feature = "agents")]
pub mod agent;
#[cfg(feature = "agents")]
pub mod bench;
pub mod benches;
pub mod bundle;
pub mod cache;
pub mod compile;
pub mod doctests;
pub mod error;
pub mod gist;
pub mod process;
pub mod program;
pub mod reduce;
pub mod report;
pub mod road;
pub mod sandbox;
pub mod score;
pub mod screen;
pub mod source;
pub mod task;
pub mod tests;
pub mod trace;
pub mod verify;
pub mod workspace;
