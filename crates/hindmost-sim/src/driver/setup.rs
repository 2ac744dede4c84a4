//! The settings of a run and its results.

use std::sync::Arc;

use hindmost_core::estimator::Knowledge;
use hindmost_core::resources::{Dimensions, Resources};
use hindmost_core::time::Time;
use hindmost_core::workload::QueueSpec;

use crate::network::Network;

/// A node of the simulated cluster.
#[derive(Clone, Debug)]
pub struct NodeSetup {
    /// Name.
    pub name: String,
    /// Capacity.
    pub capacity: Resources,
    /// Speed: a task takes its duration divided by the speed.
    pub speed: f64,
    /// The node's rack; all nodes with `None` are in the same rack.
    pub rack: Option<Arc<str>>,
}

/// The settings of a run, without its jobs and its policy.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Dimensions of resources.
    pub dimensions: Dimensions,
    /// The nodes.
    pub nodes: Vec<NodeSetup>,
    /// Time between decisions; zero: the policy decides after every event.
    pub slot: Time,
    /// When a run without draining stops, and the end of the time over which utilization is measured.
    pub horizon: Option<Time>,
    /// Whether to continue until every job is done.
    pub drain: bool,
    /// The progress model: what the policy knows of running attempts.
    pub knowledge: Knowledge,
    /// σ of the log-normal factor on estimated remaining times.
    pub noise: f64,
    /// Share of a drawn duration that all copies of a task have in common, from 0 to 1.
    pub correlation: f64,
    /// Share of the work after which a slow copy becomes slow, from 0 to 1.
    pub slow_from: f64,
    /// Seed of all random numbers.
    pub seed: u64,
    /// γ: price of a machine-second.
    pub gamma: f64,
    /// The queues that jobs are submitted to.
    pub queues: Vec<QueueSpec>,
    /// The network between nodes; `None`: reading from other nodes takes no time.
    pub network: Option<Network>,
}

/// The measurements of a run. Lists have one entry for each job, by id; NaN for jobs that did not finish.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunResult {
    /// Flowtime (job completion time): finish − arrival, in seconds.
    pub flowtime: Vec<f64>,
    /// Finish − first start, in seconds.
    pub running_time: Vec<f64>,
    /// γ × resource-seconds of all copies: see [`JobResult::resource`](hindmost_core::metrics::JobResult::resource).
    pub resource: Vec<f64>,
    /// Flowtime divided by the longest path of the phases' mean durations.
    pub slowdown: Vec<f64>,
    /// Jobs that finished.
    pub finished: u64,
    /// Jobs that did not.
    pub unfinished: u64,
    /// Tasks of all jobs.
    pub tasks: u64,
    /// Attempts started.
    pub attempts: u64,
    /// Copies beyond each task's first.
    pub copies_launched: u64,
    /// Tasks won by a copy other than their first.
    pub copies_won: u64,
    /// Part of `resource`, summed over all jobs, that went to attempts that did not win.
    pub wasted: f64,
    /// Share of the capacity in use over [0, horizon], in the busiest dimension.
    pub utilization: f64,
    /// When the last job finished, in seconds.
    pub makespan: f64,
    /// Jobs with a deadline.
    pub deadlines: u64,
    /// Jobs among them that met it.
    pub met_deadlines: u64,
    /// Number of events.
    pub events: u64,
}
