//! What the fuzz targets do: one function a target, each over all that is made of one kind of foreign bytes.
//!
//! A target fails by a panic: one of the tool's own, or one of its assertions on what must hold for any input. `fuzz_targets/`
//! hands each function to libFuzzer; `tests/corpus.rs` of the tool takes this file as a module and calls the same functions
//! on what stands in `corpus/`, with stable Rust. How to run them is in `docs/fuzzing.md`.

use camino::{Utf8Path, Utf8PathBuf};
use cargo_gistify::agent::atif::{Agent, Source, Trajectory};
use cargo_gistify::agent::stream::{Parser, Reader};
use cargo_gistify::bundle::{Bundle, bundle_with};
use cargo_gistify::compile::Checked;
use cargo_gistify::gist::{is_program, read_manifest, run_line_flags};
use cargo_gistify::reduce::graph::{back, outermost};
use cargo_gistify::reduce::nodes::Tree;
use cargo_gistify::reduce::ran::Ran;
use cargo_gistify::reduce::{Known, mapped_error};
use cargo_gistify::score::execution::Execution;
use cargo_gistify::score::existence::{CrateText, Index, Options};
use cargo_gistify::score::partial::partial;
use cargo_gistify::score::size::{Size, code_lines, stubs};
use cargo_gistify::score::test_f1::line_f1;
use cargo_gistify::source::cfg::CfgSet;
use cargo_gistify::source::edit::{Edit, apply};
use cargo_gistify::source::expand::Macro;
use cargo_gistify::source::map::{Position, Segment, SourceFile, SourceMap};
use cargo_gistify::source::parse::code;
use cargo_gistify::source::tokens::{range, walk, with_comments};
use cargo_gistify::source::transcriber::rules;
use cargo_gistify::trace::{Coverage, CoverageMap, Region, RegionKind, TraceReport};
use cargo_gistify::verify::inject::{Helper, Identity, MadeBy, OriginalTest, TestKind, inject, locate};
use cargo_gistify::verify::mask::masks;
use cargo_gistify::verify::normalise::Normaliser;
use cargo_gistify::verify::outcome::{ExitClass, Outcome, compare};
use cargo_gistify::verify::scan::{beyond, scan};
use cargo_gistify::workspace::capture::{BuiltCrate, TargetKind, TestTarget};
use cargo_gistify::workspace::record::RustcCall;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::thread::Builder;

/// Takes any bytes; fails by a panic.
pub type Target = fn(&[u8]);

/// Every target, by the name of its folder in `corpus/`.
pub const TARGETS: &[(&str, Target)] = &[
    ("bundle", bundle),
    ("coverage_map", coverage_map),
    ("diagnostics", diagnostics),
    ("expand", expand),
    ("gist", gist),
    ("known", known),
    ("libtest", libtest),
    ("manifest", manifest),
    ("mask", mask),
    ("nodes", nodes),
    ("normalise", normalise),
    ("profile", profile),
    ("record", record),
    ("score", score),
    ("source_map", source_map),
    ("stream", stream),
];

/// As much as the binary gives itself.
const STACK_BYTES: usize = 256 << 20;

/// Runs a target as the binary runs all that it does: in a thread with much stack.
///
/// # Errors
/// What the target panicked with.
pub fn on_deep_stack(target: Target, bytes: &[u8]) -> std::thread::Result<()> {
    std::thread::scope(|scope| {
        let thread = Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, || target(bytes));
        thread.expect("failed to start a thread").join()
    })
}

/// An executable with a coverage map, and a profile of a run of it.
const OBJECT: &[u8] = include_bytes!("../corpus/coverage_map/grade.so");
const PROFILE: &[u8] = include_bytes!("../corpus/profile/grade.profraw");

fn in_folder(name: &str, bytes: &[u8]) -> (tempfile::TempDir, Utf8PathBuf) {
    let dir = tempfile::tempdir().expect("a folder");
    let path = Utf8PathBuf::from_path_buf(dir.path().join(name)).expect("UTF-8");
    std::fs::write(&path, bytes).expect("written");
    (dir, path)
}

