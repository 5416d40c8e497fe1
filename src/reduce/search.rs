//! The compiler at work on one plan: repairs until it compiles, lints and trials until nothing more can go.

use super::graph::{back, outermost};
use super::hoist::Hoist;
use super::nodes::{Kind, NodeId};
use super::plan::Plan;
use super::repair::{Remedy, Repairer};
use super::{imports, narrow};
use crate::compile::{Checked, Compiler, Diagnostic, FILE_NAME, NOOP};
use crate::error::{Error, Result};
use crate::source::edit::Piece;
use std::collections::{BTreeMap, BTreeSet};

/// Rounds of repairs, all together. When the first text does not compile by then, everything is given back; a
/// polish or a trial that does not is undone.
const MAX_ROUNDS: usize = 40;
/// Rounds of lints.
const MAX_POLISH: usize = 12;

/// What calls something unused.
const LINTS: &[&str] = &["dead_code", "redundant_imports", "unused_imports", "unused_macros", "unused_macro_rules"];

/// As many as may come back around an error as they are.
const FEW: usize = 3;
/// Checks that trying without single nodes may take.
const MAX_TRIALS: usize = 40;

/// The compiler at work on one plan.
pub(super) struct Search<'c> {
    repairer: Repairer,
    compiler: &'c Compiler,
    /// Rounds of repairs so far.
    pub(super) rounds: usize,
    /// Checks that are left for narrowing.
    narrowing: usize,
}

