//! The faults that `--chaos` injects into a run, and when they happen.
//!
//! Invariant: if several losses of one node overlap, the node returns when the last of these losses is over.

use hindmost_core::ids::{AttemptId, NodeId};
use hindmost_core::time::Time;
use rustc_hash::FxHashMap;

use crate::chaos::Chaos;

/// The faults of a run.
pub(super) struct FaultInjection<'a> {
    chaos: &'a Chaos,
    /// Names of the nodes, by id.
    nodes: Vec<String>,
    /// The time at which each lost node returns.
    returns: FxHashMap<NodeId, Time>,
}

impl<'a> FaultInjection<'a> {
    /// Creates the faults of a run. `nodes` are the names of the nodes, by id.
    pub(super) fn new(chaos: &'a Chaos, nodes: Vec<String>) -> FaultInjection<'a> {
        FaultInjection { chaos, nodes, returns: FxHashMap::default() }
    }

    /// Returns the begin and the index of each loss, in a process that begins or resumes the run at `from`.
    pub(super) fn losses(&self, from: Time) -> impl Iterator<Item = (Time, usize)> {
        self.chaos.lose.iter().enumerate().map(move |(index, loss)| (from + loss.at, index))
    }

    /// Returns by what factor attempts on a node take longer; 1 if they do not.
    pub(super) fn slowed(&self, node: NodeId) -> f64 {
        self.nodes.get(node.0 as usize).map_or(1.0, |name| self.chaos.slowed(name))
    }

    /// Returns the time from an attempt's start to its kill, if a copy typically takes `typical` seconds; `None` if the
    /// attempt is not killed.
    pub(super) fn killed_after(&self, attempt: AttemptId, typical: f64) -> Option<Time> {
        self.chaos.killed_after(attempt, typical)
    }

    /// Begins the loss with this index. Returns the node, and the time at which this loss is over.
    pub(super) fn lose(&mut self, index: usize, now: Time) -> Option<(NodeId, Time)> {
        let (node, duration) = self.node_of(index)?;
        let back = now + duration;
        let until = self.returns.entry(node).or_insert(back);
        *until = back.max(*until);
        Some((node, back))
    }

    /// Returns the node of the loss with this index; `None` if another loss of the node is not over yet.
    pub(super) fn is_over(&self, index: usize, now: Time) -> Option<NodeId> {
        let (node, _) = self.node_of(index)?;
        self.returns.get(&node).is_none_or(|until| *until <= now).then_some(node)
    }

    /// True if a loss of the node is not over yet.
    pub(super) fn is_lost(&self, node: NodeId, now: Time) -> bool {
        self.returns.get(&node).is_some_and(|until| *until > now)
    }

    fn node_of(&self, index: usize) -> Option<(NodeId, Time)> {
        let loss = self.chaos.lose.get(index)?;
        let at = self.nodes.iter().position(|name| *name == loss.node)?;
        Some((NodeId(at as u32), loss.duration))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_returns_when_its_last_loss_is_over() {
        let chaos = "lose=n2:1s@1s,lose=n2:15s@1.5s,slow=n1:3".parse().unwrap();
        let mut faults = FaultInjection::new(&chaos, vec!["n1".to_owned(), "n2".to_owned()]);
        let at = Time::from_seconds;
        assert_eq!(faults.losses(at(10.0)).collect::<Vec<_>>(), [(at(11.0), 0), (at(11.5), 1)]);
        assert_eq!(faults.lose(0, at(11.0)), Some((NodeId(1), at(12.0))));
        assert_eq!(faults.lose(1, at(11.5)), Some((NodeId(1), at(26.5))));
        assert_eq!(faults.is_over(0, at(12.0)), None);
        assert_eq!(faults.is_over(1, at(26.5)), Some(NodeId(1)));
        assert_eq!(faults.lose(2, at(1.0)), None);
        assert_eq!((faults.slowed(NodeId(0)), faults.slowed(NodeId(1))), (3.0, 1.0));
    }
}
