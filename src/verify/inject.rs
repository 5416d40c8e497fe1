//! Injection: the original test is put back into a gist, so that nothing is won by changing the test.
//!
//! The gist is edited by byte range and stays as it is elsewhere. A test that is not where it was, or is no test any
//! more, is a fault that is found before anything is compiled.

use crate::reduce::nodes::{Kind, NodeId, Tree};
use crate::reduce::syntax::makes_a_test;
use crate::source::cfg::Predicate;
use crate::source::edit::{Edit, Piece, apply};
use crate::source::parse::{ParseError, item_attributes, parse, skipped};
use crate::source::tokens::{line_groups, test_functions, with_comments};
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use std::collections::BTreeSet;
use std::ops::Range;
use syn::ext::IdentExt;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;

/// What makes the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestKind {
    /// A function with an attribute.
    Function,
    /// A macro call at module level.
    MacroCall,
}

/// A test of the project.
#[derive(Clone, Debug)]
pub struct OriginalTest {
    /// The module it stands in, as the gist has it, a wrapper module included: `["slab_test", "inner"]`.
    pub path: Vec<String>,
    /// The function's name, or that of the test which a macro call makes (its last segment is looked for).
    pub name: String,
    /// The source text of the function with its attributes, or of the macro call; `cfg`s are resolved already.
    pub tokens: String,
    /// What the text is.
    pub kind: TestKind,
    /// Where the text starts in the project's bundle, if there is one: panics in it are mapped back by that.
    pub at: Option<usize>,
    /// Items that the test leans on.
    pub helpers: Vec<Helper>,
    /// For a macro call, the definition of the macro with the test in it.
    pub made_by: Option<MadeBy>,
    /// For a macro call, where its elements that make other tests stand in its text: those may be left out.
    pub others: Vec<Range<usize>>,
}

impl OriginalTest {
    /// The names of the functions that are the test's own: itself and its helpers.
    pub fn functions(&self) -> impl Iterator<Item = &str> {
        let helpers = self.helpers.iter().filter_map(|helper| match &helper.identity {
            Identity::Fn(name) => Some(name.as_str()),
            _ => None,
        });
        helpers.chain([self.name.as_str()])
    }
}

/// The `macro_rules!` with the function that a call makes the test of.
///
/// What else it makes, other tests above all, is like the other items of a module: a gist may leave it out. What the
/// gist has of it is put back.
#[derive(Clone, Debug)]
pub struct MadeBy {
    /// The definition.
    pub definition: Helper,
    /// Where the test's function starts in its text.
    pub test_at: usize,
}

/// An item of the project that is put back where the gist has one of the same identity.
#[derive(Clone, Debug)]
pub struct Helper {
    /// The module it stands in, as the gist has it.
    pub path: Vec<String>,
    /// What it is known by.
    pub identity: Identity,
    /// Its source text, attributes included.
    pub text: String,
    /// Where the text starts in the project's bundle, if there is one.
    pub at: Option<usize>,
}

/// What an item is known by in its module.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Identity {
    /// A function.
    Fn(String),
    /// A struct, an enum, a union, a type alias.
    Type(String),
    /// A constant or a static.
    Value(String),
    /// A trait.
    Trait(String),
    /// A `macro_rules!`.
    Macro(String),
    /// An implementation.
    Impl {
        /// The type, its tokens set apart by blanks.
        self_ty: String,
        /// The trait, likewise.
        trait_: Option<String>,
    },
}

impl Identity {
    /// The identity of an item; `None` for modules, `use`, macro calls, and what is called `_`.
    #[must_use]
    pub fn of(item: &syn::Item) -> Option<Identity> {
        let name = |ident: &syn::Ident| ident.to_string();
        let identity = match item {
            syn::Item::Fn(i) => Identity::Fn(name(&i.sig.ident)),
            syn::Item::Struct(i) => Identity::Type(name(&i.ident)),
            syn::Item::Enum(i) => Identity::Type(name(&i.ident)),
            syn::Item::Union(i) => Identity::Type(name(&i.ident)),
            syn::Item::Type(i) => Identity::Type(name(&i.ident)),
            syn::Item::Const(i) if i.ident != "_" => Identity::Value(name(&i.ident)),
            syn::Item::Static(i) => Identity::Value(name(&i.ident)),
            syn::Item::Trait(i) => Identity::Trait(name(&i.ident)),
            syn::Item::TraitAlias(i) => Identity::Trait(name(&i.ident)),
            syn::Item::Macro(i) => Identity::Macro(name(i.ident.as_ref()?)),
            syn::Item::Impl(i) => Identity::Impl {
                self_ty: i.self_ty.to_token_stream().to_string(),
                trait_: i.trait_.as_ref().map(|(path, _)| path.to_token_stream().to_string()),
            },
            _ => return None,
        };
        Some(identity)
    }

