//! Log-normal by maximum likelihood.

use serde::Serialize;

use super::goodness::{Goodness, Reference};
use super::quantiles::{chi_squared_quantile, student_quantile};
use super::summary::Summary;

/// A log-normal distribution: ln X is normal with mean μ and standard deviation σ.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LogNormal {
    /// The mean of the logarithms (of numbers in seconds, if they are durations).
    pub mu: f64,
    /// Its 95% interval, by Student's t.
    pub mu_ci95: [f64; 2],
    /// The standard deviation of the logarithms, the most likely one: with n below.
    pub sigma: f64,
    /// Its 95% interval, by χ².
    pub sigma_ci95: [f64; 2],
    /// The distribution's mean, e^(μ + σ²/2), in the unit of the numbers.
    pub mean: f64,
    /// Its coefficient of variation, √(e^(σ²) − 1).
    pub cv: f64,
    /// Whether the numbers look like it.
    pub goodness: Goodness,
}

impl LogNormal {
    /// `None` of fewer than 3 numbers or of equal ones.
    pub fn of(summary: &Summary) -> Option<LogNormal> {
        let count = summary.count as f64;
        let variance = summary.squares / count;
        if summary.count < 3 || variance.sqrt() <= 1e-12 * summary.mean.abs().max(1.0) {
            return None;
        }
        let degrees = count - 1.0;
        // The tables of the Kolmogorov–Smirnov distance, t and χ² are all for n − 1 below.
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
