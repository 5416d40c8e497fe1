//! What each fixture's tests are meant to do, as one table, and the test that compares.

mod impls;
mod kinds;

use crate::project::{Project, Ran};
use camino::Utf8Path;
use serde_json::Value;
use std::process::Command;
use std::sync::Mutex;

/// One call on one fixture.
struct Model {
    fixture: &'static str,
    /// Beside the standing arguments: all tests, as JSON, ignored ones too.
    args: &'static [&'static str],
    /// The exit code.
    code: i32,
    /// Every test that is selected.
    tests: &'static [Expected],
    /// Text that none of the gists has.
    lacks: &'static [&'static str],
}

/// What comes of one test.
struct Expected {
    name: &'static str,
    verdict: &'static str,
    /// The status with which a shell ends that runs the line in the gist's header; `None`: not run.
    run: Option<i32>,
    /// Text that the gist has.
    holds: &'static str,
    /// Text that the gist does not have.
    lacks: &'static [&'static str],
}

impl Expected {
    const fn without(self, lacks: &'static [&'static str]) -> Expected {
        Expected { lacks, ..self }
    }
}

const fn passes(name: &'static str, holds: &'static str) -> Expected {
    ends(name, 0, holds)
}

const fn fails(name: &'static str, holds: &'static str) -> Expected {
    ends(name, 101, holds)
}

const fn ends(name: &'static str, status: i32, holds: &'static str) -> Expected {
    Expected { name, verdict: "ok", run: Some(status), holds, lacks: &[] }
}

/// A gist that a plain rustc can't run.
const fn made(name: &'static str, holds: &'static str) -> Expected {
    Expected { name, verdict: "ok", run: None, holds, lacks: &[] }
}

const fn fault(name: &'static str, verdict: &'static str) -> Expected {
    Expected { name, verdict, run: None, holds: "", lacks: &[] }
}

/// A gist that is written, but under another name.
const fn unverified(name: &'static str) -> Expected {
    fault(name, "output-differs")
}

#[test]
fn of_what_macros_make_the_wanted_impls_alone_come_back() {
    check_all(impls::MADE);
}

#[test]
fn every_fixture_does_what_its_model_says() {
    check_all(kinds::MODELS);
}

#[test]
fn impls_that_nobody_names_are_found() {
    check_all(impls::IMPLS);
}

fn check_all(models: &[Model]) {
    let faults = Mutex::new(Vec::new());
    let queue = Mutex::new(models.iter());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(model) = queue.lock().unwrap().next() else { break };
                    let found = check(model);
                    faults.lock().unwrap().extend(found.into_iter().map(|f| format!("{}: {f}", model.fixture)));
                }
            });
        }
    });
    let faults = faults.into_inner().unwrap();
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// The ways in which a fixture does not do what its model says.
fn check(model: &Model) -> Vec<String> {
    let project = Project::new(model.fixture);
    let out = format!("{}/", project.beside("out"));
    let standing = ["", "--ignored", "-q", "--message-format", "json", "-o", &out];
    let ran = project.gistify(standing.into_iter().chain(model.args.iter().copied()));
    let mut faults = Vec::new();
    if ran.code != Some(model.code) {
        faults.push(format!("exit code {:?}, not {}: {}", ran.code, model.code, ran.stderr));
    }
    let reports = ran.reports();
    for expected in model.tests {
        let mut of_test = reports.iter().filter(|r| r["test"]["name"] == expected.name);
        match (of_test.next(), of_test.next()) {
            (Some(report), None) => {
                let found = check_test(expected, model.lacks, report);
                faults.extend(found.into_iter().map(|f| format!("{}: {f}", expected.name)));
            }
            (None, _) => faults.push(format!("no report for {}", expected.name)),
            (Some(_), Some(_)) => faults.push(format!("two reports for {}", expected.name)),
        }
    }
    if reports.len() != model.tests.len() {
        faults.push(format!("{} reports for {} tests", reports.len(), model.tests.len()));
    }
    faults
}

fn check_test(expected: &Expected, lacks: &[&str], report: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    let mut want = |what: &str, found: &Value, wanted: Value| {
        if *found != wanted {
            faults.push(format!("{what} is {found}, not {wanted}"));
        }
    };
    want("verdict", &report["verdict"], expected.verdict.into());
    if expected.verdict != "ok" {
        if !report["gist"].as_str().is_none_or(|path| path.ends_with(".unverified.rs")) {
            faults.push(format!("a gist that is not verified stands under {}", report["gist"]));
        }
        return faults;
    }
    let metrics = &report["metrics"];
    want("execution fidelity", &metrics["execution_fidelity"], 1.0.into());
    want("line existence", &metrics["line_existence_rate"], 1.0.into());
    want("stubs", &metrics["stubs"], 0.into());
    want("foreign lines", &metrics["foreign_lines"], 0.into());
    let Some(path) = report["gist"].as_str().map(Utf8Path::new) else {
        faults.push(format!("no gist: {}", report["error"]));
        return faults;
    };
    let text = fs_err::read_to_string(path).unwrap();
    if !text.contains(expected.holds) {
        faults.push(format!("`{}` is not in\n{text}", expected.holds));
    }
    for part in lacks.iter().chain(expected.lacks).filter(|part| text.contains(**part)) {
        faults.push(format!("`{part}` is in\n{text}"));
    }
    if let Some(status) = expected.run {
        let ran = run_as_its_header_says(path, &text);
        if ran.code != Some(status) || !ran.stdout.contains("running 1 test\n") {
            faults.push(format!("run as its header says it ends with {:?}, not {status}: {ran:?}", ran.code));
        }
    }
    faults
}

/// The line in a gist's header that runs it.
pub(crate) fn line_of_its_header(text: &str) -> &str {
    text.lines().find_map(|l| l.strip_prefix("//! Run: ")).unwrap()
}

/// Runs the line in the header, in the gist's folder, and nothing else.
pub(crate) fn run_as_its_header_says(path: &Utf8Path, text: &str) -> Ran {
    let line = line_of_its_header(text);
    assert!(line.starts_with("rustc --edition "), "{line}");
    // The subshell gives a signal as a shell does.
    Ran::of(Command::new("sh").args(["-c", &format!("({line}); exit $?")]).current_dir(path.parent().unwrap()))
}
