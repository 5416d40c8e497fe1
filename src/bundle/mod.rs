//! The bundle: the whole crate under test, and the test's own crate, as one file that still does what the
//! project does.
//!
//! Every byte keeps its origin in the source map. The library is the root of the file; an integration test
//! (or a binary with a library beside it) becomes a module of it, and `extern crate self as the_lib;` makes the
//! paths in it resolve unchanged. `cfg`s are resolved with what the build used; files that the build includes
//! are put in place.

mod attributes;
mod crates;
mod fold;
mod front;
mod inline;
mod macros;
mod mount;
mod reads;

pub use front::WRAPPER_SUFFIX;
pub(crate) use macros::items_within;

use crate::error::{Error, Result};
use crate::process::{Limits, run};
use crate::source::cfg::CfgSet;
use crate::source::edit::{Edit, apply};
use crate::source::map::SourceMap;
use crate::source::mapped::Mapped;
use crate::workspace::capture::TestTarget;
use crate::workspace::record::RustcCall;
use attributes::behind_attributes;
use std::ops::Range;
use std::process::Command;

/// A whole project as one file.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// The text.
    pub text: String,
    /// Where each byte comes from.
    pub map: SourceMap,
    /// The edition it is compiled with.
    pub edition: String,
    /// The module that holds the test's own crate, when that is not the root.
    pub wrapper: Option<String>,
    /// The name of the library's crate, when the test uses it by name.
    pub library: Option<String>,
    /// Where items that are compiled for tests only begin, behind their attributes: `#[cfg(test)]` items, and the
    /// module that holds the test's own crate.
    pub test_only: Vec<usize>,
    /// The crates in it; the one at the root first.
    pub crates: Vec<BundledCrate>,
}

/// A crate of a bundle, as a text of its own with its modules inlined.
#[derive(Clone, Debug)]
pub struct BundledCrate {
    /// The names by which paths of the bundle say it, its own first. A test's own crate goes by the name of its module,
    /// since it may be called as the library is.
    pub names: Vec<String>,
    /// The module that it became; `None` for the crate at the root.
    pub module: Option<String>,
    /// Its name for the compiler.
    pub crate_name: String,
    /// The text, before anything in it was adapted; its origins name the files of the bundle's map.
    pub text: Mapped,
}

impl Bundle {
    /// The bundle without some stretches of its text.
    #[must_use]
    pub fn without(&self, ranges: Vec<Range<usize>>) -> Bundle {
        let (text, pieces) = apply(&self.text, ranges.into_iter().map(Edit::delete).collect());
        let place = |at: usize| {
            let piece = pieces.iter().find(|p| p.from.is_some_and(|from| (from..from + p.len).contains(&at)))?;
            Some(piece.start + at - piece.from?)
        };
        let test_only = self.test_only.iter().filter_map(|&at| place(at)).collect();
        Bundle { map: self.map.edited(&pieces), text, test_only, ..self.clone() }
    }
}

/// Bundles the crates of a test target.
///
/// # Errors
/// [`Error::Unsupported`] for what can't be bundled, with the reason; I/O errors with the path.
pub fn bundle(target: &TestTarget) -> Result<Bundle> {
    bundle_with(target, &builtin_cfgs(&target.call)?)
}

