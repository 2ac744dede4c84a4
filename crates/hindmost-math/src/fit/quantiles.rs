//! Quantiles of the distributions that confidence intervals need.

use statrs::distribution::{ContinuousCDF, StudentsT};
use statrs::function::gamma::checked_gamma_lr;

use crate::numeric::{find_root, normal_quantile, normal_survival};

/// From this number of degrees of freedom on, approximations are used; they are accurate enough for intervals.
const MANY: f64 = 1000.0;

/// Returns the quantile of the χ² distribution with these degrees of freedom, for 0 < `p` < 1. From 1000 degrees of
/// freedom on, it uses Wilson and Hilferty's approximation, with a relative error of at most about 2e-6.
pub fn chi_squared_quantile(p: f64, degrees: f64) -> f64 {
    let part = 2.0 / (9.0 * degrees);
    let guess = degrees * (1.0 - part + normal_quantile(p) * part.sqrt()).powi(3);
    if degrees >= MANY {
        return guess;
    }
    let gap = |x: f64| checked_gamma_lr(degrees / 2.0, x / 2.0).unwrap_or(0.0) - p;
    find_root(gap, 0.0, 2.0 * guess.max(0.0) + 40.0, 0.0).unwrap_or(guess)
}

/// Returns the quantile of Student's t distribution with at least 1 degree of freedom. From 100 000 degrees of freedom
/// on, this is the normal quantile.
pub fn student_quantile(p: f64, degrees: f64) -> f64 {
    match StudentsT::new(0.0, 1.0, degrees) {
        Ok(student) if degrees < 1e5 => student.inverse_cdf(p),
        _ => normal_quantile(p),
    }
}

/// Returns P(|T| ≥ |t|) for Student's t with these degrees of freedom.
pub fn student_two_sided(t: f64, degrees: f64) -> f64 {
    if t.is_nan() {
        return f64::NAN;
    }
    match StudentsT::new(0.0, 1.0, degrees) {
        Ok(student) if degrees < 1e5 => (2.0 * student.cdf(-t.abs())).min(1.0),
        _ => 2.0 * normal_survival(t.abs()),
    }
}
