//! Placement by speed (part of `pace`): a task goes to the fastest node with free resources. It goes to a slow node
//! only if it is expected to end there before a node that is not slow could take it.

use hindmost_core::cluster::{Cluster, Node};
use hindmost_core::ids::{NodeId, TaskId};
use hindmost_core::resources::Resources;

/// The total capacity of the nodes that are not slow, by demand.
#[derive(Debug)]
pub(crate) struct GoodNodes {
    /// Speed below which a node is slow, relative to 1.
    slow: f64,
    /// The number of copies that fit on all nodes that are not slow when these nodes are empty, by demand.
    capacity: Vec<(Resources, u64)>,
    /// The value of `Cluster::node_changes` for which `capacity` is valid.
    as_of: u64,
}

impl GoodNodes {
    /// Creates the index. Nodes below the speed `slow` are slow; 1 is the normal speed.
    pub(crate) fn above(slow: f64) -> GoodNodes {
        GoodNodes { slow, capacity: Vec::new(), as_of: 0 }
    }

    /// Returns p/c for a task's job, where p tasks of the job are pending and c copies with the task's demand fit on the
    /// nodes that are not slow: these nodes must be filled this many times. `None` if c is 0.
    pub(crate) fn waves(&mut self, task: TaskId, cluster: &Cluster) -> Option<f64> {
        let (phase, job) = (cluster.phase(task)?, cluster.job(task.job)?);
        let capacity = self.capacity(phase.demand(), cluster);
        (capacity > 0).then(|| f64::from(job.runnable()) / capacity as f64)
    }

    /// Returns how many copies with a demand fit on all nodes that are not slow when these nodes are empty.
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

    /// Returns the fastest node on which a pending task fits now; `None` if there is none, or if the task
    /// [should wait](GoodNodes::should_wait) for a faster one.
    pub(crate) fn place(&mut self, task: TaskId, cluster: &Cluster) -> Option<NodeId> {
        let demand = cluster.demand(task)?;
        let node = cluster.find_fastest_node(demand, |node, _| !cluster.avoids(task, node))?;
        (!self.should_wait(demand, cluster.node(node)?.speed(), cluster)).then_some(node)
    }

    /// Returns true if a pending copy with this demand should wait for a node that is faster than all nodes on which it
    /// fits now. Returns false if it fits nowhere.
    pub(crate) fn all_should_wait(&mut self, demand: &Resources, cluster: &Cluster) -> bool {
        let speed = cluster.find_fastest_node(demand, |_, _| true).and_then(|node| cluster.node(node)).map(Node::speed);
        speed.is_some_and(|speed| self.should_wait(demand, speed, cluster))
    }

    /// Returns true if a pending copy should not start on a slow node of this speed s but wait for a faster one: if
    /// 1/s > 1 + p/c, where p tasks are pending in all jobs and c copies fit on the nodes that are not slow.
    fn should_wait(&mut self, demand: &Resources, speed: f64, cluster: &Cluster) -> bool {
        // If no attempt runs, no event will follow that could end the wait.
        if speed >= self.slow || cluster.running_attempts() == 0 {
            return false;
        }
        let capacity = self.capacity(demand, cluster);
        capacity > 0 && 1.0 / speed > 1.0 + cluster.runnable() as f64 / capacity as f64
    }
}
