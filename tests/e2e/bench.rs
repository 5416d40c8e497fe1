//! `cargo gistify bench`: sets of tasks.

use crate::project::Project;
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

fn json(file: &Utf8Path) -> Value {
    serde_json::from_str(&fs_err::read_to_string(file).unwrap()).unwrap()
}

/// A set of the shop, and the project.
fn set(args: &[&str]) -> (Project, Utf8PathBuf) {
    let project = Project::new("shop");
    let set = project.beside("set");
    let before = project.files();
    project.gistify(["bench", "plan", "-o", set.as_str()].iter().chain(args)).assert_code(0);
    assert!(project.files() == before, "the project was written to");
    (project, set)
}

#[test]
fn a_set_has_a_folder_a_task_with_a_gold_solution_and_says_what_was_left_out() {
    let (project, set) = set(&["--per-package", "3", "--lib"]);
    let manifest = json(&set.join("manifest.json"));
    let tasks = manifest["tasks"].as_object().unwrap();
    assert_eq!((tasks.len(), manifest["per_package"].as_u64()), (3, Some(3)));
    let funnel = &json(&set.join("funnel.json"))["project"];
    assert_eq!((funnel["tasks"].as_u64(), funnel["looked_at"].as_u64().map(|n| n >= 3)), (Some(3), Some(true)), "{funnel}");
    for (id, task) in tasks {
        let dir = set.join("tasks").join(id);
        assert!(task["difficulty"]["trace_length"].as_u64().unwrap() > 0, "{task}");
        let about: toml::Table = toml::from_str(&fs_err::read_to_string(dir.join("task.toml")).unwrap()).unwrap();
        assert_eq!(about["metadata"]["gistify"]["test"].as_str(), task["test"].as_str());
        let instruction = fs_err::read_to_string(dir.join("instruction.md")).unwrap();
        assert!(instruction.contains("`/app/gist.rs`") && instruction.contains(task["test"].as_str().unwrap()));
        // The gold solution verifies against the copy that the task has.
        let (gold, copy) = (dir.join("solution/gist.rs"), dir.join("environment/project/Cargo.toml"));
        let args =
            ["verify", gold.as_str(), "-m", copy.as_str(), "--lib", "--exact", "--test", task["test"].as_str().unwrap()];
        project.gistify(args).assert_code(0);
        assert!(!dir.join("environment/project/target").exists());
    }
    // The set has no history, and is not half there.
    assert!(!set.join("build").exists());
    let beside: Vec<String> =
        set.parent().unwrap().read_dir_utf8().unwrap().map(|e| e.unwrap().file_name().to_owned()).collect();
    assert!(beside.iter().all(|name| !name.starts_with(".gistify-plan")), "{beside:?}");
}

#[test]
fn the_same_seed_gives_the_same_tasks_and_the_hard_subset_is_a_part_of_them() {
    let ids = |args: &[&str]| -> Vec<String> {
        let manifest = json(&set(args).1.join("manifest.json"));
        manifest["tasks"].as_object().unwrap().keys().cloned().collect()
    };
    let first = ids(&["--lib", "--per-package", "4"]);
    assert_eq!(ids(&["--lib", "--per-package", "4"]), first);
    let hard = ids(&["--lib", "--per-package", "4", "--hard", "1"]);
    assert!((1..=2).contains(&hard.len()) && hard.iter().all(|id| first.contains(id)), "{hard:?} {first:?}");
}

#[test]
fn what_makes_no_set_is_told_and_leaves_nothing() {
    let project = Project::new("shop");
    let set = project.beside("set");
    let plan = |args: &[&str]| project.gistify(["bench", "plan"].iter().chain(args));
    plan(&["nowhere", "-o", set.as_str()]).assert_code(2).assert_says("there is no folder `nowhere`");
    let empty = project.beside("empty");
    fs_err::create_dir(&empty).unwrap();
    plan(&[empty.as_str(), "-o", set.as_str()]).assert_code(2).assert_says("there is no Cargo.toml in");
    plan(&["file:///nowhere/at/all.git", "-o", set.as_str()]).assert_code(96).assert_says("git clone failed");
    plan(&["-o", empty.as_str()]).assert_code(2).assert_says("is there already");
    assert!(!set.exists());
    let left: Vec<String> =
        set.parent().unwrap().read_dir_utf8().unwrap().map(|e| e.unwrap().file_name().to_owned()).collect();
    assert!(left.iter().all(|name| !name.starts_with(".gistify-plan")), "{left:?}");
}
