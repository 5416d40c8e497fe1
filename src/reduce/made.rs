//! What the macro calls of a bundle make: each item with the place where it is written, and the calls that it takes.
//!
//! The calls are expanded here ([`crate::source::expand`]); a token's span says whether it stands in a macro's rule or in
//! a call. What can't be expanded (macros of other crates, rules that do not parse) is not known.

use super::nodes::{Kind, NodeId, Tree};
use super::syntax::plain;
use super::types::{Alias, Aliases, Header};
use crate::source::expand::Macro;
use proc_macro2::TokenStream;
use std::collections::{BTreeMap, BTreeSet};
use syn::parse::{ParseStream, Parser};
use syn::{ImplItem, Item, TraitItem};

/// How deep macros may call each other: what rustc allows by default.
const DEPTH: usize = 128;
/// How many calls are expanded at most.
const CALLS: usize = 50_000;
/// How many tokens they may make, all together.
const TOKENS: usize = 4_000_000;

/// An item or a member of one that macro calls make.
#[derive(Clone, Debug)]
pub struct Made {
    /// Where it is written: in a macro's rule, or in the call that hands it on.
    pub node: NodeId,
    /// Its name, as the call has it; empty for an impl.
    pub name: String,
    /// The modules around it that are made, too, outermost first.
    pub modules: Vec<String>,
    /// For an impl, and for the members of one: what for what.
    pub header: Option<Header>,
    /// For an impl: what it asks of its parameters.
    pub bounds: Vec<Header>,
    /// The type of the header is named by a path that seems to go into another crate.
    pub of_elsewhere: bool,
    /// The calls that it takes: those in rules on the way, and of the outermost one the elements that are in it, or
    /// else the call.
    pub by: Vec<NodeId>,
}

/// All that the macro calls of a bundle make.
#[derive(Clone, Debug, Default)]
pub struct AllMade {
    list: Vec<Made>,
    by_node: BTreeMap<NodeId, Vec<usize>>,
    by_name: BTreeMap<String, Vec<usize>>,
    /// The calls of which all that they make is known.
    pub known: BTreeSet<NodeId>,
    /// The functions that a call among the members of an impl or a trait makes.
    pub members: BTreeMap<NodeId, BTreeSet<NodeId>>,
}

impl AllMade {
    /// Expands the macro calls of a file; and gives the type aliases that they make.
    #[must_use]
    pub fn new(file: &syn::File, tree: &Tree) -> (AllMade, Vec<(String, Alias)>) {
        let mut expander = Expander {
            tree,
            macros: BTreeMap::new(),
            calls: 0,
            room: TOKENS,
            modules: Vec::new(),
            of_elsewhere: false,
            aliases: Vec::new(),
            opaque: BTreeSet::new(),
            out: AllMade::default(),
        };
        expander.definitions(&file.items);
        file.items.iter().for_each(|item| _ = expander.item(item, &mut Vec::new()));
        let mut out = expander.out;
        out.known.retain(|call| !expander.opaque.contains(call));
        for (i, made) in out.list.iter().enumerate() {
            out.by_node.entry(made.node).or_default().push(i);
            if !made.name.is_empty() {
                out.by_name.entry(made.name.clone()).or_default().push(i);
            }
        }
        (out, expander.aliases)
    }

    /// Puts what aliases stand for in their place.
    pub fn resolve(&mut self, aliases: &Aliases) {
        for made in &mut self.list {
            if let Some(header) = &mut made.header {
                header.resolve(aliases, made.of_elsewhere);
            }
            made.bounds.iter_mut().for_each(|bound| bound.resolve(aliases, false));
        }
    }

    /// What is written at a node.
    pub fn at(&self, node: NodeId) -> impl Iterator<Item = &Made> + Clone {
        self.by_node.get(&node).into_iter().flatten().map(|&i| &self.list[i])
    }

    /// What has a name.
    pub fn named(&self, name: &str) -> impl Iterator<Item = &Made> {
        self.by_name.get(name).into_iter().flatten().map(|&i| &self.list[i])
    }
}

/// A macro's definition.
struct Definition {
    /// Where it is written.
    at: usize,
    rules: Macro,
    /// The calls that make it.
    by: Vec<NodeId>,
}

struct Expander<'t> {
    tree: &'t Tree,
    /// The definitions of each name, in the order of their places.
    macros: BTreeMap<String, Vec<Definition>>,
    /// Definitions that calls were expanded with so far, those that did not take them among them.
    calls: usize,
    /// Tokens that may still be made.
    room: usize,
    /// The modules around that a macro made.
    modules: Vec<String>,
    /// The impl around is for a type that is named by a path into another crate.
    of_elsewhere: bool,
    aliases: Vec<(String, Alias)>,
    /// Calls of which not all that they make is known, or not every time.
    opaque: BTreeSet<NodeId>,
    out: AllMade,
}

