//! What a call of a `macro_rules!` macro makes: tokens, each of which knows by its span where it was written.
//!
//! Matching follows the reference: the first rule that takes all of the call's tokens; a repetition takes as much as it
//! can. What a fragment took is one token for other macros, in a group without delimiters, but for identifiers, lifetimes
//! and token trees. Hygiene is not looked at, and `${…}` is not known: such a rule makes nothing here.

use crate::source::tokens::{is_punct, macro_rules};
use proc_macro2::{Delimiter, Group, Ident, Punct, Spacing, TokenStream, TokenTree};
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
    /// What rustc takes for one token: a mark may have several characters.
    Token(Vec<TokenTree>),
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
/// The same, of which a repetition has its own.
type Scope<'b> = BTreeMap<&'b str, &'b Bound>;

impl Macro {
    /// Reads a definition, from the tokens between its braces.
    #[must_use]
    pub fn new(definition: TokenStream) -> Macro {
        let list: Vec<TokenTree> = definition.into_iter().collect();
        let read = |(matcher, body, _): (&Group, &Group, usize)| Rule {
            matcher: parts(matcher.stream()),
            body: body.stream().into_iter().collect(),
        };
        Macro { rules: macro_rules(&list).map(read).collect() }
    }

    /// What a call with these tokens makes; `None` when no rule takes them, or that can't be told, or when it is more than
    /// `room` tokens. What is made is taken off the room.
    #[must_use]
    pub fn expand(&self, call: &TokenStream, room: &mut usize) -> Option<TokenStream> {
        let given: Vec<TokenTree> = call.clone().into_iter().collect();
        self.rules.iter().find_map(|rule| {
            let (mut bound, mut at) = (Bindings::new(), 0);
            let taken = matches(&rule.matcher, &given, &mut at, &mut bound) && at == given.len();
            taken.then(|| {
                let mut out = Vec::new();
                let scope = bound.iter().map(|(name, bound)| (name.as_str(), bound)).collect();
                transcribe(&rule.body, &scope, &mut out, room)?;
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
                let inner = before_a_bar(parts(group.stream()), frame.separator.first());
                out.push(Part::Repetition(inner, frame));
            }
            [dollar, TokenTree::Ident(name), colon, TokenTree::Ident(kind), ..]
                if is_punct(Some(dollar), '$') && is_punct(Some(colon), ':') =>
            {
                let variable = vec![Part::Variable(name.to_string(), kind.to_string())];
                i += 4;
                out.extend(before_a_bar(variable, list.get(i)));
            }
            [TokenTree::Group(group), ..] => {
                out.push(Part::Group(group.delimiter(), parts(group.stream())));
                i += 1;
            }
            [_, ..] => {
                let length = one(&list[i..]);
                out.push(Part::Token(list[i..i + length].to_vec()));
                i += length;
            }
            [] => break,
        }
    }
    out
}

/// Up to the edition of 2018, and where a bar may follow, a pattern has none at its top.
fn before_a_bar(mut parts: Vec<Part>, next: Option<&TokenTree>) -> Vec<Part> {
    if let Some(Part::Variable(_, kind)) = parts.last_mut().filter(|_| is_punct(next, '|'))
        && kind == "pat"
    {
        *kind = "pat_param".to_owned();
    }
    parts
}

/// The separator and the operator of a repetition, from the tokens behind its parentheses.
fn frame(behind: &[TokenTree]) -> Option<Frame> {
    let operator = |tree: &TokenTree| match tree {
        TokenTree::Punct(p) => Some(p.as_char()).filter(|c| matches!(c, '*' | '+' | '?')),
        _ => None,
    };
    let first = one(behind);
    let at = if first == 1 && operator(behind.first()?).is_some() { 0 } else { first };
    Some(Frame { separator: behind[..at].to_vec(), operator: operator(behind.get(at)?)?, length: at + 1 })
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
                let separated = rounds.is_empty() || matches_token(&frame.separator, given, at);
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

/// Whether what rustc takes for one token comes next; no token always does.
fn matches_token(token: &[TokenTree], given: &[TokenTree], at: &mut usize) -> bool {
    let same = |pair: (&TokenTree, &TokenTree)| match pair {
        (TokenTree::Punct(a), TokenTree::Punct(b)) => a.as_char() == b.as_char(),
        (TokenTree::Ident(a), TokenTree::Ident(b)) => a == b,
        (TokenTree::Literal(a), TokenTree::Literal(b)) => a.to_string() == b.to_string(),
        _ => false,
    };
    let next = &given[*at..];
    let taken = token.is_empty() || one(next) == token.len() && token.iter().zip(next).all(same);
    *at += if taken { token.len() } else { 0 };
    taken
}

/// Marks of more than one character that are one token.
const JOINT: &[&str] = &[
    "<<=", ">>=", "...", "..=", "::", "->", "<-", "=>", "==", "!=", "<=", ">=", "&&", "||", "+=", "-=", "*=", "/=", "%=",
    "^=", "&=", "|=", "<<", ">>", "..",
];

/// How far a fragment may reach: nobody hands on more tokens of one level, and each look copies them.
const REACH: usize = 512;

/// How many tokens a fragment of a kind takes, and what its variable stands for then.
fn fragment(kind: &str, given: &[TokenTree]) -> Option<(usize, TokenStream)> {
    let raw = |taken: usize| Some((taken, alone(&given[..taken])));
    let whole = |taken: usize| Some((taken, as_one(&given[..taken])));
    match kind {
        "ident" => match given.first()? {
            TokenTree::Ident(name) if name != "_" => raw(1),
            _ => None,
        },
        "lifetime" if is_lifetime(given) => raw(2),
        "lifetime" => None,
        "tt" => raw(Some(one(given)).filter(|&length| length > 0)?),
        "literal" => whole(literal(given)?),
        "block" => match given.first()? {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => whole(1),
            TokenTree::Group(group) if group.delimiter() == Delimiter::None => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                matches!(&inner[..], [_]).then(|| fragment(kind, &inner))?.and_then(|_| whole(1))
            }
            _ => None,
        },
        _ => {
            let parsed = |reach: usize| {
                let left = |input: ParseStream<'_>| -> syn::Result<usize> {
                    parse_fragment(kind, input)?;
                    Ok(input.parse::<TokenStream>()?.into_iter().count())
                };
                // Of what is one token, not all may have been taken.
                reach.checked_sub(left.parse2(given[..reach].iter().cloned().collect()).ok()?)
            };
            let far = given.len().min(REACH);
            let near = likely_end(kind, &given[..far]);
            match Some(near).filter(|&near| near < far).and_then(parsed).or_else(|| parsed(far)) {
                None | Some(0) => (kind == "vis").then(|| (0, as_one(&[]))),
                Some(taken) => whole(taken),
            }
        }
    }
}

/// Where a fragment is likely to end. One that is whole up to there is not longer.
fn likely_end(kind: &str, given: &[TokenTree]) -> usize {
    let ends = |tree: &TokenTree| match tree {
        TokenTree::Punct(p) => p.as_char() == ';' || kind != "item" && p.as_char() == ',',
        TokenTree::Group(group) => kind == "item" && group.delimiter() == Delimiter::Brace,
        _ => false,
    };
    given.iter().position(ends).map_or(given.len(), |at| if kind == "item" { at + 1 } else { at })
}

/// How many tokens a literal takes, with its sign.
fn literal(given: &[TokenTree]) -> Option<usize> {
    match given {
        [TokenTree::Literal(_), ..] => Some(1),
        [TokenTree::Ident(word), ..] if word == "true" || word == "false" => Some(1),
        [minus, TokenTree::Literal(_), ..] if is_punct(Some(minus), '-') => Some(2),
        [TokenTree::Group(group), ..] if group.delimiter() == Delimiter::None => {
            let inner: Vec<TokenTree> = group.stream().into_iter().collect();
            (literal(&inner) == Some(inner.len())).then_some(1)
        }
        _ => None,
    }
}

/// Tokens that are one for other macros.
fn as_one(tokens: &[TokenTree]) -> TokenStream {
    match tokens {
        [TokenTree::Group(group)] if group.delimiter() == Delimiter::None => tokens.iter().cloned().collect(),
        _ => TokenTree::Group(Group::new(Delimiter::None, alone(tokens))).into(),
    }
}

/// Tokens of which the last one does not go on in what comes behind it.
fn alone(tokens: &[TokenTree]) -> TokenStream {
    let Some((last, before)) = tokens.split_last() else { return TokenStream::new() };
    before.iter().cloned().chain([parted(last)]).collect()
}

fn parted(token: &TokenTree) -> TokenTree {
    match token {
        TokenTree::Punct(p) if p.spacing() == Spacing::Joint && p.as_char() != '\'' => {
            let mut parted = Punct::new(p.as_char(), Spacing::Alone);
            parted.set_span(p.span());
            TokenTree::Punct(parted)
        }
        other => other.clone(),
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
        "stmt" => statement(input),
        "meta" => input.parse::<syn::Meta>().map(drop),
        "vis" => input.parse::<syn::Visibility>().map(drop),
        _ => Err(input.error("a fragment that is not known")),
    }
}

/// A statement without its semicolon.
fn statement(input: ParseStream<'_>) -> syn::Result<()> {
    use syn::parse::discouraged::Speculative;

    let ahead = input.fork();
    ahead.call(syn::Attribute::parse_outer)?;
    if ahead.peek(syn::Token![let]) {
        ahead.parse::<syn::Token![let]>()?;
        syn::Pat::parse_single(&ahead)?;
        if ahead.parse::<Option<syn::Token![:]>>()?.is_some() {
            ahead.parse::<syn::Type>()?;
        }
        if ahead.parse::<Option<syn::Token![=]>>()?.is_some() {
            ahead.parse::<syn::Expr>()?;
        }
        if ahead.parse::<Option<syn::Token![else]>>()?.is_some() {
            ahead.parse::<syn::Block>()?;
        }
        input.advance_to(&ahead);
        return Ok(());
    }
    let item = input.fork();
    if matches!(item.parse::<syn::Item>(), Ok(item) if !matches!(item, syn::Item::Macro(_) | syn::Item::Verbatim(_))) {
        input.advance_to(&item);
        return Ok(());
    }
    input.parse::<syn::Expr>().map(drop)
}

fn is_lifetime(given: &[TokenTree]) -> bool {
    is_punct(given.first(), '\'') && matches!(given.get(1), Some(TokenTree::Ident(_)))
}

/// How many of the trees at the start are one token.
fn one(given: &[TokenTree]) -> usize {
    if is_lifetime(given) {
        return 2;
    }
    let spelled = |length: usize| -> Option<String> {
        let marks = given.get(..length)?.iter().enumerate().map(|(i, tree)| match tree {
            TokenTree::Punct(p) if i + 1 == length || p.spacing() == Spacing::Joint => Some(p.as_char()),
            _ => None,
        });
        marks.collect()
    };
    let is_one = |length: &usize| spelled(*length).is_some_and(|s| JOINT.contains(&s.as_str()));
    [3, 2].into_iter().find(is_one).unwrap_or(given.len().min(1))
}

/// Takes what tokens hold, groups and all, off the room; `None` where there is not as much.
fn spend(tokens: &TokenStream, room: &mut usize) -> Option<()> {
    for tree in tokens.clone() {
        *room = room.checked_sub(1)?;
        if let TokenTree::Group(group) = tree {
            spend(&group.stream(), room)?;
        }
    }
    Some(())
}

/// Writes what a rule makes; `None` where that can't be told.
fn transcribe(body: &[TokenTree], bound: &Scope<'_>, out: &mut Vec<TokenTree>, room: &mut usize) -> Option<()> {
    let mut i = 0;
    while i < body.len() {
        *room = room.checked_sub(1)?;
        match &body[i..] {
            [dollar, TokenTree::Ident(name), ..] if is_punct(Some(dollar), '$') => {
                match bound.get(name.to_string().as_str()) {
                    Some(Bound::One(value)) => {
                        spend(value, room)?;
                        out.extend(value.clone());
                    }
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
                        inside.insert(name, list.get(round)?);
                    }
                    if round > 0 {
                        out.extend(frame.separator.iter().cloned());
                    }
                    transcribe(&inner, &inside, out, room)?;
                }
            }
            [TokenTree::Group(group), ..] => {
                let list: Vec<TokenTree> = group.stream().into_iter().collect();
                let mut inner = Vec::new();
                transcribe(&list, bound, &mut inner, room)?;
                let mut made = Group::new(group.delimiter(), inner.into_iter().collect());
                made.set_span(group.span());
                out.push(TokenTree::Group(made));
                i += 1;
            }
            [token, next @ ..] => {
                // What a variable stands for does not go on in what is before it.
                out.push(if is_punct(next.first(), '$') { parted(token) } else { token.clone() });
                i += 1;
            }
            [] => break,
        }
    }
    Some(())
}

