//! A gist of the test `money::tests::letters_are_no_amount` (--lib)
//! of shop 0.3.1, made by cargo-gistify 0.1.0.
//!
//! Run: rustc --edition 2024 --test shop-money-tests-letters_are_no_amount.rs -o shop-money-tests-letters_are_no_amount && ./shop-money-tests-letters_are_no_amount --exact money::tests::letters_are_no_amount
//! Toolchain: rustc 1.95.0 (59807616e 2026-04-14)
//! License: MIT OR Apache-2.0

pub mod error {
