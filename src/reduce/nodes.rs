//! Everything in a bundle that can be kept or cut, as one tree of byte ranges.
//!
//! Items, members of impls and traits, `use` leaves, derives, attributes that only decorate; and inside bodies
//! statements, match arms, branches. The tree is laminar and in preorder, so the innermost node of an offset is
//! found by a binary search and a walk up.

use super::made::AllMade;
use super::surface::{Surface, surface};
use super::types::{Alias, Aliases, Header, Ty};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Index of a node; 0 is the file.
pub type NodeId = usize;

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names are Rust's own")]
pub enum Kind {
    File,
    Module,
    Fn,
    Struct,
    Enum,
    Union,
    Variant,
    Trait,
    Impl,
    TraitImpl,
    Const,
    Static,
    TypeAlias,
    MacroRules,
    /// One rule of a `macro_rules!`. The items that it makes are below it.
    MacroRule,
    /// `$(…)*` around items, in a rule.
    Repetition,
    /// A macro call in the place of an item, or of a member of an impl or trait.
    MacroCall,
    /// A line, or several, of what stands between the braces of a macro call: an element of the macro's repetition.
    Entry,
    ForeignMod,
    ForeignItem,
    ExternCrate,
    /// A whole `use`.
    Use,
    /// A part of a `use` with braces of its own.
    UseGroup,
    UseLeaf,
    /// A method or associated function of an impl.
    ImplFn,
    ImplConst,
    ImplType,
    TraitFn,
    TraitConst,
    TraitType,
    /// A whole `#[derive(…)]`.
    Derives,
    /// One trait in it.
    Derive,
    /// An attribute that only decorates: `#[inline]`, documentation.
    Decoration,
    Stmt,
    Arm,
    /// `else …`
    Else,
    /// What stands between the braces of an `if`, or of a loop.
    Block,
    /// What stands between the braces of a block with a value that is used: a branch, the body of an arm. It is only cut
    /// where stubs are allowed.
    Value,
    /// What stands between the braces of a function.
    Body,
}

impl Kind {
    /// Part of a function's body.
    #[must_use]
    pub fn in_body(self) -> bool {
        matches!(self, Kind::Stmt | Kind::Arm | Kind::Else | Kind::Block | Kind::Value | Kind::Body)
    }

    /// Gone when all of its children are.
    fn is_container(self) -> bool {
        matches!(
            self,
            Kind::Use | Kind::UseGroup | Kind::Derives | Kind::Impl | Kind::Module | Kind::ForeignMod | Kind::Repetition
        )
    }

    /// An item or a member of one: what has a name that others use.
    #[must_use]
    pub fn is_item(self) -> bool {
        !self.in_body()
            && !matches!(
                self,
                Kind::File
                    | Kind::Derives
                    | Kind::Derive
                    | Kind::Decoration
                    | Kind::Use
                    | Kind::UseGroup
                    | Kind::UseLeaf
                    | Kind::MacroRule
                    | Kind::Repetition
                    | Kind::Entry
            )
    }

    /// What stands in a list of items: an item, a member, a `use`, a repetition of those.
    pub(super) fn is_member(self) -> bool {
        self.is_item() || matches!(self, Kind::Use | Kind::Repetition)
    }

    /// An element of a comma-separated list.
    fn is_element(self) -> bool {
        matches!(self, Kind::UseLeaf | Kind::UseGroup | Kind::Derive | Kind::Variant | Kind::Arm)
    }
}

