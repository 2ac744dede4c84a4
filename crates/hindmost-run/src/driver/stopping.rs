//! How attempts are killed, nodes taken away, and a run ended before its job is done.

use hindmost_core::ids::AttemptId;
use hindmost_core::metrics::RunState;
use hindmost_core::record::Event;
use hindmost_core::time::Time;

use super::attempts::{Kill, Running};
use super::deadlines::Deadline;
use super::progress::FIRST_LOOK;
use super::{Driver, RunError, WAKE_UP, standing};
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

    /// Kills what runs and is not being killed: copies that a policy keeps beside a task's winner end with the
    /// job at the latest.
    pub(super) fn kill_all(&mut self, why: Kill) {
        self.kill_those(why, |_, running| running.kill().is_none());
    }

    fn kill_those(&mut self, why: Kill, concerned: impl Fn(AttemptId, &Running) -> bool) -> Vec<AttemptId> {
        let those = self.attempts.those(concerned);
        for attempt in &those {
            self.kill(*attempt, why);
        }
        those
    }

    /// No more decisions; what runs is killed. After a failure those attempts go on to their ends whose tasks may
    /// not run twice.
    pub(super) fn shut_down(&mut self, state: RunState) {
        self.shutdown.begin(state);
        let (plan, shutdown) = (self.plan, &self.shutdown);
        let spared = |attempt: AttemptId| shutdown.spares(plan.phases[attempt.task.phase as usize].idempotent);
        let left = self.attempts.iter().filter(|(attempt, _)| spared(*attempt)).count();
        let killed = self.attempts.those(|attempt, running| running.kill().is_none() && !spared(attempt));
        for attempt in killed {
            self.kill(attempt, Kill::Shutdown);
        }
        if left > 0 {
            self.follower.message(&format!(
                "the job has failed; {left} attempt{} of tasks that may not run twice {} first",
                if left == 1 { "" } else { "s" },
                if left == 1 { "ends" } else { "end" },
            ));
        }
    }

    /// After an error: nothing is left running, though nothing can be written any more.
    pub(super) fn kill_everything(&mut self, error: &RunError) {
        self.shutdown.begin(RunState::Failed);
        self.kill_all(Kill::Shutdown);
        let mut happened = Vec::new();
        let end = self.engine.now() + Time::from_seconds(5.0);
        while !self.attempts.is_empty() && self.engine.now() < end {
            self.engine.wait(self.engine.now() + WAKE_UP, &mut happened);
            for happened in happened.drain(..) {
                let (Happened::Ended(attempt) | Happened::NotBegun(attempt, _) | Happened::Stays(attempt, _)) =
                    happened;
                self.attempts.remove(attempt);
            }
        }
        standing::kill(&self.store.run(), self.engine, self.follower);
        if matches!(error, RunError::NotDurable { .. }) {
            // Their end markers would say that they ended well.
            let _ = standing::clear(&self.store, self.follower);
        }
    }

    /// Fault injection takes a node away.
    pub(super) fn lose(&mut self, loss: usize) -> Result<(), RunError> {
        if !self.shutdown.is_open() {
            return Ok(());
        }
        let Some((node, back)) = self.faults.lose(loss, self.engine.now()) else { return Ok(()) };
        self.follower.message(&format!("node {} is lost (fault injection)", self.node_name(node)));
        self.happen(&Event::NodeLost { node })?;
        for attempt in self.kill_those(Kill::NodeLost, |_, running| running.node == node) {
            self.check_given_up(attempt.task);
        }
        self.deadlines.push(back, Deadline::Return(loss));
        Ok(())
    }

    /// Fault injection brings a node back, once nothing of what ran there is left.
    pub(super) fn bring_back(&mut self, loss: usize) -> Result<(), RunError> {
        let now = self.engine.now();
        let Some(node) = self.faults.is_over(loss, now) else { return Ok(()) };
        if self.attempts.iter().any(|(_, running)| running.node == node) {
            self.deadlines.push(now + FIRST_LOOK, Deadline::Return(loss));
        } else if self.shutdown.is_open() {
            self.follower.message(&format!("node {} is back", self.node_name(node)));
            self.happen(&Event::NodeReturned { node })?;
        }
        Ok(())
    }
}
