//! Arguments and operands that no impl takes any more: with one impl of a trait left, rustc infers its types from that, and
//! complains of what the others took.

use super::Repairer;
use super::fault::Fault;
use crate::reduce::demand::{operator, operator_at_end, operator_of_method};
use crate::reduce::nodes::{Kind, NodeId};
use crate::reduce::plan::Plan;
use crate::reduce::types::{Header, Ty};
use crate::source::tokens::words;
use std::collections::BTreeSet;

/// Functions of traits that take the type that the trait is given.
const TAKING: &[(&str, &str)] = &[
    ("from", "From"),
    ("try_from", "TryFrom"),
    ("eq", "PartialEq"),
    ("ne", "PartialEq"),
    ("partial_cmp", "PartialOrd"),
    ("extend", "Extend"),
    ("from_iter", "FromIterator"),
    ("index", "Index"),
    ("index_mut", "IndexMut"),
];

impl Repairer {
    /// The impls that would take what is not taken.
    pub(super) fn not_taken(&self, plan: &Plan<'_>, fault: &Fault<'_>) -> Vec<Header> {
        if fault.code == "E0507" {
            let demand = moved(&fault.full, fault.token().map_or("", |at| &plan.text[at..]));
            return demand.into_iter().flat_map(|(ty, trait_)| by_reference(plan, &ty, trait_)).collect();
        }
        let Some((expected, found)) = mismatch(&fault.full).filter(|_| fault.code == "E0308") else { return Vec::new() };
        let Some(place) = fault.token() else { return Vec::new() };
        let before = plan.text[..place].trim_end();
        let (owner, traits) = if fault.full.contains("arguments to this") {
            let (owner, function) = callee(before);
            (owner, self.traits_taking(plan, fault, function))
        } else if before.ends_with('[') {
            (None, ["Index".to_owned()].into())
        } else if let Some(name) = callee(before).1.strip_suffix('!') {
            (None, self.operators_in(plan, name))
        } else {
            (None, operator_at_end(before).into_iter().map(str::to_owned).collect())
        };
        let of_trait = |trait_: &String| {
            let types = match owner {
                Some(ty) if ty != "Self" && !ty.starts_with('$') && ty != trait_ => Ty::parse(ty).into_iter().collect(),
                _ => Repairer::types_taking(plan, trait_, &expected),
            };
            let types = if types.is_empty() { self.types_around(plan, fault) } else { types };
            let types = if types.is_empty() { vec![Ty::Any("_".into())] } else { types };
            let demand = |self_ty| Header { self_ty, trait_: Ty::Named(trait_.clone(), vec![found.clone()]) };
            types.into_iter().map(demand).collect::<Vec<_>>()
        };
        let demands: Vec<Header> = traits.iter().flat_map(of_trait).collect();
        if demands.is_empty() { self.inferred(plan, place, &expected, &found) } else { demands }
    }

    /// What is called may be generic over what it gives: impls like those that stand for what was found, for what was
    /// expected.
    fn inferred(&self, plan: &Plan<'_>, place: usize, expected: &Ty, found: &Ty) -> Vec<Header> {
        let tree = plan.tree;
        let code = plan.text[place..].lines().next().unwrap_or_default();
        let functions = words(code)
            .flat_map(|w| self.named(w))
            .filter(|&n| matches!(tree.nodes[n].kind, Kind::Fn | Kind::ImplFn | Kind::TraitFn) && plan.stands(n));
        let used = functions.flat_map(|f| plan.graph.uses[f].iter().copied());
        let traits: BTreeSet<&str> =
            used.filter(|&t| tree.nodes[t].kind == Kind::Trait).map(|t| tree.nodes[t].name.as_str()).collect();
        let mut demands = Vec::new();
        for (_, header, _) in standing(plan).filter(|(_, h, _)| h.trait_.head().is_some_and(|t| traits.contains(t))) {
            let wanted = Header {
                self_ty: header.self_ty.replaced(found, expected),
                trait_: header.trait_.replaced(found, expected),
            };
            if wanted != *header && !demands.contains(&wanted) {
                demands.push(wanted);
            }
        }
        demands
    }

