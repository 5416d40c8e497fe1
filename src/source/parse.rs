//! Parsing whole texts, with an error that says which text and where.

use syn::parse::{ParseStream, Parser};

/// A text that is not Rust.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} can't be parsed: {line}:{column}: {message}")]
pub struct ParseError {
    /// Which text.
    pub what: String,
    /// 1-based line.
    pub line: usize,
    /// 1-based column, in characters.
    pub column: usize,
    /// What the parser says.
    pub message: String,
}

/// Parses a file; `what` names it in the error.
///
/// Byte ranges of spans count from [`skipped`] on.
///
/// # Errors
/// The first place that is not Rust.
pub fn parse(what: &str, text: &str) -> Result<syn::File, ParseError> {
    syn::parse_file(text).map_err(|e| error(what, &e))
}

fn error(what: &str, e: &syn::Error) -> ParseError {
    let at = e.span().start();
    ParseError { what: what.to_owned(), line: at.line, column: at.column + 1, message: e.to_string() }
}

/// Parses a file item by item, so that the syntax tree of a large text is never in memory as a whole. `each` is given the
/// file's attributes, then each of its items, as files of their own.
///
/// # Errors
/// As [`parse`]; what stands before that place has been handed over by then.
pub fn parse_items(what: &str, text: &str, mut each: impl FnMut(syn::File)) -> Result<(), ParseError> {
    let items = |input: ParseStream<'_>| {
        let part = |attrs, items| syn::File { shebang: None, frontmatter: None, attrs, items };
        each(part(input.call(syn::Attribute::parse_inner)?, Vec::new()));
        while !input.is_empty() {
            each(part(Vec::new(), vec![input.parse()?]));
        }
        Ok(())
    };
    items.parse_str(code(text)).map_err(|e| error(what, &e))
}

/// A text without a byte order mark and a `#!` line.
#[must_use]
pub fn code(text: &str) -> &str {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match text.strip_prefix("#!") {
        // Not an attribute: the line that says how the file is run.
        Some(rest) if !rest.trim_start().starts_with('[') => text.split_once('\n').map_or("", |(_, rest)| rest),
        _ => text,
    }
}

/// How many bytes at the start of a parsed text no span counts: a byte order mark and a `#!` line.
#[must_use]
pub fn skipped(text: &str, file: &syn::File) -> usize {
    let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    mark + file.shebang.as_ref().map_or(0, String::len)
}

/// The attributes of an item.
#[must_use]
pub fn item_attributes(item: &syn::Item) -> &[syn::Attribute] {
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

#[cfg(test)]
mod unit {
    use super::*;
    use syn::spanned::Spanned;

    #[test]
    fn spans_count_from_after_the_mark_and_the_shebang() {
        for text in ["fn a() {}", "#!/usr/bin/env x\nfn a() {}", "\u{feff}fn a() {}", "\u{feff}#!/x\n\nfn a() {}"] {
            let file = parse("it", text).unwrap();
            let range = file.items[0].span().byte_range();
            let at = skipped(text, &file);
            assert_eq!(&text[at + range.start..at + range.end], "fn a() {}");
        }
    }

    #[test]
    fn items_come_one_by_one_behind_the_attributes_of_the_file() {
        for start in ["", "\u{feff}", "#!/usr/bin/env x\n"] {
            let mut parts = Vec::new();
            let text = format!("{start}#![no_std]\nfn a() {{}}\nmod b {{ fn c() {{}} }}\n");
            parse_items("it", &text, |part| parts.push((part.attrs.len(), part.items.len()))).unwrap();
            assert_eq!(parts, [(1, 0), (0, 1), (0, 1)], "{start}");
        }
        let e = parse_items("the crate", "fn a() {}\nfn b( {}", |_| {}).unwrap_err();
        assert_eq!(e.to_string().split(": ").nth(1), Some("2:5"));
    }

    #[test]
    fn an_error_names_the_text_and_the_place() {
        assert_eq!(parse("the gist", "fn a() {}\nfn b( {}").err().unwrap().to_string().split(": ").nth(1), Some("2:5"));
    }
}