/// The same, with the `cfg`s that the compiler sets by itself.
///
/// # Errors
/// As [`bundle`].
pub fn bundle_with(target: &TestTarget, builtin: &CfgSet) -> Result<Bundle> {
    // A gist is compiled as the target is: with the test harness, or as a program.
    let program = !target.call.has_harness();
    let harness = |cfgs: CfgSet| if program { cfgs } else { cfgs.with("test") };
    let gist_cfgs = harness(builtin.clone());
    let test_cfgs = harness(builtin.union(&target.call.cfgs()));
    let mut files = Vec::new();
    let mut inlined = |call: &RustcCall, cfgs: CfgSet| -> Result<(Mapped, Vec<(usize, usize)>)> {
        let mut inliner = inline::Inliner::new(call, cfgs, gist_cfgs.clone());
        inliner.files = std::mem::take(&mut files);
        let root = inliner.root(&call.root()?)?;
        files = inliner.files;
        Ok((root, inliner.test_only))
    };
    let library = target.library.as_ref().map(|l| inlined(&l.call, builtin.union(&l.call.cfgs()))).transpose()?;
    let (test, test_only) = inlined(&target.call, test_cfgs)?;
    let members = target
        .mounted()
        .map(|(i, m)| Ok((i, inlined(&m.call, builtin.union(&m.call.cfgs()))?.0)))
        .collect::<Result<Vec<_>>>()?;
    let mounted = mount::mount(mount::Parts { target, library: library.map(|(text, _)| text), test, members })?;
    let (text, map) = mounted.root.finish(files);
    let (wrapper, test_only) = match mounted.wrapper {
        Some((name, _)) if program => (Some(name), Vec::new()),
        Some((name, start)) => (Some(name), vec![start]),
        None if target.library_apart && !program => (None, items_beside(&text, &mounted.crates)),
        None => (None, test_only.iter().flat_map(|&(file, at)| map.images(file, at).collect::<Vec<_>>()).collect()),
    };
    Ok(Bundle {
        text,
        map,
        edition: target.call.edition().to_owned(),
        wrapper,
        library: target.library.as_ref().map(|l| l.call.crate_name().to_owned()),
        test_only,
        crates: mounted.crates,
    })
}

/// Where the items of the root begin that are no crate's module, behind their attributes.
fn items_beside(text: &str, crates: &[BundledCrate]) -> Vec<usize> {
    let Ok(file) = syn::parse_file(text) else { return Vec::new() };
    let is_crate = |item: &&syn::Item| match item {
        syn::Item::Mod(m) => crates.iter().any(|c| c.module.as_ref().is_some_and(|name| m.ident == name)),
        _ => false,
    };
    file.items.iter().filter(|item| !is_crate(item)).map(behind_attributes).collect()
}

/// What rustc sets by itself for the call's target and codegen options.
fn builtin_cfgs(call: &RustcCall) -> Result<CfgSet> {
    let mut command = Command::new(&call.rustc);
    command.args(["--print", "cfg"]).current_dir(&call.cwd);
    let args = call.base_args();
    let mut it = args.iter();
    while let Some(arg) = it.next() {
        // Libraries have no say in it, and may be many.
        if arg == "--extern" || arg == "-L" {
            it.next();
        } else {
            command.arg(arg);
        }
    }
    let out = run(&mut command, Limits::default())?;
    if !out.status.success() {
        return Err(Error::Setup(format!("{} --print cfg failed: {}", call.rustc, out.stderr_text())));
    }
    Ok(CfgSet::from_lines(out.stdout_text().lines()))
}

#[cfg(test)]
mod unit {
    use super::*;
    use crate::workspace::capture::{BuiltCrate, TargetKind};
    use camino::Utf8Path;
    use cargo_metadata::PackageId;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn call(dir: &Utf8Path, root: &str, more: &str) -> RustcCall {
        RustcCall {
            rustc: "rustc".into(),
            args: format!("--edition=2021 {root} {more}").split_whitespace().map(str::to_owned).collect(),
            cwd: dir.to_owned(),
            env: BTreeMap::from([("CARGO_PKG_NAME".to_owned(), "demo".to_owned())]),
            tool: String::new(),
        }
    }

    /// The integration test `t.rs` of the library `lib.rs` in a folder.
    fn target(dir: &Utf8Path) -> TestTarget {
        let id = PackageId { repr: "demo".into() };
        let library = call(dir, "lib.rs", "--crate-name demo --crate-type lib");
        TestTarget {
            package_id: id.clone(),
            package: "demo".into(),
            package_dir: dir.to_owned(),
            kind: TargetKind::Test,
            name: "t".into(),
            executable: "/t".into(),
            call: call(dir, "t.rs", "--crate-name t --test --extern demo=/libdemo.rlib"),
            library: Some(BuiltCrate::new(id, library, "/libdemo.rlib".into())),
            members: Vec::new(),
            library_apart: false,
        }
    }

