//! Members and impls that a type lacks.

use super::arguments::standing;
use super::fault::Fault;
use super::names::modules_around;
use super::{MAX_GUESSES, Remedy, Repairer};
use crate::reduce::demand::{Impl, cut_impls};
use crate::reduce::graph::identifier;
use crate::reduce::made::Made;
use crate::reduce::nodes::{Kind, NodeId};
use crate::reduce::plan::Plan;
use crate::reduce::std_traits::{supertraits, with_method};
use crate::reduce::types::{Bindings, Header, Ty};
use std::collections::BTreeSet;

impl Repairer {
    /// A method, function, constant or variant that a type or trait does not have any more.
    pub(super) fn member_named(&self, plan: &Plan<'_>, fault: &Fault<'_>, remedy: &mut Remedy) {
        let tree = plan.tree;
        let Some(first) = fault.words.first() else { return };
        // Of an adapter's method that no iterator is there for, the name stands in the code alone.
        let told_elsewhere = fault.message.contains("is not an iterator") || fault.code == "E0658";
        let place = fault.token().filter(|_| told_elsewhere);
        let in_code = place.map(|at| identifier(&plan.text[at..]).to_owned());
        let name = in_code.as_ref().unwrap_or(first);
        let words: BTreeSet<&String> = fault.words.iter().collect();
        let traits = with_method(name);
        let given = cut_impls(plan).filter(|i| traits.contains(&i.of) && words.contains(&i.by.to_owned()));
        let given: Vec<NodeId> = given.map(|i| i.node).collect();
        if !given.is_empty() {
            remedy.restore.extend(given);
            return;
        }
        let members: Vec<NodeId> = self
            .named(name)
            .filter(|&n| {
                (plan.cut[n] || !plan.stands(n))
                    && tree.nodes[n].kind.is_item()
                    && !matches!(tree.nodes[n].kind, Kind::Fn | Kind::Module)
            })
            .collect();
        let owner = |n: NodeId| tree.nodes[n].parent;
        let exact: Vec<NodeId> = members
            .iter()
            .copied()
            .filter(|&n| {
                let o = &tree.nodes[owner(n)];
                words.contains(&o.type_name) || words.contains(&o.name)
            })
            .collect();
        let fitting = receiver(fault.message).map(|r| self.best_owners(plan, name, &r)).unwrap_or_default();
        let given = if fitting.is_empty() { self.given_by_trait(plan, name, fault.message) } else { Vec::new() };
        let derefs = if fitting.is_empty() { self.derefs(plan, fault) } else { Vec::new() };
        if !fitting.is_empty() {
            remedy.restore.extend(fitting);
        } else if !given.is_empty() {
            remedy.restore.extend(given);
        } else if !derefs.is_empty() {
            remedy.restore.extend(derefs);
        } else if exact.is_empty() && members.len() > MAX_GUESSES {
            // A name that many types have: what was cut around the place is likelier.
        } else if exact.is_empty() {
            remedy.guesses.extend(members.iter().copied());
            if members.is_empty() {
                self.macro_calls(plan, tree.at(fault.places.first().copied().unwrap_or(0)), name, remedy);
            }
        } else {
            remedy.restore.extend(exact);
        }
        if members.is_empty() {
            self.trait_imports(plan, fault, remedy);
        }
    }

    /// What is cut of the impls by which a type has a member that its trait itself gives.
    fn given_by_trait(&self, plan: &Plan<'_>, name: &str, message: &str) -> Vec<NodeId> {
        let tree = plan.tree;
        let owners = self.named(name).map(|member| tree.nodes[member].parent);
        let traits: BTreeSet<&String> =
            owners.filter(|&o| tree.nodes[o].kind == Kind::Trait && plan.stands(o)).map(|o| &tree.nodes[o].name).collect();
        let mut found = Vec::new();
        for trait_ in traits {
            if message.contains("found for type parameter") {
                // What holds for a type parameter holds for all types.
                let of_all = |n: NodeId| tree.nodes[n].catch_all && tree.nodes[n].trait_name == *trait_;
                let impls = (0..tree.nodes.len()).filter(|&n| tree.nodes[n].kind == Kind::TraitImpl && plan.cut[n]);
                found.extend(impls.filter(|&n| of_all(n)));
            } else if let Some(self_ty) = receiver(message) {
                let trait_ = Ty::Named(trait_.clone(), Vec::new());
                found.extend(self.best_for(plan, &Header { self_ty, trait_ }).into_iter().flatten());
            }
        }
        found
    }

