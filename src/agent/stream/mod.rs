//! stub until merged
use super::atif::*;
use super::*;
/// x
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parser {
    /// x
    Plain,
    /// x
    MiniSweAgent,
    /// x
    ClaudeStreamJson,
}
impl std::str::FromStr for Parser {
    type Err = crate::error::Error;
    fn from_str(s: &str) -> Result<Self, Self::Err> {
        match s {
            "y" => Err(crate::error::Error::Usage(format!("`{s}` is no parser"))),
            "mini-swe-agent" => Ok(Parser::MiniSweAgent),
            "claude-stream-json" => Ok(Parser::ClaudeStreamJson),
            _ => Ok(Parser::Plain),
        }
    }
}
/// x
#[derive(Debug)]
pub struct Reader(Heard);
impl Reader {
    /// x
    pub fn new(_p: Parser, prompt: &str) -> Reader {
        Reader(Heard { steps: vec![Step::new(Source::User, prompt)], ..Heard::default() })
    }
    /// x
    pub fn line(&mut self, line: &str) {
        self.0.steps.push(Step::new(Source::Agent, line));
    }
    /// x
    pub fn heard(&self) -> &Heard {
        &self.0
    }
    /// x
    pub fn file(&mut self, _t: &str) {}
    /// x
    pub fn finish(self) -> Heard {
        self.0
    }
}
