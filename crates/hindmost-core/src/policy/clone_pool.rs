//! Running tasks that may get a further copy, by job and by how many copies they have.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::cluster::{Attempt, AttemptState, Cluster, Phase};
use crate::ids::{AttemptId, JobId, TaskId};
use crate::resources::Resources;

/// The tasks with one, two, … living copies, up to a most, that are not finished and may be copied; and
/// the clones that run.
#[derive(Debug)]
pub(super) struct ClonePool {
    /// `by_copies[k]`: the tasks with k + 1 living copies.
    by_copies: Vec<FxHashMap<JobId, BTreeSet<TaskId>>>,
    clones: FxHashMap<AttemptId, Resources>,
    held: Resources,
}

impl ClonePool {
    /// For tasks that may have up to so many clones.
    pub(super) fn new(clones: u32) -> ClonePool {
        let by_copies = (0..clones).map(|_| FxHashMap::default()).collect();
        ClonePool { by_copies, clones: FxHashMap::default(), held: Resources::NONE }
    }

    /// Room that clones hold.
    pub(super) fn held(&self) -> &Resources {
        &self.held
    }

    /// The tasks of a job with so many copies, in the order of phases and tasks.
    pub(super) fn tasks(&self, job: JobId, copies: u32) -> Option<&BTreeSet<TaskId>> {
        self.by_copies.get((copies as usize).checked_sub(1)?)?.get(&job)
    }

    /// True if the phase has a task with so many copies.
    pub(super) fn has_phase(&self, (job, phase): (JobId, u32), copies: u32) -> bool {
        let first = TaskId { job, phase, index: 0 };
        self.tasks(job, copies).is_some_and(|tasks| tasks.range(first..).next().is_some_and(|task| task.phase == phase))
    }

    /// Puts a task where it belongs now; the number of copies it has, if it may get one more.
    pub(super) fn place(&mut self, task: TaskId, cluster: &Cluster) -> Option<u32> {
        let copies = copies_of(task, cluster);
        for (at, tasks) in self.by_copies.iter_mut().enumerate() {
            if copies == Some(at as u32 + 1) {
                tasks.entry(task.job).or_default().insert(task);
            } else if let Some(of_job) = tasks.get_mut(&task.job)
                && of_job.remove(&task)
                && of_job.is_empty()
            {
                tasks.remove(&task.job);
            }
        }
        copies.filter(|copies| (*copies as usize) <= self.by_copies.len())
    }

    /// A clone was started.
    pub(super) fn clone_started(&mut self, attempt: AttemptId, demand: Resources) {
        if self.clones.insert(attempt, demand).is_none() {
            self.held = self.held.plus(&demand);
        }
    }

    /// An attempt has ended; true if it was a clone.
    pub(super) fn attempt_ended(&mut self, attempt: AttemptId) -> bool {
        let Some(demand) = self.clones.remove(&attempt) else { return false };
        self.held = self.held.minus(&demand);
        true
    }

    /// After a loss of many attempts at once: everything anew.
    pub(super) fn rebuild(&mut self, cluster: &Cluster) {
        for tasks in &mut self.by_copies {
            tasks.clear();
        }
        let running: BTreeSet<TaskId> = cluster.living().map(|attempt| attempt.id().task).collect();
        for task in running {
            self.place(task, cluster);
        }
        let clones = std::mem::take(&mut self.clones);
        self.clones = clones.into_iter().filter(|(attempt, _)| cluster.attempt(*attempt).is_some()).collect();
        self.held = self.clones.values().fold(Resources::NONE, super::super::resources::Resources::plus);
    }
}

/// Living copies of a task that may get another; `None` if it may not.
fn copies_of(task: TaskId, cluster: &Cluster) -> Option<u32> {
    let runs = |copy: &Attempt| copy.state() != AttemptState::Stopping;
    cluster.phase(task).filter(|phase| Phase::may_be_copied(phase))?;
    let found = cluster.task(task)?;
    let wanted = !found.is_finished() && cluster.copies(task).any(runs);
    wanted.then(|| found.alive())
}