    /// What is cut of the way from a type that lacks a field or a method to what it refers to.
    fn derefs(&self, plan: &Plan<'_>, fault: &Fault<'_>) -> Vec<NodeId> {
        let on_type = || fault.message.split(" on type `").nth(1)?.split('`').next().and_then(Ty::parse);
        let Some(mut self_ty) = receiver(fault.message).or_else(on_type) else { return Vec::new() };
        while let Ty::Ref(inner) = self_ty {
            self_ty = *inner;
        }
        let ways = self.best_for(plan, &Header { self_ty, trait_: Ty::Named("Deref".into(), Vec::new()) });
        if ways.len() == 1 { ways.into_iter().flatten().collect() } else { Vec::new() }
    }

    /// What is cut of the members of a name that a type may have, of the impls with the fewest type parameters.
    pub(super) fn best_owners(&self, plan: &Plan<'_>, name: &str, receiver: &Ty) -> Vec<NodeId> {
        let tree = plan.tree;
        let mut types = vec![receiver.clone(), Ty::Ref(Box::new(receiver.clone()))];
        let mut inner = receiver;
        while let Ty::Ref(t) | Ty::Slice(t) = inner {
            types.push((**t).clone());
            inner = t;
        }
        let mut found: Vec<(usize, NodeId)> = Vec::new();
        for member in self.named(name) {
            let owner = tree.nodes[member].parent;
            for ty in &types {
                let asks = Header { self_ty: ty.clone(), trait_: Ty::Any("_".into()) };
                let own = plan.cut[member].then_some(member);
                for (rank, parts) in self.fitting(plan, owner, &asks) {
                    found.extend(parts.into_iter().chain(own).map(|part| (rank, part)));
                }
            }
        }
        let best = found.iter().map(|(rank, _)| *rank).min();
        found.into_iter().filter(|(rank, _)| Some(*rank) == best).map(|(_, part)| part).collect()
    }

    /// A trait that is there but not in scope; `false` when no import of it was cut.
    pub(super) fn trait_imports(&self, plan: &Plan<'_>, fault: &Fault<'_>, remedy: &mut Remedy) -> bool {
        let tree = plan.tree;
        let here = tree.at(fault.places.first().copied().unwrap_or(0));
        let around: BTreeSet<NodeId> = modules_around(plan, here).collect();
        for w in &fault.words {
            let leaves = self.named(w).filter(|&n| tree.nodes[n].kind == Kind::UseLeaf && plan.cut[n]);
            remedy.restore.extend(leaves.filter(|&n| around.contains(&tree.module(n))));
        }
        !remedy.restore.is_empty()
    }

    /// A member that an impl has and its trait has not any more: it goes too, unless it ran.
    pub(super) fn trait_member(&self, plan: &Plan<'_>, fault: &Fault<'_>, remedy: &mut Remedy) {
        let tree = plan.tree;
        let Some(name) = fault.words.first() else { return };
        let members: BTreeSet<NodeId> = fault
            .places
            .iter()
            .chain(&fault.definitions)
            .filter_map(|&p| tree.ancestors(tree.at(p)).find(|&a| is_called(&tree.nodes[a].name, name) && plan.stands(a)))
            .filter(|&m| !plan.ran[m] && !plan.wanted[m] && !plan.whole[m])
            .collect();
        if !members.is_empty() {
            remedy.cut.extend(members);
            return;
        }
        for n in self.named(name).filter(|&n| plan.cut[n]) {
            let owner = &tree.nodes[tree.nodes[n].parent];
            if owner.kind == Kind::Trait && (fault.words.contains(&owner.name)) {
                remedy.restore.insert(n);
            }
        }
    }

