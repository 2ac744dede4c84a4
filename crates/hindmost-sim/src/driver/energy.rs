//! Tells the meter of energy what happens to attempts and nodes.

use hindmost_core::ids::{AttemptId, NodeId};
use hindmost_core::time::Time;

use super::Driver;
use crate::energy::{Ended, is_slow};
use crate::output::Outcome;

/// Whether an attempt is a straggler by its own time or mark.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Straggles {
    is_straggler: bool,
    is_marked: bool,
}

impl Driver<'_> {
    /// Returns whether the workload marks an attempt as a straggler (`true`) or as a normal task (`false`). `None` if
    /// it has no such marks, so that the attempt's time decides.
    fn marked(&self, _id: AttemptId) -> Option<bool> {
        None
    }

    /// Begins to measure the energy of an attempt that holds its resources.
    pub(super) fn measure_energy(&mut self, id: AttemptId) {
        if let Some(meter) = &mut self.meter {
            meter.begin(self.session.cluster(), id, self.reading.longer(id));
        }
    }

    /// Returns whether an attempt that ends is a straggler. Must be called before the step that ends the attempt,
    /// because the step may remove its job.
    pub(super) fn straggles(&self, id: AttemptId, at: Time) -> Straggles {
        if self.meter.is_none() {
            return Straggles::default();
        }
        if let Some(is_straggler) = self.marked(id) {
            return Straggles { is_straggler, is_marked: true };
        }
        let attempt = self.session.cluster().attempt(id);
        let slow = |attempt| is_slow(attempt, at, self.mean_time(id), self.reading.longer(id));
        Straggles { is_straggler: attempt.is_some_and(slow), is_marked: false }
    }

    /// Ends the measurement of an attempt that has released its resources. Returns its energy, joules; `None` without
    /// power models.
    pub(super) fn energy_of(
        &mut self,
        id: AttemptId,
        (node, at): (NodeId, Time),
        outcome: Outcome,
        straggles: Straggles,
    ) -> Option<f64> {
        let Straggles { is_straggler, is_marked } = straggles;
        self.meter.as_mut().map(|meter| meter.end(id, node, at, Ended { outcome, is_straggler, is_marked }))
    }

    /// Notes that a node was lost or has returned.
    pub(super) fn node_is_up(&mut self, node: NodeId, at: Time, is_up: bool) {
        if let Some(meter) = &mut self.meter {
            meter.set_up(node, at, is_up);
        }
    }
}
