//! Fits of distributions to durations: which family they follow, and how heavy their tail is.
//!
//! [`Fit::of`] takes a [`Summary`] of positive values, which is either exact ([`Summary::of`]) or of a stream in
//! bounded memory ([`Sketch`]). It fits three models:
//!
//! - a Pareto distribution by maximum likelihood, with exact intervals ([`Pareto`]);
//! - the tail alone by Hill's estimator, with an interval that is exact for a Pareto tail ([`Hill`]);
//! - a log-normal distribution by maximum likelihood, with exact intervals ([`LogNormal`]).
//!
//! `Fit::of` tests each fit by the Kolmogorov–Smirnov distance with p-values for estimated parameters ([`Goodness`]),
//! compares the Pareto and log-normal fits by Vuong's test ([`Comparison`]), and returns the preferred one, if any
//! ([`Preferred`]).
//!
//! # Rounded values
//!
//! Measured durations are multiples of a *resolution* (a clock tick) and have many ties. A value x then represents the
//! interval from half a tick below it to half a tick above it, and distribution functions are compared only at the ends
//! of these intervals. Values below half a tick, such as 0 ms, count as half a tick. Tests of rounded values are
//! conservative: they reject true models less often than stated. Tests of a [`Sketch`] are conservative, too, because
//! it stores values with an error of up to 0.8 %.
//!
//! ```
//! use hindmost_math::fit::Fit;
//!
//! let seconds: Vec<f64> = (1..=100).map(|rank| (f64::from(rank) / 101.0).powf(-0.5)).collect();
//! let fit = Fit::of_values(&seconds, 0.0);
//! let pareto = fit.pareto.expect("enough values");
//! assert!((1.5..2.5).contains(&pareto.alpha)); // The values are quantiles of a Pareto distribution with α = 2.
//! ```

mod compare;
mod goodness;
mod log_normal;
mod pareto;
mod quantiles;
pub mod sample;
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

/// The minimum number of values for a fit.
pub const FEWEST: u64 = 10;
/// The significance level at which a model is rejected or preferred.
pub const LEVEL: f64 = 0.05;

/// The fits of a sample. If there are too few values or they are equal, there are no fits, and `reason` says why.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fit {
    /// Number of values in the sample.
    pub count: u64,
    /// The Pareto distribution; `None` if it can't be fitted.
    pub pareto: Option<Pareto>,
    /// The tail index by Hill's estimator; `None` if the tail can't be fitted.
    pub hill: Option<Hill>,
    /// The log-normal distribution; `None` if it can't be fitted.
    pub log_normal: Option<LogNormal>,
    /// The comparison of Pareto and log-normal; `None` if either can't be fitted.
    pub comparison: Option<Comparison>,
    /// The preferred model; `None` without fits.
    pub preferred: Option<Preferred>,
    /// Why there is no fit; `None` if there is one.
    pub reason: Option<&'static str>,
}

impl Fit {
    /// Fits a summary of values.
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

    /// Fits `values`, which are multiples of `resolution` (0: not rounded). NaN and infinities are left out.
    pub fn of_values(values: &[f64], resolution: f64) -> Fit {
        Fit::of(&Summary::of(values, resolution))
    }
}
