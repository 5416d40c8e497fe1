//! A gist beside the project's lines.

use super::escape::{attribute, cut, text};
use crate::bench::kept::{Line, Original};
use crate::score::explain::{LineState, Place};
use camino::Utf8PathBuf;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The longest line that is shown whole, in bytes.
const LONGEST_LINE: usize = 400;
/// Lines of a gist that are shown.
const MOST_LINES: usize = 1500;

/// What the signs before lines say.
pub(super) const LEGEND: &str = "<p class=\"facts\">Before a line: <b>+</b> it ran, <b>−</b> it did not, <b>·</b> there is no code in it to run, <b>?</b> the project does not \
     have it there. A line's number leads to the project's line.</p>";

/// The lines of a project that are shown for a task: files by their numbers, and which lines.
#[derive(Debug, Default)]
pub(super) struct Shown {
    files: BTreeMap<Utf8PathBuf, usize>,
    lines: BTreeSet<(usize, usize)>,
}

impl Shown {
    /// What a line is called on the page, when it is there.
    fn anchor(&self, task: usize, place: &Place) -> Option<String> {
        let file = *self.files.get(&place.file)?;
        self.lines.contains(&(file, place.line)).then(|| anchor(task, file, place.line))
    }
}

fn anchor(task: usize, file: usize, line: usize) -> String {
    format!("s{task}-{file}-{line}")
}

/// The project's lines of a task.
pub(super) fn original(task: usize, original: &Original, shown: &mut Shown) -> String {
    let mut out = String::new();
    for (number, file) in original.files.iter().enumerate() {
        shown.files.insert(file.path.clone(), number);
        let _ = write!(out, "<div class=\"file\">{}</div><pre class=\"code\">", text(file.path.as_str()));
        for (i, piece) in file.pieces.iter().enumerate() {
            if i > 0 {
                out.push_str("<span class=\"l soft\">  ⋮</span>");
            }
            for (n, line) in piece.lines.iter().enumerate() {
                let at = piece.first + n;
                let id = anchor(task, number, at);
                let (class, sign) = match line.count {
                    None => ("l", "·"),
                    Some(0) => ("l i", "−"),
                    Some(_) => ("l x", "+"),
                };
                let _ = write!(
                    out,
                    "<span class=\"{class}\" id=\"{id}\"><span class=\"n\">{}</span><span class=\"m\">{sign}</span>{}</span>",
                    at,
                    text(&cut(&line.text, LONGEST_LINE))
                );
                shown.lines.insert((number, at));
            }
        }
        out.push_str("</pre>");
    }
    if original.left_out > 0 {
        let _ =
            write!(out, "<p class=\"facts\">{} more lines of the project ran and are left out here.</p>", original.left_out);
    }
    out
}

/// A gist's lines.
pub(super) fn gist(task: usize, lines: &[Line], shown: &Shown) -> String {
    let mut out = String::from("<pre class=\"code\">");
    for line in lines.iter().take(MOST_LINES) {
        let (class, sign) = match (line.foreign, line.state) {
            (true, _) => ("l f", "?"),
            (_, LineState::Executed) => ("l x", "+"),
            (_, LineState::Idle | LineState::Demanded) => ("l i", "−"),
            (_, LineState::NotExecutable | LineState::DidNotTakePart) => ("l", "·"),
        };
        let number = line.line.map_or_else(|| "test".to_owned(), |n| n.to_string());
        let label = line.at.as_ref().map(|place| attribute(&format!("{}:{}", place.file, place.line)));
        let number = match (label, line.at.as_ref().and_then(|place| shown.anchor(task, place))) {
            (Some(label), Some(anchor)) => format!("<a class=\"n\" href=\"#{anchor}\" title=\"{label}\">{number}</a>"),
            (Some(label), None) => format!("<span class=\"n\" title=\"{label}\">{number}</span>"),
            (None, _) => format!("<span class=\"n\">{number}</span>"),
        };
        let _ = write!(
            out,
            "<span class=\"{class}\">{number}<span class=\"m\">{sign}</span>{}</span>",
            text(&cut(&line.text, LONGEST_LINE))
        );
    }
    out.push_str("</pre>");
    if lines.len() > MOST_LINES {
        let _ = write!(out, "<p class=\"facts\">{} more lines are left out here.</p>", lines.len() - MOST_LINES);
    }
    out
}
