//! What is kept and what is cut, and the closure that follows from keeping something.

use super::graph::Graph;
use super::nodes::{Kind, NodeId, Tree};
use crate::source::edit::{Edit, Piece, apply};
use crate::source::tokens::idents;
use std::collections::HashSet;

/// The state of a reduction. What is kept is closed: all that its text uses is kept too.
#[derive(Clone, Debug)]
pub(super) struct Plan<'a> {
    pub(super) text: &'a str,
    pub(super) tree: &'a Tree,
    pub(super) graph: &'a Graph,
    /// Nodes whose code ran.
    pub(super) ran: &'a [bool],
    /// Nodes that are never cut from what is around them.
    pub(super) whole: Vec<bool>,
    /// Parts of bodies that may go because they never ran.
    pub(super) never: Vec<bool>,
    /// Left out.
    pub(super) cut: Vec<bool>,
    /// Variants that nobody names go.
    pub(super) trim_variants: bool,
    /// Bodies that are not empty when cut say `unimplemented!()` instead.
    pub(super) stubs: bool,
    /// Never to be cut again: cutting them was tried.
    pub(super) pinned: Vec<bool>,
    /// Imports that an error asked for.
    pub(super) wanted: Vec<bool>,
    /// Imports that were cut because what they name is gone.
    dropped: Vec<bool>,
    /// Followed already.
    visited: Vec<bool>,
}

