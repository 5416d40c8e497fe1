//! How deep a text is nested: parsers and whoever walks their trees recurse, and a stack that overflows takes the process with it.

use super::tokens::is_punct;
use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The deepest nesting that is parsed, in tokens that can each open another level. Parsing takes up to 5 KiB of stack for one
/// (measured: a type of references to references, arguments in arguments), so 100 MiB for this many; what people write stays below 1,000.
pub const DEEPEST: usize = 20_000;

/// A list of sibling tokens that is walked through.
struct Level {
    rest: std::iter::Peekable<proc_macro2::token_stream::IntoIter>,
    /// How deep the list itself is.
    base: usize,
    /// Tokens since the last end of an expression, a type or an item: each may be an operator with the rest for its operand.
    chain: usize,
    /// `<` without `>`, and `|`: what is behind a comma may still stand in them.
    open: usize,
}

/// The 1-based line where a text is nested deeper than [`DEEPEST`]; `None` too when it can't be cut into tokens.
///
/// It takes no more stack for deeper texts.
///
/// ```
/// use cargo_gistify::source::nesting::too_deep;
/// assert_eq!(too_deep("fn f() { ((1)) }"), None);
/// assert_eq!(too_deep(&format!("fn f() {{\n{}1{} }}", "(".repeat(30_000), ")".repeat(30_000))), Some(2));
/// ```
#[must_use]
pub fn too_deep(text: &str) -> Option<usize> {
    if text.len() <= DEEPEST {
        return None;
    }
    let tokens: TokenStream = super::parse::code(text).parse().ok()?;
    let level = |tokens: TokenStream, base| Level { rest: tokens.into_iter().peekable(), base, chain: 0, open: 0 };
    let mut levels = vec![level(tokens, 0)];
    while let Some(here) = levels.last_mut() {
        let Some(tree) = here.rest.next() else {
            levels.pop();
            continue;
        };
        here.chain += 1;
        let depth = here.base + here.chain + here.open;
        if depth > DEEPEST {
            return Some(tree.span().start().line);
        }
        match &tree {
            TokenTree::Punct(p) => match p.as_char() {
                ';' | '#' => (here.chain, here.open) = (0, 0),
                ',' => here.chain = 0,
                '<' | '|' => here.open += 1,
                '>' => here.open = here.open.saturating_sub(1),
                _ => {}
            },
            TokenTree::Group(group) => {
                if group.delimiter() == Delimiter::Brace && ends_there(here.rest.peek()) {
                    (here.chain, here.open) = (0, 0);
                }
                levels.push(level(group.stream(), depth));
            }
            _ => {}
        }
    }
    None
}

/// Whether what ends with a brace is over before that token.
fn ends_there(next: Option<&TokenTree>) -> bool {
    match next {
        Some(TokenTree::Ident(word)) => word != "else" && word != "as",
        next => next.is_none() || is_punct(next, '#'),
    }
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn every_way_to_nest_is_seen() {
        let many = DEEPEST + 1;
        let twice = |open: &str, close: &str| (open.repeat(many), close.repeat(many));
        for (before, (open, close), after) in [
            ("fn f() { ", twice("(", ")"), " }"),
            ("fn f() { ", twice("f(1, ", ")"), " }"),
            ("", twice("mod a { ", "}"), ""),
            ("fn f() { ", twice("!", ""), "1 }"),
            ("fn f() { ", twice("|a, b| ", ""), "1 }"),
            ("fn f() { ", twice("1 + ", ""), "1 }"),
            ("fn f() { a", twice(".b()", ""), " }"),
            ("fn f() { ", twice("if a {} else ", ""), "{} }"),
            ("type A = ", twice("B<u8, ", ">"), ";"),
            ("type A = ", twice("&", ""), "u8;"),
            ("use ", twice("{a, a::", "}"), ";"),
            ("m! { ", twice("[", "]"), " }"),
        ] {
            assert_eq!(too_deep(&format!("{before}\n{open}1{close}{after}")), Some(2), "{before}{}", &open[..8]);
        }
    }

    #[test]
    fn long_is_not_deep() {
        let many = DEEPEST + 1;
        for (before, part, after) in [
            ("", "fn f() { g(1, 2); }\n", ""),
            ("", "#[a] struct S { a: u8 }\n", ""),
            ("const A: &[u8] = &[", "1, ", "];"),
            ("fn f() { ", "let a: Vec<u8> = b.c() + 1;\n", "}"),
            ("fn f() { match a { ", "b => { 1 } c => 2, ", "} }"),
            ("fn f() { ", "if a { b() } while c { } ", "}"),
            ("", "/// Words.\n", "fn f() {}"),
        ] {
            assert_eq!(too_deep(&format!("{before}{}{after}", part.repeat(many))), None, "{part}");
        }
    }
}
