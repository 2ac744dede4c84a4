//! Stops attempts, and ends a run before its job is done.

use hindmost_core::ids::{AttemptId, JobId, TaskId};
use hindmost_core::metrics::RunState;
use hindmost_core::record::Event;
use hindmost_core::time::Time;
use hindmost_math::plain::Plain;

use super::attempts::{Kill, Running};
use super::{Driver, RunError, WAKE_UP, recheck};
use crate::engine::Happened;
use crate::job_file::Copies;

impl Driver<'_> {
    /// Stops an attempt, if it runs: its processes may take some time to end. Faults that are injected kill it at once, as real ones do.
    pub(super) fn kill(&mut self, attempt: AttemptId, why: Kill) {
        if !self.note_kill(attempt, why) {
            return;
        }
        match why {
            Kill::FaultInjection | Kill::NodeLost | Kill::Memory(_) => self.engine.kill(attempt),
            Kill::Decided | Kill::Shutdown | Kill::TimeLimit if self.is_loser(attempt) => {
                self.engine.end_loser(attempt);
            }
            Kill::Decided | Kill::TimeLimit | Kill::SharedFile | Kill::Shutdown => self.engine.stop(attempt),
        }
    }

    /// Ends an attempt that the policy stops, without letting it do anything more.
    pub(super) fn kill_frozen(&mut self, attempt: AttemptId) {
        if self.note_kill(attempt, Kill::Decided) {
            self.engine.kill(attempt);
        }
    }

    /// Ends an attempt beside which another one of its task has succeeded.
    pub(super) fn end_loser(&mut self, attempt: AttemptId) {
        if self.note_kill(attempt, Kill::Decided) {
            self.engine.end_loser(attempt);
        }
    }

    /// Notes why an attempt is ended. Returns false if it does not run.
    fn note_kill(&mut self, attempt: AttemptId, why: Kill) -> bool {
        let is_first = self.attempts.kill(attempt, why);
        if is_first == Some(true) && why == Kill::Decided {
            self.jobs[attempt.task.job].counts.killed(attempt);
        }
        is_first.is_some()
    }

    /// True if what the programs of an attempt do in order to clean up might destroy the output of another attempt of its task, which has
    /// succeeded or goes on: nobody has read what they write.
    pub(super) fn is_loser(&self, attempt: AttemptId) -> bool {
        if self.jobs[attempt.task.job].phase(attempt.task).copies != Copies::Allowed {
            return false;
        }
        let goes_on = |other: AttemptId| {
            other != attempt && self.attempts.get(other).is_some_and(|running| running.kill().is_none())
        };
        self.is_finished(attempt.task) || self.session.cluster().copies(attempt.task).any(|other| goes_on(other.id()))
    }

    /// Stops the attempts of a job that is ending that were allowed to run to their ends.
    pub(super) fn stop_the_rest(&mut self, job: JobId) {
        let stopped =
            self.kill_matching(Kill::Shutdown, |attempt, running| attempt.task.job == job && running.kill().is_none());
        if !stopped.is_empty() {
            self.follower.message("attempts of tasks that may not run twice are stopped too");
        }
    }

    /// Kills all attempts of a job at once, also those that got `SIGTERM`.
    pub(super) fn kill_at_once(&mut self, job: JobId) {
        for attempt in self.attempts.matching(|attempt, _| attempt.task.job == job) {
            self.attempts.kill(attempt, Kill::Shutdown);
            self.engine.kill(attempt);
        }
    }

    /// Kills all attempts of a job that are not being killed already. When the job is done, these are the copies that the
    /// policy lets run after their task's winner.
    pub(super) fn kill_job(&mut self, job: JobId, why: Kill) {
        self.kill_matching(why, |attempt, running| attempt.task.job == job && running.kill().is_none());
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

    /// Ends a job before it is done: none of its attempts starts any more, and running attempts are stopped, except those of tasks that may
    /// not run twice, which continue to their ends.
    pub(super) fn shut_down(&mut self, id: JobId, state: RunState) -> Result<(), RunError> {
        let job = &mut self.jobs[id];
        job.shutdown.begin(state);
        let (plan, shutdown) = (&job.plan, &job.shutdown);
        let spared = |attempt: AttemptId| shutdown.spares(plan.phases[attempt.task.phase as usize].idempotent);
        let of_job = |attempt: &AttemptId| attempt.task.job == id;
        // An attempt on a lost node is to end, and gets no result.
        let finishes = |attempt: AttemptId, running: &Running| {
            of_job(&attempt) && spared(attempt) && running.kill() != Some(Kill::NodeLost)
        };
        let left = self.attempts.iter().filter(|(attempt, running)| finishes(*attempt, running)).count();
        let is_killed = |attempt, running: &Running| of_job(&attempt) && running.kill().is_none() && !spared(attempt);
        let stopped = self.attempts.matching(is_killed);
        let name = if self.home.is_some() { format!("job {}", plan.name) } else { "the job".to_owned() };
        let kill_after = stopped.iter().map(|attempt| plan.phases[attempt.task.phase as usize].kill_after).max();
        for attempt in &stopped {
            self.kill(*attempt, Kill::Shutdown);
        }
        let attempts =
            |count: usize| if count == 1 { "1 running attempt".into() } else { format!("{count} running attempts") };
        let spared = format!("{} of tasks that may not run twice", attempts(left));
        let finish = if left == 1 { "finishes" } else { "finish" };
        match state {
            RunState::Interrupted => {
                let stopped = kill_after.map(|after| match after.as_secs_f64() {
                    0.0 => format!("{} killed", are(stopped.len(), &attempts)),
                    seconds => {
                        format!("{} sent SIGTERM and killed after {} s", are(stopped.len(), &attempts), Plain(seconds))
                    }
                });
                let spared = (left > 0).then(|| format!("{spared} {finish} (a second Ctrl-C stops them too)"));
                let what: Vec<String> = stopped.into_iter().chain(spared).collect();
                if !what.is_empty() {
                    self.follower
                        .message(&format!("{name} stops: {}; a third Ctrl-C kills what is left", what.join(", ")));
                }
            }
            _ if left > 0 => self.follower.message(&format!("{name} has failed; {spared} {finish} first")),
            _ => {}
        }
        if left > 0 { self.withhold_rest(id) } else { self.leave_to_others(id) }
    }

    /// Withholds the tasks of a failed job that the policy could still start, if other jobs go on.
    pub(super) fn withhold_rest(&mut self, id: JobId) -> Result<(), RunError> {
        if self.home.is_none() || !self.is_open() {
            return Ok(());
        }
        let phases = self.session.cluster().job(id).map_or(&[][..], |job| job.phases());
        let open = (0..).zip(phases).filter(|(_, phase)| phase.is_open());
        let tasks = open.flat_map(|(phase, found)| {
            let pending = (0..).zip(found.tasks()).filter(|(_, task)| task.is_pending() && !task.is_withheld());
            pending.map(move |(index, _)| TaskId { job: id, phase, index })
        });
        let tasks: Vec<TaskId> = tasks.collect();
        tasks
            .into_iter()
            .try_for_each(|task| self.happen(&Event::TaskWithheld { task, until: None, may_run: None }).map(drop))
    }

    /// Kills everything after an error that has ended the run. Writes no records.
    pub(super) fn kill_everything(&mut self, error: &RunError) {
        self.is_stopped = true;
        for job in self.jobs.ids() {
            self.jobs[job].shutdown.begin(RunState::Failed);
            self.kill_job(job, Kill::Shutdown);
        }
        let mut happened = Vec::new();
        let phases = self.jobs.iter().flat_map(|job| &job.plan.phases);
        let kill_after = phases.map(|phase| phase.kill_after).max().unwrap_or_default();
        let end = self.engine.now() + Time::from_seconds(5.0 + kill_after.as_secs_f64());
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
        for store in self.home.iter().chain(self.jobs.iter().map(|job| &job.store)) {
            recheck::kill(&store.run(), self.engine, self.follower);
            if matches!(error, RunError::NotDurable { .. }) {
                // The output of some attempts is not synced, but their end markers say that they succeeded.
                let _ = recheck::clear(store, self.follower);
            }
        }
    }
}

/// Returns a number of attempts with the verb that follows.
fn are(count: usize, attempts: &impl Fn(usize) -> String) -> String {
    format!("{} {}", attempts(count), if count == 1 { "is" } else { "are" })
}
