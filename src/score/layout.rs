//! One layout of Rust tokens in lines, so that two texts can be compared line by line.
//!
//! A pretty printer breaks lines by width: an arm that is cut from a `match` can pull the rest of it onto one line,
//! and every line of it differs. Here a line depends on its own tokens only. **Rules:**
//!
//! 1. A `{` ends its line; a `}` ends the line before it. Closing braces are no lines. A macro's `$(` and `)*` end
//!    their lines.
//! 2. Directly inside braces, `;` ends a line, and so does a `,` that separates match arms, named fields, variants,
//!    members of a struct expression or pattern. Inside a macro's braces every `,` does: nobody knows what it means;
//!    in those of a call in the place of an item or a member, the end of a line of the text does, too.
//! 3. Commas and semicolons at a line's ends, and trailing commas in lists, are dropped.
//! 4. A line without a word (identifier, literal, lifetime) is no line: `)`, `} else`'s brace, `..`.
//! 5. Comments are gone, doc comments and `#[doc]` too; so are `#[cfg(…)]`; `#[cfg_attr(p, a, b)]` stands for `#[a]`
//!    and `#[b]`.
//! 6. An attribute at the start of a line is a line. `derive` and lint levels are split, one line an entry.
//! 7. A `use` is split in leaves, one line each: `use a::{self, b as c}` is `use a` and `use a::b as c`.
//! 8. A leading `::` and the prefixes `crate::`, `$crate::`, `self::`, `super::` and a bundled crate's name are
//!    dropped from paths.
//! 9. `r#x` is `x`; white space is folded; visibility is kept.

use crate::source::tokens::{is_punct, line_groups, walk};
use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use rustc_hash::FxHashSet;
use std::ops::Range;
use syn::visit::Visit;

/// Names of crates whose prefix is dropped from paths.
pub(super) type Names = FxHashSet<String>;

/// Where lines end, by byte offset (rule 2): at these commas, and before these tokens.
#[derive(Default)]
pub(super) struct Separators {
    commas: FxHashSet<usize>,
    starts: FxHashSet<usize>,
}

impl Separators {
    /// Those of a whole file.
    pub(super) fn of(file: &syn::File) -> Separators {
        let mut out = Separators::default();
        out.visit_file(file);
        out
    }

    fn add(&mut self, comma: &syn::Token![,]) {
        self.commas.insert(comma.spans[0].byte_range().start);
    }

    fn add_all<T>(&mut self, list: &syn::punctuated::Punctuated<T, syn::Token![,]>) {
        list.pairs().filter_map(|p| p.punct().copied()).for_each(|comma| self.add(comma));
    }

    /// The lines of what an item macro call is given in braces.
    fn add_lines(&mut self, mac: &syn::Macro) {
        if matches!(mac.delimiter, syn::MacroDelimiter::Brace(_)) {
            self.add_line_starts(mac.tokens.clone());
        }
    }

    fn add_line_starts(&mut self, tokens: TokenStream) {
        let first = line_groups(tokens).into_iter().filter_map(|g| g.into_iter().next());
        self.starts.extend(first.map(|t| t.span().byte_range().start));
    }

