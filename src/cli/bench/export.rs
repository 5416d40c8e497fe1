//! `cargo gistify bench export`: sets and results for other harnesses.

use super::super::shell::Shell;
use super::args::{ExportArgs, ExportFormat};
use camino::{Utf8Path, Utf8PathBuf};
use cargo_gistify::agent::tree::copy_tree;
use cargo_gistify::bench::cell::{Cell, CellId};
use cargo_gistify::bench::export::{inspect, predictions, swebench};
use cargo_gistify::bench::set::Manifest;
use cargo_gistify::bench::summary::cells;
use cargo_gistify::error::{Error, ExitCode, Result};
use cargo_gistify::process::{self, Limits};
use cargo_gistify::road::unverified;
use cargo_gistify::workspace::wrapper::write_atomically;
use std::collections::BTreeSet;
use std::process::Command;

pub(super) fn export(args: &ExportArgs, shell: &Shell) -> Result<u8> {
    if args.format == ExportFormat::Predictions {
        return predicted(args, shell);
    }
    if !args.agents.is_empty() {
        return Err(Error::Usage("`--agent` is for `--format predictions`: a set has no agents".into()));
    }
    if args.output.symlink_metadata().is_ok() {
        return Err(Error::Usage(format!("{} is there already; name a new folder, or remove it", args.output)));
    }
    let (manifest, _) = Manifest::load(&args.from)?;
    let parent = args.output.parent().filter(|p| !p.as_str().is_empty()).unwrap_or(Utf8Path::new("."));
    std::fs::create_dir_all(parent).map_err(Error::path("make the directory", parent))?;
    // Half of it must not look like all.
    let room =
        tempfile::Builder::new().prefix(".gistify-export-").tempdir_in(parent).map_err(Error::path("write to", parent))?;
    let dir = Utf8Path::from_path(room.path()).ok_or_else(|| Error::Usage(format!("{parent} is not UTF-8")))?;
    let set = Set { manifest: &manifest, from: &args.from, to: dir };
    let left_out = match args.format {
        ExportFormat::Harbor => set.harbor()?,
        ExportFormat::Swebench => set.swebench()?,
        ExportFormat::Inspect | ExportFormat::Predictions => set.inspect()?,
    };
    for (id, reason) in &left_out {
        shell.warn(&format!("{id} is left out: {reason}"));
    }
    let done = manifest.tasks.len() - left_out.len();
    if done == 0 {
        return Err(Error::Usage(format!("none of the {} tasks can be exported in this format", manifest.tasks.len())));
    }
    std::fs::set_permissions(dir, std::os::unix::fs::PermissionsExt::from_mode(0o755)).map_err(Error::path("make", dir))?;
    std::fs::rename(dir, &args.output).map_err(Error::path("make", &args.output))?;
    shell.status("Exported", &format!("{done} tasks to {}", args.output));
    Ok(ExitCode::Verified as u8)
}

struct Set<'a> {
    manifest: &'a Manifest,
    from: &'a Utf8Path,
    to: &'a Utf8Path,
}

/// Tasks that a format has no place for, with the reasons.
type LeftOut = Vec<(String, String)>;