impl<'c> Search<'c> {
    pub(super) fn new(plan: &Plan<'_>, compiler: &'c Compiler) -> Search<'c> {
        Search { repairer: Repairer::new(plan), compiler, rounds: 0, narrowing: narrow::MAX_CHECKS }
    }

    /// Adds what rustc's errors ask for until there are none, and what makes calls of `clone` clone. With `pin`, what comes back stays.
    /// Gives whether the text compiles.
    pub(super) fn repair(&mut self, plan: &mut Plan<'_>, pin: bool) -> Result<bool> {
        let (text, mut pieces) = plan.render();
        let mut checked = self.compiler.check(&text, &[NOOP])?;
        let mut effort = 0;
        while self.rounds < MAX_ROUNDS {
            let mut remedy = if checked.ok {
                self.repairer.clones(plan, &checked, &pieces)
            } else {
                self.repairer.remedy(plan, &checked, &pieces, effort)
            };
            if checked.ok && remedy.restore.is_empty() {
                break;
            }
            self.rounds += 1;
            if std::env::var_os("GISTIFY_DEBUG").is_some() {
                debug_round(plan, &checked, &remedy, effort);
            }
            let mut changed = false;
            if remedy.wide && remedy.restore.len() > FEW {
                self.narrow(plan, &checked, &pieces, &mut remedy)?;
            }
            for hoist in unfit(plan, &checked, &pieces, effort) {
                changed |= plan.bring_down(hoist);
            }
            for &leaf in &remedy.cut {
                if !remedy.restore.contains(&leaf) && !plan.cut[leaf] {
                    plan.drop_node(leaf);
                    changed = true;
                }
            }
            for &id in &remedy.restore {
                changed |= plan.restore(id, pin);
                plan.doubtful[id] = !remedy.sure.contains(&id);
            }
            plan.settle();
            if changed {
                effort = effort.saturating_sub(1);
            } else {
                effort += 1;
                if effort > 6 {
                    return Ok(false);
                }
                continue;
            }
            let (text, p) = plan.render();
            pieces = p;
            checked = self.compiler.check(&text, &[NOOP])?;
        }
        Ok(checked.ok)
    }

    /// Of many things around errors, leaves those in a remedy that have some of the errors go: none, when all of them do not.
    /// Without any of these the errors are there again. Where that can't be told in time, all stay.
    fn narrow(&mut self, plan: &Plan<'_>, checked: &Checked, pieces: &[Piece], remedy: &mut Remedy) -> Result<()> {
        let with = |restored: &[NodeId]| -> Result<Option<BTreeSet<Told>>> {
            let mut with = plan.clone();
            for &id in restored {
                with.restore(id, false);
            }
            with.settle();
            let (text, pieces) = with.render();
            let checked = self.compiler.check(&text, &[])?;
            // Where a macro is not there, rustc does not look at types.
            let complete = !checked.errors().any(|e| e.message.starts_with("cannot find macro"));
            Ok(complete.then(|| told(&checked, &pieces)))
        };
        if self.narrowing == 0 {
            return Ok(());
        }
        self.narrowing -= 1;
        let all: Vec<NodeId> = remedy.restore.iter().copied().collect();
        let before = told(checked, pieces);
        let Some(after) = with(&all)? else { return Ok(()) };
        let gone: BTreeSet<&Told> = before.difference(&after).collect();
        if gone.is_empty() {
            remedy.restore.clear();
            return Ok(());
        }
        let budget = &mut self.narrowing;
        let found = narrow::smallest(&all, &mut |some| -> Result<Option<bool>> {
            if *budget == 0 {
                return Ok(None);
            }
            *budget -= 1;
            Ok(Some(with(some)?.is_some_and(|left| !gone.iter().any(|&error| left.contains(error)))))
        })?;
        if let Some(found) = found {
            remedy.restore = found.into_iter().collect();
        }
        if std::env::var_os("GISTIFY_DEBUG").is_some() {
            eprintln!("--- narrowed {} to {}", all.len(), remedy.restore.len());
        }
        Ok(())
    }

    /// Tries the text without each doubtful node, several at a time. Gives whether anything went.
    pub(super) fn try_without(&mut self, plan: &mut Plan<'_>) -> Result<bool> {
        let all = doubtful(plan);
        if all.is_empty() {
            return Ok(false);
        }
        if let Some(without) = self.without(plan, &all)? {
            *plan = without;
            return Ok(true);
        }
        let mut budget = MAX_TRIALS - 1;
        let mut any = false;
        // None of these can go as a whole.
        let mut todo = vec![all];
        while let Some(chunk) = todo.pop() {
            let chunk: Vec<NodeId> = chunk.into_iter().filter(|&i| plan.stands(i)).collect();
            if let [one] = chunk.as_slice() {
                plan.pinned[*one] = true;
            }
            if chunk.len() < 2 || budget == 0 {
                continue;
            }
            let (first, second) = chunk.split_at(chunk.len() / 2);
            let (without_first, without_second) = self.without_halves(plan, first, second)?;
            budget = budget.saturating_sub(if without_first.is_some() { 1 } else { 2 });
            // With the one half gone, the other can't go: both together could not.
            match without_first.map(|plan| (plan, second)).or(without_second.map(|plan| (plan, first))) {
                Some((without, other)) => {
                    *plan = without;
                    any = true;
                    todo.push(other.to_vec());
                }
                None => todo.extend([second.to_vec(), first.to_vec()]),
            }
        }
        Ok(any)
    }

    /// The plan without some nodes, if its text compiles.
    fn without<'a>(&self, plan: &Plan<'a>, nodes: &[NodeId]) -> Result<Option<Plan<'a>>> {
        let mut without = plan.clone();
        for &i in nodes {
            without.drop_node(i);
            // The impls of a trait's function go with it.
            for member in without.members_of(i) {
                without.drop_node(member);
            }
        }
        Ok(self.compiler.check(&without.render().0, &[])?.ok.then_some(without))
    }

    /// The plan without one half and without the other, where each compiles; the second is of no use where the first does. Both are
    /// tried at once when there is a core for each.
    #[allow(clippy::type_complexity, reason = "two of the same")]
    fn without_halves<'a>(
        &self,
        plan: &Plan<'a>,
        first: &[NodeId],
        second: &[NodeId],
    ) -> Result<(Option<Plan<'a>>, Option<Plan<'a>>)> {
        if !self.compiler.has_two_jobs() {
            let without_first = self.without(plan, first)?;
            let without_second = if without_first.is_some() { None } else { self.without(plan, second)? };
            return Ok((without_first, without_second));
        }
        let (without_first, without_second) = std::thread::scope(|scope| {
            let second = scope.spawn(|| self.without(plan, second));
            (self.without(plan, first), second.join())
        });
        let without_second = without_second.map_err(|_| Error::Internal("trying without a half panicked".into()))?;
        Ok((without_first?, without_second?))
    }

    /// Cuts what rustc's lints call unused, until they are silent. Gives whether the result compiles.
    pub(super) fn polish(&mut self, plan: &mut Plan<'_>) -> Result<bool> {
        let mut lowered = true;
        for _ in 0..MAX_POLISH {
            let (text, pieces) = if lowered { plan.render_private() } else { plan.render() };
            let checked = self.compiler.check(&text, LINTS)?;
            if !checked.ok {
                if std::env::var_os("GISTIFY_DEBUG").is_some() {
                    eprintln!("--- lowered: {}", checked.first_error());
                }
                let before = self.rounds;
                if !self.repair(plan, true)? {
                    return Ok(false);
                }
                // Nothing was wrong with the text itself: this crate does not bear having its `pub`s lowered.
                lowered &= self.rounds > before;
                continue;
            }
            let idle = idle(plan, &checked, &pieces);
            if idle.is_empty() {
                break;
            }
            for id in idle {
                plan.drop_node(id);
            }
        }
        for id in imports::idle(plan) {
            plan.drop_node(id);
        }
        self.repair(plan, true)
    }
}

