//! What is kept of a cell and of a task for reports, so that these need neither the set nor the projects: runs may come from several machines.

use crate::score::explain::{Existing, Explanation, LineState, Place};
use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The file of a cell with its gist's lines.
pub const LINES: &str = "lines.json";
/// The file of a task with the project's lines.
pub const ORIGINAL: &str = "original.json";
/// Lines of a project that are kept of a task at most.
const MOST_LINES: usize = 600;
/// Lines that stand between two pieces and are kept with them.
const GAP: usize = 2;

/// A line of a gist, or of the test that was put back into it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Its number in the gist; none for one of the test that was put back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The line.
    pub text: String,
    /// What ran of it.
    pub state: LineState,
    /// Where the project has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Place>,
    /// The project does not have it where it stands.
    #[serde(default)]
    pub foreign: bool,
}

/// The lines of a gist that was judged.
#[must_use]
pub fn lines(explanation: &Explanation) -> Vec<Line> {
    let line = |line: &crate::score::explain::ExplainedLine| Line {
        line: line.line,
        text: line.text.clone(),
        state: line.execution,
        at: line.laid.iter().find_map(|laid| laid.place.clone()),
        foreign: line.laid.iter().any(|laid| laid.existence != Existing::Exists),
    };
    explanation.lines.iter().map(line).collect()
}

/// What a project has for a task: the lines that its gold solution has, and those of the functions that its test runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Original {
    /// Its files.
    pub files: Vec<SourceFile>,
    /// Lines that were left out, since there were too many.
    pub left_out: usize,
}

/// A file of a project, in pieces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFile {
    /// From the workspace's folder on.
    pub path: Utf8PathBuf,
    /// Its pieces.
    pub pieces: Vec<Piece>,
}

/// Lines of a file that follow each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// The number of the first, from 1 on.
    pub first: usize,
    /// All of them.
    pub lines: Vec<SourceLine>,
}

/// A line of a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceLine {
    /// The line.
    pub text: String,
    /// How often the test runs it; none where no code is counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
}

/// Lines by their files.
pub type Wanted = BTreeMap<Utf8PathBuf, BTreeSet<usize>>;

impl Original {
    /// The lines that are `needed`, and of those that `ran` as many as there is room for. `read` gives a file's text, `count` how often a line ran.
    #[must_use]
    pub fn of(
        needed: &Wanted,
        ran: &Wanted,
        read: impl Fn(&Utf8Path) -> Option<String>,
        count: impl Fn(&Utf8Path, usize) -> Option<u64>,
    ) -> Original {
        let mut room = MOST_LINES;
        let mut left_out = 0;
        let mut taken = Wanted::new();
        for (file, line) in
            [needed, ran].into_iter().flatten().flat_map(|(file, lines)| lines.iter().map(move |l| (file, *l)))
        {
            let have = taken.get(file).is_some_and(|lines| lines.contains(&line));
            match (have, room) {
                (true, _) => {}
                (false, 0) => left_out += 1,
                (false, _) => {
                    room -= 1;
                    taken.entry(file.clone()).or_default().insert(line);
                }
            }
        }
        let files = taken.iter().filter_map(|(path, lines)| {
            let text = read(path)?;
            let text: Vec<&str> = text.lines().collect();
            let line = |n: usize| SourceLine { text: (*text.get(n - 1).unwrap_or(&"")).to_owned(), count: count(path, n) };
            let piece = |(first, last): (usize, usize)| Piece { first, lines: (first..=last).map(line).collect() };
            Some(SourceFile { path: path.clone(), pieces: runs(lines).into_iter().map(piece).collect() })
        });
        Original { files: files.collect(), left_out }
    }
}

/// Numbers as runs, small gaps closed.
fn runs(numbers: &BTreeSet<usize>) -> Vec<(usize, usize)> {
    let mut out: Vec<(usize, usize)> = Vec::new();
    for &number in numbers.iter().filter(|n| **n > 0) {
        match out.last_mut() {
            Some((_, last)) if number <= *last + GAP + 1 => *last = number,
            _ => out.push((number, number)),
        }
    }
    out
}

#[cfg(test)]
mod unit {
    use super::*;

    fn wanted(lines: impl IntoIterator<Item = usize>) -> Wanted {
        [(Utf8PathBuf::from("src/lib.rs"), lines.into_iter().collect())].into()
    }

    #[test]
    fn pieces_have_what_is_needed_and_what_ran_with_small_gaps_closed() {
        let read = |_: &Utf8Path| Some((1..=30).map(|n| format!("line {n}\n")).collect());
        let original = Original::of(&wanted([3, 4]), &wanted([7, 20]), read, |_, n| (n == 7).then_some(2));
        let [file] = original.files.as_slice() else { panic!("{original:?}") };
        let pieces: Vec<(usize, usize)> = file.pieces.iter().map(|p| (p.first, p.lines.len())).collect();
        assert_eq!((pieces, original.left_out), (vec![(3, 5), (20, 1)], 0));
        assert_eq!(file.pieces[0].lines[4], SourceLine { text: "line 7".into(), count: Some(2) });
    }

    #[test]
    fn what_is_needed_comes_first_where_there_is_no_room_for_all() {
        let read = |_: &Utf8Path| Some("x\n".repeat(5000));
        let original = Original::of(&wanted(2000..2100), &wanted(1..1000), read, |_, _| None);
        assert_eq!(original.left_out, 999 + 100 - MOST_LINES);
        assert!(original.files[0].pieces.iter().any(|p| p.first == 2000 && p.lines.len() == 100));
    }
}
