//! Where one attempt is made: folders that were made for it, and what of the machine the agent's program needs.

use super::tree::copy_tree;
use super::workspace::{Audit, copy};
use crate::compile::{temp_dir, utf8};
use crate::error::{Error, Result};
use camino::{Utf8Path, Utf8PathBuf};
use std::collections::BTreeSet;
use tempfile::TempDir;

/// What the gist is called in the workspace, unless the project has a file of that name.
const GIST: &str = "gist.rs";
const OTHER_GIST: &str = "gist_of_the_test.rs";

/// A project as agents get it, made once for all attempts at its tests; it goes when it is dropped.
#[derive(Debug)]
pub struct Template {
    room: TempDir,
    /// What was copied.
    pub audit: Audit,
}

impl Template {
    /// Of the project at `project_root`, without what is below `built`.
    ///
    /// # Errors
    /// When it can't be copied.
    pub fn new(project_root: &Utf8Path, built: &[Utf8PathBuf]) -> Result<Template> {
        let room = temp_dir()?;
        let audit = copy(project_root, built, utf8(room.path())?)?;
        Ok(Template { room, audit })
    }
}

/// The folders of an attempt; they go when it is dropped.
#[derive(Debug)]
pub struct Place {
    _room: TempDir,
    /// All of it.
    pub root: Utf8PathBuf,
    /// The copy of the project.
    pub workspace: Utf8PathBuf,
    /// The agent's home, empty.
    pub home: Utf8PathBuf,
    /// Where the socket to the model is.
    pub model: Utf8PathBuf,
    /// Where the agent may leave a trajectory of its own.
    pub out: Utf8PathBuf,
    /// The prompt as a file.
    pub prompt_file: Utf8PathBuf,
    /// Where the gist has to be.
    pub gist: Utf8PathBuf,
    /// What was copied.
    pub audit: Audit,
}

impl Place {
    /// Folders for an attempt, with a copy of the project.
    ///
    /// # Errors
    /// When they can't be made.
    pub fn new(project: &Template) -> Result<Place> {
        let room = temp_dir()?;
        // Agents compare paths that they are told with those that they see.
        let root = utf8(room.path())?.canonicalize_utf8().map_err(Error::io("failed to find a temporary directory"))?;
        let [workspace, home, model, out] = ["workspace", "home", "model", "out"].map(|name| root.join(name));
        for dir in [&workspace, &home, &model, &out] {
            std::fs::create_dir(dir).map_err(Error::path("make the directory", dir))?;
        }
        copy_tree(utf8(project.room.path())?, &workspace)?;
        let free = [GIST, OTHER_GIST].map(|name| workspace.join(name)).into_iter().find(|path| !path.exists());
        let gist = free.ok_or_else(|| {
            Error::Usage(format!("the project has both {GIST} and {OTHER_GIST} at its top; move one for an agent's gist"))
        })?;
        Ok(Place {
            _room: room,
            prompt_file: root.join("prompt.md"),
            root,
            workspace,
            home,
            model,
            out,
            gist,
            audit: project.audit.clone(),
        })
    }
}

/// A program as it is found, and what has to be there for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its path.
    pub path: Utf8PathBuf,
    /// Files and folders that it is made of.
    pub parts: BTreeSet<Utf8PathBuf>,
    /// Folders of programs that it calls by their names.
    pub bins: Vec<Utf8PathBuf>,
}

/// Finds a program, in `path` (as the environment has it) when it is a bare name; `None` when there is none.
#[must_use]
pub fn program(name: &str, path: &str) -> Option<Program> {
    let named = Utf8Path::new(name);
    let found = match named.components().count() {
        1 => path.split(':').map(|dir| Utf8Path::new(dir).join(named)).find(|p| p.is_file())?,
        _ => named.canonicalize_utf8().ok().filter(|p| p.is_file()).map(|_| absolute(named))?,
    };
    let mut all = Program { path: found.clone(), parts: BTreeSet::new(), bins: Vec::new() };
    add_parts(&found, path, &mut all, 0);
    // What is in a folder that is there comes with it; a link in it may lead to what is not there yet.
    let folders = all.parts.clone();
    all.parts.retain(|part| !part.ancestors().skip(1).any(|folder| folders.contains(folder)));
    Some(all)
}

fn absolute(path: &Utf8Path) -> Utf8PathBuf {
    match path.is_absolute() {
        true => path.to_owned(),
        false => crate::workspace::current_dir().map_or_else(|_| path.to_owned(), |dir| dir.join(path)),
    }
}

