//! Types as rustc's messages and impls spell them, so far as is needed to tell which impl an error asks for.

use crate::source::transcriber::is_blanked;
use quote::ToTokens;
use std::collections::{BTreeMap, BTreeSet};

/// A type without its lifetimes and the paths to its names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ty {
    /// A type parameter or a macro's variable (which starts with `$`); `_` where nothing is known; `{integer}` and
    /// `{float}` for numbers whose type rustc has not chosen.
    Any(String),
    /// The last segment of a path, and its type arguments.
    Named(String, Vec<Ty>),
    /// `&T`, `&mut T`
    Ref(Box<Ty>),
    /// `*const T`, `*mut T`
    Ptr(Box<Ty>),
    /// `[T]` and `[T; N]`
    Slice(Box<Ty>),
    /// `(A, B)`
    Tuple(Vec<Ty>),
    /// `dyn A + B`
    Dyn(Vec<Ty>),
    /// Anything else, by its tokens.
    Other(String),
}

/// What is on both sides of the `for` of an impl.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Header {
    /// The type.
    pub self_ty: Ty,
    /// The trait; without a name where there is none.
    pub trait_: Ty,
}

type Bounds = syn::punctuated::Punctuated<syn::TypeParamBound, syn::Token![+]>;

/// What the variables of an impl stand for.
pub type Bindings = BTreeMap<String, Ty>;

/// Type aliases, by their names.
pub type Aliases = BTreeMap<String, Alias>;

/// What an alias stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alias {
    /// Its parameters, without lifetimes.
    parameters: Vec<String>,
    /// The type; `_` where it is not known.
    pub target: Ty,
}

impl Alias {
    /// Reads an alias.
    #[must_use]
    pub fn of(item: &syn::ItemType) -> Alias {
        let parameter = |p: &syn::GenericParam| match p {
            syn::GenericParam::Type(t) => Some(t.ident.to_string()),
            syn::GenericParam::Const(c) => Some(c.ident.to_string()),
            syn::GenericParam::Lifetime(_) => None,
        };
        let parameters: Vec<String> = item.generics.params.iter().filter_map(parameter).collect();
        let reader = Reader { parameters: parameters.iter().cloned().collect(), text: "" };
        Alias { target: reader.ty(&item.ty), parameters }
    }

    /// The type with these arguments.
    fn with(&self, arguments: &[Ty]) -> Ty {
        let place = |name: &String| self.parameters.iter().position(|p| p == name);
        self.target.map(&|t| match t {
            Ty::Any(name) => Some(place(name).and_then(|i| arguments.get(i).cloned()).unwrap_or(Ty::Any("_".into()))),
            _ => None,
        })
    }
}

/// How often an alias is looked for in what another one stands for.
const ALIASES_OF_ALIASES: usize = 4;

impl Header {
    /// The header of an impl in `text`. Where there is no trait, it has no name.
    #[must_use]
    pub fn of(item: &syn::ItemImpl, text: &str) -> Header {
        let constants = item.generics.const_params().map(|p| p.ident.to_string());
        let parameters: BTreeSet<String> =
            item.generics.type_params().map(|p| p.ident.to_string()).chain(constants).collect();
        let reader = Reader { parameters, text };
        let self_ty = reader.ty(&item.self_ty);
        let path = item.trait_.as_ref().map(|t| reader.path(&t.0));
        let trait_ = path.map_or(Ty::Named(String::new(), Vec::new()), |p| p.with_self(&self_ty));
        Header { self_ty, trait_ }
    }