    /// The identity of an item's text.
    #[must_use]
    pub fn of_text(text: &str) -> Option<Identity> {
        Identity::of(&syn::parse_str(text).ok()?)
    }
}

/// A gist with the original test in it.
#[derive(Clone, Debug)]
pub struct Injected {
    /// The new text.
    pub text: String,
    /// Where each stretch of it comes from in the gist ([`crate::source::map::SourceMap::edited`] takes it).
    pub pieces: Vec<Piece>,
    /// What was put back, and where it starts in the project's bundle.
    pub put_back: Vec<Piece>,
    /// Identities of the helpers that were replaced.
    pub helpers: Vec<Identity>,
}

/// Why the original test can't be put back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InjectFault {
    /// Fault class `missing-test`.
    #[error("the gist has no test `{test}`: {reason}")]
    MissingTest {
        /// The test's path in the gist.
        test: String,
        /// What is there instead.
        reason: String,
    },
    /// Fault class `does-not-compile`.
    #[error(transparent)]
    NotRust(#[from] ParseError),
}

/// Puts the original test and its helpers into `gist`.
///
/// ```
/// use cargo_gistify::verify::inject::{OriginalTest, TestKind, inject};
/// let test = OriginalTest {
///     path: vec!["tests".into()],
///     name: "one".into(),
///     tokens: "#[test]\nfn one() { assert_eq!(super::f(), 1) }".into(),
///     kind: TestKind::Function,
///     at: None,
///     helpers: vec![],
///     made_by: None,
///     others: vec![],
/// };
/// let gist = "fn f() -> u8 { 1 }\nmod tests {\n    #[test]\n    fn one() {}\n}\n";
/// let injected = inject(gist, &test)?;
/// assert_eq!(injected.text, gist.replace("#[test]\n    fn one() {}", &test.tokens));
/// # Ok::<(), cargo_gistify::verify::inject::InjectFault>(())
/// ```
///
/// # Errors
/// The test is not there, or the gist is not Rust.
pub fn inject(gist: &str, test: &OriginalTest) -> Result<Injected, InjectFault> {
    let file = parse("the gist", gist)?;
    let base = skipped(gist, &file);
    let found = find(&file, test)?;
    let mut edits = Vec::new();
    let mut tokens = test.tokens.trim().to_owned();
    if test.kind == TestKind::MacroCall && !tokens.ends_with([';', '}']) {
        tokens.push(';');
    }
    if let Some(item) = found.first().filter(|_| !test.others.is_empty()) {
        tokens = elements_left(&tokens, &test.others, &gist[range(item, base)]);
    }
    for (i, item) in found.iter().enumerate() {
        // Of several (under different `cfg`s) one is the test: no other may run in its place.
        let with = if i == 0 { tokens.clone() } else { String::new() };
        replace(&mut edits, gist, range(item, base), with, trimmed(&test.tokens, test.at));
    }
    if let Some(made_by) = &test.made_by {
        let definition = &made_by.definition;
        let Some(item) = same_item(&file, definition).next() else {
            return Err(missing(test, format!("the macro that makes it, `{}`, is not in its module", name_of(definition))));
        };
        let there = &gist[range(item, base)];
        let Some(original) = without_left_out(&definition.text, made_by.test_at, there) else {
            return Err(missing(test, format!("the macro `{}` does not make it any more", name_of(definition))));
        };
        if !same_tokens(&original, there) {
            replace(&mut edits, gist, range(item, base), original, None);
        }
    }
    let mut helpers = Vec::new();
    for helper in &test.helpers {
        for item in same_item(&file, helper) {
            if found.iter().any(|f| std::ptr::eq(*f, item)) {
                continue;
            }
            let at = trimmed(&helper.text, helper.at);
            replace(&mut edits, gist, range(item, base), helper.text.trim().to_owned(), at);
            helpers.push(helper.identity.clone());
            break;
        }
    }
    edits.sort_by_key(|(e, _)| e.range.start);
    let origins: Vec<Option<usize>> = edits.iter().filter(|(e, _)| !e.with.is_empty()).map(|(_, at)| *at).collect();
    let (text, pieces) = apply(gist, edits.into_iter().map(|(e, _)| e).collect());
    let new = pieces.iter().filter(|p| p.from.is_none());
    let put_back = new.zip(origins).filter_map(|(p, at)| Some(Piece { from: Some(at?), ..p.clone() })).collect();
    Ok(Injected { text, pieces, put_back, helpers })
}

