//! Which macro calls made the functions that ran.
//!
//! Coverage puts a function that a macro made at the macro's definition. The call is found by the names in the
//! function's path.

use super::made::Made;
use super::nodes::{Kind, NodeId, Tree};
use super::types::{Header, Ty};
use crate::bundle::Bundle;
use crate::source::tokens::words;
use crate::trace::Coverage;
use std::collections::{BTreeMap, BTreeSet};

/// The calls, and elements of calls, that seem to have made functions that ran; and of those the doubtful ones.
pub(super) fn macro_calls(
    bundle: &Bundle,
    tree: &Tree,
    coverage: &Coverage,
    files: &[Option<usize>],
) -> (BTreeSet<NodeId>, BTreeSet<NodeId>) {
    let calls = Calls { tree, outer: tree.calls_by_macro(), inner: tree.inner_calls_by_macro() };
    let (mut found, mut doubtful) = (BTreeSet::new(), BTreeSet::new());
    for function in coverage.called() {
        let Some(region) = function.regions.first() else { continue };
        let Some(file) = files.get(region.file).copied().flatten() else { continue };
        let at = bundle.map.files[file].offset(region.start);
        let path: BTreeSet<&str> = words(&function.name).collect();
        for image in bundle.map.images(file, at) {
            let node = tree.at(image);
            let ways = known_calls(tree, node, &function.name, &path);
            if !ways.is_empty() {
                doubtful.extend(ways.iter().filter(|_| ways.len() > 1).flat_map(|made| &made.by));
                found.extend(ways.iter().flat_map(|made| &made.by));
            } else if let Some(definition) = tree.ancestors(node).find(|&a| tree.nodes[a].kind == Kind::MacroRules) {
                calls.add_likely(definition, node, &path, &mut found, &mut doubtful);
            }
        }
    }
    (found, doubtful)
}

/// What is made of the function at a node and may be the one of that name, which has those words.
fn known_calls<'t>(tree: &'t Tree, node: NodeId, name: &str, words: &BTreeSet<&str>) -> Vec<&'t Made> {
    let is_function = |a: &NodeId| matches!(tree.nodes[*a].kind, Kind::Fn | Kind::ImplFn | Kind::TraitFn);
    let Some(function) = tree.ancestors(node).filter(is_function).find(|&a| tree.made.at(a).next().is_some()) else {
        return Vec::new();
    };
    let header = header_of(name);
    let around = |made: &Made| {
        // A call stands behind those that define its macro.
        let outermost = made.by.iter().rev().copied().find(|&c| !tree.nodes[c].in_macro);
        outermost
            .into_iter()
            .flat_map(|c| tree.ancestors(c))
            .filter(|&a| tree.nodes[a].kind == Kind::Module)
            .collect::<Vec<_>>()
    };
    let of_modules = |made: &Made| {
        let mut named =
            made.modules.iter().map(String::as_str).chain(around(made).into_iter().map(|m| tree.nodes[m].name.as_str()));
        named.all(|module| words.contains(module))
    };
    let fits = |made: &&Made| {
        words.contains(made.name.as_str())
            && match (&made.header, &header) {
                (Some(own), Some(asked)) => own.fits(asked).is_some(),
                (None, None) => of_modules(made),
                _ => true,
            }
    };
    let ways: Vec<&Made> = tree.made.at(function).filter(fits).collect();
    // Many modules may have a type of that name.
    let near: Vec<&Made> = ways.iter().copied().filter(|made| of_modules(made)).collect();
    if near.is_empty() { ways } else { near }
}

/// What a function's name says of the impl that it is in: `<A as B>::f`.
fn header_of(name: &str) -> Option<Header> {
    let inside = name.strip_prefix('<')?;
    let mut depth = 0;
    let mut middle = None;
    for (at, c) in inside.char_indices() {
        match c {
            '<' | '(' | '[' => depth += 1,
            '>' if inside[..at].ends_with('-') => {}
            '>' if depth == 0 => {
                let (ty, trait_) = middle.map_or((&inside[..at], ""), |m: usize| (&inside[..m], &inside[m + 4..at]));
                let trait_ = if trait_.is_empty() { Ty::Named(String::new(), Vec::new()) } else { Ty::parse(trait_)? };
                return Some(Header { self_ty: Ty::parse(ty)?, trait_ });
            }
            '>' | ')' | ']' => depth -= 1,
            ' ' if depth == 0 && inside[at..].starts_with(" as ") => middle = Some(at),
            _ => {}
        }
    }
    None
}

