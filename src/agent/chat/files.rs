//! The files that the model sees, and the one that it writes.
//!
//! The project's copy is hostile ground: the model may have a shell in it and swap a folder for a symbolic link while a tool
//! looks at it. So nothing is opened by a path from the root, only through a handle of the folder (`cap-std`), which no `..` and
//! no link leads out of. What is refused is said to the model; it is no error of the attempt.

use crate::error::{Error, Result};
use camino::Utf8Path;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use nix::fcntl::OFlag;
use std::io::{ErrorKind, Read, Write};
use std::path::{Component, Path, PathBuf};
use std::time::Instant;

/// Bytes of a file that is read; the longest hand-written source files are a quarter of that.
const MAX_READ: u64 = 4 << 20;
/// Bytes of a file that is searched.
const MAX_SEARCHED: u64 = 1 << 20;
/// Bytes of a gist.
const MAX_GIST: usize = 4 << 20;
/// Files that one search looks into.
const MAX_FILES: usize = 20_000;
/// Folders in each other that a search goes down.
const MAX_DEPTH: usize = 64;
/// Lines that a search gives.
const MAX_MATCHES: usize = 200;
/// Bytes of such a line.
const MAX_LINE: usize = 300;
/// Entries of a folder that are listed.
const MAX_ENTRIES: usize = 500;
/// Bytes that a compiled pattern may take.
const MAX_PATTERN: usize = 1 << 20;

/// What a tool says: its result, or why there is none.
pub(super) type Said = std::result::Result<String, String>;

/// The project's copy.
pub(super) struct Tree {
    root: Dir,
}

impl Tree {
    pub(super) fn open(workspace: &Utf8Path) -> Result<Tree> {
        let root = Dir::open_ambient_dir(workspace, ambient_authority()).map_err(Error::path("open", workspace))?;
        Ok(Tree { root })
    }

    /// Lines `start` to `end` of a file, counted from 1, both among them; all of it without.
    pub(super) fn read(&self, path: &str, start: Option<u64>, end: Option<u64>) -> Said {
        let bytes = self.bytes(&inside(path)?, MAX_READ).map_err(|why| format!("{path}: {why}"))?;
        let text = String::from_utf8(bytes).map_err(|_| format!("{path}: is not UTF-8 text"))?;
        if start.is_none() && end.is_none() {
            return Ok(text);
        }
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let first = usize::try_from(start.unwrap_or(1).max(1)).unwrap_or(usize::MAX);
        let last = usize::try_from(end.unwrap_or(u64::MAX)).unwrap_or(usize::MAX).min(lines.len());
        if first > last {
            return Err(format!("{path}: has {} lines, so there are none from {first} to {last}", lines.len()));
        }
        Ok(format!("[lines {first} to {last} of {}]\n{}", lines.len(), lines[first - 1..last].concat()))
    }

    /// What is in a folder: folders with `/` behind their names, files with their sizes.
    pub(super) fn list(&self, path: &str) -> Said {
        let dir = self.root.open_dir(inside(path)?).map_err(|e| format!("{path}: {e}"))?;
        let mut entries = Vec::new();
        for entry in dir.entries().map_err(|e| format!("{path}: {e}"))?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            entries.push(match entry.metadata() {
                Ok(about) if about.is_dir() => format!("{name}/"),
                Ok(about) if about.is_symlink() => format!("{name} (symbolic link)"),
                Ok(about) => format!("{name} ({} bytes)", about.len()),
                Err(_) => name,
            });
        }
        entries.sort();
        let more = entries.len().saturating_sub(MAX_ENTRIES);
        entries.truncate(MAX_ENTRIES);
        if more > 0 {
            entries.push(format!("[and {more} more]"));
        }
        Ok(if entries.is_empty() { String::from("[empty]") } else { entries.join("\n") })
    }

    /// Lines that match, as `path:number: line`. Binary and huge files and links are passed over; it ends at `deadline`.
    pub(super) fn search(&self, pattern: &str, path: &str, deadline: Instant) -> Said {
        let pattern = regex::RegexBuilder::new(pattern)
            .size_limit(MAX_PATTERN)
            .build()
            .map_err(|e| format!("the pattern is no regular expression: {e}"))?;
        let start = inside(path)?;
        let about = self.root.metadata(&start).map_err(|e| format!("{path}: {e}"))?;
        let mut found = Found { lines: Vec::new(), files: 0, cut: None };
        if about.is_dir() {
            self.search_dir(&start, &pattern, deadline, 0, &mut found);
        } else {
            self.search_file(&start, &pattern, &mut found);
        }
        found.lines.extend(found.cut.map(|why| format!("[the search ended early: {why}]")));
        Ok(if found.lines.is_empty() { String::from("[no match]") } else { found.lines.join("\n") })
    }

    fn search_dir(&self, dir: &Path, pattern: &regex::Regex, deadline: Instant, depth: usize, found: &mut Found) {
        let Ok(entries) = self.root.read_dir(dir) else { return };
        let mut entries: Vec<_> = entries.flatten().collect();
        entries.sort_by_key(cap_std::fs::DirEntry::file_name);
        for entry in entries {
            if found.cut.is_none() && Instant::now() >= deadline {
                found.cut = Some("the time is up");
            }
            if found.cut.is_some() {
                return;
            }
            let path = if dir == Path::new(".") { entry.file_name().into() } else { dir.join(entry.file_name()) };
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && entry.file_name() == ".git" => {}
                Ok(kind) if kind.is_dir() && depth < MAX_DEPTH => {
                    self.search_dir(&path, pattern, deadline, depth + 1, found)
                }
                Ok(kind) if kind.is_file() => self.search_file(&path, pattern, found),
                _ => {}
            }
        }
    }

    fn search_file(&self, path: &Path, pattern: &regex::Regex, found: &mut Found) {
        found.files += 1;
        if found.files > MAX_FILES {
            found.cut = Some("too many files; search in a folder of it");
            return;
        }
        let Ok(Ok(text)) = self.bytes(path, MAX_SEARCHED).map(String::from_utf8) else { return };
        if text.contains('\0') {
            return;
        }
        for (line, number) in text.lines().zip(1..).filter(|(line, _)| pattern.is_match(line)) {
            if found.lines.len() == MAX_MATCHES {
                found.cut = Some("too many matches; be more specific");
                return;
            }
            let shown = &line[..line.floor_char_boundary(MAX_LINE)];
            let more = if shown.len() < line.len() { "…" } else { "" };
            found.lines.push(format!("{}:{number}: {shown}{more}", path.display()));
        }
    }

    fn bytes(&self, path: &Path, max: u64) -> std::result::Result<Vec<u8>, String> {
        read_from(&self.root, path, max)
    }
}

