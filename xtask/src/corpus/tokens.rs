//! Whether two token streams are the same test.
//!
//! Comments don't count. `#[cfg]` and `#[cfg_attr]` may be gone from the gist, together with what they switched
//! off. In an integration test `crate::` may have become `crate::NAME::`. What is included when it is compiled
//! may stand in the text. All else has to be equal, token by token.

use proc_macro2::{Delimiter, Group, LineColumn, TokenStream, TokenTree};
use std::path::PathBuf;
use syn::parse::{Parse, ParseStream, Parser};

/// What may differ.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    /// The module that holds an integration test's file in the gist.
    pub(super) wrapper: Option<String>,
    /// Whether paths in `use` count from the crate's root, so that they get the wrapper's name in front.
    pub(super) edition_2015: bool,
    /// The library's name, which may have become `crate` where the root has something else of that name.
    pub(super) library: Option<String>,
    /// The folder of the original file, for `include_str!`.
    pub(super) folder: Option<PathBuf>,
}

/// The first difference of two streams, the original and the gist's, in words.
pub(super) fn difference(original: TokenStream, gist: TokenStream, rules: &Rules) -> Option<String> {
    let mut matcher = Matcher { rules, furthest: None };
    let same = matcher.sequence(&trees(original), &trees(gist), LineColumn { line: usize::MAX, column: 0 });
    (!same).then(|| matcher.furthest.map_or_else(|| "at the start".to_owned(), |(_, text)| text))
}

/// The trees of a stream; groups without delimiters are opened.
pub(super) fn trees(stream: TokenStream) -> Vec<TokenTree> {
    let mut out = Vec::new();
    for tree in stream {
        match tree {
            TokenTree::Group(g) if g.delimiter() == Delimiter::None => out.extend(trees(g.stream())),
            other => out.push(other),
        }
    }
    out
}

/// What an attribute is to the comparison.
enum Kind {
    Doc,
    Cfg,
    CfgAttr,
    Other,
}

struct Matcher<'r> {
    rules: &'r Rules,
    /// The difference that stands furthest in the gist: of all alternatives, the one that went best.
    furthest: Option<(LineColumn, String)>,
}

