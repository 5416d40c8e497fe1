//! `cargo gistify bench run --engine slurm`, on a cluster of this machine alone that `.ci/slurm` starts.
//!
//! Where Slurm is not installed, or nobody is root, the test says `skipped`, unless `GISTIFY_SLURM` is set: then it fails.

use super::three_tasks;
use crate::project::{Project, Ran};
use camino::{Utf8Path, Utf8PathBuf};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

const AGENTS: &str = r#"
[agents.noop]
kind = "command"
argv = ["true"]
[agents.hog]
kind = "command"
argv = ["bash", "-c", "x=$(head -c 900000000 /dev/zero | tr '\\0' x); echo ${#x}"]
[agents.slow]
kind = "command"
argv = ["sleep", "6"]
"#;

fn json(file: &Utf8Path) -> Value {
    serde_json::from_str(&fs_err::read_to_string(file).unwrap()).unwrap()
}

/// It ends when it is dropped.
struct Cluster {
    dir: Utf8PathBuf,
}

impl Cluster {
    fn script(what: &str, dir: &Utf8Path) -> std::process::Output {
        let script = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join(".ci/slurm");
        Command::new(script).args([what, dir.as_str()]).env("MAX_ARRAY_SIZE", "2").output().unwrap()
    }

    fn start(dir: Utf8PathBuf) -> Option<Cluster> {
        let there = nix::unistd::geteuid().is_root() && Command::new("slurmctld").arg("-V").output().is_ok();
        if !there {
            assert!(std::env::var_os("GISTIFY_SLURM").is_none(), "there is no Slurm here, or this is not root");
            eprintln!("skipped: there is no Slurm here, or this is not root");
            return None;
        }
        let output = Cluster::script("start", &dir);
        assert!(output.status.success(), "{output:?}");
        Some(Cluster { dir })
    }

    fn conf(&self) -> Utf8PathBuf {
        self.dir.join("slurm.conf")
    }

    /// Calls one of Slurm's programs.
    fn call(&self, program: &str, args: &[&str]) -> String {
        let output = Command::new(program).args(args).env("SLURM_CONF", self.conf()).output().unwrap();
        assert!(output.status.success(), "{program} {args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        Cluster::script("stop", &self.dir);
    }
}

/// A set of three tasks, and a cluster.
struct Bench {
    project: Project,
    cluster: Cluster,
    set: Utf8PathBuf,
    config: Utf8PathBuf,
}

impl Bench {
    fn new() -> Option<Bench> {
        let project = Project::new("shop");
        let cluster = Cluster::start(project.beside("cluster"))?;
        let (set, config) = (three_tasks(&project), project.beside("agents.toml"));
        fs_err::write(&config, AGENTS).unwrap();
        Some(Bench { project, cluster, set, config })
    }

    fn command(&self, runs: &Utf8Path, more: &[&str]) -> Command {
        let args =
            ["bench", "run", self.set.as_str(), "-o", runs.as_str(), "--config", self.config.as_str(), "--engine=slurm"];
        let mut command = self.project.command(args.iter().chain(more));
        command.env("SLURM_CONF", self.cluster.conf());
        command
    }

