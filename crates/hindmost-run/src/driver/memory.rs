//! The memory of attempts: an attempt that needs more than its phase allows is killed, and after a kill for memory its task gets more.

use hindmost_core::ids::{AttemptId, TaskId};
use hindmost_core::metrics::size;
use hindmost_core::record::Event;
use hindmost_core::resources::MEMORY;
use hindmost_core::workload::DemandByName;

use super::attempts::Kill;
use super::{Driver, RunError};

impl Driver<'_> {
    /// Returns what an attempt of a task demands now, by name.
    pub(super) fn demand(&self, task: TaskId) -> DemandByName {
        let cluster = self.session.cluster();
        match cluster.demand(task).filter(|_| cluster.has_own_demand(task)) {
            Some(own) => self.header.dimensions.by_name(own),
            None => self.jobs[task.job].phase(task).demand_of(task.index),
        }
    }

    /// Looks at the memory of an attempt. Kills it if it needs more than it may.
    pub(super) fn check_memory(&mut self, attempt: AttemptId) {
        let Some(needs) = self.engine.memory(attempt) else { return };
        if self.jobs[attempt.task.job].phase(attempt.task).memory_retry.is_none() {
            return;
        }
        if self.demand(attempt.task).get(MEMORY).is_some_and(|limit| needs as f64 > *limit) {
            self.kill(attempt, Kill::Memory(needs));
        }
    }

    /// Returns why an attempt failed that was killed at its limit.
    pub(super) fn needed_too_much(&self, task: TaskId, needed: u64) -> String {
        let limit = self.demand(task).get(MEMORY).copied().unwrap_or_default();
        format!("needed {} of memory, more than its limit of {}", size(needed as f64), size(limit))
    }

    /// Gives a task more memory after an attempt of it was killed for memory, up to what the largest node has.
    pub(super) fn grow_memory(&mut self, task: TaskId) -> Result<(), RunError> {
        let Some(retry) = self.jobs[task.job].phase(task).memory_retry else { return Ok(()) };
        let mut demand = self.demand(task);
        let Some(now) = demand.get(MEMORY).copied() else { return Ok(()) };
        let cluster = self.session.cluster();
        // If another attempt of the task runs, it may still succeed; if not, it fails too.
        if cluster.task(task).is_none_or(|task| task.is_finished() || task.running_copies() > 0) {
            return Ok(());
        }
        let dimensions = &self.header.dimensions;
        let amounts = dimensions.demand(&demand).unwrap_or_default();
        let fitting = cluster.nodes().iter().filter(|node| node.is_up() && amounts.fits(node.capacity()));
        let memory = fitting.filter_map(|node| dimensions.by_name(node.capacity()).get(MEMORY).copied());
        let more = (now * retry).min(memory.fold(now, f64::max)).floor();
        if more <= now {
            return Ok(());
        }
        demand.insert(MEMORY.to_owned(), more);
        let Ok(amounts) = dimensions.demand(&demand) else { return Ok(()) };
        self.happen(&Event::TaskDemands { task, demand: Box::new(amounts) })?;
        self.follower.message(&format!("{} gets {} of memory from now on", self.jobs.name(task), size(more)));
        Ok(())
    }
}
