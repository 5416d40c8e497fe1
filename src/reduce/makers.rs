//! Which macro calls made the functions that ran.
//!
//! Coverage puts a function that a macro made at the macro's definition. The call is found by the names in the
//! function's path.

use super::nodes::{Kind, NodeId, Tree};
use crate::bundle::Bundle;
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
        let path: BTreeSet<&str> = function.name.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
        for image in bundle.map.images(file, at) {
            let node = tree.at(image);
            if let Some(definition) = tree.ancestors(node).find(|&a| tree.nodes[a].kind == Kind::MacroRules) {
                calls.add_likely(definition, node, &path, &mut found, &mut doubtful);
            }
        }
    }
    (found, doubtful)
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