/// A part of a bundle.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it is.
    pub kind: Kind,
    /// From its first to its last token, attributes included.
    pub range: Range<usize>,
    /// Its name; for a `use` leaf the name it brings in (`*` for a glob).
    pub name: String,
    /// The name's place.
    pub name_range: Range<usize>,
    /// The node around it.
    pub parent: NodeId,
    /// Where `#[deprecated]` may stand.
    pub mark: Option<usize>,
    /// The head of the type that an impl is for; empty for what has none, such as a type parameter.
    pub type_name: String,
    /// The head of the trait that an impl is of.
    pub trait_name: String,
    /// For an impl: what for what.
    pub header: Option<Header>,
    /// For an impl: what it asks of its parameters.
    pub bounds: Vec<Header>,
    /// For an impl: its type is named by a path that seems to go into another crate.
    pub of_elsewhere: bool,
    /// For an arm: the whole `match`. For a branch of the value of a block: that value.
    pub group: Range<usize>,
    /// A function with an attribute that makes it a test; an element of a call that is such a function.
    pub is_test: bool,
    /// A `const fn`, whose counts say nothing about evaluation at compile time.
    pub is_const: bool,
    /// A trait's function without a body.
    pub required: bool,
    /// It covers what is not named: an arm that matches anything, a `use` of everything, an impl for a type parameter.
    pub catch_all: bool,
    /// Its parts stay: an enum whose numbers may be seen, a body that ends in a panic or a loop and would be a stub
    /// without the rest, a branch that is left in another way than with a value, a macro call that may need all it is given,
    /// what stands in a call before its elements.
    pub fixed: bool,
    /// For macro definitions: all of its rules make items. For calls in a macro's rule: the macro that is called does.
    pub makes_items: bool,
    /// For macro definitions: each element that it is called with is made into items of its own; so many tokens stand
    /// before the first. For elements of a call: the tokens before it.
    pub elementwise: Option<usize>,
    /// For macro calls: the macro's name.
    pub macro_name: String,
    /// For macro calls and definitions: every identifier in it. For `use` leaves: the path.
    /// For `extern crate`s: every identifier in their attributes. For a branch of a value: what patterns around it bind.
    pub words: BTreeSet<String>,
    /// For a `use` leaf or an `extern crate`: its path, from the first segment to what it names (not what it is renamed
    /// to).
    pub path: Vec<String>,
    /// Declared inside a body.
    pub local: bool,
    /// Made by a macro's rule, which it stands in. Its name starts with `$` when a call gives it.
    pub in_macro: bool,
    /// A function that a macro makes for the trait impls that call it.
    pub for_trait_impls: bool,
    /// For a function's body: every `return …;` in it that names nothing but parameters and items.
    pub returns: Vec<Range<usize>>,
    /// For a function's body: its statements and its value, without what they hold.
    pub statements: Vec<Range<usize>>,
    /// For a function's body and a value: its last statement, or what gives its value.
    pub tail: Range<usize>,
    /// For a function's body: the function returns nothing, so an empty body will do.
    pub unit: bool,
}

impl Node {
    /// A rule of a macro, or an item or member that a rule makes.
    #[must_use]
    pub fn in_macro_item(&self) -> bool {
        self.kind == Kind::MacroRule || self.in_macro && !self.local && !self.kind.in_body()
    }

    /// An element of a macro call that can go by itself.
    #[must_use]
    pub fn is_loose_entry(&self) -> bool {
        self.kind == Kind::Entry && !self.fixed
    }
}

/// The nodes of a bundle, in preorder.
#[derive(Clone, Debug)]
pub struct Tree {
    /// All nodes; the first is the file.
    pub nodes: Vec<Node>,
    /// Children of each node.
    pub children: Vec<Vec<NodeId>>,
    /// Every `pub` without a restriction.
    pub publics: Vec<Range<usize>>,
    /// What macro calls make.
    pub made: AllMade,
    /// What type aliases stand for.
    pub aliases: Aliases,
    /// The functions that a macro makes for a trait impl, by the call in the impl.
    pub made_members: BTreeMap<NodeId, Vec<NodeId>>,
    /// The `use` leaves of each module.
    pub leaves: BTreeMap<NodeId, Vec<NodeId>>,
    /// The file is `#![no_std]`.
    pub no_std: bool,
}

