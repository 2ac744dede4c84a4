//! Power of nodes in their present state.

use super::{Cluster, Locality, Phase};
use crate::ids::{AttemptId, NodeId, TaskId};
use crate::power::{Load, busy_cores};

impl Cluster {
    /// Returns the load of a copy of a task without its transfers. Zero if no active job has this task.
    pub fn load_of_task(&self, task: TaskId) -> Load {
        let Some(phase) = self.phase(task) else { return Load::default() };
        let spec = self.job(task.job).and_then(|job| job.spec().phases.get(task.phase as usize));
        Load {
            busy_cores: busy_cores(self.dimensions(), Phase::demand(phase)),
            accesses_per_second: spec.map_or(0.0, |spec| spec.memory_accesses),
            bytes_per_second: 0.0,
        }
    }

    /// Returns the load of all attempts that hold resources of a node, without their transfers. An attempt counts from
    /// its start until its resources are free; a replacement that waits for resources does not count.
    pub fn load(&self, node: NodeId) -> Load {
        let holding = self.attempts_on(node).filter(|attempt| attempt.replaces().is_none());
        holding.fold(Load::default(), |sum, attempt| sum + self.load_of_task(attempt.id().task))
    }

    /// Returns the number of bytes that a copy of a task receives from other nodes if it runs on `node`: none if a
    /// replica of its input is there, or if the size is unknown.
    pub fn transferred_bytes(&self, task: TaskId, node: NodeId) -> u64 {
        let spec = self.job(task.job).and_then(|job| job.spec().phases.get(task.phase as usize));
        let bytes = spec.and_then(|spec| spec.input.as_ref()?.bytes.get(task.index as usize).copied());
        let bytes = bytes.unwrap_or(0);
        if bytes > 0 && self.locality(task, node) == Locality::Node { 0 } else { bytes }
    }

    /// Returns the power of a running attempt, watts: the power of its node with it minus the power without it, beside
    /// everything else that runs there now. `bytes_per_second` is the attempt's average transfer. `None` if the
    /// attempt is not running or its node has no power model.
    pub fn watts_of_attempt(&self, id: AttemptId, bytes_per_second: f64) -> Option<f64> {
        let attempt = self.attempt(id)?;
        let model = self.node(attempt.node())?.power()?;
        let own = self.load_of_task(id.task);
        let others =
            if attempt.replaces().is_some() { self.load(attempt.node()) } else { self.load(attempt.node()) - own };
        Some(model.marginal_watts(&others, &Load { bytes_per_second, ..own }))
    }

    /// Returns the power that one more copy of a task would have on a node, watts: the power of the node with it minus
    /// the power without it. `instead_of` is an attempt on the node that will have ended when the copy starts.
    /// `bytes_per_second` is the copy's average transfer. `None` if the node has no power model.
    pub fn watts_of_copy(
        &self,
        task: TaskId,
        node: NodeId,
        instead_of: Option<AttemptId>,
        bytes_per_second: f64,
    ) -> Option<f64> {
        let model = self.node(node)?.power()?;
        let leaving = instead_of.filter(|id| self.attempt(*id).is_some_and(|attempt| attempt.node() == node));
        let leaving = leaving.map_or(Load::default(), |id| self.load_of_task(id.task));
        let own = self.load_of_task(task);
        Some(model.marginal_watts(&(self.load(node) - leaving), &Load { bytes_per_second, ..own }))
    }
}
