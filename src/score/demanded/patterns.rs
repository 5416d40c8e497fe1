//! Which arms of a `match` others don't stand for, as far as their patterns show.

use quote::ToTokens;
use syn::{Arm, Pat};

/// Whether some alternative of an arm's pattern is covered by no other arm without a guard.
pub(super) fn is_needed(arms: &[Arm], arm: usize) -> bool {
    let others = arms.iter().enumerate().filter(|(i, a)| *i != arm && !matches!(a.pat, Pat::Guard(_)));
    let others: Vec<&Pat> = others.map(|(_, a)| &a.pat).collect();
    alternatives(&arms[arm].pat).iter().any(|q| !others.iter().any(|p| covers(p, q)))
}

fn alternatives(pattern: &Pat) -> Vec<&Pat> {
    match pattern {
        Pat::Or(or) => or.cases.iter().flat_map(alternatives).collect(),
        Pat::Paren(inner) => alternatives(&inner.pat),
        Pat::Guard(inner) => alternatives(&inner.pat),
        other => vec![other],
    }
}

/// In the place of a slice's name.
const SLICE: &str = "[]";

/// What a pattern looks at, bindings aside.
enum Shape<'a> {
    /// Nothing.
    Any,
    /// A variant or a type by its last name (a tuple has none), and what is inside, in order.
    Elements(String, Vec<&'a Pat>),
    /// The same with fields by name.
    Fields(String, Vec<(String, &'a Pat)>),
    Reference(&'a Pat),
    /// Anything else: a literal, a range, a macro.
    Text(String),
}

fn shape(pattern: &Pat) -> Shape<'_> {
    let last = |path: &syn::Path| path.segments.last().map(|s| s.ident.to_string()).unwrap_or_default();
    match pattern {
        Pat::Wild(_) | Pat::Rest(_) => Shape::Any,
        Pat::Ident(i) => match &i.subpat {
            Some((_, inner)) => shape(inner),
            // Constants and variants that were imported are upper-case.
            None if i.ident.to_string().starts_with(char::is_uppercase) => Shape::Elements(i.ident.to_string(), Vec::new()),
            None => Shape::Any,
        },
        Pat::Path(p) => Shape::Elements(last(&p.path), Vec::new()),
        Pat::Tuple(t) => Shape::Elements(String::new(), t.elems.iter().collect()),
        Pat::TupleStruct(t) => Shape::Elements(last(&t.path), t.elems.iter().collect()),
        Pat::Slice(s) => Shape::Elements(SLICE.to_owned(), s.elems.iter().collect()),
        Pat::Struct(s) => {
            let fields = s.fields.iter().map(|f| (f.member.to_token_stream().to_string(), &*f.pat)).collect();
            Shape::Fields(last(&s.path), fields)
        }
        Pat::Reference(r) => Shape::Reference(&r.pat),
        Pat::Paren(p) => shape(&p.pat),
        other => Shape::Text(other.to_token_stream().to_string()),
    }
}

fn is_any(pattern: &Pat) -> bool {
    alternatives(pattern).iter().any(|p| matches!(shape(p), Shape::Any))
}

/// Whether `pattern` matches all that `other` does.
fn covers(pattern: &Pat, other: &Pat) -> bool {
    alternatives(other).iter().all(|q| alternatives(pattern).iter().any(|p| covers_one(p, q)))
}

fn covers_one(pattern: &Pat, other: &Pat) -> bool {
    match (shape(pattern), shape(other)) {
        (Shape::Any, _) => true,
        (Shape::Elements(a, p), Shape::Elements(b, q)) => {
            // A slice may be longer than a pattern of it, a tuple may not.
            let fits = a != SLICE || rest(&p).is_some() || rest(&q).is_none();
            a == b && fits && all_cover(&p, &q)
        }
        (Shape::Fields(a, p), Shape::Fields(b, q)) => {
            let field = |name: &String| q.iter().find(|(n, _)| n == name).map(|(_, pattern)| *pattern);
            a == b && p.iter().all(|(name, p)| field(name).map_or_else(|| is_any(p), |q| covers(p, q)))
        }
        // `A { .. }` is written for `A(..)` and for `A`, too.
        (Shape::Fields(a, p), Shape::Elements(b, _)) => a == b && p.is_empty(),
        (Shape::Elements(a, p), Shape::Fields(b, _)) => a == b && p.iter().all(|p| is_any(p)),
        (Shape::Reference(p), Shape::Reference(q)) => covers(p, q),
        (Shape::Text(a), Shape::Text(b)) => a == b,
        _ => false,
    }
}

/// One by one; `..` stands for as many as there are.
fn all_cover(patterns: &[&Pat], others: &[&Pat]) -> bool {
    let fits = |p: &Pat, q: Option<&Pat>| q.map_or_else(|| is_any(p), |q| covers(p, q));
    match rest(patterns) {
        None => {
            let mut pairs = patterns.iter().enumerate();
            (rest(others).is_some() || patterns.len() == others.len())
                && pairs.all(|(i, p)| fits(p, front(others, i).or_else(|| back(others, patterns.len() - 1 - i))))
        }
        Some(at) => {
            (rest(others).is_some() || patterns.len() - 1 <= others.len())
                && patterns[..at].iter().enumerate().all(|(i, p)| fits(p, front(others, i)))
                && patterns[at + 1..].iter().rev().enumerate().all(|(i, p)| fits(p, back(others, i)))
        }
    }
}

fn rest(list: &[&Pat]) -> Option<usize> {
    list.iter().position(|p| matches!(p, Pat::Rest(_)))
}

/// Element `i`, if it stands before a `..`.
fn front<'a>(list: &[&'a Pat], i: usize) -> Option<&'a Pat> {
    list[..rest(list).unwrap_or(list.len())].get(i).copied()
}

