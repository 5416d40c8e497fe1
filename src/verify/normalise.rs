//! The normaliser: what differs between two faithful runs is made equal, by the same rules on both sides.
//!
//! First, once each: colours go, panic and backtrace locations are mapped (by a callback), then names of tests and of
//! types. Then paths and the fixed [`RULES`], in their order, until nothing changes (one can lay bare another). So
//! applying it twice changes nothing more, as long as no name that is passed in stands for one that is replaced.

use regex::{Captures, Regex};
use std::sync::LazyLock;

/// A fixed rule: what matches `pattern` becomes `replacement`.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Its name in the docs.
    pub name: &'static str,
    /// What it matches (syntax of the `regex` crate).
    pub pattern: &'static str,
    /// What stands there afterwards; `$1` is the first group.
    pub replacement: &'static str,
    /// A text before and after it.
    pub example: (&'static str, &'static str),
}

/// The fixed rules, in the order they are applied.
pub const RULES: &[Rule] = &[
    Rule {
        name: "colours",
        pattern: r"\x1b\[[0-9;:]*[A-Za-z]|\x1b\(B|\x1b\]8;[^\x07\x1b]*(?:\x07|\x1b\\)",
        replacement: "",
        example: ("\u{1b}[31mred\u{1b}[0m", "red"),
    },
    Rule { name: "line ends", pattern: r"\r+\n", replacement: "\n", example: ("a\r\nb", "a\nb") },
    Rule {
        name: "number of a panicking thread",
        pattern: r"(thread '[^'\n]*')(?: \(\d+\))+",
        replacement: "$1",
        example: ("thread 'a::b' (1234) panicked at", "thread 'a::b' panicked at"),
    },
    Rule {
        name: "number of an unnamed panicking thread",
        pattern: r"(thread <unnamed>)(?: \(\d+\))+",
        replacement: "$1",
        example: ("thread <unnamed> (77) panicked at", "thread <unnamed> panicked at"),
    },
    Rule {
        name: "thread id",
        pattern: r"\bThreadId\(\d+\)",
        replacement: "ThreadId(<id>)",
        example: ("on ThreadId(2)", "on ThreadId(<id>)"),
    },
    Rule {
        name: "process id",
        pattern: r"\b((?i:pid|process id|process))( ?[:=] ?| )\d+\b",
        replacement: "$1$2<pid>",
        example: ("pid: 4711, process 12", "pid: <pid>, process <pid>"),
    },
    Rule {
        name: "temporary name",
        pattern: r"\.tmp[A-Za-z0-9]{6}\b",
        replacement: "<temp>",
        example: ("/x/.tmpAb3dE9/file", "/x/<temp>/file"),
    },
    Rule {
        name: "address",
        pattern: r"\b0x(?:0000)?[0-9a-f]{7,12}\b",
        replacement: "<address>",
        example: ("at 0x7ffd1c2b3a40, 0x1f", "at <address>, 0x1f"),
    },
    Rule {
        name: "duration",
        pattern: r"\b(?:\d+\.\d+ ?(?:ns|µs|us|ms|s)|\d+ ?(?:ns|µs|us|ms))\b",
        replacement: "<duration>",
        example: ("finished in 0.00s, 1.23ms, 17 µs, 5s", "finished in <duration>, <duration>, <duration>, 5s"),
    },
    Rule {
        name: "where proptest looks for its file of failures",
        pattern: r"(?m)^proptest: (?:FileFailurePersistence::\w+ set, but|Failed to find absolute path of source file) [^\n]*\n?",
        replacement: "",
        example: ("proptest: FileFailurePersistence::SourceParallel set, but no source file known\nx", "x"),
    },
];

static COMPILED: LazyLock<Vec<(Regex, &'static str)>> = LazyLock::new(|| {
    RULES.iter().filter_map(|rule| Regex::new(rule.pattern).ok().map(|regex| (regex, rule.replacement))).collect()
});

/// `file.rs:line:column`. After `panicked at ` and in a backtrace the path may hold blanks.
const LOCATION: &str = r#"(?m)(?:(?P<lead>panicked at |^ +at )(?P<whole>[^\n]*?\.rs)|(?P<word>[^\s:'"`(),\[\]{}<>]+\.rs)):(?P<line>\d+):(?P<column>\d+)"#;

