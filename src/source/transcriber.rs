//! The rules of a `macro_rules!`, what they make in a form that parses and in which every byte keeps its place.

use crate::source::tokens::{is_punct, macro_rules, range};
use proc_macro2::{Group, TokenStream, TokenTree};
use std::collections::BTreeMap;
use std::ops::Range;

/// A rule of a `macro_rules!`.
#[derive(Clone)]
pub struct Rule {
    /// From its matcher to the `;` behind it.
    pub range: Range<usize>,
    /// Its matcher.
    pub matcher: Group,
    /// What it makes, when those are items; padded so that offsets are those of the text.
    pub items: Option<syn::File>,
    /// Every `$(…)` with its separator and operator, those around others first.
    pub repetitions: Vec<Range<usize>>,
    /// What it is called with is a repetition behind so many tokens, and each element of that is made into items of
    /// its own.
    pub elementwise: Option<usize>,
    /// Every metavariable that stands for nothing in `items`: those for a visibility.
    pub blanks: Vec<Range<usize>>,
}

impl Rule {
    /// The range of an item of [`Rule::items`] widened to the repetitions that it begins or ends in, such as
    /// `$(#[$attribute])*`, and to the metavariable for its visibility.
    #[must_use]
    pub fn whole(&self, text: &str, item: Range<usize>) -> Range<usize> {
        let mut whole = item;
        loop {
            let before = whole.clone();
            for r in &self.repetitions {
                if r.start < whole.start && whole.start < r.end && r.end <= whole.end {
                    whole.start = r.start;
                }
                if whole.start <= r.start && r.start < whole.end && whole.end < r.end {
                    whole.end = r.end;
                }
            }
            for b in &self.blanks {
                if b.end <= whole.start && text[b.end..whole.start].trim().is_empty() {
                    whole.start = b.start;
                }
            }
            if whole == before {
                return whole;
            }
        }
    }
}

/// The rules of a macro's definition, from the tokens between its braces.
#[must_use]
pub fn rules(tokens: TokenStream, text: &str) -> Vec<Rule> {
    let list: Vec<TokenTree> = tokens.into_iter().collect();
    let end = |body: &Group, behind: usize| match list.get(behind) {
        Some(semicolon) if is_punct(Some(semicolon), ';') => range(semicolon.span()).end,
        _ => range(body.span()).end,
    };
    let read = |(matcher, body, behind): (&Group, &Group, usize)| {
        rule(matcher.clone(), body, range(matcher.span()).start..end(body, behind), text)
    };
    macro_rules(&list).map(read).collect()
}

fn rule(matcher: Group, body: &Group, range_: Range<usize>, text: &str) -> Rule {
    let inner = range(body.span_open()).end..range(body.span_close()).start;
    let mut fragments = BTreeMap::new();
    fragments_of(matcher.stream(), &mut fragments);
    let mut blanked = Blanked {
        base: inner.start,
        bytes: text.as_bytes()[inner.clone()].to_vec(),
        repetitions: Vec::new(),
        blanks: Vec::new(),
    };
    blanked.stream(body.stream(), &fragments);
    let Blanked { bytes, repetitions, blanks, .. } = blanked;
    let items = String::from_utf8(bytes).ok().and_then(|t| syn::parse_file(&format!("{}{t}", " ".repeat(inner.start))).ok());
    let elementwise = match repetition(matcher.stream()) {
        Some((before, elements)) if items.is_some() && only_in_repetitions(body.stream(), &elements) => Some(before),
        _ => None,
    };
    Rule { range: range_, matcher, items, repetitions, elementwise, blanks }
}

/// The kind of each metavariable in a matcher: `$x:ty` is a `ty`.
fn fragments_of(matcher: TokenStream, out: &mut BTreeMap<String, String>) {
    crate::source::tokens::walk(matcher, &mut |list| {
        for w in list.windows(4) {
            if let [dollar, TokenTree::Ident(name), colon, TokenTree::Ident(kind)] = w
                && is_punct(Some(dollar), '$')
                && is_punct(Some(colon), ':')
            {
                out.insert(name.to_string(), kind.to_string());
            }
        }
    });
}

