//! Computes the speed-up of a task by copies: the function h of Xu, Liu & Lau 2022 (Eq. 1–3).
//!
//! The fastest of r copies with mean duration θ takes θ / h(r) on average. For Pareto durations h(r) = 1 + (1 − 1/r) /
//! (α − 1). α is fitted to a phase's mean θ and standard deviation σ: α = 1 + √(1 + (θ/σ)²). The fitted α is always
//! above 2, so the paper's method cannot fit a tail with α ≤ 2, whose standard deviation is infinite. If σ = 0, h is 1
//! for any r.
//!
//! r counts all copies, the original included. (Elsewhere, the number of clones excludes the original.)

use hindmost_math::distribution::{Distribution, DistributionError};

/// Returns the tail index α fitted to a mean and a standard deviation, both in seconds. α is infinite if the deviation
/// is 0.
///
/// # Errors
/// If the mean or the deviation is negative or not a number, or the mean is infinite.
pub fn fitted_alpha(mean: f64, sd: f64) -> Result<f64, DistributionError> {
    Ok(match Distribution::fit_mean_sd(mean, Some(sd))? {
        Distribution::Pareto(pareto) => pareto.alpha(),
        _ => f64::INFINITY,
    })
}

/// Returns h(r): the mean duration of one copy over that of the fastest of `copies` copies, for Pareto durations with
/// tail index `alpha`, which must be above 1. For one copy or none, h is 1.
pub fn speedup(alpha: f64, copies: u32) -> f64 {
    1.0 + (1.0 - 1.0 / f64::from(copies.max(1))) / (alpha - 1.0)
}

/// Returns r_j of the transient algorithm's Corollary 4.1: the smallest number of copies with which a task of mean
/// length `length` slots is expected to finish within 2^`level` slots, min{r : 2^l·h(r) ≥ θ}. `None` if no number of
/// copies suffices, because h is always below α / (α − 1).
pub fn copies_for_level(length: f64, alpha: f64, level: u32) -> Option<u32> {
    let needed = length / 2f64.powi(level.min(1023) as i32);
    if needed <= 1.0 {
        return Some(1);
    }
    // h(r) ≥ needed  ⇔  1/r ≤ 1 − (needed − 1)(α − 1).
    let share = 1.0 - (needed - 1.0) * (alpha - 1.0);
    if share.is_nan() || share <= 0.0 || 1.0 / share > f64::from(u32::MAX) {
        return None;
    }
    let about = (1.0 / share).ceil() as u32;
    // `about` may be one too small or too large, because of rounding.
    (about.saturating_sub(1).max(1)..=about.saturating_add(1)).find(|copies| speedup(alpha, *copies) >= needed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns E\[min\] of `copies` Pareto durations with minimum 1. Their minimum is Pareto with `copies` times α.
    fn minimum_mean(alpha: f64, copies: u32) -> f64 {
        let alpha = alpha * f64::from(copies);
        alpha / (alpha - 1.0)
    }

    #[test]
    fn the_fitted_pareto_has_the_given_mean_and_deviation() {
        for (mean, sd) in [(10.0, 8.1), (13.0, 9.0), (1.0, 100.0), (5.0, 0.1)] {
            let alpha = fitted_alpha(mean, sd).unwrap();
            assert!(alpha > 2.0);
            // The variance of a Pareto is mean² / (α (α − 2)).
            let found = mean / (alpha * (alpha - 2.0)).sqrt();
            assert!((found - sd).abs() < 1e-6 * sd, "{mean} {sd}: {found}");
        }
        assert_eq!(fitted_alpha(3.0, 0.0), Ok(f64::INFINITY));
        assert!(fitted_alpha(-1.0, 1.0).is_err() && fitted_alpha(1.0, f64::NAN).is_err());
    }

    #[test]
    fn the_speed_up_is_the_ratio_of_mean_minima() {
        for alpha in [1.5, 2.0, 3.0, 7.5] {
            let one = minimum_mean(alpha, 1);
            for copies in 1..6 {
                let expected = one / minimum_mean(alpha, copies);
                assert!((speedup(alpha, copies) - expected).abs() < 1e-12 * expected);
            }
        }
        assert_eq!(speedup(f64::INFINITY, 4), 1.0);
        assert_eq!(speedup(2.0, 2), 1.5);
    }

    #[test]
    fn copies_for_a_level_are_the_fewest_that_suffice() {
        for (length, alpha) in [(4.5, 2.0), (6.0, 2.0), (7.9, 2.0), (8.1, 2.0), (4.1, 3.0), (5.9, 3.0)] {
            let slow = (1..10_000).find(|copies| 4.0 * speedup(alpha, *copies) >= length);
            assert_eq!(copies_for_level(length, alpha, 2), slow, "{length} {alpha}");
        }
        assert_eq!(copies_for_level(4.0, f64::INFINITY, 2), Some(1));
        assert_eq!(copies_for_level(4.1, f64::INFINITY, 2), None);
    }
}
