//! What was cut of bodies and is needed after all: arms, statements, branches; and wider restores where nothing else helps.

use super::fault::Fault;
use super::{MAX_GUESSES, Remedy, Repairer};
use crate::reduce::demand::cut_impls;
use crate::reduce::graph::identifier;
use crate::reduce::nodes::{Kind, NodeId};
use crate::reduce::plan::Plan;
use crate::source::tokens::words;
use std::collections::BTreeSet;

impl Repairer {
    /// Arms that a `match` lacks.
    pub(super) fn arms(&self, plan: &Plan<'_>, fault: &Fault<'_>, remedy: &mut Remedy) {
        let tree = plan.tree;
        for &place in fault.places.iter().chain(&fault.definitions) {
            let cut_arms: Vec<NodeId> = (0..tree.nodes.len())
                .filter(|&i| tree.nodes[i].kind == Kind::Arm && plan.cut[i] && tree.nodes[i].group.contains(&place))
                .collect();
            let Some(group) = cut_arms.iter().map(|&i| tree.nodes[i].group.clone()).min_by_key(std::ops::Range::len) else {
                continue;
            };
            let own: Vec<NodeId> = cut_arms.into_iter().filter(|&i| tree.nodes[i].group == group).collect();
            if let Some(&any) = own.iter().find(|&&i| tree.nodes[i].catch_all) {
                remedy.restore.insert(any);
                return;
            }
            // The variants that the error names say more than the enum's name, which all arms have.
            let variant = |w: &&String| {
                matches!(w.as_str(), "None" | "Some" | "Ok" | "Err" | "true" | "false")
                    || self.named(w).any(|n| tree.nodes[n].kind == Kind::Variant)
            };
            let has = |i: NodeId, words: &[&String]| words.iter().any(|w| w.len() > 1 && tree.nodes[i].words.contains(*w));
            let variants: Vec<&String> = fault.words.iter().filter(variant).collect();
            let all: Vec<&String> = fault.words.iter().collect();
            // Arms for variants that are gone are not what is missing, unless they are named.
            let gone = |i: NodeId| {
                tree.nodes[i].words.iter().any(|w| {
                    let mut variants = self.named(w).filter(|&n| tree.nodes[n].kind == Kind::Variant).peekable();
                    variants.peek().is_some() && variants.all(|v| plan.cut[v]) && !fault.words.contains(w)
                })
            };
            let own: Vec<NodeId> = match own.iter().copied().filter(|&i| !gone(i)).collect::<Vec<_>>() {
                left if left.is_empty() => own,
                left => left,
            };
            let mut named: Vec<NodeId> = own.iter().copied().filter(|&i| has(i, &variants)).collect();
            if named.is_empty() {
                named = own.iter().copied().filter(|&i| has(i, &all)).collect();
            }
            remedy.restore.extend(if named.is_empty() { own } else { named });
            return;
        }
    }
}

/// Variants that used a type parameter.
pub(super) fn variants(plan: &Plan<'_>, fault: &Fault<'_>, remedy: &mut Remedy) {
    let tree = plan.tree;
    for &place in fault.places.iter().chain(&fault.definitions) {
        if let Some(e) = tree.ancestors(tree.at(place)).find(|&a| tree.nodes[a].kind == Kind::Enum) {
            let name = fault.words.first().map_or("", String::as_str);
            let uses = |&&c: &&NodeId| {
                let text = &plan.text[tree.nodes[c].range.clone()];
                words(text).any(|w| w == name)
            };
            remedy.restore.extend(tree.children[e].iter().filter(|&&c| tree.nodes[c].kind == Kind::Variant).filter(uses));
            return;
        }
    }
}

/// The assignments that give a variable its value; `false` when none is cut.
pub(super) fn assignments(plan: &Plan<'_>, fault: &Fault<'_>, remedy: &mut Remedy) -> bool {
    let (Some(name), Some(&place)) = (fault.words.first(), fault.places.first()) else { return false };
    let found = cut_statements(plan, place, |code| assigns(code, name));
    let any = !found.is_empty();
    remedy.restore.extend(found);
    any
}

/// What tells the type of a variable: the first assignment to it, else the first statement that names it; `false`
/// when none is cut.
pub(super) fn types_of_variable(plan: &Plan<'_>, fault: &Fault<'_>, remedy: &mut Remedy) -> bool {
    let Some(&place) = fault.places.first().filter(|_| fault.definitions.is_empty()) else { return false };
    let code = &plan.text[place..];
    let code = code.strip_prefix("mut ").unwrap_or(code);
    let name = identifier(code);
    if name.is_empty() {
        return false;
    }
    let names = |code: &str| words(code).any(|w| w == name);
    let first = cut_statements(plan, place, |code| assigns(code, name))
        .into_iter()
        .next()
        .or_else(|| cut_statements(plan, place, names).into_iter().next());
    remedy.restore.extend(first);
    first.is_some()
}

/// The statements of the function at a place that are cut and in no other such statement, and have such code.
pub(super) fn cut_statements(plan: &Plan<'_>, place: usize, has: impl Fn(&str) -> bool) -> Vec<NodeId> {
    let tree = plan.tree;
    let Some(function) = tree.function(tree.at(place)) else { return Vec::new() };
    let gone =
        |&i: &NodeId| tree.nodes[i].kind == Kind::Stmt && !plan.stands(i) && has(&plan.text[tree.nodes[i].range.clone()]);
    let found: Vec<NodeId> = tree.subtree(function).filter(gone).collect();
    // Of a statement in a statement the inner one says it.
    found.iter().copied().filter(|&i| !found.iter().any(|&o| o != i && tree.subtree(i).contains(&o))).collect()
}