    /// The traits that have a function of that name; of a macro's variable, the operators that its call names.
    fn traits_taking(&self, plan: &Plan<'_>, fault: &Fault<'_>, function: &str) -> BTreeSet<String> {
        let tree = plan.tree;
        if function.starts_with('$') {
            let words = fault.places.iter().flat_map(|&place| &tree.nodes[tree.at(place)].words);
            return words.filter_map(|word| operator_of_method(word)).map(str::to_owned).collect();
        }
        let known = TAKING.iter().filter(|(name, _)| *name == function).map(|(_, trait_)| *trait_);
        let known = known.chain(operator_of_method(function)).map(str::to_owned);
        let own = self.named(function).filter(|&n| tree.nodes[n].kind == Kind::TraitFn);
        known.chain(own.map(|n| tree.nodes[tree.nodes[n].parent].name.clone())).collect()
    }

    /// The traits of the operators that a macro's definition has.
    fn operators_in(&self, plan: &Plan<'_>, name: &str) -> BTreeSet<String> {
        let definitions = self.named(name).filter(|&n| plan.tree.nodes[n].kind == Kind::MacroRules);
        let words = definitions.flat_map(|n| plan.text[plan.tree.nodes[n].range.clone()].split_whitespace());
        words.filter_map(operator).map(str::to_owned).collect()
    }

    /// The types for which a standing impl of a trait takes a type.
    fn types_taking(plan: &Plan<'_>, trait_: &str, taken: &Ty) -> Vec<Ty> {
        let mut types = Vec::new();
        for (_, header, _) in standing(plan) {
            let takes = matches!(&header.trait_, Ty::Named(name, list)
                if name == trait_ && list.first().map_or(header.self_ty == *taken, |ty| ty == taken));
            // What rustc expects of an index may be known in part (`&_`).
            let asked = Header { self_ty: Ty::Any("_".into()), trait_: Ty::Named("Index".into(), vec![taken.clone()]) };
            let takes = takes || trait_ == "Index" && header.fits(&asked).is_some();
            if takes && !header.self_ty.is_any() && !types.contains(&header.self_ty) {
                types.push(header.self_ty.clone());
            }
        }
        types
    }

    /// The types that the impls at an error's place are for.
    fn types_around(&self, plan: &Plan<'_>, fault: &Fault<'_>) -> Vec<Ty> {
        let tree = plan.tree;
        let mut types = Vec::new();
        for at in fault.places.iter().chain(&fault.definitions).map(|&place| tree.at(place)) {
            let Some(owner) = tree.ancestors(at).find(|&a| tree.nodes[a].header.is_some()) else { continue };
            let headers = plan.made_at(owner).filter_map(|made| made.header.as_ref()).chain(&tree.nodes[owner].header);
            types.extend(headers.map(|header| header.self_ty.clone()).filter(|ty| !ty.is_any()));
        }
        types
    }
}

/// The types of "expected `A`, found `B`".
fn mismatch(full: &str) -> Option<(Ty, Ty)> {
    let (expected, rest) = full.split_once("expected `")?.1.split_once('`')?;
    let found = rest.strip_prefix(", found `")?.split('`').next()?;
    Some((Ty::parse(expected)?, Ty::parse(found)?))
}

/// The impls of traits that stand, with what they ask for: those that are written, and those that standing calls make.
pub(super) fn standing<'p>(plan: &'p Plan<'_>) -> impl Iterator<Item = (NodeId, &'p Header, &'p [Header])> {
    let tree = plan.tree;
    let impls = tree.nodes.iter().enumerate().filter(|(i, n)| n.kind == Kind::TraitImpl && plan.stands(*i));
    impls.flat_map(|(i, node)| {
        let written = (&node.header, &node.bounds);
        let written = Some(written).filter(|_| tree.made.at(i).next().is_none());
        let made = plan.made_at(i).map(|made| (&made.header, &made.bounds));
        made.chain(written).filter_map(move |(header, bounds)| Some((i, header.as_ref()?, bounds.as_slice())))
    })
}

