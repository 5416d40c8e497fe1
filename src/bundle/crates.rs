//! Several crates in one file: each but the one at the root is a module, and what they say of each other is written
//! as paths from the root.
//!
//! In a crate that became a module, `crate::` and `$crate::` get the module's name. In every crate a path that
//! begins with the name of another bundled crate begins with `crate::` and that crate's module instead. What the
//! compiler does for a crate of its own is said by lines in the module: a `use` for each exported macro (those live
//! at the root of the file), an `extern crate` for a library that goes by another name in the file.

use super::front::{item_names, normal_extern};
use crate::source::edit::Edit;
use crate::source::mapped::Mapped;
use crate::source::tokens::{is_path_sep, is_punct, node_range, range, with_comments};
use crate::workspace::capture::TestTarget;
use crate::workspace::record::RustcCall;
use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use quote::ToTokens;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use syn::ext::IdentExt;
use syn::visit::{self, Visit};
use syn::{Item, ItemExternCrate};

/// How one crate of the bundle sees the others.
#[derive(Clone, Debug, Default)]
pub(super) struct View {
    /// The module that this crate became; `None` for the crate at the root.
    pub(super) module: Option<String>,
    /// Names of bundled crates as this one says them, and their paths in the gist.
    pub(super) crates: BTreeMap<String, String>,
    /// `extern crate`s at the root of a crate that became a module: they stay there, and are reached by a path.
    pub(super) local: BTreeSet<String>,
    /// Macros that `#[macro_use] extern crate` brings into scope, with their paths in the gist.
    pub(super) macros: BTreeMap<String, String>,
    /// For the crate at the root: the macros that the others export. They live there, too.
    pub(super) at_root: BTreeSet<String>,
    /// Libraries that go by another name in the gist, or whose name is another's at its root: their name there, and
    /// the one in this crate.
    pub(super) renamed: Vec<(String, String)>,
    /// Paths in `use`, and those that begin with `::`, count from the crate's root.
    pub(super) edition_2015: bool,
}

/// What goes from the root of a crate that became a module to the root of the gist.
#[derive(Clone, Debug, Default)]
pub(super) struct Hoisted {
    /// Inner attributes that hold for a whole crate.
    pub(super) attributes: Vec<String>,
    /// `#[macro_use] extern crate …`, attributes included; and the same without attributes.
    pub(super) externs: Vec<(String, String)>,
}

/// Whether an inner attribute of a crate root may stand in a module.
pub(super) fn allowed_in_module(attr: &syn::Attribute) -> bool {
    const CRATE_ONLY: &[&str] = &[
        "feature",
        "no_std",
        "no_core",
        "no_main",
        "recursion_limit",
        "type_length_limit",
        "crate_type",
        "crate_name",
        "no_builtins",
        "windows_subsystem",
        "test_runner",
        "reexport_test_harness_main",
        "no_implicit_prelude",
    ];
    !CRATE_ONLY.iter().any(|n| attr.path().is_ident(n))
}

/// Whether an inner attribute that holds for a whole crate is needed at the root of the gist.
pub(super) fn goes_to_root(attr: &syn::Attribute) -> bool {
    ["recursion_limit", "type_length_limit", "feature"].iter().any(|n| attr.path().is_ident(n))
}

impl View {
    /// Whether the crate says something that has to be written differently.
    fn is_plain(&self) -> bool {
        self.module.is_none() && self.crates.is_empty()
    }

    /// The path of this crate.
    fn home(&self) -> String {
        self.module.as_ref().map_or_else(|| "crate".to_owned(), |m| format!("crate::{m}"))
    }

    /// The path that stands for a name at the start of a path.
    fn path_of(&self, name: &str) -> Option<String> {
        let local = || self.local.contains(name).then(|| format!("{}::{name}", self.home()));
        self.crates.get(name).cloned().or_else(local)
    }

