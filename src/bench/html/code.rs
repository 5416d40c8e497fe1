//! A gist beside the project's lines.

use super::escape::{attribute, cut, text};
use crate::bench::kept::{Line, Original};
use crate::score::explain::{LineState, Place};
use std::collections::BTreeSet;
use std::fmt::Write;

/// The longest line that is shown whole, in bytes.
const LONGEST_LINE: usize = 400;
/// Lines of a gist that are shown.
const MOST_LINES: usize = 1500;

/// What the signs before lines say.
pub(super) const LEGEND: &str = "<p class=\"facts\">Before a line: <b>+</b> it ran, <b>−</b> it did not, <b>·</b> there is no code in it to run, <b>?</b> the project does not \
     have it there. A line's number leads to the project's line.</p>";

/// The lines of a project that are shown, by task, file and line.
#[derive(Debug, Default)]
pub(super) struct Shown(BTreeSet<String>);

fn anchor(task: usize, place: &Place) -> String {
    let file: String = place.file.as_str().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    format!("s{task}-{file}-{}", place.line)
}

/// The project's lines of a task.
pub(super) fn original(task: usize, original: &Original, shown: &mut Shown) -> String {
    let mut out = String::new();
    for file in &original.files {
        let _ = write!(out, "<div class=\"file\">{}</div><pre class=\"code\">", text(file.path.as_str()));
        for (i, piece) in file.pieces.iter().enumerate() {
            if i > 0 {
                out.push_str("<span class=\"l soft\">  ⋮</span>");
            }
            for (n, line) in piece.lines.iter().enumerate() {
                let place = Place { file: file.path.clone(), line: piece.first + n };
                let id = anchor(task, &place);
                let (class, sign) = match line.count {
                    None => ("l", "·"),
                    Some(0) => ("l i", "−"),
                    Some(_) => ("l x", "+"),
                };
                let _ = write!(
                    out,
                    "<span class=\"{class}\" id=\"{id}\"><span class=\"n\">{}</span><span class=\"m\">{sign}</span>{}</span>",
                    place.line,
                    text(&cut(&line.text, LONGEST_LINE))
                );
                shown.0.insert(id);
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
        let number = match &line.at {
            Some(place) if shown.0.contains(&anchor(task, place)) => {
                let label = attribute(&format!("{}:{}", place.file, place.line));
                format!("<a class=\"n\" href=\"#{}\" title=\"{label}\">{number}</a>", anchor(task, place))
            }
            Some(place) => {
                let label = attribute(&format!("{}:{}", place.file, place.line));
                format!("<span class=\"n\" title=\"{label}\">{number}</span>")
            }
            None => format!("<span class=\"n\">{number}</span>"),
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
