//! Why a gist may end differently: its test reads files of its package while it runs, which a gist does not have.

use crate::source::tokens::walk;
use camino::Utf8Path;
use proc_macro2::{TokenStream, TokenTree};
use std::collections::BTreeSet;

/// The texts in a gist that name a file of the package, as its tests see it from the package's folder.
#[must_use]
pub fn named_files(gist: &str, package_dir: &Utf8Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let Ok(tokens) = gist.parse::<TokenStream>() else { return found };
    walk(tokens, &mut |list| {
        for tree in list {
            if let TokenTree::Literal(literal) = tree
                && let Ok(text) = syn::parse_str::<syn::LitStr>(&literal.to_string())
                && is_file_of(&text.value(), package_dir)
            {
                found.insert(text.value());
            }
        }
    });
    found
}

fn is_file_of(text: &str, package_dir: &Utf8Path) -> bool {
    let path = Utf8Path::new(text);
    path.is_relative() && package_dir.join(path).is_file()
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn only_texts_that_name_a_file_of_the_package_are_found() {
        let gist = "fn a() { open(\"src/lib.rs\"); open(r\"Cargo.toml\"); open(\"src\"); say(\"no file\"); say(\"\"); }";
        let found = named_files(gist, Utf8Path::new(env!("CARGO_MANIFEST_DIR")));
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["Cargo.toml", "src/lib.rs"]);
    }
}