    /// Takes in the crate's `extern crate` items: other names for bundled crates, macros in scope, names that only this
    /// crate has. `exported` knows the macros of a bundled crate by its path.
    pub(super) fn note_externs(&mut self, tree: &syn::File, exported: &BTreeMap<String, BTreeSet<String>>) {
        for item in extern_crates(tree) {
            let alias = item.rename.as_ref().map(|(_, r)| r.to_string());
            let Some(path) = self.crates.get(&item.ident.to_string()).cloned() else { continue };
            if uses_macros(&item) {
                let macros = exported.get(&path).into_iter().flatten();
                self.macros.extend(macros.map(|m| (m.clone(), format!("{path}::{m}"))));
            }
            self.crates.extend(alias.map(|a| (a, path)));
        }
        if self.module.is_none() {
            return;
        }
        for item in &tree.items {
            let Item::ExternCrate(e) = item else { continue };
            let name = e.rename.as_ref().map_or(&e.ident, |(_, r)| r).unraw().to_string();
            if e.ident == "self" {
                self.crates.insert(name, self.home());
            } else if !uses_macros(e) && !["std", "core", "_"].contains(&name.as_str()) {
                self.local.insert(name);
            }
        }
        self.local.extend(self.renamed.iter().map(|(_, name)| name.clone()));
    }

    /// Takes in the names of libraries that mean others at the gist's root: an `extern crate` in the crate's module
    /// says there what they mean.
    pub(super) fn note_shadowed(&mut self, call: &RustcCall, target: &TestTarget, aliases: &BTreeSet<String>) {
        for ext in call.externs().into_iter().filter(|e| aliases.contains(&e.name) && target.bundled(e).is_none()) {
            if !self.renamed.iter().any(|(_, own)| *own == ext.name) {
                self.renamed.push((ext.name.clone(), ext.name));
            }
        }
    }

    /// The crate's text as it stands in the gist, and what goes to the root.
    pub(super) fn adapt(&self, text: &Mapped, tree: &syn::File) -> (Mapped, Hoisted) {
        let mut hoisted = Hoisted::default();
        if self.is_plain() {
            return (text.clone(), hoisted);
        }
        let mut edits = Vec::new();
        if self.module.is_some() {
            for attr in tree.attrs.iter().filter(|a| !allowed_in_module(a)) {
                let r = node_range(attr);
                if goes_to_root(attr) {
                    hoisted.attributes.push(text.text[r.clone()].to_owned());
                }
                edits.push(Edit::delete(with_comments(&text.text, r)));
            }
        }
        let mut cut = Vec::new();
        for item in extern_crates(tree) {
            let r = node_range(&item);
            let name = item.ident.unraw().to_string();
            let at_top = tree.items.iter().any(|i| matches!(i, Item::ExternCrate(e) if node_range(e) == r));
            let bundled = self.crates.contains_key(&name) || name == "self" && self.module.is_some();
            if !bundled {
                // A module can't bring the macros of a library into scope.
                if self.module.is_none() || !at_top || !uses_macros(&item) {
                    continue;
                }
                if !["std", "core"].contains(&name.as_str()) {
                    let line = text.text[r.clone()].to_owned();
                    hoisted.externs.extend(normal_extern(&Item::ExternCrate(item)).map(|plain| (line, plain)));
                }
            }
            edits.push(Edit::delete(with_comments(&text.text, r.clone())));
            cut.push(r);
        }
        for item in &tree.items {
            let Item::Use(u) = item else { continue };
            if let Some(needless) = self.needless_leaves(&u.tree) {
                if needless.is_empty() {
                    edits.push(Edit::delete(with_comments(&text.text, node_range(u))));
                }
                edits.extend(needless.into_iter().map(|leaf| Edit::delete(with_comma(&text.text, leaf))));
            }
        }
        let modules = Modules::of(tree, &cut);
        let own_macros = own_macros(tree);
        let mut rewrite = Rewrite { view: self, text: &text.text, modules: &modules, own_macros: &own_macros, edits };
        rewrite.list(&tree.to_token_stream().into_iter().collect::<Vec<_>>(), Context::Plain, false);
        (text.edited(rewrite.edits), hoisted)
    }

