//! The comparison of policies on the same jobs: what `simulate --json` and `replay --json` print.

use serde::Serialize;

use crate::cluster::Placement;
use crate::estimator::Knowledge;

use super::{ByCorrelation, Deadlines, Energy, Recommendation, Summary};

/// Policies compared on the same jobs.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Name of the scenario or log.
    pub scenario: String,
    /// Seeds with which each policy was run.
    pub seeds: Vec<u64>,
    /// The progress model of the policies.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub knowledge: Knowledge,
    /// How nodes for copies were chosen. In a sweep this is the placement of the first point.
    pub placement: Placement,
    /// γ, the price of a machine-second: all resource usage is multiplied by it. In a sweep this is the value of the first
    /// point.
    pub gamma: f64,
    /// Results, one entry for each policy and each combination of swept values.
    pub results: Vec<PolicyResult>,
    /// What limits conclusions from these results, such as durations of infinite variance or a single seed; empty if
    /// nothing does.
    pub cautions: Vec<String>,
    /// Notes that are shown with the results.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// For each log that is replayed as it ran: how long its jobs took, and how long they take in a replay of the policy that
    /// ran; left out if there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recorded: Vec<RecordedTime>,
    /// The arrival rates of scenarios that give a load, one for each combination of swept values; left out if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub load: Vec<OfferedLoad>,
    /// The same comparison for several values of `workload.correlation`; left out if the scenario gives one, in sweeps, and
    /// if it changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_correlation: Option<ByCorrelation>,
    /// What to use, and how sure that is, one for each combination of swept values; left out with a single policy.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recommendation: Vec<Recommendation>,
}

/// How long the jobs of a log took, and how long they take in a replay of the policy that ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecordedTime {
    /// The log.
    pub log: String,
    /// Number of jobs.
    pub jobs: u64,
    /// Mean seconds from a job's submission to its end, as recorded.
    pub job_time_mean: f64,
    /// The policy that ran, by the engine's settings.
    pub policy: String,
    /// Mean seconds from a job's submission to its end in replays of this policy; `None` if no job finished.
    pub replayed_job_time_mean: Option<f64>,
    /// Interval of this mean over seeds (Student's t); `None` for one seed.
    pub replayed_job_time_ci95: Option<[f64; 2]>,
    /// Replayed time divided by recorded time.
    pub ratio: Option<f64>,
    /// Whether the replayed time differs by at most a tenth from the recorded one. If not, the results of other policies do not
    /// say what these would have gained.
    pub calibrated: bool,
    /// The least and the largest share of the durations, beyond what the input explains, that may belong to the tasks, by the
    /// copies that ran and by the same tasks in other jobs; from 0 to 1 without either.
    pub task_itself: [f64; 2],
    /// The likeliest of these shares; `None` if the log says nothing about it.
    pub task_itself_likeliest: Option<f64>,
    /// Number of copies that are evidence for this share.
    pub copies_observed: u64,
    /// Number of long tasks of which other jobs show whether the same tasks are long there.
    pub repeats_observed: u64,
    /// Number of recorded failures that the replay repeats.
    pub failures: u64,
}

/// The arrival rate that gives the load of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OfferedLoad {
    /// Swept keys and their values; empty if nothing is swept.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "as_map")]
    #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<String, String>"))]
    pub set: Vec<(String, String)>,
    /// The load: `rate` × `work` / `capacity`.
    pub load: f64,
    /// Mean number of jobs that arrive per second.
    pub rate: f64,
    /// The scarcest resource, which the load is of: `slots` on one-slot machines, otherwise `cpus`, `memory` (in bytes) or
    /// another resource of the scenario.
    pub resource: String,
    /// Mean work of a job without copies, in units of the resource × seconds on a node of speed 1.
    pub work: f64,
    /// What the cluster can do per second: the sum over nodes of capacity × mean speed.
    pub capacity: f64,
    /// Whether `work` or `capacity` is the mean of a sample with a fixed seed, because there is no formula for it.
    pub estimated: bool,
}

