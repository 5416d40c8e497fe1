//! The source map: which byte of a text comes from which byte of which of the project's files.

use super::edit::Piece;
use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A source file as it was read.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// Absolute path.
    pub path: Utf8PathBuf,
    /// The whole text, unchanged.
    pub text: Arc<str>,
    /// Byte offset of the start of each line.
    lines: Arc<[usize]>,
}

/// A 1-based line and a 1-based column in *bytes*.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Position {
    /// 1-based line.
    pub line: usize,
    /// 1-based column, in bytes.
    pub column: usize,
}

/// Byte offsets of the starts of the lines of `text`.
#[must_use]
pub fn line_starts(text: &str) -> Vec<usize> {
    std::iter::once(0).chain(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i + 1)).collect()
}

/// The position of byte `offset`, given the starts of the lines.
#[must_use]
pub fn position(lines: &[usize], offset: usize) -> Position {
    let line = lines.partition_point(|s| *s <= offset).max(1);
    Position { line, column: offset - lines[line - 1] + 1 }
}

/// The byte offset of a position, clamped to its line.
#[must_use]
pub fn offset(lines: &[usize], len: usize, at: Position) -> usize {
    let Some(start) = lines.get(at.line.saturating_sub(1)) else { return len };
    let end = lines.get(at.line).map_or(len, |next| next - 1);
    (start + at.column.saturating_sub(1)).min(end)
}

impl SourceFile {
    /// A file and its text.
    #[must_use]
    pub fn new(path: impl Into<Utf8PathBuf>, text: impl Into<Arc<str>>) -> SourceFile {
        let text = text.into();
        SourceFile { path: path.into(), lines: line_starts(&text).into(), text }
    }

    /// The position of byte `offset`.
    #[must_use]
    pub fn position(&self, offset: usize) -> Position {
        position(&self.lines, offset)
    }

    /// The byte offset of a position.
    #[must_use]
    pub fn offset(&self, at: Position) -> usize {
        offset(&self.lines, self.text.len(), at)
    }
}

/// A stretch of a text and where it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Where it starts in the text.
    pub start: usize,
    /// Its length in bytes.
    pub len: usize,
    /// The file (index into [`SourceMap::files`]) and the byte offset there; `None` for text that this tool wrote.
    pub origin: Option<(usize, usize)>,
}

/// Maps a text to the files that it was made of.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    /// The files, in the order they were first met.
    pub files: Vec<SourceFile>,
    /// Stretches in the order of the text, without gaps.
    pub segments: Vec<Segment>,
}

impl SourceMap {
    /// Where byte `at` of the text comes from: a file's index and a byte offset in it.
    #[must_use]
    pub fn origin(&self, at: usize) -> Option<(usize, usize)> {
        let i = self.segments.partition_point(|s| s.start <= at).checked_sub(1)?;
        let s = &self.segments[i];
        let (file, offset) = s.origin?;
        (at <= s.start + s.len).then(|| (file, offset + (at - s.start)))
    }

    /// Where byte `at` of the text comes from, as a path and a position.
    #[must_use]
    pub fn place(&self, at: usize) -> Option<(&Utf8Path, Position)> {
        let (file, offset) = self.origin(at)?;
        let file = &self.files[file];
        Some((&file.path, file.position(offset)))
    }