impl Matcher<'_> {
    fn sequence(&mut self, mut original: &[TokenTree], mut gist: &[TokenTree], end: LineColumn) -> bool {
        loop {
            if let Some((rest, group)) = attribute(gist)
                && !matches!(kind(group), Kind::Other)
            {
                gist = rest;
                continue;
            }
            if let Some((rest, group)) = attribute(original) {
                match kind(group) {
                    Kind::Doc => {
                        original = rest;
                        continue;
                    }
                    Kind::Cfg => {
                        return self.sequence(rest, gist, end) || self.sequence(&rest[end_of(rest)..], gist, end);
                    }
                    Kind::CfgAttr => {
                        let mut switched_on = conditional(group);
                        switched_on.extend_from_slice(rest);
                        return self.sequence(rest, gist, end) || self.sequence(&switched_on, gist, end);
                    }
                    // An inner one is not an outer one: found here, so that the message shows all of it.
                    Kind::Other
                        if attribute(gist).is_some_and(|(g, _)| gist.len() - g.len() != original.len() - rest.len()) =>
                    {
                        self.note(original, gist, gist[0].span().start(), false);
                        return false;
                    }
                    Kind::Other => {}
                }
            }
            if let Some((o, g)) = self.tolerated(original, gist) {
                (original, gist) = (&original[o..], &gist[g..]);
                continue;
            }
            match (original.first(), gist.first()) {
                (None, None) => return true,
                (Some(TokenTree::Group(o)), Some(TokenTree::Group(g))) if o.delimiter() == g.delimiter() => {
                    if !self.sequence(&trees(o.stream()), &trees(g.stream()), g.span_close().start()) {
                        return false;
                    }
                }
                (Some(o), Some(g)) if same(o, g) => {}
                (o, g) => {
                    self.note(original, gist, g.map_or(end, |g| g.span().start()), o.is_none());
                    return false;
                }
            }
            (original, gist) = (&original[1..], &gist[1..]);
        }
    }

    /// How many trees of each side are a difference that is allowed.
    fn tolerated(&self, original: &[TokenTree], gist: &[TokenTree]) -> Option<(usize, usize)> {
        if let Some(wrapper) = &self.rules.wrapper {
            let prefix = ["crate", ":", ":", wrapper.as_str(), ":", ":"];
            if starts(gist, &prefix) && starts(original, &prefix[..3]) && !starts(original, &prefix) {
                return Some((3, 6));
            }
            if self.rules.edition_2015 && starts(gist, &prefix[3..]) && !starts(original, &prefix[3..]) {
                return Some((0, 3));
            }
        }
        if let Some(library) = &self.rules.library
            && starts(original, &[":", ":", library])
            && starts(gist, &["crate"])
        {
            return Some((3, 1));
        }
        match (original, gist) {
            (
                [TokenTree::Ident(name), TokenTree::Punct(bang), TokenTree::Group(arguments), ..],
                [TokenTree::Literal(value), ..],
            ) if bang.as_char() == '!' && self.included(&name.to_string(), arguments, value) => Some((3, 1)),
            // A predicate that the build has decided.
            ([a, b, TokenTree::Group(_), ..], [c, d, TokenTree::Group(decided), ..])
                if starts(&[a.clone(), b.clone()], &["cfg", "!"])
                    && starts(&[c.clone(), d.clone()], &["cfg", "!"])
                    && ["all()", "any()"].contains(&decided.stream().to_string().replace(' ', "").as_str()) =>
            {
                Some((3, 3))
            }
            _ => None,
        }
    }

    /// Whether a literal is what a macro of the compiler puts in its place.
    fn included(&self, name: &str, arguments: &Group, value: &proc_macro2::Literal) -> bool {
        let Ok(value) = syn::parse_str::<syn::Lit>(&value.to_string()) else { return false };
        let bytes = match (name, value) {
            ("env", syn::Lit::Str(_)) => return true,
            ("include_str", syn::Lit::Str(text)) => text.value().into_bytes(),
            ("include_bytes", syn::Lit::ByteStr(bytes)) => bytes.value(),
            _ => return false,
        };
        let (Some(folder), Ok(file)) = (&self.rules.folder, syn::parse2::<syn::LitStr>(arguments.stream())) else {
            return false;
        };
        fs_err::read(folder.join(file.value())).is_ok_and(|found| found == bytes)
    }

    fn note(&mut self, original: &[TokenTree], gist: &[TokenTree], at: LineColumn, more: bool) {
        if self.furthest.as_ref().is_some_and(|(known, _)| (known.line, known.column) >= (at.line, at.column)) {
            return;
        }
        let text = if more {
            format!("the gist has more: `{}`", excerpt(gist))
        } else if gist.is_empty() {
            format!("the gist lacks `{}`", excerpt(original))
        } else {
            format!("`{}` in the original, `{}` in the gist", excerpt(original), excerpt(gist))
        };
        self.furthest = Some((at, text));
    }
}

fn same(a: &TokenTree, b: &TokenTree) -> bool {
    match (a, b) {
        (TokenTree::Ident(a), TokenTree::Ident(b)) => a == b,
        (TokenTree::Punct(a), TokenTree::Punct(b)) => a.as_char() == b.as_char(),
        (TokenTree::Literal(a), TokenTree::Literal(b)) => a.to_string() == b.to_string(),
        _ => false,
    }
}

fn starts(trees: &[TokenTree], words: &[&str]) -> bool {
    trees.len() >= words.len()
        && trees.iter().zip(words).all(|(tree, word)| match tree {
            TokenTree::Group(_) => false,
            other => other.to_string() == *word,
        })
}

