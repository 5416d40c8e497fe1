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
        if let (Some(self_ty), Some(trait_ @ Ty::Named(..))) = (Ty::parse(ty), Ty::parse(trait_)) {
            let demand = Header { self_ty, trait_ };
            if !out.contains(&demand) {
                out.push(demand);
            }
        }
    };
    let quoted: Vec<&str> = text.split('`').collect();
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
        assert!(pairs("can't find `x` in this scope").is_empty());
    }
}
