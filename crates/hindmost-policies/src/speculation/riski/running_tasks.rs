//! The tasks of a phase with running copies, and the finishes of those whose only copy has a known one.

use hindmost_core::cluster::{AttemptState, Cluster};
use hindmost_core::ids::{JobId, TaskId};
use hindmost_core::time::Time;

/// A task with running copies.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunningTask {
    /// Index within the phase.
    pub(super) index: u32,
    /// Number of its only copy, if `finish` is known.
    copy: u32,
    /// Expected finish of its only copy; [`Time::NEVER`] if it is unknown, or if there are several copies.
    finish: Time,
}

impl RunningTask {
    /// Returns the number of the task's only copy and its expected finish; `None` if they must be looked up.
    pub(super) fn known(&self) -> Option<(u32, Time)> {
        (self.finish != Time::NEVER).then_some((self.copy, self.finish))
    }

    /// Reads the expected finish from the cluster.
    fn read(&mut self, (job, phase): (JobId, u32), cluster: &Cluster) {
        let task = TaskId { job, phase, index: self.index };
        self.finish = Time::NEVER;
        if cluster.task(task).is_none_or(|task| task.is_finished() || task.running_copies() != 1) {
            return;
        }
        let copy = cluster.copies(task).find(|copy| copy.state() != AttemptState::Stopping);
        if let Some((copy, finish)) = copy.and_then(|copy| Some((copy, copy.expected_finish()?))) {
            (self.copy, self.finish) = (copy.id().copy, finish);
        }
    }
}

/// The tasks of a phase with running copies, by index. Some may have no running copy any more.
#[derive(Debug, Default)]
pub(super) struct RunningTasks(Vec<RunningTask>);

impl RunningTasks {
    fn position(&self, index: u32) -> Result<usize, usize> {
        self.0.binary_search_by_key(&index, |task| task.index)
    }

    /// Adds a task of which a copy starts. The finish of the copy is not known yet.
    pub(super) fn add(&mut self, index: u32) {
        let task = RunningTask { index, copy: 0, finish: Time::NEVER };
        match self.position(index) {
            Ok(at) => self.0[at] = task,
            Err(at) => self.0.insert(at, task),
        }
    }

    /// Notes that a task has several copies.
    pub(super) fn copied(&mut self, index: u32) {
        if let Ok(at) = self.position(index) {
            self.0[at].finish = Time::NEVER;
        }
    }

    /// Reads the finish of a task again. Must be called whenever its copies or their expected finishes have changed.
    pub(super) fn read(&mut self, task: TaskId, cluster: &Cluster) {
        if let Ok(at) = self.position(task.index) {
            self.0[at].read((task.job, task.phase), cluster);
        }
    }

    /// Reads the finishes of all tasks again.
    pub(super) fn read_all(&mut self, phase: (JobId, u32), cluster: &Cluster) {
        self.0.iter_mut().for_each(|task| task.read(phase, cluster));
    }

    /// Removes a task. Returns its expected finish, if it was known.
    pub(super) fn remove(&mut self, index: u32) -> Option<Time> {
        let removed = self.position(index).ok().map(|at| self.0.remove(at))?;
        removed.known().map(|(_, finish)| finish)
    }

    /// Returns the tasks, by index.
    pub(super) fn iter(&self) -> impl Iterator<Item = &RunningTask> {
        self.0.iter()
    }

    /// Returns the latest known finish; `None` if none is known.
    pub(super) fn latest_finish(&self) -> Option<Time> {
        let latest = self.0.iter().map(|task| if task.finish == Time::NEVER { Time(0) } else { task.finish }).max();
        latest.filter(|latest| *latest > Time(0))
    }
}