static LOCATIONS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(LOCATION).ok());

/// Maps a location (path as printed, 1-based line, 1-based column) to the text that stands for it; `None` leaves it.
pub type MapLocation<'a> = dyn Fn(&str, usize, usize) -> Option<String> + 'a;

/// What depends on the side that is normalised.
#[derive(Default)]
pub struct Normaliser<'a> {
    /// Locations: the gist's are mapped to the project's, the project's are left (or both become the text of the line
    /// that they point at, where there is no source map).
    pub location: Option<Box<MapLocation<'a>>>,
    /// Names of tests: the gist's, the project's. Only whole names are replaced.
    pub tests: Vec<(String, String)>,
    /// Prefixes of paths of types, `::` at their end included, and what stands for them: `("gist::tests::", "")`.
    pub types: Vec<(String, String)>,
    /// Directories and what stands for them: the project's root, the gist's directory, `TMPDIR`. The longest first
    /// match wins; `/` is ignored.
    pub paths: Vec<(String, String)>,
}

/// Replacements that make new work for each other are stopped after that many rounds.
const MOST_ROUNDS: usize = 8;

impl Normaliser<'_> {
    /// The normalised text.
    ///
    /// ```
    /// use cargo_gistify::verify::normalise::Normaliser;
    /// let gist = Normaliser {
    ///     location: Some(Box::new(|path, line, column| {
    ///         (path == "gist.rs").then(|| format!("src/x.rs:{}:{column}", line - 30))
    ///     })),
    ///     tests: vec![("x_test::a".into(), "a".into())],
    ///     ..Normaliser::default()
    /// };
    /// assert_eq!(
    ///     gist.apply("thread 'x_test::a' (7) panicked at gist.rs:40:9:"),
    ///     "thread 'a' panicked at src/x.rs:10:9:"
    /// );
    /// ```
    #[must_use]
    pub fn apply(&self, text: &str) -> String {
        let mut text = strip_colours(text);
        if let Some(map) = &self.location {
            text = map_locations(&text, map);
        }
        text = replace_all(&text, &self.tests, is_whole_name);
        text = replace_all(&text, &self.types, |before, _| starts_path(before));
        let paths: Vec<(String, String)> = self
            .paths
            .iter()
            .map(|(from, to)| (from.trim_end_matches('/').to_owned(), to.clone()))
            .filter(|(from, _)| !from.is_empty())
            .collect();
        // One replacement can lay bare another: `0x7ffd1c2b3a40/tmp`.
        for _ in 0..MOST_ROUNDS {
            let next = round(&text, &paths);
            if next == text {
                break;
            }
            text = next;
        }
        text
    }
}

fn round(text: &str, paths: &[(String, String)]) -> String {
    let mut text = replace_all(text, paths, is_whole_directory);
    for (regex, replacement) in COMPILED.iter() {
        text = regex.replace_all(&text, *replacement).into_owned();
    }
    text
}

/// Colours first: they may stand in the middle of a name or a path, and in one another. What begins like one and is none
/// loses the character that it begins with, so that nothing that is done later can make one of it.
fn strip_colours(text: &str) -> String {
    let mut text = text.to_owned();
    for _ in 0..MOST_ROUNDS {
        let Some((regex, replacement)) = COMPILED.first().filter(|(regex, _)| regex.is_match(&text)) else { break };
        text = regex.replace_all(&text, *replacement).into_owned();
    }
    text.replace('\u{1b}', "")
}

