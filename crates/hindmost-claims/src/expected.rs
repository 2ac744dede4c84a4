//! Measured values and the rules that they must satisfy.

use serde::Serialize;

use hindmost_math::statistics::{mean, student_interval};

use crate::number::{limit_text, number_text, rounded_text, with_unit};

/// A value measured under one reading.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Measured {
    /// Name of the reading.
    pub reading: String,
    /// The measured quantity in words.
    pub value: String,
    /// Mean over seeds, or the value itself if nothing is random; `None` if there is no finite value.
    pub mean: Option<f64>,
    /// 95% interval of the mean (Student's t over seeds); `None` if nothing is random or there are fewer than two
    /// seeds.
    pub ci95: Option<[f64; 2]>,
    /// Unit of `mean` and `ci95`, such as `%` or `time units`; may be empty.
    pub unit: String,
    /// True if the value satisfies the claim's rule.
    pub holds: bool,
}

/// The rule that a measured value must satisfy to confirm a claim.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Expected {
    /// Smallest value that confirms the claim; `None` for no limit.
    pub low: Option<f64>,
    /// Largest value that confirms the claim; `None` for no limit.
    pub high: Option<f64>,
    /// True if the whole 95% interval must be strictly within the limits, and not only the mean. Claims such as "A is
    /// faster than B" have such a rule.
    pub whole_interval: bool,
}

impl Measured {
    /// Creates a measured value from one value for each seed: their mean and its 95% interval. There is no mean if
    /// there are no values, or if one of them is not finite.
    pub fn over_seeds(reading: &str, value: &str, values: &[f64], unit: &str) -> Measured {
        let finite = !values.is_empty() && values.iter().all(|value| value.is_finite());
        Measured {
            mean: mean(values).filter(|_| finite),
            ci95: student_interval(values).filter(|_| finite),
            ..Measured::exact(reading, value, None, unit)
        }
    }

    /// Creates a measured value that does not depend on random numbers, so it has no interval.
    pub fn exact(reading: &str, value: &str, number: Option<f64>, unit: &str) -> Measured {
        Measured {
            reading: reading.to_owned(),
            value: value.to_owned(),
            mean: number.filter(|number| number.is_finite()),
            ci95: None,
            unit: unit.to_owned(),
            holds: false,
        }
    }

    /// Formats the value with its unit and its interval: `−40% [−41, −39]`; `no value` if there is none.
    pub fn text(&self) -> String {
        let Some(mean) = self.mean else { return "no value".to_owned() };
        match self.ci95 {
            Some([low, high]) => format!(
                "{} [{}, {}]",
                with_unit(&rounded_text(mean), &self.unit),
                rounded_text(low),
                rounded_text(high)
            ),
            None => with_unit(&number_text(mean), &self.unit),
        }
    }
}

impl Expected {
    /// The rule that the mean differs from `target` by at most `tolerance`.
    pub fn near(target: f64, tolerance: f64) -> Expected {
        Expected { low: Some(target - tolerance), high: Some(target + tolerance), whole_interval: false }
    }

    /// The rule that the mean is at most `high`.
    pub fn at_most(high: f64) -> Expected {
        Expected { low: None, high: Some(high), whole_interval: false }
    }

    /// The rule that the mean is at least `low`.
    pub fn at_least(low: f64) -> Expected {
        Expected { low: Some(low), high: None, whole_interval: false }
    }

    /// The rule that the whole interval is below `high`.
    pub fn below(high: f64) -> Expected {
        Expected { low: None, high: Some(high), whole_interval: true }
    }

    /// The rule that the whole interval is above `low`.
    pub fn above(low: f64) -> Expected {
        Expected { low: Some(low), high: None, whole_interval: true }
    }

    /// Returns whether a mean with its interval satisfies the rule; false if `mean` is `None`. If `whole_interval` is
    /// set, an interval that touches a limit does not satisfy the rule.
    pub fn accepts(&self, mean: Option<f64>, ci95: Option<[f64; 2]>) -> bool {
        let Some(mean) = mean else { return false };
        let [least, most] = ci95.filter(|_| self.whole_interval).unwrap_or([mean, mean]);
        let strict = self.whole_interval;
        self.low.is_none_or(|low| least > low || (!strict && least == low))
            && self.high.is_none_or(|high| most < high || (!strict && most == high))
    }

    /// Returns whether the interval of a value contains a limit of the rule, so that other seeds might decide otherwise.
    /// False for rules about the whole interval, which decide this themselves.
    pub fn is_close(&self, measured: &Measured) -> bool {
        let Some([least, most]) = measured.ci95.filter(|_| !self.whole_interval) else { return false };
        [self.low, self.high].into_iter().flatten().any(|limit| least < limit && limit < most)
    }

    /// Formats the rule for values that have this unit. `has_intervals` says whether the values have intervals.
    pub(super) fn text(&self, unit: &str, has_intervals: bool) -> String {
        let limit = |value: f64| with_unit(&limit_text(value), unit);
        let text = match (self.low, self.high, self.whole_interval) {
            (Some(low), Some(high), false) if limit_text(low) == limit_text(high) => format!("equal to {}", limit(low)),
            (Some(low), Some(high), false) if unit == "%" => format!("from {} to {}", limit(low), limit(high)),
            (Some(low), Some(high), false) => format!("from {} to {}", limit_text(low), limit(high)),
            (Some(low), None, false) => format!("at least {}", limit(low)),
            (None, Some(high), false) => format!("at most {}", limit(high)),
            (Some(low), Some(high), true) => format!("between {} and {}", limit(low), limit(high)),
            (Some(low), None, true) => format!("above {}", limit(low)),
            (None, Some(high), true) => format!("below {}", limit(high)),
            (None, None, _) => "any value".to_owned(),
        };
        let whole = if self.whole_interval && has_intervals { "the whole interval " } else { "" };
        format!("{whole}{text}")
    }
}
