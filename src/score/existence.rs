//! The line existence rate: which share of a gist's lines are lines of the project, in the same place.
//!
//! A line of the gist exists when the project's block of the same identity has an equal line. It is membership in
//! the set of that block's lines: order and how often a line stands there are not looked at, so that cutting,
//! which is what a gist is made by, never costs anything. A block without a counterpart scores 0 on all its lines.
//! Several blocks of one identity (under different `cfg`s) count as one.

use super::ParseError;
use super::blocks::{Mount, WRAPPER_LINE, blocks};
use super::layout::Names;
use crate::source::parse::{code, parse_items, skipped};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// One crate of the project, as one text in which each `mod x;` is inlined; its `cfg`s need not be resolved.
#[derive(Clone, Debug)]
pub struct CrateText {
    /// The names by which the crate is written in paths (`my_lib`, not `my-lib`), its own first.
    pub names: Vec<String>,
    /// The whole text.
    pub text: String,
}

impl CrateText {
    /// A crate with a single name.
    #[must_use]
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> CrateText {
        CrateText { names: vec![name.into().replace('-', "_")], text: text.into() }
    }
}

/// A module at the gist's root that holds another crate (an integration test's file, a workspace member).
#[derive(Clone, Debug)]
pub struct Wrapper {
    /// The module's name.
    pub module: String,
    /// A name of the crate that it holds.
    pub krate: String,
}

/// How a gist is put together.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// A name of the crate that stands at the gist's root; the first of the index when `None`.
    pub root: Option<String>,
    /// Modules that hold other crates.
    pub wrappers: Vec<Wrapper>,
    /// A name of the crate of which items may stand at the root, too: an integration test's, in a gist that has it there.
    pub beside: Option<String>,
}

/// A line that the project does not have in that place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignLine {
    /// The line, as it was compared.
    pub line_text: String,
    /// The block it stands in: `fn a::<T as Tr>::f`, `top level of a`.
    pub block: String,
}

/// The line existence rate of a gist.
#[derive(Clone, Debug, PartialEq)]
pub struct Existence {
    /// `existing / lines`, from 0 to 1; 0 for a gist without lines.
    pub rate: f64,
    /// Lines of the gist, as laid out for comparing.
    pub lines: usize,
    /// Those that the project has.
    pub existing: usize,
    /// The others, in the order of the gist.
    pub foreign: Vec<ForeignLine>,
}

/// Where the project has a line of a gist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// In the block of the same identity in crate number `krate`; the byte where it begins, unless it stands for the root.
    At { krate: usize, offset: Option<usize> },
    /// It makes the paths of an integration test hold, and counts as existing.
    Said,
    /// That block does not have it.
    NoLine,
    /// There is no such block.
    NoBlock,
}

/// A line of a gist's layout.
#[derive(Debug)]
pub(super) struct JudgedLine {
    /// As it is compared.
    pub(super) text: String,
    /// The block it stands in.
    pub(super) block: String,
    /// Its bytes in the gist.
    pub(super) at: Range<usize>,
    /// Whether it exists.
    pub(super) found: Found,
}

/// The project's blocks, made once and used for all its gists.
#[derive(Debug, Default)]
pub struct Index {
    krates: FxHashMap<String, usize>,
    /// Of each block its lines, and where in the crate's text each stands first; nowhere what every crate has.
    blocks: FxHashMap<(usize, String), FxHashMap<String, Option<usize>>>,
    /// Of each function, how often it may panic, and whether it does nothing else.
    panics: FxHashMap<(usize, String), (usize, bool)>,
}

