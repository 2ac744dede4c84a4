//! The tasks for which something may have changed.

use hindmost_core::cluster::{Cluster, Task};
use hindmost_core::ids::TaskId;

/// Finished tasks are not looked for while there are at most this many.
const FEW: usize = 4096;

/// The tasks that the next round examines in which the pass acts. The other pass may act for a long time meanwhile, so
/// adding a task must be cheap.
#[derive(Debug, Default)]
pub(super) struct Changed {
    /// In any order. Tasks may occur several times, and may have finished.
    tasks: Vec<TaskId>,
    /// Number of tasks that were left when the finished ones were removed last.
    left: usize,
}

impl Changed {
    /// Returns true if there are no tasks to examine.
    pub(super) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Adds a task.
    pub(super) fn add(&mut self, task: TaskId) {
        self.tasks.push(task);
    }

    /// Adds tasks.
    pub(super) fn extend(&mut self, tasks: impl Iterator<Item = TaskId>) {
        self.tasks.extend(tasks);
    }

    /// Removes the tasks that have finished, if there may be many.
    pub(super) fn shrink(&mut self, cluster: &Cluster) {
        if self.tasks.len() > FEW + 2 * self.left {
            self.tasks.retain(|task| !cluster.task(*task).is_none_or(Task::is_finished));
            self.tasks.sort_unstable();
            self.tasks.dedup();
            self.left = self.tasks.len();
        }
    }

    /// Removes and returns the tasks, in order. Some may have finished.
    pub(super) fn take(&mut self) -> Vec<TaskId> {
        let mut tasks = std::mem::take(&mut self.tasks);
        tasks.sort_unstable();
        tasks.dedup();
        tasks
    }
}
