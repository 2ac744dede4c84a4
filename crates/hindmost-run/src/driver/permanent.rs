//! What happens after a failure: the task waits for its next try, or it has failed permanently, because it has used up its
//! retries.
//!
//! | its phase | the task | the job |
//! | --- | --- | --- |
//! | allows another failure | is given up: it counts as finished, without a result | goes on |
//! | keeps going | is withheld until the run is resumed | goes on, and fails when nothing is left to run |
//! | neither | stays pending | fails at once |
//!
//! A resumed run tries withheld tasks again. Tasks that were given up stay so, unless the user requests otherwise, the
//! command of their phase has changed, or their phase had more failures than it allows (which of them were given up depends on
//! their order only) or allows fewer now; the run then begins again (`recheck.rs`), because later phases may have run without
//! their results.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hindmost_core::cluster::{Job, Phase, Task};
use hindmost_core::ids::{AttemptId, JobId, TaskId};
use hindmost_core::metrics::{FailedTask, RunState};
use hindmost_core::record::{Change, Event, MayRun, Record};
use hindmost_core::time::Time;
use hindmost_core::workload::{JobSpec, PhaseSpec};
use hindmost_math::plain::Plain;

use super::deadlines::Deadline;
use super::endings::TIMED_OUT;
use super::jobs::{IN_FOLDER, LiveJob, in_folder};
use super::what_counts::{self, TaskFailures};
use super::{Driver, RunError};
use crate::job_file::{Plan, TaskChanges};
use crate::store::{GivenUp, Store};

/// The failures that a journal holds: which tasks were given up or withheld when it ended.
#[derive(Default)]
pub(super) struct FailedBefore {
    /// Number of failures, last attempt that failed and its error, of each task.
    failures: BTreeMap<TaskId, (u32, u32, String)>,
    pub(super) given_up: BTreeSet<TaskId>,
    /// The times at which withheld tasks return; `None` for tasks that had failed permanently.
    withheld: BTreeMap<TaskId, Option<Time>>,
    /// Number of failures of each task at its time limit.
    timed_out: BTreeMap<TaskId, u32>,
    /// Withheld tasks that may not run twice and waited for the end of an attempt on a lost node.
    pub(super) awaiting: BTreeMap<TaskId, MayRun>,
}

impl FailedBefore {
    /// Reads the failures from a journal, and from the record of the run those of tasks that stay failed.
    pub(super) fn of(plan: &Plan, store: &Store, records: &[Record]) -> FailedBefore {
        let earlier = store.job().given_up.iter();
        let mut before = FailedBefore {
            failures: earlier.map(|task| (task.id(), (task.failures, task.attempt, task.reason.clone()))).collect(),
            given_up: what_counts::given_up(plan, store, records, &[]),
            ..FailedBefore::default()
        };
        for record in records {
            match &record.change {
                Change::Event(Event::AttemptFailed { attempt, reason: Some(reason), .. }) => {
                    let known = before.failures.entry(attempt.task).or_default();
                    *known = (known.0 + 1, attempt.copy, reason.to_string());
                    if reason.starts_with(TIMED_OUT) {
                        *before.timed_out.entry(attempt.task).or_default() += 1;
                    }
                }
                Change::Event(Event::TaskWithheld { task, may_run: Some(attempt), .. }) => {
                    before.awaiting.insert(*task, *attempt);
                }
                Change::Event(Event::TaskWithheld { task, until, .. }) => _ = before.withheld.insert(*task, *until),
                Change::Event(Event::TaskReturned { task }) => {
                    before.withheld.remove(task);
                    before.awaiting.remove(task);
                }
                _ => {}
            }
        }
        before
    }

