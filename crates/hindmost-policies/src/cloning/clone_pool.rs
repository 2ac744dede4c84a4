//! Running tasks that may get a further copy, by job and by how many copies they have.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use hindmost_core::cluster::Cluster;
use hindmost_core::id_set::IdSet;
use hindmost_core::ids::{AttemptId, JobId, TaskId};
use hindmost_core::resources::Resources;

/// The tasks with one, two, … living copies, up to a most, that are not finished and may be copied; and
/// the clones that run.
#[derive(Debug)]
pub(crate) struct ClonePool {
    /// Clones that a task may have.
    most: u32,
    /// Of a phase, by number of living copies, from one: the tasks, by index. Only phases that have any.
    by_phase: FxHashMap<(JobId, u32), Vec<Tasks>>,
    clones: FxHashMap<AttemptId, Resources>,
    held: Resources,
}

/// Tasks of a phase by index. Most phases have few, and a decision looks at many phases: those up to 64 take no further
/// memory.
#[derive(Clone, Debug, Default)]
struct Tasks {
    low: u64,
    /// From 64 on, less 64.
    high: IdSet,
}

impl Tasks {
    fn is_empty(&self) -> bool {
        self.low == 0 && self.high.is_empty()
    }

    fn contains(&self, index: u32) -> bool {
        index.checked_sub(64).map_or_else(|| self.low >> index & 1 == 1, |high| self.high.contains(high))
    }

    /// Adds or takes out a task; true if there are some for the first time, or none any more.
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

    /// The first task from an index on.
    fn next(&self, from: u32) -> Option<u32> {
        let low = if from < 64 { self.low & (u64::MAX << from) } else { 0 };
        if low != 0 {
            return Some(low.trailing_zeros());
        }
        self.high.next(from.saturating_sub(64)).map(|high| high + 64)
    }
}

/// Where a task was put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    /// Copies that it has, if it may get one more.
    pub(crate) copies: Option<u32>,
    /// Its phase has for the first time, or no more, tasks with some number of copies.
    pub(crate) phase_changed: bool,
}

impl ClonePool {
    /// For tasks that may have up to so many clones.
    pub(crate) fn new(clones: u32) -> ClonePool {
        let (by_phase, clones_running) = (FxHashMap::default(), FxHashMap::default());
        ClonePool { most: clones, by_phase, clones: clones_running, held: Resources::NONE }
    }

    /// Room that clones hold.
    pub(crate) fn held(&self) -> &Resources {
        &self.held
    }

    /// The tasks of a phase with so many copies, by index.
    pub(crate) fn tasks(&self, (job, phase): (JobId, u32), copies: u32) -> impl Iterator<Item = TaskId> + '_ {
        let tasks = self.of_phase((job, phase), copies);
        let mut from = 0;
        std::iter::from_fn(move || {
            let index = tasks?.next(from)?;
            from = index + 1;
            Some(TaskId { job, phase, index })
        })
    }

    /// True if the task has so many copies and may get another.
    pub(crate) fn contains(&self, task: TaskId, copies: u32) -> bool {
        self.of_phase((task.job, task.phase), copies).is_some_and(|tasks| tasks.contains(task.index))
    }

    /// True if the phase has a task with so many copies.
    pub(crate) fn has_phase(&self, phase: (JobId, u32), copies: u32) -> bool {
        self.of_phase(phase, copies).is_some_and(|tasks| !tasks.is_empty())
    }

    fn of_phase(&self, phase: (JobId, u32), copies: u32) -> Option<&Tasks> {
        self.by_phase.get(&phase)?.get((copies as usize).checked_sub(1)?)
    }

    /// Puts a task where it belongs now.
    pub(crate) fn place(&mut self, task: TaskId, cluster: &Cluster) -> Placed {
        if self.most == 0 {
            return Placed { copies: None, phase_changed: false };
        }
        let copies = copies_of(task, cluster).filter(|copies| (1..=self.most).contains(copies));
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
            Entry::Vacant(new) if copies.is_some() => _ = put(new.insert(vec![Tasks::default(); self.most as usize])),
            Entry::Vacant(_) => {}
        }
        Placed { copies, phase_changed }
    }

    /// A clone was started.
    pub(crate) fn clone_started(&mut self, attempt: AttemptId, demand: Resources) {
        if self.clones.insert(attempt, demand).is_none() {
            self.held = self.held.plus(&demand);
        }
    }

    /// An attempt has ended; true if it was a clone.
    pub(crate) fn attempt_ended(&mut self, attempt: AttemptId) -> bool {
        let Some(demand) = self.clones.remove(&attempt) else { return false };
        self.held = self.held.minus(&demand);
        true
    }

    /// Forgets what a loss of many attempts at once may have changed. The tasks that still run are to be placed again.
    pub(crate) fn rebuild(&mut self, cluster: &Cluster) {
        self.by_phase.clear();
        let clones = std::mem::take(&mut self.clones);
        self.clones = clones.into_iter().filter(|(attempt, _)| cluster.attempt(*attempt).is_some()).collect();
        self.held = self.clones.values().fold(Resources::NONE, Resources::plus);
    }
}

/// Living copies of a task that may get another; `None` if it may not.
fn copies_of(task: TaskId, cluster: &Cluster) -> Option<u32> {
    let phase = cluster.phase(task).filter(|phase| phase.may_be_copied())?;
    let found = phase.tasks().get(task.index as usize)?;
    (!found.is_finished() && found.at_work() > 0).then(|| found.running_copies())
}
