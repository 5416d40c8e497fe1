//! What a gist must not hold: ways around the test, and ways out of the file.
//!
//! It looks at tokens, not at items, so that what a macro body makes is seen too. Some of it is honest code in some
//! projects (`extern "C"`, `mod core`, `catch_unwind`): [`beyond`] leaves out what the project has as well.
//!
//! Names are taken as they are written. What is put together at run time, and what a macro makes of pieces that look harmless,
//! is left to the sandbox and to the comparison of the outcomes.

use super::names::{ATTRIBUTES, COMPARISONS, ENDS, MACROS, PANICS, STANDARD, UnderUse, leaves};
use crate::source::parse::{ParseError, parse};
use crate::source::tokens::{is_path_sep, is_punct};
use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::ToTokens;
use std::collections::BTreeSet;
use std::fmt;

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Forbidden {
    /// `#![no_main]`: a `main` of its own.
    NoMain,
    /// `#![test_runner]`, `#![feature(custom_test_frameworks)]`, `#![reexport_test_harness_main]`, `harness = false` in the manifest.
    Harness,
    /// `#[link_section]`, `#[ctor]`, `#[dtor]`: code that runs before or after `main`.
    LifeBeforeMain,
    /// `#[no_mangle]`, `#[export_name]`: a symbol that can replace another.
    ExportedSymbol,
    /// `#[global_allocator]`, `#[panic_handler]`, `#[lang]` and the like.
    Runtime,
    /// `#[link]`, `#[linkage]`.
    Linked,
    /// `#![feature]`: one finding a feature.
    Feature,
    /// `#[$name = …]`, `#[$name(…)]` in a macro.
    MadeAttribute,
    /// `mod std`, `mod core`, `mod alloc`, `mod proc_macro`, or a module named as a crate that may not be faked.
    FakedCrate,
    /// `mod $name { }` in a macro.
    MadeModule,
    /// `extern crate x as y` where `y` is a crate of the project or a standard one.
    CrateAlias,
    /// A macro, an import or a type by the name of a standard macro, attribute or crate.
    Shadow,
    /// `macro_rules! $name` in a macro.
    MadeMacro,
    /// `impl PartialEq for`, and what else an assertion leans on.
    Comparison,
    /// `process::exit`, `process::abort`, `CommandExt` (`exec`).
    EndsProcess,
    /// `catch_unwind`, `set_hook` and the like.
    Panics,
    /// `asm!`, `global_asm!`, `naked_asm!`.
    InlineAssembly,
    /// An item of an `extern "…" { }` block.
    ForeignCode,
    /// A build script, in the manifest.
    BuildScript,
    /// A procedural macro, in the manifest.
    ProcMacro,
    /// `include!`, `include_str!`, `include_bytes!`.
    Include,
    /// The name of one of those, imported or handed to another macro.
    IncludeName,
    /// `env!` of a folder, or of what is not written out.
    BuildFolder,
    /// `#[path = "…"]`.
    PathAttribute,
    /// `mod x;`: a module in another file.
    ModuleFile,
    /// The crate under test is among the dependencies.
    CrateUnderTest,
    /// A dependency or a target of the manifest that comes from elsewhere than the project's do.
    OutsideSource,
}

impl Forbidden {
    /// Whether its fault class is `self-import` (it reaches outside the file); else it is `forbidden`.
    #[must_use]
    pub fn is_self_import(self) -> bool {
        use Forbidden::*;
        matches!(self, Include | IncludeName | BuildFolder | PathAttribute | ModuleFile | CrateUnderTest | OutsideSource)
    }

    /// Whether it is honest code where the project has it, too. Reaching into a file is not, wherever it stands.
    fn is_excusable(self) -> bool {
        use Forbidden::*;
        !matches!(self, Include | PathAttribute | ModuleFile | CrateUnderTest | OutsideSource | BuildScript | ProcMacro)
    }

