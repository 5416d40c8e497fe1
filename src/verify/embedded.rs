//! What the manifest in the header of a gist must not bring in: the crate under test, other sources, code that runs at build time.

use super::scan::{Finding, Forbidden};
use crate::error::Result;
use crate::gist::read_manifest;
use toml::{Table, Value};

/// Looks through the manifest in a gist's header, if it has one. `crates` are the names of the crates under test, `repositories` the
/// addresses of those that the project's own dependencies come from.
///
/// ```
/// use cargo_gistify::verify::embedded::manifest;
/// let gist = "//! ```cargo\n//! [dependencies]\n//! gauge = { package = \"meter\", version = \"1\" }\n//! ```\n";
/// let found = manifest(gist, &["meter".to_owned()], &[])?;
/// assert_eq!(
///     found[0].to_string(),
///     "line 3: `gauge = { package = \"meter\", version = \"1\" }` brings in the crate under test"
/// );
/// # Ok::<(), cargo_gistify::error::Error>(())
/// ```
///
/// # Errors
/// When the manifest is no TOML.
pub fn manifest(gist: &str, crates: &[String], repositories: &[String]) -> Result<Vec<Finding>> {
    let table = read_manifest(gist)?.table;
    let mut look = Look { gist, crates, repositories, out: Vec::new() };
    look.tables(&table);
    if let Some(targets) = table.get("target").and_then(Value::as_table) {
        targets.values().filter_map(Value::as_table).for_each(|t| look.tables(t));
    }
    for key in ["patch", "replace", "workspace"] {
        if table.contains_key(key) {
            look.found(Forbidden::OutsideSource, format!("[{key}]"), key);
        }
    }
    if let Some(package) = table.get("package").and_then(Value::as_table) {
        for (key, kind) in
            [("build", Forbidden::BuildScript), ("links", Forbidden::BuildScript), ("workspace", Forbidden::OutsideSource)]
        {
            if let Some(value) = package.get(key).filter(|v| v.as_bool() != Some(false)) {
                look.found(kind, format!("{key} = {value}"), key);
            }
        }
    }
    for key in ["lib", "bin", "test", "example", "bench"] {
        match table.get(key) {
            Some(Value::Table(one)) => look.target(one),
            Some(Value::Array(several)) => several.iter().filter_map(Value::as_table).for_each(|t| look.target(t)),
            _ => {}
        }
    }
    look.out.sort_by_key(|f| (f.line, f.kind));
    Ok(look.out)
}

struct Look<'a> {
    gist: &'a str,
    crates: &'a [String],
    repositories: &'a [String],
    out: Vec<Finding>,
}

impl Look<'_> {
    /// `at` is a word of the line.
    fn found(&mut self, kind: Forbidden, text: String, at: &str) {
        let lines = || self.gist.lines().enumerate();
        let fence = lines().position(|(_, l)| l.contains("```cargo")).unwrap_or(0);
        let line = lines().skip(fence).find(|(_, l)| l.contains(at)).map_or(fence, |(i, _)| i) + 1;
        self.out.push(Finding { kind, line, text });
    }

    /// The tables of dependencies, those for one platform too.
    fn tables(&mut self, around: &Table) {
        for (key, kind) in [
            ("dependencies", None),
            ("dev-dependencies", None),
            ("dev_dependencies", None),
            ("build-dependencies", Some(Forbidden::BuildScript)),
            ("build_dependencies", Some(Forbidden::BuildScript)),
        ] {
            let Some(table) = around.get(key).and_then(Value::as_table) else { continue };
            if let Some(kind) = kind {
                self.found(kind, format!("[{key}]"), key);
            }
            table.iter().for_each(|(name, spec)| self.dependency(name, spec));
        }
    }

    fn dependency(&mut self, name: &str, spec: &Value) {
        let field = |key: &str| spec.get(key).and_then(Value::as_str);
        let is_ours = |n: &str| self.crates.iter().any(|c| *c == n.replace('-', "_"));
        let git = field("git").is_some_and(|url| !self.repositories.iter().any(|known| known == url));
        let elsewhere =
            ["path", "registry", "registry-index", "base", "workspace"].iter().any(|key| spec.get(key).is_some());
        let kind = if is_ours(name) || field("package").is_some_and(is_ours) {
            Forbidden::CrateUnderTest
        } else if git || elsewhere {
            Forbidden::OutsideSource
        } else {
            return;
        };
        self.found(kind, format!("{name} = {spec}"), name);
    }

    fn target(&mut self, target: &Table) {
        if let Some(path) = target.get("path") {
            self.found(Forbidden::OutsideSource, format!("path = {path}"), "path");
        }
        for key in ["proc-macro", "proc_macro", "plugin"] {
            if target.get(key).and_then(Value::as_bool) == Some(true) {
                self.found(Forbidden::ProcMacro, format!("{key} = true"), key);
            }
        }
        if target.get("harness").and_then(Value::as_bool) == Some(false) {
            self.found(Forbidden::Harness, "harness = false".to_owned(), "harness");
        }
    }
}

