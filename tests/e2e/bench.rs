//! `cargo gistify bench`: sets of tasks, agents run over them, what that comes to.

mod readers;
mod slurm;

use crate::project::Project;
use camino::{Utf8Path, Utf8PathBuf};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

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
        assert!(!dir.join("environment/project/target").exists());
        // The gold solution verifies against the copy that the task has.
        let (gold, copy) = (dir.join("solution/gist.rs"), dir.join("environment/project/Cargo.toml"));
        let args =
            ["verify", gold.as_str(), "-m", copy.as_str(), "--lib", "--exact", "--test", task["test"].as_str().unwrap()];
        project.gistify(args).assert_code(0);
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
    let first = ids(&["--lib", "--per-package", "2"]);
    assert_eq!(ids(&["--lib", "--per-package", "2"]), first);
    let hard = ids(&["--lib", "--per-package", "2", "--hard", "1"]);
    assert!((1..=2).contains(&hard.len()) && hard.iter().all(|id| first.contains(id)), "{hard:?} {first:?}");
}

#[test]
fn a_project_that_can_not_be_planned_is_left_out_when_that_is_asked_for() {
    let project = Project::new("shop");
    let (set, broken) = (project.beside("set"), project.beside("broken"));
    fs_err::create_dir_all(broken.join("src")).unwrap();
    fs_err::write(broken.join("Cargo.toml"), "[package]\nname = \"broken\"\nversion = \"0.1.0\"\nedition = \"2024\"\n")
        .unwrap();
    fs_err::write(broken.join("src/lib.rs"), "fn broken( {}\n").unwrap();
    let args = ["bench", "plan", broken.as_str(), ".", "--keep-going", "--per-package", "1", "-o", set.as_str()];
    project.gistify(args).assert_code(101).assert_says("broken is left out");
    let manifest = json(&set.join("manifest.json"));
    let projects: Vec<&str> = manifest["projects"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!((projects, manifest["tasks"].as_object().unwrap().len()), (vec!["project"], 1));
    assert!(!set.join("projects/broken").exists());
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
    plan(&[".", empty.as_str(), "--per-package", "1", "-o", set.as_str()]).assert_code(2);
    plan(&["-o", empty.as_str()]).assert_code(2).assert_says("is there already");
    assert!(!set.exists());
    let left: Vec<String> =
        set.parent().unwrap().read_dir_utf8().unwrap().map(|e| e.unwrap().file_name().to_owned()).collect();
    assert!(left.iter().all(|name| !name.starts_with(".gistify-plan")), "{left:?}");
}

/// Agents of known quality: one that has the gold solution, one that writes nonsense, one that does nothing, one whose program is gone.
const AGENTS: &str = r#"
[agents.perfect]
kind = "command"
argv = ["bash", "-c", "for gold in SET/tasks/*/solution/gist.rs; do grep -q \"$(grep -o 'The test is .[^`]*' {prompt_file} | cut -d '`' -f 2).\" $gold && cp $gold {gist}; done; true"]
show = ["SET"]
[agents.nonsense]
kind = "command"
argv = ["bash", "-c", "printf 'fn main() {\\n    // </script></pre><img src=x onerror=alert(1)> \\342\\200\\256 \\033[1m\\n}\\n' | tee {gist}"]
[agents.noop]
kind = "command"
argv = ["true"]
"#;

/// A set of three tasks, with agents beside it.
struct Bench {
    project: Project,
    set: Utf8PathBuf,
    config: Utf8PathBuf,
    runs: Utf8PathBuf,
}

/// A set of three tasks of the shop, made once for all tests, and copied.
fn three_tasks(project: &Project) -> Utf8PathBuf {
    static SET: OnceLock<Utf8PathBuf> = OnceLock::new();
    let made = SET.get_or_init(|| {
        let (_project, set) = set(&["--per-package", "3", "--lib"]);
        let kept = Utf8Path::new(env!("CARGO_TARGET_TMPDIR")).join("three-tasks");
        if kept.exists() {
            fs_err::remove_dir_all(&kept).unwrap();
        }
        copied(&set, &kept);
        kept
    });
    let set = project.beside("set");
    copied(made, &set);
    set
}

fn copied(from: &Utf8Path, to: &Utf8Path) {
    assert!(std::process::Command::new("cp").args(["-a", from.as_str(), to.as_str()]).status().unwrap().success());
}

impl Bench {
    fn new() -> Bench {
        let project = Project::new("shop");
        let set = three_tasks(&project);
        let (config, runs) = (project.beside("agents.toml"), project.beside("runs"));
        fs_err::write(&config, AGENTS.replace("SET", set.as_str())).unwrap();
        Bench { project, set, config, runs }
    }

    fn args<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        let args = ["bench", "run", self.set.as_str(), "-o", self.runs.as_str(), "--config", self.config.as_str()];
        args.iter().chain(more).copied().collect()
    }

    /// The cells that are over: their `cell.json`, and which file that is.
    fn cells(&self) -> BTreeMap<String, (Value, u64)> {
        let folders = |dir: &Utf8Path| -> Vec<Utf8PathBuf> {
            dir.read_dir_utf8().into_iter().flatten().map(|e| e.unwrap().path().to_owned()).collect()
        };
        let all =
            folders(&self.runs.join("cells")).into_iter().flat_map(|task| folders(&task)).flat_map(|agent| folders(&agent));
        let cell = |folder: Utf8PathBuf| {
            let file = folder.join("cell.json");
            let name = folder.strip_prefix(self.runs.join("cells")).unwrap().to_string();
            (name, (json(&file), fs_err::metadata(&file).unwrap().ino()))
        };
        all.map(cell).collect()
    }
}