    /// The leaves of an import at the root that would bring in macros which live there; none when that is all it does.
    fn needless_leaves(&self, tree: &syn::UseTree) -> Option<Vec<Range<usize>>> {
        fn leaves(tree: &syn::UseTree, macros: &BTreeSet<String>, out: &mut Vec<Range<usize>>) -> usize {
            match tree {
                syn::UseTree::Name(n) => {
                    out.extend(macros.contains(&n.ident.to_string()).then(|| node_range(n)));
                    1
                }
                syn::UseTree::Path(p) => {
                    let before = out.len();
                    let count = leaves(&p.tree, macros, out);
                    if count == 1 && out.len() > before {
                        out.truncate(before);
                        out.push(node_range(p));
                    }
                    count
                }
                syn::UseTree::Group(g) => g.items.iter().map(|t| leaves(t, macros, out)).sum(),
                _ => 1,
            }
        }
        let syn::UseTree::Path(path) = tree else { return None };
        if self.at_root.is_empty() || !self.crates.contains_key(&path.ident.to_string()) {
            return None;
        }
        let mut out = Vec::new();
        let count = leaves(&path.tree, &self.at_root, &mut out);
        if out.is_empty() {
            return None;
        }
        Some(if out.len() == count { Vec::new() } else { out })
    }

    /// Lines that say in the module what the compiler does for a crate: its exported macros, libraries of another name.
    pub(super) fn said_by_lines(&self, exported: &BTreeSet<String>) -> Vec<String> {
        let macros = exported.iter().map(|m| format!("pub use crate::{m};"));
        let renamed = self.renamed.iter().map(|(new, own)| match new == own {
            true => format!("extern crate {new};"),
            false => format!("extern crate {new} as {own};"),
        });
        macros.chain(renamed).collect()
    }
}

/// Every `extern crate` item, also those in modules and bodies.
fn extern_crates(tree: &syn::File) -> Vec<ItemExternCrate> {
    struct Collect(Vec<ItemExternCrate>);
    impl<'ast> Visit<'ast> for Collect {
        fn visit_item_extern_crate(&mut self, item: &'ast ItemExternCrate) {
            self.0.push(item.clone());
        }
    }
    let mut collect = Collect(Vec::new());
    collect.visit_file(tree);
    collect.0
}

/// An element of a list and the comma behind it.
fn with_comma(text: &str, element: Range<usize>) -> Range<usize> {
    let rest = &text[element.end..];
    let gap = rest.len() - rest.trim_start().len();
    if rest[gap..].starts_with(',') { element.start..element.end + gap + 1 } else { element }
}

fn uses_macros(item: &ItemExternCrate) -> bool {
    item.attrs.iter().any(|a| a.path().is_ident("macro_use"))
}

/// The names of the macros that a crate defines, wherever.
fn own_macros(tree: &syn::File) -> BTreeSet<String> {
    struct Collect(BTreeSet<String>);
    impl<'ast> Visit<'ast> for Collect {
        fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
            self.0.extend(item.ident.as_ref().map(ToString::to_string));
            visit::visit_item_macro(self, item);
        }
    }
    let mut collect = Collect(BTreeSet::new());
    collect.visit_file(tree);
    collect.0
}

/// The names that each module of a crate declares: there they do not stand for crates.
struct Modules(Vec<(Range<usize>, BTreeSet<String>)>);

