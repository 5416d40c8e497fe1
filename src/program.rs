//! A program as an entry: how it is called.

use crate::error::{Error, Result};
use camino::Utf8PathBuf;
use std::fs::File;
use std::process::Stdio;

/// The function that a program begins with.
pub const MAIN: &str = "main";

/// One call of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// What it is told that it is called: the target's name.
    pub name: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// The file that its standard input comes from, as it was given; without one there is nothing to read.
    pub stdin: Option<Utf8PathBuf>,
    /// Where it runs in the project.
    pub dir: Utf8PathBuf,
    /// It is run by cargo, in whose environment, and not by people (a doctest).
    pub by_cargo: bool,
}

impl Program {
    /// Its standard input, from the start.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn input(&self) -> Result<Stdio> {
        match &self.stdin {
            Some(path) => Ok(File::open(path).map_err(Error::path("read", path))?.into()),
            None => Ok(Stdio::null()),
        }
    }

    /// What stands behind the program's name on a command line: arguments, and where the standard input comes from.
    #[must_use]
    pub fn call(&self) -> String {
        let mut out: String = self.args.iter().map(|a| format!(" {}", shell_word(a))).collect();
        if let Some(path) = &self.stdin {
            out.push_str(&format!(" < {}", shell_word(path.as_str())));
        }
        out
    }
}

/// The command line.
impl std::fmt::Display for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", self.name, self.call())
    }
}

/// A word as a POSIX shell takes it, quoted where it has to be.
#[must_use]
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./+=:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_mind() {
        assert_eq!(shell_word("a-b.rs"), "a-b.rs");
        assert_eq!(shell_word("größe.rs"), "größe.rs");
        assert_eq!(shell_word("it's mine.rs"), r"'it'\''s mine.rs'");
    }

    #[test]
    fn a_call_is_shown_as_it_is_typed() {
        let args = vec!["--upto".to_owned(), String::new(), "a b".to_owned()];
        let program = Program { name: "fizz".into(), args, stdin: Some("in.txt".into()), dir: "/x".into(), by_cargo: false };
        assert_eq!(program.to_string(), "fizz --upto '' 'a b' < in.txt");
    }
}
