//! Tokens of a text by byte range, and the comments and white space between them.

use proc_macro2::{Delimiter, Group, Spacing, Span, TokenStream, TokenTree};
use std::ops::Range;

/// The byte range of a span in the text that was parsed.
///
/// Each text is parsed by itself, so ranges count from its first byte.
#[must_use]
pub fn range(span: Span) -> Range<usize> {
    span.byte_range()
}

/// The byte range of a syntax tree node, from its first to its last token, attributes included.
#[must_use]
pub fn node_range(node: &impl quote::ToTokens) -> Range<usize> {
    let mut range: Option<Range<usize>> = None;
    for tree in node.to_token_stream() {
        let r = tree.span().byte_range();
        // Tokens that syn made up have an empty range at zero.
        if r.is_empty() {
            continue;
        }
        range = Some(range.map_or(r.clone(), |old| old.start.min(r.start)..old.end.max(r.end)));
    }
    range.unwrap_or(0..0)
}

/// Calls `f` with every slice of sibling tokens, outermost first.
pub fn walk(tokens: TokenStream, f: &mut impl FnMut(&[TokenTree])) {
    let list: Vec<TokenTree> = tokens.into_iter().collect();
    f(&list);
    for tree in list {
        if let TokenTree::Group(g) = tree {
            walk(g.stream(), f);
        }
    }
}

/// Every identifier in the tokens, raw prefixes dropped.
#[must_use]
pub fn idents(tokens: TokenStream) -> Vec<String> {
    let mut out = Vec::new();
    walk(tokens, &mut |list| {
        for tree in list {
            if let TokenTree::Ident(i) = tree {
                let name = i.to_string();
                out.push(name.strip_prefix("r#").map_or(name.clone(), str::to_owned));
            }
        }
    });
    out
}

/// The matcher and the body of each rule of a `macro_rules!`, and where behind the body the list goes on, from the tokens between
/// its braces.
pub fn macro_rules(list: &[TokenTree]) -> impl Iterator<Item = (&Group, &Group, usize)> {
    list.windows(4).enumerate().filter_map(|(i, window)| match window {
        [TokenTree::Group(matcher), eq, gt, TokenTree::Group(body)]
            if is_punct(Some(eq), '=') && is_punct(Some(gt), '>') =>
        {
            Some((matcher, body, i + 4))
        }
        _ => None,
    })
}

/// The words of code or of a message: names, keywords, numbers.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

/// Tokens in groups: a token that begins on a later line than the one before it ends begins another.
#[must_use]
pub fn line_groups(tokens: TokenStream) -> Vec<TokenStream> {
    let mut groups: Vec<Vec<TokenTree>> = Vec::new();
    let mut last_line = 0;
    for tree in tokens {
        let (start, end) = (tree.span().start().line, tree.span().end().line);
        match groups.last_mut() {
            Some(group) if start == last_line => group.push(tree),
            _ => groups.push(vec![tree]),
        }
        last_line = end;
    }
    groups.into_iter().map(|g| g.into_iter().collect()).collect()
}

/// Functions in the tokens of a macro call, tests among them, as the macros of testing libraries take them
/// (`#[test] fn f(x in 0..9) { … }`): each with its name, which is empty for attributes in front of all of them; `None`
/// when there is anything else.
#[must_use]
pub fn test_functions(tokens: TokenStream) -> Option<Vec<(String, TokenStream)>> {
    let list: Vec<TokenTree> = tokens.into_iter().collect();
    let is_attribute = |i: usize| matches!(list.get(i), Some(TokenTree::Group(g)) if g.delimiter() == Delimiter::Bracket);
    let mut found: Vec<(String, TokenStream)> = Vec::new();
    let mut tests = 0;
    let mut start = 0;
    while is_punct(list.get(start), '#') && is_punct(list.get(start + 1), '!') && is_attribute(start + 2) {
        start += 3;
    }
    if start > 0 {
        found.push((String::new(), list[..start].iter().cloned().collect()));
    }
    while start < list.len() {
        let mut at = start;
        while is_punct(list.get(at), '#') && is_attribute(at + 1) {
            tests += usize::from(idents(list[at + 1].clone().into()).iter().any(|name| name == "test"));
            at += 2;
        }
        while matches!(list.get(at), Some(TokenTree::Ident(word)) if ["pub", "async", "unsafe"].iter().any(|w| word == w)) {
            at += 1;
        }
        let (Some(TokenTree::Ident(keyword)), Some(TokenTree::Ident(name))) = (list.get(at), list.get(at + 1)) else {
            return None;
        };
        let is_body = |tree: &TokenTree| matches!(tree, TokenTree::Group(g) if g.delimiter() == Delimiter::Brace);
        let end = at + list[at..].iter().position(is_body).filter(|_| keyword == "fn")? + 1;
        found.push((name.to_string(), list[start..end].iter().cloned().collect()));
        start = end;
    }
    (tests > 0).then_some(found)
}

