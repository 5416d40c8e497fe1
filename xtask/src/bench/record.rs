//! What was measured: one JSON line each, in the work folder, so that an interrupted run goes on where it was.

use super::size::Size;
use crate::corpus::rows::Key;
use crate::jsonl;
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// A tool that makes a small file of a large one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ToolName {
    /// This tool.
    Gistify,
    /// `treereduce-rust`.
    Treereduce,
    /// C-Vise.
    Cvise,
}

impl ToolName {
    /// All of them.
    pub(super) const ALL: [Self; 3] = [Self::Gistify, Self::Treereduce, Self::Cvise];
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gistify => "cargo gistify",
            Self::Treereduce => "treereduce-rust",
            Self::Cvise => "cvise",
        })
    }
}

/// What it was measured with.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Setting {
    /// The measured tool's name and version.
    pub(super) version: String,
    /// What `rustc --version` prints.
    pub(super) rustc: String,
    /// The machine's cores.
    pub(super) cores: usize,
}

/// One tool on one test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Race {
    /// The test.
    pub(super) test: Key,
    /// The tool.
    pub(super) tool: ToolName,
    /// When it was to be stopped, in seconds.
    pub(super) limit: u64,
    /// Versions.
    #[serde(flatten)]
    pub(super) setting: Setting,
    /// The command.
    pub(super) command: String,
    /// Whether it was stopped at the limit.
    pub(super) stopped: bool,
    /// Wall time of each run, in seconds.
    pub(super) walls: Vec<f64>,
    /// Wall time of each plain `cargo test --no-run`; only beside this tool.
    pub(super) plain: Vec<f64>,
    /// Compiles.
    pub(super) calls: u64,
    /// Candidates that were checked; only of the others.
    pub(super) checks: Option<u64>,
    /// The full bundle's size.
    pub(super) bundle: Size,
    /// The result's size.
    pub(super) size: Size,
    /// Tokens of the smallest file so far, by seconds.
    pub(super) curve: Vec<(f64, u64)>,
}

/// This tool on a crate of a given length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Growth {
    /// Code lines that were asked for.
    pub(super) lines: usize,
    /// Versions.
    #[serde(flatten)]
    pub(super) setting: Setting,
    /// What was measured.
    #[serde(flatten)]
    pub(super) measured: Measured,
}

/// The cost of this tool for one test, and of a plain build.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Measured {
    /// Wall time of each plain `cargo test --no-run` of the target, in seconds.
    pub(super) plain: Vec<f64>,
    /// Wall time of each first run, in seconds.
    pub(super) first: Vec<f64>,
    /// Wall time of each run after a first one.
    pub(super) again: Vec<f64>,
    /// Compiles of the first run, cargo's included.
    pub(super) calls: u64,
    /// Code lines of the bundle.
    pub(super) bundle_lines: u64,
    /// Code lines of the gist.
    pub(super) code_lines: u64,
    /// Peak memory of the tool itself.
    pub(super) peak_bytes: u64,
    /// Seconds by stage, of the last first run.
    pub(super) stages: BTreeMap<String, f64>,
}

/// A line of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "series", rename_all = "kebab-case")]
pub(super) enum Record {
    /// Side by side.
    Race(Race),
    /// Growth.
    Growth(Growth),
}

/// The latest record of each measurement.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Records {
    /// By test, tool and limit.
    pub(super) races: BTreeMap<(Key, ToolName, u64), Race>,
    /// By length.
    pub(super) growth: BTreeMap<usize, Growth>,
}

impl Records {
    fn add(&mut self, record: Record) {
        match record {
            Record::Race(race) => {
                self.races.insert((race.test.clone(), race.tool, race.limit), race);
            }
            Record::Growth(growth) => {
                self.growth.insert(growth.lines, growth);
            }
        }
    }
}

/// Reads all records.
pub(super) fn load(file: &Path) -> Result<Records> {
    let mut out = Records::default();
    jsonl::load(file)?.into_iter().for_each(|record| out.add(record));
    Ok(out)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::corpus::rows::Target;

    pub(in super::super) fn setting(tool: &str) -> Setting {
        Setting { version: format!("{tool} 1.0"), rustc: "rustc 1.95.0".to_owned(), cores: 2 }
    }

    pub(in super::super) fn race(tool: ToolName, limit: u64, wall: f64, tokens: u64) -> Race {
        let size = |tokens| Size { tokens, code_lines: tokens / 5, bytes: tokens * 4 };
        Race {
            test: Key {
                krate: "heck".to_owned(),
                version: "0.5.0".to_owned(),
                target: Target::Lib,
                test: "a::tests::b".to_owned(),
            },
            tool,
            limit,
            setting: setting(&tool.to_string()),
            command: format!("{tool} bundle.rs"),
            stopped: wall >= limit as f64,
            walls: vec![wall],
            plain: if tool == ToolName::Gistify { vec![0.5] } else { Vec::new() },
            calls: 10,
            checks: (tool != ToolName::Gistify).then_some(99),
            bundle: size(4_000),
            size: size(tokens),
            curve: vec![(wall / 2.0, 2 * tokens), (wall, tokens)],
        }
    }

    pub(in super::super) fn growth(lines: usize, first: f64) -> Growth {
        let measured = Measured {
            plain: vec![1.0],
            first: vec![first, first + 1.0, first + 2.0],
            again: vec![first / 2.0],
            calls: 7,
            bundle_lines: lines as u64 + 5,
            code_lines: 90,
            peak_bytes: 50 << 20,
            stages: [("build".to_owned(), first / 2.0), ("graph".to_owned(), first / 4.0)].into(),
        };
        Growth { lines, setting: setting("cargo gistify"), measured }
    }

    #[test]
    fn last_record_of_a_measurement_counts() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("results.jsonl");
        assert_eq!(load(&file).unwrap(), Records::default());
        for record in [
            Record::Race(race(ToolName::Cvise, 60, 60.0, 900)),
            Record::Race(race(ToolName::Cvise, 60, 60.0, 800)),
            Record::Race(race(ToolName::Cvise, 1200, 1200.0, 700)),
            Record::Growth(growth(1000, 2.0)),
            Record::Growth(growth(1000, 3.0)),
        ] {
            jsonl::append(&file, &record).unwrap();
        }
        let records = load(&file).unwrap();
        assert_eq!(records.races.values().map(|r| r.size.tokens).collect::<Vec<_>>(), [800, 700]);
        assert_eq!(records.growth.into_values().collect::<Vec<_>>(), [growth(1000, 3.0)]);
    }
}
