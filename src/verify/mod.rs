//! Whether a gist does what the project does: the pure part, functions of texts.
//!
//! | module | what it does |
//! |---|---|
//! | [`normalise`] | one list of rules that makes two runs' texts comparable |
//! | [`mask`] | what differs between runs of the same test, and can be masked |
//! | [`outcome`] | libtest's output as an outcome, and the comparison of two |
//! | [`inject`] | the original test put back into a gist |
//! | [`scan`] | what a gist must not hold |
//!
//! It knows nothing of cargo, starts no process, and reads no file.

pub mod inject;
pub mod mask;
pub mod normalise;
pub mod outcome;
pub mod scan;
