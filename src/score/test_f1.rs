//! Test F1: how much of the original test an agent's gist copied, before the original is put back.

use super::ParseError;
use super::layout::{Names, Separators, lines};
use quote::ToTokens;
use rustc_hash::FxHashMap;

/// Precision, recall and their harmonic mean, each from 0 to 1, over lines counted as often as they stand there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LineF1 {
    /// Share of the gist's lines that the original has.
    pub precision: f64,
    /// Share of the original's lines that the gist has.
    pub recall: f64,
    /// `2 * precision * recall / (precision + recall)`; 0 when nothing is shared.
    pub f1: f64,
}

/// Compares two texts of a test: a function with its attributes, or the macro call that makes the test.
///
/// `crates` are names whose prefix is dropped from paths.
///
/// ```
/// use cargo_gistify::score::test_f1::line_f1;
/// let f1 = line_f1("#[test] fn t() { a(); b(); }", "#[test]\nfn t() {\n    a();\n}", &[])?;
/// assert_eq!((f1.precision, f1.recall), (1.0, 0.75));
/// # Ok::<(), cargo_gistify::score::ParseError>(())
/// ```
///
/// # Errors
/// A text that is not an item.
pub fn line_f1(original: &str, gist: &str, crates: &[String]) -> Result<LineF1, ParseError> {
    let names: Names = crates.iter().cloned().collect();
    let laid = |what: &str, text: &str| -> Result<Vec<String>, ParseError> {
        let file = super::parse(what, text)?;
        let separators = Separators::of(&file);
        Ok(lines(file.into_token_stream(), &separators, &names).into_iter().map(|l| l.text).collect())
    };
    let original = laid("the original test", original)?;
    let gist = laid("the gist's test", gist)?;
    let mut left: FxHashMap<&str, usize> = FxHashMap::default();
    for line in &original {
        *left.entry(line).or_default() += 1;
    }
    let mut shared = 0;
    for line in &gist {
        if let Some(count) = left.get_mut(line.as_str()).filter(|n| **n > 0) {
            *count -= 1;
            shared += 1;
        }
    }
    let share = |of: usize| if of == 0 { 0.0 } else { shared as f64 / of as f64 };
    let (precision, recall) = (share(gist.len()), share(original.len()));
    let f1 = if shared == 0 { 0.0 } else { 2.0 * precision * recall / (precision + recall) };
    Ok(LineF1 { precision, recall, f1 })
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn formatting_and_comments_do_not_matter() {
        let f1 = line_f1("#[test]\nfn t() { a(b,c) }", "/// Doc.\n#[test] fn t()\n{\n  a(b, c,); // x\n}", &[]).unwrap();
        assert_eq!(f1.f1, 1.0);
    }

    #[test]
    fn a_line_counts_as_often_as_both_have_it() {
        let f1 = line_f1("fn t() { a(); }", "fn t() { a(); a(); a(); }", &[]).unwrap();
        assert_eq!((f1.precision, f1.recall), (0.5, 1.0));
    }

    #[test]
    fn f1_is_the_harmonic_mean() {
        let original = "#[test] fn t() { a(); b(); c(); d(); }";
        let gist = "#[test] fn t() { a(); x(); }";
        let f1 = line_f1(original, gist, &[]).unwrap();
        // Shared: `#[test]`, `fn t() {`, `a()`: 3 of the gist's 4 lines, 3 of the original's 6.
        assert_eq!((f1.precision, f1.recall), (3.0 / 4.0, 3.0 / 6.0));
        // 2 * 0.75 * 0.5 / (0.75 + 0.5) = 0.75 / 1.25.
        assert!((f1.f1 - 0.75 / 1.25).abs() < 1e-12, "{f1:?}");
    }

    #[test]
    fn nothing_in_common_is_zero() {
        assert_eq!(line_f1("fn t() { a(); }", "fn u() { b(); }", &[]).unwrap().f1, 0.0);
    }
}
