//! Macro tokens: `cfg`s in them, modules handed through them, and the branch that `cfg_if!` or `cfg_select!` chooses.

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
    /// Puts the branch that `cfg_if!` or `cfg_select!` chooses in the place of the call, so that what is in it is code
    /// like any other; `false` when it is another macro, or the call has another shape.
    pub(super) fn chosen_branch(&mut self, mac: &syn::Macro, whole: Range<usize>, items: bool) -> bool {
        let branches = match mac.path.segments.last() {
            Some(s) if s.ident == "cfg_if" => cfg_if_branches(mac.tokens.clone()),
            Some(s) if s.ident == "cfg_select" => cfg_select_branches(mac.tokens.clone()),
            _ => None,
        };
        let Some(branches) = branches else { return false };
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
        let mut mods = Vec::new();
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
                } else if ident == "cfg_select"
                    && is_punct(list.get(i + 1), '!')
                    && let Some(TokenTree::Group(g)) = list.get(i + 2)
                {
                    edits.extend(self.decided_branches(g.stream()));
                } else if modules
                    && ident == "mod"
                    && let (Some(TokenTree::Ident(name)), Some(TokenTree::Punct(semi))) = (list.get(i + 1), list.get(i + 2))
                    && semi.as_char() == ';'
                    && !is_punct(i.checked_sub(1).and_then(|b| list.get(b)), '$')
                {
                    mods.push((name.to_string(), self.path_before(list, i), range(semi.span())));
                }
            }
        });
        self.edits.extend(edits);
        for (name, path, semi) in mods {
            let place = self.place.clone();
            let explicit = path.as_ref().map(|(file, _)| file.as_str());
            if Inliner::has_module(&name, explicit, &place) {
                self.edits.extend(path.iter().map(|(_, attribute)| MappedEdit::delete(attribute.clone())));
                match self.inliner.module(&name, explicit, &place) {
                    Ok(body) => self.edits.push(module_edit(semi, &body)),
                    Err(e) => self.fail(e),
                }
            }
        }
    }

    /// The file that a `#[path = "…"]` in front of the `mod` at `i` names, and where the attribute stands.
    fn path_before(&self, list: &[TokenTree], i: usize) -> Option<(String, Range<usize>)> {
        let mut at = i;
        // The visibility.
        if at >= 1 && matches!(&list[at - 1], TokenTree::Group(g) if g.delimiter() == Delimiter::Parenthesis) {
            at -= 1;
        }
        if at >= 1 && matches!(&list[at - 1], TokenTree::Ident(word) if word == "pub") {
            at -= 1;
        }
        while at >= 2
            && is_punct(list.get(at - 2), '#')
            && let TokenTree::Group(attribute) = &list[at - 1]
        {
            let inner: Vec<TokenTree> = attribute.stream().into_iter().collect();
            if let [TokenTree::Ident(name), TokenTree::Punct(equals), value @ ..] = inner.as_slice()
                && name == "path"
                && equals.as_char() == '='
            {
                let file = self.inliner.constant(value.iter().cloned().collect())?;
                return Some((file, range(list[at - 2].span()).start..range(attribute.span()).end));
            }
            at -= 2;
        }
        None
    }

    /// Makes the predicates of `cfg_select!` literal that the gist's own build would decide otherwise.
    pub(super) fn decided_branches(&self, tokens: TokenStream) -> Vec<MappedEdit> {
        let conditions = select_conditions(tokens).unwrap_or_default().into_iter().map(|(condition, _)| condition);
        conditions.filter_map(|c| self.decided(&c.into_iter().collect())).collect()
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

/// The branches of `cfg_select! { predicate => { … } … _ => { … } }`.
fn cfg_select_branches(tokens: TokenStream) -> Option<Vec<(Option<Predicate>, proc_macro2::Group)>> {
    let branch = |(condition, body): (Vec<TokenTree>, Option<proc_macro2::Group>)| match condition.as_slice() {
        [TokenTree::Ident(any)] if any == "_" => Some((None, body?)),
        _ => Some((Some(Predicate::parse(condition.into_iter().collect())?), body?)),
    };
    select_conditions(tokens)?.into_iter().map(branch).collect()
}

/// What stands before each `=>`, and the block behind it; no block where it is an expression without braces.
fn select_conditions(tokens: TokenStream) -> Option<Vec<(Vec<TokenTree>, Option<proc_macro2::Group>)>> {
    let list: Vec<TokenTree> = tokens.into_iter().collect();
    let mut rest = list.as_slice();
    let mut out = Vec::new();
    while !rest.is_empty() {
        let arrow = (0..rest.len()).find(|i| is_punct(rest.get(*i), '=') && is_punct(rest.get(i + 1), '>'))?;
        let condition = rest[..arrow].to_vec();
        rest = &rest[arrow + 2..];
        let block = match rest.first()? {
            TokenTree::Group(g) if g.delimiter() == Delimiter::Brace => Some(g.clone()),
            _ => None,
        };
        let comma = rest.iter().position(|t| is_punct(Some(t), ','));
        rest = match (&block, comma) {
            (Some(_), Some(1)) => &rest[2..],
            (Some(_), _) => &rest[1..],
            (None, Some(at)) => &rest[at + 1..],
            (None, None) => &[],
        };
        out.push((condition, block));
    }
    Some(out)
}

/// Whether a macro's path ends in `name`.
pub(super) fn is_macro(path: &syn::Path, name: &str) -> bool {
    path.segments.last().is_some_and(|s| s.ident == name)
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn branches_of_cfg_select_may_be_blocks_or_expressions() {
        let text = r#"all(unix, feature = "x") => { a => b } windows => { c }, any() => d + { 1 }, _ => e"#;
        let found = select_conditions(text.parse().unwrap()).unwrap();
        let found: Vec<(usize, bool)> = found.into_iter().map(|(c, block)| (c.len(), block.is_some())).collect();
        assert_eq!(found, [(2, true), (1, true), (2, false), (1, false)]);
        assert!(select_conditions("unix { a }".parse().unwrap()).is_none());
    }

    #[test]
    fn branches_of_cfg_select_have_predicates_but_for_the_last() {
        let branches = cfg_select_branches("unix => { a } _ => {}".parse().unwrap()).unwrap();
        let predicates: Vec<Option<Predicate>> = branches.into_iter().map(|(p, _)| p).collect();
        assert_eq!(predicates, [Some(Predicate::Name("unix".to_owned())), None]);
    }
}
