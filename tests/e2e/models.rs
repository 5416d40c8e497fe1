//! What each fixture's tests are meant to do, as one table, and the test that compares.

use crate::project::{Project, Ran};
use camino::Utf8Path;
use serde_json::Value;
use std::process::Command;
use std::sync::Mutex;

/// One call on one fixture.
struct Model {
    fixture: &'static str,
    /// Beside the standing arguments: all tests, as JSON, ignored ones too.
    args: &'static [&'static str],
    /// The exit code.
    code: i32,
    /// Every test that is selected.
    tests: &'static [Expected],
    /// Text that none of the gists has.
    lacks: &'static [&'static str],
}

/// What comes of one test.
struct Expected {
    name: &'static str,
    verdict: &'static str,
    /// The status with which a shell ends that runs the line in the gist's header; `None`: not run.
    run: Option<i32>,
    /// Text that the gist has.
    holds: &'static str,
    /// Text that the gist does not have.
    lacks: &'static [&'static str],
}

impl Expected {
    const fn without(self, lacks: &'static [&'static str]) -> Expected {
        Expected { lacks, ..self }
    }
}

const fn passes(name: &'static str, holds: &'static str) -> Expected {
    ends(name, 0, holds)
}

const fn fails(name: &'static str, holds: &'static str) -> Expected {
    ends(name, 101, holds)
}

const fn ends(name: &'static str, status: i32, holds: &'static str) -> Expected {
    Expected { name, verdict: "ok", run: Some(status), holds, lacks: &[] }
}

/// A gist that a plain rustc can't run.
const fn made(name: &'static str, holds: &'static str) -> Expected {
    Expected { name, verdict: "ok", run: None, holds, lacks: &[] }
}

const fn fault(name: &'static str, verdict: &'static str) -> Expected {
    Expected { name, verdict, run: None, holds: "", lacks: &[] }
}

/// A gist that is written, but under another name.
const fn unverified(name: &'static str) -> Expected {
    fault(name, "output-differs")
}