    /// Trait impls and derives for the traits and types that an error names.
    pub(super) fn implementations(&self, plan: &Plan<'_>, fault: &Fault<'_>, remedy: &mut Remedy) {
        if !self.demands(plan, fault, remedy) {
            self.guesses(plan, fault, remedy);
        }
    }

    /// Impls by the names of types and traits, where none fits by its types.
    pub(super) fn guesses(&self, plan: &Plan<'_>, fault: &Fault<'_>, remedy: &mut Remedy) {
        let tree = plan.tree;
        let named =
            |i: &Impl<'_>| fault.bounds.iter().any(|b| b.self_ty.head() == Some(i.by) && b.trait_.head() == Some(i.of));
        let by_name: Vec<NodeId> = cut_impls(plan).filter(named).map(|i| i.node).collect();
        if !by_name.is_empty() {
            remedy.restore.extend(by_name);
            return;
        }
        let heads = fault.bounds.iter().filter_map(|b| Some((b.self_ty.head()?, b.trait_.head()?)));
        remedy.guesses.extend(heads.flat_map(|(ty, trait_)| self.opaque_makers(plan, ty, trait_)));
        // A type of another crate may be known there by another name.
        let of_trait = |header: &Header| fault.bounds.iter().any(|b| b.trait_.head() == header.trait_.head());
        for (i, node) in tree.nodes.iter().enumerate().filter(|(_, n)| n.kind == Kind::TraitImpl) {
            let made = tree.made.at(i).filter(|made| made.of_elsewhere && made.header.as_ref().is_some_and(of_trait));
            remedy.guesses.extend(made.flat_map(|made| lacking(plan, made)));
            let written = node.of_elsewhere && node.header.as_ref().is_some_and(of_trait);
            remedy.guesses.extend((written && plan.cut[i] && tree.made_by(i).is_none()).then_some(i));
        }
        // What it asks for is known: if there is no such impl, something else that was cut is behind it.
        if !fault.bounds.is_empty() {
            return;
        }
        let mut words: BTreeSet<&str> = fault.words.iter().map(String::as_str).collect();
        words.extend(implied_traits(fault.code, &fault.full));
        let (found, others): (Vec<Impl<'_>>, Vec<Impl<'_>>) =
            cut_impls(plan).filter(|i| words.contains(i.of)).partition(|i| words.contains(i.by));
        let mut found: BTreeSet<NodeId> = found.iter().map(|i| i.node).collect();
        if found.is_empty() {
            // A generic impl covers the type under another name; else any impl of the trait may.
            let written = others.iter().map(|i| i.node).filter(|&n| tree.nodes[n].kind == Kind::TraitImpl);
            found.extend(written.clone().filter(|&n| tree.nodes[n].catch_all));
            if found.is_empty() {
                found.extend(written);
            }
        }
        if found.is_empty() {
            self.implementing_macros(plan, &words, &mut found);
        }
        remedy.guesses.extend(found);
    }

