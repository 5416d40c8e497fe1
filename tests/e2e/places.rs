//! Folders: where the tool is called, where the project lies, where things go.

use crate::models::run_as_its_header_says;
use crate::project::Project;

const TEST: [&str; 3] = ["--lib", "--exact", "money::tests::letters_are_no_amount"];

#[test]
fn it_works_from_a_sub_folder() {
    let project = Project::new("shop");
    let mut command = project.command(TEST);
    project.finish(command.args(["-o", "here.rs"]).current_dir(project.root.join("src"))).assert_code(0);
    assert!(project.root.join("src/here.rs").exists());
}

#[test]
fn a_manifest_path_selects_the_project_from_anywhere() {
    let project = Project::new("shop");
    let mut command = project.command(TEST);
    command.args(["-m", "project/Cargo.toml"]).current_dir(project.root.parent().unwrap());
    let ran = project.finish(&mut command);
    ran.assert_code(0).assert_says("project/target/gistify/gists/shop-money-tests-letters_are_no_amount.rs");
}

#[test]
fn a_target_directory_is_used_and_no_other_made() {
    let project = Project::new("shop");
    let mut command = project.command(TEST);
    command.args(["--target-dir", "../else where"]).current_dir(project.root.join("src"));
    project.finish(&mut command).assert_code(0);
    assert!(!project.root.join("target").exists());
    assert!(project.root.join("else where/gistify/gists").exists());
}

#[test]
fn spaces_quotes_and_letters_beyond_ascii_in_paths_do_no_harm() {
    let project = Project::in_folder("shop", "Größe & 'mehr' $HOME");
    let gist = project.beside("mein $gist für's Büro.rs");
    project.gistify(TEST.into_iter().chain(["-o", gist.as_str()])).assert_code(0);
    let ran = run_as_its_header_says(&gist, &fs_err::read_to_string(&gist).unwrap());
    assert!(ran.assert_code(0).stdout.contains("1 passed"), "{}", ran.stdout);
    project.gistify(["run", gist.as_str()]).assert_code(0);
}

#[test]
fn a_build_directory_from_cargos_configuration_is_used() {
    let project = Project::new("shop");
    fs_err::create_dir(project.root.join(".cargo")).unwrap();
    let config = "[build]\ntarget-dir = \"artifacts\"\nrustflags = [\"--cfg\", \"configured\"]\n";
    fs_err::write(project.root.join(".cargo/config.toml"), config).unwrap();
    project.gistify(TEST).assert_code(0);
    assert!(project.root.join("artifacts/gistify").exists());
    assert!(!project.root.join("target").exists());
}

#[test]
fn a_package_of_a_workspace_is_selected_by_name_or_by_folder() {
    let project = Project::new("workspace");
    project.gistify(["shared_name", "-p", "ws-tool"]).assert_code(0);
    let mut command = project.command(["shared_name"]);
    project.finish(command.current_dir(project.root.join("tool"))).assert_code(0);
}
