//! `cfg` predicates and their evaluation.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::BTreeSet;

/// A `cfg` predicate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Predicate {
    /// `true` / `false`.
    Literal(bool),
    /// `name`
    Name(String),
    /// `name = "value"`
    Value(String, String),
    /// `all(…)`
    All(Vec<Predicate>),
    /// `any(…)`
    Any(Vec<Predicate>),
    /// `not(…)`
    Not(Box<Predicate>),
}

impl Predicate {
    /// Parses what stands between the parentheses of `cfg(…)`; `None` when it is not a predicate
    /// (a macro variable in it, for example).
    #[must_use]
    pub fn parse(tokens: TokenStream) -> Option<Predicate> {
        let list = list(tokens)?;
        let [one] = <[Predicate; 1]>::try_from(list).ok()?;
        Some(one)
    }
}

/// Parses a comma-separated list of predicates.
fn list(tokens: TokenStream) -> Option<Vec<Predicate>> {
    let mut out = Vec::new();
    let mut it = tokens.into_iter().peekable();
    while let Some(tree) = it.next() {
        let TokenTree::Ident(name) = tree else { return None };
        let name = name.to_string();
        let predicate = match it.peek() {
            Some(TokenTree::Group(g)) if g.delimiter() == Delimiter::Parenthesis => {
                let inner = list(g.stream())?;
                it.next();
                match name.as_str() {
                    "all" => Predicate::All(inner),
                    "any" => Predicate::Any(inner),
                    "not" => Predicate::Not(Box::new(<[Predicate; 1]>::try_from(inner).ok()?.into_iter().next()?)),
                    _ => return None,
                }
            }
            Some(TokenTree::Punct(p)) if p.as_char() == '=' => {
                it.next();
                let TokenTree::Literal(value) = it.next()? else { return None };
                let value: syn::LitStr = syn::parse_str(&value.to_string()).ok()?;
                Predicate::Value(name, value.value())
            }
            _ if name == "true" => Predicate::Literal(true),
            _ if name == "false" => Predicate::Literal(false),
            _ => Predicate::Name(name),
        };
        out.push(predicate);
        match it.next() {
            None => break,
            Some(TokenTree::Punct(p)) if p.as_char() == ',' => {}
            Some(_) => return None,
        }
    }
    Some(out)
}

/// The `cfg`s that are set: names, and names with a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CfgSet(BTreeSet<(String, Option<String>)>);

impl CfgSet {
    /// Reads lines as `rustc --print cfg` prints them and as `--cfg` takes them: `name` or `name="value"`.
    #[must_use]
    pub fn from_lines<'a>(lines: impl IntoIterator<Item = &'a str>) -> CfgSet {
        CfgSet(
            lines
                .into_iter()
                .filter(|l| !l.trim().is_empty())
                .map(|line| match line.split_once('=') {
                    Some((name, value)) => {
                        let value = value.trim();
                        let value = syn::parse_str::<syn::LitStr>(value).map_or_else(|_| value.to_owned(), |v| v.value());
                        (name.trim().to_owned(), Some(value))
                    }
                    None => (line.trim().to_owned(), None),
                })
                .collect(),
        )
    }

    /// This set and `name`.
    #[must_use]
    pub fn with(mut self, name: &str) -> CfgSet {
        self.0.insert((name.to_owned(), None));
        self
    }

    /// Both sets.
    #[must_use]
    pub fn union(&self, other: &CfgSet) -> CfgSet {
        CfgSet(self.0.union(&other.0).cloned().collect())
    }

    /// Whether the predicate holds.
    #[must_use]
    pub fn holds(&self, predicate: &Predicate) -> bool {
        match predicate {
            Predicate::Literal(b) => *b,
            Predicate::Name(n) => self.0.contains(&(n.clone(), None)),
            Predicate::Value(n, v) => self.0.contains(&(n.clone(), Some(v.clone()))),
            Predicate::All(list) => list.iter().all(|p| self.holds(p)),
            Predicate::Any(list) => list.iter().any(|p| self.holds(p)),
            Predicate::Not(p) => !self.holds(p),
        }
    }
}

#[cfg(test)]
mod unit {
    use super::*;

    fn holds(set: &[&str], predicate: &str) -> bool {
        CfgSet::from_lines(set.iter().copied()).holds(&Predicate::parse(predicate.parse().unwrap()).unwrap())
    }

    #[test]
    fn predicates_nest() {
        assert!(holds(&["unix", "feature=\"std\""], r#"all(unix, not(windows), any(feature = "std", test))"#));
        assert!(!holds(&["unix"], r#"feature = "std""#));
        assert!(holds(&[], "all()"));
        assert!(!holds(&[], "any()"));
        assert!(holds(&[], "true"));
    }

    #[test]
    fn a_macro_variable_is_not_a_predicate() {
        assert_eq!(Predicate::parse("$meta".parse().unwrap()), None);
        assert_eq!(Predicate::parse("not()".parse().unwrap()), None);
    }
}