/// The tokens that a matcher takes before a `$(…)*` that ends it, and the variables in that.
///
/// A separator may stand behind the repetition. What has no fixed number of tokens may not stand before it.
fn repetition(matcher: TokenStream) -> Option<(usize, BTreeMap<String, String>)> {
    let list: Vec<TokenTree> = matcher.into_iter().collect();
    let is_repetition = |w: &[TokenTree]| is_punct(Some(&w[0]), '$') && matches!(w[1], TokenTree::Group(_));
    let at = list.windows(2).position(is_repetition)?;
    let rest = &list[at + 2..];
    let operator = rest.iter().position(|t| is_punct(Some(t), '*') || is_punct(Some(t), '+'))?;
    let behind = &rest[operator + 1..];
    let optional =
        matches!(behind, [dollar, TokenTree::Group(_), q] if is_punct(Some(dollar), '$') && is_punct(Some(q), '?'));
    if operator > 2 || !(behind.is_empty() || optional) {
        return None;
    }
    let mut before = 0;
    let mut i = 0;
    while i < at {
        before += 1;
        match (&list[i], &list[i..]) {
            (dollar, [_, TokenTree::Ident(_), colon, TokenTree::Ident(kind), ..]) if is_punct(Some(dollar), '$') => {
                if !is_punct(Some(colon), ':') || !["ident", "tt", "literal", "block"].iter().any(|k| kind == k) {
                    return None;
                }
                i += 4;
            }
            _ => i += 1,
        }
    }
    let TokenTree::Group(elements) = &list[at + 1] else { return None };
    let mut variables = BTreeMap::new();
    fragments_of(elements.stream(), &mut variables);
    Some((before, variables))
}

/// Whether none of the variables stands outside the repetitions at the top of what a rule makes.
fn only_in_repetitions(body: TokenStream, variables: &BTreeMap<String, String>) -> bool {
    let list: Vec<TokenTree> = body.into_iter().collect();
    let is_variable = |tree: &TokenTree| matches!(tree, TokenTree::Ident(i) if variables.contains_key(&i.to_string()));
    let names_variable = |tree: &TokenTree| {
        let mut found = false;
        crate::source::tokens::walk(tree.clone().into(), &mut |inner| {
            found |= inner.windows(2).any(|w| is_punct(Some(&w[0]), '$') && is_variable(&w[1]));
        });
        found
    };
    let after_dollar = |i: usize| i > 0 && is_punct(list.get(i - 1), '$');
    (0..list.len()).all(|i| match &list[i] {
        TokenTree::Group(_) => after_dollar(i) || !names_variable(&list[i]),
        tree => !(after_dollar(i) && is_variable(tree)),
    })
}

struct Blanked {
    base: usize,
    bytes: Vec<u8>,
    repetitions: Vec<Range<usize>>,
    blanks: Vec<Range<usize>>,
}

impl Blanked {
    fn fill(&mut self, r: Range<usize>, with: u8) {
        self.bytes[r.start - self.base..r.end - self.base].fill(with);
    }

    /// Puts something of its kind in the place of each `$x`, and of `$(…)sep*` leaves what is inside, without
    /// changing a length.
    fn stream(&mut self, tokens: TokenStream, fragments: &BTreeMap<String, String>) {
        let list: Vec<TokenTree> = tokens.into_iter().collect();
        let mut i = 0;
        while i < list.len() {
            match (&list[i], list.get(i + 1)) {
                (TokenTree::Punct(p), Some(TokenTree::Ident(name))) if p.as_char() == '$' => {
                    let r = range(p.span()).start..range(name.span()).end;
                    let fragment = fragments.get(&name.to_string()).map(String::as_str);
                    self.metavariable(r, fragment);
                    // The attributes of an item go with it.
                    let mut before = i;
                    while fragment == Some("item") && before >= 2 && is_punct(Some(&list[before - 2]), '#') {
                        self.fill(range(list[before - 2].span()).start..range(list[before - 1].span()).end, b' ');
                        before -= 2;
                    }
                    i += 1;
                }
                (TokenTree::Punct(p), Some(TokenTree::Group(g))) if p.as_char() == '$' => {
                    let mut end = range(g.span()).end;
                    self.fill(range(p.span()), b' ');
                    self.fill(range(g.span_open()), b' ');
                    self.fill(range(g.span_close()), b' ');
                    // The separator, if any, and the operator.
                    let mut taken = 0;
                    for tree in list[i + 2..].iter().take(3) {
                        self.fill(range(tree.span()), b' ');
                        end = range(tree.span()).end;
                        taken += 1;
                        if matches!(tree, TokenTree::Punct(p) if matches!(p.as_char(), '*' | '+' | '?')) {
                            break;
                        }
                    }
                    self.repetitions.push(range(p.span()).start..end);
                    self.stream(g.stream(), fragments);
                    i += 1 + taken;
                }
                (TokenTree::Group(g), _) => self.stream(g.stream(), fragments),
                _ => {}
            }
            i += 1;
        }
    }