const MODELS: &[Model] = &[
    Model {
        fixture: "shop",
        args: &[],
        code: 0,
        tests: &[
            passes("cart::tests::a_bulk_discount_gives_one_piece_free", "Rule::Bulk { code, from } =>"),
            passes("cart::tests::the_bill_shows_lines_and_discounts", "pub fn bill(&self)"),
            passes("cart::tests::what_is_sold_out_cannot_be_added", "{asked} of {code} asked for, {left} left"),
            passes("money::tests::amounts_are_read_and_shown", "impl FromStr for Money"),
            passes("money::tests::letters_are_no_amount", "ShopError::BadAmount(text.to_owned())"),
            passes("stock::tests::an_empty_shop_has_no_shelves", "category  products  pieces"),
            passes("a_voucher_is_taken_off", "Rule::Voucher(amount) => *amount"),
            passes("an_unknown_product_is_named", "no product has the code {code}"),
        ],
        lacks: &["fn search", "fn remove"],
    },
    Model {
        fixture: "modules",
        args: &[],
        code: 0,
        tests: &[
            passes("tests::all_modules_are_found", "n * n"),
            passes("tests::deeper::a_nested_test_module_works", "pub fn add(a: u32, b: u32)"),
        ],
        lacks: &["not in a gist", "#[path", "mod tests;"],
    },
    Model {
        fixture: "integration",
        args: &[],
        code: 0,
        tests: &[passes("a_shared_helper_checks", "{word} is missing"), passes("words_are_counted", "The fox,\\nthe hen.")],
        lacks: &["fn longest"],
    },
    Model {
        fixture: "bin_only",
        args: &[],
        code: 0,
        tests: &[passes("tests::numbers_are_added", "total += n.parse::<i64>()")],
        lacks: &["println!(\"{total}\")", "fn usage"],
    },
    Model {
        fixture: "bin_and_lib",
        args: &[],
        code: 0,
        tests: &[
            passes("tests::the_library_greets", "Hello, {name}!"),
            passes("tests::the_binary_uses_the_library", "extern crate self as bin_and_lib;"),
            passes("another_binary_shouts", "to_uppercase()"),
        ],
        lacks: &["fn part", "Bye"],
    },
    Model {
        fixture: "example",
        args: &["--example", "demo"],
        code: 0,
        tests: &[passes("the_example_adds", "1 2 + 3 +")],
        lacks: &["{:?}"],
    },
    Model {
        fixture: "outcomes",
        args: &[],
        code: 0,
        tests: &[
            fails("tests::does_not_panic_but_should", "#[should_panic]"),
            fails("tests::fails_in_the_crate", "a number other than zero"),
            fails("tests::fails_in_the_test", "two is not three"),
            passes("tests::ignored", "#[ignore = \"slow on a slide rule\"]"),
            fails("tests::overflows", "most + "),
            passes("tests::panics_as_it_should", "#[should_panic]"),
            passes("tests::panics_with_the_expected_words", "#[should_panic(expected = \"1 by nothing\")]"),
            passes("tests::passes", "fn must_divide"),
            passes("tests::prints_to_both_streams", "to stderr: {a}"),
            passes("tests::prints_without_a_line_end", "print!"),
            fails("tests::returns_an_error", "{a} by nothing"),
            passes("tests::returns_ok", "divide(8, 2).map(drop)"),
            passes("tests::runs_a_thread", "t.join().unwrap()"),
        ],
        lacks: &[],
    },
    Model {
        fixture: "unsteady",
        args: &[],
        code: 5,
        tests: &[
            fault("tests::passes_every_second_time", "nondeterministic"),
            passes("tests::prints_a_duration", "start.elapsed()"),
            fault("tests::prints_a_random_count_of_lines", "nondeterministic"),
            passes("tests::prints_a_random_number", "RandomState::new()"),
            passes("tests::prints_an_address", "{:p}"),
        ],
        lacks: &[],
    },
    Model {
        fixture: "ends",
        args: &["--timeout", "5", "--skip", "never_ends"],
        code: 0,
        tests: &[
            ends("tests::aborts", 134, "std::process::abort()"),
            passes("tests::exits_with_zero", "std::process::exit(code)"),
            ends("tests::exits_with_seven", 7, "End::Exit(7)"),
            ends("tests::is_killed", 137, "-9"),
            ends("tests::overflows_the_stack", 134, "overflow(n.wrapping_add(1) | 1) + 1"),
        ],
        lacks: &[],
    },
    Model {
        fixture: "own_harness",
        args: &[],
        code: 0,
        tests: &[passes("one_is_one", "own_harness::one()")],
        lacks: &["content"],
    },
    Model {
        fixture: "panic_abort",
        args: &["--profile", "release"],
        code: 0,
        tests: &[
            passes("tests::there_is_no_third", "-C opt-level=1"),
            passes("tests::a_release_build_checks_for_overflow_here", "-C overflow-checks=on"),
        ],
        lacks: &["panic=abort"],
    },
    Model {
        fixture: "features",
        args: &[],
        code: 0,
        tests: &[passes("tests::only_the_base_is_on", "vec![\"base\"]")],
        lacks: &["mod extra", "cfg(feature"],
    },
    Model {
        fixture: "features",
        args: &["-F", "loud"],
        code: 0,
        tests: &[
            passes("extra::the_extra_part_has_a_name", "parts.push(extra::NAME)"),
            passes("tests::a_predicate_handed_to_a_macro_holds", "pub fn both()"),
            passes("tests::all_parts_are_on", "parts.push(\"loud\")"),
        ],
        lacks: &["cfg(feature", "only_the_base_is_on"],
    },
    Model {
        fixture: "build_script",
        args: &[],
        code: 0,
        tests: &[
            passes("tests::squares_come_from_the_table", "[0, 1, 4, 9, 16]"),
            passes("tests::the_builder_is_known", "a note from the build"),
        ],
        lacks: &["OUT_DIR\"", "(n * n) as u32"],
    },
    Model {
        fixture: "edition_2015",
        args: &[],
        code: 0,
        tests: &[
            passes("tests::old_paths_work", "--edition 2015"),
            passes("tests::try_works", "try!(text.parse())"),
            passes("it_works_from_outside", "Box<Named>"),
        ],
        lacks: &[],
    },
    Model {
        fixture: "edition_2024",
        args: &[],
        code: 0,
        tests: &[
            passes("tests::borrows_end_in_time", "--edition 2024"),
            passes("tests::foreign_functions_work", "unsafe extern \"C\""),
            passes("tests::let_chains_work", "&& let Some(double)"),
        ],
        lacks: &[],
    },
    Model {
        fixture: "no_std_crate",
        args: &[],
        code: 0,
        tests: &[passes("tests::digits_are_read", "u8::from_str_radix"), passes("hex_goes_round", "{b:02x}")],
        lacks: &["deny(missing_docs)", "forbid(unsafe_code)"],
    },
    Model {
        fixture: "imports",
        args: &[],
        code: 0,
        tests: &[
            passes("bytes_are_text", "str::from_utf8(bytes).ok()"),
            passes("a_module_that_a_primitive_type_does_not_stand_for_stays", "use core::f64;"),
            passes("an_impl_in_a_body_goes_when_nothing_runs_it", "core::mem::forget(undo);"),
        ],
        lacks: &["extern crate alloc", "extern crate std", "vec::Vec", "TryFrom;", "use core::str", "impl Drop"],
    },
    Model {
        fixture: "unused_ends",
        args: &[],
        code: 0,
        tests: &[
            passes(
                "tests::what_follows_an_early_return_is_as_short_as_can_be",
                "    }\n        return Err(Fault::Empty);\n}",
            ),
            passes("tests::a_body_that_never_ran_is_as_short_as_can_be", "{\n            return Err(Fault::Long);\n    }"),
            passes(
                "tests::a_branch_that_names_nothing_of_what_is_cut_stands_for_all",
                "fn branchy(text: &str) -> usize {\n                text.len() + 1\n}",
            ),
            passes(
                "tests::a_branch_that_stays_is_as_short_as_can_be",
                "        let wide = text.chars().count();\n            wide\n    };",
            ),
            passes(
                "tests::a_jump_stands_for_a_branch_that_stays",
                "if text.ends_with('.') {\n                return 0;\n    } else {",
            ),
            passes("tests::a_branch_that_rustc_does_not_take_alone_is_given_back", "        all.push(text.len());\n"),
            passes(
                "tests::a_branch_in_what_a_macro_makes_stands_for_all",
                "-> Option<$to> {\n                None\n        }",
            ),
            passes("tests::a_branch_that_ran_is_whole", "if number <= most {"),
            passes("tests::a_const_fn_that_only_functions_call_loses_what_never_ran", "b'a'..=b'z' => 1"),
            passes("tests::a_const_fn_that_a_constant_calls_is_whole", "_ => 2"),
        ],
        lacks: &["fn weigh", "fn laborious", "digit + 10"],
    },
    Model {
        fixture: "demanded",
        args: &[],
        code: 0,
        tests: &[passes("tests::squares_are_compared", "fn flush(&mut self)")],
        lacks: &["Strip"],
    },
    Model {
        fixture: "macros",
        args: &[],
        code: 0,
        tests: &[
            passes("tests::a_made_module_works", "module!(made, \"made\");"),
            passes("tests::a_name_that_a_macro_hands_on_works", "public!(shapes::Square);"),
            passes("tests::an_exported_macro_works", "macro_rules! strings"),
            passes("tests::bytes_are_added", "macro_rules! cases"),
            passes("tests::grouped::one::is_right", "case!(one, 1);"),
            passes("tests::grouped::two::is_right", "case!(two, 2);"),
            passes("tests::shorts_are_added", "impl_total!"),
        ],
        lacks: &["documented!"],
    },
    Model {
        fixture: "made_tests",
        args: &["--lib"],
        code: 0,
        tests: &[
            passes("tests::minus_one", "bare! {\n        minus_one(-1i8, 255)\n    }"),
            passes("tests::minus_two", "bare! {\n        minus_two(-2i16,\n            65534)\n    }"),
            passes("tests::of_i32::high_first", "fn high(self) -> Vec<u8>;\n}"),
            passes("tests::of_i32::length", "words! {\n    i32 as u32\n}"),
            passes("tests::of_i32::low_first", "    turned! {\n        high => low -> Vec<u8>;\n"),
            passes("tests::of_u16::high_first", "words! {\n    u16 as u16\n}"),
            passes("tests::of_u16::length", "words! {\n    u16 as u16\n}"),
            passes("tests::of_u16::low_first", "        low => high -> Vec<u8>;\n    }"),
            passes("tests::one", "bare! {\n        one(1u32, 1)\n    }"),
        ],
        lacks: &["u8 as u8", "mod $name {}", "bare => bare"],
    },
    Model {
        fixture: "made_tests",
        args: &["--test", "suite"],
        code: 0,
        tests: &[
            passes("large_words::has_a_length", "macro_rules! suite {\n    ($make:ident, $length:expr) => {"),
            passes("large_words::high_is_high", "suite!(order $make, high_is_high, high, 1);"),
            fails("large_words::low_is_low", "suite!(large, 4);"),
            passes("small_words::has_a_length", "suite!($make, 2);"),
            passes("small_words::high_is_high", "fn small() -> u16"),
            passes("small_words::low_is_low", "suite!(order $make, low_is_low, low, 2);"),
        ],
        lacks: &["fn bare", "trait Length", "i8 as"],
    },
    Model {
        fixture: "reads_file",
        args: &[],
        code: 5,
        tests: &[
            fault("a_wrong_answer_fails", "unsupported"),
            fault("an_answer_is_found_by_its_language", "unsupported"),
            passes("an_answer_is_written_and_read", "std::env::temp_dir()"),
            fault("cargo_says_where_the_answer_is", "unsupported"),
            unverified("the_answer_is_beside_this_file"),
            fault("the_answer_is_in_the_package", "unsupported"),
            fault("the_answer_is_on_disk", "unsupported"),
            fault("the_folder_has_one_answer", "unsupported"),
            passes("the_answer_was_read_by_the_compiler", "forty-two"),
        ],
        lacks: &["include_str!"],
    },
    Model {
        fixture: "text",
        args: &[],
        code: 0,
        tests: &[
            passes("bom::a_marked_file_works", "fn marked() -> u32"),
            fails("crlf::fails_at_a_place", "fn lines()"),
            passes("crlf::line_ends_are_normal", "fn lines()"),
            passes("strings::files_come_with_it", "a \\\"note\\\""),
            passes("strings::strings_stay_whole", "fn not_a_test() { unimplemented!(\"}\") }\n\n\n// no comment */ \""),
            passes("strings::the_environment_is_known", "\"0.1.0\""),
            fails("unicode::a_place_behind_wide_letters", "größer"),
            passes("unicode::größen_werden_gemessen", "測る"),
        ],
        lacks: &["#!/usr/bin/env", "include_str!", "env!(\"CARGO"],
    },
    Model {
        fixture: "no_trace",
        args: &[],
        code: 0,
        tests: &[passes("does_nothing", "fn does_nothing() {}")],
        lacks: &["unused"],
    },
    Model {
        fixture: "deps",
        args: &[],
        code: 0,
        tests: &[
            made("tests::a_plain_test_needs_one_dependency", "itoa = {"),
            made("tests::numbers_have_signs", "test-case = {"),
        ],
        lacks: &["fn unused"],
    },
    Model {
        fixture: "workspace",
        args: &["-p", "ws-core", "-p", "ws-tool"],
        code: 0,
        tests: &[passes("the_core_doubles", "n * 2"), passes("shared_name", "n / 2")],
        lacks: &["pub mod ws_core"],
    },
    Model {
        fixture: "members",
        args: &["--workspace", "--skip", "can_not_be_in_the_file"],
        code: 0,
        tests: &[
            passes("a_feature_is_that_of_the_build", "pub fn greeting()"),
            fails("a_panic_is_placed_in_the_member", "crate::base::numbers::add($n, $n)"),
            passes("an_older_edition_takes_in_a_newer_one", "try_from(n)"),
            passes("capitals_are_made_by_a_function_of_the_macros_crate", "to_uppercase"),
            passes("libraries_and_members_are_told_apart", "$crate::mid_floor::stairs::show"),
            passes("tests::a_name_of_ones_own_wins", "(base::add(2, 3), crate::base_crate::numbers::add(2, 3))"),
            passes("tests::macros_of_other_crates_are_in_scope", "crate::mid_floor::shown!(n)"),
            made("two_versions_of_one_library_live_side_by_side", "extern crate itoa_2 as itoa;"),
        ],
        lacks: &["fn unused_in_base"],
    },
    Model {
        fixture: "members",
        args: &["-p", "top", "--lib", "--skip", "wins", "--skip", "in_scope"],
        code: 5,
        tests: &[fault("tests::a_macro_of_the_workspace_can_not_be_in_the_file", "unsupported")],
        lacks: &[],
    },
    Model {
        fixture: "outside",
        args: &["-m", "app/Cargo.toml"],
        code: 0,
        tests: &[passes("what_stands_aside_is_in_the_file", "//! License: MIT (app), BSD-2-Clause (aside)")],
        lacks: &["fn nothing"],
    },
    Model {
        fixture: "deps",
        args: &["--skip", "numbers_have", "--inline", "itoa"],
        code: 0,
        tests: &[passes("tests::a_plain_test_needs_one_dependency", "pub mod itoa")],
        lacks: &["```cargo"],
    },
    Model {
        fixture: "language",
        args: &[],
        code: 0,
        tests: &[
            passes("asynchronous::an_async_closure_is_called", "F: AsyncFn(u32) -> u32"),
            passes("asynchronous::an_async_function_is_awaited", "impl Future for Later"),
            passes("asynchronous::an_async_method_is_boxed", "async move { self.call(n).await + 1 }"),
            passes("constants::a_const_function_fills_a_table", "const fn square(n: usize)"),
            passes("constants::associated_constants_have_defaults", "const NAME: &'static str = \"wide\";"),
            passes("constants::const_generics_have_defaults", "const N: usize = { TABLE[2] }"),
            passes("constants::discriminants_are_computed", "Level::Low as u8 + 4"),
            passes("dispatch::a_question_mark_converts_an_error", "impl From<std::num::ParseIntError> for Fault"),
            passes("dispatch::a_trait_object_has_methods_of_its_own", "impl dyn Shape"),
            passes("dispatch::a_trait_object_is_made_that_of_its_supertrait", "impl<T: Shape> Node for T {}"),
            passes("dispatch::a_type_is_asked_for_when_it_runs", "use std::any::Any;"),
            fails("dispatch::an_error_is_returned", "Err(Fault::Small(n))"),
            passes("dispatch::an_opaque_closure_is_called", "impl Fn(i32) -> i32 + Clone"),
            passes("dispatch::trait_objects_are_called", "Box<dyn Shape>> + use<>"),
            passes("foreign::a_callback_is_called_by_c", "fn qsort("),
            passes(
                "foreign::a_foreign_function_is_called",
                "extern \"C\" {
    fn strlen(text: *const c_char) -> usize;
}",
            ),
            passes("foreign::a_union_is_read", "union Bits"),
            passes("foreign::an_exported_function_is_called", "#[no_mangle]"),
            passes("foreign::an_unsafe_trait_is_implemented", "unsafe impl Zeroed for Pair {}"),
            passes("foreign::raw_memory_is_freed", "impl<T> Drop for Raw<T>"),
            passes("generics::a_blanket_impl_describes_all", "impl<T: Debug + ?Sized> Describe for T"),
            passes("generics::a_closure_takes_every_lifetime", "F: for<'a> Fn(&'a str)"),
            passes("generics::a_family_of_types_is_built", "type Of<T> = std::collections::VecDeque<T>;"),
            passes(
                "generics::a_generic_associated_type_lends",
                "type Item<'a>
        = &'a mut [T]",
            ),
            passes("generics::a_state_is_a_type", "impl Door<Open>"),
            passes("generics::an_iterator_is_written_by_hand", "impl Extend<u32> for Fibonacci"),
            passes("generics::derives_of_a_generic_type_work", "PartialOrd"),
            passes("generics::where_clauses_bind_types", "I: IntoIterator<Item = (K, V)>,"),
            passes("life::a_child_knows_its_parent", "Rc::new_cyclic"),
            passes("life::a_guard_ends_with_its_scope", "fn disarm"),
            fails("life::a_thread_panics", "nothing was made"),
            passes("life::fields_are_dropped_in_order", "impl Drop for Loud<'_>"),
            passes("life::threads_send_what_they_make", "thread::scope"),
            passes("life::values_are_dropped_in_a_panic", "on purpose"),
            passes("names::a_function_a_module_and_a_macro_share_a_name", "macro_rules! same"),
            passes("names::a_glob_is_shadowed", "pub use super::left::*;"),
            passes("names::a_path_limits_who_may_see", "pub(in crate::names::left) fn hidden()"),
            passes("names::methods_of_one_name_are_told_apart", "impl Other for u8"),
            passes("names::names_of_the_standard_library_are_shadowed", "pub type u128 = u8;"),
            passes("names::raw_names_and_local_items_work", "fn r#match(r#type: u32)"),
            passes("names::types_of_one_name_are_told_apart", "pub use self::private::Unit;"),
            passes("names::variants_are_named_by_a_glob", "use self::Kind as K;"),
            passes("statics::a_cell_is_set_once", "CONFIG.get_or_init"),
            passes("statics::a_lazy_static_is_made_once", "LazyLock::new(|| Mutex::new(start()))"),
            passes("statics::a_mutable_static_is_changed", "static mut RAW"),
            passes("statics::a_static_holds_functions", "[(\"double\", double), (\"triple\", triple)]"),
            passes("statics::a_thread_has_statics_of_its_own", "thread_local! {"),
        ],
        lacks: &["fn unused_left", "unused_square", "nothing_said"],
    },
    Model {
        fixture: "cfgs",
        args: &[],
        code: 0,
        tests: &[
            passes("tests::a_branch_of_cfg_select_is_chosen", "    fn abs(n: i32) -> i32;"),
            passes("tests::a_field_without_a_name_is_chosen", "pub struct Pair(pub u8,   pub u16);"),
            passes("tests::a_file_is_chosen", "\"real\""),
            passes("tests::attributes_of_a_test_are_chosen", "#[should_panic(expected = \"as it should\")]"),
            passes("tests::fields_and_parameters_are_chosen", "pub struct Record<  const N: usize> {"),
            passes("tests::macros_are_chosen", "kind!()"),
            passes("tests::members_of_traits_are_chosen", "const ON: bool;"),
            passes("tests::statements_elements_and_arguments_are_chosen", "let more = 4;"),
            passes("tests::variants_and_arms_are_chosen", "=> format!(\"busy {load}\"),"),
            passes("tests::what_a_macro_is_given_is_chosen", "chosen = 6;"),
        ],
        lacks: &["NoSuch", "cfg_attr", "cfg_select!"],
    },
    Model {
        fixture: "macro_scopes",
        args: &[],
        code: 0,
        tests: &[
            passes("makes::a_made_enum_is_shown", "kinds!(Colour { Red = \"red\", Green = \"green\" });"),
            passes("makes::a_made_macro_is_called", "shorthand!(forty, 40);"),
            passes("makes::a_made_private_type_works", "struct Seconds(u64);"),
            passes("makes::a_made_type_has_made_methods", "doubled => |n| n * 2"),
            passes("makes::four::tests::a_made_module_tests_itself", "module_with_tests!(four, 4);"),
            passes("makes::made_functions_are_called", "join(a: &str, b: &str) -> String"),
            passes("makes::tuples_have_made_impls", "tuples!(A B C);"),
            passes("odd::a_macro_calls_another", "callback!(count! 1 2 3)"),
            passes("odd::macros_stand_for_types_patterns_and_members", "constant!(SIZE: usize = count!(a b));"),
            passes("odd::names_in_macros_are_hygienic", "let x = 10;"),
            passes("tests::a_glob_imports_macros", "pub(crate) use globbed;"),
            passes("tests::a_later_definition_shadows", "\"second\""),
            passes("tests::a_local_macro_makes_statements", "declare!($($rest)*);"),
            passes("tests::a_macro_is_imported_by_its_path", "pub use crate::__exported as renamed;"),
            passes("tests::a_macro_of_a_module_in_a_module_is_seen_below", "#[macro_use]"),
            passes("tests::a_macro_of_a_module_is_seen_below", "use $crate::inner::helper;"),
            passes("tests::an_exported_macro_names_its_crate", "extern crate self as scopes;"),
        ],
        lacks: &["unused_in_deep", "fn never"],
    },
    Model {
        fixture: "files",
        args: &[],
        code: 0,
        tests: &[
            passes("tests::a_path_in_an_inline_module_counts_from_its_folder", "42"),
            passes("tests::an_inline_module_has_a_path", "pub mod leaf {"),
            passes("tests::an_old_style_module_has_modules", "pub use self::file::beside;"),
            passes("tests::files_are_included_in_every_place", "let six: u32 = {"),
            passes("tests::made_code_has_modules_of_its_own", "pub const WORD: &str = \"word\";"),
            passes("tests::made_expressions_and_bytes_are_put_in", "[(\"a\", 1), (\"b\", 2)]"),
            passes("tests::one_file_is_two_modules", "mod second {"),
            passes("tests::the_build_script_decides", "\"high\""),
            passes("a_file_of_the_suite_is_used", "macro_rules! assert_total"),
            passes("sums::nested::a_module_of_a_suite_has_tests", "use super::expected::*;"),
            passes("sums::nested::text_beside_the_suite_is_read", "\"a\\r\\nb\\n\""),
        ],
        lacks: &["include!", "include_str!", "OUT_DIR", "#[path", "fn unused_", "fn nobody"],
    },
    Model {
        fixture: "unusual",
        args: &[],
        code: 0,
        tests: &[
            passes("tests::a_module_has_an_odd_name", "fn zähle"),
            fails("tests::a_panic_in_a_file_with_a_mark_has_its_place", "not empty: {}"),
            passes("tests::a_raw_module_is_found", "mod r#async {"),
            passes("tests::a_raw_text_has_hashes", "r##\"{\"a\"#b}"),
            passes("tests::a_text_goes_on_behind_a_backslash", "\"a \\\r\n     b\""),
            passes("tests::a_text_over_lines_keeps_them", "two // no comment"),
            passes("a_binary_with_a_dash_is_tested", "use plain_name as lib;"),
            passes("a_target_named_by_hand_is_found", "extern crate self as plain_name;"),
            passes("a_test_returns_a_type_of_its_own", "impl Termination for Report"),
            passes("a_test_returns_an_exit_code", "ExitCode::SUCCESS"),
            fails("a_test_returns_another_code", "Report(count(\"x\") as u8)"),
        ],
        lacks: &["#!/usr/bin", "notes.md", "fn main"],
    },
    Model {
        fixture: "no_std_mixed",
        args: &[],
        code: 0,
        tests: &[
            passes("tests::a_module_hands_on_core", "pub use ::core::*;"),
            passes("tests::std_is_there_for_tests", "extern crate alloc;"),
            passes("a_test_without_std_works", "pub use self::core::"),
            passes("the_library_is_built_without_std", "format!(\"{}{}\", text, text)"),
        ],
        lacks: &["#![no_std]", "extern crate std as standard"],
    },
    Model {
        fixture: "test_crates",
        args: &[],
        code: 0,
        tests: &[
            made("tests::a_dependency_has_another_name", "numbers = { default-features = false, package = \"itoa\""),
            made("tests::a_derive_of_serde_reads_and_writes", "#[serde(with = \"cents\")]"),
            made("tests::by_proptest::a_clamped_number_is_within", "fn ranges()(low in -9..9i32")
                .without(&["fn reversed_twice"]),
            made("tests::by_proptest::reversed_twice_is_the_same", "fn words() -> impl Strategy").without(&["fn a_clamped"]),
            made("tests::by_quickcheck::a_property_has_a_condition", "impl Arbitrary for Size"),
            made("tests::by_quickcheck::the_length_stays", "quickcheck! {"),
            made("tests::by_rstest::cases_are_given", "#[case::empty(\"\", \"\")]"),
            made("tests::by_rstest::fixtures_are_given", "#[default(4)] high: i32"),
            made("tests::by_rstest::values_are_given", "#[values(1, 2)] n: i32"),
            made("tests::cases::a_matrix_of_cases", "#[test_matrix([1, 2], [3, 4])]"),
            made("tests::cases::a_test_case_returns", "#[test_case(3 => 3 ; \"between\")]"),
            made("a_dev_dependency_on_itself_sets_a_feature", "extern crate self as test_crates;"),
        ],
        lacks: &["fn unused", "smallvec"],
    },
];

