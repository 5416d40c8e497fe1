//! Benchmarks, which no gist is made of: found by name, so that who asks for one hears why.

use crate::workspace::{Workspace, relative};
use camino::{Utf8Path, Utf8PathBuf};
use cargo_metadata::TargetKind;
use quote::ToTokens;
use syn::visit::Visit;

/// Why no gist is made of a benchmark.
pub const REASON: &str = "a benchmark measures time, in which no two runs agree; gists are made of tests and of programs";

/// A benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bench {
    /// The function's name, or the target's.
    pub name: String,
    /// Its file, relative to the workspace's root when inside it.
    pub file: Utf8PathBuf,
    /// 1-based line of the function.
    pub line: usize,
}

/// The first benchmark of the workspace that a test pattern names: a function with `#[bench]`, one that is given a
/// `Criterion` or a `Bencher`, or a target.
#[must_use]
pub fn named(workspace: &Workspace, pattern: &str, exact: bool) -> Option<Bench> {
    let wanted = pattern.rsplit("::").next().unwrap_or(pattern);
    let hit = |name: &str| if exact { name == wanted } else { !wanted.is_empty() && name.contains(wanted) };
    for package in workspace.metadata.workspace_packages() {
        let benches = package.targets.iter().filter(|t| t.kind.contains(&TargetKind::Bench));
        if let Some(target) = benches.clone().find(|t| t.name == pattern) {
            return Some(Bench { name: target.name.clone(), file: shown(workspace, &target.src_path), line: 1 });
        }
        let mut files: Vec<Utf8PathBuf> = benches.map(|t| t.src_path.clone()).collect();
        let dir = package.manifest_path.parent()?;
        ["src", "tests", "benches", "examples"].iter().for_each(|part| sources(&dir.join(part), &mut files));
        files.sort();
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            if let Some((name, line)) = functions(&text).into_iter().find(|(name, _)| hit(name)) {
                return Some(Bench { name, file: shown(workspace, &file), line });
            }
        }
    }
    None
}

fn shown(workspace: &Workspace, file: &Utf8Path) -> Utf8PathBuf {
    relative(file, &workspace.metadata.workspace_root).to_owned()
}

/// All Rust files below a folder.
fn sources(dir: &Utf8Path, out: &mut Vec<Utf8PathBuf>) {
    for entry in dir.read_dir_utf8().into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => sources(entry.path(), out),
            Ok(kind) if kind.is_file() && entry.path().extension() == Some("rs") => out.push(entry.into_path()),
            _ => {}
        }
    }
}

/// The benchmarks of a file, with their lines. What does not parse has none.
fn functions(text: &str) -> Vec<(String, usize)> {
    let mut found = Found(Vec::new());
    if (text.contains("bench") || text.contains("Criterion"))
        && let Ok(file) = syn::parse_file(text)
    {
        found.visit_file(&file);
    }
    found.0
}

struct Found(Vec<(String, usize)>);

impl<'ast> Visit<'ast> for Found {
    fn visit_item_fn(&mut self, f: &'ast syn::ItemFn) {
        let given = |input: &syn::FnArg| {
            let text = input.to_token_stream().to_string();
            text.contains("Criterion") || text.contains("Bencher")
        };
        if f.attrs.iter().any(|a| a.path().is_ident("bench")) || f.sig.inputs.first().is_some_and(given) {
            self.0.push((f.sig.ident.to_string(), f.sig.ident.span().start().line));
        }
        syn::visit::visit_item_fn(self, f);
    }
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn what_is_marked_and_what_is_given_a_bencher_is_a_benchmark() {
        let text = "fn help() {}\nmod benches {\n    #[bench]\n    fn old(b: &mut Bencher) {}\n}\nfn new(c: &mut criterion::Criterion) {}\n";
        assert_eq!(functions(text), [("old".to_owned(), 4), ("new".to_owned(), 6)]);
        assert!(functions("fn bench() {").is_empty());
    }
}
