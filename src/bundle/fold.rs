//! What happens to the text of one file: `cfg`s resolved, modules and includes put in place, what the compiler
//! would read from elsewhere (`env!`, `include_str!`) made literal.

use super::inline::{Inliner, Place, module_edit};
use crate::error::{Error, Result};
use crate::source::cfg::Predicate;
use crate::source::mapped::{Mapped, MappedEdit};
use crate::source::tokens::{is_punct, node_range, range, walk, with_comments};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use std::collections::BTreeMap;
use std::ops::Range;
use syn::visit::{self, Visit};
use syn::{Attribute, Meta};

/// Collects the edits of one file.
pub(super) struct Fold<'a> {
    inliner: &'a mut Inliner,
    file: usize,
    place: Place,
    text: String,
    edits: Vec<MappedEdit>,
    failed: Option<Error>,
    /// Inside a test, which is put back as it is.
    in_test: bool,
}

/// What a `cfg` decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Active {
    No,
    Yes,
    /// Active, and only because tests are compiled.
    ForTests,
}

impl<'a> Fold<'a> {
    pub(super) fn new(inliner: &'a mut Inliner, file: usize, place: Place) -> Fold<'a> {
        Fold { inliner, file, place, text: String::new(), edits: Vec::new(), failed: None, in_test: false }
    }

    /// The edits of a parsed file; `None` when its own `#![cfg(…)]` leaves it out.
    pub(super) fn file(&mut self, tree: &syn::File, text: &str) -> Result<Option<Vec<MappedEdit>>> {
        if self.active(&tree.attrs) == Active::No {
            return Ok(None);
        }
        text.clone_into(&mut self.text);
        self.visit_file(tree);
        self.compile_time_reads(tree.to_token_stream());
        match self.failed.take() {
            Some(e) => Err(e),
            None => Ok(Some(std::mem::take(&mut self.edits))),
        }
    }

    fn delete(&mut self, range: Range<usize>) {
        let range = with_comments(&self.text, range);
        self.edits.push(MappedEdit::delete(range));
    }

    /// Deletes an element of a comma-separated list, and its comma.
    fn delete_element(&mut self, node: Range<usize>) {
        let rest = &self.text[node.end..];
        let comma = rest.len() - rest.trim_start().len();
        let end = if rest[comma..].starts_with(',') { node.end + comma + 1 } else { node.end };
        self.delete(node.start..end);
    }

    fn active(&self, attrs: &[Attribute]) -> Active {
        let mut result = Active::Yes;
        for attr in attrs {
            // `#[test]` implies `#[cfg(test)]`.
            if (attr.path().is_ident("test") || attr.path().is_ident("bench")) && !self.for_tests() {
                return Active::No;
            }
            match self.cfg_of(attr) {
                Some(predicate) if !self.inliner.cfgs.holds(&predicate) => return Active::No,
                Some(predicate) if mentions_test(&predicate) => result = Active::ForTests,
                _ => {}
            }
            // A `cfg_attr` can carry a `cfg`.
            for meta in self.expand_cfg_attr(attr).unwrap_or_default() {
                if let Meta::List(l) = &meta
                    && l.path.is_ident("cfg")
                    && let Some(p) = Predicate::parse(l.tokens.clone())
                    && !self.inliner.cfgs.holds(&p)
                {
                    return Active::No;
                }
            }
        }
        result
    }

    /// Whether this crate was compiled with `--test`.
    fn for_tests(&self) -> bool {
        self.inliner.cfgs.holds(&Predicate::Name("test".into()))
    }

    fn cfg_of(&self, attr: &Attribute) -> Option<Predicate> {
        match &attr.meta {
            Meta::List(l) if l.path.is_ident("cfg") => Predicate::parse(l.tokens.clone()),
            _ => None,
        }
    }

    /// The attributes that a `cfg_attr` stands for; `None` when it isn't one.
    fn expand_cfg_attr(&self, attr: &Attribute) -> Option<Vec<Meta>> {
        let Meta::List(l) = &attr.meta else { return None };
        if !l.path.is_ident("cfg_attr") {
            return None;
        }
        let (predicate, rest) = split_comma(l.tokens.clone());
        if !self.inliner.cfgs.holds(&Predicate::parse(predicate)?) {
            return Some(Vec::new());
        }
        let mut metas = Vec::new();
        let mut rest = rest;
        while !rest.is_empty() {
            let (one, more) = split_comma(rest);
            metas.push(syn::parse2::<Meta>(one).ok()?);
            rest = more;
        }
        let nested = |meta: &Meta| {
            let attr: Attribute = syn::parse_quote!(#[#meta]);
            self.expand_cfg_attr(&attr)
        };
        Some(metas.into_iter().flat_map(|m| nested(&m).unwrap_or_else(|| vec![m])).collect())
    }

    /// Resolves the attributes of something that stays.
    fn attributes(&mut self, attrs: &[Attribute]) {
        for attr in attrs {
            let span = node_range(attr);
            if span.is_empty() {
                continue;
            }
            if self.cfg_of(attr).is_some() {
                self.delete(span);
            } else if let Some(metas) = self.expand_cfg_attr(attr) {
                let kept: Vec<&Meta> = metas.iter().filter(|m| !m.path().is_ident("path") && keep_attribute(m)).collect();
                if kept.is_empty() {
                    self.delete(span);
                } else {
                    self.replace_attribute(attr, span, &kept);
                }
            } else if !self.in_test && !keep_attribute(&attr.meta) {
                self.delete(span);
            }
        }
    }

    /// Puts what a `cfg_attr` stands for in its place, in the words of the source.
    fn replace_attribute(&mut self, attr: &Attribute, span: Range<usize>, metas: &[&Meta]) {
        let bang = if matches!(attr.style, syn::AttrStyle::Inner(_)) { "!" } else { "" };
        let mut with = Mapped::default();
        let file = self.inliner.files[self.file].clone();
        for meta in metas {
            with.push_new(&format!("#{bang}["));
            with.push_file(self.file, &file, node_range(meta));
            with.push_new("]");
        }
        self.edits.push(MappedEdit { range: span, with });
    }

    /// Resolves the attributes of an element of a list; `false` when the element goes.
    fn element(&mut self, attrs: &[Attribute], node: &impl ToTokens) -> bool {
        if self.active(attrs) == Active::No {
            let r = node_range(node);
            self.delete_element(r);
            return false;
        }
        self.attributes(attrs);
        true
    }

    fn path_attribute(&self, attrs: &[Attribute]) -> Option<String> {
        let of = |meta: &Meta| match meta {
            Meta::NameValue(nv) if nv.path.is_ident("path") => self.inliner.constant(nv.value.to_token_stream()),
            _ => None,
        };
        attrs.iter().find_map(|a| of(&a.meta).or_else(|| self.expand_cfg_attr(a)?.iter().find_map(of)))
    }

    fn module(&mut self, m: &syn::ItemMod) {
        let name = m.ident.to_string();
        let name = name.strip_prefix("r#").unwrap_or(&name);
        let explicit = self.path_attribute(&m.attrs);
        for attr in m.attrs.iter().filter(|a| a.path().is_ident("path")) {
            self.delete(node_range(attr));
        }
        let Some(semi) = &m.semi else {
            let outer = self.place.clone();
            self.place.module_dir = match &explicit {
                Some(p) if !outer.inline => outer.file_dir.join(p),
                Some(p) => outer.module_dir.join(p),
                None => outer.module_dir.join(name),
            };
            self.place.inline = true;
            visit::visit_item_mod(self, m);
            self.place = outer;
            return;
        };
        match self.inliner.module(name, explicit.as_deref(), &self.place.clone()) {
            Ok(body) if body.inactive => self.delete(node_range(m)),
            Ok(body) => self.edits.push(module_edit(range(semi.span), &body)),
            Err(e) => self.fail(e),
        }
    }

    fn fail(&mut self, e: Error) {
        self.failed.get_or_insert(e);
    }

    /// `include!` of items; `true` when it was one.
    fn include_items(&mut self, mac: &syn::Macro, whole: Range<usize>) -> bool {
        if !is_macro(&mac.path, "include") {
            return false;
        }
        let Some(path) = self.inliner.constant(mac.tokens.clone()) else { return false };
        let path = self.place.file_dir.join(path);
        match self.inliner.included(&path, &self.place.clone(), true) {
            Ok(with) => self.edits.push(MappedEdit { range: whole, with }),
            Err(e) => self.fail(e),
        }
        true
    }

    /// Puts the branch that `cfg_if!` chooses in the place of the call, so that what is in it is code like any
    /// other; `false` when the call has another shape.
    fn chosen_branch(&mut self, mac: &syn::Macro, whole: Range<usize>, items: bool) -> bool {
        let Some(branches) = cfg_if_branches(mac.tokens.clone()) else { return false };
        let holds = |p: &Option<Predicate>| p.as_ref().is_none_or(|p| self.inliner.cfgs.holds(p));
        let Some((_, body)) = branches.into_iter().find(|(p, _)| holds(p)) else {
            self.delete(whole);
            return true;
        };
        let inner = range(body.span_open()).end..range(body.span_close()).start;
        if items {
            let parsed = syn::parse::Parser::parse2(items_within, body.stream());
            let Ok(parsed) = parsed else { return false };
            self.edits.push(MappedEdit::delete(whole.start..inner.start));
            self.edits.push(MappedEdit::delete(inner.end..whole.end));
            for item in parsed {
                // The tree of a macro's tokens lives only here.
                self.visit_item(&item);
            }
        } else {
            let parsed = syn::parse::Parser::parse2(syn::Block::parse_within, body.stream());
            let Ok(parsed) = parsed else { return false };
            self.edits.push(MappedEdit::delete(whole.start..inner.start));
            self.edits.push(MappedEdit::delete(inner.end..whole.end));
            for stmt in parsed {
                self.visit_stmt(&stmt);
            }
        }
        true
    }

    /// Inside the tokens of a macro call or definition: `cfg`s that would be decided otherwise in the gist,
    /// and `mod x;` handed through a macro.
    fn macro_tokens(&mut self, tokens: TokenStream, modules: bool) {
        let mut edits = Vec::new();
        let mut mods: Vec<(String, Range<usize>)> = Vec::new();
        walk(tokens, &mut |list| {
            for (i, tree) in list.iter().enumerate() {
                if let (TokenTree::Group(g), true) = (tree, is_punct(i.checked_sub(1).and_then(|b| list.get(b)), '#')) {
                    let inner: Vec<TokenTree> = g.stream().into_iter().collect();
                    if let [TokenTree::Ident(only)] = inner.as_slice()
                        && only == "test"
                        && !self.for_tests()
                    {
                        edits.push(MappedEdit::replace(range(only.span()), "cfg(any())"));
                    }
                }
                let TokenTree::Ident(ident) = tree else { continue };
                if ident == "cfg" || ident == "cfg_attr" {
                    let at = if is_punct(list.get(i + 1), '!') { i + 2 } else { i + 1 };
                    if let Some(TokenTree::Group(g)) = list.get(at)
                        && g.delimiter() == Delimiter::Parenthesis
                    {
                        edits.extend(self.decided(&g.stream()));
                    }
                } else if modules
                    && ident == "mod"
                    && let (Some(TokenTree::Ident(name)), Some(TokenTree::Punct(semi))) = (list.get(i + 1), list.get(i + 2))
                    && semi.as_char() == ';'
                    && !is_punct(i.checked_sub(1).and_then(|b| list.get(b)), '$')
                {
                    mods.push((name.to_string(), range(semi.span())));
                }
            }
        });
        self.edits.extend(edits);
        for (name, semi) in mods {
            let place = self.place.clone();
            if Inliner::has_module(&name, &place) {
                match self.inliner.module(&name, None, &place) {
                    Ok(body) => self.edits.push(module_edit(semi, &body)),
                    Err(e) => self.fail(e),
                }
            }
        }
    }

    /// Makes a predicate literal when the gist's own build would decide it otherwise.
    fn decided(&self, tokens: &TokenStream) -> Option<MappedEdit> {
        let (first, _) = split_comma(tokens.clone());
        let whole = node_range(&first);
        let predicate = Predicate::parse(first)?;
        let wanted = self.inliner.cfgs.holds(&predicate);
        (wanted != self.inliner.gist_cfgs.holds(&predicate))
            .then(|| MappedEdit::replace(whole, if wanted { "all()" } else { "any()" }))
    }

    /// `env!`, `option_env!`, `include_str!`, `include_bytes!`, `include!` in expressions, wherever they stand.
    fn compile_time_reads(&mut self, tokens: TokenStream) {
        let mut calls: Vec<(String, Range<usize>, TokenStream)> = Vec::new();
        walk(tokens, &mut |list| {
            for (i, tree) in list.iter().enumerate() {
                if let (TokenTree::Ident(name), true, Some(TokenTree::Group(g))) =
                    (tree, is_punct(list.get(i + 1), '!'), list.get(i + 2))
                {
                    // `core::include_str!` and `::std::env!` are replaced with their path.
                    let mut start = i;
                    while start >= 2 && is_punct(list.get(start - 1), ':') && is_punct(list.get(start - 2), ':') {
                        start -= 2;
                        if matches!(start.checked_sub(1).and_then(|b| list.get(b)), Some(TokenTree::Ident(_))) {
                            start -= 1;
                        }
                    }
                    let span = range(list[start].span()).start..range(g.span()).end;
                    calls.push((name.to_string(), span, g.stream()));
                }
            }
        });
        for (name, span, args) in calls {
            match self.compile_time_read(&name, args) {
                Ok(Some(with)) => self.edits.push(MappedEdit { range: span, with }),
                Ok(None) => {}
                Err(e) => self.fail(e),
            }
        }
    }

    fn compile_time_read(&mut self, name: &str, args: TokenStream) -> Result<Option<Mapped>> {
        let literal = |tokens: TokenStream| Some(Mapped::new_text(&tokens.to_string()));
        if name == "cfg" {
            let Some(predicate) = Predicate::parse(args) else { return Ok(None) };
            let wanted = self.inliner.cfgs.holds(&predicate);
            let same = wanted == self.inliner.gist_cfgs.holds(&predicate);
            return Ok((!same).then(|| Mapped::new_text(if wanted { "cfg!(all())" } else { "cfg!(any())" })));
        }
        if !matches!(name, "env" | "option_env" | "include_str" | "include_bytes" | "include") {
            return Ok(None);
        }
        let (first, _) = split_comma(args);
        let Some(value) = self.inliner.constant(first) else { return Ok(None) };
        if name == "env" || name == "option_env" {
            let known = self.inliner.env.get(&value).cloned();
            return Ok(match (name, known) {
                ("env", Some(v)) => literal(v.to_token_stream()),
                ("option_env", Some(v)) => Some(Mapped::new_text(&format!("Some({})", v.to_token_stream()))),
                _ => None,
            });
        }
        let path = self.place.file_dir.join(&value);
        match name {
            "include_str" => {
                let text = std::fs::read_to_string(&path).map_err(Error::path("read", &path))?;
                Ok(literal(text.to_token_stream()))
            }
            "include_bytes" => {
                let bytes = std::fs::read(&path).map_err(Error::path("read", &path))?;
                Ok(literal(proc_macro2::Literal::byte_string(&bytes).to_token_stream()))
            }
            _ => {
                let place = self.place.clone();
                // A file of items was handled as an item already; that edit starts first and wins.
                self.inliner.included(&path, &place, false).map(Some)
            }
        }
    }
}

impl<'ast> Visit<'ast> for Fold<'_> {
    fn visit_file(&mut self, f: &'ast syn::File) {
        self.attributes(&f.attrs);
        for item in &f.items {
            self.visit_item(item);
        }
    }

    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attrs = item_attrs(item);
        match self.active(attrs) {
            Active::No => {
                self.delete(node_range(item));
                return;
            }
            Active::ForTests => {
                let file = self.file;
                self.inliner.note_test_only(file, behind_attributes(item));
            }
            Active::Yes => {}
        }
        let is_test = attrs.iter().any(|a| a.path().segments.last().is_some_and(|s| s.ident == "test"));
        let outer = self.in_test;
        self.in_test |= is_test;
        self.attributes(attrs);
        self.item_inside(item);
        self.in_test = outer;
    }

