//! What our own expansion of macros makes, compared with what rustc makes.

use crate::project::{Project, Ran};
use cargo_gistify::source::expand::Macro;
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use std::collections::BTreeMap;
use std::process::Command;

/// Items with macros and their calls (in braces), and an expression that is shown.
struct Case {
    name: &'static str,
    items: &'static str,
    value: &'static str,
}

const CASES: &[Case] = &[
    Case {
        name: "nested_repetitions",
        items: "macro_rules! m { ($($n:ident : [$($v:expr),*]);* $(;)?) => { vec![$((stringify!($n), vec![0, $($v + 1),*])),*] } }",
        value: "(m!(a: [1, 2 * 3]; b: []; c: [4];), m!(a: [7]))",
    },
    Case {
        name: "a_variable_of_an_outer_repetition_is_repeated_inside",
        items: "macro_rules! m { ($($n:literal [$($v:literal)*])*) => { vec![$($(($n, $v)),*),*] } }",
        value: "m!(1 [2 3] 4 [5])",
    },
    Case {
        name: "optional_parts",
        items: "macro_rules! m { ($($n:ident $(: $t:ty)? $(= $v:expr)?),* $(,)?) => { vec![$(concat!(stringify!($n), $(\"t\", stringify!($t),)? $(\"v\", stringify!($v))?)),*] } }",
        value: "m!(a, b: u8, c = 1, d: u16 = 2,)",
    },
    Case {
        name: "separators",
        items: "macro_rules! m { ($($a:ident)=>+ ; $($b:ident)and* ; $($c:ident)&&* ; $($d:ident)+ ; $($e:ident)::*) => { [stringify!($($a)-*), stringify!($($b)-*), stringify!($($c)-*), stringify!($($d)-*), stringify!($($e)-*)].map(|s| s.replace(' ', \"\")) } }",
        value: "m!(a => b => c ; d and e ; f && g ; h i ; j::k)",
    },
    Case {
        name: "tokens_are_munched",
        items: "macro_rules! count { () => { 0 }; ($first:tt $($rest:tt)*) => { 1 + count!($($rest)*) } }",
        value: "(count!(), count!(a b c), count!((a b) [c] {d} 'e 1.5 -2 \"f\" r#g))",
    },
    Case {
        name: "marks_of_several_characters_are_one",
        items: "macro_rules! count { () => { 0 }; ($first:tt $($rest:tt)*) => { 1 + count!($($rest)*) } }",
        value: "[count!(a => b -> c :: d <<= e ..= f), count!(a && b & & c || d | | e), count!(a >> b > > c >= d > = e), count!(.. . . ... !=), count!(+= + = -> - >), count!(&&& |= ^ == = =), count!(<- => = >)]",
    },
    Case {
        name: "marks_in_rules_are_whole",
        items: "macro_rules! m { (a == b) => { 1 }; (a = = b) => { 2 }; (a => b) => { 3 }; (a = > b) => { 4 }; (a & & b) => { 5 }; (a && b) => { 6 } }",
        value: "[m!(a == b), m!(a = = b), m!(a => b), m!(a = > b), m!(a & & b), m!(a && b)]",
    },
    Case {
        name: "internal_rules",
        items: "macro_rules! m { (@turned [] $($done:tt)*) => { [$($done),*] }; (@turned [$first:tt $($rest:tt)*] $($done:tt)*) => { m!(@turned [$($rest)*] $first $($done)*) }; ($($all:tt)*) => { m!(@turned [$($all)*]) } }",
        value: "m!(1 2 3 4)",
    },
    Case {
        name: "an_expression_stays_one",
        items: "macro_rules! product { ($a:expr, $b:expr) => { $a * $b } } macro_rules! twice { ($a:expr) => { product!(2, $a) } } macro_rules! negative { ($a:expr) => { -$a } }",
        value: "(product!(1 + 2, 3 + 4), twice!(1 + 2), negative!(1 - 5), negative!(-3))",
    },
    Case {
        name: "expressions_of_all_kinds",
        items: "macro_rules! count { ($($e:expr),* $(,)?) => { [$(stringify!($e)),*].len() } }",
        value: "count!(|a: u8, b| a + b, Vec::<(u8, u8)>::new(), [1, 2], if true { 1 } else { 2 }, 1..2, S { x: 1, y }, &mut x, x as u8, return, a < b, x?.y.0.1, match x { _ => 1 })",
    },
    Case {
        name: "keys_and_values",
        items: "macro_rules! map { ($($k:expr => $v:expr),* $(,)?) => { std::collections::BTreeMap::from([$(($k, $v)),*]) } }",
        value: "map! { 1 + 1 => \"a\", 3 => { \"b\" }, }",
    },
    Case {
        name: "what_was_an_expression_is_opaque",
        items: "macro_rules! kind { ($i:ident) => { \"ident\" }; ($l:literal) => { \"literal\" }; ($a:tt) => { \"tree\" }; ($($a:tt)*) => { \"trees\" } } macro_rules! by_expr { ($e:expr) => { kind!($e) } } macro_rules! by_ty { ($t:ty) => { kind!($t) } } macro_rules! by_literal { ($l:literal) => { kind!($l) } } macro_rules! by_ident { ($i:ident) => { kind!($i) } } macro_rules! by_path { ($p:path) => { kind!($p) } }",
        value: "[kind!(a), kind!(1), kind!(+), kind!(a b), kind!(-1), by_expr!(a), by_expr!(1), by_expr!(-1), by_expr!(a + b), by_ty!(a), by_literal!(-1), by_literal!(true), by_ident!(a), by_path!(a), by_path!(a::b)]",
    },
    Case {
        name: "literals",
        items: "macro_rules! m { ($($l:literal),*) => { ($($l),*) } }",
        value: "m!(-1, 2u8, true, 'c', \"s\", b\"b\", -1.5, r#\"r\"#, b'x', 1e3)",
    },
    Case {
        name: "identifiers",
        items: "macro_rules! m { (self) => { 0 }; (_) => { 1 }; ($i:ident) => { stringify!($i) .len() }; ($t:tt) => { 9 } }",
        value: "[m!(self), m!(_), m!(abc), m!(r#fn), m!(crate), m!(+)]",
    },
    Case {
        name: "visibilities",
        items: "macro_rules! structs { ($($(#[$m:meta])* $v:vis struct $n:ident($($fv:vis $t:ty),*);)*) => { $($(#[$m])* $v struct $n($($fv $t),*);)* } } structs! { #[derive(Debug)] pub struct A(pub u8, pub(crate) Vec<Vec<u8>>); struct B(u8, (u8, u8)); #[doc = \"c\"] #[derive(Debug, Clone)] pub(super) struct C(pub (u8, u8)); }",
        value: "{ let b = B(1, (2, 3)); (A(1, vec![vec![2]]), C((3, 4)).clone(), b.0, b.1) }",
    },
    Case {
        name: "an_empty_visibility_is_handed_on",
        items: "macro_rules! inner { ($v:vis fn $n:ident = $e:expr) => { $v fn $n() -> u8 { $e } } } macro_rules! outer { ($v:vis $n:ident $e:expr) => { inner! { $v fn $n = $e } } } outer! { a 1 } outer! { pub b 2 + 3 }",
        value: "(a(), b())",
    },
    Case {
        name: "lifetimes_and_types",
        items: "macro_rules! first { ($l:lifetime $n:ident : $t:ty => $r:ty) => { fn $n<$l>(all: &$l [$t]) -> &$l $r { &all[0] } } } first! { 'a first_of : Vec<Vec<u8>> => Vec<Vec<u8>> } macro_rules! max { ($t:ty) => { <$t>::MAX } } macro_rules! sized { (< $($t:ty),+ >) => { [$(std::mem::size_of::<$t>()),+] } }",
        value: "(first_of(&[vec![vec![1]]]).clone(), max!(u8), sized!(<u8, (u16, u16), Option<Box<u8>>>), sized!(<Box<dyn Fn(u8) -> u8 + Send>>), 'b: loop { break 'b 1 })",
    },
    Case {
        name: "paths",
        items: "pub mod inside { pub fn f() -> u8 { 7 } #[derive(Debug, Default)] pub struct S<T>(pub T); } macro_rules! called { ($p:path) => { $p() } } macro_rules! named { ($p:path) => { { let all: $p = Default::default(); all } } }",
        value: "(called!(inside::f), named!(inside::S<Vec<u8>>), called!(Vec::<u8>::new))",
    },
    Case {
        name: "the_crate_of_a_macro",
        items: "macro_rules! m { ($n:ident) => { $crate::the_crate_of_a_macro::$n() + m!(@ $crate::the_crate_of_a_macro::$n) }; (@ $p:path) => { $p() }; (@@ $($t:tt)*) => { $($t)*() } } pub fn f() -> u8 { 3 } macro_rules! on { ($($t:tt)*) => { m!(@@ $($t)*) } } macro_rules! from { () => { on!($crate::the_crate_of_a_macro::f) } }",
        value: "(m!(f), from!())",
    },
    Case {
        name: "items_are_handed_on",
        items: "macro_rules! all { ($($i:item)*) => { $(one! { $i })* } } macro_rules! one { ($i:item) => { #[cfg(all())] $i } } all! { #[derive(Debug, PartialEq)] pub enum E { A, B(u8) } impl E { fn f(&self) -> u8 { 1 } } const N: usize = { 1 + 1 }; fn g<T: Into<u8>>(t: T) -> u8 where T: Copy { t.into() } type T = [u8; N]; }",
        value: "(E::B(1), E::A.f(), g(3), T::default())",
    },
    Case {
        name: "macros_define_macros",
        items: "macro_rules! define { ($d:tt $n:ident $by:literal) => { macro_rules! $n { ($d($d x:expr),*) => { [$d($d x * $by),*] }; (@ $y:ident) => { stringify!($y) } } } } define! { $ tripled 3 } define! { $ halved 2 }",
        value: "(tripled!(1, 2 + 2), halved!(5), halved!(@ a))",
    },
    Case {
        name: "blocks_and_statements",
        items: "macro_rules! b { ($b:block) => { 1 + $b } } macro_rules! s { ($($s:stmt;)*) => { { $($s;)* } } } macro_rules! last { ($($s:stmt);+) => { { $($s);+ } } }",
        value: "(b!({ let x = 1; x }), { let mut n = 0; s! { n += 1; let y = 2 + 3; n += y; if n > 2 { n += 10 }; } n }, last!(let z: u8 = 3; z + 1), last! { let Some(w) = Some(5) else { panic!() }; w })",
    },
    Case {
        name: "patterns",
        items: "macro_rules! is { ($e:expr, $p:pat) => { matches!($e, $p) } } macro_rules! one_of { ($e:expr, $($p:pat_param)|+) => { match $e { $($p => true,)+ _ => false } } } macro_rules! arms { ($e:expr; $($p:pat $(if $g:expr)? => $v:expr),* $(,)?) => { match $e { $($p $(if $g)? => $v),* } } }",
        value: "(is!(Some(2), Some(1 | 2) | None), one_of!(3, 1 | 2 | 3), arms!((1, 2); (a, _) if a > 1 => 0, (1..=2, x @ 2..) => x, _ => 9), is!(-1, -1))",
    },
    Case {
        name: "attributes",
        items: "macro_rules! m { ($(#[$($m:tt)*])* fn $n:ident) => { $(#[$($m)*])* pub fn $n() -> &'static str { concat!($(stringify!($($m)*)),*) } } } m! { #[inline(always)] /// Shown.\n #[cfg(all())] fn f }",
        // The text of a comment is quoted in another way.
        value: "f().replace([' ', 'r'], \"\")",
    },
    Case {
        name: "calls_in_types_and_patterns",
        items: "macro_rules! t { ($t:ty; $n:literal) => { [$t; $n] } } macro_rules! p { ($($i:ident),*) => { ($($i,)*) } }",
        value: "{ let a: t!(u8; 2) = [1, 2]; let p!(x, y) = (a[0], a[1]); x + y * 10 }",
    },
    Case {
        name: "the_first_rule_that_fits",
        items: "macro_rules! m { (fn) => { 1 }; ($a:ident $b:ident) => { 2 }; ($a:ident, $b:literal) => { 3 }; ($a:ident, $b:tt) => { 4 }; ([$($a:tt)*] $b:tt) => { 5 }; ({$($a:tt)*} $b:tt) => { 6 }; ($($a:tt)*) => { 7 } }",
        value: "[m!(fn), m!(a b), m!(a, 1), m!(a, b), m!([a] b), m!({a} b), m!((a) b), m!()]",
    },
    Case {
        name: "callbacks",
        items: "macro_rules! with_all { ($then:ident ! $($extra:tt)*) => { $then!($($extra)* u8 u16) } } macro_rules! sizes { (from $n:literal $($t:ty)*) => { [$n, $(std::mem::size_of::<$t>()),*] } }",
        value: "with_all!(sizes! from 0)",
    },
    Case {
        name: "ambiguous_looking_tails",
        items: "macro_rules! m { ($(a $x:literal)* a b) => { vec![0, $($x),*] }; ($($x:ident),* ; $($y:ident),+ $(;)?) => { vec![[$(stringify!($x)),*].len() as i32, [$(stringify!($y)),*].len() as i32] } }",
        value: "(m!(a 1 a 2 a b), m!(a b), m!(x, y; z), m!(x; y, z;))",
    },
];