    fn metavariable(&mut self, r: Range<usize>, fragment: Option<&str>) {
        self.fill(r.clone(), b'_');
        match fragment {
            Some("vis") => {
                self.fill(r.clone(), b' ');
                self.blanks.push(r);
            }
            Some("item") => self.fill(r, b' '),
            Some("block") => {
                self.fill(r.clone(), b' ');
                self.fill(r.start..r.start + 1, b'{');
                self.fill(r.end - 1..r.end, b'}');
            }
            Some("lifetime") => {
                self.fill(r.clone(), b'a');
                self.fill(r.start..r.start + 1, b'\'');
            }
            _ => {}
        }
    }
}

/// Whether a name in [`Rule::items`] stands for a metavariable.
#[must_use]
pub fn is_blanked(name: &str) -> bool {
    name.len() > 1 && name.bytes().all(|b| b == b'_')
}

#[cfg(test)]
mod unit {
    use super::*;

    fn parsed(text: &str) -> Vec<Rule> {
        let mac: syn::ItemMacro = syn::parse_str(text).unwrap();
        rules(mac.mac.tokens, text)
    }

    #[test]
    fn a_rule_goes_from_its_matcher_to_its_semicolon() {
        let text = "macro_rules! m { (a) => { fn a() {} }; ($x:expr) => ( 1 + $x ) }";
        let found: Vec<_> = parsed(text).iter().map(|r| (&text[r.range.clone()], r.items.is_some())).collect();
        assert_eq!(found, [("(a) => { fn a() {} };", true), ("($x:expr) => ( 1 + $x )", false)]);
    }

    #[test]
    fn what_a_rule_makes_parses_whatever_its_metavariables_stand_for() {
        let text = "macro_rules! m { ($(#[$a:meta])* $v:vis $n:ident $l:lifetime $b:block $i:item $($t:ty),+) => { \
                    $(#[$a])* $v fn $n<$l>(x: &$l u8) $b $i impl X<$($t),+> for $n {} } }";
        let rule = &parsed(text)[0];
        let items = &rule.items.as_ref().unwrap().items;
        assert_eq!(items.len(), 2);
        let first = crate::source::tokens::node_range(&items[0]);
        assert_eq!(&text[rule.whole(text, first)], "$(#[$a])* $v fn $n<$l>(x: &$l u8) $b");
    }

    #[test]
    fn a_rule_is_elementwise_when_each_element_makes_items_of_its_own() {
        let elementwise = |text: &str| parsed(text)[0].elementwise.is_some();
        assert!(elementwise("macro_rules! m { ($($t:ty)*) => { const A: u8 = 1; $(impl X for $t {})* } }"));
        assert!(elementwise("macro_rules! m { ($($t:ty),* $(,)?) => { $(impl X for $t {})* } }"));
        assert!(elementwise("macro_rules! m { ($($i:item)+) => { $(#[cfg(x)] $i)+ } }"));
        assert!(!elementwise("macro_rules! m { ($($t:ident),*) => { enum E { $($t),* } } }"));
        assert!(!elementwise("macro_rules! m { ($a:item $b:item) => { $a $b } }"));
        let text = "macro_rules! m { ($n:ident: $($t:ty)*) => { $(impl $n for $t {})* } }";
        assert_eq!(parsed(text)[0].elementwise, Some(2));
        assert!(!elementwise("macro_rules! m { ($n:ty, $($t:ty)*) => { $(impl X for $t {})* } }"));
    }

    #[test]
    fn separators_and_operators_of_a_repetition_are_part_of_it() {
        let text = "macro_rules! m { ($($t:ty);+) => { $(impl X for $t {})* fn f() -> u8 { 0 $(+ <$t>::X)=>+ } } }";
        let found: Vec<_> = parsed(text)[0].repetitions.iter().map(|r| &text[r.clone()]).collect();
        assert_eq!(found, ["$(impl X for $t {})*", "$(+ <$t>::X)=>+"]);
    }
}
