//! From the full bundle to the least that still does what the test does.
//!
//! The compiler is the oracle. A graph of what uses what comes from rustc itself ([`graph`]), coverage says what
//! ran ([`ran`]); the closure over both is computed offline (`plan`), and what it lacks is added by rustc's
//! errors (`repair`). Then rustc's lints say what is left over. Nothing that ran is ever cut.
//!
//! Invariant: every [`Reduced`] text was accepted by rustc; if the repairs don't converge, that is the bundle.

mod build;
pub mod graph;
pub mod nodes;
mod plan;
pub mod ran;
mod repair;
mod syntax;
mod transcriber;

use crate::bundle::Bundle;
use crate::compile::{Checked, Compiler};
use crate::error::{Error, Result};
use crate::source::edit::Piece;
use crate::source::map::SourceMap;
use graph::{Graph, back};
use nodes::{Kind, NodeId, Tree};
use plan::{Basis, Plan};
use ran::Ran;
use repair::Repairer;
use serde::Serialize;

/// Rounds of repairs before everything is given back.
const MAX_ROUNDS: usize = 40;
/// Rounds of lints.
const MAX_POLISH: usize = 12;

/// Checks that trying without single nodes may take.
const MAX_TRIALS: usize = 40;
/// How many doubtful nodes are first tried together.
const TRIAL_CHUNK: usize = 4;

/// How far a reduction goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Not at all: the whole crate.
    Bundle,
    /// Items that are not needed go.
    Items,
    /// Statements, arms and branches that never ran go, too.
    #[default]
    Full,
}

/// What a reduction is to reach.
#[derive(Clone, Copy, Debug, Default)]
pub struct Goal {
    /// How far it goes.
    pub level: Level,
    /// Bodies that never ran may become `unimplemented!()`.
    pub stubs: bool,
}

/// What all tests of a target share: the bundle, its nodes, its graph.
#[derive(Debug)]
pub struct Prepared {
    /// The whole crate as one file.
    pub bundle: Bundle,
    /// Its parts.
    pub tree: Tree,
    /// Who uses what; without edges when rustc took no marks.
    pub graph: Graph,
    /// Whether there is a graph.
    pub has_graph: bool,
}

/// Checks that the bundle compiles, and builds its graph at the same time.
///
/// # Errors
/// [`Error::Bundling`] with rustc's error, its location mapped to the user's file.
pub fn prepare(bundle: Bundle, compiler: &Compiler, what: &str) -> Result<Prepared> {
    let tree =
        Tree::parse(&bundle.text).map_err(|e| Error::Internal(format!("the bundle of {what} does not parse: {e}")))?;
    let (checked, graph) = std::thread::scope(|scope| {
        let check = scope.spawn(|| compiler.check(&bundle.text, &[]));
        let graph = Graph::build(&bundle.text, &tree, compiler);
        (check.join(), graph)
    });
    let checked = checked.map_err(|_| Error::Internal("checking the bundle panicked".into()))??;
    if !checked.ok {
        return Err(Error::Bundling { test: what.to_owned(), reason: mapped_error(&checked, &bundle.map) });
    }
    let graph = graph?;
    let has_graph = graph.is_some();
    let graph = graph.unwrap_or_else(|| Graph { uses: vec![Vec::new(); tree.nodes.len()] });
    Ok(Prepared { bundle, tree, graph, has_graph })
}

/// The first error of a check, with the place in the user's own file.
#[must_use]
pub fn mapped_error(checked: &Checked, map: &SourceMap) -> String {
    let rendered = checked.first_error();
    let place = checked
        .errors()
        .next()
        .and_then(|e| e.spans.iter().find(|s| s.is_primary).and_then(graph::outermost))
        .and_then(|at| map.place(at));
    match place {
        Some((path, at)) => format!("{}\n  in the project: {path}:{}:{}", rendered.trim_end(), at.line, at.column),
        None => rendered,
    }
}

/// A reduced text.
#[derive(Clone, Debug)]
pub struct Reduced {
    /// The text; rustc accepts it.
    pub text: String,
    /// Where each byte comes from in the project.
    pub map: SourceMap,
    /// Rounds of repairs it took.
    pub rounds: usize,
    /// The repairs did not converge, and everything was given back.
    pub gave_up: bool,
}

