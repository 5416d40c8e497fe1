//! Finds the test in the project and in the gist, and compares the two.
//!
//! A test that is a function is compared as one. A test that a macro makes is compared as the call that makes it,
//! and as the `macro_rules!` that the call goes through. What can be compared in neither way is said to be so.

use super::record::Compared;
use super::rows::Place;
use super::sources::{Module, Sources, plain};
use super::tokens::{Rules, attribute, difference, trees};
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use std::collections::BTreeSet;
use std::path::Path;
use syn::spanned::Spanned;
use syn::{Item, ItemFn, ItemMacro};

/// The first segment of the paths of the library's modules, in the sources of an integration test.
pub(super) const LIBRARY: &str = "<library>";

/// What is compared.
#[derive(Debug)]
pub(super) struct Comparison<'a> {
    /// The project: the test's crate, and for an integration test the library below [`LIBRARY`].
    pub(super) original: &'a Sources,
    /// The gist.
    pub(super) gist: &'a Sources,
    /// The test's path in the project.
    pub(super) test: &'a str,
    /// Where the corpus says that it stands.
    pub(super) place: Option<&'a Place>,
    /// What may differ.
    pub(super) rules: &'a Rules,
}

/// A macro call, with the module that it stands in.
pub(super) type Call<'a> = (&'a Module, &'a ItemMacro);

