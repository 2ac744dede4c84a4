//! The Pareto distribution, with or without an upper limit.

use super::error::{DistributionError, check};
use super::family::{Family, Power, integrate_composite, power_integral};
use crate::numeric::{find_root, ln_gamma_increment};
use crate::plain::Plain;

const NAME: &str = "pareto";

/// A Pareto distribution with minimum μ and tail index α: S(t) = (μ/t)^α for t ≥ μ. With a maximum T, the distribution
/// is conditional on X ≤ T.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pareto {
    alpha: f64,
    minimum: f64,
    maximum: Option<f64>,
    /// −1/α.
    exponent: f64,
    /// (μ/T)^α: the share of the unlimited distribution beyond the maximum; 0 without a maximum.
    beyond: f64,
}

impl Pareto {
    /// Creates the distribution with tail index `alpha` > 0, smallest value `minimum` > 0 and optional `maximum` >
    /// `minimum`, all finite. Without a maximum, `alpha` must be greater than 1; otherwise the mean would be infinite.
    pub(super) fn with_minimum(alpha: f64, minimum: f64, maximum: Option<f64>) -> Result<Self, DistributionError> {
        check_alpha(alpha, maximum)?;
        check(minimum > 0.0, NAME, "minimum", minimum, "positive and finite")?;
        if let Some(maximum) = maximum {
            check(maximum > minimum, NAME, "maximum", maximum, "finite and greater than the minimum")?;
        }
        Self::assume(alpha, minimum, maximum).checked()
    }

    /// Creates the distribution with tail index `alpha` and this mean. If there is a maximum, `mean` is the mean after
    /// truncation.
    pub(super) fn with_mean(alpha: f64, mean: f64, maximum: Option<f64>) -> Result<Self, DistributionError> {
        check_alpha(alpha, maximum)?;
        check(mean > 0.0, NAME, "mean", mean, "positive and finite")?;
        let Some(maximum) = maximum else {
            return Self::assume(alpha, mean * (alpha - 1.0) / alpha, None).checked();
        };
        check(maximum > mean, NAME, "maximum", maximum, "finite and greater than the mean")?;
        // The mean after truncation grows with the minimum, from 0 to the maximum, and is never below the minimum.
        let gap = |log: f64| Self::assume(alpha, log.exp(), Some(maximum)).mean() - mean;
        match find_root(gap, mean.ln() - 600.0, mean.ln(), 0.0) {
            Some(log) if log.exp() > 0.0 => Ok(Self::assume(alpha, log.exp(), Some(maximum))),
            _ => Err(DistributionError::Combination {
                distribution: NAME,
                reason: format!(
                    "no minimum gives mean = {} with alpha = {} and maximum = {}",
                    Plain(mean),
                    Plain(alpha),
                    Plain(maximum)
                ),
            }),
        }
    }

    fn assume(alpha: f64, minimum: f64, maximum: Option<f64>) -> Self {
        let beyond = maximum.map_or(0.0, |maximum| (minimum / maximum).powf(alpha));
        Self { alpha, minimum, maximum, exponent: -1.0 / alpha, beyond }
    }

    /// Returns the distribution if its minimum is not too small and its mean is finite.
    fn checked(self) -> Result<Self, DistributionError> {
        let minimum = self.minimum;
        check(minimum >= 1e-300, NAME, "minimum", minimum, "at least 1e-300")?;
        check(true, NAME, "mean", Family::mean(&self), "finite")?;
        Ok(self)
    }

    /// Returns the tail index α.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Returns the smallest value μ.
    pub fn minimum(&self) -> f64 {
        self.minimum
    }

    /// Returns the largest value; `None` without a maximum.
    pub fn maximum(&self) -> Option<f64> {
        self.maximum
    }

    pub(super) fn scaled(&self, factor: f64) -> Self {
        Self::assume(self.alpha, self.minimum * factor, self.maximum.map(|maximum| maximum * factor))
    }

    /// Returns the share of the unlimited distribution up to the maximum, by which survivals are divided.
    fn within(&self) -> f64 {
        self.maximum.map_or(1.0, |maximum| -(self.alpha * (self.minimum / maximum).ln()).exp_m1())
    }

    /// Returns ∫_μ^limit `power`·t^(power−1)·S(t) dt for a limit ≥ μ.
    fn area(&self, limit: f64, power: f64) -> f64 {
        let limit = self.maximum.map_or(limit, |maximum| maximum.min(limit));
        let scale = self.minimum.powf(power);
        let whole = power * scale * power_integral(self.alpha + 1.0 - power, limit / self.minimum);
        if self.maximum.is_none() {
            return whole;
        }
        let area = (whole - self.beyond * (limit.powf(power) - scale)) / self.within();
        area.min(limit.powf(power) - scale).max(0.0)
    }

    /// Returns (μ/t)^α.
    #[inline]
    fn tail(&self, t: f64) -> f64 {
        (self.minimum / t).powf(self.alpha)
    }
}

