//! `--explain`: what the figures are made of, line by line.

use crate::project::Project;
use serde_json::Value;

fn explained(fixture: &str, args: &[&str]) -> (Project, Value) {
    let project = Project::new(fixture);
    let more = ["--explain", "--message-format", "json"];
    let mut reports = project.gistify(args.iter().chain(&more)).reports();
    (project, reports.remove(0))
}

const TESTS: [(&str, &[&str]); 3] = [
    ("demanded", &["--lib", "squares_are_compared"]),
    ("integration", &["--test", "words", "words_are_counted"]),
    ("shop", &["--lib", "a_bulk_discount_gives_one_piece_free"]),
];

#[test]
fn who_adds_up_the_lines_gets_the_figures_of_the_report() {
    for (fixture, args) in TESTS {
        let (_project, report) = explained(fixture, args);
        let (metrics, lines) = (&report["metrics"], report["explanation"]["lines"].as_array().unwrap());
        let same = |figure: &str, part: usize, whole: usize| {
            // Numbers lose their last digit on the way through JSON.
            let difference = metrics[figure].as_f64().unwrap() - part as f64 / whole as f64;
            assert!(difference.abs() < 1e-12, "{fixture}: {figure} is {}, not {part} / {whole}", metrics[figure]);
        };
        let counts: Vec<u64> = lines.iter().filter_map(|l| l["count"].as_u64()).collect();
        let ran = counts.iter().filter(|n| **n > 0).count();
        let demanded = lines.iter().filter(|l| l["execution"] == "demanded").count();
        same("line_execution_rate", ran, counts.len());
        same("line_execution_rate_possible", ran, counts.len() - demanded);
        let laid: Vec<&Value> = lines.iter().flat_map(|l| l["laid"].as_array().unwrap()).collect();
        let existing = laid.iter().filter(|l| l["existence"] == "exists").count();
        same("line_existence_rate", existing, laid.len());
        assert_eq!(metrics["foreign_lines"], laid.len() - existing, "{fixture}");
        assert_eq!(metrics["lines"], lines.iter().filter(|l| l["line"].is_u64()).count(), "{fixture}");
        let sums = &report["explanation"]["sums"];
        for rate in ["line_execution_rate", "line_execution_rate_possible", "line_existence_rate"] {
            assert_eq!(sums[rate], metrics[rate], "{fixture}");
        }
    }
}

#[test]
fn a_place_is_a_line_of_the_project_that_has_the_same_words() {
    for (fixture, args) in TESTS {
        let (project, report) = explained(fixture, args);
        let lines = report["explanation"]["lines"].as_array().unwrap();
        let mut places = 0;
        for laid in lines.iter().flat_map(|l| l["laid"].as_array().unwrap()).filter(|l| l["place"].is_object()) {
            let file = fs_err::read_to_string(project.root.join(laid["place"]["file"].as_str().unwrap())).unwrap();
            let line = file.lines().nth(laid["place"]["line"].as_u64().unwrap() as usize - 1).unwrap();
            // A line of the layout may go on below, but begins here; of a `use` or a `derive` its last word does.
            let words: Vec<&str> =
                laid["text"].as_str().unwrap().split(|c: char| !c.is_alphanumeric() && c != '_').collect();
            let word = match words.iter().find(|w| !w.is_empty()).copied().unwrap() {
                "use" | "pub" | "derive" => words.iter().rfind(|w| !w.is_empty()).copied().unwrap(),
                first => first,
            };
            assert!(line.contains(word), "{fixture}: `{word}` of {laid} is not in `{line}`");
            places += 1;
        }
        assert!(places > 10, "{fixture}: {places}");
    }
}

#[test]
fn the_explanation_for_people_looks_like_this() {
    let (fixture, args) = TESTS[0];
    let text = Project::new(fixture).gistify(args.iter().chain(&["--explain"])).assert_code(0).stdout.clone();
    let toolchain = text.lines().find(|l| l.contains("//! Toolchain: rustc ")).unwrap();
    let (start, _) = toolchain.split_once("rustc ").unwrap();
    insta::assert_snapshot!(text.replace(toolchain, &format!("{start}[rustc]")));
}

#[test]
fn the_explanation_and_the_gist_do_not_share_standard_output() {
    let ran = Project::new("shop").gistify(["a_bulk_discount", "--explain", "-o", "-"]);
    ran.assert_code(2).assert_says("both want standard output");
}
