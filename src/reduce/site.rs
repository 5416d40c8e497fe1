//! Where a test stands in a bundle, and what belongs to it alone.

use super::Prepared;
use super::nodes::{Kind, NodeId};
use super::ran::Ran;

/// A test's place in a bundle.
#[derive(Clone, Debug)]
pub struct Site {
    /// What makes the test: a function, or a macro call.
    pub node: NodeId,
    /// For a macro call, the function in the macro's rule that became the test.
    pub function: Option<NodeId>,
    /// For a macro call, the elements of it that make other tests.
    pub others: Vec<NodeId>,
    /// Items that belong to the test alone: those of its own module that exist only for tests.
    pub helpers: Vec<NodeId>,
}

impl Prepared {
    /// The place of the test `name` (its path inside the target), listed at byte `place` of the bundle.
    #[must_use]
    pub fn site(&self, name: &str, place: Option<usize>, ran: &Ran) -> Option<Site> {
        let node = self.locate(name, place)?;
        let function = self.function_in_macro(node, name, ran);
        let mut helpers = self.helpers(node);
        if let Some(definition) = function.and_then(|f| self.tree.made_by(f)) {
            helpers.retain(|&h| h != definition);
        }
        let entries = self.tree.children[node].iter().copied().filter(|&c| self.tree.nodes[c].is_loose_entry());
        let last = name.rsplit("::").next().unwrap_or_default().trim_start_matches("r#");
        let makes = |e: &NodeId| {
            let entry = &self.tree.nodes[*e];
            if entry.is_test { entry.name == last } else { entry.words.contains(last) }
        };
        let (own, others): (Vec<NodeId>, Vec<NodeId>) = entries.partition(makes);
        let known = function.is_some() || own.iter().all(|&e| self.tree.nodes[e].is_test);
        let others = if own.len() == 1 && known { others } else { Vec::new() };
        Some(Site { node, function, others, helpers })
    }

    /// The node that makes the test `name` (its path inside the target): a function, or a macro call.
    fn locate(&self, name: &str, place: Option<usize>) -> Option<NodeId> {
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

    /// The function in a macro's rule that a call made the test `name` of: the one of that name that ran.
    fn function_in_macro(&self, call: NodeId, name: &str, ran: &Ran) -> Option<NodeId> {
        let tree = &self.tree;
        let calls = tree.calls_by_macro();
        let made_here = |f: NodeId| {
            let definition = tree.made_by(f).map(|m| tree.nodes[m].name.as_str());
            definition.and_then(|m| calls.get(m)).is_some_and(|c| c.contains(&call))
        };
        let named = |f: NodeId| {
            let mut path = tree.ancestors(f).filter(|&a| tree.nodes[a].in_macro);
            let mut path = path.by_ref().filter(|&a| matches!(tree.nodes[a].kind, Kind::Fn | Kind::Module));
            let mut segments = name.rsplit("::");
            path.all(|a| {
                let segment = segments.next().unwrap_or_default();
                tree.nodes[a].name.starts_with('$') || tree.nodes[a].name == segment.trim_start_matches("r#")
            })
        };
        let found: Vec<NodeId> = (0..tree.nodes.len())
            .filter(|&i| tree.nodes[i].kind == Kind::Fn && tree.nodes[i].in_macro && tree.nodes[i].is_test && ran.ran[i])
            .filter(|&i| made_here(i) && named(i))
            .collect();
        if let [only] = found.as_slice() { Some(*only) } else { None }
    }

    /// Items that belong to the test alone: those of the test's own module that exist only for tests.
    fn helpers(&self, test: NodeId) -> Vec<NodeId> {
        let module = self.tree.module(test);
        let marked: Vec<NodeId> = self.bundle.test_only.iter().map(|&at| self.tree.at(at)).collect();
        let for_tests = |id: NodeId| self.tree.ancestors(id).any(|a| marked.contains(&a));
        let item = |id: &NodeId| {
            let n = &self.tree.nodes[*id];
            (n.kind.is_item() && !matches!(n.kind, Kind::Module | Kind::MacroCall | Kind::ExternCrate)) && for_tests(*id)
        };
        self.tree.children[module].iter().copied().filter(item).collect()
    }
}
