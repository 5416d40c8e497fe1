//! Which lines did not run but stay because rustc demands them, by the text and its coverage alone.
//!
//! `docs/metrics.md` has the definition. Nobody resolves names here: traits are told apart by name ([`traits`]), and
//! an arm is needed when no other stands for all that its pattern does ([`patterns`]). Where the text does not show
//! that code is demanded, it is not.

mod patterns;
mod traits;
#[cfg(test)]
mod unit;

use super::ParseError;
use crate::source::map::{line_starts, offset};
use crate::source::parse::skipped;
use crate::source::tokens::node_range;
use crate::source::transcriber::rules;
use crate::trace::Region;
use std::collections::BTreeMap;
use std::ops::Range;
use syn::visit::{self, Visit};
use syn::{Block, Expr, Pat, Stmt};
use traits::Traits;

/// The demanded stretches of a text, as the regions that each of its lines has.
#[derive(Debug)]
pub(super) struct Demanded {
    /// Of each line that a region touches: whether all of those are demanded.
    lines: BTreeMap<usize, bool>,
}

impl Demanded {
    /// Of a text and the regions of a run of it.
    pub(super) fn of(text: &str, regions: &[Region]) -> Result<Demanded, ParseError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let file = super::parse("the text that ran", text)?;
        // Spans count from there on.
        let start = skipped(text, &file);
        let starts = line_starts(text);
        let at = |position| offset(&starts, text.len(), position).saturating_sub(start);
        let counted = Counted::new(regions.iter().map(|r| (at(r.start), r.count > 0)));
        let text = &text[start..];
        let mut finder = Finder {
            text,
            traits: Traits::of(&file, text),
            counted: &counted,
            in_macro: String::new(),
            used: true,
            found: Vec::new(),
        };
        finder.visit_file(&file);
        let stretches = joined(finder.found);
        let mut lines = BTreeMap::new();
        for region in regions {
            let (from, to) = (at(region.start), at(region.end));
            let around = stretches.partition_point(|s| s.start <= from).checked_sub(1);
            let demanded = around.is_some_and(|i| to <= stretches[i].end);
            for line in region.start.line..=region.end.line {
                *lines.entry(line).or_insert(true) &= demanded;
            }
        }
        Ok(Demanded { lines })
    }

    /// Whether all that is counted of a line is demanded.
    pub(super) fn holds(&self, line: usize) -> bool {
        self.lines.get(&line).is_some_and(|demanded| *demanded)
    }
}

/// Ranges in order, those that touch as one.
fn joined(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|r| r.start);
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// Where regions start, and whether they ran.
struct Counted(BTreeMap<usize, bool>);

impl Counted {
    fn new(regions: impl Iterator<Item = (usize, bool)>) -> Counted {
        let mut starts = BTreeMap::new();
        for (start, ran) in regions {
            *starts.entry(start).or_default() |= ran;
        }
        Counted(starts)
    }

    /// Whether something in a range ran.
    fn ran(&self, range: &Range<usize>) -> bool {
        self.0.range(range.clone()).any(|(_, ran)| *ran)
    }
}

struct Finder<'a> {
    text: &'a str,
    traits: Traits,
    counted: &'a Counted,
    /// The macro in one of whose rules the visited items stand.
    in_macro: String,
    /// The value of the expression that is visited next may be used.
    used: bool,
    found: Vec<Range<usize>>,
}

