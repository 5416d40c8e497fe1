//! Who uses an item and whom it uses: the graph's answer for people, and for agents that ask.
//!
//! The graph is over parts of bodies; here they are counted as the items that hold them, each with its place in the project.

use super::Prepared;
use super::nodes::{Kind, NodeId};
use crate::error::{Error, Result};
use crate::workspace::relative;
use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// An item of the project.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Item {
    /// Its path in the bundle: modules, the type of an impl, its name.
    pub path: String,
    /// What it is, in Rust's words.
    pub kind: &'static str,
    /// Relative to the project's root when inside it; none for what no file has.
    pub file: Option<Utf8PathBuf>,
    /// 1-based line of its name.
    pub line: Option<usize>,
}

/// An item, and the lines where it uses the one that was asked for, or is used by it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Edge {
    /// The other item.
    #[serde(flatten)]
    pub item: Item,
    /// 1-based lines of the statements (or items) that hold the uses, in the file of who uses.
    pub at: Vec<usize>,
}

/// An item and what the graph knows of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Neighbours {
    /// The item.
    #[serde(flatten)]
    pub item: Item,
    /// Who uses it, `use`s among them.
    pub used_by: Vec<Edge>,
    /// What it uses of the project.
    pub uses: Vec<Edge>,
    /// Of a type or trait: its impls.
    pub impls: Vec<Item>,
}

impl Prepared {
    /// The items of that name, or whose path ends so (`add`, `Cart::add`, `cart::Cart::add`), with their neighbours; files are given
    /// relative to `root`. Uses that rustc does not resolve one by one (of trait impls, of modules) are not known.
    ///
    /// # Errors
    /// [`Error::Usage`] with names that come close when there is no such item; [`Error::Unsupported`] where rustc gave no graph.
    pub fn neighbours(&self, name: &str, root: &Utf8Path, what: &str) -> Result<Vec<Neighbours>> {
        if !self.has_graph {
            let reason = "rustc does not take the marks that tell who uses what, so there is no graph; see what the test runs with `trace`";
            return Err(Error::Unsupported { test: what.to_owned(), reason: reason.into() });
        }
        let paths: Vec<(NodeId, String)> =
            (1..self.tree.nodes.len()).filter(|&i| self.is_named(i)).map(|i| (i, self.path(i))).collect();
        let wanted = name.trim().trim_start_matches("crate::");
        let found: Vec<NodeId> = paths.iter().filter(|(_, path)| ends_with(path, wanted)).map(|(i, _)| *i).collect();
        if found.is_empty() {
            let near = crate::tests::nearest(wanted, paths.iter().map(|(_, path)| path.as_str()));
            let near = near.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
            let hint =
                if near.is_empty() { "see what the test runs with `trace`".into() } else { format!("did you mean {near}?") };
            return Err(Error::Usage(format!("no item of {what} is called `{wanted}`; {hint}")));
        }
        let mut users: BTreeMap<NodeId, Vec<NodeId>> = BTreeMap::new();
        for (user, used) in self.graph.uses.iter().enumerate() {
            used.iter().for_each(|&u| users.entry(u).or_default().push(user));
        }
        Ok(found.into_iter().map(|id| self.of(id, &users, root)).collect())
    }

    fn of(&self, id: NodeId, users: &BTreeMap<NodeId, Vec<NodeId>>, root: &Utf8Path) -> Neighbours {
        let own = self.tree.subtree(id);
        let outside = |node: &NodeId| !own.contains(node);
        let (mut used_by, mut uses) = (BTreeMap::new(), BTreeMap::new());
        for user in own.clone().filter_map(|i| users.get(&i)).flatten().copied().filter(outside) {
            self.add(&mut used_by, user, user, root);
        }
        for user in own.clone() {
            for used in self.graph.uses[user].iter().copied().filter(outside) {
                self.add(&mut uses, used, user, root);
            }
        }
        let node = &self.tree.nodes[id];
        let has_impls = matches!(node.kind, Kind::Struct | Kind::Enum | Kind::Union | Kind::Trait);
        let is_impl = |i: &NodeId| {
            let other = &self.tree.nodes[*i];
            matches!(other.kind, Kind::Impl | Kind::TraitImpl)
                && (if node.kind == Kind::Trait { &other.trait_name } else { &other.type_name }) == &node.name
        };
        let impls = (1..self.tree.nodes.len()).filter(|_| has_impls).filter(is_impl).map(|i| self.item(i, root)).collect();
        Neighbours { item: self.item(id, root), used_by: edges(used_by), uses: edges(uses), impls }
    }

