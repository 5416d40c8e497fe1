//! What of a gist belongs to the test: the test itself and what is put back with it before a gist is verified. That
//! these can't go says nothing about the reduction, so they are no candidates.

use super::super::compare::{calls, definitions, plain_name};
use super::super::sources::{Sources, plain};
use super::items::Owner;
use proc_macro2::{TokenStream, TokenTree};
use std::collections::BTreeSet;
use syn::{Attribute, Item, ItemMacro};

/// The test's own items in a gist.
#[derive(Debug)]
pub(super) struct Owned {
    /// The test's path in the gist.
    path: Vec<String>,
    /// The deepest module on that path that is written as one.
    module: Vec<String>,
    /// Whether everything in this module is there for tests only.
    all: bool,
    /// Else the names of what is there for tests only.
    names: BTreeSet<String>,
    /// The macro calls that make the test, each with its module.
    calls: Vec<(Vec<String>, ItemMacro)>,
    /// The names of the macros that they go through.
    macros: BTreeSet<String>,
}

impl Owned {
    /// Finds them. `wrapper` is the module of an integration test's file in the gist; `original` are the sources of the
    /// test's own crate in the project.
    pub(super) fn find(gist: &Sources, original: &Sources, wrapper: Option<&String>, test: &str) -> Self {
        let own: Vec<String> = test.split("::").map(str::to_owned).collect();
        let path: Vec<String> = wrapper.into_iter().chain(&own).cloned().collect();
        let (name, parents) = path.split_last().expect("a path has a last segment");
        let is_function = gist
            .modules
            .iter()
            .filter(|m| m.path == parents)
            .flat_map(|m| &m.items)
            .any(|item| matches!(item, Item::Fn(f) if plain(&f.sig.ident) == *name));
        let made = if is_function { Vec::new() } else { calls(gist, &path) };
        let macros = definitions(gist, &made).iter().map(|(_, d)| plain_name(d)).collect();
        let made: Vec<_> = made.into_iter().map(|(m, call)| (m.path.clone(), call.clone())).collect();
        let written = |depth: &usize| gist.modules.iter().any(|m| m.path == path[..*depth]);
        let depth = made.iter().map(|(m, _)| m.len()).max();
        let depth = depth.or_else(|| (0..path.len()).rev().find(written)).unwrap_or(0);
        let own_depth = depth.saturating_sub(usize::from(wrapper.is_some()));
        let module = path[..depth].to_vec();
        let all = wrapper.is_some() || for_tests_only(original, &own[..own_depth]);
        let here = original.modules.iter().filter(|m| m.path == own[..own_depth]).flat_map(|m| &m.items);
        let names = here.filter(|item| attributes(item).iter().any(is_cfg_test)).filter_map(name_of).collect();
        Self { module, path, all, names, calls: made, macros }
    }
}

impl Owner for Owned {
    fn owns(&self, module: &[String], item: &Item) -> bool {
        match item {
            Item::Macro(call) if call.ident.is_none() => {
                self.calls.iter().any(|(at, own)| at == module && own.mac == call.mac)
            }
            Item::Mod(_) | Item::Use(_) | Item::ExternCrate(_) => false,
            _ if module != self.module => false,
            Item::Macro(_) if self.holds(module, item) => false,
            Item::Fn(f) if self.path[..self.path.len() - 1] == *module && self.path.ends_with(&[plain(&f.sig.ident)]) => {
                true
            }
            _ => self.all || name_of(item).is_some_and(|name| self.names.contains(&name)),
        }
    }

    fn holds(&self, module: &[String], item: &Item) -> bool {
        match item {
            Item::Mod(m) => {
                let whole: Vec<String> = module.iter().cloned().chain([plain(&m.ident)]).collect();
                self.path.starts_with(&whole)
            }
            Item::Macro(m) => m.ident.is_some() && self.macros.contains(&plain_name(m)),
            _ => false,
        }
    }
}