impl Tree {
    /// Builds the tree of a text.
    ///
    /// # Errors
    /// When syn can't parse it.
    pub fn parse(text: &str) -> syn::Result<Tree> {
        let file = syn::parse_file(text)?;
        let found = super::build::nodes(text, &file);
        let mut order: Vec<NodeId> = (0..found.len()).collect();
        order.sort_by_key(|&i| (found[i].range.start, std::cmp::Reverse(found[i].range.end), i));
        let mut place = vec![0; order.len()];
        for (new, &old) in order.iter().enumerate() {
            place[old] = new;
        }
        let mut nodes: Vec<Node> = order.iter().map(|&i| found[i].clone()).collect();
        let mut children = vec![Vec::new(); nodes.len()];
        for (i, node) in nodes.iter_mut().enumerate() {
            node.parent = place[node.parent];
            if i > 0 {
                children[node.parent].push(i);
            }
        }
        let Surface { publics, called_in_bodies } = surface(text, &file);
        fix_calls(&mut nodes, called_in_bodies);
        let no_std = file.attrs.iter().any(|a| a.path().is_ident("no_std"));
        let mut tree = Tree {
            nodes,
            children,
            publics,
            made: AllMade::default(),
            aliases: Aliases::new(),
            made_members: BTreeMap::new(),
            leaves: BTreeMap::new(),
            no_std,
        };
        let (mut made, made_aliases) = AllMade::new(&file, &tree);
        let aliases = tree.all_aliases(text, made_aliases);
        made.resolve(&aliases);
        for node in &mut tree.nodes {
            if let Some(header) = &mut node.header {
                header.resolve(&aliases, node.of_elsewhere);
            }
            node.bounds.iter_mut().for_each(|bound| bound.resolve(&aliases, false));
        }
        tree.made = made;
        tree.aliases = aliases;
        for leaf in (0..tree.nodes.len()).filter(|&i| tree.nodes[i].kind == Kind::UseLeaf && !tree.nodes[i].local) {
            let module = tree.module(leaf);
            tree.leaves.entry(module).or_default().push(leaf);
        }
        tree.made_members = tree.members_by_call();
        for &member in tree.made_members.values().flatten() {
            tree.nodes[member].for_trait_impls = true;
        }
        Ok(tree)
    }

    /// The innermost node that holds the byte.
    #[must_use]
    pub fn at(&self, offset: usize) -> NodeId {
        let mut i = self.nodes.partition_point(|n| n.range.start <= offset).saturating_sub(1);
        while i > 0 && !self.nodes[i].range.contains(&offset) {
            i = self.nodes[i].parent;
        }
        i
    }

    /// The node and those around it, innermost first, without the file.
    pub fn ancestors(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors(Some(id), |&i| Some(self.nodes[i].parent)).take_while(|&i| i != 0)
    }

    /// The innermost function around a node, itself included.
    #[must_use]
    pub fn function(&self, id: NodeId) -> Option<NodeId> {
        self.ancestors(id).find(|&i| matches!(self.nodes[i].kind, Kind::Fn | Kind::ImplFn | Kind::TraitFn))
    }

    /// The module around a node (not itself); 0 for the root.
    #[must_use]
    pub fn module(&self, id: NodeId) -> NodeId {
        self.ancestors(id).skip(1).find(|&i| self.nodes[i].kind == Kind::Module).unwrap_or(0)
    }

    /// A node and all below it.
    #[must_use]
    pub fn subtree(&self, id: NodeId) -> Range<NodeId> {
        let end = self.nodes[id].range.end;
        let rest = &self.nodes[id + 1..];
        id..id + 1 + rest.partition_point(|n| n.range.start < end)
    }

    /// Adds the containers whose children are all cut to `cut`.
    pub fn close_containers(&self, cut: &mut [bool], wanted: &[bool]) {
        for i in (1..self.nodes.len()).rev() {
            let children = &self.children[i];
            let entries = || children.iter().all(|&c| self.nodes[c].is_loose_entry());
            if (self.nodes[i].kind.is_container() || self.nodes[i].kind == Kind::MacroCall && entries())
                && !(wanted[i] && self.nodes[i].kind == Kind::Module)
                && !children.is_empty()
                && children.iter().all(|&c| cut[c] || self.nodes[c].kind == Kind::Decoration)
            {
                cut[i] = true;
            }
        }
    }

    /// The macro that makes a node.
    #[must_use]
    pub fn made_by(&self, id: NodeId) -> Option<NodeId> {
        self.ancestors(id).find(|&a| self.nodes[id].in_macro && self.nodes[a].kind == Kind::MacroRules)
    }

    /// The item macro calls that may lead to each macro's definition, itself or through other macros, by the words
    /// of those.
    #[must_use]
    pub fn calls_by_macro(&self) -> BTreeMap<&str, Vec<NodeId>> {
        self.calls(false)
    }

