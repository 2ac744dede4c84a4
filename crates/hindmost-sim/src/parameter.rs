//! Parameters in scenario files: numbers, or distributions from which numbers are drawn.

use std::fmt;
use std::path::{Path, PathBuf};

use hindmost_core::random::{Purpose, draw};
use hindmost_math::distribution::Distribution;
use hindmost_math::plain::{Plain, Quoted};
use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Largest number of tasks that a job may have.
pub(crate) const MOST_TASKS: u32 = u32::MAX >> 8;

/// A number, or a distribution of numbers. Numbers of tasks are drawn for each job and phase, speeds for each node,
/// gaps for each arrival, and durations for each copy.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Parameter {
    /// A constant number.
    Number(
        #[serde(serialize_with = "without_point")]
        #[schemars(with = "f64")]
        f64,
    ),
    /// A distribution from which numbers are drawn.
    Drawn(Box<Family>),
}

/// A distribution in a scenario file; its parameters may be distributions again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Family {
    /// Always the same value.
    Constant {
        /// The value of every draw.
        value: Parameter,
    },
    /// A uniform distribution between two ends; for counts, over the whole numbers from `min` to `max`, both included.
    Uniform {
        /// Smallest value.
        min: Parameter,
        /// Largest value.
        max: Parameter,
    },
    /// An exponential distribution.
    Exponential {
        /// Mean of the values.
        mean: Parameter,
    },
    /// A Pareto distribution, given by its mean or its minimum.
    Pareto {
        /// Tail index α.
        alpha: Parameter,
        /// Mean of the values.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mean: Option<Parameter>,
        /// Smallest value μ.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        minimum: Option<Parameter>,
        /// Largest value, at which the distribution is truncated; by default, values are unbounded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        maximum: Option<Parameter>,
    },
    /// A log-normal distribution.
    LogNormal {
        /// Mean of the values.
        mean: Parameter,
        /// Coefficient of variation: standard deviation over mean.
        cv: Parameter,
    },
    /// A Weibull distribution.
    Weibull {
        /// Shape k; below 1 the tail is heavier than exponential.
        shape: Parameter,
        /// Mean of the values.
        mean: Parameter,
    },
    /// The values of a file with one number per line; every line is equally likely.
    Empirical {
        /// The file; a relative path is relative to the scenario's folder.
        file: PathBuf,
        /// The values of the file; empty until the file is read.
        #[serde(skip)]
        values: Vec<f64>,
    },
}

/// Writes a whole number without a decimal point, such as 20 tasks.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's serialize_with passes a reference")]
fn without_point<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    /// Up to this size every whole number is exact.
    const EXACT: f64 = 1e15;
    if number.fract() == 0.0 && number.abs() <= EXACT {
        serializer.serialize_i64(*number as i64)
    } else {
        serializer.serialize_f64(*number)
    }
}

impl<'de> Deserialize<'de> for Parameter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Parameter, D::Error> {
        struct NumberOrTable;

        impl<'de> Visitor<'de> for NumberOrTable {
            type Value = Parameter;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number or a distribution such as { uniform = { min = 1, max = 4 } }")
            }

            fn visit_f64<E>(self, number: f64) -> Result<Parameter, E> {
                Ok(Parameter::Number(number))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Parameter, E> {
                Ok(Parameter::Number(number as f64))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Parameter, E> {
                Ok(Parameter::Number(number as f64))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Parameter, A::Error> {
                Family::deserialize(MapAccessDeserializer::new(map)).map(|family| Parameter::Drawn(Box::new(family)))
            }
        }

        deserializer.deserialize_any(NumberOrTable)
    }
}

/// Draws the parameters of one job, node or arrival, each with its own random number.
pub(crate) struct Draws {
    seed: u64,
    purpose: Purpose,
    index: u64,
    next: u64,
    /// The result of every draw, to examine extreme values; `None`: draws are random.
    always: Option<f64>,
}

impl Draws {
    pub(crate) fn new(seed: u64, purpose: Purpose, index: u64) -> Draws {
        Draws { seed, purpose, index, next: 0, always: None }
    }