/// The macro calls of a bundle, by the macros that they may lead to.
struct Calls<'t> {
    tree: &'t Tree,
    outer: BTreeMap<&'t str, Vec<NodeId>>,
    inner: BTreeMap<&'t str, Vec<NodeId>>,
}

impl Calls<'_> {
    /// Adds the calls that may have made the function at `node`, in the rules of `definition`, with that path.
    fn add_likely(
        &self,
        definition: NodeId,
        node: NodeId,
        path: &BTreeSet<&str>,
        found: &mut BTreeSet<NodeId>,
        doubtful: &mut BTreeSet<NodeId>,
    ) {
        let tree = self.tree;
        let made_by = tree.nodes[definition].name.as_str();
        let of = |calls: &BTreeMap<&str, Vec<NodeId>>| calls.get(made_by).cloned().unwrap_or_default();
        // Calls beside it in its own rule don't lead to it.
        let rule = |i: NodeId| tree.ancestors(i).find(|&a| tree.nodes[a].kind == Kind::MacroRule);
        let inner: Vec<NodeId> =
            of(&self.inner).into_iter().filter(|&c| self.fits(c, path) && rule(c) != rule(node)).collect();
        let here: Vec<NodeId> = of(&self.outer).into_iter().filter(|&c| self.fits(c, path)).collect();
        let direct: Vec<NodeId> = here.iter().copied().filter(|&c| self.leads(c, made_by, &inner)).collect();
        let here = if direct.is_empty() { here } else { direct };
        let most = here.iter().map(|&c| self.shared(c, path)).max().unwrap_or(0);
        for call in here.into_iter().filter(|&c| self.shared(c, path) == most) {
            let elements = tree.elements(call, path.iter().copied());
            if elements.len() > 1 {
                doubtful.extend(elements.iter().copied());
            }
            found.extend(elements);
        }
        let inner = tree.likely_inner(&inner, path.iter().copied());
        found.extend(inner.into_iter().flat_map(|c| tree.elements(c, path.iter().copied())));
    }

    /// Whether a call stands in modules and impls that the path names. Where a macro is defined says nothing of what
    /// its calls make.
    fn fits(&self, call: NodeId, path: &BTreeSet<&str>) -> bool {
        let tree = self.tree;
        let named = |name: &str| name.is_empty() || path.contains(name);
        let of_impl = |a: NodeId| named(&tree.nodes[a].type_name) && named(&tree.nodes[a].trait_name);
        let mut around = tree.ancestors(call).skip(1);
        around.all(|a| {
            of_impl(a) && (tree.nodes[call].in_macro || tree.nodes[a].kind != Kind::Module || named(&tree.nodes[a].name))
        })
    }

    /// How many names a call shares with the path; those of the modules around it are no sign.
    fn shared(&self, call: NodeId, path: &BTreeSet<&str>) -> usize {
        let tree = self.tree;
        let of_module = |w: &str| tree.ancestors(call).skip(1).any(|a| tree.nodes[a].name == w);
        tree.nodes[call].words.iter().filter(|w| path.contains(w.as_str()) && !of_module(w)).count()
    }

    /// Whether a call is of the macro, or of one that comes to it by those calls in rules.
    fn leads(&self, call: NodeId, to: &str, inner: &[NodeId]) -> bool {
        let tree = self.tree;
        let mut names = vec![tree.nodes[call].macro_name.as_str()];
        let mut i = 0;
        while i < names.len() && names[i] != to {
            let from = inner.iter().filter(|&&c| tree.made_by(c).is_some_and(|m| tree.nodes[m].name == names[i]));
            let next = from.map(|&c| tree.nodes[c].macro_name.as_str());
            let new: Vec<&str> = next.filter(|n| !names.contains(n)).collect();
            names.extend(new);
            i += 1;
        }
        i < names.len()
    }
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn a_functions_name_says_which_impl_it_is_in() {
        let header = |ty: &str, trait_: &str| {
            let trait_ = if trait_.is_empty() { Ty::Named(String::new(), Vec::new()) } else { Ty::parse(trait_).unwrap() };
            Some(Header { self_ty: Ty::parse(ty).unwrap(), trait_ })
        };
        assert_eq!(header_of("<a::B<C<u8>> as core::ops::Add<&u8>>::add::{closure#0}"), header("B<C<u8>>", "Add<&u8>"));
        assert_eq!(header_of("<a::B>::new"), header("B", ""));
        assert_eq!(header_of("<fn(u8) -> u16 as a::X>::f"), header("fn(u8) -> u16", "X"));
        assert_eq!(header_of("a::b::<u8>"), None);
    }
}
