//! What happens to the text of one file: `cfg`s resolved, modules put in place. What stands in macro tokens is in
//! [`super::macros`], what the compiler reads from elsewhere in [`super::reads`].

use super::attributes::{
    behind_attributes, expr_attrs, foreign_item_attrs, impl_item_attrs, keep_attribute, leading_attrs, mentions_test,
    trait_item_attrs,
};
use super::inline::{Inliner, Place, module_edit};
use super::macros::is_macro;
use super::reads::split_comma;
use crate::error::{Error, Result};
use crate::source::cfg::Predicate;
use crate::source::mapped::{Mapped, MappedEdit};
use crate::source::parse::item_attributes;
use crate::source::tokens::{node_range, range, with_comments};
use quote::ToTokens;
use std::ops::Range;
use syn::visit::{self, Visit};
use syn::{Attribute, Meta};

/// Collects the edits of one file.
pub(super) struct Fold<'a> {
    pub(super) inliner: &'a mut Inliner,
    pub(super) file: usize,
    pub(super) place: Place,
    text: String,
    pub(super) edits: Vec<MappedEdit>,
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

    pub(super) fn delete(&mut self, range: Range<usize>) {
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
    pub(super) fn for_tests(&self) -> bool {
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

    /// Resolves the attributes of a member of an impl, a trait or an `extern` block; `false` when the member goes.
    fn member(&mut self, attrs: &[Attribute], node: &impl ToTokens) -> bool {
        if self.active(attrs) == Active::No {
            self.delete(node_range(node));
            return false;
        }
        self.attributes(attrs);
        true
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

    pub(super) fn fail(&mut self, e: Error) {
        self.failed.get_or_insert(e);
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
        let attrs = item_attributes(item);
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
        if self.member(impl_item_attrs(item), item) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_trait_item(&mut self, item: &'ast syn::TraitItem) {
        if self.member(trait_item_attrs(item), item) {
            visit::visit_trait_item(self, item);
        }
    }

    fn visit_foreign_item(&mut self, item: &'ast syn::ForeignItem) {
        if self.member(foreign_item_attrs(item), item) {
            visit::visit_foreign_item(self, item);
        }
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
        if self.chosen_branch(&m.mac, node_range(m), false) {
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
        if is_macro(&m.path, "cfg_select") {
            let decided = self.decided_branches(m.tokens.clone());
            self.edits.extend(decided);
        }
        self.macro_tokens(m.tokens.clone(), false);
    }
}

impl Fold<'_> {
    fn item_inside(&mut self, item: &syn::Item) {
        match item {
            syn::Item::Mod(m) => self.module(m),
            syn::Item::Macro(m) if self.chosen_branch(&m.mac, node_range(item), true) => {}
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