    /// The same for the calls that stand in the rules of macros.
    #[must_use]
    pub fn inner_calls_by_macro(&self) -> BTreeMap<&str, Vec<NodeId>> {
        self.calls(true)
    }

    fn calls(&self, in_macro: bool) -> BTreeMap<&str, Vec<NodeId>> {
        let nodes = self.nodes.iter().enumerate();
        let macros: BTreeMap<&str, &BTreeSet<String>> =
            nodes.clone().filter(|(_, n)| n.kind == Kind::MacroRules).map(|(_, n)| (n.name.as_str(), &n.words)).collect();
        let mut calls: BTreeMap<&str, Vec<NodeId>> = BTreeMap::new();
        for (call, node) in nodes.filter(|(_, n)| n.kind == Kind::MacroCall && n.in_macro == in_macro) {
            // A macro that another macro defines is not seen: what it is told to go on with may be.
            let mut todo: Vec<&str> = match macros.get_key_value(node.macro_name.as_str()) {
                Some((&first, _)) => vec![first],
                None => node.words.iter().filter_map(|w| macros.get_key_value(w.as_str())).map(|(&name, _)| name).collect(),
            };
            let mut seen: BTreeSet<&str> = todo.iter().copied().collect();
            while let Some(name) = todo.pop() {
                calls.entry(name).or_default().push(call);
                // A macro may be told the name of the one to go on with.
                let words = macros[name].iter().chain(&node.words);
                for (&other, _) in words.filter_map(|w| macros.get_key_value(w.as_str())) {
                    if seen.insert(other) {
                        todo.push(other);
                    }
                }
            }
        }
        calls
    }

    /// Of calls in the rules of macros, in each rule those that share most of the names.
    #[must_use]
    pub fn likely_inner<'w>(&self, calls: &[NodeId], words: impl Iterator<Item = &'w str> + Clone) -> Vec<NodeId> {
        let rule = |c: NodeId| self.ancestors(c).find(|&a| self.nodes[a].kind == Kind::MacroRule);
        let shared = |c: NodeId| words.clone().filter(|w| self.nodes[c].words.contains(*w)).count();
        let mut most: BTreeMap<Option<NodeId>, usize> = BTreeMap::new();
        for &call in calls {
            let best = most.entry(rule(call)).or_default();
            *best = shared(call).max(*best);
        }
        calls.iter().copied().filter(|&c| shared(c) == most[&rule(c)]).collect()
    }

    /// What the type aliases stand for, where it is one thing; those that have the name of another type are left out.
    fn all_aliases(&self, text: &str, made: Vec<(String, Alias)>) -> Aliases {
        let is_type = |n: &&Node| matches!(n.kind, Kind::Struct | Kind::Enum | Kind::Union | Kind::Trait);
        let types: BTreeSet<&str> = self.nodes.iter().filter(is_type).map(|n| n.name.as_str()).collect();
        let mut found = Aliases::new();
        let written = self.nodes.iter().filter(|n| n.kind == Kind::TypeAlias).filter_map(|n| {
            let alias = syn::parse_str::<syn::ItemType>(&text[n.range.clone()]).ok()?;
            Some((n.name.clone(), Alias::of(&alias)))
        });
        for (name, alias) in written.chain(made) {
            if !alias.target.is_named(&name) && !types.contains(name.as_str()) {
                let known = found.entry(name).or_insert_with(|| alias.clone());
                if *known != alias {
                    known.target = Ty::Any("_".into());
                }
            }
        }
        found
    }

    fn members_by_call(&self) -> BTreeMap<NodeId, Vec<NodeId>> {
        let calls = self.calls_by_macro();
        let in_trait_impl = |call: &NodeId| self.nodes[self.nodes[*call].parent].kind == Kind::TraitImpl;
        let known = self.made.members.iter().filter(|(call, made)| !made.is_empty() && in_trait_impl(call));
        let mut out: BTreeMap<NodeId, Vec<NodeId>> =
            known.map(|(&call, made)| (call, made.iter().copied().collect())).collect();
        let known: BTreeSet<NodeId> = out.keys().copied().collect();
        let inner = self.inner_calls_by_macro();
        for (i, node) in self.nodes.iter().enumerate().filter(|(_, n)| n.kind == Kind::Fn && n.in_macro && !n.local) {
            let items_around = self.ancestors(node.parent).take_while(|&a| self.nodes[a].kind != Kind::MacroRule);
            let Some(definition) = self.made_by(i).filter(|_| items_around.count() <= 1) else { continue };
            let name = self.nodes[definition].name.as_str();
            for &call in [&calls, &inner].into_iter().filter_map(|c| c.get(name)).flatten() {
                if in_trait_impl(&call) && !known.contains(&call) {
                    out.entry(call).or_default().push(i);
                }
            }
        }
        out
    }

    /// What to keep of a macro call for the sake of something named by `words`: the elements that have one of those
    /// names, else all of them; the call itself where it is not made of elements.
    #[must_use]
    pub fn elements<'w>(&self, call: NodeId, words: impl Iterator<Item = &'w str> + Clone) -> Vec<NodeId> {
        let entries: Vec<NodeId> = self.children[call].iter().copied().filter(|&c| self.nodes[c].is_loose_entry()).collect();
        if entries.is_empty() {
            return vec![call];
        }
        let shared = |e: NodeId| words.clone().filter(|w| self.nodes[e].words.contains(*w)).count();
        let most = entries.iter().map(|&e| shared(e)).max().unwrap_or(0);
        entries.into_iter().filter(|&e| shared(e) == most).collect()
    }

    /// The byte range to delete when a node is cut.
    #[must_use]
    pub fn cut_range(&self, text: &str, id: NodeId) -> Range<usize> {
        let node = &self.nodes[id];
        if matches!(node.kind, Kind::Block | Kind::Value | Kind::Body) {
            return node.range.clone();
        }
        let mut r = node.range.clone();
        if node.kind.is_element() {
            let rest = &text[r.end..];
            let gap = rest.len() - rest.trim_start().len();
            if rest[gap..].starts_with(',') {
                r.end += gap + 1;
            }
        }
        if node.kind == Kind::Else {
            return text[..r.start].trim_end().len()..r.end;
        }
        if matches!(node.kind, Kind::Derive | Kind::UseLeaf | Kind::UseGroup) {
            let line_start = text[..r.start].rfind('\n').map_or(0, |i| i + 1);
            let blanks = text[r.end..].len() - text[r.end..].trim_start_matches([' ', '\t']).len();
            let line_end = r.end + blanks;
            if text[line_start..r.start].trim().is_empty() && text[line_end..].starts_with('\n') {
                return line_start..line_end + 1;
            }
            return r.start..line_end;
        }
        crate::source::tokens::with_comments(text, r)
    }
}

