//! Scenario files: cluster, workload and policies of a simulation, in TOML.
//!
//! Unknown keys, wrong types and numbers that make no sense are errors that say where, what, and
//! what would be valid.

mod check;
mod kinds;
mod load;
mod network;
mod policy;

use std::collections::BTreeMap;
use std::path::PathBuf;

use hindmost_core::estimator::Knowledge;
use hindmost_core::names::check_shared_name;
use hindmost_core::resources::{CPUS, Dimensions, MEMORY, parse_size};
use hindmost_core::workload::{DemandByName, QueueSpec};
use hindmost_math::plain::{Plain, Quoted};
use hindmost_policies::catalogue;
use hindmost_policies::catalogue::spec::PolicySpec;
use serde::{Deserialize, Serialize};

use crate::parameter::Parameter;

pub(crate) use kinds::PlannedPhase;
pub use kinds::{JobKind, PhaseKind};
pub use load::{BUILT_IN, ReplaySettings, ScenarioError};
pub use network::{AssignmentName, NetworkSpec};
pub use policy::PolicyEntry;

/// A scenario as files write it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Name for people.
    #[serde(default = "unnamed")]
    pub name: String,
    /// Order of jobs under redundancy rules named alone.
    #[serde(default = "default_order")]
    pub order: String,
    /// Seconds between decisions; without it, decisions follow every event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<f64>,
    /// Seconds after which no job arrives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub horizon: Option<f64>,
    /// Whether to run on until every job is done; otherwise the run stops at the horizon.
    #[serde(default = "yes")]
    pub drain: bool,
    /// Number of seeds.
    #[serde(default = "one")]
    pub seeds: u32,
    /// What policies know of running attempts.
    #[serde(default)]
    pub knowledge: Knowledge,
    /// Error of estimated remaining times: σ of a log-normal factor of mean 1.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub noise: f64,
    /// γ: price of a machine-second.
    #[serde(default = "one_as_number")]
    pub gamma: f64,
    /// Queues that jobs are submitted to, for orders that share the cluster among queues.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queue: Vec<QueueSpec>,
    /// The cluster.
    pub cluster: ClusterSpec,
    /// What reading from other nodes costs; nothing unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkSpec>,
    /// The jobs.
    pub workload: WorkloadSpec,
    /// The policies to compare; without any, all of them.
    #[serde(default)]
    pub policy: Vec<PolicyEntry>,
    /// Folder that relative paths are taken from.
    #[serde(skip)]
    pub folder: PathBuf,
}

fn unnamed() -> String {
    "unnamed".to_owned()
}
fn default_order() -> String {
    catalogue::DEFAULT_ORDER.to_owned()
}
fn yes() -> bool {
    true
}
fn one() -> u32 {
    1
}
fn one_as_number() -> f64 {
    1.0
}
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

/// The machines.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterSpec {
    /// Number of one-slot machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machines: Option<u32>,
    /// Racks over which the one-slot machines are dealt out in turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub racks: Option<u32>,
    /// Classes of nodes with several resources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeClass>,
}

/// Nodes of one kind.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeClass {
    /// How many.
    pub count: u32,
    /// Beginning of their names; `node` unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Processor cores of each.
    pub cpus: f64,
    /// Memory of each, with a unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
    /// Accelerators of each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpus: Option<f64>,
    /// Any further resource of each, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub resources: BTreeMap<String, f64>,
    /// Work done in a second, relative to a node of speed 1; drawn for each node if a distribution.
    #[serde(default = "speed_one")]
    pub speed: Parameter,
    /// The rack that they are all in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rack: Option<String>,
    /// Racks over which they are dealt out in turn: `rack-0`, `rack-1`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub racks: Option<u32>,
}

fn speed_one() -> Parameter {
    Parameter::Number(1.0)
}

/// Accelerators.
const GPUS: &str = "gpus";

impl NodeClass {
    /// Its room by dimension.
    ///
    /// # Errors
    /// If the memory is no size.
    pub fn capacity(&self) -> Result<DemandByName, String> {
        amounts(self.cpus, self.memory.as_deref(), self.gpus, &self.resources)
    }
}

/// What a copy needs, as scenario files write it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DemandSpec {
    /// Processor cores.
    #[serde(default = "one_as_number")]
    pub cpus: f64,
    /// Memory, with a unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
    /// Accelerators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpus: Option<f64>,
    /// Any further resource, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub resources: BTreeMap<String, f64>,
}

