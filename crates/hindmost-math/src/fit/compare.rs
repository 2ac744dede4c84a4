//! Comparison of the Pareto and the log-normal fit.

use serde::Serialize;

use super::LEVEL;
use super::log_normal::LogNormal;
use super::pareto::Pareto;
use super::summary::Summary;
use crate::numeric::normal_survival;

/// Vuong's test of two models that are both fitted by maximum likelihood and may both be wrong: whether the sample is
/// significantly more likely under one of them.
///
/// Q. H. Vuong, "Likelihood ratio tests for model selection and non-nested hypotheses", *Econometrica* 57, 1989.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "FitComparison"))]
pub struct Comparison {
    /// Log-likelihood of the Pareto fit minus that of the log-normal fit.
    pub log_likelihood_difference: f64,
    /// The difference divided by its standard deviation. Positive values favour Pareto. If both models are equally
    /// good, `z` has a standard normal distribution.
    pub z: f64,
    /// Two-sided p-value: the probability of such a `z` if both models are equally good.
    pub p: f64,
}

impl Comparison {
    pub(super) fn of(summary: &Summary, pareto: &Pareto, log_normal: &LogNormal) -> Option<Comparison> {
        let count = summary.count as f64;
        let (alpha, sigma) = (pareto.most_likely, log_normal.sigma);
        // The log-density under Pareto minus that under log-normal; the common term −ln x cancels.
        let constant = (alpha * sigma).ln() + 0.5 * std::f64::consts::TAU.ln();
        let difference =
            |log: f64| constant - alpha * (log - summary.lowest) + 0.5 * ((log - log_normal.mu) / sigma).powi(2);
        // The sum follows from the moments. Its variance needs the single values; the middles of the bins are accurate
        // enough.
        let total = count * (constant - alpha * (summary.mean - summary.lowest)) + 0.5 * count;
        let mean = total / count;
        let spread: f64 = summary.grouped().map(|(log, times)| times * (difference(log) - mean).powi(2)).sum();
        let z = total / spread.sqrt();
        z.is_finite().then(|| Comparison { log_likelihood_difference: total, z, p: 2.0 * normal_survival(z.abs()) })
    }
}

/// The preferred model. If the tests of goodness of fit reject one model at 5 %, the other one is preferred. If they
/// reject neither, the one that Vuong's test prefers at 5 % is preferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Preferred {
    /// The Pareto fit is preferred.
    Pareto,
    /// The log-normal fit is preferred.
    LogNormal,
    /// Neither fit is rejected, and the sample does not show which one is better.
    Either,
    /// Both fits are rejected.
    Neither,
}

impl Preferred {
    pub(super) fn of(pareto: &Pareto, log_normal: &LogNormal, comparison: Option<&Comparison>) -> Preferred {
        match (pareto.goodness.p >= LEVEL, log_normal.goodness.p >= LEVEL) {
            (true, false) => Preferred::Pareto,
            (false, true) => Preferred::LogNormal,
            (false, false) => Preferred::Neither,
            (true, true) => match comparison {
                Some(comparison) if comparison.p < LEVEL && comparison.z > 0.0 => Preferred::Pareto,
                Some(comparison) if comparison.p < LEVEL => Preferred::LogNormal,
                _ => Preferred::Either,
            },
        }
    }
}