#[test]
fn macros_are_expanded_as_rustc_does() {
    let project = Project::empty("expansions");
    let program = |name: &str, items: &dyn Fn(&Case) -> (String, String)| {
        let mut text = String::from("#![allow(warnings)]\n");
        for case in CASES {
            let (items, value) = items(case);
            text.push_str(&format!(
                "mod {} {{\n{items}\npub fn run() {{ println!(\"{{}}: {{:?}}\", {:?}, {value}); }}\n}}\n",
                case.name, case.name
            ));
        }
        let runs: Vec<String> = CASES.iter().map(|case| format!("{}::run();", case.name)).collect();
        text.push_str(&format!("fn main() {{ {} }}\n", runs.join(" ")));
        let path = project.root.join(format!("{name}.rs"));
        fs_err::write(&path, &text).unwrap();
        let mut rustc = Command::new("rustc");
        rustc.args(["--edition", "2021", path.as_str(), "--out-dir", project.root.as_str()]);
        Ran::of(&mut rustc).assert_code(0);
        Ran::of(&mut Command::new(project.root.join(name))).assert_code(0).stdout.clone()
    };
    let original = program("original", &|case| (case.items.to_owned(), case.value.to_owned()));
    let expanded = program("expanded", &|case| {
        let mut macros = BTreeMap::new();
        let mut of = |text: &str| shown(without_calls(text.parse().unwrap(), &mut macros, case.name));
        (of(case.items), of(case.value))
    });
    assert_eq!(original, expanded);
}

