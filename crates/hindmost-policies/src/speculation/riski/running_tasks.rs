//! The tasks of a phase with running copies, and the finishes of those whose only copy has a known one.

use hindmost_core::time::Time;

/// A task with running copies.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunningTask {
    /// Index within the phase.
    pub(super) index: u32,
    /// Number of its only copy, if `finish` is known.
    copy: u32,
    /// Expected finish of its only copy; [`Time::NEVER`] if it must be looked up in the cluster.
    finish: Time,
}

impl RunningTask {
    /// Returns the number of the task's only copy and its expected finish; `None` if they must be looked up.
    pub(super) fn known(&self) -> Option<(u32, Time)> {
        (self.finish != Time::NEVER).then_some((self.copy, self.finish))
    }

    /// Sets the task's only copy and its expected finish.
    pub(super) fn set_known(&mut self, copy: u32, finish: Time) {
        (self.copy, self.finish) = (copy, finish);
    }
}

/// The tasks of a phase with running copies, by index. Some may have no running copy any more.
#[derive(Debug, Default)]
pub(super) struct RunningTasks(Vec<RunningTask>);

impl RunningTasks {
    fn position(&self, index: u32) -> Result<usize, usize> {
        self.0.binary_search_by_key(&index, |task| task.index)
    }

    /// Adds a task, or notes that its copies have changed.
    pub(super) fn add(&mut self, index: u32) {
        let task = RunningTask { index, copy: 0, finish: Time::NEVER };
        match self.position(index) {
            Ok(at) => self.0[at] = task,
            Err(at) => self.0.insert(at, task),
        }
    }

    /// Notes that the copies of a task have changed.
    pub(super) fn change(&mut self, index: u32) {
        if let Ok(at) = self.position(index) {
            self.0[at].finish = Time::NEVER;
        }
    }

    /// Notes that the copies of all tasks may have changed.
    pub(super) fn change_all(&mut self) {
        self.0.iter_mut().for_each(|task| task.finish = Time::NEVER);
    }

    /// Removes a task. Returns its expected finish, if it was known.
    pub(super) fn remove(&mut self, index: u32) -> Option<Time> {
        let removed = self.position(index).ok().map(|at| self.0.remove(at))?;
        removed.known().map(|(_, finish)| finish)
    }

    /// Returns the indices of the tasks within the phase, in order.
    pub(super) fn indices(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().map(|task| task.index)
    }

    /// Returns the latest known finish; `None` if none is known.
    pub(super) fn latest_finish(&self) -> Option<Time> {
        self.0.iter().filter_map(|task| task.known().map(|(_, finish)| finish)).max()
    }

    /// Returns the tasks, for which `keep` is called once each, in order; those for which it returns false are removed.
    pub(super) fn visit(&mut self, keep: impl FnMut(&mut RunningTask) -> bool) {
        self.0.retain_mut(keep);
    }
}