/// An attribute in front: what follows it, and its brackets.
pub(crate) fn attribute(trees: &[TokenTree]) -> Option<(&[TokenTree], &Group)> {
    let punct = |i: usize, c: char| matches!(trees.get(i), Some(TokenTree::Punct(p)) if p.as_char() == c);
    let at = if !punct(0, '#') {
        return None;
    } else if punct(1, '!') {
        2
    } else {
        1
    };
    match trees.get(at) {
        Some(TokenTree::Group(g)) if g.delimiter() == Delimiter::Bracket => Some((&trees[at + 1..], g)),
        _ => None,
    }
}

fn kind(attribute: &Group) -> Kind {
    match attribute.stream().into_iter().next() {
        Some(TokenTree::Ident(name)) if name == "doc" => Kind::Doc,
        Some(TokenTree::Ident(name)) if name == "cfg" => Kind::Cfg,
        Some(TokenTree::Ident(name)) if name == "cfg_attr" => Kind::CfgAttr,
        _ => Kind::Other,
    }
}

/// The attributes that a `cfg_attr` stands for when its condition holds.
fn conditional(attribute: &Group) -> Vec<TokenTree> {
    let Some(TokenTree::Group(arguments)) = attribute.stream().into_iter().nth(1) else { return Vec::new() };
    let all = trees(arguments.stream());
    let comma = |t: &TokenTree| matches!(t, TokenTree::Punct(p) if p.as_char() == ',');
    let mut out = Vec::new();
    for part in all.split(comma).skip(1).filter(|part| !part.is_empty()) {
        out.push(TokenTree::Punct(proc_macro2::Punct::new('#', proc_macro2::Spacing::Alone)));
        out.push(TokenTree::Group(Group::new(Delimiter::Bracket, part.iter().cloned().collect())));
    }
    out
}

/// Where the thing that an attribute stands on ends: a statement or item, a match arm, or, where macro variables
/// or lists don't parse as those, what goes to the first `;`, `,` or block.
fn end_of(all: &[TokenTree]) -> usize {
    let parsed = extent::<syn::Stmt>(all).or_else(|| extent::<syn::Arm>(all));
    let closes = |tree: &TokenTree| match tree {
        TokenTree::Punct(p) => matches!(p.as_char(), ';' | ','),
        TokenTree::Group(g) => g.delimiter() == Delimiter::Brace,
        _ => false,
    };
    parsed.unwrap_or_else(|| all.iter().position(closes).map_or(all.len(), |i| i + 1))
}

/// How many trees a syntax node takes of those in front.
fn extent<T: Parse>(all: &[TokenTree]) -> Option<usize> {
    let rest = |input: ParseStream<'_>| {
        input.parse::<T>()?;
        input.parse::<TokenStream>()
    };
    let rest = rest.parse2(all.iter().cloned().collect()).ok()?;
    all.len().checked_sub(rest.into_iter().count()).filter(|&n| n > 0)
}

