//! Counters and the expressions over them: most regions have no counter of their own, their count is a sum
//! or a difference of others.

/// How a region's count is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counter {
    /// Never runs, as far as the compiler knows.
    Zero,
    /// The number of a counter in the profile.
    Count(usize),
    /// The number of an expression.
    Expression(usize),
}

/// A sum or a difference of two counters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expression {
    pub(super) subtract: bool,
    pub(super) left: Counter,
    pub(super) right: Counter,
}

/// The value of each expression; `None` where it names a counter that the profile does not have, or itself. Without counts none
/// ever ran.
///
/// An explicit stack, because a long function makes a chain of expressions as long as itself.
pub(super) fn evaluate(expressions: &[Expression], counts: Option<&[u64]>) -> Vec<Option<i64>> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        Unseen,
        Open,
        Done(Option<i64>),
    }
    let mut states = vec![State::Unseen; expressions.len()];
    let pending = |counter: Counter, states: &[State]| match counter {
        Counter::Expression(i) => states.get(i).is_some_and(|s| !matches!(s, State::Done(_))).then_some(i),
        _ => None,
    };
    let known = |counter: Counter, states: &[State]| match counter {
        Counter::Expression(i) => match states.get(i) {
            Some(State::Done(value)) => *value,
            _ => None,
        },
        other => value(other, counts, &[]),
    };
    for root in 0..expressions.len() {
        let mut stack = vec![root];
        while let Some(&top) = stack.last() {
            let Expression { subtract, left, right } = expressions[top];
            let next = pending(left, &states).or_else(|| pending(right, &states));
            match next {
                _ if matches!(states[top], State::Done(_)) => {}
                Some(next) if states[next] == State::Unseen && next != top => {
                    states[top] = State::Open;
                    stack.push(next);
                    continue;
                }
                Some(_) => states[top] = State::Done(None),
                None => {
                    let both = known(left, &states).zip(known(right, &states));
                    let result = both.map(|(l, r)| if subtract { l.wrapping_sub(r) } else { l.wrapping_add(r) });
                    states[top] = State::Done(result);
                }
            }
            stack.pop();
        }
    }
    let done = |s| if let State::Done(value) = s { value } else { None };
    states.into_iter().map(done).collect()
}

/// The value of a counter, given those of the expressions ([`evaluate`]).
pub(super) fn value(counter: Counter, counts: Option<&[u64]>, expressions: &[Option<i64>]) -> Option<i64> {
    match counter {
        Counter::Zero => Some(0),
        Counter::Count(i) => counts.map_or(Some(0), |counts| counts.get(i).map(|c| c.cast_signed())),
        Counter::Expression(i) => expressions.get(i).copied().flatten(),
    }
}

/// A count as it is reported.
///
/// Counters are atomic, but not read all at once: while other threads still run, or after a kill, a difference
/// can come out negative. Such a region may have run, and what may have run is never called unused (LLVM prints a
/// number near 2^64 there).
pub(super) fn reported(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(1)
}

#[cfg(test)]
mod unit {
    use super::Counter::{Count, Expression, Zero};
    use super::{Counter, evaluate, reported};

    fn add(left: Counter, right: Counter) -> super::Expression {
        super::Expression { subtract: false, left, right }
    }

    fn sub(left: Counter, right: Counter) -> super::Expression {
        super::Expression { subtract: true, left, right }
    }

    #[test]
    fn expressions_may_name_later_ones() {
        let values =
            evaluate(&[sub(Expression(1), Count(0)), add(Count(1), Count(2)), add(Zero, Count(0))], Some(&[3, 10, 5]));
        assert_eq!(values, [Some(12), Some(15), Some(3)]);
    }

    #[test]
    fn a_missing_counter_and_a_cycle_have_no_value() {
        let values = evaluate(&[add(Count(9), Zero), add(Expression(2), Zero), add(Expression(1), Zero)], Some(&[1]));
        assert_eq!(values, [None, None, None]);
        assert_eq!(evaluate(&[add(Expression(0), Zero)], Some(&[1])), [None]);
    }

    #[test]
    fn without_a_profile_every_counter_is_zero() {
        assert_eq!(evaluate(&[add(Count(usize::MAX), Zero)], None), [Some(0)]);
    }

    #[test]
    fn a_long_chain_does_not_overflow_the_stack() {
        let chain: Vec<_> =
            (0..200_000).map(|i| add(if i < 199_999 { Expression(i + 1) } else { Zero }, Count(0))).collect();
        assert_eq!(evaluate(&chain, Some(&[1]))[0], Some(200_000));
    }

    #[test]
    fn a_negative_count_may_have_run() {
        assert_eq!((reported(-2), reported(0), reported(7)), (1, 0, 7));
    }
}
