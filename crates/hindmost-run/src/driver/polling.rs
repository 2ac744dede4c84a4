//! Polls the progress of running attempts, and notifies the policy when a watched condition has come true.

use hindmost_core::cluster::{Attempt, AttemptState};
use hindmost_core::ids::{AttemptId, TaskId};
use hindmost_core::record::Event;
use hindmost_core::time::Time;

use super::attempts::Running;
use super::deadlines::Deadline;
use super::progress::{Poll, Progress, next_poll};
use super::watches::{FirstReports, Notice};
use super::{Driver, RunError};

impl Driver<'_> {
    /// Polls an attempt's progress: the share that its command reports, else the share of its input that it has read.
    pub(super) fn poll(&mut self, attempt: AttemptId) -> Result<(), RunError> {
        let Some(since) = self.attempts.get(attempt).map(|running| running.progress.since) else { return Ok(()) };
        self.end_if_they_share(attempt)?;
        self.note_written(attempt);
        self.check_memory(attempt);
        let (now, running) = (self.engine.now(), self.attempts.len());
        let task = attempt.task;
        let job = &self.jobs[task.job];
        let reads = job.phase(task).inputs.is_some() && !self.learner.reads_first(task);
        let age = now - since;
        self.deadlines.push(now + next_poll(age, running), Deadline::Poll(attempt));
        let reported = self.jobs[task.job].store.reported_progress(attempt);
        self.remember_report(attempt, reported.map(|(share, _)| share));
        let reported = reported.filter(|_| !self.learner.is_misled(task));
        let read = if reads && reported.is_none() { self.engine.read_share(attempt) } else { None };
        let at_once = self.learner.first_share(task).is_some_and(|share| share >= 1.0);
        let Some(progress) = self.attempts.progress_mut(attempt) else { return Ok(()) };
        match progress.poll(now, reported, read, reads, at_once) {
            Poll::ReadsFirst => {
                self.learner.no_progress(task);
                self.forget_progress(task, true);
            }
            Poll::Unknown => self.learner.no_report(task, age.seconds()),
            Poll::Known { first: Some(share) } => self.learner.first_progress(task, age.seconds(), share),
            Poll::Known { first: None } => self.learner.set_due(),
        }
        self.test(attempt)
    }

    /// Discards the progress of the attempts of a task's phase that was derived from reading, or from reports.
    fn forget_progress(&mut self, task: TaskId, by_reading: bool) {
        for attempt in self.attempts.forget_progress(task, by_reading) {
            self.watches.retract(attempt);
        }
    }

    /// Compares the last report of an attempt that has won at this time with its duration.
    pub(super) fn test_last_report(&mut self, attempt: AttemptId, progress: &Progress, at: Time) {
        let ratio = progress.last_prediction(at);
        if ratio.is_some_and(|ratio| self.learner.last_report(attempt.task, ratio)) {
            self.forget_progress(attempt.task, false);
        }
    }

    /// Keeps the share that an attempt has reported, if another attempt of its task can continue from it.
    pub(super) fn remember_report(&mut self, attempt: AttemptId, share: Option<f64>) {
        let job = &mut self.jobs[attempt.task.job];
        let Some(share) = share.filter(|_| job.phase(attempt.task).resumes) else { return };
        let known = job.reported.entry(attempt.task).or_default();
        *known = known.max(share);
    }

    /// Returns the share of its task's work that an attempt which is about to start leaves out: the share that the policy
    /// has decided, but no more than an attempt of the task has reported. 0 if the command can't resume.
    pub(super) fn resumes_from(&mut self, attempt: AttemptId) -> f64 {
        let decided = self.attempt(attempt).map_or(0.0, Attempt::from_progress);
        if decided <= 0.0 || !self.jobs[attempt.task.job].phase(attempt.task).resumes {
            return 0.0;
        }
        // Copies that still run may have reported more since they were polled.
        let copies: Vec<AttemptId> = self.session.cluster().copies(attempt.task).map(Attempt::id).collect();
        for copy in copies.into_iter().filter(|copy| *copy != attempt) {
            let reported = self.jobs[attempt.task.job].store.reported_progress(copy);
            self.remember_report(copy, reported.map(|(share, _)| share));
        }
        decided.min(self.jobs[attempt.task.job].reported.get(&attempt.task).copied().unwrap_or(0.0))
    }

    /// Schedules tests of an attempt's conditions for the ages at which they may come true without new progress.
    pub(super) fn test_later(&mut self, attempt: AttemptId) {
        let Some(since) = self.attempts.get(attempt).map(|running| running.progress.since) else { return };
        for age in self.watches.ages(attempt) {
            self.deadlines.push(since + Time::from_seconds(age) + Time::TICK, Deadline::Test(attempt));
        }
    }

    /// Notifies the policy if a condition on an attempt has come true, or if the expected finish that the policy
    /// has received is wrong.
    pub(super) fn test(&mut self, attempt: AttemptId) -> Result<(), RunError> {
        let is_tested = |running: &&Running| running.kill().is_none() && !running.is_starting();
        let Some(running) = self.attempts.get(attempt).filter(is_tested) else { return Ok(()) };
        let is_stopping = self.attempt(attempt).is_none_or(|found| found.state() == AttemptState::Stopping);
        if is_stopping || !self.jobs[attempt.task.job].shutdown.is_open() {
            return Ok(());
        }
        let (now, task) = (self.engine.now(), attempt.task);
        let first = FirstReports { late: self.learner.late_report(task), share: self.learner.first_share(task) };
        match self.watches.test(attempt, &running.progress, now, first) {
            Notice::None => {}
            Notice::Later(next) => self.deadlines.push(next, Deadline::Test(attempt)),
            Notice::Now { conditions, expected_finish, guessed, stalled } => {
                self.watches.notified(attempt, now);
                let conditions = Some(conditions);
                self.happen(&Event::WatchMet { attempt, expected_finish, conditions, guessed, stalled })?;
            }
        }
        Ok(())
    }
}
