//! The items of a gist, each with the text that goes when it alone is taken away.

use super::super::sources::plain;
use proc_macro2::{TokenStream, TokenTree};
use std::ops::Range;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItem, Item, Token, TraitItem, UseTree};

/// An item that might go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    /// What it is, in Rust's words.
    pub(super) kind: &'static str,
    /// Its path from the file's root; impls by type and trait.
    pub(super) path: String,
    /// What is deleted.
    pub(super) cut: Range<usize>,
    /// Where the bodies of the functions in it begin.
    pub(super) bodies: Vec<usize>,
}

impl Candidate {
    /// The text without it.
    pub(super) fn without(&self, text: &str) -> String {
        format!("{}{}", &text[..self.cut.start], &text[self.cut.end..])
    }

    /// The text with a statement at the beginning of each of its functions; `None` if it has none.
    pub(super) fn with_statement(&self, text: &str, statement: &str) -> Option<String> {
        let mut out = text.to_owned();
        for &body in self.bodies.iter().rev() {
            out.insert_str(body, statement);
        }
        (!self.bodies.is_empty()).then_some(out)
    }
}

/// Which items belong to the test, and are no candidates.
pub(super) trait Owner {
    /// Whether the item, in the module of that path, is part of the test or put back by whoever verifies the gist:
    /// neither it nor anything in it is a candidate.
    fn owns(&self, module: &[String], item: &Item) -> bool;
    /// Whether the item stays, but parts of it may go.
    fn holds(&self, module: &[String], item: &Item) -> bool;
}

/// All candidates of a text, in its order.
pub(super) fn candidates(text: &str, owner: &dyn Owner) -> syn::Result<Vec<Candidate>> {
    let file = syn::parse_file(text)?;
    let mut walk =
        Walk { text, owner, module: Vec::new(), path: Vec::new(), in_body: false, found: Vec::new(), bodies: Vec::new() };
    walk.visit_file(&file);
    for candidate in &mut walk.found {
        candidate.bodies = walk.bodies.iter().copied().filter(|b| candidate.cut.contains(b)).collect();
        candidate.bodies.sort_unstable();
    }
    walk.found.sort_by_key(|c| (c.cut.start, std::cmp::Reverse(c.cut.end)));
    Ok(walk.found)
}

struct Walk<'a> {
    text: &'a str,
    owner: &'a dyn Owner,
    /// The path of the module around.
    module: Vec<String>,
    /// The path of the item around.
    path: Vec<String>,
    in_body: bool,
    found: Vec<Candidate>,
    bodies: Vec<usize>,
}

