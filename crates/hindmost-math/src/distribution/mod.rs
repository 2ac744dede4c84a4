//! Distributions of durations, as the papers' formulas and the simulator use them.
//!
//! A [`Distribution`] belongs to one of seven families. It is created by a constructor, from text such as
//! `pareto(alpha=2,mean=1)`, or by deserialising `{"pareto": {"alpha": 2, "mean": 1}}` or a bare number. All of them
//! check the parameters, so an invalid distribution can't exist. Values have the unit of the parameters, which is
//! seconds for durations.
//!
//! Closed forms are used where they exist. Other integrals use adaptive quadrature with a relative tolerance of 1e-12,
//! which gives results accurate to about 1e-10. Draws use [`Distribution::survival_quantile`], which is accurate far
//! into the tail and costs one power or logarithm.

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
///
/// ```
/// use hindmost_math::distribution::Distribution;
///
/// let durations = Distribution::pareto_with_mean(2.0, 10.0)?;
/// assert_eq!(durations.minimum(), 5.0);
/// assert_eq!(durations.to_string(), "pareto(alpha=2,minimum=5)");
/// assert!((durations.survival(50.0) - 0.01).abs() < 1e-12);
///
/// // After 20 s without a result, this is the expected remaining time, s.
/// assert!((durations.mean_residual(20.0) - 20.0).abs() < 1e-9);
/// # Ok::<(), hindmost_math::distribution::DistributionError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "serial::Checked", into = "serial::Raw")]
pub enum Distribution {
    /// A constant: one value with probability 1.
    Constant(Constant),
    /// A uniform distribution between two values.
    Uniform(Uniform),
    /// An exponential distribution.
    Exponential(Exponential),
    /// A Pareto distribution, with or without an upper limit.
    Pareto(Pareto),
    /// A log-normal distribution.
    LogNormal(LogNormal),
    /// A Weibull distribution.
    Weibull(Weibull),
    /// The empirical distribution of a sample.
    Empirical(Empirical),
}

/// Evaluates an expression in which `$family` is the family inside a distribution.
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

/// Functions that create distributions.
impl Distribution {
    /// Returns the distribution of a constant; `value` is finite and at least 0.
    ///
    /// # Errors
    /// If a parameter is outside its range.
    pub fn constant(value: f64) -> Result<Self, DistributionError> {
        Constant::new(value).map(Self::Constant)
    }

    /// Returns the uniform distribution on [`min`, `max`], 0 ≤ `min` ≤ `max`, both finite; a constant if `min` = `max`.
    ///
    /// # Errors
    /// If a parameter is outside its range.
    pub fn uniform(min: f64, max: f64) -> Result<Self, DistributionError> {
        let uniform = Uniform::new(min, max)?;
        if min == max { Self::constant(min) } else { Ok(Self::Uniform(uniform)) }
    }

    /// Returns the exponential distribution with a positive, finite mean.
    ///
    /// # Errors
    /// If a parameter is outside its range.
    pub fn exponential(mean: f64) -> Result<Self, DistributionError> {
        Exponential::new(mean).map(Self::Exponential)
    }

    /// Returns the Pareto distribution with tail index `alpha` > 1 and smallest value `minimum` > 0.
    ///
    /// # Errors
    /// If a parameter is outside its range. With `alpha` ≤ 1 the mean would be infinite.
    pub fn pareto(alpha: f64, minimum: f64) -> Result<Self, DistributionError> {
        Pareto::with_minimum(alpha, minimum, None).map(Self::Pareto)
    }

    /// Returns the Pareto distribution with tail index `alpha` > 1 and this mean.
    ///
    /// # Errors
    /// If a parameter is outside its range.
    pub fn pareto_with_mean(alpha: f64, mean: f64) -> Result<Self, DistributionError> {
        Pareto::with_mean(alpha, mean, None).map(Self::Pareto)
    }

    /// Returns the Pareto distribution with any tail index `alpha` > 0, conditional on values of at most `maximum` >
    /// `minimum` > 0.
    ///
    /// # Errors
    /// If a parameter is outside its range.
    pub fn pareto_truncated(alpha: f64, minimum: f64, maximum: f64) -> Result<Self, DistributionError> {
        Pareto::with_minimum(alpha, minimum, Some(maximum)).map(Self::Pareto)
    }

    /// Returns the Pareto distribution conditional on values of at most `maximum`, with this mean after truncation.
    ///
    /// # Errors
    /// If a parameter is outside its range, or no minimum gives that mean.
    pub fn pareto_truncated_with_mean(alpha: f64, mean: f64, maximum: f64) -> Result<Self, DistributionError> {
        Pareto::with_mean(alpha, mean, Some(maximum)).map(Self::Pareto)
    }

