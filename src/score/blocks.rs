//! Cuts a crate's text in blocks: functions by module path, implemented type, trait and name; other items by path.
//!
//! The lines of a block are laid out by [`super::layout`]. What has no name (`use`, `extern crate`, item macro calls,
//! inner attributes) are the *top-level lines* of its module.

use super::layout::{LaidLine, Names, Separators, lines, one_line};
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;

/// A block and its lines.
#[derive(Debug)]
pub(super) struct Block {
    /// The crate whose tree it belongs to; `None` for a wrapper that stands for no known crate.
    pub(super) krate: Option<usize>,
    /// Kind and path: `fn a::<T as Tr>::f`, `struct a::S`, `mod a`, `top level of a`.
    pub(super) key: String,
    /// Its lines, in order.
    pub(super) lines: Vec<LaidLine>,
    /// Of a function: its body does nothing but panic.
    pub(super) stub: bool,
    /// Of a function: how often it names a macro that does nothing but panic.
    pub(super) panics: usize,
}

/// The line that every `mod` of a wrapper comes to: it stands for the root of a crate, which always exists.
pub(super) const WRAPPER_LINE: &str = "mod {";

/// A module at the root that stands for the root of another crate.
pub(super) struct Mount<'a> {
    /// The module's name.
    pub(super) module: &'a str,
    /// The crate, if it is known.
    pub(super) krate: Option<usize>,
}

/// The blocks of `file`, whose root is crate number `krate`.
pub(super) fn blocks(file: syn::File, krate: Option<usize>, mounts: &[Mount<'_>], names: &Names) -> Vec<Block> {
    let separators = Separators::of(&file);
    let mut walk =
        Walk { separators: &separators, names, mounts, krate, mounted: false, module: Vec::new(), out: Vec::new() };
    walk.module_content(file.attrs, file.items);
    walk.out
}

/// Macros that do nothing but panic.
const PANICS: &[&str] = &["unimplemented", "todo", "unreachable", "panic"];

/// How often one of [`PANICS`] is called.
fn panics(tokens: TokenStream) -> usize {
    let mut count = 0;
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Group(group) => count += panics(group.stream()),
            TokenTree::Ident(name) if PANICS.iter().any(|panic| name == panic) => {
                count += usize::from(matches!(tokens.peek(), Some(TokenTree::Punct(mark)) if mark.as_char() == '!'));
            }
            _ => {}
        }
    }
    count
}

/// Whether a body does nothing but panic: the mark of an elided function.
fn is_stub(block: &syn::Block) -> bool {
    let mac = match block.stmts.as_slice() {
        [syn::Stmt::Expr(syn::Expr::Macro(m), _)] => &m.mac,
        [syn::Stmt::Macro(m)] => &m.mac,
        [syn::Stmt::Expr(syn::Expr::Loop(l), _)] => return l.body.stmts.is_empty(),
        _ => return false,
    };
    let name = mac.path.segments.last().map(|s| s.ident.to_string());
    name.is_some_and(|name| PANICS.contains(&name.as_str()))
}

struct Walk<'a> {
    separators: &'a Separators,
    names: &'a Names,
    mounts: &'a [Mount<'a>],
    krate: Option<usize>,
    /// Inside a mount: a module of the crate may have the same name.
    mounted: bool,
    module: Vec<String>,
    out: Vec<Block>,
}

fn plain(ident: &syn::Ident) -> String {
    let name = ident.to_string();
    name.strip_prefix("r#").map(str::to_owned).unwrap_or(name)
}

