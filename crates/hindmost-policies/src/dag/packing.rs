//! Finds nodes for tasks and measures how well they pack there, for passes that compare phases by packing.

use hindmost_core::cluster::{Cluster, Node};
use hindmost_core::ids::{JobId, NodeId, TaskId};
use hindmost_core::resources::Resources;

use crate::placement::candidates_by_level::without_rounding;

/// Returns the alignment of a demand with a node: the inner product of the demand and the node's free resources, both
/// as shares of the node's capacity (Tetris; Grandl et al., SIGCOMM 2014).
pub(crate) fn alignment(demand: &Resources, node: &Node) -> f64 {
    let dimensions = demand.0.iter().zip(&node.free().0).zip(&node.capacity().0);
    let there = dimensions.filter(|(_, capacity)| **capacity > 0);
    let product = |((need, free), capacity): ((&u64, &u64), &u64)| {
        (*need as f64 / *capacity as f64) * (*free as f64 / *capacity as f64)
    };
    without_rounding(there.map(product).sum())
}

/// A task and a node on which it can start now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    pub task: TaskId,
    pub node: NodeId,
    /// The alignment of the task's demand with the node.
    pub alignment: f64,
}

/// Maximum length of [`Fitter::failed`]. Beyond it, a round tries only tasks that have not failed.
const MOST_FAILED: usize = 16;

/// Finds nodes for tasks and remembers, for one round, which demands fit nowhere. In a round, free resources only
/// shrink.
#[derive(Debug, Default)]
pub(crate) struct Fitter {
    /// Demands that fit on no node. Demands that are larger than another one of them are left out.
    nowhere: Vec<Resources>,
    /// Tasks that have failed before, on nodes that they now avoid, and fit on no other node now.
    failed: Vec<TaskId>,
}

impl Fitter {
    /// Returns a pending task of an open phase and the node that the cluster's placement chooses for it; `None` if no
    /// task of the phase fits anywhere.
    pub fn offer(&mut self, cluster: &Cluster, job: JobId, phase: u32) -> Option<Offer> {
        let found = cluster.job(job)?;
        let demand = found.phases().get(phase as usize)?.demand();
        if self.nowhere.iter().any(|nowhere| nowhere.fits(demand)) {
            return None;
        }
        loop {
            // A round tries each task that has failed before only once, and only a limited number of such tasks.
            let again = |task| self.failed.len() < MOST_FAILED && !self.failed.contains(&task);
            let task = found.next_runnable(|at| at == phase, again)?;
            if let Some(node) = cluster.find_nearest_node(task, demand, |node, _| !cluster.avoids(task, node)) {
                let alignment = cluster.node(node).map_or(0.0, |node| alignment(demand, node));
                return Some(Offer { task, node, alignment });
            }
            if !cluster.has_failed(task) {
                self.nowhere.retain(|nowhere| !demand.fits(nowhere));
                self.nowhere.push(*demand);
                return None;
            }
            self.failed.push(task);
        }
    }
}
