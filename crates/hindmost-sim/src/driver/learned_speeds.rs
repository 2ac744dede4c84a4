//! Learned speeds of nodes: policies learn them from finished attempts, as in live runs.

use hindmost_core::cluster::{Attempt, Cluster, Node};
use hindmost_core::ids::{AttemptId, NodeId};
use hindmost_core::node_speeds::{FinishedAttempt, NodeSpeeds};
use hindmost_core::record::Event;
use hindmost_core::time::Time;

use super::{Driver, SimulationError};

/// Returns what an attempt that finishes at `at` says about the speed of its node; `None` if it does not run.
pub(super) fn sample(cluster: &Cluster, id: AttemptId, at: Time) -> Option<FinishedAttempt> {
    let (attempt, phase) = cluster.attempt(id).zip(cluster.phase(id.task))?;
    Some(FinishedAttempt {
        node: attempt.node(),
        age: (at - Attempt::since(attempt)).seconds(),
        share: 1.0 - attempt.from_progress(),
        median: phase.median(),
    })
}

impl Driver<'_> {
    /// Reports the speeds that follow from a finished attempt.
    pub(super) fn learn_speeds(&mut self, finished: FinishedAttempt, at: Time) -> Result<(), SimulationError> {
        let Some(learned) = &mut self.learned else { return Ok(()) };
        let cluster = self.session.cluster();
        let is_observed = |node: NodeId| cluster.node(node).is_some_and(|node| Node::attempts(node) > 0);
        for (node, speed) in NodeSpeeds::finished(learned, finished, at, is_observed) {
            self.result.speeds_learned += 1;
            self.step(at, &Event::NodeSpeedLearned { node, speed })?;
        }
        Ok(())
    }
}
