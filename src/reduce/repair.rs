//! From rustc's errors in a reduced text back to what was cut and is needed.
//!
//! Each error is attributed to nodes by its code, its place, and the names that it quotes. What can't be
//! attributed falls back to wider and wider restores around the error's place, so a repair always ends.

use super::demand::{Impl, bounds, cut_impls, of_argument, of_method, of_operator};
use super::graph::{back, identifier, outermost};
use super::nodes::{Kind, NodeId};
use super::plan::Plan;
use super::types::{Bindings, Header, Ty};
use crate::compile::{Checked, Diagnostic};
use crate::source::edit::Piece;
use crate::source::transcriber::arguments;
use std::collections::{BTreeMap, BTreeSet};

/// How many members of one name come back where it is not known whose is meant.
const MAX_GUESSES: usize = 8;

/// Methods that derives give.
const STD_METHODS: &[(&str, &[&str])] = &[
    ("clone", &["Clone"]),
    ("eq", &["PartialEq"]),
    ("ne", &["PartialEq"]),
    ("cmp", &["Ord"]),
    ("partial_cmp", &["PartialOrd"]),
    ("hash", &["Hash"]),
    ("default", &["Default"]),
    ("fmt", &["Debug", "Display"]),
];

/// What an error asks for.
#[derive(Debug, Default)]
pub(super) struct Remedy {
    pub(super) restore: BTreeSet<NodeId>,
    pub(super) cut: BTreeSet<NodeId>,
    /// Of what is restored, what the errors ask for without leaving a choice.
    pub(super) sure: BTreeSet<NodeId>,
}

/// Attributes errors to nodes.
pub(super) struct Repairer {
    by_name: BTreeMap<String, Vec<NodeId>>,
    /// The calls that may lead to a macro's definition, by its name.
    calls: BTreeMap<String, Vec<NodeId>>,
    /// The same for those in the rules of macros.
    inner_calls: BTreeMap<String, Vec<NodeId>>,
}

