//! Kills attempts, and ends a run before its job is done.

use hindmost_core::ids::AttemptId;
use hindmost_core::metrics::RunState;
use hindmost_core::time::Time;

use super::attempts::{Kill, Running};
use super::{Driver, RunError, WAKE_UP, recheck};
use crate::engine::Happened;

impl Driver<'_> {
    /// Kills an attempt, if it runs.
    pub(super) fn kill(&mut self, attempt: AttemptId, why: Kill) {
        let Some(is_first) = self.attempts.kill(attempt, why) else { return };
        if is_first && why == Kill::Decided {
            self.counts.killed(attempt);
        }
        self.engine.kill(attempt);
    }

    /// Kills all attempts that are not being killed already. When the job is done, these are the copies that the policy
    /// lets run after their task's winner.
    pub(super) fn kill_all(&mut self, why: Kill) {
        self.kill_matching(why, |_, running| running.kill().is_none());
    }

    /// Kills all attempts that fulfil a condition, and returns them.
    pub(super) fn kill_matching(
        &mut self,
        why: Kill,
        is_wanted: impl Fn(AttemptId, &Running) -> bool,
    ) -> Vec<AttemptId> {
        let matching = self.attempts.matching(is_wanted);
        for attempt in &matching {
            self.kill(*attempt, why);
        }
        matching
    }

    /// Ends the run: the policy makes no more decisions, and running attempts are killed. After a failure, attempts of
    /// tasks that may not run twice continue to their ends.
    pub(super) fn shut_down(&mut self, state: RunState) {
        self.shutdown.begin(state);
        let (plan, shutdown) = (self.plan, &self.shutdown);
        let spared = |attempt: AttemptId| shutdown.spares(plan.phases[attempt.task.phase as usize].idempotent);
        let left = self.attempts.iter().filter(|(attempt, _)| spared(*attempt)).count();
        let killed = self.attempts.matching(|attempt, running| running.kill().is_none() && !spared(attempt));
        for attempt in killed {
            self.kill(attempt, Kill::Shutdown);
        }
        if left > 0 {
            self.follower.message(&format!(
                "the job has failed; {left} running attempt{} of tasks that may not run twice {} first",
                if left == 1 { "" } else { "s" },
                if left == 1 { "finishes" } else { "finish" },
            ));
        }
    }

    /// Kills everything after an error that has ended the run. Writes no records.
    pub(super) fn kill_everything(&mut self, error: &RunError) {
        self.shutdown.begin(RunState::Failed);
        self.kill_all(Kill::Shutdown);
        let mut happened = Vec::new();
        let end = self.engine.now() + Time::from_seconds(5.0);
        while !self.attempts.is_empty() && self.engine.now() < end {
            self.engine.wait(self.engine.now() + WAKE_UP, &mut happened);
            for happened in happened.drain(..) {
                if let Happened::Ended(attempt) | Happened::NotBegun(attempt, _) | Happened::Stays(attempt, _) =
                    happened
                {
                    self.attempts.remove(attempt);
                }
            }
        }
        recheck::kill(&self.store.run(), self.engine, self.follower);
        if matches!(error, RunError::NotDurable { .. }) {
            // The output of some attempts is not synced, but their end markers say that they succeeded.
            let _ = recheck::clear(&self.store, self.follower);
        }
    }
}
