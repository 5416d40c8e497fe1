use a::{b, c as d, *};
pub trait T<'a>: Sized where Self: 'a { type X; const N: usize = 1; fn f(&self) -> u8; }
impl<'a, U: Clone> T<'a> for Vec<U> { type X = U; fn f(&self) -> u8 { match self.len() { 0 => 1, n if n > 3 => { return 2 } _ => unimplemented!() } } }
#[derive(Clone, Debug)] enum E { A { x: u8 }, B(u8), #[doc = "x"] C = 3 }
macro_rules! m { ($($x:expr),* $(,)?) => { [$($x),*] }; }
const fn k() -> [u8; 2] { m![1, 2,] }
fn s() -> impl Fn(u8) -> u8 { let Some(x) = Some(1u8) else { panic!("x") }; move |y| if x > y { x } else { y } }
