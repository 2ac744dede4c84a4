//! Serialisation of distributions in scenario files and journals: `{"pareto": {"alpha": 2.6, "mean": 13.0}}`, or a bare
//! number for a constant.

use std::fmt;

use serde::de::{self, Deserializer, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Serialize};

use super::{Distribution, DistributionError};

/// Unchecked parameters, as written in a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Raw {
    Constant(RawConstant),
    Uniform(RawUniform),
    Exponential(RawExponential),
    Pareto(RawPareto),
    LogNormal(RawLogNormal),
    Weibull(RawWeibull),
    Empirical(Vec<f64>),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawConstant {
    pub(super) value: f64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawUniform {
    pub(super) min: f64,
    pub(super) max: f64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawExponential {
    pub(super) mean: f64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPareto {
    pub(super) alpha: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) mean: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) minimum: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) maximum: Option<f64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLogNormal {
    pub(super) mean: f64,
    pub(super) cv: f64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawWeibull {
    pub(super) shape: f64,
    pub(super) mean: f64,
}

impl TryFrom<Raw> for Distribution {
    type Error = DistributionError;

    fn try_from(raw: Raw) -> Result<Self, DistributionError> {
        match raw {
            Raw::Constant(raw) => Self::constant(raw.value),
            Raw::Uniform(raw) => Self::uniform(raw.min, raw.max),
            Raw::Exponential(raw) => Self::exponential(raw.mean),
            Raw::Pareto(raw) => match (raw.mean, raw.minimum, raw.maximum) {
                (Some(mean), None, None) => Self::pareto_with_mean(raw.alpha, mean),
                (None, Some(minimum), None) => Self::pareto(raw.alpha, minimum),
                (Some(mean), None, Some(maximum)) => Self::pareto_truncated_with_mean(raw.alpha, mean, maximum),
                (None, Some(minimum), Some(maximum)) => Self::pareto_truncated(raw.alpha, minimum, maximum),
                (Some(_), Some(_), _) => Err(DistributionError::Combination {
                    distribution: "pareto",
                    reason: "both mean and minimum are given; give exactly one".into(),
                }),
                (None, None, _) => Err(DistributionError::Combination {
                    distribution: "pareto",
                    reason: "neither mean nor minimum is given; give exactly one".into(),
                }),
            },
            Raw::LogNormal(raw) => Self::log_normal(raw.mean, raw.cv),
            Raw::Weibull(raw) => Self::weibull(raw.shape, raw.mean),
            Raw::Empirical(values) => Self::empirical(values),
        }
    }
}

impl From<Distribution> for Raw {
    fn from(distribution: Distribution) -> Raw {
        match distribution {
            Distribution::Constant(family) => Raw::Constant(RawConstant { value: family.value() }),
            Distribution::Uniform(family) => Raw::Uniform(RawUniform { min: family.min(), max: family.max() }),
            Distribution::Exponential(_) => Raw::Exponential(RawExponential { mean: distribution.mean() }),
            Distribution::Pareto(family) => Raw::Pareto(RawPareto {
                alpha: family.alpha(),
                mean: None,
                minimum: Some(family.minimum()),
                maximum: family.maximum(),
            }),
            Distribution::LogNormal(family) => {
                Raw::LogNormal(RawLogNormal { mean: distribution.mean(), cv: family.cv() })
            }
            Distribution::Weibull(family) => {
                Raw::Weibull(RawWeibull { shape: family.shape(), mean: distribution.mean() })
            }
            Distribution::Empirical(family) => Raw::Empirical(family.values().to_vec()),
        }
    }
}

/// A distribution that was checked while it was deserialised.
pub(super) struct Checked(Distribution);

impl From<Checked> for Distribution {
    fn from(checked: Checked) -> Distribution {
        checked.0
    }
}

impl<'de> Deserialize<'de> for Checked {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CheckedVisitor)
    }
}

struct CheckedVisitor;

impl<'de> Visitor<'de> for CheckedVisitor {
    type Value = Checked;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .write_str("a number, a distribution such as {\"pareto\": {\"alpha\": 2, \"mean\": 1}}, or its text form")
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Checked, E> {
        Distribution::constant(value).map(Checked).map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Checked, E> {
        self.visit_f64(value as f64)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Checked, E> {
        self.visit_f64(value as f64)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Checked, E> {
        text.parse().map(Checked).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Checked, A::Error> {
        let raw = Raw::deserialize(MapAccessDeserializer::new(map))?;
        Distribution::try_from(raw).map(Checked).map_err(de::Error::custom)
    }
}
