//! What a gist must not hold: ways around the test, and ways out of the file.
//!
//! It looks at tokens, not at items, so that what a macro body makes is seen too. Some of it is honest code in some
//! projects (`extern "C"`, `mod core`): [`beyond`] leaves out what the project has as well.

use crate::source::parse::{ParseError, parse};
use crate::source::tokens::is_punct;
use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use quote::ToTokens;

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Forbidden {
    /// `#![no_main]`: a `main` of its own.
    NoMain,
    /// `#![test_runner]`, `#![feature(custom_test_frameworks)]`, `#![reexport_test_harness_main]`.
    Harness,
    /// `#[link_section]`, `#[ctor]`, `#[dtor]`: code that runs before or after `main`.
    LifeBeforeMain,
    /// `#[no_mangle]`, `#[export_name]`: a symbol that can replace another.
    ExportedSymbol,
    /// `mod std`, `mod core`, `mod alloc`, `mod proc_macro`, or a module named as a crate that may not be faked.
    FakedCrate,
    /// `extern crate x as y` where `y` is a crate of the project or a standard one.
    CrateAlias,
    /// `asm!`, `global_asm!`, `naked_asm!`.
    InlineAssembly,
    /// An item of an `extern "…" { }` block.
    ForeignCode,
    /// `include!`, `include_str!`, `include_bytes!`.
    Include,
    /// `#[path = "…"]`.
    PathAttribute,
    /// `mod x;`: a module in another file.
    ModuleFile,
}

impl Forbidden {
    /// Whether its fault class is `self-import` (it reaches outside the file); else it is `forbidden`.
    #[must_use]
    pub fn is_self_import(self) -> bool {
        matches!(self, Forbidden::Include | Forbidden::PathAttribute | Forbidden::ModuleFile)
    }
}

/// A place in a gist that holds something forbidden.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is.
    pub kind: Forbidden,
    /// 1-based line.
    pub line: usize,
    /// Its tokens, shortened.
    pub text: String,
}

const STANDARD: &[&str] = &["std", "core", "alloc", "proc_macro"];

/// Looks for forbidden things. `crates` are the names of crates that a module or an alias may not stand in for
/// (wrapper modules that the bundle makes are left out by the caller).
///
/// ```
/// use cargo_gistify::verify::scan::{Forbidden, scan};
/// let found = scan("#![no_main]\nmod helper;", &[])?;
/// assert_eq!(found.iter().map(|f| (f.kind, f.line)).collect::<Vec<_>>(), [(Forbidden::NoMain, 1), (Forbidden::ModuleFile, 2)]);
/// # Ok::<(), cargo_gistify::source::parse::ParseError>(())
/// ```
///
/// # Errors
/// A text that is not Rust.
pub fn scan(gist: &str, crates: &[String]) -> Result<Vec<Finding>, ParseError> {
    let file = parse("the gist", gist)?;
    let mut scan = Scan { crates, out: Vec::new() };
    scan.stream(file.into_token_stream());
    scan.out.sort_by_key(|f| (f.line, f.kind));
    Ok(scan.out)
}

/// The findings in a gist that its project does not have as well. Nothing excuses reaching outside the file.
#[must_use]
pub fn beyond(gist: Vec<Finding>, project: &[Finding]) -> Vec<Finding> {
    let excused = |f: &Finding| {
        !f.kind.is_self_import() && project.iter().any(|p| (p.kind, p.text.as_str()) == (f.kind, f.text.as_str()))
    };
    gist.into_iter().filter(|f| !excused(f)).collect()
}

struct Scan<'a> {
    crates: &'a [String],
    out: Vec<Finding>,
}

fn ident(tree: Option<&TokenTree>) -> Option<String> {
    match tree {
        Some(TokenTree::Ident(i)) => Some(i.to_string()),
        _ => None,
    }
}

fn is_group(tree: Option<&TokenTree>, delimiter: Delimiter) -> bool {
    matches!(tree, Some(TokenTree::Group(g)) if g.delimiter() == delimiter)
}

