//! Nodes.

use std::sync::Arc;

use crate::resources::Resources;

/// A node of the cluster.
#[derive(Clone, Debug)]
pub struct Node {
    pub(super) name: Arc<str>,
    pub(super) rack: Option<Arc<str>>,
    pub(super) capacity: Resources,
    pub(super) free: Resources,
    pub(super) reserved: Resources,
    pub(super) speed: f64,
    pub(super) up: bool,
    /// Slots of the attempts that hold room here.
    pub(super) attempts: Vec<u32>,
}

impl Node {
    /// Its name.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The rack that it is in; nodes of which none is told share one.
    pub fn rack(&self) -> Option<&Arc<str>> {
        self.rack.as_ref()
    }

    /// Its room when empty.
    pub fn capacity(&self) -> &Resources {
        &self.capacity
    }

    /// Room that nothing holds or has reserved.
    pub fn free(&self) -> &Resources {
        &self.free
    }

    /// The smallest share, over dimensions, of its room that is free.
    pub fn free_share(&self) -> f64 {
        let dimensions = self.free.0.iter().zip(&self.capacity.0).filter(|(_, capacity)| **capacity > 0);
        dimensions.map(|(free, capacity)| *free as f64 / *capacity as f64).fold(1.0, f64::min)
    }

    /// Room that is reserved and not in use.
    pub fn reserved(&self) -> &Resources {
        &self.reserved
    }

    /// Work done in a second, relative to a node of speed 1.
    pub fn speed(&self) -> f64 {
        self.speed
    }

    /// False while it is lost.
    pub fn is_up(&self) -> bool {
        self.up
    }

    /// Number of attempts that hold room here.
    pub fn attempts(&self) -> usize {
        self.attempts.len()
    }
}
