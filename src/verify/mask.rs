//! Masks: tokens that differ between runs of the same test, and say nothing about the code.
//!
//! Runs are compared line by line and token by token. A token that differs is masked when it is one that chance
//! makes: a number, a hexadecimal or temporary name, anything that holds a digit. Whatever else differs (a word, the
//! number of lines, their order) makes the test nondeterministic.

use regex::Regex;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// What stands for a masked token.
pub const MASKED: &str = "<masked>";

/// The first line in which two runs differ by more than what can be masked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("runs 1 and {run} differ in line {line}: `{first}` and `{other}`")]
pub struct Difference {
    /// The run that differs from the first, 1-based.
    pub run: usize,
    /// 1-based line.
    pub line: usize,
    /// The line in the first run; empty when it ends before.
    pub first: String,
    /// The line in the other run; empty when it ends before.
    pub other: String,
}

/// Which tokens of which lines are masked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Masks {
    lines: BTreeMap<usize, Vec<usize>>,
}

/// A date with its time of day (runs in one minute differ in the seconds alone, a later one in more), a number with its
/// unit, a word, a run of blanks, or one other character; a masked token is a token again.
static TOKEN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let date = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z\b|[+-]\d\d:?\d\d)?";
    Regex::new(&format!(r"<masked>|{date}|\d\w*(?:\.\d\w*)*|\w+|\s+|[^\w\s]")).ok()
});

fn tokens(line: &str) -> Vec<&str> {
    TOKEN.as_ref().map_or_else(|| vec![line], |regex| regex.find_iter(line).map(|m| m.as_str()).collect())
}

fn is_by_chance(token: &str) -> bool {
    token == MASKED || token.contains(|c: char| c.is_ascii_digit())
}

fn blank(token: &str) -> bool {
    token.starts_with(char::is_whitespace)
}

/// Compares the normalised texts of several runs.
///
/// ```
/// use cargo_gistify::verify::mask::masks;
/// let runs = ["seed 17\nok\n".to_owned(), "seed 4\nok\n".to_owned()];
/// let masks = masks(&runs)?;
/// assert_eq!(masks.apply("seed 99\nok\n"), "seed <masked>\nok\n");
/// assert_eq!(masks.apply("seed one\nok\n"), "seed one\nok\n");
/// # Ok::<(), cargo_gistify::verify::mask::Difference>(())
/// ```
///
/// # Errors
/// The first line that differs by more than tokens of chance.
pub fn masks(runs: &[String]) -> Result<Masks, Difference> {
    let mut out = Masks::default();
    let Some((first, others)) = runs.split_first() else { return Ok(out) };
    for (number, other) in others.iter().enumerate() {
        let (mut left, mut right) = (first.split('\n'), other.split('\n'));
        for line in 0.. {
            let (a, b) = match (left.next(), right.next()) {
                (None, None) => break,
                (Some(a), Some(b)) if a == b => continue,
                (a, b) => (a, b),
            };
            let difference = || Difference {
                run: number + 2,
                line: line + 1,
                first: a.unwrap_or_default().to_owned(),
                other: b.unwrap_or_default().to_owned(),
            };
            let found = a.zip(b).and_then(|(a, b)| differing(&tokens(a), &tokens(b))).ok_or_else(difference)?;
            let known = out.lines.entry(line).or_default();
            known.extend(found);
            known.sort_unstable();
            known.dedup();
        }
    }
    Ok(out)
}

/// The indices of tokens that differ; `None` when something else does.
fn differing(a: &[&str], b: &[&str]) -> Option<Vec<usize>> {
    let mut out = Vec::new();
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        if a == b || (blank(a) && blank(b)) {
            continue;
        }
        if !is_by_chance(a) || !is_by_chance(b) {
            return None;
        }
        out.push(i);
    }
    (a.len() == b.len()).then_some(out)
}

