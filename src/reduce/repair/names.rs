//! Names that nothing in scope has: imports, re-exports, items, the macros that make them.

use super::fault::Fault;
use super::impls::lacking;
use super::{Remedy, Repairer};
use crate::reduce::graph::identifier;
use crate::reduce::imports::PRIMITIVES;
use crate::reduce::nodes::{Kind, NodeId};
use crate::reduce::paths::{resolve, step};
use crate::reduce::plan::Plan;
use std::collections::BTreeSet;

impl Repairer {
    /// Whether a byte stands in a `use`.
    pub(super) fn in_use(plan: &Plan<'_>, place: usize) -> bool {
        plan.tree.ancestors(plan.tree.at(place)).any(|a| plan.tree.nodes[a].kind == Kind::Use)
    }

    /// Imports of what is gone: the imports go too, unless that was tried.
    pub(super) fn unresolved_import(&self, plan: &Plan<'_>, fault: &Fault<'_>, remedy: &mut Remedy) {
        let tree = plan.tree;
        let mut found = false;
        for &place in fault.places.iter().chain(&fault.definitions).filter(|&&p| Repairer::in_use(plan, p)) {
            found = true;
            let at = tree.at(place);
            let leaves: Vec<NodeId> = if tree.nodes[at].kind == Kind::UseLeaf {
                vec![at]
            } else {
                // The error is in the path that several leaves share.
                let all = tree.subtree(at).filter(|&i| tree.nodes[i].kind == Kind::UseLeaf && plan.stands(i));
                all.filter(|&i| tree.nodes[i].range.start >= place || tree.nodes[i].range.contains(&place)).collect()
            };
            for leaf in leaves {
                if plan.wanted[leaf] || tree.nodes[leaf].local {
                    self.import_target(plan, fault, leaf, remedy);
                } else {
                    remedy.cut.insert(leaf);
                }
            }
        }
        if !found {
            self.reexports(plan, fault, remedy);
        }
    }

    /// Imports of modules that are called as primitive types are, where a path goes through one; `false` when it does not.
    pub(super) fn primitive_imports(&self, plan: &Plan<'_>, fault: &Fault<'_>, remedy: &mut Remedy) -> bool {
        let tree = plan.tree;
        let before = remedy.restore.len();
        for &place in fault.places.iter().chain(&fault.definitions) {
            for &name in PRIMITIVES {
                let start = format!("{name}::");
                if plan.text[place..].starts_with(&start) || plan.text[..place].trim_end().ends_with(&start) {
                    let module = tree.module(tree.at(place));
                    let leaves = self.named(name).filter(|&n| tree.nodes[n].kind == Kind::UseLeaf && plan.cut[n]);
                    remedy.restore.extend(leaves.filter(|&n| tree.module(n) == module));
                }
            }
        }
        remedy.restore.len() > before
    }

    /// What an import that is needed names.
    pub(super) fn import_target(&self, plan: &Plan<'_>, fault: &Fault<'_>, leaf: NodeId, remedy: &mut Remedy) {
        let tree = plan.tree;
        let node = &tree.nodes[leaf];
        let way = way_to(plan, tree.module(leaf), &node.path);
        if !way.is_empty() {
            remedy.restore.extend(way);
            return;
        }
        let mut found = false;
        for w in std::iter::once(&node.name).chain(&node.words).chain(&fault.words) {
            let gone = |n: NodeId| plan.cut[n] || tree.nodes[n].kind == Kind::Module && !plan.wanted[n];
            for n in self.named(w).filter(|&n| gone(n) && tree.nodes[n].kind.is_item()) {
                remedy.restore.insert(n);
                found = true;
            }
        }
        if !found {
            self.macro_calls(plan, leaf, &node.name, remedy);
        }
    }

