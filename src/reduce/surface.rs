//! What a file's tree says beside its nodes: where each `pub` stands, and which macros are called in bodies.

use super::syntax::plain;
use crate::source::tokens::{range, walk};
use crate::source::transcriber::rules;
use proc_macro2::{TokenStream, TokenTree};
use std::collections::BTreeSet;
use std::ops::Range;
use syn::visit::{self, Visit};

/// What is found.
#[derive(Debug, Default)]
pub(super) struct Surface {
    /// Every `pub` without a restriction.
    pub(super) publics: Vec<Range<usize>>,
    /// The macros that are called for a statement, an expression, a pattern or a type. What they make there is used
    /// by nobody that could be told.
    pub(super) called_in_bodies: BTreeSet<String>,
}

/// Looks through a file.
pub(super) fn surface(text: &str, file: &syn::File) -> Surface {
    let mut finder = Finder { text, found: Surface::default() };
    finder.visit_file(file);
    finder.found
}

struct Finder<'a> {
    text: &'a str,
    found: Surface,
}

impl Finder<'_> {
    /// Every `name!` in tokens.
    fn calls(&mut self, tokens: TokenStream) {
        walk(tokens, &mut |list| {
            for pair in list.windows(2) {
                if let [TokenTree::Ident(name), TokenTree::Punct(bang)] = pair
                    && bang.as_char() == '!'
                {
                    self.found.called_in_bodies.insert(plain(name));
                }
            }
        });
    }

    /// What stands in the tokens of a macro, the tree of which lives only here. Gives where each `pub` stands in them.
    fn inner(&mut self, items: &[syn::Item]) -> Vec<Range<usize>> {
        let mut inner = Finder { text: self.text, found: Surface::default() };
        items.iter().for_each(|item| inner.visit_item(item));
        self.found.called_in_bodies.append(&mut inner.found.called_in_bodies);
        inner.found.publics
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_macro(&mut self, m: &'ast syn::ItemMacro) {
        if m.ident.is_some() {
            for rule in rules(m.mac.tokens.clone(), self.text) {
                match &rule.items {
                    Some(file) => {
                        let publics = self.inner(&file.items);
                        self.found.publics.extend(publics);
                    }
                    None => {
                        let made = range(rule.matcher.span()).end..rule.range.end;
                        let inside = |t: &TokenTree| {
                            let r = t.span().byte_range();
                            made.start <= r.start && r.end <= made.end
                        };
                        self.calls(m.mac.tokens.clone().into_iter().filter(inside).collect());
                    }
                }
            }
        } else if let Ok(items) = syn::parse::Parser::parse2(crate::bundle::items_within, m.mac.tokens.clone()) {
            // A `pub` is no word of the file there, but what the macro is given.
            self.inner(&items);
        }
    }

    fn visit_macro(&mut self, m: &'ast syn::Macro) {
        self.found.called_in_bodies.extend(m.path.segments.last().map(|s| plain(&s.ident)));
        self.calls(m.tokens.clone());
    }

    /// Among the members of an impl it makes members.
    fn visit_impl_item_macro(&mut self, _: &'ast syn::ImplItemMacro) {}

    fn visit_trait_item_macro(&mut self, _: &'ast syn::TraitItemMacro) {}

    fn visit_foreign_item_macro(&mut self, _: &'ast syn::ForeignItemMacro) {}

    fn visit_visibility(&mut self, v: &'ast syn::Visibility) {
        if let syn::Visibility::Public(token) = v {
            self.found.publics.push(range(token.span));
        }
        visit::visit_visibility(self, v);
    }
}

#[cfg(test)]
mod unit {
    use super::*;

    fn called(text: &str) -> Vec<String> {
        surface(text, &syn::parse_file(text).unwrap()).called_in_bodies.into_iter().collect()
    }

    #[test]
    fn macros_that_make_items_are_told_from_those_that_make_statements() {
        let text = "a!(); mod m { b! { fn f() { c!(d!()); } } } impl X { e!(); } fn g() -> f!() { h! {} let i!() = 1; }";
        assert_eq!(called(text), ["c", "d", "f", "h", "i"]);
    }

    #[test]
    fn calls_in_rules_count_by_what_the_rule_makes() {
        let text = "macro_rules! m { (a) => { b!(); fn f() { c!(); } }; (d) => { 1 + e!() }; }";
        assert_eq!(called(text), ["c", "e"]);
    }

    #[test]
    fn every_pub_of_the_file_is_found_but_none_that_a_macro_is_given() {
        let text = "pub fn f() {} a! { pub fn g() {} } macro_rules! m { () => { pub fn h() {} }; }";
        let found = surface(text, &syn::parse_file(text).unwrap()).publics;
        assert_eq!(found, [0..3, 60..63]);
    }
}
