//! From rustc's errors in a reduced text back to what was cut and is needed.
//!
//! Each error is attributed to nodes by its code, its place, and the names that it quotes. What can't be
//! attributed falls back to wider and wider restores around the error's place (`bodies`), so a repair always ends.

mod arguments;
mod bodies;
mod fault;
mod impls;
mod names;

use super::nodes::{Kind, NodeId};
use super::plan::Plan;
use crate::compile::Checked;
use crate::source::edit::Piece;
use arguments::standing;
use bodies::{assignments, fall_back, innermost_cuts, last_statement, types_of_variable, variants};
use fault::{Fault, fault};
use impls::{derives_with, members};
use std::collections::{BTreeMap, BTreeSet};

/// How many nodes of one name come back where it is not known which is meant.
const MAX_GUESSES: usize = 8;

/// What an error asks for.
#[derive(Debug, Default)]
pub(super) struct Remedy {
    pub(super) restore: BTreeSet<NodeId>,
    pub(super) cut: BTreeSet<NodeId>,
    /// Of what is restored, what the errors ask for without leaving a choice.
    pub(super) sure: BTreeSet<NodeId>,
    /// What may help where nothing better is known: the error may well follow from another one.
    guesses: BTreeSet<NodeId>,
    /// What is restored only stands around the errors.
    pub(super) wide: bool,
}

/// Attributes errors to nodes.
pub(super) struct Repairer {
    by_name: BTreeMap<String, Vec<NodeId>>,
    /// The calls that may lead to a macro's definition, by its name.
    calls: BTreeMap<String, Vec<NodeId>>,
    /// The same for those in the rules of macros.
    inner_calls: BTreeMap<String, Vec<NodeId>>,
}

impl Repairer {
    pub(super) fn new(plan: &Plan<'_>) -> Repairer {
        let mut by_name: BTreeMap<String, Vec<NodeId>> = BTreeMap::new();
        for (i, n) in plan.tree.nodes.iter().enumerate() {
            if !n.name.is_empty() {
                by_name.entry(n.name.clone()).or_default().push(i);
            }
        }
        let owned = |calls: BTreeMap<&str, Vec<NodeId>>| calls.into_iter().map(|(m, c)| (m.to_owned(), c)).collect();
        let (calls, inner_calls) = (owned(plan.tree.calls_by_macro()), owned(plan.tree.inner_calls_by_macro()));
        Repairer { by_name, calls, inner_calls }
    }

    /// What all errors together ask for. `effort` grows while nothing helps.
    pub(super) fn remedy(&self, plan: &Plan<'_>, checked: &Checked, pieces: &[Piece], effort: usize) -> Remedy {
        let mut remedy = Remedy::default();
        let faults: Vec<Fault<'_>> = checked.errors().map(|e| fault(e, pieces)).collect();
        let standing = |n: &NodeId| {
            // A module without anything in it goes, too, unless it is asked for.
            plan.cut[*n] || !plan.stands(*n) || (plan.tree.nodes[*n].kind == Kind::Module && !plan.wanted[*n])
        };
        for fault in &faults {
            let mut own = Remedy::default();
            self.attribute(plan, fault, &mut own);
            own.restore.retain(standing);
            own.guesses.retain(standing);
            // All that an impl or a `match` lacks is named.
            let named = matches!(fault.code, "E0046" | "E0004" | "E0005");
            if named || own.restore.len() == 1 {
                own.sure.extend(own.restore.iter().copied());
            }
            let implied: Vec<NodeId> = own.restore.iter().flat_map(|&n| derives_with(plan, n)).collect();
            own.sure.extend(&implied);
            own.restore.extend(implied);
            remedy.restore.append(&mut own.restore);
            remedy.cut.append(&mut own.cut);
            remedy.sure.append(&mut own.sure);
            remedy.guesses.append(&mut own.guesses);
        }
        if effort > 0 || (remedy.restore.is_empty() && remedy.cut.is_empty()) {
            remedy.restore.append(&mut remedy.guesses);
        }
        // What is not understood may well follow from what is.
        if effort > 0 || (remedy.restore.is_empty() && remedy.cut.is_empty()) {
            remedy.wide = effort > 0;
            for fault in &faults {
                fall_back(self, plan, fault, effort, &mut remedy);
            }
            remedy.restore.retain(standing);
        }
        remedy
    }

    /// What is cut of the ways to clone what a text that compiles copies references to instead: without its impl,
    /// `clone` is still found, by the reference.
    pub(super) fn clones(&self, plan: &Plan<'_>, checked: &Checked, pieces: &[Piece]) -> Remedy {
        let mut remedy = Remedy::default();
        for noop in checked.noops() {
            self.demands(plan, &fault(noop, pieces), &mut remedy);
        }
        // rustc does not tell of those in macros.
        remedy.restore.extend(standing(plan).flat_map(|(node, header, _)| self.clones_of_self(plan, node, header)));
        remedy.restore.append(&mut remedy.guesses);
        // Without them it compiles, too.
        remedy.sure.clone_from(&remedy.restore);
        remedy
    }

    fn named<'a>(&'a self, name: &str) -> impl Iterator<Item = NodeId> + 'a {
        self.by_name.get(name).into_iter().flatten().copied()
    }

    fn attribute(&self, plan: &Plan<'_>, fault: &Fault<'_>, remedy: &mut Remedy) {
        match fault.code {
            "E0223" | "E0425" | "E0433" | "E0599" if self.primitive_imports(plan, fault, remedy) => {}
            "E0432" => self.unresolved_import(plan, fault, remedy),
            "E0433" if fault.places.first().is_some_and(|&p| Repairer::in_use(plan, p)) => {
                self.unresolved_import(plan, fault, remedy)
            }
            "E0046" => members(plan, fault, remedy),
            "E0407" | "E0437" | "E0438" => self.trait_member(plan, fault, remedy),
            "E0004" | "E0005" => self.arms(plan, fault, remedy),
            "E0599"
                if (fault.full.contains("is implemented but not in scope")
                    || fault.full.contains("if the trait is in scope"))
                    && self.trait_imports(plan, fault, remedy) => {}
            "E0599" if fault.full.contains("trait bounds were not satisfied") && self.demands(plan, fault, remedy) => {}
            "E0308" if fault.full.contains("implicitly returns") && last_statement(plan, fault, remedy) => {}
            "E0381" if assignments(plan, fault, remedy) => {}
            "E0282" | "E0283" if types_of_variable(plan, fault, remedy) => {}
            // What it could be is no demand.
            "E0282" | "E0283" => {}
            "E0599" | "E0576" | "E0220" | "E0026" | "E0609" | "E0658" => {
                let found = |remedy: &Remedy| remedy.restore.len() + remedy.guesses.len();
                let before = found(remedy);
                self.member_named(plan, fault, remedy);
                if !self.demands(plan, fault, remedy) && found(remedy) == before {
                    self.guesses(plan, fault, remedy);
                }
            }
            "E0317" => innermost_cuts(plan, fault, remedy),
            "E0392" => variants(plan, fault, remedy),
            _ if fault.message.starts_with("cannot find")
                || matches!(
                    fault.code,
                    "E0425" | "E0412" | "E0405" | "E0433" | "E0531" | "E0532" | "E0574" | "E0422" | "E0423" | "E0404"
                ) =>
            {
                self.unresolved_name(plan, fault, remedy);
            }
            _ => self.implementations(plan, fault, remedy),
        }
    }
}
