//! Which tests a project has, and where they stand.
//!
//! The test executable is asked (libtest's JSON listing gives file, line and column); what it does not say
//! (`#[should_panic]`, groups of cases made from one function) is read from the source.

use crate::error::{Error, Result};
use crate::process::{Limits, run};
use crate::source::map::{Position, SourceFile};
use crate::workspace::capture::{TargetKind, TestTarget};
use camino::Utf8PathBuf;
use serde::Serialize;
use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

/// One test as libtest names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Test {
    /// The package.
    pub package: String,
    /// The kind of target.
    pub target_kind: TargetKind,
    /// The target's name.
    pub target: String,
    /// The test's path inside the target, as libtest prints it.
    pub name: String,
    /// The source file, absolute.
    pub file: Option<Utf8PathBuf>,
    /// 1-based line of the test's name.
    pub line: usize,
    /// 1-based column of the test's name, in characters.
    pub column: usize,
    /// `#[ignore]`
    pub ignored: bool,
    /// `#[should_panic]`
    pub should_panic: bool,
    /// For cases that an attribute macro makes of one function: the function's path.
    pub group: Option<String>,
}

/// Lists the tests of a built target.
///
/// # Errors
/// [`Error::ListFailed`] when the executable does not answer; [`Error::Unsupported`] for a custom harness.
pub fn list(target: &TestTarget) -> Result<Vec<Test>> {
    if !target.call.has_harness() {
        return Err(Error::Unsupported {
            test: target.selector(),
            reason: "it has a harness of its own (`harness = false`); only libtest's tests can be selected and listed"
                .into(),
        });
    }
    let listed = match json_listing(target)? {
        Some(tests) => tests,
        None => terse_listing(target)?,
    };
    let mut sources = Sources::default();
    Ok(listed.into_iter().map(|l| sources.describe(target, l)).collect())
}

/// One line of libtest's listing.
#[derive(Debug, Default, serde::Deserialize)]
struct Listed {
    name: String,
    #[serde(default)]
    ignore: bool,
    #[serde(default)]
    source_path: String,
    #[serde(default)]
    start_line: usize,
    #[serde(default)]
    start_col: usize,
}

fn list_command(target: &TestTarget) -> Command {
    let mut command = Command::new(&target.executable);
    // Listing runs no test, but the executable writes a profile when it ends: not into the user's tree.
    command.arg("--list").current_dir(&target.package_dir).envs(&target.call.env).env("LLVM_PROFILE_FILE", "/dev/null");
    command
}

fn limits() -> Limits {
    Limits { timeout: Some(Duration::from_secs(60)), ..Limits::default() }
}

fn json_listing(target: &TestTarget) -> Result<Option<Vec<Listed>>> {
    let mut command = list_command(target);
    command.args(["--format", "json", "-Z", "unstable-options"]).env("RUSTC_BOOTSTRAP", "1");
    let out = run(&mut command, limits())?;
    if !out.status.success() {
        return Ok(None);
    }
    let text = out.stdout_text();
    let tests = text
        .lines()
        .filter_map(|l| serde_json::from_str::<serde_json::Value>(l).ok())
        .filter(|v| v["type"] == "test" && v["event"] == "discovered")
        .filter_map(|v| serde_json::from_value(v).ok())
        .collect();
    Ok(Some(tests))
}

fn terse_listing(target: &TestTarget) -> Result<Vec<Listed>> {
    let mut command = list_command(target);
    command.args(["--format", "terse"]);
    let out = run(&mut command, limits())?;
    if !out.status.success() {
        let reason = format!("{}{}", out.stderr_text(), if out.timed_out { "no answer within 60 s" } else { "" });
        return Err(Error::ListFailed { target: target.selector(), reason: reason.trim().to_owned() });
    }
    let text = out.stdout_text();
    let names = text.lines().filter_map(|l| l.strip_suffix(": test"));
    Ok(names.map(|name| Listed { name: name.to_owned(), ..Listed::default() }).collect())
}

/// Parsed files, each read once.
#[derive(Default)]
struct Sources(BTreeMap<Utf8PathBuf, Option<ParsedFile>>);

struct ParsedFile {
    /// Every function: the line range of the item with its attributes, its name, whether it should panic.
    functions: Vec<FunctionFacts>,
}

struct FunctionFacts {
    first_line: usize,
    last_line: usize,
    name: String,
    should_panic: bool,
}

impl Sources {
    fn describe(&mut self, target: &TestTarget, listed: Listed) -> Test {
        let file = (!listed.source_path.is_empty()).then(|| target.call.cwd.join(&listed.source_path));
        let facts = file.as_ref().and_then(|path| {
            let parsed = self.0.entry(path.clone()).or_insert_with(|| ParsedFile::read(path));
            parsed.as_ref()?.function_at(listed.start_line)
        });
        // A test that is called otherwise than the function it stands on was made of it by an attribute macro.
        let plain = |name: &str| name.trim_start_matches("r#").to_owned();
        let own = |f: &&FunctionFacts| listed.name.rsplit("::").next().map(plain) == Some(plain(&f.name));
        let group = facts.filter(|f| !own(f)).map(|f| group_path(&listed.name, &f.name));
        Test {
            package: target.package.clone(),
            target_kind: target.kind,
            target: target.name.clone(),
            ignored: listed.ignore,
            should_panic: facts.is_some_and(|f| f.should_panic),
            group,
            file,
            line: listed.start_line,
            column: listed.start_col,
            name: listed.name,
        }
    }
}