    /// Counts the failures as those before the run was resumed. Tasks that may not run twice are left out: their failures count
    /// against the retries.
    pub(super) fn remember(&self, job: &mut LiveJob) {
        for (task, count) in &self.timed_out {
            (0..*count).filter(|_| task.phase < job.plan.phases.len() as u32).for_each(|_| job.limits.timed_out(*task));
        }
        for (task, (count, ..)) in &self.failures {
            if job.plan.phases.get(task.phase as usize).is_some_and(|phase| phase.idempotent) {
                job.failures.remember(job.own(*task), *count);
            }
        }
    }

    /// Returns what the record of the run holds of a task that stays failed.
    pub(super) fn given_up_task(&self, task: TaskId) -> GivenUp {
        let (failures, attempt, reason) = self.failures.get(&task).cloned().unwrap_or_default();
        GivenUp { phase: task.phase, task: task.index, failures, attempt, reason }
    }
}

/// The tasks that had failed as their phases allowed, and that do not stay so when the run is resumed.
#[derive(Debug, Default)]
pub(super) struct FailedAgain {
    /// The tasks that run again.
    pub(super) again: BTreeSet<TaskId>,
    /// Tasks of phases that allow fewer failures now. They may not run twice, and their retries are used up, so they count as
    /// failed in the run that begins again.
    pub(super) too_many: BTreeSet<TaskId>,
    /// The phases that allow fewer failures now than they have: their number, and how many tasks have failed.
    pub(super) phases: BTreeMap<u32, u32>,
    /// Number of tasks that had failed permanently beyond what their phases allow, and run again in any case.
    pub(super) open: usize,
    /// Tasks that had failed as their phases allow and may not run again, because they may not run twice and their retries are
    /// used up.
    pub(super) stuck: BTreeSet<TaskId>,
}

impl FailedAgain {
    /// Finds the tasks that do not stay failed: with `retry_failed` all, those of phases that have failed, whose commands have
    /// `changed` or that allow fewer failures now, and those in `redo`. `changes` are those of the plan. Tasks that may not run
    /// twice only run again if the retries of their phases allow it.
    pub(super) fn of(
        plan: &Plan,
        store: &Store,
        retry_failed: bool,
        changed: &[String],
        (changes, redo): (&TaskChanges, &BTreeSet<(u32, u32)>),
        records: &[Record],
    ) -> FailedAgain {
        let mut counts: BTreeMap<TaskId, u32> = BTreeMap::new();
        for (task, count) in store.earlier_failures().into_iter().chain(what_counts::failures(plan, records)) {
            *counts.entry(task).or_default() += count;
        }
        let mut given_up = what_counts::given_up(plan, store, records, &changes.added);
        // Tasks that are left out have not failed. If what they wait for runs again, they come after it.
        let left_out = plan.left_out(&given_up);
        given_up.retain(|task| !left_out.contains(task));
        let mut found = FailedAgain::default();
        for task in &given_up {
            *found.phases.entry(task.phase).or_default() += 1;
        }
        found.phases.retain(|phase, failed| *failed > plan.phases[*phase as usize].may_fail());
        let may_run = |task: &TaskId| {
            let phase = &plan.phases[task.phase as usize];
            phase.idempotent || counts.get(task).is_none_or(|count| *count <= phase.retries)
        };
        let beyond = failed_beyond(plan, store, &given_up, records);
        found.open = beyond.iter().filter(|task| may_run(task)).count();
        let in_phase = |tasks: &BTreeSet<TaskId>, phase| tasks.iter().filter(|task| task.phase == phase).count() as u32;
        let has_failed = |phase: u32| {
            let beyond = in_phase(&beyond, phase);
            beyond > 0 && beyond + in_phase(&given_up, phase) > plan.phases[phase as usize].may_fail()
        };
        let failed_phases: BTreeSet<u32> = (0..plan.phases.len() as u32).filter(|phase| has_failed(*phase)).collect();
        for task in given_up {
            let phase = &plan.phases[task.phase as usize];
            let may = may_run(&task);
            let has_too_many = found.phases.contains_key(&task.phase);
            let is_wanted = retry_failed || redo.contains(&(task.phase, task.index));
            let is_open = has_too_many || failed_phases.contains(&task.phase);
            if may && (is_wanted || is_open || changed.contains(&phase.name)) {
                found.again.insert(task);
            } else if has_too_many {
                found.too_many.insert(task);
            } else if !may {
                found.stuck.insert(task);
            }
        }
        found
    }
}

