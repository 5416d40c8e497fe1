//! The gist as a file: a header that says what it is and how to run it, the manifest of its dependencies, the text.

use crate::bundle::Bundle;
use crate::error::{Error, Result};
use crate::program::shell_word;
use crate::source::edit::{Edit, apply};
use crate::source::map::{Segment, SourceMap};
use crate::source::tokens::idents;
use crate::workspace::Workspace;
use crate::workspace::capture::{GistExtern, TestTarget};
use camino::Utf8Path;
use cargo_metadata::Package;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// A dependency that a gist keeps, pinned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// The name in the code, with dashes as the package has them unless it is renamed.
    pub name: String,
    /// What stands behind the `=` in the manifest.
    pub spec: DependencySpec,
}

/// A dependency as a manifest has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct DependencySpec {
    /// `=x.y.z`
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub version: Option<String>,
    /// The package's name when the code has another.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub package: Option<String>,
    /// A git repository.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub git: Option<String>,
    /// The commit in it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rev: Option<String>,
    /// Always `false`: the features are all named.
    #[serde(default = "yes")]
    pub default_features: bool,
    /// The features that bring all that the project's build had.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub features: Vec<String>,
}

fn yes() -> bool {
    true
}

/// A finished gist.
#[derive(Clone, Debug)]
pub struct Gist {
    /// The file.
    pub text: String,
    /// Where its bytes come from in the project.
    pub map: SourceMap,
    /// What it needs from registries.
    pub dependencies: Vec<Dependency>,
}

/// What the header says.
#[derive(Clone, Debug)]
pub struct Facts<'a> {
    /// The project.
    pub workspace: &'a Workspace,
    /// The target of the test.
    pub target: &'a TestTarget,
    /// The test's path in the project; a program with its arguments.
    pub test: &'a str,
    /// The test's path in the gist.
    pub gist_test: &'a str,
    /// The test is `#[ignore]`d: its run line has to ask for it.
    pub ignored: bool,
    /// What is said to be in it: `test`, `doctest`, `program`.
    pub kind: &'a str,
    /// It is no test of libtest's, but a program, and is called so.
    pub call: Option<String>,
    /// The file's name, as the run line has it.
    pub file_name: &'a str,
}

/// Puts header and manifest before a reduced text, and folds the blank lines that cuts left.
///
/// # Errors
/// When cargo's metadata lacks a dependency.
pub fn finish(text: &str, map: &SourceMap, bundle: &Bundle, facts: &Facts<'_>) -> Result<Gist> {
    let (text, pieces) = apply(text, blank_runs(text));
    let map = map.edited(&pieces);
    let words: BTreeSet<String> = text.parse().map(|t| idents(t).into_iter().collect()).unwrap_or_default();
    let dependencies = dependencies(&words, facts)?;
    let header = header(&words, bundle, facts, &dependencies)?;
    let mut segments = vec![Segment { start: 0, len: header.len(), origin: None }];
    segments.extend(map.segments.iter().map(|s| Segment { start: s.start + header.len(), ..*s }));
    Ok(Gist { text: format!("{header}{text}"), map: SourceMap { files: map.files, segments }, dependencies })
}

/// Runs of blank lines become one; none stand at the start of the file or right behind an opening brace.
///
/// Blank lines inside a token (a string over several lines) are left alone.
fn blank_runs(text: &str) -> Vec<Edit> {
    let literals = multi_line_literals(text);
    let inside = |at: usize| literals.iter().any(|r| r.contains(&at));
    let mut edits = Vec::new();
    let mut at = 0;
    let mut blank_before = true;
    for line in text.split_inclusive('\n') {
        let blank = line.trim().is_empty();
        let closes = line.trim_start().starts_with('}');
        if inside(at) {
            blank_before = false;
        } else if blank && blank_before {
            edits.push(Edit::delete(at..at + line.len()));
        } else {
            if closes
                && blank_before
                && let Some(previous) = text[..at].trim_end_matches([' ', '\t', '\n', '\r']).len().checked_sub(0)
                && let Some(gap) = text[previous..at].find('\n').map(|i| previous + i + 1)
                && gap < at
                && !inside(gap)
            {
                edits.push(Edit::delete(gap..at));
            }
            blank_before = blank || line.trim_end().ends_with('{');
        }
        at += line.len();
    }
    edits
}