    /// The impls that an error spells out; `false` when none of them is there to come back.
    pub(super) fn demands(&self, plan: &Plan<'_>, fault: &Fault<'_>, remedy: &mut Remedy) -> bool {
        let not_taken = self.not_taken(plan, fault);
        let of_fields = of_fields(plan.text, fault);
        // What the source calls types may be aliases.
        let resolved = not_taken.into_iter().chain(of_fields).map(|mut demand| {
            demand.resolve(&plan.tree.aliases, false);
            demand
        });
        let clone = Ty::Named("Clone".into(), Vec::new());
        let mut any = false;
        let mut demands: Vec<Header> = fault.bounds.iter().cloned().chain(resolved).collect();
        // Impls may ask for each other.
        let mut seen: BTreeSet<Header> = BTreeSet::new();
        while let Some(demand) = demands.pop() {
            let chosen = Header { self_ty: demand.self_ty.with_defaults(), trait_: demand.trait_.with_defaults() };
            let head = demand.self_ty.head().unwrap_or_default();
            let mut ways = self.best_for(plan, &chosen);
            if ways.is_empty() && chosen != demand {
                ways = self.best_for(plan, &demand);
            }
            ways = of_same_module(plan, fault, head, ways);
            if ways.is_empty() {
                let asked = self.asked_by_standing(plan, &chosen).into_iter().filter(|bound| seen.insert(bound.clone()));
                demands.extend(asked);
            }
            if ways.is_empty()
                && let Ty::Ref(inner) = &demand.self_ty
                && calls_clone(plan, fault)
            {
                // What can't be cloned is found to have the `clone` of its reference, which gives a reference.
                let own = self.best_for(plan, &Header { self_ty: (**inner).clone(), trait_: clone.clone() });
                if !own.is_empty() {
                    remedy.guesses.extend(own.into_iter().flatten());
                    any = true;
                    continue;
                }
            }
            if ways.len() > 1 {
                // Most of all a type is compared with, or added to, its own.
                let own = self.best_for(plan, &Header { trait_: demand.trait_.without_arguments(), ..demand.clone() });
                if let [_] = own.as_slice() {
                    remedy.guesses.extend(own.into_iter().flatten());
                    any = true;
                    continue;
                }
            }
            let ours = self.named(head).any(|n| matches!(plan.tree.nodes[n].kind, Kind::Struct | Kind::Enum | Kind::Union));
            let derived = || {
                let derives = self.named(demand.trait_.head().unwrap_or_default());
                derives.filter(|&n| plan.tree.nodes[n].kind == Kind::Derive && plan.stands(n)).any(|n| {
                    let own_type = plan.tree.nodes[plan.tree.nodes[n].parent].parent;
                    demand.self_ty.is_named(&plan.tree.nodes[own_type].name)
                })
            };
            if ways.is_empty() && (!ours || derived()) {
                // What others' types hold, and those with a derive, has to implement it, too.
                let part = |self_ty: &Ty| Header { self_ty: self_ty.clone(), trait_: demand.trait_.without_arguments() };
                demands.extend(demand.self_ty.parts().iter().map(part));
                continue;
            }
            any |= !ways.is_empty();
            if let [only] = ways.as_slice() {
                remedy.sure.extend(only);
                remedy.restore.extend(only);
            } else {
                // Which of them is meant may be known when other errors are gone.
                remedy.guesses.extend(ways.into_iter().flatten());
            }
        }
        any
    }

    /// What is cut of the ways to clone a type, where an impl for its reference clones `self`.
    pub(super) fn clones_of_self(&self, plan: &Plan<'_>, implementation: NodeId, header: &Header) -> Vec<NodeId> {
        let tree = plan.tree;
        let range = tree.nodes[implementation].range.clone();
        let mut calls = plan.text[range.clone()].match_indices("self.clone()").map(|(at, _)| range.start + at);
        match &header.self_ty {
            Ty::Ref(inner) if calls.any(|at| plan.stands(tree.at(at))) => {
                let clone = Header { self_ty: (**inner).clone(), trait_: Ty::Named("Clone".into(), Vec::new()) };
                self.best_for(plan, &clone).into_iter().flatten().collect()
            }
            _ => Vec::new(),
        }
    }

    /// What would make a demand true and is cut, one for each way: of all impls, those with the fewest variables.
    fn best_for(&self, plan: &Plan<'_>, demand: &Header) -> Vec<Vec<NodeId>> {
        let tree = plan.tree;
        let mut found: Vec<(usize, Vec<NodeId>)> = Vec::new();
        for (i, n) in tree.nodes.iter().enumerate() {
            match n.kind {
                Kind::TraitImpl => {
                    found.extend(self.fitting(plan, i, demand).into_iter().filter(|(_, parts)| !parts.is_empty()));
                }
                Kind::Derive if plan.cut[i] => {
                    let own = &tree.nodes[tree.nodes[n.parent].parent].name;
                    if demand.self_ty.is_named(own) && demand.trait_.is_named(&n.name) {
                        found.push((0, vec![i]));
                    }
                }
                _ => {}
            }
        }
        let best = found.iter().map(|(rank, _)| *rank).min();
        found.into_iter().filter(|(rank, _)| Some(*rank) == best).map(|(_, parts)| parts).collect()
    }