#[cfg(test)]
mod unit {
    use super::*;

    fn kinds(body: &str) -> Vec<Forbidden> {
        let lines: String = body.lines().map(|l| format!("//! {l}\n")).collect();
        let gist = format!("//! ```cargo\n{lines}//! ```\nfn f() {{}}\n");
        let known = ["https://example.org/known".to_owned()];
        manifest(&gist, &["my_crate".to_owned()], &known).unwrap().into_iter().map(|f| f.kind).collect()
    }

    #[test]
    fn what_brings_in_the_crate_or_other_sources_is_found() {
        use Forbidden::*;
        for (body, kind) in [
            ("[dependencies]\nmy-crate = \"1\"", CrateUnderTest),
            ("[dependencies]\nx = { package = \"my-crate\", version = \"1\" }", CrateUnderTest),
            ("[dev-dependencies]\nmy_crate = { path = \"/x\" }", CrateUnderTest),
            ("[target.'cfg(unix)'.dependencies]\nmy-crate = \"1\"", CrateUnderTest),
            ("[dependencies]\nitoa = { path = \"/x\" }", OutsideSource),
            ("[dependencies.itoa]\ngit = \"https://example.org/other\"", OutsideSource),
            ("[dependencies]\nitoa = { version = \"1\", registry = \"mine\" }", OutsideSource),
            ("[dependencies]\nitoa.workspace = true", OutsideSource),
            ("[patch.crates-io]\nitoa = { path = \"/x\" }", OutsideSource),
            ("[workspace]", OutsideSource),
            ("[lib]\npath = \"/x/lib.rs\"", OutsideSource),
            ("[[test]]\nname = \"t\"\nharness = false", Harness),
            ("[lib]\nproc-macro = true", ProcMacro),
            ("[package]\nbuild = \"x.rs\"", BuildScript),
            ("[build-dependencies]\ncc = \"1\"", BuildScript),
        ] {
            assert_eq!(kinds(body), [kind], "{body}");
        }
    }

    #[test]
    fn pinned_dependencies_of_the_project_and_its_own_name_are_left_alone() {
        for body in [
            "",
            "[package]\nname = \"my-crate\"\nversion = \"1.0.0\"\nbuild = false\n[dependencies]\nitoa = { version = \"=1.0.0\" }",
            "[dependencies]\nx = { git = \"https://example.org/known\", rev = \"abc\" }\n[profile.test]\nopt-level = 1",
        ] {
            assert_eq!(kinds(body), [], "{body}");
        }
        assert!(manifest("//! ```cargo\n//! itoa = = 1\n//! ```\n", &[], &[]).is_err());
        assert_eq!(manifest("fn f() {}", &[], &[]).unwrap(), []);
    }
}