/// The path of the function that made the case `name`: up to and including the segment that is its name.
fn group_path(name: &str, function: &str) -> String {
    let segments: Vec<&str> = name.split("::").collect();
    match segments.iter().rposition(|s| *s == function) {
        Some(i) => segments[..=i].join("::"),
        None => match segments.split_last() {
            Some((_, module)) if !module.is_empty() => format!("{}::{function}", module.join("::")),
            _ => function.to_owned(),
        },
    }
}

impl ParsedFile {
    fn read(path: &Utf8PathBuf) -> Option<ParsedFile> {
        let file = SourceFile::new(path.clone(), std::fs::read_to_string(path).ok()?);
        let tree = syn::parse_file(&file.text).ok()?;
        let mut visitor = Functions { found: Vec::new() };
        syn::visit::Visit::visit_file(&mut visitor, &tree);
        Some(ParsedFile { functions: visitor.found })
    }

    /// The innermost function on that line.
    fn function_at(&self, line: usize) -> Option<&FunctionFacts> {
        self.functions
            .iter()
            .filter(|f| (f.first_line..=f.last_line).contains(&line))
            .min_by_key(|f| f.last_line - f.first_line)
    }
}

struct Functions {
    found: Vec<FunctionFacts>,
}

impl<'ast> syn::visit::Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, f: &'ast syn::ItemFn) {
        use syn::spanned::Spanned;
        let span = f.span();
        self.found.push(FunctionFacts {
            first_line: span.start().line,
            last_line: span.end().line,
            name: f.sig.ident.to_string(),
            should_panic: f.attrs.iter().any(|a| a.path().is_ident("should_panic")),
        });
        syn::visit::visit_item_fn(self, f);
    }
}

/// How tests are selected.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Substrings (or whole names with `exact`); all tests when empty.
    pub patterns: Vec<String>,
    /// Names must match whole.
    pub exact: bool,
    /// Substrings (or whole names with `exact`) to leave out.
    pub skip: Vec<String>,
    /// Ignored tests too.
    pub ignored: bool,
}

impl Selection {
    /// Whether the test is selected. A group is selected by its own path as well.
    #[must_use]
    pub fn matches(&self, test: &Test) -> bool {
        let hit = |pattern: &String| {
            let names = [Some(&test.name), test.group.as_ref()];
            names.into_iter().flatten().any(|n| if self.exact { n == pattern } else { n.contains(pattern.as_str()) })
        };
        (self.patterns.is_empty() || self.patterns.iter().any(hit)) && !self.skip.iter().any(hit)
    }
}

/// The longest pattern that is compared with names, in bytes.
const LONGEST_PATTERN: usize = 1000;

/// Names that come close to a pattern, best first, at most five.
#[must_use]
pub fn nearest<'a>(pattern: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    // Comparing takes time by the square of it, and nobody mistypes that.
    if pattern.len() > LONGEST_PATTERN {
        return Vec::new();
    }
    let last = pattern.rsplit("::").next().unwrap_or(pattern);
    let score = |name: &str| {
        let tail = name.rsplit("::").next().unwrap_or(name);
        let ratio = |a: &str, b: &str| similar::TextDiff::from_chars(a, b).ratio();
        ratio(pattern, name).max(ratio(last, tail))
    };
    let mut all: Vec<(f32, &str)> = names.into_iter().map(|n| (score(n), n)).filter(|(s, _)| *s >= 0.5).collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    // Beside a good hit, what has only its module in common is noise.
    let best = all.first().map_or(0.0, |(s, _)| *s);
    all.retain(|(s, _)| s * 1.3 >= best);
    all.dedup_by(|a, b| a.1 == b.1);
    all.into_iter().take(5).map(|(_, n)| n.to_owned()).collect()
}

/// The position of a test's name in bytes, given its file (libtest counts characters).
#[must_use]
pub fn byte_position(test: &Test, file: &SourceFile) -> Position {
    let line_start = file.offset(Position { line: test.line, column: 1 });
    let bytes = file.text[line_start..].chars().take(test.column.saturating_sub(1)).map(char::len_utf8).sum::<usize>();
    Position { line: test.line, column: bytes + 1 }
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn a_case_belongs_to_the_function_in_its_path() {
        assert_eq!(group_path("a::adds::case_1", "adds"), "a::adds");
        assert_eq!(group_path("a::adds_1", "adds"), "a::adds");
        assert_eq!(group_path("adds_1", "adds"), "adds");
    }

    #[test]
    fn nearest_names_come_best_first() {
        let names = ["parse::empty_input", "parse::nested_list", "fmt::shows"];
        assert_eq!(nearest("parse::emtpy_input", names), ["parse::empty_input"]);
        assert!(nearest("zzz", names).is_empty());
    }
}