impl Walk<'_> {
    fn add(&mut self, kind: &'static str, name: &str, cut: Range<usize>) {
        let path = self.path.iter().map(String::as_str).chain([name]).collect::<Vec<_>>().join("::");
        self.found.push(Candidate { kind, path, cut, bodies: Vec::new() });
    }

    /// Visits what is inside an item.
    fn inside(&mut self, name: String, visit: impl FnOnce(&mut Self)) {
        self.path.push(name);
        visit(self);
        self.path.pop();
    }

    /// What an item is, and what it is called.
    fn named(&self, item: &Item) -> Option<(&'static str, String)> {
        Some(match item {
            Item::Const(x) => ("const", plain(&x.ident)),
            Item::Enum(x) => ("type", plain(&x.ident)),
            Item::ExternCrate(x) => ("extern crate", plain(&x.ident)),
            Item::Fn(x) => ("function", plain(&x.sig.ident)),
            Item::ForeignMod(_) => ("extern block", "extern".to_owned()),
            Item::Impl(x) => match &x.trait_ {
                Some((of, _)) => ("impl of a trait", format!("<{} as {}>", self.text_of(&x.self_ty), self.text_of(of))),
                None => ("impl", format!("<{}>", self.text_of(&x.self_ty))),
            },
            Item::Macro(x) => match &x.ident {
                Some(name) => ("macro", plain(name)),
                None => ("macro call", self.call(&x.mac)),
            },
            Item::Mod(x) => ("module", plain(&x.ident)),
            Item::Static(x) => ("static", plain(&x.ident)),
            Item::Struct(x) => ("type", plain(&x.ident)),
            Item::Trait(x) => ("trait", plain(&x.ident)),
            Item::TraitAlias(x) => ("trait", plain(&x.ident)),
            Item::Type(x) => ("type alias", plain(&x.ident)),
            Item::Union(x) => ("type", plain(&x.ident)),
            Item::Use(_) => ("use leaf", String::new()),
            _ => return None,
        })
    }

    fn call(&self, call: &syn::Macro) -> String {
        format!("{}!", self.text_of(&call.path))
    }

    /// A part as it is written, on one line.
    fn text_of(&self, part: &impl Spanned) -> String {
        self.text[bytes(part)].split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// An element of a list, with the comma behind it.
    fn element(&self, range: Range<usize>) -> Range<usize> {
        let rest = &self.text[range.end..];
        let gap = rest.len() - rest.trim_start().len();
        range.start..if rest[gap..].starts_with(',') { range.end + gap + 1 } else { range.end }
    }

    /// The traits of `derive`s.
    fn derives(&mut self, name: &str, attributes: &[Attribute]) {
        for attribute in attributes.iter().filter(|a| a.path().is_ident("derive")) {
            let list = Punctuated::<syn::Path, Token![,]>::parse_terminated;
            let Ok(traits) = attribute.parse_args_with(list) else { continue };
            for one in &traits {
                let cut = if traits.len() == 1 { bytes(attribute) } else { self.element(bytes(one)) };
                let label = format!("{name}: {}", self.text_of(one));
                self.add("derive", &label, cut);
            }
        }
    }

    /// The leaves of a `use`; `all` is what goes when nothing is left of the tree.
    fn leaves(&mut self, tree: &UseTree, prefix: &str, all: Range<usize>) {
        match tree {
            UseTree::Path(path) => self.leaves(&path.tree, &format!("{prefix}{}::", path.ident), all),
            UseTree::Group(group) => {
                for one in &group.items {
                    let cut = if group.items.len() == 1 { all.clone() } else { self.element(bytes(one)) };
                    self.leaves(one, prefix, cut);
                }
            }
            leaf => {
                let name = self.text_of(leaf);
                self.add("use leaf", &format!("use {prefix}{name}"), all);
            }
        }
    }

    /// The rules of a macro, if there are several.
    fn rules(&mut self, name: &str, tokens: TokenStream) {
        let all: Vec<TokenTree> = tokens.into_iter().collect();
        let end = |t: &TokenTree| matches!(t, TokenTree::Punct(p) if p.as_char() == ';');
        let rules: Vec<&[TokenTree]> = all.split_inclusive(end).filter(|rule| rule.len() > 1).collect();
        if rules.len() > 1 {
            for (number, rule) in rules.iter().enumerate() {
                let cut = rule[0].span().byte_range().start..rule[rule.len() - 1].span().byte_range().end;
                self.add("macro rule", &format!("{name}! rule {}", number + 1), cut);
            }
        }
    }
}

impl<'ast> Visit<'ast> for Walk<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !self.in_body && self.owner.owns(&self.module, item) {
            return;
        }
        let Some((kind, name)) = self.named(item) else { return };
        if let Item::Use(u) = item {
            let colons = if u.leading_colon.is_some() { "::" } else { "" };
            self.leaves(&u.tree, colons, bytes(item));
            return;
        }
        if self.in_body || !self.owner.holds(&self.module, item) {
            self.add(kind, &name, bytes(item));
        }
        match item {
            Item::Struct(x) => self.derives(&name, &x.attrs),
            Item::Union(x) => self.derives(&name, &x.attrs),
            Item::Enum(x) => {
                self.derives(&name, &x.attrs);
                for variant in &x.variants {
                    let cut = self.element(bytes(variant));
                    self.add("variant", &format!("{name}::{}", plain(&variant.ident)), cut);
                }
            }
            Item::Macro(x) if x.ident.is_some() => self.rules(&name, x.mac.tokens.clone()),
            Item::ForeignMod(x) => {
                for inner in &x.items {
                    let text = self.text_of(inner);
                    self.add("foreign item", &format!("{name}: {text}"), bytes(inner));
                }
            }
            _ => {}
        }
        let is_module = matches!(item, Item::Mod(_)) && !self.in_body;
        let body = self.in_body;
        self.in_body |= matches!(item, Item::Fn(_));
        if is_module {
            self.module.push(name.clone());
        }
        self.inside(name, |w| visit::visit_item(w, item));
        if is_module {
            self.module.pop();
        }
        self.in_body = body;
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.bodies.push(start(&function.block));
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.bodies.push(start(&function.block));
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        self.bodies.extend(function.default.as_ref().map(start));
        visit::visit_trait_item_fn(self, function);
    }

    fn visit_impl_item(&mut self, member: &'ast ImplItem) {
        let (kind, name) = match member {
            ImplItem::Fn(f) => ("method", plain(&f.sig.ident)),
            ImplItem::Const(c) => ("const of an impl", plain(&c.ident)),
            ImplItem::Type(t) => ("type of an impl", plain(&t.ident)),
            ImplItem::Macro(m) => ("macro call", self.call(&m.mac)),
            _ => return,
        };
        self.add(kind, &name, bytes(member));
        let body = std::mem::replace(&mut self.in_body, true);
        self.inside(name, |w| visit::visit_impl_item(w, member));
        self.in_body = body;
    }

    fn visit_trait_item(&mut self, member: &'ast TraitItem) {
        let (kind, name) = match member {
            TraitItem::Fn(f) => ("method of a trait", plain(&f.sig.ident)),
            TraitItem::Const(c) => ("const of a trait", plain(&c.ident)),
            TraitItem::Type(t) => ("type of a trait", plain(&t.ident)),
            TraitItem::Macro(m) => ("macro call", self.call(&m.mac)),
            _ => return,
        };
        self.add(kind, &name, bytes(member));
        let body = std::mem::replace(&mut self.in_body, true);
        self.inside(name, |w| visit::visit_trait_item(w, member));
        self.in_body = body;
    }
}

