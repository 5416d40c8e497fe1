//! `cargo gistify bench refresh`: a set made anew of what its projects are now.

use super::super::args::CargoArgs;
use super::super::shell::Shell;
use super::args::{K8sArgs, PlanArgs, RefreshArgs};
use super::plan::{Preferred, address_and_commit, is_address, made, name_in_set};
use camino::Utf8Path;
use cargo_gistify::bench::set::{Funnel, Manifest, TestName, write_json};
use cargo_gistify::error::{Error, Result};
use serde::Serialize;
use std::collections::BTreeMap;

/// What became of the tasks, as `refresh.json` has it.
#[derive(Debug, Default, Serialize)]
struct Refreshed {
    /// Their gold solutions are the same.
    kept: Vec<String>,
    /// Their tests are there, and something that they run has changed.
    changed: Vec<String>,
    /// They make no tasks any more, and why.
    gone: BTreeMap<String, String>,
    /// Tasks that the old set did not have.
    new: Vec<String>,
}

pub(super) fn refresh(args: &RefreshArgs, shell: &Shell) -> Result<u8> {
    let (old, _) = Manifest::load(&args.set)?;
    let mut preferred = Preferred::new();
    for task in old.tasks.values() {
        preferred.entry(task.project.clone()).or_default().insert(task.test.clone());
    }
    let plan = PlanArgs {
        projects: Vec::new(),
        output: args.output.clone(),
        per_package: u32::try_from(old.per_package).unwrap_or(u32::MAX),
        hard: old.hard,
        keep_going: false,
        keep_failing: old.keep_failing,
        expiry: args.expiry,
        seed: old.seed,
        sandbox: args.sandbox,
        timeout: args.timeout,
        cargo: CargoArgs::said_again(&old.cargo, Vec::new())
            .map_err(|e| Error::Usage(format!("the set's manifest has flags that cargo does not know: {e}")))?,
        k8s: K8sArgs::default(),
    };
    let finish = |dir: &Utf8Path, new: &Manifest, funnels: &BTreeMap<String, Funnel>| {
        let told = compared(args, &old, dir, new, funnels);
        let Refreshed { kept, changed, gone, new } = &told;
        shell.status(
            "Refreshed",
            &format!("{} kept, {} changed, {} gone, {} new", kept.len(), changed.len(), gone.len(), new.len()),
        );
        gone.iter().for_each(|(id, reason)| shell.warn(&format!("{id} is gone: {reason}")));
        write_json(&dir.join("refresh.json"), &told)
    };
    made(&plan, &sources(args, &old)?, &old.cargo, &preferred, shell, finish)
}

/// Where each project is now, with its name.
fn sources(args: &RefreshArgs, old: &Manifest) -> Result<Vec<(String, Option<String>)>> {
    let mut given: BTreeMap<String, &String> = args.projects.iter().map(|source| (name_in_set(source), source)).collect();
    let mut out = Vec::new();
    for (name, project) in &old.projects {
        let source = match given.remove(name) {
            Some(source) => source.clone(),
            None if is_address(&project.source) => address_and_commit(&project.source).0.to_owned(),
            None => {
                return Err(Error::Usage(format!(
                    "where is `{name}` now? It came from a folder of this name; give that as PROJECT"
                )));
            }
        };
        out.push((source, Some(name.clone())));
    }
    match given.into_keys().next() {
        Some(name) => Err(Error::Usage(format!("the set has no project `{name}`; its projects are {}", names(old)))),
        None => Ok(out),
    }
}

fn names(manifest: &Manifest) -> String {
    manifest.projects.keys().cloned().collect::<Vec<_>>().join(", ")
}

fn compared(
    args: &RefreshArgs,
    old: &Manifest,
    dir: &Utf8Path,
    new: &Manifest,
    funnels: &BTreeMap<String, Funnel>,
) -> Refreshed {
    let mut told = Refreshed::default();
    let mut there: BTreeMap<(&str, &TestName), &String> =
        new.tasks.iter().map(|(id, task)| ((task.project.as_str(), &task.test), id)).collect();
    for (id, task) in &old.tasks {
        match there.remove(&(task.project.as_str(), &task.test)) {
            Some(now) if code(&args.set, id) == code(dir, now) => told.kept.push(now.clone()),
            Some(now) => told.changed.push(now.clone()),
            None => {
                let dropped = funnels.get(&task.project).into_iter().flat_map(|funnel| &funnel.dropped);
                let own = |(stage, tests): (&String, &Vec<(TestName, String)>)| {
                    let (_, reason) = tests.iter().find(|(test, _)| *test == task.test)?;
                    Some(format!("{stage}: {reason}"))
                };
                let reason = dropped.map(own).find_map(|reason| reason);
                let otherwise = match old.hard {
                    Some(_) => "its test is not there any more, or not among the hardest",
                    None => "its test is not there any more",
                };
                told.gone.insert(id.clone(), reason.unwrap_or_else(|| otherwise.into()));
            }
        }
    }
    told.new = there.into_values().cloned().collect();
    told
}

/// A gold solution without its header, which names the commit.
fn code(set: &Utf8Path, id: &str) -> Option<String> {
    let text = std::fs::read_to_string(set.join("tasks").join(id).join("solution/gist.rs")).ok()?;
    Some(text.lines().skip_while(|line| line.starts_with("//!")).collect::<Vec<_>>().join("\n"))
}
