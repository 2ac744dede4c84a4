//! What becomes of attempts that have ended: results, failures, nothing.
//!
//! Attempts that end at about the same time are dealt with together, so that they share what syncing costs: first it
//! is found out how each ended; then what the good ones have written is synced, renamed into place, and the renames are
//! synced; then their ends are recorded, in the order in which they came.

use std::collections::HashSet;

use hindmost_core::cluster::Task;
use hindmost_core::ids::{AttemptId, TaskId};
use hindmost_core::metrics::RunState;
use hindmost_core::record::Event;
use hindmost_core::time::Time;

use super::attempts::{Kill, Running};
use super::standing::TaskFailures;
use super::{Driver, RunError};
use crate::engine::Happened;
use crate::store::{Commit, EndMarker};

/// What shells say when no process can be started.
const NO_PROCESS: [&str; 4] = [
    "annot fork",
    "an't fork",
    "fork: Resource temporarily unavailable",
    "fork: retry: Resource temporarily unavailable",
];

/// An attempt that has ended.
struct Ending {
    attempt: AttemptId,
    running: Running,
    /// When it ended, if nobody looked.
    at: Option<Time>,
    end: End,
}

/// How an attempt ended, as far as the driver can tell.
enum End {
    /// Its command ended well, and its output is listed.
    Good,
    /// Its output is the task's result.
    Won,
    /// It was stopped.
    Stopped,
    /// It could not do its work for want of something that may be there soon: what.
    Scarce(String),
    /// It broke, and whether that counts against the task's retries.
    Failed(String, bool),
}

