//! Which `const fn`s the compiler may evaluate.
//!
//! What is evaluated at compile time shows a count of 0, so nothing may be cut of it. Most `const fn`s are only ever
//! called as other functions are, and their counts are as good.

use super::graph::Graph;
use super::nodes::{Kind, NodeId, Tree};
use crate::source::tokens::idents;
use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The `const fn`s that are called where a constant is asked for, directly or by others that are, and those of which it
/// is not known.
pub(super) fn evaluated(text: &str, tree: &Tree, graph: &Graph) -> Vec<bool> {
    let mut evaluated: Vec<bool> = (0..tree.nodes.len()).map(|i| tree.nodes[i].is_const && !graph.marked[i]).collect();
    // Calls of `const fn`s in `const fn`s.
    let mut passed_on: Vec<(NodeId, NodeId)> = Vec::new();
    for (user, used) in graph.uses.iter().enumerate() {
        for &function in used.iter().filter(|&&t| tree.nodes[t].is_const) {
            match tree.function(user) {
                Some(around) if is_run(text, tree, user, around, &tree.nodes[function].name) => {
                    if tree.nodes[around].is_const {
                        passed_on.push((around, function));
                    }
                }
                _ => evaluated[function] = true,
            }
        }
    }
    loop {
        let more: Vec<NodeId> =
            passed_on.iter().filter(|(from, to)| evaluated[*from] && !evaluated[*to]).map(|p| p.1).collect();
        if more.is_empty() {
            return evaluated;
        }
        more.into_iter().for_each(|function| evaluated[function] = true);
    }
}

/// Whether what a node in a function names is called when the function is: not in the signature, in a constant, in the
/// length of an array.
fn is_run(text: &str, tree: &Tree, user: NodeId, function: NodeId, name: &str) -> bool {
    let inside = || tree.ancestors(user).take_while(|&a| a != function);
    let in_body = inside().any(|a| tree.nodes[a].kind == Kind::Body);
    let in_item = inside().any(|a| !tree.nodes[a].kind.in_body());
    let tokens = text[tree.nodes[user].range.clone()].parse();
    in_body && !in_item && tokens.is_ok_and(|tokens| !in_constant(tokens, name))
}

/// Whether a name stands in a `const` block, behind the `;` of brackets, or in the braces of a generic argument.
fn in_constant(tokens: TokenStream, name: &str) -> bool {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let punct = |tree: Option<&TokenTree>, c: char| matches!(tree, Some(TokenTree::Punct(p)) if p.as_char() == c);
    let has = |stream: TokenStream| idents(stream).iter().any(|ident| ident == name);
    trees.iter().enumerate().any(|(i, tree)| {
        let before = i.checked_sub(1).and_then(|b| trees.get(b));
        let TokenTree::Group(group) = tree else {
            // A constant without a node of its own.
            return matches!(tree, TokenTree::Ident(word) if word == "const")
                && !matches!(trees.get(i + 1), Some(TokenTree::Group(_)));
        };
        let constant = match group.delimiter() {
            Delimiter::Brace => {
                matches!(before, Some(TokenTree::Ident(word)) if word == "const") || punct(before, '<') || punct(before, ',')
            }
            Delimiter::Bracket => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                let length = inner.iter().position(|t| punct(Some(t), ';')).map_or(inner.len(), |at| at + 1);
                return has(inner[length..].iter().cloned().collect()) || in_constant(group.stream(), name);
            }
            _ => false,
        };
        constant && has(group.stream()) || in_constant(group.stream(), name)
    })
}

#[cfg(test)]
mod unit {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let tree = Tree::parse(text).unwrap();
        let functions = || (0..tree.nodes.len()).filter(|&i| tree.nodes[i].kind == Kind::Fn);
        let mut graph = Graph { uses: vec![Vec::new(); tree.nodes.len()], marked: vec![true; tree.nodes.len()] };
        for function in functions() {
            let call = format!("{}(", tree.nodes[function].name);
            let uses = text.match_indices(&call).map(|(at, _)| at).filter(|&at| !text[..at].ends_with("fn "));
            uses.for_each(|at| graph.uses[tree.at(at)].push(function));
        }
        let found = evaluated(text, &tree, &graph);
        functions().filter(|&i| found[i]).map(|i| tree.nodes[i].name.clone()).collect()
    }

    #[test]
    fn a_const_fn_that_only_functions_call_is_not_evaluated() {
        assert_eq!(names("const fn a() -> u8 { 1 } const fn b() -> u8 { a() } fn f() { b(); }"), Vec::<String>::new());
    }

    #[test]
    fn what_constants_call_is_evaluated_and_what_that_calls() {
        let text = "const fn a() -> u8 { 1 } const fn b() -> u8 { a() } const fn c() {} const X: u8 = b(); fn f() { c(); }";
        assert_eq!(names(text), ["a", "b"]);
    }

    #[test]
    fn lengths_signatures_and_const_blocks_are_constants() {
        assert_eq!(names("const fn a() -> usize { 1 } fn f() { let _ = [0; a()]; }"), ["a"]);
        assert_eq!(names("const fn a() -> usize { 1 } fn f() -> [u8; a()] { loop {} }"), ["a"]);
        assert_eq!(names("const fn a() -> usize { 1 } fn f() { let _ = const { a() }; }"), ["a"]);
        assert_eq!(names("const fn a() -> usize { 1 } fn f() { const A: usize = a(); g::<{ A }>(); }"), ["a"]);
        assert_eq!(names("const fn a() -> usize { 1 } fn f() { let _ = [a(), 2]; }"), Vec::<String>::new());
    }
}