/// From the first to the last byte, attributes included.
fn bytes(part: &impl Spanned) -> Range<usize> {
    part.span().byte_range()
}

/// Where the inside of a block begins.
fn start(block: &syn::Block) -> usize {
    block.brace_token.span.open().byte_range().end
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nothing;

    impl Owner for Nothing {
        fn owns(&self, _: &[String], _: &Item) -> bool {
            false
        }

        fn holds(&self, _: &[String], _: &Item) -> bool {
            false
        }
    }

    fn cuts(text: &str, kind: &str) -> Vec<(String, String)> {
        let all = candidates(text, &Nothing).unwrap();
        all.iter().filter(|c| c.kind == kind).map(|c| (c.path.clone(), text[c.cut.clone()].to_owned())).collect()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
    }

    #[test]
    fn use_leaf_goes_with_its_comma_or_with_all_that_holds_nothing_else() {
        let text = "use a::{b, c::{d}}; mod m { use ::x::y; }";
        let expected = [("use a::b", "b,"), ("use a::c::d", "c::{d}"), ("m::use ::x::y", "use ::x::y;")];
        assert_eq!(cuts(text, "use leaf"), pairs(&expected));
    }

    #[test]
    fn derive_goes_with_its_attribute_when_it_is_the_only_one() {
        let text = "#[derive(Clone, Debug)] struct S; #[derive(Eq)] enum E {}";
        let expected = [("S: Clone", "Clone,"), ("S: Debug", "Debug"), ("E: Eq", "#[derive(Eq)]")];
        assert_eq!(cuts(text, "derive"), pairs(&expected));
    }

    #[test]
    fn only_rule_of_a_macro_is_no_candidate() {
        let text = "macro_rules! one { () => { 1 }; } macro_rules! two { (a) => { 1 }; (b) => { 2 } }";
        let expected = [("two! rule 1", "(a) => { 1 };"), ("two! rule 2", "(b) => { 2 }")];
        assert_eq!(cuts(text, "macro rule"), pairs(&expected));
    }

    #[test]
    fn members_and_local_items_have_paths() {
        let text = "/// Doc.\nimpl<T> A for B<T> { type X = u8; fn f() { fn g() {} } }";
        assert_eq!(cuts(text, "type of an impl"), pairs(&[("<B<T> as A>::X", "type X = u8;")]));
        assert_eq!(cuts(text, "method"), pairs(&[("<B<T> as A>::f", "fn f() { fn g() {} }")]));
        assert_eq!(cuts(text, "function"), pairs(&[("<B<T> as A>::f::g", "fn g() {}")]));
        assert_eq!(cuts(text, "impl of a trait"), pairs(&[("<B<T> as A>", text)]));
    }

    #[test]
    fn statement_goes_into_each_function_of_an_item() {
        let text = "impl A { fn f() {} fn g() { 1 } } fn h() {}";
        let all = candidates(text, &Nothing).unwrap();
        let with = all[0].with_statement(text, "x();").unwrap();
        assert_eq!(with, "impl A { fn f() {x();} fn g() {x(); 1 } } fn h() {}");
        assert_eq!(all[0].without(text), " fn h() {}");
        assert_eq!(candidates("struct S;", &Nothing).unwrap()[0].with_statement("struct S;", "x();"), None);
    }
}
