//! Facts about syntax that the nodes rest on: what has a value, what ends a block, what an attribute is for.

use crate::source::tokens::node_range;
use std::collections::BTreeSet;
use std::ops::Range;
use syn::Attribute;
use syn::visit::{self, Visit};

/// Whether no branch of an `if` gives a value.
pub(super) fn without_value(e: &syn::ExprIf) -> bool {
    let block = |b: &syn::Block| {
        !matches!(b.stmts.last(), Some(syn::Stmt::Expr(_, None) | syn::Stmt::Macro(syn::StmtMacro { semi_token: None, .. })))
    };
    let all_diverge = |b: &syn::Block| matches!(b.stmts.last(), Some(syn::Stmt::Expr(e, _)) if diverges(e));
    match &e.else_branch {
        None => true,
        Some((_, branch)) => {
            let rest = match &**branch {
                syn::Expr::If(inner) => without_value(inner),
                syn::Expr::Block(b) => block(&b.block),
                _ => false,
            };
            block(&e.then_branch) && rest && !all_diverge(&e.then_branch)
        }
    }
}

/// Whether an expression's type can only be `()`.
pub(super) fn is_unit(e: &syn::Expr) -> bool {
    matches!(e, syn::Expr::ForLoop(_) | syn::Expr::While(_)) || matches!(e, syn::Expr::If(i) if i.else_branch.is_none())
}

/// Whether control never goes past the expression.
pub(super) fn diverges(e: &syn::Expr) -> bool {
    match e {
        syn::Expr::Return(_) | syn::Expr::Break(_) | syn::Expr::Continue(_) => true,
        syn::Expr::Macro(m) => is_diverging_macro(&m.mac.path),
        _ => false,
    }
}

pub(super) fn is_diverging_macro(path: &syn::Path) -> bool {
    const NAMES: &[&str] = &["panic", "unreachable", "unimplemented", "todo"];
    path.segments.last().is_some_and(|s| NAMES.iter().any(|n| s.ident == n))
}

/// Whether a block does nothing but panic.
pub(super) fn only_panics(block: &syn::Block) -> bool {
    match block.stmts.as_slice() {
        [syn::Stmt::Macro(m)] => is_diverging_macro(&m.mac.path),
        [syn::Stmt::Expr(syn::Expr::Macro(m), _)] => is_diverging_macro(&m.mac.path),
        _ => false,
    }
}

/// Every statement `return …;` in the body of a function that names nothing but its parameters, and items.
pub(super) fn returns(signature: &syn::Signature, block: &syn::Block) -> Vec<Range<usize>> {
    let mut parameters = Names::default();
    signature.inputs.iter().for_each(|input| parameters.visit_fn_arg(input));
    let mut found = Returns { parameters: parameters.bound, found: Vec::new() };
    found.visit_block(block);
    found.found
}

/// Looks for `return`s.
struct Returns {
    parameters: BTreeSet<String>,
    found: Vec<Range<usize>>,
}

impl<'ast> Visit<'ast> for Returns {
    fn visit_stmt(&mut self, statement: &'ast syn::Stmt) {
        if let syn::Stmt::Expr(syn::Expr::Return(syn::ExprReturn { expr: Some(value), .. }), Some(_)) = statement {
            let mut names = Names::default();
            names.visit_expr(value);
            if !names.opaque && names.used.is_subset(&self.parameters) {
                self.found.push(node_range(statement));
            }
        }
        visit::visit_stmt(self, statement);
    }