impl Index {
    /// Reads the project's crates.
    ///
    /// # Errors
    /// A crate's text that is not Rust.
    pub fn new(crates: &[CrateText]) -> Result<Index, ParseError> {
        let mut index = Index::default();
        for (number, krate) in crates.iter().enumerate() {
            for name in &krate.names {
                index.krates.entry(name.clone()).or_insert(number);
            }
        }
        let names: Names = index.krates.keys().cloned().collect();
        for (number, krate) in crates.iter().enumerate() {
            let what = krate.names.first().map_or("a crate", String::as_str);
            let root = ((number, "mod".to_owned()), [(WRAPPER_LINE.to_owned(), None)].into_iter().collect());
            index.blocks.extend([root]);
            let start = krate.text.len() - code(&krate.text).len();
            parse_items(what, &krate.text, |part| {
                for block in blocks(part, Some(number), &[], &names) {
                    if block.panics > 0 || block.stub {
                        let (panics, stub) = index.panics.entry((number, block.key.clone())).or_default();
                        *panics = block.panics.max(*panics);
                        *stub |= block.stub;
                    }
                    let known = index.blocks.entry((number, block.key)).or_default();
                    for line in block.lines {
                        known.entry(line.text).or_insert(Some(start + line.at.start));
                    }
                }
            })?;
        }
        Ok(index)
    }

    /// The line existence rate of `gist`.
    ///
    /// ```
    /// use cargo_gistify::score::existence::{CrateText, Index, Options};
    /// let index = Index::new(&[CrateText::new("demo", "pub fn one() -> u8 { log(); 1 } fn log() {}")])?;
    /// let score = index.score("pub fn one() -> u8 { 1 } fn two() {}", &Options::default())?;
    /// assert_eq!((score.existing, score.lines), (2, 3));
    /// assert_eq!(score.foreign[0].block, "fn two");
    /// # Ok::<(), cargo_gistify::score::ParseError>(())
    /// ```
    ///
    /// # Errors
    /// A gist that is not Rust.
    pub fn score(&self, gist: &str, options: &Options) -> Result<Existence, ParseError> {
        let judged = self.judge(gist, options)?;
        let lines = judged.len();
        let is_foreign = |l: &JudgedLine| matches!(l.found, Found::NoLine | Found::NoBlock);
        let foreign: Vec<ForeignLine> =
            judged.into_iter().filter(is_foreign).map(|l| ForeignLine { line_text: l.text, block: l.block }).collect();
        let existing = lines - foreign.len();
        let rate = if lines == 0 { 0.0 } else { existing as f64 / lines as f64 };
        Ok(Existence { rate, lines, existing, foreign })
    }

    /// Every line of a gist's layout, and whether it exists.
    pub(super) fn judge(&self, gist: &str, options: &Options) -> Result<Vec<JudgedLine>, ParseError> {
        let mut out = Vec::new();
        for block in self.gist_blocks(gist, options)? {
            let known = self.own(&block, options).and_then(|own| Some((own.0, self.blocks.get(&own)?)));
            for line in block.lines {
                let place = known.and_then(|(krate, lines)| Some((krate, *lines.get(&line.text)?)));
                let found = match place {
                    Some((krate, offset)) => Found::At { krate, offset },
                    None if self.is_alias_of_self(&line.text) => Found::Said,
                    None if known.is_some() => Found::NoLine,
                    None => Found::NoBlock,
                };
                out.push(JudgedLine { text: line.text, block: block.key.clone(), at: line.at, found });
            }
        }
        Ok(out)
    }

    /// Bodies and branches of `gist` that do nothing but panic where the project's do something: a function that is
    /// not the project's is one if that is all that it does, any other is as many as it has panics more than the project's.
    pub(super) fn stubs(&self, gist: &str, options: &Options) -> Result<usize, ParseError> {
        let blocks = self.gist_blocks(gist, options)?;
        let of_block = |block: &super::blocks::Block| {
            let Some(own) = self.own(block, options) else { return usize::from(block.stub) };
            let &(panics, stub) = self.panics.get(&own).unwrap_or(&(0, false));
            block.panics.saturating_sub(panics).max(usize::from(block.stub && !stub))
        };
        Ok(blocks.iter().map(of_block).sum())
    }

    /// Whether any function of that name has such a line, in any module, type or trait.
    pub(super) fn has_in_function(&self, name: &str, line: &str) -> bool {
        let is_called = |key: &str| key.starts_with("fn ") && key.rsplit([':', ' ']).next() == Some(name);
        self.blocks.iter().any(|((_, key), lines)| is_called(key) && lines.contains_key(line))
    }