    /// Like [`Draws::new`], for one part of a job, such as a phase. Part 0 has the same draws as [`Draws::new`].
    pub(crate) fn of_part(seed: u64, purpose: Purpose, index: u64, part: usize) -> Draws {
        Draws { next: (part as u64) << 32, ..Draws::new(seed, purpose, index) }
    }

    /// Creates draws that all return this number.
    pub(crate) fn always(number: f64) -> Draws {
        Draws { always: Some(number), ..Draws::new(0, Purpose::Parameter, 0) }
    }

    fn unit(&mut self) -> f64 {
        self.next += 1;
        self.always.unwrap_or_else(|| draw(self.seed, self.purpose, self.index, self.next))
    }
}

impl Parameter {
    /// Returns the constant number, or draws a number from the distribution.
    ///
    /// # Errors
    /// If the drawn parameters of the distribution are not valid.
    pub(crate) fn draw(&self, draws: &mut Draws) -> Result<f64, String> {
        match self {
            Parameter::Number(number) => Ok(*number),
            Parameter::Drawn(family) => {
                let distribution = family.resolve(draws)?;
                Ok(distribution.survival_quantile(draws.unit()))
            }
        }
    }

    /// Returns or draws a whole number from 1 to [`MOST_TASKS`]. A uniform parameter draws every whole number between
    /// its ends, both included, with the same probability.
    ///
    /// # Errors
    /// If the result is not a whole number in this range, or the drawn parameters of the distribution are not valid.
    pub(crate) fn draw_count(&self, draws: &mut Draws) -> Result<u32, String> {
        let number = match self {
            Parameter::Drawn(family) => match &**family {
                Family::Uniform { min, max } => {
                    let (min, max) = (min.draw(draws)?, max.draw(draws)?);
                    if min.fract() != 0.0 || max.fract() != 0.0 || min > max {
                        let (min, max) = (Plain(min), Plain(max));
                        return Err(format!("a uniform count needs whole numbers with min ≤ max, not {min} and {max}"));
                    }
                    min + ((max - min + 1.0) * draws.unit()).floor().min(max - min)
                }
                // Values of other distributions are rounded; the smallest count is one.
                _ => self.draw(draws)?.round().max(1.0),
            },
            Parameter::Number(number) => *number,
        };
        if number.fract() == 0.0 && (1.0..=f64::from(MOST_TASKS)).contains(&number) {
            Ok(number as u32)
        } else {
            Err(format!("{} is not a count: it must be a whole number from 1 to {MOST_TASKS}", Plain(number)))
        }
    }

    /// Draws the distribution's own parameters and returns the resulting distribution, which is constant for a number.
    ///
    /// # Errors
    /// If the drawn parameters of the distribution are not valid.
    pub(crate) fn resolve(&self, draws: &mut Draws) -> Result<Distribution, String> {
        match self {
            Parameter::Number(number) => Distribution::constant(*number).map_err(|error| error.to_string()),
            Parameter::Drawn(family) => family.resolve(draws),
        }
    }

    /// Reads the files that this parameter names, relative to a folder.
    ///
    /// # Errors
    /// If a file cannot be read or does not contain numbers only.
    pub(crate) fn load(&mut self, folder: &Path) -> Result<(), String> {
        match self {
            Parameter::Number(_) => Ok(()),
            Parameter::Drawn(family) => family.load(folder),
        }
    }