struct Found {
    lines: Vec<String>,
    files: usize,
    cut: Option<&'static str>,
}

/// The only file that is ever written.
pub(super) struct GistFile {
    dir: Dir,
    name: String,
}

impl GistFile {
    /// Makes the folder of the gist where there is none. The handle is taken before the model can do anything.
    pub(super) fn open(tree: &Tree, workspace: &Utf8Path, gist: &Utf8Path) -> Result<GistFile> {
        let no_file = || Error::Internal(format!("{gist} is no place for a gist"));
        let name = gist.file_name().ok_or_else(no_file)?.to_owned();
        let parent = gist.parent().ok_or_else(no_file)?;
        let within = parent.strip_prefix(workspace).ok().filter(|at| !at.components().any(|c| c.as_str() == ".."));
        let dir = match within {
            Some(at) if at.as_str().is_empty() => tree.root.try_clone(),
            Some(at) => tree.root.create_dir_all(at).and_then(|()| tree.root.open_dir(at)),
            None => Dir::create_ambient_dir_all(parent, ambient_authority())
                .and_then(|()| Dir::open_ambient_dir(parent, ambient_authority())),
        };
        Ok(GistFile { dir: dir.map_err(Error::path("make or open the folder", parent))?, name })
    }

    /// Replaces the gist as a whole.
    pub(super) fn write(&self, content: &str) -> Said {
        if content.len() > MAX_GIST {
            return Err(format!("{} bytes are too many for a gist; {MAX_GIST} are the limit", content.len()));
        }
        // What stands in the way may be a link to anywhere: it is removed, never followed.
        let temporary = format!(".{}.tmp", self.name);
        let _ = self.dir.remove_file(&temporary);
        let written = self
            .dir
            .open_with(&temporary, OpenOptions::new().write(true).create_new(true))
            .and_then(|mut file| file.write_all(content.as_bytes()))
            .and_then(|()| self.dir.rename(&temporary, &self.dir, &self.name));
        match written {
            Ok(()) => Ok(format!("written: {} bytes, {} lines", content.len(), content.lines().count())),
            Err(e) => {
                let _ = self.dir.remove_file(&temporary);
                Err(format!("the gist could not be written: {e}"))
            }
        }
    }

    /// Replaces the one place where `old` stands.
    pub(super) fn edit(&self, old: &str, new: &str) -> Said {
        let bytes = read_from(&self.dir, Path::new(&self.name), MAX_GIST as u64)
            .map_err(|why| format!("there is no gist to edit ({why}); use write_gist first"))?;
        let text = String::from_utf8(bytes).map_err(|_| String::from("the gist is not UTF-8 text; write it anew"))?;
        let Some(first) = old.chars().next() else {
            return Err(String::from("`old` is empty; give the text that is to be replaced"));
        };
        let Some(at) = text.find(old) else {
            return Err(String::from("`old` is not in the gist; it has to be the exact text, white space included"));
        };
        if text[at + first.len_utf8()..].contains(old) {
            return Err(String::from("`old` is in the gist more than once; give more of the text around it"));
        }
        self.write(&[&text[..at], new, &text[at + old.len()..]].concat())
    }
}

/// A path as the tools take it: relative to the project's folder, with no way up.
fn inside(path: &str) -> std::result::Result<PathBuf, String> {
    let mut clean = PathBuf::new();
    for component in Path::new(path).components() {
        match component {
            Component::Normal(name) => clean.push(name),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(format!("{path}: refused; paths are relative to the project's folder, without `..`"));
            }
        }
    }
    Ok(if clean.as_os_str().is_empty() { PathBuf::from(".") } else { clean })
}

/// A regular file of at most `max` bytes. A pipe would block for ever, so nothing else is read, and opening does not wait.
fn read_from(dir: &Dir, path: &Path, max: u64) -> std::result::Result<Vec<u8>, String> {
    let say = |e: std::io::Error| match e.kind() {
        ErrorKind::PermissionDenied => format!("refused: {e}"),
        _ => e.to_string(),
    };
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(OFlag::O_NONBLOCK.bits());
    let file = dir.open_with(path, &options).map_err(say)?;
    let about = file.metadata().map_err(say)?;
    if !about.is_file() {
        return Err(String::from(if about.is_dir() { "is a folder; use list_dir" } else { "is no regular file" }));
    }
    let mut bytes = Vec::new();
    file.take(max + 1).read_to_end(&mut bytes).map_err(say)?;
    if bytes.len() as u64 > max { Err(format!("has more than {max} bytes, which is too much")) } else { Ok(bytes) }
}
