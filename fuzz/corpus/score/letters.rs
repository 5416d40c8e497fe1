//! A gist of the test `money::tests::letters_are_no_amount` (--lib)
//! of shop 0.3.1, made by cargo-gistify 0.1.0.
//!
//! Run: rustc --edition 2024 --test shop-money-tests-letters_are_no_amount.rs -o shop-money-tests-letters_are_no_amount && ./shop-money-tests-letters_are_no_amount --exact money::tests::letters_are_no_amount
//! Toolchain: rustc 1.95.0 (59807616e 2026-04-14)
//! License: MIT OR Apache-2.0

pub mod error {
#[derive(Debug, PartialEq, )]
pub enum ShopError {
    BadAmount(String),
}
}
pub mod money {
use crate::error::ShopError;
use std::str::FromStr;

#[derive(Debug, PartialEq, )]
pub struct Money(i64);

impl FromStr for Money {
    type Err = ShopError;

    fn from_str(text: &str) -> Result<Money, ShopError> {
        let bad = || ShopError::BadAmount(text.to_owned());
        let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
        let whole: i64 = whole.parse().map_err(|_| bad())?;
        let part: i64 = match part.len() {
            2 => part.parse().map_err(|_| bad())?,
            _ => return Err(bad()),
        };
        Ok(Money(whole * 100 + if whole < 0 { -part } else { part }))
    }
}

mod tests {
    use super::*;

    #[test]
    fn letters_are_no_amount() {
        assert_eq!("12.xx".parse::<Money>(), Err(ShopError::BadAmount("12.xx".into())));
    }
}
}

