//! From the full bundle to the least that still does what the test does.
//!
//! The compiler is the oracle. A graph of what uses what comes from rustc itself ([`graph`]), coverage says what
//! ran ([`ran`]); the closure over both is computed offline (`plan`), and what it lacks is added by rustc's
//! errors (`repair`). Then rustc's lints say what is left over. Nothing that ran is ever cut.
//!
//! Invariant: every [`Reduced`] text was accepted by rustc; if the repairs don't converge, that is the bundle.

mod build;
mod consts;
mod demand;
pub mod graph;
mod hoist;
mod imports;
pub mod made;
mod makers;
mod narrow;
pub mod neighbours;
pub mod nodes;
mod paths;
mod plan;
pub mod ran;
mod repair;
mod search;
pub mod site;
mod std_traits;
mod surface;
pub mod syntax;
pub mod types;
mod values;

use crate::bundle::Bundle;
use crate::cache::Cache;
use crate::compile::{Checked, Compiler};
use crate::error::{Error, Result};
use crate::source::map::SourceMap;
use graph::Graph;
use nodes::{Kind, NodeId, Tree};
use plan::{Basis, Plan};
use ran::Ran;
use search::Search;
use serde::{Deserialize, Serialize};
use site::Site;
use std::collections::BTreeSet;
use std::ops::Range;

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
    /// Bodies, and branches with a value, that never ran may become `unimplemented!()`.
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

/// What rustc said of a bundle: kept between runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Known {
    /// What had to be left out of it.
    pub left_out: Vec<Range<usize>>,
    /// Who uses what, if rustc took the marks.
    pub graph: Option<Graph>,
}

impl Known {
    /// The bundle and what is known of it; `None` when this was said of another one. It comes from a file that others may have
    /// written to.
    ///
    /// # Errors
    /// [`Error::Internal`] when what is left of the bundle does not parse.
    pub fn applied(self, mut bundle: Bundle, what: &str) -> Result<Option<Prepared>> {
        let in_text = |r: &Range<usize>| bundle.text.get(r.clone()).is_some();
        if !self.left_out.iter().all(in_text) {
            return Ok(None);
        }
        if !self.left_out.is_empty() {
            bundle = bundle.without(self.left_out);
        }
        let tree = parsed(&bundle.text, what)?;
        let nodes = tree.nodes.len();
        if self.graph.as_ref().is_some_and(|graph| !graph.is_over(nodes)) {
            return Ok(None);
        }
        let has_graph = self.graph.is_some();
        let graph = self.graph.unwrap_or_else(|| Graph { uses: vec![Vec::new(); nodes], marked: vec![false; nodes] });
        Ok(Some(Prepared { bundle, tree, graph, has_graph }))
    }
}

/// Checks that the bundle compiles, and builds its graph at the same time; or takes both from an earlier run on the same
/// text with the same compiler and libraries.
///
/// # Errors
/// [`Error::Bundling`] with rustc's error, its location mapped to the user's file.
pub fn prepare(bundle: Bundle, compiler: &Compiler, what: &str, cache: Option<&Cache>) -> Result<Prepared> {
    let key = match cache {
        Some(cache) => Some((cache, Cache::key(&["graph", &bundle.text, &compiler.identity()?]))),
        None => None,
    };
    let kept = key.as_ref().and_then(|(cache, key)| cache.load::<Known>(key));
    // One that does not fit is as good as none, also where what it leaves does not parse.
    if let Some(Ok(Some(prepared))) = kept.map(|known| known.applied(bundle.clone(), what)) {
        return Ok(prepared);
    }
    let known = ask(&bundle, compiler, what)?;
    if let Some((cache, key)) = &key {
        cache.store(key, &known);
    }
    known.applied(bundle, what)?.ok_or_else(|| Error::Internal(format!("the graph of {what} is not of its bundle")))
}

fn parsed(text: &str, what: &str) -> Result<Tree> {
    Tree::parse(text).map_err(|e| Error::Internal(format!("the bundle of {what} does not parse: {e}")))
}