#[test]
fn agents_of_known_quality_come_out_as_they_are() {
    let bench = Bench::new();
    let agents = ["--agent", "builtin", "--agent", "perfect", "--agent", "nonsense", "--agent", "noop", "-j", "2"];
    bench.project.gistify(bench.args(&agents)).assert_code(0).assert_says("perfect: 3 of 3 ok");
    let report = bench.project.gistify(["bench", "report", bench.runs.as_str(), "--format", "json"]);
    report.assert_code(0);
    let report: Value = serde_json::from_str(&report.stdout).unwrap();
    let rows: BTreeMap<&str, (u64, u64)> = report["agents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["name"].as_str().unwrap(), (row["ok"].as_u64().unwrap(), row["cells"].as_u64().unwrap())))
        .collect();
    assert_eq!(rows, [("builtin", (3, 3)), ("perfect", (3, 3)), ("nonsense", (0, 3)), ("noop", (0, 3))].into());
    assert_eq!((report["cells"].as_array().unwrap().len(), report["tasks"].as_array().unwrap().len()), (12, 3));
    let markdown = bench.project.gistify(["bench", "report", bench.runs.as_str(), "--format", "markdown"]);
    assert!(markdown.stdout.contains("| perfect | 3 | 3 | 100.0% |"), "{}", markdown.stdout);
    // Each cell has what is needed to look at it.
    let (_, (cell, _)) = bench.cells().into_iter().find(|(name, _)| name.contains("/perfect/1")).unwrap();
    let folder = bench.runs.join("cells").join(cell["task"].as_str().unwrap()).join("perfect/1");
    for file in ["gist.rs", "prompt.md", "trajectory.json", "result.json", "stdout.log"] {
        assert!(folder.join(file).is_file(), "{file}");
    }
    assert_eq!(json(&folder.join("result.json"))["attempt"]["record"].as_str(), Some(folder.as_str()));
    assert!(!bench.runs.join("work").exists());
    // The page stands alone, whatever agents write, and a browser agrees.
    let page = bench.project.beside("page.html");
    bench.project.gistify(["bench", "report", bench.runs.as_str(), "--format=html", "-o", page.as_str()]).assert_code(0);
    let text = fs_err::read_to_string(&page).unwrap();
    assert!(text.contains("&lt;/script&gt;") && !text.contains("<script") && !text.contains("<img"), "{text}");
    looked_at(&page);
    let xml = bench.project.gistify(["bench", "report", bench.runs.as_str(), "--format=junit"]).stdout;
    assert_eq!((xml.matches("<testcase ").count(), xml.matches("<failure ").count()), (12, 6), "{xml}");
}

/// Has Chromium look at a page, where `.ci/browser` has put what that needs: in the folder that `GISTIFY_BROWSER` names, else in `target/browser`.
fn looked_at(page: &Utf8Path) {
    let root = Utf8Path::new(env!("CARGO_MANIFEST_DIR"));
    let named = std::env::var("GISTIFY_BROWSER").ok().map(Utf8PathBuf::from);
    let tools = named.clone().unwrap_or_else(|| root.join("target/browser"));
    if !tools.join("node_modules/playwright-core").is_dir() {
        assert!(named.is_none(), "playwright-core is not in {tools}");
        eprintln!("skipped: no browser looks at the page (.ci/browser installs one)");
        return;
    }
    let script = root.join(".ci/page.mjs");
    let output = std::process::Command::new("node")
        .args([script.as_str(), page.as_str()])
        .env("GISTIFY_BROWSER", tools)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn after_a_kill_no_cell_is_lost_and_none_is_done_twice() {
    let bench = Bench::new();
    let args = bench.args(&["--agent", "noop", "--agent", "nonsense", "--attempts", "3", "-j", "2"]);
    for round in 1..=2 {
        let mut child = bench.project.command(&args).spawn().unwrap();
        let before = bench.cells();
        let start = Instant::now();
        while bench.cells().len() < before.len() + 2 && child.try_wait().unwrap().is_none() {
            assert!(start.elapsed() < Duration::from_secs(120), "no cell is over");
            std::thread::sleep(Duration::from_millis(5));
        }
        kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGKILL).unwrap();
        child.wait().unwrap();
        let after = bench.cells();
        assert!(before.iter().all(|(name, cell)| after.get(name) == Some(cell)), "round {round}: a cell was done again");
    }
    let before = bench.cells();
    bench.project.gistify(&args).assert_code(0).assert_says(&format!("{} of 18 to do", 18 - before.len()));
    let after = bench.cells();
    assert_eq!(after.len(), 18);
    assert!(before.iter().all(|(name, cell)| after.get(name) == Some(cell)), "a cell was done again");
    bench.project.gistify(&args).assert_code(0).assert_says("0 of 18 to do");
}

#[test]
fn results_that_can_not_be_compared_are_refused_and_what_is_asked_for_is_done_again() {
    let bench = Bench::new();
    bench.project.gistify(bench.args(&["--agent", "noop"])).assert_code(0);
    let more = bench.args(&["--agent", "noop", "--agent-steps", "7"]);
    bench.project.gistify(&more).assert_code(2).assert_says("agents.noop.steps: 50 before, 7 now");
    // Another agent, and more attempts, can be added.
    bench.project.gistify(bench.args(&["--agent", "nonsense", "--attempts", "2"])).assert_code(0);
    let before = bench.cells();
    let again = before.keys().next().unwrap().clone();
    bench.project.gistify(bench.args(&["--agent", "noop", "--agent", "nonsense", "--force", &again])).assert_code(0);
    let changed: Vec<String> =
        bench.cells().into_iter().filter(|(name, cell)| before[name] != *cell).map(|(name, _)| name).collect();
    assert_eq!(changed, [again]);
    bench
        .project
        .gistify(bench.args(&["--agent", "noop", "--force", "a/b/1"]))
        .assert_code(2)
        .assert_says("there is no cell `a/b/1`");
    bench
        .project
        .gistify(["bench", "run", "nowhere", "-o", "x", "--agent", "noop"])
        .assert_code(2)
        .assert_says("is no set of tasks");
    bench.project.gistify(["bench", "report", "nowhere"]).assert_code(2).assert_says("there are no results in nowhere");
}

#[test]
fn a_cell_that_fails_outside_of_the_agent_does_not_count_and_can_be_done_again() {
    let bench = Bench::new();
    let down = "[agents.down]\nkind = \"chat\"\nmodel = \"m\"\nendpoint = \"http://127.0.0.1:9/v1\"\nkey = \"\"\n";
    fs_err::write(&bench.config, down).unwrap();
    let args = bench.args(&["--agent", "down", "--agent-timeout", "3"]);
    bench.project.gistify(&args).assert_code(0).assert_says("down: 0 of 0 ok; 3 not counted");
    bench.project.gistify(&args).assert_code(0).assert_says("0 of 3 to do");
    let mut again = args.clone();
    again.extend(["--retry-failed", "infra"]);
    bench.project.gistify(&again).assert_code(0).assert_says("3 of 3 to do");
}

#[test]
fn cells_done_by_several_processes_are_joined_and_what_is_missing_is_told() {
    let bench = Bench::new();
    let two = ["a", "b"].map(|name| bench.project.beside(name));
    let config = format!("--config={}", bench.config);
    let cell = |runs: &Utf8Path, more: &[&str]| {
        let args = ["bench", "cell", bench.set.as_str(), "--agent=noop", "--agent=builtin", "-o", runs.as_str(), &config];
        bench.project.gistify(args.iter().chain(more))
    };
    cell(&two[0], &["--partition", "slice:1/2"]).assert_code(0).assert_says("3 of 3 to do");
    cell(&two[0], &["--partition", "slice:1/2"]).assert_code(0).assert_says("0 of 3 to do");
    cell(&two[1], &["--index", "1,3"]).assert_code(0).assert_says("2 of 2 to do");
    let merge = |more: &[&str]| {
        let args = ["bench", "merge", two[0].as_str(), two[1].as_str(), "-o", bench.runs.as_str()];
        bench.project.gistify(args.iter().chain(more))
    };
    // Tasks in the order of their ids, of each the agents in the order of their names.
    let manifest = json(&bench.set.join("manifest.json"));
    let last = manifest["tasks"].as_object().unwrap().keys().next_back().unwrap().clone();
    merge(&[])
        .assert_code(96)
        .assert_says(&format!("1 of 6 cells are missing; `bench run` with `-o {}` does them: {last}/noop/1", bench.runs));
    assert_eq!(bench.cells().len(), 5);
    // An engine says by a variable which cell it is.
    let args = ["bench", "cell", bench.set.as_str(), "--agent=noop", "--agent=builtin", "-o", two[1].as_str(), &config];
    let output = bench.project.command(args).env("JOB_COMPLETION_INDEX", "5").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    merge(&[]).assert_code(0).assert_says("Merged 1 cells").assert_says("all 6 cells are there");
    let (name, (cell_there, _)) = bench.cells().into_iter().find(|(name, _)| name.contains("/builtin/")).unwrap();
    assert_eq!(cell_there["verdict"].as_str(), Some("ok"));
    let place = bench.runs.join("cells").join(name);
    let gist = json(&place.join("result.json"))["gist"].as_str().unwrap().to_owned();
    assert!(gist.starts_with(place.as_str()) && Utf8Path::new(&gist).is_file(), "{gist}");
    let report = bench.project.gistify(["bench", "report", bench.runs.as_str()]);
    report.assert_code(0);
    cell(&two[0], &["--index", "6"]).assert_code(2).assert_says("there is no cell 6: they go from 0 to 5");
    cell(&two[0], &["--partition", "slice:3/2"]).assert_code(2);
    cell(&two[0], &[]).assert_code(2).assert_says("which cells? Pass `--index I`");
    cell(&two[0], &["--index", "0", "--agent-steps", "7"]).assert_code(2).assert_says("agents.noop.steps: 50 before, 7 now");
    bench
        .project
        .gistify(["bench", "merge", two[0].as_str(), "nowhere", "-o", "x"])
        .assert_code(2)
        .assert_says("there are no results in nowhere");
}

#[test]
fn two_processes_at_the_same_cells_do_each_once() {
    let bench = Bench::new();
    let config = format!("--config={}", bench.config);
    let runs = format!("--output={}", bench.runs);
    let args = ["bench", "cell", bench.set.as_str(), "--agent=noop", "--attempts=20", &runs, &config, "--index=0-59"];
    let children = [(); 2].map(|()| bench.project.command(args).stderr(std::process::Stdio::piped()).spawn().unwrap());
    let said = children.map(|child| {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    });
    let done = said.map(|text| text.lines().filter(|line| line.trim_start().starts_with("Cell ")).count());
    assert_eq!((done.iter().sum::<usize>(), bench.cells().len()), (60, 60));
}

/// A crate with these functions and tests.
fn a_crate(dir: &Utf8Path, lib: &str) {
    fs_err::create_dir_all(dir.join("src")).unwrap();
    fs_err::write(dir.join("Cargo.toml"), "[package]\nname = \"sums\"\nversion = \"0.1.0\"\nedition = \"2024\"\n").unwrap();
    fs_err::write(dir.join("src/lib.rs"), lib).unwrap();
}

const SUMS: &str = "pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n\npub fn twice(a: i32) -> i32 {\n    a * 2\n}\n\n\
    #[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {\n        assert_eq!(super::add(1, 2), 3);\n    }\n\n    \
    #[test]\n    fn doubles() {\n        assert_eq!(super::twice(2), 4);\n    }\n\n    \
    #[test]\n    fn is_gone_soon() {\n        assert_eq!(super::add(2, 2), 4);\n    }\n\n    \
    #[test]\n    fn fails() {\n        assert_eq!(super::add(2, 2), 5);\n    }\n}\n";

/// The tests of a set, by their tasks' ids.
fn tests_of(set: &Utf8Path) -> BTreeMap<String, String> {
    let manifest = json(&set.join("manifest.json"));
    let tests = manifest["tasks"].as_object().unwrap().iter();
    tests.map(|(id, task)| (task["test"].as_str().unwrap().to_owned(), id.clone())).collect()
}

#[test]
fn a_set_is_made_anew_of_what_a_project_is_now() {
    let project = Project::new("shop");
    let (krate, first, second) = (project.beside("sums"), project.beside("first"), project.beside("second"));
    a_crate(&krate, SUMS);
    let plan = |more: &[&str], set: &Utf8Path| {
        let args = ["bench", "plan", krate.as_str(), "-o", set.as_str()];
        project.gistify(args.iter().chain(more))
    };
    // What fails as it is makes no task, unless that is asked for.
    plan(&["--expiry", "30"], &first).assert_code(0).assert_says("1 fails");
    let old = tests_of(&first);
    assert_eq!(old.keys().collect::<Vec<_>>(), ["tests::adds", "tests::doubles", "tests::is_gone_soon"]);
    let changed = SUMS.replace("a * 2", "a + a").replace("fn is_gone_soon", "fn is_new").replace(
        "fn fails() {\n        assert_eq!(super::add(2, 2), 5)",
        "fn passes() {\n        assert_eq!(super::add(2, 2), 4)",
    );
    a_crate(&krate, &changed);
    project
        .gistify(["bench", "refresh", first.as_str(), "-o", second.as_str()])
        .assert_code(2)
        .assert_says("where is `sums` now?");
    let refresh = ["bench", "refresh", first.as_str(), krate.as_str(), "-o", second.as_str()];
    project.gistify(refresh).assert_code(0).assert_says("1 kept, 1 changed, 1 gone, 2 new");
    let (told, new) = (json(&second.join("refresh.json")), tests_of(&second));
    assert_eq!(told["kept"][0].as_str(), Some(new["tests::adds"].as_str()));
    assert_eq!(told["changed"][0].as_str(), Some(new["tests::doubles"].as_str()));
    assert_eq!(told["gone"][&old["tests::is_gone_soon"]].as_str(), Some("its test is not there any more"));
    // A set that is stale says so.
    let file = first.join("manifest.json");
    let text = fs_err::read_to_string(&file).unwrap();
    let expires = json(&file)["expires"].as_str().unwrap().to_owned();
    fs_err::write(&file, text.replace(&expires, "2020-02-29")).unwrap();
    let run = ["bench", "run", first.as_str(), "--agent", "builtin", "-o", project.beside("r").as_str()].map(str::to_owned);
    project.gistify(run).assert_code(0).assert_says("stale since 2020-02-29");
}

#[test]
fn a_project_is_told_from_sets_and_results_that_lie_in_it_and_a_branch_from_an_address() {
    let project = Project::new("shop");
    let krate = project.beside("sums");
    a_crate(&krate, SUMS);
    let inside = krate.join("sets/first");
    let plan = |source: &str, set: &Utf8Path| {
        project.gistify(["bench", "plan", source, "--per-package", "1", "--keep-failing", "-o", set.as_str()])
    };
    plan(krate.as_str(), &inside).assert_code(0);
    let runs = krate.join("runs");
    project.gistify(["bench", "run", inside.as_str(), "--agent", "builtin", "-o", runs.as_str()]).assert_code(0);
    let second = project.beside("second");
    plan(krate.as_str(), &second).assert_code(0);
    assert!(!second.join("projects/sums/sets/first").exists() && !second.join("projects/sums/runs").exists());
    let git = |args: &[&str]| {
        let output = std::process::Command::new("git").arg("-C").arg(&krate).args(args).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    git(&["init", "-q", "-b", "main"]);
    git(&["add", "src", "Cargo.toml"]);
    let commit = ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "x"];
    git(&commit);
    git(&["checkout", "-q", "-b", "feature/sums"]);
    fs_err::write(krate.join("src/lib.rs"), SUMS.replace("fn fails", "fn on_the_branch")).unwrap();
    git(&["add", "src"]);
    git(&commit);
    git(&["checkout", "-q", "main"]);
    let third = project.beside("third");
    let address = format!("file://{krate}@feature/sums");
    project.gistify(["bench", "plan", &address, "--keep-failing", "-o", third.as_str()]).assert_code(0);
    assert!(tests_of(&third).contains_key("tests::on_the_branch"));
    let gone = format!("file://{krate}@1a2b3c4");
    plan(&gone, &project.beside("fourth"))
        .assert_code(2)
        .assert_says("there is no commit, branch or tag `1a2b3c4` in file://");
}

#[test]
fn tests_that_are_called_as_keywords_are_make_tasks() {
    let project = Project::new("shop");
    let (krate, set) = (project.beside("sums"), project.beside("set"));
    let lib = "pub mod r#match {\n    pub fn r#type(a: i32) -> i32 {\n        a * 2\n    }\n\n    #[cfg(test)]\n    mod tests {\n        \
        #[test]\n        fn r#fn() {\n            assert_eq!(super::r#type(2), 4);\n        }\n    }\n}\n";
    a_crate(&krate, lib);
    project.gistify(["bench", "plan", krate.as_str(), "-o", set.as_str()]).assert_code(0);
    let tests = tests_of(&set);
    assert_eq!(tests.keys().collect::<Vec<_>>(), ["r#match::tests::r#fn"]);
    let gold =
        fs_err::read_to_string(set.join("tasks").join(&tests["r#match::tests::r#fn"]).join("solution/gist.rs")).unwrap();
    assert!(gold.contains("mod r#match {") && gold.contains("fn r#fn()"), "{gold}");
}
