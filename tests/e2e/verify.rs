//! `cargo gistify verify`.

use crate::project::{Project, Ran};
use serde_json::Value;

/// The project and the tool's own gist of a test.
fn made(fixture: &str, test: &str) -> (Project, String) {
    let project = Project::new(fixture);
    let gist = project.beside("gist.rs");
    project.gistify(["--exact", test, "-o", gist.as_str()]);
    let text = fs_err::read_to_string(gist).unwrap();
    (project, text)
}

/// Verifies a text as the gist of a test.
fn verify(project: &Project, text: &str, test: &str) -> Ran {
    let file = project.beside("judged.rs");
    fs_err::write(&file, text).unwrap();
    project.gistify(["verify", file.as_str(), "--exact", "--test", test, "--message-format", "json"])
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap()
}

#[track_caller]
fn assert_fault(ran: &Ran, verdict: &str, reason: &str) {
    ran.assert_code(100);
    let told = json(ran);
    assert_eq!(told["verdict"], verdict, "{}", ran.stdout);
    assert!(told["error"].as_str().unwrap().contains(reason), "{}", ran.stdout);
    assert_eq!(told["metrics"]["execution_fidelity"], 0.0);
}

#[test]
fn the_tools_own_gists_verify_without_their_source_map_and_score_the_same() {
    for (fixture, test) in [
        ("outcomes", "tests::passes"),
        ("outcomes", "tests::fails_in_the_test"),
        ("outcomes", "tests::fails_in_the_crate"),
        ("outcomes", "tests::panics_with_the_expected_words"),
        ("outcomes", "tests::returns_ok"),
        ("integration", "words_are_counted"),
        ("deps", "tests::numbers_have_signs"),
    ] {
        let project = Project::new(fixture);
        let gist = project.beside("gist.rs");
        let made = project.gistify(["--exact", test, "-o", gist.as_str(), "--message-format", "json"]);
        let judged = verify(&project, &fs_err::read_to_string(gist).unwrap(), test);
        assert_eq!(json(judged.assert_code(0))["metrics"], json(made.assert_code(0))["metrics"], "{fixture} {test}");
    }
}

#[test]
fn what_ends_differently_is_shown_as_a_diff_with_partial_credit() {
    let (project, gist) = made("outcomes", "tests::passes");
    let ran = verify(&project, &gist.replace("Ok(a / b)", "Ok(a / b + 1)"), "tests::passes");
    assert_fault(&ran, "output-differs", "-tests::passes: Ok\n-exit: Success\n+tests::passes: Failed\n");
    let metrics = &json(&ran)["metrics"];
    assert_eq!((&metrics["cases_agreeing"], &metrics["pass_rate"]), (&0.0.into(), &0.0.into()));
    assert_eq!(metrics["test_f1"], 1.0);
    assert!(metrics["line_existence_rate"].as_f64().unwrap() < 1.0);
}

#[test]
fn a_panic_on_another_line_of_the_same_text_is_the_same_panic() {
    let test = "tests::fails_in_the_crate";
    let (project, gist) = made("outcomes", test);
    let moved = gist.replace("pub fn must_divide", "\n\n    pub\n fn must_divide");
    assert_ne!(moved, gist);
    verify(&project, &moved, test).assert_code(0);
    let other = gist.replace("divide(a, b).expect(", "let divided = divide(a, b);\n    divided.expect(");
    assert_ne!(other, gist);
    assert_fault(&verify(&project, &other, test), "output-differs", "panicked at <divided.expect(");
}

#[test]
fn a_changed_test_is_put_back_and_costs_test_f1() {
    let (project, gist) = made("outcomes", "tests::passes");
    let weaker = gist.replace("assert_eq!(must_divide(6, 3), 2);", "assert!(true);");
    let ran = verify(&project, &weaker, "tests::passes");
    assert!(json(ran.assert_code(0))["metrics"]["test_f1"].as_f64().unwrap() < 1.0);
    let broken = weaker.replace("Ok(a / b)", "Ok(7)");
    assert_fault(&verify(&project, &broken, "tests::passes"), "output-differs", "Failed");
    let gone = gist.replace("fn passes()", "fn passes_too()");
    assert_fault(&verify(&project, &gone, "tests::passes"), "missing-test", "nothing of that name");
}

