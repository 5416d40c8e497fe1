//! Fixtures of many impls: those that nobody names, and those that macros make.

use super::*;

/// Impls alone: many tests of one crate.
pub(super) const IMPLS: &[Model] = &[Model {
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
pub(super) const MADE: &[Model] = &[
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
            passes("pairs::tests::an_operator_that_stands_asks_for_what_its_numbers_have_to_be", "numbers! { f32 }")
                .without(&["u8", "Pair { a: left.a + right.a", "Copy, "]),
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
            passes("given::tests::an_impl_without_members_gives_what_its_trait_has", "impl<T: Clone> Twice for T {}")
                .without(&["Row"]),
            passes("given::tests::a_type_parameter_has_what_an_impl_for_all_gives", "impl<T: Clone> Twice for T {}")
                .without(&["fn twice", "Row"]),
            passes("given::tests::an_index_that_is_not_taken_asks_for_the_impl_that_takes_it", "Index<usize> for")
                .without(&["Twice", "derive"]),
            passes("given::tests::an_argument_of_a_type_that_is_left_out_is_its_default", "Index<&K> for")
                .without(&["Twice", "derive"]),
            passes("modules::of_types_of_one_name_the_right_modules_has_its_impl", "in_parts!(IntoIter, 1);")
                .without(&["mod list", "mod pair"]),
            passes("modules::what_ran_is_the_right_modules", "in_parts!(IntoIter, 3);").without(&["mod list", "mod option"]),
            passes("shapes::what_is_idle_for_one_type_is_used_for_another", "fn twice").without(&["fn thrice"]),
            passes("sizes::a_field_is_found_behind_the_reference_of_the_right_size", "seen!(U2; View2);")
                .without(&["View1", "View3", "identity"]),
            passes("sizes::a_method_of_an_alias_with_parameters_is_asked_for", "identity!(3);")
                .without(&["(1)", "(2)", "U1", "View"]),
            passes("sizes::a_method_of_an_alias_with_parameters_ran", "identity!(2);").without(&["(1)", "(3)", "sizes!"]),
            passes(
                "statements::tests::a_call_in_a_rule_that_makes_statements_stays",
                "each_from_the_last!($mark, $($rest,)*);",
            ),
            passes(
                "tables::an_impl_for_a_type_with_an_argument_left_out_is_asked_for",
                "impl<T: Copy> From<&[T]> for Owned<T>",
            )
            .without(&["From<Option<T>>", "mod sizes"]),
            passes(
                "tuples::variables_whose_names_are_given_to_a_macro_are_bound",
                "let ($($name,)*) = ($($part.size(),)*);",
            )
            .without(&["[A][a]", "mod sizes"]),
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