    /// What the impls that stand and seem to make a demand true ask of their parameters: an error of an operator names
    /// the operator, and not the bound that is not met.
    fn asked_by_standing(&self, plan: &Plan<'_>, demand: &Header) -> Vec<Header> {
        let mut found: Vec<(usize, Vec<Header>)> = Vec::new();
        for (_, header, bounds) in standing(plan) {
            if let Some(bindings) = header.fits(demand) {
                let asked = bounds.iter().filter_map(|bound| bound.with(&bindings)).filter(|bound| bound != demand);
                found.push((parameters(&bindings), asked.collect()));
            }
        }
        let best = found.iter().map(|(rank, _)| *rank).min();
        found.into_iter().filter(|(rank, _)| Some(*rank) == best).flat_map(|(_, asked)| asked).collect()
    }

    /// The ways in which an impl makes a demand true: for each how many variables it has, and what is cut of it. What is
    /// written in a macro may be several impls.
    fn fitting(&self, plan: &Plan<'_>, implementation: NodeId, demand: &Header) -> Vec<(usize, Vec<NodeId>)> {
        let tree = plan.tree;
        let mut known = tree.made.at(implementation).peekable();
        if known.peek().is_some() {
            let fits = |made: &Made| Some((parameters(&made.header.as_ref()?.fits(demand)?), lacking(plan, made)));
            return known.filter_map(fits).collect();
        }
        let bindings = tree.nodes[implementation].header.as_ref().and_then(|header| header.fits(demand));
        bindings.map(|b| (parameters(&b), self.likely_lacking(plan, implementation, &b))).into_iter().collect()
    }

    /// What is cut of an impl with these bindings: itself, or the macro calls that seem to make it.
    fn likely_lacking(&self, plan: &Plan<'_>, implementation: NodeId, bindings: &Bindings) -> Vec<NodeId> {
        let tree = plan.tree;
        let Some(definition) = tree.made_by(implementation) else {
            return if plan.cut[implementation] { vec![implementation] } else { Vec::new() };
        };
        let variables: Vec<(&str, &str)> =
            bindings.iter().filter(|(v, _)| v.starts_with('$')).filter_map(|(v, t)| Some((v.as_str(), t.head()?))).collect();
        let names = || variables.iter().map(|(_, name)| *name);
        let calls = self.calls.get(&tree.nodes[definition].name).map_or(&[][..], Vec::as_slice);
        let told = |&c: &NodeId| names().all(|w| tree.nodes[c].words.contains(w));
        let told: Vec<NodeId> = calls.iter().copied().filter(told).collect();
        let mut out = Vec::new();
        for part in told.iter().flat_map(|&c| tree.elements(c, names())) {
            if plan.cut[implementation] || !plan.stands(part) {
                out.extend([part, implementation]);
            }
        }
        let direct = told.iter().any(|&c| tree.nodes[c].macro_name == tree.nodes[definition].name);
        if !direct {
            let inner = self.inner_calls.get(&tree.nodes[definition].name).map_or(&[][..], Vec::as_slice);
            out.extend(tree.likely_inner(inner, names()).into_iter().filter(|&c| plan.cut[c]));
        }
        out
    }

    /// Macro calls that may make an impl of one of the traits for one of the types.
    pub(super) fn implementing_macros(&self, plan: &Plan<'_>, words: &BTreeSet<&str>, found: &mut BTreeSet<NodeId>) {
        let is_trait = |w: &&str| {
            w.starts_with(|c: char| c.is_uppercase()) || self.named(w).any(|n| plan.tree.nodes[n].kind == Kind::Trait)
        };
        for trait_ in words.iter().copied().filter(is_trait) {
            for ty in words.iter().copied().filter(|w| *w != trait_) {
                found.extend(self.opaque_makers(plan, ty, trait_));
            }
        }
    }

