//! Locality: how near a node is to the input of a task.

use std::cmp::Reverse;

use crate::ids::{NodeId, TaskId};
use crate::resources::Resources;

use super::{Cluster, Node};

/// How near a node is to a task's input, in ascending order of distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Locality {
    /// The node holds a replica.
    Node,
    /// A node of the same rack holds a replica.
    Rack,
    /// Only nodes of other racks hold replicas.
    Remote,
    /// The location of the input is unknown, or the task has no input.
    Unknown,
}

impl Cluster {
    /// Returns the nodes that hold a replica of a task's input; empty if they are unknown.
    #[inline]
    pub fn replicas(&self, task: TaskId) -> &[NodeId] {
        let job = self.job(task.job);
        // Most phases have no such input; the specification is read only for those that do.
        let located =
            job.filter(|job| job.phases.get(task.phase as usize).is_some_and(|phase| phase.by_input.is_some()));
        let spec = located.and_then(|job| job.spec().phases.get(task.phase as usize));
        let input = spec.and_then(|phase| phase.input.as_ref());
        input.and_then(|input| input.replicas.get(task.index as usize)).map_or(&[], Vec::as_slice)
    }

    /// Returns how near a node is to a task's input.
    pub fn locality(&self, task: TaskId, node: NodeId) -> Locality {
        let replicas = self.replicas(task);
        match self.node(node) {
            _ if replicas.is_empty() => Locality::Unknown,
            None => Locality::Unknown,
            Some(_) if replicas.contains(&node) => Locality::Node,
            Some(found) if self.shares_rack(found, replicas) => Locality::Rack,
            Some(_) => Locality::Remote,
        }
    }

    /// Returns true if a node of `others` is in the same rack as `node`.
    fn shares_rack(&self, node: &Node, others: &[NodeId]) -> bool {
        others.iter().any(|other| self.node(*other).is_some_and(|other| other.rack == node.rack))
    }

    /// Returns a node that is as near to a task's input as possible. It chooses like [`Cluster::find_node`]: first
    /// among the nodes that hold a replica, then among the nodes of the same racks, then among all nodes. If the
    /// location of the input is unknown, it chooses among all nodes. `None` if the demand fits on no allowed node.
    pub fn find_nearest_node(
        &self,
        task: TaskId,
        demand: &Resources,
        allowed: impl Fn(NodeId, &Node) -> bool,
    ) -> Option<NodeId> {
        let replicas = self.replicas(task);
        if replicas.is_empty() {
            return self.find_node(task, demand, allowed);
        }
        let mut best = None;
        for id in replicas.iter().copied() {
            let fitting = self.node(id).filter(|node| self.next_fitting(id, demand) == Some(id) && allowed(id, node));
            let Some(node) = fitting else { continue };
            let found = (self.preference(task, id, node), Reverse(id));
            best = best.max(Some(found));
        }
        best.map(|(_, Reverse(id))| id)
            .or_else(|| self.find_node(task, demand, |id, node| self.shares_rack(node, replicas) && allowed(id, node)))
            .or_else(|| self.find_node(task, demand, &allowed))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;

    use super::super::Placement;
    use super::*;
    use crate::ids::JobId;
    use crate::record::{Decision, Event};
    use crate::resources::Dimensions;
    use crate::time::Time;
    use crate::workload::{InputSpec, JobSpec, PhaseSpec};

    /// The rack of each machine.
    const RACKS: [Option<&str>; 6] = [Some("a"), Some("a"), Some("b"), Some("b"), None, None];

    /// Returns a cluster of six one-slot machines in [`RACKS`], with a job of one task per entry of `replicas`. Each
    /// entry lists the nodes that hold the task's input.
    pub(in crate::cluster) fn cluster(placement: Placement, replicas: &[&[u32]]) -> Cluster {
        let mut cluster = Cluster::new(Dimensions::one_slot()).with_placement(placement, 1);
        for (at, rack) in RACKS.iter().enumerate() {
            let (name, rack) = (at.to_string().into(), rack.map(Into::into));
            let node = NodeId(at as u32);
            let joined = Event::NodeJoined { node, name, capacity: Resources::ONE_SLOT, speed: 1.0, rack, power: None };
            cluster.apply_event(Time::ZERO, &joined).unwrap();
        }
        let replicas: Vec<Vec<NodeId>> =
            replicas.iter().map(|nodes| nodes.iter().copied().map(NodeId).collect()).collect();
        let tasks = replicas.len();
        let input = Some(InputSpec { bytes: vec![1; tasks], replicas });
        let phase = PhaseSpec { input, ..PhaseSpec::new("tasks", tasks as u32, 1.0) };
        let spec = JobSpec::new("job", vec![phase]);
        cluster.apply_event(Time::ZERO, &Event::JobArrived { job: JobId(0), spec: Arc::new(spec) }).unwrap();
        cluster
    }

    fn task(index: u32) -> TaskId {
        TaskId { job: JobId(0), phase: 0, index }
    }

    #[test]
    fn locality_is_by_node_then_by_rack() {
        use Locality::{Node, Rack, Remote, Unknown};

        let cluster = cluster(Placement::First, &[&[1], &[1, 2], &[5], &[]]);
        let all = |index| (0..6).map(|node| cluster.locality(task(index), NodeId(node))).collect::<Vec<_>>();
        assert_eq!(all(0), [Rack, Node, Remote, Remote, Remote, Remote]);
        assert_eq!(all(1), [Rack, Node, Node, Rack, Remote, Remote]);
        // Nodes without a rack count as one rack.
        assert_eq!(all(2), [Remote, Remote, Remote, Remote, Rack, Node]);
        assert_eq!(all(3), [Unknown; 6]);
        assert_eq!(cluster.locality(task(9), NodeId(0)), Unknown);
        assert_eq!(cluster.locality(task(0), NodeId(9)), Unknown);
        assert!(Node < Rack && Rack < Remote && Remote < Unknown);
    }

    #[test]
    fn the_nearest_node_that_fits_is_found() {
        for placement in [Placement::First, Placement::Spread, Placement::Fastest] {
            let mut cluster = cluster(placement, &[&[3, 1], &[], &[]]);
            let mut found = Vec::new();
            for copy in 0..6 {
                let demand = Resources::ONE_SLOT;
                let node = cluster.find_nearest_node(task(0), &demand, |_, _| true).unwrap();
                found.push(node.0);
                let attempt = crate::ids::AttemptId { task: task(0), copy };
                let start = Decision::Start { attempt, node, from_progress: 0.0 };
                cluster.apply_decision(Time::ZERO, &start).unwrap();
            }
            // First the nodes with replicas by id, then the other nodes of their racks, then all others.
            assert_eq!(found, [1, 3, 0, 2, 4, 5]);
            assert_eq!(cluster.find_nearest_node(task(0), &Resources::ONE_SLOT, |_, _| true), None);
        }
    }

    #[test]
    fn only_allowed_nodes_are_taken() {
        let cluster = cluster(Placement::First, &[&[3, 1], &[]]);
        let find = |task, not: &[u32]| {
            cluster.find_nearest_node(task, &Resources::ONE_SLOT, |node, _| !not.contains(&node.0)).map(|node| node.0)
        };
        assert_eq!(find(task(0), &[1]), Some(3));
        assert_eq!(find(task(0), &[1, 3, 0]), Some(2));
        assert_eq!(find(task(0), &[0, 1, 2, 3]), Some(4));
        // The location of task 1's input is unknown, so the first allowed node is returned.
        assert_eq!(find(task(1), &[0]), Some(1));
    }
}
