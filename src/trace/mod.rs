//! What ran, from LLVM source-based coverage, read in-process.
