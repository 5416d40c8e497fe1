//! The figures of a gist, each from the module that defines it.

use super::Session;
use crate::error::{Error, Result};
use crate::report::Metrics;
use crate::score::ParseError;
use crate::score::execution::Execution;
use crate::score::existence::Options;
use crate::score::explain::{Explanation, Place, Run, explain};
use crate::score::size::{Size, stubs};
use crate::score::test_f1::line_f1;
use crate::source::map::SourceMap;
use crate::trace::Coverage;
use crate::verify::inject::{OriginalTest, locate};
use crate::verify::verdict::{Verdict, VerificationRun, Verified};

impl Session<'_> {
    /// The figures of a gist that was verified; of one that is not Rust there are few.
    pub(super) fn metrics(
        &self,
        gist: &str,
        layout: &Options,
        original: &OriginalTest,
        verified: &Verified,
        trace: &Coverage,
    ) -> Metrics {
        let size = Size::of(gist).ok();
        let existence = self.index.score(gist, layout).ok();
        if std::env::var_os("GISTIFY_DEBUG").is_some() {
            for f in existence.iter().flat_map(|e| &e.foreign) {
                eprintln!("foreign: {} in {}", f.line_text, f.block);
            }
        }
        let execution = verified.run.as_ref().and_then(|run| execution(run).ok().flatten());
        let partial = verified.partial.as_ref();
        let names = self.index.names();
        let test_f1 = locate(gist, original).ok().and_then(|test| line_f1(&original.tokens, &gist[test], &names).ok());
        Metrics {
            execution_fidelity: Some(if verified.verdict == Verdict::Ok { 1.0 } else { 0.0 }),
            cases_agreeing: partial.map(|p| p.cases_agreeing),
            output_similarity: partial.map(|p| p.output_similarity),
            pass_rate: partial.and_then(|p| p.pass_rate),
            test_f1: test_f1.map(|f1| f1.f1),
            line_execution_rate: execution.as_ref().and_then(Execution::rate),
            line_execution_rate_possible: execution.as_ref().and_then(Execution::rate_possible),
            line_existence_rate: existence.as_ref().map(|e| e.rate),
            lines: size.as_ref().map(|s| s.lines),
            code_lines: size.as_ref().map(|s| s.code_lines),
            bundle_lines: Some(self.bundle_lines),
            stubs: stubs(gist, &self.index, layout).ok(),
            foreign_lines: existence.as_ref().map(|e| e.foreign.len()),
            trace_length: Some(trace.trace_length()),
            files_touched: Some(self.touched(trace)),
        }
    }

    /// Why a gist has the rates that it has, line by line; `run` is what ran of it, if it ran.
    ///
    /// # Errors
    /// A gist that is not Rust.
    pub fn explain(&self, gist: &str, layout: &Options, run: Option<&VerificationRun>) -> Result<Explanation> {
        let bundle = &self.prepared.bundle;
        let root = &self.workspace.metadata.workspace_root;
        let texts: Vec<SourceMap> = bundle
            .crates
            .iter()
            .map(|c| SourceMap { files: bundle.map.files.clone(), segments: c.text.segments.clone() })
            .collect();
        let place = |krate: usize, offset: usize| {
            let (path, at) = texts.get(krate)?.place(offset)?;
            Some(Place { file: path.strip_prefix(root).unwrap_or(path).to_owned(), line: at.line })
        };
        explain(gist, run.and_then(run_of).as_ref(), &self.index, layout, &place)
            .map_err(|e| Error::Internal(format!("the gist can't be explained: {e}")))
    }

    /// Files of the project that ran: those of dependencies and of the standard library don't count.
    fn touched(&self, trace: &Coverage) -> usize {
        trace.touched().into_iter().filter(|&f| self.prepared.bundle.map.file(&trace.files[f]).is_some()).count()
    }
}

/// What ran of a gist's own file.
fn run_of(run: &VerificationRun) -> Option<Run<'_>> {
    let file = run.coverage.files.iter().position(|f| f.file_name() == Some(crate::compile::FILE_NAME))?;
    Some(Run::new(&run.text, &run.coverage, file))
}

/// How many lines of a gist ran, by LLVM's own line coverage.
fn execution(run: &VerificationRun) -> Result<Option<Execution>, ParseError> {
    let Some(execution) = run_of(run).map(|run| run.execution()).transpose()? else { return Ok(None) };
    if std::env::var_os("GISTIFY_DEBUG").is_some() {
        for line in &execution.idle {
            let demanded = if execution.demanded.contains(line) { "demanded" } else { "idle" };
            eprintln!("{demanded} {line}: {}", run.text.lines().nth(line - 1).unwrap_or_default());
        }
    }
    Ok(Some(execution))
}
