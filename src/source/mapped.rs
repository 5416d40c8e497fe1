//! Text under construction that knows where each stretch of it comes from.

use super::map::{Segment, SourceFile, SourceMap};
use std::ops::Range;

/// A text and its segments ([`Segment`]); origins name files by index.
#[derive(Clone, Debug, Default)]
pub struct Mapped {
    /// The text.
    pub text: String,
    /// Where each stretch comes from.
    pub segments: Vec<Segment>,
    /// The file's own `#![cfg(…)]` leaves it out: there is no text, and no module.
    pub inactive: bool,
}

/// Replaces a byte range of a file by text that may come from elsewhere.
#[derive(Clone, Debug)]
pub struct MappedEdit {
    /// What is replaced.
    pub range: Range<usize>,
    /// What stands there afterwards.
    pub with: Mapped,
}

impl MappedEdit {
    /// Deletes `range`.
    #[must_use]
    pub fn delete(range: Range<usize>) -> MappedEdit {
        MappedEdit { range, with: Mapped::default() }
    }

    /// Puts new text in the place of `range`.
    #[must_use]
    pub fn replace(range: Range<usize>, with: &str) -> MappedEdit {
        MappedEdit { range, with: Mapped::new_text(with) }
    }
}

impl Mapped {
    /// Text that comes from no file.
    #[must_use]
    pub fn new_text(text: &str) -> Mapped {
        let mut m = Mapped::default();
        m.push_new(text);
        m
    }

    /// Appends text that comes from no file.
    pub fn push_new(&mut self, text: &str) {
        if !text.is_empty() {
            self.segments.push(Segment { start: self.text.len(), len: text.len(), origin: None });
            self.text.push_str(text);
        }
    }

    /// Appends a byte range of a file.
    pub fn push_file(&mut self, index: usize, file: &SourceFile, range: Range<usize>) {
        if !range.is_empty() {
            self.segments.push(Segment { start: self.text.len(), len: range.len(), origin: Some((index, range.start)) });
            self.text.push_str(&file.text[range]);
        }
    }

    /// Appends another text with its origins.
    pub fn push(&mut self, other: &Mapped) {
        let at = self.text.len();
        self.segments.extend(other.segments.iter().map(|s| Segment { start: s.start + at, ..*s }));
        self.text.push_str(&other.text);
    }

    /// A range of a file with edits applied; nested and overlapping edits lose to the one that starts first.
    #[must_use]
    pub fn of_file(index: usize, file: &SourceFile, whole: Range<usize>, mut edits: Vec<MappedEdit>) -> Mapped {
        edits.sort_by_key(|e| (e.range.start, !e.range.is_empty(), std::cmp::Reverse(e.range.end)));
        let mut out = Mapped::default();
        let mut at = whole.start;
        for edit in edits {
            if edit.range.start < at {
                at = at.max(edit.range.end);
                continue;
            }
            out.push_file(index, file, at..edit.range.start.min(whole.end));
            out.push(&edit.with);
            at = edit.range.end;
        }
        if at < whole.end {
            out.push_file(index, file, at..whole.end);
        }
        out
    }

    /// A stretch of this text.
    #[must_use]
    pub fn part(&self, range: Range<usize>) -> Mapped {
        let cut = |r: Range<usize>| super::edit::Edit::delete(r);
        self.edited(vec![cut(0..range.start), cut(range.end..self.text.len())])
    }

    /// This text with edits applied.
    #[must_use]
    pub fn edited(&self, edits: Vec<super::edit::Edit>) -> Mapped {
        let (text, pieces) = super::edit::apply(&self.text, edits);
        let map = SourceMap { files: Vec::new(), segments: self.segments.clone() };
        Mapped { text, segments: map.edited(&pieces).segments, inactive: self.inactive }
    }

    /// The text and a source map over `files`.
    #[must_use]
    pub fn finish(self, files: Vec<SourceFile>) -> (String, SourceMap) {
        (self.text, SourceMap { files, segments: self.segments })
    }
}
