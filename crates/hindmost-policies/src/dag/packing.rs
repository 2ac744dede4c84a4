//! Tasks and the nodes that they fit on, for passes that choose among phases by how well they pack.

use hindmost_core::cluster::{Cluster, Node};
use hindmost_core::ids::{JobId, NodeId, TaskId};
use hindmost_core::resources::Resources;

use crate::placement::candidates_by_level::without_rounding;

/// How well a demand goes with what is free on a node: their inner product, in shares of the node's
/// capacity (Tetris' alignment; Grandl et al., SIGCOMM 2014).
pub(crate) fn alignment(demand: &Resources, node: &Node) -> f64 {
    let dimensions = demand.0.iter().zip(&node.free().0).zip(&node.capacity().0);
    let there = dimensions.filter(|(_, capacity)| **capacity > 0);
    let product = |((need, free), capacity): ((&u64, &u64), &u64)| {
        (*need as f64 / *capacity as f64) * (*free as f64 / *capacity as f64)
    };
    without_rounding(there.map(product).sum())
}

/// A task and the node on which it could start now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    pub task: TaskId,
    pub node: NodeId,
    /// Of the task's demand and the node's free room.
    pub alignment: f64,
}

/// Tasks that have failed and are tried in a round without finding a node, at most.
const CHOOSY: usize = 16;

/// Finds nodes for tasks and remembers, for a round in which room only shrinks, what fits nowhere.
#[derive(Debug, Default)]
pub(crate) struct Fitter {
    /// Demands for which there is no room; none of them fits into another.
    nowhere: Vec<Resources>,
    /// Tasks that have failed somewhere and find no other node now.
    choosy: Vec<TaskId>,
}

impl Fitter {
    /// A pending task of an open phase with the node that the cluster's placement gives it, if there is room.
    pub fn offer(&mut self, cluster: &Cluster, job: JobId, phase: u32) -> Option<Offer> {
        let found = cluster.job(job)?;
        let demand = found.phases().get(phase as usize)?.demand();
        if self.nowhere.iter().any(|nowhere| nowhere.fits(demand)) {
            return None;
        }
        loop {
            // Once many were tried in vain, only tasks that have not failed are.
            let again = |task| self.choosy.len() < CHOOSY && !self.choosy.contains(&task);
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
            self.choosy.push(task);
        }
    }
}
