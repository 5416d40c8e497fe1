//! What a call of a `macro_rules!` macro makes: tokens, each of which knows by its span where it was written.
//!
//! Matching follows the reference: the first rule that takes all of the call's tokens; a repetition takes as much as it
//! can. Hygiene is not looked at, and `${…}` is not known: such a rule makes nothing here.

use crate::source::tokens::is_punct;
use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use syn::parse::{ParseStream, Parser};

/// The rules of a macro.
#[derive(Clone, Debug)]
pub struct Macro {
    rules: Vec<Rule>,
}

#[derive(Clone, Debug)]
struct Rule {
    matcher: Vec<Part>,
    body: Vec<TokenTree>,
}

/// A part of a matcher.
#[derive(Clone, Debug)]
enum Part {
    Token(TokenTree),
    Group(Delimiter, Vec<Part>),
    /// `$name:fragment`
    Variable(String, String),
    Repetition(Vec<Part>, Frame),
}

/// What stands behind the parentheses of a repetition.
#[derive(Clone, Debug)]
struct Frame {
    separator: Vec<TokenTree>,
    operator: char,
    /// How many tokens it is written with.
    length: usize,
}

/// What a metavariable stands for.
#[derive(Clone, Debug)]
enum Bound {
    One(TokenStream),
    Many(Vec<Bound>),
}

type Bindings = BTreeMap<String, Bound>;

impl Macro {
    /// Reads a definition, from the tokens between its braces.
    #[must_use]
    pub fn new(definition: TokenStream) -> Macro {
        let list: Vec<TokenTree> = definition.into_iter().collect();
        let rules = list.windows(4).filter_map(|window| match window {
            [TokenTree::Group(matcher), eq, gt, TokenTree::Group(body)]
                if is_punct(Some(eq), '=') && is_punct(Some(gt), '>') =>
            {
                Some(Rule { matcher: parts(matcher.stream()), body: body.stream().into_iter().collect() })
            }
            _ => None,
        });
        Macro { rules: rules.collect() }
    }

    /// What a call with these tokens makes; `None` when no rule takes them, or that can't be told.
    #[must_use]
    pub fn expand(&self, call: &TokenStream) -> Option<TokenStream> {
        let given: Vec<TokenTree> = call.clone().into_iter().collect();
        self.rules.iter().find_map(|rule| {
            let (mut bound, mut at) = (Bindings::new(), 0);
            let taken = matches(&rule.matcher, &given, &mut at, &mut bound) && at == given.len();
            taken.then(|| {
                let mut out = Vec::new();
                transcribe(&rule.body, &bound, &mut out)?;
                Some(out.into_iter().collect())
            })
        })?
    }
}

/// The parts of a matcher.
fn parts(matcher: TokenStream) -> Vec<Part> {
    let list: Vec<TokenTree> = matcher.into_iter().collect();
    let mut out = Vec::new();
    let mut i = 0;
    while i < list.len() {
        match &list[i..] {
            [dollar, TokenTree::Group(group), ..] if is_punct(Some(dollar), '$') => {
                let Some(frame) = frame(&list[i + 2..]) else { break };
                i += 2 + frame.length;
                out.push(Part::Repetition(parts(group.stream()), frame));
            }
            [dollar, TokenTree::Ident(name), colon, TokenTree::Ident(kind), ..]
                if is_punct(Some(dollar), '$') && is_punct(Some(colon), ':') =>
            {
                out.push(Part::Variable(name.to_string(), kind.to_string()));
                i += 4;
            }
            [TokenTree::Group(group), ..] => {
                out.push(Part::Group(group.delimiter(), parts(group.stream())));
                i += 1;
            }
            [token, ..] => {
                out.push(Part::Token(token.clone()));
                i += 1;
            }
            [] => break,
        }
    }
    out
}

/// The separator and the operator of a repetition, from the tokens behind its parentheses.
fn frame(behind: &[TokenTree]) -> Option<Frame> {
    let operator = |tree: &TokenTree| match tree {
        TokenTree::Punct(p) => Some(p.as_char()).filter(|c| matches!(c, '*' | '+' | '?')),
        _ => None,
    };
    let at = behind.iter().take(4).position(|tree| operator(tree).is_some())?;
    Some(Frame { separator: behind[..at].to_vec(), operator: operator(&behind[at])?, length: at + 1 })
}

