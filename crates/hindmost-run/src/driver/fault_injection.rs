//! The faults that `--chaos` injects into a run, and when they happen.
//!
//! Invariant: a node that several losses take away returns when the last of them is over.

use hindmost_core::ids::{AttemptId, NodeId};
use hindmost_core::time::Time;
use rustc_hash::FxHashMap;

use crate::chaos::Chaos;

/// The faults of a run.
pub(super) struct FaultInjection<'a> {
    chaos: &'a Chaos,
    /// Names of the nodes, by id.
    nodes: Vec<String>,
    /// Until when each lost node stays away.
    away: FxHashMap<NodeId, Time>,
}

impl<'a> FaultInjection<'a> {
    /// Creates the faults of a run on these nodes, given by id.
    pub(super) fn new(chaos: &'a Chaos, nodes: Vec<String>) -> FaultInjection<'a> {
        FaultInjection { chaos, nodes, away: FxHashMap::default() }
    }

    /// Returns when each loss of a node begins, and its number, in a process that begins or resumes the run at `from`.
    pub(super) fn losses(&self, from: Time) -> impl Iterator<Item = (Time, usize)> {
        self.chaos.lose.iter().enumerate().map(move |(number, loss)| (from + loss.at, number))
    }

    /// Returns by what factor attempts on a node take longer; 1 if they do not.
    pub(super) fn slowed(&self, node: NodeId) -> f64 {
        self.nodes.get(node.0 as usize).map_or(1.0, |name| self.chaos.slowed(name))
    }

    /// Returns how long after its start an attempt is killed, if a copy typically takes `typical` seconds; `None` if it is
    /// not killed.
    pub(super) fn killed_after(&self, attempt: AttemptId, typical: f64) -> Option<Time> {
        self.chaos.killed_after(attempt, typical)
    }

    /// Begins a loss. Returns the node, and when it returns.
    pub(super) fn lose(&mut self, number: usize, now: Time) -> Option<(NodeId, Time)> {
        let (node, away) = self.node_of(number)?;
        let back = now + away;
        let until = self.away.entry(node).or_insert(back);
        *until = back.max(*until);
        Some((node, back))
    }

    /// Ends a loss. Returns the node, unless another loss keeps it away for longer.
    pub(super) fn is_over(&self, number: usize, now: Time) -> Option<NodeId> {
        let (node, _) = self.node_of(number)?;
        self.away.get(&node).is_none_or(|until| *until <= now).then_some(node)
    }

    fn node_of(&self, number: usize) -> Option<(NodeId, Time)> {
        let loss = self.chaos.lose.get(number)?;
        let at = self.nodes.iter().position(|name| *name == loss.node)?;
        Some((NodeId(at as u32), loss.away))
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
