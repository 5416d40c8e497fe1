//! How an entry ended: libtest's output of one run (or a program's), and the comparison of two runs.
//!
//! The run is `BIN --exact NAME… --nocapture --test-threads=1` (without `--nocapture` works too), in libtest's
//! human format, which is all that is stable. There the test's own output stands between `test NAME ... ` and its
//! status. libtest's frame (`running 1 test`, `test result: …`, the list of failed names) is taken out: it counts
//! what was filtered out, which differs between a project and its gist. What is left is the test's own.
//!
//! Texts are normalised *before* they are parsed, so that names of tests are the project's on both sides.

use super::mask::Masks;
use regex::Regex;
use serde::{Deserialize, Serialize};
use similar::TextDiff;
use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::sync::LazyLock;
use std::time::Duration;

/// How one case ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// `ok`
    Ok,
    /// `FAILED`
    Failed,
    /// `ignored`
    Ignored,
    /// It began, and the process ended before it did.
    Unfinished,
}

/// How the process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitClass {
    /// Code 0.
    Success,
    /// Code 101: libtest's for failed tests, and that of a panic in `main`.
    TestFailure,
    /// Any other code.
    Code(i32),
    /// Ended by that signal.
    Signal(i32),
    /// Ended by us, after its time.
    TimeOut,
    /// Ended by us, after it had printed too much.
    TooMuchOutput,
}

impl ExitClass {
    /// From what the system says. A process with neither a code nor a signal counts as `Code(-1)`.
    #[must_use]
    pub fn of(code: Option<i32>, signal: Option<i32>, timed_out: bool) -> ExitClass {
        match (timed_out, code, signal) {
            (true, _, _) => ExitClass::TimeOut,
            (_, Some(0), _) => ExitClass::Success,
            (_, Some(101), _) => ExitClass::TestFailure,
            (_, Some(code), _) => ExitClass::Code(code),
            (_, None, Some(signal)) => ExitClass::Signal(signal),
            (_, None, None) => ExitClass::Code(-1),
        }
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// The status of each case that began, by name.
    pub cases: BTreeMap<String, Status>,
    /// How the process ended.
    pub exit: ExitClass,
    /// Standard output without libtest's frame.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

static RUNNING: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?m)^running \d+ tests?\n").ok());
static CASE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?m)^test (?P<name>\S+(?: - .+?)??)(?: - should panic)? \.\.\. ").ok());
static STATUS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(ok|FAILED|ignored(?:, [^\n]*)?)(?: <[^<>\n]+>)?\n\z").ok());
impl Outcome {
    /// Whether what was run succeeded: libtest ends with another code when a case fails.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.exit == ExitClass::Success
    }

    /// Parses the normalised texts of a run. `selected` are the names that were asked for: a line `test x ... ` of
    /// any other name is the test's own output. With an empty list every such line counts.
    ///
    /// Output that is not libtest's (`harness = false`) has no cases, and stays as it is.
    ///
    /// ```
    /// use cargo_gistify::verify::outcome::{ExitClass, Outcome, Status};
    /// let stdout = "\nrunning 1 test\ntest a::b ... hello\nok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; \
    ///     0 measured; 12 filtered out; finished in <duration>\n\n";
    /// let outcome = Outcome::parse(stdout, "", ExitClass::Success, &[]);
    /// assert_eq!(outcome.cases["a::b"], Status::Ok);
    /// assert_eq!(outcome.stdout, "hello\n");
    /// ```
    #[must_use]
    pub fn parse(stdout: &str, stderr: &str, exit: ExitClass, selected: &[&str]) -> Outcome {
        let mut cases = BTreeMap::new();
        let own = split_frame(stdout, selected, &mut cases).unwrap_or_else(|| stdout.to_owned());
        Outcome { cases, exit, stdout: own, stderr: stderr.to_owned() }
    }

    /// What a program did: all that it prints is its own, whatever it looks like.
    #[must_use]
    pub fn of_program(stdout: &str, stderr: &str, exit: ExitClass) -> Outcome {
        Outcome { cases: BTreeMap::new(), exit, stdout: stdout.to_owned(), stderr: stderr.to_owned() }
    }

    /// The outcome with both texts masked.
    #[must_use]
    pub fn masked(&self, stdout: &Masks, stderr: &Masks) -> Outcome {
        Outcome { stdout: stdout.apply(&self.stdout), stderr: stderr.apply(&self.stderr), ..self.clone() }
    }
}

/// The summary after the last case.
struct End<'a> {
    /// The text up to it.
    cases: &'a str,
    /// Details of failed tests: what was captured of them, or libtest's note about a missing panic.
    details: &'a str,
    /// What was printed after libtest's last line.
    after: &'a str,
}