    /// Returns the number of a constant parameter; `None` for a distribution.
    pub(crate) fn is_constant(&self) -> Option<f64> {
        if let Parameter::Number(number) = self { Some(*number) } else { None }
    }
}

impl fmt::Display for Parameter {
    /// Writes the number, or the distribution as on the command line: `pareto(alpha=2,mean=1)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Parameter::Number(number) => write!(f, "{}", Plain(*number)),
            Parameter::Drawn(family) => family.fmt(f),
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Family::Constant { value } => write!(f, "constant(value={value})"),
            Family::Uniform { min, max } => write!(f, "uniform(min={min},max={max})"),
            Family::Exponential { mean } => write!(f, "exponential(mean={mean})"),
            Family::Pareto { alpha, mean, minimum, maximum } => {
                write!(f, "pareto(alpha={alpha}")?;
                for (name, value) in [("mean", mean), ("minimum", minimum), ("maximum", maximum)] {
                    if let Some(value) = value {
                        write!(f, ",{name}={value}")?;
                    }
                }
                f.write_str(")")
            }
            Family::LogNormal { mean, cv } => write!(f, "log_normal(mean={mean},cv={cv})"),
            Family::Weibull { shape, mean } => write!(f, "weibull(shape={shape},mean={mean})"),
            Family::Empirical { file, .. } => {
                let name = file.file_name().unwrap_or(file.as_os_str());
                write!(f, "empirical(file={})", name.to_string_lossy())
            }
        }
    }
}

impl Family {
    fn resolve(&self, draws: &mut Draws) -> Result<Distribution, String> {
        let made = match self {
            Family::Constant { value } => Distribution::constant(value.draw(draws)?),
            Family::Uniform { min, max } => Distribution::uniform(min.draw(draws)?, max.draw(draws)?),
            Family::Exponential { mean } => Distribution::exponential(mean.draw(draws)?),
            Family::Pareto { alpha, mean, minimum, maximum } => {
                let alpha = alpha.draw(draws)?;
                let maximum = maximum.as_ref().map(|maximum| maximum.draw(draws)).transpose()?;
                match (mean, minimum, maximum) {
                    (Some(mean), None, None) => Distribution::pareto_with_mean(alpha, mean.draw(draws)?),
                    (Some(mean), None, Some(maximum)) => {
                        Distribution::pareto_truncated_with_mean(alpha, mean.draw(draws)?, maximum)
                    }
                    (None, Some(minimum), None) => Distribution::pareto(alpha, minimum.draw(draws)?),
                    (None, Some(minimum), Some(maximum)) => {
                        Distribution::pareto_truncated(alpha, minimum.draw(draws)?, maximum)
                    }
                    _ => return Err("a pareto distribution needs either its mean or its minimum".to_owned()),
                }
            }
            Family::LogNormal { mean, cv } => Distribution::log_normal(mean.draw(draws)?, cv.draw(draws)?),
            Family::Weibull { shape, mean } => Distribution::weibull(shape.draw(draws)?, mean.draw(draws)?),
            Family::Empirical { values, .. } => Distribution::empirical(values.clone()),
        };
        made.map_err(|error| error.to_string())
    }

    fn load(&mut self, folder: &Path) -> Result<(), String> {
        match self {
            Family::Constant { value: only } | Family::Exponential { mean: only } => only.load(folder),
            Family::Uniform { min: one, max: other }
            | Family::LogNormal { mean: one, cv: other }
            | Family::Weibull { shape: one, mean: other } => one.load(folder).and_then(|()| other.load(folder)),
            Family::Pareto { alpha, mean, minimum, maximum } => {
                alpha.load(folder)?;
                [mean, minimum, maximum].into_iter().flatten().try_for_each(|parameter| parameter.load(folder))
            }
            Family::Empirical { file, values } => {
                let path = absolute(folder, file);
                *values = read_numbers(&path)?;
                *file = path;
                Ok(())
            }
        }
    }
}

/// Makes a path absolute; a relative one is relative to `folder`.
pub(crate) fn absolute(folder: &Path, file: &Path) -> PathBuf {
    let path = folder.join(file);
    std::path::absolute(&path).unwrap_or(path)
}

/// Reads numbers of at least 0, one per line; empty lines and lines that begin with `#` are skipped.
///
/// # Errors
/// If the file cannot be read, is empty or contains something else; the message names file and line.
pub(crate) fn read_numbers(path: &Path) -> Result<Vec<f64>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut values = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let number = line.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
        values.push(number.ok_or_else(|| {
            format!("{}, line {}: {} is not a number of at least 0", path.display(), at + 1, Quoted(line))
        })?);
    }
    if values.is_empty() { Err(format!("{} contains no numbers", path.display())) } else { Ok(values) }
}
