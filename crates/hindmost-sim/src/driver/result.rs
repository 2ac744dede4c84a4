//! The measurements of a run.

use std::sync::Arc;

use hindmost_core::policy::Counts;
use hindmost_core::profiles::Profile;

use crate::energy::of_run::RunEnergy;

/// The measurements of a run. Lists have one entry for each job, in order of ids; the entry is NaN if the job did not
/// finish.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunResult {
    /// Flowtime (job completion time): finish − arrival, in seconds.
    pub flowtime: Vec<f64>,
    /// Running time: finish − start of the first attempt, in seconds.
    pub running_time: Vec<f64>,
    /// γ × resource-seconds of all copies: see [`JobResult::resource`](hindmost_core::metrics::JobResult::resource).
    pub resource: Vec<f64>,
    /// Flowtime divided by the longest path of the phases' mean durations.
    pub slowdown: Vec<f64>,
    /// Signed lateness: finish − deadline, in seconds; `None` if the job has no deadline, or did not finish. Empty if no job
    /// has a deadline.
    pub lateness: Vec<Option<f64>>,
    /// Number of jobs that finished.
    pub finished: u64,
    /// Number of jobs that arrived but neither finished nor were abandoned.
    pub unfinished: u64,
    /// Number of jobs that the policy abandoned.
    pub abandoned: u64,
    /// Number of tasks of all jobs.
    pub tasks: u64,
    /// Number of attempts that were started.
    pub attempts: u64,
    /// Number of copies that were started in addition to the first copy of each task, without those that started because
    /// all earlier copies were lost with their nodes.
    pub copies_launched: u64,
    /// Number of attempts that were lost with their nodes.
    pub lost_attempts: u64,
    /// Number of tasks whose winner is not their first copy.
    pub copies_won: u64,
    /// Part of `resource`, summed over all jobs, that went to attempts that did not win.
    pub wasted: f64,
    /// Mean share of the capacity that is in use, in the busiest dimension, from time 0 to the horizon; without a
    /// horizon, until the last copy ends.
    pub utilization: f64,
    /// When the last job finished, in seconds.
    pub makespan: f64,
    /// Number of jobs with a deadline.
    pub deadlines: u64,
    /// Number of jobs that met their deadline.
    pub met_deadlines: u64,
    /// Number of jobs that were unfinished at the end of the run, before their deadline. All others have missed it.
    pub undecided_deadlines: u64,
    /// Number of attempts started that are stragglers by the key `workload.stragglers`.
    pub stragglers: u64,
    /// Number of times that a node failed at a random time.
    pub node_failures: u64,
    /// Number of times that the rate of a running attempt changed, by contention or by neighbours' load.
    pub rate_changes: u64,
    /// Number of times that policies learned a new speed of a node.
    pub speeds_learned: u64,
    /// Number of events, not counting rounds.
    pub events: u64,
    /// How many numbers were drawn for durations that the workload does not give.
    pub drawn: u64,
    /// The energy of the run; `None` unless all nodes have power models.
    pub energy: Option<RunEnergy>,
    /// Profiles of the attempts that finished, the newest of very many; empty unless [`Setup::keeps_profiles`](super::Setup::keeps_profiles).
    pub profiles: Vec<Arc<Profile>>,
    /// What the policy counted: see [`Pass::counts`](hindmost_core::policy::Pass::counts).
    pub counts: Counts,
}