    fn run(&self, runs: &Utf8Path, more: &[&str]) -> Ran {
        Ran::of(&mut self.command(runs, more))
    }
}

/// The cells of a folder of runs, by their names.
fn cells(runs: &Utf8Path) -> BTreeMap<String, Value> {
    let folders = |dir: &Utf8Path| -> Vec<Utf8PathBuf> {
        dir.read_dir_utf8().into_iter().flatten().map(|e| e.unwrap().path().to_owned()).collect()
    };
    let top = runs.join("cells");
    let all = folders(&top).into_iter().flat_map(|task| folders(&task)).flat_map(|agent| folders(&agent));
    all.map(|dir| (dir.strip_prefix(&top).unwrap().to_string(), json(&dir.join("cell.json")))).collect()
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(120), "{what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn jobs_do_cells_and_what_ends_them_is_told_apart() {
    let Some(bench) = Bench::new() else { return };
    let runs = bench.project.beside("runs");
    bench.run(&runs, &["--agent=noop", "--attempts=2", "--cells-per-job=2"]).assert_code(0).assert_says("noop: 0 of 6 ok");
    let submission = json(&runs.join("slurm/1/submission.json"));
    assert_eq!((submission["groups"].as_array().unwrap().len(), submission["arrays"].as_array().unwrap().len()), (3, 2));
    assert!(cells(&runs).values().all(|cell| cell["job"]["engine"].as_str() == Some("slurm")));
    bench.run(&runs, &["--agent=noop", "--attempts=2"]).assert_code(0).assert_says("0 of 6 to do");

    // Memory: what the job has less of than the agent may use says nothing about the agent.
    if Utf8Path::new("/sys/fs/cgroup/memory").exists() {
        bench
            .run(&runs, &["--agent=hog", "--sbatch=--mem=500M"])
            .assert_code(0)
            .assert_says("hog: 0 of 0 ok; 3 not counted");
        let hogs: Vec<Value> = cells(&runs).into_iter().filter(|(name, _)| name.contains("/hog/")).map(|(_, c)| c).collect();
        assert!(hogs.iter().all(|cell| cell["ended"]["why"].as_str() == Some("machine-memory")), "{hogs:?}");
    }

    // The one that follows is killed; of its jobs one is cancelled, one begun anew, and one goes on.
    let slow = ["--agent=slow", "--attempts=1", "-j", "3"];
    let mut follower = bench.command(&runs, &slow).spawn().unwrap();
    let file = runs.join("slurm/3/submission.json");
    wait_until("nothing is submitted", || file.exists() && !json(&file)["collector"].is_null());
    let arrays: Vec<u64> = json(&file)["arrays"].as_array().unwrap().iter().map(|a| a["job"].as_u64().unwrap()).collect();
    let running = || bench.cluster.call("squeue", &["--noheader", "--array", "--states=running", "--format=%F_%K"]);
    let [first, second] = [0, 1].map(|n| format!("{}_{n}", arrays[0]));
    wait_until("no job runs", || running().contains(&first) && running().contains(&second));
    kill(Pid::from_raw(i32::try_from(follower.id()).unwrap()), Signal::SIGKILL).unwrap();
    follower.wait().unwrap();
    let log = |job: &str| fs_err::read_to_string(runs.join("slurm/3/logs").join(format!("{job}.log"))).unwrap_or_default();
    wait_until("no cell is begun", || log(&first).contains("Graphing") && log(&second).contains("Graphing"));
    bench.cluster.call("scancel", &[&first]);
    bench.cluster.call("scontrol", &["requeue", &second]);
    let pending = || bench.cluster.call("squeue", &["--noheader", "--array", "--states=pending", "--format=%F_%K"]);
    wait_until("it is not requeued", || pending().contains(&second));
    // Else it would wait for two minutes.
    bench.cluster.call("scontrol", &["update", &format!("JobId={second}"), "StartTime=now"]);
    bench.run(&runs, &slow).assert_code(0).assert_says("3 of them under way").assert_says("slow: 0 of 2 ok; 1 not counted");
    let slow_cells: Vec<Value> =
        cells(&runs).into_iter().filter(|(name, _)| name.contains("/slow/")).map(|(_, c)| c).collect();
    let told: BTreeMap<String, (String, u64)> = slow_cells
        .iter()
        .map(|cell| {
            let job = cell["job"]["id"].as_str().unwrap().to_owned();
            (job, (cell["verdict"].as_str().unwrap().to_owned(), cell["job"]["restarts"].as_u64().unwrap()))
        })
        .collect();
    assert_eq!(told[&first], ("job-cancelled".to_owned(), 0));
    assert_eq!(told[&second], ("no-gist".to_owned(), 1));
    // It is done again when that is asked for, and nothing else is.
    let again = [slow.as_slice(), &["--retry-failed=infra"]].concat();
    bench.run(&runs, &again).assert_code(0).assert_says("1 of 3 to do").assert_says("slow: 0 of 3 ok");
}