    /// What is wrong with it, behind its text.
    #[must_use]
    pub fn why(self) -> &'static str {
        match self {
            Forbidden::NoMain => "has a `main` of its own run instead of the harness",
            Forbidden::Harness => "is a harness of its own",
            Forbidden::LifeBeforeMain => "is code that runs before or after `main`",
            Forbidden::ExportedSymbol => "is a symbol that the linker may put in the place of another",
            Forbidden::Runtime => "replaces a part of the runtime",
            Forbidden::Linked => "links what is no Rust",
            Forbidden::Feature => "is an unstable feature that the project does not use",
            Forbidden::MadeAttribute => "is an attribute that a macro makes",
            Forbidden::FakedCrate | Forbidden::CrateAlias => "stands in for a crate",
            Forbidden::MadeModule => "is a module whose name a macro makes",
            Forbidden::Shadow => "shadows what is Rust's own",
            Forbidden::MadeMacro => "is a macro whose name another macro makes",
            Forbidden::Comparison => "is a comparison that the project does not have",
            Forbidden::EndsProcess => "ends the process, which the project does not",
            Forbidden::Panics => "touches how panics go, which the project does not",
            Forbidden::InlineAssembly => "is assembly",
            Forbidden::ForeignCode => "calls foreign code that the project does not call",
            Forbidden::BuildScript => "is for a build script, and a gist has none",
            Forbidden::ProcMacro => "makes a procedural macro of the gist, which the compiler would run",
            Forbidden::Include | Forbidden::IncludeName => "takes in another file",
            Forbidden::BuildFolder => "asks the compiler for what is outside of the file",
            Forbidden::PathAttribute | Forbidden::ModuleFile => "is a module in another file",
            Forbidden::CrateUnderTest => "brings in the crate under test",
            Forbidden::OutsideSource => "comes from elsewhere than the project's dependencies",
        }
    }
}

/// A place in a gist that holds something forbidden.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is.
    pub kind: Forbidden,
    /// 1-based line.
    pub line: usize,
    /// Its tokens.
    pub text: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LONGEST: usize = 80;
        let (text, more) = match self.text.char_indices().nth(LONGEST) {
            Some((at, _)) => (&self.text[..at], "…"),
            None => (self.text.as_str(), ""),
        };
        write!(f, "line {}: `{text}{more}` {}", self.line, self.kind.why())
    }
}

/// Looks for forbidden things. `crates` are the names of crates that a module or an alias may not stand in for
/// (wrapper modules that the bundle makes are left out by the caller).
///
/// ```
/// use cargo_gistify::verify::scan::{Forbidden, scan};
/// let found = scan("#![no_main]\nmod helper;", &[])?;
/// assert_eq!(found.iter().map(|f| (f.kind, f.line)).collect::<Vec<_>>(), [(Forbidden::NoMain, 1), (Forbidden::ModuleFile, 2)]);
/// assert_eq!(found[1].to_string(), "line 2: `mod helper` is a module in another file");
/// # Ok::<(), cargo_gistify::source::parse::ParseError>(())
/// ```
///
/// # Errors
/// A text that is not Rust.
pub fn scan(gist: &str, crates: &[String]) -> Result<Vec<Finding>, ParseError> {
    let file = parse("the gist", gist)?;
    let mut scan = Scan { crates, out: Vec::new() };
    scan.stream(file.into_token_stream(), false);
    scan.out.sort_by_key(|f| (f.line, f.kind));
    Ok(scan.out)
}

/// The findings in a gist that its project does not have as well. Nothing excuses reaching into another file.
#[must_use]
pub fn beyond(gist: Vec<Finding>, project: &[Finding]) -> Vec<Finding> {
    let known: BTreeSet<(Forbidden, &str)> = project.iter().map(|p| (p.kind, p.text.as_str())).collect();
    gist.into_iter().filter(|f| !f.kind.is_excusable() || !known.contains(&(f.kind, f.text.as_str()))).collect()
}

struct Scan<'a> {
    crates: &'a [String],
    out: Vec<Finding>,
}

