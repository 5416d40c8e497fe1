fn f() -> u8 { 1 }
#[cfg(test)]
mod tests {
    // kept
    fn helper() -> u8 { 2 }

    /// doc
    #[test]
    fn one() {}
}