impl Prepared {
    /// The node that makes the test `name` (its path inside the target): a function, or a macro call.
    #[must_use]
    pub fn locate(&self, name: &str, place: Option<usize>) -> Option<NodeId> {
        let mut segments: Vec<&str> = name.split("::").collect();
        if let Some(wrapper) = &self.bundle.wrapper {
            segments.insert(0, wrapper);
        }
        let tree = &self.tree;
        let mut module = 0;
        for (i, segment) in segments.iter().enumerate() {
            let segment = segment.strip_prefix("r#").unwrap_or(segment);
            let children = || tree.children[module].iter().copied();
            let named = |kind: Kind| children().find(|&c| tree.nodes[c].kind == kind && tree.nodes[c].name == segment);
            let last = i + 1 == segments.len();
            if let Some(f) = named(Kind::Fn)
                && (last || named(Kind::Module).is_none())
            {
                return Some(f);
            }
            if let Some(m) = named(Kind::Module)
                && !last
            {
                module = m;
                continue;
            }
            let calls: Vec<NodeId> = children().filter(|&c| tree.nodes[c].kind == Kind::MacroCall).collect();
            let at_place = calls.iter().copied().find(|&c| place.is_some_and(|p| tree.nodes[c].range.contains(&p)));
            let rest = &segments[i..];
            let by_first = calls.iter().copied().find(|&c| tree.nodes[c].words.contains(rest[0]));
            let by_any = calls.iter().copied().find(|&c| rest.iter().any(|s| tree.nodes[c].words.contains(*s)));
            let by_macro = calls.iter().copied().find(|&c| {
                let name = &tree.nodes[c].macro_name;
                tree.nodes
                    .iter()
                    .any(|n| n.kind == Kind::MacroRules && n.name == *name && n.words.contains(rest[rest.len() - 1]))
            });
            // Attribute macros that put a case's number behind the function's name.
            let by_prefix =
                children().find(|&c| tree.nodes[c].kind == Kind::Fn && segment.starts_with(tree.nodes[c].name.as_str()));
            return at_place.or(by_first).or(by_any).or(by_macro).or(by_prefix);
        }
        None
    }

    /// Items that belong to the test alone: those of the test's own module that exist only for tests.
    #[must_use]
    pub fn helpers(&self, test: NodeId) -> Vec<NodeId> {
        let module = self.tree.module(test);
        let marked: Vec<NodeId> = self.bundle.test_only.iter().map(|&at| self.tree.at(at)).collect();
        let for_tests = |id: NodeId| self.tree.ancestors(id).any(|a| marked.contains(&a));
        let item = |id: &NodeId| {
            let n = &self.tree.nodes[*id];
            (n.kind.is_item() && !matches!(n.kind, Kind::Module | Kind::MacroCall | Kind::ExternCrate)) && for_tests(*id)
        };
        self.tree.children[module].iter().copied().filter(item).collect()
    }

    /// Reduces the bundle to what `test` needs.
    ///
    /// # Errors
    /// When rustc can't be run, or on Ctrl-C.
    pub fn reduce(&self, test: NodeId, ran: &Ran, goal: Goal, compiler: &Compiler) -> Result<Reduced> {
        if goal.level == Level::Bundle {
            return Ok(Reduced { text: self.bundle.text.clone(), map: self.bundle.map.clone(), rounds: 0, gave_up: false });
        }
        let whole = self.whole(test);
        let never = self.cuttable(ran, &whole, goal);
        let basis = Basis {
            text: &self.bundle.text,
            tree: &self.tree,
            graph: &self.graph,
            ran: &ran.ran,
            whole: &whole,
            never: &never,
            goal,
        };
        let mut plan = if self.has_graph { closure(basis, test, ran) } else { Plan::full(basis) };
        let mut work = Work { repairer: Repairer::new(&plan), compiler, rounds: 0 };
        let gave_up = !work.repair(&mut plan, false)?;
        if gave_up {
            plan = Plan::full(basis);
        }
        let before = plan.clone();
        if !work.polish(&mut plan)? {
            plan = before;
        }
        if work.try_without(&mut plan)? {
            let before = plan.clone();
            if !work.polish(&mut plan)? {
                plan = before;
            }
        }
        let (text, pieces) = plan.render();
        let map = self.bundle.map.edited(&pieces);
        Ok(Reduced { text, map, rounds: work.rounds, gave_up })
    }

