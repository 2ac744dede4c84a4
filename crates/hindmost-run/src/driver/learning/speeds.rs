//! How fast nodes go through their work.

use hindmost_core::ids::NodeId;
use hindmost_core::time::Time;

use super::middle_of_sorted;

/// A node below this speed is slow.
const SLOW: f64 = 0.67;
/// Attempts of a node that are remembered.
const REMEMBERED: usize = 6;
/// A slow node that nobody has heard of for so many medians gets another chance …
const SILENCE: f64 = 10.0;
/// … but not before so many seconds.
const LEAST_SILENCE: f64 = 10.0;

/// What is known of one node.
#[derive(Clone)]
pub(super) struct NodeSamples {
    /// Paces of the last attempts that ended, relative to their phases' medians.
    ended: Vec<f64>,
    pub(super) speed: f64,
    heard: Time,
}

impl Default for NodeSamples {
    fn default() -> NodeSamples {
        NodeSamples { ended: Vec::new(), speed: 1.0, heard: Time::ZERO }
    }
}

impl NodeSamples {
    /// An attempt has ended that says this of the node's pace.
    pub(super) fn ended(&mut self, paces: Vec<f64>) {
        self.ended.extend(paces);
        let forgotten = self.ended.len().saturating_sub(REMEMBERED);
        self.ended.drain(..forgotten);
    }

    /// The node's speed, if it is new: its pace compared with the others', where enough is known of it. `longest` is the
    /// longest median of all phases.
    pub(super) fn learned(&mut self, pace: Option<f64>, now: Time, is_heard: bool, longest: f64) -> Option<f64> {
        if is_heard || self.speed == 1.0 {
            self.heard = now;
        }
        let silence = Time::from_seconds((SILENCE * longest).max(LEAST_SILENCE));
        let speed = if self.speed < 1.0 && now - self.heard > silence {
            self.ended.clear();
            self.heard = now;
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

/// Paces of the attempts that run on each node, and of the last ones that ended there, sorted.
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

/// Each node's median pace, relative to the median of the other nodes where these are behind: then it is the tasks that
/// take longer. `None` of a node of which too little is known.
pub(super) fn relative_paces(paces: &[Vec<f64>]) -> Vec<Option<f64>> {
    let medians: Vec<Option<f64>> = paces.iter().map(|of_node| middle_of_sorted(of_node)).collect();
    let mut sorted: Vec<f64> = medians.iter().copied().flatten().collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let relative = paces.iter().zip(medians).map(|(of_node, median)| {
        let others = middle_of_others(&sorted, median).unwrap_or(1.0).min(1.0);
        median.filter(|_| of_node.len() >= 2 && paces.len() > 1).map(|pace| pace / others)
    });
    relative.collect()
}

/// The median of sorted values without one of them, if one is given.
pub(super) fn middle_of_others(sorted: &[f64], own: Option<f64>) -> Option<f64> {
    let Some(own) = own else { return middle_of_sorted(sorted) };
    let left_out = sorted.partition_point(|value| *value < own);
    let at = |rank: usize| sorted.get(if rank < left_out { rank } else { rank + 1 }).copied();
    let count = sorted.len().checked_sub(1).filter(|count| *count > 0)?;
    Some(f64::midpoint(at((count - 1) / 2)?, at(count / 2)?))
}