    /// Macro calls, and constants without a name, that are cut and may make an impl of a trait for a type by what they
    /// and the macros in them name: those of which it can't be seen.
    pub(super) fn opaque_makers(&self, plan: &Plan<'_>, ty: &str, trait_: &str) -> Vec<NodeId> {
        let tree = plan.tree;
        let mut out = Vec::new();
        for (i, n) in tree.nodes.iter().enumerate() {
            let opaque = n.kind == Kind::MacroCall || n.kind == Kind::Const && n.name == "_";
            // A macro that is called as the trait is may well make impls of it.
            let own = n.macro_name == trait_;
            if !opaque || !plan.cut[i] || n.in_macro || !(n.words.contains(ty) || own) {
                continue;
            }
            let called = n.words.iter().chain([&n.macro_name]).flat_map(|w| self.named(w));
            let definitions: Vec<NodeId> = called.filter(|&d| tree.nodes[d].kind == Kind::MacroRules).collect();
            // The impls of these are known.
            if tree.made.known.contains(&i) {
                continue;
            }
            if own || n.words.contains(trait_) || definitions.iter().any(|&d| tree.nodes[d].words.contains(trait_)) {
                out.extend(tree.elements(i, [ty, trait_].into_iter()));
            }
        }
        out
    }
}

/// Whether a function in which an error is calls `clone`.
fn calls_clone(plan: &Plan<'_>, fault: &Fault<'_>) -> bool {
    let tree = plan.tree;
    let functions = fault.places.iter().chain(&fault.definitions).filter_map(|&at| tree.function(tree.at(at)));
    functions.into_iter().any(|f| plan.text[tree.nodes[f].range.clone()].contains(".clone()"))
}

/// Of several ways to make a demand on a type true, those in the module that the message names before the type, if there
/// are any: many modules may have a type of that name.
fn of_same_module(plan: &Plan<'_>, fault: &Fault<'_>, head: &str, ways: Vec<Vec<NodeId>>) -> Vec<Vec<NodeId>> {
    let tree = plan.tree;
    let path = path_to(&fault.full, head);
    if ways.len() < 2 || path.is_empty() {
        return ways;
    }
    let is_there = |&part: &NodeId| {
        let around = tree.ancestors(part).filter(|&a| tree.nodes[a].kind == Kind::Module);
        around.map(|m| tree.nodes[m].name.as_str()).take(path.len()).eq(path.iter().rev().copied())
    };
    let (there, elsewhere): (Vec<_>, Vec<_>) = ways.into_iter().partition(|way| way.iter().any(is_there));
    if there.is_empty() { elsewhere } else { there }
}

/// The path that a message puts before a name.
fn path_to<'t>(text: &'t str, name: &str) -> Vec<&'t str> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let found = text.match_indices(name).find_map(|(at, _)| {
        let before = text[..at].strip_suffix("::")?;
        (!text[at + name.len()..].starts_with(is_name)).then_some(before)
    });
    let Some(before) = found.filter(|_| !name.is_empty()) else { return Vec::new() };
    let start = before.rfind(|c: char| !(is_name(c) || c == ':')).map_or(0, |at| at + 1);
    before[start..].split("::").filter(|s| !s.is_empty() && *s != "crate").collect()
}

/// What `Copy` asks of the fields of a type.
fn of_fields(text: &str, fault: &Fault<'_>) -> Vec<Header> {
    let places = fault.places.iter().filter(|_| fault.code == "E0204");
    let field = |&place: &usize| {
        let line = text[place..].lines().next()?;
        let ty = line.split_once(": ").map_or(line, |(_, ty)| ty);
        Ty::parse(ty.split("//").next()?.trim_end().trim_end_matches([',', ';', ')', '}']))
    };
    let demand = |self_ty| Header { self_ty, trait_: Ty::Named("Copy".into(), Vec::new()) };
    places.filter_map(field).map(demand).collect()
}

