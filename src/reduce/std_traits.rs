//! What is known of the standard library's traits: it is not in the bundle, so the graph says nothing of it.

/// A trait, the functions of it without a default (and others that only it gives), and the traits that it asks for.
type Facts = (&'static str, &'static [&'static str], &'static [&'static str]);

const TRAITS: &[Facts] = &[
    ("BufRead", &["fill_buf", "consume"], &["Read"]),
    ("BuildHasher", &["build_hasher"], &[]),
    ("Clone", &["clone"], &[]),
    ("Copy", &[], &["Clone"]),
    ("Debug", &["fmt"], &[]),
    ("Default", &["default"], &[]),
    ("DerefMut", &["deref_mut"], &["Deref"]),
    ("Display", &["fmt"], &[]),
    ("DoubleEndedIterator", &["next_back"], &["Iterator"]),
    ("Eq", &[], &["PartialEq"]),
    ("Error", &[], &["Debug", "Display"]),
    ("ExactSizeIterator", &[], &["Iterator"]),
    ("Extend", &["extend"], &[]),
    ("FusedIterator", &[], &["Iterator"]),
    ("GlobalAlloc", &["alloc", "dealloc"], &[]),
    ("Hash", &["hash"], &[]),
    ("Hasher", &["finish", "write"], &[]),
    ("IndexMut", &["index_mut"], &["Index"]),
    ("Iterator", &["next"], &[]),
    ("Ord", &["cmp"], &["Eq", "PartialOrd"]),
    ("PartialEq", &["eq", "ne"], &[]),
    ("PartialOrd", &["partial_cmp"], &["PartialEq"]),
    ("Read", &["read"], &[]),
    ("Seek", &["seek"], &[]),
    ("Wake", &["wake"], &[]),
    ("Write", &["write", "flush", "write_str"], &[]),
];

/// Whether an impl of the trait seems to have to have the function; what is missing here costs a round of repairs.
pub(super) fn is_required(trait_: &str, function: &str) -> bool {
    TRAITS.iter().any(|(name, functions, _)| *name == trait_ && functions.contains(&function))
}

/// The traits that a call of a method may mean.
pub(super) fn with_method(method: &str) -> Vec<&'static str> {
    TRAITS.iter().filter(|(_, functions, _)| functions.contains(&method)).map(|(name, ..)| *name).collect()
}

/// All traits that a type has to implement to implement this one.
pub(super) fn supertraits(trait_: &str) -> Vec<&'static str> {
    let mut out: Vec<&'static str> = Vec::new();
    let mut todo = vec![trait_];
    while let Some(name) = todo.pop() {
        for above in TRAITS.iter().filter(|(own, ..)| *own == name).flat_map(|(_, _, above)| *above) {
            if !out.contains(above) {
                out.push(above);
                todo.push(above);
            }
        }
    }
    out
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn supertraits_of_supertraits_count() {
        let mut found = supertraits("Ord");
        found.sort_unstable();
        assert_eq!(found, ["Eq", "PartialEq", "PartialOrd"]);
        assert_eq!(supertraits("Clone"), Vec::<&str>::new());
    }

    #[test]
    fn a_method_leads_to_the_traits_that_have_it() {
        assert_eq!(with_method("fmt"), ["Debug", "Display"]);
        assert_eq!(with_method("push"), Vec::<&str>::new());
        assert!(is_required("Iterator", "next") && !is_required("Iterator", "size_hint"));
    }
}
