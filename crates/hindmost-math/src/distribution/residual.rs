//! The remaining duration of an attempt at a given age.

use super::family::Family;
use super::{Distribution, with_family};
use crate::numeric::{bisect, integrate_panels};

/// Number of ages up to the median at which a condition is tested.
const SCAN_BELOW: i32 = 64;
/// Number of ages beyond the median at which a condition is tested.
const SCAN_ABOVE: i32 = 448;
/// The survival at the last age at which a condition is tested.
const SCAN_END: f64 = 1e-300;

impl Distribution {
    /// Returns E\[X − `age` | X > `age`]; 0 if S(`age`) = 0. A negative `age` counts as 0.
    pub fn mean_residual(&self, age: f64) -> f64 {
        if age.is_nan() || age <= 0.0 {
            return self.mean();
        }
        with_family!(self, family => family.mean_residual(age))
    }

    /// Returns the smallest age (infimum) at which the mean residual exceeds `threshold`. 0 if the mean itself exceeds
    /// it, `None` if the residual never does.
    ///
    /// For Pareto there is a closed form; for a sample every value is tested. For other families, 512 ages up to a
    /// survival of 1e-300 are tested, and bisection refines the first age at which the residual exceeds the threshold.
    /// A very short interval above the threshold may be missed.
    pub fn age_where_residual_exceeds(&self, threshold: f64) -> Option<f64> {
        if self.mean() > threshold {
            return Some(0.0);
        }
        if let Distribution::Pareto(pareto) = self
            && pareto.maximum().is_none()
        {
            // From the minimum on, the residual is age/(α − 1); before it, the residual is less than the mean.
            let age = threshold * (pareto.alpha() - 1.0);
            return age.is_finite().then_some(age);
        }
        self.first_age(|age| self.mean_residual(age) > threshold)
    }

    /// Returns P(X − `age` > `factor` · Y | X > `age`), where Y is the duration of a new copy, independent of X. For
    /// `factor` = 2 this is Mantri's test. The result is 0 if S(`age`) = 0. A negative `age` or `factor` counts as 0.
    pub fn conditional_probability_exceeds_fresh(&self, age: f64, factor: f64) -> f64 {
        let age = age.max(0.0);
        let factor = factor.max(0.0);
        if age == f64::INFINITY {
            return 0.0;
        }
        match self {
            Distribution::Exponential(_) => 1.0 / (1.0 + factor),
            // P(X > f·Y) is ½·f^−α for f ≥ 1, and 1 − ½·f^α for f ≤ 1.
            Distribution::Pareto(pareto) if age == 0.0 && pareto.maximum().is_none() => {
                let half = 0.5 * factor.min(factor.recip()).powf(pareto.alpha());
                if factor > 1.0 { half } else { 1.0 - half }
            }
            Distribution::Constant(constant) => {
                if constant.value() - age > factor * constant.value() {
                    1.0
                } else {
                    0.0
                }
            }
            Distribution::Empirical(sample) => exceeds_fresh_in_sample(sample.values(), age, factor),
            _ => with_family!(self, family => exceeds_fresh(family, age, factor)),
        }
    }

    /// Returns true if [`Self::conditional_probability_exceeds_fresh`] is known to grow with the age from this age on,
    /// for every factor.
    pub fn probability_grows_from(&self, age: f64) -> bool {
        matches!(self, Distribution::Pareto(pareto) if pareto.maximum().is_none() && age >= pareto.minimum())
    }

    /// Returns the smallest age (infimum) at which [`Self::conditional_probability_exceeds_fresh`] is greater than
    /// `delta`. 0 if this is so at age 0, `None` if there is no such age.
    ///
    /// Searches as [`Self::age_where_residual_exceeds`] does; for Pareto as [`Self::age_over_factor`] does. This takes
    /// a few hundred quadratures, so callers should cache the result.
    pub fn age_where_probability_exceeds(&self, delta: f64, factor: f64) -> Option<f64> {
        let exceeds = |age: f64| self.conditional_probability_exceeds_fresh(age, factor) > delta;
        if exceeds(0.0) {
            return Some(0.0);
        }
        if delta >= 1.0 || delta.is_nan() {
            return None;
        }
        if self.probability_grows_from(self.minimum()) {
            return self.age_over_factor(delta).map(|ratio| (ratio * factor).max(self.minimum()));
        }
        self.first_age(exceeds)
    }

