//! The energy of a run.

use hindmost_core::metrics::EnergyParts;

/// The energy of a run, joules.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunEnergy {
    /// The energy of all nodes, by what it was used for.
    pub parts: EnergyParts,
    /// Energy of each job's attempts, in the order of ids; NaN if the job did not finish.
    pub jobs: Vec<f64>,
    /// Energy of each node, in the order of ids.
    pub nodes: Vec<f64>,
}
