//! Nodes that are lost and return: by fault injection, or because the engine says so.
//!
//! Invariant: a node that is lost for both reasons returns when both are over. It returns to the cluster only after all attempts
//! that ran on it have ended.

use hindmost_core::ids::NodeId;
use hindmost_core::record::Event;
use rustc_hash::FxHashSet;

use super::attempts::Kill;
use super::deadlines::Deadline;
use super::progress::FIRST_POLL;
use super::{Driver, RunError};

/// The nodes that the engine has lost.
#[derive(Debug, Default)]
pub(super) struct LostNodes(FxHashSet<NodeId>);

impl LostNodes {
    /// True if the engine has lost any node, so that the run may wait for its return.
    pub(super) fn any(&self) -> bool {
        !self.0.is_empty()
    }
}

impl Driver<'_> {
    /// Handles the loss of a node that the engine reports.
    pub(super) fn node_lost(&mut self, node: NodeId, why: &str) -> Result<(), RunError> {
        self.lost.0.insert(node);
        self.follower.message(&format!("node {} is lost: {why}", self.node_name(node)));
        self.leave(node)?;
        if self.lost.0.len() == self.session.cluster().nodes().len() && self.is_open() {
            self.follower.message("all nodes are lost; the run waits until one returns");
        }
        Ok(())
    }

    /// Handles the return of a node that the engine reports.
    pub(super) fn node_returned(&mut self, node: NodeId) -> Result<(), RunError> {
        self.lost.0.remove(&node);
        self.come_back(node, "")
    }

    /// Begins an injected loss of a node.
    pub(super) fn lose(&mut self, loss: usize) -> Result<(), RunError> {
        if !self.is_open() {
            return Ok(());
        }
        let Some((node, back)) = self.faults.lose(loss, self.engine.now()) else { return Ok(()) };
        self.follower.message(&format!("node {} is lost (fault injection)", self.node_name(node)));
        self.leave(node)?;
        self.deadlines.push(back, Deadline::Return(loss));
        Ok(())
    }

    /// Ends an injected loss of a node, once all attempts that ran there have ended.
    pub(super) fn bring_back(&mut self, loss: usize) -> Result<(), RunError> {
        let now = self.engine.now();
        let Some(node) = self.faults.is_over(loss, now) else { return Ok(()) };
        if self.attempts.iter().any(|(_, running)| running.node == node) {
            self.deadlines.push(now + FIRST_POLL, Deadline::Return(loss));
            return Ok(());
        }
        self.come_back(node, " (fault injection)")
    }

    /// Takes a node out of the cluster and kills its attempts.
    fn leave(&mut self, node: NodeId) -> Result<(), RunError> {
        let is_up = self.session.cluster().node(node).is_some_and(hindmost_core::cluster::Node::is_up);
        if is_up && self.is_open() {
            self.happen(&Event::NodeLost { node })?;
        }
        for attempt in self.kill_matching(Kill::NodeLost, |_, running| running.node == node) {
            self.check_given_up(attempt.task)?;
        }
        Ok(())
    }

    /// Returns a node to the cluster, unless it is lost for another reason too.
    fn come_back(&mut self, node: NodeId, how: &str) -> Result<(), RunError> {
        let is_down = self.session.cluster().node(node).is_some_and(|node| !node.is_up());
        let is_lost = self.lost.0.contains(&node) || self.faults.is_lost(node, self.engine.now());
        if is_down && !is_lost && self.is_open() {
            self.follower.message(&format!("node {} has returned{how}", self.node_name(node)));
            self.happen(&Event::NodeReturned { node })?;
        }
        Ok(())
    }
}
