//! Everything in a bundle that can be kept or cut, as one tree of byte ranges.
//!
//! Items, members of impls and traits, `use` leaves, derives, attributes that only decorate; and inside bodies
//! statements, match arms, branches. The tree is laminar and in preorder, so the innermost node of an offset is
//! found by a binary search and a walk up.

use crate::source::tokens::{idents, node_range, range};
use proc_macro2::TokenTree;
use quote::ToTokens;
use std::collections::BTreeSet;
use std::ops::Range;
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItem, Item, TraitItem, UseTree};

/// Index of a node; 0 is the file.
pub type NodeId = usize;

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the names are Rust's own")]
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
    /// A macro call in the place of an item, or of a member of an impl or trait.
    MacroCall,
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
    /// What stands between the braces of a function.
    Body,
}

impl Kind {
    /// Part of a function's body.
    #[must_use]
    pub fn in_body(self) -> bool {
        matches!(self, Kind::Stmt | Kind::Arm | Kind::Else | Kind::Block | Kind::Body)
    }

    /// Gone when all of its children are.
    fn is_container(self) -> bool {
        matches!(self, Kind::Use | Kind::UseGroup | Kind::Derives | Kind::Impl | Kind::Module | Kind::ForeignMod)
    }

    /// An item or a member of one: what has a name that others use.
    #[must_use]
    pub fn is_item(self) -> bool {
        !self.in_body()
            && !matches!(
                self,
                Kind::File | Kind::Derives | Kind::Derive | Kind::Decoration | Kind::Use | Kind::UseGroup | Kind::UseLeaf
            )
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
    /// The head of the type that an impl is for.
    pub type_name: String,
    /// The last segment of the trait that an impl is of.
    pub trait_name: String,
    /// For an arm: the whole `match`.
    pub group: Range<usize>,
    /// A `const fn`, whose counts say nothing about evaluation at compile time.
    pub is_const: bool,
    /// A trait's function without a body.
    pub required: bool,
    /// An arm that matches anything; a `use` of everything; an enum whose variants all stay; a body that ends in a
    /// panic or a loop, and would be a stub without the rest.
    pub catch_all: bool,
    /// For macro calls: the macro's name.
    pub macro_name: String,
    /// For macro calls and definitions: every identifier in it. For `use` leaves: the path.
    pub words: BTreeSet<String>,
    /// Declared inside a body.
    pub local: bool,
    /// For a function's body: the function returns nothing, so an empty body will do.
    pub unit: bool,
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
}

impl Tree {
    /// Builds the tree of a text.
    ///
    /// # Errors
    /// When syn can't parse it.
    pub fn parse(text: &str) -> syn::Result<Tree> {
        let file = syn::parse_file(text)?;
        let mut b = Builder { text, nodes: Vec::new(), parent: 0, local: false, in_macro: false };
        let root = b.push(Kind::File, 0..text.len());
        b.attributes(root, &file.attrs);
        for item in &file.items {
            b.visit_item(item);
        }
        let mut order: Vec<NodeId> = (0..b.nodes.len()).collect();
        order.sort_by_key(|&i| (b.nodes[i].range.start, std::cmp::Reverse(b.nodes[i].range.end), i));
        let mut place = vec![0; order.len()];
        for (new, &old) in order.iter().enumerate() {
            place[old] = new;
        }
        let mut nodes: Vec<Node> = order.iter().map(|&i| b.nodes[i].clone()).collect();
        let mut children = vec![Vec::new(); nodes.len()];
        for (i, node) in nodes.iter_mut().enumerate() {
            node.parent = place[node.parent];
            if i > 0 {
                children[node.parent].push(i);
            }
        }
        let mut publics = Publics(Vec::new());
        publics.visit_file(&file);
        Ok(Tree { nodes, children, publics: publics.0 })
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
            if self.nodes[i].kind.is_container()
                && !(wanted[i] && self.nodes[i].kind == Kind::Module)
                && !children.is_empty()
                && children.iter().all(|&c| cut[c] || self.nodes[c].kind == Kind::Decoration)
            {
                cut[i] = true;
            }
        }
    }

