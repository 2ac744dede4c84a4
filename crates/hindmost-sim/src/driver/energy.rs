//! Reports to the meter of energy what happens to attempts and nodes.

use hindmost_core::ids::{AttemptId, NodeId};
use hindmost_core::metrics::EnergyUse;
use hindmost_core::time::Time;

use super::Driver;
use crate::energy::Ended;
use crate::output::{AttemptEnergy, Outcome};

/// Returns whether the workload marks an attempt as a straggler (`true`) or as a normal task (`false`). `None` if it has
/// no such marks, so that the attempt's time decides.
fn mark(driver: &Driver<'_>, id: AttemptId) -> Option<bool> {
    driver.setup.stragglers.is_some().then(|| driver.truth.is_straggler(id))
}

impl Driver<'_> {
    /// Begins to measure the energy of an attempt that holds its resources.
    pub(super) fn energy_begins(&mut self, id: AttemptId) {
        if let Some(meter) = &mut self.meter {
            meter.begin(self.session.cluster(), id);
        }
    }

    /// Ends the measurement of an attempt. Must be called before the step that ends it, because the step may remove its
    /// job. Returns its energy; `None` without power models, or if the attempt never had resources.
    pub(super) fn energy_ends(&mut self, id: AttemptId, at: Time) -> Option<Ended> {
        self.meter.as_ref()?;
        let mark = mark(self, id);
        let times = (at, self.reading.longer(id));
        self.meter.as_mut()?.end(self.session.cluster(), id, times, mark)
    }

    /// Adds the energy of an ended attempt to what it was used for, and returns both; `None` without power models.
    pub(super) fn energy_of(&mut self, ended: Option<Ended>, outcome: Outcome) -> Option<AttemptEnergy> {
        let meter = self.meter.as_mut()?;
        let used_for = ended.map_or(EnergyUse::Lost, |ended| meter.add(ended, outcome));
        Some(AttemptEnergy { joules: ended.map_or(0.0, |ended| ended.joules), used_for })
    }

    /// Notes that a node was lost or has returned.
    pub(super) fn node_is_up(&mut self, node: NodeId, at: Time, is_up: bool) {
        if let Some(meter) = &mut self.meter {
            meter.set_up(node, at, is_up);
        }
    }
}
