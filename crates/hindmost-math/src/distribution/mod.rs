//! Distributions of durations: what the papers' formulas and the simulator ask of them.
//!
//! A [`Distribution`] is one of seven families. It is made by a constructor that checks its
//! parameters, from text such as `pareto(alpha=2,mean=1)`, or by deserialising `{"pareto": {"alpha": 2,
//! "mean": 1}}` or a bare number, so that an invalid one can't exist. Times are in the unit of the
//! parameters, seconds for durations.
//!
//! Closed forms are used where there are any; otherwise adaptive quadrature to a relative 1e-12, which
//! is good to some 1e-10. Draws go through [`Distribution::survival_quantile`], which is exact far into
//! the tail and costs a power or a logarithm.

mod empirical;
mod error;
mod family;
mod light;
mod moments;
mod pareto;
mod parse;
mod residual;
mod serial;
mod stretched;

pub use empirical::Empirical;
pub use error::DistributionError;
pub use light::{Constant, Exponential, Uniform};
pub use pareto::Pareto;
pub use stretched::{LogNormal, Weibull};

use family::Family;
use serde::{Deserialize, Serialize};

/// A distribution of durations or parameters, in the unit of its parameters (seconds for durations).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "serial::Checked", into = "serial::Raw")]
pub enum Distribution {
    /// Always the same value.
    Constant(Constant),
    /// Uniform between two values.
    Uniform(Uniform),
    /// Exponential.
    Exponential(Exponential),
    /// Pareto, with or without an upper limit.
    Pareto(Pareto),
    /// Log-normal.
    LogNormal(LogNormal),
    /// Weibull.
    Weibull(Weibull),
    /// A sample.
    Empirical(Empirical),
}

/// Evaluates an expression with the family inside a distribution.
macro_rules! with_family {
    ($distribution:expr, $family:ident => $expression:expr) => {
        match $distribution {
            Distribution::Constant($family) => $expression,
            Distribution::Uniform($family) => $expression,
            Distribution::Exponential($family) => $expression,
            Distribution::Pareto($family) => $expression,
            Distribution::LogNormal($family) => $expression,
            Distribution::Weibull($family) => $expression,
            Distribution::Empirical($family) => $expression,
        }
    };
}
use with_family;

/// Constructors.
impl Distribution {
    /// Always `value`, which is zero or more and finite.
    ///
    /// # Errors
    /// A parameter outside its range.
    pub fn constant(value: f64) -> Result<Self, DistributionError> {
        Constant::new(value).map(Self::Constant)
    }

    /// Uniform on [`min`, `max`], 0 ≤ `min` ≤ `max`, both finite; constant where they are equal.
    ///
    /// # Errors
    /// A parameter outside its range.
    pub fn uniform(min: f64, max: f64) -> Result<Self, DistributionError> {
        let uniform = Uniform::new(min, max)?;
        if min == max { Self::constant(min) } else { Ok(Self::Uniform(uniform)) }
    }

    /// Exponential of a positive, finite mean.
    ///
    /// # Errors
    /// A parameter outside its range.
    pub fn exponential(mean: f64) -> Result<Self, DistributionError> {
        Exponential::new(mean).map(Self::Exponential)
    }

    /// Pareto of tail index `alpha` > 1 and shortest duration `minimum` > 0.
    ///
    /// # Errors
    /// A parameter outside its range; with `alpha` ≤ 1 the mean would be infinite.
    pub fn pareto(alpha: f64, minimum: f64) -> Result<Self, DistributionError> {
        Pareto::with_minimum(alpha, minimum, None).map(Self::Pareto)
    }

    /// Pareto of tail index `alpha` > 1 and the mean given.
    ///
    /// # Errors
    /// A parameter outside its range.
    pub fn pareto_with_mean(alpha: f64, mean: f64) -> Result<Self, DistributionError> {
        Pareto::with_mean(alpha, mean, None).map(Self::Pareto)
    }

    /// Pareto of any tail index `alpha` > 0, conditional on not exceeding `maximum` > `minimum` > 0.
    ///
    /// # Errors
    /// A parameter outside its range.
    pub fn pareto_truncated(alpha: f64, minimum: f64, maximum: f64) -> Result<Self, DistributionError> {
        Pareto::with_minimum(alpha, minimum, Some(maximum)).map(Self::Pareto)
    }

    /// Pareto conditional on not exceeding `maximum`, of the mean given (after truncation).
    ///
    /// # Errors
    /// A parameter outside its range, or no minimum gives that mean.
    pub fn pareto_truncated_with_mean(alpha: f64, mean: f64, maximum: f64) -> Result<Self, DistributionError> {
        Pareto::with_mean(alpha, mean, Some(maximum)).map(Self::Pareto)
    }

    /// Log-normal of a positive mean and coefficient of variation 0 ≤ `cv` ≤ 1e6; constant where
    /// `cv` is 0.
    ///
    /// # Errors
    /// A parameter outside its range.
    pub fn log_normal(mean: f64, cv: f64) -> Result<Self, DistributionError> {
        if cv == 0.0 {
            return error::check(mean > 0.0, "log_normal", "mean", mean, "positive and finite")
                .and_then(Self::constant);
        }
        LogNormal::new(mean, cv).map(Self::LogNormal)
    }

