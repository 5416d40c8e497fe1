//! A gist of the test `a::b` of demo.
//!
//! Run: cargo gistify run x.rs
//!
//! ```cargo
//! [package]
//! edition = "2018"
//!
//! [dependencies]
//! a = { version = "=1.0.0", default-features = false, features = ["x"] }
//! ```
fn f() {}