    /// Counts a use of, or by, the item that holds `other`, in the line of `user`.
    fn add(&self, edges: &mut BTreeMap<Item, BTreeSet<usize>>, other: NodeId, user: NodeId, root: &Utf8Path) {
        let holds = |&i: &NodeId| {
            self.is_named(i) || matches!(self.tree.nodes[i].kind, Kind::UseLeaf | Kind::Impl | Kind::TraitImpl)
        };
        let Some(holder) = self.tree.ancestors(other).find(holds) else { return };
        let at = self.bundle.map.place(self.tree.nodes[user].range.start).map(|(_, at)| at.line);
        edges.entry(self.item(holder, root)).or_default().extend(at);
    }

    /// An item that has a name, and is no part of a body.
    fn is_named(&self, id: NodeId) -> bool {
        let node = &self.tree.nodes[id];
        node.kind.is_item() && !node.local && !node.name.is_empty() && node.kind != Kind::ExternCrate
    }

    fn path(&self, id: NodeId) -> String {
        let mut parts: Vec<&str> = self.tree.ancestors(id).filter_map(|i| self.part(i)).collect();
        parts.reverse();
        parts.join("::")
    }

    /// What a node adds to the paths of what it holds.
    fn part(&self, id: NodeId) -> Option<&str> {
        let node = &self.tree.nodes[id];
        let name = match node.kind {
            Kind::Impl | Kind::TraitImpl => &node.type_name,
            Kind::UseLeaf => &node.name,
            _ if self.is_named(id) => &node.name,
            _ => return None,
        };
        Some(name.as_str()).filter(|name| !name.is_empty())
    }

    fn item(&self, id: NodeId, root: &Utf8Path) -> Item {
        let node = &self.tree.nodes[id];
        let start = if node.name_range.is_empty() { node.range.start } else { node.name_range.start };
        let place = self.bundle.map.place(start);
        let mut path = self.path(id);
        if node.kind == Kind::TraitImpl {
            path = format!("{path} as {}", node.trait_name);
        }
        Item {
            path,
            kind: word(node.kind),
            file: place.map(|(file, _)| relative(file, root).to_owned()),
            line: place.map(|(_, at)| at.line),
        }
    }
}

fn edges(found: BTreeMap<Item, BTreeSet<usize>>) -> Vec<Edge> {
    found.into_iter().map(|(item, at)| Edge { item, at: at.into_iter().collect() }).collect()
}

/// Whether a path is the wanted one, or ends with it at a `::`.
fn ends_with(path: &str, wanted: &str) -> bool {
    !wanted.is_empty() && path.strip_suffix(wanted).is_some_and(|rest| rest.is_empty() || rest.ends_with("::"))
}

fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Module => "module",
        Kind::Fn | Kind::ForeignItem => "function",
        Kind::Struct => "struct",
        Kind::Enum => "enum",
        Kind::Union => "union",
        Kind::Variant => "variant",
        Kind::Trait => "trait",
        Kind::Impl => "impl",
        Kind::TraitImpl => "trait impl",
        Kind::Const | Kind::ImplConst | Kind::TraitConst => "const",
        Kind::Static => "static",
        Kind::TypeAlias | Kind::ImplType | Kind::TraitType => "type",
        Kind::MacroRules | Kind::MacroRule => "macro",
        Kind::MacroCall => "macro call",
        Kind::ImplFn => "method",
        Kind::TraitFn => "trait method",
        Kind::UseLeaf => "use",
        _ => "item",
    }
}

