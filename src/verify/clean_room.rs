//! Where gists are built and run: in a sandbox that shows the toolchain, the dependencies that the project's build left, and
//! folders that were made for the run.

use crate::error::{Error, Result};
use crate::process::{Limits, Output, run_fed};
use crate::sandbox::{Breach, Kind, Policy, ResourceLimits, Sandbox};
use camino::{Utf8Path, Utf8PathBuf};
use std::process::{Command, Stdio};

/// A sandbox, as gists use it.
#[derive(Clone, Copy, Debug)]
pub struct CleanRoom<'s> {
    sandbox: &'s Sandbox,
}

/// What a process in the room may reach, beside toolchain and system libraries.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    /// To read, and to execute.
    pub read_only: Vec<Utf8PathBuf>,
    /// To write as well.
    pub writable: Vec<Utf8PathBuf>,
}

impl<'s> CleanRoom<'s> {
    /// A room in that sandbox.
    #[must_use]
    pub fn new(sandbox: &'s Sandbox) -> CleanRoom<'s> {
        CleanRoom { sandbox }
    }

    /// What holds it.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.sandbox.kind()
    }

    /// Runs a compiler that writes to one folder. It may read what its own arguments name.
    ///
    /// # Errors
    /// When it can't be started.
    pub fn compile(&self, compiler: &Command, dir: &Utf8Path, limits: Limits) -> Result<(Output, Option<Breach>)> {
        let named: Vec<String> = compiler.get_args().filter_map(|a| a.to_str()).map(str::to_owned).collect();
        let reach = Reach { read_only: paths_in(&named), writable: vec![dir.to_owned()] };
        self.run(compiler, None, reach, ResourceLimits::for_compiler(), Stdio::null(), limits)
    }

    /// Runs a program that is called `arg0`.
    ///
    /// # Errors
    /// When it can't be started.
    pub fn execute(
        &self,
        program: &Command,
        arg0: Option<&str>,
        reach: Reach,
        input: Stdio,
        limits: Limits,
    ) -> Result<(Output, Option<Breach>)> {
        self.run(program, arg0, reach, ResourceLimits::default(), input, limits)
    }

    fn run(
        &self,
        inner: &Command,
        arg0: Option<&str>,
        reach: Reach,
        resources: ResourceLimits,
        input: Stdio,
        limits: Limits,
    ) -> Result<(Output, Option<Breach>)> {
        let policy = Policy { read_only: reach.read_only, writable: reach.writable, limits: resources, ..Policy::default() };
        let mut command = self.sandbox.command_as(inner, &policy, arg0)?;
        let output = run_fed(&mut command, input, limits)?;
        let report = self.sandbox.report(&command);
        match report.fault {
            Some(fault) => {
                Err(Error::Setup(format!("the sandbox {} could not start a command: {fault}", self.kind().name())))
            }
            None if report.breach == Some(Breach::Machine) => Err(Error::Setup(
                "a process was ended since the machine, or the job that this runs in, has too little memory; give it more"
                    .into(),
            )),
            None => Ok((output, report.breach)),
        }
    }
}

/// Files and folders that arguments of a compiler name: `-L kind=PATH`, `--extern name=PATH`, a path by itself.
fn paths_in(arguments: &[String]) -> Vec<Utf8PathBuf> {
    let mut found: Vec<Utf8PathBuf> = Vec::new();
    for argument in arguments {
        let path = argument.rsplit_once('=').map_or(argument.as_str(), |(_, path)| path);
        let path = Utf8Path::new(path);
        if path.is_absolute() && path.exists() && !found.iter().any(|f| f == path) {
            found.push(path.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn what_the_arguments_of_a_compiler_name_is_what_it_may_read() {
        let here = env!("CARGO_MANIFEST_DIR");
        let args = [
            "-C",
            "opt-level=1",
            "-L",
            &format!("dependency={here}/src"),
            "--extern",
            &format!("priv:a={here}/Cargo.toml"),
            "/gone",
        ];
        let paths = paths_in(&args.map(str::to_owned));
        assert_eq!(paths, [format!("{here}/src"), format!("{here}/Cargo.toml")].map(Utf8PathBuf::from));
    }
}
