//! What gives the value of a block: the branches of its last expression.

use super::syntax::{diverges, is_diverging_macro};
use crate::source::tokens::range;
use std::ops::Range;
use syn::visit::Visit;

/// A block that gives the value of an expression, when it is the one that runs.
#[derive(Debug)]
pub(super) struct Branch {
    /// What stands between its braces.
    pub(super) inside: Range<usize>,
    /// The variables that patterns between the expression and the block bind: where they do.
    pub(super) bound: Vec<Range<usize>>,
}

/// The branches of an expression. Those of a branch are its own, as are those of an `unsafe` block.
pub(super) fn branches(value: &syn::Expr) -> Vec<Branch> {
    let mut found = Vec::new();
    add_branches(value, &[], &mut found);
    found
}

fn add_branches(value: &syn::Expr, bound: &[Range<usize>], found: &mut Vec<Branch>) {
    let with = |bind: &dyn Fn(&mut Bound)| {
        let mut more = Bound(bound.to_vec());
        bind(&mut more);
        more.0
    };
    match value {
        syn::Expr::If(e) => {
            let Some((_, otherwise)) = &e.else_branch else { return };
            add(&e.then_branch, with(&|bound| bound.visit_expr(&e.cond)), found);
            add_branches(otherwise, bound, found);
        }
        syn::Expr::Match(e) => {
            for arm in &e.arms {
                add_branches(&arm.body, &with(&|bound| bound.visit_pat(&arm.pat)), found);
            }
        }
        syn::Expr::Block(e) if e.label.is_none() => add(&e.block, bound.to_vec(), found),
        _ => {}
    }
}

fn add(block: &syn::Block, bound: Vec<Range<usize>>, found: &mut Vec<Branch>) {
    let span = block.brace_token.span;
    found.push(Branch { inside: range(span.open()).end..range(span.close()).start, bound });
}

/// The variables that patterns bind.
struct Bound(Vec<Range<usize>>);

impl<'ast> Visit<'ast> for Bound {
    fn visit_pat_ident(&mut self, pattern: &'ast syn::PatIdent) {
        // Else it is a constant or a variant.
        if pattern.ident.to_string().starts_with(|c: char| c.is_lowercase() || c == '_') {
            self.0.push(range(pattern.ident.span()));
        }
        syn::visit::visit_pat_ident(self, pattern);
    }
}

/// Whether a block may end with a value, and not only by a panic or a jump.
pub(super) fn gives_a_value(block: &syn::Block) -> bool {
    match block.stmts.last() {
        Some(syn::Stmt::Expr(e, None)) => is_value(e),
        Some(syn::Stmt::Macro(m)) => m.semi_token.is_none() && makes_a_value(&m.mac.path),
        _ => false,
    }
}

fn is_value(e: &syn::Expr) -> bool {
    match e {
        syn::Expr::Loop(_) | syn::Expr::While(_) | syn::Expr::ForLoop(_) => false,
        syn::Expr::Macro(m) => makes_a_value(&m.mac.path),
        syn::Expr::If(e) => {
            e.else_branch.as_ref().is_some_and(|(_, other)| gives_a_value(&e.then_branch) || is_value(other))
        }
        syn::Expr::Match(e) => e.arms.iter().any(|arm| is_value(&arm.body)),
        syn::Expr::Block(e) => gives_a_value(&e.block),
        syn::Expr::Unsafe(e) => gives_a_value(&e.block),
        syn::Expr::Paren(e) => is_value(&e.expr),
        syn::Expr::Call(e) => !matches!(&*e.func, syn::Expr::Path(path) if never_returns(&path.path)),
        e => !diverges(e),
    }
}

/// Whether a macro is one of the standard library that gives a value: others may jump or panic.
fn makes_a_value(path: &syn::Path) -> bool {
    const NAMES: &[&str] = &["concat", "format", "format_args", "matches", "stringify", "vec", "write", "writeln"];
    !is_diverging_macro(path) && path.segments.last().is_some_and(|s| NAMES.iter().any(|n| s.ident == n))
}

/// Whether a function of the standard library does not return.
fn never_returns(path: &syn::Path) -> bool {
    const NAMES: &[&str] =
        &["abort", "exit", "handle_alloc_error", "panic_any", "resume_unwind", "unreachable_unchecked", "panic_fmt"];
    path.segments.last().is_some_and(|s| NAMES.iter().any(|n| s.ident == n))
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn the_branches_of_a_value_are_blocks_that_give_it() {
        let text = "if let Some(a) = b { c } else if d { e } else { match f { G(h) if i => { j } K => l, m => if n { o } else { p }, } }";
        let found = branches(&syn::parse_str(text).unwrap());
        let found: Vec<(&str, Vec<&str>)> = found
            .iter()
            .map(|branch| (text[branch.inside.clone()].trim(), branch.bound.iter().map(|r| &text[r.clone()]).collect()))
            .collect();
        let last = "match f { G(h) if i => { j } K => l, m => if n { o } else { p }, }";
        assert_eq!(found, [("c", vec!["a"]), ("e", vec![]), (last, vec![])]);
        let found = branches(&syn::parse_str(last).unwrap());
        let bound: Vec<usize> = found.iter().map(|branch| branch.bound.len()).collect();
        assert_eq!(bound, [1, 1, 1]);
    }

    #[test]
    fn panics_jumps_and_loops_give_no_value() {
        let gives = |text: &str| gives_a_value(&syn::parse_str(text).unwrap());
        for text in ["{ 1 }", "{ f()?; g() }", "{ format!(\"\") }", "{ if a { panic!() } else { 1 } }", "{ unsafe { f() } }"]
        {
            assert!(gives(text), "{text}");
        }
        for text in [
            "{ panic!() }",
            "{ bail!(\"\") }",
            "{ return 1 }",
            "{ return 1; }",
            "{ f(); }",
            "{ loop {} }",
            "{ std::process::exit(1) }",
            "{ match a { B => unreachable!(), C => { todo!() } } }",
            "{ match a {} }",
        ] {
            assert!(!gives(text), "{text}");
        }
    }
}
