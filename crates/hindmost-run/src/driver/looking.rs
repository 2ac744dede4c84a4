//! How attempts are looked at while they run, and how the policy is notified of what is seen.

use hindmost_core::cluster::AttemptState;
use hindmost_core::ids::AttemptId;
use hindmost_core::record::Event;
use hindmost_core::time::Time;

use super::deadlines::Deadline;
use super::progress::{Look, next_look};
use super::watches::{FirstReports, Notice};
use super::{Driver, RunError};

impl Driver<'_> {
    /// Looks at an attempt's progress: what its command reports, else how far it has read its input.
    pub(super) fn look(&mut self, attempt: AttemptId) -> Result<(), RunError> {
        let (now, running) = (self.engine.now(), self.attempts.len());
        let phase = attempt.task.phase;
        let reads = self.plan.phases[phase as usize].inputs.is_some() && !self.learner.reads_first(phase);
        let Some(progress) = self.attempts.progress_mut(attempt) else { return Ok(()) };
        let age = now - progress.since;
        self.deadlines.push(now + next_look(age, running), Deadline::Look(attempt));
        let reported = self.store.reported_progress(attempt);
        let read = if reads && reported.is_none() { self.engine.read_share(attempt) } else { None };
        match progress.look(now, reported, read, reads) {
            Look::ReadsFirst => {
                self.learner.no_progress(phase);
                for attempt in self.attempts.forget_reading(phase) {
                    self.watches.retract(attempt);
                }
            }
            Look::Silent => self.learner.silent(phase, age.seconds()),
            Look::Known { first: Some(share) } => self.learner.first_progress(phase, age.seconds(), share),
            Look::Known { first: None } => self.learner.look_again(),
        }
        self.test(attempt)
    }

    /// Tests an attempt's conditions when they may come true without any news of it.
    pub(super) fn test_later(&mut self, attempt: AttemptId) {
        let Some(since) = self.attempts.get(attempt).map(|running| running.progress.since) else { return };
        for age in self.watches.ages(attempt) {
            self.deadlines.push(since + Time::from_seconds(age) + Time::TICK, Deadline::Test(attempt));
        }
    }

    /// Notifies the policy if a condition on an attempt has come true, or if the finish that was reported is off.
    pub(super) fn test(&mut self, attempt: AttemptId) -> Result<(), RunError> {
        let Some(running) = self.attempts.get(attempt).filter(|running| running.kill().is_none()) else {
            return Ok(());
        };
        let is_stopping = self.attempt(attempt).is_none_or(|found| found.state() == AttemptState::Stopping);
        if is_stopping || !self.shutdown.is_open() {
            return Ok(());
        }
        let (now, phase) = (self.engine.now(), attempt.task.phase);
        let first = FirstReports { age: self.learner.first_report(phase), share: self.learner.first_share(phase) };
        match self.watches.test(attempt, &running.progress, now, first) {
            Notice::None => {}
            Notice::Later(next) => self.deadlines.push(next, Deadline::Test(attempt)),
            Notice::Now { conditions, expected_finish, guessed } => {
                self.watches.notified(attempt, now);
                self.happen(&Event::WatchMet { attempt, expected_finish, conditions: Some(conditions), guessed })?;
            }
        }
        Ok(())
    }
}