impl Finder<'_> {
    /// Code that never ran has to be there, but of its block only what its value needs.
    fn demand(&mut self, whole: Range<usize>, block: &Block, value: bool) {
        let mut from = whole.start;
        let last = block.stmts.len().saturating_sub(1);
        for (i, statement) in block.stmts.iter().enumerate() {
            let needed = value && (i == last || matches!(statement, Stmt::Local(_) | Stmt::Item(_)));
            if !needed {
                let range = node_range(statement);
                self.found.push(from..range.start);
                from = range.end;
            }
        }
        self.found.push(from..whole.end);
    }

    /// A function has to be there.
    fn function(&mut self, whole: Range<usize>, signature: &syn::Signature, block: &Block) {
        if !self.counted.ran(&whole) {
            self.demand(whole, block, !is_unit(&signature.output));
        }
    }

    /// An expression that never ran has to be there.
    fn demand_expr(&mut self, whole: Range<usize>, e: &Expr, used: bool) {
        match e {
            Expr::Block(b) => self.demand(whole, &b.block, used && has_value(&b.block)),
            Expr::Unsafe(b) => self.demand(whole, &b.block, used && has_value(&b.block)),
            _ => self.found.push(whole),
        }
    }

    fn statements(&mut self, block: &Block, used: bool) {
        let range = node_range(block);
        if self.counted.ran(&range) {
            // What is counted here is a way that control did not take, not code.
            self.found.push(range.end - 1..range.end);
        }
        if used {
            self.unreached_end(block);
        }
        let last = block.stmts.len().saturating_sub(1);
        for (i, statement) in block.stmts.iter().enumerate() {
            match statement {
                Stmt::Expr(e, semicolon) => {
                    self.used = used && i == last && semicolon.is_none();
                    self.visit_expr(e);
                }
                other => self.visit_stmt(other),
            }
        }
    }

    /// A block that was left before its end needs that for its value all the same.
    fn unreached_end(&mut self, block: &Block) {
        let ran = |s: &Stmt| self.counted.ran(&node_range(s));
        let Some(reached) = block.stmts.iter().rposition(ran) else { return };
        let (before, behind) = block.stmts.split_at(reached + 1);
        if behind.is_empty() || !has_value(block) || before.iter().any(never_ends) {
            return;
        }
        let end = behind.len() - 1;
        let needed = behind.iter().enumerate().filter(|(i, s)| *i == end || matches!(s, Stmt::Local(_)));
        self.found.extend(needed.map(|(_, s)| node_range(s)));
    }

    fn if_(&mut self, e: &syn::ExprIf, used: bool) {
        self.visit_expr(&e.cond);
        self.statements(&e.then_branch, used);
        let whole = node_range(e);
        let then = node_range(&e.then_branch);
        if self.counted.ran(&whole) && !self.counted.ran(&then) {
            // The condition needs a body.
            let value = used && e.else_branch.is_some() && has_value(&e.then_branch);
            self.demand(then, &e.then_branch, value);
        }
        let Some((word, branch)) = &e.else_branch else { return };
        if self.counted.ran(&whole) && !self.counted.ran(&node_range(branch)) {
            // The links of a chain can go, its end can't.
            let mut end = (word, branch);
            while let Expr::If(link) = &**end.1 {
                let Some((word, branch)) = &link.else_branch else { return };
                end = (word, branch);
            }
            if let Expr::Block(b) = &**end.1
                && used
                && has_value(&b.block)
            {
                self.demand(end.0.span.byte_range().start..whole.end, &b.block, true);
            }
            return;
        }
        self.used = used;
        self.visit_expr(branch);
    }

    fn match_(&mut self, e: &syn::ExprMatch, used: bool) {
        self.visit_expr(&e.expr);
        let ran = self.counted.ran(&node_range(e));
        for (i, arm) in e.arms.iter().enumerate() {
            let whole = node_range(arm);
            let needed = match &arm.pat {
                Pat::Guard(p) => self.counted.ran(&node_range(&p.guard)),
                _ => patterns::is_needed(&e.arms, i),
            };
            if ran && needed && !self.counted.ran(&node_range(&arm.body)) {
                self.demand_expr(whole, &arm.body, used);
                continue;
            }
            if let Pat::Guard(p) = &arm.pat {
                self.visit_expr(&p.guard);
            }
            self.used = used;
            self.visit_expr(&arm.body);
        }
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        let Some(name) = &item.ident else { return };
        let outer = std::mem::replace(&mut self.in_macro, name.to_string());
        for items in rules(item.mac.tokens.clone(), self.text).iter().filter_map(|r| r.items.as_ref()) {
            visit::visit_file(self, items);
            for member in &items.items {
                if let syn::Item::Fn(f) = member
                    && self.traits.demand_made(&f.sig.ident.to_string(), &self.in_macro)
                {
                    self.function(node_range(f), &f.sig, &f.block);
                }
            }
        }
        self.in_macro = outer;
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if let Some(name) = item.trait_.as_ref().and_then(|(path, _)| path.segments.last()) {
            let trait_ = name.ident.to_string();
            for member in &item.items {
                let syn::ImplItem::Fn(f) = member else { continue };
                if self.traits.demand(&trait_, &f.sig.ident.to_string(), &self.in_macro) {
                    self.function(node_range(f), &f.sig, &f.block);
                }
            }
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_item_fn(&mut self, f: &'ast syn::ItemFn) {
        self.statements(&f.block, !is_unit(&f.sig.output));
    }

    fn visit_impl_item_fn(&mut self, f: &'ast syn::ImplItemFn) {
        self.statements(&f.block, !is_unit(&f.sig.output));
    }

    fn visit_trait_item_fn(&mut self, f: &'ast syn::TraitItemFn) {
        if let Some(block) = &f.default {
            self.statements(block, !is_unit(&f.sig.output));
        }
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        let Some(init) = &local.init else { return };
        self.used = true;
        self.visit_expr(&init.expr);
        if let Some((word, branch)) = &init.diverge {
            let whole = node_range(local);
            if self.counted.ran(&whole)
                && !self.counted.ran(&node_range(branch))
                && let Expr::Block(b) = &**branch
            {
                self.demand(word.span.byte_range().start..whole.end, &b.block, true);
            } else {
                self.visit_expr(branch);
            }
        }
    }

    fn visit_block(&mut self, block: &'ast Block) {
        self.statements(block, true);
    }

    fn visit_expr(&mut self, e: &'ast Expr) {
        let used = std::mem::replace(&mut self.used, true);
        match e {
            Expr::If(e) => self.if_(e, used),
            Expr::Match(e) => self.match_(e, used),
            Expr::Block(e) => self.statements(&e.block, used),
            Expr::Unsafe(e) => self.statements(&e.block, used),
            Expr::Loop(e) => self.statements(&e.body, false),
            Expr::While(e) => {
                self.visit_expr(&e.cond);
                self.statements(&e.body, false);
            }
            Expr::ForLoop(e) => {
                self.visit_expr(&e.expr);
                self.statements(&e.body, false);
            }
            _ => visit::visit_expr(self, e),
        }
    }
}

/// Whether a function returns nothing.
fn is_unit(output: &syn::ReturnType) -> bool {
    match output {
        syn::ReturnType::Default => true,
        syn::ReturnType::Type(_, ty) => matches!(&**ty, syn::Type::Tuple(t) if t.elems.is_empty()),
    }
}

/// Whether a block gives a value, or ends such that control never goes past it.
fn has_value(block: &Block) -> bool {
    match block.stmts.last() {
        Some(Stmt::Expr(e, semicolon)) => semicolon.is_none() && !ends_without_value(e) || diverges(e),
        Some(Stmt::Macro(m)) => m.semi_token.is_none() || is_diverging_macro(&m.mac),
        _ => false,
    }
}

/// Whether it shows of a statement that control does not go past it.
fn never_ends(statement: &Stmt) -> bool {
    match statement {
        Stmt::Expr(e, _) => diverges(e),
        Stmt::Macro(m) => is_diverging_macro(&m.mac),
        _ => false,
    }
}

fn ends_without_value(e: &Expr) -> bool {
    matches!(e, Expr::ForLoop(_) | Expr::While(_)) || matches!(e, Expr::If(i) if i.else_branch.is_none())
}

fn diverges(e: &Expr) -> bool {
    match e {
        Expr::Return(_) | Expr::Break(_) | Expr::Continue(_) | Expr::Loop(_) => true,
        Expr::Macro(m) => is_diverging_macro(&m.mac),
        _ => false,
    }
}

fn is_diverging_macro(mac: &syn::Macro) -> bool {
    const NAMES: &[&str] = &["panic", "unreachable", "unimplemented", "todo"];
    mac.path.segments.last().is_some_and(|s| NAMES.iter().any(|n| s.ident == n))
}
