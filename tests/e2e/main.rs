//! End-to-end tests: the binary on the crates under `fixtures/`, each copied to a temporary directory.
//!
//! Test names are facts. What each fixture's tests are meant to do stands in one table, in [`models`].

#[cfg(all(target_os = "linux", feature = "agents"))]
mod agents;
#[cfg(target_os = "linux")]
mod attacks;
#[cfg(all(target_os = "linux", feature = "agents"))]
mod bench;
mod cache;
mod check;
mod doctests;
mod exits;
mod expansions;
mod explain;
mod gists;
mod interrupt;
mod json;
mod list;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(all(target_os = "linux", feature = "agents"))]
mod model;
mod models;
mod output;
mod places;
mod programs;
mod project;
mod run;
#[cfg(target_os = "linux")]
mod sandbox;
mod tree;
mod verify;
mod wrappers;
