//! Doctests: `--doc`.

use crate::models::line_of_its_header;
use crate::project::{Project, Ran};
use serde_json::Value;
use std::process::Command;

#[test]
fn doctests_are_listed_as_cargo_names_them() {
    let project = Project::new("doctests");
    let ran = project.gistify(["list", "--doc", "-q"]);
    let listed = ran.assert_code(0).stdout.clone();
    let of_cargo = project.cargo(&["test", "--doc", "--", "--list"]);
    let mut names = 0;
    for name in of_cargo.stdout.lines().filter_map(|l| l.strip_suffix(": test")) {
        names += 1;
        assert!(listed.contains(&format!("    {name}  src/")), "{name} is not in\n{listed}");
    }
    assert!(names == 10 && listed.starts_with("doc-tests --doc (10 tests)\n"), "{names} {listed}");
    assert!(listed.contains("src/lib.rs:28  [doc, should panic]"), "{listed}");
}

#[test]
fn each_doctest_is_a_program_that_ends_as_in_the_project() {
    let project = Project::new("doctests");
    let out = format!("{}/", project.beside("out"));
    let ran = project.gistify(["--doc", "", "--message-format", "json", "-o", &out]);
    let reports = ran.assert_code(5).reports();
    let mut found = String::new();
    for report in &reports {
        let (test, verdict) = (&report["test"], report["verdict"].as_str().unwrap());
        assert_eq!((&test["entry"], &test["target_kind"], &test["args"]), (&"doctest".into(), &"doc".into(), &Value::Null));
        let name = test["name"].as_str().unwrap().replace("src/", "");
        let end = match report["gist"].as_str() {
            Some(gist) => {
                assert_eq!(report["metrics"]["line_existence_rate"], 1.0, "{name}");
                let text = fs_err::read_to_string(gist).unwrap();
                assert!(!text.contains("fn double") && text.contains("//! A gist of the doctest `src/"), "{text}");
                let line = line_of_its_header(&text);
                let ran = Ran::of(Command::new("sh").args(["-c", line]).current_dir(&out));
                format!("{} {}", ran.code.unwrap(), ran.stdout.trim())
            }
            None => report["error"].as_str().unwrap().rsplit("not supported: ").next().unwrap().to_owned(),
        };
        found.push_str(format!("{name}: {verdict}: {}\n", end.trim()).as_str());
    }
    insta::assert_snapshot!(found);
}

#[test]
fn a_doctest_sees_no_private_field_of_its_library() {
    let project = Project::new("apart");
    let gist = project.beside("gist.rs");
    project.gistify(["--doc", "guarded", "-o", gist.as_str()]).assert_code(0).assert_says("line existence 1.00, stubs 0");
    assert!(fs_err::read_to_string(&gist).unwrap().contains("pub mod apart {\npub struct Inner"));
}

#[test]
fn a_doctest_is_run_and_traced_by_name() {
    let project = Project::new("doctests");
    let gist = project.beside("gist.rs");
    let args = ["--doc", "half (line 28)", "-o", gist.as_str()];
    project.gistify(args).assert_code(0).assert_says("Verified src/lib.rs - half (line 28)");
    project.gistify(["run", gist.as_str()]).assert_code(101).assert_says("an even number: Odd(3)");
    let ran = project.gistify(["trace", "--doc", "half (line 28)"]);
    assert!(ran.assert_code(0).stdout.contains("doc_tests::half"), "{}", ran.stdout);
}

#[test]
fn a_doctest_that_nobody_has_or_that_does_not_compile_is_answered() {
    let project = Project::new("doctests");
    project.gistify(["--doc", "hlaf (line 28)"]).assert_code(4).assert_says("did you mean `src/lib.rs - half (line 28)`");
    project.gistify(["--doc", "--lib", "half"]).assert_code(2).assert_says("--doc");
    let lib = project.root.join("src/lib.rs");
    let text = fs_err::read_to_string(&lib).unwrap();
    fs_err::write(&lib, text.replace("expect(\"an even number\")", "nothing()")).unwrap();
    project.gistify(["--doc", "half (line 28)"]).assert_code(101).assert_says("no method named `nothing`");
}

#[test]
fn the_project_is_left_as_it_was() {
    let project = Project::new("doctests");
    let before = project.files();
    project.gistify(["--doc", "half (line 22)"]).assert_code(0);
    assert_eq!(project.files(), before);
}