/// One error, in terms of the bundle.
struct Fault<'a> {
    code: &'a str,
    message: &'a str,
    /// Places in the bundle: primary spans first. Code that macros made stands where the outermost macro is called.
    places: Vec<usize>,
    /// Places in macro definitions that such code comes from.
    definitions: Vec<usize>,
    /// Names that the error quotes, in order.
    words: Vec<String>,
    /// All the text of the error and its notes.
    full: String,
    /// Traits that types have to implement.
    bounds: Vec<Header>,
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
        }
        // What is not understood may well follow from what is.
        if effort > 0 || (remedy.restore.is_empty() && remedy.cut.is_empty()) {
            for fault in &faults {
                fall_back(self, plan, fault, effort, &mut remedy);
            }
            remedy.restore.retain(standing);
        }
        remedy
    }

    fn named<'a>(&'a self, name: &str) -> impl Iterator<Item = NodeId> + 'a {
        self.by_name.get(name).into_iter().flatten().copied()
    }

    fn attribute(&self, plan: &Plan<'_>, fault: &Fault<'_>, remedy: &mut Remedy) {
        match fault.code {
            "E0432" => self.unresolved_import(plan, fault, remedy),
            "E0433" if fault.places.first().is_some_and(|&p| Repairer::in_use(plan, p)) => {
                self.unresolved_import(plan, fault, remedy)
            }
            "E0046" => members(plan, fault, remedy),
            "E0407" | "E0437" | "E0438" => self.trait_member(plan, fault, remedy),
            "E0004" | "E0005" => self.arms(plan, fault, remedy),
            "E0599"
                if fault.full.contains("is implemented but not in scope")
                    || fault.full.contains("if the trait is in scope") =>
            {
                self.trait_imports(plan, fault, remedy);
            }
            "E0599" if fault.full.contains("trait bounds were not satisfied") && self.demands(plan, fault, remedy) => {}
            "E0308" if fault.full.contains("implicitly returns") && last_statement(plan, fault, remedy) => {}
            "E0381" if assignments(plan, fault, remedy) => {}
            "E0282" | "E0283" if types_of_variable(plan, fault, remedy) => {}
            // What it could be is no demand.
            "E0282" | "E0283" => {}
            "E0599" | "E0576" | "E0220" | "E0026" | "E0609" | "E0658" => {
                let before = remedy.restore.len();
                self.member_named(plan, fault, remedy);
                if !self.demands(plan, fault, remedy) && remedy.restore.len() == before {
                    self.implementations(plan, fault, remedy);
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

    /// Whether a byte stands in a `use`.
    fn in_use(plan: &Plan<'_>, place: usize) -> bool {
        plan.tree.ancestors(plan.tree.at(place)).any(|a| plan.tree.nodes[a].kind == Kind::Use)
    }

    /// Imports of what is gone: the imports go too, unless that was tried.
    fn unresolved_import(&self, plan: &Plan<'_>, fault: &Fault<'_>, remedy: &mut Remedy) {
        let tree = plan.tree;
        let mut found = false;
        for &place in fault.places.iter().chain(&fault.definitions).filter(|&&p| Repairer::in_use(plan, p)) {
            found = true;
            let at = tree.at(place);
            let leaves: Vec<NodeId> = if tree.nodes[at].kind == Kind::UseLeaf {
                vec![at]
            } else {
                // The error is in the path that several leaves share.
                let all = tree.subtree(at).filter(|&i| tree.nodes[i].kind == Kind::UseLeaf && plan.stands(i));
                all.filter(|&i| tree.nodes[i].range.start >= place || tree.nodes[i].range.contains(&place)).collect()
            };
            for leaf in leaves {
                if plan.wanted[leaf] || tree.nodes[leaf].local {
                    self.import_target(plan, fault, leaf, remedy);
                } else {
                    remedy.cut.insert(leaf);
                }
            }
        }
        if !found {
            self.reexports(plan, fault, remedy);
        }
    }

    /// What an import that is needed names.
    fn import_target(&self, plan: &Plan<'_>, fault: &Fault<'_>, leaf: NodeId, remedy: &mut Remedy) {
        let tree = plan.tree;
        let node = &tree.nodes[leaf];
        let way = way_to(plan, tree.module(leaf), &node.path);
        if !way.is_empty() {
            remedy.restore.extend(way);
            return;
        }
        let mut found = false;
        for w in std::iter::once(&node.name).chain(&node.words).chain(&fault.words) {
            let gone = |n: NodeId| plan.cut[n] || tree.nodes[n].kind == Kind::Module && !plan.wanted[n];
            for n in self.named(w).filter(|&n| gone(n) && tree.nodes[n].kind.is_item()) {
                remedy.restore.insert(n);
                found = true;
            }
        }
        if !found {
            self.macro_calls(plan, leaf, &node.name, remedy);
        }
    }

    /// Arms that a `match` lacks.
    fn arms(&self, plan: &Plan<'_>, fault: &Fault<'_>, remedy: &mut Remedy) {
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

    /// A name that nothing in scope has: a statement, an import, an item, or a macro that makes it.
    fn unresolved_name(&self, plan: &Plan<'_>, fault: &Fault<'_>, remedy: &mut Remedy) {
        let Some(name) = fault.words.first() else { return };
        let tree = plan.tree;
        let Some(&place) = fault.places.first() else { return };
        let here = tree.at(place);
        for function in fault.places.iter().chain(&fault.definitions).filter_map(|&p| tree.function(tree.at(p))) {
            let bound: Vec<NodeId> = tree
                .subtree(function)
                .filter(|&i| tree.nodes[i].kind == Kind::Stmt && plan.cut[i] && tree.nodes[i].words.contains(name))
                .collect();
            if !bound.is_empty() {
                remedy.restore.extend(bound);
                return;
            }
        }
        let on_the_way = way_of(plan, here, fault);
        if !on_the_way.is_empty() {
            remedy.sure.extend(&on_the_way);
            remedy.restore.extend(on_the_way);
            return;
        }
        let modules: BTreeSet<NodeId> = modules_around(plan, here).collect();
        let mut found = false;
        // What is declared in a body is known in that body alone.
        let known = |n: NodeId| !tree.nodes[n].local || tree.function(n) == tree.function(here);
        let candidates: Vec<NodeId> = self.named(name).filter(|&n| (plan.cut[n] || !plan.stands(n)) && known(n)).collect();
        // An import in scope.
        for &n in &candidates {
            if tree.nodes[n].kind == Kind::UseLeaf && modules.contains(&tree.module(n)) {
                remedy.restore.insert(n);
                remedy.restore.extend(self.targets_by_path(plan, n));
                found = true;
            }
        }
        // The item itself: the one whose module shares most with the place.
        let items =
            candidates.iter().copied().filter(|&n| tree.nodes[n].kind.is_item() && tree.nodes[n].kind != Kind::Variant);
        let path = module_path(plan, here);
        let shared = |n: NodeId| module_path(plan, n).iter().zip(&path).take_while(|(a, b)| a == b).count();
        let quoted: BTreeSet<&String> = fault.words.iter().collect();
        if let Some(best) = items.max_by_key(|&n| {
            let module = tree.module(n);
            (quoted.contains(&tree.nodes[module].name) && module != 0, modules.contains(&module), shared(n))
        }) {
            remedy.restore.insert(best);
            found = true;
        }
        // Globs that may have brought it in.
        for (i, n) in tree.nodes.iter().enumerate() {
            if n.kind == Kind::UseLeaf && n.catch_all && plan.cut[i] && modules.contains(&tree.module(i)) {
                remedy.restore.insert(i);
            }
        }
        if !found {
            self.macro_calls(plan, here, name, remedy);
            self.reexports(plan, fault, remedy);
        }
    }

    /// A path that goes through re-exports: whatever has one of its names, and the globs of its modules.
    fn reexports(&self, plan: &Plan<'_>, fault: &Fault<'_>, remedy: &mut Remedy) {
        let tree = plan.tree;
        for w in &fault.words {
            for n in self.named(w) {
                let kind = tree.nodes[n].kind;
                if kind == Kind::UseLeaf
                    || kind == Kind::Module
                    || (kind.is_item() && tree.nodes[n].parent == tree.module(n))
                {
                    remedy.restore.insert(n);
                }
                if kind == Kind::Module {
                    for &u in tree.children[n].iter().filter(|&&c| tree.nodes[c].kind == Kind::Use) {
                        for leaf in
                            tree.subtree(u).filter(|&i| tree.nodes[i].kind == Kind::UseLeaf && tree.nodes[i].catch_all)
                        {
                            if plan.cut[leaf] {
                                remedy.restore.insert(leaf);
                                remedy.restore.extend(self.targets_by_path(plan, leaf));
                            }
                        }
                    }
                }
            }
        }
    }

    /// Items that the path of a `use` leaf may mean, where the graph does not say.
    fn targets_by_path(&self, plan: &Plan<'_>, leaf: NodeId) -> Vec<NodeId> {
        if !plan.graph.uses[leaf].is_empty() {
            return plan.graph.uses[leaf].clone();
        }
        let node = &plan.tree.nodes[leaf];
        let all = node.words.iter().flat_map(|w| self.named(w));
        all.filter(|&n| {
            n != leaf && plan.cut[n] && matches!(plan.tree.nodes[n].kind, Kind::Module | Kind::MacroRules | Kind::UseLeaf)
        })
        .collect()
    }

    /// Macro calls that may make something of that name: those whose words have it, or whose macro's words do.
    fn macro_calls(&self, plan: &Plan<'_>, near: NodeId, name: &str, remedy: &mut Remedy) {
        let tree = plan.tree;
        let lacking =
            |c: NodeId| plan.cut[c] || tree.children[c].iter().any(|&e| tree.nodes[e].kind == Kind::Entry && plan.cut[e]);
        let cut_calls = || tree.nodes.iter().enumerate().filter(|(i, n)| n.kind == Kind::MacroCall && lacking(*i));
        let direct: Vec<NodeId> = cut_calls().filter(|(_, n)| n.words.contains(name)).map(|(i, _)| i).collect();
        let found = if direct.is_empty() {
            let makers: BTreeSet<&str> = tree
                .nodes
                .iter()
                .filter(|n| n.kind == Kind::MacroRules && n.words.contains(name))
                .map(|n| n.name.as_str())
                .collect();
            cut_calls().filter(|(_, n)| makers.contains(n.macro_name.as_str())).map(|(i, _)| i).collect()
        } else {
            direct
        };
        let module = tree.module(near);
        let (inside, outside): (Vec<NodeId>, Vec<NodeId>) = found.into_iter().partition(|&i| tree.module(i) == module);
        let found = if inside.is_empty() { outside } else { inside };
        remedy.restore.extend(found.into_iter().flat_map(|c| tree.elements(c, std::iter::once(name))));
    }

    /// A method, function, constant or variant that a type or trait does not have any more.
    fn member_named(&self, plan: &Plan<'_>, fault: &Fault<'_>, remedy: &mut Remedy) {
        let tree = plan.tree;
        let Some(first) = fault.words.first() else { return };
        // Of an adapter's method that no iterator is there for, the name stands in the code alone.
        let told_elsewhere = fault.message.contains("is not an iterator") || fault.code == "E0658";
        let place = fault.places.first().filter(|_| told_elsewhere);
        let in_code = place.map(|&at| identifier(&plan.text[at..]).to_owned());
        let name = in_code.as_ref().unwrap_or(first);
        let words: BTreeSet<&String> = fault.words.iter().collect();
        if let Some((_, traits)) = STD_METHODS.iter().find(|(m, _)| m == name) {
            let given = cut_impls(plan).filter(|i| traits.contains(&i.of) && words.contains(&i.by.to_owned()));
            let given: Vec<NodeId> = given.map(|i| i.node).collect();
            if !given.is_empty() {
                remedy.restore.extend(given);
                return;
            }
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
        if !fitting.is_empty() {
            remedy.restore.extend(fitting);
        } else if exact.is_empty() && members.len() > MAX_GUESSES {
            // A name that many types have: what was cut around the place is likelier.
        } else if exact.is_empty() {
            remedy.restore.extend(members.iter().copied());
            if members.is_empty() {
                self.macro_calls(plan, tree.at(fault.places.first().copied().unwrap_or(0)), name, remedy);
            }
        } else {
            remedy.restore.extend(exact);
        }
        self.trait_imports(plan, fault, remedy);
    }

    /// What is cut of the members of a name that a type may have, of the impls with the fewest type parameters.
    fn best_owners(&self, plan: &Plan<'_>, name: &str, receiver: &Ty) -> Vec<NodeId> {
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
            let Some(header) = &tree.nodes[owner].header else { continue };
            for ty in &types {
                let asks = Header { self_ty: ty.clone(), trait_: Ty::Any("_".into()) };
                let Some(bindings) = header.fits(&asks) else { continue };
                let own = plan.cut[member].then_some(member);
                let parts = self.lacking(plan, owner, &bindings).into_iter().chain(own);
                found.extend(parts.map(|part| (parameters(&bindings), part)));
            }
        }
        let best = found.iter().map(|(rank, _)| *rank).min();
        found.into_iter().filter(|(rank, _)| Some(*rank) == best).map(|(_, part)| part).collect()
    }

    /// A trait that is there but not in scope.
    fn trait_imports(&self, plan: &Plan<'_>, fault: &Fault<'_>, remedy: &mut Remedy) {
        let tree = plan.tree;
        let here = tree.at(fault.places.first().copied().unwrap_or(0));
        let around: BTreeSet<NodeId> = modules_around(plan, here).collect();
        for w in &fault.words {
            let leaves = self.named(w).filter(|&n| tree.nodes[n].kind == Kind::UseLeaf && plan.cut[n]);
            remedy.restore.extend(leaves.filter(|&n| around.contains(&tree.module(n))));
        }
    }

    /// A member that an impl has and its trait has not any more: it goes too, unless it ran.
    fn trait_member(&self, plan: &Plan<'_>, fault: &Fault<'_>, remedy: &mut Remedy) {
        let tree = plan.tree;
        let Some(name) = fault.words.first() else { return };
        let members: BTreeSet<NodeId> = fault
            .places
            .iter()
            .chain(&fault.definitions)
            .filter_map(|&p| tree.ancestors(tree.at(p)).find(|&a| tree.nodes[a].name == *name && plan.stands(a)))
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
    fn implementations(&self, plan: &Plan<'_>, fault: &Fault<'_>, remedy: &mut Remedy) {
        let tree = plan.tree;
        if self.demands(plan, fault, remedy) {
            return;
        }
        let named =
            |i: &Impl<'_>| fault.bounds.iter().any(|b| b.self_ty.head() == Some(i.by) && b.trait_.head() == Some(i.of));
        let by_name: Vec<NodeId> = cut_impls(plan).filter(named).map(|i| i.node).collect();
        if !by_name.is_empty() {
            remedy.restore.extend(by_name);
            return;
        }
        let heads = fault.bounds.iter().filter_map(|b| Some((b.self_ty.head()?, b.trait_.head()?)));
        remedy.restore.extend(heads.flat_map(|(ty, trait_)| self.opaque_makers(plan, ty, trait_)));
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
        remedy.restore.extend(found);
    }

    /// The impls that an error spells out; `false` when none of them is there to come back.
    fn demands(&self, plan: &Plan<'_>, fault: &Fault<'_>, remedy: &mut Remedy) -> bool {
        let words_here = fault.places.iter().map(|&p| &plan.tree.nodes[plan.tree.at(p)].words);
        let of_arguments = of_argument(&fault.full, words_here.flatten().map(String::as_str));
        let demands = fault.bounds.iter().chain(&of_arguments);
        let mut any = false;
        let mut demands: Vec<Header> = demands.cloned().collect();
        while let Some(demand) = demands.pop() {
            let best: BTreeSet<NodeId> = self.best_for(plan, &demand).into_iter().collect();
            let head = demand.self_ty.head().unwrap_or_default();
            let ours = self.named(head).any(|n| matches!(plan.tree.nodes[n].kind, Kind::Struct | Kind::Enum | Kind::Union));
            if best.is_empty() && !ours {
                // What others' types hold has to implement it, too.
                let part = |self_ty: &Ty| Header { self_ty: self_ty.clone(), trait_: demand.trait_.without_arguments() };
                demands.extend(demand.self_ty.parts().iter().map(part));
                continue;
            }
            let impls = best.iter().filter(|&&n| matches!(plan.tree.nodes[n].kind, Kind::TraitImpl | Kind::Derive));
            let elements = best.iter().filter(|&&n| plan.tree.nodes[n].kind == Kind::Entry).count();
            if impls.count() == 1 && elements <= 1 {
                remedy.sure.extend(&best);
            }
            any |= !best.is_empty();
            remedy.restore.extend(best);
        }
        any
    }

    /// What would make a demand true and is cut: of all impls, those with the fewest variables.
    fn best_for(&self, plan: &Plan<'_>, demand: &Header) -> Vec<NodeId> {
        let tree = plan.tree;
        let mut found: Vec<(usize, NodeId)> = Vec::new();
        for (i, n) in tree.nodes.iter().enumerate() {
            match n.kind {
                Kind::TraitImpl => {
                    let Some(bindings) = n.header.as_ref().and_then(|h| h.fits(demand)) else { continue };
                    found.extend(self.lacking(plan, i, &bindings).into_iter().map(|part| (parameters(&bindings), part)));
                }
                Kind::Derive if plan.cut[i] => {
                    let own = &tree.nodes[tree.nodes[n.parent].parent].name;
                    if demand.self_ty.is_named(own) && demand.trait_.is_named(&n.name) {
                        found.push((0, i));
                    }
                }
                _ => {}
            }
        }
        let best = found.iter().map(|(rank, _)| *rank).min();
        found.into_iter().filter(|(rank, _)| Some(*rank) == best).map(|(_, i)| i).collect()
    }

    /// What is cut of an impl with these bindings: itself, or the macro call that makes it.
    fn lacking(&self, plan: &Plan<'_>, implementation: NodeId, bindings: &Bindings) -> Vec<NodeId> {
        let tree = plan.tree;
        let Some(definition) = tree.made_by(implementation) else {
            return if plan.cut[implementation] { vec![implementation] } else { Vec::new() };
        };
        let variables: Vec<(&str, &str)> =
            bindings.iter().filter(|(v, _)| v.starts_with('$')).filter_map(|(v, t)| Some((v.as_str(), t.head()?))).collect();
        let names = || variables.iter().map(|(_, name)| *name);
        let calls = self.calls.get(&tree.nodes[definition].name).map_or(&[][..], Vec::as_slice);
        let told =
            |&c: &NodeId| names().all(|w| tree.nodes[c].words.contains(w)) && makes(plan, c, implementation, &variables);
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
    fn implementing_macros(&self, plan: &Plan<'_>, words: &BTreeSet<&str>, found: &mut BTreeSet<NodeId>) {
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
    fn opaque_makers(&self, plan: &Plan<'_>, ty: &str, trait_: &str) -> Vec<NodeId> {
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
            if n.kind == Kind::MacroCall && !definitions.is_empty() && definitions.iter().all(|&d| tree.nodes[d].makes_items)
            {
                continue;
            }
            if own || n.words.contains(trait_) || definitions.iter().any(|&d| tree.nodes[d].words.contains(trait_)) {
                out.extend(tree.elements(i, [ty, trait_].into_iter()));
            }
        }
        out
    }
}

/// The type that a message finds no method for.
fn receiver(message: &str) -> Option<Ty> {
    let quoted = message.split("found for ").nth(1)?.split('`').nth(1)?;
    Ty::parse(quoted).map(Ty::without_parameters).filter(|t| !matches!(t, Ty::Any(_)))
}

/// How many type parameters of an impl have to stand for something.
fn parameters(bindings: &Bindings) -> usize {
    bindings.keys().filter(|v| !v.starts_with('$')).count()
}

/// Whether a call may give the variables of the rule that holds an impl these values; one that goes through other
/// macros may.
fn makes(plan: &Plan<'_>, call: NodeId, implementation: NodeId, variables: &[(&str, &str)]) -> bool {
    let tree = plan.tree;
    let rule = tree.ancestors(implementation).find(|&a| tree.nodes[a].kind == Kind::MacroRule);
    let definition = tree.made_by(implementation);
    let (Some(rule), Some(definition)) = (rule, definition) else { return true };
    if tree.nodes[call].macro_name != tree.nodes[definition].name {
        return true;
    }
    let group = |text: &str| {
        let group = text.parse::<proc_macro2::TokenStream>().ok()?.into_iter().find_map(|t| match t {
            proc_macro2::TokenTree::Group(g) => Some(g.stream()),
            _ => None,
        })?;
        Some(group)
    };
    let matcher = group(&plan.text[tree.nodes[rule].name_range.clone()]);
    let given = group(&plan.text[tree.nodes[call].range.clone()]);
    let (Some(matcher), Some(given)) = (matcher, given) else { return true };
    let Some(values) = arguments(matcher, given) else { return false };
    variables.iter().all(|(variable, name)| {
        // What a repetition holds is not told apart.
        values.get(*variable).is_none_or(|value| Ty::parse(value).is_none_or(|t| t.head().is_none_or(|h| h == *name)))
    })
}

/// The derives of a type that a derive of it does not go without.
fn derives_with(plan: &Plan<'_>, derive: NodeId) -> Vec<NodeId> {
    let tree = plan.tree;
    if tree.nodes[derive].kind != Kind::Derive {
        return Vec::new();
    }
    let needed: &[&str] = match tree.nodes[derive].name.as_str() {
        "Copy" => &["Clone"],
        "Eq" | "PartialOrd" => &["PartialEq"],
        "Ord" => &["PartialOrd", "Eq", "PartialEq"],
        _ => return Vec::new(),
    };
    let own_type = tree.nodes[tree.nodes[derive].parent].parent;
    let lists = tree.children[own_type].iter().filter(|&&c| tree.nodes[c].kind == Kind::Derives);
    let others = lists.flat_map(|&l| tree.children[l].iter().copied());
    others.filter(|&d| plan.cut[d] && needed.contains(&tree.nodes[d].name.as_str())).collect()
}

/// Traits that an error code stands for without naming them.
fn implied_traits(code: &str, full: &str) -> Vec<&'static str> {
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

/// What stands between backticks, split into identifiers.
fn words(text: &str, out: &mut Vec<String>) {
    for (i, quoted) in text.split('`').enumerate() {
        if i % 2 == 0 {
            continue;
        }
        for w in quoted.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
            if !w.is_empty() && !out.iter().any(|o| o == w) {
                out.push(w.to_owned());
            }
        }
    }
}

fn fault<'a>(error: &'a Diagnostic, pieces: &[Piece]) -> Fault<'a> {
    let mut spans: Vec<_> = error.spans.iter().collect();
    spans.sort_by_key(|s| !s.is_primary);
    let mut places: Vec<usize> = spans.iter().filter_map(|s| back(pieces, outermost(s)?)).collect();
    let in_file = |s: &&&crate::compile::DiagnosticSpan| s.expansion.is_some() && s.file_name == crate::compile::FILE_NAME;
    let definitions = spans.iter().filter(in_file).filter_map(|s| back(pieces, s.byte_start as usize)).collect();
    let mut found = Vec::new();
    words(&error.message, &mut found);
    let mut full = error.message.clone();
    for s in &spans {
        if let Some(label) = &s.label {
            words(label, &mut found);
            full.push_str(label);
        }
    }
    for child in &error.children {
        // Lists of what else there is are no demand.
        if child.message.starts_with("the following other types") || child.message.contains("other candidates") {
            continue;
        }
        words(&child.message, &mut found);
        full.push('\n');
        full.push_str(&child.message);
        for s in &child.spans {
            if let Some(label) = &s.label {
                words(label, &mut found);
            }
            places.extend(outermost(s).and_then(|o| back(pieces, o)));
        }
    }
    Fault {
        code: error.code.as_ref().map_or("", |c| c.code.as_str()),
        message: &error.message,
        places,
        definitions,
        words: found,
        bounds: bounds(&full)
            .into_iter()
            .chain(of_operator(&error.message))
            .chain(of_method(receiver(&error.message), &full))
            .collect(),
        full,
    }
}

/// The modules that names at a node are looked up in: its own and, for `super::*`, those around it.
fn modules_around<'p>(plan: &'p Plan<'_>, id: NodeId) -> impl Iterator<Item = NodeId> + 'p {
    let tree = plan.tree;
    let own = if tree.nodes[id].kind == Kind::Module { id } else { tree.module(id) };
    std::iter::successors((own != 0).then_some(own), move |&m| {
        let up = tree.module(m);
        (up != 0).then_some(up)
    })
    .chain(std::iter::once(0))
}

fn module_path(plan: &Plan<'_>, id: NodeId) -> Vec<NodeId> {
    let mut path: Vec<NodeId> = modules_around(plan, id).collect();
    path.reverse();
    path
}

/// Members that an impl lacks.
fn members(plan: &Plan<'_>, fault: &Fault<'_>, remedy: &mut Remedy) {
    let tree = plan.tree;
    for &place in fault.places.iter().chain(&fault.definitions) {
        let Some(owner) = tree.ancestors(tree.at(place)).find(|&a| tree.nodes[a].kind == Kind::TraitImpl) else { continue };
        let children = &tree.children[owner];
        let before = remedy.restore.len();
        let made = children.iter().flat_map(|c| tree.made_members.get(c)).flatten();
        let members = children.iter().chain(made).copied();
        let named = |c: NodeId| fault.words.contains(&tree.nodes[c].name) || tree.nodes[c].name.starts_with('$');
        remedy.restore.extend(members.filter(|&c| plan.cut[c] && named(c)));
        if remedy.restore.len() == before {
            let calls = children.iter().copied().filter(|&c| tree.nodes[c].kind == Kind::MacroCall);
            let words = fault.words.iter().map(String::as_str);
            remedy.restore.extend(calls.flat_map(|c| tree.elements(c, words.clone())).filter(|&c| plan.cut[c]));
        }
        return;
    }
}

/// Variants that used a type parameter.
fn variants(plan: &Plan<'_>, fault: &Fault<'_>, remedy: &mut Remedy) {
    let tree = plan.tree;
    for &place in fault.places.iter().chain(&fault.definitions) {
        if let Some(e) = tree.ancestors(tree.at(place)).find(|&a| tree.nodes[a].kind == Kind::Enum) {
            let name = fault.words.first().map_or("", String::as_str);
            let uses = |&&c: &&NodeId| {
                let text = &plan.text[tree.nodes[c].range.clone()];
                text.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|w| w == name)
            };
            remedy.restore.extend(tree.children[e].iter().filter(|&&c| tree.nodes[c].kind == Kind::Variant).filter(uses));
            return;
        }
    }
}

/// The assignments that give a variable its value; `false` when none is cut.
fn assignments(plan: &Plan<'_>, fault: &Fault<'_>, remedy: &mut Remedy) -> bool {
    let (Some(name), Some(&place)) = (fault.words.first(), fault.places.first()) else { return false };
    let found = cut_statements(plan, place, |code| assigns(code, name));
    let any = !found.is_empty();
    remedy.restore.extend(found);
    any
}

/// What tells the type of a variable: the first assignment to it, else the first statement that names it; `false`
/// when none is cut.
fn types_of_variable(plan: &Plan<'_>, fault: &Fault<'_>, remedy: &mut Remedy) -> bool {
    let Some(&place) = fault.places.first().filter(|_| fault.definitions.is_empty()) else { return false };
    let code = &plan.text[place..];
    let code = code.strip_prefix("mut ").unwrap_or(code);
    let name = identifier(code);
    if name.is_empty() {
        return false;
    }
    let names = |code: &str| code.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|w| w == name);
    let first = cut_statements(plan, place, |code| assigns(code, name))
        .into_iter()
        .next()
        .or_else(|| cut_statements(plan, place, names).into_iter().next());
    remedy.restore.extend(first);
    first.is_some()
}

/// The statements of the function at a place that are cut and in no other such statement, and have such code.
fn cut_statements(plan: &Plan<'_>, place: usize, has: impl Fn(&str) -> bool) -> Vec<NodeId> {
    let tree = plan.tree;
    let Some(function) = tree.function(tree.at(place)) else { return Vec::new() };
    let gone =
        |&i: &NodeId| tree.nodes[i].kind == Kind::Stmt && !plan.stands(i) && has(&plan.text[tree.nodes[i].range.clone()]);
    let found: Vec<NodeId> = tree.subtree(function).filter(gone).collect();
    // Of a statement in a statement the inner one says it.
    found.iter().copied().filter(|&i| !found.iter().any(|&o| o != i && tree.subtree(i).contains(&o))).collect()
}

/// Whether a statement assigns to a variable.
fn assigns(code: &str, name: &str) -> bool {
    let rest = code.strip_prefix(name).map(str::trim_start);
    rest.is_some_and(|r| r.starts_with('=') && !r.starts_with("=="))
}

/// The last statement of a body that lacks its value: it may well be what returns it.
fn last_statement(plan: &Plan<'_>, fault: &Fault<'_>, remedy: &mut Remedy) -> bool {
    let tree = plan.tree;
    let places = fault.places.iter().chain(&fault.definitions);
    let function = places.filter_map(|&p| tree.function(tree.at(p))).next();
    let body = function.and_then(|f| tree.children[f].iter().find(|&&c| tree.nodes[c].kind == Kind::Body));
    let last = body.and_then(|&b| tree.children[b].iter().rev().find(|&&s| plan.cut[s]));
    remedy.restore.extend(last);
    last.is_some()
}

/// The smallest cut pieces right around an error.
fn innermost_cuts(plan: &Plan<'_>, fault: &Fault<'_>, remedy: &mut Remedy) {
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
fn outermost_cuts(plan: &Plan<'_>, function: NodeId) -> Vec<NodeId> {
    let tree = plan.tree;
    tree.subtree(function)
        .filter(|&i| plan.cut[i] && tree.nodes[i].kind.in_body())
        .filter(|&i| !tree.ancestors(i).skip(1).take_while(|&a| a != function).any(|a| plan.cut[a]))
        .collect()
}

/// Where a message says in which module a name is not found: what is cut of the way to it, and the name's own item.
fn way_of(plan: &Plan<'_>, here: NodeId, fault: &Fault<'_>) -> BTreeSet<NodeId> {
    let tree = plan.tree;
    let mut quoted = fault.message.split('`').skip(1).step_by(2);
    let (Some(name), Some(module)) = (quoted.next(), quoted.next()) else { return BTreeSet::new() };
    if !fault.message.contains(" in module `") && !fault.message.contains("` in `") {
        return BTreeSet::new();
    }
    let mut path: Vec<String> = module.split("::").filter(|s| !s.is_empty()).map(str::to_owned).collect();
    path.push(name.to_owned());
    way_to(plan, tree.module(here), &path)
}

/// What is cut of the way that a path written in a module goes, and the item that it ends in.
fn way_to(plan: &Plan<'_>, from: NodeId, path: &[String]) -> BTreeSet<NodeId> {
    let tree = plan.tree;
    let Some((name, modules)) = path.split_last() else { return BTreeSet::new() };
    let mut way = BTreeSet::new();
    super::paths::resolve(tree, from, path, &mut way);
    let end = if modules.is_empty() { Some(from) } else { super::paths::resolve(tree, from, modules, &mut BTreeSet::new()) };
    let own = end.into_iter().flat_map(|m| tree.children[m].iter().copied());
    way.extend(own.filter(|&c| tree.nodes[c].name == *name && tree.nodes[c].kind.is_item()));
    way.retain(|&n| plan.cut[n] || !plan.stands(n) || tree.nodes[n].kind == Kind::Module && !plan.wanted[n]);
    way
}

/// Wider and wider restores around an error that nothing specific helps.
fn fall_back(repairer: &Repairer, plan: &Plan<'_>, fault: &Fault<'_>, effort: usize, remedy: &mut Remedy) {
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
            text.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|w| w.len() > 1 && names.contains(w))
        };
        if effort == 0 && add(remedy, &mut cut_here().into_iter().filter(about)) {
            return;
        }
        if add(remedy, &mut tree.subtree(f).filter(|&i| tree.nodes[i].kind.in_body())) && effort < 2 {
            return;
        }
    }
    // Whatever has to do with a name that is quoted: its derives, its impls, the name itself.
    let about: Vec<NodeId> = cut_impls(plan).filter(|i| fault.words.contains(&i.by.to_owned())).map(|i| i.node).collect();
    let named = fault
        .words
        .iter()
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

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn words_are_what_stands_between_backticks() {
        let mut w = Vec::new();
        words("the trait `From<a::Error>` is not implemented for `Foo<'_>`, see `a::Error`", &mut w);
        assert_eq!(w, ["From", "a", "Error", "Foo", "_"]);
    }
}