impl Modules {
    fn of(tree: &syn::File, cut: &[Range<usize>]) -> Modules {
        fn inner(items: &[Item], at: Range<usize>, cut: &[Range<usize>], out: &mut Vec<(Range<usize>, BTreeSet<String>)>) {
            let mut names = BTreeSet::new();
            for item in items {
                let goes = cut.contains(&node_range(item)) || normal_extern(item).is_some();
                if goes || matches!(item, Item::Use(u) if matches!(u.tree, syn::UseTree::Name(_))) {
                    continue;
                }
                let mut declared = item_names(std::slice::from_ref(item));
                // What a crate has by its own name is a macro or a function: else the crate could not be named.
                if let Item::Use(u) = item {
                    for first in first_segments(&u.tree) {
                        declared.remove(&first);
                    }
                }
                names.extend(declared);
            }
            out.push((at, names));
            for item in items {
                if let Item::Mod(m) = item
                    && let Some((brace, items)) = &m.content
                {
                    inner(items, range(brace.span.open()).end..range(brace.span.close()).start, cut, out);
                }
            }
        }
        let mut out = Vec::new();
        inner(&tree.items, 0..usize::MAX, cut, &mut out);
        Modules(out)
    }

    /// Whether the innermost module around `at` declares `name`.
    fn declares(&self, at: usize, name: &str) -> bool {
        let innermost = self.0.iter().filter(|(r, _)| r.contains(&at)).min_by_key(|(r, _)| r.end - r.start);
        innermost.is_some_and(|(_, names)| names.contains(name))
    }

    /// Whether `at` stands in the crate's root and in no module of it.
    fn at_root(&self, at: usize) -> bool {
        self.0.iter().filter(|(r, _)| r.contains(&at)).count() == 1
    }
}

/// What the paths of an import begin with, when they go on.
fn first_segments(tree: &syn::UseTree) -> Vec<String> {
    match tree {
        syn::UseTree::Path(p) => vec![p.ident.to_string()],
        syn::UseTree::Group(g) => g.items.iter().flat_map(first_segments).collect(),
        _ => Vec::new(),
    }
}

/// What the tokens of a list are part of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Context {
    Plain,
    /// The braces of `use { … }`: each element is a path from the outside.
    UseGroup,
    /// The braces behind `path::`: each element goes on with that path.
    Behind,
    /// The brackets of an attribute.
    Attribute,
}

/// Rewrites paths, token by token, so that what stands in macros is seen, too.
struct Rewrite<'a> {
    view: &'a View,
    text: &'a str,
    modules: &'a Modules,
    own_macros: &'a BTreeSet<String>,
    edits: Vec<Edit>,
}

