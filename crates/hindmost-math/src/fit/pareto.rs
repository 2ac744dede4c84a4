//! Pareto by maximum likelihood, and Hill's estimator of a tail.

use serde::Serialize;

use super::goodness::{Goodness, Reference};
use super::quantiles::chi_squared_quantile;
use super::summary::Summary;

/// The share of the numbers that Hill's estimator takes for the tail.
const TAIL: u64 = 10;
/// The fewest numbers in a tail.
const FEWEST_IN_TAIL: u64 = 10;

/// Pareto(μ, α), P(X > x) = (μ/x)^α: what n numbers say of it.
///
/// With T = Σ ln(xᵢ/x₍₁₎), where x₍₁₎ is the smallest number, α is estimated by (n−2)/T, which is unbiased, and
/// μ by x₍₁₎. 2αT has a χ² distribution of 2(n−1) degrees of freedom, so the interval of α is exact for any n.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Pareto {
    /// The tail index: the smaller, the heavier; the mean is infinite from 1 down.
    pub alpha: f64,
    /// Its exact 95% interval.
    pub alpha_ci95: [f64; 2],
    /// The smallest number, in the unit of the numbers.
    pub minimum: f64,
    /// The exact 95% interval of μ, which ends at the smallest number.
    pub minimum_ci95: [f64; 2],
    /// Whether the numbers look like it: those above the smallest, as an exponential sample of logarithms.
    pub goodness: Goodness,
    /// n/T, which makes the numbers most likely.
    #[serde(skip)]
    pub(super) most_likely: f64,
}

impl Pareto {
    /// `None` of fewer than 3 numbers or of equal ones.
    pub fn of(summary: &Summary) -> Option<Pareto> {
        let count = summary.count as f64;
        let total = count * (summary.mean - summary.lowest);
        // Rounding of the mean leaves a little even of equal numbers.
        if summary.count < 3 || total <= count * 1e-12 * summary.lowest.abs().max(1.0) {
            return None;
        }
        let degrees = 2.0 * (count - 1.0);
        let at = |p: f64| chi_squared_quantile(p, degrees) / (2.0 * total);
        // n·ln(x₍₁₎/μ)/(T/(n−1)) has an F distribution of 2 and 2(n−1) degrees of freedom.
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

/// The tail index by Hill's estimator: of the k largest numbers, with the one that follows them as the
/// threshold.
///
/// k is a tenth of the numbers, rounded up, but at least 10 and at most half of them; of a [`super::Sketch`] at
/// most 1 023, as it keeps no more. A fixed share, and not the k that fits best, because an interval holds only
/// for a k that was not chosen by what came of it. With H the mean of ln(xᵢ/threshold), the estimate is (k−1)/(kH),
/// which is unbiased, and 2kαH has a χ² distribution of 2k degrees of freedom where the tail is Pareto's: the
/// interval is exact then. Where it isn't, it tells how heavy the tail looks at this height.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Hill {
    /// The tail index.
    pub alpha: f64,
    /// Its 95% interval, exact where the tail is Pareto's.
    pub alpha_ci95: [f64; 2],
    /// k: how many numbers make the tail.
    pub tail: u64,
    /// The number above which the tail begins.
    pub threshold: f64,
    /// Whether the numbers of the tail look like Pareto's.
    pub goodness: Goodness,
}

impl Hill {
    /// `None` of fewer than 20 numbers, or if those of the tail are equal.
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
