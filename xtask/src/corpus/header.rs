//! What a gist says about itself in the `//!` lines it begins with: how to run it, and its manifest.

use anyhow::{Context, Result, bail, ensure};
use std::path::Path;
use toml::{Table, Value};

/// How a gist wants to be built.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Header {
    /// By rustc alone, with these arguments (no source file, no `-o`).
    Rustc(Vec<String>),
    /// As a package, with this manifest.
    Manifest(Table),
}

/// Reads the `//!` lines.
pub(crate) fn parse(gist: &str) -> Result<Header> {
    let lines: Vec<&str> =
        gist.lines().map_while(|l| l.strip_prefix("//!")).map(|l| l.strip_prefix(' ').unwrap_or(l)).collect();
    ensure!(!lines.is_empty(), "the gist does not begin with `//!` lines");
    if let Some(start) = lines.iter().position(|l| l.trim() == "```cargo") {
        let body = &lines[start + 1..];
        let end = body.iter().position(|l| l.trim() == "```").context("the manifest's block is not closed")?;
        let table = body[..end].join("\n").parse::<Table>().context("the manifest is not TOML")?;
        return Ok(Header::Manifest(table));
    }
    let run = lines.iter().find_map(|l| l.trim().strip_prefix("Run:")).context("neither a manifest nor a `Run:` line")?;
    Ok(Header::Rustc(rustc_arguments(run)?))
}

/// The arguments of the rustc call in a line like `rustc --edition 2021 --test gist.rs -o gist && ./gist`.
fn rustc_arguments(run: &str) -> Result<Vec<String>> {
    let mut words = words(run.trim().trim_matches('`'))?.into_iter();
    ensure!(words.next().as_deref() == Some("rustc"), "`Run:` does not begin with rustc: `{}`", run.trim());
    let mut out = Vec::new();
    while let Some(word) = words.next() {
        match word.as_str() {
            "&&" | ";" | "||" | "|" => break,
            "-o" => {
                words.next();
            }
            _ if Path::new(&word).extension().is_some_and(|e| e == "rs") => {}
            _ => out.push(word),
        }
    }
    ensure!(out.iter().any(|w| w == "--test"), "`Run:` lacks --test: `{}`", run.trim());
    ensure!(out.iter().any(|w| w.starts_with("--edition")), "`Run:` lacks --edition: `{}`", run.trim());
    for word in &out {
        let outside = ["--extern", "-L", "--sysroot", "@"].iter().any(|p| word.starts_with(p));
        ensure!(!outside, "`Run:` reaches outside of the gist: `{word}`");
    }
    Ok(out)
}

/// Splits as a shell does, quotes and backslashes included, nothing else.
pub(crate) fn words(line: &str) -> Result<Vec<String>> {
    let (mut out, mut word, mut quote) = (Vec::new(), None::<String>, None::<char>);
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(q), _) if c == q => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(chars.next()),
            (None, c) if c.is_whitespace() => out.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        bail!("a quote is not closed in `{line}`");
    }
    out.extend(word);
    Ok(out)
}

/// What is wrong with a manifest: the crate under test among the dependencies, or a dependency that is not an
/// exact version from a registry.
pub(super) fn manifest_faults(manifest: &Table, krate: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for (table, dependencies) in dependency_tables(manifest, "") {
        for (key, value) in dependencies {
            let package = value.get("package").and_then(Value::as_str).unwrap_or(key);
            if same_crate(package, krate) || same_crate(key, krate) {
                faults.push(format!("[{table}] names the crate under test: {key}"));
            }
            for outside in ["path", "git", "registry", "workspace"] {
                if value.get(outside).is_some() {
                    faults.push(format!("[{table}] {key} has `{outside}`"));
                }
            }
            let version = value.as_str().or_else(|| value.get("version").and_then(Value::as_str));
            if !version.is_some_and(|v| v.trim_start().starts_with('=')) {
                faults.push(format!("[{table}] {key} is not pinned"));
            }
        }
    }
    for table in ["patch", "replace", "workspace"] {
        if manifest.contains_key(table) {
            faults.push(format!("the manifest has [{table}]"));
        }
    }
    faults
}

fn same_crate(a: &str, b: &str) -> bool {
    a.replace('-', "_") == b.replace('-', "_")
}