impl<'a> Plan<'a> {
    /// Nothing is kept.
    pub(super) fn empty(
        text: &'a str,
        tree: &'a Tree,
        graph: &'a Graph,
        ran: &'a [bool],
        never: &[bool],
        whole: Vec<bool>,
    ) -> Plan<'a> {
        let n = tree.nodes.len();
        let mut cut: Vec<bool> = (0..n).map(|i| i != 0 && (!tree.nodes[i].kind.in_body() || never[i])).collect();
        for i in 1..n {
            if whole[i] || (tree.nodes[i].local && tree.nodes[i].kind != Kind::Decoration && !tree.nodes[i].kind.in_body()) {
                cut[i] = false;
            }
        }
        Plan {
            text,
            tree,
            graph,
            ran,
            whole,
            never: vec![false; n],
            cut,
            trim_variants: false,
            stubs: false,
            pinned: vec![false; n],
            wanted: vec![false; n],
            dropped: vec![false; n],
            visited: vec![false; n],
        }
    }

    /// Everything is kept.
    pub(super) fn full(text: &'a str, tree: &'a Tree, graph: &'a Graph, ran: &'a [bool], whole: Vec<bool>) -> Plan<'a> {
        let n = tree.nodes.len();
        let cut = tree.nodes.iter().map(|n| n.kind == Kind::Decoration).collect();
        Plan {
            text,
            tree,
            graph,
            ran,
            whole,
            never: vec![false; n],
            cut,
            trim_variants: false,
            stubs: false,
            pinned: vec![false; n],
            wanted: vec![false; n],
            dropped: vec![false; n],
            visited: vec![true; n],
        }
    }

    /// Whether the node stands in the text: neither it nor anything around it is cut.
    pub(super) fn stands(&self, id: NodeId) -> bool {
        !self.cut[id] && self.tree.ancestors(id).all(|a| !self.cut[a])
    }

    /// Keeps a node, what is around it, and all that this needs. Gives whether anything changed.
    pub(super) fn keep(&mut self, id: NodeId) -> bool {
        let mut changed = false;
        let mut todo = vec![id];
        while let Some(id) = todo.pop() {
            for a in self.tree.ancestors(id).collect::<Vec<_>>() {
                changed |= self.cut[a];
                self.cut[a] = false;
                self.follow(a, &mut todo);
            }
        }
        changed
    }

    /// Adds what a kept node needs to `todo`.
    fn follow(&mut self, id: NodeId, todo: &mut Vec<NodeId>) {
        if std::mem::replace(&mut self.visited[id], true) {
            return;
        }
        let tree = self.tree;
        todo.extend(self.graph.uses[id].iter().copied().filter(|&t| self.cut[t] || !self.visited[t]));
        let node = &tree.nodes[id];
        for &c in &tree.children[id] {
            let child = &tree.nodes[c];
            let wanted = if self.whole[c] || child.local || child.kind.in_body() {
                !self.cut[c]
            } else {
                match (node.kind, child.kind) {
                    (Kind::Enum, Kind::Variant) => node.catch_all || !self.trim_variants,
                    (Kind::TraitImpl, Kind::ImplConst | Kind::ImplType | Kind::MacroCall) => true,
                    (Kind::TraitImpl, Kind::ImplFn) => self.ran[c] || self.is_demanded(id, c),
                    (Kind::Trait, Kind::TraitType | Kind::MacroCall) => true,
                    _ => false,
                }
            };
            if wanted {
                todo.push(c);
            }
        }
        if node.kind == Kind::TraitFn && node.required {
            self.implementors(node.parent, id, todo);
        }
    }

    /// Whether the trait of an impl is ours, is kept, and has the function without a default.
    fn is_demanded(&self, implementation: NodeId, function: NodeId) -> bool {
        let name = &self.tree.nodes[function].name;
        self.traits_of(implementation).any(|t| {
            self.tree.children[t].iter().any(|&m| {
                let m_node = &self.tree.nodes[m];
                m_node.required && m_node.name == *name && !self.cut[m]
            })
        })
    }

    /// The traits of the bundle that an impl's head names as its own.
    pub(super) fn traits_of(&self, implementation: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let name = &self.tree.nodes[implementation].trait_name;
        self.graph.uses[implementation].iter().copied().filter(move |&t| {
            let n = &self.tree.nodes[t];
            n.kind == Kind::Trait && (n.name == *name || !name.is_empty())
        })
    }

    /// A function of a trait is kept: the kept impls of the trait have to have it.
    fn implementors(&self, of: NodeId, function: NodeId, todo: &mut Vec<NodeId>) {
        let tree = self.tree;
        for (i, node) in tree.nodes.iter().enumerate() {
            if node.kind == Kind::TraitImpl && !self.cut[i] && self.traits_of(i).any(|t| t == of) {
                let name = &tree.nodes[function].name;
                todo.extend(tree.children[i].iter().copied().filter(|&c| tree.nodes[c].name == *name && self.cut[c]));
            }
        }
    }

    /// Keeps the `use` leaves that kept code may go through: their target is kept, or it is not known and the
    /// name is mentioned.
    pub(super) fn keep_imports(&mut self) {
        let tree = self.tree;
        let mut mentioned = self.mentioned();
        // Imports first: `extern crate`s are wanted by their paths.
        let order = |kind: Kind| (1..tree.nodes.len()).filter(move |&i| tree.nodes[i].kind == kind);
        for id in order(Kind::UseLeaf).chain(order(Kind::ExternCrate)) {
            let node = &tree.nodes[id];
            if !self.cut[id] || self.dropped[id] || node.local {
                continue;
            }
            let module = tree.module(id);
            if module != 0 && self.cut[module] {
                continue;
            }
            let targets = &self.graph.uses[id];
            let wanted = if node.catch_all {
                true
            } else if targets.is_empty() {
                // A trait of another crate may be there for its methods alone: the lints will tell.
                node.kind == Kind::UseLeaf && !node.words.iter().any(|w| matches!(w.as_str(), "crate" | "self" | "super"))
                    || mentioned.contains(&node.name)
                    || node.name == "_"
                    || self.text[node.range.clone()].contains("macro_use")
            } else {
                targets.iter().any(|&t| !self.cut[t])
            };
            if wanted {
                // What the path goes through is mentioned, too.
                mentioned.extend(node.words.iter().cloned());
                for a in tree.ancestors(id).collect::<Vec<_>>() {
                    self.cut[a] = false;
                }
            }
        }
    }

    /// Every identifier in the text that is kept, `use`s left out.
    fn mentioned(&self) -> HashSet<String> {
        let mut only = self.clone();
        for (i, n) in self.tree.nodes.iter().enumerate() {
            if n.kind == Kind::Use && !n.local {
                only.cut[i] = true;
            }
        }
        let (text, _) = only.render();
        text.parse().map(|t| idents(t).into_iter().collect()).unwrap_or_default()
    }

    /// Whether a variant may go when nobody makes it.
    pub(super) fn may_trim(&self, variant: NodeId) -> bool {
        self.trim_variants && !self.tree.nodes[self.tree.nodes[variant].parent].catch_all
    }

    /// Cuts an import whose target is gone.
    pub(super) fn drop_leaf(&mut self, leaf: NodeId) {
        self.cut[leaf] = true;
        self.dropped[leaf] = true;
    }

    /// Brings a node back, and all that it needs. With `pin`, it stays.
    pub(super) fn restore(&mut self, id: NodeId, pin: bool) -> bool {
        self.dropped[id] = false;
        let asked = !std::mem::replace(&mut self.wanted[id], true) && self.tree.nodes[id].kind == Kind::Module;
        self.pinned[id] |= pin;
        for i in self.tree.subtree(id) {
            self.visited[i] = false;
        }
        self.keep(id) || asked
    }

    /// Cuts a node that was kept.
    pub(super) fn cut_again(&mut self, id: NodeId) {
        self.cut[id] = true;
        self.dropped[id] = true;
    }

    /// The text of what is kept.
    pub(super) fn render(&self) -> (String, Vec<Piece>) {
        apply(self.text, self.edits())
    }

    /// The same with every `pub` lowered to `pub(crate)`, for lints.
    pub(super) fn render_private(&self) -> (String, Vec<Piece>) {
        super::lowered(self.text, self.edits(), &self.tree.publics)
    }

    fn edits(&self) -> Vec<Edit> {
        let mut cut = self.cut.clone();
        self.tree.close_containers(&mut cut, &self.wanted);
        let mut edits = Vec::new();
        let mut i = 1;
        while i < cut.len() {
            if cut[i] {
                let range = self.tree.cut_range(self.text, i);
                edits.push(if self.stubs && self.tree.nodes[i].kind == Kind::Body && !self.tree.nodes[i].unit {
                    Edit::replace(range, " unimplemented!() ")
                } else {
                    Edit::delete(range)
                });
                i = self.tree.subtree(i).end;
            } else {
                i += 1;
            }
        }
        edits
    }
}