fn map_locations(text: &str, map: &MapLocation<'_>) -> String {
    let Some(regex) = LOCATIONS.as_ref() else { return text.to_owned() };
    let replace = |found: &Captures<'_>| -> Option<String> {
        let path = found.name("whole").or(found.name("word"))?.as_str();
        let number = |name| found.name(name).and_then(|m| m.as_str().parse::<usize>().ok());
        let to = map(path, number("line")?, number("column")?)?;
        Some(format!("{}{to}", found.name("lead").map_or("", |m| m.as_str())))
    };
    regex.replace_all(text, |found: &Captures<'_>| replace(found).unwrap_or_else(|| found[0].to_owned())).into_owned()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// `/tmp` is not in `/var/tmp`, nor in `/tmp2`, `/tmp-x`, `/tmp.x`; it is in `/tmp.` at the end of a sentence.
fn is_whole_directory(before: &str, after: &str) -> bool {
    let mut next = after.chars();
    let goes_on = match next.next() {
        Some('.') => next.next().is_some_and(is_word),
        Some(c) => is_word(c) || c == '-',
        None => false,
    };
    !goes_on && !before.ends_with(|c: char| is_word(c) || matches!(c, '.' | '-'))
}

fn starts_path(before: &str) -> bool {
    !before.ends_with(|c: char| is_word(c) || c == ':')
}

fn is_whole_name(before: &str, after: &str) -> bool {
    starts_path(before) && !after.starts_with(is_word) && !after.starts_with("::")
}

/// Replaces each occurrence for which `fits(text before, text after)` holds; of several at one place the longest. What stands
/// before is taken as it is by then: a name behind another that went is looked at once, too.
fn replace_all(text: &str, list: &[(String, String)], fits: impl Fn(&str, &str) -> bool) -> String {
    let mut list: Vec<&(String, String)> = list.iter().filter(|(from, _)| !from.is_empty()).collect();
    list.sort_by_key(|(from, _)| std::cmp::Reverse(from.len()));
    if !list.iter().any(|(from, _)| text.contains(from.as_str())) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let found =
            list.iter().find(|(from, _)| text[at..].starts_with(from.as_str()) && fits(&out, &text[at + from.len()..]));
        if let Some((from, to)) = found {
            out.push_str(to);
            at += from.len();
        } else {
            out.push(c);
            at += c.len_utf8();
        }
    }
    out
}

#[cfg(test)]
mod unit {
    use super::*;
    use proptest::prelude::*;

    fn plain(text: &str) -> String {
        Normaliser::default().apply(text)
    }

    fn pair(from: &str, to: &str) -> (String, String) {
        (from.to_owned(), to.to_owned())
    }

    #[test]
    fn every_rule_compiles_and_does_what_its_example_says() {
        assert_eq!(COMPILED.len(), RULES.len());
        assert!(LOCATIONS.is_some());
        for (rule, (regex, replacement)) in RULES.iter().zip(COMPILED.iter()) {
            let (before, after) = rule.example;
            assert_eq!(regex.replace_all(before, *replacement), after, "{}", rule.name);
            assert_eq!(plain(before), after, "{}", rule.name);
            assert_eq!(plain(after), after, "{}", rule.name);
        }
    }

    #[test]
    fn what_only_looks_like_a_rule_is_left() {
        let text = "x0x7ffd1c2b3a40 12 ms2 v1.2 5s 0xdeadbeefdeadbeef processed 12 stupid 3 .tmpX";
        assert_eq!(plain(text), text);
    }

    #[test]
    fn locations_are_mapped_in_panics_backtraces_and_messages() {
        let n = Normaliser {
            location: Some(Box::new(|path, line, column| {
                path.ends_with("gist.rs").then(|| format!("src/lib.rs:{}:{column}", line - 30))
            })),
            ..Normaliser::default()
        };
        assert_eq!(
            n.apply("thread 'a' (1) panicked at /a b/gist.rs:40:9:\nx"),
            "thread 'a' panicked at src/lib.rs:10:9:\nx"
        );
        assert_eq!(n.apply("   3: f\n             at ./gist.rs:31:2\n"), "   3: f\n             at src/lib.rs:1:2\n");
        assert_eq!(n.apply("Error(gist.rs:32:1)"), "Error(src/lib.rs:2:1)");
        let other = "panicked at /rustc/1/library/core/src/option.rs:3:4:\ngist.rs:40";
        assert_eq!(n.apply(other), other);
    }

    #[test]
    fn a_test_name_is_replaced_only_as_a_whole() {
        let n = Normaliser { tests: vec![pair("t::a", "a"), pair("t::a_b", "a_b")], ..Normaliser::default() };
        assert_eq!(n.apply("test t::a ... ok\ntest t::a_b ... ok"), "test a ... ok\ntest a_b ... ok");
        assert_eq!(n.apply("t::a::b x::t::a t::ab 't::a'"), "t::a::b x::t::a t::ab 'a'");
        assert_eq!(n.apply("t::a t::a"), "a a");
    }