/// All tables of dependencies with their names, those below `[target.…]` too.
fn dependency_tables<'a>(table: &'a Table, prefix: &str) -> Vec<(String, &'a Table)> {
    let mut out = Vec::new();
    for (key, value) in table {
        let Some(inner) = value.as_table() else { continue };
        match key.as_str() {
            "dependencies" | "dev-dependencies" | "build-dependencies" => out.push((format!("{prefix}{key}"), inner)),
            "target" => {
                for (platform, inner) in inner {
                    if let Some(inner) = inner.as_table() {
                        out.extend(dependency_tables(inner, &format!("target.{platform}.")));
                    }
                }
            }
            _ => {}
        }
    }
    out
}

/// The manifest of a package that holds the gist as its library, at `src/lib.rs`.
pub(super) fn package_manifest(manifest: &Table) -> Result<String> {
    let mut out = manifest.clone();
    let package = out.entry("package").or_insert_with(|| Value::Table(Table::new()));
    let package = package.as_table_mut().context("`package` is not a table")?;
    ensure!(package.contains_key("edition"), "the manifest has no edition");
    for outside in ["build", "workspace", "links"] {
        ensure!(!package.contains_key(outside), "the manifest's package has `{outside}`");
    }
    package.entry("name").or_insert_with(|| "gist".into());
    package.entry("version").or_insert_with(|| "0.0.0".into());
    let lib = out.entry("lib").or_insert_with(|| Value::Table(Table::new()));
    let lib = lib.as_table_mut().context("`lib` is not a table")?;
    lib.insert("path".to_owned(), "src/lib.rs".into());
    out.insert("workspace".to_owned(), Value::Table(Table::new()));
    Ok(toml::to_string(&out)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rustc_line_loses_file_and_output() {
        let gist = "//! A gist.\n//!\n//! Run: `rustc --edition 2018 --test -C overflow-checks -A warnings gist.rs -o gist && ./gist --exact a`\n\nfn f() {}\n";
        let expected = ["--edition", "2018", "--test", "-C", "overflow-checks", "-A", "warnings"].map(str::to_owned);
        assert_eq!(parse(gist).unwrap(), Header::Rustc(expected.to_vec()));
    }

    #[test]
    fn quoted_words_are_one_word() {
        assert_eq!(words(r#"--cfg 'feature="std"' a\ b "c d" ''"#).unwrap(), ["--cfg", "feature=\"std\"", "a b", "c d", ""]);
        assert!(words("'a").is_err());
    }

    #[test]
    fn rustc_line_may_not_reach_outside() {
        assert!(parse("//! Run: rustc --edition 2021 --test --extern heck=x.rlib g.rs").is_err());
        assert!(parse("//! Run: cargo test").is_err());
        assert!(parse("//! Run: rustc g.rs --test").is_err(), "no edition");
        assert!(parse("fn f() {}").is_err());
    }

    #[test]
    fn manifest_wins_over_run_line() {
        let gist = "//! Run: cargo gistify run gist.rs\n//! ```cargo\n//! [package]\n//! edition = \"2021\"\n//!\n//! [dependencies]\n//! libc = { version = \"=0.2.1\", default-features = false }\n//! ```\n";
        let Header::Manifest(table) = parse(gist).unwrap() else { panic!("not a manifest") };
        assert!(manifest_faults(&table, "heck").is_empty());
        let text = package_manifest(&table).unwrap();
        let made = text.parse::<Table>().unwrap();
        assert_eq!(made["package"]["name"].as_str(), Some("gist"));
        assert_eq!(made["lib"]["path"].as_str(), Some("src/lib.rs"));
        assert_eq!(made["dependencies"]["libc"]["version"].as_str(), Some("=0.2.1"));
        assert!(made.contains_key("workspace"));
    }

    #[test]
    fn crate_under_test_is_found_under_any_name() {
        let faults = |text: &str| manifest_faults(&text.parse().unwrap(), "num-traits");
        assert_eq!(faults("[dependencies]\nnum_traits = '=0.2.19'").len(), 1);
        assert_eq!(faults("[dev-dependencies]\nx = { version = '=1.0.0', package = 'num-traits' }").len(), 1);
        assert_eq!(faults("[target.'cfg(unix)'.dependencies]\nnum-traits = '=0.2.19'").len(), 1);
        assert_eq!(faults("[dependencies]\nlibc = '0.2'").len(), 1, "not pinned");
        assert_eq!(faults("[dependencies]\nlibc = { path = '../libc', version = '=1.0.0' }").len(), 1);
        assert_eq!(faults("[patch.crates-io]\nlibc = { path = '../libc' }").len(), 1);
    }
}
