//! Which functions traits demand of their impls, as far as a text declares the traits.

use crate::source::tokens::{idents, is_punct, walk};
use crate::source::transcriber::{is_blanked, rules};
use proc_macro2::TokenTree;
use quote::ToTokens;
use std::collections::{BTreeMap, BTreeSet};
use syn::visit::{self, Visit};

/// The traits of a text, by name.
#[derive(Debug, Default)]
pub(super) struct Traits {
    /// Their functions, and whether those have a default. Traits of one name are told apart by their functions.
    declared: BTreeMap<String, Vec<(String, bool)>>,
    /// What `use … as …` calls by another name.
    renamed: BTreeMap<String, BTreeSet<String>>,
    /// Every word that a macro is called with, by the macro's name.
    given: BTreeMap<String, BTreeSet<String>>,
    /// The traits (no name: none) in whose impls a macro makes members, by the macro's name.
    members: BTreeMap<String, BTreeSet<String>>,
}

impl Traits {
    /// The traits of a file and of the rules of its macros.
    pub(super) fn of(file: &syn::File, text: &str) -> Traits {
        let mut collector = Collector { text, traits: Traits::default() };
        collector.visit_file(file);
        let mut traits = collector.traits;
        walk(file.to_token_stream(), &mut |list| {
            for call in list.windows(3) {
                if let [TokenTree::Ident(name), bang, TokenTree::Group(given)] = call
                    && is_punct(Some(bang), '!')
                {
                    traits.given.entry(name.to_string()).or_default().extend(idents(given.stream()));
                }
            }
        });
        traits
    }

    /// Whether a trait demands a function of its impls. One that is not declared here demands all that there is.
    ///
    /// In a rule of the macro `in_macro`, a metavariable may stand for either.
    pub(super) fn demand(&self, trait_: &str, function: &str, in_macro: &str) -> bool {
        let none = BTreeSet::new();
        let names: Vec<&str> = if is_blanked(trait_) {
            self.given.get(in_macro).unwrap_or(&none).iter().map(String::as_str).collect()
        } else {
            self.renamed.get(trait_).unwrap_or(&none).iter().map(String::as_str).chain([trait_]).collect()
        };
        let functions = names.iter().filter_map(|n| self.declared.get(*n)).flatten();
        !functions.filter(|(name, _)| is_blanked(function) || name == function).any(|(_, default)| *default)
    }

    /// Whether every impl in which a macro makes members has to have this one.
    pub(super) fn demand_made(&self, function: &str, by_macro: &str) -> bool {
        let traits = self.members.get(by_macro);
        traits.is_some_and(|traits| traits.iter().all(|t| !t.is_empty() && self.demand(t, function, by_macro)))
    }
}

struct Collector<'a> {
    text: &'a str,
    traits: Traits,
}

impl<'ast> Visit<'ast> for Collector<'_> {
    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        let functions = item.items.iter().filter_map(|member| match member {
            syn::TraitItem::Fn(f) => Some((f.sig.ident.to_string(), f.default.is_some())),
            _ => None,
        });
        self.traits.declared.entry(item.ident.to_string()).or_default().extend(functions);
        visit::visit_item_trait(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let name = |path: &syn::Path| path.segments.last().map(|s| s.ident.to_string()).unwrap_or_default();
        let trait_ = item.trait_.as_ref().map(|(path, _)| name(path)).unwrap_or_default();
        for member in &item.items {
            if let syn::ImplItem::Macro(m) = member {
                self.traits.members.entry(name(&m.mac.path)).or_default().insert(trait_.clone());
            }
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_use_rename(&mut self, leaf: &'ast syn::UseRename) {
        self.traits.renamed.entry(leaf.rename.to_string()).or_default().insert(leaf.ident.to_string());
    }

    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        if item.ident.is_some() {
            for items in rules(item.mac.tokens.clone(), self.text).iter().filter_map(|r| r.items.as_ref()) {
                visit::visit_file(self, items);
            }
        }
    }
}
