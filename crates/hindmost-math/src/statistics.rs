//! Means, quantiles and confidence intervals of samples.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};
use statrs::function::beta::checked_beta_reg;

/// Returns the arithmetic mean; `None` if there are no values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the median of sorted values: the mean of the middle two if their number is even. `None` without values.
pub fn median_of_sorted(values: &[f64]) -> Option<f64> {
    let upper = *values.get(values.len() / 2)?;
    Some(f64::midpoint(values[(values.len() - 1) / 2], upper))
}

/// Returns the median of values: the mean of the middle two if their number is even. `None` without values. Reorders the
/// values.
///
/// ```
/// use hindmost_math::statistics::median;
/// assert_eq!(median(&mut [9.0, 1.0, 2.0]), Some(2.0));
/// assert_eq!(median(&mut [9.0, 1.0, 2.0, 4.0]), Some(3.0));
/// ```
pub fn median(values: &mut [f64]) -> Option<f64> {
    let count = values.len();
    if count == 0 {
        return None;
    }
    let (below, upper, _) = values.select_nth_unstable_by(count / 2, f64::total_cmp);
    let lower = below.iter().copied().max_by(f64::total_cmp).filter(|_| count.is_multiple_of(2));
    Some(lower.map_or(*upper, |lower| f64::midpoint(lower, *upper)))
}

/// Returns an empirical quantile: the smallest value with at least this share of the values at or below it. `None` if
/// there are no values. Reorders the values.
pub fn quantile(values: &mut [f64], share: f64) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let rank = rank(share, values.len());
    Some(*values.select_nth_unstable_by(rank - 1, f64::total_cmp).1)
}

/// Returns the rank, from 1 to `count`, of the smallest of `count` values with at least this share of the values at or
/// below it.
pub(crate) fn rank(share: f64, count: usize) -> usize {
    // 0.95 × 20 must give rank 19, so the product is reduced by a relative 1e-12 before the ceiling.
    let exact = share * count as f64;
    ((exact - exact.abs() * 1e-12).ceil() as usize).clamp(1, count)
}

/// Returns the 95% confidence interval of the mean of independent values (Student's t); `None` for fewer than two
/// values.
pub fn student_interval(values: &[f64]) -> Option<[f64; 2]> {
    student_interval_at(values, 0.95)
}

/// Returns the confidence interval of the mean of independent values (Student's t) with a `confidence` from 0 to 1, both
/// excluded; `None` for fewer than two values or another confidence.
///
/// ```
/// // 1, 2, 3: mean 2, standard error 1/√3; the 0.995 quantile of Student's t with 2 degrees of freedom is 9.92484.
/// let [low, high] = hindmost_math::statistics::student_interval_at(&[1.0, 2.0, 3.0], 0.99).unwrap();
/// assert!((high - 2.0 - 9.92484 / 3_f64.sqrt()).abs() < 1e-4 && (high + low - 4.0).abs() < 1e-9);
/// ```
pub fn student_interval_at(values: &[f64], confidence: f64) -> Option<[f64; 2]> {
    let count = values.len() as f64;
    let mean = mean(values)?;
    if values.len() < 2 || !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let t = StudentsT::new(0.0, 1.0, count - 1.0).ok()?.inverse_cdf(f64::midpoint(1.0, confidence));
    let half = t * (variance / count).sqrt();
    Some([mean - half, mean + half])
}

/// Returns the 95% interval of a probability from the number of successes in independent trials, by Wilson's score
/// interval: with z the normal quantile of 0.975 and p the share of successes in n trials, (p + z²/2n ± z·√(p(1 − p)/n +
/// z²/4n²)) / (1 + z²/n). Unlike p ± z·√(p(1 − p)/n), it has a positive width if all or no trials succeed. `None` without
/// trials.
///
/// ```
/// // 9 of 10: z² = 3.84146, so (0.9 + 0.192073 ± 1.959964·√(0.009 + 0.0096036)) / 1.384146 = 0.788987 ± 0.193137.
/// let [low, high] = hindmost_math::statistics::wilson_interval(9, 10).unwrap();
/// assert!((low - 0.59585).abs() < 1e-4 && (high - 0.98212).abs() < 1e-4);
/// ```
pub fn wilson_interval(successes: u64, trials: u64) -> Option<[f64; 2]> {
    if trials == 0 {
        return None;
    }
    let z = Normal::new(0.0, 1.0).ok()?.inverse_cdf(0.975);
    let (n, p) = (trials as f64, successes.min(trials) as f64 / trials as f64);
    let centre = p + z * z / (2.0 * n);
    let half = z * (p * (1.0 - p) / n + (z / (2.0 * n)).powi(2)).sqrt();
    let scale = 1.0 + z * z / n;
    Some([((centre - half) / scale).max(0.0), ((centre + half) / scale).min(1.0)])
}

/// Returns the probability that at least `successes` of as many independent trials succeed, each with probability `p`.
///
/// ```
/// // Two or three of three coins: 3/8 + 1/8.
/// assert!((hindmost_math::statistics::at_least(2, 3, 0.5) - 0.5).abs() < 1e-12);
/// assert!((hindmost_math::statistics::at_least(3, 3, 0.1) - 0.001).abs() < 1e-12);
/// ```
pub fn at_least(successes: u64, trials: u64, p: f64) -> f64 {
    if successes == 0 {
        1.0
    } else if successes > trials || p <= 0.0 {
        0.0
    } else {
        checked_beta_reg(successes as f64, (trials - successes + 1) as f64, p.min(1.0)).unwrap_or(1.0)
    }
}