/// Whether `tree` is that punctuation character.
#[must_use]
pub fn is_punct(tree: Option<&TokenTree>, c: char) -> bool {
    matches!(tree, Some(TokenTree::Punct(p)) if p.as_char() == c)
}

/// Whether `list` has `::` at `i`.
#[must_use]
pub fn is_path_sep(list: &[TokenTree], i: usize) -> bool {
    matches!(list.get(i), Some(TokenTree::Punct(p)) if p.as_char() == ':' && p.spacing() == Spacing::Joint)
        && is_punct(list.get(i + 1), ':')
}

/// The range of an item widened to the comments that stand directly on it, its trailing comment, and the whole
/// lines it fills. Only white space and comments are added, never a token.
#[must_use]
pub fn with_comments(text: &str, item: Range<usize>) -> Range<usize> {
    let line_start = text[..item.start].rfind('\n').map_or(0, |i| i + 1);
    let line_end = text[item.end..].find('\n').map_or(text.len(), |i| item.end + i);
    let before = text[line_start..item.start].trim();
    let after = text[item.end..line_end].trim();
    let mut start = item.start;
    let mut end = item.end;
    let alone_before = before.is_empty();
    // Documentation behind an item is the next one's.
    let doc = after.starts_with("//!") || after.starts_with("///") && !after.starts_with("////");
    let alone_after = after.is_empty() || after.starts_with("//") && !doc;
    if alone_before {
        start = comment_start(text, line_start);
    }
    if alone_after {
        end = line_end;
        if alone_before && end < text.len() {
            end += 1;
        }
    }
    if alone_before && !alone_after {
        // Something else follows on the line: keep its indentation.
        start = item.start.min(start.max(line_start));
        if start < item.start && start == line_start {
            start = item.start;
        }
    }
    start..end
}

/// The start of the run of comment lines that ends right above the line at `line_start`.
fn comment_start(text: &str, line_start: usize) -> usize {
    let mut start = line_start;
    while start > 0 {
        let prev = text[..start - 1].rfind('\n').map_or(0, |i| i + 1);
        let line = text[prev..start - 1].trim();
        let plain = line.starts_with("//") && !line.starts_with("//!");
        let block = line.starts_with("/*") && !line.starts_with("/*!") && line.find("*/") == Some(line.len() - 2);
        if !(plain || block) || may_end_string(line) {
            break;
        }
        start = prev;
    }
    start
}

/// Whether a line that looks like a comment may be the end of a literal of several lines. A comment that stays does no harm.
fn may_end_string(line: &str) -> bool {
    line.contains("\"#") || line.matches('"').count() % 2 == 1
}

#[cfg(test)]
mod unit {
    use super::*;
    use crate::source::edit::{Edit, apply};
    use proptest::prelude::*;

    /// The ranges of all tokens; of groups, their delimiters.
    fn all(text: &str) -> Vec<Range<usize>> {
        let mut out = Vec::new();
        walk(text.parse().unwrap(), &mut |list| {
            for tree in list {
                match tree {
                    TokenTree::Group(g) => out.extend([range(g.span_open()), range(g.span_close())]),
                    other => out.push(range(other.span())),
                }
            }
        });
        out.sort_by_key(|r| (r.start, r.end));
        out.dedup();
        out
    }

