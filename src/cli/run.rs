//! `cargo gistify run`: runs any gist, also one with dependencies.

use super::args::RunArgs;
use super::shell::Shell;
use camino::Utf8PathBuf;
use cargo_gistify::compile::{temp_dir, utf8};
use cargo_gistify::error::{Error, Result};
use cargo_gistify::gist::{EmbeddedManifest, is_program, read_manifest, run_line_flags};
use cargo_gistify::process::{self, Limits, run_inherited};
use std::process::Command;

pub(super) fn run(args: &RunArgs, shell: &Shell) -> Result<u8> {
    let text = std::fs::read_to_string(&args.gist).map_err(Error::path("read", &args.gist))?;
    let manifest = read_manifest(&text)?;
    args.toolchain.as_deref().map_or(Ok(()), installed)?;
    let room = temp_dir()?;
    let dir = utf8(room.path())?.to_owned();
    let status = if manifest.dependencies.is_empty() {
        shell.status("Compiling", args.gist.as_str());
        std_only(args, &manifest, &text, &dir)?
    } else {
        with_dependencies(args, &manifest, &text, &dir)?
    };
    Ok(status)
}

/// Whether rustup has that toolchain.
fn installed(toolchain: &str) -> Result<()> {
    let mut command = Command::new("rustup");
    // Nothing is installed behind the user's back.
    command.args(["run", toolchain, "rustc", "--version"]).env("RUSTUP_AUTO_INSTALL", "0");
    match process::run(&mut command, Limits::default()) {
        Ok(out) if out.status.success() => Ok(()),
        Ok(out) => Err(Error::Setup(format!(
            "the toolchain `{toolchain}` can't be used: {}\nsee `rustup toolchain list`, or install it with `rustup toolchain install {toolchain}`",
            out.stderr_text().trim().trim_start_matches("error: ")
        ))),
        Err(e @ Error::Interrupted) => Err(e),
        Err(e) => Err(Error::Setup(format!("--toolchain needs rustup: {e}"))),
    }
}

/// The program of a toolchain, through rustup when one is named.
fn tool(name: &str, toolchain: Option<&String>) -> Command {
    match toolchain {
        Some(t) => {
            let mut c = Command::new("rustup");
            c.args(["run", t.as_str(), name]);
            c
        }
        None => Command::new(name),
    }
}

fn std_only(args: &RunArgs, manifest: &EmbeddedManifest, text: &str, dir: &Utf8PathBuf) -> Result<u8> {
    let mut rustc = tool("rustc", args.toolchain.as_ref());
    let program = is_program(text);
    rustc
        .args(["--edition", manifest.edition.as_deref().unwrap_or("2021"), "--crate-name", "gist", "-A", "warnings"])
        .args((!program).then_some("--test"))
        .args(run_line_flags(text))
        .arg(args.gist.as_str())
        .args(["-o", dir.join("gist").as_str()]);
    let built = run_inherited(&mut rustc)?;
    if !built.success() {
        return Ok(code(built));
    }
    if !program {
        let mut list = Command::new(dir.join("gist"));
        list.args(&args.args).arg("--list");
        some_tests(args, &mut list)?;
    }
    Ok(code(run_inherited(Command::new(dir.join("gist")).args(&args.args))?))
}

/// A run that tests nothing must not read as green.
fn some_tests(args: &RunArgs, list: &mut Command) -> Result<()> {
    let out = process::run(list, Limits::default())?;
    let listed = out.stdout_text().lines().any(|l| l.ends_with(": test") || l.ends_with(": benchmark"));
    if out.status.success() && !listed && !args.args.iter().any(|a| a == "--help" || a == "-h") {
        return Err(Error::NothingRan { file: args.gist.clone() });
    }
    Ok(())
}

