//! The paper's baseline without tools: one request with all files in it, and the Rust code in the answer is the gist.

use super::answer;
use super::context::Conversation;
use super::endpoint::{Endpoint, Fault};
use super::{Model, Prompt, Sleep, context_of, deadline, finished, heard, sleep, step_of};
use crate::agent::{AgentLimits, Ended, Heard};
use crate::error::Result;
use camino::Utf8PathBuf;
use std::time::Instant;

/// Asks a model once. Files are given by their paths in the project and their texts, and stand behind the task. The gist is the
/// longest block of Rust in the answer; there is none without such a block, and when the files don't fit
/// ([`Ended::ContextLimit`], as for an answer that the endpoint cut off).
///
/// # Errors
/// [`crate::error::Error::Interrupted`]. What goes wrong with the model is in [`Heard::ended`].
pub fn one_shot(
    model: &Model,
    limits: &AgentLimits,
    prompt: &Prompt,
    files: &[(Utf8PathBuf, String)],
) -> Result<(Heard, Option<String>)> {
    one_shot_with(model, limits, prompt, files, &sleep)
}

pub(super) fn one_shot_with(
    model: &Model,
    limits: &AgentLimits,
    prompt: &Prompt,
    files: &[(Utf8PathBuf, String)],
    sleep: Sleep<'_>,
) -> Result<(Heard, Option<String>)> {
    let texts: String = files.iter().map(|(path, text)| fenced(path.as_str(), text)).collect();
    let prompt = Prompt { system: prompt.system.clone(), task: format!("{}{texts}", prompt.task) };
    let mut heard = heard(model, &prompt);
    let talk = Conversation::new(model.request(&[]), &prompt.system, &prompt.task);
    let size = talk.size();
    if limits.steps == 0 {
        return Ok((finished(heard, model, Ended::StepLimit), None));
    }
    if size.tokens > limits.context_tokens {
        return Ok((finished(heard, model, Ended::ContextLimit), None));
    }
    let asked = Endpoint::new(model, deadline(Instant::now(), limits.timeout), sleep).ask(&talk.body());
    let answer = match asked {
        Ok(answer) => answer,
        Err(Fault::End(ended)) => return Ok((finished(heard, model, ended), None)),
        Err(Fault::TooLong(_)) => return Ok((finished(heard, model, Ended::ContextLimit), None)),
        Err(Fault::Error(e)) => return Err(e),
    };
    let mut step = step_of(&answer);
    step.extra.insert("context".into(), context_of(&answer, size, false));
    heard.steps.push(step);
    if let Some(metrics) = answer.metrics {
        answer::add(&mut heard.usage, metrics);
    }
    heard.model = answer.model.clone().or(heard.model);
    let ended = if answer.was_cut() { Ended::ContextLimit } else { Ended::Done };
    Ok((finished(heard, model, ended), rust_block(&answer.text)))
}

/// A file as a block that nothing in it can end.
fn fenced(path: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let newline = if text.ends_with('\n') { "" } else { "\n" };
    format!("\n\n{path}:\n{fence}rust\n{text}{newline}{fence}")
}

/// The longest block of Rust in a text, or of no named language where there is none. One that is not closed goes to the end.
fn rust_block(text: &str) -> Option<String> {
    let (mut rust, mut plain) = (Vec::new(), Vec::new());
    let mut lines = text.split_inclusive('\n');
    while let Some(line) = lines.next() {
        let Some((fence, info)) = fence(line) else { continue };
        // Only a fence as long as the first, with nothing behind it, ends the block.
        let ends = |line: &&str| {
            let closing = self::fence(line).filter(|(c, info)| c.starts_with(fence) && info.is_empty());
            closing.is_none()
        };
        let block: String = lines.by_ref().take_while(ends).collect();
        match info.split([',', ' ', '{']).next().unwrap_or_default().to_lowercase().as_str() {
            "rust" | "rs" => rust.push(block),
            "" => plain.push(block),
            _ => {}
        }
    }
    let blocks = if rust.is_empty() { plain } else { rust };
    blocks.into_iter().filter(|block| !block.trim().is_empty()).max_by_key(String::len)
}

/// The fence that a line is, and what stands behind it.
fn fence(line: &str) -> Option<(&str, &str)> {
    let text = line.trim_start_matches(' ');
    let mark = text.chars().next().filter(|c| line.len() - text.len() < 4 && "`~".contains(*c))?;
    let rest = text.trim_start_matches(mark);
    let fence = &text[..text.len() - rest.len()];
    (fence.len() >= 3).then(|| (fence, rest.trim()))
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn the_longest_block_of_rust_is_the_gist() {
        let text = "Use this:\n```rust\nfn a() {}\n```\nor\n```rust,ignore\nfn a() {}\nfn b() {}\n```\n```sh\nvery long command here, no Rust\n```\n";
        assert_eq!(rust_block(text).unwrap(), "fn a() {}\nfn b() {}\n");
    }

    #[test]
    fn examples_in_doc_comments_do_not_end_a_block() {
        let code = "/// ```\n/// f();\n/// ```\nfn f() {}\n";
        assert_eq!(rust_block(&format!("```rs\n{code}```")).unwrap(), code);
        let code = "/**\n```rust\nf();\n```\n*/\nfn f() {}\n";
        assert_eq!(rust_block(&format!("````rust\n{code}````\n")).unwrap(), code);
    }

    #[test]
    fn a_block_without_a_language_is_taken_where_no_other_is() {
        assert_eq!(rust_block("~~~\nfn a() {}\n~~~").unwrap(), "fn a() {}\n");
        assert_eq!(rust_block("```\nplain, and longer\n```\n```rust\nfn a() {}\n```").unwrap(), "fn a() {}\n");
    }

    #[test]
    fn a_block_that_was_cut_off_goes_to_the_end() {
        assert_eq!(rust_block("```rust\nfn a() {").unwrap(), "fn a() {");
    }

    #[test]
    fn no_block_is_no_gist() {
        for text in ["", "fn a() {}", "`rust`", "```rust\n\n```", "```python\nx\n```"] {
            assert_eq!(rust_block(text), None, "{text}");
        }
    }

    #[test]
    fn a_file_with_fences_in_it_stays_one_block() {
        let text = "//! ```\n````\n";
        assert_eq!(rust_block(&fenced("a.rs", text)).unwrap(), text);
    }
}