    fn piece() -> impl Strategy<Value = &'static str> {
        proptest::sample::select(vec![
            "fn a() {}\n",
            "fn ä(x: u8) -> u8 { x } ",
            "const B: &str = \"x\n// no comment\";\n",
            "const C: &str = r#\"\n// no \" comment\"#;\n",
            "/* one */ static D: u8 = 1; /* two */\n",
            "// about\n",
            "/// doc\n",
            "/* block */\n",
            "    /* of\n lines */\n",
            "    struct E { a: u8, // first\n b: u8 }\n",
            "mod f { // inside\n fn g() {} }\n",
            "\n",
            "// \"\n",
        ])
    }

    proptest! {
        #[test]
        fn what_is_cut_with_its_comments_never_cuts_another_token(
            pieces in proptest::collection::vec(piece(), 1..12),
            which in proptest::collection::vec(any::<proptest::sample::Index>(), 1..4),
        ) {
            let text = pieces.concat() + "fn last() {}\n";
            let file = syn::parse_file(&text).unwrap();
            let items: Vec<Range<usize>> = file.items.iter().map(node_range).collect();
            let cut: Vec<Range<usize>> = which.iter().map(|i| items[i.index(items.len())].clone()).collect();
            let edits: Vec<Edit> = cut.iter().map(|r| Edit::delete(with_comments(&text, r.clone()))).collect();
            for token in all(&text) {
                let gone = cut.iter().any(|r| r.start <= token.start && token.end <= r.end);
                for edit in &edits {
                    let free = edit.range.end <= token.start || token.end <= edit.range.start;
                    prop_assert!(gone || free, "{:?} takes `{}` of\n{}", edit.range, &text[token.clone()], text);
                }
            }
            let (left, _) = apply(&text, edits);
            let kept = items.iter().filter(|r| !cut.contains(r)).count();
            prop_assert_eq!(syn::parse_file(&left).map(|f| f.items.len()).ok(), Some(kept), "{}", left);
        }
    }

    #[test]
    fn the_end_of_a_literal_that_looks_like_a_comment_stays() {
        let text = "const A: &str = \"\n// x\";\nfn b() {}\n";
        assert_eq!(cut(text, "fn b() {}"), "const A: &str = \"\n// x\";\n");
    }

    #[test]
    fn documentation_behind_an_item_stays_for_the_next_one() {
        assert_eq!(cut("fn a() {} /// of b\nfn b() {}\n", "fn a() {}"), " /// of b\nfn b() {}\n");
    }

    #[test]
    fn code_between_two_comments_of_a_line_stays() {
        let text = "/* one */ fn a() {} /* two */\nfn b() {}\n";
        assert_eq!(cut(text, "fn b() {}"), "/* one */ fn a() {} /* two */\n");
    }

    fn cut(text: &str, item: &str) -> String {
        let at = text.find(item).unwrap();
        let r = with_comments(text, at..at + item.len());
        format!("{}{}", &text[..r.start], &text[r.end..])
    }

    #[test]
    fn functions_that_a_testing_macro_takes_are_told_apart() {
        let of = |text: &str| {
            let found = test_functions(text.parse().unwrap())?;
            Some(
                found.into_iter().map(|(name, tokens)| format!("{name}:{}", tokens.into_iter().count())).collect::<Vec<_>>(),
            )
        };
        let text = "#![config(x)] #[test] fn a(n in 0..9) { n } #[x] pub fn b(ref t in \"a\", n: u8) -> u8 { t }";
        assert_eq!(of(text).unwrap(), [":3", "a:6", "b:10"]);
        assert_eq!(of("fn a(n: u8) -> bool { true }"), None);
        assert_eq!(of("#[test] fn a() {} const X: u8 = 1;"), None);
        assert_eq!(of("#[test] struct A {}"), None);
    }

    #[test]
    fn comments_directly_above_and_behind_go_with_the_item() {
        let text = "fn a() {}\n\n// about b\n// more\nfn b() {} // end\nfn c() {}\n";
        assert_eq!(cut(text, "fn b() {}"), "fn a() {}\n\nfn c() {}\n");
    }

    #[test]
    fn a_comment_behind_a_blank_line_or_an_inner_doc_stays() {
        assert_eq!(cut("//! inner\nfn a() {}\n", "fn a() {}"), "//! inner\n");
        assert_eq!(cut("// far\n\nfn a() {}\n", "fn a() {}"), "// far\n\n");
    }

    #[test]
    fn neighbours_on_the_same_line_stay() {
        assert_eq!(cut("fn a() {} fn b() {}\n", "fn a() {}"), " fn b() {}\n");
        assert_eq!(cut("fn a() {} fn b() {}\n", "fn b() {}"), "fn a() {} \n");
    }
}