/// The tokens with what each call of a macro makes in the place of the call, and without definitions.
fn without_calls(tokens: TokenStream, macros: &mut BTreeMap<String, Macro>, case: &str) -> TokenStream {
    let list: Vec<TokenTree> = tokens.into_iter().collect();
    let is_mark = |tree: &TokenTree| matches!(tree, TokenTree::Punct(p) if p.as_char() == '!');
    let mut out = TokenStream::new();
    let mut i = 0;
    while i < list.len() {
        match &list[i..] {
            [TokenTree::Ident(keyword), mark, TokenTree::Ident(name), TokenTree::Group(rules), ..]
                if keyword == "macro_rules" && is_mark(mark) =>
            {
                macros.insert(name.to_string(), Macro::new(rules.stream()));
                i += 4;
            }
            [TokenTree::Ident(name), mark, TokenTree::Group(call), ..]
                if is_mark(mark) && macros.contains_key(&name.to_string()) =>
            {
                let made = macros[&name.to_string()].expand(&call.stream(), &mut 100_000);
                let made = made.unwrap_or_else(|| panic!("{case}: nothing is made of {name}!({})", call.stream()));
                let made = without_calls(made, macros, case);
                // An expression that a macro makes is one.
                out.extend([TokenTree::Group(Group::new(Delimiter::None, made))]);
                i += 3;
            }
            [TokenTree::Group(group), ..] => {
                let inner = without_calls(group.stream(), macros, case);
                out.extend([TokenTree::Group(Group::new(group.delimiter(), inner))]);
                i += 1;
            }
            [token, ..] => {
                out.extend([token.clone()]);
                i += 1;
            }
            [] => break,
        }
    }
    out
}

/// The text of tokens, with parentheses around what is one expression without them.
fn shown(tokens: TokenStream) -> String {
    fn visible(tokens: TokenStream) -> TokenStream {
        let each = |tree: TokenTree| match tree {
            TokenTree::Group(group) => {
                let inner = visible(group.stream());
                let needs = |e: syn::Expr| {
                    use syn::Expr::{Binary, Cast, Closure, If, Match, Range, Unary};
                    matches!(e, Binary(_) | Unary(_) | Cast(_) | Range(_) | Closure(_) | If(_) | Match(_))
                };
                let delimiter = match group.delimiter() {
                    Delimiter::None if syn::parse2(inner.clone()).is_ok_and(needs) => Delimiter::Parenthesis,
                    delimiter => delimiter,
                };
                TokenTree::Group(Group::new(delimiter, inner))
            }
            other => other,
        };
        tokens.into_iter().map(each).collect()
    }
    visible(tokens).to_string()
}
