//! Joins a library and the test crate that uses it into one file: the library stays the root, the test crate
//! becomes a module at its end.
//!
//! `extern crate self as the_lib;` makes `the_lib::…` resolve as before. In the test crate `crate::` becomes
//! `crate::wrapper::`; its `extern crate`s go to the root, where `#[macro_use]` and edition 2015 want them. The `main`
//! of a program is imported at the root, which makes it the gist's own.

use super::crates::{Hoisted, View, allowed_in_module, goes_to_root};
use crate::error::{Error, Result};
use crate::program::MAIN;
use crate::source::edit::Edit;
use crate::source::mapped::Mapped;
use crate::source::tokens::{is_path_sep, is_punct, node_range, range, walk, with_comments};
use crate::workspace::capture::TestTarget;
use crate::workspace::record::RustcCall;
use proc_macro2::TokenTree;
use quote::ToTokens;
use std::collections::{BTreeMap, BTreeSet};
use syn::Item;

/// What the wrapper's name ends with when the target's own name is taken.
pub const WRAPPER_SUFFIX: &str = "_tests";
/// The same for a program.
const PROGRAM_SUFFIX: &str = "_program";

/// Both crates in one text.
pub(super) struct Joined {
    pub(super) root: Mapped,
    pub(super) wrapper: String,
    /// Where the test crate's module starts.
    pub(super) start: usize,
    /// Items of the test crate's root that went to the root of the gist.
    pub(super) hoisted: String,
    /// Its inner attributes that did.
    pub(super) attributes: String,
    /// The test crate as a text of its own.
    pub(super) test_text: Mapped,
}

/// `view` is how the test crate sees crates other than the library.
pub(super) fn join(target: &TestTarget, library: &RustcCall, lib: Mapped, test: Mapped, view: &View) -> Result<Joined> {
    let parse = |m: &Mapped, what: &str| {
        syn::parse_file(&m.text)
            .map_err(|e| Error::Internal(format!("the bundled {what} of {} does not parse: {e}", target.selector())))
    };
    let lib_tree = parse(&lib, "library")?;
    let program = !target.call.has_harness();
    let mut test = test;
    let mut test_tree = parse(&test, "test crate")?;
    if program {
        test = with_public_main(test, &test_tree, &lib_tree, target)?;
        test_tree = parse(&test, "program")?;
    }
    let lib_name = library.crate_name();
    let edition_2015 = target.call.edition() == "2015";
    let suffix = if program { PROGRAM_SUFFIX } else { WRAPPER_SUFFIX };
    let wrapper = wrapper_name(target, lib_name, &lib_tree, suffix);

    // A module of the library has the library's own name: the root can't hold both, so paths begin with `crate` instead.
    let name_taken = item_names(&lib_tree.items).contains(lib_name)
        && !lib_tree.items.iter().any(|i| normal_extern(i).as_deref() == Some(&own_name(lib_name)));
    let mut view = view.clone();
    if !name_taken {
        // The library goes by its name, as its own: `extern crate self as …`.
        view.crates.retain(|_, path| path != "crate");
    }
    let aliases = aliases(&lib_tree.items).difference(&aliases(&test_tree.items)).cloned().collect();
    view.note_shadowed(&target.call, target, &aliases);
    view.crates.extend(view.renamed.iter().map(|(_, name)| (name.clone(), format!("crate::{wrapper}::{name}"))));
    view.note_externs(&test_tree, &BTreeMap::new());
    let said = view.said_by_lines(&BTreeSet::new()).join("\n");
    let mut test_text = test.clone();
    test_text.push_new(&format!("\n{said}"));
    let (test, hoisted) = adapt_test(&test, &test_tree, lib_name, &wrapper, &view);
    let (test, _) = view.adapt(&test, &parse(&test, "test crate")?);
    let mut lib_edits = Vec::new();
    let mut dropped_no_std = false;
    for attr in lib_tree.attrs.iter().filter(|a| a.path().is_ident("no_std")) {
        lib_edits.push(Edit::delete(with_comments(&lib.text, node_range(attr))));
        dropped_no_std = true;
    }
    let at = head_of(&lib.text, &lib_tree);
    let mut head = String::from("\n");
    for line in &hoisted.attributes {
        head.push_str(line);
        head.push('\n');
    }
    let import = program.then(|| format!("use {wrapper}::{MAIN};"));
    let moved: Vec<&str> = hoisted.externs.iter().map(|(line, _)| line).chain(&import).map(String::as_str).collect();
    let moved = moved.join("\n");
    let attributes = hoisted.attributes.join("\n");
    let has = |item: &str| lib_tree.items.iter().any(|i| normal_extern(i).as_deref() == Some(item));
    let mut externs: Vec<String> =
        hoisted.externs.into_iter().filter(|(_, plain)| !has(plain)).map(|(line, _)| line).collect();
    if dropped_no_std && edition_2015 {
        externs.push("extern crate core;".to_owned());
    }
    if !name_taken {
        externs.push(own_name(lib_name));
    }
    externs.retain(|e| !has(e));
    externs.sort();
    externs.dedup();
    for line in externs.into_iter().chain(import) {
        head.push_str(&line);
        head.push('\n');
    }
    lib_edits.push(Edit::insert(at, head));

    let mut root = lib.edited(lib_edits);
    if !root.text.ends_with('\n') {
        root.push_new("\n");
    }
    root.push_new("\n");
    let start = root.text.len();
    root.push_new(&format!("mod {wrapper} {{\n"));
    root.push(&test);
    root.push_new(if root.text.ends_with('\n') { "" } else { "\n" });
    root.push_new(&said);
    root.push_new(if said.is_empty() { "}\n" } else { "\n}\n" });
    Ok(Joined { root, wrapper, start, hoisted: moved, attributes, test_text })
}

