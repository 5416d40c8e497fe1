//! `cargo gistify list`.

use crate::project::Project;

#[test]
fn the_list_says_where_each_test_is_and_what_is_special_about_it() {
    let ran = Project::new("outcomes").gistify(["list", "-q", "--ignored"]);
    insta::assert_snapshot!(ran.assert_code(0).stdout);
}

#[test]
fn each_kind_of_target_has_its_word() {
    for (fixture, args, word) in [
        ("integration", vec!["list"], "tests/words.rs:13  [integration]"),
        ("bin_only", vec!["list"], "src/main.rs:20  [binary]"),
        ("example", vec!["list", "--example", "demo"], "examples/demo.rs:9  [example]"),
        ("modules", vec!["list"], "src/tests.rs:10  [unit]"),
    ] {
        let ran = Project::new(fixture).gistify(args);
        assert!(ran.assert_code(0).stdout.contains(word), "{word} is not in\n{}", ran.stdout);
    }
}

#[test]
fn cases_of_one_function_have_its_name_as_their_group() {
    let ran = Project::new("deps").gistify(["list", "numbers_have_signs", "--message-format", "json"]);
    let tests = ran.assert_code(0).reports();
    assert_eq!(tests.len(), 3);
    for test in tests {
        assert_eq!(test["group"], "tests::numbers_have_signs", "{test}");
        assert_eq!(test["target_kind"], "lib");
        assert!(test["file"].as_str().unwrap().ends_with("src/lib.rs"), "{test}");
    }
}

#[test]
fn a_harness_of_its_own_is_warned_of_beside_the_others() {
    let ran = Project::new("own_harness").gistify(["list"]);
    ran.assert_code(0).assert_says("warning: --test own: not supported: it has a harness of its own");
    assert!(ran.stdout.contains("one_is_one"));
}
