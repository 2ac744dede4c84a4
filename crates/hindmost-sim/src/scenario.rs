//! Scenario files: cluster, workload and policies of a simulation, in TOML.
//!
//! Unknown keys, wrong types and numbers that make no sense are errors that say where, what, and
//! what would be valid.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use hindmost_core::estimator::Knowledge;
use hindmost_core::policy::catalogue;
use hindmost_core::policy::spec::{PolicySpec, Value};
use hindmost_core::resources::{CPUS, Dimensions, MEMORY, parse_size};
use hindmost_core::suggest::did_you_mean;
use hindmost_core::workload::DemandByName;
use serde::{Deserialize, Serialize};

use crate::parameter::Parameter;

/// A scenario that can't be run, and why.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The text is no scenario.
    #[error("{origin}: {message}")]
    Invalid {
        /// The file, built-in name or option that it came from.
        origin: String,
        /// What is wrong, where, and what would be valid.
        message: String,
    },
    /// The file can't be read.
    #[error("{}: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// No built-in scenario or file of that name.
    #[error("there is no scenario {name:?}: neither a file of that name nor a built-in one{near}")]
    Unknown {
        /// The name.
        name: String,
        /// A suggestion, or nothing.
        near: String,
    },
}

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
    /// The cluster.
    pub cluster: ClusterSpec,
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
}

fn speed_one() -> Parameter {
    Parameter::Number(1.0)
}

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
    let mut amounts = further.clone();
    amounts.insert(CPUS.to_owned(), cpus);
    if let Some(memory) = memory {
        amounts.insert(MEMORY.to_owned(), parse_size(memory)?);
    }
    if let Some(gpus) = gpus {
        amounts.insert("gpus".to_owned(), gpus);
    }
    match amounts.iter().find(|(_, amount)| !amount.is_finite() || **amount < 0.0) {
        Some((name, amount)) => Err(format!("{name} is {amount}, but must be at least 0")),
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
    /// Share of a duration that is common to all copies of the task, in [0, 1].
    #[serde(default, skip_serializing_if = "is_zero")]
    pub correlation: f64,
    /// Share of the work after which a slow copy (slower than its phase's mean) becomes slow, in
    /// [0, 1): until then it goes at the mean pace. 0: it is slow from its start.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub slow_from: f64,
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

/// A policy as scenario files write it: its name, and parameters beside it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PolicyEntry {
    /// Name, as on the command line.
    pub name: String,
    /// Parameters.
    #[serde(flatten)]
    pub parameters: BTreeMap<String, Value>,
}

impl PolicyEntry {
    /// The policy meant.
    ///
    /// # Errors
    /// If the name or a parameter is not valid.
    pub fn spec(&self) -> Result<PolicySpec, String> {
        let mut spec: PolicySpec = self.name.parse().map_err(|error| format!("{error}"))?;
        spec.parameters.extend(self.parameters.clone());
        catalogue::check(&spec).map_err(|error| error.to_string())?;
        Ok(spec)
    }
}

impl From<&PolicySpec> for PolicyEntry {
    fn from(spec: &PolicySpec) -> PolicyEntry {
        let bare = PolicySpec { parameters: BTreeMap::new(), ..spec.clone() };
        PolicyEntry { name: bare.to_string(), parameters: spec.parameters.clone() }
    }
}

/// What a replay of a log lets be set: the log gives cluster and jobs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplaySettings {
    /// Order of jobs under redundancy rules named alone.
    #[serde(default = "default_order")]
    pub order: String,
    /// Seconds between decisions.
    #[serde(default)]
    pub slot: Option<f64>,
    /// What policies know of running attempts.
    #[serde(default)]
    pub knowledge: Option<Knowledge>,
    /// Error of estimated remaining times.
    #[serde(default)]
    pub noise: f64,
    /// γ: price of the whole cluster for a second.
    #[serde(default = "one_as_number")]
    pub gamma: f64,
    /// One-slot machines instead of the log's executors.
    #[serde(default)]
    pub machines: Option<u32>,
}