    // These are left by a `return` of their own.
    fn visit_expr_closure(&mut self, _: &'ast syn::ExprClosure) {}
    fn visit_expr_async(&mut self, _: &'ast syn::ExprAsync) {}
    fn visit_item(&mut self, _: &'ast syn::Item) {}
}

/// The names of variables in an expression or a pattern.
#[derive(Default)]
struct Names {
    bound: BTreeSet<String>,
    used: BTreeSet<String>,
    /// There is more in it than can be seen.
    opaque: bool,
}

impl<'ast> Visit<'ast> for Names {
    fn visit_pat_ident(&mut self, pattern: &'ast syn::PatIdent) {
        self.bound.insert(plain(&pattern.ident));
    }

    fn visit_receiver(&mut self, _: &'ast syn::Receiver) {
        self.bound.insert("self".to_owned());
    }

    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        let variable = |name: &String| name.starts_with(|c: char| c.is_lowercase() || c == '_');
        self.used.extend(path.path.get_ident().map(plain).filter(variable));
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        // What is called by its name is a function.
        if !matches!(&*call.func, syn::Expr::Path(_)) {
            self.visit_expr(&call.func);
        }
        call.args.iter().for_each(|argument| self.visit_expr(argument));
    }

    fn visit_macro(&mut self, _: &'ast syn::Macro) {
        self.opaque = true;
    }

    fn visit_expr_closure(&mut self, _: &'ast syn::ExprClosure) {
        self.opaque = true;
    }

    fn visit_block(&mut self, _: &'ast syn::Block) {
        self.opaque = true;
    }

    fn visit_expr_match(&mut self, _: &'ast syn::ExprMatch) {
        self.opaque = true;
    }
}

/// An identifier without its raw prefix.
pub(super) fn plain(ident: &syn::Ident) -> String {
    let name = ident.to_string();
    name.strip_prefix("r#").map_or(name.clone(), str::to_owned)
}

/// Whether a pattern takes anything.
pub(super) fn catches_all(pattern: &syn::Pat) -> bool {
    match pattern {
        syn::Pat::Wild(_) | syn::Pat::Rest(_) => true,
        syn::Pat::Ident(i) => i.subpat.is_none() && i.ident.to_string().starts_with(|c: char| c.is_lowercase() || c == '_'),
        syn::Pat::Tuple(t) => t.elems.iter().all(catches_all),
        syn::Pat::Reference(r) => catches_all(&r.pat),
        syn::Pat::Paren(p) => catches_all(&p.pat),
        syn::Pat::Or(alternatives) => alternatives.cases.iter().any(catches_all),
        _ => false,
    }
}

/// The first byte behind the attributes.
pub(super) fn after_attributes(node: Range<usize>, attrs: &[Attribute], text: &str) -> usize {
    let end = attrs
        .iter()
        .filter(|a| matches!(a.style, syn::AttrStyle::Outer))
        .map(|a| node_range(a).end)
        .filter(|e| node.contains(e))
        .max()
        .unwrap_or(node.start);
    end + (text[end..].len() - text[end..].trim_start().len()).min(node.end - end)
}

/// Attributes without a say in what a program does.
pub(super) fn decorates(attr: &Attribute) -> bool {
    const NAMES: &[&str] = &["inline", "must_use", "doc", "cold", "deprecated", "automatically_derived", "optimize"];
    let path = attr.path();
    NAMES.iter().any(|n| path.is_ident(n))
        || path.segments.first().is_some_and(|s| s.ident == "rustfmt" || s.ident == "clippy")
}

/// `#[test]`, `#[tokio::test]`, `#[rstest]`, `#[test_case(…)]`, `#[quickcheck]`, `#[bench]`.
#[must_use]
pub fn makes_a_test(attribute: &Attribute) -> bool {
    let name = attribute.path().segments.last().map(|s| s.ident.to_string()).unwrap_or_default();
    name.contains("test") || matches!(name.as_str(), "quickcheck" | "bench")
}

/// Whether an attribute is (or may be) somebody's macro, which can read the other attributes.
pub(super) fn is_foreign_macro(attr: &Attribute) -> bool {
    const STD: &[&str] = &["Clone", "Copy", "Debug", "Default", "PartialEq", "Eq", "PartialOrd", "Ord", "Hash"];
    const KNOWN: &[&str] = &[
        "cfg",
        "cfg_attr",
        "allow",
        "warn",
        "expect",
        "deny",
        "forbid",
        "test",
        "should_panic",
        "ignore",
        "repr",
        "non_exhaustive",
        "macro_use",
        "macro_export",
        "path",
        "track_caller",
        "no_mangle",
        "link",
        "link_name",
        "link_section",
        "export_name",
        "unsafe",
        "target_feature",
        "global_allocator",
        "used",
        "default",
        "automatically_derived",
        "diagnostic",
    ];
    let path = attr.path();
    if path.is_ident("derive") {
        let mut foreign = false;
        let _ = attr.parse_nested_meta(|m| {
            foreign |= !m.path.segments.last().is_some_and(|s| STD.iter().any(|n| s.ident == n));
            Ok(())
        });
        return foreign;
    }
    !decorates(attr) && !path.segments.first().is_some_and(|s| KNOWN.iter().any(|n| s.ident == n))
}
