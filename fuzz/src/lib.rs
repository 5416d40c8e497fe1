//! Between libFuzzer and the targets.

pub mod targets;

use std::sync::{Mutex, Once};

/// What the last panic said.
static LAST: Mutex<String> = Mutex::new(String::new());

/// Runs a target as the binary runs all that it does, and aborts when it panics.
///
/// libFuzzer's own hook aborts at every panic, also at one that is caught: the parser of profiles panics on some that are
/// damaged, and its wrapper (`trace::guarded`) makes errors of that. Here only what gets out of the target counts.
pub fn isolated(target: targets::Target, bytes: &[u8]) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        std::panic::set_hook(Box::new(|info| {
            if let Ok(mut last) = LAST.lock() {
                *last = info.to_string();
            }
        }));
    });
    if targets::on_deep_stack(target, bytes).is_err() {
        eprintln!("{}", LAST.lock().map(|last| last.clone()).unwrap_or_default());
        std::process::abort();
    }
}
