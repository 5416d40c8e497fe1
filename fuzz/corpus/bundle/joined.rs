pub struct S { pub x: u8, #[cfg(windows)] y: u8 }
#[doc(hidden)] pub mod inner { pub use super::S as T; }
#[macro_export] macro_rules! s { ($x:expr) => { $crate::S { x: $x } } }
//- t.rs
use lib::{s, inner::T, *};
mod m;
fn helper() -> crate::m::U { T { x: 1 } }
#[test]
fn one() { let s: lib::S = s!(1); assert_eq!(s.x, crate::helper().x, "{}", ::lib::inner::T { x: 2 }.x) }
//- m.rs
pub type U = ::lib::S;
