//! Which nodes of a bundle ran, from the coverage of the project's own run.

use super::nodes::{Kind, NodeId, Tree};
use crate::bundle::Bundle;
use crate::trace::{Coverage, RegionKind};
use std::collections::{BTreeMap, BTreeSet};

/// What coverage says of each node.
#[derive(Clone, Debug)]
pub struct Ran {
    /// Something in it ran.
    pub ran: Vec<bool>,
    /// It has code that coverage counts, and none of it ran. What has no counted code is neither.
    pub never: Vec<bool>,
    /// Macro calls that seem to have made functions that ran.
    pub macro_calls: BTreeSet<NodeId>,
}

impl Ran {
    /// Maps coverage onto the nodes of a bundle.
    #[must_use]
    pub fn new(bundle: &Bundle, tree: &Tree, coverage: &Coverage) -> Ran {
        let n = tree.nodes.len();
        let (mut ran, mut zero) = (vec![false; n], vec![false; n]);
        let mut by_file: BTreeMap<usize, Vec<(usize, usize, usize)>> = BTreeMap::new();
        for s in &bundle.map.segments {
            if let Some((file, offset)) = s.origin {
                by_file.entry(file).or_default().push((offset, s.len, s.start));
            }
        }
        let files: Vec<Option<usize>> = coverage.files.iter().map(|p| bundle.map.file(p)).collect();
        let images = |file: usize, from: usize, to: usize| {
            let list = by_file.get(&file).map_or(&[][..], Vec::as_slice);
            // The region's first byte may itself have been edited away: take what is left of it.
            list.iter().filter_map(move |&(offset, len, start)| {
                let (a, b) = (from.max(offset), to.min(offset + len));
                (a < b).then(|| (start + (a - offset), start + (b - offset)))
            })
        };
        for function in &coverage.functions {
            for region in function.regions.iter().filter(|r| r.kind == RegionKind::Code) {
                let Some(file) = files.get(region.file).copied().flatten() else { continue };
                let source = &bundle.map.files[file];
                let (from, to) =
                    (source.offset(region.start), source.offset(region.end).max(source.offset(region.start) + 1));
                let flags = if region.count > 0 { &mut ran } else { &mut zero };
                for (a, b) in images(file, from, to) {
                    tree.ancestors(tree.at(a)).for_each(|i| flags[i] = true);
                    let first = tree.nodes.partition_point(|n| n.range.start < a);
                    let last = tree.nodes.partition_point(|n| n.range.start < b);
                    flags[first..last].iter_mut().for_each(|f| *f = true);
                }
            }
        }
        let never = (0..n).map(|i| zero[i] && !ran[i]).collect();
        let macro_calls = macro_calls(bundle, tree, coverage, &files);
        Ran { ran, never, macro_calls }
    }
}

/// Functions that macros made stand at the macro's definition: find the calls by the names in the function's path.
fn macro_calls(bundle: &Bundle, tree: &Tree, coverage: &Coverage, files: &[Option<usize>]) -> BTreeSet<NodeId> {
    let macros: BTreeMap<&str, &BTreeSet<String>> =
        tree.nodes.iter().filter(|n| n.kind == Kind::MacroRules).map(|n| (n.name.as_str(), &n.words)).collect();
    let mut reach: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for &name in macros.keys() {
        let mut seen = BTreeSet::from([name]);
        let mut todo = vec![name];
        while let Some(m) = todo.pop() {
            for w in macros.get(m).into_iter().flat_map(|w| w.iter()) {
                if let Some((&other, _)) = macros.get_key_value(w.as_str())
                    && seen.insert(other)
                {
                    todo.push(other);
                }
            }
        }
        reach.insert(name, seen);
    }
    let calls: Vec<NodeId> = (0..tree.nodes.len()).filter(|&i| tree.nodes[i].kind == Kind::MacroCall).collect();
    let mut found = BTreeSet::new();
    for function in coverage.called() {
        let Some(region) = function.regions.first() else { continue };
        let Some(file) = files.get(region.file).copied().flatten() else { continue };
        let at = bundle.map.files[file].offset(region.start);
        for image in bundle.map.images(file, at) {
            let Some(definition) = tree.ancestors(tree.at(image)).find(|&a| tree.nodes[a].kind == Kind::MacroRules) else {
                continue;
            };
            let made_by = tree.nodes[definition].name.as_str();
            let path: BTreeSet<&str> = function.name.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
            let in_module = |&&c: &&NodeId| {
                reach.get(tree.nodes[c].macro_name.as_str()).is_some_and(|r| r.contains(made_by))
                    && tree
                        .ancestors(c)
                        .skip(1)
                        .filter(|&a| tree.nodes[a].kind == Kind::Module)
                        .all(|m| path.contains(tree.nodes[m].name.as_str()))
            };
            let here: Vec<NodeId> = calls.iter().filter(in_module).copied().collect();
            let named: Vec<NodeId> =
                here.iter().copied().filter(|&c| tree.nodes[c].words.iter().any(|w| path.contains(w.as_str()))).collect();
            found.extend(if named.is_empty() { here } else { named });
        }
    }
    found
}