impl Expander<'_> {
    fn definitions(&mut self, items: &[Item]) {
        for item in items {
            match item {
                Item::Mod(m) => self.definitions(m.content.as_ref().map_or(&[], |(_, items)| items)),
                Item::Macro(m) => self.definition(m, &[]),
                _ => {}
            }
        }
    }

    fn definition(&mut self, item: &syn::ItemMacro, chain: &[NodeId]) {
        let Some(name) = &item.ident else { return };
        let at = name.span().byte_range().start;
        let all = self.macros.entry(plain(name)).or_default();
        let behind = all.partition_point(|definition| definition.at <= at);
        all.insert(behind, Definition { at, rules: Macro::new(item.mac.tokens.clone()), by: chain.to_vec() });
    }

    /// What is made by an item; `chain` holds the calls that made it itself. Gives whether all of it is known.
    fn item(&mut self, item: &Item, chain: &mut Vec<NodeId>) -> bool {
        match item {
            Item::Mod(m) => {
                self.record(item, m.mod_token.span, &m.ident, chain);
                let items = m.content.as_ref().map_or(&[][..], |(_, items)| items);
                self.modules.extend((!chain.is_empty()).then(|| plain(&m.ident)));
                let known = items.iter().fold(true, |known, inner| self.item(inner, chain) & known);
                self.modules.truncate(self.modules.len() - usize::from(!chain.is_empty()));
                known
            }
            Item::Macro(m) if m.ident.is_none() => self.call(&m.mac, chain, |this, made, chain| {
                let items: Vec<Item> = all_of.parse2(made).ok()?;
                Some(items.iter().fold(true, |known, inner| this.item(inner, chain) & known))
            }),
            Item::Macro(m) => {
                if let Some(name) = m.ident.as_ref().filter(|_| !chain.is_empty()) {
                    self.definition(m, chain);
                    let keyword = m.mac.path.segments.first().map_or_else(|| name.span(), |s| s.ident.span());
                    self.record(item, keyword, name, chain);
                }
                true
            }
            Item::Impl(i) => {
                let header = Header::of(i, "");
                self.of_elsewhere = Header::is_of_elsewhere(i);
                if !chain.is_empty() {
                    let made = self.push(item, i.impl_token.span, String::new(), Some(header.clone()), chain);
                    made.bounds = Header::bounds_of(i, "");
                }
                i.items.iter().fold(true, |known, member| self.impl_member(member, &header, chain) & known)
            }
            Item::Trait(t) => {
                self.record(item, t.trait_token.span, &t.ident, chain);
                t.items.iter().fold(true, |known, member| self.trait_member(member, chain) & known)
            }
            Item::Fn(f) => self.record(item, f.sig.fn_token.span, &f.sig.ident, chain),
            Item::Struct(s) => self.record(item, s.struct_token.span, &s.ident, chain),
            Item::Enum(e) => self.record(item, e.enum_token.span, &e.ident, chain),
            Item::Union(u) => self.record(item, u.union_token.span, &u.ident, chain),
            Item::Const(c) => self.record(item, c.const_token.span, &c.ident, chain),
            Item::Static(s) => self.record(item, s.static_token.span, &s.ident, chain),
            Item::Type(t) => {
                self.aliases.extend((!chain.is_empty()).then(|| (plain(&t.ident), Alias::of(t))));
                self.record(item, t.type_token.span, &t.ident, chain)
            }
            _ => true,
        }
    }

    fn impl_member(&mut self, member: &ImplItem, header: &Header, chain: &mut Vec<NodeId>) -> bool {
        match member {
            ImplItem::Macro(m) => self.members(&m.mac, chain, |this, made, chain| {
                let members: Vec<ImplItem> = all_of.parse2(made).ok()?;
                Some(members.iter().fold(true, |known, inner| this.impl_member(inner, header, chain) & known))
            }),
            ImplItem::Fn(f) if !chain.is_empty() => {
                self.push(member, f.sig.fn_token.span, plain(&f.sig.ident), Some(header.clone()), chain);
                true
            }
            _ => true,
        }
    }

    fn trait_member(&mut self, member: &TraitItem, chain: &mut Vec<NodeId>) -> bool {
        match member {
            TraitItem::Macro(m) => self.members(&m.mac, chain, |this, made, chain| {
                let members: Vec<TraitItem> = all_of.parse2(made).ok()?;
                Some(members.iter().fold(true, |known, inner| this.trait_member(inner, chain) & known))
            }),
            TraitItem::Fn(f) => self.record(member, f.sig.fn_token.span, &f.sig.ident, chain),
            _ => true,
        }
    }

    /// A call among members: what it makes is remembered by the call, too.
    fn members(
        &mut self,
        mac: &syn::Macro,
        chain: &mut Vec<NodeId>,
        read: impl FnMut(&mut Self, TokenStream, &mut Vec<NodeId>) -> Option<bool>,
    ) -> bool {
        let before = self.out.list.len();
        let known = self.call(mac, chain, read);
        let call = self.place(mac);
        // A rule whose items can't be told is none of them.
        let is_function = |&node: &NodeId| matches!(self.tree.nodes[node].kind, Kind::Fn | Kind::ImplFn | Kind::TraitFn);
        let made = self.out.list[before..].iter().map(|made| made.node).filter(is_function);
        self.out.members.entry(call).or_default().extend(made);
        known
    }

    /// Expands a call, and has what it makes read.
    fn call(
        &mut self,
        mac: &syn::Macro,
        chain: &mut Vec<NodeId>,
        mut read: impl FnMut(&mut Self, TokenStream, &mut Vec<NodeId>) -> Option<bool>,
    ) -> bool {
        let call = self.place(mac);
        if chain.len() >= DEPTH || self.calls >= CALLS {
            return false;
        }
        let name = mac.path.segments.last().map(|s| plain(&s.ident)).unwrap_or_default();
        let Some((made, by)) = self.expand(&name, call, chain, &mac.tokens) else {
            self.opaque.insert(call);
            return false;
        };
        let before = chain.len();
        chain.push(call);
        chain.extend(by);
        let known = read(self, made, chain);
        chain.truncate(before);
        let known = known.unwrap_or(false);
        if known {
            self.out.known.insert(call)
        } else {
            self.opaque.insert(call)
        };
        known
    }

    /// What a call of a macro of that name makes, by the definition that stands before it, or else any; and the calls that
    /// make the definition.
    fn expand(
        &mut self,
        name: &str,
        call: NodeId,
        chain: &[NodeId],
        tokens: &TokenStream,
    ) -> Option<(TokenStream, Vec<NodeId>)> {
        let all = self.macros.get(name)?;
        let at = self.tree.nodes[chain.first().copied().unwrap_or(call)].range.start;
        let before = all.partition_point(|definition| definition.at <= at);
        let (before, behind) = all.split_at(before);
        let left = CALLS.saturating_sub(self.calls);
        let (room, calls) = (&mut self.room, &mut self.calls);
        let made = |definition: &Definition| {
            *calls += 1;
            Some((definition.rules.expand(tokens, room)?, definition.by.clone()))
        };
        before.iter().rev().chain(behind).take(left).find_map(made)
    }

    /// The node of a call.
    fn place(&self, mac: &syn::Macro) -> NodeId {
        let at = mac.path.segments.last().map_or(0, |s| s.ident.span().byte_range().start);
        self.tree.at(at)
    }

    fn record(
        &mut self,
        item: &impl quote::ToTokens,
        keyword: proc_macro2::Span,
        name: &syn::Ident,
        chain: &[NodeId],
    ) -> bool {
        if !chain.is_empty() {
            self.push(item, keyword, plain(name), None, chain);
        }
        true
    }

    fn push(
        &mut self,
        item: &impl quote::ToTokens,
        keyword: proc_macro2::Span,
        name: String,
        header: Option<Header>,
        chain: &[NodeId],
    ) -> &mut Made {
        let node = self.tree.at(keyword.byte_range().start);
        let mut by: BTreeSet<NodeId> = chain.iter().copied().collect();
        let tree = self.tree;
        let entries: BTreeSet<NodeId> =
            by.iter().flat_map(|&c| tree.children[c].iter().copied()).filter(|&e| tree.nodes[e].is_loose_entry()).collect();
        if !entries.is_empty() {
            let mut used = BTreeSet::new();
            crate::source::tokens::walk(item.to_token_stream(), &mut |list| {
                let places = list.iter().map(|token| tree.at(token.span().byte_range().start));
                used.extend(places.filter_map(|at| tree.ancestors(at).find(|a| entries.contains(a))));
            });
            // An element keeps its call.
            used.iter().for_each(|&e| _ = by.remove(&tree.nodes[e].parent));
            by.extend(used);
        }
        // What is handed on stands in a call itself.
        let within: BTreeSet<NodeId> = tree.ancestors(node).skip(1).collect();
        by.retain(|c| !within.contains(c) && tree.nodes[*c].kind != Kind::File);
        let of_elsewhere = self.of_elsewhere && header.is_some();
        let modules = self.modules.clone();
        let by = by.into_iter().collect();
        self.out.list.push_mut(Made { node, name, modules, header, bounds: Vec::new(), of_elsewhere, by })
    }
}