/// The items of the gist that have a helper's identity.
fn same_item<'a>(file: &'a syn::File, helper: &'a Helper) -> impl Iterator<Item = &'a syn::Item> {
    let same = |item: &&syn::Item| Identity::of(item).as_ref() == Some(&helper.identity);
    modules(file, &helper.path).into_iter().flatten().filter(|i| visible(i)).filter(same)
}

fn name_of(helper: &Helper) -> &str {
    match &helper.identity {
        Identity::Fn(name)
        | Identity::Type(name)
        | Identity::Value(name)
        | Identity::Trait(name)
        | Identity::Macro(name)
        | Identity::Impl { self_ty: name, .. } => name,
    }
}

/// The original definition of a macro without the rules and items that the gist's has not; `None` when the item at
/// `test_at` is one of those.
fn without_left_out(original: &str, test_at: usize, gist: &str) -> Option<String> {
    let (tree, theirs) = (Tree::parse(original).ok()?, Tree::parse(gist).ok()?);
    let known: BTreeSet<Vec<String>> = (1..theirs.nodes.len()).map(|i| identity_in_macro(&theirs, i, gist)).collect();
    let gone = |i: usize| {
        let node = &tree.nodes[i];
        (node.in_macro_item() || node.kind == Kind::Decoration) && !known.contains(&identity_in_macro(&tree, i, original))
    };
    let mut cut: Vec<bool> = (0..tree.nodes.len()).map(gone).collect();
    tree.close_containers(&mut cut, &vec![false; tree.nodes.len()]);
    if tree.ancestors(tree.at(test_at)).any(|a| cut[a]) {
        return None;
    }
    let edits = (1..cut.len()).filter(|&i| cut[i]).map(|i| Edit::delete(tree.cut_range(original, i))).collect();
    Some(apply(original, edits).0)
}

/// The original call of a macro without those of `others`, its elements for other tests, that the gist's has not.
fn elements_left(original: &str, others: &[Range<usize>], gist: &str) -> String {
    let theirs = gist.parse::<TokenStream>().map(lines_of_call).unwrap_or_default();
    let left_out =
        |r: &&Range<usize>| original[(*r).clone()].parse::<TokenStream>().is_ok_and(|t| !theirs.contains(&t.to_string()));
    let edits = others.iter().filter(left_out).map(|r| Edit::delete(with_comments(original, r.clone()))).collect();
    apply(original, edits).0
}

/// What stands between the delimiters of a macro call, in groups of lines, and as functions.
fn lines_of_call(call: TokenStream) -> BTreeSet<String> {
    let between = call.into_iter().find_map(|t| match t {
        TokenTree::Group(g) => Some(g.stream()),
        _ => None,
    });
    let between = between.unwrap_or_default();
    let functions = test_functions(between.clone()).unwrap_or_default().into_iter().map(|(_, function)| function);
    line_groups(between).into_iter().chain(functions).map(|group| group.to_string()).collect()
}

/// What a rule or an item of a macro is known by: the kinds and names of what is around it, and its own.
fn identity_in_macro(tree: &Tree, id: NodeId, text: &str) -> Vec<String> {
    let known_by = |a: NodeId| {
        let n = &tree.nodes[a];
        let rule = match n.kind {
            Kind::MacroRule => &text[n.name_range.clone()],
            Kind::MacroCall => &text[n.range.clone()],
            _ => "",
        };
        let words: String =
            if n.kind == Kind::UseLeaf { n.words.iter().map(|w| format!("{w} ")).collect() } else { String::new() };
        format!("{:?} {} {:?} {rule}{words}", n.kind, n.name, n.header)
    };
    tree.ancestors(id).map(known_by).collect()
}