/// Macros, and all those that are called by what they make.
fn called_with(nodes: &[Node], mut macros: BTreeSet<String>) -> BTreeSet<String> {
    let mut todo: Vec<String> = macros.iter().cloned().collect();
    let mut calls: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for call in nodes.iter().filter(|n| n.kind == Kind::MacroCall && n.in_macro) {
        let mut around = call.parent;
        while around != 0 && nodes[around].kind != Kind::MacroRules {
            around = nodes[around].parent;
        }
        calls.entry(&nodes[around].name).or_default().push(&call.macro_name);
    }
    while let Some(name) = todo.pop() {
        for &called in calls.get(name.as_str()).into_iter().flatten() {
            if macros.insert(called.to_owned()) {
                todo.push(called.to_owned());
            }
        }
    }
    macros
}

/// Tells the macro calls of which parts can go.
fn fix_calls(nodes: &mut [Node], called_in_bodies: BTreeSet<String>) {
    let mut elementwise: BTreeMap<String, Option<usize>> = BTreeMap::new();
    for definition in nodes.iter().filter(|n| n.kind == Kind::MacroRules) {
        let known = elementwise.entry(definition.name.clone()).or_insert(Some(0));
        *known = known.zip(definition.elementwise).map(|(a, b)| a.max(b));
    }
    let mut makes_items: BTreeMap<String, bool> = BTreeMap::new();
    for definition in nodes.iter().filter(|n| n.kind == Kind::MacroRules) {
        *makes_items.entry(definition.name.clone()).or_insert(true) &= definition.makes_items;
    }
    for name in called_with(nodes, called_in_bodies) {
        makes_items.remove(&name);
    }
    // The functions that the macro of a testing library takes: what stands before the first, in tokens.
    let mut of_tests: BTreeMap<NodeId, usize> = BTreeMap::new();
    for entry in nodes.iter().filter(|n| n.kind == Kind::Entry && n.is_test) {
        let before = of_tests.entry(entry.parent).or_insert(usize::MAX);
        *before = entry.elementwise.map_or(*before, |own| own.min(*before));
    }
    for i in 0..nodes.len() {
        if nodes[i].kind == Kind::MacroCall {
            let among_items = matches!(nodes[nodes[i].parent].kind, Kind::MacroRule | Kind::Module | Kind::Repetition);
            let call = &mut nodes[i];
            call.elementwise = elementwise.get(&call.macro_name).copied().flatten().or(of_tests.get(&i).copied());
            call.fixed = call.elementwise.is_none();
            call.makes_items = call.in_macro && among_items && makes_items.get(&call.macro_name).copied().unwrap_or(false);
        }
        if nodes[i].kind == Kind::Entry {
            // What stands before the elements stays.
            nodes[i].fixed = nodes[nodes[i].parent].elementwise.is_none_or(|before| nodes[i].elementwise < Some(before));
        }
    }
}

