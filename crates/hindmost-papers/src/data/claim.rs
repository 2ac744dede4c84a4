//! Claims as they stand in a paper's files.

use hindmost_claims::{Expected, StatedBy};
use serde::Deserialize;

/// A claim of the paper: its statement and the values that confirm it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimSpec {
    /// Name on the command line, unique within the paper. Never changed once published.
    pub id: String,
    /// Id of the figure on whose page the claim stands.
    pub figure: String,
    /// The paper's section or figure that makes the statement.
    pub section: String,
    /// The statement in a sentence.
    pub claimed: String,
    /// The paper's words.
    #[serde(default)]
    pub quote: String,
    /// True if the abstract makes the statement.
    #[serde(default, rename = "abstract")]
    pub in_abstract: bool,
    /// True if the claim is a published number of the paper's baseline, on which open parameters are calibrated.
    #[serde(default)]
    pub baseline: bool,
    /// `"reading"` if the statement goes beyond the paper's words: it is stricter, joins several statements, or is about a
    /// case that the paper does not name. Such a claim is shown, but does not count; `comment` says what goes beyond.
    #[serde(default)]
    pub stated_by: StatedBy,
    /// True if other numbers of the paper contradict the statement. Such a claim is shown, but does not count.
    #[serde(default)]
    pub slip: bool,
    /// The values that the statement is about, all of which must satisfy their rules under one reading. Empty if the
    /// claim is not run.
    #[serde(default)]
    pub part: Vec<PartSpec>,
    /// Why the claim is not run; only for claims without parts.
    #[serde(default)]
    pub not_run: String,
    /// Sentences that explain the rules or the measured values.
    #[serde(default)]
    pub comment: String,
}

/// A value with the rule that it must satisfy: a metric of simulated jobs, or a formula.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartSpec {
    /// The metric, such as `mean(flowtime)`; see [`Metric`](crate::metric::Metric).
    #[serde(default)]
    pub metric: Option<String>,
    /// Name of a formula, instead of a metric.
    #[serde(default)]
    pub formula: Option<String>,
    /// A value that was measured elsewhere, instead of a metric or a formula: one that differs between machines.
    #[serde(default)]
    pub recorded: Option<RecordedSpec>,
    /// Name of the world in which the policies run.
    #[serde(default)]
    pub world: Option<String>,
    /// Label of the policy, or a place of a sweep as `SWEEP:POLICY@VALUE`. `SWEEP:POLICY@best` is the place with the
    /// lowest value.
    #[serde(default)]
    pub policy: Option<String>,
    /// Label of the policy with which it is compared.
    #[serde(default)]
    pub against: Option<String>,
    /// The world in which `against` runs, if it is another one.
    #[serde(default)]
    pub against_world: Option<String>,
    /// The metric of `against`, if it is another one.
    #[serde(default)]
    pub against_metric: Option<String>,
    /// How both values are compared; by default the change in per cent.
    #[serde(default)]
    pub measure: Option<Measure>,
    /// A second comparison, which is subtracted from the first one, seed by seed.
    #[serde(default)]
    pub minus: Option<MinusSpec>,
    /// The value in words; by default made from the metric and the policies.
    #[serde(default)]
    pub value: Option<String>,
    /// The unit; by default that of the metric.
    #[serde(default)]
    pub unit: Option<String>,
    /// The only readings under which the value is measured; by default all.
    #[serde(default)]
    pub readings: Vec<String>,
    /// The claimed number, from which the value may differ by `within`.
    #[serde(default)]
    pub near: Option<f64>,
    /// The difference that is allowed around `near`.
    #[serde(default)]
    pub within: Option<f64>,
    /// The smallest value that confirms the statement.
    #[serde(default)]
    pub at_least: Option<f64>,
    /// The largest value that confirms the statement.
    #[serde(default)]
    pub at_most: Option<f64>,
    /// The whole 95% interval must be above this.
    #[serde(default)]
    pub above: Option<f64>,
    /// The whole 95% interval must be below this.
    #[serde(default)]
    pub below: Option<f64>,
    /// The number that the paper's text states, if there is no `near`. Curves show it as a point.
    #[serde(default)]
    pub stated: Option<f64>,
}

/// A value that was measured on one machine, and is not measured again.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedSpec {
    /// The value.
    pub median: f64,
    /// Lower and upper end of its 95% interval.
    pub interval: [f64; 2],
    /// How and on which machine it was measured, in a few words.
    pub how: String,
}

/// A comparison that is subtracted from that of its part. World and measure are those of the part.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MinusSpec {
    /// Label of the policy, or a place of a sweep, as in [`PartSpec::policy`].
    pub policy: String,
    /// The policy with which it is compared.
    pub against: String,
    /// The metric, if it is another one.
    #[serde(default)]
    pub metric: Option<String>,
}

/// How the values of two policies are compared, seed by seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// By how many per cent the first value is larger than the second.
    Change,
    /// By how many per cent the size of the first value is smaller than that of the second; for negative values such as
    /// utilities.
    Gain,
    /// The first value minus the second.
    Difference,
    /// The first value divided by the second.
    Ratio,
}

impl PartSpec {
    /// Returns the rule of the part.
    ///
    /// # Errors
    /// If there is no rule, or a contradictory one.
    pub fn expected(&self) -> Result<Expected, String> {
        let plain = Expected { low: self.at_least, high: self.at_most, whole_interval: false };
        let strict = Expected { low: self.above, high: self.below, whole_interval: true };
        let (has_plain, has_strict) = ([plain.low, plain.high], [strict.low, strict.high]);
        let has = |limits: [Option<f64>; 2]| limits.iter().any(Option::is_some);
        match (self.near, self.within, has(has_plain), has(has_strict)) {
            (Some(near), Some(within), false, false) if within >= 0.0 => Ok(Expected::near(near, within)),
            (None, None, true, false) => Ok(plain),
            (None, None, false, true) => Ok(strict),
            _ => Err("needs one rule: near and within; at_least or at_most; or above or below".to_owned()),
        }
    }
}