fn multi_line_literals(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut out = Vec::new();
    if let Ok(tokens) = text.parse::<proc_macro2::TokenStream>() {
        crate::source::tokens::walk(tokens, &mut |list| {
            for tree in list {
                if let proc_macro2::TokenTree::Literal(l) = tree {
                    let r = l.span().byte_range();
                    if text[r.clone()].contains('\n') {
                        out.push(r.start + 1..r.end);
                    }
                }
            }
        });
    }
    out
}

/// The dependencies that a gist of the target may have, as lines of a manifest. What can't be in a manifest is left out.
///
/// # Errors
/// When cargo's metadata lacks a dependency.
pub fn known_dependencies(workspace: &Workspace, target: &TestTarget) -> Result<Vec<String>> {
    let mut table = BTreeMap::new();
    for ext in target.externs().iter().filter(|ext| ext.is_file()) {
        match dependency(ext, workspace, "the test") {
            Ok(d) => {
                let spec = toml::Value::try_from(&d.spec).map_err(|e| Error::Internal(e.to_string()))?;
                table.insert(d.name, spec);
            }
            Err(Error::Unsupported { .. }) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(table.iter().map(|(name, spec)| format!("{name} = {spec}")).collect())
}

/// The dependencies whose names the text has.
fn dependencies(words: &BTreeSet<String>, facts: &Facts<'_>) -> Result<Vec<Dependency>> {
    let mut out = Vec::new();
    for ext in facts.target.externs() {
        if ext.is_file() && words.contains(&ext.name) {
            out.push(dependency(&ext, facts.workspace, facts.test)?);
        }
    }
    out.sort_by(|a, b| a.name.cmp(&b.name));
    out.dedup();
    Ok(out)
}

fn dependency(ext: &GistExtern, workspace: &Workspace, test: &str) -> Result<Dependency> {
    let name = &ext.own_name;
    let lost = || Error::Internal(format!("cargo's metadata has no dependency `{name}` of {}", ext.package_id));
    let resolve = workspace.metadata.resolve.as_ref().ok_or_else(lost)?;
    let node = resolve.nodes.iter().find(|n| n.id == ext.package_id).ok_or_else(lost)?;
    // What is no dependency is the package's own library, a procedural macro.
    let id = node.deps.iter().find(|d| d.name == *name).map_or(&ext.package_id, |d| &d.pkg);
    let package = workspace.package(id).ok_or_else(lost)?;
    let features = resolve.nodes.iter().find(|n| n.id == *id).map(|n| n.features.clone()).unwrap_or_default();
    let enabled: BTreeSet<String> = features.iter().map(ToString::to_string).filter(|f| f != "default").collect();
    let features = generators(&package.features, enabled);
    if package.source.is_none() {
        let reason = if package.targets.iter().any(cargo_metadata::Target::is_proc_macro) {
            format!(
                "it needs `{name}`, a procedural macro of the project's own: the compiler runs it, so it can't be in the file"
            )
        } else {
            format!("it needs the path dependency `{name}`, which is outside the workspace and is not bundled yet")
        };
        return Err(Error::Unsupported { test: test.to_owned(), reason });
    }
    let renamed = package.name.replace('-', "_") != ext.name;
    let source = package.source.as_ref().map(|s| s.repr.clone()).unwrap_or_default();
    let git = source.strip_prefix("git+").map(|s| s.split(['?', '#']).next().unwrap_or(s).to_owned());
    let rev = git.as_ref().and_then(|_| source.rsplit('#').next().map(str::to_owned));
    let version = git.is_none().then(|| format!("={}", package.version));
    Ok(Dependency {
        name: if renamed { ext.name.clone() } else { package.name.to_string() },
        spec: DependencySpec {
            version,
            package: renamed.then(|| package.name.to_string()),
            git,
            rev,
            default_features: false,
            features,
        },
    })
}

/// The least of the enabled features that bring all others with them.
fn generators(table: &BTreeMap<String, Vec<String>>, enabled: BTreeSet<String>) -> Vec<String> {
    let mut out = enabled.clone();
    for feature in enabled {
        out.remove(&feature);
        if !implied(table, &out).contains(&feature) {
            out.insert(feature);
        }
    }
    out.into_iter().collect()
}

/// All features that some features enable, themselves included.
fn implied(table: &BTreeMap<String, Vec<String>>, features: &BTreeSet<String>) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    let mut todo: Vec<&str> = features.iter().map(String::as_str).collect();
    while let Some(feature) = todo.pop() {
        if out.insert(feature.to_owned()) {
            // `dep:x` is no feature, `x?/y` turns nothing on, and `x/y` turns on the optional dependency `x`.
            let enables = table.get(feature).into_iter().flatten().filter(|f| !f.starts_with("dep:"));
            todo.extend(enables.filter_map(|f| match f.split_once('/') {
                Some((dependency, _)) => {
                    (!dependency.ends_with('?') && table.contains_key(dependency)).then_some(dependency)
                }
                None => Some(f.as_str()),
            }));
        }
    }
    out
}

/// The licences of the crates that the text is made of; each with its packages when they differ.
fn licenses(words: &BTreeSet<String>, bundle: &Bundle, facts: &Facts<'_>) -> String {
    let members = bundle.crates.iter().filter(|c| c.module.as_ref().is_some_and(|m| words.contains(m)));
    let members: BTreeSet<&str> = members.map(|c| c.crate_name.as_str()).collect();
    let mut out: Vec<(String, Vec<String>)> = Vec::new();
    for (id, call) in facts.target.crates() {
        if *id != facts.target.package_id && !members.contains(call.crate_name()) {
            continue;
        }
        let Some(package) = facts.workspace.package(id) else { continue };
        let license = package.license.clone().unwrap_or_else(|| "not named in its manifest".into());
        let name = package.name.to_string();
        match out.iter_mut().find(|(l, _)| *l == license) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => out.push((license, vec![name])),
        }
    }
    match out.as_slice() {
        [(license, _)] => license.clone(),
        several => several.iter().map(|(l, names)| format!("{l} ({})", names.join(", "))).collect::<Vec<_>>().join(", "),
    }
}

