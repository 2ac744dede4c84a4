//! What can be wrong with a distribution as it is given.

use thiserror::Error;

use crate::plain::{Plain, Quoted};

/// Why a distribution was refused. The message names the parameter, the value and what is valid.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum DistributionError {
    /// A parameter outside its range, or not finite.
    #[error("{distribution}: {parameter} = {}: {parameter} must be {valid}", Plain(*value))]
    Parameter {
        /// Name of the distribution, as in a scenario file.
        distribution: &'static str,
        /// Name of the parameter.
        parameter: &'static str,
        /// The value given.
        value: f64,
        /// What is valid, to follow "must be".
        valid: &'static str,
    },
    /// Parameters that are each valid but not together.
    #[error("{distribution}: {reason}")]
    Combination {
        /// Name of the distribution.
        distribution: &'static str,
        /// What is wrong, with the values.
        reason: String,
    },
    /// A name that is no distribution's.
    #[error("unknown distribution {}{suggestion} (known: {known})", Quoted(name))]
    UnknownName {
        /// The name given.
        name: String,
        /// `; did you mean …?` with the known name nearest to it, or nothing.
        suggestion: String,
        /// All known names.
        known: String,
    },
    /// A parameter that the distribution doesn't have.
    #[error("{distribution}: unknown parameter {}{suggestion} (known: {known})", Quoted(parameter))]
    UnknownParameter {
        /// Name of the distribution.
        distribution: &'static str,
        /// The parameter given.
        parameter: String,
        /// `; did you mean …?` with the known parameter nearest to it, or nothing.
        suggestion: String,
        /// All parameters of the distribution.
        known: String,
    },
    /// A parameter that is needed and not given.
    #[error("{distribution}: parameter `{parameter}` is missing")]
    MissingParameter {
        /// Name of the distribution.
        distribution: &'static str,
        /// The missing parameter.
        parameter: &'static str,
    },
    /// A parameter given twice.
    #[error("{distribution}: parameter `{parameter}` is given twice")]
    DuplicateParameter {
        /// Name of the distribution.
        distribution: &'static str,
        /// The parameter.
        parameter: String,
    },
    /// Text that isn't of the form `name(parameter=value,…)` or a number.
    #[error(
        "{}: {reason}; expected a number or `name(parameter=value,…)` such as `log_normal(mean=1,cv=2)`",
        Quoted(text)
    )]
    Syntax {
        /// The text given.
        text: String,
        /// Where it departs from the form.
        reason: String,
    },
}

/// `value` where `valid` holds for it, else the error that says so.
pub(super) fn check(
    holds: bool,
    distribution: &'static str,
    parameter: &'static str,
    value: f64,
    valid: &'static str,
) -> Result<f64, DistributionError> {
    if holds && value.is_finite() {
        Ok(value)
    } else {
        Err(DistributionError::Parameter { distribution, parameter, value, valid })
    }
}
