//! The page with the results, and its plots.

use super::plot::{Panel, Series, Style, svg};
use super::record::{Growth, Race, Records, Setting, ToolName};
use crate::corpus::rows::Key;
use crate::corpus::stats::median;
use std::collections::{BTreeMap, BTreeSet};

/// The page and the plots beside it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Page {
    /// Markdown.
    pub(super) text: String,
    /// Names and contents.
    pub(super) plots: Vec<(&'static str, String)>,
}

/// What the target asks for: so many times faster …
const FASTER: f64 = 100.0;

/// … at no more than this share of the size.
const SHARE: f64 = 0.5;

const METHOD: &str = "\
All tools run one after the other on the same machine, on all its cores. This tool starts from the project as it is after
`cargo test` has built the dependencies: nothing of the package itself and nothing of an earlier run is kept. Its time includes
the build with coverage, listing, bundling, the reference runs in the project, the reduction and the verification. The time is the
median of its runs.

The others start from the full bundle of the same test (`cargo gistify TEST --level bundle`); the time to make it is not
counted for them. `treereduce-rust` runs with `--fast`, as its guide advises for speed, with one job a core and its files in
memory; `cvise` with `--not-c`, as it asks for other languages than C, and one test a core.

Their interestingness test is `xtask bench-check`, a program. A candidate passes when

1. it parses, and the test stands in its module with the same tokens: its function, or the macro call that makes it and the
   macro's definition (else it is refused without a compile);
2. rustc compiles it with the arguments that cargo uses for the test's target, without debug info, incremental compilation
   and lints. It is one compile to a program: rustc makes code only after types and borrows are right, so an `--emit=metadata`
   in front would cost more than it saves;
3. the test, run alone in an empty folder, ends with the same status and prints the same to both outputs as in the full
   bundle. How many other tests there are and how long it took is left out.

A compile or a run that takes too long fails. A candidate that passes and is the smallest so far, in tokens, is kept: that
is the tool's **state at any time**, also at the stop (`treereduce-rust` itself writes only at its end). It is never larger than what
the tool itself would give back.

Compiler calls are counted by a script in front of rustc that appends a byte to a file; questions for the version or for `cfg`s
don't count. Cargo's calls for the project count for this tool.

**What is not comparable.** A gist has to be faithful: each of its lines is a line of the project, nothing that ran is cut or changed,
no body is a stub, and the test's helpers are the project's. The others may change any token but those of the test, as
long as it still passes: that can't be asked of them. So their task is easier in this respect, and a small result of theirs may do
something else than the project does.
";

/// The middle of some walls.
pub(super) fn middle(walls: &[f64]) -> f64 {
    median(walls.iter().copied()).unwrap_or(0.0)
}

/// Renders page and plots; `command` is what made them.
pub(super) fn render(records: &Records, limit: u64, command: &str) -> Page {
    let mut tests: BTreeMap<&Key, Vec<&Race>> = BTreeMap::new();
    for race in records.races.values().filter(|r| r.limit == limit) {
        tests.entry(&race.test).or_default().push(race);
    }
    let mut tests: Vec<(&Key, Vec<&Race>)> = tests.into_iter().collect();
    tests.sort_by_key(|(_, races)| races.first().map(|r| r.bundle));
    let growth: Vec<&Growth> = records.growth.values().collect();
    let settings: Vec<&Setting> =
        tests.iter().flat_map(|(_, races)| races).map(|r| &r.setting).chain(growth.iter().map(|g| &g.setting)).collect();
    let mut out = format!("# Benchmarks\n\nMade by `{command}`; don't edit. {}.\n", versions(&settings));
    let mut plots = Vec::new();
    if !tests.is_empty() {
        out += &format!("\n## Side by side\n\nThe others are stopped after {limit} s.\n\n");
        out += &side_by_side(&tests);
        out += "\nA test's size is that of its crate as one file. `at twice` is when a tool's smallest file so far was first at\n\
                most twice as large as the gist, in tokens.\n\n";
        out += "![Size over time](benchmarks-race.svg)\n\n";
        out += &format!(
            "The target: at least {FASTER:.0} times faster than the better of the two (the one with the smaller result), at no more\n\
             than {:.0}% of its size in tokens.\n\n",
            SHARE * 100.0
        );
        out += &against_better(&tests);
        out += "\n## Against a plain build\n\nThe first gist of a target beside `cargo test --no-run` of that target, both with only the dependencies built.\n\n";
        out += &against_plain(&tests);
        plots.push(("benchmarks-race.svg", race_plot(&tests)));
    }
    if !growth.is_empty() {
        out += "\n## Growth\n\nSynthetic crates without dependencies, built like real ones (modules, traits, generics, errors, a test in each module);\n\
                one test touches a part that is the same in all. `first` and `plain` start with nothing built; `again` is the same\n\
                test right after.\n\n";
        out += &growth_table(&growth);
        out += "\n![Cost by size](benchmarks-growth.svg)\n\n";
        out += &exponents(&growth);
        plots.push(("benchmarks-growth.svg", growth_plot(&growth, &tests)));
    }
    if !tests.is_empty() {
        out += "\n## How\n\n";
        out += METHOD;
        out += "\n## Commands\n\n```console\n";
        out += &commands(&tests);
        out += "```\n";
    }
    Page { text: out, plots }
}