/// Things of one kind up to the end of the tokens.
fn all_of<T: syn::parse::Parse>(input: ParseStream<'_>) -> syn::Result<Vec<T>> {
    let mut all = Vec::new();
    while !input.is_empty() {
        all.push(input.parse()?);
    }
    Ok(all)
}

#[cfg(test)]
mod unit {
    use super::*;

    /// What is made: the text where it is written, its name or header, and the texts of the calls.
    fn made(text: &str) -> Vec<String> {
        let tree = Tree::parse(text).unwrap();
        let short = |id: NodeId| text[tree.nodes[id].range.clone()].split_whitespace().collect::<Vec<_>>().join(" ");
        let of = |m: &Made| {
            let head = m.header.as_ref().map(|h| format!("{:?}/{:?}", h.trait_.head(), h.self_ty.head()));
            let by: Vec<String> = m.by.iter().map(|&c| short(c)).collect();
            format!("{}{} by {}", m.name, head.unwrap_or_default(), by.join(" & "))
        };
        tree.made.list.iter().map(of).collect()
    }

    #[test]
    fn impls_of_macros_through_macros_are_told_apart() {
        let text = "macro_rules! one { ($t:ident for $u:ty) => { impl $t for $u {} } }\n\
                    macro_rules! all { ($t:ident) => { one!($t for u8); one!($t for u16); } }\n\
                    all!(A);\nall!(B);";
        assert_eq!(
            made(text)[..2],
            [
                "Some(\"A\")/Some(\"u8\") by one!($t for u8); & all!(A);",
                "Some(\"A\")/Some(\"u16\") by one!($t for u16); & all!(A);"
            ]
        );
        assert_eq!(made(text).len(), 4);
    }

