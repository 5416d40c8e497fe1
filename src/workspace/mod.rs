//! Packages, targets, the instrumented build and the rustc calls recorded in it.