    /// What an impl asks of its parameters and of the types in its `where`.
    #[must_use]
    pub fn bounds_of(item: &syn::ItemImpl, text: &str) -> Vec<Header> {
        let generics = &item.generics;
        let reader = Reader { parameters: generics.type_params().map(|p| p.ident.to_string()).collect(), text };
        let mut out = Vec::new();
        let mut ask = |self_ty: Ty, bounds: &Bounds| {
            let traits = bounds.iter().filter_map(|bound| match bound {
                syn::TypeParamBound::Trait(t) if t.maybe.is_none() => Some(&t.path),
                _ => None,
            });
            out.extend(
                traits.map(|path| Header { self_ty: self_ty.clone(), trait_: reader.path(path).with_self(&self_ty) }),
            );
        };
        generics.type_params().for_each(|p| ask(Ty::Any(p.ident.to_string()), &p.bounds));
        for predicate in generics.where_clause.iter().flat_map(|w| &w.predicates) {
            if let syn::WherePredicate::Type(p) = predicate {
                ask(reader.ty(&p.bounded_ty), &p.bounds);
            }
        }
        out
    }

    /// With what is known of its variables; `None` when nothing is known of its type.
    #[must_use]
    pub fn with(&self, bindings: &Bindings) -> Option<Header> {
        let self_ty = self.self_ty.with(bindings);
        (!self_ty.is_any()).then(|| Header { self_ty, trait_: self.trait_.with(bindings) })
    }

    /// Puts what aliases stand for in their place; `elsewhere` when the type is named by a path into another crate.
    pub fn resolve(&mut self, aliases: &Aliases, elsewhere: bool) {
        let resolve = |ty: &Ty| ty.without_aliases(aliases, ALIASES_OF_ALIASES);
        if !elsewhere {
            self.self_ty = resolve(&self.self_ty);
        }
        self.trait_ = resolve(&self.trait_);
    }

    /// Whether the type of an impl is named by a path that seems to go into another crate.
    #[must_use]
    pub fn is_of_elsewhere(item: &syn::ItemImpl) -> bool {
        let mut ty = &*item.self_ty;
        // What a macro was given as one type.
        while let syn::Type::Group(group) = ty {
            ty = &group.elem;
        }
        let syn::Type::Path(path) = ty else { return false };
        let first = path.path.segments.first().map(|s| s.ident.to_string()).unwrap_or_default();
        path.path.segments.len() > 1 && !matches!(first.as_str(), "crate" | "self" | "super" | "Self")
    }

    /// What the impl's variables stand for when it is to make `demand` true; `None` when it can't.
    #[must_use]
    pub fn fits(&self, demand: &Header) -> Option<Bindings> {
        let mut bindings = Bindings::new();
        let (own, asked) =
            (self.trait_.padded(&demand.trait_, &self.self_ty), demand.trait_.padded(&self.trait_, &demand.self_ty));
        (self.self_ty.covers(&demand.self_ty, &mut bindings) && own.covers(&asked, &mut bindings)).then_some(bindings)
    }
}

/// Numbers of no type: as messages quote them, and an identifier in their place.
const NUMBERS: [(&str, &str); 2] = [("{integer}", "gistify_integer"), ("{float}", "gistify_float")];

