//! A recorded rustc call: everything that is needed to compile the same crate, or a gist of it, again.

use crate::error::{Error, Result};
use crate::source::cfg::CfgSet;
use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One call of rustc for a workspace member, as cargo made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RustcCall {
    /// The compiler.
    pub rustc: String,
    /// Its arguments, without the compiler itself and without ours.
    pub args: Vec<String>,
    /// Where it ran.
    pub cwd: Utf8PathBuf,
    /// What cargo and the build script added to the environment.
    pub env: BTreeMap<String, String>,
    /// The version of this tool and the flags it added: a record by another is as good as none.
    #[serde(default)]
    pub tool: String,
}

/// An `--extern`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extern {
    /// The name it has in the code.
    pub name: String,
    /// The library file; `None` for crates that rustc finds itself (`proc_macro`).
    pub path: Option<Utf8PathBuf>,
    /// The argument as it was.
    pub argument: String,
}

impl RustcCall {
    /// Reads a record.
    ///
    /// # Errors
    /// When the file can't be read or is not a record.
    pub fn read(path: &Utf8Path) -> Result<RustcCall> {
        let text = std::fs::read_to_string(path).map_err(Error::path("read", path))?;
        serde_json::from_str(&text).map_err(|e| Error::Internal(format!("the record {path} can't be read: {e}")))
    }

    /// The values of an option, given as `--name value` or `--name=value` (or `-C key=value` for codegen options).
    fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> + 'a {
        self.args.iter().enumerate().filter_map(move |(i, a)| {
            if a == name {
                return self.args.get(i + 1).map(String::as_str);
            }
            a.strip_prefix(name)?.strip_prefix('=')
        })
    }

    /// The values of a codegen option (`-C key=value`).
    pub fn codegen<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> + 'a {
        let joined = self.args.iter().filter_map(|a| a.strip_prefix("-C").filter(|r| !r.is_empty()));
        self.values("-C").chain(joined).filter_map(move |v| v.strip_prefix(key)?.strip_prefix('='))
    }

    /// `--crate-name`
    #[must_use]
    pub fn crate_name(&self) -> &str {
        self.values("--crate-name").next().unwrap_or_default()
    }

    /// `--crate-type`, each.
    #[must_use]
    pub fn crate_types(&self) -> Vec<&str> {
        self.values("--crate-type").flat_map(|v| v.split(',')).collect()
    }

    /// `--edition`; rustc's default is 2015.
    #[must_use]
    pub fn edition(&self) -> &str {
        self.values("--edition").next().unwrap_or("2015")
    }

    /// Built with libtest's harness.
    #[must_use]
    pub fn has_harness(&self) -> bool {
        self.args.iter().any(|a| a == "--test")
    }

    /// The crate's root file, absolute.
    ///
    /// # Errors
    /// When no argument is one.
    pub fn root(&self) -> Result<Utf8PathBuf> {
        let file = self
            .args
            .iter()
            .enumerate()
            .find(|(i, a)| a.ends_with(".rs") && !a.starts_with('-') && !(*i > 0 && takes_value(&self.args[i - 1])))
            .map(|(_, a)| self.cwd.join(a));
        file.ok_or_else(|| Error::Internal(format!("no source file in the recorded call of {}", self.crate_name())))
    }

    /// The `--cfg`s, features among them.
    #[must_use]
    pub fn cfgs(&self) -> CfgSet {
        CfgSet::from_lines(self.values("--cfg"))
    }

    /// The `--extern`s.
    #[must_use]
    pub fn externs(&self) -> Vec<Extern> {
        self.values("--extern")
            .map(|v| {
                let (name, path) = v.split_once('=').map_or((v, None), |(n, p)| (n, Some(p)));
                let name = name.rsplit(':').next().unwrap_or(name).to_owned();
                Extern { name, path: path.map(|p| self.cwd.join(p)), argument: v.to_owned() }
            })
            .collect()
    }

    /// Arguments to compile another file in this crate's place: edition, targets, libraries, codegen options.
    /// Left out are what names outputs, `cfg`s, lints, crate name and type, and the source file.
    #[must_use]
    pub fn base_args(&self) -> Vec<String> {
        const DROP_VALUE: &[&str] = &[
            "--crate-name",
            "--crate-type",
            "--emit",
            "--out-dir",
            "--error-format",
            "--json",
            "--cfg",
            "--check-cfg",
            "--diagnostic-width",
            "--cap-lints",
            "-W",
            "-A",
            "-D",
            "-F",
            "--warn",
            "--allow",
            "--deny",
            "--forbid",
            "--force-warn",
            "-o",
            "--color",
            "--remap-path-prefix",
        ];
        const DROP_CODEGEN: &[&str] = &[
            "incremental",
            "metadata",
            "extra-filename",
            "split-debuginfo",
            "debuginfo",
            "embed-bitcode",
            "linker-plugin-lto",
            "lto",
            "save-temps",
            "strip",
            "codegen-units",
        ];
        let root = self.root().ok();
        let mut out = Vec::new();
        let mut args = self.args.iter().peekable();
        while let Some(arg) = args.next() {
            let (flag, joined) = match arg.split_once('=') {
                Some((flag, _)) if flag.starts_with("--") => (flag, true),
                _ => (arg.as_str(), false),
            };
            if DROP_VALUE.contains(&flag) {
                if !joined {
                    args.next();
                }
                continue;
            }
            if arg == "--test" || (arg.len() > 2 && ["-A", "-D", "-W", "-F"].iter().any(|p| arg.starts_with(p))) {
                continue;
            }
            if arg == "-C" || (arg.starts_with("-C") && !arg.starts_with("--")) {
                let value = if arg == "-C" { args.next().map_or("", String::as_str) } else { &arg[2..] };
                let key = value.split('=').next().unwrap_or_default();
                if !DROP_CODEGEN.contains(&key) && value != "instrument-coverage" {
                    out.extend(["-C".to_owned(), value.to_owned()]);
                }
                continue;
            }
            if root.as_ref().is_some_and(|r| *r == self.cwd.join(arg)) && !arg.starts_with('-') {
                continue;
            }
            out.push(arg.clone());
            if takes_value(arg) {
                out.extend(args.next().cloned());
            }
        }
        out
    }
}

