//! Scenario files: cluster, workload and policies of a simulation, in TOML.
//!
//! Unknown keys, wrong types and invalid numbers are errors. The messages say where the error is and what would be
//! valid.

mod arrivals;
mod check;
mod kinds;
mod load;
mod measured;
mod network;
mod outage;
mod policy;
mod schema;

use std::collections::BTreeMap;
use std::path::PathBuf;

use hindmost_core::cluster::Placement;
use hindmost_core::estimator::Knowledge;
use hindmost_core::metrics::OfferedLoad;
use hindmost_core::names::check_shared_name;
use hindmost_core::power::{PowerModel, PowerSpec};
use hindmost_core::resources::{CPUS, Dimensions, MEMORY, parse_size};
use hindmost_core::workload::{DemandByName, QueueSpec};
use hindmost_math::plain::{Plain, Quoted};
use hindmost_policies::catalogue;
use hindmost_policies::catalogue::spec::PolicySpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::disturbances::{Contention, Failures, Neighbours, Stragglers};
use crate::parameter::Parameter;
use crate::size::SIZE;

pub use arrivals::{ArrivalSpec, EveryArrivals, PoissonArrivals};
pub(crate) use kinds::PlannedPhase;
pub use kinds::{JobKind, PhaseKind};
pub use load::{BUILT_IN, ReplaySettings, ScenarioError, full_key};
pub use measured::{Centre, Column, MeasuredSpeed, Take};
pub use network::{AssignmentName, NetworkSpec};
pub use outage::OutageSpec;
pub use policy::PolicyEntry;
pub use schema::schema;

/// A scenario, with the keys of its file.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Hindmost scenario")]
pub struct Scenario {
    /// Name, shown in results.
    #[serde(default = "unnamed")]
    pub name: String,
    /// Order of jobs for policies that are given without an order; `hindmost policies` lists them.
    #[serde(default = "default_order")]
    #[schemars(extend("pattern" = catalogue::order_pattern()))]
    pub order: String,
    /// Seconds between decisions. If left out, the policy decides after every event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1e-9, max = 1e10))]
    pub slot: Option<f64>,
    /// Seconds after which no job arrives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0), range(max = 1e10))]
    pub horizon: Option<f64>,
    /// Whether to continue until every job is done; otherwise the run stops at the horizon.
    #[serde(default = "yes")]
    pub drain: bool,
    /// Number of seeds; every policy runs once on each seed.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 100_000))]
    pub seeds: u32,
    /// The progress model, that is, what policies know of running attempts: "oracle", "progress(S)",
    /// "progress(uniform)", "age", "profiles" or "profiles(S)". The default is `progress(0.1)`.
    #[serde(default = "progress_of_a_tenth")]
    #[schemars(with = "String", regex(pattern = KNOWLEDGE))]
    pub knowledge: Knowledge,
    /// How a node is chosen among those on which a copy fits. The default is `first` if all nodes have the same speed, and
    /// `random` otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
    /// Error of estimated remaining times: σ of a log-normal factor of mean 1.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0, max = 5))]
    pub noise: f64,
    /// γ: price of a machine-second.
    #[serde(default = "one_as_number")]
    #[schemars(range(min = 0))]
    pub gamma: f64,
    /// Queues that jobs are submitted to, for orders that share the cluster among queues.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queue: Vec<QueueSpec>,
    /// The cluster.
    pub cluster: ClusterSpec,
    /// The network between nodes; without it, reading from other nodes takes no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkSpec>,
    /// The jobs that arrive.
    pub workload: WorkloadSpec,
    /// The policies to compare; if empty, all systems of the catalogue but `auto`.
    #[serde(default)]
    pub policy: Vec<PolicyEntry>,
    /// The folder to which relative paths refer.
    #[serde(skip)]
    pub folder: PathBuf,
}

/// Pattern of the progress models that a simulation can use.
const KNOWLEDGE: &str = r"^\s*(oracle|age|profiles|progress\(\s*uniform\s*\)|(progress|profiles)\(\s*(\+?0+(\.[0-9]*)?|\+?\.[0-9]+|\+?[0-9.]+[eE]-[0-9]+)\s*\))\s*$";

