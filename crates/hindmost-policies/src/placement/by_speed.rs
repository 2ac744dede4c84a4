//! Placement by speed (`pace`, ours): a task goes to the fastest node with room, and to a slow one only if it is expected to
//! be done there before the other nodes have come to it.

use hindmost_core::cluster::Cluster;
use hindmost_core::ids::{NodeId, TaskId};
use hindmost_core::resources::Resources;

/// What the nodes that are not slow have in all, for the demands met so far.
#[derive(Debug)]
pub(crate) struct GoodNodes {
    /// Speed below which a node is slow, relative to 1.
    slow: f64,
    /// By demand, copies that they have capacity for; known as of so many changes of nodes.
    capacity: Vec<(Resources, u64)>,
    as_of: u64,
}

impl GoodNodes {
    /// Nodes below this speed, relative to 1, are slow.
    pub(crate) fn above(slow: f64) -> GoodNodes {
        GoodNodes { slow, capacity: Vec::new(), as_of: 0 }
    }

    /// Returns how many times the nodes that are not slow must be filled for all that is pending of a task's job, in
    /// copies like this one; `None` if there are no such nodes.
    pub(crate) fn waves(&mut self, task: TaskId, cluster: &Cluster) -> Option<f64> {
        let (phase, job) = (cluster.phase(task)?, cluster.job(task.job)?);
        let capacity = self.capacity(phase.demand(), cluster);
        (capacity > 0).then(|| f64::from(job.runnable()) / capacity as f64)
    }

    fn capacity(&mut self, demand: &Resources, cluster: &Cluster) -> u64 {
        if self.as_of != cluster.node_changes() {
            self.as_of = cluster.node_changes();
            self.capacity.clear();
        }
        if let Some((_, known)) = self.capacity.iter().find(|(known, _)| known == demand) {
            return *known;
        }
        let good = cluster.nodes().iter().filter(|node| node.is_up() && node.speed() >= self.slow);
        let capacity = good.map(|node| node.capacity().times(demand)).fold(0, u64::saturating_add);
        self.capacity.push((*demand, capacity));
        capacity
    }

    /// Returns the node on which a pending task is started now; `None` if nothing fits, or it better waits for a faster
    /// node: with p tasks pending, room for c copies on nodes that are not slow, and speed s, if 1/s > 1 + p/c.
    pub(crate) fn place(&mut self, task: TaskId, cluster: &Cluster) -> Option<NodeId> {
        let node = cluster.find_fastest_node(cluster.phase(task)?.demand(), |node, _| !cluster.avoids(task, node))?;
        let speed = cluster.node(node)?.speed();
        // Waiting must not be for ever: while nothing runs nothing would end the wait.
        if speed >= self.slow || cluster.living_attempts() == 0 {
            return Some(node);
        }
        let pays = self.waves(task, cluster).is_none_or(|waves| 1.0 / speed <= 1.0 + waves);
        pays.then_some(node)
    }
}
