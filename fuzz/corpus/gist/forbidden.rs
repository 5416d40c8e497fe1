#!/bin/x
#![no_main]
mod std {}
extern crate a as shop;
#[path = "x"] mod y;
extern "C" { fn abort(); }
global_asm!("");
include!("/x");
#[unsafe(no_mangle)] fn z() {}
mod tests { #[test] fn one() {} }