fn same_tokens(a: &str, b: &str) -> bool {
    let tokens = |text: &str| text.parse::<TokenStream>().map(|t| t.to_string()).ok();
    tokens(a).is_some_and(|a| Some(a) == tokens(b))
}

/// An edit, unless it changes nothing: text that stays keeps its origin.
fn replace(edits: &mut Vec<(Edit, Option<usize>)>, gist: &str, range: Range<usize>, with: String, at: Option<usize>) {
    if gist[range.clone()] != with {
        edits.push((Edit::replace(range, with), at));
    }
}

/// Where the text without the white space around it starts.
fn trimmed(text: &str, at: Option<usize>) -> Option<usize> {
    at.map(|at| at + text.len() - text.trim_start().len())
}

/// The byte range of the test in `gist`, attributes included: what test F1 compares.
///
/// # Errors
/// The test is not there, or the gist is not Rust.
pub fn locate(gist: &str, test: &OriginalTest) -> Result<Range<usize>, InjectFault> {
    let file = parse("the gist", gist)?;
    let base = skipped(gist, &file);
    let found = find(&file, test)?;
    Ok(found.first().map_or(0..0, |item| range(item, base)))
}

fn range(item: &syn::Item, base: usize) -> Range<usize> {
    let range = item.span().byte_range();
    base + range.start..base + range.end
}

fn missing(test: &OriginalTest, reason: String) -> InjectFault {
    let name = test.name.rsplit("::").next().unwrap_or_default();
    let test = test.path.iter().map(String::as_str).chain([name]).collect::<Vec<_>>().join("::");
    InjectFault::MissingTest { test, reason }
}

/// The items that are the test; at least one.
fn find<'a>(file: &'a syn::File, test: &OriginalTest) -> Result<Vec<&'a syn::Item>, InjectFault> {
    let name = test.name.rsplit("::").next().unwrap_or_default();
    let missing = |reason: String| missing(test, reason);
    if file.attrs.iter().any(|attribute| takes_away(&attribute.meta)) {
        return Err(missing("the file is never compiled".to_owned()));
    }
    let modules = modules(file, &test.path);
    if modules.is_empty() {
        return Err(missing(format!("there is no module `{}`", test.path.join("::"))));
    }
    let items = modules.into_iter().flatten().filter(|i| visible(i));
    let found: Vec<&syn::Item> = match test.kind {
        TestKind::Function => items.filter(|i| matches!(i, syn::Item::Fn(f) if is_called(&f.sig.ident, name))).collect(),
        TestKind::MacroCall => macro_call(items, &test.tokens, name),
    };
    if found.is_empty() {
        let elsewhere = all_functions(&file.items).iter().any(|function| is_called(function, name));
        let moved = if elsewhere { "it was moved to another module" } else { "nothing of that name is in its module" };
        return Err(missing(moved.to_owned()));
    }
    if test.kind == TestKind::Function {
        let original = syn::parse_str::<syn::ItemFn>(&test.tokens).map(|f| f.attrs).unwrap_or_default();
        if original.iter().any(makes_a_test) && !found.iter().any(|i| item_attributes(i).iter().any(makes_a_test)) {
            return Err(missing("the function of that name is no test".to_owned()));
        }
    }
    Ok(found)
}

/// The call whose tokens are the original's; else, of those that name the test, one of the same macro if there is any.
fn macro_call<'a>(items: impl Iterator<Item = &'a syn::Item>, original: &str, name: &str) -> Vec<&'a syn::Item> {
    let parsed = syn::parse_str::<syn::ItemMacro>(original)
        .or_else(|_| syn::parse_str::<syn::ItemMacro>(&format!("{original};")))
        .ok();
    let text = |mac: &syn::Macro| mac.to_token_stream().to_string();
    let wanted = parsed.as_ref().map(|m| text(&m.mac));
    let macro_name = |mac: &syn::Macro| mac.path.segments.last().map(|s| s.ident.to_string());
    let same_macro = parsed.as_ref().and_then(|m| macro_name(&m.mac));
    let rank = |mac: &syn::Macro| {
        if Some(text(mac)) == wanted {
            Some(0)
        } else if names(mac.tokens.clone(), name) {
            Some(if macro_name(mac) == same_macro { 1 } else { 2 })
        } else {
            None
        }
    };
    items
        .filter_map(|item| match item {
            syn::Item::Macro(m) if m.ident.is_none() => rank(&m.mac).map(|rank| (rank, item)),
            _ => None,
        })
        .min_by_key(|(rank, _)| *rank)
        .map(|(_, item)| item)
        .into_iter()
        .collect()
}