    /// Nodes inside the test and its helpers: taken as they are.
    fn whole(&self, test: NodeId) -> Vec<bool> {
        let mut whole = vec![false; self.tree.nodes.len()];
        for id in self.helpers(test).into_iter().chain([test]) {
            for inner in self.tree.subtree(id).skip(1) {
                whole[inner] = true;
            }
        }
        whole
    }

    /// Parts of bodies that never ran, in functions that did; and whole bodies of functions that never did where
    /// nothing is lost with them. What is evaluated at compile time shows no counts, so `const fn`s stay whole.
    fn cuttable(&self, ran: &Ran, whole: &[bool], goal: Goal) -> Vec<bool> {
        let tree = &self.tree;
        (0..tree.nodes.len())
            .map(|i| {
                let node = &tree.nodes[i];
                goal.level == Level::Full
                    && node.kind.in_body()
                    && !ran.ran[i]
                    && !whole[i]
                    && !tree.ancestors(i).any(|a| tree.nodes[a].is_const)
                    && tree.function(i).is_some_and(|f| {
                        if node.kind == Kind::Body {
                            !ran.ran[f] && (node.unit || goal.stubs)
                        } else {
                            // In a function that never ran nothing did.
                            let panics = |&b: &NodeId| tree.nodes[b].kind == Kind::Body && tree.nodes[b].catch_all;
                            if ran.ran[f] { ran.never[i] } else { !tree.children[f].iter().any(panics) }
                        }
                    })
            })
            .collect()
    }
}

/// What the test and all that ran need, as far as the graph knows.
fn closure<'a>(basis: Basis<'a>, test: NodeId, ran: &Ran) -> Plan<'a> {
    let mut plan = Plan::empty(basis);
    plan.keep(test);
    for (i, node) in basis.tree.nodes.iter().enumerate() {
        if ran.ran[i] && matches!(node.kind, Kind::Fn | Kind::ImplFn | Kind::TraitFn | Kind::MacroCall) && !node.local {
            plan.keep(i);
        }
    }
    for &call in &ran.macro_calls {
        plan.keep(call);
    }
    plan.keep_imports();
    plan
}

/// The compiler at work on one plan.
struct Work<'c> {
    repairer: Repairer,
    compiler: &'c Compiler,
    rounds: usize,
}