impl Comparison<'_> {
    /// Compares.
    pub(super) fn run(&self) -> Compared {
        let path: Vec<String> = self.test.split("::").map(str::to_owned).collect();
        let mut gist_path: Vec<String> = self.rules.wrapper.iter().cloned().collect();
        gist_path.extend(path.iter().cloned());
        if let Some((module, function)) = self.function(&path) {
            return self.compare_functions(module, function, &gist_path);
        }
        let name = path.last().expect("a path has a last segment");
        let at_place = self.place.and_then(|place| self.call_at(place)).filter(|(_, x)| holds(&x.mac.tokens, name));
        let calls = match at_place {
            Some(call) => vec![call],
            None => calls(self.original, &path),
        };
        if calls.is_empty() {
            return Compared::NotComparable(
                "no function and no macro call of the project makes it, as far as seen".to_owned(),
            );
        }
        self.compare_calls(&calls, &gist_path)
    }

    /// The test's function in the project: by path, of several the one at the place; else a function with a test
    /// attribute at the place, for modules that were not found.
    fn function(&self, path: &[String]) -> Option<(&Module, &ItemFn)> {
        let (name, parents) = path.split_last()?;
        let placed = |m: &Module, f: &ItemFn| {
            self.place.is_some_and(|place| m.file == Path::new(&place.file) && covers(f, place.line))
        };
        let named: Vec<_> = functions(self.original).filter(|(_, f)| plain(&f.sig.ident) == *name).collect();
        let by_path: Vec<_> = named.iter().copied().filter(|(m, _)| m.path == parents).collect();
        let by_both = by_path.iter().find(|(m, f)| placed(m, f));
        let by_place = || named.iter().find(|(m, f)| placed(m, f) && is_test(f));
        by_both.or_else(|| by_path.first()).or_else(by_place).copied()
    }

    /// The macro call that stands at a place; not a `macro_rules!`.
    fn call_at(&self, place: &Place) -> Option<Call<'_>> {
        let in_file = self.original.modules.iter().filter(|m| m.file == Path::new(&place.file));
        in_file.flat_map(macros).find(|(_, x)| x.ident.is_none() && covers(*x, place.line))
    }

    fn compare_functions(&self, module: &Module, original: &ItemFn, gist_path: &[String]) -> Compared {
        let (name, parents) = gist_path.split_last().expect("a path has a last segment");
        let rules = self.rules_for(module);
        let mut found = None;
        for (_, function) in functions(self.gist).filter(|(m, f)| m.path == parents && plain(&f.sig.ident) == *name) {
            match difference(original.to_token_stream(), function.to_token_stream(), &rules) {
                None => return Compared::Same,
                Some(detail) => found = Some(detail),
            }
        }
        Compared::Differs(found.unwrap_or_else(|| format!("no function {} in the gist", gist_path.join("::"))))
    }

    fn compare_calls(&self, originals: &[Call<'_>], gist_path: &[String]) -> Compared {
        let name = gist_path.last().expect("a path has a last segment");
        let found = calls(self.gist, gist_path);
        if found.is_empty() {
            let what = macro_name(originals[0].1);
            return Compared::Differs(format!("no call of {what}! in the gist makes {}", gist_path.join("::")));
        }
        let mut fewer = false;
        for (_, call) in &found {
            let mut detail = String::new();
            let same = originals.iter().any(|(module, original)| {
                let (a, b) = (original.mac.to_token_stream(), call.mac.to_token_stream());
                difference(a.clone(), b.clone(), &self.rules_for(module)).is_none_or(|text| {
                    detail = text;
                    fewer = self.same_functions(&a, &b, name, module);
                    fewer
                })
            });
            if same {
                continue;
            }
            if originals.iter().any(|(_, original)| lines_are_among(&original.mac.tokens, &call.mac.tokens, name)) {
                fewer = true;
                continue;
            }
            if originals.iter().any(|(_, original)| shortened(&original.mac.tokens, &call.mac.tokens)) {
                return Compared::NotComparable(format!("the call of {}! is shortened in the gist", macro_name(call)));
            }
            return Compared::Differs(format!("the call of {}!: {detail}", macro_name(call)));
        }
        for (module, definition) in definitions(self.gist, &found) {
            match self.compare_definition(module, definition, name) {
                Compared::Differs(detail) => {
                    return Compared::Differs(format!("the definition of {}!: {detail}", plain_name(definition)));
                }
                other => fewer |= other == Compared::SameInMacro,
            }
        }
        if fewer { Compared::SameInMacro } else { Compared::SameMacro }
    }

    /// How a `macro_rules!` of the gist compares with the project's: it may have fewer arms, or be the same only
    /// in the test's own function.
    fn compare_definition(&self, module: &Module, definition: &ItemMacro, name: &str) -> Compared {
        let macro_name = plain_name(definition);
        let home = match &self.rules.wrapper {
            None => module.path.clone(),
            Some(wrapper) if module.path.first() == Some(wrapper) => module.path[1..].to_vec(),
            Some(_) => std::iter::once(LIBRARY.to_owned()).chain(module.path.iter().cloned()).collect(),
        };
        let all: Vec<Call<'_>> = self.original.definitions(&macro_name).collect();
        let near: Vec<Call<'_>> = all.iter().copied().filter(|(m, _)| m.path == home).collect();
        let candidates = if near.is_empty() { all } else { near };
        let mut detail = "the project has no such macro".to_owned();
        let mut fewer = false;
        let same = candidates.iter().any(|(at, original)| {
            let rules = self.rules_for(at);
            let (a, b) = (&original.mac.tokens, &definition.mac.tokens);
            difference(a.clone(), b.clone(), &rules).is_none_or(|text| {
                detail = text;
                fewer = arms_are_among(a, b, &rules) || self.same_functions(a, b, name, at);
                fewer
            })
        });
        match (same, fewer) {
            (true, false) => Compared::SameMacro,
            (true, true) => Compared::SameInMacro,
            (false, _) => Compared::Differs(detail),
        }
    }

    /// Whether the test's function stands in both streams, under its name or a macro's variable, and every one in the
    /// gist's is one of the original's.
    fn same_functions(&self, original: &TokenStream, gist: &TokenStream, name: &str, module: &Module) -> bool {
        let (mut originals, mut gists) = (functions_named(original, name), functions_named(gist, name));
        if gists.is_empty() {
            (originals, gists) = (functions_named(original, "$"), functions_named(gist, "$"));
        }
        let rules = self.rules_for(module);
        !gists.is_empty()
            && gists.iter().all(|g| originals.iter().any(|o| difference(o.clone(), g.clone(), &rules).is_none()))
    }

    /// The rules, with the folder of a module's file.
    fn rules_for(&self, module: &Module) -> Rules {
        let mut rules = self.rules.clone();
        rules.folder = rules.folder.map(|f| f.join(module.file.parent().unwrap_or(Path::new(""))));
        rules
    }
}

