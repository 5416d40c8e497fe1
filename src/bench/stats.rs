//! Figures with how sure they are.

/// The 95% interval of a share (Wilson's score interval, 1927); `None` of nothing.
///
/// ```
/// use cargo_gistify::bench::stats::interval;
/// let (low, high) = interval(8, 10).unwrap();
/// assert!((low - 0.490).abs() < 0.001 && (high - 0.943).abs() < 0.001);
/// ```
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "counts of cells are small")]
pub fn interval(hits: usize, all: usize) -> Option<(f64, f64)> {
    const Z: f64 = 1.959_963_985;
    if all == 0 {
        return None;
    }
    let (n, p) = (all as f64, hits as f64 / all as f64);
    let middle = p + Z * Z / (2.0 * n);
    let half = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    let whole = 1.0 + Z * Z / n;
    Some((((middle - half) / whole).max(0.0), ((middle + half) / whole).min(1.0)))
}

/// The chance that one of `k` attempts succeeds, from `n` of which `ok` did (the unbiased estimate of Chen et al., 2021, "Evaluating Large
/// Language Models Trained on Code"); `None` when there are fewer than `k`.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "counts of attempts are small")]
pub fn pass_at(k: usize, ok: usize, n: usize) -> Option<f64> {
    if k == 0 || n < k {
        return None;
    }
    let failed = n - ok;
    if failed < k {
        return Some(1.0);
    }
    let none: f64 = (0..k).map(|i| (failed - i) as f64 / (n - i) as f64).product();
    Some(1.0 - none)
}

/// The p-value of McNemar's exact test, two-sided: of the pairs in which only one of two did well, `only_first` and `only_second`.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "counts of cells are small")]
pub fn mcnemar(only_first: usize, only_second: usize) -> f64 {
    let n = only_first + only_second;
    let fewer = only_first.min(only_second);
    // Logarithms: the largest term is beyond any number for a few thousand pairs.
    let mut log_choose = 0.0_f64;
    let mut sum = 0.0_f64;
    for i in 0..=fewer {
        if i > 0 {
            log_choose += ((n - i + 1) as f64 / i as f64).ln();
        }
        sum += (log_choose - n as f64 * 2.0_f64.ln()).exp();
    }
    (2.0 * sum).min(1.0)
}

/// The mean; `None` of nothing.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "counts of cells are small")]
pub fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (sum, n) = values.into_iter().fold((0.0, 0_usize), |(sum, n), value| (sum + value, n + 1));
    (n > 0).then(|| sum / n as f64)
}

/// The median; `None` of nothing.
#[must_use]
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = if values.len().is_multiple_of(2) { values[values.len() / 2 - 1] } else { upper };
    Some(f64::midpoint(lower, upper))
}

/// How two figures go together: Pearson's coefficient (of a figure and a success it is the point-biserial one), with its 95% interval by Fisher's
/// transformation (1915); `None` of fewer than four pairs, or where one of the figures never changes.
///
/// ```
/// use cargo_gistify::bench::stats::correlation;
/// let (r, (low, high)) = correlation(&[(0.1, 0.0), (0.4, 0.0), (0.5, 1.0), (0.9, 1.0), (0.8, 1.0)]).unwrap();
/// assert!((r - 0.825).abs() < 0.001 && (low + 0.211).abs() < 0.001 && (high - 0.988).abs() < 0.001);
/// ```
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "counts of cells are small")]
pub fn correlation(pairs: &[(f64, f64)]) -> Option<(f64, (f64, f64))> {
    const Z: f64 = 1.959_963_985;
    let n = pairs.len();
    if n < 4 {
        return None;
    }
    let (x, y) = (mean(pairs.iter().map(|p| p.0))?, mean(pairs.iter().map(|p| p.1))?);
    let sum = |f: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(f).sum::<f64>();
    let (xx, yy) = (sum(&|p| (p.0 - x).powi(2)), sum(&|p| (p.1 - y).powi(2)));
    let spread = (xx * yy).sqrt();
    if spread <= f64::EPSILON {
        return None;
    }
    let r = (sum(&|p| (p.0 - x) * (p.1 - y)) / spread).clamp(-1.0, 1.0);
    let half = Z / ((n - 3) as f64).sqrt();
    let z = r.clamp(-0.999_999, 0.999_999).atanh();
    Some((r, ((z - half).tanh(), (z + half).tanh())))
}

#[cfg(test)]
mod unit {
    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-3
    }

    #[test]
    fn an_interval_of_all_or_none_is_not_a_point() {
        assert_eq!(interval(0, 0), None);
        let (low, high) = interval(0, 10).unwrap();
        assert!(low.abs() < 1e-9 && near(high, 0.278), "{low} {high}");
        let (low, high) = interval(10, 10).unwrap();
        assert!(near(low, 0.722) && near(high, 1.0), "{low} {high}");
    }

    #[test]
    fn more_attempts_find_it_more_often() {
        assert_eq!((pass_at(1, 1, 2), pass_at(2, 1, 2), pass_at(3, 1, 2)), (Some(0.5), Some(1.0), None));
        assert!(near(pass_at(2, 3, 10).unwrap(), 1.0 - (7.0 / 10.0) * (6.0 / 9.0)));
        assert_eq!(pass_at(2, 0, 4), Some(0.0));
    }

    #[test]
    fn a_paired_test_looks_at_the_pairs_that_differ() {
        assert!(near(mcnemar(0, 0), 1.0) && near(mcnemar(5, 5), 1.0));
        // 2 * (1 + 10) / 2^10
        assert!(near(mcnemar(1, 9), 0.0215), "{}", mcnemar(1, 9));
        assert!(mcnemar(0, 5000) < 1e-6 && mcnemar(2400, 2600) > 0.004);
    }

    #[test]
    fn figures_that_go_together_have_one_and_others_have_none() {
        let line: Vec<(f64, f64)> = (0..10).map(|n| (f64::from(n), f64::from(2 * n))).collect();
        assert!(near(correlation(&line).unwrap().0, 1.0));
        let against: Vec<(f64, f64)> = line.iter().map(|(x, y)| (*x, -y)).collect();
        assert!(near(correlation(&against).unwrap().0, -1.0));
        assert_eq!(correlation(&line[..3]), None);
        assert_eq!(correlation(&[(1.0, 0.0), (1.0, 1.0), (1.0, 0.0), (1.0, 1.0)]), None);
    }

    #[test]
    fn a_median_is_the_middle() {
        assert_eq!((median([]), median([3.0, 1.0, 2.0]), median([4.0, 1.0, 2.0, 3.0])), (None, Some(2.0), Some(2.5)));
    }

    #[test]
    fn a_mean_of_nothing_is_none() {
        assert_eq!((mean([]), mean([1.0, 2.0])), (None, Some(1.5)));
    }
}
