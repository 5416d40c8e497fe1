//! The binary: parses, prints, and maps errors to exit codes.
use cargo_gistify::*;
fn main() {
    let args: Vec<_> = std::env::args_os().collect();
    if workspace::wrapper::is_wrapper(&args) {
        let e = workspace::wrapper::run(&args).unwrap_err();
        eprintln!("{e}");
        std::process::exit(101)
    }
    let r = (|| -> error::Result<()> {
        let ws = workspace::Workspace::load(workspace::CargoOptions { offline: true, ..Default::default() })?;
        let targets = workspace::capture::build(&ws, &|l| eprintln!("{l}"))?;
        for t in &targets {
            if !t.call.has_harness() {
                continue;
            }
            let n = tests::list(t)?.len();
            if n == 0 {
                continue;
            }
            let b = bundle::bundle(t)?;
            let c = compile::Compiler::new(t);
            let s = std::time::Instant::now();
            let r = c.check(&b.text, &[])?;
            println!(
                "{} {}: {} tests, {} lines, ok={} {:?}",
                t.package,
                t.selector(),
                n,
                b.text.lines().count(),
                r.ok,
                s.elapsed()
            );
            if !r.ok {
                std::fs::write(format!("/work/tmp/fail-{}-{}.rs", t.package, t.name), &b.text).unwrap();
                println!("{}", r.first_error());
            }
        }
        Ok(())
    })();
    if let Err(e) = r {
        eprintln!("ERR {e}")
    }
}