impl Rewrite<'_> {
    fn list(&mut self, list: &[TokenTree], context: Context, in_attribute: bool) {
        let in_attribute = in_attribute || context == Context::Attribute;
        for (i, token) in list.iter().enumerate() {
            match token {
                TokenTree::Ident(ident) => self.ident(list, i, &ident.to_string(), context),
                TokenTree::Literal(literal) if in_attribute => self.path_in_string(literal),
                TokenTree::Group(group) => {
                    let before = i.checked_sub(1).and_then(|b| list.get(b));
                    let inner = if is_punct(before, '#')
                        || is_punct(before, '!') && is_punct(i.checked_sub(2).and_then(|b| list.get(b)), '#')
                    {
                        if is_doc(&group.stream()) {
                            continue;
                        }
                        Context::Attribute
                    } else if group.delimiter() == Delimiter::Brace && i >= 2 && is_path_sep(list, i - 2) {
                        // `use ::{…}` aside, the path in front goes on.
                        Context::Behind
                    } else if group.delimiter() == Delimiter::Brace && is_ident(before, "use") {
                        Context::UseGroup
                    } else {
                        Context::Plain
                    };
                    self.list(&group.stream().into_iter().collect::<Vec<_>>(), inner, in_attribute);
                }
                _ => {}
            }
        }
    }

    fn ident(&mut self, list: &[TokenTree], i: usize, name: &str, context: Context) {
        let span = range(list[i].span());
        let followed = is_path_sep(list, i + 1);
        if name == "crate" {
            if let (true, Some(module)) = (followed, &self.view.module) {
                self.edits.push(Edit::insert(span.end, format!("::{module}")));
            }
            return;
        }
        let start = path_start(list, i);
        if context == Context::Behind && (i == 0 || is_punct(list.get(i - 1), ',')) {
            return;
        }
        let bare = (context == Context::UseGroup && (i == 0 || is_punct(list.get(i - 1), ','))
            || i > 0 && is_ident(list.get(i - 1), "use"))
            && !followed
            && !is_punct(list.get(i + 1), '!');
        let generic = followed && is_punct(list.get(i + 3), '<');
        let in_use = i > 0 && is_ident(list.get(i - 1), "use")
            || start == Some(Start::Absolute) && i >= 3 && is_ident(list.get(i - 3), "use")
            || context == Context::UseGroup && (i == 0 || is_punct(list.get(i - 1), ','));
        if let Some(path) = self.view.path_of(name) {
            let Some(start) = start.filter(|_| bare || followed && !generic) else { return };
            if start == Start::Relative && !(self.view.edition_2015 && in_use) && self.modules.declares(span.start, name) {
                return;
            }
            let from = if start == Start::Absolute { range(list[i - 2].span()).start } else { span.start };
            if bare && !is_ident(list.get(i + 1), "as") {
                // What would bring a module into scope where it stands goes.
                let parent = path.rsplit_once("::").map_or("", |(p, _)| p);
                if parent == self.view.home() && self.modules.at_root(span.start) && is_punct(list.get(i + 1), ';') {
                    self.delete_use(list, i);
                    return;
                }
                if path == "crate" {
                    self.edits.push(Edit::replace(from..span.end, format!("crate as {name}")));
                    return;
                }
                let last = path.rsplit("::").next().unwrap_or_default();
                let alias = if last == name { String::new() } else { format!(" as {name}") };
                self.edits.push(Edit::replace(from..span.end, format!("{path}{alias}")));
                return;
            }
            self.edits.push(Edit::replace(from..span.end, path));
        } else if self.view.macros.contains_key(name)
            && start == Some(Start::Relative)
            && is_punct(list.get(i + 1), '!')
            && matches!(list.get(i + 2), Some(TokenTree::Group(_)))
            && !self.own_macros.contains(name)
            && !self.modules.declares(span.start, name)
        {
            self.edits.push(Edit::replace(span, self.view.macros[name].clone()));
        } else if self.view.edition_2015
            && let Some(module) = &self.view.module
        {
            let absolute = start == Some(Start::Absolute) && !is_ident(i.checked_sub(3).and_then(|b| list.get(b)), "crate");
            let counts = absolute || start == Some(Start::Relative) && in_use;
            let keyword = ["self", "super", "crate", "std", "core", "use"].contains(&name);
            let known = self.modules.0.first().is_some_and(|(_, names)| names.contains(name));
            if counts && !keyword && known {
                let from = if absolute { range(list[i - 2].span()).start } else { span.start };
                self.edits.push(Edit::replace(from..span.start, format!("crate::{module}::")));
            }
        }
    }

    /// Deletes the `use` item whose only name stands at `i`, with its visibility.
    fn delete_use(&mut self, list: &[TokenTree], i: usize) {
        let Some(mut start) = (0..i).rev().find(|&b| is_ident(list.get(b), "use")) else { return };
        if let Some(TokenTree::Group(_)) = start.checked_sub(1).and_then(|b| list.get(b)) {
            if start >= 2 && is_ident(list.get(start - 2), "pub") {
                start -= 2;
            }
        } else if start >= 1 && is_ident(list.get(start - 1), "pub") {
            start -= 1;
        }
        while start >= 2
            && is_punct(list.get(start - 2), '#')
            && matches!(list.get(start - 1), Some(TokenTree::Group(g)) if g.delimiter() == Delimiter::Bracket)
        {
            start -= 2;
        }
        let whole = range(list[start].span()).start..range(list[i + 1].span()).end;
        self.edits.push(Edit::delete(with_comments(self.text, whole)));
    }

    /// `#[serde(with = "crate::x")]`: a path in a string.
    fn path_in_string(&mut self, literal: &proc_macro2::Literal) {
        let (text, at) = (literal.to_string(), range(literal.span()));
        let Some(path) = text.strip_prefix('"') else { return };
        if let (Some(module), true) = (&self.view.module, path.starts_with("crate::")) {
            self.edits.push(Edit::insert(at.start + "\"crate".len(), format!("::{module}")));
            return;
        }
        let bare = path.strip_prefix("::").unwrap_or(path);
        let skipped = path.len() - bare.len();
        let name: String = bare.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        if let (Some(path), true) = (self.view.path_of(&name), bare[name.len()..].starts_with("::")) {
            let start = at.start + 1;
            self.edits.push(Edit::replace(start..start + skipped + name.len(), path));
        }
    }
}

