//! Failures of nodes at random times, and their repair.
//!
//! Each node has its own sequence of up and down times, which depends on the seed and the node only. A node that is lost
//! by an outage when it fails returns when both have ended. The agenda always has one entry for each node that fails: its next
//! failure or its repair. These entries alone do not keep a run going.

use hindmost_core::ids::NodeId;
use hindmost_core::random::{Purpose, draw};
use hindmost_core::record::Event;
use hindmost_core::time::Time;
use hindmost_math::distribution::Distribution;

use super::{Driver, LAST_INSTANT, Setup, SimulationError};
use crate::agenda::{Agenda, Due};
use crate::parameter::Draws;

/// The failures of one node.
struct Sequence {
    between: Distribution,
    repair: Distribution,
    /// Number of failures and repairs so far.
    number: u64,
}

/// The failures of all nodes.
pub(super) struct NodeFailures {
    seed: u64,
    /// The nodes that fail, by id; `None` for the others.
    nodes: Vec<Option<Sequence>>,
    /// Number of reasons for which each node is down: outages and failures.
    down: Vec<u8>,
    /// Number of nodes that are down by a failure.
    failed: usize,
    /// Number of entries of the agenda.
    due: usize,
}

impl NodeFailures {
    /// Returns the failures of a run, and schedules the first failure of each node; `None` if no node fails.
    pub(super) fn of(setup: &Setup, agenda: &mut Agenda) -> Result<Option<NodeFailures>, SimulationError> {
        if setup.disturbances.iter().all(|node| node.failures.is_none()) {
            return Ok(None);
        }
        let seed = setup.seed;
        let sequence = |at: usize| {
            let Some(failures) = setup.disturbances.get(at).and_then(|node| node.failures.as_deref()) else {
                return Ok(None);
            };
            let draws = |part| Draws::of_part(seed, Purpose::Failures, at as u64, part);
            let drawn = failures.between.resolve(&mut draws(0)).and_then(|between| {
                Ok(Sequence { between, repair: failures.repair.resolve(&mut draws(1))?, number: 0 })
            });
            drawn.map(Some).map_err(|error| SimulationError::Workload(format!("failures: {error}")))
        };
        let nodes = (0..setup.nodes.len()).map(sequence).collect::<Result<Vec<_>, _>>()?;
        let down = vec![0; nodes.len()];
        let mut made = NodeFailures { seed, nodes, down, failed: 0, due: 0 };
        for at in 0..made.nodes.len() {
            made.schedule(NodeId(at as u32), Time::ZERO, agenda);
        }
        Ok(Some(made))
    }

    /// Schedules the next failure of a node that is up, or its repair.
    fn schedule(&mut self, node: NodeId, now: Time, agenda: &mut Agenda) {
        let Some(sequence) = &mut self.nodes[node.0 as usize] else { return };
        let number = sequence.number;
        sequence.number += 1;
        let is_up = number.is_multiple_of(2);
        let from = if is_up { &sequence.between } else { &sequence.repair };
        let seconds = from.survival_quantile(draw(self.seed, Purpose::Failure, u64::from(node.0), number));
        let at = now + Time::from_seconds(seconds).max(Time::TICK);
        // The run ends before the clock can count that far.
        if at <= LAST_INSTANT {
            self.due += 1;
            agenda.push(at, if is_up { Due::Fail(node) } else { Due::Repair(node) });
        }
    }

    /// Adds a reason for which a node is down. Returns true if it is the first one.
    fn goes_down(&mut self, node: NodeId) -> bool {
        let down = &mut self.down[node.0 as usize];
        *down += 1;
        *down == 1
    }

    /// Removes a reason for which a node is down. Returns true if it was the last one.
    fn comes_up(&mut self, node: NodeId) -> bool {
        let down = &mut self.down[node.0 as usize];
        *down -= 1;
        *down == 0
    }
}

impl Driver<'_> {
    /// Loses a node, unless it is lost already.
    pub(super) fn outage_begins(&mut self, node: NodeId, at: Time) -> Result<(), SimulationError> {
        if self.failures.as_mut().is_none_or(|failures| failures.goes_down(node)) {
            self.lose(node, at)?;
        }
        Ok(())
    }

    /// Returns a node, unless it is lost for another reason too.
    pub(super) fn outage_ends(&mut self, node: NodeId, at: Time) -> Result<(), SimulationError> {
        if self.failures.as_mut().is_none_or(|failures| failures.comes_up(node)) {
            self.node_is_up(node, at, true);
            self.step(at, &Event::NodeReturned { node })?;
        }
        Ok(())
    }

    /// Processes a random failure of a node, and schedules its repair.
    pub(super) fn fail(&mut self, node: NodeId, at: Time) -> Result<(), SimulationError> {
        let Some(failures) = &mut self.failures else { return Ok(()) };
        failures.due -= 1;
        failures.failed += 1;
        failures.schedule(node, at, &mut self.agenda);
        self.result.node_failures += 1;
        self.outage_begins(node, at)
    }

    /// Processes the repair of a node, and schedules its next failure.
    pub(super) fn repair(&mut self, node: NodeId, at: Time) -> Result<(), SimulationError> {
        let Some(failures) = &mut self.failures else { return Ok(()) };
        failures.due -= 1;
        failures.failed -= 1;
        failures.schedule(node, at, &mut self.agenda);
        self.outage_ends(node, at)
    }

    /// Returns true if only random failures would happen from now on: nothing runs, and every node that fails is up. The
    /// policy has decided, so it would start nothing after further failures either.
    pub(super) fn only_failures_are_left(&self) -> bool {
        let Some(failures) = &self.failures else { return false };
        failures.failed == 0 && self.agenda.len() == failures.due && self.session.cluster().running_attempts() == 0
    }
}
