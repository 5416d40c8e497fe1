//! A task as a sample of Inspect: a line of JSON.

use crate::bench::harbor::{GIST, WORKDIR, verifier};
use crate::bench::set::{Manifest, TaskEntry};
use serde_json::json;

/// A line. Its sandbox is built of `environments/PROJECT/Dockerfile`, from the line's folder on; what verifies is in its metadata.
#[must_use]
pub fn line(id: &str, task: &TaskEntry, manifest: &Manifest, instruction: &str, gold: &str) -> String {
    let project = &manifest.projects[&task.project];
    let test = &task.test;
    // Readers of SWE-bench's samples want lists as text.
    let list = |tests: &[&String]| serde_json::to_string(tests).unwrap_or_default();
    let sample = json!({
        "id": id,
        "input": instruction,
        "target": gold,
        "sandbox": ["docker", format!("environments/{}/Dockerfile", task.project)],
        "metadata": {
            "package": test.package,
            "target": test.target,
            "test": test.test,
            "project": task.project,
            "project_digest": project.digest,
            "difficulty": task.difficulty,
            "submission": GIST,
            "verifier": verifier(test, &manifest.cargo, &project.workspace, WORKDIR, GIST),
            "FAIL_TO_PASS": list(&[&test.test]),
            "PASS_TO_PASS": list(&[]),
        },
    });
    format!("{sample}\n")
}
