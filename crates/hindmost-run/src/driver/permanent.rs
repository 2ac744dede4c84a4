//! What happens once a task has failed permanently, that is, has used up its retries.
//!
//! | its phase | the task | the job |
//! | --- | --- | --- |
//! | allows another failure | is given up: it counts as finished, without a result | goes on |
//! | keeps going | is withheld until the run is resumed | goes on, and fails when nothing is left to run |
//! | neither | stays pending | fails at once |
//!
//! A resumed run tries withheld tasks again. Tasks that were given up stay so, unless the user requests otherwise or the
//! command of their phase has changed; the run then begins again (`recheck.rs`), because later phases may have run without
//! their results.

use std::collections::{BTreeMap, BTreeSet};

use hindmost_core::cluster::{Phase, Task};
use hindmost_core::ids::TaskId;
use hindmost_core::metrics::RunState;
use hindmost_core::record::{Change, Event, Record};

use super::recheck::{self, TaskFailures};
use super::{Driver, JOB, RunError};
use crate::job_file::Plan;

/// The failures that a journal holds: which tasks were given up or withheld when it ended.
#[derive(Default)]
pub(super) struct FailedBefore {
    /// Number of failures and last error of each task.
    failures: BTreeMap<TaskId, (u32, String)>,
    pub(super) given_up: BTreeSet<TaskId>,
}

impl FailedBefore {
    /// Reads the failures from a journal.
    pub(super) fn of(records: &[Record]) -> FailedBefore {
        let mut before = FailedBefore { given_up: recheck::given_up(records), ..FailedBefore::default() };
        for record in records {
            if let Change::Event(Event::AttemptFailed { attempt, reason: Some(reason), .. }) = &record.change {
                let (count, last) = before.failures.entry(attempt.task).or_default();
                (*count, *last) = (*count + 1, reason.to_string());
            }
        }
        before
    }
}

/// Returns the tasks that were given up and run again in a resumed run: with `retry_failed` all, otherwise those of phases
/// whose commands have `changed`. Tasks that may not run twice only run again if the retries of their phases allow it.
pub(super) fn failed_again(
    plan: &Plan,
    retry_failed: bool,
    changed: &[String],
    records: &[Record],
) -> BTreeSet<TaskId> {
    let counts: BTreeMap<TaskId, u32> = recheck::failures(plan, records).into_iter().collect();
    let runs_again = |task: &TaskId| {
        let Some(phase) = plan.phases.get(task.phase as usize) else { return false };
        let may = phase.idempotent || counts.get(task).is_none_or(|count| *count <= phase.retries);
        may && (retry_failed || changed.contains(&phase.name))
    };
    recheck::given_up(records).into_iter().filter(runs_again).collect()
}

impl Driver<'_> {
    /// Handles a task that has used up its retries and has no running attempt.
    pub(super) fn check_given_up(&mut self, task: TaskId) -> Result<(), RunError> {
        if !self.failures.is_exhausted(task) || !self.is_pending(task) {
            return Ok(());
        }
        if !self.shutdown.has_begun() {
            self.failures.give_up(task);
            self.report_failure(task);
            // The follower may have ended the run.
            return if self.shutdown.has_begun() { Ok(()) } else { self.give_up(task) };
        }
        // A failure while the run ends is not reported, unless the attempt was allowed to run to its end.
        if self.shutdown.drains() || !self.plan.phases[task.phase as usize].idempotent {
            self.failures.give_up(task);
            self.report_failure(task);
        }
        Ok(())
    }

    /// Gives up or withholds a pending task that has failed permanently, or ends the run.
    fn give_up(&mut self, task: TaskId) -> Result<(), RunError> {
        let phase = &self.plan.phases[task.phase as usize];
        let name = format!("{}/{}", phase.name, task.index);
        let allowed = phase.allowed_failures.of(phase.tasks);
        let failed = self.session.cluster().phase(task).map_or(0, Phase::abandoned);
        if failed < allowed {
            self.follower.failure(&format!(
                "{name} has failed permanently: {} of {allowed} failures that phase {} allows",
                failed + 1,
                phase.name
            ));
            return self.happen(&Event::TaskGivenUp { task }).map(drop);
        }
        if phase.keep_going {
            self.follower.failure(&format!("{name} has failed permanently; the rest of the job goes on"));
            return self.happen(&Event::TaskWithheld { task, until: None }).map(drop);
        }
        self.shut_down(RunState::Failed);
        Ok(())
    }

    /// Counts the failures of tasks from before this process, and handles the tasks that have used up their retries.
    pub(super) fn recall_failures(&mut self, earlier: &[TaskFailures]) -> Result<(), RunError> {
        let cluster = self.session.cluster();
        let is_pending = |task: TaskId| cluster.task(task).is_some_and(Task::is_pending);
        for task in self.failures.recall(earlier, is_pending) {
            if !self.shutdown.has_begun() {
                self.give_up(task)?;
            }
        }
        Ok(())
    }

    /// Lists the tasks that were given up before the run was resumed, and makes the withheld ones pending again.
    pub(super) fn take_up_failed(&mut self, before: FailedBefore) -> Result<(), RunError> {
        for task in before.given_up {
            let (count, reason) = before.failures.get(&task).cloned().unwrap_or_default();
            self.failures.recall_given_up(task, count, reason, String::new());
        }
        if !self.shutdown.is_open() {
            return Ok(());
        }
        self.withheld().into_iter().try_for_each(|task| self.happen(&Event::TaskReturned { task }).map(drop))
    }

    /// True if nothing can run any more although the job is not done, because tasks that have failed are withheld.
    pub(super) fn is_held_up(&self) -> bool {
        let cluster = self.session.cluster();
        let has_withheld = |phases: &[Phase]| phases.iter().any(|phase| phase.withheld() > 0);
        cluster.runnable() == 0 && cluster.job(JOB).is_some_and(|job| has_withheld(job.phases()))
    }

    /// Returns the withheld tasks.
    fn withheld(&self) -> Vec<TaskId> {
        let phases = self.session.cluster().job(JOB).map_or(&[][..], |job| job.phases());
        let tasks = (0..).zip(phases).filter(|(_, phase)| phase.withheld() > 0).flat_map(|(phase, of_phase)| {
            let withheld = (0..).zip(of_phase.tasks()).filter(|(_, task)| task.is_withheld());
            withheld.map(move |(index, _)| TaskId { job: JOB, phase, index })
        });
        tasks.collect()
    }

    fn is_pending(&self, task: TaskId) -> bool {
        self.session.cluster().task(task).is_some_and(Task::is_pending)
    }
}
