//! What stands in a gist.

use crate::models::run_as_its_header_says;
use crate::project::Project;

const DEMO: [&str; 3] = ["--lib", "--exact", "cart::tests::a_bulk_discount_gives_one_piece_free"];

fn demo(more: &[&str]) -> String {
    let project = Project::new("shop");
    let ran = project.gistify(DEMO.iter().chain(&["-o", "-"]).chain(more));
    ran.assert_code(0).stdout.clone()
}

#[test]
fn the_demo_gist_looks_like_this() {
    let gist = demo(&[]);
    let toolchain = gist.lines().find(|l| l.starts_with("//! Toolchain: rustc ")).unwrap();
    insta::assert_snapshot!(gist.replace(toolchain, "//! Toolchain: [rustc]"));
}

#[test]
fn what_the_test_does_not_need_is_not_in_its_gist() {
    let gist = demo(&[]);
    for part in ["stock", "Shelf", "fn bill", "fn remove", "fn search", "FromStr", "fmt::Display", "fn label"] {
        assert!(!gist.contains(part), "`{part}` is in\n{gist}");
    }
    for part in
        ["trait Prices", "impl Discount for Rule", "impl Sum for Money", "License: MIT OR Apache-2.0", "of shop 0.3.1"]
    {
        assert!(gist.contains(part), "`{part}` is not in\n{gist}");
    }
}

#[test]
fn each_level_goes_further_than_the_one_before() {
    let [whole, items, full] = ["bundle", "items", "full"].map(|level| demo(&["--level", level]));
    assert!(whole.contains("mod stock") && !items.contains("mod stock"));
    assert!(items.contains("ShopError::SoldOut { code: code.to_owned()"), "{items}");
    assert!(!full.contains("ShopError::SoldOut { code: code.to_owned()"), "{full}");
    assert!(whole.lines().count() > items.lines().count() && items.lines().count() > full.lines().count());
}

#[test]
fn a_failing_test_fails_in_its_gist_at_the_same_place_with_the_same_words() {
    let project = Project::new("outcomes");
    let (gist, map) = (project.beside("fails.rs"), project.beside("fails.json"));
    let args = ["--exact", "tests::fails_in_the_crate", "-o", gist.as_str(), "--map", map.as_str()];
    project.gistify(args).assert_code(0).assert_says("Verified");
    let text = fs_err::read_to_string(&gist).unwrap();
    let ran = run_as_its_header_says(&gist, &text);
    assert!(ran.assert_code(101).stdout.contains("a number other than zero: \"1 by nothing\""), "{}", ran.stdout);
    // `…panicked at fails.rs:LINE:COLUMN:`, which the map takes back to the project's line.
    let place = ran.stdout.split("fails.rs:").nth(1).unwrap();
    let mut numbers = place.split(':').map(|n| n.parse::<usize>().unwrap());
    let (line, column) = (numbers.next().unwrap(), numbers.next().unwrap());
    let at = text.split_inclusive('\n').take(line - 1).map(str::len).sum::<usize>() + column - 1;
    let map: serde_json::Value = serde_json::from_str(&fs_err::read_to_string(map).unwrap()).unwrap();
    let segments: Vec<Vec<usize>> = serde_json::from_value(map["segments"].clone()).unwrap();
    let s = segments.iter().find(|s| s.len() == 4 && (s[0]..s[0] + s[1]).contains(&at)).unwrap();
    let file = fs_err::read_to_string(map["files"][s[2]].as_str().unwrap()).unwrap();
    assert!(file[s[3] + at - s[0]..].starts_with("expect(\"a number other than zero\")"), "{s:?}");
}

#[test]
fn an_ignored_test_runs_by_the_line_in_its_gist() {
    let project = Project::new("outcomes");
    let gist = project.beside("ignored.rs");
    project.gistify(["--exact", "tests::ignored", "--ignored", "-o", gist.as_str()]).assert_code(0);
    let ran = run_as_its_header_says(&gist, &fs_err::read_to_string(&gist).unwrap());
    assert!(ran.assert_code(0).stdout.contains("1 passed; 0 failed; 0 ignored"), "{}", ran.stdout);
}

#[test]
fn a_name_that_the_library_gives_another_crate_means_the_tests_dependency() {
    let gist = Project::new("deps").gistify(["--test", "shadows", "a_name", "-o", "-"]).assert_code(0).stdout.clone();
    assert!(gist.contains("extern crate itoa as figures;") && gist.contains("extern crate figures;"), "{gist}");
}

#[test]
fn a_dependency_stays_one_and_is_pinned() {
    let project = Project::new("deps");
    let args = ["--exact", "tests::a_plain_test_needs_one_dependency", "-o", "-"];
    let gist = project.gistify(args).assert_code(0).stdout.clone();
    let lock = fs_err::read_to_string(project.root.join("Cargo.lock")).unwrap();
    let version = lock.split("name = \"itoa\"\nversion = \"").nth(1).unwrap().split('"').next().unwrap();
    let line = gist.lines().find(|l| l.starts_with("//! itoa = {")).expect(&gist);
    assert!(line.contains(&format!("version = \"={version}\"")), "{line}");
    assert!(!gist.contains("test-case"), "{gist}");
    // Procedural macros may read these.
    assert!(gist.contains("//! name = \"deps\"\n//! version = \"0.1.0\"\n"), "{gist}");
}

#[test]
fn a_target_that_begins_with_a_digit_becomes_a_module_all_the_same() {
    let project = Project::new("integration");
    let tests = project.root.join("tests");
    fs_err::rename(tests.join("words.rs"), tests.join("2_words.rs")).unwrap();
    let ran = project.gistify(["--test", "2_words", "words_are_counted", "-o", "-"]);
    let gist = &ran.assert_code(0).stdout;
    assert!(gist.contains("\nmod _2_words {\n"), "{gist}");
}