    /// A name that nothing in scope has: a statement, an import, an item, or a macro that makes it.
    pub(super) fn unresolved_name(&self, plan: &Plan<'_>, fault: &Fault<'_>, remedy: &mut Remedy) {
        let Some(name) = fault.words.first() else { return };
        let tree = plan.tree;
        let Some(&place) = fault.places.first() else { return };
        let here = tree.at(place);
        // Where a rule names a variable by a metavariable, so does the `let`.
        let metavariable = fault.token().and_then(|t| plan.text[t..].strip_prefix('$')).map(identifier);
        let binds = |words: &BTreeSet<String>| words.contains(name) || metavariable.is_some_and(|m| words.contains(m));
        for function in fault.places.iter().chain(&fault.definitions).filter_map(|&p| tree.function(tree.at(p))) {
            let bound: Vec<NodeId> = tree
                .subtree(function)
                .filter(|&i| tree.nodes[i].kind == Kind::Stmt && plan.cut[i] && binds(&tree.nodes[i].words))
                .collect();
            if !bound.is_empty() {
                remedy.restore.extend(bound);
                return;
            }
        }
        let mut on_the_way = way_of(plan, here, fault);
        if on_the_way.is_empty() && fault.message.contains(" in this scope") {
            on_the_way = way_of_name(plan, here, name);
        }
        if !on_the_way.is_empty() {
            remedy.sure.extend(&on_the_way);
            remedy.restore.extend(on_the_way);
            return;
        }
        let modules: BTreeSet<NodeId> = modules_around(plan, here).collect();
        let mut found = false;
        // What is declared in a body is known in that body alone.
        let known = |n: NodeId| !tree.nodes[n].local || tree.function(n) == tree.function(here);
        let candidates: Vec<NodeId> = self.named(name).filter(|&n| (plan.cut[n] || !plan.stands(n)) && known(n)).collect();
        // An import in scope.
        for &n in &candidates {
            if tree.nodes[n].kind == Kind::UseLeaf && modules.contains(&tree.module(n)) {
                remedy.restore.insert(n);
                remedy.restore.extend(self.targets_by_path(plan, n));
                found = true;
            }
        }
        // The item itself: the one whose module shares most with the place.
        let items =
            candidates.iter().copied().filter(|&n| tree.nodes[n].kind.is_item() && tree.nodes[n].kind != Kind::Variant);
        let path = module_path(plan, here);
        let shared = |n: NodeId| module_path(plan, n).iter().zip(&path).take_while(|(a, b)| a == b).count();
        let quoted: BTreeSet<&String> = fault.words.iter().collect();
        if let Some(best) = items.max_by_key(|&n| {
            let module = tree.module(n);
            (quoted.contains(&tree.nodes[module].name) && module != 0, modules.contains(&module), shared(n))
        }) {
            remedy.restore.insert(best);
            found = true;
        }
        // Globs that may have brought it in.
        for (i, n) in tree.nodes.iter().enumerate() {
            if n.kind == Kind::UseLeaf && n.catch_all && plan.cut[i] && modules.contains(&tree.module(i)) {
                remedy.restore.insert(i);
            }
        }
        if !found {
            self.macro_calls(plan, here, name, remedy);
            self.reexports(plan, fault, remedy);
        }
    }

    /// A path that goes through re-exports: whatever has one of its names, and the globs of its modules.
    pub(super) fn reexports(&self, plan: &Plan<'_>, fault: &Fault<'_>, remedy: &mut Remedy) {
        let tree = plan.tree;
        for w in &fault.words {
            for n in self.named(w) {
                let kind = tree.nodes[n].kind;
                if kind == Kind::UseLeaf
                    || kind == Kind::Module
                    || (kind.is_item() && tree.nodes[n].parent == tree.module(n))
                {
                    remedy.restore.insert(n);
                }
                if kind == Kind::Module {
                    for &u in tree.children[n].iter().filter(|&&c| tree.nodes[c].kind == Kind::Use) {
                        for leaf in
                            tree.subtree(u).filter(|&i| tree.nodes[i].kind == Kind::UseLeaf && tree.nodes[i].catch_all)
                        {
                            if plan.cut[leaf] {
                                remedy.restore.insert(leaf);
                                remedy.restore.extend(self.targets_by_path(plan, leaf));
                            }
                        }
                    }
                }
            }
        }
    }

    /// Items that the path of a `use` leaf may mean, where the graph does not say.
    pub(super) fn targets_by_path(&self, plan: &Plan<'_>, leaf: NodeId) -> Vec<NodeId> {
        if !plan.graph.uses[leaf].is_empty() {
            return plan.graph.uses[leaf].clone();
        }
        let node = &plan.tree.nodes[leaf];
        let all = node.words.iter().flat_map(|w| self.named(w));
        all.filter(|&n| {
            n != leaf && plan.cut[n] && matches!(plan.tree.nodes[n].kind, Kind::Module | Kind::MacroRules | Kind::UseLeaf)
        })
        .collect()
    }