/// Impls alone: many tests of one crate.
const IMPLS: &[Model] = &[Model {
    fixture: "traits",
    args: &[],
    code: 0,
    tests: &[
        passes("collections::a_heap_turns_its_order", "Reverse(Key::Number(n))"),
        passes("collections::a_map_compares_its_keys", "impl Ord for Name"),
        passes("collections::a_map_is_asked_with_what_a_key_lends", "impl Borrow<str> for Id"),
        passes("collections::a_set_hashes_its_keys", "impl Hash for Name"),
        passes(
            "collections::an_iterator_is_collected_into_a_type_of_ones_own",
            "impl<T: Ord> FromIterator<T> for Sorted<T>",
        ),
        passes("collections::slices_are_sorted_by_a_derived_order", "PartialOrd"),
        passes("conversions::a_conversion_may_fail", "impl TryFrom<u32> for Port"),
        passes("conversions::a_question_mark_converts", "impl From<ParseIntError> for Refused"),
        passes("conversions::a_writer_counts", "impl Write for Counter"),
        passes("conversions::hexadecimal_digits_are_asked_for", "impl LowerHex for Colour"),
        passes("conversions::into_finds_its_from", "impl<'a> From<&'a Text> for std::borrow::Cow<'a, str>"),
        fails("conversions::two_of_a_kind_differ", "struct Port(u16);"),
        passes("conversions::types_are_compared_with_others", "impl PartialEq<Text> for &str"),
        passes("extension::a_text_has_words", "impl StrExt for str"),
        passes("extension::an_adaptor_goes_backwards", "DoubleEndedIterator for Every<I>"),
        passes("extension::an_adaptor_is_added_to_all_iterators", "impl<I: Iterator + ?Sized> IteratorExt for I {}"),
        passes("extension::closures_are_handlers", "impl<F, A, O: ToString> Handler<A> for F"),
        passes("extension::options_and_results_say_what_is_missing", "impl<T, E: Debug> OptionExt<T> for Result<T, E>"),
        passes("io::a_reader_is_buffered", "impl Read for Slow<'_>"),
        passes("io::a_writer_wraps_another", "impl<W: Write + Seek> Seek for Loud<W>"),
        passes("operators::a_for_loop_takes_a_reference", "impl<'p> IntoIterator for &'p Path"),
        passes("operators::a_labelled_block_breaks", "break 'rows Some((i, j))"),
        passes("operators::a_newtype_is_its_target", "impl IndexMut<char> for Path"),
        passes("operators::let_else_leaves", "let Some((x, y)) = text.split_once(',') else"),
        passes("operators::operators_are_overloaded", "impl<'a> Add<&'a Point> for &Point"),
        passes("operators::slices_are_matched", "[first, .., last] if first == last =>"),
        passes("sealed::a_builder_is_ready", "impl<const READY: bool> Builder<READY>"),
        passes("sealed::a_sealed_trait_names_the_next_size", "impl Sealed for super::Wide {}"),
        passes("sealed::a_visitor_evaluates", "impl Visitor for Evaluate"),
        passes("sealed::a_visitor_shows", "impl Visitor for Show"),
        passes("tricks::a_chain_has_a_length", "impl Link for Chain<'_>"),
        passes("tricks::a_macro_makes_a_family", "animals!(Cow => \"moo\", Duck => \"quack\");"),
        passes("tricks::a_method_of_ones_own_hides_that_of_a_trait", "fn clone(&self) -> u8"),
        passes("tricks::methods_are_found_behind_pointers", "impl Deref for Handle"),
        passes("tricks::the_first_impl_that_fits_is_taken", "impl<T> ViaAny for &Probe<'_, T>"),
        passes("tricks::types_are_counted", "impl<N: Number> Number for Next<N>"),
        passes("tricks::units_are_divided", "impl<U> std::ops::Mul<Quantity<U>> for f64"),
    ],
    lacks: &["unused_in_ext"],
}];

