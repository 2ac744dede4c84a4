//! Errors of invalid distributions.

use thiserror::Error;

use crate::plain::{Plain, Quoted};

/// Why a distribution is invalid. The message has the parameter, its value and what is valid.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum DistributionError {
    /// A parameter is outside its range or not finite.
    #[error("{distribution}: {parameter} = {}: {parameter} must be {valid}", Plain(*value))]
    Parameter {
        /// Name of the distribution, as in a scenario file.
        distribution: &'static str,
        /// Name of the parameter.
        parameter: &'static str,
        /// The invalid value.
        value: f64,
        /// What is valid; the message puts it after "must be".
        valid: &'static str,
    },
    /// The parameters are valid one by one but not together.
    #[error("{distribution}: {reason}")]
    Combination {
        /// Name of the distribution.
        distribution: &'static str,
        /// Why the parameters do not fit together, with their values.
        reason: String,
    },
    /// The name is not that of a distribution.
    #[error("unknown distribution {}{suggestion} (known: {known})", Quoted(name))]
    UnknownName {
        /// The unknown name.
        name: String,
        /// `; did you mean …?` with the most similar known name; empty if no known name is similar.
        suggestion: String,
        /// All known names.
        known: String,
    },
    /// The distribution doesn't have this parameter.
    #[error("{distribution}: unknown parameter {}{suggestion} (known: {known})", Quoted(parameter))]
    UnknownParameter {
        /// Name of the distribution.
        distribution: &'static str,
        /// The unknown parameter.
        parameter: String,
        /// `; did you mean …?` with the most similar parameter; empty if no parameter is similar.
        suggestion: String,
        /// All parameters of the distribution.
        known: String,
    },
    /// A required parameter is missing.
    #[error("{distribution}: parameter `{parameter}` is missing")]
    MissingParameter {
        /// Name of the distribution.
        distribution: &'static str,
        /// The missing parameter.
        parameter: &'static str,
    },
    /// A parameter is given twice.
    #[error("{distribution}: parameter `{parameter}` is given twice")]
    DuplicateParameter {
        /// Name of the distribution.
        distribution: &'static str,
        /// The parameter that is given twice.
        parameter: String,
    },
    /// The text doesn't have the form `name(parameter=value,…)` and is not a number.
    #[error(
        "{}: {reason}; expected a number or `name(parameter=value,…)` such as `log_normal(mean=1,cv=2)`",
        Quoted(text)
    )]
    Syntax {
        /// The invalid text.
        text: String,
        /// Where the text departs from that form.
        reason: String,
    },
}

/// Returns `value` if `holds` is true and the value is finite; otherwise an error that says what is valid.
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
