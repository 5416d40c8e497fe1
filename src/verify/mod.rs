//! Whether a gist does what the project does.
//!
//! | module | what it does |
//! |---|---|
//! | [`normalise`] | one list of rules that makes two runs' texts comparable |
//! | [`mask`] | what differs between runs of the same test, and can be masked |
//! | [`outcome`] | libtest's output as an outcome, and the comparison of two |
//! | [`clean_room`] | the sandbox as gists are built and run in it |
//! | [`embedded`] | what the manifest in a gist's header must not bring in |
//! | [`gist_file`] | a gist as it lies on the disk |
//! | [`inject`] | the original test put back into a gist |
//! | [`replay`] | which functions were called, by name |
//! | [`scan`] | what a gist must not hold |
//! | [`own_files`] | what a gist names of its package |
//! | [`run`] | the test run in the project and the gist run in an empty directory |
//! | [`surroundings`] | what a test needs around it that a gist does not have |
//! | [`verdict`] | all of it together: a fault class, or `ok` |
//!
//! All but [`clean_room`], [`gist_file`], [`own_files`], [`run`], [`surroundings`] and [`verdict`] are functions of texts: they start no process and read
//! no file.

pub mod clean_room;
pub mod embedded;
pub mod gist_file;
pub mod inject;
pub mod mask;
mod names;
pub mod normalise;
pub mod outcome;
pub mod own_files;
pub mod replay;
pub mod run;
pub mod scan;
pub mod surroundings;
pub mod verdict;
