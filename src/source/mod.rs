//! Source text: byte spans, edits, the source map, `cfg` evaluation.
//!
//! Text is analysed with syn and edited by byte range; no syntax tree is ever printed into a gist.
//! This module knows nothing of cargo, rustc or tests.

pub mod cfg;
pub mod edit;
pub mod expand;
pub mod map;
pub mod mapped;
pub mod nesting;
pub mod parse;
pub mod tokens;
pub mod transcriber;
