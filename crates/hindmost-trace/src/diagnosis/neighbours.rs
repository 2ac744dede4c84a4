//! The winners that ran beside others on a machine.

use std::cell::OnceCell;

/// A winner on a machine.
#[derive(Clone, Copy)]
pub struct Neighbour {
    pub(super) start: f64,
    pub(super) end: f64,
    /// ln of its slowness beyond what its input and a slow node explain.
    pub slowness: f64,
}

/// The winners that are not in first waves.
#[derive(Clone)]
pub struct Neighbours {
    /// With their machines: by machine, and then in the order of their starts.
    pub(super) all: Vec<(u32, Neighbour)>,
    /// The same in the order of their starts, once they are needed.
    pub(super) by_start: OnceCell<Vec<(u32, Neighbour)>>,
    /// ln of the slowness of all, sorted, and its standard deviation from the middle of its distribution, once they are needed.
    pub(super) by_slowness: OnceCell<(Vec<f64>, f64)>,
}
