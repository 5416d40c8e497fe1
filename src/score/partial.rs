//! Partial credit: how near a gist comes that does not do all that the project does. It stands beside execution
//! fidelity, never in its place.
//!
//! A program has no cases. It counts as one whose status is how its process ended, and which passes with code 0.

use crate::verify::outcome::{ExitClass, Outcome, Status};
use serde::Serialize;
use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// How near a gist's outcome comes to the reference outcome.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Partial {
    /// Cases whose status agrees, of all cases of either side.
    pub cases_agreeing: f64,
    /// Of the cases that pass in the project, those that pass in the gist; `null` when none passes in the project.
    pub pass_rate: Option<f64>,
    /// Similarity of the outputs by lines: `2 m / (a + b)`, where `a` and `b` are the lines of both sides (standard output
    /// and standard error), and `m` the pairs of equal lines in the longest common subsequences of each stream; 1
    /// when neither side prints anything.
    pub output_similarity: f64,
    /// Both processes ended in the same way.
    pub exit_agrees: bool,
}

/// Time for the diff of one stream; past it fewer pairs may be found, and the similarity is a lower bound.
const DIFF_TIME: Duration = Duration::from_secs(2);

/// Compares a gist's outcome with the reference outcome. Both are normalised and masked.
///
/// ```
/// use cargo_gistify::score::partial::partial;
/// use cargo_gistify::verify::outcome::{ExitClass, Outcome};
/// let reference = Outcome::of_program("one\ntwo\n", "", ExitClass::Success);
/// let gist = Outcome::of_program("one\nthree\n", "", ExitClass::Success);
/// // One of two lines on each side: 2 * 1 / (2 + 2).
/// assert_eq!(partial(&reference, &gist).output_similarity, 0.5);
/// ```
#[must_use]
pub fn partial(reference: &Outcome, gist: &Outcome) -> Partial {
    let exit_agrees = reference.exit == gist.exit;
    let names: BTreeSet<&String> = reference.cases.keys().chain(gist.cases.keys()).collect();
    let agreeing = names.iter().filter(|n| reference.cases.get(**n) == gist.cases.get(**n)).count();
    let passes = |outcome: &Outcome, name: &String| outcome.cases.get(name) == Some(&Status::Ok);
    let passing: Vec<&&String> = names.iter().filter(|n| passes(reference, n)).collect();
    let (cases_agreeing, pass_rate) = if names.is_empty() {
        let passes = |outcome: &Outcome| outcome.exit == ExitClass::Success;
        (share(usize::from(exit_agrees), 1), passes(reference).then(|| share(usize::from(passes(gist)), 1)))
    } else {
        let both = passing.iter().filter(|n| passes(gist, n)).count();
        (share(agreeing, names.len()), (!passing.is_empty()).then(|| share(both, passing.len())))
    };
    let streams = [(&reference.stdout, &gist.stdout), (&reference.stderr, &gist.stderr)].map(|(a, b)| common_lines(a, b));
    let common: usize = streams.iter().map(|(common, _)| common).sum();
    let all: usize = streams.iter().map(|(_, all)| all).sum();
    let output_similarity = if all == 0 { 1.0 } else { share(2 * common, all) };
    Partial { cases_agreeing, pass_rate, output_similarity, exit_agrees }
}

/// Lines that two texts have in common, in order; and the lines of both.
fn common_lines(a: &str, b: &str) -> (usize, usize) {
    let [a, b] = [a, b].map(|text| text.split_inclusive('\n').collect::<Vec<&str>>());
    let all = a.len() + b.len();
    if a == b {
        return (a.len(), all);
    }
    let ops = capture_diff_slices_deadline(Algorithm::Myers, &a, &b, Some(Instant::now() + DIFF_TIME));
    let equal = |op: &DiffOp| if let DiffOp::Equal { len, .. } = op { *len } else { 0 };
    (ops.iter().map(equal).sum(), all)
}

fn share(part: usize, whole: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "numbers of cases and lines are small")]
    let share = part as f64 / whole as f64;
    share
}

#[cfg(test)]
mod unit {
    use super::*;

