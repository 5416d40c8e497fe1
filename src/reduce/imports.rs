//! Imports that kept code can do without, and rustc's lints do not say so.

use super::nodes::{Kind, NodeId, Tree};
use super::paths::resolve;
use super::plan::Plan;
use crate::source::tokens::idents;
use std::collections::BTreeSet;

/// Types that are known without an import. Most of what the modules of these names held is theirs today.
pub(super) const PRIMITIVES: &[&str] = &[
    "bool", "char", "f32", "f64", "i8", "i16", "i32", "i64", "i128", "isize", "str", "u8", "u16", "u32", "u64", "u128",
    "usize",
];

/// Whether an import brings in what probably is known without it: a crate that rustc adds by itself, a module of the
/// standard library whose name a primitive type has. If not, an error will ask for it.
pub(super) fn is_known_anyway(tree: &Tree, id: NodeId) -> bool {
    let node = &tree.nodes[id];
    let first = node.path.first().map_or("", String::as_str);
    let standard = matches!(first, "std" | "core");
    let renamed = node.path.last() != Some(&node.name);
    match node.kind {
        Kind::ExternCrate => standard && !tree.no_std && !renamed && !node.words.contains("macro_use"),
        Kind::UseLeaf => standard && !renamed && PRIMITIVES.contains(&node.name.as_str()),
        _ => false,
    }
}

/// `extern crate`s that nothing names, and leaves for what a `use super::*` beside them brings in, too.
pub(super) fn idle(plan: &Plan<'_>) -> Vec<NodeId> {
    let tree = plan.tree;
    let candidates = (1..tree.nodes.len()).filter(|&i| !tree.nodes[i].local && plan.may_go(i));
    let unnamed = |&i: &NodeId| match tree.nodes[i].kind {
        // One with `#[macro_use]` may be there for its macros.
        Kind::ExternCrate => tree.nodes[i].name != "_" && !tree.nodes[i].words.contains("macro_use") && !is_named(plan, i),
        Kind::UseLeaf => is_in_glob(plan, i),
        _ => false,
    };
    candidates.filter(unnamed).collect()
}

/// Whether what is kept names the crate that an `extern crate` brings in, other `extern crate`s aside.
pub(super) fn is_named(plan: &Plan<'_>, id: NodeId) -> bool {
    let mut without = plan.clone();
    for (i, node) in plan.tree.nodes.iter().enumerate() {
        without.cut[i] |= node.kind == Kind::ExternCrate;
    }
    let (text, _) = without.render();
    text.parse().is_ok_and(|tokens| idents(tokens).contains(&plan.tree.nodes[id].name))
}

/// Whether a module around the leaf's has a leaf of the same path, and the leaf's module takes in all that is there.
fn is_in_glob(plan: &Plan<'_>, leaf: NodeId) -> bool {
    let tree = plan.tree;
    let (node, module) = (&tree.nodes[leaf], tree.module(leaf));
    let relative = matches!(node.path.first().map_or("", String::as_str), "self" | "super");
    if relative || node.catch_all || node.name == "_" {
        return false;
    }
    let around: Vec<NodeId> = std::iter::successors(Some(module), |&m| (m != 0).then(|| tree.module(m))).skip(1).collect();
    let here = tree.leaves.get(&module).into_iter().flatten().copied();
    let globs = here.filter(|&l| tree.nodes[l].catch_all && plan.stands(l));
    globs.filter_map(|l| resolve(tree, module, &tree.nodes[l].path, &mut BTreeSet::new())).any(|target| {
        let mut there = tree.leaves.get(&target).into_iter().flatten();
        around.contains(&target)
            && there.any(|&l| plan.stands(l) && tree.nodes[l].name == node.name && tree.nodes[l].path == node.path)
    })
}

#[cfg(test)]
mod unit {
    use super::super::graph::Graph;
    use super::super::plan::Basis;
    use super::super::{Goal, Level};
    use super::*;

    fn idle_in(text: &str) -> Vec<String> {
        let tree = Tree::parse(text).unwrap();
        let none = vec![false; tree.nodes.len()];
        let graph = Graph { uses: vec![Vec::new(); none.len()], marked: none.clone() };
        let goal = Goal { level: Level::Full, stubs: false };
        let plan = Plan::full(Basis {
            text,
            tree: &tree,
            graph: &graph,
            ran: &none,
            whole: &none,
            never: &none,
            hoists: &[],
            goal,
        });
        idle(&plan).into_iter().map(|i| text[tree.nodes[i].range.clone()].to_owned()).collect()
    }

    #[test]
    fn leaf_of_what_a_glob_brings_in_is_idle() {
        let text = "use a::B; mod tests { use super::*; use a::B; use a::C; mod deeper { use a::B; } }";
        assert_eq!(idle_in(text), ["a::B"]);
        assert_eq!(idle_in("use a::B; mod tests { use super::f; use a::B; }"), Vec::<String>::new());
    }

    #[test]
    fn crate_that_nothing_names_is_idle_unless_it_is_there_for_its_macros() {
        let text = "extern crate a; extern crate b; #[macro_use] extern crate c; extern crate d as _; use b::x; mod m { extern crate a; }";
        assert_eq!(idle_in(text), ["extern crate a;", "extern crate a;"]);
    }

    #[test]
    fn names_that_are_known_anyway() {
        let known = |text: &str| {
            let tree = Tree::parse(text).unwrap();
            (1..tree.nodes.len()).any(|i| is_known_anyway(&tree, i))
        };
        assert!(known("extern crate std;") && known("use core::{str};") && known("use std::f64;"));
        assert!(!known("#![no_std] extern crate std;") && !known("#[macro_use] extern crate std;"));
        assert!(!known("use crate::str;") && !known("use std::str as text;") && !known("extern crate core as std;"));
    }
}
