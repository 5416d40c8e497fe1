//! Several tests at once, reported in order.

use cargo_gistify::error::Result;
use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;

/// How many tests are worked on at once: what `--jobs` says, as cargo reads it, else one a core. Under a jobserver one:
/// what it has to give goes to the compilers that are called.
pub(super) fn workers(jobs: Option<&str>) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let under_jobserver =
        ["CARGO_MAKEFLAGS", "MAKEFLAGS"].iter().any(|v| std::env::var(v).is_ok_and(|flags| flags.contains("--jobserver")));
    match jobs.and_then(|j| j.parse::<isize>().ok()) {
        Some(n) if n > 0 => n.unsigned_abs(),
        Some(n) => cores.saturating_sub(n.unsigned_abs()).max(1),
        None if under_jobserver => 1,
        None => cores,
    }
}

/// Does `work` on each item, several at once, and `done` with the results in the order of the items. An error of `done`
/// ends it all: what is under way is waited for.
pub(super) fn in_order<T: Sync, R: Send>(
    items: &[T],
    workers: usize,
    work: impl Fn(&T) -> R + Sync,
    mut done: impl FnMut(&T, R) -> Result<()>,
) -> Result<()> {
    if workers.min(items.len()) < 2 {
        return items.iter().try_for_each(|item| done(item, work(item)));
    }
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let (results, finished) = channel();
        for _ in 0..workers.min(items.len()) {
            let (results, next, work) = (results.clone(), &next, &work);
            scope.spawn(move || {
                while let Some((i, item)) = {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    items.get(i).map(|item| (i, item))
                } {
                    if results.send((i, work(item))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(results);
        let mut early = BTreeMap::new();
        let mut due = 0;
        for (i, result) in finished {
            early.insert(i, result);
            while let Some(result) = early.remove(&due) {
                if let Err(e) = done(&items[due], result) {
                    next.store(items.len(), Ordering::Relaxed);
                    return Err(e);
                }
                due += 1;
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod unit {
    use super::*;
    use cargo_gistify::error::Error;
    use std::time::Duration;

    #[test]
    fn results_come_in_the_order_of_the_items_however_long_each_takes() {
        let items: Vec<u64> = (0..20).rev().collect();
        let mut seen = Vec::new();
        let work = |n: &u64| {
            std::thread::sleep(Duration::from_millis(*n % 5));
            n * 2
        };
        let done = |n: &u64, twice: u64| {
            assert_eq!(twice, n * 2);
            seen.push(*n);
            Ok(())
        };
        in_order(&items, 4, work, done).unwrap();
        assert_eq!(seen, items);
    }

    #[test]
    fn an_error_ends_it() {
        let worked = AtomicUsize::new(0);
        let items: Vec<usize> = (0..1000).collect();
        let work = |_: &usize| {
            std::thread::sleep(Duration::from_millis(1));
            worked.fetch_add(1, Ordering::Relaxed)
        };
        let ended = in_order(&items, 2, work, |&i, _| if i == 3 { Err(Error::Interrupted) } else { Ok(()) });
        assert!(matches!(ended, Err(Error::Interrupted)));
        assert!(worked.load(Ordering::Relaxed) < 500);
    }

    #[test]
    fn jobs_are_counted_as_cargo_counts_them() {
        let cores = std::thread::available_parallelism().unwrap().get();
        assert_eq!((workers(Some("3")), workers(Some("-1000"))), (3, 1));
        assert_eq!(workers(Some("-1")), cores.saturating_sub(1).max(1));
    }
}