    /// Macro calls that may make something of that name: those whose words have it, or whose macro's words do.
    pub(super) fn macro_calls(&self, plan: &Plan<'_>, near: NodeId, name: &str, remedy: &mut Remedy) {
        let tree = plan.tree;
        let known: Vec<NodeId> = tree.made.named(name).flat_map(|made| lacking(plan, made)).collect();
        if !known.is_empty() {
            remedy.restore.extend(known);
            return;
        }
        let lacking =
            |c: NodeId| plan.cut[c] || tree.children[c].iter().any(|&e| tree.nodes[e].kind == Kind::Entry && plan.cut[e]);
        let opaque = |c: NodeId| !tree.made.known.contains(&c);
        let cut_calls =
            || tree.nodes.iter().enumerate().filter(|(i, n)| n.kind == Kind::MacroCall && lacking(*i) && opaque(*i));
        let direct: Vec<NodeId> = cut_calls().filter(|(_, n)| n.words.contains(name)).map(|(i, _)| i).collect();
        let found = if direct.is_empty() {
            let makers: BTreeSet<&str> = tree
                .nodes
                .iter()
                .filter(|n| n.kind == Kind::MacroRules && n.words.contains(name))
                .map(|n| n.name.as_str())
                .collect();
            cut_calls().filter(|(_, n)| makers.contains(n.macro_name.as_str())).map(|(i, _)| i).collect()
        } else {
            direct
        };
        let module = tree.module(near);
        let (inside, outside): (Vec<NodeId>, Vec<NodeId>) = found.into_iter().partition(|&i| tree.module(i) == module);
        let found = if inside.is_empty() { outside } else { inside };
        remedy.guesses.extend(found.into_iter().flat_map(|c| tree.elements(c, std::iter::once(name))));
    }
}

/// Where a message says in which module a name is not found: what is cut of the way to it, and the name's own item.
pub(super) fn way_of(plan: &Plan<'_>, here: NodeId, fault: &Fault<'_>) -> BTreeSet<NodeId> {
    let tree = plan.tree;
    let mut quoted = fault.message.split('`').skip(1).step_by(2);
    let (Some(name), Some(module)) = (quoted.next(), quoted.next()) else { return BTreeSet::new() };
    if !fault.message.contains(" in module `") && !fault.message.contains("` in `") {
        return BTreeSet::new();
    }
    let mut path: Vec<String> = module.split("::").filter(|s| !s.is_empty()).map(str::to_owned).collect();
    path.push(name.to_owned());
    way_to(plan, tree.module(here), &path)
}

/// What is cut of the imports, globs among them, by which a name is in scope in its module.
fn way_of_name(plan: &Plan<'_>, here: NodeId, name: &str) -> BTreeSet<NodeId> {
    let mut way = BTreeSet::new();
    step(plan.tree, plan.tree.module(here), name, &mut way);
    way.retain(|&n| plan.tree.nodes[n].kind == Kind::UseLeaf && plan.cut[n]);
    way
}

/// What is cut of the way that a path written in a module goes, and the item that it ends in.
pub(super) fn way_to(plan: &Plan<'_>, from: NodeId, path: &[String]) -> BTreeSet<NodeId> {
    let tree = plan.tree;
    let Some((name, modules)) = path.split_last() else { return BTreeSet::new() };
    let mut way = BTreeSet::new();
    resolve(tree, from, path, &mut way);
    let end = if modules.is_empty() { Some(from) } else { resolve(tree, from, modules, &mut BTreeSet::new()) };
    let own = end.into_iter().flat_map(|m| tree.children[m].iter().copied());
    way.extend(own.filter(|&c| tree.nodes[c].name == *name && tree.nodes[c].kind.is_item()));
    way.retain(|&n| plan.cut[n] || !plan.stands(n) || tree.nodes[n].kind == Kind::Module && !plan.wanted[n]);
    way
}

/// The modules that names at a node are looked up in: its own and, for `super::*`, those around it.
pub(super) fn modules_around<'p>(plan: &'p Plan<'_>, id: NodeId) -> impl Iterator<Item = NodeId> + 'p {
    let tree = plan.tree;
    let own = if tree.nodes[id].kind == Kind::Module { id } else { tree.module(id) };
    std::iter::successors((own != 0).then_some(own), move |&m| {
        let up = tree.module(m);
        (up != 0).then_some(up)
    })
    .chain(std::iter::once(0))
}

pub(super) fn module_path(plan: &Plan<'_>, id: NodeId) -> Vec<NodeId> {
    let mut path: Vec<NodeId> = modules_around(plan, id).collect();
    path.reverse();
    path
}