    fn add_braced(&mut self, tokens: TokenStream, in_braces: bool) {
        for tree in tokens {
            match tree {
                TokenTree::Group(g) => self.add_braced(g.stream(), g.delimiter() == Delimiter::Brace),
                TokenTree::Punct(p) if in_braces && p.as_char() == ',' => {
                    self.commas.insert(p.span().byte_range().start);
                }
                _ => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for Separators {
    fn visit_fields_named(&mut self, node: &'ast syn::FieldsNamed) {
        self.add_all(&node.named);
        syn::visit::visit_fields_named(self, node);
    }

    fn visit_item_enum(&mut self, node: &'ast syn::ItemEnum) {
        self.add_all(&node.variants);
        syn::visit::visit_item_enum(self, node);
    }

    fn visit_expr_match(&mut self, node: &'ast syn::ExprMatch) {
        node.arms.iter().filter_map(|a| a.comma.as_ref()).for_each(|comma| self.add(comma));
        syn::visit::visit_expr_match(self, node);
    }

    fn visit_expr_struct(&mut self, node: &'ast syn::ExprStruct) {
        self.add_all(&node.fields);
        syn::visit::visit_expr_struct(self, node);
    }

    fn visit_pat_struct(&mut self, node: &'ast syn::PatStruct) {
        self.add_all(&node.fields);
        syn::visit::visit_pat_struct(self, node);
    }

    fn visit_item_macro(&mut self, node: &'ast syn::ItemMacro) {
        if node.ident.is_none() {
            self.add_lines(&node.mac);
        } else {
            // Calls in what the macro makes.
            walk(node.mac.tokens.clone(), &mut |list| {
                for w in list.windows(3) {
                    if let [TokenTree::Ident(_), bang, TokenTree::Group(g)] = w
                        && is_punct(Some(bang), '!')
                        && g.delimiter() == Delimiter::Brace
                    {
                        self.add_line_starts(g.stream());
                    }
                }
            });
        }
        syn::visit::visit_item_macro(self, node);
    }

    fn visit_impl_item_macro(&mut self, node: &'ast syn::ImplItemMacro) {
        self.add_lines(&node.mac);
        syn::visit::visit_impl_item_macro(self, node);
    }

    fn visit_trait_item_macro(&mut self, node: &'ast syn::TraitItemMacro) {
        self.add_lines(&node.mac);
        syn::visit::visit_trait_item_macro(self, node);
    }

    fn visit_macro(&mut self, node: &'ast syn::Macro) {
        self.add_braced(node.tokens.clone(), matches!(node.delimiter, syn::MacroDelimiter::Brace(_)));
    }
}

/// A token of the flattened stream.
#[derive(Clone, Debug, PartialEq)]
enum Token {
    /// Identifier, literal or lifetime; or an attribute in the middle of a line.
    Word(String),
    /// One character; whether it is a comma that ends a line.
    Punct(char, bool),
    /// A delimiter and the index of its partner.
    Open(char, usize),
    Close(char),
}

/// A line of the layout, and where it stands in the text that was parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LaidLine {
    /// The line, as it is compared.
    pub(super) text: String,
    /// From its first to its last token, in bytes. Of a leaf of a `use` and an entry of a `derive` it is what differs
    /// from the others of its list.
    pub(super) at: Range<usize>,
}

/// Tokens and, one for one, where they stand.
#[derive(Default)]
struct Flat {
    tokens: Vec<Token>,
    at: Vec<Range<usize>>,
}

impl Flat {
    fn push(&mut self, token: Token, at: Range<usize>) {
        self.tokens.push(token);
        self.at.push(at);
    }
}

/// Flattens a stream; invisible groups are dissolved.
fn flatten(tokens: TokenStream, separators: &Separators, out: &mut Flat) {
    let mut quote = false;
    for tree in tokens {
        let at = tree.span().byte_range();
        if separators.starts.contains(&at.start) {
            out.push(Token::Punct(',', true), at.start..at.start);
        }
        match tree {
            TokenTree::Group(g) => {
                let (open, close) = match g.delimiter() {
                    Delimiter::Parenthesis => ('(', ')'),
                    Delimiter::Bracket => ('[', ']'),
                    Delimiter::Brace => ('{', '}'),
                    Delimiter::None => {
                        flatten(g.stream(), separators, out);
                        continue;
                    }
                };
                let partner = out.tokens.len();
                out.push(Token::Open(open, partner), g.span_open().byte_range());
                flatten(g.stream(), separators, out);
                out.tokens[partner] = Token::Open(open, out.tokens.len());
                out.push(Token::Close(close), g.span_close().byte_range());
            }
            TokenTree::Ident(ident) => {
                let name = ident.to_string();
                let name = name.strip_prefix("r#").unwrap_or(&name);
                out.push(Token::Word(if quote { format!("'{name}") } else { name.to_owned() }), at);
            }
            TokenTree::Punct(p) if p.as_char() == '\'' && p.spacing() == Spacing::Joint => {
                quote = true;
                continue;
            }
            TokenTree::Punct(p) => {
                let ends = p.as_char() == ',' && separators.commas.contains(&at.start);
                out.push(Token::Punct(p.as_char(), ends), at);
            }
            TokenTree::Literal(l) => out.push(Token::Word(l.to_string()), at),
        }
        quote = false;
    }
}

/// Splits `tokens` in lines.
pub(super) fn lines(tokens: TokenStream, separators: &Separators, names: &Names) -> Vec<LaidLine> {
    let mut flat = Flat::default();
    flatten(tokens, separators, &mut flat);
    let mut printer =
        Printer { tokens: &flat.tokens, at: &flat.at, names, line: Vec::new(), range: 0..0, lines: Vec::new() };
    printer.run();
    printer.lines
}

/// `tokens` in one line, for identities.
pub(super) fn one_line(tokens: TokenStream, names: &Names) -> String {
    let mut flat = Flat::default();
    flatten(tokens, &Separators::default(), &mut flat);
    render(&flat.tokens, names)
}

struct Printer<'a> {
    tokens: &'a [Token],
    /// Where they stand.
    at: &'a [Range<usize>],
    names: &'a Names,
    line: Vec<Token>,
    /// Where the line stands so far.
    range: Range<usize>,
    lines: Vec<LaidLine>,
}

impl Printer<'_> {
    fn run(&mut self) {
        let tokens = self.tokens;
        let mut inside = Vec::new();
        // Where what a macro repeats ends.
        let mut repetitions = Vec::new();
        let mut i = 0;
        while let Some(token) = tokens.get(i) {
            if let Some(content) = attribute_at(tokens, i) {
                let sigil = if tokens[i + 1] == Token::Punct('!', false) { "#!" } else { "#" };
                i = content.end + 1;
                self.attribute(sigil, content);
                continue;
            }
            if *token == Token::Word("use".to_owned()) && self.only_visibility() {
                i = self.use_item(i);
                continue;
            }
            match token {
                Token::Open('{', _) => {
                    inside.push('{');
                    self.push(i);
                    self.flush();
                }
                Token::Close('}') => {
                    inside.pop();
                    self.flush();
                }
                Token::Open(c, _) => {
                    // What a macro repeats begins a line of its own, and is where it stands.
                    let repeats = self.line.last() == Some(&Token::Punct('$', false));
                    let around = inside.last().copied();
                    inside.push(around.filter(|_| repeats).unwrap_or(*c));
                    self.push(i);
                    if let (true, Token::Open(_, close)) = (repeats, token) {
                        repetitions.push(*close);
                        self.flush();
                    }
                }
                Token::Close(_) if repetitions.last() == Some(&i) => {
                    repetitions.pop();
                    inside.pop();
                    // The separator, if there is one, and the operator are no part of what follows.
                    let operator = |t: &Token| matches!(t, Token::Punct('*' | '+' | '?', _));
                    let behind = tokens[i + 1..].iter().take(3).position(operator).map_or(0, |n| n + 1);
                    (i..=i + behind).for_each(|i| self.push(i));
                    self.flush();
                    i += behind;
                }
                Token::Close(_) => {
                    inside.pop();
                    self.push(i);
                }
                Token::Punct(';', _) if inside.last().is_none_or(|c| *c == '{') => self.flush(),
                Token::Punct(_, true) => self.flush(),
                _ => self.push(i),
            }
            i += 1;
        }
        self.flush();
    }

    /// Token `i` is the next of the line.
    fn push(&mut self, i: usize) {
        self.reach(i);
        self.line.push(self.tokens[i].clone());
    }

    /// The line reaches up to token `i`.
    fn reach(&mut self, i: usize) {
        let at = &self.at[i];
        if self.line.is_empty() {
            self.range = at.clone();
        } else if !at.is_empty() {
            // Tokens that syn made up have an empty range.
            self.range.end = at.end;
        }
    }

    fn flush(&mut self) {
        if self.line.iter().any(|t| matches!(t, Token::Word(_))) {
            self.lines.push(LaidLine { text: render(&self.line, self.names), at: self.range.clone() });
        }
        self.line.clear();
    }

    /// Where a stretch of tokens stands.
    fn stretch(&self, tokens: &Range<usize>) -> Range<usize> {
        self.at.get(tokens.clone()).map_or(0..0, |at| match at {
            [] => 0..0,
            [first, .., last] => first.start..last.end,
            [only] => only.clone(),
        })
    }

    /// Whether the line so far is nothing or a visibility.
    fn only_visibility(&self) -> bool {
        match self.line.as_slice() {
            [] => true,
            [Token::Word(first)] => first == "pub",
            [Token::Word(first), Token::Open('(', _), .., Token::Close(')')] => first == "pub",
            _ => false,
        }
    }

    /// Rules 5 and 6.
    fn attribute(&mut self, sigil: &str, content: Range<usize>) {
        let tokens = self.tokens;
        let argument = match tokens.get(content.start + 1) {
            Some(Token::Open('(', close)) if *close < content.end => Some(content.start + 2..*close),
            _ => None,
        };
        let name = match &tokens[content.start..content.end] {
            [Token::Word(name), ..] => name.as_str(),
            _ => "",
        };
        match (name, argument) {
            ("cfg" | "doc", _) => {}
            ("cfg_attr", Some(argument)) => {
                for piece in self.list(argument).into_iter().skip(1) {
                    self.attribute(sigil, piece);
                }
            }
            ("derive" | "allow" | "warn" | "deny" | "forbid" | "expect", Some(argument)) => {
                for piece in self.list(argument) {
                    let text = format!("{sigil}[{name}({})]", render(&tokens[piece.clone()], self.names));
                    self.attribute_line(text, &piece);
                }
            }
            _ => self.attribute_line(format!("{sigil}[{}]", render(&tokens[content.clone()], self.names)), &content),
        }
    }

    fn attribute_line(&mut self, text: String, tokens: &Range<usize>) {
        if self.line.is_empty() {
            self.lines.push(LaidLine { text, at: self.stretch(tokens) });
        } else {
            self.reach(tokens.end - 1);
            self.line.push(Token::Word(text));
        }
    }

    /// The stretches between the commas of `range`, nested ones left alone; empty ones left out.
    fn list(&self, range: Range<usize>) -> Vec<Range<usize>> {
        let mut out = Vec::new();
        let (mut start, mut i) = (range.start, range.start);
        while i < range.end {
            match self.tokens[i] {
                Token::Open(_, close) => i = close,
                Token::Punct(',', _) => {
                    out.push(start..i);
                    start = i + 1;
                }
                _ => {}
            }
            i += 1;
        }
        out.push(start..range.end);
        out.retain(|r| !r.is_empty());
        out
    }

    /// Rule 7; gives the index after the item.
    fn use_item(&mut self, at: usize) -> usize {
        let mut end = at + 1;
        while let Some(token) = self.tokens.get(end) {
            match token {
                Token::Open(_, close) => end = close + 1,
                Token::Punct(';', _) | Token::Close(_) => break,
                _ => end += 1,
            }
        }
        let mut head = std::mem::take(&mut self.line);
        head.push(self.tokens[at].clone());
        self.use_leaves(&head, at + 1..end);
        end + usize::from(matches!(self.tokens.get(end), Some(Token::Punct(';', _))))
    }

    fn use_leaves(&mut self, prefix: &[Token], tree: Range<usize>) {
        let mut path = prefix.to_vec();
        for i in tree.clone() {
            if let Token::Open('{', close) = self.tokens[i] {
                for piece in self.list(i + 1..close) {
                    self.use_leaves(&path, piece);
                }
                return;
            }
            path.push(self.tokens[i].clone());
        }
        // `a::{self}` is `a`.
        let own = self.tokens[tree.start..tree.end].first();
        let colons = prefix.ends_with(&[Token::Punct(':', false), Token::Punct(':', false)]);
        if colons && own == Some(&Token::Word("self".to_owned())) {
            path.drain(prefix.len() - 2..=prefix.len());
        }
        self.lines.push(LaidLine { text: render(&path, self.names), at: self.stretch(&tree) });
    }
}

/// The content of the attribute that begins at token `i`.
fn attribute_at(tokens: &[Token], i: usize) -> Option<Range<usize>> {
    if *tokens.get(i)? != Token::Punct('#', false) {
        return None;
    }
    let open = i + if *tokens.get(i + 1)? == Token::Punct('!', false) { 2 } else { 1 };
    match tokens.get(open)? {
        Token::Open('[', close) => Some(open + 1..*close),
        _ => None,
    }
}

/// Words after which a `::` begins a path.
const KEYWORDS: &[&str] = &[
    "as", "break", "const", "dyn", "else", "for", "if", "impl", "in", "match", "move", "mut", "ref", "return", "type",
    "unsafe", "use", "where", "while",
];

fn colons(tokens: &[Token], at: usize) -> bool {
    matches!(tokens.get(at..at + 2), Some([Token::Punct(':', _), Token::Punct(':', _)]))
}

/// Where the path that stands at `at` goes on once its prefixes are dropped (rule 8); `at` when none is.
/// `so_far` is the line up to there.
fn skip_prefix(tokens: &[Token], at: usize, so_far: &str, names: &Names) -> usize {
    let continued = match at.checked_sub(1).and_then(|i| tokens.get(i)) {
        Some(Token::Word(w)) => !KEYWORDS.contains(&w.as_str()),
        Some(Token::Punct('>', _)) => !so_far.ends_with("->") && !so_far.ends_with("=>"),
        Some(Token::Close(_)) => true,
        Some(Token::Open(..) | Token::Punct(..)) | None => false,
    };
    let mut next = at;
    if colons(tokens, at) && !continued {
        next += 2;
    }
    loop {
        let dollar = usize::from(matches!(tokens.get(next), Some(Token::Punct('$', _))));
        match tokens.get(next + dollar) {
            Some(Token::Word(w)) if colons(tokens, next + dollar + 1) => {
                let known = match w.as_str() {
                    "crate" => true,
                    "self" | "super" => dollar == 0,
                    w => dollar == 0 && names.contains(w),
                };
                if !known {
                    return next;
                }
                next += dollar + 3;
            }
            _ => return next,
        }
    }
}

/// One line of text: rules 3, 8 and 9.
fn render(line: &[Token], names: &Names) -> String {
    let mut out = String::new();
    let mut before: Option<&Token> = None;
    let mut i = 0;
    while i < line.len() {
        let in_path = i >= 2 && colons(line, i - 2) && before.is_some();
        if !in_path {
            i = skip_prefix(line, i, &out, names);
        }
        let Some(token) = line.get(i) else { break };
        i += 1;
        if matches!(token, Token::Punct(',' | ';', _)) {
            let idle = matches!(line.get(i), None | Some(Token::Close(_) | Token::Open('{', _) | Token::Punct('>', _)));
            if before.is_none() || idle {
                continue;
            }
        }
        if before.is_some_and(|b| spaced(b, token, line.get(i), &out)) {
            out.push(' ');
        }
        match token {
            Token::Word(w) => out.push_str(w),
            Token::Punct(c, _) | Token::Open(c, _) | Token::Close(c) => out.push(*c),
        }
        before = Some(token);
    }
    out
}

/// Whether a blank stands between two tokens: for the eye only, but the same for the same tokens.
fn spaced(before: &Token, token: &Token, next: Option<&Token>, so_far: &str) -> bool {
    match (before, token) {
        (Token::Word(_) | Token::Close(_), Token::Word(_)) | (_, Token::Open('{', _)) => true,
        (Token::Punct(',' | ';' | '+' | '/' | '%' | '^', _), _) => true,
        (Token::Punct('=', _), t) => !matches!(t, Token::Punct('=' | '>', _)),
        (Token::Punct('>', _), _) if so_far.ends_with("=>") || so_far.ends_with("->") => true,
        (Token::Punct('>' | '?', _), Token::Word(_)) => true,
        (Token::Punct('!', _), Token::Word(_)) => so_far.ends_with("macro_rules!"),
        (Token::Punct(':', _), Token::Word(_) | Token::Open(..)) => !so_far.ends_with("::"),
        (Token::Word(_) | Token::Close(_), Token::Punct('=' | '+' | '/' | '%' | '^', _)) => true,
        (Token::Word(_) | Token::Close(_), Token::Punct('-', _)) if next == Some(&Token::Punct('>', false)) => true,
        (Token::Word(w), Token::Punct('&' | '*' | '-' | '|' | '!', _)) => KEYWORDS.contains(&w.as_str()),
        _ => false,
    }
}

#[cfg(test)]
mod unit {
    use super::*;