/// The results of one policy over all seeds. Counts are sums over seeds.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PolicyResult {
    /// The policy as the user named it.
    pub policy: String,
    /// Swept keys and their values; empty if nothing is swept.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "as_map")]
    #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<String, String>"))]
    pub set: Vec<(String, String)>,
    /// Number of jobs that arrived.
    pub jobs: u64,
    /// Number of jobs that arrived and neither finished nor were abandoned.
    pub unfinished_jobs: u64,
    /// Number of jobs that the policy abandoned; missing if it abandoned none.
    #[serde(skip_serializing_if = "is_zero")]
    pub abandoned_jobs: u64,
    /// Number of tasks of all jobs.
    pub tasks: u64,
    /// Number of attempts started.
    pub attempts: u64,
    /// Flowtime (job completion time, JCT): finish − arrival, seconds.
    pub flowtime: Summary,
    /// Running time: finish − first start, seconds.
    pub running_time: Summary,
    /// Resource usage: γ × the resource-time of all copies of a job.
    pub resource: Summary,
    /// Slowdown: flowtime divided by the longest path of the phases' mean durations.
    pub slowdown: Summary,
    /// Utilization over [0, horizon] of the busiest dimension, in [0, 1]; mean over seeds.
    pub utilization: f64,
    /// Time at which the last job finished, seconds; mean over seeds.
    pub makespan: f64,
    /// Copies that were started, not counting each task's first and copies that started because all earlier ones were lost
    /// with their nodes.
    pub copies: Copies,
    /// Attempts that were lost with their nodes.
    #[serde(skip_serializing_if = "is_zero")]
    pub lost_attempts: u64,
    /// Counts of what slowed down or stopped attempts and nodes; `None` if the scenario has no such keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disturbances: Option<Disturbances>,
    /// Flowtime relative to the first policy, on the same jobs.
    pub versus_first: VersusFirst,
    /// Energy that the cluster used, joules; `None` if the scenario has no power model.
    pub energy_joules: Option<f64>,
    /// The parts of the energy; missing if the scenario has no power model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy: Option<Energy>,
    /// Share of the jobs with a deadline that met it (probability of completion before deadline): mean over seeds of each
    /// seed's met / (met + missed). `None` if no job has met or missed a deadline.
    pub pocd: Option<f64>,
    /// What became of the jobs with a deadline; missing if no job has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadlines: Option<Deadlines>,
    /// Number of events that were simulated.
    pub events: u64,
}

/// Counts of redundant copies: attempts that started while another attempt of their task was running, or in place of one.
/// Each task's first attempt, retries, and new starts after the loss of a node are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Copies {
    /// Number of copies started.
    pub launched: u64,
    /// Number of copies that won their task.
    pub won: u64,
    /// In simulations and replays: share of the resource-time of all attempts that was used by attempts that did not win,
    /// those lost with their nodes included. In live runs: share of the running time of all attempts that was spent on
    /// attempts that lost to another copy of their task or were replaced by one. Attempts that failed, lost their node or
    /// were stopped with the run are not included.
    pub wasted_share: f64,
}

/// Counts of what slowed down or stopped attempts and nodes, over all seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Disturbances {
    /// Number of attempts started that are stragglers by the key `workload.stragglers`.
    pub stragglers: u64,
    /// Number of times that the rate of a running attempt changed, by contention or by neighbours' load.
    pub rate_changes: u64,
    /// Number of times that a node failed at a random time.
    pub node_failures: u64,
    /// Number of times that a policy learned a new speed of a node.
    pub speeds_learned: u64,
}

/// A policy's flowtimes divided by the first policy's, on the same jobs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VersusFirst {
    /// Mean over seeds of Σ flowtime / Σ flowtime of the first policy. The sums are over the jobs that finished under
    /// both policies. `None` if there are no such jobs.
    pub flowtime_ratio: Option<f64>,
    /// The 95% interval of the ratio (Student's t over seeds); `None` for fewer than two seeds.
    pub ci95: Option<[f64; 2]>,
    /// The 95% interval of the ratio by the paired bootstrap, which resamples seeds, and jobs of each seed as pairs of
    /// their flowtimes under both policies. It need not be symmetric. `None` for fewer than two seeds.
    pub bootstrap_ci95: Option<[f64; 2]>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

pub(super) fn as_map<S: serde::Serializer>(pairs: &[(String, String)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(key, value)| (key, value)))
}
