//! What is kept and what is cut, and the closure that follows from keeping something.

use super::graph::Graph;
use super::hoist::Hoist;
use super::made::Made;
use super::nodes::{Kind, NodeId, Tree};
use super::std_traits::is_required;
use super::{Goal, Level};
use crate::source::edit::{Edit, Piece, apply};
use crate::source::tokens::{idents, words};
use std::collections::{BTreeSet, HashSet};
use std::ops::Range;

/// The state of a reduction. What is kept is closed: all that its text uses is kept too.
#[derive(Clone, Debug)]
pub(super) struct Plan<'a> {
    basis: Basis<'a>,
    /// Left out.
    pub(super) cut: Vec<bool>,
    /// Never to be cut again: cutting them was tried.
    pub(super) pinned: Vec<bool>,
    /// What an error asked for.
    pub(super) wanted: Vec<bool>,
    /// What came back together with alternatives to it: perhaps one of them will do.
    pub(super) doubtful: Vec<bool>,
    /// What is not to come back by being mentioned: imports whose target is gone, and what lints had cut.
    dropped: Vec<bool>,
    /// Followed already.
    visited: Vec<bool>,
    /// Which of the hoists are in use.
    lifted: Vec<bool>,
}

impl<'a> std::ops::Deref for Plan<'a> {
    type Target = Basis<'a>;

    fn deref(&self) -> &Basis<'a> {
        &self.basis
    }
}

/// What a plan is made over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Basis<'a> {
    pub(super) text: &'a str,
    pub(super) tree: &'a Tree,
    pub(super) graph: &'a Graph,
    /// Nodes whose code ran.
    pub(super) ran: &'a [bool],
    /// Nodes that are never cut from what is around them.
    pub(super) whole: &'a [bool],
    /// Parts of bodies that may go because they never ran.
    pub(super) never: &'a [bool],
    /// Ends of blocks that something in them may stand for, in the order of the blocks.
    pub(super) hoists: &'a [Hoist],
    pub(super) goal: Goal,
}

impl Basis<'_> {
    /// Whether something that a macro makes is kept only where something uses it; the rest is there for whoever
    /// calls the macro.
    fn on_demand(&self, id: NodeId) -> bool {
        let node = &self.tree.nodes[id];
        let in_trait_impl = node.kind == Kind::ImplFn && self.tree.nodes[node.parent].kind == Kind::TraitImpl;
        let inner_call = node.kind == Kind::MacroCall && node.makes_items;
        let member = node.for_trait_impls && !node.name.starts_with('$');
        let element = node.is_loose_entry();
        let of_trait = node.kind == Kind::TraitImpl;
        !node.local && (self.graph.marked[id] || in_trait_impl || member || inner_call || element || of_trait)
    }
}