#[test]
fn the_crate_under_test_can_not_come_in_from_outside() {
    let gist = "use outcomes::*; mod tests { use super::*; #[test] fn passes() {} }";
    assert_fault(&verify(&Project::new("outcomes"), gist, "tests::passes"), "self-import", "outcomes");
}

#[test]
fn an_integration_test_may_stand_at_the_root_as_it_does_in_the_project() {
    let project = Project::new("integration");
    let gist = r#"
use std::collections::BTreeMap;
pub fn count(text: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for word in text.split_whitespace() {
        *counts.entry(clean(word)).or_default() += 1;
    }
    counts
}
fn clean(word: &str) -> String {
    word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase()
}
mod common {
    pub const TEXT: &str = "The fox,\nthe hen.";
}
mod in_file {
    pub fn lines() -> usize {
        crate::common::TEXT.lines().count()
    }
}
#[test]
fn words_are_counted() {}
"#;
    let ran = verify(&project, gist, "words_are_counted");
    let told = json(ran.assert_code(0));
    assert_eq!((&told["metrics"]["foreign_lines"], &told["metrics"]["line_execution_rate"]), (&0.into(), &1.0.into()));
}

#[test]
fn output_that_is_replayed_is_flagged() {
    let gist = "pub fn must_divide(_: i32, _: i32) -> i32 { 2 } mod tests { use super::*; #[test] fn passes() {} }";
    let project = Project::new("outcomes");
    let told = json(verify(&project, gist, "tests::passes").assert_code(0));
    assert_eq!(told["flags"][0], "nothing-of-the-project-ran");
    // The project's own code, moved, is none.
    let gist = "pub fn must_divide(a: i32, b: i32) -> i32 { divide(a, b).expect(\"a number other than zero\") }
        mod tests { use super::must_divide; #[test] fn passes() {} }
        fn divide(a: i32, b: i32) -> Result<i32, String> { if b == 0 { return Err(String::new()); } Ok(a / b) }";
    let told = json(verify(&project, gist, "tests::passes").assert_code(0));
    assert!(told.get("flags").is_none(), "{told}");
}

#[test]
fn what_stands_in_a_gists_place_and_is_none_is_a_fault() {
    let project = Project::new("outcomes");
    let ran = |name: &str| {
        let file = project.beside(name);
        project.gistify(["verify", file.as_str(), "--exact", "--test", "tests::passes", "--message-format", "json"])
    };
    assert_fault(&ran("gone.rs"), "no-gist", "there is no file");
    std::os::unix::fs::symlink(project.root.join("src/lib.rs"), project.beside("link.rs")).unwrap();
    assert_fault(&ran("link.rs"), "forbidden", "symbolic link");
    fs_err::write(project.beside("bytes.rs"), b"\xff").unwrap();
    assert_fault(&ran("bytes.rs"), "does-not-compile", "not UTF-8");
}

#[test]
fn one_test_has_to_be_named() {
    let project = Project::new("outcomes");
    project.gistify(["verify", "x.rs"]).assert_code(2).assert_says("name it with `--test`");
    project.gistify(["verify", "x.rs", "--test", "panics"]).assert_code(2).assert_says("2 tests match");
    project.gistify(["verify", "x.rs", "--test", "nope"]).assert_code(4);
}

#[test]
fn the_result_goes_into_a_file_as_well() {
    let (project, gist) = made("outcomes", "tests::passes");
    fs_err::write(project.beside("g.rs"), gist).unwrap();
    let (gist, out) = (project.beside("g.rs"), project.beside("result.json"));
    let ran = project.gistify(["verify", gist.as_str(), "--exact", "--test", "tests::passes", "--json-out", out.as_str()]);
    ran.assert_code(0).assert_says("Verified tests::passes");
    let told: Value = serde_json::from_str(&fs_err::read_to_string(out).unwrap()).unwrap();
    assert_eq!(told["verdict"], "ok");
}
