//! Which types have to implement which traits, as rustc's errors spell it out, and the impls that are cut.

use super::nodes::{Kind, NodeId};
use super::plan::Plan;
use super::types::{Header, Ty};

/// An impl or a derive: `by` a type, `of` a trait, both by the heads of their names.
#[derive(Clone, Copy, Debug)]
pub(super) struct Impl<'p> {
    pub(super) node: NodeId,
    pub(super) by: &'p str,
    pub(super) of: &'p str,
}

/// The trait impls and derives that are cut.
pub(super) fn cut_impls<'p>(plan: &'p Plan<'_>) -> impl Iterator<Item = Impl<'p>> {
    let tree = plan.tree;
    tree.nodes.iter().enumerate().filter(|(i, _)| plan.cut[*i]).filter_map(|(node, n)| match n.kind {
        Kind::TraitImpl => Some(Impl { node, by: &n.type_name, of: &n.trait_name }),
        Kind::Derive => Some(Impl { node, by: &tree.nodes[tree.nodes[n.parent].parent].name, of: &n.name }),
        _ => None,
    })
}

/// Demands that a message spells out: "`A: B` is not satisfied", "the trait `B` is not implemented for `A`",
/// "`A` doesn't implement `B`".
pub(super) fn bounds(text: &str) -> Vec<Header> {
    let mut out: Vec<Header> = Vec::new();
    let mut add = |ty: &str, trait_: &str| {
        if let (Some(self_ty), Some(trait_ @ Ty::Named(..))) = (Ty::parse(ty), Ty::parse(trait_))
            && self_ty != Ty::Any("_".into())
        {
            let demand = Header { self_ty, trait_ };
            if !out.contains(&demand) {
                out.push(demand);
            }
        }
    };
    let quoted: Vec<&str> = text.split('`').collect();
    // `unsafe impl Send`: what is in a type is named first, the type that promises it for the whole behind.
    let promised =
        ["Send", "Sync"].into_iter().filter(|t| text.contains(&format!("the trait `{t}` is not implemented for")));
    for auto in promised {
        for i in (1..quoted.len()).step_by(2).filter(|&i| quoted[i - 1].ends_with("appears within the type ")) {
            add(quoted[i], auto);
        }
    }
    for i in (1..quoted.len()).step_by(2) {
        let Some(next) = quoted.get(i + 1) else { continue };
        if let Some((ty, tr)) = quoted[i].split_once(": ") {
            add(ty, tr);
        }
        let Some(other) = quoted.get(i + 2) else { continue };
        if next.contains("is not implemented for") || next.contains("might be missing for") {
            add(other, quoted[i]);
        } else if next.contains("doesn't implement") || next.contains("does not implement") || next.contains("to implement")
        {
            add(quoted[i], other);
        }
    }
    out
}

/// The operators of binary expressions: as messages put them, and their traits.
const OPERATORS: &[(&str, &str)] = &[
    ("==", "PartialEq"),
    ("!=", "PartialEq"),
    ("<", "PartialOrd"),
    ("<=", "PartialOrd"),
    (">", "PartialOrd"),
    (">=", "PartialOrd"),
    ("+", "Add"),
    ("-", "Sub"),
    ("*", "Mul"),
    ("/", "Div"),
    ("%", "Rem"),
    ("&", "BitAnd"),
    ("|", "BitOr"),
    ("^", "BitXor"),
    ("<<", "Shl"),
    (">>", "Shr"),
    ("+=", "AddAssign"),
    ("-=", "SubAssign"),
    ("*=", "MulAssign"),
    ("/=", "DivAssign"),
    ("%=", "RemAssign"),
    ("&=", "BitAndAssign"),
    ("|=", "BitOrAssign"),
    ("^=", "BitXorAssign"),
    ("<<=", "ShlAssign"),
    (">>=", "ShrAssign"),
];

/// How a message about an operator begins, its trait, and whether the type that has to implement it comes first.
const PHRASES: &[(&str, &str, bool)] = &[
    ("cannot add-assign", "AddAssign", false),
    ("cannot subtract-assign", "SubAssign", false),
    ("cannot multiply-assign", "MulAssign", true),
    ("cannot divide-assign", "DivAssign", true),
    ("cannot calculate and assign the remainder", "RemAssign", true),
    ("cannot add", "Add", false),
    ("cannot subtract", "Sub", false),
    ("cannot multiply", "Mul", true),
    ("cannot divide", "Div", true),
    ("cannot calculate the remainder", "Rem", true),
    ("can't compare", "PartialEq", true),
];

/// The demand of an operator that a type has not.
pub(super) fn of_operator(message: &str) -> Option<Header> {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let (first, second) = (quoted.next()?, quoted.next());
    let header = |ty: &str, trait_: &str, argument: Option<&str>| {
        let self_ty = Ty::parse(ty)?;
        let arguments = argument.and_then(Ty::parse).into_iter().collect();
        Some(Header { self_ty, trait_: Ty::Named(trait_.to_owned(), arguments) })
    };
    if let Some((_, trait_, own_first)) = PHRASES.iter().find(|(phrase, ..)| message.starts_with(phrase)) {
        return if *own_first { header(first, trait_, second) } else { header(second?, trait_, Some(first)) };
    }
    if message.starts_with("binary operation") || message.starts_with("binary assignment operation") {
        return header(second?, operator(first)?, None);
    }
    if message.starts_with("cannot apply unary operator") {
        return header(second?, if first == "-" { "Neg" } else { "Not" }, None);
    }
    if message.starts_with("no implementation for") {
        let (own, symbol, other) = OPERATORS.iter().find_map(|(s, _)| {
            let (own, other) = first.split_once(&format!(" {s} "))?;
            Some((own, *s, other))
        })?;
        return header(own, operator(symbol)?, Some(other));
    }
    None
}

