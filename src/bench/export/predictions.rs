//! Results as predictions, which SWE-bench's harness evaluates: a line a task.

use super::{added, instance_id};
use serde_json::json;

/// A line: the patch adds the gist that the agent left; none is an empty patch.
#[must_use]
pub fn line(task: &str, agent: &str, gist: Option<&str>) -> String {
    let patch = gist.map(|gist| added("gist.rs", gist)).unwrap_or_default();
    let prediction = json!({ "instance_id": instance_id(task), "model_name_or_path": agent, "model_patch": patch });
    format!("{prediction}\n")
}
