//! A task as the cluster knows it.

/// End of the list of a task's copies.
pub(super) const NO_ATTEMPT: u32 = u32::MAX;

/// In place of the node of a copy that is not there.
pub(super) const NO_NODE: u32 = u32::MAX;

/// A task: pending until a copy of it is alive, finished once one copy has finished.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    /// Slot of the newest living copy; copies are chained from newest to oldest.
    pub(super) newest: u32,
    /// Copies started so far, dead ones included: the number of the next copy.
    pub(super) launched: u32,
    /// Copies that hold room now.
    pub(super) alive: u16,
    /// Of these, copies that were asked to stop.
    pub(super) stopping: u16,
    /// The nodes of the newest living copy and of the one before it: most tasks never have more, and then
    /// nobody has to look the copies up.
    pub(super) nodes: [u32; 2],
    pub(super) finished: bool,
    /// True while the task waits in its phase's list of tasks to be started again.
    pub(super) retrying: bool,
}

impl Task {
    /// Copies started so far, dead ones included.
    pub fn launched(&self) -> u32 {
        self.launched
    }

    /// Copies that are starting, running or stopping.
    pub fn running_copies(&self) -> u32 {
        u32::from(self.alive)
    }

    /// Copies that are starting or running.
    pub fn at_work(&self) -> u32 {
        u32::from(self.alive - self.stopping)
    }

    /// True once a copy has finished.
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// True if no copy is alive and none has finished.
    pub fn is_pending(&self) -> bool {
        !self.finished && self.alive == 0
    }
}