impl Ty {
    /// Reads a type as a message quotes it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Ty> {
        // `{closure@…}`, and what is left out of a long name, may be anything.
        let mut plain = text.trim().replace("...", "_");
        for (number, ident) in NUMBERS {
            plain = plain.replace(number, ident);
        }
        while let Some((before, rest)) = plain.split_once('{') {
            let (_, after) = rest.split_once('}')?;
            // Behind the type of a function stands its name.
            let unknown = if before.ends_with(' ') { "" } else { "_" };
            plain = format!("{before}{unknown}{after}");
        }
        let parsed = syn::parse_str::<syn::Type>(&plain).ok()?;
        Some(Reader { parameters: BTreeSet::new(), text: "" }.ty(&parsed))
    }

    /// The name that it is known by, below references.
    #[must_use]
    pub fn head(&self) -> Option<&str> {
        match self {
            Ty::Named(name, _) => Some(name.as_str()).filter(|n| !n.starts_with('$')),
            Ty::Ref(t) | Ty::Ptr(t) | Ty::Slice(t) => t.head(),
            Ty::Dyn(traits) => traits.first()?.head(),
            Ty::Any(_) | Ty::Tuple(_) | Ty::Other(_) => None,
        }
    }

    /// With the type that rustc chooses for each number of no type.
    #[must_use]
    pub fn with_defaults(&self) -> Ty {
        self.map(&|t| match t {
            Ty::Any(name) if name == "{integer}" => Some(Ty::Named("i32".into(), Vec::new())),
            Ty::Any(name) if name == "{float}" => Some(Ty::Named("f64".into(), Vec::new())),
            _ => None,
        })
    }

    /// Whether it may be any type, or a reference to any.
    #[must_use]
    pub fn is_any(&self) -> bool {
        match self {
            Ty::Any(_) => true,
            Ty::Ref(t) | Ty::Ptr(t) | Ty::Slice(t) => t.is_any(),
            _ => false,
        }
    }

    /// The type of a message with anything in the place of what looks like a type parameter.
    #[must_use]
    pub fn without_parameters(&self) -> Ty {
        self.map(&|t| match t {
            Ty::Named(name, arguments)
                if arguments.is_empty() && name.len() <= 2 && name.starts_with(char::is_uppercase) =>
            {
                Some(Ty::Any("_".into()))
            }
            _ => None,
        })
    }

    /// With another type in the place of one.
    #[must_use]
    pub fn replaced(&self, one: &Ty, other: &Ty) -> Ty {
        self.map(&|t| (t == one).then(|| other.clone()))
    }

    fn without_aliases(&self, aliases: &Aliases, depth: usize) -> Ty {
        self.map(&|t| match t {
            Ty::Named(name, arguments) if depth > 0 => {
                let alias = aliases.get(name)?;
                let arguments: Vec<Ty> = arguments.iter().map(|a| a.without_aliases(aliases, depth)).collect();
                Some(alias.with(&arguments).without_aliases(aliases, depth - 1))
            }
            _ => None,
        })
    }

    /// With what `f` gives in the place of each type in it, outermost first.
    fn map(&self, f: &impl Fn(&Ty) -> Option<Ty>) -> Ty {
        let list = |l: &[Ty]| l.iter().map(|t| t.map(f)).collect();
        f(self).unwrap_or_else(|| match self {
            Ty::Named(name, arguments) => Ty::Named(name.clone(), list(arguments)),
            Ty::Ref(t) => Ty::Ref(Box::new(t.map(f))),
            Ty::Ptr(t) => Ty::Ptr(Box::new(t.map(f))),
            Ty::Slice(t) => Ty::Slice(Box::new(t.map(f))),
            Ty::Tuple(parts) => Ty::Tuple(list(parts)),
            Ty::Dyn(traits) => Ty::Dyn(list(traits)),
            Ty::Any(_) | Ty::Other(_) => self.clone(),
        })
    }

    /// With what variables stand for in their place.
    fn with(&self, bindings: &Bindings) -> Ty {
        self.map(&|t| match t {
            Ty::Any(name) => Some(bindings.get(name).cloned().unwrap_or(Ty::Any("_".into()))),
            _ => None,
        })
    }

    /// The types that it is made of.
    #[must_use]
    pub fn parts(&self) -> &[Ty] {
        match self {
            Ty::Named(_, parts) | Ty::Tuple(parts) => parts,
            Ty::Ref(t) | Ty::Ptr(t) | Ty::Slice(t) => std::slice::from_ref(&**t),
            Ty::Any(_) | Ty::Dyn(_) | Ty::Other(_) => &[],
        }
    }

    /// A trait as it is named, without what it is given.
    #[must_use]
    pub fn without_arguments(&self) -> Ty {
        match self {
            Ty::Named(name, _) => Ty::Named(name.clone(), Vec::new()),
            other => other.clone(),
        }
    }

    /// Whether that is its name.
    #[must_use]
    pub fn is_named(&self, name: &str) -> bool {
        matches!(self, Ty::Named(own, _) if own == name)
    }

    /// Whether the other is this, with something in the place of each variable.
    fn covers(&self, other: &Ty, bindings: &mut Bindings) -> bool {
        match (self, other) {
            (_, Ty::Any(_)) => true,
            (Ty::Any(name), other) => match bindings.get(name) {
                // What is not known may be several things.
                Some(bound) => name == "_" || bound == other,
                None => {
                    bindings.insert(name.clone(), other.clone());
                    true
                }
            },
            // A macro's variable in the place of a name: its arguments are those of what it stands for.
            (Ty::Named(a, x), Ty::Named(b, y)) if a.starts_with('$') => {
                bindings.insert(a.clone(), Ty::Named(b.clone(), Vec::new()));
                x.len() == y.len() && all(x, y, bindings)
            }
            (Ty::Named(a, x), Ty::Named(b, y)) => {
                // Arguments that have defaults may be left out at the end.
                a == b && all(x, y, bindings)
            }
            (Ty::Ref(a), Ty::Ref(b)) | (Ty::Ptr(a), Ty::Ptr(b)) | (Ty::Slice(a), Ty::Slice(b)) => a.covers(b, bindings),
            (Ty::Tuple(x), Ty::Tuple(y)) | (Ty::Dyn(x), Ty::Dyn(y)) => x.len() == y.len() && all(x, y, bindings),
            (Ty::Other(a), Ty::Other(b)) => a == b,
            _ => false,
        }
    }

    /// With the type that implements in the place of `Self`.
    fn with_self(&self, own: &Ty) -> Ty {
        self.map(&|t| matches!(t, Ty::Named(name, _) if name == "Self").then(|| own.clone()))
    }

    /// A trait with as many arguments as the other has: those that have defaults are mostly `Self`.
    fn padded(&self, other: &Ty, own: &Ty) -> Ty {
        let (Ty::Named(name, list), Ty::Named(_, others)) = (self, other) else { return self.clone() };
        let mut list = list.clone();
        while list.len() < others.len() {
            list.push(own.clone());
        }
        Ty::Named(name.clone(), list)
    }
}