impl Walk<'_> {
    fn push(&mut self, key: String, lines: Vec<LaidLine>) {
        self.out.push(Block { krate: self.krate, key, lines, stub: false, panics: 0 });
    }

    fn block(&mut self, kind: &str, owner: &str, name: &str, tokens: TokenStream) {
        let path: Vec<&str> =
            self.module.iter().map(String::as_str).chain([owner, name]).filter(|p| !p.is_empty()).collect();
        let key = format!("{kind} {}", path.join("::"));
        let lines = lines(tokens, self.separators, self.names);
        self.push(key, lines);
    }

    fn function(&mut self, owner: &str, name: &str, body: Option<&syn::Block>, tokens: TokenStream) {
        self.block("fn", owner, name, tokens);
        if let (Some(block), Some(body)) = (self.out.last_mut(), body) {
            block.stub = is_stub(body);
            block.panics = panics(body.to_token_stream());
        }
    }

    fn top_level(&mut self, tokens: TokenStream) {
        let key = match self.module.as_slice() {
            [] => "top level".to_owned(),
            path => format!("top level of {}", path.join("::")),
        };
        let lines = lines(tokens, self.separators, self.names);
        self.push(key, lines);
    }

    fn module_content(&mut self, attrs: Vec<syn::Attribute>, items: Vec<syn::Item>) {
        for attr in attrs {
            self.top_level(attr.to_token_stream());
        }
        for item in items {
            self.item(item);
        }
    }

    fn item(&mut self, item: syn::Item) {
        match item {
            syn::Item::Mod(item) => self.mod_item(item),
            syn::Item::Impl(item) => self.impl_item(item),
            syn::Item::Trait(item) => self.trait_item(item),
            syn::Item::Fn(i) => {
                let (name, tokens) = (plain(&i.sig.ident), i.to_token_stream());
                self.function("", &name, Some(&i.block), tokens);
            }
            syn::Item::Const(i) => self.block("const", "", &plain(&i.ident), i.into_token_stream()),
            syn::Item::Static(i) => self.block("static", "", &plain(&i.ident), i.into_token_stream()),
            syn::Item::Struct(i) => self.block("struct", "", &plain(&i.ident), i.into_token_stream()),
            syn::Item::Enum(i) => self.block("enum", "", &plain(&i.ident), i.into_token_stream()),
            syn::Item::Union(i) => self.block("union", "", &plain(&i.ident), i.into_token_stream()),
            syn::Item::Type(i) => self.block("type", "", &plain(&i.ident), i.into_token_stream()),
            syn::Item::TraitAlias(i) => self.block("trait", "", &plain(&i.ident), i.into_token_stream()),
            syn::Item::ForeignMod(i) => {
                let abi = i.abi.name.as_ref().map_or_else(|| "\"C\"".to_owned(), |n| n.to_token_stream().to_string());
                self.block("extern", "", &abi, i.into_token_stream());
            }
            syn::Item::Macro(i) => match &i.ident {
                Some(name) => self.block("macro", "", &plain(name), i.into_token_stream()),
                None => self.top_level(i.into_token_stream()),
            },
            other => self.top_level(other.into_token_stream()),
        }
    }

    fn mod_item(&mut self, item: syn::ItemMod) {
        let name = plain(&item.ident);
        let mount = self.mounts.iter().find(|m| !self.mounted && self.module.is_empty() && m.module == name);
        let (attrs, inner): (Vec<_>, Vec<_>) =
            item.attrs.into_iter().partition(|a| matches!(a.style, syn::AttrStyle::Outer));
        let mut head = TokenStream::new();
        attrs.iter().for_each(|a| a.to_tokens(&mut head));
        let mut head = lines(head, self.separators, self.names);
        let end = item.content.as_ref().map_or_else(|| item.ident.span(), |(brace, _)| brace.span.open());
        let at = item.mod_token.span.byte_range().start..end.byte_range().end;
        let items = item.content.map(|c| c.1).unwrap_or_default();
        if let Some(mount) = mount {
            let outer = std::mem::replace(&mut self.krate, mount.krate);
            self.mounted = true;
            head.push(LaidLine { text: WRAPPER_LINE.to_owned(), at });
            self.push("mod".to_owned(), head);
            self.module_content(inner, items);
            self.mounted = false;
            self.krate = outer;
        } else {
            head.push(LaidLine { text: format!("mod {name} {{"), at });
            self.module.push(name);
            self.push(format!("mod {}", self.module.join("::")), head);
            self.module_content(inner, items);
            self.module.pop();
        }
    }

    fn impl_item(&mut self, mut item: syn::ItemImpl) {
        let items = std::mem::take(&mut item.items);
        let owner = one_line(item.self_ty.to_token_stream(), self.names);
        let owner = match &item.trait_ {
            Some((path, _)) => format!("<{owner} as {}>", one_line(path.to_token_stream(), self.names)),
            None => owner,
        };
        self.block("impl", &owner, "", item.into_token_stream());
        for item in items {
            match item {
                syn::ImplItem::Fn(i) => {
                    let (name, tokens) = (plain(&i.sig.ident), i.to_token_stream());
                    self.function(&owner, &name, Some(&i.block), tokens);
                }
                syn::ImplItem::Const(i) => self.block("const", &owner, &plain(&i.ident), i.into_token_stream()),
                syn::ImplItem::Type(i) => self.block("type", &owner, &plain(&i.ident), i.into_token_stream()),
                other => self.block("impl", &owner, "", other.into_token_stream()),
            }
        }
    }

    fn trait_item(&mut self, mut item: syn::ItemTrait) {
        let items = std::mem::take(&mut item.items);
        let owner = plain(&item.ident);
        self.block("trait", &owner, "", item.into_token_stream());
        for item in items {
            match item {
                syn::TraitItem::Fn(i) => {
                    let (name, tokens) = (plain(&i.sig.ident), i.to_token_stream());
                    self.function(&owner, &name, i.default.as_ref(), tokens);
                }
                syn::TraitItem::Const(i) => self.block("const", &owner, &plain(&i.ident), i.into_token_stream()),
                syn::TraitItem::Type(i) => self.block("type", &owner, &plain(&i.ident), i.into_token_stream()),
                other => self.block("trait", &owner, "", other.into_token_stream()),
            }
        }
    }
}