fn header(words: &BTreeSet<String>, bundle: &Bundle, facts: &Facts<'_>, dependencies: &[Dependency]) -> Result<String> {
    let package = facts.workspace.package(&facts.target.package_id);
    let version = package.map(|p| p.version.to_string()).unwrap_or_default();
    let mut out = String::new();
    let mut line = |text: &str| {
        out.push_str(if text.is_empty() { "//!" } else { "//! " });
        out.push_str(text);
        out.push('\n');
    };
    line(&format!("{OF_THE}{} `{}` ({})", facts.kind, facts.test, facts.target.selector()));
    let commit = commit(&facts.target.package_dir).map(|c| format!(", commit {c}")).unwrap_or_default();
    line(&format!("of {} {version}{commit}, made by cargo-gistify {}.", facts.target.package, env!("CARGO_PKG_VERSION")));
    line("");
    let ignored = if facts.ignored { " --include-ignored" } else { "" };
    let (harness, call) = match &facts.call {
        Some(call) => ("", call.clone()),
        None => (" --test", format!(" --exact {}{ignored}", facts.gist_test)),
    };
    if dependencies.is_empty() {
        let flags = codegen_flags(facts.target);
        let name = facts.file_name.strip_suffix(".rs").unwrap_or(facts.file_name);
        let crate_name = if is_crate_name(name) { "" } else { " --crate-name gist" };
        let (file, exe) = (shell_word(facts.file_name), shell_word(name));
        line(&format!(
            "Run: rustc --edition {}{harness}{flags}{crate_name} {file} -o {exe} && ./{exe}{call}",
            bundle.edition
        ));
    } else {
        let separator = if call.is_empty() { "" } else { " --" };
        line(&format!("Run: cargo gistify run {}{separator}{call}", shell_word(facts.file_name)));
    }
    line(&format!("Toolchain: {}", toolchain(&facts.target.call.rustc)));
    line(&format!("License: {}", licenses(words, bundle, facts)));
    if !dependencies.is_empty() {
        line("");
        line("```cargo");
        for l in manifest(bundle, package, dependencies)?.trim_end().lines() {
            line(l);
        }
        line("```");
    }
    out.push('\n');
    Ok(out)
}

