//! The distribution that is assumed for a small sample of durations.

use crate::distribution::Distribution;

/// The Pareto index of the lightest tail that is assumed.
const LIGHTEST_TAIL: f64 = 3.0;
/// The Pareto index of the heaviest tail that is assumed.
const HEAVIEST_TAIL: f64 = 1.2;

/// What is assumed from a small sample.
#[derive(Clone, Debug, PartialEq)]
pub struct AssumedFromSample {
    /// A Pareto distribution with the mean and spread of the sample and a tail index of at least 1.2 and at most 3: a few
    /// equal values do not prove that there are no large ones.
    pub durations: Distribution,
    /// Median of the sample.
    pub median: f64,
    /// 90th percentile of the sample.
    pub p90: f64,
}

/// Returns what is assumed from values in ascending order. `None` if there are none, or their mean is not positive.
///
/// ```
/// use hindmost_math::fit::sample::describe_sample;
///
/// let made = describe_sample(&[8.0, 10.0, 12.0]).unwrap();
/// assert_eq!((made.durations.mean(), made.median, made.p90), (10.0, 10.0, 12.0));
/// ```
pub fn describe_sample(sorted: &[f64]) -> Option<AssumedFromSample> {
    let count = sorted.len() as f64;
    let mean = sorted.iter().sum::<f64>() / count;
    let variance = sorted.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    // The index of the Pareto distribution with this coefficient of variation.
    let tail = 1.0 + (mean / variance.sqrt()).hypot(1.0);
    let tail = if tail.is_nan() { LIGHTEST_TAIL } else { tail.clamp(HEAVIEST_TAIL, LIGHTEST_TAIL) };
    let durations = Distribution::pareto_with_mean(tail, mean).ok()?;
    let rank = |share: f64| sorted.get(((share * count).ceil() as usize).max(1) - 1).copied();
    Some(AssumedFromSample { durations, median: rank(0.5)?, p90: rank(0.9)? })
}
