//! `cargo gistify run`.

use crate::project::Project;

fn gist(test: &str, fixture: &str) -> (Project, String) {
    let project = Project::new(fixture);
    let gist = project.beside("gist.rs").into_string();
    project.gistify(["--exact", test, "-o", &gist]).assert_code(0);
    (project, gist)
}

#[test]
fn it_ends_as_the_test_ends() {
    for (test, code) in [("tests::passes", 0), ("tests::fails_in_the_test", 101)] {
        let (project, gist) = gist(test, "outcomes");
        let ran = project.gistify(["run", &gist, "--", "--exact", test]);
        assert!(ran.assert_code(code).stdout.contains("running 1 test"), "{}", ran.stdout);
    }
}

#[test]
fn a_gist_with_dependencies_runs() {
    let (project, gist) = gist("tests::numbers_have_signs", "deps");
    let ran = project.gistify(["run", &gist]);
    assert!(ran.assert_code(0).stdout.contains("3 passed"), "{}", ran.stdout);
    assert!(!project.beside("Cargo.toml").exists());
}

#[test]
fn a_signal_is_passed_on_as_a_shell_does() {
    let (project, gist) = gist("tests::aborts", "ends");
    project.gistify(["run", &gist]).assert_code(134);
}

#[test]
fn an_unknown_toolchain_is_named() {
    let (project, gist) = gist("tests::passes", "outcomes");
    let ran = project.gistify(["run", "--toolchain", "no-such-toolchain", &gist]);
    ran.assert_code(96).assert_says("no-such-toolchain").assert_says("rustup");
}
