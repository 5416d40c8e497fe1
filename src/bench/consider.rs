//! Whether a test makes a task: screened, made a gist of, and held against submissions that must not win.

use crate::bench::set::Difficulty;
use crate::error::{Error, Result};
use crate::road::judge::VerifyOptions;
use crate::road::{MakeOptions, Session};
use crate::screen::{Fitness, ScreenOptions, screen};
use crate::task::Task;
use crate::trace::CoverageMap;
use crate::verify::clean_room::CleanRoom;
use crate::verify::verdict::Verdict;
use crate::workspace::capture::TestTarget;

/// How often the gold solution is judged.
const GOLD_RUNS: usize = 2;

/// What is left of a test that passed.
#[derive(Clone, Debug, PartialEq)]
pub struct Gold {
    /// The extractor's gist: the gold solution.
    pub gist: String,
    /// How hard the task is.
    pub difficulty: Difficulty,
}

/// Why a test makes no task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// The stage of the funnel that it did not pass.
    pub stage: &'static str,
    /// Why.
    pub reason: String,
}

/// What is wrong with a test, apart from what is wrong around it.
fn own<T>(result: Result<T>) -> Result<std::result::Result<T, String>> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(e @ (Error::Interrupted | Error::Io { .. } | Error::Setup(_))) => Err(e),
        Err(e) => {
            let said = e.to_string();
            if matches!(e, Error::Bundling { .. }) {
                disk_is_there(&said)?;
            }
            Ok(Err(said))
        }
    }
}

/// A compiler that finds no room says nothing about what it compiles.
fn disk_is_there(said: &str) -> Result<()> {
    let full = ["No space left on device", "Disk quota exceeded"].iter().find(|words| said.contains(**words));
    full.map_or(Ok(()), |words| {
        Err(Error::Setup(format!("rustc could not write: {words}; make room in the temporary folder")))
    })
}

/// Sends a test through the funnel; one that fails in the project gets through only where `keep_failing` says so.
///
/// # Errors
/// Faults of the surroundings, which the next test would meet as well. What is wrong with the test is [`Dropped`].
pub fn consider(
    session: &Session<'_>,
    target: &TestTarget,
    task: &Task,
    map: &CoverageMap,
    room: &CleanRoom<'_>,
    options: ScreenOptions,
    keep_failing: bool,
) -> Result<std::result::Result<Gold, Dropped>> {
    let dropped = |stage, reason: String| Ok(Err(Dropped { stage, reason }));
    let quiet = |_: &str, _: &str| ();
    let screening = match own(screen(target, task, map, room, options))? {
        Ok(screening) => screening,
        Err(reason) => return dropped(Fitness::Unsupported.name(), reason),
    };
    if screening.fitness != Fitness::Fit {
        return dropped(screening.fitness.name(), screening.reason.unwrap_or_default());
    }
    if screening.passes == Some(false) && !keep_failing {
        return dropped("fails", "it fails in the project; `--keep-failing` takes it all the same".into());
    }
    let make = MakeOptions { ignored: options.ignored, timeout: Some(options.timeout), ..MakeOptions::default() };
    let made = match own(session.make(task, &make, &quiet))? {
        Ok(made) => made,
        Err(reason) => return dropped("no-gold", reason),
    };
    if made.verdict == Verdict::DoesNotCompile {
        disk_is_there(&made.reason)?;
    }
    if made.verdict != Verdict::Ok {
        return dropped("no-gold", format!("{}: {}", made.verdict.name(), made.reason));
    }
    let judge = VerifyOptions { ignored: options.ignored, timeout: Some(options.timeout), ..VerifyOptions::default() };
    for _ in 0..GOLD_RUNS {
        let judged = match own(session.judge(task, &made.gist.text, judge, &quiet))? {
            Ok(judged) => judged,
            Err(reason) => return dropped("gold-disagrees", reason),
        };
        if judged.verified.verdict != Verdict::Ok {
            let verdict = judged.verified.verdict.name();
            return dropped("gold-disagrees", format!("{verdict}: {}", judged.verified.reason));
        }
    }
    let alone = match own(session.skeleton(task, options.ignored, Some(options.timeout)))? {
        Ok(text) => text,
        Err(reason) => return dropped(Fitness::Unsupported.name(), reason),
    };
    for (what, text) in [("an empty file", "\n"), ("the test alone", alone.as_str())] {
        match own(session.judge(task, text, judge, &quiet))? {
            Ok(judged) if judged.verified.verdict == Verdict::Ok => return dropped("trivial", format!("{what} verifies")),
            Ok(_) => {}
            Err(reason) => return dropped("gold-disagrees", reason),
        }
    }
    let metrics = &made.metrics;
    let difficulty = Difficulty {
        trace_length: metrics.trace_length.unwrap_or(0),
        files_touched: metrics.files_touched.unwrap_or(0),
        bundle_lines: metrics.bundle_lines.unwrap_or(0),
        gold_lines: metrics.code_lines.unwrap_or(0),
    };
    Ok(Ok(Gold { gist: made.gist.text, difficulty }))
}