    fn visit_impl_item(&mut self, item: &'ast syn::ImplItem) {
        let attrs: &[Attribute] = match item {
            syn::ImplItem::Const(i) => &i.attrs,
            syn::ImplItem::Fn(i) => &i.attrs,
            syn::ImplItem::Type(i) => &i.attrs,
            syn::ImplItem::Macro(i) => &i.attrs,
            _ => &[],
        };
        if self.active(attrs) == Active::No {
            self.delete(node_range(item));
            return;
        }
        self.attributes(attrs);
        visit::visit_impl_item(self, item);
    }

    fn visit_trait_item(&mut self, item: &'ast syn::TraitItem) {
        let attrs: &[Attribute] = match item {
            syn::TraitItem::Const(i) => &i.attrs,
            syn::TraitItem::Fn(i) => &i.attrs,
            syn::TraitItem::Type(i) => &i.attrs,
            syn::TraitItem::Macro(i) => &i.attrs,
            _ => &[],
        };
        if self.active(attrs) == Active::No {
            self.delete(node_range(item));
            return;
        }
        self.attributes(attrs);
        visit::visit_trait_item(self, item);
    }

    fn visit_foreign_item(&mut self, item: &'ast syn::ForeignItem) {
        let attrs: &[Attribute] = match item {
            syn::ForeignItem::Fn(i) => &i.attrs,
            syn::ForeignItem::Static(i) => &i.attrs,
            syn::ForeignItem::Type(i) => &i.attrs,
            syn::ForeignItem::Macro(i) => &i.attrs,
            _ => &[],
        };
        if self.active(attrs) == Active::No {
            self.delete(node_range(item));
            return;
        }
        self.attributes(attrs);
        visit::visit_foreign_item(self, item);
    }

