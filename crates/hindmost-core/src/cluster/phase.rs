//! A phase of a job as the cluster knows it.

use hindmost_math::distribution::Distribution;

use crate::resources::Resources;
use crate::time::Time;
use crate::workload::PhaseSpec;

use super::task::{NO_ATTEMPT, NO_NODE, Task};
use super::tasks_by_input::TasksByInput;

/// A phase of an active job.
#[derive(Clone, Debug)]
pub struct Phase {
    pub(super) tasks: Vec<Task>,
    pub(super) demand: Resources,
    pub(super) durations: Distribution,
    pub(super) mean: f64,
    pub(super) sd: Option<f64>,
    /// Median and 90th percentile as learned.
    pub(super) learned: Option<(f64, f64)>,
    pub(super) gives_progress: bool,
    pub(super) assumed: bool,
    pub(super) never_copied: bool,
    pub(super) parents_left: u32,
    pub(super) pending: u32,
    pub(super) unfinished: u32,
    /// Tasks that were not finished when the job arrived.
    pub(super) to_do: u32,
    pub(super) alive: u32,
    pub(super) next: u32,
    pub(super) retry: Vec<u32>,
    /// The tasks by where their input lies, where that is known.
    pub(super) by_input: Option<TasksByInput>,
    pub(super) held_by_winners: Time,
    pub(super) held_by_losers: Time,
}

impl Phase {
    /// `parents_left` is the number of phases before it that are not finished. The specification has been checked.
    pub(super) fn new(spec: &PhaseSpec, parents_left: u32, demand: Resources, durations: Distribution) -> Phase {
        let blank = Task {
            newest: NO_ATTEMPT,
            launched: 0,
            alive: 0,
            stopping: 0,
            nodes: [NO_NODE; 2],
            finished: false,
            retrying: false,
        };
        let mut tasks = vec![blank; spec.tasks as usize];
        for index in &spec.finished {
            tasks[*index as usize].finished = true;
        }
        let next = tasks.iter().take_while(|task| task.finished).count() as u32;
        let to_do = spec.tasks_to_do();
        Phase {
            tasks,
            demand,
            durations,
            mean: spec.mean,
            sd: spec.sd,
            learned: None,
            gives_progress: true,
            assumed: spec.assumed,
            never_copied: spec.never_copied,
            parents_left,
            pending: to_do,
            unfinished: to_do,
            to_do,
            alive: 0,
            next,
            retry: Vec::new(),
            by_input: None,
            held_by_winners: Time::ZERO,
            held_by_losers: Time::ZERO,
        }
    }

    /// The tasks, by index.
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// Demand of one copy.
    #[inline]
    pub fn demand(&self) -> &Resources {
        &self.demand
    }

    /// What is assumed of a fresh copy's duration, seconds on a node of speed 1: the known
    /// distribution, else one fitted to the known mean and standard deviation.
    pub fn durations(&self) -> &Distribution {
        &self.durations
    }

    /// Mean duration of a fresh copy, seconds on a node of speed 1: as given, or as learned since.
    #[inline]
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Standard deviation of that duration, seconds; `None` where unknown or infinite.
    #[inline]
    pub fn sd(&self) -> Option<f64> {
        self.sd
    }

    /// The duration that half of the fresh copies do not exceed, seconds on a node of speed 1: as
    /// learned, or that of the known distribution.
    pub fn median(&self) -> f64 {
        self.learned.map_or_else(|| self.durations.quantile(0.5), |(median, _)| median)
    }

    /// As [`Phase::median`], for nine of ten copies.
    pub fn p90(&self) -> f64 {
        self.learned.map_or_else(|| self.durations.quantile(0.9), |(_, p90)| p90)
    }

    /// False once it has been learned that copies do not tell their progress.
    pub fn gives_progress(&self) -> bool {
        self.gives_progress
    }

    /// True while durations are a guess that no copy has yet confirmed or corrected.
    pub fn is_assumed(&self) -> bool {
        self.assumed
    }

    /// True if a copy of a task may run beside another.
    pub fn may_be_copied(&self) -> bool {
        !self.never_copied
    }

    /// True if all phases that must come first are finished. A phase all of whose tasks were finished before its job
    /// arrived is finished whether or not it is open.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.parents_left == 0
    }

    /// True once every task has finished.
    #[inline]
    pub fn is_finished(&self) -> bool {
        self.unfinished == 0
    }

    /// Tasks that have neither a living copy nor a finished one.
    #[inline]
    pub fn pending(&self) -> u32 {
        self.pending
    }

    /// Tasks that have not finished.
    #[inline]
    pub fn unfinished(&self) -> u32 {
        self.unfinished
    }

    /// Tasks that were not finished before the job arrived: those that it runs in all.
    #[inline]
    pub fn to_do(&self) -> u32 {
        self.to_do
    }

    /// Copies that hold room now.
    #[inline]
    pub fn running_copies(&self) -> u32 {
        self.alive
    }

    /// Node-time held by copies that finished first, and by all others that have ended.
    pub fn held(&self) -> (Time, Time) {
        (self.held_by_winners, self.held_by_losers)
    }

    /// The next task to be started, if one is pending: one that lost its copies, and for which
    /// `again(task index)` holds, before one that never had any.
    pub(super) fn next_pending(&self, again: impl Fn(u32) -> bool) -> Option<u32> {
        if self.pending == 0 {
            return None;
        }
        self.retry.iter().rev().find(|index| again(**index)).copied().or_else(|| {
            let next = self.next as usize;
            let skip = self.tasks.get(next..)?.iter().position(Task::is_pending)?;
            Some((next + skip) as u32)
        })
    }
}