/// Whether an identifier called `name` is among the tokens.
fn names(tokens: TokenStream, name: &str) -> bool {
    tokens.into_iter().any(|tree| match tree {
        TokenTree::Ident(ident) => is_called(&ident, name),
        TokenTree::Group(group) => names(group.stream(), name),
        _ => false,
    })
}

/// Whether that is its name, with or without the `r#` that lets a keyword be one: libtest says it, and paths do not.
fn is_called(ident: &syn::Ident, name: &str) -> bool {
    ident.unraw() == name.trim_start_matches("r#")
}

/// The contents of all modules of that path; the file itself for the empty path.
fn modules<'a>(file: &'a syn::File, path: &[String]) -> Vec<&'a [syn::Item]> {
    let mut level: Vec<&[syn::Item]> = vec![&file.items];
    for name in path {
        level = level
            .into_iter()
            .flatten()
            .filter(|i| visible(i))
            .filter_map(|item| match item {
                syn::Item::Mod(m) if is_called(&m.ident, name) => m.content.as_ref().map(|c| c.1.as_slice()),
                _ => None,
            })
            .collect();
    }
    level
}

fn all_functions(items: &[syn::Item]) -> Vec<&syn::Ident> {
    items
        .iter()
        .filter(|item| visible(item))
        .flat_map(|item| match item {
            syn::Item::Fn(f) => vec![&f.sig.ident],
            syn::Item::Mod(syn::ItemMod { content: Some((_, items)), .. }) => all_functions(items),
            _ => Vec::new(),
        })
        .collect()
}

/// Whether an item can be there in a test build: no `cfg` on it is always false.
fn visible(item: &syn::Item) -> bool {
    !item_attributes(item).iter().any(|attribute| takes_away(&attribute.meta))
}

/// Whether an attribute takes away what it stands on in any test build: a `cfg`, or a `cfg_attr` with one.
fn takes_away(meta: &syn::Meta) -> bool {
    let syn::Meta::List(list) = meta else { return false };
    let comes_to = |tokens: TokenStream| Predicate::parse(tokens).and_then(|p| truth(&p));
    if list.path.is_ident("cfg") {
        return comes_to(list.tokens.clone()) == Some(false);
    }
    let parts = Punctuated::<syn::Meta, syn::Token![,]>::parse_terminated;
    match parts.parse2(list.tokens.clone()) {
        Ok(parts) if list.path.is_ident("cfg_attr") => {
            let holds = parts.first().is_some_and(|p| comes_to(p.to_token_stream()) == Some(true));
            holds && parts.iter().skip(1).any(takes_away)
        }
        _ => false,
    }
}

/// What a predicate comes to in any test build, if that is the same for all of them.
fn truth(predicate: &Predicate) -> Option<bool> {
    let all = |list: &[Predicate], neutral: bool| {
        let values: Vec<Option<bool>> = list.iter().map(truth).collect();
        if values.contains(&Some(!neutral)) {
            Some(!neutral)
        } else {
            values.iter().all(|v| *v == Some(neutral)).then_some(neutral)
        }
    };
    match predicate {
        Predicate::Literal(value) => Some(*value),
        Predicate::Name(name) => (name == "test").then_some(true),
        Predicate::Value(..) => None,
        Predicate::All(list) => all(list, true),
        Predicate::Any(list) => all(list, false),
        Predicate::Not(inner) => truth(inner).map(|v| !v),
    }
}

#[cfg(test)]
mod unit {
    use super::*;

    fn test(path: &[&str], name: &str, kind: TestKind, tokens: &str) -> OriginalTest {
        OriginalTest {
            path: path.iter().map(|p| (*p).to_owned()).collect(),
            name: name.to_owned(),
            tokens: tokens.to_owned(),
            kind,
            at: None,
            helpers: Vec::new(),
            made_by: None,
            others: Vec::new(),
        }
    }

    fn function(path: &[&str], name: &str) -> OriginalTest {
        test(path, name, TestKind::Function, &format!("#[test] fn {name}() {{ original() }}"))
    }

