//! How good a gist is beside whether it works: grounding, size, and how faithfully the test was copied.
//!
//! Pure functions of texts: this module knows nothing of cargo, processes or coverage. What a line is, all of it
//! takes from one layout (`layout`, whose rules are listed there), so that two figures never disagree about it.

mod blocks;
#[cfg(test)]
mod cuts;
pub mod existence;
mod layout;
pub mod size;
pub mod test_f1;

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

fn parse(what: &str, text: &str) -> Result<syn::File, ParseError> {
    syn::parse_file(text).map_err(|e| {
        let at = e.span().start();
        ParseError { what: what.to_owned(), line: at.line, column: at.column + 1, message: e.to_string() }
    })
}