fn unnamed() -> String {
    "unnamed".to_owned()
}
fn default_order() -> String {
    catalogue::DEFAULT_ORDER.to_owned()
}
/// The default progress model of scenarios, runs and replays.
fn progress_of_a_tenth() -> Knowledge {
    Knowledge::Progress(0.1)
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

/// The cluster: one-slot machines, or nodes with several resources.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["machines"]}, {"required": ["nodes"]}]))]
pub struct ClusterSpec {
    /// Number of one-slot machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000_000))]
    pub machines: Option<u32>,
    /// Number of racks; the one-slot machines take turns over them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub racks: Option<u32>,
    /// Power of each one-slot machine: a machine type or a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<PowerSpec>,
    /// Classes of nodes with several resources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeClass>,
    /// When nodes are lost and return.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outage: Vec<OutageSpec>,
    /// How much attempts on a node slow each other down; without it, they do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contention: Option<Contention>,
    /// Load of others on each node that comes and goes; without it, there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbours: Option<Neighbours>,
    /// Failures of each node at random times; without it, nodes do not fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures: Option<Failures>,
    /// Whether policies know the speeds of nodes from the start.
    #[serde(default, skip_serializing_if = "Speeds::are_known")]
    pub speeds: Speeds,
}

/// What policies know of the speeds of nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Speeds {
    /// Policies know the speeds from the start.
    #[default]
    Known,
    /// All nodes join with speed 1. Policies learn which nodes are slow from finished attempts, as in live runs.
    Learned,
}

impl Speeds {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
    fn are_known(&self) -> bool {
        *self == Speeds::Known
    }
}

/// Nodes of one kind.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeClass {
    /// Number of nodes.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub count: u32,
    /// Prefix of the nodes' names; `node` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Processor cores of each node.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub cpus: f64,
    /// Memory of each node, with a unit, such as "48GB".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = SIZE))]
    pub memory: Option<String>,
    /// Accelerators of each node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub gpus: Option<f64>,
    /// Other resources of each node, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub resources: BTreeMap<String, f64>,
    /// Speed relative to a node of speed 1; a distribution is drawn for each node.
    #[serde(default = "speed_one")]
    pub speed: Parameter,
    /// Speeds from a file of measurements, in place of `speed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_speed: Option<MeasuredSpeed>,
    /// How much attempts on one of these nodes slow each other down, in place of the cluster's `contention`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contention: Option<Contention>,
    /// Load of others on these nodes, in place of the cluster's `neighbours`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbours: Option<Neighbours>,
    /// Failures of these nodes, in place of the cluster's `failures`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures: Option<Failures>,
    /// The rack in which all these nodes are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rack: Option<String>,
    /// Number of racks; the nodes take turns over `rack-0`, `rack-1`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub racks: Option<u32>,
    /// Power of each node: a machine type or a table. Results have energies only if all nodes have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<PowerSpec>,
}

fn speed_one() -> Parameter {
    Parameter::Number(1.0)
}

/// Name of the resource of accelerators.
const GPUS: &str = "gpus";

impl NodeClass {
    /// Returns the prefix of its nodes' names.
    pub(crate) fn prefix(&self) -> &str {
        self.name.as_deref().unwrap_or("node")
    }

    /// Returns the power model of a node; `None` if it has none.
    ///
    /// # Errors
    /// If the model is not valid.
    pub fn power(&self) -> Result<Option<PowerModel>, String> {
        let model = self.power.as_ref().map(|power| power.model(self.cpus)).transpose();
        model.map_err(|error| format!("power: {error}"))
    }

    /// Returns the capacity of a node by dimension.
    ///
    /// # Errors
    /// If an amount or a name is not valid.
    pub fn capacity(&self) -> Result<DemandByName, String> {
        amounts(self.cpus, self.memory.as_deref(), self.gpus, &self.resources)
    }
}

/// The demand of a copy, with the keys of scenario files.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DemandSpec {
    /// Processor cores.
    #[serde(default = "one_as_number")]
    #[schemars(range(min = 0))]
    pub cpus: f64,
    /// Memory, with a unit, such as "2GB".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = SIZE))]
    pub memory: Option<String>,
    /// Accelerators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub gpus: Option<f64>,
    /// Other resources, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub resources: BTreeMap<String, f64>,
}

impl DemandSpec {
    /// Returns the demand by dimension.
    ///
    /// # Errors
    /// If an amount or a name is not valid.
    pub fn by_name(&self) -> Result<DemandByName, String> {
        amounts(self.cpus, self.memory.as_deref(), self.gpus, &self.resources)
    }
}

