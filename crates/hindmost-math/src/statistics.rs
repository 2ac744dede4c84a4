//! Means, quantiles and confidence intervals of samples.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Returns the arithmetic mean; `None` if there are no values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
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
    let count = values.len() as f64;
    let mean = mean(values)?;
    if values.len() < 2 {
        return None;
    }
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let t = StudentsT::new(0.0, 1.0, count - 1.0).ok()?.inverse_cdf(0.975);
    let half = t * (variance / count).sqrt();
    Some([mean - half, mean + half])
}