    fn of_library() -> impl Strategy<Value = String> {
        let pieces = vec![
            "// ä\n",
            "pub fn f() -> u8 { crate::g() }\n",
            "#[cfg(windows)] fn gone() {}\n",
            "#[cfg_attr(unix, inline)] pub fn h() { if cfg!(unix) {} else {} }\n",
            "pub const S: &str = include_str!(\"text.txt\");\n",
            "pub const P: &str = concat!(env!(\"CARGO_PKG_NAME\"), \"ö\");\n",
            "#[path = \"m.rs\"] pub mod n;\n",
            "#[macro_export] macro_rules! mac { ($x:expr) => { $crate::S.len() + $x } }\n",
            "pub struct A { pub x: u8, #[cfg(windows)] y: u8 }\n",
            "/// doc\n#[cfg(test)] mod tests { #[test] fn t() {} }\n",
        ];
        proptest::sample::subsequence(pieces, 0..=10).prop_shuffle().prop_map(|chosen| chosen.concat())
    }

    fn of_test() -> impl Strategy<Value = String> {
        let pieces = vec![
            "use demo::*;\n",
            "mod m;\n",
            "fn here() -> usize { crate::there() }\n",
            "fn there() -> usize { demo::mac!(1) }\n",
            "#[test] fn one() { assert_eq!(::demo::S.len(), crate::here(), \"ü {}\", crate::there()) }\n",
            "#[cfg(not(test))] fn gone() {}\n",
        ];
        proptest::sample::subsequence(pieces, 0..=6).prop_shuffle().prop_map(|chosen| chosen.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn every_byte_of_a_bundle_is_the_one_that_it_is_mapped_to(
            library in of_library(),
            module in of_library().prop_filter("what may be there but once", |m| !m.contains("#[path") && !m.contains("macro_export")),
            test in of_test(),
            mark: bool,
            ends_in_newline: bool,
            apart: bool,
        ) {
            let dir = tempfile::tempdir().unwrap();
            let dir = Utf8Path::from_path(dir.path()).unwrap();
            let mark = if mark { "\u{feff}" } else { "" };
            let test = if ends_in_newline { test } else { test.trim_end().to_owned() };
            std::fs::write(dir.join("lib.rs"), format!("{mark}#![allow(unused)]\n{library}")).unwrap();
            std::fs::write(dir.join("m.rs"), module).unwrap();
            std::fs::write(dir.join("t.rs"), format!("#!/bin/x\n{test}")).unwrap();
            std::fs::write(dir.join("text.txt"), "a \"text\"\n").unwrap();
            let target = target(dir);
            let target = if apart { target.with_library_apart().unwrap() } else { target };
            let bundle = bundle_with(&target, &CfgSet::from_lines(["unix"])).unwrap();
            prop_assert!(syn::parse_file(&bundle.text).is_ok(), "{}", bundle.text);
            let mut mapped = 0;
            for (at, byte) in bundle.text.bytes().enumerate() {
                let Some((file, from)) = bundle.map.origin(at).filter(|_| !starts_new(&bundle, at)) else { continue };
                prop_assert_eq!(bundle.map.files[file].text.as_bytes().get(from), Some(&byte), "byte {} of\n{}", at, bundle.text);
                prop_assert!(bundle.map.images(file, from).any(|image| image == at));
                mapped += 1;
            }
            prop_assert!(mapped > 0);
        }
    }

    /// Whether a byte is text that was written for the bundle.
    fn starts_new(bundle: &Bundle, at: usize) -> bool {
        bundle.map.segments.iter().any(|s| s.origin.is_none() && (s.start..s.start + s.len).contains(&at))
    }
}
