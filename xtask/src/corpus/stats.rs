//! Means, medians and percentiles; `None` for nothing.

/// The mean.
pub(crate) fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.into_iter().collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The value that so many percent of the values don't exceed (nearest rank).
pub(super) fn percentile(values: impl IntoIterator<Item = f64>, percent: f64) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let rank = (percent / 100.0 * values.len() as f64).ceil() as usize;
    values.get(rank.max(1) - 1).copied()
}

/// The median: the mean of the two in the middle, if there are two.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    let upper = *values.get(half)?;
    Some(if values.len() % 2 == 1 { upper } else { f64::midpoint(values[half - 1], upper) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_has_no_statistics() {
        assert_eq!((mean([]), median([]), percentile([], 95.0)), (None, None, None));
    }

    #[test]
    fn values_have_the_usual_ones() {
        let values = [4.0, 1.0, 3.0, 2.0];
        assert_eq!(mean(values), Some(2.5));
        assert_eq!(median(values), Some(2.5));
        assert_eq!(median([3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(percentile(values, 95.0), Some(4.0));
        assert_eq!(percentile(values, 50.0), Some(2.0));
        assert_eq!(percentile((1..=100).map(f64::from), 95.0), Some(95.0));
    }
}
