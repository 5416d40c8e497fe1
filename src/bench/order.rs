//! The cells of a matrix, in their order, and which of them one process does.

use super::cell::CellId;
use super::digest;
use std::collections::BTreeSet;
use std::str::FromStr;

/// All cells: task by task, attempt by attempt, agent by agent. A cell's index is its place here, from 0 on.
#[must_use]
pub fn cells<'t>(tasks: impl IntoIterator<Item = &'t String>, agents: &BTreeSet<String>, attempts: u32) -> Vec<CellId> {
    let of_task = |task: &String| -> Vec<CellId> {
        let cell = |attempt, agent: &String| CellId { task: task.clone(), agent: agent.clone(), attempt };
        (1..=attempts).flat_map(|n| agents.iter().map(move |agent| cell(n, agent))).collect()
    };
    tasks.into_iter().flat_map(of_task).collect()
}

/// One of several parts of a matrix, as cargo-nextest spells it: `slice:1/3`, `hash:1/3`.
///
/// ```
/// use cargo_gistify::bench::order::Partition;
/// assert!("slice:2/3".parse::<Partition>().is_ok());
/// assert!("slice:0/3".parse::<Partition>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    by: By,
    part: u64,
    of: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// Every n-th cell.
    Slice,
    /// Every cell of a task whose id falls there: it stays where it is when tasks are added, and its project is built in one place.
    Hash,
}

impl Partition {
    /// Whether a cell, with its index, is in this part.
    #[must_use]
    pub fn has(&self, index: usize, cell: &CellId) -> bool {
        let number = match self.by {
            By::Slice => index as u64,
            By::Hash => u64::from_str_radix(&digest([&cell.task])[..15], 16).unwrap_or(0),
        };
        number % self.of == self.part - 1
    }
}

impl FromStr for Partition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no partition; write `slice:M/N` or `hash:M/N`, M from 1 to N");
        let (by, share) = text.split_once(':').ok_or_else(wrong)?;
        let (part, of) = share.split_once('/').ok_or_else(wrong)?;
        let by = match by {
            "slice" => By::Slice,
            "hash" => By::Hash,
            _ => return Err(wrong()),
        };
        let (part, of) = (part.parse().map_err(|_| wrong())?, of.parse().map_err(|_| wrong())?);
        if part < 1 || part > of { Err(wrong()) } else { Ok(Partition { by, part, of }) }
    }
}

/// Indexes of cells: `7`, or `0,3,8-11`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Indexes(Vec<(usize, usize)>);

impl Indexes {
    /// Of numbers that go up, with runs of them taken together.
    #[must_use]
    pub fn of(numbers: impl IntoIterator<Item = usize>) -> Indexes {
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        for number in numbers {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == number => *last = number,
                _ => ranges.push((number, number)),
            }
        }
        Indexes(ranges)
    }

    /// Whether a number is one of them.
    #[must_use]
    pub fn has(&self, number: usize) -> bool {
        self.0.iter().any(|(first, last)| (*first..=*last).contains(&number))
    }

    /// The largest.
    #[must_use]
    pub fn last(&self) -> usize {
        self.0.iter().map(|(_, last)| *last).max().unwrap_or(0)
    }
}

impl std::fmt::Display for Indexes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let range = |(first, last): &(usize, usize)| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        };
        f.write_str(&self.0.iter().map(range).collect::<Vec<_>>().join(","))
    }
}

impl FromStr for Indexes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` are no indexes; write them as `7` or `0,3,8-11`");
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (first.trim().parse().map_err(|_| wrong())?, last.trim().parse().map_err(|_| wrong())?);
            if first > last { Err(wrong()) } else { Ok((first, last)) }
        };
        text.split(',').map(range).collect::<Result<_, _>>().map(Indexes)
    }
}

#[cfg(test)]
mod unit {
    use super::*;
    use proptest::prelude::*;

    fn matrix() -> Vec<CellId> {
        let tasks: Vec<String> = (0..20).map(|n| format!("t{n}")).collect();
        cells(&tasks, &["b", "a"].map(str::to_owned).into(), 2)
    }

    #[test]
    fn cells_go_task_by_task_attempt_by_attempt() {
        let names: Vec<String> = matrix().iter().take(5).map(CellId::name).collect();
        assert_eq!(names, ["t0/a/1", "t0/b/1", "t0/a/2", "t0/b/2", "t1/a/1"]);
    }

    #[test]
    fn every_cell_is_in_one_part_and_a_hashed_task_is_in_one_part_whatever_else_there_is() {
        let all = matrix();
        for by in ["slice", "hash"] {
            let parts: Vec<Partition> = (1..=3).map(|m| format!("{by}:{m}/3").parse().unwrap()).collect();
            for (i, cell) in all.iter().enumerate() {
                assert_eq!(parts.iter().filter(|part| part.has(i, cell)).count(), 1, "{by} {cell:?}");
            }
            assert!(parts.iter().all(|part| all.iter().enumerate().any(|(i, cell)| part.has(i, cell))), "{by}");
        }
        let first: Partition = "hash:1/3".parse().unwrap();
        assert!(all.iter().all(|cell| first.has(0, cell) == first.has(77, cell)));
        let bad = ["slice", "slice:1", "slice:3/2", "slice:0/2", "count:1/2", "hash:a/b", "slice:1/0"];
        assert!(bad.iter().all(|text| text.parse::<Partition>().is_err()));
    }

    #[test]
    fn indexes_are_read_as_they_are_written() {
        let some: Indexes = "0,3,8-11".parse().unwrap();
        assert_eq!((some.to_string(), some.last()), ("0,3,8-11".to_owned(), 11));
        assert!(some.has(9) && !some.has(4));
        assert!(["", "a", "3-1", "1,,2", "-1"].iter().all(|text| text.parse::<Indexes>().is_err()));
    }

    proptest! {
        #[test]
        fn indexes_of_numbers_have_these_and_no_others(numbers: BTreeSet<usize>) {
            prop_assume!(!numbers.is_empty());
            let numbers: BTreeSet<usize> = numbers.into_iter().map(|n| n % 200).collect();
            let back: Indexes = Indexes::of(numbers.iter().copied()).to_string().parse().unwrap();
            prop_assert!((0..210).all(|n| back.has(n) == numbers.contains(&n)));
        }
    }
}