/// The word as it is written: a raw identifier is no keyword.
fn word(tree: Option<&TokenTree>) -> Option<String> {
    match tree {
        Some(TokenTree::Ident(i)) => Some(i.to_string()),
        _ => None,
    }
}

/// The name that a word means: `r#std` is `std`.
fn name(tree: Option<&TokenTree>) -> Option<String> {
    word(tree).map(|w| w.strip_prefix("r#").map_or(w.clone(), str::to_owned))
}

fn group(tree: Option<&TokenTree>, delimiter: Delimiter) -> Option<&Group> {
    match tree {
        Some(TokenTree::Group(g)) if g.delimiter() == delimiter => Some(g),
        _ => None,
    }
}

/// The most tokens that are looked through for the end of something, so that a long text takes no more than its share of time.
const FAR: usize = 512;

/// The most tokens that are kept of what was found.
const KEPT: usize = 200;

fn text(trees: &[TokenTree]) -> String {
    first(trees.iter().cloned(), &mut KEPT.clone()).to_string()
}

/// As many tokens as are left to take.
fn first(trees: impl Iterator<Item = TokenTree>, left: &mut usize) -> TokenStream {
    let mut out = TokenStream::new();
    for tree in trees {
        let Some(fewer) = left.checked_sub(1) else { break };
        *left = fewer;
        out.extend([match tree {
            TokenTree::Group(group) => Group::new(group.delimiter(), first(group.stream().into_iter(), left)).into(),
            other => other,
        }]);
    }
    out
}

/// Without doc comments, which a gist leaves out.
fn without_docs(trees: &[TokenTree]) -> Vec<TokenTree> {
    let is_doc = |t: Option<&TokenTree>| match t {
        Some(TokenTree::Group(g)) => name(g.stream().into_iter().next().as_ref()).is_some_and(|i| i == "doc"),
        _ => false,
    };
    let starts_doc = |i: usize| is_punct(trees.get(i), '#') && is_doc(trees.get(i + 1));
    let in_doc = |i: usize| starts_doc(i) || (i > 0 && starts_doc(i - 1));
    (0..trees.len()).filter(|i| !in_doc(*i)).map(|i| trees[i].clone()).collect()
}

/// What an attribute of that name is.
fn attribute_kind(name: &str) -> Option<Forbidden> {
    match name {
        "no_main" => Some(Forbidden::NoMain),
        "test_runner" | "reexport_test_harness_main" => Some(Forbidden::Harness),
        "link_section" | "ctor" | "dtor" => Some(Forbidden::LifeBeforeMain),
        "no_mangle" | "export_name" => Some(Forbidden::ExportedSymbol),
        "global_allocator" | "panic_handler" | "alloc_error_handler" | "lang" | "start" | "rustc_main" | "no_core" => {
            Some(Forbidden::Runtime)
        }
        "link" | "linkage" | "link_args" => Some(Forbidden::Linked),
        _ => None,
    }
}

/// Attributes whose names nothing else is called by: handed to a macro, they are attributes all the same.
const TELLING: &[&str] = &[
    "no_main",
    "test_runner",
    "reexport_test_harness_main",
    "link_section",
    "no_mangle",
    "export_name",
    "global_allocator",
    "panic_handler",
    "alloc_error_handler",
];

const INCLUDES: &[&str] = &["include", "include_str", "include_bytes"];
const ASSEMBLY: &[&str] = &["asm", "global_asm", "naked_asm"];

/// Variables of the environment that lead out of the file.
fn is_folder(variable: &str) -> bool {
    const FOLDERS: &[&str] = &["OUT_DIR", "HOME", "PWD", "CARGO_HOME", "RUSTUP_HOME"];
    const PARTS: &[&str] = &["CARGO_MANIFEST", "CARGO_BIN_EXE", "CARGO_TARGET", "CARGO_WORKSPACE"];
    FOLDERS.contains(&variable) || PARTS.iter().any(|part| variable.starts_with(part))
}

