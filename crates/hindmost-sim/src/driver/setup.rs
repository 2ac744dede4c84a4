//! The settings of a run and its results.

use std::sync::Arc;

use hindmost_core::cluster::Placement;
use hindmost_core::estimator::Knowledge;
use hindmost_core::policy::Counts;
use hindmost_core::power::PowerModel;
use hindmost_core::profiles::Profile;
use hindmost_core::resources::{Dimensions, Resources};
use hindmost_core::time::Time;
use hindmost_core::workload::QueueSpec;
use hindmost_profiles::Known;

use super::as_recorded::AsRecorded;
use super::outages::Outage;
use crate::disturbances::{Contention, Failures, Neighbours, Stragglers};
use crate::energy::RunEnergy;
use crate::network::Network;
use crate::scenario::CommonPart;

/// A node of the simulated cluster.
#[derive(Clone, Debug)]
pub struct NodeSetup {
    /// Name of the node, unique in the cluster.
    pub name: String,
    /// Capacity of the node, in the dimensions of the setup.
    pub capacity: Resources,
    /// Speed of the node: a copy takes its duration divided by the speed.
    pub speed: f64,
    /// The node's rack; all nodes with `None` are in the same rack.
    pub rack: Option<Arc<str>>,
    /// The node's power model; `None` if its power is unknown.
    pub power: Option<Arc<PowerModel>>,
}

/// What slows down or stops a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeDisturbances {
    /// How much attempts on the node slow each other down; `None`: they do not.
    pub contention: Option<Contention>,
    /// Load of the node's neighbours; `None`: there is none.
    pub neighbours: Option<Arc<Neighbours>>,
    /// Failures at random times; `None`: there are none.
    pub failures: Option<Arc<Failures>>,
}

/// The settings of a run, without its jobs and its policy.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The dimensions of the cluster's resources.
    pub dimensions: Dimensions,
    /// The nodes, in the order of their ids.
    pub nodes: Vec<NodeSetup>,
    /// Time between decisions; zero: the policy decides after every event.
    pub slot: Time,
    /// End of the time over which utilization is measured; a run without draining stops here. `None`: there is no end.
    pub horizon: Option<Time>,
    /// Whether to continue after the horizon until every job is done.
    pub drain: bool,
    /// The progress model: what the policy knows of running attempts.
    pub knowledge: Knowledge,
    /// How nodes for copies are chosen.
    pub placement: Placement,
    /// σ of the log-normal factor, of mean 1, by which revealed remaining times are wrong; 0: they are exact.
    pub noise: f64,
    /// Share of a drawn duration that all copies of a task have in common, from 0 to 1.
    pub correlation: f64,
    /// Where the common part of the durations of a task's copies comes from.
    pub common_part: CommonPart,
    /// Share of the work after which a slow copy becomes slow, from 0 to 1.
    pub slow_from: f64,
    /// Seed of all random numbers.
    pub seed: u64,
    /// γ: price of a machine-second.
    pub gamma: f64,
    /// The queues that jobs are submitted to.
    pub queues: Vec<QueueSpec>,
    /// When nodes are lost and return, in any order.
    pub outages: Vec<Outage>,
    /// The network between nodes; `None`: reading from other nodes takes no time.
    pub network: Option<Network>,
    /// What slows down or stops each node, in the order of their ids; empty: nothing does.
    pub disturbances: Vec<NodeDisturbances>,
    /// Copies that take longer than their drawn duration; `None`: no copy does.
    pub stragglers: Option<Stragglers>,
    /// Whether policies learn the speeds of nodes from finished attempts; if false, they know them from the start.
    pub learns_speeds: bool,
    /// Profiles of earlier runs, which policies know under the progress model `profiles`.
    pub known_profiles: Arc<Known>,
    /// Whether the result has the profiles of the run's attempts.
    pub keeps_profiles: bool,
    /// What a log shows of the run beyond the durations; `None` for other worlds.
    pub as_recorded: Option<Arc<AsRecorded>>,
}

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
    /// Signed lateness: finish − deadline, in seconds; `None` if the job has no deadline, or did not finish.
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
    /// The energy of the run; `None` unless all nodes have power models.
    pub energy: Option<RunEnergy>,
    /// Profiles of the attempts that finished, the newest of very many; empty unless [`Setup::keeps_profiles`].
    pub profiles: Vec<Arc<Profile>>,
    /// What the policy counted: see [`Pass::counts`](hindmost_core::policy::Pass::counts).
    pub counts: Counts,
}
