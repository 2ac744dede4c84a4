//! Worlds, policies and sweeps as they stand in a paper's files.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Keys of a scenario with their new values, by path, such as `"workload.arrival.poisson.rate" = 40`.
pub type Settings = BTreeMap<String, toml::Value>;

/// A cluster with a workload.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorldSpec {
    /// Name that claims refer to.
    pub name: String,
    /// A built-in scenario, or a scenario file in the paper's folder.
    pub scenario: String,
    /// A file of exact jobs in the paper's folder, instead of the scenario's workload.
    #[serde(default)]
    pub jobs: Option<String>,
    /// Words that name the world in measured values, such as `λ = 40`; may be empty.
    #[serde(default)]
    pub words: String,
    /// Unit of times, such as `s`.
    #[serde(default)]
    pub unit: String,
    /// Number of seeds, if it differs from the paper's.
    #[serde(default)]
    pub seeds: Option<u32>,
    /// Keys of the scenario with their new values.
    #[serde(default)]
    pub set: Settings,
    /// Under the progress model `profiles`: whether the profiles of an earlier run are known from the start. The earlier run
    /// is one of the same scenario with the policy `none` and with the seed 0, which no other run has.
    #[serde(default)]
    pub history: bool,
    /// Further values of the quick version.
    #[serde(default)]
    pub quick: Settings,
    /// Further values of the version for tests, whose numbers say nothing about the paper.
    #[serde(default)]
    pub short: Settings,
}

/// A policy that claims refer to.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicySpecEntry {
    /// Label that claims and readings refer to.
    pub label: String,
    /// Name in sentences, such as `Mantri`.
    pub name: String,
    /// The policy as it is written on the command line.
    pub spec: String,
}

/// A series of runs in which a parameter of policies, or a key of the scenario, takes several values.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepSpec {
    /// Name that claims and tables refer to.
    pub name: String,
    /// The world in which the policies run.
    pub world: String,
    /// Name of the value, such as `σ`.
    pub variable: String,
    /// Unit of the value; may be empty.
    #[serde(default)]
    pub unit: String,
    /// The values, from the smallest to the largest. They may be texts.
    pub values: Vec<toml::Value>,
    /// The values of the quick version; by default all.
    #[serde(default)]
    pub quick: Vec<toml::Value>,
    /// Keys of the scenario that take the value.
    #[serde(default)]
    pub keys: Vec<String>,
    /// What the keys take instead of the values, in their order; all values if empty.
    #[serde(default)]
    pub takes: Vec<toml::Value>,
    /// Number by which the value is divided into what the keys take: `keys = over / value`.
    #[serde(default)]
    pub over: Option<f64>,
    /// Labels of the policies that run.
    #[serde(default)]
    pub policies: Vec<String>,
    /// Policies in which `{}` stands for the value, by label.
    #[serde(default)]
    pub specs: BTreeMap<String, String>,
    /// Further values of keys of the scenario, in all runs.
    #[serde(default)]
    pub set: Settings,
    /// The readings that the sweep is run under; by default the base reading.
    #[serde(default)]
    pub readings: Vec<String>,
}