    /// The project's block that a block of a gist stands for.
    fn own(&self, block: &super::blocks::Block, options: &Options) -> Option<(usize, String)> {
        let krate = block.krate?;
        let at_root = krate == self.root(options)?;
        let beside = options.beside.as_ref().filter(|_| at_root).and_then(|name| self.krates.get(name).copied());
        let mut keys = [Some(krate), beside].into_iter().flatten().map(|k| (k, block.key.clone()));
        keys.find(|key| self.blocks.contains_key(key))
    }

    fn root(&self, options: &Options) -> Option<usize> {
        match &options.root {
            Some(name) => self.krates.get(name).copied(),
            None => Some(0),
        }
    }

    /// Names of the project's crates.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.krates.keys().cloned().collect()
    }

    fn gist_blocks(&self, gist: &str, options: &Options) -> Result<Vec<super::blocks::Block>, ParseError> {
        let file = super::parse("the gist", gist)?;
        // Spans count from there on.
        let start = skipped(gist, &file);
        let mut names: Names = self.krates.keys().cloned().collect();
        names.extend(options.wrappers.iter().map(|w| w.module.clone()));
        let mounts: Vec<Mount<'_>> = options
            .wrappers
            .iter()
            .map(|w| Mount { module: &w.module, krate: self.krates.get(&w.krate).copied() })
            .collect();
        let mut blocks = blocks(file, self.root(options), &mounts, &names);
        for line in blocks.iter_mut().flat_map(|b| &mut b.lines) {
            line.at = start + line.at.start..start + line.at.end;
        }
        Ok(blocks)
    }

    /// `extern crate self as x;`, where `x` is a crate of the project: it makes the paths of an integration test hold.
    fn is_alias_of_self(&self, line: &str) -> bool {
        line.strip_prefix("extern crate self as ").is_some_and(|name| self.krates.contains_key(name))
    }
}

#[cfg(test)]
mod unit {
    use super::*;
    use crate::score::cuts::cuts;
    use crate::source::edit::apply;
    use proptest::prelude::*;

    const C: &str = include_str!("existence.rs");

    fn score(c: &str, g: &str) -> Existence {
        Index::new(&[CrateText::new("my-lib", c)]).unwrap().score(g, &Options::default()).unwrap()
    }

    fn foreign(c: &str, g: &str) -> Vec<String> {
        score(c, g).foreign.into_iter().map(|f| format!("{}: {}", f.block, f.line_text)).collect()
    }

    #[test]
    fn a_line_exists_only_in_the_block_of_its_identity() {
        let c = "fn a() { one(); } fn b() { two(); } impl T for A { fn f(&self) { three(); } } impl A { fn f(&self) { four(); } }";
        assert_eq!(foreign(c, "fn a() { two(); }"), ["fn a: two()"]);
        assert_eq!(foreign(c, "impl A { fn f(&self) { three(); } }"), ["fn A::f: three()"]);
        assert_eq!(foreign(c, "mod m { fn a() { one(); } }"), ["mod m: mod m {", "fn m::a: fn a() {", "fn m::a: one()"]);
    }

    #[test]
    fn a_reordered_or_repeated_line_exists() {
        assert_eq!(score("fn a() { x(); y(); }", "fn a() { y(); y(); x(); }").rate, 1.0);
    }

    #[test]
    fn the_rate_is_existing_of_all_lines_and_a_block_without_a_counterpart_scores_none() {
        let c = "fn a() { one(); two(); } struct S { x: u8, y: u8 }";
        // `fn a` 2 of 3 (three() is foreign), `struct S` 2 of 2, `fn b` 0 of 2: 4 of 7.
        let s = score(c, "fn a() { one(); three(); } struct S { y: u8 } fn b() { one(); }");
        assert_eq!((s.existing, s.lines, s.foreign.len()), (4, 7, 3));
        assert_eq!(s.rate, 4.0 / 7.0);
    }

    #[test]
    fn a_stub_is_a_foreign_line() {
        assert_eq!(foreign("fn a() -> u8 { 1 }", "fn a() -> u8 { unimplemented!() }"), ["fn a: unimplemented!()"]);
    }