    /// All bytes of the text that come from byte `offset` of file number `file` (a file can be mounted twice).
    pub fn images(&self, file: usize, offset: usize) -> impl Iterator<Item = usize> + '_ {
        self.segments.iter().filter_map(move |s| {
            let (f, from) = s.origin?;
            (f == file && (from..from + s.len).contains(&offset)).then(|| s.start + (offset - from))
        })
    }

    /// The file of that path.
    #[must_use]
    pub fn file(&self, path: &Utf8Path) -> Option<usize> {
        self.files.iter().position(|f| f.path == path)
    }

    /// The map of the text that edits made of this one ([`super::edit::apply`]).
    #[must_use]
    pub fn edited(&self, pieces: &[Piece]) -> SourceMap {
        let mut segments = Vec::with_capacity(pieces.len());
        for piece in pieces {
            let Some(from) = piece.from else {
                segments.push(Segment { start: piece.start, len: piece.len, origin: None });
                continue;
            };
            let mut i = self.segments.partition_point(|s| s.start <= from).saturating_sub(1);
            let mut done = 0;
            while done < piece.len && i < self.segments.len() {
                let s = &self.segments[i];
                let inside = from + done - s.start;
                let len = (s.len - inside.min(s.len)).min(piece.len - done);
                if len > 0 {
                    let origin = s.origin.map(|(f, o)| (f, o + inside));
                    segments.push(Segment { start: piece.start + done, len, origin });
                    done += len;
                }
                i += 1;
            }
        }
        SourceMap { files: self.files.clone(), segments }
    }

    /// This map, with the stretches of another one in the place of those of unknown origin.
    ///
    /// Each stretch of `over` has to lie inside one of unknown origin.
    #[must_use]
    pub fn overlaid(mut self, over: &SourceMap) -> SourceMap {
        for s in &over.segments {
            let origin = s.origin.map(|(file, offset)| (self.file_or_add(&over.files[file]), offset));
            let i = self.segments.partition_point(|own| own.start <= s.start).saturating_sub(1);
            let Some(own) = self.segments.get(i).copied().filter(|own| own.origin.is_none()) else { continue };
            let end = own.start + own.len;
            let pieces = [
                Segment { len: s.start - own.start, ..own },
                Segment { origin, ..*s },
                Segment { start: s.start + s.len, len: end.saturating_sub(s.start + s.len), origin: None },
            ];
            self.segments.splice(i..=i, pieces.into_iter().filter(|p| p.len > 0));
        }
        self
    }

    fn file_or_add(&mut self, file: &SourceFile) -> usize {
        self.file(&file.path).unwrap_or_else(|| {
            self.files.push(file.clone());
            self.files.len() - 1
        })
    }
}

#[cfg(test)]
mod unit {
    use super::*;
    use crate::source::edit::{Edit, apply};
    use proptest::prelude::*;

    fn identity(text: &str) -> SourceMap {
        SourceMap {
            files: vec![SourceFile::new("/p/a.rs", text)],
            segments: vec![Segment { start: 0, len: text.len(), origin: Some((0, 0)) }],
        }
    }

    #[test]
    fn a_position_counts_lines_and_bytes_from_one() {
        let f = SourceFile::new("/a", "ä\nbc\n");
        assert_eq!(f.position(3), Position { line: 2, column: 1 });
        assert_eq!(f.offset(Position { line: 2, column: 2 }), 4);
        assert_eq!(f.offset(Position { line: 2, column: 99 }), 5);
        assert_eq!(f.offset(Position { line: 99, column: 1 }), 6);
    }

    #[test]
    fn an_overlay_fills_what_is_unknown() {
        let known = Segment { start: 0, len: 2, origin: Some((0, 5)) };
        let unknown = Segment { start: 2, len: 6, origin: None };
        let map = SourceMap { files: vec![SourceFile::new("/p/a.rs", "0123456789")], segments: vec![known, unknown] };
        let over = SourceMap {
            files: vec![SourceFile::new("/p/b.rs", "0123456789")],
            segments: vec![Segment { start: 3, len: 4, origin: Some((0, 1)) }, Segment { start: 0, len: 1, origin: None }],
        };
        let out = map.overlaid(&over);
        let origins: Vec<_> = (0..8).map(|at| out.origin(at)).collect();
        assert_eq!(&origins[..3], [Some((0, 5)), Some((0, 6)), None]);
        assert_eq!(&origins[3..7], [Some((1, 1)), Some((1, 2)), Some((1, 3)), Some((1, 4))]);
        assert_eq!(origins[7], None);
    }

    proptest! {
        #[test]
        fn every_kept_byte_maps_back_to_itself_after_two_rounds_of_edits(
            text in "[a-z\n]{1,80}",
            first in proptest::collection::vec((0usize..80, 0usize..9, "[A-Z]{0,3}"), 0..6),
            second in proptest::collection::vec((0usize..80, 0usize..9, "[0-9]{0,3}"), 0..6),
        ) {
            let edits = |text: &str, cuts: Vec<(usize, usize, String)>| {
                cuts.into_iter().map(|(a, l, w)| {
                    let a = a.min(text.len());
                    Edit::replace(a..(a + l).min(text.len()), w)
                }).collect::<Vec<_>>()
            };
            let (one, pieces) = apply(&text, edits(&text, first));
            let map = identity(&text).edited(&pieces);
            let (two, pieces) = apply(&one, edits(&one, second));
            let map = map.edited(&pieces);
            for (i, b) in two.bytes().enumerate() {
                match map.origin(i) {
                    Some((0, o)) => prop_assert_eq!(text.as_bytes()[o], b),
                    _ => prop_assert!(!b.is_ascii_lowercase() && b != b'\n'),
                }
            }
        }
    }
}