fn check_alpha(alpha: f64, maximum: Option<f64>) -> Result<(), DistributionError> {
    if maximum.is_some() {
        check(alpha > 0.0, NAME, "alpha", alpha, "positive and finite")?;
    } else {
        check(
            alpha > 1.0,
            NAME,
            "alpha",
            alpha,
            "greater than 1 and finite: without a maximum the mean is infinite otherwise",
        )?;
    }
    Ok(())
}

impl Family for Pareto {
    fn mean(&self) -> f64 {
        if self.maximum.is_none() {
            return self.minimum * self.alpha / (self.alpha - 1.0);
        }
        self.minimum + self.area(f64::INFINITY, 1.0)
    }

    fn second_moment(&self) -> Option<f64> {
        let moment = self.minimum * self.minimum + self.area(f64::INFINITY, 2.0);
        moment.is_finite().then_some(moment)
    }

    fn sd(&self) -> Option<f64> {
        if self.maximum.is_some() {
            let mean = Family::mean(self);
            return self.second_moment().map(|moment| (moment - mean * mean).max(0.0).sqrt());
        }
        let alpha = self.alpha;
        (alpha > 2.0).then(|| self.minimum / (alpha - 1.0) * (alpha / (alpha - 2.0)).sqrt())
    }

    fn minimum(&self) -> f64 {
        self.minimum
    }

    fn maximum(&self) -> f64 {
        self.maximum.unwrap_or(f64::INFINITY)
    }

    fn cdf(&self, t: f64) -> f64 {
        if t <= self.minimum {
            0.0
        } else if t >= Family::maximum(self) {
            1.0
        } else {
            -(self.alpha * (self.minimum / t).ln()).exp_m1() / self.within()
        }
    }

    #[inline]
    fn survival(&self, t: f64) -> f64 {
        if t <= self.minimum {
            1.0
        } else if self.maximum.is_none() {
            self.tail(t)
        } else if t >= Family::maximum(self) {
            0.0
        } else {
            (self.tail(t) - self.beyond) / self.within()
        }
    }

    fn quantile(&self, p: f64) -> f64 {
        let t = self.minimum * (self.exponent * (-p * self.within()).ln_1p()).exp();
        t.clamp(self.minimum, Family::maximum(self))
    }

    #[inline]
    fn survival_quantile(&self, q: f64) -> f64 {
        let tail = if self.beyond == 0.0 { q } else { q + (1.0 - q) * self.beyond };
        if self.alpha == 2.0 { self.minimum / tail.sqrt() } else { self.minimum * tail.powf(self.exponent) }
    }

    fn limited_second_moment(&self, limit: f64) -> f64 {
        if limit <= self.minimum {
            return limit.max(0.0).powi(2);
        }
        self.minimum * self.minimum + self.area(limit, 2.0)
    }

    fn mean_residual(&self, age: f64) -> f64 {
        if age <= self.minimum {
            return Family::mean(self) - age;
        }
        let Some(maximum) = self.maximum else { return age / (self.alpha - 1.0) };
        if age >= maximum {
            return 0.0;
        }
        // The residual is ∫_age^T (w(t) − w(T)) dt / (w(age) − w(T)) with w(t) = (μ/t)^α. Here both parts of the
        // quotient are divided by w(age).
        let ratio = maximum / age;
        let left = ratio.powf(-self.alpha);
        let residual =
            (age * power_integral(self.alpha, ratio) - left * (maximum - age)) / -(-self.alpha * ratio.ln()).exp_m1();
        residual.clamp(0.0, maximum - age)
    }

    fn conditional_survival(&self, age: f64, t: f64) -> f64 {
        if self.maximum.is_none() {
            // A quotient of two survivals could be 0/0 here.
            return (age.max(self.minimum) / t.max(self.minimum)).powf(self.alpha);
        }
        let survival = self.survival(age);
        if survival > 0.0 { self.survival(t) / survival } else { 0.0 }
    }

    fn limited_minimum(&self, limit: f64, copies: f64) -> f64 {
        if limit <= self.minimum {
            return limit.max(0.0);
        }
        if self.maximum.is_none() {
            return self.minimum * (1.0 + power_integral(self.alpha * copies, limit / self.minimum));
        }
        if copies == 1.0 {
            return self.minimum + self.area(limit, 1.0);
        }
        integrate_composite(self, limit, 1.0, copies, Power::One)
    }

    fn expected_minimum_squared(&self, copies: f64) -> f64 {
        if self.maximum.is_none() {
            let whole = power_integral(self.alpha * copies - 1.0, f64::INFINITY);
            return self.minimum * self.minimum * (1.0 + 2.0 * whole);
        }
        integrate_composite(self, f64::INFINITY, 1.0, copies, Power::Two)
    }

    fn expected_maximum_of_minima(&self, tasks: f64, copies: f64) -> f64 {
        if self.maximum.is_some() {
            return integrate_composite(self, f64::INFINITY, tasks, copies, Power::One);
        }
        // μ·Γ(m+1)·Γ(1−d)/Γ(m+1−d) with d = 1/(αc).
        let d = 1.0 / (self.alpha * copies);
        if d >= 1.0 {
            return f64::INFINITY;
        }
        self.minimum * (ln_gamma_increment(tasks + 1.0, d) - ln_gamma_increment(1.0, d)).exp()
    }
}
