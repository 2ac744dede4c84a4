//! What a run is made of but its jobs and its policy, and what it measures.

use std::sync::Arc;

use hindmost_core::estimator::Knowledge;
use hindmost_core::resources::{Dimensions, Resources};
use hindmost_core::time::Time;
use hindmost_core::workload::QueueSpec;

use crate::network::Network;

/// A node as the simulated cluster begins with it.
#[derive(Clone, Debug)]
pub struct NodeSetup {
    /// Name.
    pub name: String,
    /// Room.
    pub capacity: Resources,
    /// Work done in a second, relative to a node of speed 1.
    pub speed: f64,
    /// The rack that it is in; nodes of which none is told share one.
    pub rack: Option<Arc<str>>,
}

/// Everything about a run but its jobs and its policy.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Dimensions of room.
    pub dimensions: Dimensions,
    /// The nodes.
    pub nodes: Vec<NodeSetup>,
    /// Time between decisions; zero: decisions follow every event.
    pub slot: Time,
    /// When a run that is not drained stops, and what utilization refers to.
    pub horizon: Option<Time>,
    /// Whether to run on until every job is done.
    pub drain: bool,
    /// What the policy knows of running attempts.
    pub knowledge: Knowledge,
    /// σ of the log-normal factor on estimated remaining times.
    pub noise: f64,
    /// Share of a drawn duration that is common to a task's copies.
    pub correlation: f64,
    /// Share of the work after which a slow copy becomes slow.
    pub slow_from: f64,
    /// Seed of everything drawn.
    pub seed: u64,
    /// γ: price of a machine-second.
    pub gamma: f64,
    /// The queues that jobs are submitted to.
    pub queues: Vec<QueueSpec>,
    /// What reading from other nodes costs; `None`: nothing.
    pub network: Option<Network>,
}

/// What a run has measured. One entry a job, by id; NaN for jobs that did not finish.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunResult {
    /// Finish − arrival, seconds.
    pub flowtime: Vec<f64>,
    /// Finish − first start, seconds.
    pub running_time: Vec<f64>,
    /// γ × room-time of all copies.
    pub resource: Vec<f64>,
    /// Flowtime over the longest path of mean durations.
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
    /// Part of `resource` that losers held, summed.
    pub wasted: f64,
    /// Busy room over [0, horizon], in the dimension that was the busiest.
    pub utilization: f64,
    /// When the last job finished, seconds.
    pub makespan: f64,
    /// Jobs with a deadline.
    pub deadlines: u64,
    /// Jobs among them that met it.
    pub met_deadlines: u64,
    /// Events that happened.
    pub events: u64,
}