impl ReplaySettings {
    /// From values set by key.
    ///
    /// # Errors
    /// If a key is unknown or a value not valid.
    pub fn parse(set: &[(String, String)]) -> Result<ReplaySettings, ScenarioError> {
        let invalid = |message: String| ScenarioError::Invalid { origin: "--set".to_owned(), message };
        let mut table = toml::Table::new();
        for (path, value) in set {
            set_value(&mut table, path, value).map_err(&invalid)?;
        }
        let settings: ReplaySettings = serde::Deserialize::deserialize(toml::Value::Table(table))
            .map_err(|error: toml::de::Error| invalid(with_suggestion(&error.to_string())))?;
        check_times(settings.slot, settings.noise, settings.gamma).map_err(&invalid)?;
        if settings.machines == Some(0) {
            return Err(invalid("machines is 0, but must be at least 1".to_owned()));
        }
        Ok(settings)
    }
}

/// Built-in scenarios by name, with their text.
pub static BUILT_IN: &[(&str, &str)] = &[
    ("quickstart", include_str!("../scenarios/quickstart.toml")),
    ("xu2015-light", include_str!("../scenarios/xu2015-light.toml")),
    ("xu2015-heavy", include_str!("../scenarios/xu2015-heavy.toml")),
    ("xu2015-single-job", include_str!("../scenarios/xu2015-single-job.toml")),
];