impl<'a> Plan<'a> {
    /// Nothing is kept.
    pub(super) fn empty(basis: Basis<'a>) -> Plan<'a> {
        let stays = |i: usize| {
            let node = &basis.tree.nodes[i];
            i == 0
                || basis.whole[i]
                || if node.kind.in_body() {
                    !basis.never[i]
                } else if node.in_macro {
                    !(node.kind == Kind::Decoration || basis.on_demand(i))
                } else {
                    node.local && node.kind != Kind::Decoration
                }
        };
        let mut plan = Plan::new(basis, (0..basis.tree.nodes.len()).map(|i| !stays(i)).collect(), false);
        plan.lifted.fill(true);
        for hoist in basis.hoists {
            plan.lay_out(hoist);
        }
        plan
    }

    /// Everything is kept.
    pub(super) fn full(basis: Basis<'a>) -> Plan<'a> {
        Plan::new(basis, basis.tree.nodes.iter().map(|n| n.kind == Kind::Decoration).collect(), true)
    }

    fn new(basis: Basis<'a>, cut: Vec<bool>, followed: bool) -> Plan<'a> {
        let none = vec![false; cut.len()];
        let visited = vec![followed; cut.len()];
        let lifted = vec![false; basis.hoists.len()];
        Plan {
            basis,
            cut,
            pinned: none.clone(),
            wanted: none.clone(),
            doubtful: none.clone(),
            dropped: none,
            visited,
            lifted,
        }
    }

    /// What stands for the end of a block.
    fn hoist(&self, block: NodeId) -> Option<&'a Hoist> {
        let hoists = self.basis.hoists;
        let number = hoists.binary_search_by_key(&block, |hoist| hoist.block).ok()?;
        self.lifted[number].then(|| &hoists[number])
    }

    /// The ends of blocks around a node that something else stands for, the innermost first.
    fn burials(&self, id: NodeId) -> impl Iterator<Item = &'a Hoist> + '_ {
        let around = self.basis.tree.ancestors(id).skip(1).filter_map(|a| self.hoist(a));
        around.filter(move |hoist| hoist.buries(self.basis.tree, id))
    }

    fn is_buried(&self, id: NodeId) -> bool {
        self.burials(id).next().is_some()
    }

    /// What stands for ends of blocks in a function.
    pub(super) fn hoists_in(&self, function: NodeId) -> impl Iterator<Item = &'a Hoist> + '_ {
        let inside = self.basis.tree.subtree(function);
        let hoists = self.basis.hoists.iter().zip(&self.lifted).filter(|(_, lifted)| **lifted).map(|(hoist, _)| hoist);
        hoists.filter(move |hoist| inside.contains(&hoist.block))
    }

    /// Leaves the nodes in the end of a block as they are before anything asks for them.
    fn lay_out(&mut self, hoist: &Hoist) {
        let tree = self.tree;
        for id in tree.subtree(hoist.block).filter(|&i| hoist.buries(tree, i) || i == hoist.keep) {
            let buried = self.burials(id).any(|hoist| !hoist.passes(tree, id));
            let passed = || tree.ancestors(id).filter_map(|a| self.hoist(a)).any(|hoist| hoist.passes(tree, id));
            self.cut[id] = buried || tree.nodes[id].kind.in_body() && self.never[id] && !passed();
        }
    }

    /// Gives the end of a block back, as it would have been. Gives whether something else stood for it.
    pub(super) fn bring_down(&mut self, hoist: &Hoist) -> bool {
        let Ok(number) = self.basis.hoists.binary_search_by_key(&hoist.block, |h| h.block) else { return false };
        if !std::mem::take(&mut self.lifted[number]) {
            return false;
        }
        self.lay_out(hoist);
        self.tree.subtree(hoist.block).for_each(|i| self.visited[i] = false);
        if !self.is_buried(hoist.block) {
            self.keep(hoist.block);
        }
        true
    }

    /// Whether the node stands in the text: neither it nor anything around it is cut.
    pub(super) fn stands(&self, id: NodeId) -> bool {
        !self.cut[id] && self.tree.ancestors(id).all(|a| !self.cut[a])
    }

    /// What calls that stand make of what is written at a node.
    pub(super) fn made_at(&self, id: NodeId) -> impl Iterator<Item = &'a Made> {
        self.tree.made.at(id).filter(|made| made.by.iter().all(|&call| self.stands(call)))
    }

    /// Whether the node stands, and may be cut by what looks for idle things.
    pub(super) fn may_go(&self, id: NodeId) -> bool {
        !self.pinned[id] && !self.whole[id] && self.stands(id)
    }

    /// Keeps a node, what is around it, and all that this needs. Gives whether anything changed.
    pub(super) fn keep(&mut self, id: NodeId) -> bool {
        let mut changed = false;
        let mut todo = vec![id];
        while let Some(id) = todo.pop() {
            for hoist in self.burials(id).collect::<Vec<_>>() {
                changed |= self.bring_down(hoist);
            }
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
        // Of what is only around something that is kept nothing is needed.
        if self.visited[id] || self.is_buried(id) {
            return;
        }
        self.visited[id] = true;
        let tree = self.tree;
        match self.hoist(id) {
            // What a block uses outside of its statements is used by its end.
            Some(hoist) => todo.push(hoist.keep),
            None => todo.extend(self.graph.uses[id].iter().copied().filter(|&t| self.cut[t] || !self.visited[t])),
        }
        let node = &tree.nodes[id];
        for &c in tree.children[id].iter().filter(|&&c| !self.is_buried(c)) {
            let child = &tree.nodes[c];
            let as_it_is = self.whole[c] || child.local || child.kind.in_body() || child.in_macro && !self.on_demand(c);
            let wanted = if as_it_is {
                !self.cut[c]
            } else {
                match (node.kind, child.kind) {
                    (Kind::Enum, Kind::Variant) => !self.may_trim(c),
                    (Kind::TraitImpl, Kind::ImplConst | Kind::ImplType | Kind::MacroCall) => true,
                    (Kind::TraitImpl, Kind::ImplFn) => self.ran[c] || self.is_demanded(id, c),
                    (Kind::Trait, Kind::TraitType | Kind::MacroCall) => true,
                    (Kind::MacroCall, Kind::Entry) => child.fixed || self.is_entry_demanded(id, c),
                    _ => false,
                }
            };
            if wanted {
                todo.push(c);
            }
        }
        if node.kind == Kind::MacroCall {
            let members = tree.made_members.get(&id).into_iter().flatten();
            todo.extend(members.copied().filter(|&m| self.cut[m] && self.is_demanded(node.parent, m)));
        }
        if node.kind == Kind::TraitFn && node.required {
            self.implementors(node.parent, id, todo);
        }
    }

    /// Whether the trait of an impl is kept and has the function without a default, or is not ours and seems to.
    fn is_demanded(&self, implementation: NodeId, function: NodeId) -> bool {
        let name = &self.tree.nodes[function].name;
        if self.traits_of(implementation).next().is_none() {
            let functions = self.tree.children[implementation].iter().filter(|&&c| self.tree.nodes[c].kind == Kind::ImplFn);
            let unknown = self.tree.nodes[implementation].trait_name.is_empty();
            return functions.eq([&function]) && (!unknown || name.starts_with('$'))
                || is_required(&self.tree.nodes[implementation].trait_name, name);
        }
        self.traits_of(implementation).any(|t| {
            self.tree.children[t].iter().any(|&m| {
                let m_node = &self.tree.nodes[m];
                m_node.required && m_node.name == *name && !self.cut[m]
            })
        })
    }

    /// What kept impls have for a function of a trait, and did not run.
    pub(super) fn members_of(&self, function: NodeId) -> Vec<NodeId> {
        let node = &self.tree.nodes[function];
        if node.kind != Kind::TraitFn {
            return Vec::new();
        }
        let implements = |i: NodeId| self.traits_of(i).any(|t| t == node.parent);
        let impls = (0..self.tree.nodes.len()).filter(|&i| self.tree.nodes[i].kind == Kind::TraitImpl && !self.cut[i]);
        let members = impls.filter(|&i| implements(i)).flat_map(|i| self.tree.children[i].iter().copied());
        members.filter(|&m| self.tree.nodes[m].name == node.name && !self.ran[m]).collect()
    }

    /// Whether an element of a macro call in an impl makes a function that the kept trait has without a default.
    fn is_entry_demanded(&self, call: NodeId, entry: NodeId) -> bool {
        let words = &self.tree.nodes[entry].words;
        self.traits_of(self.tree.nodes[call].parent).any(|t| {
            self.tree.children[t].iter().any(|&m| {
                let member = &self.tree.nodes[m];
                member.required && words.contains(&member.name) && !self.cut[m]
            })
        })
    }

    /// The traits of the bundle that an impl's head names as its own.
    pub(super) fn traits_of(&self, implementation: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let name = &self.tree.nodes[implementation].trait_name;
        self.graph.uses[implementation].iter().copied().filter(move |&t| {
            let n = &self.tree.nodes[t];
            n.kind == Kind::Trait && n.name == *name
        })
    }

    /// A function of a trait is kept: the kept impls of the trait have to have it.
    fn implementors(&self, of: NodeId, function: NodeId, todo: &mut Vec<NodeId>) {
        let tree = self.tree;
        for (i, node) in tree.nodes.iter().enumerate() {
            if node.kind == Kind::TraitImpl && !self.cut[i] && self.traits_of(i).any(|t| t == of) {
                let name = &tree.nodes[function].name;
                todo.extend(tree.children[i].iter().copied().filter(|&c| tree.nodes[c].name == *name && self.cut[c]));
                let calls = tree.children[i].iter().filter(|&&c| tree.nodes[c].kind == Kind::MacroCall);
                for &call in calls {
                    let entries = tree.children[call].iter().copied();
                    todo.extend(entries.filter(|&e| self.cut[e] && tree.nodes[e].words.contains(name)));
                    let members = tree.made_members.get(&call).into_iter().flatten().copied();
                    todo.extend(members.filter(|&m| self.cut[m] && tree.nodes[m].name == *name));
                }
            }
        }
    }

    /// Keeps what kept code leans on without the graph's knowing: the variables that it names, and the imports that
    /// it may go through.
    pub(super) fn settle(&mut self) {
        self.keep_bindings();
        self.keep_imports();
    }

    /// Keeps the `let`s of names that stand in the kept text behind them.
    fn keep_bindings(&mut self) {
        let tree = self.tree;
        loop {
            let missing: Vec<NodeId> = (1..tree.nodes.len())
                .filter(|&i| self.cut[i] && tree.nodes[i].kind == Kind::Stmt && !tree.nodes[i].words.is_empty())
                .filter(|&i| tree.ancestors(i).skip(1).all(|a| !self.cut[a]))
                .filter(|&i| !self.is_buried(i) && self.is_named_behind(i))
                .collect();
            if missing.is_empty() {
                return;
            }
            for statement in missing {
                self.keep(statement);
            }
        }
    }

    /// Whether a name that a statement binds stands in what is kept of the rest of its block.
    fn is_named_behind(&self, statement: NodeId) -> bool {
        let tree = self.tree;
        let node = &tree.nodes[statement];
        let end = match tree.nodes[node.parent].kind {
            // The rest of an expression with a block in it is not known to end anywhere else.
            Kind::Body | Kind::Block | Kind::Value => tree.nodes[node.parent].range.end,
            _ => tree.function(statement).map_or(node.range.end, |f| tree.nodes[f].range.end),
        };
        let hoists = tree.function(statement).into_iter().flat_map(|f| self.hoists_in(f));
        let gaps: Vec<Range<usize>> = hoists.flat_map(|hoist| hoist.gaps(self.text, tree)).collect();
        let mut at = node.range.end;
        let mut next = tree.subtree(statement).end;
        while at < end {
            let stop = tree.nodes.get(next).map_or(end, |n| n.range.start.min(end));
            if outside(at..stop.max(at), &gaps).iter().any(|kept| named(&self.text[kept.clone()], &node.words)) {
                return true;
            }
            at = stop.max(at);
            if at >= end {
                break;
            }
            if self.cut[next] {
                at = tree.nodes[next].range.end;
                next = tree.subtree(next).end;
            } else {
                next += 1;
            }
        }
        false
    }

    /// Keeps the `use` leaves that kept code may go through: their target is kept, or it is not known and the
    /// name is mentioned.
    fn keep_imports(&mut self) {
        let tree = self.tree;
        let mut mentioned = self.mentioned();
        // Calls of macros that make what is imported.
        let mut made = Vec::new();
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
            } else if super::imports::is_known_anyway(tree, id) {
                false
            } else if targets.is_empty() {
                // A trait of another crate may be there for its methods alone: the lints will tell.
                node.kind == Kind::UseLeaf && !node.words.iter().any(|w| matches!(w.as_str(), "crate" | "self" | "super"))
                    || mentioned.contains(&node.name)
                    || node.name == "_"
                    || node.words.contains("macro_use")
            } else {
                targets.iter().any(|&t| !self.cut[t])
            };
            if wanted {
                // What the path goes through is mentioned, too.
                mentioned.extend(node.words.iter().cloned());
                let mut way = BTreeSet::from([id]);
                super::paths::resolve(tree, tree.module(id), &node.path, &mut way);
                if targets.is_empty() {
                    made.extend(super::paths::makers(tree, tree.module(id), &node.path));
                }
                for step in way.into_iter().filter(|&s| !self.dropped[s]) {
                    mentioned.extend(tree.nodes[step].words.iter().cloned());
                    for a in tree.ancestors(step).collect::<Vec<_>>() {
                        self.cut[a] = false;
                    }
                }
            }
        }
        for call in made {
            self.keep(call);
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
        self.goal.level == Level::Full && !self.tree.nodes[self.tree.nodes[variant].parent].fixed
    }

    /// Brings a node back, and all that it needs. With `pin`, it stays.
    pub(super) fn restore(&mut self, id: NodeId, pin: bool) -> bool {
        // What was never tried without may still turn out to be idle.
        self.pinned[id] |= pin && std::mem::take(&mut self.dropped[id]);
        self.dropped[id] = false;
        let asked = !std::mem::replace(&mut self.wanted[id], true) && self.tree.nodes[id].kind == Kind::Module;
        for i in self.tree.subtree(id) {
            self.visited[i] = false;
        }
        let mut changed = self.keep(id) || asked;
        if self.tree.nodes[id].kind == Kind::MacroCall {
            // A call without any of its elements is none.
            let elements = self.tree.elements(id, std::iter::empty());
            if elements.iter().all(|&e| self.cut[e]) {
                for element in elements {
                    changed |= self.keep(element);
                }
            }
        }
        changed
    }

    /// Cuts a node that was kept: an import whose target is gone, or what is not needed.
    pub(super) fn drop_node(&mut self, id: NodeId) {
        self.cut[id] = true;
        self.dropped[id] = true;
    }

    /// The text of what is kept.
    pub(super) fn render(&self) -> (String, Vec<Piece>) {
        apply(self.text, self.edits())
    }

    /// The same with every `pub` lowered to `pub(crate)`, for lints.
    pub(super) fn render_private(&self) -> (String, Vec<Piece>) {
        let mut edits = self.edits();
        edits.extend(self.tree.publics.iter().map(|p| Edit::replace(p.clone(), "pub(crate)")));
        apply(self.text, edits)
    }

    fn edits(&self) -> Vec<Edit> {
        let mut cut = self.cut.clone();
        self.tree.close_containers(&mut cut, &self.wanted);
        let mut edits = Vec::new();
        let mut i = 1;
        while i < cut.len() {
            if self.is_buried(i) {
                i += 1;
            } else if cut[i] {
                let range = self.tree.cut_range(self.text, i);
                let node = &self.tree.nodes[i];
                let has_value = node.kind == Kind::Value || node.kind == Kind::Body && !node.unit;
                edits.push(if self.goal.stubs && has_value {
                    Edit::replace(range, " unimplemented!() ")
                } else {
                    Edit::delete(range)
                });
                i = self.tree.subtree(i).end;
            } else {
                edits.extend(self.hoist(i).into_iter().flat_map(|hoist| hoist.edits(self.text, self.tree)));
                i += 1;
            }
        }
        edits
    }
}

/// What some ranges leave of another.
fn outside(range: Range<usize>, gaps: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut left = vec![range];
    for gap in gaps {
        let parts = left.iter().flat_map(|r| [r.start..r.end.min(gap.start), r.start.max(gap.end)..r.end]);
        left = parts.filter(|r| !r.is_empty()).collect();
    }
    left
}

/// Whether code has one of some names, outside of comments at the ends of its lines.
pub(super) fn named(code: &str, names: &BTreeSet<String>) -> bool {
    let code = code.lines().map(|line| line.split("//").next().unwrap_or(line));
    code.flat_map(words).any(|w| names.contains(w))
}

#[cfg(test)]
mod unit {
    use super::*;
    use proptest::prelude::*;