fn amounts(
    cpus: f64,
    memory: Option<&str>,
    gpus: Option<f64>,
    others: &BTreeMap<String, f64>,
) -> Result<DemandByName, String> {
    for name in others.keys() {
        check_shared_name(name).map_err(|error| format!("resources: a name is {}, but {error}", Quoted(name)))?;
    }
    let own_keys = [(CPUS, true, "a number"), (MEMORY, true, "a text with a unit"), (GPUS, gpus.is_some(), "a number")];
    if let Some((name, _, what)) = own_keys.into_iter().find(|(name, own, _)| *own && others.contains_key(*name)) {
        return Err(format!("resources: {name} has a key of its own, {name} = {what}"));
    }
    let mut amounts = others.clone();
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

/// The workload: generated, or listed exactly in a file.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["file"]}, {"required": ["arrival"]}]))]
pub struct WorkloadSpec {
    /// File of an exact workload, one job per line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// When jobs arrive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrival: Option<ArrivalSpec>,
    /// Number of tasks of a job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<Parameter>,
    /// Duration of a copy on a node of speed 1, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Parameter>,
    /// Demand of a copy; one CPU by default. One-slot machines run one copy at a time for any demand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub demand: Option<DemandSpec>,
    /// Memory accesses per second of a running copy, for power models; 0 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub memory_accesses: Option<f64>,
    /// Whether a copy that starts from the progress of another leaves out the work that is done; true by default. If false,
    /// every copy does the whole work of its task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumes: Option<bool>,
    /// Seconds from a job's arrival to its deadline; a distribution is drawn for each job. Without it and `deadline_factor`,
    /// jobs have no deadline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Parameter>,
    /// The time from a job's arrival to its deadline as a multiple of the job's ideal time; a distribution is drawn for each
    /// job. The ideal time is the longest path through the job's phases at the mean durations of their copies on a node of
    /// speed 1, which is the time that the job would take on average with one task per phase and unlimited machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_factor: Option<Parameter>,
    /// Probability that a job is submitted to a queue, by the queue's name; the remaining jobs go to
    /// the queue `default`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("additionalProperties" = { "type": "number", "minimum": 0, "maximum": 1 }))]
    pub queues: BTreeMap<String, f64>,
    /// Share of a duration that belongs to the task, so that all its copies have it in common, in [0, 1]; 0 by default. A
    /// copy takes w × the common part + (1 − w) × a draw of its own. If it is left out, `hindmost simulate` also shows the
    /// results for other values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1))]
    pub correlation: Option<f64>,
    /// Where the common part comes from. `first_attempt` (default): it is the duration of the first attempt, so the jobs
    /// are the same for every `correlation`. `own_draw`: it is a draw of its own, and the first attempt is made of both
    /// parts like every other copy.
    #[serde(default, skip_serializing_if = "CommonPart::is_default")]
    pub common_part: CommonPart,
    /// Error of the durations that policies know: the distribution that they know of a phase is the true one multiplied by
    /// a log-normal factor with mean 1, one for each phase of each job. This is the sigma of the factor.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0, max = 3))]
    pub duration_error: f64,
    /// Share of the work after which a slow copy (slower than its phase's mean) becomes slow, in [0, 1). Until then it
    /// progresses at the mean rate. 0: it is slow from its start.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    pub slow_from: f64,
    /// Copies that take longer than their drawn or listed duration; without it, no copy does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stragglers: Option<Stragglers>,
    /// Kinds of jobs, which replace `tasks`, `duration` and `demand`; every job is of one kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub job: Vec<JobKind>,
    /// The rate that follows from the load; `None` if the scenario gives no load, and before it is checked.
    #[serde(skip)]
    pub offered: Option<OfferedLoad>,
    /// The load that the arrivals put on the cluster, whether it or a rate is given; `None` if arrivals have no rate or the
    /// mean work of a job is not known, and before it is checked.
    #[serde(skip)]
    pub load: Option<f64>,
}

/// Where the part of a duration comes from that all copies of a task have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommonPart {
    /// The common part is the duration of the task's first attempt, which does not depend on `correlation`.
    #[default]
    FirstAttempt,
    /// The common part is a draw of its own. All copies, the first attempt included, have the same distribution, whose
    /// variance depends on `correlation`.
    OwnDraw,
}

impl CommonPart {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
    fn is_default(&self) -> bool {
        *self == CommonPart::FirstAttempt
    }
}

impl WorkloadSpec {
    /// Returns the share of a duration that all copies of a task have in common: 0 if the scenario gives none.
    pub fn correlation(&self) -> f64 {
        self.correlation.unwrap_or(0.0)
    }
}

impl Scenario {
    /// Returns the policies to compare: those listed, or the systems that are compared if none is named.
    ///
    /// # Errors
    /// If a policy is not valid.
    pub fn policies(&self) -> Result<Vec<PolicySpec>, String> {
        if self.policy.is_empty() {
            return Ok(catalogue::compared().map(|system| PolicySpec::of(system.name)).collect());
        }
        self.policy.iter().map(PolicyEntry::spec).collect()
    }
}

impl ClusterSpec {
    /// Returns the power model of a one-slot machine; `None` if it has none. One task keeps the machine fully busy,
    /// unless the model has more cores.
    ///
    /// # Errors
    /// If the model is not valid.
    pub fn machine_power(&self) -> Result<Option<PowerModel>, String> {
        let model = self.power.as_ref().map(|power| power.model(1.0)).transpose();
        model.map_err(|error| format!("cluster.power: {error}"))
    }

    /// Returns the dimensions of the cluster's resources.
    ///
    /// # Errors
    /// If there are too many dimensions, or an amount is not valid.
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