/// The manifest of a gist, as it stands in its header. What procedural macros may read of the package (`clap`'s
/// `version`) stays as the project has it.
fn manifest(bundle: &Bundle, package: Option<&Package>, dependencies: &[Dependency]) -> Result<String> {
    let fail = |e: toml::ser::Error| Error::Internal(format!("the manifest can't be written: {e}"));
    let mut out = String::from("[package]\n");
    let mut field = |name: &str, value: toml::Value| out.push_str(&format!("{name} = {value}\n"));
    if let Some(p) = package {
        field("name", p.name.to_string().into());
        field("version", p.version.to_string().into());
        if !p.authors.is_empty() {
            field("authors", p.authors.clone().into());
        }
        for (name, value) in [("description", &p.description), ("homepage", &p.homepage), ("repository", &p.repository)] {
            if let Some(value) = value {
                field(name, value.as_str().into());
            }
        }
    }
    field("edition", bundle.edition.as_str().into());
    out.push_str("\n[dependencies]\n");
    let mut table = BTreeMap::new();
    for d in dependencies {
        table.insert(d.name.clone(), toml::Value::try_from(&d.spec).map_err(fail)?);
    }
    for (name, value) in table {
        out.push_str(&format!("{name} = {value}\n"));
    }
    Ok(out)
}

/// Whether rustc makes a crate's name of that file stem.
fn is_crate_name(stem: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    stem.chars().all(plain) && stem.starts_with(|c: char| c.is_ascii_alphabetic())
}

/// Codegen options of the project's build that can change what a test does.
fn codegen_flags(target: &TestTarget) -> String {
    const MATTER: &[&str] = &["opt-level", "debug-assertions", "overflow-checks", "panic", "target-cpu", "target-feature"];
    let mut out = String::new();
    for key in MATTER {
        if let Some(value) = target.call.codegen(key).last() {
            out.push_str(&format!(" -C {key}={value}"));
        }
    }
    out
}

fn toolchain(rustc: &str) -> String {
    let out = Command::new(rustc).arg("--version").output();
    out.ok().and_then(|o| String::from_utf8(o.stdout).ok()).unwrap_or_default().trim().to_owned()
}

/// The commit that is checked out, with a mark when the tree differs from it.
fn commit(dir: &Utf8Path) -> Option<String> {
    let git = |args: &[&str]| {
        let out = Command::new("git").arg("-C").arg(dir).args(args).output().ok()?;
        out.status.success().then(|| String::from_utf8_lossy(&out.stdout).trim().to_owned())
    };
    // The manifest has to be in the repository: a project may lie inside somebody else's.
    git(&["ls-files", "--error-unmatch", "Cargo.toml"])?;
    let id = git(&["rev-parse", "--short=12", "HEAD"])?;
    let dirty = git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|s| !s.is_empty());
    Some(if dirty { format!("{id} with local changes") } else { id })
}

/// What the header of a gist says about running it: the manifest in its doc comment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EmbeddedManifest {
    /// The edition; 2021 when none is named.
    pub edition: Option<String>,
    /// The `[dependencies]` table.
    pub dependencies: toml::Table,
    /// The whole manifest.
    pub table: toml::Table,
}