fn all(patterns: &[Ty], types: &[Ty], bindings: &mut Bindings) -> bool {
    patterns.iter().zip(types).all(|(p, t)| p.covers(t, bindings))
}

struct Reader<'a> {
    parameters: BTreeSet<String>,
    text: &'a str,
}

impl Reader<'_> {
    fn ty(&self, ty: &syn::Type) -> Ty {
        match ty {
            syn::Type::Path(p) if p.qself.is_some() => Ty::Any("_".into()),
            syn::Type::Path(p) => self.path(&p.path),
            syn::Type::Reference(r) => Ty::Ref(Box::new(self.ty(&r.elem))),
            syn::Type::Ptr(p) => Ty::Ptr(Box::new(self.ty(&p.elem))),
            syn::Type::Slice(s) => Ty::Slice(Box::new(self.ty(&s.elem))),
            syn::Type::Array(a) => Ty::Slice(Box::new(self.ty(&a.elem))),
            syn::Type::Tuple(t) => Ty::Tuple(t.elems.iter().map(|t| self.ty(t)).collect()),
            syn::Type::Paren(p) => self.ty(&p.elem),
            syn::Type::Group(g) => self.ty(&g.elem),
            syn::Type::TraitObject(object) => Ty::Dyn(self.traits(object)),
            syn::Type::Infer(_) => Ty::Any("_".into()),
            other => Ty::Other(other.to_token_stream().to_string()),
        }
    }

    fn traits(&self, object: &syn::TypeTraitObject) -> Vec<Ty> {
        let path = |bound: &syn::TypeParamBound| match bound {
            syn::TypeParamBound::Trait(t) => Some(self.path(&t.path)),
            _ => None,
        };
        object.bounds.iter().filter_map(path).collect()
    }

    fn path(&self, path: &syn::Path) -> Ty {
        let Some(last) = path.segments.last() else { return Ty::Any("_".into()) };
        let first = path.segments.first().map(|s| s.ident.to_string()).unwrap_or_default();
        // `T::Item` may be anything.
        if path.segments.len() > 1 && (self.parameters.contains(&first) || first == "Self") {
            return Ty::Any("_".into());
        }
        let ident = last.ident.to_string();
        if let Some((number, _)) = NUMBERS.iter().find(|(_, n)| *n == ident) {
            return Ty::Any((*number).into());
        }
        let name = if is_blanked(&ident) {
            self.text.get(last.ident.span().byte_range()).unwrap_or("$").to_owned()
        } else {
            ident.strip_prefix("r#").map_or(ident.clone(), str::to_owned)
        };
        let arguments: Vec<Ty> = match &last.arguments {
            syn::PathArguments::AngleBracketed(list) => {
                let types = list.args.iter().filter_map(|a| match a {
                    syn::GenericArgument::Type(t) => Some(self.ty(t)),
                    syn::GenericArgument::Const(value) => Some(constant(value)),
                    _ => None,
                });
                types.collect()
            }
            _ => Vec::new(),
        };
        if arguments.is_empty() && (self.parameters.contains(&name) || name.starts_with('$')) {
            return Ty::Any(name);
        }
        Ty::Named(name, arguments)
    }
}

