//! Computes the load up to which cloning helps (Xu & Lau 2015, section III-B, Eq. 1–5).
//!
//! Every machine is an M/G/1 queue of tasks; ω = λ·E\[m]·E\[s]/M is its load with one copy of each task. With one copy,
//! a task's delay is W = λ_t·E\[s²]/(2(1 − λ_t·E\[s])) + E\[s] with λ_t = ω/E\[s] (Eq. 1). With two copies of every
//! task, the arrivals double and s becomes the shorter of two durations (Eq. 3, whose printed form holds for Pareto).
//! The cut-off ω^U is the smallest load above 0 at which both delays are equal. Below the cut-off, two copies give the
//! shorter delay. Theorem 1 is the condition under which two copies do not overload the machines: λ·E\[m]·E\[s]·2E[min
//! of 2]/E\[s] < M, for Pareto with the factor 4(α − 1)/(2α − 1).

use thiserror::Error;

use hindmost_math::distribution::Distribution;
use hindmost_math::plain::Plain;

/// The cut-off between the lightly and the heavily loaded regime.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cutoff {
    /// ω^U, in (0, 1): the load of a machine with one copy of each task below which two copies of every task give the
    /// shorter delay. `None` if no load separates the regimes, for the reason in `reason`.
    pub omega: Option<f64>,
    /// λ^U = ω^U·M/(E\[m]·E\[s]), in jobs per unit of time (Eq. 5). `None` if `omega` is `None`.
    pub lambda: Option<f64>,
    /// The arrival rate from which on two copies overload the machines (Theorem 1).
    pub necessary_lambda: f64,
    /// The reason why `omega` is `None`.
    pub reason: Option<NoCutoff>,
}

/// The reason why no load separates the regimes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NoCutoff {
    /// Two copies give the shorter delay at each load at which one copy is stable.
    #[error("two copies of every task give the shorter delay at every stable load")]
    AlwaysHelps,
    /// Two copies never give a shorter delay: durations don't vary.
    #[error("two copies of every task never give a shorter delay: durations don't vary")]
    NeverHelps,
}

/// The error for parameters without a cut-off.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum CutoffError {
    /// E\[s²] is infinite (Pareto with α ≤ 2). The delay of Eq. 1 is then infinite at every load, so it cannot be
    /// compared. Theorem 1's bound is still valid.
    #[error(
        "the second moment of durations is infinite (Pareto with alpha <= 2), so the delay without copies is infinite \
         at every load; two copies don't overload the machines below {necessary_lambda:.6} jobs a second"
    )]
    InfiniteSecondMoment {
        /// Theorem 1's bound on the arrival rate.
        necessary_lambda: f64,
    },
    /// A parameter is outside its range.
    #[error("{parameter} = {}: must be positive and finite", Plain(*value))]
    Parameter {
        /// Name of the parameter.
        parameter: &'static str,
        /// The value of the parameter.
        value: f64,
    },
}

/// Returns the cut-off for durations of the shape of `duration` with mean `mean_duration`, jobs of `mean_tasks` tasks
/// on average, and `machines` machines. All numbers must be positive.
///
/// # Errors
/// See [`CutoffError`].
pub fn cutoff(
    duration: &Distribution,
    machines: f64,
    mean_tasks: f64,
    mean_duration: f64,
) -> Result<Cutoff, CutoffError> {
    let given = [
        ("machines", machines),
        ("mean_tasks", mean_tasks),
        ("mean_duration", mean_duration),
        ("mean of the distribution", duration.mean()),
    ];
    for (parameter, value) in given {
        if !(value > 0.0 && value.is_finite()) {
            return Err(CutoffError::Parameter { parameter, value });
        }
    }
    // The arrival rate at which the load is 1.
    let full = machines / (mean_tasks * mean_duration);
    let mean = duration.mean();
    // The following moments are for durations with mean 1: the mean of the shorter of two copies, and the second
    // moments of one copy and of the shorter of two.
    let shorter = duration.expected_minimum(2.0) / mean;
    let necessary_lambda = full / (2.0 * shorter);
    let Some(second) = duration.second_moment() else {
        return Err(CutoffError::InfiniteSecondMoment { necessary_lambda });
    };
    let second = second / (mean * mean);
    let shorter_second = duration.expected_minimum_squared(2.0) / (mean * mean);
    let none = |reason| Cutoff { omega: None, lambda: None, necessary_lambda, reason: Some(reason) };
    if shorter >= 1.0 - 1e-12 {
        return Ok(none(NoCutoff::NeverHelps));
    }
    // (W^c − W) · 2(1 − 2ω·shorter)(1 − ω) is quadratic in ω and negative at ω = 0.
    let constant = 2.0 * (shorter - 1.0);
    let linear = 2.0 * shorter_second - second - constant * (1.0 + 2.0 * shorter);
    let square = 2.0 * shorter * (second + constant) - 2.0 * shorter_second;
    // Both delays are finite below this load. The margin is for exponential durations, where both delays become
    // infinite at load 1: rounding must not place the root below 1.
    let limit = (0.5 / shorter).min(1.0) * (1.0 - 1e-9);
    let omega = smallest_positive_root(square, linear, constant).filter(|&omega| omega < limit);
    Ok(match omega {
        Some(omega) => Cutoff { omega: Some(omega), lambda: Some(omega * full), necessary_lambda, reason: None },
        None => none(NoCutoff::AlwaysHelps),
    })
}

/// Returns W, the mean delay (waiting and service) of a task at load `omega` with one copy of each task (Eq. 1), in the
/// unit of `duration`. The delay is infinite from load 1 on, and at any positive load if E\[s²] is infinite.
pub fn task_delay(duration: &Distribution, omega: f64) -> f64 {
    let mean = duration.mean();
    delay(omega / mean, mean, duration.second_moment().unwrap_or(f64::INFINITY))
}

/// Returns W^c, the mean delay with two copies of each task (Eq. 3). `omega` is the load that one copy of each task
/// would give. The delay is infinite if two copies overload the machine.
pub fn task_delay_two_copies(duration: &Distribution, omega: f64) -> f64 {
    let arrivals = 2.0 * omega / duration.mean();
    delay(arrivals, duration.expected_minimum(2.0), duration.expected_minimum_squared(2.0))
}

/// Returns the mean delay of an M/G/1 queue (Pollaczek-Khinchine).
fn delay(arrivals: f64, mean: f64, second: f64) -> f64 {
    if arrivals <= 0.0 {
        return mean;
    }
    let load = arrivals * mean;
    if load < 1.0 { arrivals * second / (2.0 * (1.0 - load)) + mean } else { f64::INFINITY }
}

/// Returns the smallest positive root of square·x² + linear·x + constant, for constant < 0.
fn smallest_positive_root(square: f64, linear: f64, constant: f64) -> Option<f64> {
    let discriminant = linear * linear - 4.0 * square * constant;
    if discriminant < 0.0 {
        return None;
    }
    // Adding two numbers of the same sign gives one root without cancellation. The product of both roots gives the
    // other.
    let sum = -0.5 * (linear + discriminant.sqrt().copysign(linear));
    [sum / square, constant / sum].into_iter().filter(|root| *root > 0.0).min_by(f64::total_cmp)
}
