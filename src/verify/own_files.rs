//! What a gist's code names of its package, which a gist does not have: the reason why it may end differently.

use crate::source::tokens::walk;
use camino::{Utf8Component, Utf8Path};
use proc_macro2::{TokenStream, TokenTree};
use std::collections::BTreeSet;

/// The string literals of a text.
#[must_use]
pub fn strings(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let Ok(tokens) = text.parse::<TokenStream>() else { return found };
    walk(tokens, &mut |list| {
        for tree in list {
            if let TokenTree::Literal(literal) = tree
                && let Ok(text) = syn::parse_str::<syn::LitStr>(&literal.to_string())
            {
                found.insert(text.value());
            }
        }
    });
    found
}

/// Those of the strings that name something in a folder, as it is seen from there: files, folders, and patterns
/// like `data/{name}.txt`. A single word that is a folder counts only when there is nothing better.
#[must_use]
pub fn named_in(folder: &Utf8Path, strings: &BTreeSet<String>) -> BTreeSet<String> {
    let (sure, words): (BTreeSet<_>, BTreeSet<_>) =
        strings.iter().filter(|s| names(s, folder)).cloned().partition(|s| s.contains('/') || folder.join(s).is_file());
    if sure.is_empty() { words } else { sure }
}

/// The same of strings that hold the folder's absolute path, or are put behind it.
#[must_use]
pub fn named_behind(folder: &Utf8Path, strings: &BTreeSet<String>) -> BTreeSet<String> {
    let behind = |s: &String| s.strip_prefix(folder.as_str()).unwrap_or(s).trim_start_matches('/').to_owned();
    named_in(folder, &strings.iter().map(behind).collect())
}

fn names(text: &str, folder: &Utf8Path) -> bool {
    let fixed = match text.split_once('{') {
        Some((before, _)) => before.rsplit_once('/').map_or("", |(folder, _)| folder),
        None => text,
    };
    let path = Utf8Path::new(fixed);
    path.is_relative() && path.components().any(|c| matches!(c, Utf8Component::Normal(_))) && folder.join(path).exists()
}

/// Names as a message has them.
#[must_use]
pub fn list(names: &BTreeSet<String>) -> String {
    names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod unit {
    use super::*;

    fn here() -> &'static Utf8Path {
        Utf8Path::new(env!("CARGO_MANIFEST_DIR"))
    }

    fn named(gist: &str) -> Vec<String> {
        named_in(here(), &strings(gist)).into_iter().collect()
    }

    #[test]
    fn only_strings_that_name_a_file_or_a_folder_are_found() {
        let gist =
            "fn a() { open(\"src/lib.rs\"); open(r\"Cargo.toml\"); say(\"no file\"); say(\"\"); say(\".\"); say(\"/\"); }";
        assert_eq!(named(gist), ["Cargo.toml", "src/lib.rs"]);
    }

    #[test]
    fn a_pattern_names_its_folder() {
        let gist = "fn a() { open(format!(\"src/source/{name}.rs\")); say(\"a {} b\"); say(\"no/such/{}\"); }";
        assert_eq!(named(gist), ["src/source/{name}.rs"]);
    }

    #[test]
    fn a_word_counts_when_there_is_nothing_better() {
        assert_eq!(named("fn a() { open(\"src\"); }"), ["src"]);
        assert_eq!(named("fn a() { open(\"src\"); open(\"src/cli\"); }"), ["src/cli"]);
    }

    #[test]
    fn what_stands_behind_the_folders_path_is_found() {
        let (whole, part) = (here().join("src/lib.rs"), "/src/main.rs");
        let strings = BTreeSet::from([whole.into_string(), part.to_owned(), here().to_string()]);
        assert_eq!(named_behind(here(), &strings).into_iter().collect::<Vec<_>>(), ["src/lib.rs", "src/main.rs"]);
    }
}