/// What did not run and stands, and is worth a try without it: first items, then parts of bodies; in the order of
/// the text, so that what is around comes before what is inside and takes it along.
fn doubtful(plan: &Plan<'_>) -> Vec<NodeId> {
    let tree = plan.tree;
    let standing = || (1..tree.nodes.len()).filter(|&i| !plan.pinned[i] && plan.stands(i));
    let item = |&i: &NodeId| {
        let n = &tree.nodes[i];
        // A function that a trait demands may be there for nobody but its impls.
        let of_trait = n.kind == Kind::TraitFn && n.required;
        let variant = n.kind == Kind::Variant && plan.may_trim(i);
        let item = n.kind.is_item() && n.kind != Kind::Module && n.kind != Kind::Variant
            || matches!(n.kind, Kind::Derive | Kind::Entry);
        // An impl in a body stands because the body does.
        let local = n.local && n.kind == Kind::TraitImpl;
        (of_trait || local || plan.doubtful[i] && (item || variant) && !n.local) && !plan.ran[i] && !plan.whole[i]
    };
    let part = |&i: &NodeId| plan.doubtful[i] && tree.nodes[i].kind.in_body() && plan.never[i];
    // A member that an impl of a trait came back for is no more doubtful than the impl.
    let whole_impl = |i: NodeId| {
        let parent = tree.nodes[i].parent;
        let idle = tree.nodes[parent].kind == Kind::TraitImpl && !plan.ran[parent] && !plan.pinned[parent];
        if idle { parent } else { i }
    };
    let mut items: Vec<NodeId> = standing().filter(item).map(whole_impl).collect();
    items.dedup();
    items.into_iter().chain(standing().filter(part)).collect()
}

/// Ends of blocks for which something stands that does not do: an error about variables or types is there.
fn unfit<'a>(plan: &Plan<'a>, checked: &Checked, pieces: &[Piece], effort: usize) -> Vec<&'a Hoist> {
    let tree = plan.tree;
    let named = |code: &str| matches!(code, "E0405" | "E0412" | "E0422" | "E0432" | "E0433" | "E0277" | "E0599" | "E0423");
    let mut out = Vec::new();
    for error in checked.errors() {
        let by_name =
            error.code.as_ref().is_some_and(|code| named(&code.code)) || error.message.starts_with("cannot find function");
        let own = error.spans.iter().filter(|s| s.file_name == FILE_NAME);
        let places: Vec<usize> = own.filter_map(|s| back(pieces, s.byte_start as usize)).collect();
        let hoists = |at: usize| tree.function(tree.at(at)).into_iter().flat_map(|f| plan.hoists_in(f));
        if effort > 0 {
            out.extend(places.iter().flat_map(|&at| hoists(at)));
        } else if !by_name {
            let here = |&at: &usize| hoists(at).filter(|hoist| hoist.rest.contains(&at)).last();
            let inner: Vec<&Hoist> = places.iter().filter_map(here).collect();
            // A value that does not fit may be told of at the signature alone.
            let in_head = |at: &&usize| !tree.ancestors(tree.at(**at)).any(|a| tree.nodes[a].kind == Kind::Body);
            let of_head = places.iter().filter(in_head).flat_map(|&at| hoists(at)).filter(|_| inner.is_empty());
            out.extend(of_head.chain(inner.iter().copied()));
        }
    }
    out
}

/// An error as it is told: its code, its message, and its first place in the bundle.
type Told = (String, String, Option<usize>);