impl Driver<'_> {
    /// Deals with what the engine says.
    pub(super) fn happened(&mut self, happened: Vec<Happened>) -> Result<(), RunError> {
        let mut ended = Vec::new();
        for one in happened {
            match one {
                Happened::Ended(attempt) => ended.push((attempt, None, None)),
                Happened::Stays(attempt, what) => ended.push((attempt, Some(what), None)),
                Happened::NotBegun(attempt, what) => self.not_begun(attempt, &what)?,
            }
        }
        self.ended(ended)
    }

    /// Nothing is left of attempts at work, or this is: what they have done counts, or is removed. With each goes when it
    /// ended, if nobody looked.
    pub(super) fn ended(&mut self, ended: Vec<(AttemptId, Option<String>, Option<Time>)>) -> Result<(), RunError> {
        if !ended.is_empty() {
            // Where the folder is gone no task is to blame, and nothing may be committed.
            self.store.check_place()?;
        }
        let mut endings = Vec::new();
        for (attempt, stays, at) in ended {
            let Some(running) = self.attempts.remove(attempt) else {
                self.clean(attempt, false);
                continue;
            };
            self.learner.look_again();
            // One that was lost with its node is not the cluster's any more, whatever it has done since.
            if self.attempt(attempt).is_none() {
                self.watches.forget(attempt);
                self.clean(attempt, false);
                continue;
            }
            let end = self.end_of(attempt, running.kill(), stays);
            endings.push(Ending { attempt, running, at, end });
        }
        self.commit(&mut endings)?;
        endings.into_iter().try_for_each(|ending| self.record(ending))
    }

    /// How an attempt ended that was killed for this reason, if it was.
    fn end_of(&mut self, attempt: AttemptId, kill: Option<Kill>, stays: Option<String>) -> End {
        if self.is_finished(attempt.task) {
            return End::Stopped;
        }
        if let Some(what) = stays {
            return End::Failed(format!("something that it has started does not end: {what}"), true);
        }
        let idempotent = self.plan.phases[attempt.task.phase as usize].idempotent;
        let marker = match self.store.end_marker(attempt) {
            Ok(marker) => marker,
            Err(error) => return End::Failed(format!("its end marker can't be read: {error}"), !idempotent),
        };
        if marker == EndMarker::Exit(0) {
            return match self.store.prepare(attempt) {
                Ok(true) => End::Good,
                Ok(false) if self.store.was_committed(attempt) => {
                    End::Failed("its result was in place and is gone".to_owned(), !idempotent)
                }
                Ok(false) => no_output(),
                Err(error) => End::Failed(format!("its output can't be looked at: {error}"), true),
            };
        }
        let phase = &self.plan.phases[attempt.task.phase as usize];
        match (kill, marker) {
            (Some(Kill::Decided | Kill::Shutdown), _) => End::Stopped,
            (Some(Kill::FaultInjection), _) => End::Failed("killed by fault injection".to_owned(), false),
            (Some(Kill::NodeLost), _) => End::Failed("its node was lost".to_owned(), false),
            (Some(Kill::TimeLimit), _) => {
                let limit = phase.time_limit.unwrap_or_default();
                End::Failed(format!("took longer than its time limit of {} s", limit.as_secs_f64()), true)
            }
            (None, EndMarker::Exit(code)) => {
                if idempotent && self.may_wait(attempt) && self.had_no_processes(attempt) {
                    return End::Scarce("no process could be started".to_owned());
                }
                let signal = if code > 128 { format!(" (killed by signal {})", code - 128) } else { String::new() };
                End::Failed(format!("exit code {code}{signal}"), true)
            }
            (None, EndMarker::Moved) => {
                End::Failed("its folder was moved or removed while it ran".to_owned(), !idempotent)
            }
            (None, EndMarker::Missing) => End::Failed(
                "ended without an end marker: it was killed from outside, or its disk is full".to_owned(),
                true,
            ),
        }
    }

    /// True if an attempt failed because the system had no processes left, rather than by itself.
    fn had_no_processes(&self, attempt: AttemptId) -> bool {
        let said = self.store.stderr_tail(attempt);
        NO_PROCESS.iter().any(|text| said.contains(text)) || !self.engine.can_start()
    }

    /// Makes the output of good attempts their tasks' results, safely.
    fn commit(&mut self, endings: &mut [Ending]) -> Result<(), RunError> {
        if !endings.iter().any(|ending| matches!(ending.end, End::Good)) {
            return Ok(());
        }
        self.store.make_durable().map_err(|error| self.not_durable(error))?;
        let mut won: HashSet<TaskId> = HashSet::new();
        for ending in endings.iter_mut().filter(|ending| matches!(ending.end, End::Good)) {
            let task = ending.attempt.task;
            ending.end = match self.store.commit(ending.attempt) {
                Ok(Commit::Won(aside)) => {
                    if let Some(aside) = aside {
                        let name = &self.plan.phases[task.phase as usize].name;
                        let index = task.index;
                        self.follower.message(&format!(
                            "something else was in the place of the result of {name}/{index}: it is in {aside} now"
                        ));
                    }
                    won.insert(task);
                    End::Won
                }
                // Another of its task was a moment earlier, or it was in place before its end was recorded.
                Ok(Commit::TooLate) if won.insert(task) => End::Won,
                Ok(Commit::TooLate) => End::Stopped,
                Ok(Commit::NoOutput) => no_output(),
                Err(error) => End::Failed(format!("its output could not be moved into place: {error}"), true),
            };
        }
        self.store.sync_results(won.into_iter()).map_err(|error| self.not_durable(error))
    }

    /// What was written may not be what is on the disk: nothing of it may count, now or when the run is resumed.
    fn not_durable(&self, error: std::io::Error) -> RunError {
        RunError::NotDurable { path: self.store.folder().into(), error }
    }

    fn record(&mut self, ending: Ending) -> Result<(), RunError> {
        let Ending { attempt, running, at, end } = ending;
        // One that ended while nobody looked took no longer than until its end.
        let mut observed = running.observed(attempt, self.engine.now());
        observed.age -= self.ended_ago(attempt, running.progress.since).seconds();
        if let End::Scarce(what) = end {
            return self.wait_to_start(attempt, &what);
        }
        self.was_at = at;
        let recorded = match end {
            End::Won => {
                self.clean(attempt, true);
                self.counts.won(attempt);
                self.learner.won(&observed);
                self.happen(&Event::AttemptFinished { attempt }).map(drop)
            }
            End::Failed(reason, counted) => self.broke(attempt, reason, counted),
            End::Stopped | End::Good | End::Scarce(_) => {
                self.learner.ended(&observed);
                self.clean(attempt, false);
                self.happen(&Event::AttemptStopped { attempt }).map(drop)
            }
        };
        self.was_at = None;
        recorded?;
        self.waiting.forget(attempt);
        self.launch_replacement_of(attempt)?;
        self.check_given_up(attempt.task);
        Ok(())
    }

    /// How long ago an attempt ended that has run since then, by its end marker. A clock that was set meanwhile may say
    /// that this was before it began: then nothing is known of it.
    pub(super) fn ended_ago(&self, attempt: AttemptId, since: Time) -> Time {
        let age = self.engine.now() - since;
        let ago = self.store.ended_ago(attempt).map(|ago| Time(ago.as_nanos() as u64));
        ago.filter(|ago| *ago <= age).unwrap_or(Time::ZERO)
    }

    /// The engine could not start an attempt's command.
    fn not_begun(&mut self, attempt: AttemptId, what: &str) -> Result<(), RunError> {
        let is_wanted = self.attempts.get(attempt).is_some_and(|running| running.kill().is_none());
        if !is_wanted || self.is_finished(attempt.task) {
            return self.ended(vec![(attempt, None, None)]);
        }
        self.attempts.remove(attempt);
        self.wait_to_start(attempt, what)
    }

    /// An attempt broke; `counted` against its task's retries.
    pub(super) fn broke(&mut self, attempt: AttemptId, reason: String, counted: bool) -> Result<(), RunError> {
        let task = attempt.task;
        let stderr = self.store.stderr_tail(attempt);
        self.clean(attempt, true);
        self.waiting.forget(attempt);
        self.counts.failed(attempt);
        let phase = &self.plan.phases[task.phase as usize].name;
        self.follower.message(&format!("{phase}/{} attempt {}: {reason}", task.index, attempt.copy));
        let (reason, external) = if counted {
            self.failures.count(task, &reason, stderr);
            (Some(reason.into()), None)
        } else {
            (None, Some(reason.into()))
        };
        self.happen(&Event::AttemptFailed { attempt, reason, external })?;
        self.check_given_up(task);
        Ok(())
    }

    /// A task that has failed more often than it may, and of which nothing runs, ends the job.
    pub(super) fn check_given_up(&mut self, task: TaskId) {
        if !self.failures.is_exhausted(task) || !self.is_pending(task) {
            return;
        }
        // What fails while the run ends is no news, unless it was let go on to its end.
        if !self.shutdown.has_begun() || !self.plan.phases[task.phase as usize].idempotent {
            self.failures.give_up(task);
        }
        if !self.shutdown.has_begun() {
            self.shut_down(RunState::Failed);
        }
    }

    /// Counts failures from before this process: a task that has failed too often ends the job at once.
    pub(super) fn recall_failures(&mut self, earlier: &[TaskFailures]) {
        let cluster = self.session.cluster();
        let is_pending = |task: TaskId| cluster.task(task).is_some_and(Task::is_pending);
        if self.failures.recall(earlier, is_pending) && !self.shutdown.has_begun() {
            self.shut_down(RunState::Failed);
        }
    }

    fn is_pending(&self, task: TaskId) -> bool {
        self.session.cluster().task(task).is_some_and(Task::is_pending)
    }

    /// Removes what is left of an attempt. What can't be removed is said and left.
    pub(super) fn clean(&mut self, attempt: AttemptId, keep_logs: bool) {
        if let Some(left) = self.store.remove_attempt(attempt, keep_logs) {
            self.follower.message(&format!("can't be removed and is left: {left}"));
        }
    }
}

/// An attempt whose output folder is not there.
fn no_output() -> End {
    End::Failed("its command removed its output folder, or put something else in its place".to_owned(), true)
}
