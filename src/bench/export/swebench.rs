//! A task as an instance of a SWE-bench 5 task repository: a folder with a patch as the solution, and one test that it makes pass.

use super::{added, instance_id};
use crate::bench::harbor::{GIST, WORKDIR, verifier};
use crate::bench::set::{Manifest, TaskEntry};
use serde_json::{Value, json};

/// Where the harness has the project.
const TESTBED: &str = "/testbed";
/// The gist, from there on.
const FILE: &str = "gist.rs";

/// `sweb.yaml`.
pub const CONFIG: &str = "datasets:\n  gistify: gistify/gistify\nsplits: [test]\n";

/// What an instance is made of.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The task's id.
    pub id: &'a str,
    /// The task.
    pub task: &'a TaskEntry,
    /// Its set.
    pub manifest: &'a Manifest,
    /// The instruction, as Harbor has it.
    pub instruction: &'a str,
    /// The gold solution.
    pub gold: &'a str,
    /// The commit of the project's copy.
    pub commit: &'a str,
    /// `environment/Dockerfile`, as Harbor has it.
    pub dockerfile: &'a str,
}

/// The instance's files, by their names; the project's copy has to stand beside them as `project/`.
///
/// # Errors
/// Why the format has no place for the task.
pub fn files(facts: &Facts<'_>) -> Result<Vec<(&'static str, String)>, String> {
    let test = &facts.task.test.test;
    // The log's parser takes `test NAME ... ok`, with a name without blanks.
    if test.contains(char::is_whitespace) {
        return Err(format!("`{test}` has blanks in its name, which SWE-bench's parser of logs does not read"));
    }
    let project = &facts.manifest.projects[&facts.task.project];
    let instance = instance_id(facts.id);
    let image = format!("swebench/sweb.eval.x86_64.{instance}:latest").to_lowercase().replace("__", "_1776_");
    // JSON's strings are YAML's, and nothing in them is taken for a number.
    let line = |key: &str, value: Value| format!("{key}: {value}\n");
    let yaml = [
        line("instance_id", json!(instance)),
        line("repo", json!(format!("gistify/{}", facts.task.project))),
        line("version", json!(facts.manifest.toolchain)),
        line("base_commit", json!(facts.commit)),
        line("environment_setup_commit", json!(facts.commit)),
        // The time of the copy's one commit.
        line("created_at", json!("2000-01-01T00:00:00Z")),
        line("split", json!("test")),
        line("image", json!(image)),
        line("log_parser", json!("parse_log_cargo")),
        line("eval_type", json!("pass_and_fail")),
        line("datasets", json!(["gistify"])),
    ]
    .concat();
    let call = verifier(&facts.task.test, &facts.manifest.cargo, &project.workspace, TESTBED, FILE);
    // What a gist prints must not be taken for a verdict: nothing of it comes into the log.
    let eval = format!(
        "#!/bin/bash\ncd {TESTBED}\necho '>>>>> Start Test Output'\n\
         if {call} >/dev/null 2>&1; then echo 'test {test} ... ok'; else echo 'test {test} ... FAILED'; fi\n\
         echo '>>>>> End Test Output'\n"
    );
    let moved = |text: &str| text.replace(GIST, &format!("{TESTBED}/{FILE}"));
    let dockerfile = facts.dockerfile.replace(&format!("COPY project {WORKDIR}"), &format!("COPY project {TESTBED}"));
    let tests = json!({ "FAIL_TO_PASS": [test], "PASS_TO_PASS": [] });
    Ok(vec![
        ("task.yaml", yaml),
        ("tests.json", format!("{tests}\n")),
        ("problem_statement.md", moved(facts.instruction)),
        ("gold.patch", added(FILE, facts.gold)),
        ("test.patch", String::new()),
        ("eval.sh", eval),
        ("Dockerfile", dockerfile.replace(&format!("WORKDIR {WORKDIR}"), &format!("WORKDIR {TESTBED}"))),
    ])
}