fn told(checked: &Checked, pieces: &[Piece]) -> BTreeSet<Told> {
    let place = |e: &Diagnostic| e.spans.iter().filter(|s| s.is_primary).find_map(|s| back(pieces, outermost(s)?));
    let code = |e: &Diagnostic| e.code.as_ref().map_or(String::new(), |c| c.code.clone());
    checked.errors().map(|e| (code(e), e.message.clone(), place(e))).collect()
}

/// Nodes that lints call unused.
fn idle(plan: &Plan<'_>, checked: &Checked, pieces: &[Piece]) -> Vec<NodeId> {
    let tree = plan.tree;
    let mut out = Vec::new();
    // A variant that nobody makes may stand in patterns: without it, a name there would bind anything.
    let named: BTreeSet<NodeId> = (0..tree.nodes.len())
        .filter(|&i| !plan.graph.uses[i].is_empty() && plan.stands(i))
        .flat_map(|i| plan.graph.uses[i].iter().copied())
        .filter(|&used| tree.nodes[used].kind == Kind::Variant)
        .collect();
    // Of what a macro makes several times, how many were flagged.
    let mut made: BTreeMap<NodeId, usize> = BTreeMap::new();
    for d in &checked.diagnostics {
        let Some(code) = &d.code else { continue };
        for span in d.spans.iter().filter(|s| s.is_primary && s.file_name == FILE_NAME) {
            let (Some(from), Some(to)) = (back(pieces, span.byte_start as usize), back(pieces, span.byte_end as usize))
            else {
                continue;
            };
            let at = tree.at(from);
            if span.expansion.is_some() && !tree.nodes[at].in_macro {
                continue;
            }
            if matches!(code.code.as_str(), "unused_imports" | "redundant_imports") {
                if tree.nodes[at].kind == Kind::ExternCrate && !imports::is_named(plan, at) {
                    // `#[macro_use]` of macros that nobody calls.
                    out.push(at);
                }
                let top = tree.ancestors(at).find(|&a| tree.nodes[a].kind == Kind::Use);
                let leaves = top.into_iter().flat_map(|t| tree.subtree(t)).filter(|&i| tree.nodes[i].kind == Kind::UseLeaf);
                out.extend(leaves.filter(|&i| {
                    let r = &tree.nodes[i].range;
                    r.start < to && from < r.end
                }));
            } else if tree.nodes[at].name_range.contains(&from)
                && (tree.nodes[at].kind != Kind::Variant || plan.may_trim(at) && !named.contains(&at))
            {
                let flagged = made.entry(at).or_default();
                *flagged += 1;
                if *flagged >= plan.made_at(at).count() {
                    out.push(at);
                }
            }
        }
    }
    out.retain(|&i| plan.may_go(i));
    // What is written for a type or a trait goes with it.
    let gone: BTreeSet<NodeId> = out.iter().copied().collect();
    let heads = |i: NodeId| {
        let n = &tree.nodes[i];
        let of = move |g: &&NodeId| tree.nodes[**g].name == n.trait_name || tree.nodes[**g].name == n.type_name;
        matches!(n.kind, Kind::TraitImpl | Kind::Impl) && plan.graph.uses[i].iter().filter(of).any(|u| gone.contains(u))
    };
    out.extend((1..tree.nodes.len()).filter(|&i| plan.stands(i) && !plan.ran[i] && !plan.whole[i] && heads(i)));
    out
}

/// Shows a round of repairs to a developer (`GISTIFY_DEBUG=1`).
fn debug_round(plan: &Plan<'_>, checked: &Checked, remedy: &Remedy, effort: usize) {
    let name = |i: NodeId| {
        let n = &plan.tree.nodes[i];
        let start: Vec<&str> = plan.text[n.range.clone()].split_whitespace().take(12).collect();
        format!("{:?} {}", n.kind, start.join(" ").chars().take(100).collect::<String>())
    };
    eprintln!("--- effort {effort}: {} errors", checked.errors().count());
    for e in checked.errors().take(20) {
        let code = e.code.as_ref().map_or("", |c| c.code.as_str());
        eprintln!("  {code} {} @{:?}", e.message, e.spans.first().map(|s| s.line_start));
        if std::env::var("GISTIFY_DEBUG").is_ok_and(|v| v == "2") {
            eprintln!("{}", e.rendered.as_deref().unwrap_or_default());
        }
    }
    let list = |what: &str, nodes: &BTreeSet<NodeId>| nodes.iter().for_each(|&i| eprintln!("  {what} {}", name(i)));
    list("restore", &remedy.restore);
    list("cut", &remedy.cut);
}
