//! The index of a phase's tasks by the location of their input. It finds the task that a node should take.

use std::cell::Cell;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::ids::{JobId, NodeId, TaskId};
use crate::workload::PhaseSpec;

use super::task::Task;
use super::{Cluster, Node};

/// The tasks of a phase whose input is on one node or in one rack, by index. A task whose input has several replicas is
/// in several lists.
#[derive(Clone, Debug, Default)]
struct TaskList {
    tasks: Vec<u32>,
    /// Number of leading tasks of the list that were started, withheld or finished before the job arrived. Searches skip
    /// them.
    from: Cell<u32>,
}

impl TaskList {
    fn add(&mut self, task: u32) {
        if self.tasks.last() != Some(&task) {
            self.tasks.push(task);
        }
    }

    /// Returns the first pending task that was never started.
    fn first_new(&self, tasks: &[Task]) -> Option<u32> {
        let begin = self.from.get() as usize;
        let task = |index: &u32| tasks.get(*index as usize).filter(|task| task.launched() == 0);
        let is_new = |index: &u32| task(index).is_some_and(Task::is_pending);
        let may_become_new = |index: &u32| task(index).is_some_and(|task| task.is_pending() || task.is_blocked());
        let skip = self.tasks[begin..].iter().position(may_become_new).unwrap_or(self.tasks.len() - begin);
        self.from.set((begin + skip) as u32);
        self.tasks[begin + skip..].iter().copied().find(is_new)
    }
}

/// The tasks of a phase by the nodes and racks that hold their input.
#[derive(Clone, Debug, Default)]
pub(super) struct TasksByInput {
    by_node: FxHashMap<NodeId, TaskList>,
    by_rack: FxHashMap<Option<Arc<str>>, TaskList>,
}

impl TasksByInput {
    /// Builds the index of a phase; `None` if no task has input whose location is known.
    pub(super) fn of(spec: &PhaseSpec, nodes: &[Node]) -> Option<TasksByInput> {
        let replicas = &spec.input.as_ref()?.replicas;
        if replicas.iter().all(Vec::is_empty) {
            return None;
        }
        let mut found = TasksByInput::default();
        for (index, on) in (0..).zip(replicas) {
            for node in on {
                found.by_node.entry(*node).or_default().add(index);
                if let Some(node) = nodes.get(node.0 as usize) {
                    found.by_rack.entry(node.rack.clone()).or_default().add(index);
                }
            }
        }
        Some(found)
    }

    /// Returns the first unfinished, never started task whose input is on the node. If there is none, returns the first
    /// one whose input is in the node's rack.
    fn first_new(&self, id: NodeId, node: &Node, tasks: &[Task]) -> Option<u32> {
        let here = self.by_node.get(&id).and_then(|list| list.first_new(tasks));
        here.or_else(|| self.by_rack.get(&node.rack).and_then(|list| list.first_new(tasks)))
    }
}

impl Cluster {
    /// Returns the pending task of an open phase that a node should take; `None` if there is none. Usually this is the
    /// first pending task of [`Job::next_runnable`](super::Job::next_runnable), without tasks to be retried that avoid
    /// the node ([`Cluster::avoids`]). But if that task was never started, a task that was never started either and has
    /// input on the node, or else in the node's rack, is preferred.
    pub fn pending_task_for(&self, job: JobId, phase: u32, node: NodeId) -> Option<TaskId> {
        let found = self.job(job)?;
        let first = found.next_runnable(|at| at == phase, |task| !self.avoids(task, node))?;
        let phase = self.phase(first)?;
        let Some(by_input) =
            phase.by_input.as_ref().filter(|_| self.task(first).is_some_and(|task| task.launched() == 0))
        else {
            return Some(first);
        };
        let nearest = by_input.first_new(node, self.node(node)?, &phase.tasks);
        Some(nearest.map_or(first, |index| TaskId { index, ..first }))
    }

