//! The empirical distribution of a sample.

use std::sync::Arc;

use super::error::{DistributionError, check};
use super::family::{Family, composite_survival};

const NAME: &str = "empirical";

/// The distribution in which each value of a sample has the same probability. F is right-continuous: F(t) is the share
/// of values ≤ t.
#[derive(Clone, Debug, PartialEq)]
pub struct Empirical {
    /// The values in ascending order.
    values: Arc<[f64]>,
    /// Sums of the first 0, 1, 2, … values. Has one entry more than `values`.
    sums: Arc<[f64]>,
}

impl Empirical {
    pub(super) fn new(mut values: Vec<f64>) -> Result<Self, DistributionError> {
        if values.is_empty() {
            return Err(DistributionError::Combination { distribution: NAME, reason: "there are no values".into() });
        }
        for &value in &values {
            check(value >= 0.0, NAME, "values", value, "zero or more and finite")?;
        }
        values.sort_unstable_by(f64::total_cmp);
        let sample = Self::assume(values.into());
        if !sample.total().is_finite() {
            let reason = "the values add up to more than a number can hold".into();
            return Err(DistributionError::Combination { distribution: NAME, reason });
        }
        Ok(sample)
    }

    fn assume(values: Arc<[f64]>) -> Self {
        let sums = std::iter::once(0.0)
            .chain(values.iter().scan(0.0, |sum, value| {
                *sum += value;
                Some(*sum)
            }))
            .collect();
        Self { values, sums }
    }

    /// Returns the values in ascending order.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    pub(super) fn scaled(&self, factor: f64) -> Self {
        Self::assume(self.values.iter().map(|value| value * factor).collect())
    }

    fn count(&self) -> f64 {
        self.values.len() as f64
    }

    /// Returns the number of values ≤ t.
    fn up_to(&self, t: f64) -> usize {
        self.values.partition_point(|&value| value <= t)
    }

    fn total(&self) -> f64 {
        self.sums[self.values.len()]
    }

    /// Returns the integral over [0, limit] of 1 − (1 − S^copies)^tasks times a weight. S is constant between two
    /// values, so this is a sum over the values. `area(t)` is the integral of the weight from 0 to t.
    fn integrate_steps(&self, limit: f64, tasks: f64, copies: f64, area: impl Fn(f64) -> f64) -> f64 {
        let mut sum = 0.0;
        let mut last = 0.0;
        let count = self.count();
        for (place, &value) in self.values.iter().enumerate() {
            let end = value.min(limit);
            if end > last {
                let survival = (count - place as f64) / count;
                sum += (area(end) - area(last)) * composite_survival(survival, tasks, copies);
                last = end;
            }
            if value >= limit {
                break;
            }
        }
        sum
    }
}

impl Family for Empirical {
    fn mean(&self) -> f64 {
        self.total() / self.count()
    }
    fn second_moment(&self) -> Option<f64> {
        let moment = self.values.iter().map(|value| value * value).sum::<f64>() / self.count();
        moment.is_finite().then_some(moment)
    }
    fn sd(&self) -> Option<f64> {
        let mean = self.mean();
        let variance = self.values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / self.count();
        variance.is_finite().then(|| variance.sqrt())
    }
    fn minimum(&self) -> f64 {
        self.values.first().copied().unwrap_or(0.0)
    }
    fn maximum(&self) -> f64 {
        self.values.last().copied().unwrap_or(0.0)
    }
    fn cdf(&self, t: f64) -> f64 {
        self.up_to(t) as f64 / self.count()
    }
    fn survival(&self, t: f64) -> f64 {
        (self.values.len() - self.up_to(t)) as f64 / self.count()
    }
    fn quantile(&self, p: f64) -> f64 {
        // Find the smallest value with F ≥ p.
        let rank = (p * self.count()).ceil() as usize;
        self.values[rank.clamp(1, self.values.len()) - 1]
    }
    #[inline]
    fn survival_quantile(&self, q: f64) -> f64 {
        // Find the smallest value with S ≤ q.
        let above = (q * self.count()) as usize;
        let rank = self.values.len().saturating_sub(above).max(1);
        self.values[rank - 1]
    }
    fn limited_second_moment(&self, limit: f64) -> f64 {
        self.values.iter().map(|value| value.min(limit.max(0.0)).powi(2)).sum::<f64>() / self.count()
    }
    fn mean_residual(&self, age: f64) -> f64 {
        let passed = self.up_to(age);
        let left = self.values.len() - passed;
        if left == 0 { 0.0 } else { ((self.total() - self.sums[passed]) / left as f64 - age).max(0.0) }
    }
    fn limited_minimum(&self, limit: f64, copies: f64) -> f64 {
        if limit <= 0.0 {
            return 0.0;
        }
        if copies == 1.0 {
            let below = self.up_to(limit);
            let above = self.values.len() - below;
            let capped = if above == 0 { 0.0 } else { limit * above as f64 };
            return (self.sums[below] + capped) / self.count();
        }
        self.integrate_steps(limit, 1.0, copies, |t| t)
    }
    fn expected_minimum_squared(&self, copies: f64) -> f64 {
        self.integrate_steps(f64::INFINITY, 1.0, copies, |t| t * t)
    }
    fn expected_maximum_of_minima(&self, tasks: f64, copies: f64) -> f64 {
        self.integrate_steps(f64::INFINITY, tasks, copies, |t| t)
    }
}