fn is_ident(token: Option<&TokenTree>, name: &str) -> bool {
    matches!(token, Some(TokenTree::Ident(i)) if i == name)
}

fn is_doc(attribute: &TokenStream) -> bool {
    matches!(attribute.clone().into_iter().next(), Some(TokenTree::Ident(i)) if i == "doc")
}

/// How a name begins a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    /// `name`
    Relative,
    /// `::name`
    Absolute,
}

/// Whether the name at `i` begins a path; not if it is a member, a lifetime, a macro's variable, or goes on with a path.
fn path_start(list: &[TokenTree], i: usize) -> Option<Start> {
    const KEYWORDS: &[&str] = &[
        "use", "as", "in", "return", "dyn", "impl", "mut", "where", "for", "else", "match", "if", "ref", "move", "break",
        "const", "static", "pub", "while", "unsafe", "await", "let",
    ];
    let at = |back: usize| i.checked_sub(back).and_then(|b| list.get(b));
    if i >= 2 && is_path_sep(list, i - 2) {
        return match at(3) {
            Some(TokenTree::Ident(before)) => KEYWORDS.contains(&before.to_string().as_str()).then_some(Start::Absolute),
            Some(TokenTree::Punct(p)) if p.as_char() == '>' => {
                matches!(at(4), Some(TokenTree::Punct(d)) if "-=".contains(d.as_char()) && d.spacing() == Spacing::Joint)
                    .then_some(Start::Absolute)
            }
            Some(TokenTree::Group(g)) if g.delimiter() != Delimiter::Brace && g.delimiter() != Delimiter::Bracket => None,
            _ => Some(Start::Absolute),
        };
    }
    match at(1) {
        Some(TokenTree::Punct(p)) if p.as_char() == '.' => is_punct(at(2), '.').then_some(Start::Relative),
        Some(TokenTree::Punct(p)) if "'$".contains(p.as_char()) => None,
        Some(TokenTree::Ident(before)) if ["mod", "fn", "crate"].contains(&before.to_string().as_str()) => None,
        _ => Some(Start::Relative),
    }
}

#[cfg(test)]
mod unit {
    use super::*;

    /// `text` as a crate that became the module `own`, or stands at the root, where `dep` is a module.
    fn adapted(text: &str, own: Option<&str>, edition_2015: bool) -> String {
        let tree = syn::parse_file(text).unwrap();
        let crates = [("dep", "crate::dep"), ("root", "crate"), ("taken", "crate::taken_crate")];
        let mut view = View {
            module: own.map(str::to_owned),
            crates: crates.map(|(name, path)| (name.to_owned(), path.to_owned())).into(),
            at_root: if own.is_none() { BTreeSet::from(["made".to_owned()]) } else { BTreeSet::new() },
            edition_2015,
            ..View::default()
        };
        view.note_externs(&tree, &BTreeMap::from([("crate::dep".to_owned(), BTreeSet::from(["made".to_owned()]))]));
        view.adapt(&Mapped::new_text(text), &tree).0.text
    }

