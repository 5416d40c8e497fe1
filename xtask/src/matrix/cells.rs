//! Many cells of an agent that does nothing: what the harness itself takes for each, whether its memory grows, and whether cells are lost or done twice when it is
//! killed.

use super::cells_of;
use crate::corpus::child::{Logs, catch_signals, command, run as run_child, tail};
use crate::corpus::tool::Tool;
use anyhow::{Context, Result, bail, ensure};
use fs_err as fs;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

/// For all cells together.
const LIMIT: Duration = Duration::from_secs(60 * 60);

/// The arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How many cells
    #[arg(long, default_value_t = 1000, value_name = "N")]
    cells: usize,
    /// How often it is killed
    #[arg(long, default_value_t = 5, value_name = "N")]
    kills: usize,
    /// The project whose tests are the tasks [default: the demo crate]
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Where the set and the runs go [default: target/cells]
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    /// Use this program instead of building the tool
    #[arg(long, value_name = "FILE")]
    tool: Option<PathBuf>,
}

/// Runs all cells undisturbed, then once more with kills, and prints what came of it.
pub(crate) fn run(args: &Args) -> Result<bool> {
    catch_signals()?;
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has no parent folder")?;
    let work = args.work.clone().unwrap_or_else(|| repository.join("target/cells"));
    if work.exists() {
        fs::remove_dir_all(&work)?;
    }
    fs::create_dir_all(&work)?;
    let tool = match &args.tool {
        Some(program) => Tool::at(program, &work)?,
        None => Tool::build(repository, &work)?,
    };
    let project = fs::canonicalize(args.project.clone().unwrap_or_else(|| repository.join("fixtures/shop")))?;
    let call = |words: &[&str]| {
        let mut call = command(&tool.program);
        call.current_dir(&work).args(["gistify", "bench"]).args(words);
        call
    };
    let project = project.to_str().context("the project's path is not UTF-8")?;
    finished(&mut call(&["plan", project, "--lib", "--per-package", "10", "-o", "set"]), &work, "plan")?;
    let tasks = super::json(&work.join("set/manifest.json"))?["tasks"].as_object().map_or(0, serde_json::Map::len);
    ensure!(tasks > 0, "the set has no tasks");
    fs::write(work.join("agents.toml"), "[agents.noop]\nkind = \"command\"\nargv = [\"true\"]\n")?;
    let attempts = args.cells.div_ceil(tasks).to_string();
    let words = |runs: &'static str| {
        ["run", "set", "--agent=noop", "--config=agents.toml", "--attempts", &attempts, "-o", runs].map(str::to_owned)
    };

    let whole = words("undisturbed");
    let whole: Vec<&str> = whole.iter().map(String::as_str).collect();
    let memory = watched(&mut call(&whole), &work)?;
    let runs = work.join("undisturbed");
    let done = cells_of(&runs)?;
    let (first, last) = times(&runs)?;
    #[expect(clippy::cast_precision_loss, reason = "counts of cells are small")]
    let n = done.len() as f64;
    let seconds = |key: &str| done.values().filter_map(|(cell, _)| cell[key].as_f64()).sum::<f64>() / n;
    let each = last.duration_since(first)?.as_secs_f64() / (n - 1.0);
    println!("{} cells of {tasks} tasks, one at a time: {:.1} ms each by the clock", done.len(), 1000.0 * each);
    println!(
        "  of these {:.1} ms are the agent's own start and end, {:.1} ms the harness",
        1000.0 * seconds("wall_s"),
        1000.0 * (each - seconds("wall_s"))
    );
    println!("  memory (RSS): {} MiB after a tenth of the cells, {} MiB at the end", memory.0 >> 10, memory.1 >> 10);

    let killed = words("killed");
    let killed: Vec<&str> = killed.iter().map(String::as_str).collect();
    let (again, kills) = killed_again_and_again(args, &mut || call(&killed), &work, done.len())?;
    let all = cells_of(&work.join("killed"))?;
    println!(
        "killed {kills} times and begun again: {} of {} cells are there, {again} that were over were done again",
        all.len(),
        done.len()
    );
    Ok(all.len() == done.len() && again == 0)
}

