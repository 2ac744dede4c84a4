//! Computes the remaining time from which on a task is a straggler: σ of SDA and ESE (Xu & Lau 2015, sections V-A and
//! VI-B).
//!
//! A copy with remaining time r races c − 1 new copies. All c copies run until the first one finishes, which takes
//! c·E\[min(r, Y)] of machine time; Y is the shortest duration of the new copies. Without a race, the copy takes r. So
//! the race saves machine time if c·E\[min(r, Y)] < r. The left side is concave in r with slope c at 0, so that both
//! sides are equal at exactly one r > 0. The threshold σ·E\[x] is this r, whatever the distribution of r: so it does
//! not matter whether r becomes known after a fraction s of the work (SDA) or at a random time (ESE). For Pareto with α
//! = 2 and c = 2 this gives the paper's σ = 1 + √2/2.
//!
//! Readings:
//! - In Eq. 26 the second integrand must be G(t), because the integral of the printed 1 − G(t) diverges.
//! - Theorem 3's c = 2 does not hold for very heavy tails: three copies cost less than two for Pareto durations with α
//!   below about 1.5595, each number of copies with its own σ (below about 1.5305 if both use the σ of two copies). So
//!   [`sda`] searches for the best c.
//! - For Pareto durations, more than three copies never cost less. Other durations, which can be very short, differ.
//!   For exponential durations, more copies never cost more, because the shortest of c copies takes 1/c of the time of
//!   one. For log-normal and Weibull durations of high variance, dozens of copies cost least. For such durations the
//!   limit on copies decides.

use thiserror::Error;

use super::sigma_ratio::{ese_cost, sda_cost};
use hindmost_math::distribution::Distribution;
use hindmost_math::numeric::find_root;
use hindmost_math::plain::Plain;

/// The search over copies ends after this many numbers of copies in a row without an improvement.
const PATIENCE: u32 = 4;

/// An optimal straggler threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sigma {
    /// A task is a straggler if its remaining time exceeds σ·E\[x].
    pub sigma: f64,
    /// The number of copies of a straggler, the original included.
    pub copies: u32,
    /// E\[R]/E\[x]: the expected machine time of a task over that without backups.
    pub resource_ratio: f64,
}

/// The error for parameters for which there is no threshold.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum SigmaError {
    /// A parameter is outside its range.
    #[error("{parameter} = {}: must be {valid}", Plain(*value))]
    Parameter {
        /// Name of the parameter.
        parameter: &'static str,
        /// The value of the parameter.
        value: f64,
        /// A phrase for the valid values.
        valid: &'static str,
    },
}

/// Returns SDA's σ and number of copies that together minimise the machine time (Eq. 27–28). The remaining time is
/// known once a fraction `s` of the work is done, 0 ≤ `s` < 1. A straggler has at most `max_copies` copies, which must
/// be at least 2.
///
/// σ depends neither on `s` nor on the mean (Theorem 3); the number of copies hardly depends on them. If no number of
/// copies saves machine time, because durations do not vary, the result has two copies and the ratio 1.
///
/// # Errors
/// If a parameter is outside its range or durations are always 0.
pub fn sda(duration: &Distribution, s: f64, max_copies: u32) -> Result<Sigma, SigmaError> {
    check_mean(duration)?;
    check_fraction(s)?;
    if max_copies < 2 {
        return Err(SigmaError::Parameter {
            parameter: "max_copies",
            value: f64::from(max_copies),
            valid: "at least 2",
        });
    }
    let mut best: Option<Sigma> = None;
    for copies in 2..=max_copies {
        let sigma = break_even(duration, copies);
        let resource_ratio = sda_cost(duration, s, sigma, copies);
        match best {
            // More copies must be better by more than rounding errors.
            Some(so_far) if resource_ratio >= so_far.resource_ratio - 1e-12 => {
                if copies >= so_far.copies + PATIENCE {
                    break;
                }
            }
            _ => best = Some(Sigma { sigma, copies, resource_ratio }),
        }
    }
    Ok(best.unwrap_or(Sigma { sigma: break_even(duration, 2), copies: 2, resource_ratio: 1.0 }))
}

/// Returns ESE's σ (Eq. 30–33) for one backup, that is, two copies. The time at which the scheduler tests the task is
/// uniform over the task's duration.
///
/// # Errors
/// If durations are always 0.
pub fn ese(duration: &Distribution) -> Result<Sigma, SigmaError> {
    check_mean(duration)?;
    let sigma = break_even(duration, 2);
    Ok(Sigma { sigma, copies: 2, resource_ratio: ese_cost(duration, sigma) })
}

/// Returns SDA's E\[R]/E\[x] at any `sigma` ≥ 0 and `copies` ≥ 1 (the curves of Fig. 4). One copy means no backups and
/// the ratio 1.
///
/// # Errors
/// If a parameter is outside its range or durations are always 0.
pub fn sda_resource_ratio(duration: &Distribution, s: f64, sigma: f64, copies: u32) -> Result<f64, SigmaError> {
    check_mean(duration)?;
    check_fraction(s)?;
    check_sigma(sigma)?;
    match copies {
        0 => Err(SigmaError::Parameter { parameter: "copies", value: 0.0, valid: "at least 1" }),
        1 => Ok(1.0),
        _ => Ok(sda_cost(duration, s, sigma, copies)),
    }
}

/// Returns ESE's E\[R]/E\[x] at any `sigma` ≥ 0 (Eq. 30–33).
///
/// # Errors
/// If a parameter is outside its range or durations are always 0.
pub fn ese_resource_ratio(duration: &Distribution, sigma: f64) -> Result<f64, SigmaError> {
    check_mean(duration)?;
    check_sigma(sigma)?;
    Ok(ese_cost(duration, sigma))
}

/// Returns the σ > 0 at which a race of `copies` ≥ 2 costs as much as no race.
fn break_even(duration: &Distribution, copies: u32) -> f64 {
    let mean = duration.mean();
    let fresh = f64::from(copies - 1);
    let gain = |r: f64| f64::from(copies) * duration.limited_minimum(r, fresh) - r;
    // At r = c·E[Y] the race costs no more than no race.
    let high = f64::from(copies) * duration.expected_minimum(fresh);
    let mut low = 0.5 * high;
    while low > 1e-300 && gain(low) <= 0.0 {
        low *= 0.5;
    }
    // Rounding may hide the change of sign at the upper end, where Y never exceeds r; the root is then `high`.
    find_root(gain, low, high, 1e-15).unwrap_or(high) / mean
}

fn check_mean(duration: &Distribution) -> Result<(), SigmaError> {
    let mean = duration.mean();
    if mean > 0.0 && mean.is_finite() {
        Ok(())
    } else {
        Err(SigmaError::Parameter { parameter: "mean duration", value: mean, valid: "positive and finite" })
    }
}

fn check_fraction(s: f64) -> Result<(), SigmaError> {
    if (0.0..1.0).contains(&s) {
        Ok(())
    } else {
        Err(SigmaError::Parameter { parameter: "s", value: s, valid: "zero or more and less than 1" })
    }
}

fn check_sigma(sigma: f64) -> Result<(), SigmaError> {
    if sigma >= 0.0 && sigma.is_finite() {
        Ok(())
    } else {
        Err(SigmaError::Parameter { parameter: "sigma", value: sigma, valid: "zero or more and finite" })
    }
}