impl Work<'_> {
    /// Adds what rustc's errors ask for until there are none. With `pin`, what comes back stays.
    /// Gives whether the text compiles.
    fn repair(&mut self, plan: &mut Plan<'_>, pin: bool) -> Result<bool> {
        let (text, pieces) = plan.render();
        let checked = self.compiler.check(&text, &[])?;
        self.repair_from(plan, pin, checked, pieces)
    }

    fn repair_from(&mut self, plan: &mut Plan<'_>, pin: bool, mut checked: Checked, mut pieces: Vec<Piece>) -> Result<bool> {
        let mut effort = 0;
        for _ in 0..MAX_ROUNDS {
            if checked.ok {
                return Ok(true);
            }
            self.rounds += 1;
            let remedy = self.repairer.remedy(plan, &checked, &pieces, effort);
            if std::env::var_os("GISTIFY_DEBUG").is_some() {
                debug_round(plan, &checked, &remedy, effort);
            }
            let mut changed = false;
            for &leaf in &remedy.cut {
                if !remedy.restore.contains(&leaf) && !plan.cut[leaf] {
                    plan.drop_node(leaf);
                    changed = true;
                }
            }
            for &id in &remedy.restore {
                changed |= plan.restore(id, pin);
            }
            plan.keep_imports();
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
            checked = self.compiler.check(&text, &[])?;
        }
        Ok(checked.ok)
    }

    /// Tries the text without each doubtful node, several at a time. Gives whether anything went.
    fn try_without(&mut self, plan: &mut Plan<'_>) -> Result<bool> {
        let mut budget = MAX_TRIALS;
        let mut any = false;
        let mut todo: Vec<Vec<NodeId>> = doubtful(plan).chunks(TRIAL_CHUNK).map(<[NodeId]>::to_vec).collect();
        todo.reverse();
        while let Some(chunk) = todo.pop() {
            let chunk: Vec<NodeId> = chunk.into_iter().filter(|&i| plan.stands(i)).collect();
            if chunk.is_empty() || budget == 0 {
                continue;
            }
            budget -= 1;
            let mut without = plan.clone();
            for &i in &chunk {
                without.drop_node(i);
            }
            if self.compiler.check(&without.render().0, &[])?.ok {
                *plan = without;
                any = true;
            } else if let [one] = chunk.as_slice() {
                plan.pinned[*one] = true;
            } else {
                let half = chunk.len() / 2;
                todo.push(chunk[half..].to_vec());
                todo.push(chunk[..half].to_vec());
            }
        }
        Ok(any)
    }

    /// Cuts what rustc's lints call unused, until they are silent. Gives whether the result compiles.
    fn polish(&mut self, plan: &mut Plan<'_>) -> Result<bool> {
        for _ in 0..MAX_POLISH {
            let (text, pieces) = plan.render_private();
            let checked = self.compiler.check(&text, &["dead_code", "unused_imports", "unused_macros"])?;
            if !checked.ok {
                if !self.repair(plan, true)? {
                    return Ok(false);
                }
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
        self.repair(plan, true)
    }
}

/// Nodes whose code did not run and that somebody asked for: each is worth a try without it.
fn doubtful(plan: &Plan<'_>) -> Vec<NodeId> {
    let tree = plan.tree;
    let kinds = |k: Kind| {
        matches!(
            k,
            Kind::TraitImpl
                | Kind::Derive
                | Kind::ImplFn
                | Kind::TraitFn
                | Kind::Fn
                | Kind::MacroCall
                | Kind::Variant
                | Kind::Trait
        )
    };
    let fits = |&i: &NodeId| {
        let n = &tree.nodes[i];
        kinds(n.kind)
            && !plan.ran[i]
            && !plan.whole[i]
            && !plan.pinned[i]
            && !n.local
            && (n.kind != Kind::Variant || plan.may_trim(i))
            && plan.stands(i)
            && (n.kind != Kind::MacroCall || plan.wanted[i])
    };
    let all: Vec<NodeId> = (1..tree.nodes.len()).filter(fits).collect();
    let mut all = all;
    // Parts of bodies that came back, the widest only: what is inside is tried when that has to stay.
    let back = |&i: &NodeId| tree.nodes[i].kind.in_body() && plan.never[i] && !plan.pinned[i] && plan.stands(i);
    all.extend((1..tree.nodes.len()).filter(back));
    all
}

/// Nodes that lints call unused.
fn idle(plan: &Plan<'_>, checked: &Checked, pieces: &[Piece]) -> Vec<NodeId> {
    let tree = plan.tree;
    let mut out = Vec::new();
    for d in &checked.diagnostics {
        let Some(code) = &d.code else { continue };
        for span in d.spans.iter().filter(|s| s.is_primary && s.expansion.is_none()) {
            let (Some(from), Some(to)) = (back(pieces, span.byte_start as usize), back(pieces, span.byte_end as usize))
            else {
                continue;
            };
            let at = tree.at(from);
            if code.code == "unused_imports" {
                let top = tree.ancestors(at).find(|&a| tree.nodes[a].kind == Kind::Use);
                let leaves = top.into_iter().flat_map(|t| tree.subtree(t)).filter(|&i| tree.nodes[i].kind == Kind::UseLeaf);
                out.extend(leaves.filter(|&i| {
                    let r = &tree.nodes[i].range;
                    r.start < to && from < r.end
                }));
            } else if tree.nodes[at].name_range.contains(&from)
                && (tree.nodes[at].kind != Kind::Variant || plan.may_trim(at))
            {
                out.push(at);
            }
        }
    }
    out.retain(|&i| !plan.pinned[i] && !plan.whole[i] && plan.stands(i));
    out
}

/// Shows a round of repairs to a developer (`GISTIFY_DEBUG=1`).
fn debug_round(plan: &Plan<'_>, checked: &Checked, remedy: &repair::Remedy, effort: usize) {
    let name = |i: NodeId| {
        let n = &plan.tree.nodes[i];
        format!("{:?} {}{}{}", n.kind, n.name, n.type_name, n.trait_name)
    };
    eprintln!("--- effort {effort}: {} errors", checked.errors().count());
    for e in checked.errors().take(12) {
        let code = e.code.as_ref().map_or("", |c| c.code.as_str());
        eprintln!("  {code} {} @{:?}", e.message, e.spans.first().map(|s| s.line_start));
    }
    eprintln!("  restore {:?}", remedy.restore.iter().map(|&i| name(i)).take(40).collect::<Vec<_>>());
    eprintln!("  cut {:?}", remedy.cut.iter().map(|&i| name(i)).take(40).collect::<Vec<_>>());
}