    fn reason(gist: &str, test: &OriginalTest) -> String {
        inject(gist, test).unwrap_err().to_string()
    }

    #[test]
    fn a_test_is_found_in_nested_modules_and_nothing_else_is_touched() {
        let gist = "#!/bin/x\n/// ü\nfn t() {}\nmod a { mod b { // c\n  /// Doc.\n  #[test]\n  fn t() { changed() }\n } }";
        let out = inject(gist, &function(&["a", "b"], "t")).unwrap();
        assert_eq!(out.text, "#!/bin/x\n/// ü\nfn t() {}\nmod a { mod b { // c\n  #[test] fn t() { original() }\n } }");
        let copied: usize = out.pieces.iter().filter(|p| p.from.is_some()).map(|p| p.len).sum();
        assert_eq!(copied, out.text.len() - "#[test] fn t() { original() }".len());
        let range = locate(gist, &function(&["a", "b"], "t")).unwrap();
        assert_eq!(&gist[range], "/// Doc.\n  #[test]\n  fn t() { changed() }");
    }

    #[test]
    fn a_test_that_is_gone_moved_or_no_test_any_more_is_missing() {
        let t = function(&["m"], "t");
        assert_eq!(reason("fn x() {}", &t), "the gist has no test `m::t`: there is no module `m`");
        assert!(reason("mod m { #[test] fn t2() {} }", &t).ends_with("nothing of that name is in its module"));
        assert!(reason("mod m {} mod n { #[test] fn t() {} }", &t).ends_with("it was moved to another module"));
        assert!(reason("mod m { fn t() {} fn main() { t() } }", &t).ends_with("the function of that name is no test"));
        assert!(matches!(inject("mod m {", &t), Err(InjectFault::NotRust(_))));
    }

    #[test]
    fn what_can_never_be_compiled_is_not_found() {
        let t = function(&["m"], "t");
        for cfg in ["any()", "not(test)", "all(test, any())", "false", "not(any(unix, test))"] {
            assert!(inject(&format!("#[cfg({cfg})] mod m {{ #[test] fn t() {{}} }}"), &t).is_err(), "{cfg}");
            assert!(inject(&format!("mod m {{ #[cfg({cfg})] #[test] fn t() {{}} }}"), &t).is_err(), "{cfg}");
            let twice = format!("mod m {{ #[cfg_attr(test, cfg_attr(all(), allow(x), cfg({cfg})))] #[test] fn t() {{}} }}");
            assert!(inject(&twice, &t).is_err(), "{cfg}");
            assert!(
                reason(&format!("#![cfg({cfg})] mod m {{ #[test] fn t() {{}} }}"), &t)
                    .ends_with("the file is never compiled")
            );
        }
        for cfg in ["test", "unix", "all()", "any(test, x)", "not(windows)"] {
            assert!(inject(&format!("#[cfg({cfg})] mod m {{ #[test] fn t() {{}} }}"), &t).is_ok(), "{cfg}");
        }
    }

    #[test]
    fn of_two_functions_of_one_name_one_is_left() {
        let gist = "#[cfg(a)] #[test] fn t() {} #[cfg(not(a))] #[test] fn t() { other() }";
        assert_eq!(inject(gist, &function(&[], "t")).unwrap().text, "#[test] fn t() { original() } ");
    }

    #[test]
    fn a_macro_call_is_found_by_its_tokens_or_by_the_name_in_it() {
        let t = test(&["m"], "group::t", TestKind::MacroCall, "cases!(s, t, 1)");
        let out = |gist| inject(gist, &t).map(|i| i.text);
        assert_eq!(out("mod m { cases!(t); cases! ( s,t , 1 ); }").unwrap(), "mod m { cases!(t); cases!(s, t, 1); }");
        assert_eq!(out("mod m { other!(t); cases! { t } }").unwrap(), "mod m { other!(t); cases!(s, t, 1); }");
        assert_eq!(out("mod m { other!([t]); cases!(u); }").unwrap(), "mod m { cases!(s, t, 1); cases!(u); }");
        assert!(out("mod m { cases!(u); } cases!(s, t, 1);").is_err());
    }

