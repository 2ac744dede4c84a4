//! The last non-straggling task that ran on each node, and the durations of copies that follow from it.

use hindmost_core::cluster::{Cluster, Node};
use hindmost_core::ids::{NodeId, TaskId};

use super::PhaseId;
use crate::theory::skyline::{LastTask, copy_duration};

/// The last non-straggling task on a node.
#[derive(Clone, Copy, Debug)]
struct Last {
    phase: PhaseId,
    task: LastTask,
    /// Mean duration of a task of its phase on a node of speed 1 when it ended, seconds.
    mean: f64,
}

/// The last non-straggling task of each node.
#[derive(Debug, Default)]
pub(super) struct History {
    last: Vec<Option<Last>>,
    /// The least duration of a task on a node so far, relative to the mean of its phase.
    least: Option<f64>,
    /// The longest transfer of a last task so far, seconds.
    longest_transfer: f64,
}

/// Time in which a task's input is transferred to a node, seconds; 0 if the node holds it, its size is unknown, or no
/// bandwidth is given.
fn transfer(bandwidth: Option<f64>, task: TaskId, node: NodeId, cluster: &Cluster) -> f64 {
    bandwidth.map_or(0.0, |bandwidth| cluster.transferred_bytes(task, node) as f64 / bandwidth)
}

impl History {
    /// Records a task that has ended on a node after this many seconds. `mean` is the mean duration of its phase.
    pub(super) fn set(
        &mut self,
        (node, task): (NodeId, TaskId),
        seconds: f64,
        mean: f64,
        bandwidth: Option<f64>,
        cluster: &Cluster,
    ) {
        let at = node.0 as usize;
        if self.last.len() <= at {
            self.last.resize(at + 1, None);
        }
        let data_seconds = transfer(bandwidth, task, node, cluster);
        let is_local = data_seconds == 0.0;
        let phase = (task.job, task.phase);
        self.last[at] = Some(Last { phase, task: LastTask { seconds, is_local, data_seconds }, mean });
        self.longest_transfer = self.longest_transfer.max(data_seconds);
        self.note(seconds / mean);
    }

    fn note(&mut self, relative: f64) {
        self.least = Some(self.least.map_or(relative, |least| least.min(relative)));
    }

    /// Records a node that has joined or whose speed was learned.
    pub(super) fn add_node(&mut self, node: &Node) {
        self.note(1.0 / node.speed());
    }

    /// Returns the expected duration of a copy on a node without transfers, relative to the mean of its phase.
    pub(super) fn relative(&self, id: NodeId, node: &Node) -> f64 {
        match self.last.get(id.0 as usize).copied().flatten() {
            Some(last) => last.task.seconds / last.mean,
            None => 1.0 / node.speed(),
        }
    }

    /// Returns the expected duration of a copy of a task on a node, seconds. `mean` is the mean duration of its phase.
    pub(super) fn copy_seconds(
        &self,
        task: TaskId,
        id: NodeId,
        mean: f64,
        bandwidth: Option<f64>,
        cluster: &Cluster,
    ) -> f64 {
        let data_seconds = transfer(bandwidth, task, id, cluster);
        let last = match self.last.get(id.0 as usize).copied().flatten() {
            Some(last) if last.phase == (task.job, task.phase) => last.task,
            // The task was of another phase: the node takes as much longer than the mean as it took for that phase.
            Some(last) => LastTask { seconds: last.task.seconds * mean / last.mean, ..last.task },
            None => {
                let speed = cluster.node(id).map_or(1.0, Node::speed);
                LastTask { seconds: mean / speed, is_local: true, data_seconds: 0.0 }
            }
        };
        copy_duration(&last, data_seconds == 0.0, data_seconds)
    }

    /// Returns a duration, seconds, that no copy of a phase is expected to undercut.
    pub(super) fn least_seconds(&self, mean: f64) -> f64 {
        (self.least.unwrap_or(0.0) * mean - self.longest_transfer).max(0.0)
    }
}
