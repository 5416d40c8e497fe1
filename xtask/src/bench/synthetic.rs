//! Crates of a given length that are built like real ones: modules in folders, structs, enums, traits with
//! implementations and trait objects, generics, errors, a test in each module. One test touches a part that is the
//! same in all of them.

use anyhow::Result;
use fs_err as fs;
use std::fmt::Write as _;
use std::path::Path;

/// The crate's name.
pub(super) const NAME: &str = "synthetic";

/// The test that touches a part of fixed size.
pub(super) const TEST: &str = "tests::a_fixed_part_is_touched";

/// How many leaf modules stand in one folder.
const FOLDER: usize = 12;

const MANIFEST: &str =
    "[package]\nname = \"synthetic\"\nversion = \"0.0.0\"\nedition = \"2021\"\npublish = false\n\n[workspace]\n";

/// The root, in front of the modules.
const ROOT: &str = "//! A crate of a given length.

use std::fmt;

/// What can go wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// A value is out of bounds.
    Bounds { index: usize, len: usize },
    /// A word is not known.
    Word(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Bounds { index, len } => write!(f, \"{index} is not below {len}\"),
            Error::Word(word) => write!(f, \"`{word}` is not known\"),
        }
    }
}

impl std::error::Error for Error {}

/// What all records can do.
pub trait Record: fmt::Debug {
    /// A key to sort by.
    fn key(&self) -> u64;
    /// A name to show.
    fn name(&self) -> String {
        format!(\"record {}\", self.key())
    }
}
";

/// The test that is extracted, and the modules it goes through.
const TESTS: &str = "
#[cfg(test)]
mod tests {
    use super::folder0::m0::{Item0, Store0};
    use super::folder0::m1::{State1, Store1};
    use super::Record as _;

