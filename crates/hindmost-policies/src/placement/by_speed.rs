//! Placement by speed (`pace`, ours): a task goes to the fastest node with room, and to a slow one only if it is expected to
//! be done there before the other nodes have come to it.

use hindmost_core::cluster::{Cluster, Node};
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

    /// Returns the node on which a pending task is started now: the fastest on which it fits, unless it
    /// [waits for a faster one](GoodNodes::should_wait).
    pub(crate) fn place(&mut self, task: TaskId, cluster: &Cluster) -> Option<NodeId> {
        let demand = cluster.phase(task)?.demand();
        let node = cluster.find_fastest_node(demand, |node, _| !cluster.avoids(task, node))?;
        (!self.should_wait(demand, cluster.node(node)?.speed(), cluster)).then_some(node)
    }

    /// True if no pending copy with this demand is to be started on any open node now: the fastest of them is slow.
    pub(crate) fn all_should_wait(&mut self, demand: &Resources, cluster: &Cluster) -> bool {
        let speed = cluster.find_fastest_node(demand, |_, _| true).and_then(|node| cluster.node(node)).map(Node::speed);
        speed.is_some_and(|speed| self.should_wait(demand, speed, cluster))
    }

    /// True if a pending copy better waits for a faster node than one of this speed s: with p tasks pending in all jobs, and
    /// room for c copies on nodes that are not slow, if 1/s > 1 + p/c.
    fn should_wait(&mut self, demand: &Resources, speed: f64, cluster: &Cluster) -> bool {
        // Waiting must not be for ever: while nothing runs nothing would end the wait.
        if speed >= self.slow || cluster.running_attempts() == 0 {
            return false;
        }
        let capacity = self.capacity(demand, cluster);
        capacity > 0 && 1.0 / speed > 1.0 + cluster.runnable() as f64 / capacity as f64
    }
}
