//! What is kept between runs, and that it can be removed.

use crate::project::{Project, Ran};

const ONE: [&str; 6] = ["--lib", "--exact", "tests::all_modules_are_found", "--message-format", "json", "-q"];

fn rustc_calls(ran: &Ran) -> u64 {
    ran.assert_code(0).reports()[0]["cost"]["rustc_calls"].as_u64().unwrap()
}

#[test]
fn a_second_run_takes_the_graph_from_the_first_until_a_file_changes() {
    let project = Project::new("modules");
    let first = rustc_calls(&project.gistify(ONE));
    assert_eq!(rustc_calls(&project.gistify(ONE)), first - 2);
    let root = project.root.join("src/lib.rs");
    let text = fs_err::read_to_string(&root).unwrap();
    fs_err::write(&root, format!("{text}\npub fn another() -> u8 {{ 1 }}\n")).unwrap();
    assert_eq!(rustc_calls(&project.gistify(ONE)), first);
}

#[test]
fn a_broken_entry_counts_as_none() {
    let project = Project::new("modules");
    let first = rustc_calls(&project.gistify(ONE));
    let entries: Vec<_> = fs_err::read_dir(project.root.join("target/gistify/cache")).unwrap().flatten().collect();
    assert!(!entries.is_empty());
    for entry in entries {
        fs_err::write(entry.path(), "{\"left_out\":[],\"gr").unwrap();
    }
    assert_eq!(rustc_calls(&project.gistify(ONE)), first);
}

#[test]
fn clean_removes_what_is_kept_and_nothing_else() {
    let project = Project::new("modules");
    project.gistify(ONE).assert_code(0);
    let kept = project.root.join("target/gistify");
    assert!(kept.exists());
    project.gistify(["clean"]).assert_code(0).assert_says("Removed");
    assert!(!kept.exists() && project.root.join("target").exists());
    project.gistify(["clean"]).assert_code(0);
}
