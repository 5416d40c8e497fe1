//! What is written for other harnesses, read by these themselves.
//!
//! They are looked for in the folder that `GISTIFY_READERS` names (`.ci/readers` puts them there), else in `target/readers`. Where they are not, the test says
//! `skipped`, unless `GISTIFY_READERS` is set: then it fails.

use super::three_tasks;
use crate::project::Project;
use camino::{Utf8Path, Utf8PathBuf};
use std::process::Command;

/// A program that `.ci/readers` installs.
fn reader(program: &str) -> Option<Utf8PathBuf> {
    let named = std::env::var("GISTIFY_READERS").ok().map(Utf8PathBuf::from);
    let dir = named.clone().unwrap_or_else(|| Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("target/readers"));
    let found = dir.join(program);
    if found.exists() {
        return Some(found);
    }
    // Harbor needs a Python that is not everywhere.
    assert!(named.is_none() || program.starts_with("harbor/"), "{found} is not there");
    eprintln!("skipped: {found} is not there (.ci/readers installs it)");
    None
}

/// What a program prints when it accepts its arguments.
fn accepts(program: &Utf8Path, args: &[&str]) -> String {
    let output = Command::new(program).args(args).env("NO_COLOR", "1").output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{program} {args:?}: {said}");
    said
}

#[test]
fn other_harnesses_read_what_is_written_for_them() {
    let project = Project::new("shop");
    let [runs, config] = ["runs", "agents.toml"].map(|name| project.beside(name));
    let set = three_tasks(&project);
    fs_err::write(
        &config,
        "[agents.echo]\nkind = \"command\"\nargv = [\"bash\", \"-c\", \"echo 'fn main() {}' | tee {gist}\"]\n",
    )
    .unwrap();
    let run =
        ["bench", "run", set.as_str(), "--agent=echo", "--agent=builtin", "-o", runs.as_str(), "--config", config.as_str()];
    project.gistify(run).assert_code(0);
    let export = |from: &Utf8Path, format: &str| {
        let to = project.beside(format);
        project.gistify(["bench", "export", from.as_str(), "--format", format, "-o", to.as_str()]).assert_code(0);
        to
    };
    let folders = |dir: &Utf8Path| -> Vec<String> {
        dir.read_dir_utf8().unwrap().map(|entry| entry.unwrap().path().to_string()).collect()
    };
    let (harbor, swebench, inspect) = (export(&set, "harbor"), export(&set, "swebench"), export(&set, "inspect"));
    let predictions = export(&runs, "predictions");
    if let Some(program) = reader("harbor/bin/harbor") {
        let tasks = folders(&harbor);
        let args: Vec<&str> = std::iter::once("lint").chain(tasks.iter().map(String::as_str)).collect();
        accepts(&program, &args);
        let python = reader("harbor/bin/python").unwrap();
        let task = first_task(&set);
        let trajectory = runs.join("cells").join(task).join("echo/1/trajectory.json");
        accepts(&python, &["-m", "harbor.utils.trajectory_validator", trajectory.as_str()]);
    }
    let Some(python) = reader("venv/bin/python") else { return };
    let program = reader("venv/bin/swebench").unwrap();
    assert!(accepts(&program, &["dataset", "check", swebench.as_str()]).contains("looks well formed"));
    let parquet = project.beside("parquet");
    accepts(&program, &["dataset", "build", swebench.as_str(), "-o", parquet.as_str()]);
    let samples = format!(
        "from inspect_ai.dataset import json_dataset\n\
         d = json_dataset('{inspect}/samples.jsonl')\n\
         assert len(d) == 3 and d[0].sandbox.type == 'docker' and open(d[0].sandbox.config) and d[0].metadata['verifier']\n\
         import json\n\
         lines = [json.loads(line) for line in open('{predictions}')]\n\
         import glob, pandas; ids = set(pandas.read_parquet(glob.glob('{parquet}/**/*.parquet', recursive=True)[0])['instance_id'])\n\
         assert len(lines) == 6 and all(line['instance_id'] in ids for line in lines), (lines, ids)\n"
    );
    accepts(&python, &["-c", &samples]);
    let xml = project.beside("junit.xml");
    project.gistify(["bench", "report", runs.as_str(), "--format=junit", "-o", xml.as_str()]).assert_code(0);
    let junit = format!(
        "from junitparser import JUnitXml\nx = JUnitXml.fromfile('{xml}')\n\
         assert (x.tests, x.failures, len(list(x))) == (6, 3, 2), (x.tests, x.failures)\n"
    );
    accepts(&python, &["-c", &junit]);
    let job = project.gistify(["bench", "plan", "-o", set.as_str(), "--k8s", "--agent=a b", "--image=i:1", "--attempts=3"]);
    job.assert_code(0);
    assert!(job.stdout.contains("completions: 9\n"), "{}", job.stdout);
    let file = project.beside("job.yaml");
    fs_err::write(&file, &job.stdout).unwrap();
    accepts(&reader("venv/bin/kubernetes-validate").unwrap(), &["--strict", file.as_str()]);

    // An instance does what it says: its patch makes the test pass, as SWE-bench's own parser reads the log, and nothing does not.
    let instance = folders(&swebench.join("tasks")).swap_remove(0);
    let testbed = project.beside("testbed");
    accepts(Utf8Path::new("cp"), &["-r", &format!("{instance}/project"), testbed.as_str()]);
    let script = fs_err::read_to_string(format!("{instance}/eval.sh")).unwrap().replace("/testbed", testbed.as_str());
    let script = script.replace("cargo gistify", &format!("{} gistify", env!("CARGO_BIN_EXE_cargo-gistify")));
    let verdict = || {
        let output = project.in_bash(&script);
        let read =
            "import sys; from swebench.harness.log_parsers.rust import parse_log_cargo as p; print(p(sys.argv[1], None))";
        accepts(&python, &["-c", read, &output])
    };
    assert!(verdict().contains("'FAILED'"));
    accepts(Utf8Path::new("git"), &["-C", testbed.as_str(), "apply", &format!("{instance}/gold.patch")]);
    assert!(verdict().contains("'PASSED'"));
}

/// The first task of a set.
fn first_task(set: &Utf8Path) -> String {
    let manifest: serde_json::Value =
        serde_json::from_str(&fs_err::read_to_string(set.join("manifest.json")).unwrap()).unwrap();
    manifest["tasks"].as_object().unwrap().keys().next().unwrap().clone()
}
