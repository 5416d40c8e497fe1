//! `--message-format json`: one object on standard output, with the documented fields.

use crate::project::Project;
use serde_json::{Value, json};

/// In the order of the alphabet: whether `serde_json` keeps another one depends on who else is built with it.
fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

#[test]
fn one_test_is_one_object_with_the_documented_fields() {
    let project = Project::new("shop");
    let gist = project.beside("gist.rs");
    let args = ["--test", "checkout", "--exact", "a_voucher_is_taken_off", "--message-format", "json", "-o", gist.as_str()];
    let ran = project.gistify(args);
    let reports = ran.assert_code(0).reports();
    let [report] = reports.as_slice() else { panic!("{} objects", reports.len()) };
    assert_eq!(report["schema"], 1);
    assert_eq!(
        report["test"],
        json!({ "package": "shop", "target_kind": "test", "target": "checkout", "entry": "test", "name": "a_voucher_is_taken_off" })
    );
    assert_eq!(report["gist"], gist.as_str());
    assert_eq!(report["verdict"], "ok");
    let metrics = &report["metrics"];
    let mut documented = [
        "execution_fidelity",
        "cases_agreeing",
        "output_similarity",
        "pass_rate",
        "test_f1",
        "line_execution_rate",
        "line_execution_rate_possible",
        "line_existence_rate",
        "lines",
        "code_lines",
        "bundle_lines",
        "stubs",
        "foreign_lines",
        "trace_length",
        "files_touched",
    ];
    documented.sort_unstable();
    assert_eq!(keys(metrics), documented);
    assert!(documented.iter().all(|m| metrics[m].is_number()), "{metrics}");
    let lines = |name: &str| metrics[name].as_u64().unwrap();
    assert!(lines("code_lines") < lines("lines") && lines("code_lines") < lines("bundle_lines"), "{metrics}");
    assert!(lines("files_touched") >= 4 && lines("trace_length") > 10, "{metrics}");
    let cost = &report["cost"];
    assert_eq!(keys(cost), ["peak_rss_bytes", "rustc_calls", "stages", "wall_s"]);
    assert!(
        ["build", "bundle", "graph", "trace", "reduce", "verify", "score"].iter().all(|s| cost["stages"][s].is_number())
    );
    assert_eq!(keys(report), ["cost", "gist", "metrics", "sandbox", "schema", "test", "verdict"]);
}

#[test]
fn lines_that_rustc_demands_are_left_out_of_what_can_run() {
    let project = Project::new("demanded");
    let reports = project.gistify(["squares_are_compared", "--message-format", "json"]).assert_code(0).reports();
    // Idle are `flush` (3 lines), an arm, the `else` of a `let`, a branch, a brace and the end behind it; and 2 lines of
    // a closure, which are not demanded.
    let is = |name: &str, rate: f64| (reports[0]["metrics"][name].as_f64().unwrap() - rate).abs() < 1e-9;
    assert!(is("line_execution_rate", 29.0 / 39.0), "{}", reports[0]);
    assert!(is("line_execution_rate_possible", 29.0 / 31.0), "{}", reports[0]);
}

#[test]
fn pretty_json_is_the_same_object_over_several_lines() {
    let project = Project::new("no_trace");
    let ran = project.gistify(["does_nothing", "--message-format", "json-pretty"]);
    let report: Value = serde_json::from_str(&ran.assert_code(0).stdout).unwrap();
    assert!(ran.stdout.lines().count() > 20 && report["verdict"] == "ok");
}

#[test]
fn a_test_that_can_not_be_made_is_an_object_as_well() {
    let project = Project::new("members");
    let ran = project.gistify(["a_macro_of_the_workspace_can", "--message-format", "json"]);
    let reports = ran.assert_code(5).reports();
    assert_eq!(reports.len(), 1);
    assert_eq!((&reports[0]["verdict"], &reports[0]["gist"]), (&json!("unsupported"), &Value::Null));
    assert!(reports[0]["error"].as_str().unwrap().contains("shout"), "{}", reports[0]);
}