/// Reads the doc-comment manifest of a gist, and the edition of its run line.
///
/// # Errors
/// [`Error::Usage`] when there is a manifest that is no TOML.
pub fn read_manifest(text: &str) -> Result<EmbeddedManifest> {
    let doc: Vec<&str> = text
        .lines()
        .map(str::trim_start)
        .take_while(|l| l.starts_with("//!") || l.is_empty() || l.starts_with("#!"))
        .collect();
    let body = doc.iter().filter_map(|l| l.strip_prefix("//!")).map(|l| l.strip_prefix(' ').unwrap_or(l));
    let manifest: Vec<&str> =
        body.clone().skip_while(|l| l.trim() != "```cargo").skip(1).take_while(|l| l.trim() != "```").collect();
    let table: toml::Table = toml::from_str(&manifest.join("\n"))
        .map_err(|e| Error::Usage(format!("the manifest in the header can't be read: {e}")))?;
    let from_table = table.get("package").and_then(|p| p.get("edition")).and_then(|e| e.as_str()).map(str::to_owned);
    let from_line = body.clone().find_map(|l| l.split("--edition ").nth(1)?.split_whitespace().next().map(str::to_owned));
    let dependencies = table.get("dependencies").and_then(|d| d.as_table()).cloned().unwrap_or_default();
    Ok(EmbeddedManifest { edition: from_table.or(from_line), dependencies, table })
}

/// How the header begins.
pub(crate) const OF_THE: &str = "A gist of the ";

/// Whether a gist is a program, and has no tests to run: its header says so.
#[must_use]
pub fn is_program(text: &str) -> bool {
    let kind = text.strip_prefix("//! ").and_then(|t| t.strip_prefix(OF_THE)).and_then(|t| t.split(' ').next());
    matches!(kind, Some("program" | "doctest"))
}

/// Options that the run line of a std-only gist passes to rustc.
#[must_use]
pub fn run_line_flags(text: &str) -> Vec<String> {
    let Some(line) = text.lines().find(|l| l.starts_with("//! Run: rustc ")) else { return Vec::new() };
    let words: Vec<&str> = line.split_whitespace().collect();
    words.windows(2).filter(|w| w[0] == "-C").flat_map(|w| [w[0].to_owned(), w[1].to_owned()]).collect()
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn features_that_others_bring_are_not_named() {
        let table = [
            ("std", &["alloc", "x?/std"][..]),
            ("alloc", &[]),
            ("x", &["dep:x"]),
            ("full", &["std", "x/y"]),
            ("lone", &["dep:z"]),
        ];
        let table = table.iter().map(|(f, on)| ((*f).to_owned(), on.iter().map(|o| (*o).to_owned()).collect())).collect();
        let least = |enabled: &[&str]| generators(&table, enabled.iter().map(|f| (*f).to_owned()).collect());
        assert_eq!(least(&["alloc", "std", "lone"]), ["lone", "std"]);
        assert_eq!(least(&["alloc", "full", "std", "x"]), ["full"]);
        assert_eq!(least(&["alloc", "std", "x"]), ["std", "x"]);
    }

    fn folded(text: &str) -> String {
        apply(text, blank_runs(text)).0
    }

    #[test]
    fn blank_runs_fold_and_strings_keep_theirs() {
        assert_eq!(folded("\n\nfn a() {\n\n    b();\n\n\n    c();\n\n}\n"), "fn a() {\n    b();\n\n    c();\n}\n");
        let string = "const A: &str = \"x\n\n\n}\n\";\n";
        assert_eq!(folded(string), string);
    }

    #[test]
    fn the_manifest_is_read_back_from_the_header() {
        let text = "//! A gist\n//!\n//! ```cargo\n//! [package]\n//! edition = \"2018\"\n//!\n//! [dependencies]\n//! a = { version = \"=1.0.0\" }\n//! ```\nfn f() {}\n";
        let m = read_manifest(text).unwrap();
        assert_eq!(m.edition.as_deref(), Some("2018"));
        assert!(m.dependencies.contains_key("a"));
        let plain = read_manifest("//! Run: rustc --edition 2015 --test -C opt-level=1 x.rs -o x && ./x\n").unwrap();
        assert_eq!(plain.edition.as_deref(), Some("2015"));
        assert!(plain.dependencies.is_empty());
    }
}
