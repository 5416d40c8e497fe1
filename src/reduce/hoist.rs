//! A shorter end for a block of which the end never ran.
//!
//! The end of a block with a value can't be cut, and what it names is needed. But where it has branches (of an `if`, a
//! `match`), what stands in one of them does as well, and so does a `return …;` anywhere in the end of a function's body:
//! what is around it is cut. Nothing is moved.

use super::graph::{Graph, identifier};
use super::nodes::{Kind, NodeId, Tree};
use super::plan::named;
use super::ran::Ran;
use crate::source::edit::Edit;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// What may stand for the end of a block.
#[derive(Clone, Debug)]
pub(super) struct Hoist {
    /// The block: the body of a function, or a value.
    pub(super) block: NodeId,
    /// Its end: nothing of it ran.
    pub(super) rest: Range<usize>,
    /// The node in it that is kept: what is inside a branch, or a statement.
    pub(super) keep: NodeId,
}

impl Hoist {
    /// What of the end is deleted. The white space before what is kept and before the brace stays.
    pub(super) fn gaps(&self, text: &str, tree: &Tree) -> [Range<usize>; 2] {
        let keep = code_of(text, &tree.nodes[self.keep].range);
        let before = text[self.rest.start..keep.start].trim_end().len();
        let end = code_of(text, &self.rest).end;
        [self.rest.start..self.rest.start + before, keep.end..end]
    }

    /// The same as edits.
    pub(super) fn edits(&self, text: &str, tree: &Tree) -> [Edit; 2] {
        self.gaps(text, tree).map(Edit::delete)
    }

    /// Whether a node is not written: it goes with the end, or only what is kept of it stays.
    pub(super) fn buries(&self, tree: &Tree, id: NodeId) -> bool {
        let range = &tree.nodes[id].range;
        id != self.block
            && self.rest.start <= range.start
            && range.end <= self.rest.end
            && !tree.subtree(self.keep).contains(&id)
    }

    /// Whether a node is around what is kept.
    pub(super) fn passes(&self, tree: &Tree, id: NodeId) -> bool {
        tree.subtree(id).contains(&self.keep)
    }
}

/// The blocks whose end is worth less than something in it, in their order.
pub(super) fn hoists(
    text: &str,
    tree: &Tree,
    graph: &Graph,
    ran: &Ran,
    never: &[bool],
    may_cut: impl Fn(NodeId) -> bool,
) -> Vec<Hoist> {
    let mut ends = Ends { text, tree, graph, ran, never, needs: BTreeMap::new() };
    let blocks = (0..tree.nodes.len()).rev().filter(|&i| matches!(tree.nodes[i].kind, Kind::Value | Kind::Body));
    // From the inside out: what a branch needs is known when the block around it is looked at.
    let mut found: Vec<Hoist> = blocks.filter_map(|block| ends.best(block, may_cut(block))).collect();
    found.reverse();
    found
}

/// Some text that is kept, and what it uses.
#[derive(Clone, Debug, Default)]
struct Need {
    text: Vec<Range<usize>>,
    uses: BTreeSet<NodeId>,
}

struct Ends<'a> {
    text: &'a str,
    tree: &'a Tree,
    graph: &'a Graph,
    ran: &'a Ran,
    never: &'a [bool],
    /// What each block needs, at best.
    needs: BTreeMap<NodeId, Need>,
}