    fn laid(text: &str) -> Vec<String> {
        let file = syn::parse_file(text).unwrap();
        let separators = Separators::of(&file);
        let names = ["slab".to_owned()].into_iter().collect();
        let lines = lines(quote::ToTokens::into_token_stream(file), &separators, &names);
        lines.into_iter().map(|l| l.text).collect()
    }

    #[test]
    fn a_line_knows_where_it_stands() {
        let text = "#[derive(A, B)]\nstruct S {\n    a: u8, b: u8,\n}\nuse c::{\n    d,\n    e::{f, g},\n};\nfn h() {\n    i(\n        1,\n    );\n    if #[x] j {}\n}\n";
        let file = syn::parse_file(text).unwrap();
        let separators = Separators::of(&file);
        let all = lines(quote::ToTokens::into_token_stream(file), &separators, &Names::default());
        let at: Vec<&str> = all.iter().map(|l| &text[l.at.clone()]).collect();
        let expected =
            ["A", "B", "struct S {", "a: u8", "b: u8", "d", "f", "g", "fn h() {", "i(\n        1,\n    )", "if #[x] j {"];
        assert_eq!(at, expected);
    }

    #[test]
    fn a_statement_an_arm_a_field_and_a_variant_is_a_line_each() {
        assert_eq!(
            laid(
                "fn f<A, B>(a: A) -> u8 where A: X, B: Y, { let x: M<A, B> = g::<A, B>(1, 2,); match x { A => 1, B { c, .. } => { 2 } } }"
            ),
            [
                "fn f<A, B>(a: A) -> u8 where A: X, B: Y {",
                "let x: M<A, B>= g::<A, B>(1, 2)",
                "match x {",
                "A => 1",
                "B {",
                "c",
                "2"
            ]
        );
        assert_eq!(
            laid("struct S<A> { a: HashMap<A, u8>, pub b: u8, } enum E { A, B(u8, u8), C { d: u8 } }"),
            ["struct S<A> {", "a: HashMap<A, u8>", "pub b: u8", "enum E {", "A", "B(u8, u8)", "C {", "d: u8"]
        );
    }

