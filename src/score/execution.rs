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

#[cfg(test)]
mod unit {
    use super::*;
    use crate::source::map::Position;
    use crate::trace::RegionKind;

    const TEXT: &str = "fn f(n: u8) -> u8 {\n    match n {\n        0 => 1,\n        _ => 2,\n    }\n}\nfn idle() {\n}\n";

    fn execution() -> Execution {
        let region = |start: (usize, usize), end: (usize, usize), count| {
            let at = |(line, column)| Position { line, column };
            Region { file: 0, start: at(start), end: at(end), count, kind: RegionKind::Code }
        };
        let regions = [
            region((1, 1), (2, 12), 3),
            region((3, 14), (3, 15), 3),
            region((4, 14), (4, 15), 0),
            region((6, 1), (6, 2), 3),
            region((7, 1), (8, 2), 0),
        ];
        let counts = BTreeMap::from([(1, 3), (2, 3), (3, 3), (4, 0), (6, 3), (7, 0), (8, 0)]);
        Execution::of(TEXT, &counts, &regions).unwrap()
    }

    #[test]
    fn the_rate_is_executed_of_executable_lines() {
        let e = execution();
        // Lines 1, 2, 3 and 6 ran; 4, 7 and 8 did not; 5 has no count. 4 of 7.
        assert_eq!((e.executed, e.idle.iter().copied().collect::<Vec<_>>()), (4, vec![4, 7, 8]));
        assert_eq!(e.rate(), Some(4.0 / 7.0));
    }

    #[test]
    fn what_rustc_demands_is_left_out_of_what_can_run() {
        let e = execution();
        // Line 4 is the only arm for other numbers than 0, so 4 of 7 - 1. Nothing shows that `idle` is needed.
        assert_eq!(e.demanded, BTreeSet::from([4]));
        assert_eq!(e.rate_possible(), Some(4.0 / 6.0));
    }

    #[test]
    fn without_executable_lines_there_is_no_rate() {
        let e = Execution::of("const A: u8 = 1;\n", &BTreeMap::new(), &[]).unwrap();
        assert_eq!((e.rate(), e.rate_possible()), (None, None));
    }
}