/// Makes a temporary package of the gist and its manifest; dependencies are built once for all gists of a user.
fn with_dependencies(args: &RunArgs, manifest: &EmbeddedManifest, text: &str, dir: &Utf8PathBuf) -> Result<u8> {
    let mut table = manifest.table.clone();
    let package = table.entry("package").or_insert_with(|| toml::Value::Table(toml::Table::new()));
    if let Some(package) = package.as_table_mut() {
        package.entry("name").or_insert_with(|| "gist".into());
        package.entry("version").or_insert_with(|| "0.0.0".into());
        package.insert("publish".into(), false.into());
        package.entry("edition").or_insert_with(|| manifest.edition.clone().unwrap_or_else(|| "2021".into()).into());
    }
    table.insert("workspace".into(), toml::Value::Table(toml::Table::new()));
    let program = is_program(text);
    let target = if program {
        "bin = [{ name = \"gist\", path = \"gist.rs\" }]"
    } else {
        "lib = { name = \"gist\", path = \"gist.rs\" }"
    };
    table.extend(toml::from_str::<toml::Table>(target).map_err(|e| Error::Internal(e.to_string()))?);
    std::fs::write(dir.join("Cargo.toml"), table.to_string()).map_err(Error::io("failed to write a manifest"))?;
    std::fs::write(dir.join("gist.rs"), text).map_err(Error::io("failed to copy the gist"))?;
    let mut cargo = tool("cargo", args.toolchain.as_ref());
    if args.toolchain.is_none() {
        cargo = cargo_gistify::workspace::cargo();
    }
    cargo.args(if program { ["build", "--bins"] } else { ["test", "--lib"] });
    cargo.args(["--quiet", "--manifest-path", dir.join("Cargo.toml").as_str()]);
    if args.offline {
        cargo.arg("--offline");
    }
    if std::env::var_os("CARGO_TARGET_DIR").is_none() {
        cargo.env("CARGO_TARGET_DIR", cache_dir()?);
    }
    cargo.env("RUSTFLAGS", format!("{} -Awarnings", std::env::var("RUSTFLAGS").unwrap_or_default()).trim());
    if program {
        // Programs of other gists have the same name, so only what it is made of is shared with them.
        let shared = cargo.get_envs().find_map(|(name, value)| (name == "CARGO_TARGET_DIR").then_some(value?.to_owned()));
        if let Some(shared) = shared.or_else(|| std::env::var_os("CARGO_TARGET_DIR")) {
            cargo.env("CARGO_BUILD_BUILD_DIR", shared);
        }
        let out = dir.join("out");
        let built = run_inherited(cargo.env_remove("CARGO_TARGET_DIR").args(["--target-dir", out.as_str()]))?;
        if !built.success() {
            return Ok(code(built));
        }
        return Ok(code(run_inherited(Command::new(out.join("debug/gist")).args(&args.args))?));
    }
    let built = run_inherited(cargo.arg("--no-run"))?;
    if !built.success() {
        return Ok(code(built));
    }
    let again = |more: &[&str]| {
        let mut c = Command::new(cargo.get_program());
        c.args(cargo.get_args().filter(|a| *a != "--no-run"));
        c.envs(cargo.get_envs().filter_map(|(k, v)| Some((k, v?))));
        c.arg("--").args(&args.args).args(more);
        c
    };
    some_tests(args, &mut again(&["--list"]))?;
    Ok(code(run_inherited(&mut again(&[]))?))
}

/// Where the dependencies of gists are built: the user's cache directory.
fn cache_dir() -> Result<Utf8PathBuf> {
    let base = std::env::var_os("XDG_CACHE_HOME")
        .map(std::path::PathBuf::from)
        .or_else(|| Some(std::path::PathBuf::from(std::env::var_os("HOME")?).join(".cache")))
        .unwrap_or_else(std::env::temp_dir);
    cargo_gistify::compile::utf8_buf(base.join("cargo-gistify").join("run"))
}

/// The child's own status; a signal as a shell gives it.
fn code(status: std::process::ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt;
    let n = status.code().or_else(|| status.signal().map(|s| 128 + s)).unwrap_or(1);
    u8::try_from(n).unwrap_or(1)
}
