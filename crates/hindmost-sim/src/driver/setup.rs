//! The settings of a run and its results.

use std::sync::Arc;

use hindmost_core::cluster::Placement;
use hindmost_core::estimator::Knowledge;
use hindmost_core::power::PowerModel;
use hindmost_core::resources::{Dimensions, Resources};
use hindmost_core::time::Time;
use hindmost_core::workload::QueueSpec;
use hindmost_profiles::Known;

use super::as_recorded::AsRecorded;
use super::outage_times::Outage;
use crate::disturbances::{Contention, Failures, Neighbours, Stragglers};
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