/// What is cut of what a macro call makes.
pub(super) fn lacking(plan: &Plan<'_>, made: &Made) -> Vec<NodeId> {
    made.by.iter().copied().chain([made.node]).filter(|&n| !plan.stands(n)).collect()
}

/// Whether a member's name is that, or one that a macro's call gives it.
fn is_called(own: &str, name: &str) -> bool {
    own == name || own.starts_with('$')
}

/// The type that a message finds no method for.
pub(super) fn receiver(message: &str) -> Option<Ty> {
    let quoted = message.split("found for ").nth(1)?.split('`').nth(1)?;
    Ty::parse(quoted).map(|t| t.without_parameters().with_defaults()).filter(|t| !matches!(t, Ty::Any(_)))
}

/// How many type parameters of an impl have to stand for something.
pub(super) fn parameters(bindings: &Bindings) -> usize {
    bindings.keys().filter(|v| !v.starts_with('$')).count()
}

/// The derives of a type that a derive of it does not go without.
pub(super) fn derives_with(plan: &Plan<'_>, derive: NodeId) -> Vec<NodeId> {
    let tree = plan.tree;
    if tree.nodes[derive].kind != Kind::Derive {
        return Vec::new();
    }
    let needed = supertraits(&tree.nodes[derive].name);
    let own_type = tree.nodes[tree.nodes[derive].parent].parent;
    let lists = tree.children[own_type].iter().filter(|&&c| tree.nodes[c].kind == Kind::Derives);
    let others = lists.flat_map(|&l| tree.children[l].iter().copied());
    others.filter(|&d| plan.cut[d] && needed.contains(&tree.nodes[d].name.as_str())).collect()
}

/// Traits that an error code stands for without naming them.
pub(super) fn implied_traits(code: &str, full: &str) -> Vec<&'static str> {
    match code {
        "E0614" => vec!["Deref"],
        "E0608" => vec!["Index", "IndexMut", "Deref"],
        "E0600" => vec!["Not", "Neg"],
        "E0382" | "E0505" | "E0507" | "E0508" | "E0509" | "E0204" | "E0184" => vec!["Copy", "Clone"],
        "E0594" | "E0596" => vec!["DerefMut", "IndexMut"],
        "E0158" => vec!["PartialEq", "Eq"],
        "E0277" if full.contains("is not an iterator") => vec!["Iterator", "IntoIterator"],
        "E0277" if full.contains("cannot be dereferenced") => vec!["Deref"],
        "E0308" => vec!["Deref"],
        _ => Vec::new(),
    }
}

/// Members that an impl lacks.
pub(super) fn members(plan: &Plan<'_>, fault: &Fault<'_>, remedy: &mut Remedy) {
    let tree = plan.tree;
    for &place in fault.places.iter().chain(&fault.definitions) {
        let Some(owner) = tree.ancestors(tree.at(place)).find(|&a| tree.nodes[a].kind == Kind::TraitImpl) else { continue };
        let children = &tree.children[owner];
        let before = remedy.restore.len();
        let made = children.iter().flat_map(|c| tree.made_members.get(c)).flatten();
        let members = children.iter().chain(made).copied();
        let named = |c: NodeId| fault.words.iter().any(|w| is_called(&tree.nodes[c].name, w));
        remedy.restore.extend(members.filter(|&c| plan.cut[c] && named(c)));
        if remedy.restore.len() == before {
            let calls = children.iter().copied().filter(|&c| tree.nodes[c].kind == Kind::MacroCall);
            let words = fault.words.iter().map(String::as_str);
            remedy.restore.extend(calls.flat_map(|c| tree.elements(c, words.clone())).filter(|&c| plan.cut[c]));
        }
        return;
    }
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn the_path_before_a_name_is_found_in_a_message() {
        assert_eq!(path_to("the trait bound `vec::IntoIter<T>: iter::Par` is not satisfied", "IntoIter"), ["vec"]);
        assert_eq!(path_to("`crate::a::b::X` and `c::XY`", "X"), ["a", "b"]);
        assert_eq!(path_to("`X: c::Y`", "X"), Vec::<&str>::new());
    }
}