/// Impls that macros make, of which the wanted ones alone come back.
const MADE: &[Model] = &[
    Model {
        fixture: "made_operators",
        args: &[],
        code: 0,
        tests: &[
            passes(
                "tests::a_trait_above_asks_for_one_sum_and_what_that_goes_through",
                "forward_all!(impl Add for Big, add);",
            )
            .without(&["AddAssign", "From<"]),
            passes("tests::a_sum_that_ran_is_one_of_many", "forward_val_val!(impl $imp for $res, $method);")
                .without(&["u64> for"]),
            passes("tests::a_sum_with_a_scalar_is_one_of_many", "promote!(impl $imp<u64> for $res, $method, u8, u16);")
                .without(&["forward_", "impl $imp<$scalar> for $res", "method, u32"]),
            passes("tests::a_reference_in_a_macro_is_cloned_as_ever", "#[derive(Clone, ").without(&["Add", "promote"]),
            passes("tests::an_operand_asks_for_its_product", "impl Mul<u64> for Big")
                .without(&["!(impl", "for &Big", "From<", "Clone"]),
            passes(
                "tests::a_receiver_that_can_not_be_moved_asks_for_the_product_of_its_reference",
                "impl Mul<u64> for &Big",
            )
            .without(&["!(impl", "Mul<&", "From<", "Default"]),
            passes("tests::an_argument_asks_for_its_conversion", "from_unsigned!(u32);")
                .without(&["(u16)", "(u64)", "!(impl"]),
            passes("tests::an_operand_in_a_macro_asks_for_its_difference", "impl Sub<u64> for Big")
                .without(&["!(impl", "(u8)", "(u16)", "(u32)"]),
            passes("tests::an_order_in_a_macro_is_no_iterator", "impl Ord for Big").without(&["Clone", "std::ops"]),
            passes("marks::a_copied_type_asks_that_its_fields_are_copied", "copied!(Digit);").without(&["Sign"]),
            passes("marks::a_moved_value_asks_that_its_types_argument_is_copied", "copied!(Sign);").without(&["Digit"]),
        ],
        lacks: &["impl Mul for", "forward_ref_val"],
    },
    Model {
        fixture: "made_types",
        args: &[],
        code: 0,
        tests: &[
            passes("modules::of_types_of_one_name_the_right_modules_has_its_impl", "in_parts!(IntoIter, 1);")
                .without(&["mod list", "mod pair"]),
            passes("modules::what_ran_is_the_right_modules", "in_parts!(IntoIter, 3);").without(&["mod list", "mod option"]),
            passes("shapes::what_is_idle_for_one_type_is_used_for_another", "fn twice").without(&["fn thrice"]),
            passes("sizes::a_field_is_found_behind_the_reference_of_the_right_size", "seen!(U2; View2);")
                .without(&["View1", "View3", "identity"]),
            passes("sizes::a_method_of_an_alias_with_parameters_is_asked_for", "identity!(3);")
                .without(&["(1)", "(2)", "U1", "View"]),
            passes("sizes::a_method_of_an_alias_with_parameters_ran", "identity!(2);").without(&["(1)", "(3)", "sizes!"]),
            passes("words::a_type_has_another_name_in_another_crate", "wide!(std::ffi::c_short, 16);")
                .without(&["c_int", "c_schar"]),
            passes("words::an_impl_beside_what_can_not_be_expanded_is_found", "counted!(Bell, BELLS);").without(&["Door"]),
            passes("words::an_impl_beside_what_can_not_be_expanded_ran", "counted!(Bell, BELLS);").without(&["Door"]),
            passes("words::an_impl_of_a_macro_that_a_macro_defines_is_found", "makes_words!($ word);\nword!(Dog);")
                .without(&["Cat"]),
        ],
        lacks: &[],
    },
];

