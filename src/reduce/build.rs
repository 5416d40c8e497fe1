//! From a syntax tree to nodes.

use super::nodes::{Kind, Node, NodeId};
use super::syntax::{
    after_attributes, catches_all, decorates, diverges, is_diverging_macro, is_foreign_macro, is_unit, makes_a_test,
    only_panics, plain, without_value,
};
use super::types::Header;
use super::values::{branches, gives_a_value};
use crate::source::tokens::{idents, line_groups, node_range, range, test_functions, words};
use crate::source::transcriber::{Rule, is_blanked, rules};
use quote::ToTokens;
use std::collections::BTreeSet;
use std::ops::Range;
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItem, Item, TraitItem, UseTree};

/// The nodes of a file, in the order in which they are met.
pub(super) fn nodes(text: &str, file: &syn::File) -> Vec<Node> {
    let mut own_macros = BTreeSet::new();
    macros_of(&file.items, &mut own_macros);
    let mut b = Builder {
        text,
        own_macros,
        nodes: Vec::new(),
        parent: 0,
        local: false,
        in_macro: false,
        in_line: false,
        in_closure: false,
    };
    let root = b.push(Kind::File, 0..text.len());
    b.attributes(root, &file.attrs);
    for item in &file.items {
        b.visit_item(item);
    }
    b.nodes
}

/// What stands between the braces of a block.
fn inside(block: &syn::Block) -> Range<usize> {
    let span = block.brace_token.span;
    range(span.open()).end..range(span.close()).start
}

/// The names of the macros that items define.
fn macros_of(items: &[Item], found: &mut BTreeSet<String>) {
    for item in items {
        match item {
            Item::Mod(m) => macros_of(m.content.as_ref().map_or(&[], |(_, items)| items), found),
            Item::Macro(m) => found.extend(m.ident.as_ref().map(plain)),
            _ => {}
        }
    }
}

struct Builder<'a> {
    text: &'a str,
    /// The macros that the file defines.
    own_macros: BTreeSet<String>,
    nodes: Vec<Node>,
    parent: NodeId,
    local: bool,
    /// In what a macro makes.
    in_macro: bool,
    /// In a macro, or handed to one in parentheses: an attribute there shares its line with what follows, so it stays.
    in_line: bool,
    /// In a closure, which has ends of its own.
    in_closure: bool,
}