fn folder(file: &Utf8Path) -> &Utf8Path {
    file.parent().expect("a file stands in a folder")
}

fn report(coverage: &Coverage) {
    for file in 0..coverage.files.len() {
        let regions = coverage.merged_regions(file);
        assert!(regions.iter().all(|r| r.file == file));
        let _ = coverage.line_counts(file);
    }
    let _ = TraceReport::new(coverage, "/p".into(), |_| true).text();
    assert!(coverage.ran_the_same(coverage));
}

/// A raw profile, read with the map of a small program.
pub fn profile(bytes: &[u8]) {
    static MAP: LazyLock<CoverageMap> = LazyLock::new(|| {
        let (_dir, object) = in_folder("grade.so", OBJECT);
        CoverageMap::load(&[&object]).expect("the seed has a map")
    });
    let (_dir, file) = in_folder("a.profraw", bytes);
    if let Ok(coverage) = MAP.coverage(folder(&file)) {
        report(&coverage);
    }
}

/// An executable, read for its coverage map, with the profile of a small program.
pub fn coverage_map(bytes: &[u8]) {
    static RUN: LazyLock<(tempfile::TempDir, Utf8PathBuf)> = LazyLock::new(|| in_folder("a.profraw", PROFILE));
    let (_dir, file) = in_folder("object", bytes);
    if let Ok(map) = CoverageMap::load(&[&file]) {
        report(&map.coverage(folder(&RUN.1)).expect("the seed is a profile"));
    }
}

/// The header of a gist: its manifest, its run line.
pub fn manifest(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let _ = read_manifest(&text);
    let _ = is_program(&text);
    assert!(run_line_flags(&text).len().is_multiple_of(2));
}

/// The tests that are put back into whatever is given as a gist.
fn originals() -> [OriginalTest; 2] {
    let helper = |identity, text: &str| Helper { path: vec!["tests".into()], identity, text: text.into(), at: None };
    let function = OriginalTest {
        path: vec!["tests".into()],
        name: "one".into(),
        tokens: "#[test]\nfn one() { assert_eq!(helper(), 1) }".into(),
        kind: TestKind::Function,
        at: Some(7),
        helpers: vec![helper(Identity::Fn("helper".into()), "fn helper() -> u8 { super::f() }")],
        made_by: None,
        others: vec![],
    };
    let definition = "macro_rules! cases {\n    ($name:ident) => { #[test] fn $name() {} #[test] fn other() {} };\n}";
    let call = "cases! {\n    one\n    two\n}";
    let at = |part: &str, text: &str| text.find(part).map(|at| at..at + part.len());
    let made = OriginalTest {
        tokens: call.into(),
        kind: TestKind::MacroCall,
        helpers: vec![],
        made_by: Some(MadeBy {
            definition: helper(Identity::Macro("cases".into()), definition),
            test_at: definition.find("fn $name").unwrap_or_default(),
        }),
        others: at("two", call).into_iter().collect(),
        ..function.clone()
    };
    [function, made]
}

/// A gist by whoever wrote it: scanned, and given the original test.
pub fn gist(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(found) = scan(text, &["shop".to_owned()]) {
        assert!(found.iter().all(|f| f.line > 0));
        assert!(beyond(found.clone(), &found).iter().all(|f| f.kind.is_self_import()));
    }
    for test in originals() {
        let Ok(injected) = inject(text, &test) else { continue };
        let place = locate(&injected.text, &test).expect("the test that was put back is there");
        if test.kind == TestKind::Function {
            assert_eq!(&injected.text[place], test.tokens);
        }
        for piece in injected.pieces.iter().chain(&injected.put_back) {
            assert!(injected.text.get(piece.start..piece.start + piece.len).is_some());
        }
    }
}

