//! A phase of an active job: its tasks, demand and durations.

use hindmost_math::distribution::Distribution;

use crate::resources::Resources;
use crate::time::Time;
use crate::workload::PhaseSpec;

use super::edges::Edges;
use super::task::{NO_ATTEMPT, NO_NODE, Task};
use super::tasks_by_input::TasksByInput;

/// Durations as estimated from copies that ran.
#[derive(Clone, Copy, Debug)]
pub(super) struct Learned {
    /// Median, seconds.
    pub(super) median: f64,
    /// 90th percentile, seconds.
    pub(super) p90: f64,
    /// Number of durations.
    pub(super) samples: u32,
}

/// A phase of an active job.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub struct Phase {
    pub(super) tasks: Vec<Task>,
    pub(super) demand: Resources,
    pub(super) durations: Distribution,
    pub(super) mean: f64,
    pub(super) sd: Option<f64>,
    /// The estimate of durations from copies that ran; `None` while there is none.
    pub(super) learned: Option<Learned>,
    pub(super) gives_progress: bool,
    pub(super) assumed: bool,
    pub(super) never_copied: bool,
    pub(super) may_restart: bool,
    pub(super) never_resumed: bool,
    /// Number of unfinished parent phases that must finish before any task starts.
    pub(super) parents_left: u32,
    pub(super) pending: u32,
    /// Number of tasks that wait for single tasks of earlier phases. They are not counted in `pending`.
    pub(super) blocked: u32,
    pub(super) unfinished: u32,
    /// Number of tasks that were not finished when the job arrived.
    pub(super) to_do: u32,
    /// Number of tasks that were given up, or unfinished when the job was abandoned.
    pub(super) abandoned: u32,
    /// Number of unfinished tasks that are withheld. They are not counted in `pending`.
    pub(super) withheld: u32,
    pub(super) copies: u32,
    /// Every pending task before this index is in `retry`. Searches for other pending tasks begin here.
    pub(super) next: u32,
    /// Indices of the pending tasks before `next`. They lost all their copies and are to be retried.
    pub(super) retry: Vec<u32>,
    /// The edges from single tasks and to them; `None` if there are none.
    pub(super) edges: Option<Box<Edges>>,
    /// Index of the tasks by the location of their input; `None` if the location is unknown.
    pub(super) by_input: Option<Box<TasksByInput>>,
    pub(super) useful_time: Time,
    pub(super) wasted_time: Time,
}

impl Phase {
    /// Creates a phase from a checked specification. `parents_left` is the number of unfinished parent phases that must
    /// finish before any of its tasks starts.
    pub(super) fn new(spec: &PhaseSpec, parents_left: u32, demand: Resources, durations: Distribution) -> Phase {
        let blank = Task {
            newest: NO_ATTEMPT,
            launched: 0,
            is_broken: false,
            copies: 0,
            stopping: 0,
            nodes: [NO_NODE; 2],
            finished: false,
            abandoned: false,
            withheld: false,
            blocked: false,
            no_more_copies: false,
            may_restart: false,
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
            may_restart: spec.may_restart,
            never_resumed: spec.never_resumed,
            parents_left,
            pending: to_do,
            blocked: 0,
            unfinished: to_do,
            to_do,
            abandoned: 0,
            withheld: 0,
            copies: 0,
            next,
            retry: Vec::new(),
            edges: None,
            by_input: None,
            useful_time: Time::ZERO,
            wasted_time: Time::ZERO,
        }
    }

    /// Returns the number of tasks.
    pub fn task_count(&self) -> u32 {
        self.tasks.len() as u32
    }

    /// Returns the tasks, by index.
    pub fn tasks(&self) -> &[Task] {
        super::lookups::count(self.tasks.len());
        &self.tasks
    }

    /// Returns the demand of one copy.
    #[inline]
    pub fn demand(&self) -> &Resources {
        &self.demand
    }

    /// Returns the distribution that policies assume for a new copy's duration, seconds on a node of speed 1: the
    /// estimate from copies that ran, or else the one in the job's specification, or else one fitted to the specified
    /// mean and standard deviation.
    pub fn durations(&self) -> &Distribution {
        &self.durations
    }

    /// Returns the mean duration of a new copy, seconds on a node of speed 1: the estimate from copies that ran, or
    /// else the specified mean.
    #[inline]
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Returns the standard deviation of a new copy's duration, seconds on a node of speed 1; `None` if it is unknown
    /// or infinite.
    #[inline]
    pub fn sd(&self) -> Option<f64> {
        self.sd
    }

