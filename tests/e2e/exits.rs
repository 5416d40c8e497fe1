//! Each exit code is reached, with one message that names the cause and the next step.

use crate::project::Project;

#[test]
fn without_a_test_the_usage_is_wrong() {
    let project = Project::new("no_trace");
    project.gistify::<&str>([]).assert_code(2).assert_says("cargo gistify list");
    project.gistify(["--no-such-flag"]).assert_code(2).assert_says("--no-such-flag");
}

#[test]
fn a_package_or_target_that_cargo_does_not_know_is_a_usage_error_in_cargos_words() {
    let project = Project::new("no_trace");
    project.gistify(["x", "-p", "nobody"]).assert_code(2).assert_says("nobody");
    project.gistify(["x", "--test", "nowhere"]).assert_code(2).assert_says("nowhere");
}

#[test]
fn a_test_that_never_ends_is_a_time_out() {
    let project = Project::new("ends");
    let ran = project.gistify(["--exact", "tests::never_ends", "--timeout", "1"]);
    ran.assert_code(3).assert_says("tests::never_ends took longer than 1 s").assert_says("--timeout");
}

#[test]
fn a_misspelled_test_is_answered_with_the_nearest_names() {
    let project = Project::new("shop");
    let ran = project.gistify(["cart::tests::what_is_sould_out_cannot_be_added"]);
    ran.assert_code(4).assert_says("did you mean `cart::tests::what_is_sold_out_cannot_be_added`");
}

#[test]
fn only_ignored_tests_are_no_selection() {
    let project = Project::new("outcomes");
    project.gistify(["--exact", "tests::ignored"]).assert_code(4).assert_says("--ignored");
}

#[test]
fn a_project_without_tests_never_reads_as_green() {
    let project = Project::new("no_tests");
    project.gistify(["anything"]).assert_code(4).assert_says("no test matches `anything`");
    project.gistify(["list"]).assert_code(4).assert_says("the project has no tests");
}

#[test]
fn a_harness_of_its_own_is_not_supported() {
    let project = Project::new("own_harness");
    project.gistify(["x", "--test", "own"]).assert_code(5).assert_says("harness = false");
}

#[test]
fn a_build_that_aborts_on_panic_is_not_supported() {
    let project = Project::new("panic_abort");
    let mut command = project.command(["there_is_no_third"]);
    command.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", "-Cpanic=abort -Zpanic-abort-tests");
    project.finish(&mut command).assert_code(5).assert_says("panic = \"abort\"").assert_says("--profile");
}

#[test]
fn an_unsteady_test_is_set_aside_with_what_differs() {
    let project = Project::new("unsteady");
    let ran = project.gistify(["passes_every_second_time"]);
    ran.assert_code(5).assert_says("not deterministic").assert_says("in one run and as");
}

#[test]
fn an_output_path_below_a_file_is_named() {
    let project = Project::new("no_trace");
    fs_err::write(project.beside("file"), "").unwrap();
    let path = project.beside("file/gists/x.rs");
    let ran = project.gistify(["does_nothing", "-o", path.as_str()]);
    ran.assert_code(96).assert_says(project.beside("file/gists").as_str());
}

#[test]
fn a_full_disk_is_named() {
    let project = Project::new("no_trace");
    let full = fs_err::File::options().write(true).open("/dev/full").unwrap();
    let mut command = project.command(["does_nothing", "-o", "-"]);
    let ran = project.finish(command.stdout(full.into_parts().0));
    ran.assert_code(96).assert_says("No space left").assert_says("free some disk space");
}

#[test]
fn a_gist_that_can_not_be_read_is_named() {
    let project = Project::empty("nothing");
    project.gistify(["run", "no-such-gist.rs"]).assert_code(96).assert_says("no-such-gist.rs");
}

#[test]
fn a_gist_that_does_not_verify_never_stands_under_the_name_of_the_result() {
    let project = Project::new("reads_file");
    let gist = project.beside("gist.rs");
    let ran = project.gistify(["the_answer_is_beside_this_file", "-o", gist.as_str()]);
    ran.assert_code(100).assert_says("output-differs").assert_says("assertion failed: here.join");
    assert!(!gist.exists());
    let text = fs_err::read_to_string(project.beside("gist.unverified.rs")).unwrap();
    assert!(text.contains(" gist.unverified.rs -o gist.unverified &&"), "{text}");
}