    fn outcome(cases: &[(&str, Status)], stdout: &str, stderr: &str) -> Outcome {
        let exit = if cases.iter().any(|(_, s)| *s == Status::Failed) { ExitClass::TestFailure } else { ExitClass::Success };
        let cases = cases.iter().map(|(name, status)| ((*name).to_owned(), *status)).collect();
        Outcome { cases, exit, stdout: stdout.to_owned(), stderr: stderr.to_owned() }
    }

    #[test]
    fn cases_agree_by_status_and_those_of_either_side_count() {
        let reference = outcome(&[("a", Status::Ok), ("b", Status::Failed), ("c", Status::Ignored)], "", "");
        let gist = outcome(&[("a", Status::Ok), ("b", Status::Ok), ("d", Status::Ok)], "", "");
        let p = partial(&reference, &gist);
        // a, b, c, d: only a agrees; b differs, c is missing in the gist, d in the project.
        assert_eq!(p.cases_agreeing, 1.0 / 4.0);
        assert!(!p.exit_agrees);
    }

    #[test]
    fn the_pass_rate_looks_at_what_passes_in_the_project() {
        let reference = outcome(&[("a", Status::Ok), ("b", Status::Ok), ("c", Status::Ok), ("d", Status::Failed)], "", "");
        let gist = outcome(&[("a", Status::Ok), ("b", Status::Failed), ("d", Status::Ok)], "", "");
        // a, b and c pass in the project, of them a in the gist; that d passes there is nothing that counts.
        assert_eq!(partial(&reference, &gist).pass_rate, Some(1.0 / 3.0));
        let failing = outcome(&[("d", Status::Failed)], "", "");
        let p = partial(&failing, &failing);
        assert_eq!((p.pass_rate, p.cases_agreeing), (None, 1.0));
    }

    #[test]
    fn an_unfinished_case_does_not_pass() {
        let reference = outcome(&[("a", Status::Ok), ("b", Status::Ok)], "", "");
        let gist = outcome(&[("a", Status::Ok), ("b", Status::Unfinished)], "", "");
        let p = partial(&reference, &gist);
        assert_eq!((p.cases_agreeing, p.pass_rate), (0.5, Some(0.5)));
    }

    #[test]
    fn a_program_is_one_case_that_passes_with_code_0() {
        let end = |exit| Outcome::of_program("", "", exit);
        let of = |reference, gist| {
            let p = partial(&end(reference), &end(gist));
            (p.cases_agreeing, p.pass_rate)
        };
        assert_eq!(of(ExitClass::Success, ExitClass::Success), (1.0, Some(1.0)));
        assert_eq!(of(ExitClass::Success, ExitClass::Code(3)), (0.0, Some(0.0)));
        assert_eq!(of(ExitClass::Code(3), ExitClass::Code(3)), (1.0, None));
        assert_eq!(of(ExitClass::Code(3), ExitClass::Success), (0.0, None));
    }

    #[test]
    fn outputs_are_similar_by_the_lines_that_they_have_in_common() {
        let of =
            |a: (&str, &str), b: (&str, &str)| partial(&outcome(&[], a.0, a.1), &outcome(&[], b.0, b.1)).output_similarity;
        // Both empty.
        assert_eq!(of(("", ""), ("", "")), 1.0);
        // a b c d against a c d e: a, c, d in common, so 2 * 3 / (4 + 4).
        assert_eq!(of(("a\nb\nc\nd\n", ""), ("a\nc\nd\ne\n", "")), 6.0 / 8.0);
        // Order counts: of b a only one line is common with a b, so 2 * 1 / (2 + 2).
        assert_eq!(of(("a\nb\n", ""), ("b\na\n", "")), 2.0 / 4.0);
        // Streams are compared each by itself: 2 * (1 + 0) / (3 + 1).
        assert_eq!(of(("x\n", "boo\nfoo\n"), ("x\n", "")), 2.0 / 4.0);
        assert_eq!(of(("x\n", ""), ("", "x\n")), 0.0);
        // A last line without a line end is another line than one with it: 2 * 1 / (2 + 2).
        assert_eq!(of(("a\nb", ""), ("a\nb\n", "")), 2.0 / 4.0);
    }
}
