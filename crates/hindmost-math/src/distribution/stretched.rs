//! Families that are transformed normal or exponential variables: log-normal and Weibull.

use statrs::function::gamma::{checked_gamma_lr, checked_gamma_ur, ln_gamma};

use super::error::{DistributionError, check};
use super::family::{Family, Power, integrate_composite};
use crate::numeric::{normal_quantile, normal_survival};

/// A log-normal distribution: ln X is normal with mean `location` and standard deviation `spread`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogNormal {
    mean: f64,
    cv: f64,
    location: f64,
    spread: f64,
}

impl LogNormal {
    pub(super) fn new(mean: f64, cv: f64) -> Result<Self, DistributionError> {
        check(mean > 0.0, "log_normal", "mean", mean, "positive and finite")?;
        check(cv > 0.0 && cv <= 1e6, "log_normal", "cv", cv, "positive and at most 1e6")?;
        Ok(Self::assume(mean, cv))
    }

    fn assume(mean: f64, cv: f64) -> Self {
        let variance = (cv * cv).ln_1p();
        Self { mean, cv, location: mean.ln() - 0.5 * variance, spread: variance.sqrt() }
    }

    /// Returns the coefficient of variation: standard deviation divided by mean.
    pub fn cv(&self) -> f64 {
        self.cv
    }

    pub(super) fn scaled(&self, factor: f64) -> Self {
        Self::assume(self.mean * factor, self.cv)
    }

    /// Returns the standard normal value that corresponds to t; −∞ for t ≤ 0.
    fn standard(&self, t: f64) -> f64 {
        (t.max(0.0).ln() - self.location) / self.spread
    }
}

impl Family for LogNormal {
    fn mean(&self) -> f64 {
        self.mean
    }
    fn second_moment(&self) -> Option<f64> {
        Some(self.mean * self.mean * (1.0 + self.cv * self.cv))
    }
    fn sd(&self) -> Option<f64> {
        Some(self.mean * self.cv)
    }
    fn minimum(&self) -> f64 {
        0.0
    }
    fn maximum(&self) -> f64 {
        f64::INFINITY
    }
    fn cdf(&self, t: f64) -> f64 {
        normal_survival(-self.standard(t))
    }
    fn survival(&self, t: f64) -> f64 {
        normal_survival(self.standard(t))
    }
    fn quantile(&self, p: f64) -> f64 {
        (self.location + self.spread * normal_quantile(p)).exp()
    }
    #[inline]
    fn survival_quantile(&self, q: f64) -> f64 {
        (self.location - self.spread * normal_quantile(q)).exp()
    }
    fn limited_second_moment(&self, limit: f64) -> f64 {
        if limit == f64::INFINITY {
            return self.mean * self.mean * (1.0 + self.cv * self.cv);
        }
        let z = self.standard(limit);
        let below = self.mean * self.mean * (1.0 + self.cv * self.cv) * normal_survival(2.0 * self.spread - z);
        below + limit * limit * normal_survival(z)
    }
    fn mean_residual(&self, age: f64) -> f64 {
        let z = self.standard(age);
        let survival = normal_survival(z);
        if survival > 0.0 { (self.mean * normal_survival(z - self.spread) / survival - age).max(0.0) } else { 0.0 }
    }
    fn limited_minimum(&self, limit: f64, copies: f64) -> f64 {
        if copies == 1.0 {
            if limit == f64::INFINITY {
                return self.mean;
            }
            let z = self.standard(limit);
            return self.mean * normal_survival(self.spread - z) + limit.max(0.0) * normal_survival(z);
        }
        integrate_composite(self, limit, 1.0, copies, Power::One)
    }
}

/// A Weibull distribution: S(t) = exp(−(t/λ)^k) with shape k and scale λ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weibull {
    shape: f64,
    mean: f64,
    scale: f64,
    /// 1/k, where k is the shape.
    exponent: f64,
}

impl Weibull {
    pub(super) fn new(shape: f64, mean: f64) -> Result<Self, DistributionError> {
        check((0.01..=1e6).contains(&shape), "weibull", "shape", shape, "between 0.01 and 1e6")?;
        check(mean > 0.0, "weibull", "mean", mean, "positive and finite")?;
        Ok(Self::assume(shape, mean))
    }

