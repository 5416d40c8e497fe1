//! Which functions were called, by name: a gist that prints what the project prints and calls none of its functions may
//! only replay its output.

use crate::trace::Coverage;
use camino::Utf8Path;
use std::collections::BTreeSet;

/// The names of the functions that were called, of those in files that `ours` holds; a closure counts as the function around it.
/// Modules and types are left out, so that a function may have been moved.
#[must_use]
pub fn called_names(coverage: &Coverage, ours: impl Fn(&Utf8Path) -> bool) -> BTreeSet<String> {
    let ours: Vec<bool> = coverage.files.iter().map(|f| ours(f)).collect();
    coverage.called().filter(|f| ours[f.file]).filter_map(|f| function_name(&f.name)).collect()
}

/// The function's own name in a demangled path.
fn function_name(path: &str) -> Option<String> {
    // Generic arguments, and the type and trait of an impl, stand in brackets.
    let mut depth = 0_usize;
    let mut flat = String::new();
    for c in path.chars() {
        match c {
            '<' | '{' | '(' | '[' => depth += 1,
            '>' | '}' | ')' | ']' => depth = depth.saturating_sub(1),
            c if depth == 0 => flat.push(c),
            _ => {}
        }
    }
    flat.rsplit("::").map(str::trim).find(|part| !part.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn a_function_is_known_by_its_last_name_whatever_is_around_it() {
        for (path, name) in [
            ("demo::parse", "parse"),
            ("demo::parse::<alloc::string::String>", "parse"),
            ("<demo::Set as core::iter::FromIterator<u8>>::from_iter::<[u8; 3]>", "from_iter"),
            ("demo::tests::one::{closure#0}", "one"),
            ("<demo::Set<(u8, u8)>>::new", "new"),
        ] {
            assert_eq!(function_name(path).as_deref(), Some(name), "{path}");
        }
        assert_eq!(function_name("<>"), None);
    }
}
