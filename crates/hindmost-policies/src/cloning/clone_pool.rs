//! Index of the running tasks that may get another clone, by phase and by number of copies.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use hindmost_core::cluster::Cluster;
use hindmost_core::id_set::IdSet;
use hindmost_core::ids::{AttemptId, JobId, TaskId};
use hindmost_core::resources::Resources;

/// The running tasks that may get another clone, by number of running copies; and the running clones.
#[derive(Debug)]
pub(crate) struct ClonePool {
    /// Maximum number of clones of a task.
    max_clones: u32,
    /// For each phase with tasks that may get another clone: the set of tasks with one running copy, the set of tasks
    /// with two, and so on up to `max_clones`.
    by_phase: FxHashMap<(JobId, u32), Vec<Tasks>>,
    /// Running clones and their demands.
    clones: FxHashMap<AttemptId, Resources>,
    /// The resources that all running clones hold.
    held: Resources,
}

/// A set of tasks of a phase, by index. Most phases have fewer than 64 tasks, and a decision checks many phases; so
/// indexes below 64 are bits of one number and need no allocation.
#[derive(Clone, Debug, Default)]
struct Tasks {
    /// Bit i is set if the task with index i is in the set.
    low: u64,
    /// The indexes from 64 on, each reduced by 64.
    high: IdSet,
}

impl Tasks {
    fn is_empty(&self) -> bool {
        self.low == 0 && self.high.is_empty()
    }

    fn contains(&self, index: u32) -> bool {
        index.checked_sub(64).map_or_else(|| self.low >> index & 1 == 1, |high| self.high.contains(high))
    }

    /// Adds or removes a task. Returns true if this made the set empty, or if the set was empty before.
    fn set(&mut self, index: u32, is_in: bool) -> bool {
        let was_empty = self.is_empty();
        match (index.checked_sub(64), is_in) {
            (None, true) => self.low |= 1 << index,
            (None, false) => self.low &= !(1 << index),
            (Some(high), true) => _ = self.high.insert(high),
            (Some(high), false) => _ = self.high.remove(high),
        }
        was_empty != self.is_empty()
    }

    /// Returns the first task whose index is at least `from`.
    fn next(&self, from: u32) -> Option<u32> {
        let low = if from < 64 { self.low & (u64::MAX << from) } else { 0 };
        if low != 0 {
            return Some(low.trailing_zeros());
        }
        self.high.next(from.saturating_sub(64)).map(|high| high + 64)
    }
}

/// The result of [`ClonePool::place`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    /// The number of the task's running copies; `None` if the task may not get another clone.
    pub(crate) copies: Option<u32>,
    /// True if the result of [`ClonePool::has_phase`] has changed for the task's phase and some number of copies.
    pub(crate) phase_changed: bool,
}

impl ClonePool {
    /// Creates an empty index for tasks that may have up to `max_clones` clones.
    pub(crate) fn new(max_clones: u32) -> ClonePool {
        ClonePool { max_clones, by_phase: FxHashMap::default(), clones: FxHashMap::default(), held: Resources::NONE }
    }

    /// Returns the resources that all running clones hold.
    pub(crate) fn held(&self) -> &Resources {
        &self.held
    }

    /// Returns the tasks of a phase with this number of running copies that may get another clone, sorted by index.
    pub(crate) fn tasks(&self, (job, phase): (JobId, u32), copies: u32) -> impl Iterator<Item = TaskId> + '_ {
        let tasks = self.of_phase((job, phase), copies);
        let mut from = 0;
        std::iter::from_fn(move || {
            let index = tasks?.next(from)?;
            from = index + 1;
            Some(TaskId { job, phase, index })
        })
    }

    /// Returns true if the task has this number of running copies and may get another clone.
    pub(crate) fn contains(&self, task: TaskId, copies: u32) -> bool {
        self.of_phase((task.job, task.phase), copies).is_some_and(|tasks| tasks.contains(task.index))
    }

    /// Returns true if the phase has a task with this number of running copies that may get another clone.
    pub(crate) fn has_phase(&self, phase: (JobId, u32), copies: u32) -> bool {
        self.of_phase(phase, copies).is_some_and(|tasks| !tasks.is_empty())
    }

    fn of_phase(&self, phase: (JobId, u32), copies: u32) -> Option<&Tasks> {
        self.by_phase.get(&phase)?.get((copies as usize).checked_sub(1)?)
    }

    /// Updates a task in the index after its copies have changed.
    pub(crate) fn place(&mut self, task: TaskId, cluster: &Cluster) -> Placed {
        if self.max_clones == 0 {
            return Placed { copies: None, phase_changed: false };
        }
        let copies = copies_of(task, cluster).filter(|copies| (1..=self.max_clones).contains(copies));
        let mut phase_changed = false;
        let mut put = |of_phase: &mut Vec<Tasks>| {
            for (has, tasks) in (1..).zip(of_phase.iter_mut()) {
                phase_changed |= tasks.set(task.index, copies == Some(has));
            }
            of_phase.iter().all(Tasks::is_empty)
        };
        match self.by_phase.entry((task.job, task.phase)) {
            Entry::Occupied(mut known) => {
                if put(known.get_mut()) {
                    known.remove();
                }
            }
            Entry::Vacant(new) if copies.is_some() => {
                put(new.insert(vec![Tasks::default(); self.max_clones as usize]));
            }
            Entry::Vacant(_) => {}
        }
        Placed { copies, phase_changed }
    }

    /// Records that a clone was started.
    pub(crate) fn clone_started(&mut self, attempt: AttemptId, demand: Resources) {
        if self.clones.insert(attempt, demand).is_none() {
            self.held = self.held.plus(&demand);
        }
    }

    /// Records that an attempt has ended. Returns true if it was a clone.
    pub(crate) fn attempt_ended(&mut self, attempt: AttemptId) -> bool {
        let Some(demand) = self.clones.remove(&attempt) else { return false };
        self.held = self.held.minus(&demand);
        true
    }

    /// Removes all tasks, and the clones that ended because a node was lost. The caller must then call
    /// [`ClonePool::place`] for each running task.
    pub(crate) fn rebuild(&mut self, cluster: &Cluster) {
        self.by_phase.clear();
        let clones = std::mem::take(&mut self.clones);
        self.clones = clones.into_iter().filter(|(attempt, _)| cluster.attempt(*attempt).is_some()).collect();
        self.held = self.clones.values().fold(Resources::NONE, Resources::plus);
    }
}

/// Returns the number of running copies of a task; `None` if the task is finished, does not run or may not be copied.
fn copies_of(task: TaskId, cluster: &Cluster) -> Option<u32> {
    cluster.phase(task).filter(|phase| phase.may_be_copied())?;
    let found = cluster.task(task)?;
    (!found.is_finished() && found.unstopped_copies() > 0).then(|| found.running_copies())
}
