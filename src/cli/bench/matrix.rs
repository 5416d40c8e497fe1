//! The matrix of a run: a set, agents, attempts, the folder of their results, and what keeps these comparable.

use super::super::agent::Asking;
use super::super::shell::Shell;
use super::super::work::some_time;
use super::args::{MatrixArgs, Retry};
use super::room::{Room, temporary};
use camino::{Utf8Path, Utf8PathBuf};
use cargo_gistify::agent::config::BUILTIN;
use cargo_gistify::bench::cell::{Cell, CellId};
use cargo_gistify::bench::digest;
use cargo_gistify::bench::order;
use cargo_gistify::bench::set::{MANIFEST, Manifest, write_json};
use cargo_gistify::bench::settings::{self, SETTINGS};
use cargo_gistify::error::{Error, Result};
use cargo_gistify::sandbox::Sandbox;
use cargo_gistify::workspace::current_dir;
use cargo_gistify::workspace::wrapper::write_atomically;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, TryLockError};

/// What all cells share.
pub(super) struct Matrix<'a> {
    pub(super) args: &'a MatrixArgs,
    pub(super) set: Utf8PathBuf,
    pub(super) runs: Utf8PathBuf,
    pub(super) manifest: Manifest,
    /// By name; none is the extractor.
    pub(super) agents: BTreeMap<String, Option<Asking>>,
    pub(super) sandbox: Sandbox,
    /// Every cell, in the order of their indexes.
    pub(super) cells: Vec<CellId>,
    pub(super) others: Others,
    _temporary: Room,
    _lock: File,
}

/// Who else may work in the folder of results meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Others {
    /// Nobody.
    None,
    /// Those who say the same: each claims the cells that it does.
    Some,
}