impl Builder<'_> {
    fn push(&mut self, kind: Kind, range: Range<usize>) -> NodeId {
        self.nodes.push(Node {
            kind,
            range,
            name: String::new(),
            name_range: 0..0,
            parent: self.parent,
            mark: None,
            type_name: String::new(),
            trait_name: String::new(),
            header: None,
            bounds: Vec::new(),
            of_elsewhere: false,
            group: 0..0,
            is_test: false,
            is_const: false,
            returns: Vec::new(),
            statements: Vec::new(),
            tail: 0..0,
            required: false,
            catch_all: false,
            fixed: false,
            elementwise: None,
            makes_items: false,
            macro_name: String::new(),
            words: BTreeSet::new(),
            local: self.local,
            in_macro: self.in_macro,
            for_trait_impls: false,
            path: Vec::new(),
            unit: false,
        });
        self.nodes.len() - 1
    }

    fn named(&mut self, kind: Kind, node: &impl ToTokens, name: &syn::Ident, attrs: &[Attribute]) -> NodeId {
        let r = node_range(node);
        let mark = after_attributes(r.clone(), attrs, self.text);
        let id = self.push(kind, r);
        let n = &mut self.nodes[id];
        n.name = plain(name);
        n.name_range = range(name.span());
        n.mark = Some(mark);
        id
    }

    /// Visits something with `id` as the parent.
    fn inside(&mut self, id: NodeId, f: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.parent, id);
        f(self);
        self.parent = outer;
    }

    /// Derives and decorations of a node.
    fn attributes(&mut self, id: NodeId, attrs: &[Attribute]) {
        let foreign = attrs.iter().any(is_foreign_macro);
        self.inside(id, |b| {
            for attr in attrs {
                let r = node_range(attr);
                if r.is_empty() {
                    continue;
                }
                if matches!(attr.style, syn::AttrStyle::Inner(_)) {
                    if attr.path().is_ident("doc") {
                        b.push(Kind::Decoration, r);
                    }
                    continue;
                }
                if attr.path().is_ident("derive") {
                    let whole = b.push(Kind::Derives, r);
                    b.inside(whole, |b| {
                        let _ = attr.parse_nested_meta(|meta| {
                            let path = &meta.path;
                            let d = b.push(Kind::Derive, node_range(path));
                            b.nodes[d].name = path.segments.last().map(|s| plain(&s.ident)).unwrap_or_default();
                            Ok(())
                        });
                    });
                } else if !b.in_line && decorates(attr) && !(foreign && attr.path().is_ident("doc")) {
                    b.push(Kind::Decoration, r);
                }
            }
        });
    }

    /// The leaves of a `use`, and its inner braces. `start` is where the element of the list around it begins;
    /// `outermost` braces are the `use` itself.
    fn use_tree(&mut self, tree: &UseTree, start: usize, prefix: &mut Vec<String>, outermost: bool) {
        let r = start..node_range(tree).end;
        match tree {
            UseTree::Path(p) => {
                prefix.push(plain(&p.ident));
                self.use_tree(&p.tree, start, prefix, outermost);
                prefix.pop();
            }
            UseTree::Group(g) => {
                let id = if outermost { self.parent } else { self.push(Kind::UseGroup, r) };
                self.inside(id, |b| g.items.iter().for_each(|t| b.use_tree(t, node_range(t).start, prefix, false)));
            }
            leaf => self.use_leaf(leaf, r, prefix),
        }
    }

    fn use_leaf(&mut self, leaf: &UseTree, r: Range<usize>, prefix: &[String]) {
        let id = self.push(Kind::UseLeaf, r);
        let n = &mut self.nodes[id];
        n.words.extend(prefix.iter().cloned());
        match leaf {
            UseTree::Name(name) => {
                n.name = plain(&name.ident);
                n.name_range = range(name.ident.span());
                if n.name == "self" {
                    n.name = prefix.last().cloned().unwrap_or_default();
                }
                n.words.insert(n.name.clone());
                n.path = prefix.to_vec();
                if name.ident != "self" {
                    n.path.push(n.name.clone());
                }
            }
            UseTree::Rename(r) => {
                n.path = prefix.to_vec();
                if r.ident != "self" {
                    n.path.push(plain(&r.ident));
                }
                n.name = plain(&r.rename);
                n.name_range = range(r.rename.span());
                n.words.insert(plain(&r.ident));
            }
            _ => {
                n.path = prefix.to_vec();
                n.name = "*".into();
                n.name_range = n.range.end - 1..n.range.end;
                n.catch_all = true;
            }
        }
    }

    fn macro_call(&mut self, node: &impl ToTokens, mac: &syn::Macro) -> NodeId {
        let id = self.push(Kind::MacroCall, node_range(node));
        let n = &mut self.nodes[id];
        n.macro_name = mac.path.segments.last().map(|s| plain(&s.ident)).unwrap_or_default();
        n.words = idents(mac.tokens.clone()).into_iter().collect();
        id
    }

    /// The elements that a call is given in braces, each on lines of its own.
    fn entries(&mut self, call: NodeId, mac: &syn::Macro) {
        if !matches!(mac.delimiter, syn::MacroDelimiter::Brace(_)) {
            return;
        }
        let own = self.own_macros.contains(&self.nodes[call].macro_name);
        let tests = if own { None } else { test_functions(mac.tokens.clone()) };
        let lines = || line_groups(mac.tokens.clone()).into_iter().map(|line| (String::new(), line)).collect();
        let mut before = 0;
        for (name, entry) in tests.unwrap_or_else(lines) {
            let id = self.push(Kind::Entry, node_range(&entry));
            self.nodes[id].parent = call;
            self.nodes[id].is_test = !name.is_empty();
            self.nodes[id].name = name;
            self.nodes[id].elementwise = Some(before);
            before += entry.clone().into_iter().count();
            self.nodes[id].words = idents(entry).into_iter().collect();
        }
    }

    fn body(&mut self, id: NodeId, f: impl FnOnce(&mut Self)) {
        let was = std::mem::replace(&mut self.local, true);
        self.inside(id, f);
        self.local = was;
    }

    fn function_body(&mut self, sig: &syn::Signature, block: &syn::Block) {
        if block.stmts.is_empty() {
            return;
        }
        let id = self.push(Kind::Body, inside(block));
        self.nodes[id].unit = match &sig.output {
            syn::ReturnType::Default => true,
            syn::ReturnType::Type(_, ty) => matches!(&**ty, syn::Type::Tuple(t) if t.elems.is_empty()),
        };
        self.nodes[id].fixed = match block.stmts.last() {
            Some(syn::Stmt::Macro(m)) => is_diverging_macro(&m.mac.path),
            Some(syn::Stmt::Expr(syn::Expr::Macro(m), _)) => is_diverging_macro(&m.mac.path),
            Some(syn::Stmt::Expr(syn::Expr::Loop(_), _)) => true,
            _ => false,
        };
        let no_value = self.nodes[id].unit;
        if !no_value {
            self.nodes[id].returns = super::syntax::returns(sig, block);
            self.nodes[id].statements = block.stmts.iter().map(node_range).collect();
        }
        self.inside(id, |b| b.statements(block, no_value));
        self.end_of(id, block);
    }

    /// A block with a value that is used.
    fn value(&mut self, block: &syn::Block) {
        if block.stmts.is_empty() || self.in_closure || only_panics(block) {
            return self.statements(block, false);
        }
        let id = self.push(Kind::Value, inside(block));
        self.nodes[id].fixed = !gives_a_value(block);
        self.inside(id, |b| b.statements(block, false));
        self.end_of(id, block);
    }

    /// What gives the value of a block, and its branches, which are nodes already.
    fn end_of(&mut self, id: NodeId, block: &syn::Block) {
        let Some(last) = block.stmts.last() else { return };
        let tail = node_range(last);
        if let syn::Stmt::Expr(value, None) = last {
            for branch in branches(value) {
                let name = |r: &Range<usize>| self.text[r.clone()].trim_start_matches('$').to_owned();
                let words = branch.bound.iter().map(name).collect();
                if let Some(node) = self.nodes[id..].iter_mut().find(|n| n.kind == Kind::Value && n.range == branch.inside) {
                    node.group = tail.clone();
                    node.words = words;
                }
            }
        }
        self.nodes[id].tail = tail;
    }

    /// The statements of a block; where it has no value its last one is like any other.
    fn statements(&mut self, block: &syn::Block, no_value: bool) {
        for (i, stmt) in block.stmts.iter().enumerate() {
            let last = i + 1 == block.stmts.len();
            match stmt {
                syn::Stmt::Item(item) => self.visit_item(item),
                // The value of the block, or what ends it.
                syn::Stmt::Expr(e, semi) if last && !no_value && !is_unit(e) && (semi.is_none() || diverges(e)) => {
                    self.visit_tail(e)
                }
                syn::Stmt::Macro(m) if last && !no_value && (m.semi_token.is_none() || is_diverging_macro(&m.mac.path)) => {}
                stmt => {
                    let id = self.push(Kind::Stmt, node_range(stmt));
                    if let syn::Stmt::Local(l) = stmt {
                        self.nodes[id].words = bound_by(&l.pat, self.text);
                    }
                    self.inside(id, |b| match stmt {
                        // An expression on its own has no value that is used.
                        syn::Stmt::Expr(syn::Expr::If(e), _) => b.branches(e, true),
                        stmt => visit::visit_stmt(b, stmt),
                    });
                }
            }
        }
    }

    /// The value of a block: an `if` there may well have none.
    fn visit_tail(&mut self, e: &syn::Expr) {
        match e {
            syn::Expr::If(i) => self.branches(i, without_value(i)),
            e => self.visit_expr(e),
        }
    }

    /// The branches of an `if`; they can be emptied when it has no value.
    fn branches(&mut self, e: &syn::ExprIf, no_value: bool) {
        self.visit_expr(&e.cond);
        if no_value {
            self.block_inside(&e.then_branch);
        } else {
            self.value(&e.then_branch);
        }
        self.else_branch(e, no_value);
    }

    fn else_branch(&mut self, e: &syn::ExprIf, no_value: bool) {
        let Some((token, branch)) = &e.else_branch else { return };
        let start = range(token.span).start;
        match &**branch {
            // A link of a chain that goes on can go by itself, whether the chain has a value or not.
            syn::Expr::If(inner) if !no_value && inner.else_branch.is_some() => {
                let link = self.push(Kind::Else, start..range(inner.then_branch.brace_token.span.close()).end);
                self.inside(link, |b| {
                    b.visit_expr(&inner.cond);
                    b.value(&inner.then_branch);
                });
                self.else_branch(inner, no_value);
            }
            other => {
                let whole = no_value.then(|| self.push(Kind::Else, start..node_range(branch).end));
                self.inside(whole.unwrap_or(self.parent), |b| match other {
                    syn::Expr::If(inner) => b.branches(inner, no_value),
                    other => b.visit_expr(other),
                });
            }
        }
    }

    /// A rule of a macro, and the items that it makes.
    fn rule(&mut self, id: NodeId, rule: &Rule) {
        let outer = std::mem::replace(&mut self.parent, id);
        let id = self.push(Kind::MacroRule, rule.range.clone());
        self.nodes[id].name_range = range(rule.matcher.span());
        self.nodes[id].in_macro = true;
        self.nodes[id].words = idents(rule.matcher.stream()).into_iter().collect();
        self.parent = outer;
        let Some(file) = &rule.items else { return };
        let first = self.nodes.len();
        (self.in_macro, self.in_line) = (true, true);
        self.inside(id, |b| file.items.iter().for_each(|i| b.visit_item(i)));
        (self.in_macro, self.in_line) = (false, false);
        self.transcribed(first, rule);
    }

    /// Makes the nodes of a macro's items those of its text, in which they have metavariables and repetitions.
    fn transcribed(&mut self, first: NodeId, rule: &Rule) {
        let text = self.text;
        for node in &mut self.nodes[first..] {
            let whole = rule.whole(text, node.range.clone());
            if let Some(mark) = node.mark {
                // Behind the attributes, which may be repetitions.
                let over = rule.repetitions.iter().filter(|r| r.start < mark && mark < r.end && r.end <= whole.end);
                let behind = over.map(|r| r.end).max().unwrap_or(mark);
                let blank = text[behind..].len() - text[behind..].trim_start().len();
                let at_start = mark == node.range.start && behind == mark;
                node.mark = Some(if at_start { whole.start } else { behind + blank });
            }
            node.range = whole;
            if is_blanked(&node.name) {
                node.name = text[node.name_range.clone()].to_owned();
            }
        }
        // What is repeated in a body can't stand alone.
        let bodies: Vec<Range<usize>> =
            self.nodes[first..].iter().filter(|n| n.kind == Kind::Body).map(|n| n.range.clone()).collect();
        for repetition in rule.repetitions.iter().filter(|r| bodies.iter().any(|b| b.start <= r.start && r.end <= b.end)) {
            let holds = |r: &Range<usize>| repetition.start <= r.start && r.end <= repetition.end;
            for node in &mut self.nodes[first..] {
                node.fixed |= node.kind == Kind::Value && holds(&node.range);
                node.returns.retain(|r| !holds(r));
            }
        }
        // A repetition goes with the last item in it.
        for repetition in &rule.repetitions {
            let holds = |n: &Node| repetition.start < n.range.start && n.range.end < repetition.end;
            let inside: Vec<NodeId> = (first..self.nodes.len()).filter(|&i| holds(&self.nodes[i])).collect();
            let outermost: Vec<NodeId> =
                inside.iter().copied().filter(|&i| !inside.contains(&self.nodes[i].parent)).collect();
            let Some(&one) = outermost.first() else { continue };
            let parent = self.nodes[one].parent;
            let around = self.nodes[parent].kind;
            let of_items = !around.in_body() && outermost.iter().all(|&i| self.nodes[i].kind.is_member());
            if of_items && outermost.iter().all(|&i| self.nodes[i].parent == parent) {
                let outer = std::mem::replace(&mut self.parent, parent);
                let new = self.push(Kind::Repetition, repetition.clone());
                self.nodes[new].in_macro = true;
                self.parent = outer;
                outermost.iter().for_each(|&i| self.nodes[i].parent = new);
            } else if let [only] = outermost.as_slice() {
                let r = self.nodes[*only].range.clone();
                let before = text[repetition.start..r.start].trim_matches(|c: char| c.is_whitespace() || "$(".contains(c));
                let after = text[r.end..repetition.end].trim_start();
                if before.is_empty() && after.starts_with(')') {
                    self.nodes[*only].range = repetition.clone();
                }
            }
        }
    }

    /// The inside of a block's braces.
    fn block_inside(&mut self, block: &syn::Block) {
        let inner = inside(block);
        if block.stmts.is_empty() || inner.is_empty() {
            return;
        }
        let id = self.push(Kind::Block, inner);
        self.inside(id, |b| b.statements(block, true));
    }
}

