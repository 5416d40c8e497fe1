//! Where gists go.

use super::shell::Shell;
use camino::{Utf8Path, Utf8PathBuf};
use cargo_gistify::error::{Error, Result};
use cargo_gistify::report::Made;
use cargo_gistify::road::unverified;
use cargo_gistify::task::Task;
use cargo_gistify::verify::verdict::Verdict;
use cargo_gistify::workspace::capture::{TargetKind, TestTarget};
use cargo_gistify::workspace::wrapper::{temp_file_in, write_atomically};

/// Where gists go.
pub(super) enum Places {
    /// Standard output; what does not verify goes to a directory otherwise.
    Stdout {
        otherwise: Utf8PathBuf,
    },
    File(Utf8PathBuf),
    Directory(Utf8PathBuf),
}

impl Places {
    pub(super) fn new(output: Option<&Utf8Path>, tests: usize, state_dir: &Utf8Path) -> Result<Places> {
        let otherwise = state_dir.join("gists");
        let place = match output {
            Some(p) if p == "-" && tests == 1 => return Ok(Places::Stdout { otherwise }),
            Some(p) if p == "-" => {
                return Err(Error::Usage(format!(
                    "{tests} tests match, which is too many for `-o -`; name a directory, or one test with --exact"
                )));
            }
            Some(p) if tests == 1 && !p.is_dir() && !p.as_str().ends_with('/') => Places::File(p.to_owned()),
            Some(p) if p.is_file() || p.extension() == Some("rs") => {
                return Err(Error::Usage(format!(
                    "{tests} tests match, so `-o {p}` has to be a directory; or name one test with --exact"
                )));
            }
            Some(p) => Places::Directory(p.to_owned()),
            None => Places::Directory(otherwise),
        };
        let dir = match &place {
            Places::File(f) => f.parent().filter(|p| !p.as_str().is_empty()),
            Places::Directory(d) => Some(d.as_path()),
            Places::Stdout { .. } => None,
        };
        if let Some(dir) = dir {
            std::fs::create_dir_all(dir).map_err(Error::path("make the directory", dir))?;
            // Better to hear it before the work than after it; a device is written to in place.
            if !matches!(&place, Places::File(f) if f.exists()) {
                temp_file_in(dir).map_err(Error::path("write in the directory", dir))?;
            }
        }
        Ok(place)
    }

    /// The file's name, as the header's run line has it.
    pub(super) fn file_name(&self, target: &TestTarget, task: &Task) -> String {
        match self {
            Places::File(f) => f.file_name().unwrap_or("gist.rs").to_owned(),
            _ => default_name(target, task),
        }
    }

    /// Writes a gist and gives where it is, unless that is standard output. One that did not verify never stands in
    /// the place of the result: it goes beside it, as `….unverified.rs`.
    pub(super) fn write(&self, made: &Made, target: &TestTarget, task: &Task, shell: &Shell) -> Result<Option<Utf8PathBuf>> {
        let verified = made.verdict == Verdict::Ok;
        let path = match self {
            Places::Stdout { .. } if verified => {
                to_stdout(&made.gist.text)?;
                return Ok(None);
            }
            Places::Stdout { otherwise } => {
                std::fs::create_dir_all(otherwise).map_err(Error::path("make the directory", otherwise))?;
                otherwise.join(default_name(target, task))
            }
            Places::File(f) => f.clone(),
            Places::Directory(d) => d.join(default_name(target, task)),
        };
        let unverified = unverified(&path);
        if verified {
            // What an earlier run left beside it is out of date.
            let _ = std::fs::remove_file(&unverified);
        } else if path.is_file() {
            shell.warn(&format!("{path} is from an earlier run"));
        }
        let path = if verified { path } else { unverified };
        write_atomically(&path, made.gist.text.as_bytes())?;
        Ok(Some(path))
    }
}

fn to_stdout(text: &str) -> Result<()> {
    use std::io::Write;
    match std::io::stdout().write_all(text.as_bytes()) {
        // `… | head` is no fault.
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(Error::io("failed to write to standard output")),
    }
}

/// A file name that shells, file systems and rustc (which makes a crate's name of it) don't mind:
/// `package-module-test.rs`, with `--kind-target` behind the package for all but the library.
pub(super) fn default_name(target: &TestTarget, task: &Task) -> String {
    let selector = match target.kind {
        TargetKind::Lib => String::new(),
        _ => target.selector().replace(' ', "-"),
    };
    let parts = task.name().split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|part| !part.is_empty());
    format!("{}{selector}-{}.rs", target.package, parts.collect::<Vec<_>>().join("-"))
}
