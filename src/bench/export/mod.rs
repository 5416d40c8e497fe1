//! Sets and results as other harnesses read them. A set's tasks are Harbor tasks as they are.

pub mod inspect;
pub mod predictions;
pub mod swebench;

use std::fmt::Write;

/// The id of a task in formats that want one as `OWNER__REPOSITORY-N`.
#[must_use]
pub fn instance_id(task: &str) -> String {
    format!("gistify__{task}")
}

/// A file that is added, as git's patch.
///
/// ```
/// use cargo_gistify::bench::export::added;
/// assert!(added("gist.rs", "a\nb").ends_with("@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n"));
/// ```
#[must_use]
pub fn added(file: &str, text: &str) -> String {
    let mut out = format!("diff --git a/{file} b/{file}\nnew file mode 100644\n");
    if text.is_empty() {
        return out;
    }
    let count = text.split_inclusive('\n').count();
    let _ = write!(out, "--- /dev/null\n+++ b/{file}\n@@ -0,0 +1,{count} @@\n");
    text.split_inclusive('\n').for_each(|line| out.extend(["+", line]));
    if !text.ends_with('\n') {
        out.push_str("\n\\ No newline at end of file\n");
    }
    out
}

#[cfg(test)]
mod unit {
    use super::*;
    use crate::compile::{temp_dir, utf8};
    use proptest::prelude::*;
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn git_makes_the_file_of_its_patch(text in "[a-z+\\-\\\\ \t\r\n@äß]{0,60}") {
            let room = temp_dir().unwrap();
            let dir = utf8(room.path()).unwrap();
            let mut apply = Command::new("git");
            apply.args(["apply", "--whitespace=nowarn", "-"]).current_dir(dir).env("GIT_CEILING_DIRECTORIES", dir.parent().unwrap());
            let mut apply = apply.stdin(Stdio::piped()).spawn().unwrap();
            apply.stdin.take().unwrap().write_all(added("gist.rs", &text).as_bytes()).unwrap();
            prop_assert!(apply.wait().unwrap().success());
            prop_assert_eq!(std::fs::read_to_string(dir.join("gist.rs")).unwrap(), text);
        }
    }
}