/// Returns the tasks that had failed permanently although their phases allow no more failures, and that have no result:
/// according to the summary with which the run last ended, and to its journal if it was killed later.
fn failed_beyond(plan: &Plan, store: &Store, given_up: &BTreeSet<TaskId>, records: &[Record]) -> BTreeSet<TaskId> {
    let finished = what_counts::finished(records);
    let withheld = FailedBefore::of(plan, store, records).withheld.into_iter();
    let withheld = withheld.filter(|(_, until)| until.is_none()).map(|(task, _)| task);
    let number = |name: &String| plan.phases.iter().position(|phase| phase.name == *name);
    let in_summary = store.failed_tasks().into_iter().filter_map(|(phase, index)| {
        let phase = number(&phase)? as u32;
        Some(TaskId { job: IN_FOLDER, phase, index })
    });
    let is_open = |task: &TaskId| {
        let phase = &plan.phases[task.phase as usize];
        let is_there = task.index < phase.tasks && !phase.is_withdrawn(task.index);
        is_there && !given_up.contains(task) && !finished.contains(task)
    };
    in_summary.chain(withheld).filter(is_open).collect()
}

/// Returns the exit code that the reason of a failure names; `None` if it names none.
fn exit_code(reason: &str) -> Option<i32> {
    let rest = reason.strip_prefix("exit code ")?;
    rest.split(' ').next()?.parse().ok()
}