impl DemandSpec {
    /// By dimension.
    ///
    /// # Errors
    /// If the memory is no size.
    pub fn by_name(&self) -> Result<DemandByName, String> {
        amounts(self.cpus, self.memory.as_deref(), self.gpus, &self.resources)
    }
}

fn amounts(
    cpus: f64,
    memory: Option<&str>,
    gpus: Option<f64>,
    further: &BTreeMap<String, f64>,
) -> Result<DemandByName, String> {
    for name in further.keys() {
        check_shared_name(name).map_err(|error| format!("resources: a name is {}, but {error}", Quoted(name)))?;
    }
    let own_keys = [(CPUS, true, "a number"), (MEMORY, true, "a text with a unit"), (GPUS, gpus.is_some(), "a number")];
    if let Some((name, _, what)) = own_keys.into_iter().find(|(name, own, _)| *own && further.contains_key(*name)) {
        return Err(format!("resources: {name} has a key of its own, {name} = {what}"));
    }
    let mut amounts = further.clone();
    amounts.insert(CPUS.to_owned(), cpus);
    if let Some(memory) = memory {
        amounts.insert(MEMORY.to_owned(), parse_size(memory).map_err(|error| format!("memory: {error}"))?);
    }
    if let Some(gpus) = gpus {
        amounts.insert(GPUS.to_owned(), gpus);
    }
    match amounts.iter().find(|(_, amount)| !amount.is_finite() || **amount < 0.0) {
        Some((name, amount)) => Err(format!("{name} is {}, but must be at least 0", Plain(*amount))),
        None => Ok(amounts),
    }
}

/// The jobs: generated, or given exactly in a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadSpec {
    /// An exact workload: one job a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// When jobs arrive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrival: Option<ArrivalSpec>,
    /// Tasks of a job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<Parameter>,
    /// Duration of a copy on a node of speed 1, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Parameter>,
    /// What a copy needs; one cpu unless given. One-slot machines take one copy whatever it needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub demand: Option<DemandSpec>,
    /// Queues by name, each with the chance that a job is submitted to it; what is left of 1 is the chance of
    /// the queue `default`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub queues: BTreeMap<String, f64>,
    /// Share of a duration that is common to all copies of the task, in [0, 1].
    #[serde(default, skip_serializing_if = "is_zero")]
    pub correlation: f64,
    /// Share of the work after which a slow copy (slower than its phase's mean) becomes slow, in
    /// [0, 1): until then it goes at the mean pace. 0: it is slow from its start.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub slow_from: f64,
    /// Kinds of jobs, of which every arriving job is one: instead of `tasks`, `duration` and `demand`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub job: Vec<JobKind>,
}

/// When jobs arrive.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ArrivalSpec {
    /// Independently, at a mean rate, up to the horizon.
    Poisson {
        /// Jobs a second.
        rate: f64,
    },
    /// All at the beginning.
    AtOnce {
        /// How many.
        jobs: u32,
    },
    /// One by one.
    Every {
        /// Seconds between two jobs; drawn for each if a distribution.
        gap: Parameter,
        /// How many.
        jobs: u32,
    },
    /// At the times that a file lists, in seconds, one a line.
    File(PathBuf),
}

impl Scenario {
    /// The policies to compare: those listed, or every system.
    ///
    /// # Errors
    /// If one is not valid.
    pub fn policies(&self) -> Result<Vec<PolicySpec>, String> {
        if self.policy.is_empty() {
            return Ok(catalogue::SYSTEMS.iter().map(|system| PolicySpec::of(system.name)).collect());
        }
        self.policy.iter().map(PolicyEntry::spec).collect()
    }
}

impl ClusterSpec {
    /// The dimensions of its room.
    ///
    /// # Errors
    /// If there are too many, or an amount is not one.
    pub fn dimensions(&self) -> Result<Dimensions, String> {
        if self.machines.is_some() {
            return Ok(Dimensions::one_slot());
        }
        let capacities = self.nodes.iter().map(NodeClass::capacity).collect::<Result<Vec<_>, _>>()?;
        let dimensions = Dimensions::of(&capacities).map_err(|error| error.to_string())?;
        for capacity in &capacities {
            dimensions.amounts(capacity).map_err(|error| error.to_string())?;
        }
        Ok(dimensions)
    }
}