fn short(trees: &[TokenTree]) -> String {
    const LONGEST: usize = 80;
    let text = trees.iter().cloned().collect::<TokenStream>().to_string();
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// Without doc comments, which a gist leaves out.
fn without_docs(trees: &[TokenTree]) -> Vec<TokenTree> {
    let is_doc = |t: Option<&TokenTree>| match t {
        Some(TokenTree::Group(g)) => ident(g.stream().into_iter().next().as_ref()).is_some_and(|i| i == "doc"),
        _ => false,
    };
    let starts_doc = |i: usize| is_punct(trees.get(i), '#') && is_doc(trees.get(i + 1));
    let in_doc = |i: usize| starts_doc(i) || (i > 0 && starts_doc(i - 1));
    (0..trees.len()).filter(|i| !in_doc(*i)).map(|i| trees[i].clone()).collect()
}

impl Scan<'_> {
    fn found(&mut self, kind: Forbidden, span: Span, trees: &[TokenTree]) {
        self.out.push(Finding { kind, line: span.start().line, text: short(trees) });
    }

    fn is_crate(&self, name: &str) -> bool {
        STANDARD.contains(&name) || self.crates.iter().any(|c| c == name)
    }

    fn stream(&mut self, stream: TokenStream) {
        let trees: Vec<TokenTree> = stream.into_iter().collect();
        for i in 0..trees.len() {
            self.at(&trees[i..]);
            if let TokenTree::Group(group) = &trees[i] {
                self.stream(group.stream());
            }
        }
    }

    /// Looks at what begins with the first tree.
    fn at(&mut self, trees: &[TokenTree]) {
        let Some(first) = trees.first() else { return };
        if is_punct(Some(first), '#') {
            let at = if is_punct(trees.get(1), '!') { 2 } else { 1 };
            if let Some(TokenTree::Group(g)) = trees.get(at).filter(|t| is_group(Some(t), Delimiter::Bracket)) {
                let content: Vec<TokenTree> = g.stream().into_iter().collect();
                self.attribute(&content, g.span());
            }
            return;
        }
        let Some(word) = ident(Some(first)) else { return };
        let span = first.span();
        match word.as_str() {
            "mod" => {
                let Some(name) = ident(trees.get(1)) else { return };
                if is_punct(trees.get(2), ';') {
                    self.found(Forbidden::ModuleFile, span, &trees[..2]);
                } else if is_group(trees.get(2), Delimiter::Brace) && self.is_crate(&name) {
                    self.found(Forbidden::FakedCrate, span, &trees[..2]);
                }
            }
            "extern" => {
                let abi = usize::from(matches!(trees.get(1), Some(TokenTree::Literal(_))));
                if let Some(TokenTree::Group(block)) = trees.get(1 + abi).filter(|t| is_group(Some(t), Delimiter::Brace)) {
                    self.foreign(&trees[..=abi], block.stream());
                }
                let words: Vec<String> = trees.iter().take(5).map_while(|t| ident(Some(t))).collect();
                if let [_, krate, from, alias, name] = words.as_slice() {
                    let renamed = krate == "crate" && alias == "as" && from != name && from != "self";
                    if renamed && self.is_crate(name) {
                        self.found(Forbidden::CrateAlias, span, &trees[..5]);
                    }
                }
            }
            "include" | "include_str" | "include_bytes" if is_punct(trees.get(1), '!') => {
                self.found(Forbidden::Include, span, &trees[..trees.len().min(3)]);
            }
            "asm" | "global_asm" | "naked_asm" if is_punct(trees.get(1), '!') => {
                self.found(Forbidden::InlineAssembly, span, &trees[..trees.len().min(3)]);
            }
            _ => {}
        }
    }

    /// Each item of an `extern "…" { }` block is a finding of its own, so that one may go and the others stay.
    fn foreign(&mut self, head: &[TokenTree], block: TokenStream) {
        let items: Vec<TokenTree> = block.into_iter().collect();
        for item in items.split(|t| is_punct(Some(t), ';')) {
            let item = without_docs(item);
            if let Some(first) = item.first() {
                self.found(Forbidden::ForeignCode, first.span(), &[head, &item].concat());
            }
        }
    }

    /// Looks at the content of an attribute, and of those in `cfg_attr(…)` and `unsafe(…)`.
    fn attribute(&mut self, content: &[TokenTree], span: Span) {
        let end = content.iter().position(|t| is_punct(Some(t), '=') || matches!(t, TokenTree::Group(_)));
        let name = content[..end.unwrap_or(content.len())].iter().rev().find_map(|t| ident(Some(t)));
        let argument: Vec<TokenTree> = match end.and_then(|at| content.get(at)) {
            Some(TokenTree::Group(g)) => g.stream().into_iter().collect(),
            _ => Vec::new(),
        };
        let kind = match name.as_deref() {
            Some("cfg_attr") => {
                argument.split(|t| is_punct(Some(t), ',')).skip(1).for_each(|inner| self.attribute(inner, span));
                return;
            }
            Some("unsafe") => return self.attribute(&argument, span),
            Some("no_main") => Forbidden::NoMain,
            Some("test_runner" | "reexport_test_harness_main") => Forbidden::Harness,
            Some("feature") if argument.iter().any(|t| ident(Some(t)).as_deref() == Some("custom_test_frameworks")) => {
                Forbidden::Harness
            }
            Some("link_section" | "ctor" | "dtor") => Forbidden::LifeBeforeMain,
            Some("no_mangle" | "export_name") => Forbidden::ExportedSymbol,
            Some("path") if content.len() > 1 && is_punct(content.get(1), '=') => Forbidden::PathAttribute,
            _ => return,
        };
        self.found(kind, span, content);
    }
}