    #[test]
    fn a_cut_arm_else_or_body_leaves_the_other_lines_alone() {
        let whole = laid(
            "fn f() { if a { b() } else { c() } let d = match e { F => { g(); h() } I => j }.k(l, |m| { n; o }, p)?; }",
        );
        for cut in [
            "fn f() { if a { } let d = match e { F => { g(); h() } I => j }.k(l, |m| { n; o }, p)?; }",
            "fn f() { if a { b() } }",
            "fn f() { let d = match e { F => { h() } }.k(l, |m| { o }, p)?; }",
            "fn f() { if a { } else { c() } }",
        ] {
            for line in laid(cut) {
                assert!(whole.contains(&line), "{line:?} of {cut} is not in {whole:#?}");
            }
        }
    }

    #[test]
    fn attributes_are_lines_and_conditions_are_gone() {
        assert_eq!(
            laid(
                "/// doc\n#[cfg(x)] #[derive(A, b::C,)] #[cfg_attr(y, derive(D), inline(never), doc = \"\")] #[allow(e, f)] struct S { #[cfg(z)] #[g] a: u8 }"
            ),
            [
                "#[derive(A)]",
                "#[derive(b::C)]",
                "#[derive(D)]",
                "#[inline(never)]",
                "#[allow(e)]",
                "#[allow(f)]",
                "struct S {",
                "#[g]",
                "a: u8"
            ]
        );
    }

