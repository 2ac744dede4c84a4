//! Phases whose straggler may gain on a node that is not free now.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::PhaseId;

/// Phases that wait for a node, by the speed that this node must exceed; 0 if any node may do.
#[derive(Default)]
pub(super) struct Waiting {
    /// The bits of a speed, which order speeds as their values do.
    by_speed: BTreeSet<(u64, PhaseId)>,
    speeds: FxHashMap<PhaseId, u64>,
}

impl Waiting {
    pub(super) fn is_empty(&self) -> bool {
        self.speeds.is_empty()
    }

    pub(super) fn insert(&mut self, phase: PhaseId, speed: f64) {
        self.remove(phase);
        self.by_speed.insert((speed.to_bits(), phase));
        self.speeds.insert(phase, speed.to_bits());
    }

    pub(super) fn remove(&mut self, phase: PhaseId) {
        if let Some(speed) = self.speeds.remove(&phase) {
            self.by_speed.remove(&(speed, phase));
        }
    }

    /// Moves the phases to `to` that wait for a node which is slower than `speed`.
    pub(super) fn take_slower(&mut self, speed: f64, to: &mut BTreeSet<PhaseId>) {
        while let Some((_, phase)) = self.by_speed.first().copied().filter(|(known, _)| *known < speed.to_bits()) {
            self.remove(phase);
            to.insert(phase);
        }
    }
}