    fn visit_field(&mut self, f: &'ast syn::Field) {
        if self.element(&f.attrs, f) {
            visit::visit_field(self, f);
        }
    }

    fn visit_variant(&mut self, v: &'ast syn::Variant) {
        if self.element(&v.attrs, v) {
            visit::visit_variant(self, v);
        }
    }

    fn visit_arm(&mut self, a: &'ast syn::Arm) {
        if self.element(&a.attrs, a) {
            visit::visit_arm(self, a);
        }
    }

    fn visit_field_value(&mut self, f: &'ast syn::FieldValue) {
        if self.element(&f.attrs, f) {
            visit::visit_field_value(self, f);
        }
    }

    fn visit_field_pat(&mut self, f: &'ast syn::FieldPat) {
        if self.element(&f.attrs, f) {
            visit::visit_field_pat(self, f);
        }
    }

    fn visit_fn_arg(&mut self, a: &'ast syn::FnArg) {
        let attrs = match a {
            syn::FnArg::Receiver(r) => &r.attrs,
            syn::FnArg::Typed(t) => &t.attrs,
        };
        if self.element(attrs, a) {
            visit::visit_fn_arg(self, a);
        }
    }

    fn visit_generic_param(&mut self, p: &'ast syn::GenericParam) {
        let attrs = match p {
            syn::GenericParam::Lifetime(p) => &p.attrs,
            syn::GenericParam::Type(p) => &p.attrs,
            syn::GenericParam::Const(p) => &p.attrs,
        };
        if self.element(attrs, p) {
            visit::visit_generic_param(self, p);
        }
    }

