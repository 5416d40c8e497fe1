//! A wrapper of rustc that the user has is still called.

use crate::project::Project;
use std::os::unix::fs::PermissionsExt;

/// A shell script that notes its arguments in `log` and becomes the compiler.
fn wrapper(project: &Project, path: &str) -> camino::Utf8PathBuf {
    let (file, log) = (project.root.join(path), project.beside("log"));
    fs_err::create_dir_all(file.parent().unwrap()).unwrap();
    fs_err::write(&file, format!("#!/bin/sh\necho \"$*\" >> '{log}'\nexec \"$@\"\n")).unwrap();
    fs_err::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    log
}

#[track_caller]
fn assert_called(log: &camino::Utf8Path) {
    let calls = fs_err::read_to_string(log).unwrap();
    let call = calls.lines().find(|l| l.contains("--crate-name modules") && l.contains("--test")).expect(&calls);
    assert!(call.contains("-Cinstrument-coverage"), "{call}");
}

#[test]
fn a_workspace_wrapper_from_the_environment_is_called() {
    let project = Project::new("modules");
    let log = wrapper(&project, "wrap.sh");
    let mut command = project.command(["all_modules"]);
    project.finish(command.env("RUSTC_WORKSPACE_WRAPPER", project.root.join("wrap.sh"))).assert_code(0);
    assert_called(&log);
}

#[test]
fn a_workspace_wrapper_from_cargos_configuration_is_called_from_any_folder() {
    let project = Project::new("modules");
    let log = wrapper(&project, "tools/wrap.sh");
    fs_err::create_dir(project.root.join(".cargo")).unwrap();
    let config = "[build]\nrustc-workspace-wrapper = \"tools/wrap.sh\" # a # comment\n";
    fs_err::write(project.root.join(".cargo/config.toml"), config).unwrap();
    for folder in ["", "src/shapes"] {
        let mut command = project.command(["all_modules"]);
        project.finish(command.current_dir(project.root.join(folder))).assert_code(0);
        assert_called(&log);
        fs_err::remove_file(&log).unwrap();
        fs_err::remove_dir_all(project.root.join("target")).unwrap();
    }
}

#[test]
fn a_workspace_wrapper_from_a_configuration_further_up_is_called() {
    let project = Project::in_folder("modules", "outer/project");
    let log = wrapper(&project, "../tools/wrap.sh");
    fs_err::create_dir(project.beside("outer/.cargo")).unwrap();
    let config = "[build]\nrustc-workspace-wrapper = \"tools/wrap.sh\"\n";
    fs_err::write(project.beside("outer/.cargo/config.toml"), config).unwrap();
    project.gistify(["all_modules"]).assert_code(0);
    assert_called(&log);
}

#[test]
fn a_wrapper_of_all_crates_is_called() {
    let project = Project::new("modules");
    let log = wrapper(&project, "wrap.sh");
    let mut command = project.command(["all_modules"]);
    project.finish(command.env("RUSTC_WRAPPER", project.root.join("wrap.sh"))).assert_code(0);
    assert!(fs_err::read_to_string(log).unwrap().contains("--crate-name modules"));
}

#[test]
fn a_wrapper_of_all_crates_is_called_for_what_is_inlined_too() {
    let project = Project::new("outside");
    let log = wrapper(&project, "wrap.sh");
    let mut command = project.command(["-m", "app/Cargo.toml", "stands_aside"]);
    project.finish(command.env("RUSTC_WRAPPER", project.root.join("wrap.sh"))).assert_code(0);
    let calls = fs_err::read_to_string(log).unwrap();
    let aside = calls.lines().find(|l| l.contains("--crate-name aside")).expect(&calls);
    assert!(aside.contains("-Cinstrument-coverage"), "{aside}");
}
