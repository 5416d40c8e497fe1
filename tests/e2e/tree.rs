//! The user's files and the user's build are left as they were.

use crate::project::Project;

#[test]
fn no_file_outside_target_is_written_and_no_lock_file_is_left() {
    for (fixture, test) in [("modules", "all_modules"), ("build_script", "the_builder"), ("reads_file", "on_disk")] {
        let project = Project::new(fixture);
        let before = project.files();
        for args in [vec![test], vec!["list"], vec!["trace", test], vec!["no_such_test"]] {
            project.gistify(args);
            assert!(project.files() == before, "{fixture}: {:?}", project.files().keys());
        }
    }
}

#[test]
fn a_build_that_fails_leaves_the_tree_as_it_was() {
    let project = Project::new("broken");
    let before = project.files();
    project.gistify(["it_is_one"]).assert_code(101);
    assert_eq!(project.files(), before);
}

#[test]
fn what_the_user_has_built_is_not_built_again() {
    for (fixture, test) in [("shop", "letters"), ("build_script", "the_builder"), ("workspace", "the_core_doubles")] {
        let project = Project::new(fixture);
        let builds: [&[&str]; 3] =
            [&["build", "--workspace"], &["test", "--no-run", "--workspace"], &["check", "--workspace"]];
        for build in builds {
            project.cargo(build).assert_code(0).assert_says("Finished");
        }
        project.gistify([test]).assert_code(0);
        for build in builds {
            let again = project.cargo(build);
            again.assert_code(0).assert_says("Finished");
            let compiled = ["Compiling", "Checking", "Dirty"].iter().any(|verb| again.stderr.contains(verb));
            assert!(!compiled, "{fixture} {build:?}\n{}", again.stderr);
        }
    }
}

#[test]
fn a_second_gist_of_a_project_compiles_nothing_of_it() {
    let project = Project::new("shop");
    project.gistify(["letters"]).assert_code(0).assert_says("Compiling shop");
    let again = project.gistify(["letters"]);
    assert!(!again.assert_code(0).stderr.contains("Compiling"), "{}", again.stderr);
}

#[test]
fn what_is_changed_is_seen() {
    let project = Project::new("modules");
    project.gistify(["all_modules"]).assert_code(0);
    let file = project.root.join("src/elsewhere/renamed.rs");
    fs_err::write(&file, "pub(crate) fn square(n: u32) -> u32 {\n    let square = n * n;\n    square\n}\n").unwrap();
    // File systems tell times apart, cargo compares them.
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(2);
    fs_err::File::options().append(true).open(&file).unwrap().set_modified(later).unwrap();
    let ran = project.gistify(["all_modules", "-o", "-"]);
    assert!(ran.assert_code(0).stdout.contains("let square = n * n;"), "{}", ran.stdout);
}