    fn visit_stmt(&mut self, s: &'ast syn::Stmt) {
        let attrs: &[Attribute] = match s {
            syn::Stmt::Local(l) => &l.attrs,
            syn::Stmt::Expr(e, _) => leading_attrs(e),
            syn::Stmt::Macro(m) => &m.attrs,
            syn::Stmt::Item(_) => &[],
        };
        if self.active(attrs) == Active::No {
            self.delete(node_range(s));
            return;
        }
        visit::visit_stmt(self, s);
    }

    fn visit_local(&mut self, l: &'ast syn::Local) {
        self.attributes(&l.attrs);
        visit::visit_local(self, l);
    }

    fn visit_stmt_macro(&mut self, m: &'ast syn::StmtMacro) {
        if is_macro(&m.mac.path, "cfg_if") && self.chosen_branch(&m.mac, node_range(m), false) {
            return;
        }
        self.attributes(&m.attrs);
        visit::visit_stmt_macro(self, m);
    }

    fn visit_expr(&mut self, e: &'ast syn::Expr) {
        self.attributes(expr_attrs(e));
        match e {
            // Elements with a `cfg` of their own.
            syn::Expr::Array(a) => self.expressions(&a.elems),
            syn::Expr::Tuple(t) => self.expressions(&t.elems),
            syn::Expr::Call(c) => {
                self.visit_expr(&c.func);
                self.expressions(&c.args);
            }
            syn::Expr::MethodCall(c) => {
                self.visit_expr(&c.receiver);
                self.expressions(&c.args);
            }
            e => visit::visit_expr(self, e),
        }
    }

