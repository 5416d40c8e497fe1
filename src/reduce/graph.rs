//! Who uses what, as rustc resolved it.
//!
//! Every definition of the bundle is marked `#[deprecated(note = "…its number…")]` and the bundle is checked
//! once with that lint forced: each use comes back with its place and the number of what it means, after type
//! checking. Uses inside a macro's expansion belong to the call; what a marked text cannot say (trait impls,
//! modules, items made by macros) is left to the repairs.

use super::nodes::{Kind, NodeId, Tree};
use crate::compile::{Checked, Compiler, DiagnosticSpan, FILE_NAME};
use crate::error::Result;
use crate::source::edit::{Edit, Piece, apply};
use std::collections::BTreeSet;

/// How often marks that rustc refuses are taken back before the graph is given up.
const TRIES: usize = 4;
const NOTE: &str = "gistify:";

/// For each node, the nodes that its own text uses.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// Targets by user.
    pub uses: Vec<Vec<NodeId>>,
}

impl Graph {
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
                return Ok(Some(Graph { uses: uses(&checked, &pieces, tree) }));
            }
            // Take the marks back around what rustc complains of.
            let bad: BTreeSet<NodeId> = checked
                .errors()
                .flat_map(|e| &e.spans)
                .filter_map(|s| Some(outermost_item(tree, tree.at(back(&pieces, outermost(s)?)?))))
                .collect();
            let before = marked.len();
            marked.retain(|&m| !tree.ancestors(m).any(|a| bad.contains(&a)));
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

fn uses(checked: &Checked, pieces: &[Piece], tree: &Tree) -> Vec<Vec<NodeId>> {
    let mut uses = vec![BTreeSet::new(); tree.nodes.len()];
    for d in &checked.diagnostics {
        let Some(id) = d.message.split(NOTE).nth(1).and_then(|n| n.parse::<NodeId>().ok()) else { continue };
        for span in d.spans.iter().filter(|s| s.is_primary) {
            if let Some(at) = outermost(span).and_then(|o| back(pieces, o)) {
                let from = tree.at(at);
                if from != id {
                    uses[from].insert(id);
                }
            }
        }
    }
    uses.into_iter().map(|s| s.into_iter().collect()).collect()
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
