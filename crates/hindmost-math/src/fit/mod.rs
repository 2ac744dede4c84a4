//! Which distribution durations follow, and how heavy their tail is.
//!
//! [`Fit::of`] takes a [`Summary`] of positive numbers, exact ([`Summary::of`]) or of a stream in bounded
//! memory ([`Sketch`]), and fits
//!
//! - a Pareto distribution by maximum likelihood, with exact intervals ([`Pareto`]);
//! - the tail alone by Hill's estimator, with an exact interval where the tail is Pareto's ([`Hill`]);
//! - a log-normal distribution by maximum likelihood, with exact intervals ([`LogNormal`]),
//!
//! tests each by the Kolmogorov–Smirnov distance with p-values that take into account that the parameters
//! were estimated ([`Goodness`]), compares them by Vuong's test ([`Comparison`]) and says which of them to
//! believe, if any ([`Preferred`]).
//!
//! # Rounded numbers
//!
//! Clocks tick, so durations come as multiples of a *resolution*, with many ties. A number x then stands for
//! the interval from half a tick below to half a tick above, and distribution functions are compared at the
//! ends of these intervals only, where rounding has moved nobody across. Numbers below half a tick (0 ms)
//! count as half a tick. A test of rounded numbers is conservative: it refuses true models less often than
//! stated. So is one of a [`Sketch`], which knows numbers to 0.8 %.

mod compare;
mod goodness;
mod log_normal;
mod pareto;
mod quantiles;
mod sketch;
mod summary;
#[cfg(test)]
mod tests;

pub use compare::{Comparison, Preferred};
pub use goodness::{Goodness, Reference};
pub use log_normal::LogNormal;
pub use pareto::{Hill, Pareto};
pub use quantiles::{chi_squared_quantile, student_quantile, student_two_sided};
pub use sketch::Sketch;
pub use summary::{Step, Summary};

use serde::Serialize;

/// The fewest numbers that are fitted.
pub const FEWEST: u64 = 10;
/// The level at which a model is refused, or one preferred over the other.
pub const LEVEL: f64 = 0.05;

/// What was fitted to some numbers. Without numbers enough, or where they don't differ, it says why.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fit {
    /// How many numbers there were.
    pub count: u64,
    /// The Pareto distribution; `None` where it can't be fitted.
    pub pareto: Option<Pareto>,
    /// The tail alone.
    pub hill: Option<Hill>,
    /// The log-normal distribution.
    pub log_normal: Option<LogNormal>,
    /// Which of Pareto and log-normal the numbers are more likely under.
    pub comparison: Option<Comparison>,
    /// What to believe.
    pub preferred: Option<Preferred>,
    /// Why there is no fit, where there is none.
    pub reason: Option<&'static str>,
}

impl Fit {
    /// Of summarised numbers.
    pub fn of(summary: &Summary) -> Fit {
        let mut fit = Fit {
            count: summary.count(),
            pareto: None,
            hill: None,
            log_normal: None,
            comparison: None,
            preferred: None,
            reason: None,
        };
        if summary.count() < FEWEST {
            fit.reason = Some("fewer than 10 durations");
            return fit;
        }
        fit.pareto = Pareto::of(summary);
        fit.hill = Hill::of(summary);
        fit.log_normal = LogNormal::of(summary);
        if let (Some(pareto), Some(log_normal)) = (&fit.pareto, &fit.log_normal) {
            let comparison = Comparison::of(summary, pareto, log_normal);
            fit.preferred = Some(Preferred::of(pareto, log_normal, comparison.as_ref()));
            fit.comparison = comparison;
        } else {
            fit.reason = Some("the durations do not differ");
        }
        fit
    }

    /// Of exact numbers, multiples of a resolution (0: not rounded). NaN and infinities are left out.
    pub fn of_values(values: &[f64], resolution: f64) -> Fit {
        Fit::of(&Summary::of(values, resolution))
    }
}