    fn visit_macro(&mut self, m: &'ast syn::Macro) {
        self.macro_tokens(m.tokens.clone(), false);
    }
}

impl Fold<'_> {
    fn item_inside(&mut self, item: &syn::Item) {
        match item {
            syn::Item::Mod(m) => self.module(m),
            syn::Item::Macro(m) if is_macro(&m.mac.path, "cfg_if") && self.chosen_branch(&m.mac, node_range(item), true) => {
            }
            syn::Item::Macro(m) => {
                if !self.include_items(&m.mac, node_range(item)) {
                    self.macro_tokens(m.mac.tokens.clone(), m.ident.is_none());
                }
            }
            item => visit::visit_item(self, item),
        }
    }

    fn expressions(&mut self, list: &syn::punctuated::Punctuated<syn::Expr, syn::Token![,]>) {
        for e in list {
            if self.active(expr_attrs(e)) == Active::No {
                self.delete_element(node_range(e));
            } else {
                self.visit_expr(e);
            }
        }
    }
}

/// The first byte of an item that belongs to none of its attributes.
fn behind_attributes(item: &syn::Item) -> usize {
    let mut tokens = item.to_token_stream().into_iter().peekable();
    while let (Some(TokenTree::Punct(p)), true) = (tokens.peek(), true) {
        if p.as_char() != '#' {
            break;
        }
        tokens.next();
        // An inner attribute's `!` cannot stand here.
        tokens.next();
    }
    tokens.next().map_or(0, |t| range(t.span()).start)
}

