//! The report as text for people: a summary, and sources with a count before each line.

use super::report::{TraceReport, TracedFile};
use crate::error::{Error, Result};
use camino::Utf8Path;
use std::fmt::Write as _;

impl TraceReport {
    /// The functions that ran, file by file.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = format!(
            "{} of {} in {}\n",
            number(self.trace_length, "call"),
            number(self.functions.len() as u64, "function"),
            number(self.files_touched as u64, "file"),
        );
        for file in &self.files {
            let (ran, all) = (file.lines_executed, file.lines_executable);
            push(&mut out, format_args!("\n{}: {ran} of {all} executable lines ran\n", file.path));
            push(&mut out, format_args!("{:>8} {:>6}  function\n", "calls", "line"));
            for f in self.functions.iter().filter(|f| f.file == file.path) {
                push(&mut out, format_args!("{:>8} {:>6}  {}\n", f.calls, f.line, f.name));
            }
        }
        out
    }

    /// The sources of the files of which something ran, a line's number and count before its text, as
    /// `llvm-cov show` has it; `root` is the one that the report was made with.
    ///
    /// # Errors
    /// When a source file can't be read.
    pub fn listing(&self, root: &Utf8Path) -> Result<String> {
        let mut out = String::new();
        for file in &self.files {
            let path = root.join(&file.path);
            let text = std::fs::read_to_string(&path).map_err(Error::path("read", path))?;
            if !out.is_empty() {
                out.push('\n');
            }
            push(&mut out, format_args!("{}:\n{}", file.path, annotated(file, &text)));
        }
        Ok(out)
    }
}

/// The text of a file, each line after its number and its count.
fn annotated(file: &TracedFile, text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    let mut counts = file.lines.iter().peekable();
    for (i, line) in text.lines().enumerate() {
        let count = counts.next_if(|c| c.line == i + 1).map(|c| c.count.to_string());
        push(&mut out, format_args!("{:>5}|{:>7}|{line}\n", i + 1, count.unwrap_or_default()));
    }
    out
}

fn number(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Writing to a string can't fail.
fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}
