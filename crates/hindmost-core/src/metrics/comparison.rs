//! The comparison of policies on the same jobs: what `simulate --json` and `replay --json` print.

use serde::Serialize;

use crate::estimator::Knowledge;

use super::Summary;

/// Policies compared on the same jobs.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Name of the scenario or log.
    pub scenario: String,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// What policies knew of running attempts.
    pub knowledge: Knowledge,
    /// One entry a policy, and a value of each swept key.
    pub results: Vec<PolicyResult>,
    /// What a reader of the figures must know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// What one policy did, over all seeds. Counts are sums over seeds.
#[derive(Clone, Debug, Serialize)]
pub struct PolicyResult {
    /// The policy as named.
    pub policy: String,
    /// Values of swept keys; absent without a sweep.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "as_map")]
    pub set: Vec<(String, String)>,
    /// Jobs that arrived.
    pub jobs: u64,
    /// Jobs among them that did not finish.
    pub unfinished_jobs: u64,
    /// Tasks of all jobs.
    pub tasks: u64,
    /// Attempts started.
    pub attempts: u64,
    /// Finish − arrival, seconds.
    pub flowtime: Summary,
    /// Finish − first start, seconds.
    pub running_time: Summary,
    /// γ × room-time of all copies of a job.
    pub resource: Summary,
    /// Flowtime over the longest path of the phases' mean durations.
    pub slowdown: Summary,
    /// Busy room over [0, horizon], in the dimension that was the busiest; mean over seeds.
    pub utilization: f64,
    /// When the last job finished, seconds, mean over seeds.
    pub makespan: f64,
    /// Copies beyond each task's first.
    pub copies: Copies,
    /// Against the first policy, on the same jobs.
    pub versus_first: VersusFirst,
    /// `None` without a power model.
    pub energy_joules: Option<f64>,
    /// Share of jobs with a deadline that met it; `None` without deadlines.
    pub pocd: Option<f64>,
    /// Events that happened.
    pub events: u64,
}

/// Copies beyond each task's first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Copies {
    /// Started.
    pub launched: u64,
    /// Finished first.
    pub won: u64,
    /// Share of the resource that losers held.
    pub wasted_share: f64,
}

/// A policy's flowtimes over the first policy's, paired by job.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct VersusFirst {
    /// Mean over seeds of Σ flowtime / Σ flowtime of the first policy, over the jobs that both
    /// finished; `None` without such jobs.
    pub flowtime_ratio: Option<f64>,
    /// Its 95% interval (Student's t over seeds); `None` for fewer than two seeds.
    pub ci95: Option<[f64; 2]>,
}

fn as_map<S: serde::Serializer>(pairs: &[(String, String)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(key, value)| (key, value)))
}