impl Set<'_> {
    fn task(&self, id: &str) -> Utf8PathBuf {
        self.from.join("tasks").join(id)
    }

    /// Copies whose files are nobody else's.
    fn harbor(&self) -> Result<LeftOut> {
        self.manifest.tasks.keys().try_for_each(|id| copied(&self.task(id), &self.to.join(id)))?;
        Ok(Vec::new())
    }

    fn swebench(&self) -> Result<LeftOut> {
        let mut left_out = Vec::new();
        write_atomically(&self.to.join("sweb.yaml"), swebench::CONFIG.as_bytes())?;
        for (id, task) in &self.manifest.tasks {
            let from = self.task(id);
            let read = |file: &str| read(&from.join(file));
            let project = self.from.join("projects").join(&task.project);
            if project.join("gist.rs").exists() {
                left_out.push((id.clone(), "its project has a file gist.rs at its top".into()));
                continue;
            }
            let facts = swebench::Facts {
                id,
                task,
                manifest: self.manifest,
                instruction: &read("instruction.md")?,
                gold: &read("solution/gist.rs")?,
                commit: &commit(&project)?,
                dockerfile: &read("environment/Dockerfile")?,
            };
            match swebench::files(&facts) {
                Err(reason) => left_out.push((id.clone(), reason)),
                Ok(files) => {
                    let to = self.to.join("tasks").join(cargo_gistify::bench::export::instance_id(id));
                    std::fs::create_dir_all(&to).map_err(Error::path("make the directory", &to))?;
                    files.iter().try_for_each(|(name, text)| write_atomically(&to.join(name), text.as_bytes()))?;
                    copied(&project, &to.join("project"))?;
                }
            }
        }
        Ok(left_out)
    }

    fn inspect(&self) -> Result<LeftOut> {
        let mut lines = String::new();
        for (id, task) in &self.manifest.tasks {
            let from = self.task(id);
            let (instruction, gold) = (read(&from.join("instruction.md"))?, read(&from.join("solution/gist.rs"))?);
            lines += &inspect::line(id, task, self.manifest, &instruction, &gold);
            let environment = self.to.join("environments").join(&task.project);
            if !environment.exists() {
                copied(&from.join("environment"), &environment)?;
            }
        }
        write_atomically(&self.to.join("samples.jsonl"), lines.as_bytes())?;
        Ok(Vec::new())
    }
}

fn copied(from: &Utf8Path, to: &Utf8Path) -> Result<()> {
    std::fs::create_dir_all(to).map_err(Error::path("make the directory", to))?;
    copy_tree(from, to)
}

fn read(file: &Utf8Path) -> Result<String> {
    std::fs::read_to_string(file).map_err(Error::path("read", file))
}

/// The commit of a project's copy.
fn commit(project: &Utf8Path) -> Result<String> {
    let mut git = Command::new("git");
    git.args(["-C", project.as_str(), "rev-parse", "HEAD"]).env_remove("GIT_DIR");
    let output = process::run(&mut git, Limits::default())?;
    match output.status.success() {
        true => Ok(output.stdout_text().trim().to_owned()),
        false => Err(Error::Setup(format!("{project} has no commit, which SWE-bench wants; was the set made without git?"))),
    }
}

/// The gists of a folder of runs.
fn predicted(args: &ExportArgs, shell: &Shell) -> Result<u8> {
    let all = cells(&args.from)?;
    let there: BTreeSet<&str> = all.iter().map(|cell| cell.id.agent.as_str()).collect();
    if let Some(name) = args.agents.iter().find(|name| !there.contains(name.as_str())) {
        let names = there.into_iter().collect::<Vec<_>>().join(", ");
        return Err(Error::Usage(format!(
            "there are no results of agent `{name}` in {}; there are those of {names}",
            args.from
        )));
    }
    let meant = |id: &CellId| id.attempt == args.attempt && (args.agents.is_empty() || args.agents.contains(&id.agent));
    let mut own: Vec<&Cell> = all.iter().filter(|cell| meant(&cell.id)).collect();
    own.sort_by(|a, b| (&a.id.agent, &a.id.task).cmp(&(&b.id.agent, &b.id.task)));
    if own.is_empty() {
        return Err(Error::Usage(format!("no cell of {} is attempt {}", args.from, args.attempt)));
    }
    let line = |cell: &&Cell| {
        let gist = cell.id.folder(&args.from).join("gist.rs");
        let gist = [gist.clone(), unverified(&gist)].iter().find_map(|file| std::fs::read_to_string(file).ok());
        predictions::line(&cell.id.task, &cell.id.agent, gist.as_deref())
    };
    let text: String = own.iter().map(line).collect();
    write_atomically(&args.output, text.as_bytes())?;
    shell.status("Exported", &format!("{} predictions to {}", own.len(), args.output));
    Ok(ExitCode::Verified as u8)
}