impl Scan<'_> {
    fn found(&mut self, kind: Forbidden, span: Span, trees: &[TokenTree]) {
        self.told(kind, span, text(trees));
    }

    fn told(&mut self, kind: Forbidden, span: Span, text: String) {
        self.out.push(Finding { kind, line: span.start().line, text });
    }

    fn is_crate(&self, name: &str) -> bool {
        STANDARD.contains(&name) || self.crates.iter().any(|c| c == name)
    }

    /// `in_call`: these are arguments of a macro, which can make anything of them.
    fn stream(&mut self, stream: TokenStream, in_call: bool) {
        let trees: Vec<TokenTree> = stream.into_iter().collect();
        for i in 0..trees.len() {
            self.at(&trees, i);
            if in_call {
                self.handed(&trees, i);
            }
            if let TokenTree::Group(group) = &trees[i] {
                let called = i > 1 && is_punct(trees.get(i - 1), '!') && matches!(trees[i - 2], TokenTree::Ident(_));
                self.stream(group.stream(), in_call || called);
            }
        }
    }

    /// Looks at what begins at `i`.
    fn at(&mut self, all: &[TokenTree], i: usize) {
        let trees = &all[i..];
        let before = i.checked_sub(1).and_then(|b| all.get(b));
        if is_punct(trees.first(), '#') {
            let at = if is_punct(trees.get(1), '!') { 2 } else { 1 };
            if let Some(g) = group(trees.get(at), Delimiter::Bracket) {
                let content: Vec<TokenTree> = g.stream().into_iter().collect();
                self.attribute(&content, g.span());
            }
            return;
        }
        let (Some(keyword), Some(own)) = (word(trees.first()), name(trees.first())) else { return };
        let span = trees[0].span();
        match keyword.as_str() {
            "mod" => self.module(trees, span),
            "extern" => self.external(trees, span),
            "use" => self.import(trees, span),
            "impl" => self.implementation(trees, span),
            "macro_rules" if is_punct(trees.get(1), '!') => match name(trees.get(2)) {
                Some(n) if MACROS.contains(&n.as_str()) || ATTRIBUTES.contains(&n.as_str()) => {
                    self.told(Forbidden::Shadow, span, format!("macro_rules ! {n}"));
                }
                None if is_punct(trees.get(2), '$') => self.found(Forbidden::MadeMacro, span, &trees[..trees.len().min(4)]),
                _ => {}
            },
            "struct" | "enum" | "union" | "type" | "trait" => {
                if let Some(n) = name(trees.get(1)).filter(|n| STANDARD.contains(&n.as_str())) {
                    self.told(Forbidden::Shadow, span, format!("{keyword} {n}"));
                }
            }
            _ if is_punct(trees.get(1), '!') && matches!(trees.get(2), Some(TokenTree::Group(_))) => {
                self.call(&own, trees, span);
            }
            _ if !is_punct(before, '.') && word(before).as_deref() != Some("fn") => {
                if PANICS.contains(&own.as_str()) {
                    self.told(Forbidden::Panics, span, own);
                } else if own == "CommandExt" {
                    self.told(Forbidden::EndsProcess, span, own);
                } else if own == "process"
                    && is_path_sep(trees, 1)
                    && name(trees.get(3)).is_some_and(|n| ENDS.contains(&n.as_str()))
                {
                    self.found(Forbidden::EndsProcess, span, &trees[..4]);
                }
            }
            _ => {}
        }
    }

    fn module(&mut self, trees: &[TokenTree], span: Span) {
        if is_punct(trees.get(1), '$') && group(trees.get(3), Delimiter::Brace).is_some() {
            return self.found(Forbidden::MadeModule, span, &trees[..3]);
        }
        let Some(n) = name(trees.get(1)) else { return };
        if is_punct(trees.get(2), ';') {
            self.found(Forbidden::ModuleFile, span, &trees[..2]);
        } else if group(trees.get(2), Delimiter::Brace).is_some() && self.is_crate(&n) {
            self.told(Forbidden::FakedCrate, span, format!("mod {n}"));
        }
    }

    fn external(&mut self, trees: &[TokenTree], span: Span) {
        let abi = usize::from(matches!(trees.get(1), Some(TokenTree::Literal(_))));
        if let Some(block) = group(trees.get(1 + abi), Delimiter::Brace) {
            self.foreign(&trees[..=abi], block.stream());
        }
        let names: Vec<String> = trees.iter().take(5).map_while(|t| name(Some(t))).collect();
        if let [_, krate, from, alias, to] = names.as_slice() {
            // A library may go by its own name in its gist; Rust's may not.
            let own = from == to || from == "self" && !STANDARD.contains(&to.as_str());
            if krate == "crate" && alias == "as" && !own && self.is_crate(to) {
                self.found(Forbidden::CrateAlias, span, &trees[..5]);
            }
        }
    }

    /// Looks at each name that a `use` brings in.
    fn import(&mut self, trees: &[TokenTree], span: Span) {
        if is_punct(trees.get(1), '<') {
            // What a type captures.
            return;
        }
        let end = trees.iter().take(FAR).position(|t| is_punct(Some(t), ';')).unwrap_or(trees.len().min(FAR));
        for UnderUse { path, name, .. } in leaves(&trees[1..end]) {
            let (Some(first), Some(last)) = (path.first(), path.last()) else { continue };
            let (first, last, to) = (first.as_str(), last.as_str(), name.as_str());
            let before_last = path.len().checked_sub(2).map(|i| path[i].as_str());
            let written = if last == to || last == "*" { path.join("::") } else { format!("{} as {to}", path.join("::")) };
            let renamed = last != to;
            let ends = before_last == Some("process") && (ENDS.contains(&last) || last == "*");
            let kind = if INCLUDES.contains(&last) {
                Forbidden::IncludeName
            } else if ASSEMBLY.contains(&last) && renamed {
                Forbidden::InlineAssembly
            } else if ends || last == "process" && renamed && first != "crate" {
                Forbidden::EndsProcess
            } else if PANICS.contains(&last) && renamed || before_last == Some("panic") && last == "*" {
                Forbidden::Panics
            } else if COMPARISONS.contains(&last) && renamed && to != "_" {
                Forbidden::Comparison
            } else if renamed && (MACROS.contains(&to) || ATTRIBUTES.contains(&to) || STANDARD.contains(&to)) {
                Forbidden::Shadow
            } else {
                continue;
            };
            self.told(kind, span, written);
        }
    }

    /// An implementation of what assertions lean on.
    fn implementation(&mut self, trees: &[TokenTree], span: Span) {
        let is_end = |t: &TokenTree| group(Some(t), Delimiter::Brace).is_some() || is_punct(Some(t), ';');
        let Some(end) = trees.iter().take(FAR).position(is_end) else {
            if trees.len() > FAR {
                self.told(Forbidden::Comparison, span, "impl …".to_owned());
            }
            return;
        };
        let is_for = |i: &usize| word(trees.get(*i)).as_deref() == Some("for") && !is_punct(trees.get(i + 1), '<');
        let Some(at) = (1..end).find(is_for) else { return };
        // The trait's name is the last of its path: what follows is its arguments, if there are any.
        let mut depth = 0_usize;
        let mut last = None;
        for (i, t) in trees[..at].iter().enumerate().skip(1) {
            match t {
                TokenTree::Punct(p) if p.as_char() == '<' => depth += 1,
                TokenTree::Punct(p) if p.as_char() == '>' && !is_punct(trees.get(i - 1), '-') => {
                    depth = depth.saturating_sub(1)
                }
                TokenTree::Ident(_) if depth == 0 => last = name(Some(t)),
                _ => {}
            }
        }
        if let Some(n) = last.filter(|n| COMPARISONS.contains(&n.as_str())) {
            // A gist may have fewer parameters and bounds than the project.
            let of = &trees[at + 1..end];
            let whose = of.iter().position(|t| word(Some(t)).as_deref() == Some("where")).map_or(of, |bounds| &of[..bounds]);
            self.told(Forbidden::Comparison, span, format!("impl {n} for {}", text(whose)));
        }
    }

    /// A macro call.
    fn call(&mut self, called: &str, trees: &[TokenTree], span: Span) {
        let call = &trees[..trees.len().min(3)];
        if INCLUDES.contains(&called) {
            self.found(Forbidden::Include, span, call);
        } else if ASSEMBLY.contains(&called) {
            self.found(Forbidden::InlineAssembly, span, call);
        } else if matches!(called, "env" | "option_env")
            && let Some(TokenTree::Group(g)) = trees.get(2)
        {
            let variable = g.stream().into_iter().next().map(|t| syn::parse2::<syn::LitStr>(t.into()));
            if !matches!(&variable, Some(Ok(v)) if !is_folder(&v.value())) {
                self.found(Forbidden::BuildFolder, span, call);
            }
        }
    }

    /// A name among the arguments of a macro, which may make an attribute or a call of it.
    fn handed(&mut self, all: &[TokenTree], i: usize) {
        let Some(n) = name(all.get(i)) else { return };
        let next = all.get(i + 1);
        let before = i.checked_sub(1).and_then(|b| all.get(b));
        let elsewhere = [':', '.', '$'].iter().any(|c| is_punct(before, *c)) || is_punct(next, ':') || is_punct(next, '.');
        if elsewhere || is_punct(next, '!') || matches!(next, Some(TokenTree::Group(_))) && !TELLING.contains(&n.as_str()) {
            return;
        }
        let kind = if TELLING.contains(&n.as_str()) {
            // In an attribute that is written out, it has been seen.
            match attribute_kind(&n) {
                Some(kind) => kind,
                None => return,
            }
        } else if INCLUDES.contains(&n.as_str()) {
            Forbidden::IncludeName
        } else if ASSEMBLY.contains(&n.as_str()) {
            Forbidden::InlineAssembly
        } else {
            return;
        };
        self.told(kind, all[i].span(), n);
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
        let own = content[..end.unwrap_or(content.len())].iter().rev().find_map(|t| name(Some(t)));
        let argument: Vec<TokenTree> = match end.and_then(|at| content.get(at)) {
            Some(TokenTree::Group(g)) => g.stream().into_iter().collect(),
            _ => Vec::new(),
        };
        if is_punct(content.first(), '$') && end == Some(2) {
            return self.found(Forbidden::MadeAttribute, span, content);
        }
        match own.as_deref() {
            Some("cfg_attr") => {
                argument.split(|t| is_punct(Some(t), ',')).skip(1).for_each(|inner| self.attribute(inner, span));
            }
            Some("unsafe") => self.attribute(&argument, span),
            Some("feature") => {
                for feature in argument.iter().filter_map(|t| name(Some(t))) {
                    let custom = feature == "custom_test_frameworks";
                    let kind = if custom { Forbidden::Harness } else { Forbidden::Feature };
                    self.told(kind, span, format!("feature ({feature})"));
                }
            }
            Some("path") if content.len() > 1 && is_punct(content.get(1), '=') => {
                self.found(Forbidden::PathAttribute, span, content);
            }
            Some(n) => {
                if let Some(kind) = attribute_kind(n) {
                    self.found(kind, span, content);
                }
            }
            None => {}
        }
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
            ("#![feature(custom_test_frameworks)]", Harness),
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
            ("#[r#link_section = \"x\"] static A: u8 = 1;", LifeBeforeMain),
            ("#[cfg_attr(a, cfg_attr(b, unsafe(link_section = \"x\")))] static A: u8 = 1;", LifeBeforeMain),
            ("m!(link_section = \"x\");", LifeBeforeMain),
            ("macro_rules! m { ($n:ident) => { #[$n = \"x\"] static A: u8 = 1; } }", MadeAttribute),
            ("#[global_allocator] static A: B = B;", Runtime),
            ("#[link(name = \"m\")] extern \"C\" {}", Linked),
            ("#![feature(rustc_attrs)]", Feature),
            ("mod r#std {}", FakedCrate),
            ("macro_rules! m { ($n:ident) => { mod $n { } } }", MadeModule),
            ("extern crate self as std;", CrateAlias),
            ("use fake as std;", Shadow),
            ("use crate::{a, lenient as assert_eq};", Shadow),
            ("enum core {}", Shadow),
            ("macro_rules! r#assert_eq { () => {} }", Shadow),
            ("macro_rules! m { ($n:ident) => { macro_rules! $n { () => {} } } }", MadeMacro),
            ("impl<T> core::cmp::PartialEq<Vec<T>> for A<T> where T: B { }", Comparison),
            ("macro_rules! m { ($n:ty) => { impl PartialEq<$n> for A {} } }", Comparison),
            ("use std::cmp::PartialEq as P;", Comparison),
            ("fn f() { std::process::exit(0) }", EndsProcess),
            ("use std::process as p;", EndsProcess),
            ("use std::{fmt, process::{self, abort as a}};", EndsProcess),
            ("use std::process::*;", EndsProcess),
            ("use std::os::unix::process::CommandExt as _;", EndsProcess),
            ("fn f() { std::panic::set_hook(a) }", Panics),
            ("fn f() { panic::catch_unwind(a) }", Panics),
            ("use std::panic::*;", Panics),
            ("fn f() { r#include!(\"x\") }", Include),
            ("use std::include as paste;", IncludeName),
            ("call!(include, \"x\");", IncludeName),
            ("const A: &str = env!(\"CARGO_MANIFEST_DIR\");", BuildFolder),
            ("const A: &str = env!(concat!(\"OUT\", \"_DIR\"));", BuildFolder),
        ] {
            let mut found = kinds(gist);
            found.dedup();
            assert_eq!(found, [kind], "{gist}");
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
            "use std::{env, alloc::{self, Layout}, panic, process::{self, Command}}; use crate::format; mod test {}",
            "fn set_hook() {} fn f() { a.set_hook(1); a.exit(); if env != b { process::id(); } }",
            "impl<T> From<T> for A where for<'a> &'a T: PartialEq<u8> {} fn f() -> impl Fn(u8) -> B + use<'_> { b }",
            "macro_rules! m { ($(#[$a:meta])* $n:ident) => { $(#[$a])* #[doc = $d] struct $n; } } m!(ctor, a.include, path);",
            "const A: &str = env!(\"CARGO_PKG_VERSION\"); #[derive(PartialEq)] struct B;",
            "macro_rules! assert_sum { () => {} } use a::assert_eq;",
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
    fn a_comparison_may_have_fewer_bounds_than_the_projects() {
        let scan = |text| scan(text, &[]).unwrap();
        let project = scan("impl<T: A> PartialEq<Vec<T>> for B<T> where T: C { }");
        let left = |text| beyond(scan(text), &project).into_iter().map(|f| f.text).collect::<Vec<_>>();
        assert!(left("impl<T> std::cmp::PartialEq<Vec<T>> for B<T> { }").is_empty());
        assert_eq!(left("impl<T> PartialEq<Vec<T>> for C<T> { }"), ["impl PartialEq for C < T >"]);
    }

    #[test]
    fn no_text_takes_more_than_its_share_of_time() {
        let many = |text: &str| format!("m! {{ {} }}", text.repeat(20_000));
        assert_eq!(kinds(&many("impl, ")).len(), 20_000 - FAR / 2);
        assert_eq!(kinds(&many("use a, ")), []);
        let nested = format!("m! {{ {}{} }}", "include!(1, ".repeat(500), ")".repeat(500));
        let found = scan(&nested, &[]).unwrap();
        assert_eq!(found.len(), 500);
        assert!(found.iter().all(|f| f.text.len() < 10 * KEPT));
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
