//! Energy of simulated runs, by what it was used for.

use std::ops::{Add, AddAssign};

use serde::Serialize;

use super::Summary;

/// What the energy of an attempt was used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnergyUse {
    /// An original that is not a straggler and won its task.
    NormalSuccessful,
    /// An original that is not a straggler and did not win.
    NormalKilled,
    /// A straggler that won its task.
    StragglersSuccessful,
    /// A straggler that did not win.
    StragglersKilled,
    /// A copy that won its task.
    CopiesSuccessful,
    /// A copy that did not win.
    CopiesKilled,
    /// An attempt that was lost with its node or still ran when the run stopped.
    Lost,
}

/// Energy of a run by what it was used for, joules. The parts add up to the energy of all nodes.
///
/// The energy of an attempt is the power of its node with it minus the power without it, added up over the time for
/// which it held its resources. An original is a task's first attempt, or one that started because all earlier ones were
/// lost; every other attempt is a copy. "Energy" in docs/scenarios.md says which originals are stragglers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EnergyParts {
    /// Originals that are not stragglers and won their task.
    pub normal_successful: f64,
    /// Originals that are not stragglers and did not win, because a clone won.
    pub normal_killed: f64,
    /// Stragglers that won their task.
    pub stragglers_successful: f64,
    /// Stragglers that did not win.
    pub stragglers_killed: f64,
    /// Copies that won their task.
    pub copies_successful: f64,
    /// Copies that did not win.
    pub copies_killed: f64,
    /// Attempts that were lost with their nodes, were stopped because their job was abandoned, or still ran when the run
    /// stopped.
    pub lost: f64,
    /// Idle power of the nodes, over the time for which they were not lost.
    #[serde(rename = "static")]
    pub idle: f64,
    /// The rest of the nodes' energy, which no attempt causes alone: with more busy cores than cores, and with curves,
    /// the energies of attempts do not add up to the dynamic energy of the node. May be negative.
    pub remainder: f64,
}

impl EnergyParts {
    /// Adds the energy of an attempt, joules.
    pub fn add_attempt(&mut self, used_for: EnergyUse, joules: f64) {
        *match used_for {
            EnergyUse::NormalSuccessful => &mut self.normal_successful,
            EnergyUse::NormalKilled => &mut self.normal_killed,
            EnergyUse::StragglersSuccessful => &mut self.stragglers_successful,
            EnergyUse::StragglersKilled => &mut self.stragglers_killed,
            EnergyUse::CopiesSuccessful => &mut self.copies_successful,
            EnergyUse::CopiesKilled => &mut self.copies_killed,
            EnergyUse::Lost => &mut self.lost,
        } += joules;
    }

    /// Returns the energy of all attempts.
    pub fn attempts(&self) -> f64 {
        let originals =
            self.normal_successful + self.normal_killed + self.stragglers_successful + self.stragglers_killed;
        originals + self.copies_successful + self.copies_killed + self.lost
    }

    /// Returns the energy of all nodes: the sum of all parts.
    pub fn total(&self) -> f64 {
        self.attempts() + self.idle + self.remainder
    }
}

impl Add for EnergyParts {
    type Output = EnergyParts;

    fn add(self, other: EnergyParts) -> EnergyParts {
        EnergyParts {
            normal_successful: self.normal_successful + other.normal_successful,
            normal_killed: self.normal_killed + other.normal_killed,
            stragglers_successful: self.stragglers_successful + other.stragglers_successful,
            stragglers_killed: self.stragglers_killed + other.stragglers_killed,
            copies_successful: self.copies_successful + other.copies_successful,
            copies_killed: self.copies_killed + other.copies_killed,
            lost: self.lost + other.lost,
            idle: self.idle + other.idle,
            remainder: self.remainder + other.remainder,
        }
    }
}

impl AddAssign for EnergyParts {
    fn add_assign(&mut self, other: EnergyParts) {
        *self = *self + other;
    }
}

/// The energy of one policy's runs. Energies are sums over seeds, as in the total of the resource usage.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Energy {
    /// What the energy was used for, joules.
    #[serde(flatten)]
    pub parts: EnergyParts,
    /// Energy of a finished job's attempts, joules.
    pub job: Summary,
    /// Energy of the nodes of each class, joules.
    pub nodes: Vec<NodesEnergy>,
}

/// The energy of the nodes of one class.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NodesEnergy {
    /// Prefix of the nodes' names.
    pub name: String,
    /// Number of nodes.
    pub count: u32,
    /// Energy of all these nodes, joules, summed over seeds.
    pub joules: f64,
}

/// Where the energy of a live run comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EnergySource {
    /// The energy counters of the machine's processors.
    Measured,
    /// The power models of the nodes.
    Estimated,
}

/// The energy of a live run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LiveEnergy {
    /// The energy, joules.
    pub joules: f64,
    /// Whether the energy was measured or estimated.
    pub source: EnergySource,
    /// What was measured, or why the energy is only an estimate.
    pub about: String,
}
