macro_rules! m { ($($x:ident : $t:ty = $e:expr),+ $(,)?) => { $(const $x: $t = $e;)+ }; ($a:tt $($rest:tt)*) => { m! { $($rest)* } }; ($v:vis fn $n:ident() $b:block) => { $v fn $n() $b }; }
macro_rules! n { ($(#[$a:meta])* $p:pat | $l:literal $lt:lifetime) => { $p $l }; ($i:item) => { $i }; ($($($x:path);*),*) => { $($($x)*)* }; }
m! { A: u8 = 1 + 2, B: Vec<Vec<u8>> = f(1, 2), }
m! { pub(crate) fn f() { 1 } }
n! { #[x] Some(_) | -1 'a }
n! { struct S { x: u8 } }
n! { a::b; c, d }