impl<'a> Matrix<'a> {
    /// Reads the set and the agents, and writes down what all results in the folder share.
    pub(super) fn open(args: &'a MatrixArgs, others: Others) -> Result<Matrix<'a>> {
        some_time("timeout", args.timeout)?;
        let (manifest, set_digest) = Manifest::load(&args.set)?;
        std::fs::create_dir_all(&args.output).map_err(Error::path("make the directory", &args.output))?;
        let absolute = |path: &Utf8Path| path.canonicalize_utf8().map_err(Error::path("find", path));
        let (set, runs) = (absolute(&args.set)?, absolute(&args.output)?);
        let lock = locked(&runs, others)?;
        let temporary = temporary(&digest([runs.as_str()])[..12])?;
        let sandbox = Sandbox::open(args.sandbox.into())?;
        // What is wrong with an agent is told before anything is built.
        let root = current_dir()?;
        let mut agents = BTreeMap::new();
        for name in &args.agents {
            let asking = (name != BUILTIN).then(|| Asking::new(name, &args.how, Some(&root), &sandbox)).transpose()?;
            agents.insert(name.clone(), asking);
        }
        let names: BTreeSet<String> = agents.keys().cloned().collect();
        let cells = order::cells(manifest.tasks.keys(), &names, args.attempts);
        if let Some(name) = args.force.iter().find(|name| cells.iter().all(|id| id.name() != **name)) {
            return Err(Error::Usage(format!("--force: there is no cell `{name}` here; a cell is TASK/AGENT/N")));
        }
        let kept = runs.join(MANIFEST);
        if !kept.exists() {
            let own = set.join(MANIFEST);
            let bytes = std::fs::read(&own).map_err(Error::path("read", &own))?;
            write_atomically(&kept, &bytes)?;
        }
        check_settings(&runs, &settings_of(args, &set_digest, &agents, &sandbox))?;
        Ok(Matrix { args, set, runs, manifest, agents, sandbox, cells, others, _temporary: temporary, _lock: lock })
    }

    /// The cell, when it is over.
    pub(super) fn over(&self, id: &CellId) -> Option<Cell> {
        Cell::load(&id.folder(&self.runs))
    }

    /// Whether a cell has to be done.
    pub(super) fn is_due(&self, id: &CellId) -> bool {
        let Some(cell) = self.over(id) else { return true };
        self.args.force.contains(&id.name()) || self.args.retry_failed == Some(Retry::Infra) && cell.infrastructure
    }

    /// A line an agent, of these cells.
    pub(super) fn tell_results(&self, cells: &[&CellId], shell: &Shell) {
        for name in self.agents.keys() {
            let own: Vec<Cell> = cells.iter().filter(|id| id.agent == *name).filter_map(|id| self.over(id)).collect();
            let counted = own.iter().filter(|cell| !cell.infrastructure).count();
            let ok = own.iter().filter(|cell| cell.is_ok()).count();
            let left = match own.len() - counted {
                0 => String::new(),
                left => format!("; {left} not counted, `--retry-failed infra` does them again"),
            };
            shell.status("Result", &format!("{name}: {ok} of {counted} ok{left}"));
        }
    }
}

/// Keeps out of the folder who must not work in it at the same time.
pub(super) fn locked(runs: &Utf8Path, others: Others) -> Result<File> {
    let file = runs.join("lock");
    let lock = File::create(&file).map_err(Error::path("write", &file))?;
    let tried = match others {
        Others::None => lock.try_lock(),
        Others::Some => lock.try_lock_shared(),
    };
    match tried {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => {
            Err(Error::Usage(format!("another `bench run` works in {runs}; wait for it, or name another folder")))
        }
        Err(TryLockError::Error(e)) => Err(Error::path("lock", &file)(e)),
    }
}

/// What has to be the same for results that are compared.
fn settings_of(args: &MatrixArgs, digest: &str, agents: &BTreeMap<String, Option<Asking>>, sandbox: &Sandbox) -> Value {
    let of = |asking: &Option<Asking>| match asking {
        None => json!({ "kind": BUILTIN }),
        Some(Asking { spec, options, asked, .. }) => {
            // Values that are the caller's own are nobody else's business, and need not be the same.
            let secret = |value: &str| spec.secrets.iter().any(|s| s.expose() == value);
            let env: BTreeMap<&String, &str> =
                spec.env.iter().map(|(name, v)| (name, if secret(v.expose()) { "$" } else { v.expose() })).collect();
            json!({
                "kind": spec.kind, "argv": spec.argv, "parser": spec.parser.name(), "model": spec.model, "endpoint": spec.endpoint,
                "tools": spec.tools, "env": env, "files": spec.files, "strategy": asked.strategy, "test_body": asked.body,
                "mcp": asked.mcp, "execution": options.execution, "network": options.network,
                "steps": options.limits.steps, "timeout_s": options.limits.timeout.as_secs(),
            })
        }
    };
    let agents: BTreeMap<&String, Value> = agents.iter().map(|(name, asking)| (name, of(asking))).collect();
    let (key, attempts) = settings::attempts(agents.keys().copied(), args.attempts);
    json!({
        "tasks": digest, "tool": env!("CARGO_PKG_VERSION"), "sandbox": sandbox.kind(), "timeout_s": args.timeout, "agents": agents, key: attempts,
    })
}

/// Refuses what would make results incomparable; agents that are new are added.
fn check_settings(runs: &Utf8Path, now: &Value) -> Result<()> {
    // Two that add agents at the same time must not forget each other's.
    let file = runs.join("settings.lock");
    let lock = File::create(&file).map_err(Error::path("write", &file))?;
    lock.lock().map_err(Error::path("lock", &file))?;
    let all = match settings::load(runs)? {
        None => now.clone(),
        Some(before) => settings::joined(&before, now).map_err(|differences| {
            Error::Usage(format!(
                "{runs} has results of other settings, which can't be compared; name another folder with `-o`, or go back to them:\n  {}",
                differences.join("\n  ")
            ))
        })?,
    };
    write_json(&runs.join(SETTINGS), &all)
}