    fn assume(shape: f64, mean: f64) -> Self {
        let exponent = 1.0 / shape;
        Self { shape, mean, scale: mean * (-ln_gamma(1.0 + exponent)).exp(), exponent }
    }

    /// Returns the shape k. Below 1 the tail is heavier than that of the exponential distribution.
    pub fn shape(&self) -> f64 {
        self.shape
    }

    pub(super) fn scaled(&self, factor: f64) -> Self {
        Self::assume(self.shape, self.mean * factor)
    }

    /// Returns (t/λ)^k, which is exponential with mean 1.
    fn standard(&self, t: f64) -> f64 {
        (t.max(0.0) / self.scale).powf(self.shape)
    }

    /// Returns E\[X²]/E\[X]².
    fn spread(&self) -> f64 {
        (ln_gamma(1.0 + 2.0 * self.exponent) - 2.0 * ln_gamma(1.0 + self.exponent)).exp()
    }

    /// Returns E\[min(limit, X)^power] = `whole`·P(power/k, y) with y = (limit/λ)^k. P is the regularised lower
    /// incomplete gamma function, and `whole` is the moment without a limit.
    fn limited(&self, limit: f64, power: f64, whole: f64) -> f64 {
        let y = self.standard(limit);
        if y < 1e-13 {
            return limit.max(0.0).powf(power);
        }
        if y > 1e6 {
            return whole;
        }
        checked_gamma_lr(power * self.exponent, y).map_or(whole, |share| whole * share)
    }
}

impl Family for Weibull {
    fn mean(&self) -> f64 {
        self.mean
    }
    fn second_moment(&self) -> Option<f64> {
        let moment = self.mean * self.mean * self.spread();
        moment.is_finite().then_some(moment)
    }
    fn sd(&self) -> Option<f64> {
        let variance = (ln_gamma(1.0 + 2.0 * self.exponent) - 2.0 * ln_gamma(1.0 + self.exponent)).exp_m1();
        let sd = self.mean * variance.max(0.0).sqrt();
        sd.is_finite().then_some(sd)
    }
    fn minimum(&self) -> f64 {
        0.0
    }
    fn maximum(&self) -> f64 {
        f64::INFINITY
    }
    fn cdf(&self, t: f64) -> f64 {
        -(-self.standard(t)).exp_m1()
    }
    fn survival(&self, t: f64) -> f64 {
        (-self.standard(t)).exp()
    }
    fn quantile(&self, p: f64) -> f64 {
        self.scale * (-(-p).ln_1p()).powf(self.exponent)
    }
    #[inline]
    fn survival_quantile(&self, q: f64) -> f64 {
        self.scale * (0.0 - q.ln()).powf(self.exponent)
    }
    fn limited_second_moment(&self, limit: f64) -> f64 {
        self.limited(limit, 2.0, self.mean * self.mean * self.spread())
    }
    fn mean_residual(&self, age: f64) -> f64 {
        let y = self.standard(age);
        let survival = (-y).exp();
        if survival == 0.0 {
            return 0.0;
        }
        // ∫_age^∞ S = E[X]·Q(1/k, y), where Q is the regularised upper incomplete gamma function.
        let left =
            if y < 1e-13 { self.mean - age } else { self.mean * checked_gamma_ur(self.exponent, y).unwrap_or(0.0) };
        left / survival
    }
    fn conditional_survival(&self, age: f64, t: f64) -> f64 {
        let left = self.standard(t);
        if left == f64::INFINITY { 0.0 } else { (self.standard(age) - left).exp() }
    }
    fn limited_minimum(&self, limit: f64, copies: f64) -> f64 {
        // The minimum of c copies is distributed as c^(−1/k) times one copy.
        let factor = copies.powf(-self.exponent);
        factor * self.limited(limit / factor, 1.0, self.mean)
    }
    fn expected_minimum_squared(&self, copies: f64) -> f64 {
        self.mean * self.mean * self.spread() * copies.powf(-2.0 * self.exponent)
    }
}