    #[test]
    fn a_use_is_a_line_a_leaf() {
        assert_eq!(
            laid("pub(crate) use a::{self, b::{c as d, *}, e}; fn f() { use g::{h, i}; }"),
            [
                "pub(crate) use a",
                "pub(crate) use a::b::c as d",
                "pub(crate) use a::b::*",
                "pub(crate) use a::e",
                "fn f() {",
                "use g::h",
                "use g::i"
            ]
        );
        assert_eq!(laid("use crate::{self as x, y}; use super::*;"), ["use crate as x", "use y", "use *"]);
    }

    #[test]
    fn prefixes_of_paths_are_dropped_and_only_those() {
        let same = laid("fn f() { a::b(); x.c(d::E, F::g); return h::i; }");
        assert_eq!(laid("fn f() { crate::a::b(); x.c(::slab::d::E, super::super::F::g); return ::slab::h::i; }"), same);
        assert_eq!(laid("fn f() { self::a::b(); x.c(d::E, crate::slab::F::g); return h::r#i; }"), same);
        assert_eq!(laid("fn f() { self.a(slab, a::slab::b); }"), ["fn f() {", "self.a(slab, a::slab::b)"]);
        assert_eq!(
            laid("macro_rules! m { ($x:path) => { $crate::a::b!($x::c) }; }"),
            ["macro_rules! m {", "($x: path) => {", "a::b!($x::c)"]
        );
    }

    #[test]
    fn a_macro_call_is_split_at_its_braces() {
        assert_eq!(
            laid("m! { a: 1, fn b() { c; d } } n!(1, 2; 3); fn f() { assert!(matches!(x, A { y, .. })); }"),
            ["m! {", "a: 1", "fn b() {", "c", "d", "n!(1, 2; 3)", "fn f() {", "assert!(matches!(x, A {", "y"]
        );
    }

    #[test]
    fn white_space_and_comments_do_not_count() {
        assert_eq!(laid("fn f() { a(b, c) ; /* x */ }"), laid("fn f()\n{\n // y\n a(\n  b,\n  c,\n );\n}"));
    }
}