#[cfg(test)]
mod unit {
    use super::*;

    fn kinds(gist: &str) -> Vec<Forbidden> {
        scan(gist, &["slab".to_owned()]).unwrap().into_iter().map(|f| f.kind).collect()
    }

    #[test]
    fn each_forbidden_thing_is_found_and_named() {
        use Forbidden::*;
        for (gist, kind) in [
            ("#![no_main]", NoMain),
            ("#![cfg_attr(test, no_main)]", NoMain),
            ("#![test_runner(crate::run)]", Harness),
            ("#![feature(a, custom_test_frameworks)]", Harness),
            ("#![reexport_test_harness_main = \"m\"]", Harness),
            ("#[link_section = \".init_array\"] static A: u8 = 1;", LifeBeforeMain),
            ("#[unsafe(link_section = \".init_array\")] static A: u8 = 1;", LifeBeforeMain),
            ("#[cfg_attr(all(), unsafe(link_section = \"x\"))] static A: u8 = 1;", LifeBeforeMain),
            ("#[ctor::ctor] fn a() {}", LifeBeforeMain),
            ("macro_rules! m { () => { #[ctor] fn a() {} } }", LifeBeforeMain),
            ("#[no_mangle] pub extern \"C\" fn main() {}", ExportedSymbol),
            ("mod a { pub mod std { } }", FakedCrate),
            ("mod slab { pub use crate::*; }", FakedCrate),
            ("extern crate fake as slab;", CrateAlias),
            ("extern crate fake as std;", CrateAlias),
            ("fn f() { unsafe { core::arch::asm!(\"nop\") } }", InlineAssembly),
            ("extern \"C\" { fn exit(c: i32); }", ForeignCode),
            ("unsafe extern \"C\" { fn exit(c: i32); }", ForeignCode),
            ("const A: &str = include_str!(\"x\");", Include),
            ("include!(\"x.rs\");", Include),
            ("#[path = \"x.rs\"] mod a {}", PathAttribute),
            ("mod a { mod b; }", ModuleFile),
        ] {
            assert_eq!(kinds(gist), [kind], "{gist}");
        }
    }

    #[test]
    fn honest_code_is_left_alone() {
        for gist in [
            "extern crate self as slab; extern crate alloc; extern crate std as std; extern crate serde as s;",
            "/// include!(\"x\") and mod std {}\n#[doc = \"#![no_main]\"] fn main() {}",
            "mod slab_test { use std::fmt; } fn f() { let path = 1; let asm = \"asm!()\"; }",
            "extern \"C\" fn f() {} type F = extern \"C\" fn();",
            "#[serde(path = \"x\")] struct S; #[rt::main(path = \"y\")] fn g() {}",
            "macro_rules! m { ($n:ident) => { mod $n; } }",
        ] {
            assert_eq!(kinds(gist), [], "{gist}");
        }
    }

    #[test]
    fn what_the_project_has_too_is_excused_unless_it_reaches_outside() {
        let scan = |text| scan(text, &[]).unwrap();
        let project = scan("mod core {} #[path = \"x.rs\"] mod a; extern \"C\" { fn a(); }");
        let left = beyond(scan("mod core { } #[path = \"x.rs\"] mod a; extern \"C\" { fn b(); }"), &project);
        let left: Vec<Forbidden> = left.into_iter().map(|f| f.kind).collect();
        assert_eq!(left, [Forbidden::ForeignCode, Forbidden::PathAttribute, Forbidden::ModuleFile]);
    }

    #[test]
    fn a_foreign_block_may_be_cut_but_not_changed() {
        let scan = |text| scan(text, &[]).unwrap();
        let project = scan("extern \"C\" { /// Docs.\n fn a(n: u8) -> u8; #[link_name = \"c\"] fn b(); static D: u8; }");
        let left = |text| beyond(scan(text), &project).into_iter().map(|f| f.text).collect::<Vec<_>>();
        assert!(left("extern \"C\" { fn a(n: u8) -> u8; static D: u8; }").is_empty());
        assert_eq!(left("extern \"C\" { fn b(); }"), ["extern \"C\" fn b ()"]);
        assert_eq!(left("extern { static D: u8; }").len(), 1);
    }
}