/// The value of a constant's argument, where it is plain.
fn constant(value: &syn::Expr) -> Ty {
    match value {
        syn::Expr::Group(group) => constant(&group.expr),
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(n), .. }) => Ty::Other(n.base10_digits().to_owned()),
        syn::Expr::Lit(literal) => Ty::Other(literal.to_token_stream().to_string()),
        _ => Ty::Any("_".into()),
    }
}

#[cfg(test)]
mod unit {
    use super::*;

    fn header(text: &str) -> Header {
        Header::of(&syn::parse_str(text).unwrap(), text)
    }

    fn demand(ty: &str, trait_: &str) -> Header {
        Header { self_ty: Ty::parse(ty).unwrap(), trait_: Ty::parse(trait_).unwrap() }
    }

    fn fits(text: &str, ty: &str, trait_: &str) -> Option<usize> {
        header(text).fits(&demand(ty, trait_)).map(|b| b.len())
    }

    #[test]
    fn an_impl_is_told_from_its_neighbours_by_all_its_types() {
        assert_eq!(fits("impl Add for a::Big {}", "b::Big", "Add"), Some(0));
        assert_eq!(fits("impl Add<&Big> for Big {}", "Big", "Add"), None);
        assert_eq!(fits("impl Add<&Big> for Big {}", "Big", "Add<&'a Big>"), Some(0));
        assert_eq!(fits("impl<'a> Add<Big> for &'a Big {}", "Big", "Add"), None);
        assert_eq!(fits("impl Add<u32> for Big {}", "Big", "Add<{integer}>"), Some(0));
        assert_eq!(fits("impl<I> Clone for C<I> {}", "C<Map<IntoIter<i32>, ...>>", "Clone"), Some(1));
        assert_eq!(fits("impl<I> Clone for C<I> {}", "C<fn(i32) -> R<u8> {R::<u8>::Ok}>", "Clone"), Some(1));
        assert_eq!(fits("impl Add<f32> for Big {}", "Big", "Add<{float}>"), Some(0));
        assert_eq!(Ty::parse("A<{float}, {integer}>").unwrap().with_defaults(), Ty::parse("A<f64, i32>").unwrap());
        assert_eq!(fits("impl From<(A, [u8; 3])> for B {}", "B", "From<(A, [u8; 4])>"), Some(0));
        assert_eq!(fits("impl From<Vec<A>> for B {}", "B", "From<Vec<C>>"), None);
        assert_eq!(fits("impl<'a> X for dyn Error + Send + 'a {}", "(dyn std::error::Error + Send + 'a)", "X"), Some(0));
        assert_eq!(fits("impl<'a> X for dyn Error + 'a {}", "(dyn std::error::Error + Send + 'a)", "X"), None);
    }