impl Masks {
    /// Whether nothing is masked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// How many tokens are masked.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lines.values().map(Vec::len).sum()
    }

    /// Masks a text. In a line that differed between runs, runs of blanks become one (a column's width follows its
    /// numbers); all other lines stay as they are. Two texts are equal afterwards if and only if they are equal
    /// outside masked tokens and those are tokens of chance on both sides.
    #[must_use]
    pub fn apply(&self, text: &str) -> String {
        if self.is_empty() {
            return text.to_owned();
        }
        let mut out = String::with_capacity(text.len());
        for (i, line) in text.split('\n').enumerate() {
            if i > 0 {
                out.push('\n');
            }
            let Some(masked) = self.lines.get(&i) else {
                out.push_str(line);
                continue;
            };
            for (j, token) in tokens(line).into_iter().enumerate() {
                out.push_str(match token {
                    token if masked.binary_search(&j).is_ok() && is_by_chance(token) => MASKED,
                    token if blank(token) => " ",
                    token => token,
                });
            }
        }
        out
    }
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn a_time_that_differs_is_masked_with_its_date() {
        let runs = ["2026-11-30T12:21:58.5Z start\n".to_owned(), "2026-11-30T12:21:59.1Z start\n".to_owned()];
        let masks = masks(&runs).unwrap();
        assert_eq!(masks.apply("2026-12-01T00:00:03.25Z start\n"), "<masked> start\n");
        assert_ne!(masks.apply("2026-12-01T00:00:03.25Z stop\n"), masks.apply(&runs[0]));
    }
    use proptest::prelude::*;

    fn of(runs: &[&str]) -> Result<Masks, Difference> {
        masks(&runs.iter().map(|r| (*r).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn equal_runs_mask_nothing() {
        assert!(of(&["a 1\nb\n", "a 1\nb\n", "a 1\nb\n"]).unwrap().is_empty());
        assert!(of(&[]).unwrap().is_empty());
    }

    #[test]
    fn numbers_hashes_and_units_are_masked_as_whole_tokens() {
        let masks = of(&["took 12ms at 0x1f, 1.5 x3f9a\nend", "took 9ms at 0x2e0, 22.25 9b7c\nend"]).unwrap();
        assert_eq!(masks.len(), 4);
        assert_eq!(masks.apply("took 1ms at 0x1, 2 f1\nend"), "took <masked> at <masked>, <masked> <masked>\nend");
    }

    #[test]
    fn each_further_run_adds_its_masks() {
        let masks = of(&["1 2 3", "1 9 3", "1 2 8"]).unwrap();
        assert_eq!(masks.apply("1 0 0"), "1 <masked> <masked>");
        assert_eq!(masks.apply("7 0 0"), "7 <masked> <masked>");
    }

    #[test]
    fn a_line_of_a_hundred_thousand_masked_tokens_is_masked_at_once() {
        let line = |number: &str| format!("{number} a ").repeat(100_000);
        let masks = of(&[&line("1"), &line("2")]).unwrap();
        assert_eq!(masks.apply(&line("3")), line(MASKED));
    }

    #[test]
    fn a_column_may_change_its_width() {
        let masks = of(&["n:   7 x", "n: 123 x"]).unwrap();
        assert_eq!(masks.apply("n:  45 x"), masks.apply("n: 123 x"));
    }

    #[test]
    fn another_word_another_order_or_another_line_is_nondeterministic() {
        let d = of(&["a\nb\n", "a\nb\n", "b\na\n"]).unwrap_err();
        assert_eq!((d.run, d.line, d.first.as_str(), d.other.as_str()), (3, 1, "a", "b"));
        let d = of(&["a\n", "a\nb\n"]).unwrap_err();
        assert_eq!((d.run, d.line, d.first.as_str(), d.other.as_str()), (2, 2, "", "b"));
        assert!(of(&["a 1", "a b"]).is_err());
        assert_eq!(d.to_string(), "runs 1 and 2 differ in line 2: `` and `b`");
    }

    proptest! {
        #[test]
        fn all_runs_are_equal_once_masked_and_masking_twice_changes_nothing(
            lines in proptest::collection::vec("[a-c ]{0,5}#[a-c. ]{0,4}", 0..5),
            numbers in proptest::collection::vec(0u32..1000, 15),
        ) {
            let run = |k: usize| {
                lines.iter().enumerate().map(|(i, l)| l.replace('#', &format!(" {} ", numbers[5 * k + i])) + "\n").collect::<String>()
            };
            let runs = [run(0), run(1), run(2)];
            let masks = masks(&runs).unwrap();
            let other_way = super::masks(&[run(2), run(1), run(0)]).unwrap();
            prop_assert_eq!(&other_way, &masks, "their order says nothing");
            let once = masks.apply(&runs[0]);
            prop_assert_eq!(&masks.apply(&runs[1]), &once);
            prop_assert_eq!(&masks.apply(&runs[2]), &once);
            prop_assert_eq!(&masks.apply(&once), &once);
            prop_assert_ne!(&masks.apply(&format!("x{}", runs[0])), &once);
        }
    }
}