impl Ends<'_> {
    /// What may stand for the end of a block, if that is worth less; what the block needs is known from then on.
    fn best(&mut self, block: NodeId, may_cut: bool) -> Option<Hoist> {
        let tail = self.tree.nodes[block].tail.clone();
        let whole = self.with_variables(block, self.whole(block));
        let branch = self.branches(block).filter(|_| may_cut && !self.ran.touches(&tail)).map(|branch| {
            let need = self.with_variables(block, self.needs[&branch].clone());
            (self.cost(&need), need, branch)
        });
        let size = |need: &Need| need.text.iter().map(Range::len).sum::<usize>();
        let branch = branch.min_by_key(|(cost, need, _)| (*cost, size(need))).filter(|(cost, ..)| *cost < self.cost(&whole));
        let (need, branch) = branch.map_or((whole, None), |(_, need, branch)| (need, Some(branch)));
        let early = if may_cut { self.early(block) } else { None };
        let early = early.filter(|(early, _)| self.cost(early) < self.cost(&need));
        let before = self.tree.children[block].iter().map(|&c| self.tree.nodes[c].range.end).filter(|&e| e <= tail.start);
        let start = before.max().unwrap_or(self.tree.nodes[block].range.start);
        let rest = start..self.tree.nodes[block].range.end;
        let (need, hoist) = match early {
            Some((need, hoist)) => (need, Some(hoist)),
            None => (need, branch.map(|keep| Hoist { block, rest, keep })),
        };
        self.needs.insert(block, need);
        hoist
    }

    /// The branches of a block's value that may stand for it: they name nothing that is bound around them, and where
    /// the function ran, they are known not to have.
    fn branches(&self, block: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let tree = self.tree;
        let tail = &tree.nodes[block].tail;
        let inside = tree.subtree(block).skip(1).filter(move |&i| {
            let node = &tree.nodes[i];
            node.kind == Kind::Value && node.group == *tail && (!node.fixed || self.jumps(i))
        });
        let idle = move |i: NodeId| self.ran.never[i] || !tree.function(i).is_some_and(|f| self.ran.ran[f]);
        inside.filter(move |&i| {
            let need = &self.needs[&i];
            idle(i) && !self.names(need, &tree.nodes[i].words) && !need.uses.iter().any(|&u| self.never_returns(u))
        })
    }

    /// Whether a branch ends in a jump. Where the function ran, another branch tells the type.
    fn jumps(&self, branch: NodeId) -> bool {
        let node = &self.tree.nodes[branch];
        let end = &self.text[node.tail.clone()];
        let jump = ["return", "break", "continue"].contains(&identifier(end));
        jump && !node.in_macro && self.tree.function(branch).is_some_and(|f| self.ran.ran[f])
    }

    /// The end of a body's end: a `return …;` in it, which names nothing but parameters and items.
    fn early(&self, body: NodeId) -> Option<(Need, Hoist)> {
        let node = &self.tree.nodes[body];
        let last_run = node.statements.iter().rev().find(|&statement| self.ran.touches(statement));
        let rest = last_run.map_or(node.range.start, |statement| statement.end)..node.range.end;
        let code = code_of(self.text, &rest);
        if code.is_empty() || self.ran.touches(&code) {
            return None;
        }
        let returns = node.returns.iter().filter(|r| rest.start <= r.start);
        let kept = returns.filter_map(|r| {
            let keep = self.tree.at(r.start);
            let kept = &self.tree.nodes[keep];
            let alone = || self.tree.children[keep].iter().all(|&c| self.never[c]);
            let whole =
                kept.kind == Kind::Stmt && kept.range == *r || kept.kind == Kind::Value && kept.tail == *r && alone();
            whole.then(|| (Need { text: vec![r.clone()], uses: self.uses(keep) }, keep))
        });
        let (need, keep) = kept.min_by_key(|(need, _)| self.cost(need))?;
        Some((need, Hoist { block: body, rest, keep }))
    }

    /// What the end of a block needs as it is: of a `match` that has an arm for whatever is left, no other arm.
    fn whole(&self, block: NodeId) -> Need {
        let (tree, tail) = (self.tree, &self.tree.nodes[block].tail);
        let inside = || tree.subtree(block).filter(|&i| tail.start <= tree.nodes[i].range.start && i != block);
        let arms: Vec<NodeId> =
            inside().filter(|&i| tree.nodes[i].kind == Kind::Arm && tree.nodes[i].group == *tail && self.never[i]).collect();
        let any = arms.iter().find(|&&i| tree.nodes[i].catch_all);
        let gone: Vec<NodeId> = arms.iter().copied().filter(|i| any.is_some_and(|any| any != i)).collect();
        let mut need = Need { text: Vec::new(), uses: self.graph.uses[block].iter().copied().collect() };
        let mut at = tail.start;
        for &arm in &gone {
            need.text.push(at..tree.nodes[arm].range.start);
            at = tree.nodes[arm].range.end;
        }
        need.text.push(at..tail.end);
        let stays = |i: &NodeId| !gone.iter().any(|&arm| tree.subtree(arm).contains(i));
        need.uses.extend(inside().filter(stays).flat_map(|i| self.graph.uses[i].iter().copied()));
        need
    }

    /// Adds the statements in front of a block's end that stay, or bind what it names.
    fn with_variables(&self, block: NodeId, mut need: Need) -> Need {
        let tree = self.tree;
        let before =
            |&&c: &&NodeId| tree.nodes[c].kind == Kind::Stmt && tree.nodes[c].range.end <= tree.nodes[block].tail.start;
        for &statement in tree.children[block].iter().filter(before).rev() {
            if !self.never[statement] || self.names(&need, &tree.nodes[statement].words) {
                need.text.push(tree.nodes[statement].range.clone());
                need.uses.extend(self.uses(statement));
            }
        }
        need
    }

    fn names(&self, need: &Need, names: &BTreeSet<String>) -> bool {
        !names.is_empty() && need.text.iter().any(|range| named(&self.text[range.clone()], names))
    }

    fn uses(&self, id: NodeId) -> BTreeSet<NodeId> {
        self.tree.subtree(id).flat_map(|i| self.graph.uses[i].iter().copied()).collect()
    }

    /// Its lines, and what it uses that is not known to be there: a function that never ran weighs as much as its lines.
    fn cost(&self, need: &Need) -> usize {
        let lines = |range: &Range<usize>| self.text[range.clone()].lines().filter(|line| !line.trim().is_empty()).count();
        let weight = |&id: &NodeId| {
            let node = &self.tree.nodes[id];
            match node.kind {
                _ if self.ran.ran[id] => 0,
                Kind::Fn | Kind::ImplFn => lines(&node.range),
                _ => 1,
            }
        };
        need.text.iter().map(lines).sum::<usize>() + need.uses.iter().map(weight).sum::<usize>()
    }

    /// Whether a function is one that says that it never returns.
    fn never_returns(&self, function: NodeId) -> bool {
        let node = &self.tree.nodes[function];
        let body = self.tree.children[function].iter().find(|&&c| self.tree.nodes[c].kind == Kind::Body);
        let end = body.map_or(node.range.end, |&body| self.tree.nodes[body].range.start);
        matches!(node.kind, Kind::Fn | Kind::ImplFn | Kind::TraitFn | Kind::ForeignItem)
            && self.text.get(node.name_range.end..end).is_some_and(|head| head.contains("-> !"))
    }
}

