//! Running tasks that may get a further copy, by job and by how many copies they have.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::cluster::Cluster;
use crate::id_set::IdSet;
use crate::ids::{AttemptId, JobId, TaskId};
use crate::resources::Resources;

/// The tasks with one, two, … living copies, up to a most, that are not finished and may be copied; and
/// the clones that run.
#[derive(Debug)]
pub(super) struct ClonePool {
    /// Clones that a task may have.
    most: u32,
    /// Of a phase, by number of living copies, from one: the tasks, by index. Only phases that have any.
    by_phase: FxHashMap<(JobId, u32), Vec<IdSet>>,
    clones: FxHashMap<AttemptId, Resources>,
    held: Resources,
}

/// Where a task was put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placed {
    /// Copies that it has, if it may get one more.
    pub(super) copies: Option<u32>,
    /// Its phase has for the first time, or no more, tasks with some number of copies.
    pub(super) phase_changed: bool,
}

impl ClonePool {
    /// For tasks that may have up to so many clones.
    pub(super) fn new(clones: u32) -> ClonePool {
        let (by_phase, clones_running) = (FxHashMap::default(), FxHashMap::default());
        ClonePool { most: clones, by_phase, clones: clones_running, held: Resources::NONE }
    }

    /// Room that clones hold.
    pub(super) fn held(&self) -> &Resources {
        &self.held
    }

    /// The tasks of a phase with so many copies, by index.
    pub(super) fn tasks(&self, (job, phase): (JobId, u32), copies: u32) -> impl Iterator<Item = TaskId> + '_ {
        let tasks = self.of_phase((job, phase), copies);
        tasks.into_iter().flat_map(IdSet::iter).map(move |index| TaskId { job, phase, index })
    }

    /// True if the task has so many copies and may get another.
    pub(super) fn contains(&self, task: TaskId, copies: u32) -> bool {
        self.of_phase((task.job, task.phase), copies).is_some_and(|tasks| tasks.contains(task.index))
    }

    /// True if the phase has a task with so many copies.
    pub(super) fn has_phase(&self, phase: (JobId, u32), copies: u32) -> bool {
        self.of_phase(phase, copies).is_some_and(|tasks| !tasks.is_empty())
    }

    fn of_phase(&self, phase: (JobId, u32), copies: u32) -> Option<&IdSet> {
        self.by_phase.get(&phase)?.get((copies as usize).checked_sub(1)?)
    }

    /// Puts a task where it belongs now.
    pub(super) fn place(&mut self, task: TaskId, cluster: &Cluster) -> Placed {
        if self.most == 0 {
            return Placed { copies: None, phase_changed: false };
        }
        let copies = copies_of(task, cluster).filter(|copies| (1..=self.most).contains(copies));
        let phase = (task.job, task.phase);
        let mut phase_changed = false;
        if copies.is_some() || self.by_phase.contains_key(&phase) {
            let of_phase = self.by_phase.entry(phase).or_insert_with(|| vec![IdSet::default(); self.most as usize]);
            for (has, tasks) in (1..).zip(of_phase.iter_mut()) {
                phase_changed |= if copies == Some(has) {
                    tasks.insert(task.index) && tasks.len() == 1
                } else {
                    tasks.remove(task.index) && tasks.is_empty()
                };
            }
            if phase_changed && of_phase.iter().all(IdSet::is_empty) {
                self.by_phase.remove(&phase);
            }
        }
        Placed { copies, phase_changed }
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
        self.by_phase.clear();
        let running: BTreeSet<TaskId> = cluster.living().map(|attempt| attempt.id().task).collect();
        for task in running {
            self.place(task, cluster);
        }
        let clones = std::mem::take(&mut self.clones);
        self.clones = clones.into_iter().filter(|(attempt, _)| cluster.attempt(*attempt).is_some()).collect();
        self.held = self.clones.values().fold(Resources::NONE, Resources::plus);
    }
}

/// Living copies of a task that may get another; `None` if it may not.
fn copies_of(task: TaskId, cluster: &Cluster) -> Option<u32> {
    let phase = cluster.phase(task).filter(|phase| phase.may_be_copied())?;
    let found = phase.tasks().get(task.index as usize)?;
    (!found.is_finished() && found.at_work() > 0).then(|| found.alive())
}