    /// Returns the quotient `age` / `factor` above which [`Self::conditional_probability_exceeds_fresh`] is greater
    /// than `delta`. For Pareto without a maximum, at ages of at least the minimum, the probability depends only on
    /// this quotient. `None` for other distributions, and for a `delta` of 1 or more. This takes about fifty
    /// quadratures.
    pub fn age_over_factor(&self, delta: f64) -> Option<f64> {
        let minimum = self.minimum();
        if !self.probability_grows_from(minimum) || delta >= 1.0 || delta.is_nan() {
            return None;
        }
        // At the minimum age the probability falls to 0 as the factor grows. For any factor it rises to 1 as the age
        // grows.
        let exceeds = |age: f64, factor: f64| self.conditional_probability_exceeds_fresh(age, factor) > delta;
        let mut factor = 2.0;
        while exceeds(minimum, factor) {
            factor *= 2.0;
            if !factor.is_finite() {
                return None;
            }
        }
        let mut high = 2.0 * minimum;
        while !exceeds(high, factor) {
            high *= 2.0;
            if !high.is_finite() {
                return None;
            }
        }
        Some(bisect(|age| exceeds(age, factor), minimum, high) / factor)
    }

    /// Returns the smallest age at which a condition holds; `None` if there is no such age. The condition must be false
    /// at age 0.
    fn first_age(&self, holds: impl Fn(f64) -> bool) -> Option<f64> {
        match self {
            // The residual never grows with the age, so the condition never comes true.
            Distribution::Constant(_) | Distribution::Uniform(_) | Distribution::Exponential(_) => None,
            Distribution::Weibull(weibull) if weibull.shape() >= 1.0 => None,
            // The residual decreases between values, and jumps up at each value.
            Distribution::Empirical(sample) => {
                let mut last = f64::NAN;
                sample.values().iter().copied().find(|&age| {
                    let new = age != last;
                    last = age;
                    new && holds(age)
                })
            }
            _ => {
                let mut before = 0.0;
                for age in self.scan() {
                    if age > before && holds(age) {
                        return Some(bisect(holds, before, age));
                    }
                    before = age.max(before);
                }
                None
            }
        }
    }

    /// Returns the ages at which a condition is tested, ascending.
    fn scan(&self) -> impl Iterator<Item = f64> + '_ {
        let below = (0..SCAN_BELOW).map(|step| {
            let share = f64::from(step) / f64::from(SCAN_BELOW);
            self.quantile(1e-6_f64.powf(1.0 - share) * 0.5_f64.powf(share))
        });
        let above = (0..=SCAN_ABOVE).map(|step| {
            // Most ages are where most durations end: −ln S grows with the square of the step.
            let share = f64::from(step) / f64::from(SCAN_ABOVE);
            self.survival_quantile(0.5 * (share * share * (2.0 * SCAN_END).ln()).exp())
        });
        std::iter::once(self.minimum()).chain(below).chain(above)
    }
}

/// Returns E_Y[P(X > age + factor·Y | X > age)], integrated over the survival of Y.
fn exceeds_fresh<F: Family>(family: &F, age: f64, factor: f64) -> f64 {
    if factor == 0.0 {
        return if family.survival(age) > 0.0 { 1.0 } else { 0.0 };
    }
    let integrand = |q: f64| family.conditional_survival(age, age + factor * family.survival_quantile(q));
    let mut breaks = vec![0.0, 1e-12, 1e-6, 1e-3, 0.1, 0.5, 0.9, 0.99, 0.999, 0.999_999, 1.0];
    // The survival has kinks at both ends of the support.
    for end in [family.minimum(), family.maximum()] {
        if end > age && end.is_finite() {
            let kink = family.survival((end - age) / factor);
            if kink > 0.0 && kink < 1.0 {
                breaks.push(kink);
            }
        }
    }
    breaks.sort_unstable_by(f64::total_cmp);
    integrate_panels(integrand, &breaks, 1e-11).value.clamp(0.0, 1.0)
}

/// As [`exceeds_fresh`], but counts all pairs of values of a sample. One pass is enough, because the values are in
/// ascending order.
fn exceeds_fresh_in_sample(values: &[f64], age: f64, factor: f64) -> f64 {
    let count = values.len();
    let left = count - values.partition_point(|&value| value <= age);
    if left == 0 {
        return 0.0;
    }
    let mut pairs = 0_u64;
    let mut passed = count - left;
    for fresh in values {
        let limit = age + factor * fresh;
        while passed < count && values[passed] <= limit {
            passed += 1;
        }
        pairs += (count - passed) as u64;
    }
    pairs as f64 / (left as f64 * count as f64)
}
