//! What rustc and its runtime really do, pinned: small programs, compiled and run.

use super::*;
use std::process::Command;

/// A program that was compiled with coverage, in a directory of its own.
struct Program {
    dir: tempfile::TempDir,
}

impl Program {
    /// Compiles `files`; the first is the crate's root, named relative to the directory.
    fn new(files: &[(&str, &str)], flags: &[&str]) -> Program {
        let program = Program { dir: tempfile::tempdir().unwrap() };
        for (name, text) in files {
            let path = program.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        rustc.args(["--edition=2024", "-Cinstrument-coverage", "-Awarnings", "--crate-name=t", "-o", "exe", files[0].0]);
        // rustc and the linker are not traced, but this test may be.
        rustc.args(flags).current_dir(program.path()).env("LLVM_PROFILE_FILE", program.path().join("build-%p"));
        assert!(rustc.status().unwrap().success());
        program
    }

    /// The root of the tree, without symbolic links: that is how rustc records it.
    fn path(&self) -> Utf8PathBuf {
        Utf8PathBuf::from_path_buf(self.dir.path().canonicalize().unwrap()).unwrap()
    }

    fn exe(&self) -> Utf8PathBuf {
        self.path().join("exe")
    }

    fn run(&self, args: &[&str], pattern: &str) -> Coverage {
        let profiles = self.path().join("profiles");
        let _ = std::fs::remove_dir_all(&profiles);
        std::fs::create_dir(&profiles).unwrap();
        Command::new(self.exe()).args(args).env("LLVM_PROFILE_FILE", profiles.join(pattern)).output().unwrap();
        read(&[&self.exe()], &profiles).unwrap()
    }
}

fn trace(source: &str) -> Coverage {
    Program::new(&[("src/main.rs", source)], &[]).run(&[], "%p.profraw")
}

fn calls(coverage: &Coverage) -> Vec<(&str, usize, u64)> {
    let mut calls: Vec<_> = coverage.functions.iter().map(|f| (f.name.as_str(), f.regions[0].start.line, f.calls)).collect();
    calls.sort_unstable();
    calls
}

fn spans(regions: &[Region]) -> Vec<(usize, usize, usize, usize, u64)> {
    regions.iter().map(|r| (r.start.line, r.start.column, r.end.line, r.end.column, r.count)).collect()
}

#[test]
fn runs_that_go_other_ways_are_told_apart_and_taken_together() {
    let main =
        "fn main() {\n  if std::env::args().count() > 1 {\n    a();\n  } else {\n    b();\n  }\n}\nfn a() {}\nfn b() {}\n";
    let program = Program::new(&[("src/main.rs", main)], &[]);
    let [one, again, other] = [&[][..], &[], &["x"]].map(|args| program.run(args, "%p.profraw"));
    assert!(one.ran_the_same(&again) && !one.ran_the_same(&other));
    let called = |coverage: &Coverage| coverage.called().map(|f| f.name.clone()).collect::<std::collections::BTreeSet<_>>();
    assert_eq!(called(&Coverage::of_runs([&one, &again])), called(&one));
    assert_eq!(called(&Coverage::of_runs([&one, &other])).into_iter().collect::<Vec<_>>(), ["t::a", "t::b", "t::main"]);
}

#[test]
fn columns_count_bytes_from_one_and_ends_are_exclusive() {
    let c = trace("fn main() { let ää = \"ö\"; let _ = ää; }\n");
    assert_eq!(spans(&c.functions[0].regions)[..3], [(1, 1, 1, 10, 1), (1, 17, 1, 21, 1), (1, 24, 1, 28, 1)]);
}

#[test]
fn relative_paths_are_resolved_against_the_directory_of_the_build() {
    let main = "mod a;\n#[path = \"../other/b.rs\"] mod b;\nfn main() { a::f(); b::f() }\n";
    let f = "pub fn f() {}\n";
    let program = Program::new(&[("src/main.rs", main), ("src/a.rs", f), ("other/b.rs", f)], &[]);
    let c = program.run(&[], "%p.profraw");
    let mut touched: Vec<_> = c.touched().into_iter().map(|f| c.files[f].strip_prefix(program.path()).unwrap()).collect();
    touched.sort_unstable();
    assert_eq!(touched, ["other/b.rs", "src/a.rs", "src/main.rs"]);
    assert_eq!((c.files_touched(), c.trace_length()), (3, 3));
}

#[test]
fn each_instantiation_is_a_function_and_one_that_is_never_made_shows_once() {
    let c = trace(
        "fn g<T: Default + PartialEq>(x: T) -> u8 {\n  if x == T::default() {\n    1\n  } else {\n    2\n  }\n}\n\
         fn never<T>(x: T) {}\nfn main() { g(0u8); g(1u8); g(1i32); }\n",
    );
    assert_eq!(calls(&c), [("t::g::<i32>", 1, 1), ("t::g::<u8>", 1, 2), ("t::main", 9, 1), ("t::never::<_>", 8, 0)]);
    let counts: Vec<_> = c.line_counts(c.functions[0].file).into_iter().collect();
    assert_eq!(counts, [(1, 3), (2, 3), (3, 1), (5, 2), (7, 3), (8, 0), (9, 1)]);
}

#[test]
fn closures_and_async_bodies_are_functions_of_their_own() {
    let c = trace(
        "async fn later() -> u8 {\n  1\n}\n\
         fn main() {\n  let used = |x: u8| x + 1;\n  let unused = |x: u8| x + 2;\n  used(1); used(2); let _ = unused;\n  \
         let mut f = std::pin::pin!(later());\n  \
         let _ = f.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop()));\n}\n\
         use std::future::Future;\n",
    );
    assert_eq!(
        calls(&c),
        [
            ("t::later", 1, 1),
            ("t::later::{closure#0}", 1, 1),
            ("t::main", 4, 1),
            ("t::main::{closure#0}", 5, 2),
            ("t::main::{closure#1}", 6, 0)
        ]
    );
}

#[test]
fn a_closure_that_only_gives_a_constant_is_not_in_the_map() {
    let c = trace("fn main() { let f = || 1; f(); }\n");
    assert_eq!(calls(&c), [("t::main", 1, 1)]);
}

#[test]
fn a_const_fn_that_the_compiler_evaluated_shows_as_never_run() {
    let c = trace("const fn k(x: u8) -> u8 { x + 1 }\nconst K: u8 = k(1);\nfn main() { let _ = K; }\n");
    assert_eq!(calls(&c), [("t::k", 1, 0), ("t::main", 3, 1)]);
}

#[test]
fn functions_made_by_a_macro_share_the_regions_of_its_definition_and_what_they_were_given_has_none() {
    let c = trace(
        "macro_rules! make {\n  ($n:ident, $e:expr) => { fn $n() -> u8 { $e } };\n}\n\
         make!(a, if true { 1 } else { 2 });\nmake!(b, 3);\nfn main() { a(); a(); b(); }\n",
    );
    assert_eq!(calls(&c), [("t::a", 2, 2), ("t::b", 2, 1), ("t::main", 6, 1)]);
    let counts: Vec<_> = c.line_counts(c.functions[0].file).into_iter().collect();
    assert_eq!(counts, [(2, 3), (6, 1)]);
}

#[test]
fn the_expansion_of_a_macro_in_a_body_has_no_regions() {
    let c = trace(
        "macro_rules! m {\n  ($e:expr) => {\n    if $e { 1 } else { 2 }\n  };\n}\nfn main() {\n  let _ = m!(true);\n}\n",
    );
    let counts: Vec<_> = c.line_counts(c.functions[0].file).into_iter().collect();
    assert_eq!(counts, [(6, 1), (7, 1), (8, 1)]);
}

#[test]
fn derives_are_not_in_the_map_and_drops_are() {
    let c = trace(
        "#[derive(Clone, PartialEq, Debug)] struct S;\nimpl Drop for S { fn drop(&mut self) {} }\n\
         fn main() { let s = S; assert_eq!(s.clone(), s); }\n",
    );
    assert_eq!(calls(&c), [("<t::S as core::ops::drop::Drop>::drop", 2, 2), ("t::main", 3, 1)]);
}

#[test]
fn threads_and_child_processes_are_summed() {
    let source = "fn f() {}\nfn main() {\n  std::thread::spawn(f).join().unwrap();\n  if std::env::args().len() > 1 {\n    \
        std::process::Command::new(std::env::current_exe().unwrap()).status().unwrap();\n  }\n}\n";
    let program = Program::new(&[("main.rs", source)], &[]);
    assert_eq!(calls(&program.run(&[], "%p.profraw")), [("t::f", 1, 1), ("t::main", 2, 1)]);
    let both = program.run(&["child"], "%p.profraw");
    assert_eq!((calls(&both), both.profiles), (vec![("t::f", 1, 2), ("t::main", 2, 2)], 2));
}

const ENDINGS: &str = "fn main() {\n  match std::env::args().nth(1).unwrap().as_str() {\n    \
    \"exit\" => std::process::exit(3),\n    \"panic\" => panic!(),\n    _ => std::process::abort(),\n  }\n}\n";

#[test]
fn exit_and_panic_leave_a_profile_and_abort_leaves_an_empty_one() {
    let program = Program::new(&[("main.rs", ENDINGS)], &[]);
    for ending in ["exit", "panic"] {
        let c = program.run(&[ending], "%p.profraw");
        assert_eq!((c.is_empty(), c.trace_length(), c.unwritten), (false, 1, 0), "{ending}");
    }
    let aborted = program.run(&["abort"], "%p.profraw");
    assert_eq!((aborted.is_empty(), aborted.trace_length(), aborted.unwritten), (true, 0, 1));
    let aborted = program.run(&["abort"], "%m.profraw");
    assert_eq!((aborted.is_empty(), aborted.unwritten), (true, 0));
}

#[cfg(target_os = "linux")]
#[test]
fn counters_that_live_in_the_file_survive_an_abort() {
    let program = Program::new(&[("main.rs", ENDINGS)], &["-Cllvm-args=-runtime-counter-relocation"]);
    let aborted = program.run(&["abort"], "%p%c.profraw");
    assert_eq!((aborted.is_empty(), aborted.trace_length()), (false, 1));
    assert_eq!(aborted.line_counts(aborted.functions[0].file)[&5], 1);
}

#[test]
fn a_test_function_that_did_not_run_has_no_calls() {
    let source = "#[test] fn a() {}\n#[test] fn b() {}\n#[test] #[should_panic] fn c() { panic!() }\n";
    let program = Program::new(&[("lib.rs", source)], &["--test"]);
    assert_eq!(calls(&program.run(&["--exact", "b"], "%p.profraw")), [("t::a", 1, 0), ("t::b", 2, 1), ("t::c", 3, 0)]);
    assert_eq!(calls(&program.run(&["--exact", "c"], "%p.profraw")), [("t::a", 1, 0), ("t::b", 2, 0), ("t::c", 3, 1)]);
}

#[test]
fn one_executable_listed_twice_counts_once() {
    let program = Program::new(&[("main.rs", "fn main() {}\n")], &[]);
    program.run(&[], "%p.profraw");
    let c = read(&[&program.exe(), &program.exe()], &program.path().join("profiles")).unwrap();
    assert_eq!(calls(&c), [("t::main", 1, 1)]);
}

#[test]
fn the_report_shows_only_the_files_asked_for_and_paths_relative_to_the_root() {
    let main = "#[path = \"../dep/b.rs\"] mod b;\nfn main() {\n  if b::f() {\n    f();\n  }\n}\nfn f() {}\n";
    let program = Program::new(&[("ws/main.rs", main), ("dep/b.rs", "pub fn f() -> bool { false }\n")], &[]);
    let c = program.run(&[], "%p.profraw");
    let root = program.path().join("ws");
    let report = TraceReport::new(&c, &root, |path| path.starts_with(&root));
    assert_eq!(
        report.text(),
        "1 call of 1 function in 1 file\n\nmain.rs: 4 of 6 executable lines ran\n   calls   line  function\n       1      2  t::main\n"
    );
    assert_eq!(
        report.listing(&root).unwrap(),
        "main.rs:\n    1|       |#[path = \"../dep/b.rs\"] mod b;\n    2|      1|fn main() {\n    3|      1|  if b::f() {\n    \
         4|      0|    f();\n    5|      1|  }\n    6|      1|}\n    7|      0|fn f() {}\n"
    );
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["functions"][0], serde_json::json!({"name": "t::main", "file": "main.rs", "line": 2, "calls": 1}));
    assert_eq!(serde_json::from_value::<TraceReport>(json).unwrap(), report);
    let all = TraceReport::new(&c, &root, |_| true);
    assert_eq!((all.trace_length, all.files_touched), (2, 2));
    assert!(all.files[0].path.is_absolute());
}

#[test]
fn the_trace_length_is_the_sum_of_calls_and_touched_files_have_a_function_that_ran() {
    let function =
        |file: usize, calls: u64| Function { name: String::new(), symbol: String::new(), file, calls, regions: vec![] };
    // Two instantiations of a function in the first file, called 3 and 4 times; one of the second file never; 5 in the third.
    let functions = vec![function(0, 3), function(0, 4), function(1, 0), function(2, 5)];
    let files = ["/a.rs", "/b.rs", "/c.rs"].map(Into::into).to_vec();
    let c = Coverage { functions, files, profiles: 1, unwritten: 0 };
    // 3 + 4 + 0 + 5 calls; the first and the third file.
    assert_eq!((c.trace_length(), c.files_touched()), (12, 2));
}