/// Whether an attribute has a place in a gist. Lint levels that turn warnings into errors have none, since
/// what is left after reduction may well be unused; documentation of the crate belongs to the project.
fn keep_attribute(meta: &Meta) -> bool {
    let path = meta.path();
    if path.is_ident("deny") || path.is_ident("forbid") || path.is_ident("warn") {
        return false;
    }
    !matches!(meta, Meta::NameValue(nv) if nv.path.is_ident("doc") && matches!(nv.value, syn::Expr::Macro(_)))
}

/// Items up to the end of the tokens.
pub(crate) fn items_within(input: syn::parse::ParseStream<'_>) -> syn::Result<Vec<syn::Item>> {
    let mut items = Vec::new();
    while !input.is_empty() {
        items.push(input.parse()?);
    }
    Ok(items)
}

/// The branches of `if #[cfg(…)] { … } else if #[cfg(…)] { … } else { … }`: their predicates and bodies.
fn cfg_if_branches(tokens: TokenStream) -> Option<Vec<(Option<Predicate>, proc_macro2::Group)>> {
    let mut out = Vec::new();
    let mut it = tokens.into_iter().peekable();
    let ident = |t: Option<TokenTree>, name: &str| matches!(t, Some(TokenTree::Ident(i)) if i == name);
    let body = |t: Option<TokenTree>| match t {
        Some(TokenTree::Group(g)) if g.delimiter() == Delimiter::Brace => Some(g),
        _ => None,
    };
    if !ident(it.next(), "if") {
        return None;
    }
    loop {
        if !is_punct(it.next().as_ref(), '#') {
            return None;
        }
        let Some(TokenTree::Group(attr)) = it.next() else { return None };
        let inner: Vec<TokenTree> = attr.stream().into_iter().collect();
        let [TokenTree::Ident(cfg), TokenTree::Group(predicate)] = inner.as_slice() else { return None };
        if cfg != "cfg" {
            return None;
        }
        out.push((Some(Predicate::parse(predicate.stream())?), body(it.next())?));
        if it.peek().is_none() {
            return Some(out);
        }
        if !ident(it.next(), "else") {
            return None;
        }
        match it.next() {
            Some(TokenTree::Ident(i)) if i == "if" => {}
            other => {
                out.push((None, body(other)?));
                return it.next().is_none().then_some(out);
            }
        }
    }
}

