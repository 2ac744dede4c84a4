//! Families with few parameters and simple closed forms: constant, uniform, exponential.

use super::error::{DistributionError, check};
use super::family::Family;
use crate::numeric::{harmonic, ln_gamma_increment};

/// A constant: one value with probability 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constant {
    value: f64,
}

impl Constant {
    pub(super) fn new(value: f64) -> Result<Self, DistributionError> {
        Ok(Self { value: check(value >= 0.0, "constant", "value", value, "zero or more and finite")? })
    }

    /// Returns the value of the constant.
    pub fn value(&self) -> f64 {
        self.value
    }

    pub(super) fn scaled(self, factor: f64) -> Self {
        Self { value: self.value * factor }
    }
}

impl Family for Constant {
    fn mean(&self) -> f64 {
        self.value
    }
    fn second_moment(&self) -> Option<f64> {
        Some(self.value * self.value)
    }
    fn sd(&self) -> Option<f64> {
        Some(0.0)
    }
    fn minimum(&self) -> f64 {
        self.value
    }
    fn maximum(&self) -> f64 {
        self.value
    }
    fn cdf(&self, t: f64) -> f64 {
        if t < self.value { 0.0 } else { 1.0 }
    }
    fn survival(&self, t: f64) -> f64 {
        if t < self.value { 1.0 } else { 0.0 }
    }
    fn quantile(&self, _p: f64) -> f64 {
        self.value
    }
    #[inline]
    fn survival_quantile(&self, _q: f64) -> f64 {
        self.value
    }
    fn limited_second_moment(&self, limit: f64) -> f64 {
        limit.clamp(0.0, self.value).powi(2)
    }
    fn mean_residual(&self, age: f64) -> f64 {
        (self.value - age).max(0.0)
    }
    fn limited_minimum(&self, limit: f64, _copies: f64) -> f64 {
        limit.clamp(0.0, self.value)
    }
    fn expected_minimum_squared(&self, _copies: f64) -> f64 {
        self.value * self.value
    }
    fn expected_maximum_of_minima(&self, _tasks: f64, _copies: f64) -> f64 {
        self.value
    }
}

/// A uniform distribution between two values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Uniform {
    min: f64,
    max: f64,
}

impl Uniform {
    pub(super) fn new(min: f64, max: f64) -> Result<Self, DistributionError> {
        check(min >= 0.0, "uniform", "min", min, "zero or more and finite")?;
        check(max >= min, "uniform", "max", max, "finite and not below min")?;
        Ok(Self { min, max })
    }

    /// Returns the lower end.
    pub fn min(&self) -> f64 {
        self.min
    }

    /// Returns the upper end, which is at least the lower end.
    pub fn max(&self) -> f64 {
        self.max
    }

    pub(super) fn scaled(self, factor: f64) -> Self {
        Self { min: self.min * factor, max: self.max * factor }
    }

    fn width(&self) -> f64 {
        self.max - self.min
    }
}

