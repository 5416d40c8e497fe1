//! `cargo gistify check-tests`.

use crate::project::{Project, Ran};
use serde_json::Value;
use std::collections::BTreeMap;

/// What was found of each test.
fn found(ran: &Ran) -> BTreeMap<String, String> {
    let screened = ran.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let text = |v: &Value| v.as_str().unwrap().to_owned();
    screened.map(|s| (text(&s["test"]["name"]), text(&s["fitness"]))).collect()
}

fn check(fixture: &str, more: &[&str]) -> (Project, Ran) {
    let project = Project::new(fixture);
    let ran = project.gistify(["check-tests", "--message-format", "json"].iter().chain(more));
    ran.assert_code(0);
    (project, ran)
}

#[test]
fn tests_that_hang_on_files_of_the_package_are_told_from_those_that_carry_them() {
    let (_project, ran) = check("reads_file", &[]);
    let found = found(&ran);
    for (test, fitness) in [
        ("the_answer_was_read_by_the_compiler", "fit"),
        ("an_answer_is_written_and_read", "fit"),
        ("the_answer_is_on_disk", "location-dependent"),
        ("the_answer_is_in_the_package", "location-dependent"),
        ("cargo_says_where_the_answer_is", "location-dependent"),
    ] {
        assert_eq!(found[test], fitness, "{test}");
    }
    assert!(ran.stdout.contains("by their absolute path (its source names `data/answer.txt`"), "{}", ran.stdout);
    ran.assert_says("2 fit, 7 location-dependent");
}

#[test]
fn tests_that_differ_from_run_to_run_are_told_with_the_difference() {
    let (project, ran) = check("unsteady", &["-o", "list.jsonl"]);
    let found = found(&ran);
    assert_eq!(found["tests::passes_every_second_time"], "nondeterministic");
    assert_eq!(found["tests::prints_a_random_number"], "fit");
    assert!(ran.stdout.contains("in one run and as TestFailure"), "{}", ran.stdout);
    assert!(ran.stdout.contains(r#""uses":["clock"]"#), "{}", ran.stdout);
    assert_eq!(fs_err::read_to_string(project.root.join("list.jsonl")).unwrap(), ran.stdout);
}

#[test]
fn tests_that_need_the_machine_are_told_and_get_their_gist_outside_of_the_sandbox() {
    let (project, ran) = check("machine", &[]);
    assert_eq!(found(&ran)["tests::the_machine_is_seen"], "needs-machine");
    let gist = project.beside("gist.rs");
    let make =
        |sandbox| project.gistify(["--exact", "tests::the_machine_is_seen", "-o", gist.as_str(), "--sandbox", sandbox]);
    let kind = if ran.stderr.contains("tests (bwrap)") { "bwrap" } else { "landlock" };
    make(kind).assert_code(5).assert_says("needs what the sandbox closes");
    assert!(!gist.exists());
    make("auto").assert_code(0).assert_says("closes; its gist was verified without");
}

#[test]
fn ignored_tests_and_those_that_take_too_long_are_told() {
    let (_project, ran) = check("slow", &["--timeout", "2"]);
    assert_eq!(found(&ran)["tests::waits_for_long"], "time-out");
    let (_project, ran) = check("outcomes", &["ignored"]);
    assert_eq!(found(&ran)["tests::ignored"], "ignored");
    Project::new("outcomes").gistify(["check-tests", "--runs", "1"]).assert_code(2);
}