#[test]
fn of_what_macros_make_the_wanted_impls_alone_come_back() {
    check_all(MADE);
}

#[test]
fn every_fixture_does_what_its_model_says() {
    check_all(MODELS);
}

#[test]
fn impls_that_nobody_names_are_found() {
    check_all(IMPLS);
}

fn check_all(models: &[Model]) {
    let faults = Mutex::new(Vec::new());
    let queue = Mutex::new(models.iter());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(model) = queue.lock().unwrap().next() else { break };
                    let found = check(model);
                    faults.lock().unwrap().extend(found.into_iter().map(|f| format!("{}: {f}", model.fixture)));
                }
            });
        }
    });
    let faults = faults.into_inner().unwrap();
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// The ways in which a fixture does not do what its model says.
fn check(model: &Model) -> Vec<String> {
    let project = Project::new(model.fixture);
    let out = format!("{}/", project.beside("out"));
    let standing = ["", "--ignored", "-q", "--message-format", "json", "-o", &out];
    let ran = project.gistify(standing.into_iter().chain(model.args.iter().copied()));
    let mut faults = Vec::new();
    if ran.code != Some(model.code) {
        faults.push(format!("exit code {:?}, not {}: {}", ran.code, model.code, ran.stderr));
    }
    let reports = ran.reports();
    for expected in model.tests {
        let mut of_test = reports.iter().filter(|r| r["test"]["name"] == expected.name);
        match (of_test.next(), of_test.next()) {
            (Some(report), None) => {
                let found = check_test(expected, model.lacks, report);
                faults.extend(found.into_iter().map(|f| format!("{}: {f}", expected.name)));
            }
            (None, _) => faults.push(format!("no report for {}", expected.name)),
            (Some(_), Some(_)) => faults.push(format!("two reports for {}", expected.name)),
        }
    }
    if reports.len() != model.tests.len() {
        faults.push(format!("{} reports for {} tests", reports.len(), model.tests.len()));
    }
    faults
}