    /// Weibull of shape between 0.01 and 1e6 and a positive mean.
    ///
    /// # Errors
    /// A parameter outside its range.
    pub fn weibull(shape: f64, mean: f64) -> Result<Self, DistributionError> {
        Weibull::new(shape, mean).map(Self::Weibull)
    }

    /// Each of `values` with the same probability; in any order, zero or more and finite, at least one.
    ///
    /// # Errors
    /// No value, or one outside its range.
    pub fn empirical(values: Vec<f64>) -> Result<Self, DistributionError> {
        Empirical::new(values).map(Self::Empirical)
    }

    /// What a policy assumes that knows only the mean and standard deviation of a phase's durations.
    ///
    /// Pareto with α = 1 + √(1 + (mean/sd)²), whose mean and standard deviation these are (Xu, Liu &
    /// Lau 2022, section 4); an unknown or infinite `sd` gives α = 2, an `sd` of 0 (or too small to
    /// matter) a constant.
    ///
    /// # Errors
    /// A mean or standard deviation that is negative or NaN, or an infinite mean.
    pub fn fit_mean_sd(mean: f64, sd: Option<f64>) -> Result<Self, DistributionError> {
        let Some(sd) = sd.filter(|&sd| sd != f64::INFINITY) else {
            return Self::pareto_with_mean(2.0, mean);
        };
        error::check(sd >= 0.0, "fit", "sd", sd, "zero or more")?;
        let alpha = 1.0 + (mean / sd).hypot(1.0);
        if sd == 0.0 || mean == 0.0 || alpha > 1e12 {
            Self::constant(mean)
        } else {
            Self::pareto_with_mean(alpha, mean)
        }
    }

    /// The distribution of X · `factor`.
    ///
    /// A scaling keeps the family and its shape. `factor` is meant to be positive and finite: others
    /// are moved to the nearest such number, and NaN counts as 1.
    pub fn scaled(&self, factor: f64) -> Self {
        let factor = if factor.is_nan() { 1.0 } else { factor.clamp(f64::MIN_POSITIVE, f64::MAX) };
        match self {
            Self::Constant(family) => Self::Constant(family.scaled(factor)),
            Self::Uniform(family) => Self::Uniform(family.scaled(factor)),
            Self::Exponential(family) => Self::Exponential(family.scaled(factor)),
            Self::Pareto(family) => Self::Pareto(family.scaled(factor)),
            Self::LogNormal(family) => Self::LogNormal(family.scaled(factor)),
            Self::Weibull(family) => Self::Weibull(family.scaled(factor)),
            Self::Empirical(family) => Self::Empirical(family.scaled(factor)),
        }
    }

    /// The same shape scaled to another mean, positive and finite (otherwise as [`Self::scaled`]).
    ///
    /// What is always 0 has no shape, and stays as it is.
    pub fn with_mean(&self, mean: f64) -> Self {
        let own = self.mean();
        if own > 0.0 && own != mean { self.scaled(mean / own) } else { self.clone() }
    }
}

/// The distribution itself.
impl Distribution {
    /// E\[X].
    pub fn mean(&self) -> f64 {
        with_family!(self, family => Family::mean(family))
    }

    /// E\[X²]; `None` where it is infinite.
    pub fn second_moment(&self) -> Option<f64> {
        with_family!(self, family => family.second_moment()).filter(|moment| moment.is_finite())
    }

    /// Standard deviation; `None` where it is infinite. Of a sample: with its size as the divisor.
    pub fn sd(&self) -> Option<f64> {
        with_family!(self, family => family.sd())
    }

    /// The infimum of the support.
    pub fn minimum(&self) -> f64 {
        with_family!(self, family => Family::minimum(family))
    }

    /// The supremum of the support; ∞ if there is none.
    pub fn maximum(&self) -> f64 {
        with_family!(self, family => Family::maximum(family))
    }

    /// F(t) = P(X ≤ t).
    pub fn cdf(&self, t: f64) -> f64 {
        with_family!(self, family => family.cdf(t))
    }

    /// S(t) = P(X > t).
    pub fn survival(&self, t: f64) -> f64 {
        with_family!(self, family => family.survival(t))
    }

    /// The smallest t with F(t) ≥ `p`, for `p` in [0, 1); precise for tiny `p`. Values outside [0, 1]
    /// are moved into it; NaN stays NaN.
    pub fn quantile(&self, p: f64) -> f64 {
        with_family!(self, family => family.quantile(p.clamp(0.0, 1.0)))
    }

    /// The smallest t with S(t) ≤ `q`, for `q` in (0, 1]; precise for tiny `q`. The simulator's draws:
    /// with `q` uniform this has the distribution of X. `q` outside (0, 1] is moved to the nearest
    /// normal number within; NaN stays NaN (a sample gives one of its values).
    #[inline]
    pub fn survival_quantile(&self, q: f64) -> f64 {
        let q = q.clamp(f64::MIN_POSITIVE, 1.0);
        with_family!(self, family => family.survival_quantile(q))
    }
}

#[cfg(test)]
mod tests;