    const TEXTS: [&str; 3] = [include_str!("plan.rs"), include_str!("../source/edit.rs"), include_str!("../verify/mask.rs")];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn what_a_plan_renders_parses_whatever_was_kept_and_dropped(
            seed: u64,
            one_in in 1u64..12,
            stubs: bool,
        ) {
            let mut state = seed | 1;
            let mut now = || {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state.is_multiple_of(one_in)
            };
            for text in TEXTS {
                let tree = Tree::parse(text).unwrap();
                let nodes = tree.nodes.len();
                let graph = Graph { uses: vec![Vec::new(); nodes], marked: vec![true; nodes] };
                let none = vec![false; nodes];
                // What `Prepared::reduce` takes for parts of bodies that may go.
                let may_go = |n: &crate::reduce::nodes::Node| {
                    n.kind.in_body() && (n.kind != Kind::Value || stubs) && (n.kind != Kind::Body || n.unit || stubs)
                };
                let never: Vec<bool> = tree.nodes.iter().map(|n| may_go(n) && now()).collect();
                let goal = Goal { level: Level::Full, stubs };
                let basis = Basis { text, tree: &tree, graph: &graph, ran: &none, whole: &none, never: &never, hoists: &[], goal };
                let mut plan = Plan::empty(basis);
                for id in 1..nodes {
                    if tree.nodes[id].kind.is_item() && now() {
                        plan.keep(id);
                    }
                }
                plan.settle();
                for id in 1..nodes {
                    if matches!(tree.nodes[id].kind, Kind::UseLeaf) && plan.may_go(id) && now() {
                        plan.drop_node(id);
                    }
                }
                for (rendered, _) in [plan.render(), plan.render_private()] {
                    let parsed = syn::parse_file(&rendered);
                    prop_assert!(parsed.is_ok(), "{:?} in\n{}", parsed.err(), rendered);
                }
            }
        }
    }
}
