//! Doc.
#![cfg_attr(not(test), no_std)]
mod m;
#[cfg(unix)] pub mod o { pub fn p() -> &'static str { include_str!("text.txt") } }
#[cfg(not(unix))] fn gone() {}
pub const V: &str = env!("CARGO_PKG_NAME");
#[cfg(test)]
mod tests { #[test] fn one() { assert_eq!(super::m::n::f(crate::m::g!()), 1) } }
//- m.rs
#[path = "n.rs"] pub mod n;
#[macro_export] macro_rules! g { () => { $crate::m::k() } }
pub(crate) use g;
pub fn k() -> u8 { if cfg!(unix) { 1 } else { 2 } }
//- m/n.rs
pub fn f(x: u8) -> u8 { x }
//- text.txt
hello
