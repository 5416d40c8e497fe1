//! Parsing whole texts, with an error that says which text and where.

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
    syn::parse_file(text).map_err(|e| {
        let at = e.span().start();
        ParseError { what: what.to_owned(), line: at.line, column: at.column + 1, message: e.to_string() }
    })
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
    fn an_error_names_the_text_and_the_place() {
        assert_eq!(parse("the gist", "fn a() {}\nfn b( {}").unwrap_err().to_string().split(": ").nth(1), Some("2:5"));
    }
}