impl Neighbours {
    /// It as text: the item with its place, then who uses it, what it uses, its impls, one a line.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = format!("{}\n", shown(&self.item));
        for (title, edges) in [("used by", &self.used_by), ("uses", &self.uses)] {
            push(&mut out, format_args!("  {title}:{}\n", if edges.is_empty() { " nothing that is known" } else { "" }));
            for edge in edges {
                let lines = edge.at.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
                push(&mut out, format_args!("    {}, in line {lines}\n", shown(&edge.item)));
            }
        }
        for item in &self.impls {
            push(&mut out, format_args!("  impl: {}\n", shown(item)));
        }
        out
    }
}

fn shown(item: &Item) -> String {
    let place = match (&item.file, item.line) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        _ => "in no file".to_owned(),
    };
    format!("{} {} ({place})", item.kind, item.path)
}

/// Writing to a string can't fail.
fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}

#[cfg(test)]
mod unit {
    use super::*;
    use crate::bundle::Bundle;
    use crate::reduce::graph::Graph;
    use crate::reduce::nodes::Tree;
    use crate::source::map::{Segment, SourceFile, SourceMap};

    const TEXT: &str = "struct A;\nimpl A {\n    fn f() {\n        g();\n        g();\n    }\n}\nfn g() {}\nmod m {\n    use super::g;\n}\n";

    fn prepared(has_graph: bool) -> Prepared {
        let tree = Tree::parse(TEXT).unwrap();
        let g = (1..tree.nodes.len()).find(|&i| tree.nodes[i].kind == Kind::Fn).unwrap();
        let uses = tree.nodes.iter().map(|n| match n.kind {
            Kind::Stmt | Kind::UseLeaf => vec![g],
            _ => Vec::new(),
        });
        let graph = Graph { uses: uses.collect(), marked: vec![true; tree.nodes.len()] };
        let bundle = Bundle {
            text: TEXT.to_owned(),
            map: SourceMap {
                files: vec![SourceFile::new("/p/src/a.rs", TEXT)],
                segments: vec![Segment { start: 0, len: TEXT.len(), origin: Some((0, 0)) }],
            },
            edition: "2021".to_owned(),
            wrapper: None,
            library: None,
            test_only: Vec::new(),
            crates: Vec::new(),
        };
        Prepared { bundle, tree, graph, has_graph }
    }

    fn asked(name: &str) -> Result<String> {
        let found = prepared(true).neighbours(name, Utf8Path::new("/p"), "it")?;
        Ok(found.iter().map(Neighbours::text).collect())
    }

    #[test]
    fn uses_in_bodies_count_as_those_of_their_functions_with_the_lines_of_the_statements() {
        let told = "function g (src/a.rs:8)\n  used by:\n    method A::f (src/a.rs:3), in line 4, 5\n    use m::g (src/a.rs:10), in line 10\n  uses: nothing that is known\n";
        assert_eq!(asked("g").unwrap(), told);
        let told = "method A::f (src/a.rs:3)\n  used by: nothing that is known\n  uses:\n    function g (src/a.rs:8), in line 4, 5\n";
        assert_eq!(asked("A::f").unwrap(), told);
        assert_eq!(asked("crate::A::f").unwrap(), told);
        assert!(asked("A").unwrap().ends_with("  impl: impl A (src/a.rs:2)\n"));
    }

    #[test]
    fn a_name_that_no_item_has_is_answered_with_one_that_comes_close() {
        assert_eq!(asked("A::ff").unwrap_err().to_string(), "no item of it is called `A::ff`; did you mean `A::f`?");
        // The end of a name is no name.
        assert!(asked("").is_err() && asked(":f").is_err());
    }

    #[test]
    fn without_a_graph_nobody_knows() {
        let e = prepared(false).neighbours("g", Utf8Path::new("/p"), "it").unwrap_err();
        assert!(matches!(e, Error::Unsupported { .. }), "{e}");
    }
}