/// Cuts the summary off: details of failures, names of failures, the result.
fn split_end(text: &str) -> End<'_> {
    const HEAD: &str = "\nfailures:\n";
    let Some(result) = text.rfind("\ntest result: ") else { return End { cases: text, details: "", after: "" } };
    let after = text[result + 1..].split_once('\n').map_or("", |(_, after)| after);
    let after = after.strip_prefix('\n').unwrap_or(after);
    let body = &text[..result];
    let names = body.rfind(HEAD).filter(|at| body[at + HEAD.len()..].lines().all(|l| l.starts_with("    ")));
    let Some(names) = names else { return End { cases: body, details: "", after } };
    let body = &body[..names];
    let head = body.match_indices(HEAD).map(|(at, _)| at).find(|at| {
        let details = &body[at + HEAD.len()..];
        body[..*at].ends_with('\n') && (details.is_empty() || details.starts_with("\n---- "))
    });
    // The list of names comes right after the first head when there are no details.
    match head {
        Some(at) => End { cases: &body[..at], details: body[at + HEAD.len()..].trim_start_matches('\n'), after },
        None => End { cases: body.strip_suffix("\nfailures:").unwrap_or(body), details: "", after },
    }
}

/// Appends `text`, at the start of a line.
fn append(own: &mut String, text: &str) {
    if !text.is_empty() && !own.is_empty() && !own.ends_with('\n') {
        own.push('\n');
    }
    own.push_str(text);
}

/// Fills `cases` and gives what is the tests' own; `None` when the text has no frame.
fn split_frame(stdout: &str, selected: &[&str], cases: &mut BTreeMap<String, Status>) -> Option<String> {
    let running = RUNNING.as_ref()?.find(stdout)?;
    let before = &stdout[..running.start()];
    let mut own = before.strip_suffix('\n').unwrap_or(before).to_owned();
    let End { cases: text, details, after } = split_end(&stdout[running.end()..]);
    let starts: Vec<(usize, usize, &str)> = CASE
        .as_ref()?
        .captures_iter(text)
        .filter_map(|found| {
            let (whole, name) = (found.get(0)?, found.name("name")?.as_str());
            (selected.is_empty() || selected.contains(&name)).then_some((whole.start(), whole.end(), name))
        })
        .collect();
    own.push_str(&text[..starts.first().map_or(text.len(), |s| s.0)]);
    for (i, (_, from, name)) in starts.iter().enumerate() {
        let to = starts.get(i + 1).map_or(text.len(), |next| next.0);
        let body = &text[*from..to];
        let (status, output) = match STATUS.as_ref()?.captures(body).and_then(|c| c.get(0).zip(c.get(1))) {
            Some((whole, word)) => (status(word.as_str()), &body[..whole.start()]),
            None => (Status::Unfinished, body),
        };
        cases.insert((*name).to_owned(), status);
        append(&mut own, output);
    }
    append(&mut own, details);
    append(&mut own, after);
    Some(own)
}

fn status(word: &str) -> Status {
    match word {
        "ok" => Status::Ok,
        "FAILED" => Status::Failed,
        _ => Status::Ignored,
    }
}

/// What differs first, in the order that matters most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Which {
    /// A case's status, or which cases there are.
    Status,
    /// How the process ended.
    Exit,
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// How two outcomes compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// Execution fidelity: nothing differs.
    pub equal: bool,
    /// The first that differs.
    pub differs: Option<Which>,
    /// A unified diff of all that differs, the original left, the gist right; empty when equal.
    pub diff: String,
}

/// Time for one diff; past it the diff is coarser, never missing.
const DIFF_TIME: Duration = Duration::from_secs(2);

/// The most of a diff of one text that is kept, in bytes: a gist may print without end.
const LONGEST_DIFF: usize = 256 << 10;

/// Compares a gist's outcome with the reference outcome. Both are normalised and masked.
#[must_use]
pub fn compare(reference: &Outcome, gist: &Outcome) -> Comparison {
    let checks = [
        (Which::Status, reference.cases != gist.cases),
        (Which::Exit, reference.exit != gist.exit),
        (Which::Stdout, reference.stdout != gist.stdout),
        (Which::Stderr, reference.stderr != gist.stderr),
    ];
    let differs = checks.iter().find(|(_, differs)| *differs).map(|(which, _)| *which);
    let diff = [
        unified("status", &summary(reference), &summary(gist)),
        unified("stdout", &reference.stdout, &gist.stdout),
        unified("stderr", &reference.stderr, &gist.stderr),
    ]
    .concat();
    Comparison { equal: differs.is_none(), differs, diff }
}