fn versions(settings: &[&Setting]) -> String {
    let words: BTreeSet<&str> = settings.iter().map(|s| s.version.as_str()).collect();
    let compilers: BTreeSet<&str> = settings.iter().map(|s| s.rustc.as_str()).collect();
    let cores: BTreeSet<String> = settings.iter().map(|s| format!("{} cores", s.cores)).collect();
    let all: Vec<String> = words.into_iter().chain(compilers).map(str::to_owned).chain(cores).collect();
    all.join(", ")
}

fn side_by_side(tests: &[(&Key, Vec<&Race>)]) -> String {
    let mut rows = Vec::new();
    for (key, races) in tests {
        let own = of(races, ToolName::Gistify);
        for race in races {
            rows.push(vec![
                named(key),
                race.tool.to_string(),
                format!("{}{}", seconds(middle(&race.walls)), if race.stopped { ", stopped" } else { "" }),
                race.calls.to_string(),
                race.checks.map_or_else(dash, |n| n.to_string()),
                share(race.size.tokens, race.bundle.tokens),
                share(race.size.code_lines, race.bundle.code_lines),
                format!("{:.1} kB", race.size.bytes as f64 / 1000.0),
                match own {
                    Some(own) if race.tool != ToolName::Gistify => {
                        at_twice(race, own).map_or_else(|| "never".to_owned(), seconds)
                    }
                    _ => dash(),
                },
            ]);
        }
    }
    let heads = ["test", "tool", "time", "compiler calls", "checks", "tokens left", "code lines left", "file", "at twice"];
    table(&heads, &rows)
}

/// When a tool was first at most twice as large as the gist.
fn at_twice(race: &Race, own: &Race) -> Option<f64> {
    race.curve.iter().find(|(_, tokens)| *tokens as f64 * SHARE <= own.size.tokens as f64).map(|(at, _)| *at)
}

fn against_better(tests: &[(&Key, Vec<&Race>)]) -> String {
    let mut rows = Vec::new();
    for (key, races) in tests {
        let better = races.iter().filter(|r| r.tool != ToolName::Gistify).min_by_key(|r| r.size);
        if let (Some(own), Some(better)) = (of(races, ToolName::Gistify), better) {
            let faster = middle(&better.walls) / middle(&own.walls);
            let part = own.size.tokens as f64 / better.size.tokens as f64;
            let reached = if faster >= FASTER && part <= SHARE { "reached" } else { "not reached" };
            rows.push(vec![
                named(key),
                better.tool.to_string(),
                format!("{faster:.0}×"),
                format!("{:.0}%", part * 100.0),
                reached.to_owned(),
            ]);
        }
    }
    table(&["test", "the better", "faster", "size", "target"], &rows)
}

fn against_plain(tests: &[(&Key, Vec<&Race>)]) -> String {
    let rows: Vec<Vec<String>> = tests
        .iter()
        .filter_map(|(key, races)| {
            let own = of(races, ToolName::Gistify)?;
            let (plain, first) = (middle(&own.plain), middle(&own.walls));
            Some(vec![named(key), seconds(plain), seconds(first), format!("{:.1}×", first / plain), own.calls.to_string()])
        })
        .collect();
    table(&["test", "plain", "first gist", "factor", "compiler calls"], &rows)
}