    /// Returns the tasks of a phase whose input is on a node, by index. There are none if the location of the input is
    /// unknown.
    pub fn tasks_with_input_on(&self, job: JobId, phase: u32, node: NodeId) -> impl Iterator<Item = TaskId> + '_ {
        let by_input = self.phase(TaskId { job, phase, index: 0 }).and_then(|phase| phase.by_input.as_ref());
        let list = by_input.and_then(|by_input| by_input.by_node.get(&node));
        list.into_iter().flat_map(|list| &list.tasks).map(move |index| TaskId { job, phase, index: *index })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Placement;
    use super::super::locality::tests::cluster as cluster_of;
    use super::*;
    use crate::ids::AttemptId;
    use crate::record::{Decision, Event};
    use crate::time::Time;

    /// Returns a cluster of six machines, the first four in racks a, a, b and b, with a job of one task per entry of
    /// `replicas`. Each entry lists the nodes that hold the task's input.
    fn cluster(replicas: &[&[u32]]) -> Cluster {
        cluster_of(Placement::First, replicas)
    }

    fn start(cluster: &mut Cluster, task: TaskId, node: u32) {
        let attempt = cluster.next_copy(task).unwrap();
        let decision = Decision::Start { attempt, node: NodeId(node), from_progress: 0.0 };
        cluster.apply_decision(Time::ZERO, &decision).unwrap();
    }

    fn next_tasks(cluster: &Cluster) -> [Option<u32>; 4] {
        [0, 1, 2, 3].map(|node| cluster.pending_task_for(JobId(0), 0, NodeId(node)).map(|task| task.index))
    }

    #[test]
    fn a_node_takes_the_nearest_task() {
        let mut cluster = cluster(&[&[2], &[], &[0], &[0, 3], &[2]]);
        assert_eq!(next_tasks(&cluster), [Some(2), Some(2), Some(0), Some(3)]);
        start(&mut cluster, TaskId { job: JobId(0), phase: 0, index: 2 }, 0);
        assert_eq!(next_tasks(&cluster), [Some(3), Some(3), Some(0), Some(3)]);
        start(&mut cluster, TaskId { job: JobId(0), phase: 0, index: 3 }, 3);
        // No unstarted task has its input in rack a, so its nodes 0 and 1 take the first task.
        assert_eq!(next_tasks(&cluster), [Some(0), Some(0), Some(0), Some(0)]);
        start(&mut cluster, TaskId { job: JobId(0), phase: 0, index: 0 }, 2);
        assert_eq!(next_tasks(&cluster), [Some(1), Some(1), Some(4), Some(4)]);
        let on = |node| cluster.tasks_with_input_on(JobId(0), 0, NodeId(node)).map(|task| task.index);
        assert_eq!(on(2).collect::<Vec<_>>(), [0, 4]);
        assert_eq!(on(1).count(), 0);
    }

    #[test]
    fn every_pending_task_is_taken_once() {
        let mut cluster = cluster(&[&[1], &[1], &[0]]);
        let task = |index| TaskId { job: JobId(0), phase: 0, index };
        start(&mut cluster, task(2), 0);
        start(&mut cluster, task(1), 1);
        for index in [2, 1] {
            let attempt = AttemptId { task: task(index), copy: 0 };
            cluster.apply_event(Time::ZERO, &Event::AttemptFailed { attempt, reason: None, external: None }).unwrap();
        }
        // Task 0 was never started; tasks 1 and 2 are pending again.
        let mut order = Vec::new();
        for node in 0..3 {
            let next = cluster.pending_task_for(JobId(0), 0, NodeId(node)).unwrap();
            order.push(next.index);
            start(&mut cluster, next, node);
        }
        order.sort_unstable();
        assert_eq!(order, [0, 1, 2]);
        assert_eq!(cluster.pending_task_for(JobId(0), 0, NodeId(3)), None);
    }
}
