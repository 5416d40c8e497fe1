//! What one gist is made of: a test with all its cases, a doctest, or a program.

use crate::doctests::Doctest;
use crate::error::Result;
use crate::program::{MAIN, Program};
use crate::tests::Test;
use crate::verify::run::{Cases, Entry};
use crate::workspace::capture::TestTarget;
use serde::Serialize;

/// What kind of entry a gist is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EntryKind {
    /// A test of libtest's.
    Test,
    /// An example in the documentation.
    Doctest,
    /// A binary or an example, with its arguments.
    Program,
}

impl EntryKind {
    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            EntryKind::Test => "test",
            EntryKind::Doctest => "doctest",
            EntryKind::Program => "program",
        }
    }
}

/// One test, all cases of a parameterised one, a doctest, or a call of a program.
#[derive(Clone, Debug)]
pub enum Task {
    /// Cases of one test.
    Tests {
        /// The test's path, or the function's for a group.
        name: String,
        /// The cases.
        tests: Vec<Test>,
    },
    /// An example in the documentation.
    Doctest(Doctest),
    /// A call of a program.
    Program(Program),
}

impl Task {
    /// The path of the function that it begins with.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Task::Tests { name, .. } => name,
            Task::Doctest(doctest) => &doctest.test.name,
            Task::Program(_) => MAIN,
        }
    }

    /// It as messages name it.
    #[must_use]
    pub fn what(&self) -> String {
        match self {
            Task::Program(program) => program.to_string(),
            _ => self.name().to_owned(),
        }
    }

    /// What kind of entry it is.
    #[must_use]
    pub fn kind(&self) -> EntryKind {
        match self {
            Task::Tests { .. } => EntryKind::Test,
            Task::Doctest(_) => EntryKind::Doctest,
            Task::Program(_) => EntryKind::Program,
        }
    }

    /// Its cases; only a test has any.
    #[must_use]
    pub fn tests(&self) -> &[Test] {
        match self {
            Task::Tests { tests, .. } => tests,
            _ => &[],
        }
    }

    /// The call of a program.
    #[must_use]
    pub fn program(&self) -> Option<&Program> {
        match self {
            Task::Program(program) => Some(program),
            _ => None,
        }
    }

    /// Compiles what cargo does not: a doctest.
    ///
    /// # Errors
    /// As [`Doctest::compile`].
    pub fn compile(&self, target: &TestTarget) -> Result<()> {
        match self {
            Task::Doctest(doctest) => doctest.compile(target),
            _ => Ok(()),
        }
    }

    /// What is run; with `ignored`, ignored cases too.
    #[must_use]
    pub fn entry(&self, target: &TestTarget, ignored: bool) -> Entry {
        match self {
            Task::Doctest(doctest) => Entry::Program(doctest.program(&target.package_dir)),
            Task::Tests { tests, .. } => {
                Entry::Tests(Cases { names: tests.iter().map(|t| t.name.clone()).collect(), ignored })
            }
            Task::Program(program) => Entry::Program(program.clone()),
        }
    }

    /// It runs nothing unless ignored tests are asked for.
    #[must_use]
    pub fn is_ignored(&self) -> bool {
        match self {
            Task::Tests { tests, .. } => tests.iter().all(|t| t.ignored),
            _ => false,
        }
    }
}

/// Groups tests into tasks: cases of one function belong together.
#[must_use]
pub fn tasks(tests: Vec<Test>) -> Vec<Task> {
    let mut out: Vec<(String, Vec<Test>)> = Vec::new();
    for test in tests {
        let name = test.group.clone().unwrap_or_else(|| test.name.clone());
        match out.iter_mut().find(|(n, _)| *n == name && test.group.is_some()) {
            Some((_, tests)) => tests.push(test),
            None => out.push((name, vec![test])),
        }
    }
    out.into_iter().map(|(name, tests)| Task::Tests { name, tests }).collect()
}
