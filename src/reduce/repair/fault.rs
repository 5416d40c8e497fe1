//! One error of rustc, in terms of the bundle.

use super::impls::receiver;
use crate::compile::Diagnostic;
use crate::reduce::demand::{bounds, of_method, of_operator};
use crate::reduce::graph::{back, outermost};
use crate::reduce::types::Header;
use crate::source::edit::Piece;
use crate::source::tokens;

/// One error, in terms of the bundle.
pub(super) struct Fault<'a> {
    pub(super) code: &'a str,
    pub(super) message: &'a str,
    /// Places in the bundle: primary spans first. Code that macros made stands where the outermost macro is called.
    pub(super) places: Vec<usize>,
    /// Places in macro definitions that such code comes from.
    pub(super) definitions: Vec<usize>,
    /// Names that the error quotes, in order.
    pub(super) words: Vec<String>,
    /// All the text of the error and its notes.
    pub(super) full: String,
    /// Traits that types have to implement.
    pub(super) bounds: Vec<Header>,
}

impl Fault<'_> {
    /// Where the token that it is about is written, be it in a macro's definition.
    pub(super) fn token(&self) -> Option<usize> {
        self.definitions.first().or(self.places.first()).copied()
    }
}

/// What stands between backticks, split into identifiers.
pub(super) fn words(text: &str, out: &mut Vec<String>) {
    for (i, quoted) in text.split('`').enumerate() {
        if i % 2 == 0 {
            continue;
        }
        for w in tokens::words(quoted) {
            if !out.iter().any(|o| o == w) {
                out.push(w.to_owned());
            }
        }
    }
}

pub(super) fn fault<'a>(error: &'a Diagnostic, pieces: &[Piece]) -> Fault<'a> {
    let mut spans: Vec<_> = error.spans.iter().collect();
    spans.sort_by_key(|s| !s.is_primary);
    let mut places: Vec<usize> = spans.iter().filter_map(|s| back(pieces, outermost(s)?)).collect();
    let in_file = |s: &&&crate::compile::DiagnosticSpan| s.expansion.is_some() && s.file_name == crate::compile::FILE_NAME;
    let definitions = spans.iter().filter(in_file).filter_map(|s| back(pieces, s.byte_start as usize)).collect();
    let mut found = Vec::new();
    words(&error.message, &mut found);
    let mut full = error.message.clone();
    for s in &spans {
        if let Some(label) = &s.label {
            words(label, &mut found);
            full.push_str(label);
        }
    }
    for child in &error.children {
        // Lists of what else there is are no demand.
        if child.message.starts_with("the following other types") || child.message.contains("other candidates") {
            continue;
        }
        words(&child.message, &mut found);
        full.push('\n');
        full.push_str(&child.message);
        for s in &child.spans {
            if let Some(label) = &s.label {
                words(label, &mut found);
            }
            places.extend(outermost(s).and_then(|o| back(pieces, o)));
        }
    }
    Fault {
        code: error.code.as_ref().map_or("", |c| c.code.as_str()),
        message: &error.message,
        places,
        definitions,
        words: found,
        bounds: bounds(&full)
            .into_iter()
            .chain(of_operator(&error.message))
            .chain(of_method(receiver(&error.message), &full))
            .collect(),
        full,
    }
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn words_are_what_stands_between_backticks() {
        let mut w = Vec::new();
        words("the trait `From<a::Error>` is not implemented for `Foo<'_>`, see `a::Error`", &mut w);
        assert_eq!(w, ["From", "a", "Error", "Foo", "_"]);
    }
}