/// Runs a call to its end; its resident memory in KiB after a tenth of the time, and the most of the last tenth.
fn watched(call: &mut Command, work: &Path) -> Result<(u64, u64)> {
    let mut child = call.stdin(Stdio::null()).stderr(fs::File::create(work.join("run.err"))?.into_parts().0).spawn()?;
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let begun = Instant::now();
    let mut seen = Vec::new();
    let ended = loop {
        if let Some(ended) = child.try_wait()? {
            break ended;
        }
        if begun.elapsed() > LIMIT {
            child.kill()?;
            bail!("it takes too long");
        }
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let rss: Option<u64> =
            text.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.parse().ok());
        seen.extend(rss);
        std::thread::sleep(Duration::from_millis(50));
    };
    ensure!(ended.success(), "it ended with {ended}: {}", tail(&fs::read_to_string(work.join("run.err"))?, 10));
    let tenth = seen.len() / 10;
    let first = seen.get(tenth).copied().unwrap_or(0);
    Ok((first, seen.iter().rev().take(tenth + 1).copied().max().unwrap_or(0)))
}

/// When the first and the last cell were over.
fn times(runs: &Path) -> Result<(SystemTime, SystemTime)> {
    let mut all = Vec::new();
    for name in cells_of(runs)?.keys() {
        all.push(fs::metadata(runs.join("cells").join(name).join("cell.json"))?.modified()?);
    }
    Ok((*all.iter().min().context("there are no cells")?, *all.iter().max().context("there are no cells")?))
}

/// Kills it at moments that nobody chose, and begins again, until all is done; how many cells that were over were done again, and how often it was killed.
fn killed_again_and_again(
    args: &Args,
    call: &mut dyn FnMut() -> Command,
    work: &Path,
    cells: usize,
) -> Result<(usize, usize)> {
    let runs = work.join("killed");
    let mut kills = 0;
    let mut again = 0;
    let mut before = cells_of(&runs).unwrap_or_default();
    // Somewhere in each of the parts that the kills make of the cells.
    let mut random = u64::from(std::process::id()) ^ SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_secs();
    for kill_number in 1..=args.kills {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let part = cells / (args.kills + 1);
        let until = part * (kill_number - 1) + usize::try_from(random >> 33)? % part.max(1) + 1;
        let mut child =
            call().stdin(Stdio::null()).stderr(fs::File::create(work.join("killed.err"))?.into_parts().0).spawn()?;
        let begun = Instant::now();
        while count(&runs) < until.max(before.len() + 1) {
            ensure!(begun.elapsed() < LIMIT, "no cell comes");
            if child.try_wait()?.is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(1 + (random >> 40) % 7));
        }
        kill(Pid::from_raw(i32::try_from(child.id())?), Signal::SIGKILL)?;
        child.wait()?;
        kills += 1;
        let now = cells_of(&runs)?;
        again += before.iter().filter(|(name, cell)| now.get(*name).map(|c| c.1) != Some(cell.1)).count();
        before = now;
    }
    finished(&mut call(), work, "rest")?;
    let now = cells_of(&runs)?;
    again += before.iter().filter(|(name, cell)| now.get(*name).map(|c| c.1) != Some(cell.1)).count();
    Ok((again, kills))
}

/// How many cells there are.
fn count(runs: &Path) -> usize {
    let folders = |dir: &Path| std::fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path()).collect::<Vec<_>>();
    folders(&runs.join("cells")).iter().flat_map(|task| folders(task)).map(|agent| folders(&agent).len()).sum()
}

fn finished(call: &mut Command, work: &Path, name: &str) -> Result<()> {
    let logs = Logs::at(work, name);
    let ended = run_child(call, &logs, LIMIT)?;
    ensure!(ended.success(), "{name}: {}\n{}", ended.describe(), tail(&fs::read_to_string(&logs.err)?, 20));
    Ok(())
}