/// Asks rustc whether the bundle compiles, and for its graph.
fn ask(bundle: &Bundle, compiler: &Compiler, what: &str) -> Result<Known> {
    let tree = parsed(&bundle.text, what)?;
    let (checked, graph) = std::thread::scope(|scope| {
        let check = scope.spawn(|| compiler.check(&bundle.text, &[]));
        let graph = Graph::build(&bundle.text, &tree, compiler);
        (check.join(), graph)
    });
    let checked = checked.map_err(|_| Error::Internal("checking the bundle panicked".into()))??;
    let graph = graph?;
    if checked.ok {
        return Ok(Known { left_out: Vec::new(), graph });
    }
    let unreadable = unreadable_calls(&checked, &tree);
    let left_out: Vec<Range<usize>> = unreadable.into_iter().map(|call| tree.cut_range(&bundle.text, call)).collect();
    let smaller = bundle.without(left_out.clone());
    let checked = if left_out.is_empty() { checked } else { compiler.check(&smaller.text, &[])? };
    if !checked.ok {
        return Err(Error::Bundling { test: what.to_owned(), reason: mapped_error(&checked, &smaller.map) });
    }
    let graph = Graph::build(&smaller.text, &parsed(&smaller.text, what)?, compiler)?;
    Ok(Known { left_out, graph })
}

