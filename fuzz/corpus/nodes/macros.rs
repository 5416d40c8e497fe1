macro_rules! ops { ($($t:ty => $f:ident),*) => { $(impl Add for $t { fn $f(self) -> u8 { 1 } })* }; () => {} }
ops! { u8 => add, u16 => add }
cfg_if! { if #[cfg(unix)] { fn a() {} } else { fn b() {} } }
pub(crate) fn f(x: Option<u8>) -> u8 {
    // about
    if let Some(y) = x { return y; } else if false { 2 } else { loop { break 3 } };
    use a::b;
    let z = match x { Some(1) => 1, _ => ops!(x) }; // end
    z
}