impl<'ast> Visit<'ast> for Builder<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            Item::Mod(m) => {
                let id = self.named(Kind::Module, item, &m.ident, &m.attrs);
                self.nodes[id].mark = None;
                self.attributes(id, &m.attrs);
                self.inside(id, |b| m.content.iter().flat_map(|(_, items)| items).for_each(|i| b.visit_item(i)));
            }
            Item::Fn(f) => {
                let id = self.named(Kind::Fn, item, &f.sig.ident, &f.attrs);
                self.nodes[id].is_test = f.attrs.iter().any(makes_a_test);
                self.nodes[id].is_const = f.sig.constness.is_some();
                self.attributes(id, &f.attrs);
                self.body(id, |b| b.function_body(&f.sig, &f.block));
            }
            Item::Struct(s) => {
                let id = self.named(Kind::Struct, item, &s.ident, &s.attrs);
                self.attributes(id, &s.attrs);
                self.body(id, |b| s.fields.iter().for_each(|f| b.attributes(id, &f.attrs)));
            }
            Item::Union(s) => {
                let id = self.named(Kind::Union, item, &s.ident, &s.attrs);
                self.attributes(id, &s.attrs);
            }
            Item::Enum(e) => {
                let id = self.named(Kind::Enum, item, &e.ident, &e.attrs);
                self.attributes(id, &e.attrs);
                let foreign = e.attrs.iter().any(is_foreign_macro);
                // Where the numbers of variants may be seen, all of them stay.
                let fixed = foreign
                    || e.attrs.iter().any(|a| a.path().is_ident("repr"))
                    || e.variants.iter().any(|v| v.discriminant.is_some());
                self.nodes[id].fixed = fixed;
                self.inside(id, |b| {
                    for v in &e.variants {
                        let vid = b.named(Kind::Variant, v, &v.ident, &v.attrs);
                        if foreign {
                            b.nodes[vid].mark = None;
                        } else {
                            b.attributes(vid, &v.attrs);
                        }
                    }
                });
            }
            Item::Trait(t) => {
                let id = self.named(Kind::Trait, item, &t.ident, &t.attrs);
                self.attributes(id, &t.attrs);
                self.inside(id, |b| t.items.iter().for_each(|i| b.visit_trait_item(i)));
            }
            Item::Impl(i) => {
                let kind = if i.trait_.is_some() { Kind::TraitImpl } else { Kind::Impl };
                let id = self.push(kind, node_range(item));
                let header = Header::of(i, self.text);
                let node = &mut self.nodes[id];
                node.type_name = header.self_ty.head().unwrap_or_default().to_owned();
                node.trait_name = header.trait_.head().unwrap_or_default().to_owned();
                node.catch_all = header.self_ty.is_any();
                node.header = Some(header);
                node.bounds = Header::bounds_of(i, self.text);
                node.of_elsewhere = Header::is_of_elsewhere(i);
                self.attributes(id, &i.attrs);
                let in_trait_impl = i.trait_.is_some();
                self.inside(id, |b| {
                    for member in &i.items {
                        let before = b.nodes.len();
                        b.visit_impl_item(member);
                        if in_trait_impl && before < b.nodes.len() {
                            b.nodes[before].mark = None;
                        }
                    }
                });
            }
            Item::Const(c) => {
                let id = self.named(Kind::Const, item, &c.ident, &c.attrs);
                if c.ident == "_" {
                    self.nodes[id].mark = None;
                    self.nodes[id].words = idents(c.expr.to_token_stream()).into_iter().collect();
                }
                self.attributes(id, &c.attrs);
            }
            Item::Static(s) => {
                let id = self.named(Kind::Static, item, &s.ident, &s.attrs);
                self.attributes(id, &s.attrs);
            }
            Item::Type(t) => {
                let id = self.named(Kind::TypeAlias, item, &t.ident, &t.attrs);
                self.attributes(id, &t.attrs);
            }
            Item::Macro(m) => match &m.ident {
                Some(name) => {
                    let id = self.named(Kind::MacroRules, item, name, &m.attrs);
                    self.nodes[id].words = idents(m.mac.tokens.clone()).into_iter().collect();
                    self.attributes(id, &m.attrs);
                    let rules = rules(m.mac.tokens.clone(), self.text);
                    self.nodes[id].makes_items = rules.iter().all(|r| r.items.is_some());
                    let most = rules.iter().map(|r| r.elementwise).try_fold(0, |most, r| r.map(|before| before.max(most)));
                    self.nodes[id].elementwise = most;
                    rules.iter().for_each(|r| self.rule(id, r));
                }
                None => {
                    let id = self.macro_call(item, &m.mac);
                    // Macros that take items mostly hand them through.
                    if let Ok(items) = syn::parse::Parser::parse2(crate::bundle::items_within, m.mac.tokens.clone()) {
                        let outside = self.in_line;
                        self.in_line |= !matches!(m.mac.delimiter, syn::MacroDelimiter::Brace(_));
                        self.inside(id, |b| items.iter().for_each(|i| b.visit_item(i)));
                        self.in_line = outside;
                    } else {
                        self.entries(id, &m.mac);
                    }
                }
            },
            Item::ForeignMod(f) => {
                let id = self.push(Kind::ForeignMod, node_range(item));
                self.inside(id, |b| {
                    for i in &f.items {
                        match i {
                            syn::ForeignItem::Fn(x) => b.named(Kind::ForeignItem, i, &x.sig.ident, &x.attrs),
                            syn::ForeignItem::Static(x) => b.named(Kind::ForeignItem, i, &x.ident, &x.attrs),
                            syn::ForeignItem::Type(x) => b.named(Kind::ForeignItem, i, &x.ident, &x.attrs),
                            _ => b.push(Kind::ForeignItem, node_range(i)),
                        };
                    }
                });
            }
            Item::ExternCrate(e) => {
                let name = e.rename.as_ref().map_or(&e.ident, |(_, r)| r);
                let id = self.named(Kind::ExternCrate, item, name, &e.attrs);
                self.nodes[id].mark = None;
                self.nodes[id].path = vec![plain(&e.ident)];
                self.nodes[id].words = e.attrs.iter().flat_map(|a| idents(a.to_token_stream())).collect();
            }
            Item::Use(u) => {
                let id = self.push(Kind::Use, node_range(item));
                self.attributes(id, &u.attrs);
                self.inside(id, |b| b.use_tree(&u.tree, node_range(&u.tree).start, &mut Vec::new(), true));
            }
            other => {
                let id = self.push(Kind::Const, node_range(other));
                self.nodes[id].words = idents(other.to_token_stream()).into_iter().collect();
            }
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        match item {
            ImplItem::Fn(f) => {
                let id = self.named(Kind::ImplFn, item, &f.sig.ident, &f.attrs);
                self.nodes[id].is_const = f.sig.constness.is_some();
                self.attributes(id, &f.attrs);
                self.body(id, |b| b.function_body(&f.sig, &f.block));
            }
            ImplItem::Const(c) => {
                let id = self.named(Kind::ImplConst, item, &c.ident, &c.attrs);
                self.attributes(id, &c.attrs);
            }
            ImplItem::Type(t) => {
                let id = self.named(Kind::ImplType, item, &t.ident, &t.attrs);
                self.attributes(id, &t.attrs);
            }
            ImplItem::Macro(m) => {
                let id = self.macro_call(item, &m.mac);
                self.entries(id, &m.mac);
            }
            _ => {}
        }
    }

    fn visit_trait_item(&mut self, item: &'ast TraitItem) {
        match item {
            TraitItem::Fn(f) => {
                let id = self.named(Kind::TraitFn, item, &f.sig.ident, &f.attrs);
                self.nodes[id].required = f.default.is_none();
                self.attributes(id, &f.attrs);
                if let Some(block) = &f.default {
                    self.body(id, |b| b.function_body(&f.sig, block));
                }
            }
            TraitItem::Const(c) => {
                let id = self.named(Kind::TraitConst, item, &c.ident, &c.attrs);
                self.nodes[id].required = c.default.is_none();
                self.attributes(id, &c.attrs);
            }
            TraitItem::Type(t) => {
                let id = self.named(Kind::TraitType, item, &t.ident, &t.attrs);
                self.nodes[id].required = true;
                self.attributes(id, &t.attrs);
            }
            TraitItem::Macro(m) => {
                let id = self.macro_call(item, &m.mac);
                self.entries(id, &m.mac);
            }
            _ => {}
        }
    }

    fn visit_block(&mut self, block: &'ast syn::Block) {
        self.statements(block, false);
    }

    fn visit_expr_block(&mut self, e: &'ast syn::ExprBlock) {
        if e.label.is_some() {
            self.visit_block(&e.block);
        } else {
            self.value(&e.block);
        }
    }

    fn visit_expr_unsafe(&mut self, e: &'ast syn::ExprUnsafe) {
        self.value(&e.block);
    }

    fn visit_expr_closure(&mut self, e: &'ast syn::ExprClosure) {
        let outside = std::mem::replace(&mut self.in_closure, true);
        visit::visit_expr_closure(self, e);
        self.in_closure = outside;
    }

    fn visit_expr_if(&mut self, e: &'ast syn::ExprIf) {
        self.branches(e, e.else_branch.is_none());
    }

    fn visit_expr_while(&mut self, e: &'ast syn::ExprWhile) {
        self.visit_expr(&e.cond);
        self.block_inside(&e.body);
    }

    fn visit_expr_for_loop(&mut self, e: &'ast syn::ExprForLoop) {
        self.visit_expr(&e.expr);
        self.block_inside(&e.body);
    }

    fn visit_expr_match(&mut self, e: &'ast syn::ExprMatch) {
        self.visit_expr(&e.expr);
        let whole = node_range(e);
        for arm in &e.arms {
            let id = self.push(Kind::Arm, node_range(arm));
            let n = &mut self.nodes[id];
            n.group = whole.clone();
            n.words = idents(arm.pat.to_token_stream()).into_iter().collect();
            n.catch_all = catches_all(&arm.pat);
            self.inside(id, |b| visit::visit_arm(b, arm));
        }
    }
}

/// The names that the pattern of a `let` may bind, as the text has them: those of metavariables, too.
fn bound_by(pattern: &syn::Pat, text: &str) -> BTreeSet<String> {
    let pattern = if let syn::Pat::Type(typed) = pattern { &*typed.pat } else { pattern };
    words(&text[node_range(pattern)]).filter(|w| !["ref", "mut"].contains(w)).map(str::to_owned).collect()
}