fn mentions_test(p: &Predicate) -> bool {
    match p {
        Predicate::Name(n) => n == "test",
        Predicate::All(list) => list.iter().any(mentions_test),
        _ => false,
    }
}

fn is_macro(path: &syn::Path, name: &str) -> bool {
    path.segments.last().is_some_and(|s| s.ident == name)
}

/// The attributes of an item.
pub(super) fn item_attrs(item: &syn::Item) -> &[Attribute] {
    use syn::Item;
    match item {
        Item::Const(i) => &i.attrs,
        Item::Enum(i) => &i.attrs,
        Item::ExternCrate(i) => &i.attrs,
        Item::Fn(i) => &i.attrs,
        Item::ForeignMod(i) => &i.attrs,
        Item::Impl(i) => &i.attrs,
        Item::Macro(i) => &i.attrs,
        Item::Mod(i) => &i.attrs,
        Item::Static(i) => &i.attrs,
        Item::Struct(i) => &i.attrs,
        Item::Trait(i) => &i.attrs,
        Item::TraitAlias(i) => &i.attrs,
        Item::Type(i) => &i.attrs,
        Item::Union(i) => &i.attrs,
        Item::Use(i) => &i.attrs,
        _ => &[],
    }
}

/// The attributes of an expression.
fn expr_attrs(e: &syn::Expr) -> &[Attribute] {
    use syn::Expr;
    match e {
        Expr::Array(e) => &e.attrs,
        Expr::Assign(e) => &e.attrs,
        Expr::Async(e) => &e.attrs,
        Expr::Await(e) => &e.attrs,
        Expr::Binary(e) => &e.attrs,
        Expr::Block(e) => &e.attrs,
        Expr::Break(e) => &e.attrs,
        Expr::Call(e) => &e.attrs,
        Expr::Cast(e) => &e.attrs,
        Expr::Closure(e) => &e.attrs,
        Expr::Const(e) => &e.attrs,
        Expr::Continue(e) => &e.attrs,
        Expr::Field(e) => &e.attrs,
        Expr::ForLoop(e) => &e.attrs,
        Expr::Group(e) => &e.attrs,
        Expr::If(e) => &e.attrs,
        Expr::Index(e) => &e.attrs,
        Expr::Infer(e) => &e.attrs,
        Expr::Let(e) => &e.attrs,
        Expr::Lit(e) => &e.attrs,
        Expr::Loop(e) => &e.attrs,
        Expr::Macro(e) => &e.attrs,
        Expr::Match(e) => &e.attrs,
        Expr::MethodCall(e) => &e.attrs,
        Expr::Paren(e) => &e.attrs,
        Expr::Path(e) => &e.attrs,
        Expr::Range(e) => &e.attrs,
        Expr::RawAddr(e) => &e.attrs,
        Expr::Reference(e) => &e.attrs,
        Expr::Repeat(e) => &e.attrs,
        Expr::Return(e) => &e.attrs,
        Expr::Struct(e) => &e.attrs,
        Expr::Try(e) => &e.attrs,
        Expr::TryBlock(e) => &e.attrs,
        Expr::Tuple(e) => &e.attrs,
        Expr::Unary(e) => &e.attrs,
        Expr::Unsafe(e) => &e.attrs,
        Expr::While(e) => &e.attrs,
        Expr::Yield(e) => &e.attrs,
        _ => &[],
    }
}