    /// Returns the log-normal distribution with a positive mean and coefficient of variation 0 ≤ `cv` ≤ 1e6; a constant
    /// if `cv` is 0.
    ///
    /// # Errors
    /// If a parameter is outside its range.
    pub fn log_normal(mean: f64, cv: f64) -> Result<Self, DistributionError> {
        if cv == 0.0 {
            return error::check(mean > 0.0, "log_normal", "mean", mean, "positive and finite")
                .and_then(Self::constant);
        }
        LogNormal::new(mean, cv).map(Self::LogNormal)
    }

    /// Returns the Weibull distribution with a shape between 0.01 and 1e6 and a positive mean.
    ///
    /// # Errors
    /// If a parameter is outside its range.
    pub fn weibull(shape: f64, mean: f64) -> Result<Self, DistributionError> {
        Weibull::new(shape, mean).map(Self::Weibull)
    }

    /// Returns the distribution in which each of `values` has the same probability. There must be at least one value;
    /// all values must be finite and at least 0. They may be in any order.
    ///
    /// # Errors
    /// If there are no values or a value is outside its range.
    pub fn empirical(values: Vec<f64>) -> Result<Self, DistributionError> {
        Empirical::new(values).map(Self::Empirical)
    }

    /// Returns the distribution that a policy assumes if it knows only the mean and standard deviation of a phase's
    /// durations.
    ///
    /// This is the Pareto distribution with α = 1 + √(1 + (mean/sd)²), which has this mean and standard deviation (Xu,
    /// Liu & Lau 2022, section 4). If `sd` is unknown or infinite, α is 2. If `sd` is 0 or negligible compared with the
    /// mean, the result is a constant.
    ///
    /// # Errors
    /// If the mean or standard deviation is negative or NaN, or the mean is infinite.
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

    /// Returns the distribution of X · `factor`.
    ///
    /// Scaling keeps the family and its shape. `factor` should be positive and finite. Any other factor is replaced by
    /// the nearest positive, finite number, and NaN by 1.
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

    /// Returns the distribution scaled to another mean, which should be positive and finite (see [`Self::scaled`]).
    ///
    /// A constant of 0 is returned unchanged.
    pub fn with_mean(&self, mean: f64) -> Self {
        let own = self.mean();
        if own > 0.0 && own != mean { self.scaled(mean / own) } else { self.clone() }
    }
}

/// Properties of the distribution.
impl Distribution {
    /// Returns the mean, E\[X].
    pub fn mean(&self) -> f64 {
        with_family!(self, family => Family::mean(family))
    }

    /// Returns the second moment, E\[X²]; `None` if it is infinite.
    pub fn second_moment(&self) -> Option<f64> {
        with_family!(self, family => family.second_moment()).filter(|moment| moment.is_finite())
    }

    /// Returns the standard deviation; `None` if it is infinite. For a sample of n values, the divisor is n.
    pub fn sd(&self) -> Option<f64> {
        with_family!(self, family => family.sd())
    }

    /// Returns the smallest possible value (the infimum of the support).
    pub fn minimum(&self) -> f64 {
        with_family!(self, family => Family::minimum(family))
    }

    /// Returns the largest possible value (the supremum of the support); ∞ if there is none.
    pub fn maximum(&self) -> f64 {
        with_family!(self, family => Family::maximum(family))
    }

    /// Returns F(t) = P(X ≤ t).
    pub fn cdf(&self, t: f64) -> f64 {
        with_family!(self, family => family.cdf(t))
    }

    /// Returns S(t) = P(X > t).
    pub fn survival(&self, t: f64) -> f64 {
        with_family!(self, family => family.survival(t))
    }

    /// Returns the smallest t with F(t) ≥ `p`, for `p` in [0, 1). Accurate for tiny `p`. Values outside [0, 1] are
    /// clamped; NaN gives NaN.
    pub fn quantile(&self, p: f64) -> f64 {
        with_family!(self, family => family.quantile(p.clamp(0.0, 1.0)))
    }

    /// Returns the smallest t with S(t) ≤ `q`, for `q` in (0, 1]. Accurate for tiny `q`. If `q` is uniform, the result
    /// has the distribution of X; the simulator draws durations this way. Values of `q` outside (0, 1] are replaced by
    /// the nearest normal number inside; NaN gives NaN (for a sample, one of its values).
    #[inline]
    pub fn survival_quantile(&self, q: f64) -> f64 {
        let q = q.clamp(f64::MIN_POSITIVE, 1.0);
        with_family!(self, family => family.survival_quantile(q))
    }
}

#[cfg(test)]
mod tests;