/// Where items can be put in front of those that a crate has, behind its inner attributes.
pub(super) fn head_of(text: &str, tree: &syn::File) -> usize {
    let first = tree.items.first().map_or(text.len(), |i| with_comments(text, node_range(i)).start);
    first.max(tree.attrs.iter().map(|a| node_range(a).end).max().unwrap_or(0))
}

/// The program with a `main` that the root can import.
fn with_public_main(program: Mapped, tree: &syn::File, lib: &syn::File, target: &TestTarget) -> Result<Mapped> {
    let unsupported = |reason: &str| Error::Unsupported { test: target.selector(), reason: reason.into() };
    if item_names(&lib.items).contains(MAIN) {
        return Err(unsupported("its library has a `main` at its root, too, and a file can only have one there"));
    }
    let main = tree.items.iter().find_map(|item| match item {
        Item::Fn(f) if f.sig.ident == MAIN => Some(f),
        _ => None,
    });
    let Some(main) = main else { return Err(unsupported("its `main` is no function of its root file")) };
    let at = node_range(&main.sig).start;
    let edit = matches!(main.vis, syn::Visibility::Inherited).then(|| Edit::insert(at, "pub "));
    Ok(program.edited(edit.into_iter().collect()))
}

/// The item that gives a crate its own name.
fn own_name(lib_name: &str) -> String {
    format!("extern crate self as {lib_name};")
}

