//! How good a gist is beside whether it works: grounding, size, and how faithfully the test was copied.
//!
//! Pure functions of texts, and of what a run counted of them: this module knows nothing of cargo, processes or how
//! coverage is read. What a line of the source is, all of it takes from one layout (`layout`, whose rules are listed
//! there), so that two figures never disagree about it; executable lines are LLVM's.

mod blocks;
#[cfg(test)]
mod cuts;
mod demanded;
pub mod execution;
pub mod existence;
pub mod explain;
mod layout;
pub mod partial;
pub mod replay;
pub mod size;
pub mod test_f1;

pub use crate::source::parse::ParseError;
use crate::source::parse::parse;
