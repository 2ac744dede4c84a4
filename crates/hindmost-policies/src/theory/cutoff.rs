//! Up to which load cloning helps (section III-B, Eq. 1–5).
//!
//! Every machine is an M/G/1 queue of tasks; ω = λ·E\[m]·E\[s]/M is its load without copies. Without
//! them a task's delay is W = λ_t·E\[s²]/(2(1 − λ_t·E\[s])) + E\[s] with λ_t = ω/E\[s] (Eq. 1). With two
//! copies of every task the arrivals double, and s becomes the shorter of two (Eq. 3; as printed it is
//! right for Pareto). The cut-off ω^U is the first load above 0 where both delays are equal: below it
//! two copies give the shorter delay. Theorem 1's condition keeps two copies from overloading:
//! λ·E\[m]·E\[s]·2E[min of 2]/E\[s] < M, for Pareto with the factor 4(α − 1)/(2α − 1).

use thiserror::Error;

use hindmost_math::distribution::Distribution;
use hindmost_math::plain::Plain;

/// The cut-off between the lightly and the heavily loaded regime.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cutoff {
    /// ω^U: load of a machine without copies, in (0, 1), below which two copies of every task give the
    /// shorter delay. `None` where there is no such border; then `reason` says on which side all is.
    pub omega: Option<f64>,
    /// λ^U = ω^U·M/(E\[m]·E\[s]) in jobs per unit of time (Eq. 5); `None` with `omega`.
    pub lambda: Option<f64>,
    /// Theorem 1: two copies overload the machines from this arrival rate on.
    pub necessary_lambda: f64,
    /// Why there is no border, where there is none.
    pub reason: Option<NoCutoff>,
}

/// Why no load separates the regimes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NoCutoff {
    /// Two copies give the shorter delay wherever one copy is stable.
    #[error("two copies of every task give the shorter delay at every stable load")]
    AlwaysHelps,
    /// Two copies never give a shorter delay: durations don't vary.
    #[error("two copies of every task never give a shorter delay: durations don't vary")]
    NeverHelps,
}

/// Why no cut-off could be computed.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum CutoffError {
    /// E\[s²] is infinite, for Pareto α ≤ 2: so is Eq. 1's delay at every load, and there is nothing to
    /// compare with. Theorem 1's bound remains.
    #[error(
        "the second moment of durations is infinite (Pareto with alpha <= 2), so the delay without copies is infinite \
         at every load; two copies don't overload the machines below lambda = {necessary_lambda}"
    )]
    InfiniteSecondMoment {
        /// Theorem 1's bound on the arrival rate.
        necessary_lambda: f64,
    },
    /// A parameter outside its range.
    #[error("{parameter} = {}: must be positive and finite", Plain(*value))]
    Parameter {
        /// Name of the parameter.
        parameter: &'static str,
        /// Its value.
        value: f64,
    },
}

/// The cut-off for durations of the shape of `duration`, scaled to `mean_duration`, jobs of
/// `mean_tasks` tasks on average, and `machines` machines (any positive numbers).
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
    // λ for a load of 1.
    let full = machines / (mean_tasks * mean_duration);
    let mean = duration.mean();
    // Mean and second moment of the shorter of two copies, and second moment of one, for a mean of 1.
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
    // W^c − W times 2(1 − 2ω·shorter)(1 − ω) is a quadratic in ω, negative at 0.
    let constant = 2.0 * (shorter - 1.0);
    let linear = 2.0 * shorter_second - second - constant * (1.0 + 2.0 * shorter);
    let square = 2.0 * shorter * (second + constant) - 2.0 * shorter_second;
    // Both delays are finite below this load. The margin: for exponential durations both run away
    // together at 1, and rounding must not put the root before it.
    let limit = (0.5 / shorter).min(1.0) * (1.0 - 1e-9);
    let omega = smallest_positive_root(square, linear, constant).filter(|&omega| omega < limit);
    Ok(match omega {
        Some(omega) => Cutoff { omega: Some(omega), lambda: Some(omega * full), necessary_lambda, reason: None },
        None => none(NoCutoff::AlwaysHelps),
    })
}

/// W: mean delay (waiting and service) of a task at load `omega` with one copy of each (Eq. 1), in the
/// unit of `duration`. ∞ from load 1 on, and at any positive load where E\[s²] is infinite.
pub fn task_delay(duration: &Distribution, omega: f64) -> f64 {
    let mean = duration.mean();
    delay(omega / mean, mean, duration.second_moment().unwrap_or(f64::INFINITY))
}

/// W^c: the same with two copies of each task, at the load `omega` that one copy would give (Eq. 3).
/// ∞ where two copies overload.
pub fn task_delay_two_copies(duration: &Distribution, omega: f64) -> f64 {
    let arrivals = 2.0 * omega / duration.mean();
    delay(arrivals, duration.expected_minimum(2.0), duration.expected_minimum_squared(2.0))
}

/// Pollaczek and Khinchine's mean delay.
fn delay(arrivals: f64, mean: f64, second: f64) -> f64 {
    if arrivals <= 0.0 {
        return mean;
    }
    let load = arrivals * mean;
    if load < 1.0 { arrivals * second / (2.0 * (1.0 - load)) + mean } else { f64::INFINITY }
}

/// The smallest positive root of square·x² + linear·x + constant, for a constant < 0.
fn smallest_positive_root(square: f64, linear: f64, constant: f64) -> Option<f64> {
    let discriminant = linear * linear - 4.0 * square * constant;
    if discriminant < 0.0 {
        return None;
    }
    // The sum of two of one sign, and the other root by the product of both: nothing cancels.
    let sum = -0.5 * (linear + discriminant.sqrt().copysign(linear));
    [sum / square, constant / sum].into_iter().filter(|root| *root > 0.0).min_by(f64::total_cmp)
}
