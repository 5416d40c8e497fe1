//! Who uses what, as rustc resolved it.
//!
//! Every definition of the bundle is marked `#[deprecated(note = "…its number…")]` and the bundle is checked
//! once with that lint forced: each use comes back with its place and the number of what it means, after type
//! checking. Uses inside a macro's expansion belong to the call; what a marked text cannot say (trait impls,
//! modules, items made by macros) is left to the repairs.

use super::made::Made;
use super::nodes::{Kind, NodeId, Tree};
use crate::compile::{Checked, Compiler, DiagnosticSpan, FILE_NAME};
use crate::error::Result;
use crate::source::edit::{Edit, Piece, apply};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// How often marks that rustc refuses are taken back before the graph is given up.
const TRIES: usize = 4;
const NOTE: &str = "gistify:";

/// For each node, the nodes that its own text uses.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Graph {
    /// Targets by user.
    pub uses: Vec<Vec<NodeId>>,
    /// Nodes that bore a mark: all uses of them that rustc resolves are known.
    pub marked: Vec<bool>,
}

impl Graph {
    /// Whether it is about a tree of that many nodes, and names no other.
    #[must_use]
    pub fn is_over(&self, nodes: usize) -> bool {
        self.uses.len() == nodes && self.marked.len() == nodes && self.uses.iter().flatten().all(|&used| used < nodes)
    }

    /// Asks rustc. `None` when the bundle can't be compiled with any marks.
    ///
    /// # Errors
    /// When rustc can't be run.
    pub fn build(text: &str, tree: &Tree, compiler: &Compiler) -> Result<Option<Graph>> {
        let mut marked: Vec<NodeId> = (1..tree.nodes.len()).filter(|&i| markable(tree, i)).collect();
        for _ in 0..TRIES {
            let mut edits: Vec<Edit> = marked
                .iter()
                .filter_map(|&i| Some(Edit::insert(tree.nodes[i].mark?, format!("#[deprecated(note = \"{NOTE}{i}\")] "))))
                .collect();
            edits.extend(own_marks(text, tree));
            let (with_marks, pieces) = apply(text, edits);
            let checked = compiler.check(&with_marks, &["deprecated"])?;
            if checked.ok {
                let mut all = vec![false; tree.nodes.len()];
                marked.iter().for_each(|&m| all[m] = true);
                return Ok(Some(Graph { uses: uses(text, &checked, &pieces, tree), marked: all }));
            }
            // Take the marks back around what rustc complains of, and in the macros that made it.
            let spans: Vec<&DiagnosticSpan> = checked.errors().flat_map(|e| &e.spans).collect();
            let bad: BTreeSet<NodeId> =
                spans.iter().filter_map(|s| Some(outermost_item(tree, tree.at(back(&pieces, outermost(s)?)?)))).collect();
            let bad_macros: BTreeSet<NodeId> =
                spans.iter().flat_map(|s| places(s, &pieces)).filter_map(|at| tree.made_by(tree.at(at))).collect();
            let before = marked.len();
            marked.retain(|&m| {
                !tree.ancestors(m).any(|a| bad.contains(&a)) && !tree.ancestors(m).skip(1).any(|a| bad_macros.contains(&a))
            });
            if marked.len() == before {
                return Ok(None);
            }
        }
        Ok(None)
    }
}

/// The item of a module that holds a node.
fn outermost_item(tree: &Tree, id: NodeId) -> NodeId {
    tree.ancestors(id).take_while(|&a| tree.nodes[a].kind != Kind::Module).last().unwrap_or(id)
}

fn markable(tree: &Tree, id: NodeId) -> bool {
    let node = &tree.nodes[id];
    node.mark.is_some()
        && !node.for_trait_impls
        && matches!(
            node.kind,
            Kind::Fn
                | Kind::Struct
                | Kind::Enum
                | Kind::Union
                | Kind::Variant
                | Kind::Trait
                | Kind::Const
                | Kind::Static
                | Kind::TypeAlias
                | Kind::MacroRules
                | Kind::ForeignItem
                | Kind::ImplFn
                | Kind::ImplConst
                | Kind::ImplType
                | Kind::TraitFn
                | Kind::TraitConst
                | Kind::TraitType
        )
}

/// Deletes the `#[deprecated]`s that the source has itself.
fn own_marks<'a>(text: &'a str, tree: &'a Tree) -> impl Iterator<Item = Edit> + 'a {
    tree.nodes
        .iter()
        .filter(|n| n.kind == Kind::Decoration && text[n.range.clone()].contains("deprecated"))
        .map(|n| Edit::delete(n.range.clone()))
}