fn excerpt(trees: &[TokenTree]) -> String {
    let text = trees.iter().take(6).cloned().collect::<TokenStream>().to_string();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.chars().count() > 60 { text.chars().take(57).chain("...".chars()).collect() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differ(original: &str, gist: &str, rules: &Rules) -> Option<String> {
        difference(original.parse().unwrap(), gist.parse().unwrap(), rules)
    }

    fn plainly(original: &str, gist: &str) -> Option<String> {
        differ(original, gist, &Rules::default())
    }

    #[test]
    fn a_predicate_may_be_decided() {
        assert_eq!(plainly("f(cfg!(feature = \"x\"))", "f(cfg!(all()))"), None);
        assert!(plainly("f(cfg!(feature = \"x\"))", "f(cfg!(feature = \"y\"))").is_some());
    }

    #[test]
    fn layout_and_comments_do_not_count() {
        assert_eq!(plainly("/// Doc.\n#[test] fn a() { b ( 1 ) ; }", "#[test]\nfn a() {\n    // why\n    b(1);\n}"), None);
    }

    #[test]
    fn every_other_token_counts() {
        assert_eq!(plainly("fn a() { b(1); }", "fn a() { b(2); }").unwrap(), "`1` in the original, `2` in the gist");
        assert_eq!(plainly("fn a() { b(); c(); }", "fn a() { b(); }").unwrap(), "the gist lacks `c () ;`");
        assert_eq!(plainly("fn a() { b(); }", "fn a() { b(); c(); }").unwrap(), "the gist has more: `c () ;`");
        assert!(plainly("fn a() { (1) }", "fn a() { [1] }").is_some());
        assert!(plainly("#[test] fn a() {}", "fn a() {}").is_some());
        assert!(plainly("#[should_panic] fn a() {}", "fn a() {}").is_some());
    }

    #[test]
    fn inner_attribute_is_shown_whole() {
        let difference = plainly("fn a() { #![deny(x)] #[y] struct A; }", "fn a() { #[y] struct A; }").unwrap();
        assert!(difference.starts_with("`#! [deny (x)]") && difference.ends_with("in the gist"), "{difference}");
    }

    #[test]
    fn cfg_may_go_with_what_it_switches_off() {
        let original = "fn a() { #[cfg(x)] b(S { x: 1 }); #[cfg(y)] { c(); } d(); }";
        assert_eq!(plainly(original, "fn a() { d(); }"), None);
        assert_eq!(plainly(original, "fn a() { b(S { x: 1 }); d(); }"), None);
        assert_eq!(plainly(original, original), None);
        assert!(plainly(original, "fn a() { b(S { x: 1 }); }").is_some());
    }

    #[test]
    fn cfg_takes_only_what_it_stands_on() {
        assert!(plainly("fn a() { #[cfg(x)] { b(); } c(); d(); }", "fn a() { d(); }").is_some());
        assert_eq!(plainly("match a { #[cfg(x)] A => { b() } B => 1 }", "match a { B => 1 }"), None);
        assert!(plainly("match a { #[cfg(x)] A => 0, B => 1 }", "match a {}").is_some());
        assert_eq!(plainly("{ #[cfg(x)] mod $n { a } b }", "{ b }"), None);
        assert_eq!(plainly("fn f(#[cfg(x)] a: A, b: B) {}", "fn f(b: B) {}"), None);
    }

    #[test]
    fn cfg_attr_may_be_resolved() {
        let original = "#[cfg_attr(miri, ignore)] #[test] fn a() {}";
        assert_eq!(plainly(original, "#[test] fn a() {}"), None);
        assert_eq!(plainly(original, "#[ignore] #[test] fn a() {}"), None);
        assert!(plainly(original, "#[should_panic] #[test] fn a() {}").is_some());
    }

    #[test]
    fn wrapper_may_be_named_only_after_crate() {
        let rules = Rules { wrapper: Some("t".to_owned()), ..Rules::default() };
        assert_eq!(differ("crate::f()", "crate::t::f()", &rules), None);
        assert_eq!(differ("crate::f()", "crate::f()", &rules), None);
        assert!(differ("crate::f()", "crate::u::f()", &rules).is_some());
        assert!(differ("f()", "t::f()", &rules).is_some());
        assert_eq!(differ("f()", "t::f()", &Rules { edition_2015: true, ..rules }), None);
    }

    #[test]
    fn included_text_is_compared_with_the_file() {
        let dir = tempfile::tempdir().unwrap();
        fs_err::write(dir.path().join("t.txt"), "abc\n").unwrap();
        let rules = Rules { folder: Some(dir.path().to_owned()), ..Rules::default() };
        assert_eq!(differ("f(include_str!(\"t.txt\"))", "f(\"abc\\n\")", &rules), None);
        assert_eq!(differ("f(include_bytes!(\"t.txt\"))", "f(b\"abc\\n\")", &rules), None);
        assert!(differ("f(include_str!(\"t.txt\"))", "f(\"abd\\n\")", &rules).is_some());
    }
}