fn growth_table(growth: &[&Growth]) -> String {
    let rows: Vec<Vec<String>> = growth
        .iter()
        .map(|g| {
            let m = &g.measured;
            let mut stages: Vec<(&String, &f64)> = m.stages.iter().collect();
            stages.sort_by(|a, b| b.1.total_cmp(a.1));
            let most: Vec<String> = stages.iter().take(3).map(|(name, s)| format!("{name} {}", seconds(**s))).collect();
            vec![
                m.bundle_lines.to_string(),
                seconds(middle(&m.plain)),
                seconds(middle(&m.first)),
                format!("{:.1}×", middle(&m.first) / middle(&m.plain)),
                seconds(middle(&m.again)),
                m.calls.to_string(),
                format!("{} MiB", m.peak_bytes >> 20),
                m.code_lines.to_string(),
                most.join(", "),
            ]
        })
        .collect();
    let heads = [
        "code lines",
        "plain",
        "first",
        "factor",
        "again",
        "compiler calls",
        "peak memory of the tool",
        "code lines of the gist",
        "longest stages of the first",
    ];
    table(&heads, &rows)
}

/// How steep the cost is between neighbours: 1 is in proportion to size.
fn exponents(growth: &[&Growth]) -> String {
    let slope = |a: &Growth, b: &Growth, of: fn(&Growth) -> f64| {
        (of(b) / of(a)).ln() / (b.measured.bundle_lines as f64 / a.measured.bundle_lines as f64).ln()
    };
    let rows: Vec<Vec<String>> = growth
        .windows(2)
        .map(|pair| {
            let by = |of: fn(&Growth) -> f64| format!("{:.2}", slope(pair[0], pair[1], of));
            vec![
                format!("{} to {}", pair[0].measured.bundle_lines, pair[1].measured.bundle_lines),
                by(|g| middle(&g.measured.plain)),
                by(|g| middle(&g.measured.first)),
                by(|g| middle(&g.measured.again)),
                by(|g| g.measured.peak_bytes as f64),
            ]
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "How the cost grows from one size to the next, as an exponent (1 is in proportion):\n\n{}",
        table(&["code lines", "plain", "first", "again", "memory"], &rows)
    )
}

fn commands(tests: &[(&Key, Vec<&Race>)]) -> String {
    let mut out = String::new();
    for (key, races) in tests {
        out += &format!("# {} {}\n", key.krate, key.version);
        for race in races {
            out += &format!("$ {}\n", race.command);
        }
    }
    out
}

fn race_plot(tests: &[(&Key, Vec<&Race>)]) -> String {
    let panels: Vec<Panel> = tests
        .iter()
        .map(|(key, races)| {
            let line = |race: &&Race| {
                let mut points = race.curve.clone();
                if let (true, Some(last)) = (race.tool != ToolName::Gistify, race.curve.last()) {
                    points.push((middle(&race.walls), last.1));
                }
                let points = points.into_iter().map(|(s, tokens)| (s, tokens as f64)).collect();
                Series { name: race.tool.to_string(), style: Style::Steps, points }
            };
            Panel {
                title: format!("{} {}", key.krate, key.version),
                x: "seconds".to_owned(),
                y: "tokens left".to_owned(),
                series: races.iter().map(line).collect(),
            }
        })
        .collect();
    svg(&panels)
}

fn growth_plot(growth: &[&Growth], tests: &[(&Key, Vec<&Race>)]) -> String {
    let line = |name: &str, of: fn(&Growth) -> f64| Series {
        name: name.to_owned(),
        style: Style::Line,
        points: growth.iter().map(|g| (g.measured.bundle_lines as f64, of(g))).collect(),
    };
    let own = || tests.iter().filter_map(|(_, races)| super::page::of(races, ToolName::Gistify));
    let dots = |name: &str, of: fn(&Race) -> f64| Series {
        name: name.to_owned(),
        style: Style::Dots,
        points: own().map(|race| (race.bundle.code_lines as f64, of(race))).collect(),
    };
    let panel = |title: &str, y: &str, series| Panel {
        title: title.to_owned(),
        x: "code lines".to_owned(),
        y: y.to_owned(),
        series,
    };
    svg(&[
        panel(
            "time",
            "seconds",
            vec![
                line("plain: cargo test --no-run", |g| middle(&g.measured.plain)),
                line("first: cargo gistify, nothing built", |g| middle(&g.measured.first)),
                line("again: cargo gistify, right after", |g| middle(&g.measured.again)),
                dots("first, real crates", |race| middle(&race.walls)),
            ],
        ),
        panel("memory", "MiB", vec![line("peak memory of the tool", |g| g.measured.peak_bytes as f64 / f64::from(1 << 20))]),
    ])
}

fn of<'a>(races: &[&'a Race], tool: ToolName) -> Option<&'a Race> {
    races.iter().copied().find(|r| r.tool == tool)
}