fn adapt_test(test: &Mapped, tree: &syn::File, lib_name: &str, wrapper: &str, view: &View) -> (Mapped, Hoisted) {
    let edition_2015 = view.edition_2015;
    let mut edits = Vec::new();
    let mut hoisted = Hoisted::default();
    for attr in &tree.attrs {
        let r = node_range(attr);
        if goes_to_root(attr) {
            hoisted.attributes.push(test.text[r.clone()].to_owned());
        }
        if !allowed_in_module(attr) {
            edits.push(Edit::delete(with_comments(&test.text, r)));
        }
    }
    for item in &tree.items {
        let Item::ExternCrate(e) = item else { continue };
        let r = node_range(item);
        let name = e.ident.to_string().trim_start_matches("r#").to_owned();
        let line = test.text[r.clone()].to_owned();
        edits.push(Edit::delete(with_comments(&test.text, r)));
        if name == lib_name {
            if let Some((_, alias)) = &e.rename {
                let line = own_name(&alias.to_string());
                hoisted.externs.push((line.clone(), line));
            }
        } else if view.crates.contains_key(&name) {
            // It is a module of the gist.
        } else if !["std", "core"].contains(&name.as_str()) || e.rename.is_some() {
            hoisted.externs.extend(normal_extern(item).map(|plain| (line, plain)));
        }
    }
    let exported: BTreeSet<String> = exported_macros(&tree.items);
    let mut names = if edition_2015 { item_names(&tree.items) } else { BTreeSet::new() };
    let own_externs: BTreeSet<String> = tree
        .items
        .iter()
        .filter_map(|item| match item {
            Item::ExternCrate(e) => Some(e.rename.as_ref().map_or(&e.ident, |(_, r)| r).to_string()),
            _ => None,
        })
        .collect();
    names.retain(|n| !own_externs.contains(n));
    walk(tree.to_token_stream(), &mut |list| {
        for (i, token) in list.iter().enumerate() {
            let TokenTree::Ident(ident) = token else { continue };
            let end = range(ident.span()).end;
            if ident == "crate" && is_path_sep(list, i + 1) {
                let next = list.get(i + 3).map(ToString::to_string).unwrap_or_default();
                if !exported.contains(&next) {
                    edits.push(Edit::insert(end, format!("::{wrapper}")));
                }
            }
            // Edition 2015: paths in `use`, and those that begin with `::`, count from the root.
            let absolute = |i: usize| {
                i >= 2
                    && is_path_sep(list, i - 2)
                    && !matches!(i.checked_sub(3).and_then(|b| list.get(b)), Some(TokenTree::Ident(_)))
                    && !is_punct(i.checked_sub(3).and_then(|b| list.get(b)), '>')
            };
            let after_use = i >= 1 && matches!(&list[i - 1], TokenTree::Ident(u) if u == "use");
            if edition_2015 && names.contains(&ident.to_string()) && (after_use || absolute(i)) {
                edits.push(Edit::insert(range(ident.span()).start, format!("{wrapper}::")));
            }
        }
    });
    (test.edited(edits), hoisted)
}

/// A free name for the module: the target's, unless something else has it.
fn wrapper_name(target: &TestTarget, lib_name: &str, lib: &syn::File, suffix: &str) -> String {
    let base = target.call.crate_name();
    let mut taken = item_names(&lib.items);
    taken.extend(["std", "core", "alloc", "test", "proc_macro"].map(str::to_owned));
    taken.insert(lib_name.to_owned());
    taken.extend(target.call.externs().into_iter().map(|e| e.name));
    taken.extend(target.members.iter().map(|m| m.call.crate_name().to_owned()));
    // A target may begin with a digit, a module may not.
    let digit = base.starts_with(|c: char| c.is_ascii_digit());
    let mut name = if digit { format!("_{base}") } else { base.to_owned() };
    while taken.contains(&name) || syn::parse_str::<syn::Ident>(&name).is_err() {
        name.push_str(suffix);
    }
    name
}

/// The names that items declare in their module.
pub(super) fn item_names(items: &[Item]) -> BTreeSet<String> {
    fn leaves(tree: &syn::UseTree, parent: Option<&syn::Ident>, out: &mut BTreeSet<String>) {
        match tree {
            syn::UseTree::Path(p) => leaves(&p.tree, Some(&p.ident), out),
            // `use a::{self}` declares `a`.
            syn::UseTree::Name(n) if n.ident == "self" => out.extend(parent.map(ToString::to_string)),
            syn::UseTree::Name(n) => {
                out.insert(n.ident.to_string());
            }
            syn::UseTree::Rename(r) => {
                out.insert(r.rename.to_string());
            }
            syn::UseTree::Group(g) => g.items.iter().for_each(|t| leaves(t, parent, out)),
            _ => {}
        }
    }
    let mut out = BTreeSet::new();
    for item in items {
        let name = match item {
            Item::Const(i) => &i.ident,
            Item::Enum(i) => &i.ident,
            Item::Fn(i) => &i.sig.ident,
            Item::Mod(i) => &i.ident,
            Item::Static(i) => &i.ident,
            Item::Struct(i) => &i.ident,
            Item::Trait(i) => &i.ident,
            Item::Type(i) => &i.ident,
            Item::Union(i) => &i.ident,
            Item::ExternCrate(i) => i.rename.as_ref().map_or(&i.ident, |(_, r)| r),
            Item::Use(u) => {
                leaves(&u.tree, None, &mut out);
                continue;
            }
            _ => continue,
        };
        out.insert(name.to_string());
    }
    out
}

