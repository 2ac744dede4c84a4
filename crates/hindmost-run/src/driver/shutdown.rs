//! How a run ends before its job is done: what is killed, and what is waited for.

use hindmost_core::ids::AttemptId;
use hindmost_core::metrics::RunState;
use hindmost_core::time::Time;

use super::{Driver, Kill, LOOK_UP, standing};
use crate::engine::Happened;

impl Driver<'_> {
    /// No more decisions; what is at work is killed. After a failure those attempts go on to their ends whose tasks may
    /// not run twice: cut off, they would never be done.
    pub(super) fn shut_down(&mut self, state: RunState) {
        self.shutdown = Some(state);
        if state != RunState::Failed {
            return self.kill_all(Kill::Shutdown);
        }
        let plan = self.plan;
        let may_repeat = |attempt: &AttemptId| plan.phases[attempt.task.phase as usize].idempotent;
        self.kill_those(Kill::Shutdown, may_repeat);
        let left = self.live.keys().filter(|attempt| !may_repeat(attempt)).count();
        if left > 0 {
            self.follower.message(&format!(
                "the job has failed; {left} attempt{} of tasks that may not run twice {} first",
                if left == 1 { "" } else { "s" },
                if left == 1 { "ends" } else { "end" },
            ));
        }
    }

    /// Kills what is at work and not being killed: copies that a policy keeps beside a task's winner end with the
    /// job at the latest.
    pub(super) fn kill_all(&mut self, why: Kill) {
        self.kill_those(why, |_| true);
    }

    fn kill_those(&mut self, why: Kill, concerned: impl Fn(&AttemptId) -> bool) {
        let at_work = self.live.iter().filter(|(attempt, live)| live.kill.is_none() && concerned(attempt));
        let mut at_work: Vec<AttemptId> = at_work.map(|(attempt, _)| *attempt).collect();
        at_work.sort_unstable();
        for attempt in at_work {
            self.kill(attempt, why);
        }
    }

    /// After an error: nothing is left running, though nothing can be written any more.
    pub(super) fn kill_everything(&mut self) {
        self.shutdown = Some(RunState::Failed);
        self.kill_all(Kill::Shutdown);
        let mut happened = Vec::new();
        let end = self.engine.now() + Time::from_seconds(5.0);
        while !self.live.is_empty() && self.engine.now() < end {
            let until = self.engine.now() + Time::from_seconds(LOOK_UP);
            self.engine.wait(until, &mut happened);
            for happened in happened.drain(..) {
                let (Happened::Ended(attempt) | Happened::NotBegun(attempt, _) | Happened::Stays(attempt, _)) =
                    happened;
                self.live.remove(&attempt);
            }
        }
        standing::kill(&self.store.run(), self.engine, self.follower);
        if self.distrusted {
            // Their end markers would say that they ended well.
            let _ = standing::clear(&self.store, self.follower);
        }
    }
}
