//! Pareto fit by maximum likelihood, and Hill's estimator of the tail index.

use serde::Serialize;

use super::goodness::{Goodness, Reference};
use super::quantiles::chi_squared_quantile;
use super::summary::Summary;

/// Hill's estimator uses the largest tenth of the values as the tail.
const TAIL: u64 = 10;
/// The minimum number of values in a tail.
const FEWEST_IN_TAIL: u64 = 10;

/// A Pareto distribution, P(X > x) = (μ/x)^α, fitted to n values.
///
/// Let T = Σ ln(xᵢ/x₍₁₎), where x₍₁₎ is the smallest value. The estimate of α is (n−2)/T, which is unbiased, and the
/// estimate of μ is x₍₁₎. 2αT has a χ² distribution with 2(n−1) degrees of freedom, so the interval of α is exact for
/// every n.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pareto {
    /// The tail index α. A smaller index is a heavier tail; at 1 and below the mean is infinite.
    pub alpha: f64,
    /// The exact 95% interval of α.
    pub alpha_ci95: [f64; 2],
    /// The estimate of μ: the smallest value.
    pub minimum: f64,
    /// The exact 95% interval of μ. Its upper end is the smallest value.
    pub minimum_ci95: [f64; 2],
    /// How well the sample agrees with the fit. The test compares the logarithms, minus that of the smallest value,
    /// with an exponential distribution.
    pub goodness: Goodness,
    /// The maximum likelihood estimate of α, n/T.
    #[serde(skip)]
    pub(super) most_likely: f64,
}

impl Pareto {
    /// Fits a summary; `None` for fewer than 3 values or equal values.
    pub fn of(summary: &Summary) -> Option<Pareto> {
        let count = summary.count as f64;
        let total = count * (summary.mean - summary.lowest);
        // Rounding can leave a tiny sum even if all values are equal.
        if summary.count < 3 || total <= count * 1e-12 * summary.lowest.abs().max(1.0) {
            return None;
        }
        let degrees = 2.0 * (count - 1.0);
        let at = |p: f64| chi_squared_quantile(p, degrees) / (2.0 * total);
        // n·ln(x₍₁₎/μ)/(T/(n−1)) has an F distribution with 2 and 2(n−1) degrees of freedom.
        let below = total / count * (20f64.ln() / (count - 1.0)).exp_m1();
        let minimum = summary.smallest;
        let scale = total / (count - 1.0);
        let distance = summary.distance(1, |log| Reference::Exponential.cdf((log - summary.lowest) / scale));
        Some(Pareto {
            alpha: (count - 2.0) / total,
            alpha_ci95: [at(0.025), at(0.975)],
            minimum,
            minimum_ci95: [minimum * (-below).exp(), minimum],
            goodness: Goodness::of(distance, summary.count - 1, Reference::Exponential),
            most_likely: count / total,
        })
    }
}

/// The tail index by Hill's estimator, from the k largest values; the next smaller value is the threshold.
///
/// k is a tenth of the number of values, rounded up, but at least 10 and at most half of that number. For a
/// [`super::Sketch`] it is at most 1023, because a sketch stores no more values exactly. k does not depend on how well
/// the tail fits, because the interval would not be valid otherwise. Let H be the mean of ln(xᵢ/threshold). The
/// estimate is (k−1)/(kH), which is unbiased. For a Pareto tail, 2kαH has a χ² distribution with 2k degrees of freedom,
/// and the interval is exact. For other tails the estimate describes how heavy the tail is above this threshold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hill {
    /// Hill's estimate of the tail index α.
    pub alpha: f64,
    /// The 95% interval of α, exact for a Pareto tail.
    pub alpha_ci95: [f64; 2],
    /// k, the number of values in the tail.
    pub tail: u64,
    /// The value above which the tail begins.
    pub threshold: f64,
    /// How well the tail agrees with a Pareto tail.
    pub goodness: Goodness,
}

impl Hill {
    /// Fits the tail of a summary; `None` for fewer than 20 values, or if the values of the tail are equal.
    pub fn of(summary: &Summary) -> Option<Hill> {
        let kept = summary.largest.len() as u64;
        let tail = summary.count.div_ceil(TAIL).max(FEWEST_IN_TAIL).min(kept.saturating_sub(1));
        if tail < FEWEST_IN_TAIL || 2 * tail > summary.count {
            return None;
        }
        let threshold = *summary.largest.get(tail as usize)?;
        let total: f64 = summary.largest.iter().take(tail as usize).map(|value| (value / threshold).ln()).sum();
        if total <= 1e-12 {
            return None;
        }
        let count = tail as f64;
        let at = |p: f64| chi_squared_quantile(p, 2.0 * count) / (2.0 * total);
        let distance = summary.tail_distance(tail as usize, total / count);
        Some(Hill {
            alpha: (count - 1.0) / total,
            alpha_ci95: [at(0.025), at(0.975)],
            tail,
            threshold,
            goodness: Goodness::of(distance, tail, Reference::Exponential),
        })
    }
}
