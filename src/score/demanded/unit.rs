//! Worked by hand: each text with the regions that rustc gives it, `+` where they ran and `-` where they did not.

use super::super::execution::Execution;
use super::*;
use crate::source::map::{Position, position};
use crate::trace::{Coverage, Function, RegionKind};

/// A text without its marks, and the regions that these say: `+‹…›` and `-‹…›`.
fn marked(text: &str) -> (String, Vec<Region>) {
    let mut plain = String::new();
    let mut open: Vec<(usize, u64)> = Vec::new();
    let mut found: Vec<(usize, usize, u64)> = Vec::new();
    for c in text.chars() {
        match c {
            '‹' => {
                let count = u64::from(plain.pop() == Some('+'));
                open.push((plain.len(), count));
            }
            '›' => {
                let (start, count) = open.pop().unwrap();
                found.push((start, plain.len(), count));
            }
            c => plain.push(c),
        }
    }
    let starts = line_starts(&plain);
    let at = |offset| -> Position { position(&starts, offset) };
    let regions = found.into_iter().map(|(start, end, count)| Region {
        file: 0,
        start: at(start),
        end: at(end),
        count,
        kind: RegionKind::Code,
    });
    let regions = regions.collect();
    (plain, regions)
}

/// The idle lines of a marked text that are demanded, trimmed.
fn demanded(text: &str) -> Vec<String> {
    let (text, regions) = marked(text);
    let function = Function { name: String::new(), symbol: String::new(), file: 0, calls: 0, regions };
    let coverage = Coverage { functions: vec![function], files: vec!["t.rs".into()], ..Coverage::default() };
    let execution = Execution::of(&text, &coverage.line_counts(0), &coverage.merged_regions(0)).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    execution.demanded.iter().map(|line| lines[line - 1].trim().to_owned()).collect()
}

#[test]
fn a_function_without_a_default_is_demanded_of_an_impl_and_one_with_a_default_is_not() {
    let text = "trait T {\n  fn a(&self) -> u8;\n  -‹fn b(&self) -> u8› {\n    -‹1›\n  -‹}›\n}\n\
                impl T for S {\n  -‹fn a(&self) -> u8› {\n    -‹2›\n  -‹}›\n  -‹fn b(&self) -> u8› {\n    -‹3›\n  -‹}›\n}\n\
                impl S {\n  -‹fn c() -> u8› { -‹4› }\n}\n";
    assert_eq!(demanded(text), ["fn a(&self) -> u8 {", "2", "}"]);
}

#[test]
fn of_a_trait_from_elsewhere_every_function_is_demanded_and_what_ran_is_not() {
    let text = "use std::fmt;\nimpl fmt::Display for S {\n  -‹fn fmt(&self, f: &mut F) -> R› {\n    // why\n    -‹x›\n  -‹}›\n}\n\
                impl From<u8> for S {\n  +‹fn from(x: u8) -> S› {\n    if +‹x› {\n      -‹y();›\n    }\n    +‹S›\n  +‹}›\n}\n";
    assert_eq!(demanded(text), ["fn fmt(&self, f: &mut F) -> R {", "x", "}"]);
}

#[test]
fn a_trait_of_the_text_is_known_under_another_name() {
    let text =
        "mod m { pub trait T { fn a() -> u8 { 0 } } }\nuse m::T as U;\nimpl U for S {\n  -‹fn a() -> u8› { -‹1› }\n}\n";
    assert_eq!(demanded(text), [""; 0]);
}

#[test]
fn a_body_without_a_value_could_be_empty_and_statements_could_go() {
    let text = "impl Drop for S {\n  -‹fn drop(&mut self)› {\n    -‹a();›\n  -‹}›\n}\n\
                impl Get for S {\n  -‹fn get(&self) -> u8› {\n    -‹log();›\n    let x = -‹b()›;\n    -‹x›\n  -‹}›\n}\n";
    let head_and_braces = ["fn drop(&mut self) {", "}"];
    assert_eq!(demanded(text)[..2], head_and_braces);
    assert_eq!(demanded(text)[2..], ["fn get(&self) -> u8 {", "let x = b();", "x", "}"]);
}

#[test]
fn what_a_macro_makes_counts_by_the_traits_that_its_calls_name() {
    let of = |call: &str| {
        let text = format!(
            "trait Own {{ fn go(&self) -> u8 {{ 0 }} }}\nmacro_rules! ops {{\n  ($t:ident, $f:ident) => {{\n    \
             impl $t for S {{\n      -‹fn $f(&self) -> u8› {{\n        -‹1›\n      -‹}}›\n    }}\n  }};\n}}\n{call}\n"
        );
        demanded(&text).len()
    };
    assert_eq!(of("ops!(Neg, neg);"), 3);
    assert_eq!(of("ops!(Own, go);"), 0);
}

