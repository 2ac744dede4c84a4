//! The winners that ran beside others on a machine.

use std::cell::OnceCell;

use rustc_hash::FxHashMap;

/// A winner on a machine.
#[derive(Clone, Copy)]
pub struct Neighbour {
    pub(super) start: f64,
    pub(super) end: f64,
    /// ln of its slowness beyond what its input and a slow node explain.
    pub slowness: f64,
}

/// The winners that are not in first waves.
#[derive(Clone, Default)]
pub struct Neighbours {
    /// By machine, in the order of their starts.
    pub(super) by_machine: FxHashMap<u32, Vec<Neighbour>>,
    /// The same with their machines, in the order of their starts, once they are needed.
    pub(super) by_start: OnceCell<Vec<(u32, Neighbour)>>,
    /// ln of the slowness of all, sorted.
    pub(super) all: Vec<f64>,
    /// Standard deviation of ln of their slowness, from the middle of its distribution.
    pub(super) spread: f64,
}
