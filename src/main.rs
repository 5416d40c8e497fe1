//! The binary: parses, prints, and maps errors to exit codes.
use cargo_gistify::*;
use std::process::Command;
fn main() {
    let args: Vec<_> = std::env::args_os().collect();
    if workspace::wrapper::is_wrapper(&args) {
        let e = workspace::wrapper::run(&args).unwrap_err();
        eprintln!("{e}");
        std::process::exit(101)
    }
    let want: Vec<String> = args.iter().skip(1).map(|a| a.to_str().unwrap().to_owned()).collect();
    let r = (|| -> error::Result<()> {
        let ws = workspace::Workspace::load(workspace::CargoOptions { offline: true, ..Default::default() })?;
        let targets = workspace::capture::build(&ws, &|l| eprintln!("{l}"))?;
        for t in &targets {
            if !t.call.has_harness() {
                continue;
            }
            let tests: Vec<_> = tests::list(t)?.into_iter().filter(|x| want.iter().any(|w| *w == x.name)).collect();
            if tests.is_empty() {
                continue;
            }
            let b = bundle::bundle(t)?;
            let c = compile::Compiler::new(t);
            let s = std::time::Instant::now();
            let p = reduce::prepare(b, &c, &t.selector())?;
            println!(
                "{} prepare {:?} graph={} nodes={} edges={}",
                t.package,
                s.elapsed(),
                p.has_graph,
                p.tree.nodes.len(),
                p.graph.uses.iter().map(Vec::len).sum::<usize>()
            );
            let map = trace::CoverageMap::load(&[&t.executable])?;
            for x in tests {
                let s = std::time::Instant::now();
                let d = compile::temp_dir()?;
                let o = process::run(
                    Command::new(&t.executable)
                        .args(["--exact", &x.name, "--test-threads=1", "--nocapture"])
                        .current_dir(&t.package_dir)
                        .envs(&t.call.env)
                        .env("LLVM_PROFILE_FILE", d.path().join("%p.profraw")),
                    Default::default(),
                )?;
                let _ = o;
                let cov = map.coverage(compile::utf8(d.path())?)?;
                let Some(node) = p.locate(&x.name, None) else {
                    println!("NOT FOUND {}", x.name);
                    continue;
                };
                let ran = reduce::ran::Ran::new(&p.bundle, &p.tree, &cov);
                let before = c.calls();
                let r = p.reduce(node, &ran, Default::default(), &c)?;
                let out = format!("/work/tmp/out/{}-{}.rs", t.package, x.name.replace("::", "."));
                std::fs::create_dir_all("/work/tmp/out").unwrap();
                std::fs::write(&out, &r.text).unwrap();
                println!(
                    "{}: gave_up={} rounds={} calls={} lines={}/{} {:?} ran={} {out}",
                    x.name,
                    r.gave_up,
                    r.rounds,
                    c.calls() - before,
                    score::size::Size::of(&r.text).unwrap().code_lines,
                    score::size::Size::of(&p.bundle.text).unwrap().code_lines,
                    s.elapsed(),
                    ran.ran.iter().filter(|b| **b).count()
                );
            }
        }
        Ok(())
    })();
    if let Err(e) = r {
        eprintln!("ERR {e}")
    }
}