/// Element `i` from the end, if it stands behind a `..`.
fn back<'a>(list: &[&'a Pat], i: usize) -> Option<&'a Pat> {
    list[rest(list).map_or(0, |at| at + 1)..].iter().rev().nth(i).copied()
}

#[cfg(test)]
mod unit {
    use super::*;

    fn needed(arms: &str) -> Vec<usize> {
        let Ok(syn::Expr::Match(m)) = syn::parse_str(&format!("match x {{ {arms} }}")) else { panic!("{arms}") };
        let unguarded = (0..m.arms.len()).filter(|&i| !matches!(m.arms[i].pat, Pat::Guard(_)));
        unguarded.filter(|&i| is_needed(&m.arms, i)).collect()
    }

    #[test]
    fn each_variant_is_needed_and_those_that_a_catch_all_stands_for_are_not() {
        assert_eq!(needed("E::A => 1, E::B(x) => 2, E::C { .. } => 3"), [0, 1, 2]);
        assert_eq!(needed("E::A => 1, E::B(x) => 2, _ => 3"), [2]);
        assert_eq!(needed("None => 1, other => 2"), [1]);
        assert_eq!(needed("A | B => 1, C => 2, A => 3"), [0, 1]);
    }

    #[test]
    fn a_guard_can_fail_so_its_arm_stands_for_nothing() {
        assert_eq!(needed("Some(n) if n > 3 => 1, Some(_) => 2, None => 3"), [1, 2]);
        assert_eq!(needed("n if n > 3 => 1, Some(_) => 2, None => 3"), [1, 2]);
    }

    #[test]
    fn patterns_are_compared_inside() {
        assert_eq!(needed("Some(0) => 1, Some(_) => 2, None => 3"), [1, 2]);
        assert_eq!(needed("(A, 0) => 1, (A, _) => 2, (B, ..) => 3"), [1, 2]);
        assert_eq!(needed("(.., 7) => 1, (_, 7, 7) => 2, (_, _, n) => 3"), [2]);
        assert_eq!(needed("&[] => 1, &[a] => 2, &[a, .., b] => 3"), [0, 1, 2]);
        assert_eq!(needed("P { x: 0, y } => 1, P { x, .. } => 2"), [1]);
        assert_eq!(needed("P { x: 0, .. } => 1, P { y: 0, .. } => 2, q @ P { .. } => 3"), [2]);
        assert_eq!(needed("0..=9 => 1, 10..=255 => 2"), [0, 1]);
    }
}