/// A range without white space and comments at its ends.
fn code_of(text: &str, range: &Range<usize>) -> Range<usize> {
    let inside = &text[range.clone()];
    let end = range.start + inside.trim_end().len();
    (range.start + blank(inside)).min(end)..end
}

/// How much of the start of a text is white space and comments.
fn blank(text: &str) -> usize {
    let mut at = 0;
    loop {
        let rest = &text[at..];
        at += rest.len() - rest.trim_start().len();
        let rest = &text[at..];
        if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            at += rest.find("*/").map_or(rest.len(), |end| end + 2);
        } else {
            return at;
        }
    }
}

#[cfg(test)]
mod unit {
    use super::*;
    use crate::reduce::plan::{Basis, Plan};
    use crate::reduce::{Goal, Level};

    fn returns(text: &str) -> Vec<String> {
        let tree = Tree::parse(text).unwrap();
        let all = tree.nodes.iter().flat_map(|n| &n.returns);
        all.map(|r| text[r.clone()].to_owned()).collect()
    }

    #[test]
    fn returns_of_parameters_and_items_are_found() {
        let text = "fn f(a: u8) -> u8 { if a > 1 { return a; } while g() { let b = 1; return b; } match a { 1 => { return h(X); } _ => {} } 2 }";
        assert_eq!(returns(text), ["return a;", "return h(X);"]);
    }

