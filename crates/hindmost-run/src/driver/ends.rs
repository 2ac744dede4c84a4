//! Ends jobs: writes their summaries and tables of results, and passes their outcomes on.

use std::sync::Arc;

use hindmost_core::cluster::Task;
use hindmost_core::ids::{JobId, TaskId};
use hindmost_core::metrics::{FailedTask, RunState, RunSummary, TimeSaved, measured_finishes, suggestions};
use hindmost_core::time::Time;
use hindmost_core::timeline::Timeline;
use hindmost_core::usage::Usage;

use super::jobs::LiveJob;
use super::results_table::OfTask;
use super::utilization::utilization;
use super::{Driver, RESULTS, RunError, RunOutcome, journal, recheck, results_table};
use crate::job_file::Plan;
use crate::store::{ResultState, Store};

impl Driver<'_> {
    /// Ends a job of which nothing runs: writes its summary and its table of results, and passes its outcome on.
    pub(super) fn end_job(&mut self, id: JobId, state: RunState) -> Result<(), RunError> {
        self.follow();
        let learned = self.session.learned(id);
        if state != RunState::Done {
            self.leave_to_others(id)?;
            self.settle()?;
        }
        self.keep_progress(id);
        self.recorder.journal.sync()?;
        let home = self.home().map(journal::read).transpose()?.flatten();
        let records = home.map(|(_, records)| records).unwrap_or_default();
        let Some(job) = self.jobs.remove(id) else { return Ok(()) };
        let LiveJob { plan, store, failures, profiles, .. } = job;
        recheck::kill(&store.run(), self.engine, self.follower);
        let run = self.home.as_ref().unwrap_or(&store);
        let pauses = run.job().pauses.iter().map(|(begin, end)| [Time(*begin), Time(*end)]).collect();
        // Only its pauses are used, before the real timeline takes the records.
        let clock = Timeline { pauses, ..Timeline::default() };
        let energy = self.energy.take();
        let energy =
            energy.and_then(|energy| energy.finish(&records, &self.header.dimensions, |at| clock.paused_until(at)));
        let finishes = measured_finishes(&records);
        let mut timeline = Timeline::of(records);
        timeline.pauses = clock.pauses;
        let saved = TimeSaved::of(&timeline, &self.header.dimensions, &finishes).filter(|_| state == RunState::Done);
        if self.home.is_some() {
            timeline = timeline.of_job(id);
        }
        timeline.withdrawn = plan.withdrawn();
        let (policy, knowledge) = (self.header.policy.clone(), self.header.knowledge.to_string());
        let mut summary = RunSummary::of(&timeline, state, failures.into_given_up(), policy, knowledge)
            .ok_or_else(|| RunError::Input("the journal holds no job".to_owned()))?;
        summary.synced = store.is_synced();
        summary.energy = energy;
        summary.saved = saved;
        for (phase, learned) in summary.phases.iter_mut().zip(learned) {
            phase.learned = learned;
        }
        summary.shell = Some(plan.shells_in_words(&store.job().shell()));
        let needs: Vec<_> = summary.phases.iter().map(|phase| phase.needs).collect();
        // Maps have no keys in which a suggestion could be written.
        if !plan.has_own_commands() {
            summary.suggestions = suggestions(&timeline, &needs, &self.header.dimensions);
        }
        summary.utilization = utilization(&timeline, &self.header.dimensions);
        let (begin, end) = timeline
            .jobs
            .first()
            .map_or((Time::ZERO, timeline.end), |job| (job.arrival, job.finish.unwrap_or(timeline.end)));
        summary.flowtime -= (timeline.paused_until(end) - timeline.paused_until(begin)).seconds();
        let json = serde_json::to_string_pretty(&summary).unwrap_or_default();
        let ran = results_table::in_timeline(&timeline, |task, winner| store.seconds_of_result(task, winner));
        if let Err(error) = write_table(&plan, &store, &summary.failed_tasks, ran) {
            self.follower.message(&error);
        }
        store.write_summary(&json).map_err(|error| RunError::Io { path: store.folder().into(), error })?;
        if state == RunState::Done {
            profiles.keep(self.follower);
        }
        self.submissions.ended(RunOutcome {
            plan: (*plan).clone(),
            summary,
            timeline,
            rounds: self.recorder.rounds,
            deciding: self.recorder.deciding,
            longest_decision: self.recorder.longest,
            pages: store.pages(),
            folder: store.folder().to_owned(),
        });
        Ok(())
    }

    /// Writes the table of results before the first attempt of a phase that comes after others, so that its commands find all results
    /// of these.
    pub(super) fn write_table_before(&mut self, task: TaskId) {
        let job = &mut self.jobs[task.job];
        if job.phase(task).after.is_empty() || !job.has_table.insert(task.phase) {
            return;
        }
        let LiveJob { plan, store, failures, .. } = &self.jobs[task.job];
        let cluster = self.session.cluster();
        let spec = cluster.job(task.job).map(|job| Arc::clone(job.spec()));
        let ran = |of: TaskId| {
            let phase = spec.as_ref().and_then(|spec| spec.phases.get(of.phase as usize));
            let found = cluster.task(TaskId { job: task.job, ..of });
            let is_finished = found.is_some_and(Task::is_finished);
            OfTask {
                attempts: found.map_or(0, Task::launched),
                was_finished: phase.is_some_and(|phase| phase.finished.binary_search(&of.index).is_ok()),
                is_finished,
                seconds: if is_finished { store.seconds_of_result(of, None) } else { None },
                // The table at the end has what winners needed.
                usage: Usage::default(),
            }
        };
        if let Err(error) = write_table(plan, store, failures.given_up(), ran) {
            self.follower.message(&error);
        }
    }
}

/// Writes the table of results.
///
/// # Errors
/// If it can't be written; holds what to say about it.
fn write_table(
    plan: &Plan,
    store: &Store,
    failed: &[FailedTask],
    ran: impl Fn(TaskId) -> OfTask,
) -> Result<(), String> {
    // The results of a phase of this name would be at the table's path.
    let taken = plan.phases.iter().any(|phase| phase.name == RESULTS);
    let earlier = store.pages().read(RESULTS, taken).unwrap_or_default();
    let is_in_place = |task: &TaskId| store.result_state(*task).is_ok_and(|state| state == ResultState::Valid);
    let kept = plan.withdrawn().into_iter().filter(is_in_place).collect();
    let table = results_table::of(plan, (failed, &kept), &earlier, ran);
    let written = store.pages().write(RESULTS, taken, &table);
    written.map_err(|error| format!("the table {RESULTS} could not be written: {error}"))
}
