//! Programs: `--bin NAME -- ARGS`, `--example NAME -- ARGS`, `--stdin FILE`.

use crate::models::line_of_its_header;
use crate::project::{Project, Ran};
use camino::Utf8PathBuf;
use serde_json::json;
use std::process::Command;

const TEXT: &str = "a rose is a rose is a rose\n";

/// Makes the gist of a program; gives the project, the gist and its text.
fn gist(fixture: &str, args: &[&str]) -> (Project, Utf8PathBuf, String) {
    let project = Project::new(fixture);
    let gist = project.beside("gist.rs");
    let ran = project.gistify(["-o", gist.as_str()].iter().chain(args));
    ran.assert_code(0).assert_says("Verified");
    let text = fs_err::read_to_string(&gist).unwrap();
    (project, gist, text)
}

/// Runs the line in the header in the project's folder, where the paths of its arguments count from.
fn run(project: &Project, gist: &Utf8PathBuf, text: &str) -> Ran {
    let line = line_of_its_header(text);
    assert!(line.starts_with("rustc --edition ") && !line.contains("--test"), "{line}");
    fs_err::copy(gist, project.root.join("gist.rs")).unwrap();
    Ran::of(Command::new("sh").args(["-c", &format!("({line}); exit $?")]).current_dir(&project.root))
}

#[test]
fn a_program_with_a_library_reads_its_input_and_its_arguments() {
    let project = Project::new("programs");
    fs_err::write(project.root.join("in.txt"), TEXT).unwrap();
    let gist = project.beside("gist.rs");
    let args = ["--bin", "programs", "--stdin", "in.txt", "-o", gist.as_str(), "--", "--at-least=3"];
    project.gistify(args).assert_code(0).assert_says("Verified programs --at-least=3 < in.txt");
    let text = fs_err::read_to_string(&gist).unwrap();
    assert!(text.contains("pub fn count(text: &str)") && text.contains("use programs_program::main;"), "{text}");
    for part in ["fn longest", "#[cfg(test)]"] {
        assert!(!text.contains(part), "`{part}` is in\n{text}");
    }
    let ran = run(&project, &gist, &text);
    assert_eq!(ran.assert_code(0).stdout, "  3 a\n  3 rose\n");
}

#[test]
fn the_summary_runs_a_program_from_where_its_files_are() {
    let project = Project::new("programs");
    fs_err::write(project.root.join("in.txt"), TEXT).unwrap();
    let ran = project.gistify(["--bin", "programs", "--stdin", "in.txt", "-o", "target/g.rs", "--", "--at-least=3"]);
    ran.assert_code(0).assert_says("         Run cargo gistify run target/g.rs -- --at-least=3 < in.txt\n");
}

#[test]
fn an_error_that_main_returns_is_its_outcome() {
    let (project, gist, text) = gist("programs", &["--bin", "programs", "--", "--nonsense"]);
    let ran = run(&project, &gist, &text);
    ran.assert_code(1).assert_says("Error: Unknown(\"--nonsense\")\n");
    // What stands behind the error in `main` stays: it is put back when the gist is verified.
    assert!(text.contains("println!(\"{}\", show(word, n));") && !text.contains("split_whitespace"), "{text}");
}

#[test]
fn a_program_ends_in_its_gist_as_in_the_project() {
    let project = Project::new("programs");
    for (way, code) in [("three", 3), ("panic", 101), ("abort", 134), ("named", 0), ("cargo", 0), ("bytes", 0), ("tests", 0)]
    {
        let gist = project.beside("gist.rs");
        project.gistify(["--bin", "ends", "-o", gist.as_str(), "--", way]).assert_code(0);
        let text = fs_err::read_to_string(&gist).unwrap();
        run(&project, &gist, &text).assert_code(code);
        project.gistify(["run", gist.as_str(), "--", way]).assert_code(code);
    }
}

#[test]
fn a_panic_is_at_the_place_that_maps_back() {
    let (project, gist, text) = gist("programs", &["--bin", "ends", "--", "panic"]);
    assert!(!text.contains("abort"), "{text}");
    run(&project, &gist, &text).assert_code(101).assert_says("told to");
}

#[test]
fn an_example_with_modules_is_a_program() {
    let (project, gist, text) = gist("programs", &["--example", "sums", "--"]);
    assert!(text.contains("a + b") && !text.contains("a - b"), "{text}");
    assert_eq!(run(&project, &gist, &text).assert_code(0).stdout, "3\n");
    assert_eq!(project.gistify(["run", gist.as_str()]).assert_code(0).stdout, "3\n");
}

#[test]
fn a_program_without_a_library_is_its_own_root() {
    let (project, gist, text) = gist("bin_only", &["--bin", "bin-only", "--", "1", "41"]);
    assert!(text.contains("\nfn main() {") && !text.contains("pub fn main") && !text.contains("exit(2)"), "{text}");
    assert_eq!(run(&project, &gist, &text).assert_code(0).stdout, "42\n");
}

#[test]
fn a_program_with_dependencies_runs() {
    let (project, gist, text) = gist("deps", &["--example", "digits", "--", "4", "2"]);
    assert_eq!(line_of_its_header(&text), "cargo gistify run gist.rs -- 4 2");
    assert_eq!(project.gistify(["run", gist.as_str(), "--", "4", "2"]).assert_code(0).stdout, "42\n");
}