/// The same, scored: any text is grounded in itself.
pub fn score(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(size) = Size::of(text) else { return };
    assert_eq!(size.code_lines, code_lines(text));
    let index = Index::new(&[CrateText::new("shop", text)]).expect("it was parsed before");
    let existence = index.score(text, &Options::default()).expect("it was parsed before");
    assert_eq!(existence.foreign, [], "a text exists in itself");
    stubs(text, &index, &Options::default()).expect("it was parsed before");
    let f1 = line_f1(text, text, &["shop".to_owned()]).expect("it was parsed before");
    assert!(f1.precision == f1.recall, "{f1:?}");
    let lines = text.lines().count().max(1);
    let counts: BTreeMap<usize, u64> = (1..=lines).map(|line| (line, u64::from(line.is_multiple_of(2)))).collect();
    let region = |line: usize| Region {
        file: 0,
        start: Position { line, column: 1 },
        end: Position { line: (line + 2).min(lines), column: usize::from(line % 7 > 2) + 1 },
        count: u64::from(line.is_multiple_of(2)),
        kind: RegionKind::Code,
    };
    let regions: Vec<Region> = (1..=lines).map(region).collect();
    let execution = Execution::of(text, &counts, &regions).expect("it was parsed before");
    assert!(execution.demanded.len() <= execution.idle.len());
}

fn pair(from: &str, to: &str) -> (String, String) {
    (from.to_owned(), to.to_owned())
}

fn normaliser() -> Normaliser<'static> {
    Normaliser {
        location: Some(Box::new(|path, line, column| {
            path.ends_with("gist.rs").then_some(line.checked_sub(3)?).map(|line| format!("src/lib.rs:{line}:{column}"))
        })),
        tests: vec![pair("t::a", "a")],
        types: vec![pair("gist::tests::", "tests_")],
        paths: vec![pair("/tmp", "<tmp>"), pair("/home/u/p", "<project>")],
    }
}

/// What a run prints, normalised: once is enough.
pub fn normalise(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let once = normaliser().apply(&text);
    assert_eq!(normaliser().apply(&once), once);
}

/// What a test binary prints: libtest's frame, and what is the test's own.
pub fn libtest(bytes: &[u8]) {
    let text = normaliser().apply(&String::from_utf8_lossy(bytes));
    let (stdout, stderr) = text.split_once('\0').unwrap_or((&text, ""));
    for selected in [&[][..], &["a"], &["a", "b::c - d (line 3)"]] {
        let outcome = Outcome::parse(stdout, stderr, ExitClass::Success, selected);
        assert!(selected.is_empty() || outcome.cases.keys().all(|name| selected.contains(&name.as_str())));
        let same = compare(&outcome, &outcome);
        assert!(same.equal && same.diff.is_empty() && partial(&outcome, &outcome).output_similarity == 1.0);
        let program = Outcome::of_program(stdout, stderr, ExitClass::Success);
        let (one, other) = (compare(&outcome, &program), compare(&program, &outcome));
        assert_eq!((one.equal, one.differs), (other.equal, other.differs));
        let near = partial(&outcome, &program);
        assert!((0.0..=1.0).contains(&near.output_similarity) && (0.0..=1.0).contains(&near.cases_agreeing));
    }
}

/// What runs of one test print, set apart by zero bytes: equal once masked, whatever their order; once is enough.
pub fn mask(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let runs: Vec<String> = text.splitn(4, '\0').map(str::to_owned).collect();
    let reversed: Vec<String> = runs.iter().rev().cloned().collect();
    let (known, other) = (masks(&runs), masks(&reversed));
    assert_eq!(known.is_ok(), other.is_ok());
    let (Ok(known), Ok(other)) = (known, other) else { return };
    assert_eq!(known, other);
    let once = known.apply(&runs[0]);
    for run in &runs {
        assert_eq!(known.apply(run), once);
    }
    assert_eq!(known.apply(&once), once);
}

/// Files of a project, each behind a line `//- NAME`; text before the first is the library's root.
const MARK: &str = "//- ";
const NAMES: &[&str] = &["lib.rs", "m.rs", "m/n.rs", "m/mod.rs", "t.rs", "text.txt"];

