//! Puts every module file of a crate in the place of its `mod x;`.

use super::fold::Fold;
use crate::error::{Error, Result};
use crate::source::cfg::CfgSet;
use crate::source::map::SourceFile;
use crate::source::mapped::{Mapped, MappedEdit};
use crate::workspace::record::RustcCall;
use camino::{Utf8Path, Utf8PathBuf};
use std::collections::BTreeMap;
use std::ops::Range;

/// How deep modules may nest before a file that includes itself is suspected.
const MAX_DEPTH: usize = 64;

/// Inlines the files of one crate.
pub(super) struct Inliner {
    /// The `cfg`s of the build.
    pub(super) cfgs: CfgSet,
    /// The `cfg`s that will hold when the gist is compiled.
    pub(super) gist_cfgs: CfgSet,
    /// What `env!` saw.
    pub(super) env: BTreeMap<String, String>,
    /// Every file read so far.
    pub(super) files: Vec<SourceFile>,
    /// Where items that are there for tests only begin: file, and offset behind their attributes.
    pub(super) test_only: Vec<(usize, usize)>,
}

/// Where a module's children are looked for.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The file's own directory: `#[path]` outside inline modules counts from here.
    pub(super) file_dir: Utf8PathBuf,
    /// Where `mod x;` is looked for.
    pub(super) module_dir: Utf8PathBuf,
    /// Inside `mod x { … }` of the file, `#[path]` counts from the module's directory.
    pub(super) inline: bool,
    /// Nesting depth of files.
    depth: usize,
}

impl Place {
    /// Where `#[path]` counts from.
    fn base(&self) -> &Utf8Path {
        if self.inline { &self.module_dir } else { &self.file_dir }
    }
}

impl Inliner {
    pub(super) fn new(call: &RustcCall, cfgs: CfgSet, gist_cfgs: CfgSet) -> Inliner {
        Inliner { cfgs, gist_cfgs, env: call.env.clone(), files: Vec::new(), test_only: Vec::new() }
    }

    /// Inlines a crate from its root file.
    pub(super) fn root(&mut self, path: &Utf8Path) -> Result<Mapped> {
        let dir = path.parent().unwrap_or(Utf8Path::new("/")).to_owned();
        self.file(path, &Place { file_dir: dir.clone(), module_dir: dir, inline: false, depth: 0 })
    }

    /// Reads a file (each once) and gives its index.
    pub(super) fn read(&mut self, path: &Utf8Path) -> Result<usize> {
        let path = normal(path);
        if let Some(i) = self.files.iter().position(|f| f.path == path) {
            return Ok(i);
        }
        let text = std::fs::read_to_string(&path).map_err(Error::path("read", &path))?;
        self.files.push(SourceFile::new(path, text));
        Ok(self.files.len() - 1)
    }

    /// A file of items with all that it declares inlined.
    pub(super) fn file(&mut self, path: &Utf8Path, place: &Place) -> Result<Mapped> {
        if place.depth > MAX_DEPTH {
            return Err(Error::Unsupported {
                test: path.to_string(),
                reason: format!("modules nest deeper than {MAX_DEPTH} files; does a file include itself?"),
            });
        }
        let index = self.read(path)?;
        let file = self.files[index].clone();
        let (clean, start) = blank_preamble(&file.text);
        let tree = syn::parse_file(&clean).map_err(|e| {
            let at = e.span().start();
            Error::Unsupported {
                test: format!("{path}:{}:{}", at.line, at.column + 1),
                reason: format!("the file can't be parsed: {e}"),
            }
        })?;
        let mut fold = Fold::new(self, index, place.clone());
        Ok(match fold.file(&tree, &clean)? {
            Some(edits) => Mapped::of_file(index, &file, start..file.text.len(), edits),
            None => Mapped { inactive: true, ..Mapped::default() },
        })
    }

