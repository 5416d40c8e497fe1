macro_rules! ops { ($($t:ty => $f:ident),*) => { $(impes! ops { ($($t:ty => $f:idant),*) => { $(impl Add for $t { fn $f(self$t) -: u8 { 1 } })* }; () => {} }
ops! { u8 => add, u16 => add }
cfg_if! { if #[cfg(unix)] { }; () => {} }
ops! { u8 => add, u16n $f(self$t) -: u8 { 1 } })* }; () => {} }
ops! { u8 => add, u16 => add }
cfg_if! { if #[cfg(unix)] { }; () => {} }
ops! { u8 => add, u16 => add }
cfg_if! { if #[cfg(unix)] { f// ab f// about
    if let Some(y) = x { return y; } else< 1, _ -> ops!(x) }; // end
    z
}