fn named(key: &Key) -> String {
    format!("{} {} `{}`", key.krate, key.target, key.test)
}

fn share(part: u64, whole: u64) -> String {
    format!("{part} of {whole} ({:.1}%)", 100.0 * part as f64 / whole as f64)
}

fn seconds(value: f64) -> String {
    if value < 100.0 { format!("{value:.1} s") } else { format!("{value:.0} s") }
}

fn dash() -> String {
    "-".to_owned()
}

fn table(heads: &[&str], rows: &[Vec<String>]) -> String {
    let mut out = format!("| {} |\n|{}\n", heads.join(" | "), "---|".repeat(heads.len()));
    for row in rows {
        out += &format!("| {} |\n", row.join(" | "));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::{growth, race};
    use super::*;

    fn records() -> Records {
        let races = [
            race(ToolName::Gistify, 1200, 2.0, 400),
            race(ToolName::Treereduce, 1200, 1200.0, 900),
            race(ToolName::Cvise, 1200, 1200.0, 1000),
            race(ToolName::Cvise, 60, 60.0, 7777),
        ];
        Records {
            races: races.into_iter().map(|r| ((r.test.clone(), r.tool, r.limit), r)).collect(),
            growth: [growth(1000, 2.0), growth(10_000, 20.0)].into_iter().map(|g| (g.lines, g)).collect(),
        }
    }

    #[test]
    fn page_compares_with_the_better_of_the_two() {
        let page = render(&records(), 1200, "cargo xtask bench").text;
        assert!(page.starts_with(
            "# Benchmarks\n\nMade by `cargo xtask bench`; don't edit. cargo gistify 1.0, cvise 1.0, treereduce-rust 1.0,"
        ));
        assert!(page.contains("| heck lib `a::tests::b` | treereduce-rust | 600× | 44% | reached |"), "{page}");
        assert!(page.contains("| cvise | 1200 s, stopped | 10 | 99 | 1000 of 4000 (25.0%) |"));
        assert!(!page.contains("7777"), "what was measured with another limit is no result of this one");
    }

    #[test]
    fn target_is_not_reached_when_the_other_is_as_small() {
        let mut records = records();
        for race in records.races.values_mut().filter(|r| r.tool == ToolName::Cvise) {
            race.size.tokens = 700;
        }
        assert!(render(&records, 1200, "x").text.contains("| cvise | 600× | 57% | not reached |"));
    }

    #[test]
    fn time_at_twice_the_size_is_read_off_the_curve() {
        let (own, other) = (race(ToolName::Gistify, 60, 1.0, 400), race(ToolName::Cvise, 60, 50.0, 800));
        assert_eq!(at_twice(&other, &own), Some(50.0));
        assert_eq!(at_twice(&race(ToolName::Cvise, 60, 50.0, 801), &own), None);
    }

    #[test]
    fn growth_is_an_exponent() {
        let page = render(&records(), 1200, "x");
        let row = page.text.lines().find(|l| l.starts_with("| 1005 to 10005 |")).unwrap();
        assert!(row.contains("| 0.00 | 0.85 | 1.00 | 0.00 |"), "{row}");
        assert!(page.text.contains("build 10.0 s, graph 5.0 s"));
        assert_eq!(
            page.plots.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
            ["benchmarks-race.svg", "benchmarks-growth.svg"]
        );
    }

    #[test]
    fn page_without_races_has_growth_alone() {
        let records = Records { races: BTreeMap::new(), ..records() };
        let page = render(&records, 1200, "x");
        assert!(page.text.contains("## Growth") && !page.text.contains("## Side by side"));
        assert_eq!(page.plots.len(), 1);
    }
}