/// The variables in a repetition that stand for several things each.
fn repeated<'b>(inner: &[TokenTree], bound: &Scope<'b>) -> Vec<(&'b str, &'b [Bound])> {
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
    let of = |name: &String| match bound.get_key_value(name.as_str()) {
        Some((name, Bound::Many(list))) => Some((*name, list.as_slice())),
        _ => None,
    };
    names.iter().filter_map(of).collect()
}

#[cfg(test)]
mod unit {
    use super::*;

    fn expand(definition: &str, call: &str) -> Option<String> {
        let made = Macro::new(definition.parse().unwrap()).expand(&call.parse().unwrap(), &mut 10_000)?;
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
    fn what_is_too_much_is_not_made() {
        let double = Macro::new("($($x:tt)*) => { $($x)* $($x)* }".parse().unwrap());
        let given = "a (b c) d".parse().unwrap();
        let mut room = 30;
        assert!(double.expand(&given, &mut room).is_some());
        assert!(room < 20);
        assert_eq!(double.expand(&given, &mut room).map(|made| made.to_string()), None);
    }

    #[test]
    fn what_a_fragment_took_is_one_token() {
        let kinds = "($i:ident) => { ident }; ($l:literal) => { literal }; ($v:vis fn) => { f }; ($t:tt) => { tt }";
        let of = |kind: &str, call: &str| {
            let taken = Macro::new(format!("($x:{kind}) => {{ $x }}").parse().unwrap());
            let taken = taken.expand(&call.parse().unwrap(), &mut 100)?;
            Some(Macro::new(kinds.parse().unwrap()).expand(&taken, &mut 100)?.to_string())
        };
        assert_eq!(of("expr", "a").as_deref(), Some("tt"));
        assert_eq!(of("expr", "1").as_deref(), Some("literal"));
        assert_eq!(of("item", "pub(crate) struct A(u8);").as_deref(), Some("tt"));
        assert_eq!(of("vis", "pub(crate)").as_deref(), Some("tt"));
        assert_eq!(of("vis", "").as_deref(), Some("tt"));
        assert_eq!(of("tt", "a").as_deref(), Some("ident"));
        assert_eq!(of("block", "{ a }").as_deref(), Some("tt"));
    }

    #[test]
    fn every_token_knows_where_it_was_written() {
        let text = "macro_rules! m { ($t:ident) => { impl X for $t {} } } m!(Y);";
        let file = syn::parse_file(text).unwrap();
        let [syn::Item::Macro(definition), syn::Item::Macro(call)] = &file.items[..] else { panic!() };
        let made = Macro::new(definition.mac.tokens.clone()).expand(&call.mac.tokens, &mut 100).unwrap();
        let places: Vec<&str> = made.into_iter().map(|t| &text[t.span().byte_range()]).collect();
        assert_eq!(places, ["impl", "X", "for", "Y", "{}"]);
    }
}