#[test]
fn a_test_that_reads_files_by_a_relative_path_is_not_supported_and_they_are_named() {
    let project = Project::new("reads_file");
    let gist = project.beside("gist.rs");
    let before = project.files();
    for (test, files) in [
        ("the_answer_is_on_disk", "`data/answer.txt`"),
        ("an_answer_is_found_by_its_language", "`data/{language}.txt`"),
        ("the_folder_has_one_answer", "`data`"),
        ("a_wrong_answer_fails", "`data/answer.txt`"),
    ] {
        let ran = project.gistify([test, "-o", gist.as_str()]);
        ran.assert_code(5).assert_says(&format!(
            "error: {test}: not supported: when it runs it needs files of {}: {files}. There its gist does the same, \
             but not elsewhere; what is read at compile time (`env!`, `include_str!`, `include_bytes!`) comes with a gist",
            project.root
        ));
        assert!(!gist.exists() && !project.beside("gist.unverified.rs").exists());
    }
    assert_eq!(project.files(), before);
}

#[test]
fn a_test_that_reads_cargos_environment_is_not_supported_and_its_variables_are_named() {
    let project = Project::new("reads_file");
    let ran = project.gistify(["cargo_says_where_the_answer_is"]);
    ran.assert_code(5).assert_says(&format!(
        "it needs cargo's environment in {}: `CARGO_MANIFEST_DIR`, `data/answer.txt`. There its gist",
        project.root
    ));
}

#[test]
fn a_test_that_needs_more_than_its_gist_has_is_reported_as_one_that_is_not_supported() {
    let project = Project::new("reads_file");
    let ran = project.gistify(["the_answer_is_on_disk", "--message-format", "json"]);
    let report = &ran.assert_code(5).reports()[0];
    assert_eq!((&report["verdict"], &report["gist"]), (&"unsupported".into(), &serde_json::Value::Null));
    assert!(report["error"].as_str().unwrap().contains("`data/answer.txt`"), "{report}");
    assert_eq!(report["metrics"]["execution_fidelity"], serde_json::Value::Null);
}

#[test]
fn a_test_that_knows_the_packages_folder_is_not_supported() {
    let project = Project::new("reads_file");
    let gist = project.beside("gist.rs");
    let ran = project.gistify(["the_answer_is_in_the_package", "-o", gist.as_str()]);
    ran.assert_code(5).assert_says("holds a path into the project").assert_says("CARGO_MANIFEST_DIR");
    ran.assert_says("and names there `data/answer.txt`");
    assert!(!gist.exists() && !project.beside("gist.unverified.rs").exists());
}

#[test]
fn a_project_that_does_not_build_is_answered_with_rustcs_error() {
    let project = Project::new("broken");
    let ran = project.gistify(["it_is_one"]);
    ran.assert_code(101).assert_says("E0308").assert_says("src/lib.rs:4:5").assert_says("do not build");
}

#[test]
fn a_folder_that_is_no_project_is_answered_in_cargos_words() {
    let project = Project::empty("nothing");
    project.gistify(["x"]).assert_code(102).assert_says("could not find `Cargo.toml`");
    fs_err::write(project.root.join("Cargo.toml"), "[package\n").unwrap();
    project.gistify(["x"]).assert_code(102).assert_says("Cargo.toml:1");
}

#[test]
fn a_test_binary_that_can_not_list_its_tests_is_named() {
    let project = Project::new("unlistable");
    project.gistify(["it_is_never_reached"]).assert_code(104).assert_says("--lib").assert_says("no licence found");
}

#[test]
fn a_benchmark_is_not_supported_and_no_misspelled_test() {
    let project = Project::new("benches");
    for (args, says) in [
        (&["benches::doubling_is_fast"][..], "`doubling_is_fast` (src/lib.rs:11) is a benchmark"),
        (&["--exact", "doubling_many"], "`doubling_many` (benches/speed.rs:3) is a benchmark"),
        (&["speed"], "`speed` (benches/speed.rs:1) is a benchmark"),
        (&["x", "--bench", "speed"], "--bench speed: not supported: a benchmark measures time"),
        (&["list", "--benches"], "--benches: not supported"),
    ] {
        project.gistify(args).assert_code(5).assert_says(says);
    }
    project.gistify(["trippling"]).assert_code(4).assert_says("no test matches `trippling`");
    let mut command = project.command(["doubling_is_fast", "-F", "nightly"]);
    let ran = project.finish(command.env("RUSTC_BOOTSTRAP", "1"));
    ran.assert_code(5).assert_says("`doubling_is_fast` (src/lib.rs:11) is a benchmark");
    project.gistify(["one_is_doubled"]).assert_code(0);
}
