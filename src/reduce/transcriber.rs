//! What a `macro_rules!` makes, in a form that parses and in which every byte keeps its place.

use crate::source::tokens::range;
use proc_macro2::{Group, TokenStream, TokenTree};
use std::ops::Range;

/// The bodies of a macro's arms as items: one text for each arm, padded so that offsets are those of `text`.
pub(super) fn transcribed(tokens: TokenStream, text: &str) -> Vec<syn::File> {
    transcribers(tokens).iter().filter_map(|body| as_items(body, text)).collect()
}

fn as_items(body: &Group, text: &str) -> Option<syn::File> {
    let inner = range(body.span_open()).end..range(body.span_close()).start;
    let mut blanked = text.as_bytes()[inner.clone()].to_vec();
    blank_metavariables(body.stream(), inner.start, &mut blanked);
    let padded = format!("{}{}", " ".repeat(inner.start), String::from_utf8(blanked).ok()?);
    syn::parse_file(&padded).ok()
}

/// What the arms of a `macro_rules!` make.
fn transcribers(tokens: TokenStream) -> Vec<Group> {
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
fn blank_metavariables(tokens: TokenStream, base: usize, out: &mut [u8]) {
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
