//! Text form of distributions: `pareto(alpha=2,mean=1)`, or a bare number for a constant.

use std::fmt;
use std::str::FromStr;

use super::serial::{Raw, RawConstant, RawExponential, RawLogNormal, RawPareto, RawUniform, RawWeibull};
use super::{Distribution, DistributionError};
use crate::plain::{Plain, Quoted};
use crate::suggest::did_you_mean;

/// The names and parameters of distributions with a text form.
const KNOWN: [(&str, &[&str]); 6] = [
    ("constant", &["value"]),
    ("uniform", &["min", "max"]),
    ("exponential", &["mean"]),
    ("pareto", &["alpha", "mean", "minimum", "maximum"]),
    ("log_normal", &["mean", "cv"]),
    ("weibull", &["shape", "mean"]),
];

impl FromStr for Distribution {
    type Err = DistributionError;

    /// Parses `name(parameter=value,…)` or a number. Spaces are ignored.
    fn from_str(text: &str) -> Result<Self, DistributionError> {
        let trimmed = text.trim();
        if let Ok(value) = trimmed.parse::<f64>() {
            return Self::constant(value);
        }
        let syntax = |reason: &str| DistributionError::Syntax { text: text.to_owned(), reason: reason.to_owned() };
        let (name, rest) = trimmed.split_once('(').unwrap_or((trimmed, ")"));
        let name = name.trim();
        if name.is_empty() {
            return Err(syntax("there is no name"));
        }
        let Some(&(distribution, parameters)) = KNOWN.iter().find(|(known, _)| *known == name) else {
            return Err(DistributionError::UnknownName {
                name: name.to_owned(),
                suggestion: did_you_mean(name, KNOWN.map(|(known, _)| known)),
                known: KNOWN.map(|(known, _)| known).join(", "),
            });
        };
        let Some(inside) = rest.trim_end().strip_suffix(')') else {
            return Err(syntax("the closing parenthesis is missing"));
        };
        let mut given = Given { distribution, values: Vec::new() };
        for part in inside.split(',').filter(|_| !inside.trim().is_empty()) {
            let (key, value) =
                part.split_once('=').ok_or_else(|| syntax(&format!("{} has no `=`", Quoted(part.trim()))))?;
            let key = key.trim();
            let Some(&parameter) = parameters.iter().find(|known| **known == key) else {
                return Err(DistributionError::UnknownParameter {
                    distribution,
                    parameter: key.to_owned(),
                    suggestion: did_you_mean(key, parameters.iter().copied()),
                    known: parameters.join(", "),
                });
            };
            if given.take(parameter).is_some() {
                return Err(DistributionError::DuplicateParameter { distribution, parameter: key.to_owned() });
            }
            let value = value.trim();
            let number = value.parse().map_err(|_| syntax(&format!("{} is not a number", Quoted(value))))?;
            given.values.push((parameter, number));
        }
        given.into_raw()?.try_into()
    }
}

/// The parameters parsed so far.
struct Given {
    distribution: &'static str,
    values: Vec<(&'static str, f64)>,
}

impl Given {
    fn take(&self, parameter: &str) -> Option<f64> {
        self.values.iter().find(|(known, _)| *known == parameter).map(|&(_, value)| value)
    }

    fn need(&self, parameter: &'static str) -> Result<f64, DistributionError> {
        self.take(parameter).ok_or(DistributionError::MissingParameter { distribution: self.distribution, parameter })
    }

    fn into_raw(self) -> Result<Raw, DistributionError> {
        Ok(match self.distribution {
            "uniform" => Raw::Uniform(RawUniform { min: self.need("min")?, max: self.need("max")? }),
            "exponential" => Raw::Exponential(RawExponential { mean: self.need("mean")? }),
            "pareto" => Raw::Pareto(RawPareto {
                alpha: self.need("alpha")?,
                mean: self.take("mean"),
                minimum: self.take("minimum"),
                maximum: self.take("maximum"),
            }),
            "log_normal" => Raw::LogNormal(RawLogNormal { mean: self.need("mean")?, cv: self.need("cv")? }),
            "weibull" => Raw::Weibull(RawWeibull { shape: self.need("shape")?, mean: self.need("mean")? }),
            _ => Raw::Constant(RawConstant { value: self.need("value")? }),
        })
    }
}

/// Writes the form that [`Distribution::from_str`] parses. A sample has no such form and is written with its size.
impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Raw::from(self.clone()) {
            Raw::Constant(raw) => write!(f, "constant(value={})", Plain(raw.value)),
            Raw::Uniform(raw) => write!(f, "uniform(min={},max={})", Plain(raw.min), Plain(raw.max)),
            Raw::Exponential(raw) => write!(f, "exponential(mean={})", Plain(raw.mean)),
            Raw::Pareto(raw) => {
                write!(f, "pareto(alpha={}", Plain(raw.alpha))?;
                for (name, value) in [("mean", raw.mean), ("minimum", raw.minimum), ("maximum", raw.maximum)] {
                    if let Some(value) = value {
                        write!(f, ",{name}={}", Plain(value))?;
                    }
                }
                f.write_str(")")
            }
            Raw::LogNormal(raw) => write!(f, "log_normal(mean={},cv={})", Plain(raw.mean), Plain(raw.cv)),
            Raw::Weibull(raw) => write!(f, "weibull(shape={},mean={})", Plain(raw.shape), Plain(raw.mean)),
            Raw::Empirical(values) => write!(f, "empirical({} values)", values.len()),
        }
    }
}
