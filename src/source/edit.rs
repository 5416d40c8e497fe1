//! Edits by byte range, applied once.

use std::ops::Range;

/// Replaces a byte range of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// What is replaced, in bytes of the text before any edit.
    pub range: Range<usize>,
    /// What stands there afterwards.
    pub with: String,
}

impl Edit {
    /// Deletes `range`.
    #[must_use]
    pub fn delete(range: Range<usize>) -> Edit {
        Edit { range, with: String::new() }
    }

    /// Inserts `with` before byte `at`.
    #[must_use]
    pub fn insert(at: usize, with: impl Into<String>) -> Edit {
        Edit { range: at..at, with: with.into() }
    }

    /// Puts `with` in the place of `range`.
    #[must_use]
    pub fn replace(range: Range<usize>, with: impl Into<String>) -> Edit {
        Edit { range, with: with.into() }
    }
}

/// A stretch of the new text: copied from the old one, or new.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where it starts in the new text.
    pub start: usize,
    /// Its length in bytes.
    pub len: usize,
    /// Where it starts in the old text; `None` for inserted text.
    pub from: Option<usize>,
}

/// Applies `edits` to `text`; gives the new text and where each stretch of it comes from.
///
/// An edit inside an earlier, wider one is dropped; of two that overlap otherwise the later is cut to what
/// the earlier leaves. Insertions at one place keep their order.
///
/// ```
/// use cargo_gistify::source::edit::{Edit, apply};
/// let (text, _) = apply("fn a() {} fn b() {}", vec![Edit::delete(0..10), Edit::insert(19, " // end")]);
/// assert_eq!(text, "fn b() {} // end");
/// ```
#[must_use]
pub fn apply(text: &str, mut edits: Vec<Edit>) -> (String, Vec<Piece>) {
    edits.sort_by_key(|e| (e.range.start, if e.range.is_empty() { 0 } else { 1 }, std::cmp::Reverse(e.range.end)));
    let mut out = String::with_capacity(text.len());
    let mut pieces: Vec<Piece> = Vec::new();
    let mut at = 0;
    let mut copy = |out: &mut String, range: Range<usize>| {
        if range.start < range.end {
            pieces.push(Piece { start: out.len(), len: range.len(), from: Some(range.start) });
            out.push_str(&text[range]);
        }
    };
    let mut inserted = Vec::new();
    for edit in edits {
        if edit.range.start < at {
            // Inside an earlier edit: only a longer tail still deletes.
            at = at.max(edit.range.end);
            continue;
        }
        copy(&mut out, at..edit.range.start);
        if !edit.with.is_empty() {
            inserted.push(Piece { start: out.len(), len: edit.with.len(), from: None });
            out.push_str(&edit.with);
        }
        at = edit.range.end;
    }
    copy(&mut out, at..text.len());
    pieces.extend(inserted);
    pieces.sort_by_key(|p| p.start);
    (out, pieces)
}

#[cfg(test)]
mod unit {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_nested_edit_is_dropped() {
        let (text, _) = apply("abcdef", vec![Edit::delete(1..5), Edit::replace(2..3, "X")]);
        assert_eq!(text, "af");
    }

    proptest! {
        #[test]
        fn copied_pieces_are_the_same_text_on_both_sides(
            text in "[a-zä\n]{0,60}",
            cuts in proptest::collection::vec((0usize..60, 0usize..10, "[A-Z]{0,3}"), 0..8),
        ) {
            let starts: Vec<usize> = text.char_indices().map(|(i, _)| i).chain([text.len()]).collect();
            let edits = cuts
                .into_iter()
                .map(|(at, len, with)| {
                    let a = at % starts.len();
                    let b = (a + len).min(starts.len() - 1);
                    Edit::replace(starts[a]..starts[b], with)
                })
                .collect();
            let (new, pieces) = apply(&text, edits);
            let mut end = 0;
            for p in &pieces {
                prop_assert_eq!(p.start, end);
                end = p.start + p.len;
                if let Some(from) = p.from {
                    prop_assert_eq!(&new[p.start..end], &text[from..from + p.len]);
                }
            }
            prop_assert_eq!(end, new.len());
        }
    }
}
