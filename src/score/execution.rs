//! How many of a text's lines ran, of all that are executable, and of those that can run at all.

use super::ParseError;
use super::demanded::Demanded;
use crate::trace::Region;
use std::collections::{BTreeMap, BTreeSet};

/// The executable lines of a text, as one run left them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Execution {
    /// Lines with a count above 0.
    pub executed: usize,
    /// Every line that never ran.
    pub idle: BTreeSet<usize>,
    /// Those of them that rustc demands.
    pub demanded: BTreeSet<usize>,
}

impl Execution {
    /// Of the text that ran, the count of each executable line, and its regions, each once.
    ///
    /// # Errors
    /// A text that is not Rust.
    pub fn of(text: &str, counts: &BTreeMap<usize, u64>, regions: &[Region]) -> Result<Execution, ParseError> {
        let idle: BTreeSet<usize> = counts.iter().filter(|(_, n)| **n == 0).map(|(line, _)| *line).collect();
        let demanded = Demanded::of(text, regions)?;
        let demanded = idle.iter().copied().filter(|&line| demanded.holds(line)).collect();
        Ok(Execution { executed: counts.len() - idle.len(), idle, demanded })
    }

    /// Executed share of all executable lines; `None` when there are none.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        share(self.executed, self.executed + self.idle.len())
    }

    /// Executed share of the executable lines that are not demanded.
    #[must_use]
    pub fn rate_possible(&self) -> Option<f64> {
        share(self.executed, self.executed + self.idle.len() - self.demanded.len())
    }
}

fn share(part: usize, whole: usize) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "line counts are small")]
    (whole > 0).then(|| part as f64 / whole as f64)
}
