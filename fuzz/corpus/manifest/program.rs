//! A gist of the program demo.
//! Run: rustc --edition 2015 -C opt-level=1 -C panic=abort x.rs -o x && ./x
fn main() {}