#[cfg(test)]
mod unit {
    use super::*;

    fn names(text: &str, kind: Kind) -> Vec<String> {
        let t = Tree::parse(text).unwrap();
        t.nodes.iter().filter(|n| n.kind == kind).map(|n| text[n.range.clone()].to_owned()).collect()
    }

    #[test]
    fn use_leaves_and_groups_are_elements() {
        let text = "use a::{b, c::d, e::{f as g, *}};\nuse x::y::z;\nuse p::q::{self};";
        assert_eq!(names(text, Kind::UseLeaf), ["b", "c::d", "f as g", "*", "x::y::z", "self"]);
        assert_eq!(names(text, Kind::UseGroup), ["e::{f as g, *}"]);
    }

    #[test]
    fn statements_arms_and_branches_are_nodes_and_values_are_not() {
        let text = "fn f() -> u8 { let a = 1; if a > 0 { g(); } else { h(); } match a { 0 => 1, _ => { k(); 2 } } }";
        assert_eq!(names(text, Kind::Arm), ["0 => 1,", "_ => { k(); 2 }"]);
        assert_eq!(names(text, Kind::Else), ["else { h(); }"]);
        assert_eq!(names(text, Kind::Block), [" g(); "]);
        let t = Tree::parse(text).unwrap();
        assert_eq!(t.nodes[t.at(text.find("k()").unwrap())].kind, Kind::Stmt);
    }

    #[test]
    fn a_mark_stands_behind_attributes() {
        let text = "/// doc\n#[inline]\npub fn f() {}";
        let t = Tree::parse(text).unwrap();
        assert_eq!(&text[t.nodes[1].mark.unwrap()..], "pub fn f() {}");
    }

    #[test]
    fn a_let_binds_names_as_the_text_has_them() {
        let bound = |text: &str| {
            let t = Tree::parse(text).unwrap();
            let statement = t.nodes.iter().find(|n| n.kind == Kind::Stmt).unwrap();
            statement.words.iter().cloned().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(bound("fn f() { let (ref a, mut b): (X, Y) = g(); }"), "a b");
        let rule = "macro_rules! m { ($($t:ident)*) => { fn f() { let ($(ref $t,)*) = g(); } } }";
        assert_eq!(bound(rule), "t");
    }

    #[test]
    fn bodies_in_what_a_macro_makes_are_nodes() {
        let text =
            "macro_rules! m { ($($t:ident),*) => {$( impl T for $t { fn f(self) -> u8 { g($crate::X); h::<$t>() } } )*}; }";
        assert_eq!(names(text, Kind::Stmt), ["g($crate::X);"]);
        let t = Tree::parse(text).unwrap();
        let function = t.nodes.iter().position(|n| n.kind == Kind::ImplFn).unwrap();
        assert!(t.nodes[function].in_macro && !t.nodes[function].local);
        assert_eq!(names(text, Kind::Repetition), ["$( impl T for $t { fn f(self) -> u8 { g($crate::X); h::<$t>() } } )*"]);
        assert_eq!(t.nodes[t.made_by(function).unwrap()].name, "m");
    }
}
