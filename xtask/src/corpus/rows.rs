//! The corpus as data: which tests of which crates, and which of them were asked for.

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use std::fmt;

const TSV: &str = include_str!("../../corpus/public.tsv");

/// How much code a crate has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, clap::ValueEnum)]
#[value(rename_all = "UPPER")]
pub(crate) enum Size {
    /// Fewer than 1,000 code lines.
    S,
    /// Fewer than 3,500.
    M,
    /// Fewer than 10,000.
    L,
    /// More.
    #[serde(rename = "XL")]
    #[value(name = "XL")]
    Xl,
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::S => "S",
            Self::M => "M",
            Self::L => "L",
            Self::Xl => "XL",
        })
    }
}

/// The cargo target that a test belongs to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(crate) enum Target {
    /// A unit test of the library.
    Lib,
    /// An integration test, by the target's name.
    Test(String),
}

impl Target {
    /// The arguments that select it, for cargo and for the tool.
    pub(crate) fn args(&self) -> Vec<&str> {
        match self {
            Self::Lib => vec!["--lib"],
            Self::Test(name) => vec!["--test", name],
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lib => f.write_str("lib"),
            Self::Test(name) => write!(f, "test:{name}"),
        }
    }
}

impl From<Target> for String {
    fn from(target: Target) -> Self {
        target.to_string()
    }
}

impl TryFrom<String> for Target {
    type Error = anyhow::Error;

    fn try_from(text: String) -> Result<Self> {
        match text.split_once(':') {
            None if text == "lib" => Ok(Self::Lib),
            Some(("test", name)) => Ok(Self::Test(name.to_owned())),
            _ => bail!("`{text}` is neither `lib` nor `test:NAME`"),
        }
    }
}

/// What names a test within the corpus.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct Key {
    /// The crate's name.
    #[serde(rename = "crate")]
    pub(crate) krate: String,
    /// Its exact version.
    pub(crate) version: String,
    /// The target.
    pub(crate) target: Target,
    /// The test's path in the target.
    pub(crate) test: String,
}

/// Where a test stands in its crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The file, from the crate's folder.
    pub(crate) file: String,
    /// The line, from 1.
    pub(crate) line: usize,
}

/// One test of the corpus.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// Its name.
    pub(crate) key: Key,
    /// The size of its crate.
    pub(crate) size: Size,
    /// Where it is written, unless a macro makes it and the compiler did not say.
    pub(crate) place: Option<Place>,
    /// The edition of its crate.
    pub(crate) edition: String,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.key.krate, self.key.target, self.key.test)
    }
}

/// Which rows were asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    /// Only crates of these sizes; all when empty.
    pub(crate) sizes: Vec<Size>,
    /// Only these crates; all when empty.
    pub(crate) crates: Vec<String>,
    /// At most so many tests of each crate.
    pub(crate) limit: Option<usize>,
}

/// The rows of the corpus that are selected, in the corpus's order.
pub(crate) fn select(selection: &Selection) -> Result<Vec<Row>> {
    let all = parse(TSV)?;
    for name in &selection.crates {
        ensure!(all.iter().any(|r| r.key.krate == *name), "no crate `{name}` in the corpus");
    }
    let mut out: Vec<Row> = Vec::new();
    for row in all {
        let sized = selection.sizes.is_empty() || selection.sizes.contains(&row.size);
        let named = selection.crates.is_empty() || selection.crates.contains(&row.key.krate);
        let before = out.iter().filter(|r| r.key.krate == row.key.krate).count();
        if sized && named && selection.limit.is_none_or(|limit| before < limit) {
            out.push(row);
        }
    }
    Ok(out)
}

fn parse(tsv: &str) -> Result<Vec<Row>> {
    tsv.lines().skip(1).map(|line| row(line).with_context(|| format!("corpus row `{line}`"))).collect()
}

fn row(line: &str) -> Result<Row> {
    let columns: Vec<&str> = line.split('\t').collect();
    let &[krate, version, size, edition, target, test, _should_panic, source, _hazards] = columns.as_slice() else {
        bail!("it has {} columns, not 9", columns.len());
    };
    let size = match size {
        "S" => Size::S,
        "M" => Size::M,
        "L" => Size::L,
        "XL" => Size::Xl,
        other => bail!("unknown size `{other}`"),
    };
    let place = match source.rsplit_once(':') {
        Some((file, line)) => Some(Place { file: file.to_owned(), line: line.parse()? }),
        None => None,
    };
    let key = Key {
        krate: krate.to_owned(),
        version: version.to_owned(),
        target: Target::try_from(target.to_owned())?,
        test: test.to_owned(),
    };
    Ok(Row { key, size, place, edition: edition.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_corpus_is_read() {
        let all = select(&Selection::default()).unwrap();
        assert_eq!(all.len(), 192);
        assert_eq!(all[0].key.krate, "arrayvec");
        assert_eq!(all[0].place, Some(Place { file: "src/char.rs".to_owned(), line: 79 }));
        assert_eq!(all[1].key.target, Target::Test("tests".to_owned()));
        assert!(all.iter().any(|r| r.place.is_none()));
    }

    #[test]
    fn selection_narrows_by_size_crate_and_count() {
        let picked = |sizes: &[Size], crates: &[&str], limit| {
            let crates = crates.iter().map(|c| (*c).to_owned()).collect();
            select(&Selection { sizes: sizes.to_vec(), crates, limit }).unwrap().len()
        };
        assert_eq!(picked(&[Size::S], &[], None), 40);
        assert_eq!(picked(&[], &["heck", "slab"], Some(3)), 6);
        assert_eq!(picked(&[Size::L], &["heck"], None), 0);
    }

    #[test]
    fn unknown_crate_is_an_error() {
        let selection = Selection { crates: vec!["nope".to_owned()], ..Selection::default() };
        assert!(select(&selection).unwrap_err().to_string().contains("no crate `nope`"));
    }
}