fn matches(parts: &[Part], given: &[TokenTree], at: &mut usize, bound: &mut Bindings) -> bool {
    parts.iter().all(|part| match part {
        Part::Token(token) => matches_token(token, given, at),
        Part::Group(delimiter, inner) => match given.get(*at) {
            Some(TokenTree::Group(group)) if group.delimiter() == *delimiter => {
                let list: Vec<TokenTree> = group.stream().into_iter().collect();
                let mut inside = 0;
                *at += 1;
                matches(inner, &list, &mut inside, bound) && inside == list.len()
            }
            _ => false,
        },
        Part::Variable(name, kind) => match fragment(kind, &given[*at..]) {
            Some((taken, value)) => {
                *at += taken;
                bound.insert(name.clone(), Bound::One(value));
                true
            }
            None => false,
        },
        Part::Repetition(inner, frame) => {
            let mut rounds: Vec<Bindings> = Vec::new();
            loop {
                let start = *at;
                let separated = rounds.is_empty() || frame.separator.iter().all(|token| matches_token(token, given, at));
                let mut round = Bindings::new();
                if !separated || !matches(inner, given, at, &mut round) || *at == start {
                    *at = start;
                    break;
                }
                rounds.push(round);
                if frame.operator == '?' {
                    break;
                }
            }
            for name in variables(inner) {
                let all = rounds.iter_mut().filter_map(|round| round.remove(name)).collect();
                bound.insert(name.to_owned(), Bound::Many(all));
            }
            frame.operator != '+' || !rounds.is_empty()
        }
    })
}

/// The variables of a matcher, those in repetitions too.
fn variables(parts: &[Part]) -> Vec<&str> {
    let mut out = Vec::new();
    for part in parts {
        match part {
            Part::Token(_) => {}
            Part::Variable(name, _) => out.push(name.as_str()),
            Part::Group(_, inner) | Part::Repetition(inner, _) => out.extend(variables(inner)),
        }
    }
    out
}

fn matches_token(token: &TokenTree, given: &[TokenTree], at: &mut usize) -> bool {
    let same = match (token, given.get(*at)) {
        (TokenTree::Punct(a), Some(TokenTree::Punct(b))) => a.as_char() == b.as_char(),
        (TokenTree::Ident(a), Some(TokenTree::Ident(b))) => a == b,
        (TokenTree::Literal(a), Some(TokenTree::Literal(b))) => a.to_string() == b.to_string(),
        _ => false,
    };
    *at += usize::from(same);
    same
}

/// Marks of more than one character that are one token.
const JOINT: &[&str] = &[
    "<<=", ">>=", "...", "..=", "::", "->", "=>", "==", "!=", "<=", ">=", "&&", "||", "+=", "-=", "*=", "/=", "%=", "^=",
    "&=", "|=", "<<", ">>", "..",
];

/// How far a fragment may reach: nobody hands on more tokens of one level, and each look copies them.
const REACH: usize = 512;

/// How many tokens a fragment of a kind takes, and what its variable stands for then.
fn fragment(kind: &str, given: &[TokenTree]) -> Option<(usize, TokenStream)> {
    let raw = |taken: usize| Some((taken, given[..taken].iter().cloned().collect()));
    let lifetime = |list: &[TokenTree]| is_punct(list.first(), '\'') && matches!(list.get(1), Some(TokenTree::Ident(_)));
    match kind {
        "ident" => match given.first()? {
            TokenTree::Ident(name) if name != "_" => raw(1),
            _ => None,
        },
        "lifetime" => {
            if lifetime(given) {
                raw(2)
            } else {
                None
            }
        }
        "tt" => match given.first()? {
            TokenTree::Punct(_) if lifetime(given) => raw(2),
            TokenTree::Punct(_) => raw(joint(given)),
            _ => raw(1),
        },
        "literal" => match given {
            [TokenTree::Literal(_), ..] => raw(1),
            [TokenTree::Ident(word), ..] if word == "true" || word == "false" => raw(1),
            [minus, TokenTree::Literal(_), ..] if is_punct(Some(minus), '-') => raw(2),
            _ => None,
        },
        "block" => match given.first()? {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => raw(1),
            _ => None,
        },
        _ => {
            let reach = &given[..given.len().min(REACH)];
            let left = |input: ParseStream<'_>| -> syn::Result<usize> {
                parse_fragment(kind, input)?;
                Ok(input.parse::<TokenStream>()?.into_iter().count())
            };
            let taken = reach.len() - left.parse2(reach.iter().cloned().collect()).ok()?;
            if taken == 0 && kind != "vis" {
                return None;
            }
            let value: TokenStream = reach[..taken].iter().cloned().collect();
            // What is one expression, type or path stays one.
            let one = matches!(kind, "expr" | "expr_2021" | "ty" | "path");
            let value = if one { TokenTree::Group(Group::new(Delimiter::None, value)).into() } else { value };
            Some((taken, value))
        }
    }
}