impl Scenario {
    /// The scenario of a file or built-in name, with values set by path.
    ///
    /// # Errors
    /// If there is none, or it is not valid.
    pub fn load(name: &str, set: &[(String, String)]) -> Result<Scenario, ScenarioError> {
        if let Some((_, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
            return Scenario::parse(text, name, Path::new(""), set);
        }
        let path = Path::new(name);
        let looks_like_a_file = path.exists() || name.contains(['/', '\\']) || path.extension().is_some();
        if !looks_like_a_file {
            let near = did_you_mean(name, BUILT_IN.iter().map(|(known, _)| *known));
            let near = if near.is_empty() {
                let names: Vec<&str> = BUILT_IN.iter().map(|(known, _)| *known).collect();
                format!("; built in are {}", names.join(", "))
            } else {
                near
            };
            return Err(ScenarioError::Unknown { name: name.to_owned(), near });
        }
        let bytes = std::fs::read(path).map_err(|error| ScenarioError::Unreadable { path: path.into(), error })?;
        let text = String::from_utf8(bytes).map_err(|_| ScenarioError::Invalid {
            origin: name.to_owned(),
            message: "this is not a text file; a scenario is written in TOML".to_owned(),
        })?;
        Scenario::parse(&text, name, path.parent().unwrap_or(Path::new("")), set)
    }

    /// Reads a scenario from its text; `origin` is named in errors, relative paths are taken from
    /// `folder`.
    ///
    /// # Errors
    /// If it is not valid.
    pub fn parse(
        text: &str,
        origin: &str,
        folder: &Path,
        set: &[(String, String)],
    ) -> Result<Scenario, ScenarioError> {
        let invalid = |message: String| ScenarioError::Invalid { origin: origin.to_owned(), message };
        // From the text itself first: such errors tell line and column.
        let mut scenario: Scenario =
            toml::from_str(text).map_err(|error| invalid(with_suggestion(&error.to_string())))?;
        if !set.is_empty() {
            let mut table: toml::Table = text.parse().map_err(|error: toml::de::Error| invalid(error.to_string()))?;
            for (path, value) in set {
                set_value(&mut table, path, value).map_err(|error| invalid(format!("--set {path}={value}: {error}")))?;
            }
            scenario = serde::Deserialize::deserialize(toml::Value::Table(table)).map_err(
                |error: toml::de::Error| invalid(format!("after --set: {}", with_suggestion(error.to_string().trim()))),
            )?;
        }
        folder.clone_into(&mut scenario.folder);
        scenario.check().map_err(invalid)?;
        Ok(scenario)
    }

    /// The policies to compare: those listed, or every system.
    ///
    /// # Errors
    /// If one is not valid.
    pub fn policies(&self) -> Result<Vec<PolicySpec>, String> {
        if self.policy.is_empty() {
            let all = catalogue::SYSTEMS.iter();
            return Ok(all
                .map(|system| PolicySpec {
                    order: None,
                    rule: system.name.to_owned(),
                    parameters: BTreeMap::new(),
                })
                .collect());
        }
        self.policy.iter().map(PolicyEntry::spec).collect()
    }

    fn check(&mut self) -> Result<(), String> {
        positive("horizon", self.horizon)?;
        if self.seeds == 0 {
            return Err("seeds is 0, but must be at least 1".to_owned());
        }
        check_times(self.slot, self.noise, self.gamma)?;
        catalogue::order(&self.order).map_err(|error| error.to_string())?;
        self.policies()?;
        self.cluster.check(&self.folder)?;
        self.workload.check(self.horizon, &self.folder)?;
        if let Some(demand) = &self.workload.demand {
            let dimensions = self.cluster.dimensions()?;
            dimensions.demand(&demand.by_name()?).map_err(|error| format!("workload.demand: {error}"))?;
        }
        Ok(())
    }
}

impl ClusterSpec {
    fn check(&mut self, folder: &Path) -> Result<(), String> {
        match (self.machines, self.nodes.is_empty()) {
            (None, true) => Err("cluster needs machines = N (one slot each) or [[cluster.nodes]]".to_owned()),
            (Some(_), false) => Err("cluster has both machines and nodes; give one of them".to_owned()),
            (Some(0), true) => Err("cluster.machines is 0, but must be at least 1".to_owned()),
            (Some(_), true) => Ok(()),
            (None, false) => {
                for (at, class) in self.nodes.iter_mut().enumerate() {
                    let wrong = |error: String| format!("cluster.nodes, entry {}: {error}", at + 1);
                    if class.count == 0 {
                        return Err(wrong("count is 0, but must be at least 1".to_owned()));
                    }
                    if class.cpus == 0.0 {
                        return Err(wrong("cpus is 0, but must be above 0".to_owned()));
                    }
                    class.capacity().map_err(wrong)?;
                    class.speed.load(folder).map_err(wrong)?;
                    if let Some(speed) = class.speed.is_constant() {
                        positive("speed", Some(speed)).map_err(wrong)?;
                    }
                }
                self.dimensions().map(|_| ())
            }
        }
    }

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

impl WorkloadSpec {
    fn check(&mut self, horizon: Option<f64>, folder: &Path) -> Result<(), String> {
        share("workload.correlation", self.correlation, 1.0)?;
        share("workload.slow_from", self.slow_from, 1.0 - f64::EPSILON)?;
        if self.file.is_some() {
            if self.arrival.is_some() || self.tasks.is_some() || self.duration.is_some() || self.demand.is_some() {
                return Err("workload.file gives arrivals, tasks, durations and demands; leave the others out".to_owned());
            }
            return Ok(());
        }
        let Some(arrival) = &mut self.arrival else {
            return Err("workload needs arrival (or file), such as arrival = { poisson = { rate = 6.0 } }".to_owned());
        };
        match arrival {
            ArrivalSpec::Poisson { rate } => {
                positive("workload.arrival.poisson.rate", Some(*rate))?;
                if horizon.is_none() {
                    return Err("poisson arrivals never end: give a horizon".to_owned());
                }
            }
            ArrivalSpec::AtOnce { jobs } | ArrivalSpec::Every { jobs, .. } if *jobs == 0 => {
                return Err("workload.arrival: jobs is 0, but must be at least 1".to_owned());
            }
            ArrivalSpec::AtOnce { .. } => {}
            ArrivalSpec::Every { gap, .. } => {
                gap.load(folder).map_err(|error| format!("workload.arrival.every.gap: {error}"))?;
                if let Some(gap) = gap.is_constant() {
                    not_negative("workload.arrival.every.gap", gap)?;
                }
            }
            ArrivalSpec::File(path) => {
                crate::parameter::read_numbers(&folder.join(path)).map_err(|error| format!("workload.arrival: {error}"))?;
            }
        }
        let named = [("tasks", &mut self.tasks), ("duration", &mut self.duration)];
        for (name, parameter) in named {
            let Some(parameter) = parameter else {
                return Err(format!("workload needs {name}, a number or a distribution"));
            };
            parameter.load(folder).map_err(|error| format!("workload.{name}: {error}"))?;
        }
        // What no draw can mend is said before anything runs.
        let trial = crate::generate::trial(self);
        trial.map_err(|error| format!("workload.{error}"))
    }
}

fn check_times(slot: Option<f64>, noise: f64, gamma: f64) -> Result<(), String> {
    positive("slot", slot)?;
    if slot.is_some_and(|slot| slot < 1e-9) {
        return Err("slot must be at least 1e-9 seconds".to_owned());
    }
    not_negative("gamma", gamma)?;
    share("noise", noise, 5.0)
}

fn positive(name: &str, number: Option<f64>) -> Result<(), String> {
    match number {
        Some(number) if !(number.is_finite() && number > 0.0) => Err(format!("{name} is {number}, but must be above 0")),
        _ => Ok(()),
    }
}

fn not_negative(name: &str, number: f64) -> Result<(), String> {
    if number.is_finite() && number >= 0.0 { Ok(()) } else { Err(format!("{name} is {number}, but must be at least 0")) }
}

fn share(name: &str, number: f64, most: f64) -> Result<(), String> {
    if (0.0..=most).contains(&number) { Ok(()) } else { Err(format!("{name} is {number}, but must be from 0 to {most}")) }
}

/// Sets the value at a dotted path; numbers in a path count into lists. What is not TOML is taken as
/// a text.
fn set_value(table: &mut toml::Table, path: &str, value: &str) -> Result<(), String> {
    let parsed = format!("value = {value}").parse::<toml::Table>().ok().and_then(|mut table| table.remove("value"));
    let value = parsed.unwrap_or_else(|| toml::Value::String(value.to_owned()));
    let keys: Vec<&str> = path.split('.').collect();
    let Some((last, parents)) = keys.split_last() else { return Err("the key is empty".to_owned()) };
    if keys.iter().any(|key| key.is_empty()) {
        return Err("a part of the key is empty".to_owned());
    }
    let mut root = toml::Value::Table(std::mem::take(table));
    let mut at = &mut root;
    for key in parents {
        at = step(at, key)?;
    }
    *step(at, last)? = value;
    if let toml::Value::Table(changed) = root {
        *table = changed;
    }
    Ok(())
}

/// The value under a key, made if it is not there.
fn step<'a>(at: &'a mut toml::Value, key: &str) -> Result<&'a mut toml::Value, String> {
    match at {
        toml::Value::Table(table) => {
            Ok(table.entry(key.to_owned()).or_insert_with(|| toml::Value::Table(toml::Table::new())))
        }
        toml::Value::Array(list) => {
            let len = list.len();
            let place = key.parse::<usize>().ok().filter(|place| *place < len);
            let place = place.ok_or_else(|| format!("{key:?} is not a place in a list of {len}, counted from 0"))?;
            Ok(&mut list[place])
        }
        _ => Err(format!("there is nothing below {key:?}'s parent: it is not a table")),
    }
}

/// Adds the nearest known key to an error about an unknown one.
fn with_suggestion(message: &str) -> String {
    let message = message.trim_end();
    let quoted = |text: &str| -> Vec<String> {
        text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };
    let Some(at) = message.find("unknown field").or_else(|| message.find("unknown variant")) else {
        return message.to_owned();
    };
    let names = quoted(&message[at..]);
    match names.split_first() {
        Some((unknown, known)) => {
            format!("{message}{}", did_you_mean(unknown, known.iter().map(String::as_str)))
        }
        None => message.to_owned(),
    }
}