/// Cases and exit as text.
fn summary(outcome: &Outcome) -> String {
    let mut out: String = outcome.cases.iter().map(|(name, status)| format!("{name}: {status:?}\n")).collect();
    out.push_str(&format!("exit: {:?}\n", outcome.exit));
    out
}

fn unified(what: &str, original: &str, gist: &str) -> String {
    if original == gist {
        return String::new();
    }
    let diff = TextDiff::configure().timeout(DIFF_TIME).diff_lines(original, gist);
    let mut shown = Bounded(String::new());
    let whole =
        write!(shown, "{}", diff.unified_diff().header(&format!("original {what}"), &format!("gist {what}"))).is_ok();
    if !whole {
        shown.0.push_str("\n… (the diff is longer)\n");
    }
    shown.0
}

/// A text that takes no more than [`LONGEST_DIFF`].
struct Bounded(String);

impl fmt::Write for Bounded {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        let left = LONGEST_DIFF - self.0.len();
        self.0.push_str(&more[..more.floor_char_boundary(left)]);
        if more.len() > left { Err(fmt::Error) } else { Ok(()) }
    }
}

#[cfg(test)]
mod unit {
    use super::*;

    fn parse(stdout: &str) -> Outcome {
        Outcome::parse(stdout, "", ExitClass::Success, &[])
    }

    fn cases(outcome: &Outcome) -> Vec<(&str, Status)> {
        outcome.cases.iter().map(|(n, s)| (n.as_str(), *s)).collect()
    }

    const RESULT: &str =
        "\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 3 filtered out; finished in 0.00s\n\n";

    #[test]
    fn own_output_before_the_status_is_kept_exactly() {
        let o = parse(&format!("\nrunning 1 test\ntest a ... no newlineok\n{RESULT}"));
        assert_eq!((cases(&o), o.stdout.as_str()), (vec![("a", Status::Ok)], "no newline"));
        let o = parse(&format!("\nrunning 1 test\ntest a ... ok\n{RESULT}"));
        assert_eq!((cases(&o), o.stdout.as_str()), (vec![("a", Status::Ok)], ""));
        let o = parse(&format!("\nrunning 1 test\ntest a ... \nx\n\nok\nok\n{RESULT}"));
        assert_eq!((cases(&o), o.stdout.as_str()), (vec![("a", Status::Ok)], "\nx\n\nok\n"));
    }

    #[test]
    fn the_frame_does_not_depend_on_how_many_tests_were_filtered_out() {
        let with = |n| {
            parse(&format!(
                "\nrunning 1 test\ntest a ... x\nok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; {n} filtered out; finished in 0.00s\n\n"
            ))
        };
        assert!(compare(&with(0), &with(12)).equal);
    }

    #[test]
    fn several_cases_each_have_their_status() {
        let text = format!(
            "\nrunning 5 tests\ntest a ... one\nok\ntest b::c - should panic ... ok\ntest d ... ignored\ntest e ... ignored, not now\ntest f ... two\nFAILED\n\nfailures:\n\nfailures:\n    f\n{}",
            RESULT.replace("ok.", "FAILED.")
        );
        let o = parse(&text);
        assert_eq!(
            cases(&o),
            [("a", Status::Ok), ("b::c", Status::Ok), ("d", Status::Ignored), ("e", Status::Ignored), ("f", Status::Failed)]
        );
        assert_eq!(o.stdout, "one\ntwo\n");
    }

    #[test]
    fn details_of_failures_are_kept_and_names_of_failures_are_not() {
        let text = format!(
            "\nrunning 1 test\ntest a - should panic ... FAILED\n\nfailures:\n\n---- a stdout ----\nnote: test did not panic as expected at src/lib.rs:8:8\n\nfailures:\n    a\n{RESULT}"
        );
        let o = parse(&text);
        assert_eq!(cases(&o), [("a", Status::Failed)]);
        assert_eq!(o.stdout, "---- a stdout ----\nnote: test did not panic as expected at src/lib.rs:8:8\n");
    }

    #[test]
    fn a_run_that_ends_inside_a_test_leaves_it_unfinished() {
        let o = parse("\nrunning 2 tests\ntest a ... ok\ntest b ... going down\n");
        assert_eq!(cases(&o), [("a", Status::Ok), ("b", Status::Unfinished)]);
        assert_eq!(o.stdout, "going down\n");
    }

