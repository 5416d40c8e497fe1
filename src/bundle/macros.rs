//! Macro tokens: `cfg`s in them, modules handed through them, and the branch that `cfg_if!` chooses.

use super::fold::Fold;
use super::inline::{Inliner, module_edit};
use super::reads::split_comma;
use crate::source::cfg::Predicate;
use crate::source::mapped::MappedEdit;
use crate::source::tokens::{is_punct, node_range, range, walk};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::ops::Range;
use syn::visit::Visit;

impl Fold<'_> {
    /// Puts the branch that `cfg_if!` chooses in the place of the call, so that what is in it is code like any
    /// other; `false` when the call has another shape.
    pub(super) fn chosen_branch(&mut self, mac: &syn::Macro, whole: Range<usize>, items: bool) -> bool {
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
    pub(super) fn macro_tokens(&mut self, tokens: TokenStream, modules: bool) {
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
                // `feature! { #![all(feature = "a", unix)] … }`: a predicate that the macro puts into a `cfg`.
                if let TokenTree::Group(g) = tree
                    && g.delimiter() == Delimiter::Bracket
                    && (is_punct(i.checked_sub(1).and_then(|b| list.get(b)), '#')
                        || i >= 2 && is_punct(list.get(i - 1), '!') && is_punct(list.get(i - 2), '#'))
                    && is_no_attribute(&g.stream())
                {
                    edits.extend(self.decided(&g.stream()));
                }
                let TokenTree::Ident(ident) = tree else { continue };
                if ident == "cfg" || ident == "cfg_attr" {
                    // `cfg!(…)` is one of the compile-time reads.
                    if let Some(TokenTree::Group(g)) = list.get(i + 1)
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
    pub(super) fn decided(&self, tokens: &TokenStream) -> Option<MappedEdit> {
        let (first, _) = split_comma(tokens.clone());
        let whole = node_range(&first);
        let predicate = Predicate::parse(first)?;
        let wanted = self.inliner.cfgs.holds(&predicate);
        (wanted != self.inliner.gist_cfgs.holds(&predicate))
            .then(|| MappedEdit::replace(whole, if wanted { "all()" } else { "any()" }))
    }
}

/// Whether what stands in the brackets of an attribute can only be a predicate.
fn is_no_attribute(tokens: &TokenStream) -> bool {
    match Predicate::parse(tokens.clone()) {
        Some(Predicate::All(_) | Predicate::Any(_) | Predicate::Not(_)) => true,
        Some(Predicate::Value(name, _)) => name == "feature",
        _ => false,
    }
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

/// Whether a macro's path ends in `name`.
pub(super) fn is_macro(path: &syn::Path, name: &str) -> bool {
    path.segments.last().is_some_and(|s| s.ident == name)
}
