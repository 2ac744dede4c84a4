//! The jobs of a run: for each one its plan, its folder, and what the driver keeps about it.
//!
//! Invariant: jobs are numbered in the order of their arrival. The folder of a job does not know this number, because
//! the same folder may be used by other runs. Ids that come from a folder name the job [`IN_FOLDER`] until [`LiveJob::own`]
//! turns them into ids of the run.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::{Index, IndexMut};
use std::sync::Arc;

use hindmost_core::ids::{AttemptId, JobId, TaskId};
use hindmost_core::record::{Change, Event, Record};
use rustc_hash::{FxHashMap, FxHashSet};

use super::counts::Counts;
use super::failures::Failures;
use super::limits::TimeLimits;
use super::profiles::RunProfiles;
use super::shutdown::Shutdown;
use super::task_ends::Failing;
use crate::job_file::{Plan, PlannedPhase};
use crate::store::Store;

/// The number that a job has in its folder.
pub(super) const IN_FOLDER: JobId = JobId(0);

/// The number of the job of a run that has one.
pub(super) const ONLY: JobId = IN_FOLDER;

/// A job of the run.
pub(super) struct LiveJob {
    id: JobId,
    pub(super) plan: Arc<Plan>,
    pub(super) store: Store,
    pub(super) failures: Failures,
    pub(super) limits: TimeLimits,
    pub(super) failing: Failing,
    pub(super) profiles: RunProfiles,
    /// Whether the job continues, and how it ends.
    pub(super) shutdown: Shutdown,
    pub(super) counts: Counts,
    /// Tasks whose results are in place although the journal does not record their finish: an earlier process died between
    /// the rename and the record.
    pub(super) in_place: FxHashSet<TaskId>,
    /// The largest share of its work that an attempt of each task has reported, for phases whose commands resume.
    pub(super) reported: FxHashMap<TaskId, f64>,
    /// Phases after others before whose first attempt the table of results was written.
    pub(super) has_table: FxHashSet<u32>,
}

impl LiveJob {
    /// Creates the state of a job whose attempts have not begun.
    pub(super) fn new(id: JobId, plan: Arc<Plan>, store: Store, profiles: RunProfiles) -> LiveJob {
        LiveJob {
            id,
            store,
            failures: Failures::new(&plan),
            limits: TimeLimits::new(&plan),
            failing: Failing::default(),
            profiles,
            shutdown: Shutdown::default(),
            counts: Counts::new(plan.phases.len()),
            in_place: FxHashSet::default(),
            reported: FxHashMap::default(),
            has_table: FxHashSet::default(),
            plan,
        }
    }

    /// Returns the number of the job in the run.
    pub(super) fn id(&self) -> JobId {
        self.id
    }

    /// Returns the id that a task of the job's folder has in the run.
    pub(super) fn own(&self, task: TaskId) -> TaskId {
        TaskId { job: self.id, ..task }
    }

    /// Returns the phase of a task of the job.
    ///
    /// # Panics
    /// If the job has no such phase.
    pub(super) fn phase(&self, task: TaskId) -> &PlannedPhase {
        &self.plan.phases[task.phase as usize]
    }

    /// Returns the name of a task of the job, such as `map/3`.
    pub(super) fn name(&self, task: TaskId) -> String {
        format!("{}/{}", self.phase(task).name, task.index)
    }
}

/// Returns the id that a task of a run has in the folder of its job.
pub(super) fn in_folder(task: TaskId) -> TaskId {
    TaskId { job: IN_FOLDER, ..task }
}

/// The jobs of a run that have not ended, by number.
#[derive(Default)]
pub(super) struct Jobs {
    open: BTreeMap<JobId, LiveJob>,
    /// Number of all jobs of the run.
    arrived: u32,
}

impl Jobs {
    /// Returns the number that the next job gets.
    pub(super) fn next(&self) -> JobId {
        JobId(self.arrived)
    }

    /// Adds a job with the next number.
    pub(super) fn add(&mut self, job: LiveJob) {
        self.arrived = self.arrived.max(job.id.0 + 1);
        self.open.insert(job.id, job);
    }

    /// Removes a job that has ended.
    pub(super) fn remove(&mut self, job: JobId) -> Option<LiveJob> {
        self.open.remove(&job)
    }

    pub(super) fn get(&self, job: JobId) -> Option<&LiveJob> {
        self.open.get(&job)
    }

    pub(super) fn get_mut(&mut self, job: JobId) -> Option<&mut LiveJob> {
        self.open.get_mut(&job)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &LiveJob> {
        self.open.values()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut LiveJob> {
        self.open.values_mut()
    }

    /// Returns the numbers of the jobs.
    pub(super) fn ids(&self) -> Vec<JobId> {
        self.open.keys().copied().collect()
    }

    /// True if the policy decides about a job.
    pub(super) fn any_open(&self) -> bool {
        self.iter().any(|job| job.shutdown.is_open())
    }

    /// Returns the name of a task for messages, such as `map/3`; with its job if the run has several, such as
    /// `sort: map/3`.
    pub(super) fn name(&self, task: TaskId) -> String {
        let job = &self[task.job];
        if self.arrived > 1 { format!("{}: {}", job.plan.name, job.name(task)) } else { job.name(task) }
    }
}

impl Index<JobId> for Jobs {
    type Output = LiveJob;

    fn index(&self, job: JobId) -> &LiveJob {
        &self.open[&job]
    }
}

impl IndexMut<JobId> for Jobs {
    fn index_mut(&mut self, job: JobId) -> &mut LiveJob {
        self.open.get_mut(&job).expect("only jobs that have not ended have tasks that can change")
    }
}

impl LiveJob {
    /// Returns the records of a run that are about this job, with the ids of its folder. Records about nodes are left out.
    pub(super) fn records(id: JobId, records: &[Record]) -> Cow<'_, [Record]> {
        let arrivals = records.iter().filter(|record| matches!(record.change, Change::Event(Event::JobArrived { .. })));
        if id == IN_FOLDER && arrivals.count() <= 1 {
            return Cow::Borrowed(records);
        }
        let task = |task: &TaskId| (task.job == id).then(|| in_folder(*task));
        let attempt = |found: &AttemptId| Some(AttemptId { task: task(&found.task)?, ..*found });
        let event = |event: &Event| {
            Some(match event {
                Event::JobArrived { job, spec } if *job == id => {
                    Event::JobArrived { job: IN_FOLDER, spec: spec.clone() }
                }
                Event::AttemptMeasured { attempt: found, usage } => {
                    Event::AttemptMeasured { attempt: attempt(found)?, usage: *usage }
                }
                Event::AttemptFinished { attempt: found } => Event::AttemptFinished { attempt: attempt(found)? },
                Event::AttemptFailed { attempt: found, reason, external } => Event::AttemptFailed {
                    attempt: attempt(found)?,
                    reason: reason.clone(),
                    external: external.clone(),
                },
                Event::TaskWithheld { task: found, until, may_run } => {
                    Event::TaskWithheld { task: task(found)?, until: *until, may_run: *may_run }
                }
                Event::TaskReturned { task: found } => Event::TaskReturned { task: task(found)? },
                Event::TaskGivenUp { task: found } => Event::TaskGivenUp { task: task(found)? },
                _ => return None,
            })
        };
        let own = records.iter().filter_map(|record| {
            let Change::Event(found) = &record.change else { return None };
            Some(Record { at: record.at, change: Change::Event(event(found)?) })
        });
        Cow::Owned(own.collect())
    }
}
