//! The size of a text, and how many functions of a gist were elided.

use super::ParseError;
use super::existence::{Index, Options};
use crate::source::parse::code;
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use syn::visit::Visit;

/// How large a text is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    /// Lines of the file.
    pub lines: usize,
    /// Lines that hold a token; blank lines, comments and doc comments don't.
    pub code_lines: usize,
    /// Tokens as rustc counts them in a macro's input, each delimiter one; comments are none.
    pub tokens: usize,
    /// Items at module level and in inline modules, `impl`s and traits; what stands in bodies is not counted.
    pub items: usize,
}

impl Size {
    /// The size of `text`.
    ///
    /// ```
    /// use cargo_gistify::score::size::Size;
    /// let size = Size::of("/// One.\nfn one() -> u8 {\n    1 // one\n\n}\n")?;
    /// assert_eq!((size.lines, size.code_lines, size.tokens, size.items), (5, 3, 10, 1));
    /// # Ok::<(), cargo_gistify::score::ParseError>(())
    /// ```
    ///
    /// # Errors
    /// A text that is not Rust.
    pub fn of(text: &str) -> Result<Size, ParseError> {
        let file = super::parse("the text", text)?;
        let mut items = Items(0);
        items.visit_file(&file);
        let mut count = Count::default();
        count.stream(file.into_token_stream());
        Ok(Size { lines: text.lines().count(), code_lines: count.lines.len(), tokens: count.tokens, items: items.0 })
    }
}

/// The code lines of a text that may be large: as [`Size::of`] counts them, but without the memory that a syntax tree takes.
///
/// ```
/// use cargo_gistify::score::size::code_lines;
/// assert_eq!(code_lines("/// One.\nfn one() -> u8 {\n    1 // one\n\n}\n"), 3);
/// ```
///
/// What is not Rust's tokens has none.
#[must_use]
pub fn code_lines(text: &str) -> usize {
    let mut count = Count::default();
    count.stream(code(text).parse().unwrap_or_default());
    count.lines.len()
}

/// How many bodies and branches of functions of `gist` do nothing but panic where the project's do something.
///
/// # Errors
/// A gist that is not Rust.
pub fn stubs(gist: &str, index: &Index, options: &Options) -> Result<usize, ParseError> {
    index.stubs(gist, options)
}

#[derive(Default)]
struct Count {
    tokens: usize,
    lines: BTreeSet<usize>,
}

impl Count {
    fn span(&mut self, span: proc_macro2::Span) {
        self.lines.extend(span.start().line..=span.end().line);
    }

    fn stream(&mut self, stream: TokenStream) {
        let trees: Vec<TokenTree> = stream.into_iter().collect();
        let mut i = 0;
        while let Some(tree) = trees.get(i) {
            if let Some(len) = doc_comment(&trees[i..]) {
                i += len;
                continue;
            }
            i += 1;
            match tree {
                TokenTree::Group(g) => {
                    self.stream(g.stream());
                    if g.delimiter() != proc_macro2::Delimiter::None {
                        self.tokens += 2;
                        self.span(g.span_open());
                        self.span(g.span_close());
                    }
                }
                tree => {
                    self.tokens += 1;
                    self.span(tree.span());
                }
            }
        }
    }
}

/// The number of trees that a doc comment takes (`#[doc = "…"]`, with or without `!`), if one begins here.
fn doc_comment(trees: &[TokenTree]) -> Option<usize> {
    let punct = |i: usize, c: char| matches!(trees.get(i), Some(TokenTree::Punct(p)) if p.as_char() == c);
    if !punct(0, '#') {
        return None;
    }
    let at = if punct(1, '!') { 2 } else { 1 };
    let TokenTree::Group(g) = trees.get(at)? else { return None };
    let mut inner = g.stream().into_iter();
    let is_doc = matches!(inner.next(), Some(TokenTree::Ident(name)) if name == "doc");
    let is_text = matches!(inner.next(), Some(TokenTree::Punct(p)) if p.as_char() == '=');
    (is_doc && is_text).then_some(at + 1)
}

struct Items(usize);

impl<'ast> Visit<'ast> for Items {
    fn visit_item(&mut self, node: &'ast syn::Item) {
        self.0 += 1;
        syn::visit::visit_item(self, node);
    }

    fn visit_impl_item(&mut self, _: &'ast syn::ImplItem) {
        self.0 += 1;
    }

    fn visit_trait_item(&mut self, _: &'ast syn::TraitItem) {
        self.0 += 1;
    }

    fn visit_block(&mut self, _: &'ast syn::Block) {}
    fn visit_expr(&mut self, _: &'ast syn::Expr) {}
}

#[cfg(test)]
mod unit {
    use super::*;
    use crate::score::existence::CrateText;

    #[test]
    fn a_line_of_a_string_is_code_and_a_comment_is_not() {
        let size = Size::of("//! doc\n\n/* a\n b */\nconst A: &str = \"x\n\ny\"; // c\n").unwrap();
        assert_eq!((size.lines, size.code_lines), (7, 3));
    }

    #[test]
    fn code_lines_are_the_same_without_a_tree() {
        for text in [
            "#!/usr/bin/env run\nfn a() {\n}\n",
            "\u{feff}//! x\n\nfn a() {}\n",
            "/// d\n#[doc = \"x\"]\nmod a {\n}\n// e\n",
        ] {
            assert_eq!(code_lines(text), Size::of(text).unwrap().code_lines, "{text}");
        }
    }

    #[test]
    fn items_are_counted_in_modules_impls_and_traits_but_not_in_bodies() {
        let size = Size::of("mod a { fn b() { fn c() {} } } impl D { fn e() {} const F: u8 = 1; } trait G { fn h(); }");
        assert_eq!(size.unwrap().items, 7);
    }

    #[test]
    fn a_stub_is_a_body_that_only_panics_where_the_project_has_another() {
        let c = "fn a() { b() } fn b() { todo!() } trait T { fn d() { a() } } impl T for S { fn d() { a() } }";
        let index = Index::new(&[CrateText::new("c", c)]).unwrap();
        let count = |gist| stubs(gist, &index, &Options::default()).unwrap();
        assert_eq!(count(c), 0);
        assert_eq!(count("fn a() { unimplemented!() } fn b() { todo!(); } impl T for S { fn d() { loop {} } }"), 2);
        assert_eq!(count("trait T { fn d() { panic!(\"elided\") } } fn new() { todo!() }"), 2);
    }

    #[test]
    fn a_branch_that_only_panics_is_a_stub_unless_the_project_panics_there() {
        let c = "fn a(x: u8) -> u8 { if x == 0 { b() } else if x == 1 { panic!() } else { c() } }";
        let index = Index::new(&[CrateText::new("c", c)]).unwrap();
        let count = |gist| stubs(gist, &index, &Options::default()).unwrap();
        assert_eq!(count(c), 0);
        assert_eq!(count("fn a(x: u8) -> u8 { if x == 0 { b() } else if x == 1 { panic!() } else { todo!() } }"), 1);
        assert_eq!(
            count("fn a(x: u8) -> u8 { if x == 0 { todo!() } else if x == 1 { panic!() } else { vec![todo!()] } }"),
            2
        );
        assert_eq!(count("fn mine() { if x { panic!() } else { c() } }"), 0);
    }
}
