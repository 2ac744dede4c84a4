//! Reports the end of each task to the follower, which may end the run.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hindmost_core::ids::{AttemptId, TaskId};
use hindmost_core::time::Time;

use super::attempts::{Kill, Running};
use super::jobs::ONLY;
use super::task_ends::{EarlierResult, How, Next, TaskEnd};
use super::{Driver, RunError, journal, what_counts};
use crate::job_file::Plan;
use crate::store::{EndMarker, Store};

impl Driver<'_> {
    fn end_of_task(&self, attempt: AttemptId, since: Time, how: How) -> TaskEnd {
        let took = self.was_at.unwrap_or_else(|| self.engine.now()) - since;
        TaskEnd {
            attempt,
            start: Duration::from_nanos(since.0),
            took: Duration::from_nanos(took.0),
            how,
            reason: String::new(),
            logs: self.jobs[attempt.task.job].store.logs(attempt),
        }
    }

    /// Notes how an attempt has failed, in case it is the last one of its task.
    pub(super) fn note_failure(&mut self, attempt: AttemptId, running: &Running) {
        let exit = match self.jobs[attempt.task.job].store.end_marker(attempt) {
            Ok(EndMarker::Exit(code)) if code != 0 => Some(code),
            _ => None,
        };
        let timed_out = running.kill() == Some(Kill::TimeLimit);
        let exit = exit.filter(|_| running.kill().is_none());
        let end = self.end_of_task(attempt, running.progress.since, How::Failed { exit, timed_out });
        self.jobs[attempt.task.job].failing.0.insert(attempt.task, end);
    }

    /// Notes that an attempt has failed because it was cut off, in case it is the last one of its task.
    pub(super) fn note_cut_off(&mut self, attempt: AttemptId) {
        let Some(since) = self.attempts.get(attempt).map(|running| running.progress.since) else { return };
        let end = self.end_of_task(attempt, since, How::Failed { exit: None, timed_out: false });
        self.jobs[attempt.task.job].failing.0.insert(attempt.task, end);
    }

    /// Reports that a task has its result, from this attempt that started at `since`.
    pub(super) fn report_success(&mut self, attempt: AttemptId, since: Time) {
        let job = &mut self.jobs[attempt.task.job];
        job.failing.0.remove(&attempt.task);
        if job.shutdown.drains() {
            // The policy decides no more, so the other copies of the task are stopped here.
            for copy in self.attempts.matching(|copy, running| copy.task == attempt.task && running.kill().is_none()) {
                self.kill(copy, Kill::Shutdown);
            }
        }
        let end = self.end_of_task(attempt, since, How::Succeeded);
        self.report(&end);
    }

    /// Reports the results that tasks of the run's only job have already, to a follower that wants them. `winners` are the
    /// attempts that have won in the run's journal; others are in earlier journals.
    pub(super) fn report_earlier(
        &mut self,
        tasks: &BTreeSet<TaskId>,
        winners: BTreeMap<TaskId, u32>,
    ) -> Result<(), RunError> {
        let Some(job) = self.jobs.get(ONLY).filter(|_| self.follower.wants_earlier()) else { return Ok(()) };
        let results = earlier(&job.plan, &job.store, tasks, winners)?;
        for result in &results {
            self.follower.earlier(result);
        }
        Ok(())
    }

    /// Reports that a task has failed permanently.
    pub(super) fn report_failure(&mut self, task: TaskId) {
        let job = &mut self.jobs[task.job];
        if let Some(end) = job.failing.0.remove(&task) {
            let reason = job.failures.reason(task).unwrap_or_default().to_owned();
            self.report(&TaskEnd { reason, ..end });
        }
    }

    fn report(&mut self, end: &TaskEnd) {
        match self.follower.task_ended(end) {
            Next::Continue => {}
            Next::Finish(state) => self.jobs[end.attempt.task.job].shutdown.drain(state),
            Next::Stop(state) => {
                let job = end.attempt.task.job;
                self.jobs[job].shutdown.begin(state);
                self.kill_job(job, Kill::Shutdown);
            }
        }
    }
}

/// Returns the results that tasks have already. `winners` are the attempts that have won in the run's journal; others are in
/// earlier journals.
///
/// # Errors
/// If an earlier journal can't be read.
pub(super) fn earlier(
    plan: &Plan,
    store: &Store,
    tasks: &BTreeSet<TaskId>,
    mut winners: BTreeMap<TaskId, u32>,
) -> Result<Vec<EarlierResult>, RunError> {
    for name in store.earlier_journals() {
        if tasks.iter().all(|task| winners.contains_key(task)) {
            break;
        }
        let Some((_, records)) = journal::read_named(store, &name)? else { continue };
        for (task, copy) in what_counts::winners(&records) {
            winners.entry(task).or_insert(copy);
        }
    }
    let of_task = tasks.iter().filter_map(|task| {
        let is_withdrawn = plan.phases[task.phase as usize].is_withdrawn(task.index);
        let winner = winners.get(task).copied().or_else(|| store.attempt_of_result(*task));
        let attempt = AttemptId { task: *task, copy: winner.filter(|_| !is_withdrawn)? };
        Some(EarlierResult { attempt, logs: store.logs(attempt), lacks_logs: store.lacks_logs(attempt) })
    });
    Ok(of_task.collect())
}
