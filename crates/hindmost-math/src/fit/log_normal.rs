//! Log-normal fit by maximum likelihood.

use serde::Serialize;

use super::goodness::{Goodness, Reference};
use super::quantiles::{chi_squared_quantile, student_quantile};
use super::summary::Summary;

/// A fitted log-normal distribution: ln X is normal with mean μ and standard deviation σ.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LogNormal {
    /// The mean of the logarithms (of seconds, for durations).
    pub mu: f64,
    /// The 95% interval of μ (Student's t).
    pub mu_ci95: [f64; 2],
    /// The standard deviation of the logarithms by maximum likelihood (divisor n).
    pub sigma: f64,
    /// The 95% interval of σ (χ²).
    pub sigma_ci95: [f64; 2],
    /// The mean of the distribution, e^(μ + σ²/2), in the unit of the values.
    pub mean: f64,
    /// The coefficient of variation of the distribution, √(e^(σ²) − 1).
    pub cv: f64,
    /// How well the sample agrees with the fit.
    pub goodness: Goodness,
}

impl LogNormal {
    /// Fits a summary; `None` for fewer than 3 values or equal values.
    pub fn of(summary: &Summary) -> Option<LogNormal> {
        let count = summary.count as f64;
        let variance = summary.squares / count;
        if summary.count < 3 || variance.sqrt() <= 1e-12 * summary.mean.abs().max(1.0) {
            return None;
        }
        let degrees = count - 1.0;
        // The tables of the Kolmogorov–Smirnov distance, t and χ² all use the divisor n − 1.
        let sample_sd = (summary.squares / degrees).sqrt();
        let half = student_quantile(0.975, degrees) * sample_sd / count.sqrt();
        let sigma_at = |p: f64| (summary.squares / chi_squared_quantile(p, degrees)).sqrt();
        let distance = summary.distance(0, |log| Reference::Normal.cdf((log - summary.mean) / sample_sd));
        Some(LogNormal {
            mu: summary.mean,
            mu_ci95: [summary.mean - half, summary.mean + half],
            sigma: variance.sqrt(),
            sigma_ci95: [sigma_at(0.975), sigma_at(0.025)],
            mean: (summary.mean + variance / 2.0).exp(),
            cv: variance.exp_m1().sqrt(),
            goodness: Goodness::of(distance, summary.count, Reference::Normal),
        })
    }
}