fn call(root: &str, more: &str) -> RustcCall {
    let args = format!("--crate-name {} --edition=2021 {root} {more}", root.trim_end_matches(".rs"));
    RustcCall {
        rustc: "rustc".into(),
        args: args.split_whitespace().map(str::to_owned).collect(),
        cwd: "/".into(),
        env: BTreeMap::from([pair("CARGO_PKG_NAME", "shop")]),
        tool: String::new(),
    }
}

/// The files of a project bundled, with a test where there is a `t.rs`: every byte knows where it comes from.
pub fn bundle(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (dir, root) = in_folder("lib.rs", b"");
    let mut files: BTreeMap<&str, String> = BTreeMap::new();
    let mut name = "lib.rs";
    for line in text.split_inclusive('\n') {
        match line.strip_prefix(MARK).and_then(|rest| NAMES.iter().find(|n| **n == rest.trim())) {
            Some(next) => name = next,
            None => files.entry(name).or_default().push_str(line),
        }
    }
    // Nothing outside of the folder is read: devices have no end.
    if files.values().any(|text| text.contains("..") || text.contains("\"/") || text.contains("r#\"")) {
        return;
    }
    std::fs::create_dir_all(dir.path().join("m")).expect("made");
    for (name, text) in &files {
        std::fs::write(dir.path().join(name), text).expect("written");
    }
    let dir_path = folder(&root).to_owned();
    let in_dir = |root: &str, more: &str| RustcCall { cwd: dir_path.clone(), ..call(root, more) };
    let id = cargo_metadata::PackageId { repr: "shop".into() };
    let with_test = files.contains_key("t.rs");
    let library =
        with_test.then(|| BuiltCrate::new(id.clone(), in_dir("lib.rs", "--crate-type lib"), "/liblib.rlib".into()));
    let target = TestTarget {
        package_id: id,
        package: "shop".into(),
        package_dir: dir_path.clone(),
        kind: if with_test { TargetKind::Test } else { TargetKind::Lib },
        name: "t".into(),
        executable: "/t".into(),
        call: if with_test { in_dir("t.rs", "--test --extern lib=/liblib.rlib") } else { in_dir("lib.rs", "--test") },
        library,
        members: Vec::new(),
        library_apart: false,
    };
    for target in [target.with_library_apart(), Some(target)].into_iter().flatten() {
        if let Ok(bundle) = bundle_with(&target, &CfgSet::from_lines(["unix", "target_os=\"linux\""])) {
            knows_its_origin(&bundle);
        }
    }
}

fn knows_its_origin(bundle: &Bundle) {
    let mut at = 0;
    for s in &bundle.map.segments {
        assert_eq!(s.start, at, "the segments have no gaps");
        at += s.len;
        if let Some((file, from)) = s.origin {
            let original = bundle.map.files[file].text.get(from..from + s.len);
            assert_eq!(bundle.text.get(s.start..at), original, "a byte is the one that it comes from");
        }
    }
    assert_eq!(at, bundle.text.len());
    for at in 0..bundle.text.len() {
        if let Some((file, from)) = bundle.map.origin(at) {
            assert!(bundle.map.images(file, from).any(|image| image == at), "what is mapped to a file is mapped back");
        }
    }
}

/// Items with macros: what is told of their rules, and what their calls make.
pub fn expand(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let text = code(text);
    let Ok(file) = syn::parse_file(text) else { return };
    let of_macro = |item: &syn::Item| match item {
        syn::Item::Macro(m) => Some((m.ident.as_ref().map(ToString::to_string), m.mac.clone())),
        _ => None,
    };
    let (definitions, calls): (Vec<_>, Vec<_>) =
        file.items.iter().filter_map(of_macro).partition(|(name, _)| name.is_some());
    for (_, definition) in definitions {
        for rule in rules(definition.tokens.clone(), text) {
            assert!(text.get(rule.range.clone()).is_some());
            let whole = rule.whole(text, rule.range.clone());
            assert!(text.get(whole).is_some());
        }
        let known = Macro::new(definition.tokens);
        let mut room = 1 << 12;
        for (_, call) in &calls {
            let before = room;
            if let Some(made) = known.expand(&call.tokens, &mut room) {
                let mut count = 0;
                walk(made, &mut |list| count += list.len());
                assert!(room <= before && count <= 1 << 20, "{count} tokens");
            }
        }
    }
}

