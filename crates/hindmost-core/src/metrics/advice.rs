//! What follows from a comparison: how it depends on the correlation of copies, and a recommendation.

use serde::Serialize;

use super::VersusFirst;
use super::comparison::as_map;

/// Results of the same policies on the same jobs for several values of `workload.correlation`, the share of a duration that
/// belongs to the task.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ByCorrelation {
    /// The seeds of these results: those of the comparison.
    pub seeds: Vec<u64>,
    /// The value of `workload.correlation` of the other results of the comparison.
    pub used: f64,
    /// The values of `workload.correlation`, in the order of `results`.
    pub correlations: Vec<f64>,
    /// One entry for each policy and each value: all policies for the first value, then for the next one.
    pub results: Vec<CorrelationResult>,
}

/// The result of one policy for one value of `workload.correlation`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CorrelationResult {
    /// The policy as the user named it.
    pub policy: String,
    /// The share of a duration that all copies of a task have in common.
    pub correlation: f64,
    /// Mean flowtime, seconds; `None` if no job finished.
    pub flowtime_mean: Option<f64>,
    /// Mean resource usage of a job; `None` if no job finished.
    pub resource_mean: Option<f64>,
    /// Flowtime relative to the first policy, for the same correlation.
    pub versus_first: VersusFirst,
    /// Mean resource usage of a job divided by that of the first policy, for the same correlation; `None` if that is 0.
    pub resource_ratio: Option<f64>,
}

/// The recommended policy, and how sure the recommendation is.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Recommendation {
    /// Swept keys and their values; empty if nothing is swept.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "as_map")]
    #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<String, String>"))]
    pub set: Vec<(String, String)>,
    /// The recommended policy; `None` if the results are no basis for a recommendation.
    pub policy: Option<String>,
    /// The policy with which it is compared: `none`, or else the first policy.
    pub versus: String,
    /// Mean over seeds of Σ flowtime / Σ flowtime under `versus`, over the jobs that finished under both, of `policy`, or, if
    /// none is recommended, of the policy with the smallest ratio.
    pub flowtime_ratio: Option<f64>,
    /// The 95% interval of the ratio by the paired bootstrap; `None` for one seed.
    pub ci95: Option<[f64; 2]>,
    /// Mean resource usage of a job of the same policy divided by that under `versus`; `None` if that is 0.
    pub resource_ratio: Option<f64>,
    /// The value of `workload.correlation` for which the fields above and the next one hold, and by which the policy was chosen: that
    /// of the other results, or the middle one of those compared if the scenario does not give the key; left out if only one
    /// was compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation: Option<f64>,
    /// Policies whose flowtimes differ from those of this policy by no more than chance explains: a 95% interval of the ratio
    /// on the same jobs includes 1.
    pub not_distinguishable: Vec<String>,
    /// A policy that takes longer than the recommended one, but saves most of the same time for much less resource usage; left out
    /// if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cheaper: Option<String>,
    /// The ratios of the same policy at each correlation that was compared, that of `correlation` first; left out if only one
    /// was.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub at_correlations: Vec<RatioAtCorrelation>,
    /// The policy whose largest ratio over the compared correlations is smallest; left out if only one was compared, and if the
    /// results are no basis for a recommendation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worst_case: Option<String>,
    /// Of the policies that the engine of a log does not have, the one with the shortest mean flowtime, if it is shorter than under
    /// `versus` beyond chance; left out if there is none, or if all policies were candidates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<String>,
    /// The recommendation in words.
    pub text: String,
}

/// The ratio of the recommended policy at one correlation, beside the smallest ratio of all policies there.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RatioAtCorrelation {
    /// The share of a duration that all copies of a task have in common.
    pub correlation: f64,
    /// Flowtimes relative to those under `versus`, as `flowtime_ratio` of the recommendation.
    pub flowtime_ratio: Option<f64>,
    /// The 95% interval of the ratio; `None` for one seed.
    pub ci95: Option<[f64; 2]>,
    /// The policy with the smallest ratio at this correlation.
    pub best: String,
    /// The ratio of that policy.
    pub best_flowtime_ratio: Option<f64>,
    /// The 95% interval of that ratio; `None` for one seed.
    pub best_ci95: Option<[f64; 2]>,
}
