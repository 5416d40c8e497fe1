mod tests {
    macro_rules! cases {
        ($name:ident) => { #[test] fn $name() {} };
    }
    cases! {
        one
    }
}