    #[track_caller]
    fn assert_module(text: &str, wanted: &str) {
        assert_eq!(adapted(text, Some("m"), false).trim(), wanted);
    }

    #[track_caller]
    fn assert_root(text: &str, wanted: &str) {
        assert_eq!(adapted(text, None, false).trim(), wanted);
    }

    #[test]
    fn a_crate_that_became_a_module_names_itself_by_that() {
        assert_module("use crate::{a, b::c};", "use crate::m::{a, b::c};");
        assert_module("pub(in crate::a) fn f() -> crate::T {}", "pub(in crate::m::a) fn f() -> crate::m::T {}");
        assert_module("pub(crate) fn f() {}", "pub(crate) fn f() {}");
        assert_module("macro_rules! a { () => { $crate::f() } }", "macro_rules! a { () => { $crate::m::f() } }");
        assert_module("extern crate self as me; fn f() { me::g() }", "fn f() { crate::m::g() }");
    }

    #[test]
    fn other_crates_are_named_by_their_modules() {
        assert_root(
            "fn f(a: dep::T) -> <::dep::T as taken::U>::V {}",
            "fn f(a: crate::dep::T) -> <crate::dep::T as crate::taken_crate::U>::V {}",
        );
        assert_root("use {dep::a, std::fmt};", "use {crate::dep::a, std::fmt};");
        assert_root("use {dep::{self, a}, std::fmt};", "use {crate::dep::{self, a}, std::fmt};");
        assert_root("use dep as other;", "use crate::dep as other;");
        assert_module(
            "use dep; use root; use taken;",
            "use crate::dep; use crate as root; use crate::taken_crate as taken;",
        );
        assert_module("fn f() { root::g() }", "fn f() { crate::g() }");
        assert_root("macro_rules! a { () => { dep::f() } }", "macro_rules! a { () => { crate::dep::f() } }");
    }

    #[test]
    fn what_only_looks_like_a_crate_stays() {
        for text in [
            "use a::{dep::b, c};",
            "fn f() { x.dep::<u8>(); a::dep::g(); dep::<u8>(); }",
            "mod dep { pub fn f() {} } fn g() { dep::f() }",
            "#[doc = \"dep::f\"] fn f<'dep>(dep: &'dep u8) {}",
            "fn dep() {}",
        ] {
            assert_root(text, text);
        }
    }

    #[test]
    fn paths_in_strings_of_attributes_are_rewritten() {
        assert_module("#[serde(with = \"crate::a\")] struct A;", "#[serde(with = \"crate::m::a\")] struct A;");
        assert_module("#[serde(with = \"dep::a\")] struct A;", "#[serde(with = \"crate::dep::a\")] struct A;");
    }

    #[test]
    fn extern_crates_of_the_bundle_go_and_their_macros_are_named_in_full() {
        assert_root(
            "#[macro_use] extern crate dep; fn f() { made!(1); other!(1) }",
            "fn f() { crate::dep::made!(1); other!(1) }",
        );
        assert_root("extern crate dep as d; fn f() { d::g() }", "fn f() { crate::dep::g() }");
        assert_module("extern crate alloc; fn f(a: alloc::A) {}", "extern crate alloc; fn f(a: crate::m::alloc::A) {}");
    }

    #[test]
    fn macros_that_live_at_the_root_are_not_imported_there() {
        assert_root("use dep::{made, b};", "use crate::dep::{ b};");
        assert_root("use dep::made;", "");
        assert_root("mod a { use dep::made; }", "mod a { use crate::dep::made; }");
    }

    #[test]
    fn paths_of_edition_2015_count_from_the_crates_root() {
        let text = "mod a { use b::c; use std::fmt; fn f() { ::b::c() } } mod b { pub fn c() {} }";
        let wanted = "mod a { use crate::m::b::c; use std::fmt; fn f() { crate::m::b::c() } } mod b { pub fn c() {} }";
        assert_eq!(adapted(text, Some("m"), true), wanted);
    }
}