    #[test]
    fn returns_of_closures_and_of_nothing_do_not_count() {
        let text = "fn f() -> u8 { let c = || { return 1; }; async { return 2; }; fn g() { return; } c() }";
        assert_eq!(returns(text), Vec::<String>::new());
    }

    /// What is left of functions that never ran.
    fn left(text: &str) -> String {
        let tree = Tree::parse(text).unwrap();
        let nodes = tree.nodes.len();
        let graph = Graph { uses: vec![Vec::new(); nodes], marked: vec![false; nodes] };
        let ran = Ran::nothing(text, &tree);
        let never: Vec<bool> =
            tree.nodes.iter().map(|n| n.kind.in_body() && !matches!(n.kind, Kind::Value | Kind::Body)).collect();
        let hoists = hoists(text, &tree, &graph, &ran, &never, |_| true);
        let whole = vec![false; nodes];
        let goal = Goal { level: Level::Full, stubs: false };
        let mut plan = Plan::empty(Basis {
            text,
            tree: &tree,
            graph: &graph,
            ran: &ran.ran,
            whole: &whole,
            never: &never,
            hoists: &hoists,
            goal,
        });
        (0..nodes).filter(|&i| tree.nodes[i].kind == Kind::Fn).for_each(|i| _ = plan.keep(i));
        plan.settle();
        plan.render().0.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn one_branch_stands_for_the_end_at_any_depth() {
        let text = "fn f(a: u8) -> u8 {\n let b = g();\n if b {\n 1 + 1\n } else {\n match a {\n 0 => {\n let c = a;\n h(c)\n }\n _ => {\n { 7 }\n }\n }\n }\n}";
        assert_eq!(left(text), "fn f(a: u8) -> u8 { 1 + 1 }");
        let text = text.replace("1 + 1", "panic!()");
        assert_eq!(left(&text), "fn f(a: u8) -> u8 { { 7 } }");
    }

    #[test]
    fn what_a_branch_names_stays_or_it_does_not_stand_for_anything() {
        let text =
            "fn f(a: Option<u8>) -> u8 {\n let b = g();\n match a {\n Some(c) => {\n c\n }\n None => {\n b\n }\n }\n}";
        assert_eq!(left(text), "fn f(a: Option<u8>) -> u8 { let b = g(); b }");
        let text = text.replace(" b\n", " panic!()\n");
        assert!(left(&text).contains("match a {"));
    }

    #[test]
    fn what_is_unsafe_stays_so() {
        let text = "fn f(a: &u8) -> u8 {\n unsafe {\n if g() {\n let c = h(a);\n *c\n } else {\n i()\n }\n }\n}";
        assert_eq!(left(text), "fn f(a: &u8) -> u8 { unsafe { i() } }");
    }

    #[test]
    fn closures_loops_and_repetitions_are_left_alone() {
        for end in [
            "move || {\n if a {\n 1\n } else {\n 2\n }\n }",
            "loop {\n if a {\n break 1\n } else {\n g()\n }\n }",
            "'a: {\n if a {\n break 'a 1\n } else {\n 2\n }\n }",
        ] {
            let text = format!("fn f(a: bool) -> R {{\n {end}\n}}");
            assert_eq!(left(&text), text.split_whitespace().collect::<Vec<_>>().join(" "));
        }
        let text = "macro_rules! m { ($($a:pat => $b:expr),*) => { fn f(c: u8) -> u8 {\n match c {\n $( $a => {\n $b\n } )* }\n} } }";
        let tree = Tree::parse(text).unwrap();
        assert!(tree.nodes.iter().filter(|n| n.kind == Kind::Value).all(|n| n.fixed));
    }

    #[test]
    fn an_arm_for_all_that_is_left_may_be_less_than_a_branch() {
        let text = "fn f(a: u8) -> u8 {\n match a {\n 0 => {\n let b = g();\n h(b,\n b)\n }\n _ => 1,\n }\n}";
        assert_eq!(left(text), "fn f(a: u8) -> u8 { match a { } }");
    }

    #[test]
    fn comments_are_blank() {
        assert_eq!(blank(" // a\n /* b */ c"), 15);
        assert_eq!(blank("c"), 0);
    }
}