    #[test]
    fn a_test_that_prints_like_libtest_is_not_taken_for_it() {
        let text = format!("\nrunning 1 test\ntest a ... test fake ... ok\ntest fake ... FAILED\nok\n{RESULT}");
        let o = Outcome::parse(&text, "", ExitClass::Success, &["a"]);
        assert_eq!(cases(&o), [("a", Status::Ok)]);
        assert_eq!(o.stdout, "test fake ... ok\ntest fake ... FAILED\n");
    }

    /// What libtest of 1.95 printed, word for word.
    #[test]
    fn a_real_run_is_read() {
        let o = parse(concat!(
            "\nrunning 8 tests\ntest a ... hello\nok\ntest b ... no nlok\ntest c - should panic ... in cFAILED\n",
            "test d - should panic ... ok\ntest e ... e out\nFAILED\ntest f ... FAILED\ntest g ... ignored, why\n",
            "test h - should panic ... FAILED\n\nfailures:\n\n---- c stdout ----\n",
            "note: test did not panic as expected at t.rs:3:28\n---- h stdout ----\n",
            "note: panic did not contain expected string\n      panic message: \"x\"\n expected substring: \"zzz\"\n\n",
            "failures:\n    c\n    e\n    f\n    h\n\n",
            "test result: FAILED. 3 passed; 4 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n",
        ));
        let words: String = o.cases.iter().map(|(name, status)| format!("{name} {status:?} ")).collect();
        assert_eq!(words, "a Ok b Ok c Failed d Ok e Failed f Failed g Ignored h Failed ");
        assert!(o.stdout.starts_with("hello\nno nl\nin c\ne out\n---- c stdout ----\nnote: "), "{}", o.stdout);
        assert!(o.stdout.ends_with("expected substring: \"zzz\"\n"), "{}", o.stdout);
    }

    #[test]
    fn a_test_that_prints_a_list_of_failures_keeps_it() {
        let own = "\nfailures:\n    x\nmore\n";
        let o = parse(&format!("\nrunning 1 test\ntest a ... {own}ok\n{RESULT}late\n"));
        assert_eq!(cases(&o), [("a", Status::Ok)]);
        assert_eq!(o.stdout, format!("{own}late\n"));
    }

    #[test]
    fn another_harness_has_no_cases() {
        let o = parse("all fine\n");
        assert_eq!((o.cases.len(), o.stdout.as_str()), (0, "all fine\n"));
    }

    #[test]
    fn a_program_that_prints_like_libtest_is_not_taken_for_it() {
        let text = format!("\nrunning 1 test\ntest a ... x\nok\n{RESULT}");
        let o = Outcome::of_program(&text, "", ExitClass::Success);
        assert_eq!((o.cases.len(), o.stdout), (0, text));
    }

    #[test]
    fn exit_classes() {
        assert_eq!(ExitClass::of(Some(0), None, false), ExitClass::Success);
        assert_eq!(ExitClass::of(Some(101), None, false), ExitClass::TestFailure);
        assert_eq!(ExitClass::of(Some(3), None, false), ExitClass::Code(3));
        assert_eq!(ExitClass::of(None, Some(6), false), ExitClass::Signal(6));
        assert_eq!(ExitClass::of(None, Some(9), true), ExitClass::TimeOut);
    }

    #[test]
    fn a_diff_is_cut_where_it_is_too_long() {
        let mut base = parse("");
        base.stdout = "ä\n".repeat(LONGEST_DIFF);
        let diff = compare(&base, &parse("")).diff;
        assert!(diff.ends_with("\n… (the diff is longer)\n"));
        assert!((LONGEST_DIFF..LONGEST_DIFF + 100).contains(&diff.len()), "{}", diff.len());
    }

    #[test]
    fn what_differs_is_named_in_the_order_that_matters() {
        let base = parse(&format!("\nrunning 1 test\ntest a ... x\nok\n{RESULT}"));
        let stderr = Outcome { stderr: "boo\n".into(), ..base.clone() };
        let c = compare(&base, &stderr);
        assert_eq!((c.equal, c.differs), (false, Some(Which::Stderr)));
        assert!(c.diff.contains("+boo") && c.diff.starts_with("--- original stderr\n+++ gist stderr\n"), "{}", c.diff);
        let exit = Outcome { exit: ExitClass::Signal(6), stdout: String::new(), ..base.clone() };
        assert_eq!(compare(&base, &exit).differs, Some(Which::Exit));
        let mut status = base.clone();
        status.cases.insert("b".into(), Status::Ok);
        assert_eq!(compare(&base, &status).differs, Some(Which::Status));
        let c = compare(&base, &base);
        assert_eq!((c.equal, c.differs, c.diff.as_str()), (true, None, ""));
    }
}