    /// The byte range to delete when a node is cut.
    #[must_use]
    pub fn cut_range(&self, text: &str, id: NodeId) -> Range<usize> {
        let node = &self.nodes[id];
        if matches!(node.kind, Kind::Block | Kind::Body) {
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

struct Publics(Vec<Range<usize>>);

impl<'ast> Visit<'ast> for Publics {
    fn visit_visibility(&mut self, v: &'ast syn::Visibility) {
        if let syn::Visibility::Public(token) = v {
            self.0.push(range(token.span));
        }
    }
}

struct Builder<'a> {
    text: &'a str,
    nodes: Vec<Node>,
    parent: NodeId,
    local: bool,
    /// In what a macro makes: an attribute there shares its line with what follows, so it stays.
    in_macro: bool,
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
            group: 0..0,
            is_const: false,
            required: false,
            catch_all: false,
            macro_name: String::new(),
            words: BTreeSet::new(),
            local: self.local,
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
                } else if !b.in_macro && decorates(attr) && !(foreign && attr.path().is_ident("doc")) {
                    b.push(Kind::Decoration, r);
                }
            }
        });
    }

    fn use_tree(&mut self, tree: &UseTree, prefix: &mut Vec<String>, whole: Option<NodeId>) {
        match tree {
            UseTree::Path(p) => {
                prefix.push(plain(&p.ident));
                // `a::b` inside braces: the element begins at `a`.
                match &*p.tree {
                    UseTree::Group(_) if whole.is_none() => {
                        let id = self.push(Kind::UseGroup, node_range(tree));
                        self.inside(id, |b| b.use_tree(&p.tree, prefix, Some(id)));
                    }
                    UseTree::Group(_) | UseTree::Path(_) if whole.is_some() => {
                        self.use_tree_from(tree, &p.tree, prefix, whole)
                    }
                    inner => self.use_tree_from(tree, inner, prefix, whole),
                }
                prefix.pop();
            }
            UseTree::Group(g) => {
                for t in &g.items {
                    self.use_tree(t, prefix, None);
                }
            }
            leaf => self.use_leaf(leaf, node_range(leaf), prefix),
        }
    }

    /// Continues a path: `first` is where the element begins.
    fn use_tree_from(&mut self, first: &UseTree, rest: &UseTree, prefix: &mut Vec<String>, whole: Option<NodeId>) {
        match rest {
            UseTree::Path(p) => {
                prefix.push(plain(&p.ident));
                self.use_tree_from(first, &p.tree, prefix, whole);
                prefix.pop();
            }
            UseTree::Group(_) if whole.is_none() => {
                let id = self.push(Kind::UseGroup, node_range(first));
                self.inside(id, |b| b.use_tree(rest, prefix, Some(id)));
            }
            UseTree::Group(_) => self.use_tree(rest, prefix, whole),
            leaf => self.use_leaf(leaf, node_range(first), prefix),
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
            }
            UseTree::Rename(r) => {
                n.name = plain(&r.rename);
                n.name_range = range(r.rename.span());
                n.words.insert(plain(&r.ident));
            }
            _ => {
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

    fn body(&mut self, id: NodeId, f: impl FnOnce(&mut Self)) {
        let was = std::mem::replace(&mut self.local, true);
        self.inside(id, f);
        self.local = was;
    }

    fn function_body(&mut self, sig: &syn::Signature, block: &syn::Block) {
        let span = block.brace_token.span;
        let inner = range(span.open()).end..range(span.close()).start;
        if block.stmts.is_empty() {
            return;
        }
        let id = self.push(Kind::Body, inner);
        self.nodes[id].unit = match &sig.output {
            syn::ReturnType::Default => true,
            syn::ReturnType::Type(_, ty) => matches!(&**ty, syn::Type::Tuple(t) if t.elems.is_empty()),
        };
        self.nodes[id].catch_all = match block.stmts.last() {
            Some(syn::Stmt::Macro(m)) => is_diverging_macro(&m.mac.path),
            Some(syn::Stmt::Expr(syn::Expr::Macro(m), _)) => is_diverging_macro(&m.mac.path),
            Some(syn::Stmt::Expr(syn::Expr::Loop(_), _)) => true,
            _ => false,
        };
        let no_value = self.nodes[id].unit;
        self.inside(id, |b| b.statements(block, no_value));
    }

    /// The statements of a block; where it has no value its last one is like any other.
    fn statements(&mut self, block: &syn::Block, no_value: bool) {
        for (i, stmt) in block.stmts.iter().enumerate() {
            let last = i + 1 == block.stmts.len();
            match stmt {
                syn::Stmt::Item(item) => self.visit_item(item),
                // The value of the block, or what ends it.
                syn::Stmt::Expr(e, semi)
                    if last && !(is_unit(e) || no_value && diverges(e)) && (semi.is_none() || diverges(e)) =>
                {
                    self.visit_tail(e)
                }
                syn::Stmt::Macro(m) if last && !no_value && (m.semi_token.is_none() || is_diverging_macro(&m.mac.path)) => {}
                stmt => {
                    let id = self.push(Kind::Stmt, node_range(stmt));
                    if let syn::Stmt::Local(l) = stmt {
                        self.nodes[id].words = idents(l.pat.to_token_stream()).into_iter().collect();
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
            self.visit_block(&e.then_branch);
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
                    b.visit_block(&inner.then_branch);
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

    /// The bodies in what a macro makes: its items are parsed with `$` and repetitions blanked out, so that every
    /// byte keeps its place.
    fn transcriber(&mut self, id: NodeId, body: &proc_macro2::Group) {
        let inner = range(body.span_open()).end..range(body.span_close()).start;
        let mut blanked = self.text.as_bytes()[inner.clone()].to_vec();
        blank_metavariables(body.stream(), inner.start, &mut blanked);
        let Ok(blanked) = String::from_utf8(blanked) else { return };
        let padded = format!("{}{blanked}", " ".repeat(inner.start));
        let Ok(file) = syn::parse_file(&padded) else { return };
        let before = self.nodes.len();
        self.in_macro = true;
        self.body(id, |b| file.items.iter().for_each(|i| b.visit_item(i)));
        self.in_macro = false;
        for node in &mut self.nodes[before..] {
            node.mark = None;
            node.local = true;
        }
    }

    /// The inside of a block's braces.
    fn block_inside(&mut self, block: &syn::Block) {
        let span = block.brace_token.span;
        let inner = range(span.open()).end..range(span.close()).start;
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
                self.nodes[id].catch_all = fixed;
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
                self.nodes[id].type_name = type_head(&i.self_ty);
                if let Some(path) = i.trait_.as_ref().map(|t| &t.0) {
                    self.nodes[id].trait_name = path.segments.last().map(|s| plain(&s.ident)).unwrap_or_default();
                }
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
                    for body in transcribers(m.mac.tokens.clone()) {
                        self.transcriber(id, &body);
                    }
                }
                None => {
                    let id = self.macro_call(item, &m.mac);
                    // Macros that take items mostly hand them through.
                    if let Ok(items) = syn::parse::Parser::parse2(crate::bundle::items_within, m.mac.tokens.clone()) {
                        self.inside(id, |b| items.iter().for_each(|i| b.visit_item(i)));
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
            }
            Item::Use(u) => {
                let id = self.push(Kind::Use, node_range(item));
                self.attributes(id, &u.attrs);
                self.inside(id, |b| b.use_tree(&u.tree, &mut Vec::new(), Some(id)));
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
                self.macro_call(item, &m.mac);
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
                self.macro_call(item, &m.mac);
            }
            _ => {}
        }
    }

    fn visit_block(&mut self, block: &'ast syn::Block) {
        self.statements(block, false);
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
            n.catch_all = match &arm.pat {
                syn::Pat::Wild(_) => true,
                syn::Pat::Ident(i) => {
                    i.subpat.is_none() && i.ident.to_string().starts_with(|c: char| c.is_lowercase() || c == '_')
                }
                _ => false,
            };
            self.inside(id, |b| visit::visit_arm(b, arm));
        }
    }
}

/// What the arms of a `macro_rules!` make.
fn transcribers(tokens: proc_macro2::TokenStream) -> Vec<proc_macro2::Group> {
    let list: Vec<TokenTree> = tokens.into_iter().collect();
    list.windows(3)
        .filter_map(|w| match w {
            [TokenTree::Punct(eq), TokenTree::Punct(gt), TokenTree::Group(g)]
                if eq.as_char() == '=' && gt.as_char() == '>' =>
            {
                Some(g.clone())
            }
            _ => None,
        })
        .collect()
}

/// Makes `$x` an identifier, and of `$(…)sep*` leaves what is inside, without changing a length.
fn blank_metavariables(tokens: proc_macro2::TokenStream, base: usize, out: &mut [u8]) {
    let list: Vec<TokenTree> = tokens.into_iter().collect();
    let mut blank = |r: Range<usize>, with: u8| out[r.start - base..r.end - base].fill(with);
    let mut inner = Vec::new();
    let mut i = 0;
    while i < list.len() {
        match (&list[i], list.get(i + 1)) {
            (TokenTree::Punct(p), Some(TokenTree::Ident(_))) if p.as_char() == '$' => blank(range(p.span()), b'_'),
            (TokenTree::Punct(p), Some(TokenTree::Group(g))) if p.as_char() == '$' => {
                blank(range(p.span()), b' ');
                blank(range(g.span_open()), b' ');
                blank(range(g.span_close()), b' ');
                inner.push(g.stream());
                // The separator, if any, and the operator.
                for tree in list[i + 2..].iter().take(2) {
                    let TokenTree::Punct(p) = tree else { break };
                    blank(range(p.span()), b' ');
                    if matches!(p.as_char(), '*' | '+' | '?') {
                        break;
                    }
                }
                i += 1;
            }
            (TokenTree::Group(g), _) => inner.push(g.stream()),
            _ => {}
        }
        i += 1;
    }
    for stream in inner {
        blank_metavariables(stream, base, out);
    }
}

/// Whether no branch of an `if` gives a value.
fn without_value(e: &syn::ExprIf) -> bool {
    let block = |b: &syn::Block| {
        !matches!(b.stmts.last(), Some(syn::Stmt::Expr(_, None) | syn::Stmt::Macro(syn::StmtMacro { semi_token: None, .. })))
    };
    let all_diverge = |b: &syn::Block| matches!(b.stmts.last(), Some(syn::Stmt::Expr(e, _)) if diverges(e));
    match &e.else_branch {
        None => true,
        Some((_, branch)) => {
            let rest = match &**branch {
                syn::Expr::If(inner) => without_value(inner),
                syn::Expr::Block(b) => block(&b.block),
                _ => false,
            };
            block(&e.then_branch) && rest && !all_diverge(&e.then_branch)
        }
    }
}

/// Whether an expression's type can only be `()`.
fn is_unit(e: &syn::Expr) -> bool {
    matches!(e, syn::Expr::ForLoop(_) | syn::Expr::While(_)) || matches!(e, syn::Expr::If(i) if i.else_branch.is_none())
}

/// Whether control never goes past the expression.
fn diverges(e: &syn::Expr) -> bool {
    match e {
        syn::Expr::Return(_) | syn::Expr::Break(_) | syn::Expr::Continue(_) => true,
        syn::Expr::Macro(m) => is_diverging_macro(&m.mac.path),
        _ => false,
    }
}

fn is_diverging_macro(path: &syn::Path) -> bool {
    const NAMES: &[&str] = &["panic", "unreachable", "unimplemented", "todo"];
    path.segments.last().is_some_and(|s| NAMES.iter().any(|n| s.ident == n))
}

/// An identifier without its raw prefix.
fn plain(ident: &syn::Ident) -> String {
    let name = ident.to_string();
    name.strip_prefix("r#").map_or(name.clone(), str::to_owned)
}

/// The first byte behind the attributes.
fn after_attributes(node: Range<usize>, attrs: &[Attribute], text: &str) -> usize {
    let end = attrs
        .iter()
        .filter(|a| matches!(a.style, syn::AttrStyle::Outer))
        .map(|a| node_range(a).end)
        .filter(|e| node.contains(e))
        .max()
        .unwrap_or(node.start);
    end + (text[end..].len() - text[end..].trim_start().len()).min(node.end - end)
}

/// The name that a type is known by: the last segment of its path, below references and the like.
fn type_head(ty: &syn::Type) -> String {
    match ty {
        syn::Type::Path(p) => p.path.segments.last().map(|s| plain(&s.ident)).unwrap_or_default(),
        syn::Type::Reference(r) => type_head(&r.elem),
        syn::Type::Paren(p) => type_head(&p.elem),
        syn::Type::Group(p) => type_head(&p.elem),
        syn::Type::Slice(s) => type_head(&s.elem),
        syn::Type::Array(a) => type_head(&a.elem),
        syn::Type::Ptr(p) => type_head(&p.elem),
        syn::Type::TraitObject(t) => idents(t.to_token_stream()).into_iter().find(|w| w != "dyn").unwrap_or_default(),
        other => idents(other.to_token_stream()).into_iter().next().unwrap_or_default(),
    }
}

/// Attributes without a say in what a program does.
fn decorates(attr: &Attribute) -> bool {
    const NAMES: &[&str] = &["inline", "must_use", "doc", "cold", "deprecated", "automatically_derived", "optimize"];
    let path = attr.path();
    NAMES.iter().any(|n| path.is_ident(n))
        || path.segments.first().is_some_and(|s| s.ident == "rustfmt" || s.ident == "clippy")
}

/// Whether an attribute is (or may be) somebody's macro, which can read the other attributes.
fn is_foreign_macro(attr: &Attribute) -> bool {
    const STD: &[&str] = &["Clone", "Copy", "Debug", "Default", "PartialEq", "Eq", "PartialOrd", "Ord", "Hash"];
    const KNOWN: &[&str] = &[
        "cfg",
        "cfg_attr",
        "allow",
        "warn",
        "expect",
        "deny",
        "forbid",
        "test",
        "should_panic",
        "ignore",
        "repr",
        "non_exhaustive",
        "macro_use",
        "macro_export",
        "path",
        "track_caller",
        "no_mangle",
        "link",
        "link_name",
        "link_section",
        "export_name",
        "unsafe",
        "target_feature",
        "global_allocator",
        "used",
        "default",
        "automatically_derived",
        "diagnostic",
    ];
    let path = attr.path();
    if path.is_ident("derive") {
        let mut foreign = false;
        let _ = attr.parse_nested_meta(|m| {
            foreign |= !m.path.segments.last().is_some_and(|s| STD.iter().any(|n| s.ident == n));
            Ok(())
        });
        return foreign;
    }
    !decorates(attr) && !path.segments.first().is_some_and(|s| KNOWN.iter().any(|n| s.ident == n))
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
    fn bodies_in_what_a_macro_makes_are_nodes() {
        let text =
            "macro_rules! m { ($($t:ident),*) => {$( impl T for $t { fn f(self) -> u8 { g($crate::X); h::<$t>() } } )*}; }";
        assert_eq!(names(text, Kind::Stmt), ["g($crate::X);"]);
        let t = Tree::parse(text).unwrap();
        assert!(t.nodes.iter().filter(|n| n.kind == Kind::ImplFn).all(|n| n.local && n.mark.is_none()));
    }
}