    #[test]
    fn top_level_lines_are_compared_with_those_of_the_same_module() {
        let c = "use a::{b, c}; mod m { use d::e; t! { x } }";
        assert_eq!(score(c, "use a::c; pub mod m { use d::e; t! { x } }").rate, 1.0);
        assert_eq!(
            foreign(c, "use d::e; mod m { use a::b; t! { y } }"),
            ["top level: use d::e", "top level of m: use a::b", "top level of m: y"]
        );
    }

    #[test]
    fn a_module_of_a_mounted_crate_may_be_called_as_the_crate_is() {
        let index = Index::new(&[CrateText::new("lib", ""), CrateText::new("bytes", "mod bytes { fn a() {} }")]).unwrap();
        let wrappers = vec![Wrapper { module: "bytes".into(), krate: "bytes".into() }];
        let score =
            index.score("mod bytes { mod bytes { fn a() {} } }", &Options { wrappers, ..Options::default() }).unwrap();
        assert_eq!((score.existing, score.lines), (3, 3));
    }

    #[test]
    fn a_wrapper_stands_for_the_root_of_its_crate() {
        let lib = CrateText::new("slab", "pub struct Slab; impl Slab { pub fn new() -> Slab { Slab } }");
        let test = CrateText::new(
            "slab-test",
            "use slab::Slab; mod common { pub fn h() {} } #[test] fn t() { slab::Slab::new(); common::h() }",
        );
        let index = Index::new(&[lib, test]).unwrap();
        let gist = "extern crate self as slab; pub struct Slab; impl Slab { pub fn new() -> Slab { Slab } }
            #[cfg(test)] mod it { use slab::Slab; mod common { pub fn h() {} } #[test] fn t() { crate::Slab::new(); crate::it::common::h() } }";
        let options =
            Options { wrappers: vec![Wrapper { module: "it".into(), krate: "slab_test".into() }], ..Options::default() };
        let all = index.score(gist, &options).unwrap();
        assert_eq!((all.rate, all.foreign), (1.0, vec![]));
        let unknown =
            Options { wrappers: vec![Wrapper { module: "it".into(), krate: "other".into() }], ..Options::default() };
        assert!(index.score(gist, &unknown).unwrap().rate < 0.7);
        assert_eq!(foreign("fn a() {}", "extern crate self as fake;"), ["top level: extern crate self as fake"]);
    }

    #[test]
    fn an_empty_gist_is_not_grounded() {
        assert_eq!(score("fn a() {}", "// nothing").rate, 0.0);
    }

    #[test]
    fn a_gist_that_is_not_rust_is_an_error() {
        let index = Index::new(&[CrateText::new("a", "fn a() {}")]).unwrap();
        let e = index.score("fn a() {\n  let", &Options::default()).unwrap_err();
        assert!(e.to_string().starts_with("the gist can't be parsed: "), "{e}");
    }

    /// Cuts what `keep` does not name; every line that is left must exist.
    fn all_exists_after_cuts(index: &Index, text: &str, mut cut: impl FnMut() -> bool) -> Result<(), String> {
        let edits = cuts(text).into_iter().filter(|_| cut()).collect();
        let (gist, _) = apply(text, edits);
        if syn::parse_file(&gist).is_err() {
            return Err(format!("the cuts of the test itself are wrong:\n{gist}"));
        }
        let score = index.score(&gist, &Options::default()).map_err(|e| e.to_string())?;
        if score.foreign.is_empty() { Ok(()) } else { Err(format!("{:#?}\n{gist}", score.foreign)) }
    }

    fn xorshift(seed: u64) -> impl FnMut() -> u64 {
        let mut x = seed | 1;
        move || {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            x
        }
    }

    #[test]
    fn a_text_exists_in_itself() {
        for text in [C, include_str!("layout.rs"), include_str!("blocks.rs"), include_str!("cuts.rs")] {
            assert_eq!(score(text, text).foreign, []);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn what_is_left_after_any_cuts_exists(seed: u64, one_in in 1u64..40) {
            for text in [C, include_str!("layout.rs"), include_str!("../process/mod.rs")] {
                let index = Index::new(&[CrateText::new("c", text)]).unwrap();
                let mut next = xorshift(seed);
                let end = all_exists_after_cuts(&index, text, || next().is_multiple_of(one_in));
                prop_assert!(end.is_ok(), "{}", end.unwrap_err());
            }
        }
    }
}