    /// The file that `mod name;` at `place` declares.
    pub(super) fn module(&mut self, name: &str, explicit: Option<&str>, place: &Place) -> Result<Mapped> {
        let next = |file_dir: Utf8PathBuf, module_dir| Place { file_dir, module_dir, inline: false, depth: place.depth + 1 };
        if let Some(relative) = explicit {
            let path = place.base().join(relative);
            let dir = path.parent().unwrap_or(place.base()).to_owned();
            return self.file(&path, &next(dir.clone(), dir));
        }
        let flat = place.module_dir.join(format!("{name}.rs"));
        let nested = place.module_dir.join(name).join("mod.rs");
        let dir = place.module_dir.join(name);
        if flat.exists() {
            self.file(&flat, &next(place.module_dir.clone(), dir))
        } else {
            self.file(&nested, &next(dir.clone(), dir))
        }
    }

    /// Whether `mod name;` at `place` has a file.
    pub(super) fn has_module(name: &str, explicit: Option<&str>, place: &Place) -> bool {
        if let Some(relative) = explicit {
            return place.base().join(relative).exists();
        }
        place.module_dir.join(format!("{name}.rs")).exists() || place.module_dir.join(name).join("mod.rs").exists()
    }

    /// The text of an included file, as items.
    pub(super) fn included(&mut self, path: &Utf8Path, place: &Place, as_items: bool) -> Result<Mapped> {
        let dir = path.parent().unwrap_or(Utf8Path::new("/")).to_owned();
        if as_items {
            let inner = Place { file_dir: dir.clone(), module_dir: dir, inline: false, depth: place.depth + 1 };
            return self.file(path, &inner);
        }
        let index = self.read(path)?;
        let file = self.files[index].clone();
        Ok(Mapped::of_file(index, &file, 0..file.text.trim_end().len(), Vec::new()))
    }

    pub(super) fn note_test_only(&mut self, file: usize, offset: usize) {
        self.test_only.push((file, offset));
    }

    /// The value of a string that the compiler would compute: a literal, `concat!`, `env!`.
    pub(super) fn constant(&self, tokens: proc_macro2::TokenStream) -> Option<String> {
        super::reads::constant(tokens, &self.env)
    }
}

/// `path` without `.` and `..` where that needs no file system.
fn normal(path: &Utf8Path) -> Utf8PathBuf {
    use camino::Utf8Component;
    let mut out = Utf8PathBuf::new();
    for c in path.components() {
        match c {
            Utf8Component::CurDir => {}
            Utf8Component::ParentDir if out.file_name().is_some() => {
                out.pop();
            }
            c => out.push(c),
        }
    }
    out
}

/// Blanks a byte order mark and a `#!` line, so that offsets stay; gives where the code starts.
pub(super) fn blank_preamble(text: &str) -> (String, usize) {
    let mut start = 0;
    if text.starts_with('\u{feff}') {
        start = '\u{feff}'.len_utf8();
    }
    if text[start..].starts_with("#!") && !text[start + 2..].trim_start().starts_with('[') {
        start += text[start..].find('\n').unwrap_or(text.len() - start);
    }
    (format!("{}{}", " ".repeat(start), &text[start..]), start)
}

/// An edit that puts an inlined module in the place of a `;`.
pub(super) fn module_edit(semicolon: Range<usize>, body: &Mapped) -> MappedEdit {
    let mut with = Mapped::new_text(" {\n");
    with.push(body);
    with.push_new(if body.text.ends_with('\n') { "}" } else { "\n}" });
    MappedEdit { range: semicolon, with }
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn a_shebang_goes_and_an_inner_attribute_stays() {
        assert_eq!(blank_preamble("#!/bin/x\nfn a() {}").1, 8);
        assert_eq!(blank_preamble("#![allow(x)]\n").1, 0);
        assert_eq!(blank_preamble("\u{feff}fn a() {}"), ("   fn a() {}".into(), 3));
    }

    #[test]
    fn parent_directories_fold() {
        assert_eq!(normal("/a/tests/../src/./x.rs".into()), "/a/src/x.rs");
    }
}
