//! Learns the speeds of nodes from the paces of attempts.

use hindmost_core::ids::NodeId;
use hindmost_core::time::Time;

use super::median_of_sorted;

/// Pace, relative to the phases' medians, below which a node is slow.
const SLOW: f64 = 0.67;
/// Number of paces of ended attempts that are kept for each node.
const REMEMBERED: usize = 6;
/// Time without an attempt on a slow node, in median durations, after which the node counts as normal again.
const SILENCE: f64 = 10.0;
/// Least time without an attempt on a slow node, in seconds, before the node counts as normal again.
const LEAST_SILENCE: f64 = 10.0;

/// The paces of attempts on one node, and the speed that follows from them.
#[derive(Clone)]
pub(super) struct NodeSamples {
    /// Paces of the last ended attempts, relative to their phases' medians.
    ended: Vec<f64>,
    /// Speed of the node; 1 unless it is slow.
    pub(super) speed: f64,
    /// When an attempt on the slow node was last observed.
    observed: Time,
}

impl Default for NodeSamples {
    fn default() -> NodeSamples {
        NodeSamples { ended: Vec::new(), speed: 1.0, observed: Time::ZERO }
    }
}

impl NodeSamples {
    /// Adds the paces of an attempt that has ended.
    pub(super) fn ended(&mut self, paces: Vec<f64>) {
        self.ended.extend(paces);
        let forgotten = self.ended.len().saturating_sub(REMEMBERED);
        self.ended.drain(..forgotten);
    }

    /// Returns the node's speed if it has changed. `pace` is the node's pace compared with the other nodes, `None` if too
    /// little is known. `is_observed` is true if an attempt runs on the node. `longest` is the longest median duration of all phases, in seconds.
    pub(super) fn learned(&mut self, pace: Option<f64>, now: Time, is_observed: bool, longest: f64) -> Option<f64> {
        if is_observed || self.speed == 1.0 {
            self.observed = now;
        }
        let silence = Time::from_seconds((SILENCE * longest).max(LEAST_SILENCE));
        let speed = if self.speed < 1.0 && now - self.observed > silence {
            self.ended.clear();
            self.observed = now;
            1.0
        } else {
            pace.map_or(self.speed, |pace| if pace < SLOW { pace.max(0.01) } else { 1.0 })
        };
        let is_new = (speed == 1.0) != (self.speed == 1.0) || !(0.75..=1.34).contains(&(speed / self.speed));
        if is_new {
            self.speed = speed;
        }
        is_new.then_some(speed)
    }
}

/// Returns for each node the sorted paces of its running attempts and of the last attempts that ended there.
pub(super) fn node_paces(nodes: &[NodeSamples], running: impl Iterator<Item = (NodeId, Vec<f64>)>) -> Vec<Vec<f64>> {
    let mut paces: Vec<Vec<f64>> = nodes.iter().map(|known| known.ended.clone()).collect();
    for (node, evidence) in running {
        if let Some(of_node) = paces.get_mut(node.0 as usize) {
            of_node.extend(evidence);
        }
    }
    for of_node in &mut paces {
        of_node.sort_unstable_by(f64::total_cmp);
    }
    paces
}

/// Returns each node's median pace. If the other nodes are behind too, the pace is relative to their median, because in
/// that case the tasks take longer. `None` for a node with too few samples.
pub(super) fn relative_paces(paces: &[Vec<f64>]) -> Vec<Option<f64>> {
    let medians: Vec<Option<f64>> = paces.iter().map(|of_node| median_of_sorted(of_node)).collect();
    let mut sorted: Vec<f64> = medians.iter().copied().flatten().collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let relative = paces.iter().zip(medians).map(|(of_node, median)| {
        let others = median_of_others(&sorted, median).unwrap_or(1.0).min(1.0);
        median.filter(|_| of_node.len() >= 2 && paces.len() > 1).map(|pace| pace / others)
    });
    relative.collect()
}

/// Returns the median of sorted values, without the value `own` if it is given.
pub(super) fn median_of_others(sorted: &[f64], own: Option<f64>) -> Option<f64> {
    let Some(own) = own else { return median_of_sorted(sorted) };
    let left_out = sorted.partition_point(|value| *value < own);
    let at = |rank: usize| sorted.get(if rank < left_out { rank } else { rank + 1 }).copied();
    let count = sorted.len().checked_sub(1).filter(|count| *count > 0)?;
    Some(f64::midpoint(at((count - 1) / 2)?, at(count / 2)?))
}
