//! A shorter end for a body of which the end never ran.
//!
//! The end of a body with a value can't be cut, and what it names is needed. But where there is a `return …;` in a branch
//! of that end, this statement does as well: what is around it is cut, and what follows it needs no value. Nothing is moved.

use super::graph::Graph;
use super::nodes::{Kind, NodeId, Tree};
use super::plan::named;
use super::ran::Ran;
use crate::source::edit::Edit;
use std::ops::Range;

/// What may stand for the end of a body.
#[derive(Clone, Debug)]
pub(super) struct Hoist {
    /// The body.
    pub(super) body: NodeId,
    /// Its end: nothing of it ran.
    pub(super) rest: Range<usize>,
    /// A statement in it that is kept.
    pub(super) keep: Range<usize>,
    /// The innermost node around the statement: what this uses is needed.
    pub(super) owner: NodeId,
}

impl Hoist {
    /// Leaves the statement of the end alone. The white space before it and before the brace stays.
    pub(super) fn edits(&self, text: &str) -> [Edit; 2] {
        let before = text[self.rest.start..self.keep.start].trim_end().len();
        let end = code_of(text, &self.rest).end;
        [Edit::delete(self.rest.start..self.rest.start + before), Edit::delete(self.keep.end..end)]
    }

    /// Whether a node goes with the end.
    pub(super) fn buries(&self, tree: &Tree, id: NodeId) -> bool {
        id != self.body && self.rest.start <= tree.nodes[id].range.start && tree.nodes[id].range.end <= self.rest.end
    }
}

/// The bodies whose end is worth less than a `return` in it.
pub(super) fn hoists(text: &str, tree: &Tree, graph: &Graph, ran: &Ran, may_cut: impl Fn(NodeId) -> bool) -> Vec<Hoist> {
    let bodies = (0..tree.nodes.len()).filter(|&i| tree.nodes[i].kind == Kind::Body && !tree.nodes[i].returns.is_empty());
    let found = bodies.filter(|&b| may_cut(b)).filter_map(|body| {
        let range = tree.nodes[body].range.clone();
        let statements = &tree.nodes[body].statements;
        let last_run = statements.iter().rev().find(|&statement| ran.touches(statement));
        let rest = last_run.map_or(range.start, |statement| statement.end)..range.end;
        let code = code_of(text, &rest);
        if code.is_empty() || ran.touches(&code) {
            return None;
        }
        let returns = tree.nodes[body].returns.iter().filter(|r| rest.start <= r.start);
        let with_owner = returns.map(|r| (r.clone(), tree.at(r.start)));
        let cost = |range: &Range<usize>, uses: NodeId| text[range.clone()].lines().count() + graph.uses[uses].len();
        let (keep, owner) = with_owner.min_by_key(|(range, owner)| cost(range, *owner))?;
        let tail = statements.last()?.start.max(code.start)..code.end;
        // What the end names is needed, too.
        let bound = tree.children[body].iter().filter(|&&c| rest.start <= tree.nodes[c].range.start);
        let bound = bound.filter(|&&c| named(&text[tail.clone()], &tree.nodes[c].words));
        let bound: usize = bound.map(|&c| cost(&tree.nodes[c].range, c)).sum();
        (cost(&keep, owner) < cost(&tail, body) + bound).then_some(Hoist { body, rest, keep, owner })
    });
    found.collect()
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

    #[test]
    fn comments_are_blank() {
        assert_eq!(blank(" // a\n /* b */ c"), 15);
        assert_eq!(blank("c"), 0);
    }
}