/// A method that a type has not: the impls of the traits that have it, for the type and what it refers to.
pub(super) fn of_method(receiver: Option<Ty>, full: &str) -> Vec<Header> {
    let (Some(receiver), Some((_, candidates))) = (receiver, full.split_once("perhaps you need to implement")) else {
        return Vec::new();
    };
    let mut types = vec![receiver.clone()];
    let mut inner = &receiver;
    while let Ty::Ref(t) = inner {
        types.push((**t).clone());
        inner = t;
    }
    let traits = candidates.split("candidate #").skip(1).filter_map(|c| Ty::parse(c.split('`').nth(1)?));
    let of_each =
        |trait_: Ty| types.iter().map(move |ty| Header { self_ty: ty.clone(), trait_: trait_.clone() }).collect::<Vec<_>>();
    traits.flat_map(of_each).collect()
}

/// The trait of an operator, by its mark.
pub(super) fn operator(symbol: &str) -> Option<&'static str> {
    OPERATORS.iter().find(|(s, _)| *s == symbol).map(|(_, trait_)| *trait_)
}

/// The trait of the operator that code ends in.
pub(super) fn operator_at_end(code: &str) -> Option<&'static str> {
    let found = OPERATORS.iter().filter(|(symbol, _)| code.ends_with(symbol)).max_by_key(|(symbol, _)| symbol.len());
    found.filter(|_| !code.ends_with("->") && !code.ends_with("=>")).map(|(_, trait_)| *trait_)
}

/// The trait of an operator, by the name of its function.
pub(super) fn operator_of_method(method: &str) -> Option<&'static str> {
    let name = method.replace('_', "");
    OPERATORS.iter().map(|(_, trait_)| *trait_).find(|trait_| trait_.eq_ignore_ascii_case(&name))
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn demands_are_a_type_and_a_trait() {
        let pairs = |text: &str| bounds(text);
        let pair = |a: &str, b: &str| Header { self_ty: Ty::parse(a).unwrap(), trait_: Ty::parse(b).unwrap() };
        assert_eq!(pairs("the trait bound `a::Foo<T>: b::Bar<u8>` is not satisfied"), [pair("Foo<T>", "Bar<u8>")]);
        assert_eq!(pairs("the trait `Clone` is not implemented for `&mut x::Y`"), [pair("&mut Y", "Clone")]);
        assert_eq!(pairs("`Foo` doesn't implement `std::fmt::Debug`"), [pair("Foo", "Debug")]);
        let parts = "`*mut T` cannot be sent between threads safely\nthe trait `Send` is not implemented for `*mut T`\n\
                     required because it appears within the type `m::Ptr<T>`";
        assert_eq!(pairs(parts), [pair("Ptr<T>", "Send"), pair("*mut T", "Send")]);
        assert!(pairs("can't find `x` in this scope").is_empty());
    }

    #[test]
    fn a_method_asks_for_the_traits_that_have_it() {
        let full = "the following traits define an item `f`, perhaps you need to implement one of them:\n\
                    candidate #1: `m::A`\ncandidate #2: `B`";
        let found = of_method(Ty::parse("&X"), full);
        let heads: Vec<_> = found.iter().map(|h| (matches!(h.self_ty, Ty::Ref(_)), h.trait_.head().unwrap())).collect();
        assert_eq!(heads, [(true, "A"), (false, "A"), (true, "B"), (false, "B")]);
        assert!(of_method(Ty::parse("X"), "method not found in `X`").is_empty());
    }

    #[test]
    fn operators_ask_for_their_traits() {
        let asks = |message: &str, ty: &str, trait_: &str| {
            let demand = Header { self_ty: Ty::parse(ty).unwrap(), trait_: Ty::parse(trait_).unwrap() };
            assert_eq!(of_operator(message), Some(demand), "{message}");
        };
        asks("cannot subtract `&B` from `A`", "A", "Sub<&B>");
        asks("cannot multiply `A` by `B`", "A", "Mul<B>");
        asks("cannot add-assign `u8` to `A`", "A", "AddAssign<u8>");
        asks("binary operation `==` cannot be applied to type `m::A`", "A", "PartialEq");
        asks("binary assignment operation `+=` cannot be applied to type `A`", "A", "AddAssign");
        asks("no implementation for `A << &B`", "A", "Shl<&B>");
        asks("cannot apply unary operator `-` to type `A`", "A", "Neg");
        assert_eq!(of_operator("mismatched types"), None);
    }

    #[test]
    fn operators_are_known_by_their_marks_and_their_functions() {
        assert_eq!(operator_at_end("self *"), Some("Mul"));
        assert_eq!(operator_at_end("self <<="), Some("ShlAssign"));
        assert_eq!(operator_at_end("x =>"), None);
        assert_eq!(operator_at_end("f("), None);
        assert_eq!(operator_of_method("add_assign"), Some("AddAssign"));
        assert_eq!(operator_of_method("Add"), Some("Add"));
        assert_eq!(operator_of_method("added"), None);
    }
}
