//! Names that a gist must not give to things of its own, or must not lean on, and the names that a `use` brings in.

use crate::source::tokens::is_punct;
use proc_macro2::{Delimiter, TokenTree};

/// Crates that come with Rust.
pub(super) const STANDARD: &[&str] = &["std", "core", "alloc", "proc_macro"];

/// Macros that a test may lean on without importing them.
pub(super) const MACROS: &[&str] = &[
    "assert",
    "assert_eq",
    "assert_ne",
    "cfg",
    "column",
    "compile_error",
    "concat",
    "dbg",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "env",
    "eprint",
    "eprintln",
    "file",
    "format",
    "format_args",
    "include",
    "include_bytes",
    "include_str",
    "line",
    "matches",
    "module_path",
    "option_env",
    "panic",
    "print",
    "println",
    "stringify",
    "thread_local",
    "todo",
    "unimplemented",
    "unreachable",
    "vec",
    "write",
    "writeln",
];

/// Attributes of the harness and of the compiler that can be shadowed.
pub(super) const ATTRIBUTES: &[&str] = &["test", "bench", "test_case", "should_panic", "ignore", "derive"];

/// Traits whose implementations decide what an assertion says.
pub(super) const COMPARISONS: &[&str] = &["PartialEq", "PartialOrd", "Ord", "Not"];

/// What ends the process, of `std::process`.
pub(super) const ENDS: &[&str] = &["exit", "abort"];

/// What catches a panic, or has a say in what it prints.
pub(super) const PANICS: &[&str] = &["catch_unwind", "set_hook", "take_hook", "update_hook", "always_abort"];

/// A name that a `use` brings in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UnderUse {
    /// The whole path, without raw prefixes; `*` at its end for all of a module.
    pub(super) path: Vec<String>,
    /// What it is called here.
    pub(super) name: String,
}

/// The names that a `use` brings in, from the tokens between `use` and `;`.
pub(super) fn leaves(tree: &[TokenTree]) -> Vec<UnderUse> {
    let mut out = Vec::new();
    under(tree, &[], &mut out);
    out
}

/// Longer paths are kept without their middle.
const DEEP: usize = 32;

fn under(tree: &[TokenTree], prefix: &[String], out: &mut Vec<UnderUse>) {
    for part in tree.split(|t| is_punct(Some(t), ',')) {
        let mut path = prefix.to_vec();
        if path.len() > DEEP {
            path.drain(DEEP / 2..path.len() - 1);
        }
        let mut name: Option<String> = None;
        let mut renamed = false;
        let mut nested = false;
        for tree in part {
            match tree {
                TokenTree::Ident(i) => {
                    let word = i.to_string();
                    let word = word.strip_prefix("r#").unwrap_or(&word).to_owned();
                    if word == "as" {
                        renamed = true;
                    } else if renamed {
                        name = Some(word);
                    } else if word != "self" || path.is_empty() {
                        path.push(word);
                    }
                }
                TokenTree::Punct(p) if p.as_char() == '*' => path.push("*".to_owned()),
                TokenTree::Group(g) if g.delimiter() == Delimiter::Brace => {
                    under(&g.stream().into_iter().collect::<Vec<_>>(), &path, out);
                    nested = true;
                }
                _ => {}
            }
        }
        if let Some(last) = path.last().filter(|_| !nested).cloned() {
            out.push(UnderUse { path, name: name.unwrap_or(last) });
        }
    }
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn a_use_brings_in_the_names_of_its_leaves() {
        let tokens: Vec<TokenTree> = "std::{fmt, process::{self, exit as r#leave}, io::*}"
            .parse::<proc_macro2::TokenStream>()
            .unwrap()
            .into_iter()
            .collect();
        let found: Vec<String> = leaves(&tokens).into_iter().map(|l| format!("{} {}", l.path.join("::"), l.name)).collect();
        assert_eq!(found, ["std::fmt fmt", "std::process process", "std::process::exit leave", "std::io::* *"]);
    }
}