fn check_test(expected: &Expected, lacks: &[&str], report: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    let mut want = |what: &str, found: &Value, wanted: Value| {
        if *found != wanted {
            faults.push(format!("{what} is {found}, not {wanted}"));
        }
    };
    want("verdict", &report["verdict"], expected.verdict.into());
    if expected.verdict != "ok" {
        if !report["gist"].as_str().is_none_or(|path| path.ends_with(".unverified.rs")) {
            faults.push(format!("a gist that is not verified stands under {}", report["gist"]));
        }
        return faults;
    }
    let metrics = &report["metrics"];
    want("execution fidelity", &metrics["execution_fidelity"], 1.0.into());
    want("line existence", &metrics["line_existence_rate"], 1.0.into());
    want("stubs", &metrics["stubs"], 0.into());
    want("foreign lines", &metrics["foreign_lines"], 0.into());
    let Some(path) = report["gist"].as_str().map(Utf8Path::new) else {
        faults.push(format!("no gist: {}", report["error"]));
        return faults;
    };
    let text = fs_err::read_to_string(path).unwrap();
    if !text.contains(expected.holds) {
        faults.push(format!("`{}` is not in\n{text}", expected.holds));
    }
    for part in lacks.iter().chain(expected.lacks).filter(|part| text.contains(**part)) {
        faults.push(format!("`{part}` is in\n{text}"));
    }
    if let Some(status) = expected.run {
        let ran = run_as_its_header_says(path, &text);
        if ran.code != Some(status) || !ran.stdout.contains("running 1 test\n") {
            faults.push(format!("run as its header says it ends with {:?}, not {status}: {ran:?}", ran.code));
        }
    }
    faults
}

/// The line in a gist's header that runs it.
pub(crate) fn line_of_its_header(text: &str) -> &str {
    text.lines().find_map(|l| l.strip_prefix("//! Run: ")).unwrap()
}

/// Runs the line in the header, in the gist's folder, and nothing else.
pub(crate) fn run_as_its_header_says(path: &Utf8Path, text: &str) -> Ran {
    let line = line_of_its_header(text);
    assert!(line.starts_with("rustc --edition "), "{line}");
    // The subshell gives a signal as a shell does.
    Ran::of(Command::new("sh").args(["-c", &format!("({line}); exit $?")]).current_dir(path.parent().unwrap()))
}