/// Item macro calls that fail because they hand on the path of a file to read (`doctest!("../README.md")`), which
/// counts from the project's own file. What they make is found out to be missing if it is needed.
fn unreadable_calls(checked: &Checked, tree: &Tree) -> BTreeSet<NodeId> {
    let unreadable = checked.errors().filter(|e| e.message.starts_with("couldn't read "));
    let places = unreadable.flat_map(|e| &e.spans).filter(|s| s.is_primary).filter_map(graph::outermost);
    places.filter_map(|at| tree.ancestors(tree.at(at)).find(|&a| tree.nodes[a].kind == Kind::MacroCall)).collect()
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
    /// Reduces the bundle to what `test` needs.
    ///
    /// # Errors
    /// When rustc can't be run, or on Ctrl-C.
    pub fn reduce(&self, test: &Site, ran: &Ran, goal: Goal, compiler: &Compiler) -> Result<Reduced> {
        if goal.level == Level::Bundle {
            return Ok(Reduced { text: self.bundle.text.clone(), map: self.bundle.map.clone(), rounds: 0, gave_up: false });
        }
        let whole = self.whole(test);
        let evaluated = consts::evaluated(&self.bundle.text, &self.tree, &self.graph);
        let may_cut =
            |i: NodeId| goal.level == Level::Full && !whole[i] && !self.tree.ancestors(i).any(|around| evaluated[around]);
        let never = self.cuttable(ran, may_cut, goal);
        // Where stubs are allowed, a function that never ran is one.
        let stays = |block: NodeId| !goal.stubs || self.tree.function(block).is_some_and(|f| ran.ran[f]);
        let may_hoist = |block: NodeId| self.has_graph && may_cut(block) && stays(block);
        let hoists = hoist::hoists(&self.bundle.text, &self.tree, &self.graph, ran, &never, may_hoist);
        let basis = Basis {
            text: &self.bundle.text,
            tree: &self.tree,
            graph: &self.graph,
            ran: &ran.ran,
            whole: &whole,
            never: &never,
            hoists: &hoists,
            goal,
        };
        let mut plan = if self.has_graph { closure(basis, test.node, ran) } else { Plan::full(basis) };
        let mut search = Search::new(&plan, compiler);
        let gave_up = !search.repair(&mut plan, false)?;
        if gave_up {
            plan = Plan::full(basis);
        }
        let before = plan.clone();
        if !search.polish(&mut plan)? {
            plan = before;
        }
        if search.try_without(&mut plan)? {
            let before = plan.clone();
            if !search.polish(&mut plan)? {
                plan = before;
            }
        }
        let (text, pieces) = plan.render();
        let map = self.bundle.map.edited(&pieces);
        Ok(Reduced { text, map, rounds: search.rounds, gave_up })
    }

    /// Nodes that are taken as they are: those inside the test and its helpers, and of a macro that makes the test
    /// the rule that does, and the bodies of whatever else it makes.
    fn whole(&self, test: &Site) -> Vec<bool> {
        let tree = &self.tree;
        let mut whole = vec![false; tree.nodes.len()];
        for call in (0..tree.nodes.len()).filter(|&i| tree.nodes[i].kind == Kind::MacroCall && tree.nodes[i].fixed) {
            tree.children[call].iter().for_each(|&c| whole[c] = true);
        }
        for id in test.helpers.iter().copied().chain([test.node]).chain(test.function) {
            for inner in tree.subtree(id).skip(1) {
                whole[inner] |= id != test.node || !test.others.contains(&inner);
            }
        }
        if let Some(function) = test.function
            && let Some(definition) = tree.made_by(function)
        {
            for id in tree.subtree(definition).skip(1) {
                whole[id] |= tree.nodes[id].local || tree.nodes[id].kind.in_body();
            }
            for id in tree.ancestors(function).take_while(|&a| a != definition) {
                whole[id] = true;
            }
        }
        whole
    }

    /// Parts of bodies that never ran, in functions that did; and whole bodies of functions that never did where
    /// nothing is lost with them. What is evaluated at compile time shows no counts: such `const fn`s stay whole.
    fn cuttable(&self, ran: &Ran, may_cut: impl Fn(NodeId) -> bool, goal: Goal) -> Vec<bool> {
        let tree = &self.tree;
        (0..tree.nodes.len())
            .map(|i| {
                let node = &tree.nodes[i];
                node.kind.in_body()
                    && (node.kind != Kind::Value || goal.stubs)
                    && !ran.ran[i]
                    && may_cut(i)
                    && tree.function(i).is_some_and(|f| {
                        if node.kind == Kind::Body {
                            !ran.ran[f] && (node.unit || goal.stubs)
                        } else {
                            // In a function that never ran nothing did.
                            let panics = |&b: &NodeId| tree.nodes[b].kind == Kind::Body && tree.nodes[b].fixed;
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
        plan.doubtful[call] = ran.doubtful.contains(&call);
    }
    plan.settle();
    plan
}

#[cfg(test)]
mod unit {
    use super::*;
    use crate::source::map::{Segment, SourceFile};

    #[test]
    fn what_was_kept_of_another_bundle_is_as_good_as_nothing() {
        let text = "fn f() {}\n// ä\nfn g() {}\n";
        let bundle = Bundle {
            text: text.to_owned(),
            map: SourceMap {
                files: vec![SourceFile::new("/p/a.rs", text)],
                segments: vec![Segment { start: 0, len: text.len(), origin: Some((0, 0)) }],
            },
            edition: "2021".to_owned(),
            wrapper: None,
            library: None,
            test_only: Vec::new(),
            crates: Vec::new(),
        };
        let nodes = Tree::parse(text).unwrap().nodes.len();
        let graph = |used: NodeId| Graph { uses: vec![vec![used]; nodes], marked: vec![true; nodes] };
        let fits = |start: usize, end: usize, graph: Option<Graph>| {
            Known { left_out: Vec::from([Range { start, end }]), graph }.applied(bundle.clone(), "it").unwrap().is_some()
        };
        assert!(fits(0, 9, None));
        assert!(fits(0, 0, Some(graph(nodes - 1))));
        assert!(!fits(0, 0, Some(graph(nodes))));
        assert!(!fits(0, 0, Some(Graph::default())));
        // Outside of the text, inside of a character, the wrong way round.
        assert!(!fits(0, 99, None));
        assert!(!fits(0, 14, None));
        assert!(!fits(9, 0, None));
    }
}
