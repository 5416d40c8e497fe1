//! Where gists go, and what people see.

use crate::project::Project;

#[test]
fn several_tests_are_one_object_a_line_and_a_file_each() {
    let project = Project::new("shop");
    let out = project.beside("gists");
    let ran = project.gistify(["cart::", "--message-format", "json", "-o", out.as_str()]);
    let reports = ran.assert_code(0).reports();
    assert_eq!(reports.len(), 3);
    let mut names: Vec<_> = out.read_dir_utf8().unwrap().map(|e| e.unwrap().file_name().to_owned()).collect();
    names.sort();
    assert_eq!(
        names,
        [
            "shop-cart-tests-a_bulk_discount_gives_one_piece_free.rs",
            "shop-cart-tests-the_bill_shows_lines_and_discounts.rs",
            "shop-cart-tests-what_is_sold_out_cannot_be_added.rs"
        ]
    );
    // Build, bundle and graph are made once.
    let with = |stage: &str| reports.iter().filter(|r| r["cost"]["stages"][stage].is_number()).count();
    assert_eq!((with("build"), with("graph"), with("reduce")), (1, 1, 3));
}

#[test]
fn several_tests_need_a_directory() {
    let project = Project::new("shop");
    for (place, words) in [("-", "too many for `-o -`"), ("one.rs", "has to be a directory")] {
        project.gistify(["cart::", "-o", place]).assert_code(2).assert_says(words);
    }
    assert!(!project.root.join("one.rs").exists());
}

#[test]
fn standard_output_is_for_one_thing() {
    let project = Project::new("no_trace");
    let ran = project.gistify(["does_nothing", "-o", "-", "--message-format", "json"]);
    ran.assert_code(2).assert_says("both want standard output");
}

#[test]
fn the_summary_has_size_scores_place_and_the_line_that_runs_it() {
    let project = Project::new("modules");
    let ran = project.gistify(["all_modules", "-o", "gist.rs"]);
    for part in [
        "   Compiling modules",
        "    Bundling",
        "    Graphing",
        "     Tracing",
        "    Reducing",
        "   Verifying",
        "    Verified",
        "        Size",
        "      Scores fidelity 1.00",
        "        Gist gist.rs",
        "         Run rustc --edition 2021 --test gist.rs",
    ] {
        ran.assert_says(part);
    }
    assert_eq!(ran.stdout, "");
}

#[test]
fn a_gist_is_shown_as_it_is_seen_from_here() {
    let ran = Project::new("modules").gistify(["all_modules"]);
    ran.assert_says("        Gist target/gistify/gists/modules-tests-all_modules_are_found.rs\n");
    ran.assert_says("         Run cd target/gistify/gists && rustc --edition 2021 --test modules-");
}

#[test]
fn quiet_means_that_only_data_is_printed() {
    let project = Project::new("modules");
    let ran = project.gistify(["all_modules", "-q", "-o", "-"]);
    assert_eq!(ran.assert_code(0).stderr, "");
    assert!(ran.stdout.starts_with("//! A gist of the test `tests::all_modules_are_found` (--lib)\n"));
}

#[test]
fn an_older_gist_is_replaced_only_by_a_verified_one() {
    let project = Project::new("reads_file");
    let gist = project.beside("gist.rs");
    fs_err::write(&gist, "// older").unwrap();
    project.gistify(["the_answer_is_beside_this_file", "-o", gist.as_str()]).assert_code(100);
    assert_eq!(fs_err::read_to_string(&gist).unwrap(), "// older");
}