    #[test]
    fn arguments_that_have_defaults_may_be_left_out() {
        assert_eq!(fits("impl<T> From<&[T]> for Table<Vec<T>> {}", "Table<Vec<u8>, u8>", "From<&[u8]>"), Some(1));
        assert_eq!(fits("impl From<u8> for Table<A, B> {}", "Table<A>", "From<u8>"), Some(0));
        assert_eq!(fits("impl From<u8> for Table<A> {}", "Table<B, A>", "From<u8>"), None);
    }

    #[test]
    fn aliases_are_what_they_stand_for() {
        let alias = |text: &str| Alias::of(&syn::parse_str(text).unwrap());
        let aliases: Aliases = [
            ("O".to_owned(), alias("type O<T, const D: usize> = M<T, C<D>, <A as B<T>>::X>;")),
            ("V".to_owned(), alias("type V<T> = O<T, 1>;")),
        ]
        .into();
        let mut asked = header("impl<T> Add<V<u8>> for V<T> {}");
        asked.resolve(&aliases, false);
        assert_eq!(asked.fits(&demand("M<u16, C<1>, S>", "Add<M<u8, C<1>, R>>")).map(|b| b.len()), Some(2));
        assert_eq!(asked.fits(&demand("M<u16, C<1>, S>", "Add<M<u16, C<1>, R>>")), None);
    }

    #[test]
    fn constants_tell_types_apart() {
        assert_eq!(fits("impl X for C<2> {}", "C<2usize>", "X"), Some(0));
        assert_eq!(fits("impl X for C<2> {}", "C<3>", "X"), None);
        assert_eq!(fits("impl<const N: usize> X<C<N>> for C<N> {}", "C<3>", "X<C<3>>"), Some(1));
        assert_eq!(fits("impl X for C<{ A + 1 }> {}", "C<3>", "X"), Some(1));
    }

    #[test]
    fn what_looks_like_a_parameter_may_be_anything() {
        let found = Ty::parse("Matrix<T, R2, Const<3>, Big>").unwrap().without_parameters();
        assert_eq!(found, Ty::parse("Matrix<_, _, Const<3>, Big>").unwrap());
    }

    #[test]
    fn variables_stand_for_one_thing_each() {
        assert_eq!(fits("impl<T> From<T> for W<T> {}", "W<u8>", "From<u8>"), Some(1));
        assert_eq!(fits("impl<T> From<T> for W<T> {}", "W<u8>", "From<u16>"), None);
        assert_eq!(fits("impl<T: X> Y for T {}", "Z", "Y"), Some(1));
        assert_eq!(fits("impl<T> Iterator for I<T> where T: X {}", "I<_>", "Iterator"), Some(0));
        assert_eq!(fits("impl<T: X> From<T::Item> for A {}", "A", "From<u8>"), Some(1));
    }

    #[test]
    fn an_impl_asks_of_its_parameters_what_its_bounds_say() {
        let text = "impl<S: Num + ?Sized, T> Rem<S> for V<S, T> where V<T>: Add<S>, T: Iterator<Item = S> {}";
        let item = syn::parse_str(text).unwrap();
        let bindings = Header::of(&item, text).fits(&demand("V<f32, X>", "Rem<f32>")).unwrap();
        let asked: Vec<Header> = Header::bounds_of(&item, text).iter().filter_map(|b| b.with(&bindings)).collect();
        assert_eq!(asked, [demand("f32", "Num"), demand("V<X>", "Add<f32>"), demand("X", "Iterator")]);
        let unknown = Header::of(&item, text).fits(&demand("V<_, X>", "Rem<_>")).unwrap();
        assert_eq!(Header::bounds_of(&item, text)[0].with(&unknown), None);
    }

    #[test]
    fn an_argument_that_is_left_out_is_the_type_itself() {
        assert_eq!(fits("impl PartialEq<A> for A {}", "A", "PartialEq"), Some(0));
        assert_eq!(fits("impl PartialEq for A {}", "A", "PartialEq<A>"), Some(0));
        assert_eq!(fits("impl PartialEq for A {}", "A", "PartialEq<B>"), None);
    }
}