/// The module of the gist that holds an integration test's file: the target's name, with `_tests` behind it as
/// often as that name was taken.
pub(crate) fn wrapper(gist: &Sources, target: &str) -> String {
    let mut name = target.replace('-', "_");
    let mut best = name.clone();
    for _ in 0..4 {
        if gist.modules.iter().any(|m| m.path == [name.clone()]) {
            best.clone_from(&name);
        }
        name.push_str("_tests");
    }
    best
}

fn functions(sources: &Sources) -> impl Iterator<Item = (&Module, &ItemFn)> {
    sources.modules.iter().flat_map(|m| m.items.iter().map(move |i| (m, i))).filter_map(|(m, item)| match item {
        Item::Fn(f) => Some((m, f)),
        _ => None,
    })
}

fn macros(module: &Module) -> impl Iterator<Item = Call<'_>> {
    module.items.iter().filter_map(move |item| match item {
        Item::Macro(x) => Some((module, x)),
        _ => None,
    })
}

/// Whether an attribute has `test` in its name.
fn is_test(function: &ItemFn) -> bool {
    function.attrs.iter().any(|a| a.path().segments.last().is_some_and(|s| s.ident.to_string().contains("test")))
}

fn covers(item: &impl Spanned, line: usize) -> bool {
    let span = item.span();
    (span.start().line..=span.end().line).contains(&line)
}

fn macro_name(call: &ItemMacro) -> String {
    call.mac.path.segments.last().map(|s| plain(&s.ident)).unwrap_or_default()
}

/// The name of the macro that is defined.
pub(super) fn plain_name(definition: &ItemMacro) -> String {
    definition.ident.as_ref().map(plain).unwrap_or_default()
}

/// The macro calls that make the item at a path: in the deepest module on the way that has any. A call makes it
/// when its tokens name what is left of the path, or when the macros it goes through name the item.
pub(super) fn calls<'a>(sources: &'a Sources, path: &[String]) -> Vec<Call<'a>> {
    let Some(name) = path.last() else { return Vec::new() };
    for depth in (0..path.len()).rev() {
        let here: Vec<Call<'a>> = sources
            .modules
            .iter()
            .filter(|m| m.path == path[..depth])
            .flat_map(macros)
            .filter(|(_, x)| x.ident.is_none())
            .collect();
        let named = |wanted: &[&String]| -> Vec<Call<'a>> {
            here.iter().copied().filter(|(_, x)| wanted.iter().all(|w| holds(&x.mac.tokens, w))).collect()
        };
        // Best: both the next segment and the item; else the next segment; else a macro that names the item.
        for wanted in [vec![&path[depth], name], vec![&path[depth]]] {
            let found = named(&wanted);
            if !found.is_empty() {
                return found;
            }
        }
        let through = |call: &Call<'a>| definitions(sources, &[*call]).iter().any(|(_, d)| holds(&d.mac.tokens, name));
        let found: Vec<Call<'a>> = here.iter().copied().filter(through).collect();
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