/// What an operator of a type's reference may be asked for: the impls of the type itself that stand say what it takes.
fn by_reference(plan: &Plan<'_>, ty: &Ty, trait_: &str) -> Vec<Header> {
    let own =
        standing(plan).map(|(_, header, _)| header).filter(|header| header.self_ty == *ty && header.trait_.is_named(trait_));
    let self_ty = Ty::Ref(Box::new(ty.clone()));
    own.map(|header| Header { self_ty: self_ty.clone(), trait_: header.trait_.clone() }).collect()
}

/// The type and the operator of a method that takes its receiver by value, where that can't be moved. The message does not
/// always name the method; `code` begins with the receiver.
fn moved(full: &str, code: &str) -> Option<(Ty, &'static str)> {
    let told = full.split_once("` takes ownership of the receiver").and_then(|(before, _)| before.rsplit(['`', ':']).next());
    let ty = full.split("has type `").nth(1)?.split('`').next()?;
    Some((Ty::parse(ty)?, operator_of_method(told.or(method(code))?)?))
}

/// The method that is called first in code that begins with its receiver.
fn method(code: &str) -> Option<&str> {
    let chain = code.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.'))).next()?;
    code[chain.len()..].starts_with('(').then(|| chain.rsplit('.').next())?
}

/// The type (or trait) and the name of the function whose arguments the code ends in.
fn callee(before: &str) -> (Option<&str>, &str) {
    let mut depth = 0;
    let open = before.char_indices().rev().find_map(|(at, c)| {
        depth += match c {
            ')' | ']' | '}' => 1,
            '(' | '[' | '{' => -1,
            _ => 0,
        };
        (depth < 0).then_some(at)
    });
    let path = before[..open.unwrap_or(0)].trim_end();
    let start = path.rfind(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | ':' | '$' | '!'))).map_or(0, |at| at + 1);
    let mut segments = path[start..].rsplit("::");
    let function = segments.next().unwrap_or_default();
    (segments.next().filter(|s| !s.is_empty()), function)
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn the_function_that_is_called_is_found_before_its_arguments() {
        assert_eq!(callee("x = BigInt::from("), (Some("BigInt"), "from"));
        assert_eq!(callee("$imp::$method(&self, f(a)[1],"), (Some("$imp"), "$method"));
        assert_eq!(callee("self.data.pow("), (None, "pow"));
        assert_eq!(callee("sub!(a, b,"), (None, "sub!"));
        assert_eq!(callee("x"), (None, ""));
    }

    #[test]
    fn a_receiver_that_can_not_be_moved_is_of_an_operator() {
        let full = "cannot move out of `*self`move occurs because `*self` has type `m::Big`\n`mul` takes ownership of the receiver `self`";
        let asked = (Ty::parse("Big").unwrap(), "Mul");
        assert_eq!(moved(full, "self.clone()").as_ref(), Some(&asked));
        assert_eq!(moved(&full.replace("`mul`", "`std::ops::Mul::mul`"), "").as_ref(), Some(&asked));
        assert_eq!(moved(full.split("`mul`").next().unwrap(), "self.mul(a)"), Some(asked));
        assert_eq!(moved("move occurs because `x.y` has type `A`", "x.y"), None);
        assert_eq!(moved("`into` takes ownership of the receiver `x`, which has type `A`", ""), None);
    }

    #[test]
    fn what_was_expected_and_found_are_types() {
        let full = "mismatched typesexpected `&Big`, found `u32`arguments to this method are incorrect";
        assert_eq!(mismatch(full), Some((Ty::parse("&Big").unwrap(), Ty::parse("u32").unwrap())));
        assert_eq!(mismatch("expected `u8`, but found none"), None);
    }
}
