//! Whether code of the project ran in a gist, or only text that somebody wrote in its place.

use super::ParseError;
use super::existence::{Found, Index, JudgedLine, Options};
use crate::source::map::{line_starts, position};
use std::collections::{BTreeMap, BTreeSet};

/// Whether any line ran that the project has, in the text that ran with the count of each line. Signatures don't count, since who
/// replays an output has to write them, too; nor do functions whose names are in `test`. A function that was moved to another
/// module counts where the project has the line in a function of that name.
///
/// # Errors
/// A text that is not Rust.
pub fn project_code_ran(
    index: &Index,
    text: &str,
    options: &Options,
    counts: &BTreeMap<usize, u64>,
    test: &BTreeSet<String>,
) -> Result<bool, ParseError> {
    let starts = line_starts(text);
    let ran = |line: &JudgedLine| {
        let (from, to) = (position(&starts, line.at.start).line, position(&starts, line.at.end).line);
        counts.range(from..=to).any(|(_, count)| *count > 0)
    };
    let ours = |line: &JudgedLine| {
        let name = line.block.rsplit([':', ' ']).next().unwrap_or_default();
        let signature = line.text.contains("fn ") && line.text.ends_with('{');
        let there = match line.found {
            Found::At { .. } => true,
            Found::NoBlock => line.block.starts_with("fn ") && index.has_in_function(name, &line.text),
            Found::NoLine | Found::Said => false,
        };
        // Code that runs stands in functions, or in what macros make them of.
        let code = ["fn ", "macro "].iter().any(|kind| line.block.starts_with(kind)) || line.text.contains('!');
        code && !signature && there && !test.contains(name)
    };
    Ok(index.judge(text, options)?.iter().any(|line| ran(line) && ours(line)))
}

#[cfg(test)]
mod unit {
    use super::super::existence::CrateText;
    use super::*;

    fn ran(gist: &str) -> bool {
        let c = "mod m { pub fn one(x: u8) -> u8 {\n let y = x + 1;\n y\n }\n pub fn two() -> u8 {\n one(1)\n } }\n#[test] fn t() {\n let z = 2;\n assert_eq!(m::two(), z)\n }";
        let index = Index::new(&[CrateText::new("c", c)]).unwrap();
        let counts = (1..=gist.lines().count()).map(|line| (line, 1)).collect();
        project_code_ran(&index, gist, &Options::default(), &counts, &["t".to_owned()].into()).unwrap()
    }

    #[test]
    fn a_body_of_the_projects_counts_wherever_it_was_moved_to() {
        assert!(ran("mod m { pub fn one(x: u8) -> u8 {\n let y = x + 1;\n y\n } }"));
        assert!(ran("fn two() -> u8 {\n one(1)\n }"));
    }

    #[test]
    fn signatures_the_test_and_bodies_that_were_written_anew_do_not_count() {
        assert!(!ran("mod m { pub fn two() -> u8 {\n 2\n } }\n#[test] fn t() {\n let z = 2;\n assert_eq!(m::two(), z)\n }"));
        assert!(!ran("fn three() -> u8 {\n one(1)\n }"));
    }
}
