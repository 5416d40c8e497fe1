//! What an agent is asked for a task of the session.

use super::Session;
use crate::agent::prompt::{Facts, Strategy, prompt};
use crate::error::Result;
use crate::gist::known_dependencies;
use crate::reduce::ran::Ran;
use crate::task::Task;
use crate::trace::Coverage;
use crate::verify::inject::OriginalTest;
use crate::workspace::relative;
use camino::Utf8Path;
use std::time::Duration;

/// How an agent is asked.
#[derive(Clone, Copy, Debug, Default)]
pub struct AskOptions<'a> {
    /// How it is to go about it.
    pub strategy: Strategy,
    /// The test's text is given.
    pub body: bool,
    /// It may run code.
    pub execution: bool,
    /// Tools of our own server that it is given.
    pub mcp: &'a [String],
    /// Ignored tests are run.
    pub ignored: bool,
    /// For one run of the test.
    pub timeout: Option<Duration>,
}

impl Session<'_> {
    /// The prompt for a task, whose gist has to be at `gist`, and what its test runs. The test is run once, so that what can't be verified is known before an
    /// agent is paid for it.
    ///
    /// # Errors
    /// As [`Session::judge`].
    pub fn ask(
        &self,
        task: &Task,
        gist: &Utf8Path,
        options: &AskOptions<'_>,
        stage: &dyn Fn(&str, &str),
    ) -> Result<(String, Coverage)> {
        stage("Tracing", &task.what());
        let (original, coverage) = self.traced(task, options.ignored, options.timeout)?;
        // The file of an integration test is its own crate, and may stand at the root.
        let wrapper = self.prepared.bundle.wrapper.as_ref();
        let modules: Vec<String> = original.path.iter().skip_while(|m| Some(*m) == wrapper).cloned().collect();
        let place = task.tests().first().and_then(|test| {
            let file = test.file.as_ref()?;
            Some(format!("{}:{}", relative(file, &self.workspace.metadata.workspace_root), test.line))
        });
        let ignored = if options.ignored { " --include-ignored" } else { "" };
        let dependencies = known_dependencies(self.workspace, &self.target)?;
        let edition = &self.prepared.bundle.edition;
        let command = match (task.program(), dependencies.is_empty()) {
            (Some(program), _) => format!("rustc --edition {edition} {} && ./gist{}", gist_name(gist), program.call()),
            (None, true) => {
                format!(
                    "rustc --edition {edition} --test {} -o gist && ./gist --exact {}{ignored}",
                    gist_name(gist),
                    task.name()
                )
            }
            (None, false) => format!("cargo gistify run {} -- --exact {}{ignored}", gist_name(gist), task.name()),
        };
        let text = prompt(&Facts {
            test: task.name(),
            target: &format!("{} {}", self.target.package, self.target.selector()),
            place: place.as_deref(),
            modules: &modules,
            edition,
            crates: &self.prepared.bundle.crates.iter().map(|c| c.crate_name.clone()).collect::<Vec<_>>(),
            command: &command,
            dependencies: &dependencies,
            gist,
            strategy: options.strategy,
            execution: options.execution,
            mcp: options.mcp,
            body: options.body.then_some(&original),
        });
        Ok((text, coverage))
    }

    /// The test alone, where a gist has to have it: a submission that does nothing of the task, and must not win.
    ///
    /// # Errors
    /// When the test is not found in the bundle, or can't be run.
    pub fn skeleton(&self, task: &Task, ignored: bool, timeout: Option<Duration>) -> Result<String> {
        let (original, _) = self.traced(task, ignored, timeout)?;
        // A keyword is a name where it says so.
        let name = |module: &str| match syn::parse_str::<syn::Ident>(module) {
            Ok(_) => module.to_owned(),
            Err(_) => format!("r#{module}"),
        };
        let path = original.path.iter().rev();
        let inside = path.fold(original.tokens, |text, module| format!("mod {} {{\n{text}\n}}", name(module)));
        Ok(format!("{inside}\n"))
    }

    /// The test as the bundle has it, and what it runs.
    fn traced(&self, task: &Task, ignored: bool, timeout: Option<Duration>) -> Result<(OriginalTest, Coverage)> {
        let entry = task.entry(&self.target, ignored);
        // Where gists of the task will be judged again and again, the runs that they are compared with are made now.
        let coverage = match &self.memory {
            Some(_) => self.baseline(&entry, &task.what(), timeout)?.coverage.clone(),
            None => self.first_run(&entry, &task.what(), timeout)?.0.coverage().cloned().unwrap_or_default(),
        };
        let site = self.locate(task, &Ran::new(&self.prepared.bundle, &self.prepared.tree, &coverage))?;
        let first_case = entry.names().first().map_or_else(|| task.name(), String::as_str);
        Ok((self.original(&site, first_case), coverage))
    }
}

fn gist_name(gist: &Utf8Path) -> &str {
    gist.file_name().unwrap_or("gist.rs")
}