impl Driver<'_> {
    /// Describes a failed attempt of a task. `stdout` and `stderr` are the ends of its outputs.
    pub(super) fn failed_attempt(&self, attempt: AttemptId, reason: &str, [stdout, stderr]: [String; 2]) -> FailedTask {
        let exit_code = exit_code(reason);
        let [stdout_log, stderr_log] =
            self.jobs[attempt.task.job].store.kept_logs(attempt).map(|path| Some(path?.display().to_string()));
        FailedTask {
            attempt: attempt.copy,
            reason: reason.to_owned(),
            exit_code,
            signal: exit_code.filter(|code| *code > 128).map(|code| code - 128),
            stdout,
            stderr,
            stdout_log,
            stderr_log,
            ..self.described(attempt.task)
        }
    }

    /// Describes a task without its failure: its input, values of the matrix and command.
    fn described(&self, task: TaskId) -> FailedTask {
        let plan = &self.jobs[task.job].plan;
        let Some(phase) = plan.phases.get(task.phase as usize) else { return FailedTask::default() };
        let matrix = phase.values(task.index).map(|(name, value)| (name.to_owned(), value.to_owned()));
        FailedTask {
            input: phase.input_name(task.index).map(|input| String::from_utf8_lossy(&input).into_owned()),
            matrix: matrix.collect(),
            command: phase.command_of(task.index),
            ..FailedTask::default()
        }
    }

    /// Handles a task of which an attempt has failed: if it is to be tried again, it may have to wait for that.
    pub(super) fn after_failure(&mut self, task: TaskId) -> Result<(), RunError> {
        let job = &self.jobs[task.job];
        if job.failures.is_exhausted(task) || job.shutdown.has_begun() || !self.is_pending(task) {
            return self.check_given_up(task);
        }
        let delay = job.phase(task).delay_after(job.failures.of(task));
        if delay.is_zero() { Ok(()) } else { self.withhold_for(task, Time(delay.as_nanos() as u64)) }
    }

    /// Withholds a task for this time, unless an attempt of it runs.
    pub(super) fn withhold_for(&mut self, task: TaskId, delay: Time) -> Result<(), RunError> {
        if !self.is_pending(task) {
            return Ok(());
        }
        let until = self.session.cluster().now().max(self.engine.now()) + delay;
        self.happen(&Event::TaskWithheld { task, until: Some(until), may_run: None })?;
        self.retry_at(task, until);
        Ok(())
    }

    /// Returns what a line about a failure of the task adds if a retry follows; empty if none does, or if another attempt of the
    /// task is running.
    pub(super) fn next_try(&self, task: TaskId) -> String {
        let job = &self.jobs[task.job];
        if job.failures.is_exhausted(task) || job.shutdown.has_begun() || !self.is_pending(task) {
            return String::new();
        }
        let phase = job.phase(task);
        let failures = job.failures.of(task);
        let delay = phase.delay_after(failures);
        let after = if delay.is_zero() { String::new() } else { format!(" in {} s", Plain(delay.as_secs_f64())) };
        format!("; retry {failures} of {} follows{after}", phase.retries)
    }

    fn retry_at(&mut self, task: TaskId, until: Time) {
        self.jobs[task.job].failures.delay(task);
        self.deadlines.push(until, Deadline::Retry(task));
    }

    /// Makes a task pending again whose next try has waited long enough.
    pub(super) fn retry(&mut self, task: TaskId) -> Result<(), RunError> {
        self.jobs[task.job].failures.no_longer_delayed(task);
        let is_withheld = self.session.cluster().task(task).is_some_and(Task::is_withheld);
        if !is_withheld || !self.jobs[task.job].shutdown.is_open() {
            return Ok(());
        }
        self.happen(&Event::TaskReturned { task }).map(drop)
    }

    /// Handles a task that has used up its retries and has no running attempt.
    pub(super) fn check_given_up(&mut self, task: TaskId) -> Result<(), RunError> {
        let is_exhausted = self.jobs[task.job].failures.is_exhausted(task);
        if is_exhausted && self.may_get_copies(task) {
            // Copies that run may still succeed. Others would put off the end of a task that always fails.
            self.happen(&Event::NoMoreCopies { task, may_restart: false })?;
        }
        if !is_exhausted || !self.is_pending(task) {
            return Ok(());
        }
        let job = &mut self.jobs[task.job];
        if !job.shutdown.has_begun() {
            job.failures.give_up(task);
            self.report_failure(task);
            // The follower may have ended the run.
            return if self.jobs[task.job].shutdown.has_begun() { Ok(()) } else { self.give_up(task) };
        }
        // A failure while the run ends is not reported, unless the attempt was allowed to run to its end.
        if job.shutdown.drains() || !job.phase(task).idempotent {
            job.failures.give_up(task);
            self.report_failure(task);
        }
        Ok(())
    }

    /// Gives up or withholds a pending task that has failed permanently, or ends the run.
    fn give_up(&mut self, task: TaskId) -> Result<(), RunError> {
        let plan = Arc::clone(&self.jobs[task.job].plan);
        let phase = &plan.phases[task.phase as usize];
        let name = self.jobs.name(task);
        let allowed = phase.may_fail();
        let of_phase = self.session.cluster().phase(task);
        let is_given_up = |index: &u32| of_phase.is_some_and(|of| of.tasks()[*index as usize].is_abandoned());
        let has_no_share =
            |index: &u32| phase.is_withdrawn(*index) || self.is_left_out(TaskId { index: *index, ..task });
        let others = (0..phase.tasks).filter(is_given_up).filter(has_no_share).count() as u32;
        let failed = of_phase.map_or(0, Phase::abandoned).saturating_sub(others);
        if failed < allowed {
            self.follower.failure(&format!(
                "{name} has failed permanently: {} of {allowed} failures that phase {} allows",
                failed + 1,
                phase.name
            ));
            return self.leave_without_result(task);
        }
        if phase.keep_going {
            self.follower.failure(&format!("{name} has failed permanently; the rest of the job goes on"));
            return self.happen(&Event::TaskWithheld { task, until: None, may_run: None }).map(drop);
        }
        self.shut_down(task.job, RunState::Failed)
    }

    /// Gives up a task, and those that wait only for single tasks without results.
    fn leave_without_result(&mut self, task: TaskId) -> Result<(), RunError> {
        self.happen(&Event::TaskGivenUp { task })?;
        self.leave_children_out(task)
    }

    /// Gives up the tasks that wait only for single tasks without results, of which this is one.
    fn leave_children_out(&mut self, task: TaskId) -> Result<(), RunError> {
        let children = |spec: &JobSpec| {
            let of = |(at, phase): (u32, &PhaseSpec)| {
                let children = phase.edges_from(task.phase).map(|edges| edges.children_of(task.index));
                children.into_iter().flatten().map(move |index| TaskId { phase: at, index, ..task })
            };
            (0..).zip(&spec.phases).flat_map(of).collect::<Vec<TaskId>>()
        };
        let cluster = self.session.cluster();
        for child in cluster.job(task.job).map(|job| children(job.spec())).unwrap_or_default() {
            let found = self.session.cluster().task(child);
            let is_open = found.is_some_and(|task| task.is_pending() || task.is_blocked() || task.is_withheld());
            if is_open && self.is_left_out(child) {
                let (name, parent) = (self.jobs.name(child), self.jobs.name(task));
                self.follower.message(&format!("{name} is left out, because {parent} has no result"));
                self.leave_without_result(child)?;
            }
        }
        Ok(())
    }

    /// True if a task waits for single tasks of a phase and none of these has a result.
    fn is_left_out(&self, task: TaskId) -> bool {
        let cluster = self.session.cluster();
        let Some(job) = cluster.job(task.job) else { return false };
        let is_given_up = |phase: u32, index: &u32| {
            cluster.task(TaskId { phase, index: *index, ..task }).is_some_and(Task::is_abandoned)
        };
        job.spec().phases[task.phase as usize].edges.iter().any(|edges| {
            let parents = edges.parents_of(task.index);
            !parents.is_empty() && parents.iter().all(|index| is_given_up(edges.parent, index))
        })
    }

    /// Counts the failures of a job's tasks from before this process, and handles the tasks that have used up their retries.
    pub(super) fn recall_failures(&mut self, job: JobId, earlier: &[TaskFailures]) -> Result<(), RunError> {
        let cluster = self.session.cluster();
        let is_pending = |task: TaskId| cluster.task(task).is_some_and(Task::is_pending);
        let own = |(task, count): &TaskFailures| (self.jobs[job].own(*task), *count);
        // The job may say by now that its tasks may run twice.
        let counts = |(task, _): &TaskFailures| {
            self.jobs[job].plan.phases.get(task.phase as usize).is_none_or(|phase| !phase.idempotent)
        };
        let earlier: Vec<TaskFailures> = earlier.iter().map(own).filter(counts).collect();
        let described: BTreeMap<TaskId, FailedTask> =
            earlier.iter().map(|(task, _)| (*task, self.described(*task))).collect();
        let describe = |task: TaskId| described.get(&task).cloned().unwrap_or_default();
        for task in self.jobs[job].failures.recall(&earlier, is_pending, describe) {
            if !self.jobs[job].shutdown.has_begun() {
                self.give_up(task)?;
            }
        }
        Ok(())
    }

    /// Lists the tasks of a job that were given up before the run was resumed, and makes the withheld ones pending again,
    /// unless their next try has to wait.
    pub(super) fn take_up_failed(&mut self, job: JobId, before: &FailedBefore) -> Result<(), RunError> {
        let left_out = self.jobs[job].plan.left_out(&before.given_up);
        for task in before.given_up.difference(&left_out) {
            self.recall_given_up(job, &before.given_up_task(*task))?;
        }
        if !self.jobs[job].shutdown.is_open() {
            return Ok(());
        }
        let now = self.engine.now();
        for task in self.withheld(job) {
            // Tasks that this process has withheld, because they failed while none ran, are not in the journal that it has read.
            match before.withheld.get(&in_folder(task)) {
                Some(Some(until)) if *until > now => self.retry_at(task, *until),
                Some(_) => _ = self.happen(&Event::TaskReturned { task })?,
                None if before.awaiting.contains_key(&in_folder(task)) && !self.lost.awaits(task) => {
                    self.happen(&Event::TaskReturned { task })?;
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Lists a task that had failed as its phase allows. Gives it up, unless the journal holds this: a run that begins again
    /// may have died before.
    pub(super) fn recall_given_up(&mut self, job: JobId, given_up: &GivenUp) -> Result<(), RunError> {
        let task = self.jobs[job].own(given_up.id());
        let attempt = AttemptId { task, copy: given_up.attempt };
        let tails = ["out", "err"].map(|ending| self.jobs[job].store.kept_log_tail(attempt, ending));
        let failures = given_up.failures;
        let failed = FailedTask { failures, ..self.failed_attempt(attempt, &given_up.reason, tails) };
        self.jobs[job].failures.recall_given_up(task, failed);
        // The process may have died before it had left out the tasks that wait only for this one.
        if self.is_pending(task) { self.leave_without_result(task) } else { self.leave_children_out(task) }
    }

    /// Gives up the tasks of a job whose inputs or values are gone, which have no result and no running attempt.
    pub(super) fn give_up_withdrawn(&mut self, job: JobId) -> Result<(), RunError> {
        let plan = Arc::clone(&self.jobs[job].plan);
        for (at, phase) in (0..).zip(&plan.phases) {
            for index in phase.withdrawn_tasks() {
                let task = TaskId { job, phase: at, index };
                let is_open = |task: &Task| task.is_pending() || task.is_blocked() || task.is_withheld();
                if self.session.cluster().task(task).is_some_and(is_open) {
                    self.happen(&Event::TaskGivenUp { task })?;
                }
            }
        }
        Ok(())
    }

    /// True if nothing of a job can run any more although it is not done, because tasks that have failed are withheld.
    pub(super) fn is_held_up(&self, job: JobId) -> bool {
        let has_withheld = |phases: &[Phase]| phases.iter().any(|phase| phase.withheld() > 0);
        let is_stuck = |found: &Job| found.runnable() == 0 && has_withheld(found.phases());
        !self.jobs[job].failures.has_delayed() && self.session.cluster().job(job).is_some_and(is_stuck)
    }

    /// Returns the withheld tasks of a job.
    fn withheld(&self, job: JobId) -> Vec<TaskId> {
        let phases = self.session.cluster().job(job).map_or(&[][..], |job| job.phases());
        let tasks = (0..).zip(phases).filter(|(_, phase)| phase.withheld() > 0).flat_map(|(phase, of_phase)| {
            let withheld = (0..).zip(of_phase.tasks()).filter(|(_, task)| task.is_withheld());
            withheld.map(move |(index, _)| TaskId { job, phase, index })
        });
        tasks.collect()
    }

    /// True if copies of a task run, and others may start.
    fn may_get_copies(&self, task: TaskId) -> bool {
        let may = |task: &Task| task.running_copies() > 0 && !task.is_finished() && !task.has_last_copies();
        !self.jobs[task.job].shutdown.has_begun() && self.session.cluster().task(task).is_some_and(may)
    }

    pub(super) fn is_pending(&self, task: TaskId) -> bool {
        self.session.cluster().task(task).is_some_and(Task::is_pending)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_a_failure_names_its_exit_code() {
        for (reason, code) in [
            ("exit code 3", Some(3)),
            ("exit code 137 (killed by signal 9)", Some(137)),
            ("took longer than its time limit of 3 s", None),
            ("exit code", None),
        ] {
            assert_eq!(exit_code(reason), code, "{reason}");
        }
    }
}