    #[test]
    fn an_element_of_a_call_makes_its_own() {
        let text = "macro_rules! m { ($($n:ident)*) => { $(fn $n() {})* } }\nm! {\n a\n b\n}";
        assert_eq!(made(text), ["a by a", "b by b"]);
    }

    #[test]
    fn macros_that_macros_define_are_followed() {
        let text = "macro_rules! d { ($n:ident) => { macro_rules! $n { ($x:ident) => { struct $x; } } } }\nd!(m);\nm!(S);";
        assert_eq!(made(text), ["m by d!(m);", "S by d!(m); & m!(S);"]);
    }

    #[test]
    fn a_rule_whose_items_can_not_be_told_is_no_member() {
        let text = "macro_rules! f { ($($t:tt)*) => { fn $($t)* } }\nimpl A for B { f!(a() {}); }";
        let tree = Tree::parse(text).unwrap();
        assert_eq!(made(text), ["aSome(\"A\")/Some(\"B\") by f!(a() {});"]);
        assert!(tree.made_members.values().all(Vec::is_empty));
        assert!(tree.nodes.iter().all(|n| !n.for_trait_impls));
    }

    #[test]
    fn members_of_an_impl_are_known_by_their_call() {
        let text = "macro_rules! f { ($n:ident) => { fn $n() {} } }\nimpl A for B { f!(a); }";
        assert_eq!(made(text), ["aSome(\"A\")/Some(\"B\") by f!(a);"]);
        let tree = Tree::parse(text).unwrap();
        assert_eq!(tree.made.members.len(), 1);
        assert_eq!(tree.made.known.len(), 1);
    }

    #[test]
    fn macros_without_an_end_are_given_up() {
        let all = "macro_rules! m { () => {}; ($f:ident $($r:tt)*) => { struct $f; m! { $($r)* } } }".to_owned();
        let names: Vec<String> = (0..2000).map(|i| format!("S{i}")).collect();
        let texts = [
            (format!("{all} m! {{ {} }}", names.join(" ")), DEPTH),
            ("macro_rules! m { ($($x:tt)*) => { m!(($($x)*) ($($x)*)); } } m!(a);".to_owned(), 0),
            ("macro_rules! m { ($($x:tt)*) => { m!($($x)*); m!($($x)*); } } m!(a);".to_owned(), 0),
            ("macro_rules! m { ($x:ty) => { m!([$x; 2]); impl A for $x {} } } m!(u8);".to_owned(), DEPTH),
            ("macro_rules! m { ($n:ident) => { mod $n { m!($n); } } } m!(a);".to_owned(), DEPTH),
        ];
        for (text, count) in texts {
            let found = Tree::parse(&text).unwrap().made;
            assert_eq!(found.list.len(), count, "{text}");
            // Of none of the calls all that it makes is known.
            assert!(found.known.is_empty(), "{text}");
        }
    }
}