/// The tree of a text: nodes in one another, each cut out alone.
pub fn nodes(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let text = code(text);
    let Ok(tree) = Tree::parse(text) else { return };
    for (id, node) in tree.nodes.iter().enumerate() {
        assert!(text.get(node.range.clone()).is_some(), "{:?}", node.range);
        assert!(tree.nodes[node.parent].range.start <= node.range.start, "{:?} in {:?}", node, tree.nodes[node.parent]);
        assert!(tree.nodes[node.parent].range.end >= node.range.end, "{:?} in {:?}", node, tree.nodes[node.parent]);
        if id > 0 {
            let cut = tree.cut_range(text, id);
            assert!(text.get(cut.clone()).is_some(), "{cut:?}");
            let _ = apply(text, vec![Edit::delete(cut)]);
        }
    }
    let mut spans = Vec::new();
    walk(text.parse().expect("it was parsed before"), &mut |list| {
        spans.extend(list.iter().map(|t| range(t.span())).filter(|r| !r.is_empty()));
    });
    for span in spans {
        let wide = with_comments(text, span.clone());
        assert!(
            text.get(wide.clone()).is_some() && wide.start <= span.start && wide.end >= span.end,
            "{wide:?} of {span:?}"
        );
    }
}

/// What rustc prints: messages as JSON, and noise.
pub fn diagnostics(bytes: &[u8]) {
    let checked = Checked::of(false, bytes);
    let file = SourceFile::new("/p/src/lib.rs", "pub fn f() {}\n");
    let map =
        SourceMap { segments: vec![Segment { start: 0, len: file.text.len(), origin: Some((0, 0)) }], files: vec![file] };
    let _ = mapped_error(&checked, &map);
    let (_, pieces) = apply("pub fn f() {}\n", vec![Edit::insert(4, "x"), Edit::delete(7..9)]);
    for span in checked.diagnostics.iter().flat_map(|d| &d.spans) {
        let _ = outermost(span).and_then(|at| back(&pieces, at)).map(|at| map.place(at));
    }
    checked.errors().chain(checked.noops()).for_each(drop);
}

/// What is kept of a bundle between runs, from a file that others may have written to.
pub fn known(bytes: &[u8]) {
    static BUNDLE: LazyLock<Bundle> = LazyLock::new(|| {
        let text = "pub fn f() -> u8 { g() }\nfn g() -> u8 { 1 }\n// ä\n#[test]\nfn one() { assert_eq!(f(), 1) }\n";
        let file = SourceFile::new("/p/src/lib.rs", text);
        Bundle {
            text: text.into(),
            map: SourceMap {
                segments: vec![Segment { start: 0, len: text.len(), origin: Some((0, 0)) }],
                files: vec![file],
            },
            edition: "2021".into(),
            wrapper: None,
            library: None,
            test_only: vec![],
            crates: vec![],
        }
    });
    let Ok(known) = serde_json::from_slice::<Known>(bytes) else { return };
    let Ok(Some(prepared)) = known.applied(BUNDLE.clone(), "it") else { return };
    let nodes = prepared.tree.nodes.len();
    assert!(prepared.graph.is_over(nodes));
    let ran = Ran::new(&prepared.bundle, &prepared.tree, &Coverage::default());
    let _ = prepared.site("one", prepared.bundle.text.find("fn one"), &ran);
}

