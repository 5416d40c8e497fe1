//! How good a gist is beside whether it works: grounding, size, and how faithfully the test was copied.
//!
//! Pure functions of texts: this module knows nothing of cargo, processes or coverage. What a line is, all of it
//! takes from one layout (`layout`, whose rules are listed there), so that two figures never disagree about it.

mod blocks;
#[cfg(test)]
mod cuts;
pub mod existence;
mod layout;
pub mod size;
pub mod test_f1;

pub use crate::source::parse::ParseError;
use crate::source::parse::parse;