#[test]
fn members_that_a_macro_makes_belong_to_the_impls_that_call_it() {
    let of = |impls: &str| {
        let text = format!(
            "macro_rules! get {{\n  () => {{\n    -‹fn get(&self) -> u8› {{\n      -‹1›\n    -‹}}›\n  }};\n}}\n{impls}\n"
        );
        demanded(&text).len()
    };
    assert_eq!(of("trait Get { fn get(&self) -> u8; } impl Get for A { get!(); } impl Get for B { get!(); }"), 3);
    assert_eq!(of("trait Get { fn get(&self) -> u8 { 0 } } impl Get for A { get!(); }"), 0);
    assert_eq!(of("impl Get for A { get!(); } impl B { get!(); }"), 0);
}

#[test]
fn an_arm_that_no_other_stands_for_is_demanded_in_a_match_that_ran() {
    let text = "fn f(e: E) -> u8 {\n  match +‹e› {\n    E::A => +‹1›,\n    E::B => -‹2›,\n    E::C(x) => {\n      -‹log();›\n      -‹x›\n    }\n  }\n}\n\
                fn g(n: u8) -> u8 {\n  match +‹n› {\n    1 => -‹3›,\n    2 => +‹4›,\n    _ => {\n      -‹panic!()›\n    }\n  }\n}\n\
                fn h(e: E) -> u8 {\n  match -‹e› {\n    E::A => -‹5›,\n    E::B => -‹6›,\n  }\n}\n";
    assert_eq!(demanded(text), ["E::B => 2,", "x", "panic!()"]);
}

#[test]
fn an_arm_in_a_match_without_a_value_could_have_an_empty_body() {
    let text = "fn f(e: E) {\n  match +‹e› {\n    E::A => {\n      -‹a();›\n    }\n    E::B => -‹b()›,\n    E::C => {\n      -‹return›\n    }\n  }\n}\n";
    assert_eq!(demanded(text), ["E::B => b(),"]);
}

#[test]
fn an_arm_stays_when_its_guard_ran() {
    let text = "fn f(n: u8) -> u8 {\n  match +‹n› {\n    1 if +‹a()› =>\n      -‹2›,\n    3 if -‹b()› => -‹4›,\n    _ => +‹5›,\n  }\n}\n";
    assert_eq!(demanded(text), ["2,"]);
}

#[test]
fn both_branches_of_an_if_are_demanded_when_its_value_may_be_used() {
    let text = "fn f(x: u8) -> u8 {\n  if +‹x > 1› {\n    +‹1›\n  } else {\n    -‹2›\n  }\n}\n\
                fn g(x: u8) {\n  let y = if +‹x > 1› {\n    -‹3›\n  } else {\n    +‹4›\n  };\n  if +‹x› {\n    +‹a()›\n  } else {\n    -‹b()›\n  }\n}\n";
    assert_eq!(demanded(text), ["2", "3"]);
}

#[test]
fn of_a_chain_that_never_ran_only_the_end_is_demanded() {
    let text =
        "fn f(x: u8) -> u8 {\n  if +‹x > 1› {\n    +‹1›\n  } else if -‹x > 2› {\n    -‹2›\n  } else {\n    -‹3›\n  }\n}\n";
    assert_eq!(demanded(text), ["3"]);
}

#[test]
fn the_else_of_a_let_is_demanded() {
    let text = "fn f(x: O) {\n  let Some(y) = +‹x› else {\n    -‹log();›\n    -‹return›;\n  };\n}\n";
    assert_eq!(demanded(text), ["return;"]);
}

#[test]
fn the_end_of_a_block_that_was_left_before_it_is_demanded_for_its_value() {
    let text = "fn f(x: u8) -> R {\n  if +‹x > 1› {\n    +‹return 1›;\n  }\n  let y = -‹a()›;\n  -‹log();›\n  -‹Ok(y)›\n}\n\
                fn g(x: u8) -> u8 {\n  +‹return 1›;\n  -‹2›\n}\n\
                fn h() {\n  +‹a()›;\n  -‹b()›\n}\n";
    assert_eq!(demanded(text), ["let y = a();", "Ok(y)"]);
}

#[test]
fn the_way_past_code_that_ran_is_no_code() {
    let text = "+‹fn f(x: u8)› {\n  if +‹x > 1› {\n    +‹return›;\n  -‹}›\n  -‹log();›\n  -‹a()›\n-‹}›\n-‹fn g()› {\n  -‹h()›\n-‹}›\n";
    assert_eq!(demanded(text), ["}", "}"]);
}

#[test]
fn a_line_with_something_else_on_it_stays_counted() {
    let text = "fn f(e: E) -> u8 {\n  match +‹e› {\n    E::A => +‹1›,\n    E::B => -‹2›, }; -‹log();›\n  +‹3›\n}\n";
    assert_eq!(demanded(text), [""; 0]);
}

#[test]
fn a_mark_and_a_first_line_for_the_shell_move_nothing() {
    let text = "#!/bin/x\nfn f(x: u8) -> u8 {\n  if +‹x > 1› {\n    +‹1›\n  } else {\n    -‹2›\n  }\n}\n";
    assert_eq!(demanded(text), ["2"]);
}