/// Whether a module, or one around it, is under `#[cfg(test)]`.
fn for_tests_only(sources: &Sources, path: &[String]) -> bool {
    (1..=path.len()).any(|depth| {
        let around = sources.modules.iter().filter(|m| m.path == path[..depth - 1]).flat_map(|m| &m.items);
        around.clone().any(|item| match item {
            Item::Mod(m) => plain(&m.ident) == path[depth - 1] && m.attrs.iter().any(is_cfg_test),
            _ => false,
        })
    })
}

/// `#[cfg(…)]` with `test` in it, and no `not`.
fn is_cfg_test(attribute: &Attribute) -> bool {
    let holds = |word: &str| attribute.meta.require_list().is_ok_and(|list| has_word(list.tokens.clone(), word));
    attribute.path().is_ident("cfg") && holds("test") && !holds("not")
}

fn has_word(stream: TokenStream, word: &str) -> bool {
    stream.into_iter().any(|tree| match tree {
        TokenTree::Ident(ident) => ident == word,
        TokenTree::Group(group) => has_word(group.stream(), word),
        _ => false,
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(x) => &x.attrs,
        Item::Enum(x) => &x.attrs,
        Item::Fn(x) => &x.attrs,
        Item::Macro(x) => &x.attrs,
        Item::Static(x) => &x.attrs,
        Item::Struct(x) => &x.attrs,
        Item::Trait(x) => &x.attrs,
        Item::Type(x) => &x.attrs,
        Item::Union(x) => &x.attrs,
        _ => &[],
    }
}

fn name_of(item: &Item) -> Option<String> {
    Some(plain(match item {
        Item::Const(x) => &x.ident,
        Item::Enum(x) => &x.ident,
        Item::Fn(x) => &x.sig.ident,
        Item::Macro(x) => x.ident.as_ref()?,
        Item::Static(x) => &x.ident,
        Item::Struct(x) => &x.ident,
        Item::Trait(x) => &x.ident,
        Item::Type(x) => &x.ident,
        Item::Union(x) => &x.ident,
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use super::super::items::candidates;
    use super::*;

    fn paths(gist: &str, original: &str, wrapper: Option<&str>, test: &str) -> Vec<String> {
        let wrapper = wrapper.map(str::to_owned);
        let sources = |text| Sources::of_text(text).unwrap();
        let owned = Owned::find(&sources(gist), &sources(original), wrapper.as_ref(), test);
        candidates(gist, &owned).unwrap().into_iter().map(|c| c.path).collect()
    }

    #[test]
    fn test_and_helpers_of_its_test_only_module_are_no_candidates() {
        let gist = "fn f() {} mod tests { use super::f; fn help() {} #[test] fn t() {} mod inner { fn g() {} } }";
        let original = "fn f() {} #[cfg(test)] mod tests {}";
        let expected = ["f", "tests::use super::f", "tests::inner", "tests::inner::g"];
        assert_eq!(paths(gist, original, None, "tests::t"), expected);
    }

    #[test]
    fn items_beside_a_test_in_an_ordinary_module_are_candidates() {
        let gist = "fn f() {} fn help() {} #[test] fn t() {}";
        let original = "fn f() {} #[cfg(test)] fn help() {} #[test] fn t() {}";
        assert_eq!(paths(gist, original, None, "t"), ["f"]);
    }

    #[test]
    fn file_of_an_integration_test_is_there_for_tests_only() {
        let gist = "fn f() {} mod api { fn help() {} #[test] fn t() {} mod common { fn g() {} } }";
        assert_eq!(paths(gist, "", Some("api"), "t"), ["f", "api::common", "api::common::g"]);
    }

    #[test]
    fn of_a_macro_that_makes_the_test_only_the_rules_are_candidates() {
        let gist = "macro_rules! m { ($n:ident) => { #[test] fn $n() {} }; () => {}; } m!(t); other!();";
        assert_eq!(paths(gist, gist, None, "t"), ["m! rule 1", "m! rule 2", "other!"]);
    }
}