    #[test]
    fn of_a_macro_that_makes_tests_the_gist_may_leave_out_others_and_nothing_else() {
        let text = "macro_rules! m {\n    ($n:ident) => {\n        #[test]\n        fn a() { x($n) }\n        #[test]\n        fn b() { y($n) }\n        \
                    fn x(n: u8) { 1 }\n    };\n    (two) => {};\n}";
        let mut t = test(&["t"], "a", TestKind::MacroCall, "m! {\n    one(a)\n    two(b)\n}");
        let identity = Identity::of_text(text).unwrap();
        let definition = Helper { path: Vec::new(), identity, text: text.into(), at: None };
        let second = t.tokens.find("two(b)").unwrap();
        let others = std::iter::once(second..second + 6).collect();
        t.made_by = Some(MadeBy { definition, test_at: text.find("#[test]").unwrap() });
        t.others = others;
        let shorter = "macro_rules! m {\n    ($n:ident) => {\n        #[test]\n        fn a() { x($n) }\n        fn x(n: u8) { 1 }\n    };\n}";
        let gist = |definition: &str| format!("{definition} mod t {{ m! {{\n    one(a)\n}} }}");
        let out = |definition: &str| inject(&gist(definition), &t).map(|i| i.text);
        assert_eq!(out(shorter).unwrap(), gist(shorter));
        // What is changed is put back.
        let changed = shorter.replace("x($n) }", "}").replace("{ 1 }", "{ 2 }");
        assert!(same_tokens(&out(&changed).unwrap(), &gist(shorter)));
        // The test itself may not be missing.
        let without = shorter.replace("fn a() { x($n) }", "fn c() {}");
        assert!(out(&without).unwrap_err().to_string().ends_with("the macro `m` does not make it any more"));
        assert!(out("").unwrap_err().to_string().ends_with("`m`, is not in its module"));
        assert!(inject(&gist(shorter).replace("one(a)", "one(c)"), &t).is_err());
        // What makes no other test of its own is put back, however little of it is there.
        t.others.clear();
        let whole = gist(shorter).replace("one(a)", "one(a)\n    two(b)");
        assert_eq!(inject(&gist(shorter), &t).unwrap().text, whole);
        t.others.push(second..second + 6);
        assert_eq!(inject(&gist(shorter).replace("one(a)", "two(b, a)"), &t).unwrap().text, gist(shorter));
    }

    #[test]
    fn helpers_that_exist_in_both_are_replaced_by_identity() {
        let mut t = function(&["m"], "t");
        for text in ["fn h() { 1 }", "impl A for B<u8> { fn x() {} }", "struct S { a: u8 }", "const GONE: u8 = 1;"] {
            let identity = Identity::of_text(text).unwrap();
            t.helpers.push(Helper { path: vec!["m".into()], identity, text: text.into(), at: None });
        }
        let gist =
            "fn h() {} mod m { #[test] fn t() {} fn h() {} impl A for B< u8 > {} impl A for B<u16> {} struct S; fn S() {} }";
        let out = inject(gist, &t).unwrap();
        assert_eq!(
            out.text,
            "fn h() {} mod m { #[test] fn t() { original() } fn h() { 1 } impl A for B<u8> { fn x() {} } impl A for B<u16> {} struct S { a: u8 } fn S() {} }"
        );
        assert_eq!(out.helpers.len(), 3);
        assert_eq!(inject(&out.text, &t).unwrap().text, out.text);
    }

    #[test]
    fn what_is_put_back_knows_where_it_comes_from() {
        let mut t = function(&[], "t");
        t.at = Some(100);
        let text = "fn h() { 1 }";
        let identity = Identity::of_text(text).unwrap();
        t.helpers.push(Helper { path: Vec::new(), identity, text: format!("  {text}"), at: Some(7) });
        let out = inject("fn h() {} #[test] fn t() {}", &t).unwrap();
        let origins: Vec<_> = out.put_back.iter().map(|p| (&out.text[p.start..][..p.len], p.from)).collect();
        assert_eq!(origins, [(text, Some(9)), (t.tokens.as_str(), Some(100))]);
    }

    #[test]
    fn things_without_a_name_have_no_identity() {
        assert_eq!(Identity::of_text("use a::b;"), None);
        assert_eq!(Identity::of_text("const _: u8 = 1;"), None);
        assert_eq!(Identity::of_text("m!(a);"), None);
        assert_eq!(Identity::of_text("macro_rules! m { () => {} }"), Some(Identity::Macro("m".into())));
    }
}