/// A recorded call of rustc.
pub fn record(bytes: &[u8]) {
    let (_dir, file) = in_folder("record.json", bytes);
    let Ok(call) = RustcCall::read(&file) else { return };
    let _ = (call.crate_name(), call.crate_types(), call.edition(), call.has_harness(), call.cfgs(), call.externs());
    call.codegen("panic").for_each(drop);
    // The source file is none of them; a folder of libraries may have its name.
    let base = RustcCall { args: call.base_args(), ..call.clone() };
    assert!(call.root().is_err() || base.root().ok() != call.root().ok());
}

/// A text, then edits: where they start, how long they are, and what they put there; each byte that is left knows where it
/// was, and places are never outside of the text.
pub fn source_map(bytes: &[u8]) {
    let all = String::from_utf8_lossy(bytes);
    let (text, numbers) = all.split_once('\0').unwrap_or((&all, ""));
    let file = SourceFile::new("/p/a.rs", text);
    let identity = Segment { start: 0, len: text.len(), origin: Some((0, 0)) };
    let mut map = SourceMap { files: vec![file.clone()], segments: vec![identity] };
    let mut now = text.to_owned();
    for round in numbers.split('\0') {
        let boundary = |at: usize| (0..=at % (now.len() + 1)).rev().find(|&at| now.is_char_boundary(at)).unwrap_or(0);
        let number = |c: char| c as usize;
        let letters: Vec<char> = round.chars().collect();
        let edits = letters.chunks_exact(3).map(|edit| {
            let start = boundary(number(edit[0]));
            let end = boundary(start + number(edit[1]) % 16).max(start);
            Edit::replace(start..end, edit[2].to_string().replace('.', ""))
        });
        let (next, pieces) = apply(&now, edits.collect());
        map = map.edited(&pieces);
        now = next;
    }
    for segment in &map.segments {
        if let Some((file, from)) = segment.origin {
            let here = now.get(segment.start..segment.start + segment.len);
            assert_eq!(here, map.files[file].text.get(from..from + segment.len));
        }
    }
    for at in 0..now.len() + 2 {
        if let Some((_, place)) = map.place(at) {
            assert!(file.offset(place) <= text.len());
        }
    }
}

/// What an agent prints, below a line that names its parser, and behind a zero byte what it leaves in a file: a trajectory
/// whose results belong to calls of their step, and with as many calls as are counted.
pub fn stream(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (name, text) = text.split_once('\n').unwrap_or(("", &text));
    let (lines, file) = text.split_once('\0').unwrap_or((text, ""));
    let mut reader = Reader::new(name.parse().unwrap_or(Parser::Plain), "Make it.");
    for line in lines.lines() {
        let steps = reader.heard().steps.len();
        reader.line(line);
        assert!(reader.heard().steps.len() >= steps, "no step goes while the agent runs");
    }
    if !file.is_empty() {
        reader.file(file);
    }
    let heard = reader.finish();
    let agent = Agent { name: name.to_owned(), ..Agent::default() };
    let trajectory = Trajectory::of("it".to_owned(), agent, &heard);
    let text = serde_json::to_string(&trajectory).expect("it is JSON");
    let again: Trajectory = serde_json::from_str(&text).expect("it was written before");
    assert_eq!(again.steps.len(), heard.steps.len());
    assert!(heard.usage.cost_usd.is_none_or(f64::is_finite));
    assert_eq!((heard.steps[0].source, heard.steps[0].message.as_str()), (Source::User, "Make it."));
    let mut count = 0;
    for step in &trajectory.steps {
        let calls = step.tool_calls.as_deref().unwrap_or_default();
        count += calls.len();
        for result in step.observation.iter().flat_map(|seen| &seen.results) {
            let is_call = |id: &String| calls.iter().any(|call| call.tool_call_id == *id);
            assert!(result.source_call_id.as_ref().is_none_or(is_call));
        }
        assert!(step.source == Source::Agent || (calls.is_empty() && step.metrics.is_none()));
    }
    assert_eq!(heard.tools.values().sum::<usize>(), count);
}