/// Whether a statement assigns to a variable.
pub(super) fn assigns(code: &str, name: &str) -> bool {
    let rest = code.strip_prefix(name).map(str::trim_start);
    rest.is_some_and(|r| r.starts_with('=') && !r.starts_with("=="))
}

/// The last statement of a body that lacks its value: it may well be what returns it.
pub(super) fn last_statement(plan: &Plan<'_>, fault: &Fault<'_>, remedy: &mut Remedy) -> bool {
    let tree = plan.tree;
    let places = fault.places.iter().chain(&fault.definitions);
    let function = places.filter_map(|&p| tree.function(tree.at(p))).next();
    let body = function.and_then(|f| tree.children[f].iter().find(|&&c| tree.nodes[c].kind == Kind::Body));
    let last = body.and_then(|&b| tree.children[b].iter().rev().find(|&&s| plan.cut[s]));
    remedy.restore.extend(last);
    last.is_some()
}

/// The smallest cut pieces right around an error.
pub(super) fn innermost_cuts(plan: &Plan<'_>, fault: &Fault<'_>, remedy: &mut Remedy) {
    let tree = plan.tree;
    for &place in &fault.places {
        let here = tree.at(place);
        for a in tree.ancestors(here) {
            let cut: Vec<NodeId> =
                tree.subtree(a).filter(|&i| plan.cut[i] && matches!(tree.nodes[i].kind, Kind::Else | Kind::Block)).collect();
            if !cut.is_empty() {
                remedy.restore.extend(cut);
                return;
            }
            if !tree.nodes[a].kind.in_body() {
                break;
            }
        }
    }
}

/// The cut parts of a body that stand in no other cut part.
pub(super) fn outermost_cuts(plan: &Plan<'_>, function: NodeId) -> Vec<NodeId> {
    let tree = plan.tree;
    tree.subtree(function)
        .filter(|&i| plan.cut[i] && tree.nodes[i].kind.in_body())
        .filter(|&i| !tree.ancestors(i).skip(1).take_while(|&a| a != function).any(|a| plan.cut[a]))
        .collect()
}

/// Wider and wider restores around an error that nothing specific helps.
pub(super) fn fall_back(repairer: &Repairer, plan: &Plan<'_>, fault: &Fault<'_>, effort: usize, remedy: &mut Remedy) {
    let tree = plan.tree;
    let add = |remedy: &mut Remedy, ids: &mut dyn Iterator<Item = NodeId>| {
        let before = remedy.restore.len();
        remedy.restore.extend(ids.filter(|&i| plan.cut[i] && tree.nodes[i].kind != Kind::Decoration));
        remedy.restore.len() > before
    };
    // What was cut inside the functions at hand: what has to do with the names at hand, else all around.
    for &place in fault.places.iter().chain(&fault.definitions) {
        let here = tree.at(place);
        let Some(f) = tree.function(here) else { continue };
        let mut names: BTreeSet<String> =
            fault.words.iter().filter(|w| syn::parse_str::<syn::Ident>(w).is_ok()).cloned().collect();
        if let Some(s) = tree.ancestors(here).find(|&a| tree.nodes[a].kind == Kind::Stmt) {
            names.extend(tree.nodes[s].words.iter().cloned());
        }
        let cut_here = || outermost_cuts(plan, f);
        let about = |&i: &NodeId| {
            let text = &plan.text[tree.nodes[i].range.clone()];
            words(text).any(|w| w.len() > 1 && names.contains(w))
        };
        if effort == 0 && add(remedy, &mut cut_here().into_iter().filter(about)) {
            return;
        }
        if add(remedy, &mut tree.subtree(f).filter(|&i| tree.nodes[i].kind.in_body())) && effort < 2 {
            return;
        }
    }
    // Whatever has to do with a name that is quoted: its derives, its impls, the name itself, unless many have it.
    let about: Vec<NodeId> = cut_impls(plan).filter(|i| fault.words.contains(&i.by.to_owned())).map(|i| i.node).collect();
    let named = fault
        .words
        .iter()
        .filter(|w| effort >= 2 || repairer.named(w).count() <= MAX_GUESSES)
        .flat_map(|w| repairer.named(w))
        .filter(|&n| tree.nodes[n].kind.is_item() || tree.nodes[n].kind == Kind::UseLeaf);
    if (add(remedy, &mut about.into_iter().chain(named)) && effort < 2) || effort == 0 {
        return;
    }
    // All that stands in the impl, then in the module, then everywhere.
    for &place in &fault.places {
        let here = tree.at(place);
        let around = tree
            .ancestors(here)
            .find(|&a| tree.nodes[a].parent == 0 || tree.nodes[tree.nodes[a].parent].kind == Kind::Module || effort > 2);
        if add(remedy, &mut tree.subtree(around.unwrap_or(0))) && effort < 4 {
            return;
        }
        let module = tree.module(here);
        if effort > 2 && add(remedy, &mut tree.subtree(module)) && effort < 5 {
            return;
        }
    }
    if effort >= 5 {
        add(remedy, &mut (1..tree.nodes.len()));
    }
}
