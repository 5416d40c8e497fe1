//! What command-line agents print, line by line, made into steps.
//!
//! Each agent prints its own events; a module for each format reads them into one record ([`Heard`]). What is not understood is
//! left out, and nothing is believed that matters: a gist is judged by what it does, never by what its maker says. The agents'
//! output is anybody's bytes: no line may make a reader panic, and what is kept of it is bounded.

mod claude;
mod codex;
mod copilot;
mod faults;
mod gemini;
mod kinds;
mod mini;
mod notes;
mod opencode;
#[cfg(test)]
mod tests;

use super::Heard;
use crate::error::Error;
use notes::Notes;
use serde_json::Value;
use std::str::FromStr;

/// What an agent prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parser {
    /// `claude -p … --output-format stream-json --verbose`.
    ClaudeStreamJson,
    /// `codex exec --json`.
    CodexJsonl,
    /// `gemini -o stream-json`; `qwen -o stream-json`, too, which prints what Claude Code does.
    GeminiStreamJson,
    /// `opencode run --format json`.
    OpencodeJson,
    /// `copilot --output-format json`.
    CopilotJson,
    /// `mini -o FILE`: its words for people, until the file is there ([`Reader::file`]).
    MiniSweAgent,
    /// Words: one step, whatever they say.
    Plain,
}

impl Parser {
    /// All there are.
    pub const ALL: [Parser; 7] = [
        Parser::ClaudeStreamJson,
        Parser::CodexJsonl,
        Parser::GeminiStreamJson,
        Parser::OpencodeJson,
        Parser::CopilotJson,
        Parser::MiniSweAgent,
        Parser::Plain,
    ];

    /// As it stands in a configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Parser::ClaudeStreamJson => "claude-stream-json",
            Parser::CodexJsonl => "codex-jsonl",
            Parser::GeminiStreamJson => "gemini-stream-json",
            Parser::OpencodeJson => "opencode-json",
            Parser::CopilotJson => "copilot-json",
            Parser::MiniSweAgent => "mini-swe-agent",
            Parser::Plain => "plain",
        }
    }
}

impl FromStr for Parser {
    type Err = Error;

    /// # Errors
    /// [`Error::Usage`], which says what there is.
    fn from_str(name: &str) -> Result<Self, Error> {
        Parser::ALL.into_iter().find(|parser| parser.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Parser::ALL.iter().map(|parser| parser.name()).collect();
            Error::Usage(format!("there is no parser `{name}`; use one of {}", names.join(", ")))
        })
    }
}

/// Bytes of a line that are looked at; a longer one is left out, and a step says so.
const LINE_BYTES: usize = 16 << 20;

/// Reads what one attempt's agent prints.
///
/// ```
/// use cargo_gistify::agent::{Ended, stream::{Parser, Reader}};
///
/// let mut reader = Reader::new(Parser::CodexJsonl, "Make the gist.");
/// reader.line(r#"{"type":"item.completed","item":{"id":"0","type":"agent_message","text":"It is made."}}"#);
/// assert_eq!(reader.heard().agent_steps(), 1);
/// reader.line(r#"{"type":"turn.completed","usage":{"input_tokens":400,"output_tokens":40}}"#);
/// let heard = reader.finish();
/// assert_eq!((heard.ended, heard.usage.input_tokens), (Some(Ended::Done), Some(400)));
/// ```
#[derive(Debug)]
pub struct Reader {
    parser: Parser,
    notes: Notes,
}

impl Reader {
    /// Starts with the prompt, which is step one.
    #[must_use]
    pub fn new(parser: Parser, prompt: &str) -> Reader {
        Reader { parser, notes: Notes::new(prompt) }
    }

    /// Takes a line of the agent's standard output, with or without its end.
    pub fn line(&mut self, line: &str) {
        let line = line.trim_end_matches(['\n', '\r']);
        if line.len() > LINE_BYTES {
            return self.notes.remark(&format!("a line of {} bytes was left out", line.len()));
        }
        match self.parser {
            Parser::Plain => return self.notes.plain(line),
            Parser::MiniSweAgent => return mini::line(&mut self.notes, line),
            _ => {}
        }
        let Ok(event) = serde_json::from_str::<Value>(line) else { return };
        match self.parser {
            Parser::ClaudeStreamJson => claude::event(&mut self.notes, &event, claude::Dialect::Claude),
            Parser::CodexJsonl => codex::event(&mut self.notes, &event),
            Parser::GeminiStreamJson => gemini::event(&mut self.notes, &event),
            Parser::OpencodeJson => opencode::event(&mut self.notes, &event),
            Parser::CopilotJson => copilot::event(&mut self.notes, &event),
            Parser::MiniSweAgent | Parser::Plain => {}
        }
    }

    /// Takes the file that the agent left, once and after its end; it may be half-written. Of use with
    /// [`Parser::MiniSweAgent`], ignored with the others.
    pub fn file(&mut self, text: &str) {
        if self.parser == Parser::MiniSweAgent {
            mini::file(&mut self.notes, text);
        }
    }

    /// What was heard so far: enough to stop an agent that takes more steps than it may.
    ///
    /// Codex and Gemini do not say where an answer of the model ends: there a step begins with whatever comes once all calls
    /// of the one before are answered. With [`Parser::Plain`] there is one step at most.
    #[must_use]
    pub fn heard(&self) -> &Heard {
        self.notes.heard()
    }

    /// Gives steps that came without a time the time of day: for who reads lines as they come.
    pub fn stamp(&mut self) {
        self.notes.stamp(&super::atif::now());
    }

    /// What was heard. When the agent did not say how it ended, but its last word was a fault, that fault is how.
    #[must_use]
    pub fn finish(self) -> Heard {
        self.notes.finish()
    }
}