    /// Returns the median duration of a new copy, seconds on a node of speed 1: the estimate from copies that ran, or
    /// else the median of [`Phase::durations`].
    pub fn median(&self) -> f64 {
        self.learned.map_or_else(|| self.durations.quantile(0.5), |learned| learned.median)
    }

    /// Returns the 90th percentile of a new copy's duration, seconds on a node of speed 1.
    pub fn p90(&self) -> f64 {
        self.learned.map_or_else(|| self.durations.quantile(0.9), |learned| learned.p90)
    }

    /// Returns the number of durations from which [`Phase::median`] and [`Phase::p90`] were estimated; `None` if they are
    /// those of the specification.
    pub fn samples(&self) -> Option<u32> {
        self.learned.map(|learned| learned.samples)
    }

    /// Returns false once it is known that copies report no progress.
    pub fn gives_progress(&self) -> bool {
        self.gives_progress
    }

    /// Returns true while the durations are a guess that was made before any copy ran.
    pub fn is_assumed(&self) -> bool {
        self.assumed
    }

    /// Returns true if a task may have more than one running copy.
    pub fn may_be_copied(&self) -> bool {
        !self.never_copied
    }

    /// Returns true if a task has at most one attempt at a time, and that may be stopped so that the task starts again.
    pub fn may_only_restart(&self) -> bool {
        self.never_copied && self.may_restart
    }

    /// Returns true if an attempt that is started from the progress of another leaves out the work that is done. If false,
    /// every attempt does the whole work, and [`Attempt::from_progress`](super::Attempt::from_progress) is 0 for all of
    /// them.
    pub fn resumes(&self) -> bool {
        !self.never_resumed
    }

    /// Returns true if all parent phases are finished that must finish before any task of this phase starts. Tasks may still
    /// be blocked ([`Task::is_blocked`]). A phase whose tasks were all finished before its job arrived is finished even if it
    /// is not open.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.parents_left == 0
    }

    /// Returns true once every task has finished or was given up, or the job is abandoned.
    #[inline]
    pub fn is_finished(&self) -> bool {
        self.unfinished == 0
    }

    /// Returns the number of unfinished tasks without a running copy, without those that are withheld or blocked; 0 once the
    /// job is abandoned.
    #[inline]
    pub fn pending(&self) -> u32 {
        self.pending
    }

    /// Returns the number of tasks that wait for single tasks of earlier phases.
    #[inline]
    pub fn blocked(&self) -> u32 {
        self.blocked
    }

    /// Returns the number of tasks that are to run later: pending and blocked ones.
    #[inline]
    pub fn to_start(&self) -> u32 {
        self.pending + self.blocked
    }

    /// Returns the number of tasks that have not finished; 0 once the job is abandoned.
    #[inline]
    pub fn unfinished(&self) -> u32 {
        self.unfinished
    }

    /// Returns the number of tasks that get no result: tasks that were given up, and those that were unfinished when the job
    /// was abandoned.
    pub fn abandoned(&self) -> u32 {
        self.abandoned
    }

    /// Returns the number of unfinished tasks that are withheld
    /// ([`Event::TaskWithheld`](crate::record::Event::TaskWithheld)).
    pub fn withheld(&self) -> u32 {
        self.withheld
    }

    /// Returns the number of unfinished tasks with a running copy.
    pub fn running_tasks(&self) -> u32 {
        self.unfinished - self.pending - self.withheld - self.blocked
    }

    /// Returns the number of tasks that were not finished when the job arrived.
    #[inline]
    pub fn to_do(&self) -> u32 {
        self.to_do
    }

    /// Returns the number of copies that are starting, running or stopping.
    #[inline]
    pub fn running_copies(&self) -> u32 {
        self.copies
    }

    /// Returns the node-time held by copies that won, and the wasted node-time of all other copies that have ended.
    pub fn held(&self) -> (Time, Time) {
        (self.useful_time, self.wasted_time)
    }

    /// Returns the index of the next task to start: a task to be retried for which `again(task index)` holds, or else
    /// the first of the other pending tasks. `None` if there is no such task.
    pub(super) fn next_pending(&self, again: impl Fn(u32) -> bool) -> Option<u32> {
        if self.pending == 0 {
            return None;
        }
        self.retry.iter().rev().find(|index| again(**index)).copied().or_else(|| {
            if let Some(edges) = &self.edges
                && let Some(ready) = edges.first_ready()
            {
                return Some(ready);
            }
            let next = self.next as usize;
            let skip = self.tasks.get(next..)?.iter().position(Task::is_pending)?;
            Some((next + skip) as u32)
        })
    }
}
