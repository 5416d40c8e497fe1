//! What the compiler reads from elsewhere, made literal: the environment, and files.

use super::fold::Fold;
use super::macros::is_macro;
use crate::error::{Error, Result};
use crate::source::mapped::{Mapped, MappedEdit};
use crate::source::tokens::{is_punct, node_range, range, walk};
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use std::collections::BTreeMap;
use std::ops::Range;

impl Fold<'_> {
    /// `include!` of items; `true` when it was one.
    pub(super) fn include_items(&mut self, mac: &syn::Macro, whole: Range<usize>) -> bool {
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

    /// `env!`, `option_env!`, `include_str!`, `include_bytes!`, `include!` in expressions, and `cfg!`,
    /// wherever they stand.
    pub(super) fn compile_time_reads(&mut self, tokens: TokenStream) {
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
            if self.edits.iter().any(|e| e.range.start <= span.start && span.end <= e.range.end) {
                // What a `cfg` leaves out is not read: its files need not be there.
                continue;
            }
            if name == "cfg" {
                let decided = self.decided(&args);
                self.edits.extend(decided);
                continue;
            }
            match self.compile_time_read(&name, args) {
                Ok(Some(with)) => self.edits.push(MappedEdit { range: span, with }),
                Ok(None) => {}
                Err(e) => self.fail(e),
            }
        }
    }

    fn compile_time_read(&mut self, name: &str, args: TokenStream) -> Result<Option<Mapped>> {
        let literal = |tokens: TokenStream| Some(Mapped::new_text(&tokens.to_string()));
        if !matches!(name, "env" | "option_env" | "include_str" | "include_bytes" | "include") {
            return Ok(None);
        }
        let (first, _) = split_comma(args);
        let Some(value) = self.inliner.constant(first.clone()) else { return Ok(self.counted_from_file(name, &first)) };
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

impl Fold<'_> {
    /// A file that is named with a macro's variable: which one is known only where the macro is called. Its path counts
    /// from this file, wherever the text is compiled; should it be needed in the end, the gist is no file of its own.
    fn counted_from_file(&self, name: &str, path: &TokenStream) -> Option<Mapped> {
        let mut has_variable = false;
        walk(path.clone(), &mut |list| has_variable |= list.iter().any(|t| is_punct(Some(t), '$')));
        let span = node_range(path);
        (has_variable && name.starts_with("include")).then(|| {
            let mut with = Mapped::new_text(&format!("{name}!(concat!({:?}, \"/\", ", self.place.file_dir.as_str()));
            with.push_file(self.file, &self.inliner.files[self.file], span);
            with.push_new("))");
            with
        })
    }
}

/// The tokens up to the first comma, and those behind it.
pub(super) fn split_comma(tokens: TokenStream) -> (TokenStream, TokenStream) {
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