fn uses(text: &str, checked: &Checked, pieces: &[Piece], tree: &Tree) -> Vec<Vec<NodeId>> {
    let calls = tree.calls_by_macro();
    let inner_calls = tree.inner_calls_by_macro();
    let mut uses = vec![BTreeSet::new(); tree.nodes.len()];
    for d in &checked.diagnostics {
        let Some(id) = d.message.split(NOTE).nth(1).and_then(|n| n.parse::<NodeId>().ok()) else { continue };
        for span in d.spans.iter().filter(|s| s.is_primary) {
            let Some(from) = user(span, pieces, tree) else { continue };
            if from == id {
                continue;
            }
            uses[from].insert(id);
            // What a macro makes needs the call that makes it, as far as that can be told.
            // What is declared in a body is there when the body is.
            let Some(definition) = tree.made_by(id).filter(|_| !tree.nodes[id].local) else { continue };
            let name = places(span, pieces).next().map_or("", |at| identifier(&text[at..]));
            let ways: Vec<&Made> =
                tree.made.at(id).filter(|made| made.name == name || !tree.nodes[id].name.starts_with('$')).collect();
            if let Some((first, others)) = ways.split_first() {
                // Which of them is meant is not said: what they have in common is needed.
                let common = first.by.iter().filter(|c| others.iter().all(|made| made.by.contains(c)));
                uses[from].extend(common.copied().filter(|&c| c != from));
                continue;
            }
            let of = |calls: &BTreeMap<&str, Vec<NodeId>>| calls.get(tree.nodes[definition].name.as_str()).cloned();
            match of(&calls).as_deref() {
                Some(&[only]) => uses[from].extend(tree.elements(only, std::iter::once(name))),
                Some(several) if tree.nodes[id].name.starts_with('$') => {
                    let named = several.iter().filter(|&&c| tree.nodes[c].words.contains(name));
                    uses[from].extend(named.flat_map(|&c| tree.elements(c, std::iter::once(name))));
                }
                _ => {}
            }
            let inner = tree.likely_inner(&of(&inner_calls).unwrap_or_default(), std::iter::once(name));
            uses[from].extend(inner.into_iter().flat_map(|c| tree.elements(c, std::iter::once(name))));
            uses[from].remove(&from);
        }
    }
    uses.into_iter().map(|s| s.into_iter().collect()).collect()
}

/// The node whose text a use stands in: of a token that a macro brought, the item in the macro's rule; where there
/// is none, what calls the macro.
fn user(span: &DiagnosticSpan, pieces: &[Piece], tree: &Tree) -> Option<NodeId> {
    let of_macro = |&id: &NodeId| matches!(tree.nodes[id].kind, Kind::MacroRules | Kind::MacroRule | Kind::Repetition);
    places(span, pieces).map(|at| tree.at(at)).find(|id| !of_macro(id))
}

/// The places in the old text that a token has: where it is written, then the calls of the macros that brought it
/// from there, innermost first.
fn places<'a>(span: &'a DiagnosticSpan, pieces: &'a [Piece]) -> impl Iterator<Item = usize> + 'a {
    let written = std::iter::successors(Some(span), |s| s.expansion.as_deref().map(|e| &e.span));
    written.filter(|s| s.file_name == FILE_NAME).filter_map(|s| back(pieces, s.byte_start as usize))
}

/// The identifier that a text begins with.
pub(super) fn identifier(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
    &text[..end]
}

/// The place in the text that a span comes from: the outermost call for code that macros made.
#[must_use]
pub fn outermost(span: &DiagnosticSpan) -> Option<usize> {
    let mut found = (span.file_name == FILE_NAME).then_some(span.byte_start as usize);
    let mut expansion = span.expansion.as_deref();
    while let Some(e) = expansion {
        if e.span.file_name == FILE_NAME {
            found = Some(e.span.byte_start as usize);
        }
        expansion = e.span.expansion.as_deref();
    }
    found
}

/// The byte of the old text that byte `at` of the new one was copied from (or stands before).
#[must_use]
pub fn back(pieces: &[Piece], at: usize) -> Option<usize> {
    let mut i = pieces.partition_point(|p| p.start <= at).checked_sub(1)?;
    if let Some(from) = pieces[i].from {
        return Some(from + (at - pieces[i].start));
    }
    while i + 1 < pieces.len() {
        i += 1;
        if let Some(from) = pieces[i].from {
            return Some(from);
        }
    }
    None
}
