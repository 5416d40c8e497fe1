//! How large a text is, in figures that don't depend on its layout.

use crate::corpus::tokens::attribute;
use anyhow::{Result, anyhow};
use proc_macro2::{Span, TokenStream, TokenTree};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The size of one text; comments and doc comments don't count, except in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Size {
    /// Tokens; each character of an operator and each bracket is one.
    pub(super) tokens: u64,
    /// Lines that hold a token.
    pub(super) code_lines: u64,
    /// Bytes of the file.
    pub(super) bytes: u64,
}

impl Size {
    /// Measures a text, which has to consist of Rust's tokens.
    pub(super) fn of(text: &str) -> Result<Self> {
        let stream: TokenStream = text.parse().map_err(|error| anyhow!("not Rust's tokens: {error}"))?;
        let mut counter = Counter::default();
        counter.stream(stream);
        Ok(Self { tokens: counter.tokens, code_lines: counter.lines.len() as u64, bytes: text.len() as u64 })
    }
}

#[derive(Default)]
struct Counter {
    tokens: u64,
    lines: BTreeSet<usize>,
}

impl Counter {
    fn stream(&mut self, stream: TokenStream) {
        let trees: Vec<TokenTree> = stream.into_iter().collect();
        let mut rest = trees.as_slice();
        while let Some((tree, after)) = rest.split_first() {
            if let Some((behind, brackets)) = attribute(rest)
                && matches!(brackets.stream().into_iter().next(), Some(TokenTree::Ident(name)) if name == "doc")
            {
                rest = behind;
                continue;
            }
            match tree {
                TokenTree::Group(group) => {
                    self.token(group.span_open());
                    self.stream(group.stream());
                    self.token(group.span_close());
                }
                other => self.token(other.span()),
            }
            rest = after;
        }
    }

    fn token(&mut self, span: Span) {
        self.tokens += 1;
        self.lines.extend(span.start().line..=span.end().line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_doc_comments_do_not_count() {
        let text = "//! A crate.\n\n/// Doc.\nfn a() {\n    // why\n    b(1);\n}\n";
        let size = Size::of(text).unwrap();
        assert_eq!((size.tokens, size.code_lines, size.bytes), (11, 3, text.len() as u64));
    }

    #[test]
    fn layout_does_not_change_the_number_of_tokens() {
        let spread = Size::of("#[inline]\nfn a()\n{\n    b(\"x\ny\");\n}\n").unwrap();
        let packed = Size::of("#[inline]fn a(){b(\"x\ny\");}").unwrap();
        assert_eq!(spread.tokens, packed.tokens);
        assert_eq!((spread.code_lines, packed.code_lines), (6, 2));
    }

    #[test]
    fn a_text_of_no_tokens_is_an_error() {
        assert!(Size::of("fn a( {").is_err());
    }
}