    #[test]
    fn a_fixed_part_is_touched() {
        let mut store = Store0::new();
        store.push(Item0::new(3, \"three\"));
        store.push(Item0::new(1, \"one\"));
        assert_eq!(store.total(|item| item.key()), 4);
        assert_eq!(store.get(5).unwrap_err().to_string(), \"5 is not below 2\");
        assert_eq!(State1::parse(\"busy 7\").unwrap().advance(), State1::Done);
        assert_eq!(Store1::<u8>::new().len(), 0);
    }
}
";

/// A leaf module; `$n` is its number, `$p` that of one before it (or itself), `$f` the folder of that one.
const LEAF: &str = "//! Part $n of the crate.

use crate::{Error, Record};
use std::collections::BTreeMap;

/// An item of part $n.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Item$n {
    id: u64,
    label: String,
    weight: u32,
}

impl Item$n {
    /// A new one.
    pub fn new(id: u64, label: &str) -> Self {
        Self { id, label: label.to_owned(), weight: $n }
    }

    /// With another weight.
    pub fn weighted(mut self, weight: u32) -> Self {
        self.weight = weight;
        self
    }

    /// The same as an item of another part.
    pub fn converted(&self) -> crate::folder$f::m$p::Item$p {
        crate::folder$f::m$p::Item$p::new(self.id, &self.label)
    }
}

impl Record for Item$n {
    fn key(&self) -> u64 {
        self.id
    }

    fn name(&self) -> String {
        if self.label.is_empty() {
            format!(\"item {} of $n\", self.id)
        } else {
            self.label.clone()
        }
    }
}

/// What an item goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State$n {
    Idle,
    Busy(u32),
    Done,
}

impl State$n {
    /// From a word and, for busy ones, a number.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut words = text.split_whitespace();
        match (words.next(), words.next()) {
            (Some(\"idle\"), None) => Ok(State$n::Idle),
            (Some(\"done\"), None) => Ok(State$n::Done),
            (Some(\"busy\"), Some(count)) => {
                count.parse().map(State$n::Busy).map_err(|_| Error::Word(count.to_owned()))
            }
            (other, _) => Err(Error::Word(other.unwrap_or_default().to_owned())),
        }
    }

    /// One step on.
    pub fn advance(self) -> Self {
        match self {
            State$n::Idle => State$n::Busy($n + 1),
            State$n::Busy(left) if left > 100 => State$n::Busy(left - 100),
            State$n::Busy(_) | State$n::Done => State$n::Done,
        }
    }
}

/// Items in order.
#[derive(Clone, Debug)]
pub struct Store$n<T> {
    items: Vec<T>,
    names: BTreeMap<String, usize>,
}

impl<T> Store$n<T> {
    /// An empty one.
    pub fn new() -> Self {
        Self { items: Vec::new(), names: BTreeMap::new() }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// One of them.
    pub fn get(&self, index: usize) -> Result<&T, Error> {
        self.items.get(index).ok_or(Error::Bounds { index, len: self.items.len() })
    }

    /// The sum of something of each.
    pub fn total(&self, of: impl Fn(&T) -> u64) -> u64 {
        self.items.iter().map(of).sum()
    }
}

impl<T: Record> Store$n<T> {
    /// Adds one.
    pub fn push(&mut self, item: T) {
        self.names.insert(item.name(), self.items.len());
        self.items.push(item);
    }

    /// The one of a name.
    pub fn named(&self, name: &str) -> Option<&T> {
        self.names.get(name).and_then(|&at| self.items.get(at))
    }

    /// All, by their keys.
    pub fn sorted(&self) -> Vec<&dyn Record>
    where
        T: 'static,
    {
        let mut all: Vec<&dyn Record> = self.items.iter().map(|item| item as &dyn Record).collect();
        all.sort_by_key(|item| item.key());
        all
    }
}

impl<T> Default for Store$n<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Record> Extend<T> for Store$n<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        for item in items {
            self.push(item);
        }
    }
}

/// Names and states from lines; what can't be read is left out, unless nothing can.
pub fn read(lines: &str) -> Result<BTreeMap<String, State$n>, Error> {
    let mut out = BTreeMap::new();
    let mut last = None;
    for line in lines.lines().filter(|l| !l.trim().is_empty()) {
        let Some((name, state)) = line.split_once(':') else {
            last = Some(Error::Word(line.to_owned()));
            continue;
        };
        match State$n::parse(state.trim()) {
            Ok(state) => {
                out.insert(name.trim().to_owned(), state);
            }
            Err(error) => last = Some(error),
        }
    }
    match last {
        Some(error) if out.is_empty() => Err(error),
        _ => Ok(out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_keep_names() {
        let mut store = Store$n::new();
        store.extend([Item$n::new(2, \"\"), Item$n::new(1, \"one\").weighted(9)]);
        assert_eq!(store.named(\"one\").map(Record::key), Some(1));
        assert_eq!(store.sorted()[0].name(), \"one\");
        assert_eq!(store.get(0).unwrap().converted().key(), 2);
        assert!(read(\"a: idle\\nb\").unwrap().contains_key(\"a\"));
    }
}
";

/// Writes a crate of about so many code lines into a folder, which is emptied of sources first.
pub(super) fn write(folder: &Path, lines: usize) -> Result<()> {
    let sources = folder.join("src");
    if sources.exists() {
        fs::remove_dir_all(&sources)?;
    }
    fs::create_dir_all(&sources)?;
    fs::write(folder.join("Cargo.toml"), MANIFEST)?;
    for (name, text) in files(lines) {
        let file = sources.join(name);
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(file, text)?;
    }
    Ok(())
}

/// The files below `src`, with their texts.
fn files(lines: usize) -> Vec<(String, String)> {
    let leaves = lines.saturating_sub(code_lines(ROOT) + code_lines(TESTS)).div_ceil(code_lines(LEAF)).max(2);
    let mut root = String::from(ROOT);
    let mut out = Vec::new();
    for folder in 0..leaves.div_ceil(FOLDER) {
        writeln!(root, "pub mod folder{folder};").expect("writing to a string");
        let numbers = folder * FOLDER..leaves.min((folder + 1) * FOLDER);
        let modules: String = numbers.clone().map(|n| format!("pub mod m{n};\n")).collect();
        out.push((format!("folder{folder}/mod.rs"), format!("//! Parts {} and on.\n\n{modules}", numbers.start)));
        out.extend(numbers.map(|n| (format!("folder{folder}/m{n}.rs"), leaf(n))));
    }
    root.push_str(TESTS);
    out.push(("lib.rs".to_owned(), root));
    out
}

fn leaf(number: usize) -> String {
    // Far and near, and never in a circle.
    let other = if number.is_multiple_of(2) { number / 2 } else { number - 1 };
    LEAF.replace("$n", &number.to_string()).replace("$p", &other.to_string()).replace("$f", &(other / FOLDER).to_string())
}

fn code_lines(text: &str) -> usize {
    text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with("//")).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crate_has_about_the_length_that_was_asked_for() {
        for lines in [1_000, 3_000, 30_000] {
            let written: usize = files(lines).iter().map(|(_, text)| code_lines(text)).sum();
            assert!((lines..lines + lines / 5).contains(&written), "{written} for {lines}");
        }
    }

    #[test]
    fn what_the_test_touches_is_the_same_in_each() {
        let part = |lines| {
            let all = files(lines);
            ["folder0/m0.rs", "folder0/m1.rs"].map(|name| all.iter().find(|(n, _)| n == name).unwrap().1.clone())
        };
        assert_eq!(part(1_000), part(10_000));
    }

    #[test]
    fn crate_passes_its_tests() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), 1_000).unwrap();
        let mut test = crate::corpus::child::cargo();
        test.args(["test", "--offline", "-q"]).current_dir(dir.path()).env("RUSTFLAGS", "-Dwarnings");
        let out = crate::corpus::child::output(&mut test, dir.path(), "test").unwrap();
        assert!(out.contains("0 failed"), "{out}");
    }
}