fn add_parts(file: &Utf8Path, path: &str, all: &mut Program, depth: usize) {
    let Ok(real) = file.canonicalize_utf8() else { return };
    all.parts.insert(file.to_owned());
    all.parts.extend([file, &real].map(package_of));
    all.bins.extend(file.parent().map(Utf8Path::to_owned));
    for venv in [file, &real].into_iter().filter_map(venv_of) {
        // A virtual environment's Python is a link into the one that it was made from.
        let home = std::fs::read_to_string(venv.join("pyvenv.cfg")).unwrap_or_default();
        let home = home.lines().find_map(|l| l.split_once('=').filter(|(k, _)| k.trim() == "home").map(|(_, v)| v.trim()));
        all.parts.extend(home.and_then(|h| Utf8Path::new(h).parent()).filter(|p| is_narrow(p)).map(Utf8Path::to_owned));
        all.parts.insert(venv);
    }
    for interpreter in shebang(&real).into_iter().filter(|_| depth < 4) {
        let found = match Utf8Path::new(&interpreter).is_absolute() {
            true => Some(Utf8PathBuf::from(&interpreter)),
            false => path.split(':').map(|dir| Utf8Path::new(dir).join(&interpreter)).find(|p| p.is_file()),
        };
        if let Some(found) = found {
            add_parts(&found, path, all, depth + 1);
        }
    }
}

/// What a file is installed with: the outermost `node_modules`, or else the file alone.
fn package_of(file: &Utf8Path) -> Utf8PathBuf {
    let modules = file.ancestors().filter(|a| a.file_name() == Some("node_modules")).last();
    modules.map_or_else(|| file.to_owned(), Utf8Path::to_owned)
}

fn venv_of(file: &Utf8Path) -> Option<Utf8PathBuf> {
    let venv = file.ancestors().skip(1).take(3).find(|a| a.join("pyvenv.cfg").is_file());
    venv.map(Utf8Path::to_owned)
}

/// Not a home, and not the root.
fn is_narrow(path: &Utf8Path) -> bool {
    let home = std::env::var("HOME").unwrap_or_default();
    path.components().count() > 2 && !Utf8Path::new(&home).starts_with(path)
}

/// The interpreter that a script names: a path, or a name behind `env`.
fn shebang(file: &Utf8Path) -> Option<String> {
    use std::io::Read;
    let mut head = Vec::new();
    std::fs::File::open(file).ok()?.take(512).read_to_end(&mut head).ok()?;
    let line = head.strip_prefix(b"#!")?.split(|b| *b == b'\n').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split_whitespace();
    let first = words.next()?;
    match first.ends_with("/env") {
        true => words.find(|w| !w.starts_with('-')).map(str::to_owned),
        false => Some(first.to_owned()),
    }
}

#[cfg(test)]
mod unit {
    use super::*;

    /// Folder and files, each with its text and executable.
    fn machine(files: &[(&str, &str)]) -> (TempDir, Utf8PathBuf) {
        let room = temp_dir().unwrap();
        let root = utf8(room.path()).unwrap().canonicalize_utf8().unwrap();
        for (name, text) in files {
            std::fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            std::fs::write(root.join(name), text).unwrap();
        }
        (room, root)
    }

    #[test]
    fn a_script_brings_its_package_and_its_interpreter() {
        let files = [("lib/node_modules/agent/cli.js", "#!/usr/bin/env node\n"), ("node/bin/node", "x"), ("bin/.keep", "")];
        let (_room, root) = machine(&files);
        std::os::unix::fs::symlink(root.join("lib/node_modules/agent/cli.js"), root.join("bin/agent")).unwrap();
        let path = format!("{root}/bin:{root}/node/bin");
        let found = program("agent", &path).unwrap();
        assert_eq!(found.path, root.join("bin/agent"));
        let parts = ["bin/agent", "lib/node_modules", "node/bin/node"].map(|p| root.join(p));
        assert_eq!(found.parts, parts.into());
        assert_eq!(found.bins, ["bin", "node/bin"].map(|p| root.join(p)));
    }

    #[test]
    fn a_virtual_environment_comes_whole_with_the_python_that_it_was_made_from() {
        let files = [("python/bin/python3", "x"), ("venv/bin/.keep", ""), ("venv/pyvenv.cfg", "")];
        let (_room, root) = machine(&files);
        std::fs::write(root.join("venv/pyvenv.cfg"), format!("home = {root}/python/bin\n")).unwrap();
        std::os::unix::fs::symlink(root.join("python/bin/python3"), root.join("venv/bin/python")).unwrap();
        std::fs::write(root.join("venv/bin/agent"), format!("#!{root}/venv/bin/python\n")).unwrap();
        let found = program("agent", &format!("{root}/venv/bin")).unwrap();
        assert!(["venv", "python"].map(|p| root.join(p)).iter().all(|p| found.parts.contains(p)), "{:?}", found.parts);
    }

    #[test]
    fn a_program_that_is_not_there_is_none() {
        assert_eq!(program("no-such-agent", "/usr/bin"), None);
        assert_eq!(program("/no/such/agent", "/usr/bin"), None);
    }
}