/// The `macro_rules!` that calls go through, those that definitions call included.
pub(super) fn definitions<'a>(sources: &'a Sources, calls: &[Call<'a>]) -> Vec<Call<'a>> {
    let mut names: BTreeSet<String> = BTreeSet::new();
    let mut todo: Vec<String> = calls.iter().map(|(_, call)| macro_name(call)).collect();
    for (_, call) in calls {
        called(&call.mac.tokens, &mut todo);
    }
    let mut out: Vec<Call<'a>> = Vec::new();
    while let Some(name) = todo.pop() {
        if !names.insert(name.clone()) {
            continue;
        }
        let all: Vec<Call<'a>> = sources
            .modules
            .iter()
            .flat_map(macros)
            .filter(|(_, x)| x.ident.as_ref().is_some_and(|i| plain(i) == name))
            .collect();
        // Textual scope: of several with one name, those nearest to the calls.
        let reach = |m: &Module| calls.iter().filter(|(c, _)| c.path.starts_with(&m.path)).map(|_| m.path.len()).max();
        let nearest = all.iter().filter_map(|(m, _)| reach(m)).max();
        for found in all.iter().filter(|(m, _)| nearest.is_none() || reach(m) == nearest) {
            called(&found.1.mac.tokens, &mut todo);
            out.push(*found);
        }
    }
    out
}

/// The names of the macros that a stream calls.
fn called(stream: &TokenStream, out: &mut Vec<String>) {
    let all = trees(stream.clone());
    for (i, tree) in all.iter().enumerate() {
        match (tree, all.get(i + 1), all.get(i + 2)) {
            (TokenTree::Ident(name), Some(TokenTree::Punct(bang)), Some(TokenTree::Group(_))) if bang.as_char() == '!' => {
                out.push(plain(name));
            }
            (TokenTree::Group(group), _, _) => called(&group.stream(), out),
            _ => {}
        }
    }
}

fn holds(stream: &TokenStream, word: &str) -> bool {
    stream.clone().into_iter().any(|tree| match tree {
        TokenTree::Ident(ident) => plain(&ident) == word,
        TokenTree::Group(group) => holds(&group.stream(), word),
        _ => false,
    })
}

/// Whether each arm of the gist's definition is an arm of the original's, in the same order.
fn arms_are_among(original: &TokenStream, gist: &TokenStream, rules: &Rules) -> bool {
    let (mut originals, gists) = (arms(original).into_iter(), arms(gist));
    !gists.is_empty() && gists.iter().all(|g| originals.any(|o| difference(o, g.clone(), rules).is_none()))
}

fn arms(definition: &TokenStream) -> Vec<TokenStream> {
    let end = |t: &TokenTree| matches!(t, TokenTree::Punct(p) if p.as_char() == ';');
    let all = trees(definition.clone());
    all.split(end).filter(|arm| !arm.is_empty()).map(|arm| arm.iter().cloned().collect()).collect()
}

/// Whether the gist's tokens are the original's with some left out.
fn shortened(original: &TokenStream, gist: &TokenStream) -> bool {
    let mut originals = trees(original.clone()).into_iter().map(|t| t.to_string());
    trees(gist.clone()).into_iter().all(|g| originals.any(|o| o == g.to_string()))
}

/// Whether the lines of the gist's call are lines of the original's, in their order, and one of them names the test.
fn lines_are_among(original: &TokenStream, gist: &TokenStream, name: &str) -> bool {
    let (mut originals, gists) = (lines(original).into_iter(), lines(gist));
    let text = |line: &TokenStream| line.to_string();
    gists.iter().any(|line| holds(line, name)) && gists.iter().all(|g| originals.any(|o| text(&o) == text(g)))
}

/// The tokens of a stream in groups: a line that begins inside none of them begins another.
fn lines(stream: &TokenStream) -> Vec<TokenStream> {
    let mut out: Vec<Vec<TokenTree>> = Vec::new();
    let mut at = 0;
    for tree in trees(stream.clone()) {
        let (start, end) = (tree.span().start().line, tree.span().end().line);
        match out.last_mut().filter(|_| start == at) {
            Some(line) => line.push(tree),
            None => out.push(vec![tree]),
        }
        at = end;
    }
    out.into_iter().map(|line| line.into_iter().collect()).collect()
}

/// Every `fn NAME` in a stream, with its attributes, to the end of its block; for `$`, every `fn $NAME`.
fn functions_named(stream: &TokenStream, name: &str) -> Vec<TokenStream> {
    let all = trees(stream.clone());
    let is_name = |next: &TokenTree| match next {
        TokenTree::Ident(ident) => plain(ident) == name,
        TokenTree::Punct(p) => p.to_string() == name,
        _ => false,
    };
    let mut out = Vec::new();
    for (i, tree) in all.iter().enumerate() {
        match (tree, all.get(i + 1)) {
            (TokenTree::Ident(word), Some(next)) if word == "fn" && is_name(next) => {
                let block =
                    |t: &TokenTree| matches!(t, TokenTree::Group(g) if g.delimiter() == proc_macro2::Delimiter::Brace);
                if let Some(length) = all[i..].iter().position(block) {
                    out.push(all[start_of(&all, i)..=i + length].iter().cloned().collect());
                }
            }
            (TokenTree::Group(group), _) => out.extend(functions_named(&group.stream(), name)),
            _ => {}
        }
    }
    out
}

/// Where the attributes and qualifiers in front of a `fn` begin.
fn start_of(all: &[TokenTree], mut at: usize) -> usize {
    let qualifier = |t: &TokenTree| match t {
        TokenTree::Ident(i) => ["pub", "async", "unsafe", "const", "extern"].iter().any(|q| i == q),
        _ => false,
    };
    while at > 0 && qualifier(&all[at - 1]) {
        at -= 1;
    }
    while at >= 2 && attribute(&all[at - 2..at]).is_some() {
        at -= 2;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(original: &str, gist: &str, test: &str, line: Option<usize>, wrapper: Option<&str>) -> Compared {
        let (original, gist) = (Sources::of_text(original).unwrap(), Sources::of_text(gist).unwrap());
        let place = line.map(|line| Place { file: String::new(), line });
        let rules = Rules { wrapper: wrapper.map(str::to_owned), ..Rules::default() };
        Comparison { original: &original, gist: &gist, test, place: place.as_ref(), rules: &rules }.run()
    }

    fn detail(compared: &Compared) -> &str {
        match compared {
            Compared::Differs(detail) | Compared::NotComparable(detail) => detail,
            _ => "",
        }
    }

    #[test]
    fn function_is_found_by_line_and_by_path() {
        let original = "mod a {\n#[test]\nfn t() { x(); }\n}\nmod b { #[test] fn t() { y(); } }";
        let gist = "mod a { #[test] fn t() { x(); } }";
        assert_eq!(compare(original, gist, "a::t", Some(3), None), Compared::Same);
        let changed = compare(original, "mod a { #[test] fn t() { y(); } }", "a::t", Some(3), None);
        assert_eq!(detail(&changed), "`x ()` in the original, `y ()` in the gist".replace(" ()", " () ;"));
        assert_eq!(detail(&compare(original, "mod a {}", "a::t", Some(3), None)), "no function a::t in the gist");
    }

    #[test]
    fn integration_test_stands_in_its_wrapper() {
        let original = "fn help() {} #[test] fn t() { crate::help(); }";
        let gist = "mod slab_tests { fn help() {} #[test] fn t() { crate::slab_tests::help(); } } mod slab {}";
        let sources = Sources::of_text(gist).unwrap();
        assert_eq!(wrapper(&sources, "slab"), "slab_tests");
        assert_eq!(wrapper(&sources, "other-name"), "other_name");
        assert_eq!(compare(original, gist, "t", Some(1), Some("slab_tests")), Compared::Same);
    }

    #[test]
    fn place_of_another_function_of_that_name_is_ignored() {
        let original = "fn t() { library(); }\nmod test { quick! { fn t(a: u8) -> bool { a == a } } }";
        assert_eq!(compare(original, original, "test::t", Some(1), None), Compared::SameMacro);
    }

    const HECK: &str = "mod tests {
        macro_rules! t { ($t:ident : $a:expr) => { #[test] fn $t() { check($a) } }; }
        t!(test1: 1);
        t!(test2: 2);
    }";

    #[test]
    fn macro_made_test_is_its_call_and_the_definition() {
        let gist = |body: &str, call: &str| {
            format!(
                "mod tests {{ macro_rules! t {{ ($t:ident : $a:expr) => {{ #[test] fn $t() {{ {body} }} }}; }} {call} }}"
            )
        };
        let run = |gist: &str| compare(HECK, gist, "tests::test2", None, None);
        assert_eq!(run(&gist("check($a)", "t!(test2: 2);")), Compared::SameMacro);
        assert_eq!(
            detail(&run(&gist("check($a)", "t!(test2: 3);"))),
            "the call of t!: `2` in the original, `3` in the gist"
        );
        assert!(detail(&run(&gist("", "t!(test2: 2);"))).starts_with("the definition of t!: the gist lacks"));
        assert!(matches!(run(&gist("check($a)", "t!(test1: 1);")), Compared::Differs(_)));
    }

    #[test]
    fn shortened_call_is_not_comparable() {
        let original = "macro_rules! m { ($($n:ident($e:expr))*) => {} } m! { a(1) b(2) }";
        let gist = "macro_rules! m { ($($n:ident($e:expr))*) => {} } m! { b(2) }";
        assert!(matches!(compare(original, gist, "b", None, None), Compared::NotComparable(_)));
    }

    #[test]
    fn whole_lines_of_a_call_may_be_left_out_but_not_the_test_s_own() {
        let original = "macro_rules! m { ($($n:ident($e:expr))*) => {} } m! {\na(1)\nb(2)\nc(\n3)\n}";
        let gist = |lines: &str| format!("macro_rules! m {{ ($($n:ident($e:expr))*) => {{}} }} m! {{\n{lines}\n}}");
        let run = |lines: &str| compare(original, &gist(lines), "b", None, None);
        assert_eq!(run("b(2)"), Compared::SameInMacro);
        assert_eq!(run("b(2)\nc(\n3)"), Compared::SameInMacro);
        assert!(matches!(run("b(1)"), Compared::Differs(_)));
        assert!(!matches!(run("a(1)"), Compared::SameInMacro));
    }

    #[test]
    fn function_that_a_variable_names_is_compared_in_the_definition() {
        let rule = |body: &str, more: &str| {
            format!("macro_rules! m {{ ($n:ident) => {{ #[test] fn $n() {{ {body} }} {more} }} }} m!(b);")
        };
        let original = rule("f()", "fn helper() {}");
        assert_eq!(compare(&original, &rule("f()", ""), "b", None, None), Compared::SameInMacro);
        assert!(matches!(compare(&original, &rule("", ""), "b", None, None), Compared::Differs(_)));
    }

    #[test]
    fn function_in_a_call_may_lose_its_neighbours() {
        let original = "proptest! {\n#[test]\nfn a(x in 0..1) { f(x); }\n#[test]\nfn b(x in 0..1) { g(x); } }";
        assert_eq!(
            compare(original, "proptest! { #[test] fn b(x in 0..1) { g(x); } }", "b", Some(5), None),
            Compared::SameInMacro
        );
        assert!(matches!(
            compare(original, "proptest! { #[test] fn b(x in 0..2) { g(x); } }", "b", Some(5), None),
            Compared::Differs(_)
        ));
    }

    #[test]
    fn name_in_the_definition_leads_to_the_call() {
        let original = "macro_rules! suite {\n($m:ident) => { #[test]\nfn one() { $m(1); } #[test] fn two() { $m(2); } };\n($m:ident, $n:expr) => {};\n}\nmod a { fn make() {} suite!(make); } mod b { fn make() {} suite!(make); }";
        let gist =
            "macro_rules! suite { ($m:ident) => { #[test] fn one() { $m(1); } }; } mod b { fn make() {} suite!(make); }";
        assert_eq!(compare(original, gist, "b::one", Some(3), None), Compared::SameInMacro);
        assert!(matches!(compare(original, gist, "b::two", Some(3), None), Compared::Differs(_)));
        assert!(matches!(compare("fn f() {}", gist, "b::one", None, None), Compared::NotComparable(_)));
    }

    #[test]
    fn module_made_by_a_call_leads_to_the_call() {
        let original = "mod test { macro_rules! small { ($n:ident, $s:expr) => { mod $n {\n#[test]\nfn read() { $s; } } } }\nsmall!(u8, 1); small!(u16, 2); }";
        let gist = "mod test { macro_rules! small { ($n:ident, $s:expr) => { mod $n { #[test] fn read() { $s; } } } } small!(u16, 2); }";
        assert_eq!(compare(original, gist, "test::u16::read", Some(3), None), Compared::SameMacro);
        assert!(matches!(compare(original, gist, "test::u8::read", Some(3), None), Compared::Differs(_)));
    }
}
