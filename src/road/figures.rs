//! The figures of a gist, each from the module that defines it.

use super::Session;
use crate::report::Metrics;
use crate::score::ParseError;
use crate::score::execution::Execution;
use crate::score::existence::Options;
use crate::score::size::{Size, stubs};
use crate::score::test_f1::line_f1;
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
        let comparison = verified.comparison.as_ref();
        let names = self.index.names();
        let test_f1 = locate(gist, original).ok().and_then(|test| line_f1(&original.tokens, &gist[test], &names).ok());
        Metrics {
            execution_fidelity: Some(if verified.verdict == Verdict::Ok { 1.0 } else { 0.0 }),
            status_agreement: comparison.map(|c| c.status_share),
            output_similarity: comparison.map(|c| c.similarity),
            pass_rate: comparison.and_then(|c| c.pass_rate),
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

    /// Files of the project that ran: those of dependencies and of the standard library don't count.
    fn touched(&self, trace: &Coverage) -> usize {
        trace.touched().into_iter().filter(|&f| self.prepared.bundle.map.file(&trace.files[f]).is_some()).count()
    }
}

/// How many lines of a gist ran, by LLVM's own line coverage.
fn execution(run: &VerificationRun) -> Result<Option<Execution>, ParseError> {
    let Some(file) = run.coverage.files.iter().position(|f| f.file_name() == Some(crate::compile::FILE_NAME)) else {
        return Ok(None);
    };
    let execution = Execution::of(&run.text, &run.coverage.line_counts(file), &run.coverage.merged_regions(file))?;
    if std::env::var_os("GISTIFY_DEBUG").is_some() {
        for line in &execution.idle {
            let demanded = if execution.demanded.contains(line) { "demanded" } else { "idle" };
            eprintln!("{demanded} {line}: {}", run.text.lines().nth(line - 1).unwrap_or_default());
        }
    }
    Ok(Some(execution))
}
