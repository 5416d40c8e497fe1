//! Which nodes of a bundle ran, from the coverage of the project's own run.

use super::makers::macro_calls;
use super::nodes::{NodeId, Tree};
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
    /// Macro calls, and elements of those, that seem to have made functions that ran.
    pub macro_calls: BTreeSet<NodeId>,
    /// Those of them that stand beside others: perhaps not all of them made something that ran.
    pub doubtful: BTreeSet<NodeId>,
    /// How many bytes before each ran.
    ran_before: Vec<u32>,
}

impl Ran {
    /// Maps coverage onto the nodes of a bundle.
    #[must_use]
    pub fn new(bundle: &Bundle, tree: &Tree, coverage: &Coverage) -> Ran {
        let files: Vec<Option<usize>> = coverage.files.iter().map(|p| bundle.map.file(p)).collect();
        let painted = paint(bundle, coverage, &files);
        let (ran_before, zero_before) = (prefix_count(&painted, RAN), prefix_count(&painted, ZERO));
        let any = |before: &[u32], r: &std::ops::Range<usize>| before[r.end] > before[r.start];
        let ran: Vec<bool> = tree.nodes.iter().map(|n| any(&ran_before, &n.range)).collect();
        let never = tree.nodes.iter().zip(&ran).map(|(n, ran)| any(&zero_before, &n.range) && !ran).collect();
        let (macro_calls, doubtful) = macro_calls(bundle, tree, coverage, &files);
        Ran { ran, never, macro_calls, doubtful, ran_before }
    }

    /// Nothing ran.
    #[cfg(test)]
    pub(super) fn nothing(text: &str, tree: &Tree) -> Ran {
        let none = vec![false; tree.nodes.len()];
        let (macro_calls, doubtful) = (BTreeSet::new(), BTreeSet::new());
        Ran { ran: none.clone(), never: none, macro_calls, doubtful, ran_before: vec![0; text.len() + 1] }
    }

    /// Whether anything in a range ran.
    #[must_use]
    pub fn touches(&self, range: &std::ops::Range<usize>) -> bool {
        self.ran_before[range.end] > self.ran_before[range.start]
    }
}

/// No region says anything of a byte.
const UNKNOWN: u8 = 0;
/// The innermost region of a byte never ran.
const ZERO: u8 = 1;
/// The innermost region of a byte ran.
const RAN: u8 = 2;

/// What the innermost region of each byte of the bundle says, counts of all instantiations added up.
fn paint(bundle: &Bundle, coverage: &Coverage, files: &[Option<usize>]) -> Vec<u8> {
    let mut by_file: BTreeMap<usize, Vec<(usize, usize, usize)>> = BTreeMap::new();
    for s in &bundle.map.segments {
        if let Some((file, offset)) = s.origin {
            by_file.entry(file).or_default().push((offset, s.len, s.start));
        }
    }
    let mut regions: BTreeMap<(usize, usize, usize), bool> = BTreeMap::new();
    for region in coverage.functions.iter().flat_map(|f| &f.regions).filter(|r| r.kind == RegionKind::Code) {
        let Some(file) = files.get(region.file).copied().flatten() else { continue };
        let source = &bundle.map.files[file];
        let from = source.offset(region.start);
        let to = source.offset(region.end).max(from + 1);
        *regions.entry((file, from, to)).or_default() |= region.count > 0;
    }
    let mut order: Vec<_> = regions.into_iter().collect();
    order.sort_by_key(|((_, from, to), _)| std::cmp::Reverse(to - from));
    let mut painted = vec![UNKNOWN; bundle.text.len()];
    for ((file, from, to), ran) in order {
        for &(offset, len, start) in by_file.get(&file).into_iter().flatten() {
            // A region may reach over text that was edited away: what is left of it counts.
            let (a, b) = (from.max(offset), to.min(offset + len));
            if a < b {
                painted[start + (a - offset)..start + (b - offset)].fill(if ran { RAN } else { ZERO });
            }
        }
    }
    painted
}

/// How many bytes before each are painted so.
fn prefix_count(painted: &[u8], colour: u8) -> Vec<u32> {
    let mut before = Vec::with_capacity(painted.len() + 1);
    let mut n = 0;
    before.push(0);
    for &p in painted {
        n += u32::from(p == colour);
        before.push(n);
    }
    before
}