impl Family for Uniform {
    fn mean(&self) -> f64 {
        self.min + 0.5 * self.width()
    }
    fn second_moment(&self) -> Option<f64> {
        Some((self.min * self.min + self.min * self.max + self.max * self.max) / 3.0)
    }
    fn sd(&self) -> Option<f64> {
        Some(self.width() / 12.0_f64.sqrt())
    }
    fn minimum(&self) -> f64 {
        self.min
    }
    fn maximum(&self) -> f64 {
        self.max
    }
    fn cdf(&self, t: f64) -> f64 {
        if t >= self.max {
            1.0
        } else if t <= self.min {
            0.0
        } else {
            (t - self.min) / self.width()
        }
    }
    fn survival(&self, t: f64) -> f64 {
        if t >= self.max {
            0.0
        } else if t <= self.min {
            1.0
        } else {
            (self.max - t) / self.width()
        }
    }
    fn quantile(&self, p: f64) -> f64 {
        self.min + p * self.width()
    }
    #[inline]
    fn survival_quantile(&self, q: f64) -> f64 {
        self.max - q * self.width()
    }
    fn limited_second_moment(&self, limit: f64) -> f64 {
        if limit <= self.min {
            return limit.max(0.0).powi(2);
        }
        if limit >= self.max {
            return (self.min * self.min + self.min * self.max + self.max * self.max) / 3.0;
        }
        // E[X²; X ≤ limit] + limit²·S(limit).
        let below = (limit.powi(3) - self.min.powi(3)) / (3.0 * self.width());
        below + limit * limit * self.survival(limit)
    }
    fn mean_residual(&self, age: f64) -> f64 {
        if age <= self.min { self.mean() - age } else { 0.5 * (self.max - age).max(0.0) }
    }
    fn limited_minimum(&self, limit: f64, copies: f64) -> f64 {
        if limit <= self.min {
            return limit.max(0.0);
        }
        let survival = self.survival(limit);
        self.min + self.width() * (1.0 - survival.powf(copies + 1.0)) / (copies + 1.0)
    }
    fn expected_minimum_squared(&self, copies: f64) -> f64 {
        let (first, second) = (copies + 1.0, copies + 2.0);
        let width = self.width();
        self.min * self.min + 2.0 * self.min * width / first + 2.0 * width * width / (first * second)
    }
    fn expected_maximum_of_minima(&self, tasks: f64, copies: f64) -> f64 {
        // ∫₀¹ 1 − (1 − v^c)^m dv = 1 − Γ(1 + 1/c)·Γ(m+1)/Γ(m+1+1/c).
        let d = 1.0 / copies;
        let log = ln_gamma_increment(1.0 + d, d) - ln_gamma_increment(tasks + 1.0 + d, d);
        self.min - self.width() * log.exp_m1()
    }
}

/// An exponential distribution with a given mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exponential {
    mean: f64,
}

impl Exponential {
    pub(super) fn new(mean: f64) -> Result<Self, DistributionError> {
        Ok(Self { mean: check(mean > 0.0, "exponential", "mean", mean, "positive and finite")? })
    }

    pub(super) fn scaled(self, factor: f64) -> Self {
        Self { mean: self.mean * factor }
    }
}

impl Family for Exponential {
    fn mean(&self) -> f64 {
        self.mean
    }
    fn second_moment(&self) -> Option<f64> {
        Some(2.0 * self.mean * self.mean)
    }
    fn sd(&self) -> Option<f64> {
        Some(self.mean)
    }
    fn minimum(&self) -> f64 {
        0.0
    }
    fn maximum(&self) -> f64 {
        f64::INFINITY
    }
    fn cdf(&self, t: f64) -> f64 {
        -(-t.max(0.0) / self.mean).exp_m1()
    }
    fn survival(&self, t: f64) -> f64 {
        (-t.max(0.0) / self.mean).exp()
    }
    fn quantile(&self, p: f64) -> f64 {
        -self.mean * (-p).ln_1p()
    }
    #[inline]
    fn survival_quantile(&self, q: f64) -> f64 {
        // Adding zero gives 0 instead of −0 for q = 1.
        0.0 - self.mean * q.ln()
    }
    fn limited_second_moment(&self, limit: f64) -> f64 {
        let x = limit.max(0.0) / self.mean;
        if x == f64::INFINITY {
            return 2.0 * self.mean * self.mean;
        }
        // 1 − e^(−x)·(1 + x). For small x this would cancel, so the series x²/2 − x³/3 + x⁴/8 − … is used.
        let share = if x < 1e-3 {
            x * x * (0.5 - x * (1.0 / 3.0 - x * (0.125 - x / 30.0)))
        } else {
            -(-x).exp_m1() - x * (-x).exp()
        };
        2.0 * self.mean * self.mean * share
    }
    fn mean_residual(&self, _age: f64) -> f64 {
        self.mean
    }
    fn conditional_survival(&self, age: f64, t: f64) -> f64 {
        self.survival(t - age)
    }
    fn limited_minimum(&self, limit: f64, copies: f64) -> f64 {
        -self.mean / copies * (-limit.max(0.0) * copies / self.mean).exp_m1()
    }
    fn expected_minimum_squared(&self, copies: f64) -> f64 {
        2.0 * (self.mean / copies).powi(2)
    }
    fn expected_maximum_of_minima(&self, tasks: f64, copies: f64) -> f64 {
        self.mean / copies * harmonic(tasks)
    }
}