fn parse_fragment(kind: &str, input: ParseStream<'_>) -> syn::Result<()> {
    match kind {
        "ty" => input.parse::<syn::Type>().map(drop),
        "expr" | "expr_2021" => input.parse::<syn::Expr>().map(drop),
        "path" => input.parse::<syn::Path>().map(drop),
        "pat" => syn::Pat::parse_multi_with_leading_vert(input).map(drop),
        "pat_param" => syn::Pat::parse_single(input).map(drop),
        "item" => input.parse::<syn::Item>().map(drop),
        "stmt" => input.parse::<syn::Stmt>().map(drop),
        "meta" => input.parse::<syn::Meta>().map(drop),
        "vis" => input.parse::<syn::Visibility>().map(drop),
        _ => Err(input.error("a fragment that is not known")),
    }
}

/// How many of the marks at the start are one token.
fn joint(given: &[TokenTree]) -> usize {
    let spelled = |length: usize| -> Option<String> {
        let marks = given.get(..length)?.iter().map(|tree| match tree {
            TokenTree::Punct(p) => Some(p.as_char()),
            _ => None,
        });
        marks.collect()
    };
    let is_one = |length: &usize| spelled(*length).is_some_and(|s| JOINT.contains(&s.as_str()));
    [3, 2].into_iter().find(is_one).unwrap_or(1)
}

/// Writes what a rule makes; `None` where that can't be told.
fn transcribe(body: &[TokenTree], bound: &Bindings, out: &mut Vec<TokenTree>) -> Option<()> {
    let mut i = 0;
    while i < body.len() {
        match &body[i..] {
            [dollar, TokenTree::Ident(name), ..] if is_punct(Some(dollar), '$') => {
                match bound.get(&name.to_string()) {
                    Some(Bound::One(value)) => out.extend(value.clone()),
                    Some(Bound::Many(_)) => return None,
                    None if name == "crate" => out.push(TokenTree::Ident(Ident::new("crate", name.span()))),
                    // Of a macro that this one defines.
                    None => out.extend([dollar.clone(), TokenTree::Ident(name.clone())]),
                }
                i += 2;
            }
            [dollar, TokenTree::Group(group), rest @ ..] if is_punct(Some(dollar), '$') => {
                if group.delimiter() != Delimiter::Parenthesis {
                    return None;
                }
                let frame = frame(rest)?;
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                let repeated = repeated(&inner, bound);
                i += 2 + frame.length;
                let rounds = repeated.iter().map(|(_, list)| list.len()).max();
                let Some(rounds) = rounds else {
                    // Of a macro that this one defines.
                    out.extend(body[i - 2 - frame.length..i].iter().cloned());
                    continue;
                };
                for round in 0..rounds {
                    let mut inside = bound.clone();
                    for (name, list) in &repeated {
                        inside.insert((*name).to_owned(), list.get(round)?.clone());
                    }
                    if round > 0 {
                        out.extend(frame.separator.iter().cloned());
                    }
                    transcribe(&inner, &inside, out)?;
                }
            }
            [TokenTree::Group(group), ..] => {
                let list: Vec<TokenTree> = group.stream().into_iter().collect();
                let mut inner = Vec::new();
                transcribe(&list, bound, &mut inner)?;
                let mut made = Group::new(group.delimiter(), inner.into_iter().collect());
                made.set_span(group.span());
                out.push(TokenTree::Group(made));
                i += 1;
            }
            [token, ..] => {
                out.push(token.clone());
                i += 1;
            }
            [] => break,
        }
    }
    Some(())
}