    #[test]
    fn a_type_name_loses_the_prefix_of_its_crate_wherever_a_path_starts() {
        let n = Normaliser { types: vec![pair("gist::tests::", ""), pair("gist::", "my_lib::")], ..Normaliser::default() };
        assert_eq!(
            n.apply("Vec<gist::tests::A>, &gist::B, x::gist::C, agist::D"),
            "Vec<A>, &my_lib::B, x::gist::C, agist::D"
        );
    }

    #[test]
    fn a_directory_is_replaced_where_its_name_ends() {
        let n = Normaliser {
            paths: vec![pair("/home/u/p", "<project>"), pair("/home/u/p/target/", "<target>"), pair("/", "<root>")],
            ..Normaliser::default()
        };
        assert_eq!(
            n.apply("/home/u/p/src/a.rs /home/u/p2/b in /home/u/p. /x/home/u/p /home/u/p/target/x"),
            "<project>/src/a.rs /home/u/p2/b in <project>. /x/home/u/p <target>/x"
        );
    }

    #[test]
    fn what_stands_in_or_behind_another_many_times_is_taken_at_once() {
        let n = Normaliser { paths: vec![pair("/tmp", "<tmp>")], types: vec![pair("gist::", "")], ..Normaliser::default() };
        assert_eq!(n.apply(&("\u{1b}[".repeat(20) + &"0m".repeat(20))).find('\u{1b}'), None);
        assert_eq!(n.apply(&("thread 'a'".to_owned() + &" (1)".repeat(20) + "!")), "thread 'a'!");
        assert_eq!(n.apply(&("\r".repeat(20) + "\n")), "\n");
        assert_eq!(n.apply(&"/tmp".repeat(20)), "<tmp>".repeat(20));
        assert_eq!(n.apply(&("gist::".repeat(20) + "A")), "A");
    }

    #[test]
    fn a_colour_inside_a_name_does_not_hide_it() {
        let n = Normaliser { tests: vec![pair("t::a", "a")], ..Normaliser::default() };
        assert_eq!(n.apply("t::\u{1b}[1ma\u{1b}[0m"), "a");
    }

    fn fragment() -> impl Strategy<Value = String> {
        prop_oneof![
            "[ a-z:./<>0-9\n]{0,6}",
            Just("\u{1b}[0m".to_owned()),
            Just("\u{1b}".to_owned()),
            (1usize..12).prop_map(|depth| "\u{1b}[".repeat(depth) + &"0m".repeat(depth)),
            (1usize..12).prop_map(|count| "thread 'a'".to_owned() + &" (12)".repeat(count)),
            (1usize..12).prop_map(|count| "\r".repeat(count) + "\n"),
            (1usize..12).prop_map(|count| "/tmp".repeat(count)),
            (1usize..12).prop_map(|count| "gist::tests::".repeat(count)),
            Just("proptest: FileFailurePersistence::X set, but y\n".to_owned()),
            Just("thread 'a' (12) ".to_owned()),
            Just(" panicked at gist.rs:40:9:".to_owned()),
            Just("gist::tests::".to_owned()),
            Just("t::a".to_owned()),
            Just(".tmpAb3dE9".to_owned()),
            Just("/tmp/x".to_owned()),
            Just("0x7ffd1c2b3a40".to_owned()),
            Just("1.5ms".to_owned()),
            Just("pid 12".to_owned()),
        ]
    }

    proptest! {
        #[test]
        fn normalising_twice_changes_nothing_more(parts in proptest::collection::vec(fragment(), 0..12)) {
            let n = Normaliser {
                location: Some(Box::new(|p, l, c| p.ends_with("gist.rs").then(|| format!("src/lib.rs:{l}:{c}")))),
                tests: vec![pair("t::a", "a")],
                types: vec![pair("gist::tests::", "tests_")],
                paths: vec![pair("/tmp", "<tmp>")],
            };
            let once = n.apply(&parts.concat());
            prop_assert_eq!(n.apply(&once), once);
        }
    }
}