#[test]
fn the_report_says_that_it_is_a_program_and_how_it_was_called() {
    let project = Project::new("programs");
    fs_err::write(project.root.join("in.txt"), TEXT).unwrap();
    let args = ["--bin", "programs", "--stdin", "in.txt", "--message-format", "json"];
    let reports = project.gistify(args).assert_code(0).reports();
    assert_eq!(
        reports[0]["test"],
        json!({
            "package": "programs", "target_kind": "bin", "target": "programs", "entry": "program", "name": "main",
            "args": [], "stdin": "in.txt"
        })
    );
    assert!(reports[0]["gist"].as_str().unwrap().ends_with("programs--bin-programs-main.rs"), "{}", reports[0]);
}

#[test]
fn a_program_is_traced() {
    let ran = Project::new("programs").gistify(["trace", "--example", "sums", "--"]);
    assert!(ran.assert_code(0).stdout.contains("sums::add::add"), "{}", ran.stdout);
}

#[test]
fn a_test_of_a_binary_stays_a_test() {
    let ran = Project::new("programs").gistify(["--bin", "programs", "a_line_is_aligned", "-o", "-"]);
    assert!(ran.assert_code(0).stdout.contains("A gist of the test `tests::a_line_is_aligned`"), "{}", ran.stdout);
}

#[test]
fn what_is_neither_one_program_nor_a_test_is_a_usage_error() {
    let project = Project::new("programs");
    project.gistify(["--bin", "programs"]).assert_code(2).assert_says("--bin NAME -- ARGS");
    project.gistify(["--bin", "programs", "a_test", "--"]).assert_code(2).assert_says("`a_test` selects a test");
    for args in [&["--"][..], &["--lib", "--"], &["--bin", "a", "--bin", "b", "--"], &["--bin", "a", "--example", "b", "--"]]
    {
        project.gistify(args).assert_code(2).assert_says("name it, alone, with");
    }
    project.gistify(["--bin", "ends", "--", "a\nb"]).assert_code(2).assert_says("line break");
    project.gistify(["--bin", "nobody", "--"]).assert_code(2).assert_says("nobody");
}

#[test]
fn an_input_that_can_not_be_read_is_named_before_anything_is_built() {
    let project = Project::new("programs");
    project.gistify(["--bin", "programs", "--stdin", "none.txt"]).assert_code(96).assert_says("none.txt");
    assert!(!project.root.join("target").exists());
}

#[test]
fn a_program_that_never_ends_is_a_time_out() {
    let ran = Project::new("programs").gistify(["--bin", "ends", "--timeout", "1", "--", "never"]);
    ran.assert_code(3).assert_says("the program ends never took longer than 1 s");
}

#[test]
fn a_program_that_prints_too_much_to_compare_is_not_supported() {
    let ran = Project::new("programs").gistify(["--bin", "ends", "--", "much"]);
    ran.assert_code(5).assert_says("prints more than 64 MiB");
}

#[test]
fn a_program_that_reads_a_file_where_it_runs_is_not_supported_and_the_file_is_named() {
    let project = Project::new("programs");
    let ran = project.gistify(["--bin", "ends", "-o", "g.rs", "--", "file"]);
    ran.assert_code(5).assert_says(&format!("it needs files of {}: `Cargo.toml`. There its gist", project.root));
    ran.assert_says("give it the text with --stdin");
    assert!(!project.root.join("g.rs").exists() && !project.root.join("g.unverified.rs").exists());
}

#[test]
fn a_library_with_a_main_leaves_no_room_for_the_programs() {
    let project = Project::new("programs");
    let lib = project.root.join("src/lib.rs");
    let text = fs_err::read_to_string(&lib).unwrap();
    fs_err::write(&lib, format!("{text}\npub fn main() {{}}\n")).unwrap();
    let ran = project.gistify(["--example", "sums", "--"]);
    ran.assert_code(5).assert_says("its library has a `main` at its root, too");
}

#[test]
fn a_main_that_is_imported_is_not_supported_beside_a_library() {
    let project = Project::new("programs");
    fs_err::write(project.root.join("examples/sums/main.rs"), "mod add;\nuse add::main;\n").unwrap();
    fs_err::write(project.root.join("examples/sums/add.rs"), "pub fn main() {}\n").unwrap();
    project.gistify(["--example", "sums", "--"]).assert_code(5).assert_says("no function of its root file");
}

#[test]
fn records_that_are_lost_come_back() {
    let project = Project::new("programs");
    let args = ["--example", "sums", "-o", "-", "--"];
    let first = project.gistify(args).assert_code(0).stdout.clone();
    project.gistify(["clean"]).assert_code(0);
    assert_eq!(project.gistify(args).assert_code(0).stdout, first);
}

#[test]
fn a_name_that_two_packages_have_has_to_be_chosen_from() {
    let project = Project::empty("two");
    for package in ["one", "two"] {
        let dir = project.root.join(package);
        fs_err::create_dir_all(dir.join("src/bin")).unwrap();
        let manifest = format!("[package]\nname = \"{package}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
        fs_err::write(dir.join("Cargo.toml"), manifest).unwrap();
        fs_err::write(dir.join("src/bin/tool.rs"), format!("fn main() {{\n    println!(\"{package}\");\n}}\n")).unwrap();
    }
    fs_err::write(project.root.join("Cargo.toml"), "[workspace]\nmembers = [\"one\", \"two\"]\nresolver = \"3\"\n").unwrap();
    project.gistify(["--bin", "tool", "--"]).assert_code(2).assert_says("choose one with `-p`");
    let ran = project.gistify(["-p", "two", "--bin", "tool", "-o", "-", "--"]);
    assert!(ran.assert_code(0).stdout.contains("println!(\"two\")"), "{}", ran.stdout);
}