/// The variables in a repetition that stand for several things each.
fn repeated<'b>(inner: &[TokenTree], bound: &'b Bindings) -> Vec<(&'b str, &'b [Bound])> {
    let mut names = BTreeSet::new();
    crate::source::tokens::walk(inner.iter().cloned().collect(), &mut |list| {
        for pair in list.windows(2) {
            if let [dollar, TokenTree::Ident(name)] = pair
                && is_punct(Some(dollar), '$')
            {
                names.insert(name.to_string());
            }
        }
    });
    let of = |name: &String| match bound.get_key_value(name) {
        Some((name, Bound::Many(list))) => Some((name.as_str(), list.as_slice())),
        _ => None,
    };
    names.iter().filter_map(of).collect()
}

#[cfg(test)]
mod unit {
    use super::*;

    fn expand(definition: &str, call: &str) -> Option<String> {
        let made = Macro::new(definition.parse().unwrap()).expand(&call.parse().unwrap())?;
        let plain = |s: &str| s.parse::<TokenStream>().unwrap().to_string();
        Some(plain(&made.to_string()))
    }

    fn same(definition: &str, call: &str, made: &str) {
        let plain = made.parse::<TokenStream>().unwrap().to_string();
        assert_eq!(expand(definition, call).as_deref(), Some(plain.as_str()), "{definition} of {call}");
    }

    #[test]
    fn the_first_rule_that_takes_all_tokens_makes_the_text() {
        same("(a) => { 1 }; ($x:ident) => { 2 $x }; ($($x:tt)*) => { 3 }", "a", "1");
        same("(a) => { 1 }; ($x:ident) => { 2 $x }; ($($x:tt)*) => { 3 }", "b", "2 b");
        same("(a) => { 1 }; ($x:ident) => { 2 $x }; ($($x:tt)*) => { 3 }", "a b", "3");
        assert_eq!(expand("(a) => { 1 };", "b"), None);
    }

    #[test]
    fn fragments_take_what_they_are_called_for() {
        same(
            "($t:ty, $e:expr; $l:lifetime $m:literal $v:vis $b:block $p:pat) => { $t $e $l $m $v $b $p }",
            "Vec<(u8, X)>, a + b; 'a -1 pub(crate) { c } Some(_) | None",
            "Vec<(u8, X)> a + b 'a -1 pub(crate) { c } Some(_) | None",
        );
        same(
            "($(#[$m:meta])* $i:item) => { $(#[$m])* $i }",
            "#[x(y)] #[doc = \"z\"] fn f() {}",
            "#[x(y)] #[doc = \"z\"] fn f() {}",
        );
        same("($a:tt $b:tt $c:tt) => { $c $b $a }", "-> 'a [x]", "[x] 'a ->");
    }

    #[test]
    fn repetitions_go_in_step() {
        same("($($n:ident : $($t:ty)|+ ;)*) => { $($n($($t),+))* }", "a: u8 | u16; b: u32;", "a(u8, u16) b(u32)");
        same("($x:ident $($t:ty),* $(,)?) => { $(impl $x for $t {})* }", "X u8, u16,", "impl X for u8 {} impl X for u16 {}");
        same("($($x:ident)? $y:literal) => { [$($x)?] $y }", "1", "[] 1");
        assert_eq!(expand("($($x:ident)+) => {}", ""), None);
        assert_eq!(expand("($($x:ident)* ; $($y:ident)*) => { $($x $y)* }", "a ; b c"), None);
    }

    #[test]
    fn what_a_defined_macro_repeats_is_left_to_it() {
        same(
            "($n:ident) => { macro_rules! $n { ($d:ty) => { $crate::x!($d) } } }",
            "m",
            "macro_rules! m { ($d:ty) => { crate::x!($d) } }",
        );
    }

    #[test]
    fn every_token_knows_where_it_was_written() {
        let text = "macro_rules! m { ($t:ident) => { impl X for $t {} } } m!(Y);";
        let file = syn::parse_file(text).unwrap();
        let [syn::Item::Macro(definition), syn::Item::Macro(call)] = &file.items[..] else { panic!() };
        let made = Macro::new(definition.mac.tokens.clone()).expand(&call.mac.tokens).unwrap();
        let places: Vec<&str> = made.into_iter().map(|t| &text[t.span().byte_range()]).collect();
        assert_eq!(places, ["impl", "X", "for", "Y", "{}"]);
    }
}