/// The attributes in front of an expression statement: syn puts them on the leftmost operand.
fn leading_attrs(e: &syn::Expr) -> &[Attribute] {
    use syn::Expr;
    let own = expr_attrs(e);
    if !own.is_empty() {
        return own;
    }
    match e {
        Expr::Assign(e) => leading_attrs(&e.left),
        Expr::Binary(e) => leading_attrs(&e.left),
        Expr::Cast(e) => leading_attrs(&e.expr),
        _ => own,
    }
}

/// The tokens up to the first comma, and those behind it.
fn split_comma(tokens: TokenStream) -> (TokenStream, TokenStream) {
    let mut it = tokens.into_iter();
    let first = it.by_ref().take_while(|t| !is_punct(Some(t), ',')).collect();
    (first, it.collect())
}

/// The value of a string that the compiler would compute: a literal, `concat!(…)`, `env!(…)`.
pub(super) fn constant(tokens: TokenStream, env: &BTreeMap<String, String>) -> Option<String> {
    let list: Vec<TokenTree> = tokens.into_iter().collect();
    let list = match list.as_slice() {
        [rest @ .., TokenTree::Punct(p)] if p.as_char() == ',' => rest,
        all => all,
    };
    match list {
        [TokenTree::Literal(l)] => match syn::parse_str::<syn::Lit>(&l.to_string()).ok()? {
            syn::Lit::Str(s) => Some(s.value()),
            syn::Lit::Int(i) => Some(i.base10_digits().to_owned()),
            syn::Lit::Char(c) => Some(c.value().to_string()),
            syn::Lit::Bool(b) => Some(b.value.to_string()),
            _ => None,
        },
        [TokenTree::Group(g)] => constant(g.stream(), env),
        [.., TokenTree::Ident(name), TokenTree::Punct(bang), TokenTree::Group(args)] if bang.as_char() == '!' => {
            match name.to_string().as_str() {
                "concat" => {
                    let mut out = String::new();
                    let mut rest = args.stream();
                    while !rest.is_empty() {
                        let (one, more) = split_comma(rest);
                        out.push_str(&constant(one, env)?);
                        rest = more;
                    }
                    Some(out)
                }
                "env" => {
                    let (name, _) = split_comma(args.stream());
                    env.get(&constant(name, env)?).cloned()
                }
                _ => None,
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn constants_fold_concat_and_env() {
        let env = BTreeMap::from([("OUT_DIR".to_owned(), "/o".to_owned())]);
        let fold = |s: &str| constant(s.parse().unwrap(), &env);
        assert_eq!(fold(r#"concat!(env!("OUT_DIR"), "/x.rs")"#).as_deref(), Some("/o/x.rs"));
        assert_eq!(fold(r#"concat!("a", 1, 'b',)"#).as_deref(), Some("a1b"));
        assert_eq!(fold("$path"), None);
    }
}
