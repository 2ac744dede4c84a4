//! The comparison of policies on the same jobs: what `simulate --json` and `replay --json` print.

use serde::Serialize;

use crate::estimator::Knowledge;

use super::Summary;

/// Policies compared on the same jobs.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Name of the scenario or log.
    pub scenario: String,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// The progress model of the policies.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub knowledge: Knowledge,
    /// One entry per policy and combination of swept values.
    pub results: Vec<PolicyResult>,
    /// Notes that are shown with the results.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// The results of one policy over all seeds. Counts are sums over seeds.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PolicyResult {
    /// The policy as the user named it.
    pub policy: String,
    /// Values of swept keys; empty without a sweep.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "as_map")]
    #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<String, String>"))]
    pub set: Vec<(String, String)>,
    /// Jobs that arrived.
    pub jobs: u64,
    /// Number of jobs that arrived and did not finish.
    pub unfinished_jobs: u64,
    /// Tasks of all jobs.
    pub tasks: u64,
    /// Attempts started.
    pub attempts: u64,
    /// Flowtime (job completion time, JCT): finish − arrival, seconds.
    pub flowtime: Summary,
    /// Finish − first start, seconds.
    pub running_time: Summary,
    /// γ × the resource-time that all copies of a job held.
    pub resource: Summary,
    /// Flowtime divided by the longest path of the phases' mean durations.
    pub slowdown: Summary,
    /// Utilization over [0, horizon] of the busiest dimension, in [0, 1]; mean over seeds.
    pub utilization: f64,
    /// When the last job finished, seconds, mean over seeds.
    pub makespan: f64,
    /// Copies beyond each task's first.
    pub copies: Copies,
    /// Flowtime relative to the first policy, on the same jobs.
    pub versus_first: VersusFirst,
    /// Energy, joules; `None` without a power model.
    pub energy_joules: Option<f64>,
    /// Share of jobs with a deadline that met it; `None` without deadlines.
    pub pocd: Option<f64>,
    /// Number of events.
    pub events: u64,
}

/// Copies beyond each task's first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Copies {
    /// Copies started.
    pub launched: u64,
    /// Copies that won their task.
    pub won: u64,
    /// Share of the resource-time of all attempts that went to attempts that did not win.
    pub wasted_share: f64,
}

/// A policy's flowtimes divided by the first policy's, on the same jobs.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VersusFirst {
    /// Mean over seeds of Σ flowtime / Σ flowtime of the first policy, over the jobs that both finished; `None` if
    /// there are none.
    pub flowtime_ratio: Option<f64>,
    /// Its 95% interval (Student's t over seeds); `None` for fewer than two seeds.
    pub ci95: Option<[f64; 2]>,
}

fn as_map<S: serde::Serializer>(pairs: &[(String, String)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(key, value)| (key, value)))
}
