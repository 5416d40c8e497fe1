//! The way a path goes through the modules of a bundle.
//!
//! rustc names what a path means in the end; the modules and re-exports on its way are found here, by their names.

use super::nodes::{Kind, NodeId, Tree};
use std::collections::BTreeSet;

/// Adds the modules and `use` leaves that `path`, written in `module`, goes through, and gives the module that it
/// ends in, if it is one.
pub(super) fn resolve(tree: &Tree, module: NodeId, path: &[String], way: &mut BTreeSet<NodeId>) -> Option<NodeId> {
    let (first, rest) = path.split_first()?;
    let mut at = match first.as_str() {
        "crate" => 0,
        "self" => module,
        "super" => tree.module(module),
        name => step(tree, module, name, way).or_else(|| step(tree, 0, name, way))?,
    };
    for name in rest {
        at = match name.as_str() {
            "super" => tree.module(at),
            "self" => at,
            name => step(tree, at, name, way)?,
        };
    }
    Some(at)
}

/// The macro calls that may make what `path`, written in `module`, names: those in its module that have the name among
/// their tokens, when nothing there bears it.
pub(super) fn makers(tree: &Tree, module: NodeId, path: &[String]) -> Vec<NodeId> {
    let Some((name, modules @ [_, ..])) = path.split_last() else { return Vec::new() };
    let Some(end) = resolve(tree, module, modules, &mut BTreeSet::new()) else { return Vec::new() };
    let named = |&c: &NodeId| tree.nodes[c].name == *name && (tree.nodes[c].kind.is_item());
    if tree.children[end].iter().any(named)
        || tree.leaves.get(&end).into_iter().flatten().any(|&l| tree.nodes[l].name == *name)
    {
        return Vec::new();
    }
    let calls = tree.children[end].iter().copied().filter(|&c| tree.nodes[c].kind == Kind::MacroCall);
    calls.filter(|&c| tree.nodes[c].words.contains(name)).collect()
}

/// The module that a name means in a module.
pub(super) fn step(tree: &Tree, module: NodeId, name: &str, way: &mut BTreeSet<NodeId>) -> Option<NodeId> {
    let mut here = tree.children[module].iter().copied();
    if let Some(own) = here.clone().find(|&c| tree.nodes[c].name == name && tree.nodes[c].kind == Kind::Module) {
        way.insert(own);
        return Some(own);
    }
    if let Some(item) = here.find(|&c| tree.nodes[c].name == name && tree.nodes[c].kind.is_item()) {
        // `extern crate self as name;`
        return (tree.nodes[item].kind == Kind::ExternCrate && tree.nodes[item].path == ["self"]).then_some(0);
    }
    let leaves = tree.leaves.get(&module).map_or(&[][..], Vec::as_slice);
    let named = leaves.iter().copied().filter(|&l| tree.nodes[l].name == name);
    let mut found = None;
    for leaf in named {
        if way.insert(leaf) {
            found = found.or(resolve(tree, module, &tree.nodes[leaf].path, way));
        }
    }
    if found.is_some() || leaves.iter().any(|l| tree.nodes[*l].name == name) {
        return found;
    }
    for glob in leaves.iter().copied().filter(|&l| tree.nodes[l].catch_all) {
        let mut through = way.clone();
        if !through.insert(glob) {
            continue;
        }
        let Some(target) = resolve(tree, module, &tree.nodes[glob].path, &mut through).filter(|&t| t != module) else {
            continue;
        };
        let before = through.len();
        let end = step(tree, target, name, &mut through);
        let has =
            end.is_some() || through.len() > before || tree.children[target].iter().any(|&c| tree.nodes[c].name == name);
        if has {
            *way = through;
            return end;
        }
    }
    None
}

#[cfg(test)]
mod unit {
    use super::*;

    fn way(text: &str, module: &str, path: &str) -> Vec<String> {
        let tree = Tree::parse(text).unwrap();
        let module = tree.nodes.iter().position(|n| n.kind == Kind::Module && n.name == module).unwrap_or(0);
        let mut way = BTreeSet::new();
        let path: Vec<String> = path.split("::").map(str::to_owned).collect();
        resolve(&tree, module, &path, &mut way);
        way.into_iter().map(|i| text[tree.nodes[i].range.clone()].chars().take(12).collect()).collect()
    }

    #[test]
    fn modules_and_reexports_on_the_way_are_found() {
        let text = "mod a { pub mod b { pub use std::cell::Cell; } pub use self::b as c; } mod d { pub use crate::a::*; }";
        assert_eq!(way(text, "", "crate::a::b::Cell"), ["mod a { pub ", "pub mod b { ", "std::cell::C"]);
        assert_eq!(way(text, "b", "super::c::Cell"), ["pub mod b { ", "std::cell::C", "self::b as c"]);
        assert_eq!(
            way(text, "", "d::b::Cell"),
            ["mod a { pub ", "pub mod b { ", "std::cell::C", "mod d { pub ", "crate::a::*"]
        );
    }

    #[test]
    fn the_call_that_makes_a_name_is_found_in_its_module() {
        let text = "mod a { made! { trait T } made! { trait U } struct S; } made! { trait T }";
        let tree = Tree::parse(text).unwrap();
        let found = |path: &str| {
            let path: Vec<String> = path.split("::").map(str::to_owned).collect();
            makers(&tree, 0, &path).into_iter().map(|i| &text[tree.nodes[i].range.clone()]).collect::<Vec<_>>()
        };
        assert_eq!(found("crate::a::T"), ["made! { trait T }"]);
        assert_eq!(found("crate::a::S"), Vec::<&str>::new());
        assert_eq!(found("crate::b::T"), Vec::<&str>::new());
    }

    #[test]
    fn a_circle_of_globs_ends() {
        let text = "mod a { pub use super::b::*; } mod b { pub use super::a::*; }";
        assert_eq!(way(text, "a", "nothing::x"), Vec::<String>::new());
    }
}
