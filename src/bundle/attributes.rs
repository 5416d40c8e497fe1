//! Which attributes a piece of syntax has, and which of them have a place in a gist.

use crate::source::cfg::Predicate;
use crate::source::tokens::range;
use proc_macro2::TokenTree;
use quote::ToTokens;
use syn::{Attribute, Meta};

/// The first byte of an item that belongs to none of its attributes.
pub(super) fn behind_attributes(item: &syn::Item) -> usize {
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
/// what is left after reduction may well be unused; documentation, name and type of the crate belong to the project.
pub(super) fn keep_attribute(meta: &Meta) -> bool {
    let path = meta.path();
    if ["deny", "forbid", "warn", "crate_name", "crate_type"].iter().any(|n| path.is_ident(n)) {
        return false;
    }
    !matches!(meta, Meta::NameValue(nv) if nv.path.is_ident("doc") && matches!(nv.value, syn::Expr::Macro(_)))
}

/// Whether a predicate holds only because tests are compiled.
pub(super) fn mentions_test(p: &Predicate) -> bool {
    match p {
        Predicate::Name(n) => n == "test",
        Predicate::All(list) => list.iter().any(mentions_test),
        _ => false,
    }
}

/// The attributes of an expression.
pub(super) fn expr_attrs(e: &syn::Expr) -> &[Attribute] {
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
pub(super) fn leading_attrs(e: &syn::Expr) -> &[Attribute] {
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

/// The attributes of a member of an impl.
pub(super) fn impl_item_attrs(item: &syn::ImplItem) -> &[Attribute] {
    match item {
        syn::ImplItem::Const(i) => &i.attrs,
        syn::ImplItem::Fn(i) => &i.attrs,
        syn::ImplItem::Type(i) => &i.attrs,
        syn::ImplItem::Macro(i) => &i.attrs,
        _ => &[],
    }
}

/// The attributes of a member of a trait.
pub(super) fn trait_item_attrs(item: &syn::TraitItem) -> &[Attribute] {
    match item {
        syn::TraitItem::Const(i) => &i.attrs,
        syn::TraitItem::Fn(i) => &i.attrs,
        syn::TraitItem::Type(i) => &i.attrs,
        syn::TraitItem::Macro(i) => &i.attrs,
        _ => &[],
    }
}

/// The attributes of a member of an `extern` block.
pub(super) fn foreign_item_attrs(item: &syn::ForeignItem) -> &[Attribute] {
    match item {
        syn::ForeignItem::Fn(i) => &i.attrs,
        syn::ForeignItem::Static(i) => &i.attrs,
        syn::ForeignItem::Type(i) => &i.attrs,
        syn::ForeignItem::Macro(i) => &i.attrs,
        _ => &[],
    }
}
