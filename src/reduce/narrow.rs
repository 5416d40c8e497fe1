//! Of many things that may help, the few that do.

/// The checks that narrowing may take, all together.
pub(super) const MAX_CHECKS: usize = 120;

/// A smallest part of `candidates` for which `test` holds: without any one of it, it does not. The whole is taken to
/// pass, nothing to fail, and more of it never to fail where less passes; where that isn't so, the part may be larger, or not
/// pass. `None` when `test` gives up.
///
/// It is `QuickXplain` (Junker 2004): for `k` of `n` it asks about `k · log₂(n / k)` times.
pub(super) fn smallest<T: Copy, E>(
    candidates: &[T],
    test: &mut impl FnMut(&[T]) -> Result<Option<bool>, E>,
) -> Result<Option<Vec<T>>, E> {
    explain(&mut Vec::new(), false, candidates, test)
}

/// The smallest part of `candidates` that passes together with `base`; `grown` when `base` was not tried yet.
fn explain<T: Copy, E>(
    base: &mut Vec<T>,
    grown: bool,
    candidates: &[T],
    test: &mut impl FnMut(&[T]) -> Result<Option<bool>, E>,
) -> Result<Option<Vec<T>>, E> {
    if grown {
        match test(base)? {
            None => return Ok(None),
            Some(true) => return Ok(Some(Vec::new())),
            Some(false) => {}
        }
    }
    if candidates.len() <= 1 {
        return Ok(Some(candidates.to_vec()));
    }
    let (first, second) = candidates.split_at(candidates.len() / 2);
    let length = base.len();
    base.extend(first);
    let of_second = explain(base, true, second, test)?;
    base.truncate(length);
    let Some(mut found) = of_second else { return Ok(None) };
    base.extend(&found);
    let of_first = explain(base, !found.is_empty(), first, test)?;
    base.truncate(length);
    Ok(of_first.map(|of_first| {
        found.splice(0..0, of_first);
        found
    }))
}

#[cfg(test)]
mod unit {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use std::convert::Infallible;

    fn found(count: usize, needed: &BTreeSet<usize>, limit: usize) -> (Option<Vec<usize>>, usize) {
        let all: Vec<usize> = (0..count).collect();
        let mut asked = 0;
        let out = smallest::<_, Infallible>(&all, &mut |some| {
            asked += 1;
            Ok((asked <= limit).then(|| needed.iter().all(|n| some.contains(n))))
        });
        (out.unwrap(), asked)
    }

    #[test]
    fn it_gives_up_when_the_test_does() {
        assert_eq!(found(100, &[3, 70].into(), 4).0, None);
    }

    proptest! {
        #[test]
        fn what_is_needed_is_found_in_few_questions(count in 1usize..400, picks in prop::collection::vec(0usize..400, 1..5)) {
            let needed: BTreeSet<usize> = picks.iter().map(|p| p % count).collect();
            let (out, asked) = found(count, &needed, usize::MAX);
            prop_assert_eq!(out, Some(needed.iter().copied().collect::<Vec<_>>()));
            prop_assert!(asked <= 2 * needed.len() * (count.ilog2() as usize + 2));
        }
    }
}