/// Other names that `extern crate`s at a crate's root give to libraries: they hold for paths in all of the crate.
pub(super) fn aliases(items: &[Item]) -> BTreeSet<String> {
    let alias = |item: &Item| match item {
        Item::ExternCrate(e) => e.rename.as_ref().filter(|(_, name)| *name != e.ident).map(|(_, name)| name.to_string()),
        _ => None,
    };
    items.iter().filter_map(alias).collect()
}

/// `#[macro_export]` macros: they live at the root of their crate, wherever they are written. Those that another macro
/// of the crate makes are among them.
pub(super) fn exported_macros(items: &[Item]) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    let mut calls = Calls::default();
    collect_exported(items, &mut out, &mut calls);
    out.extend(calls.made());
    out
}

/// Whether macros of the crate make macros that it exports.
pub(super) fn makes_exported_macros(items: &[Item]) -> bool {
    let mut calls = Calls::default();
    collect_exported(items, &mut BTreeSet::new(), &mut calls);
    !calls.made().is_empty()
}

/// Item macro calls, and the exported macros that they may make.
#[derive(Default)]
struct Calls {
    /// Names of macros that are called.
    called: BTreeSet<String>,
    /// Exported macros in the tokens of calls.
    handed_on: BTreeSet<String>,
    /// Macros, and the exported macros in their rules.
    makers: Vec<(String, Vec<String>)>,
}

impl Calls {
    /// The exported macros that calls make.
    fn made(&self) -> BTreeSet<String> {
        let called = self.makers.iter().filter(|(maker, _)| self.called.contains(maker));
        called.flat_map(|(_, made)| made).chain(&self.handed_on).cloned().collect()
    }
}

fn collect_exported(items: &[Item], out: &mut BTreeSet<String>, calls: &mut Calls) {
    for item in items {
        match item {
            Item::Macro(m) => match &m.ident {
                Some(name) => {
                    if m.attrs.iter().any(|a| a.path().is_ident("macro_export")) {
                        out.insert(name.to_string());
                    }
                    calls.makers.push((name.to_string(), exported_within(m.mac.tokens.clone())));
                }
                None => {
                    calls.called.extend(m.mac.path.segments.last().map(|s| s.ident.to_string()));
                    calls.handed_on.extend(exported_within(m.mac.tokens.clone()));
                }
            },
            Item::Mod(m) => m.content.iter().for_each(|(_, items)| collect_exported(items, out, calls)),
            _ => {}
        }
    }
}

/// The names in `#[macro_export] macro_rules! name` anywhere in the tokens.
fn exported_within(tokens: proc_macro2::TokenStream) -> Vec<String> {
    let mut out = Vec::new();
    walk(tokens, &mut |list| {
        for (i, token) in list.iter().enumerate() {
            let TokenTree::Ident(ident) = token else { continue };
            if ident != "macro_rules" || !is_punct(list.get(i + 1), '!') {
                continue;
            }
            let mut before = list[..i].iter().rev();
            let mut attributes = Vec::new();
            while let (Some(TokenTree::Group(g)), Some(TokenTree::Punct(_))) = (before.next(), before.next()) {
                attributes.push(g.stream().to_string().replace(' ', ""));
            }
            // A `cfg` that does not hold is `any()` by now.
            let exported =
                attributes.iter().any(|a| a.starts_with("macro_export")) && !attributes.iter().any(|a| a == "cfg(any())");
            if let (true, Some(TokenTree::Ident(name))) = (exported, list.get(i + 2)) {
                out.push(name.to_string());
            }
        }
    });
    out
}

/// An `extern crate` item as one line, to compare.
pub(super) fn normal_extern(item: &Item) -> Option<String> {
    let Item::ExternCrate(e) = item else { return None };
    let rename = e.rename.as_ref().map(|(_, r)| format!(" as {r}")).unwrap_or_default();
    Some(format!("extern crate {}{rename};", e.ident))
}