/// Options of rustc whose value is the next argument.
fn takes_value(arg: &str) -> bool {
    matches!(
        arg,
        "-C" | "-L"
            | "-l"
            | "-Z"
            | "-o"
            | "-A"
            | "-D"
            | "-W"
            | "-F"
            | "--extern"
            | "--cfg"
            | "--check-cfg"
            | "--target"
            | "--edition"
            | "--crate-name"
            | "--crate-type"
            | "--emit"
            | "--out-dir"
            | "--error-format"
            | "--json"
            | "--cap-lints"
            | "--sysroot"
            | "--codegen"
            | "--remap-path-prefix"
            | "--color"
    )
}

#[cfg(test)]
mod unit {
    use super::*;

    fn call(args: &str) -> RustcCall {
        RustcCall {
            rustc: "rustc".into(),
            args: args.split(' ').map(str::to_owned).collect(),
            cwd: "/w".into(),
            env: BTreeMap::new(),
            tool: String::new(),
        }
    }

    #[test]
    fn the_root_is_the_source_file_and_not_an_option_value() {
        let c = call("--crate-name a.rs --edition=2021 src/lib.rs --test");
        assert_eq!(c.root().unwrap(), "/w/src/lib.rs");
        assert!(c.has_harness());
    }

    #[test]
    fn base_args_keep_libraries_and_drop_outputs_cfgs_and_lints() {
        let c = call(
            "--crate-name a --edition=2021 src/lib.rs --error-format=json --emit=dep-info,link -C opt-level=1 -C metadata=1 \
             -C incremental=/x --test --cfg feature=\"x\" --check-cfg cfg(y) --out-dir /t -L dependency=/t --extern b=/t/libb.rlib \
             -Dwarnings --deny=unused",
        );
        assert_eq!(c.base_args().join(" "), "--edition=2021 -C opt-level=1 -L dependency=/t --extern b=/t/libb.rlib");
    }

    #[test]
    fn an_extern_with_options_gives_its_name() {
        let c = call("--extern priv:serde=/t/libserde.rlib --extern proc_macro");
        let e = c.externs();
        assert_eq!((e[0].name.as_str(), e[1].path.is_none()), ("serde", true));
    }
}
