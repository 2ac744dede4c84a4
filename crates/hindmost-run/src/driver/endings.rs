//! What becomes of attempts that have ended: results, failures, nothing.
//!
//! Attempts that end at about the same time are dealt with together, so that they share what syncing costs: first it
//! is found out how each ended; then what the good ones have written is synced, renamed into place, and the renames are
//! synced; then their ends are recorded, in the order in which they came.

use std::collections::HashSet;

use hindmost_core::ids::{AttemptId, TaskId};
use hindmost_core::metrics::{FailedTask, RunState};
use hindmost_core::record::Event;
use hindmost_core::time::Time;

use super::deadlines::Deadline;
use super::{Driver, Kill, Live, RunError};
use crate::engine::Happened;
use crate::store::{Commit, EndMarker};

/// Time until an attempt that could not be started is tried again, at first. It grows with each try, up to ten times.
const RETRY: Time = Time(100_000_000);
/// How often an attempt is tried to be started while nothing else is at work whose end could help: a minute and a half.
const TRIES: u32 = 100;

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
    live: Live,
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
            let Some(live) = self.live.remove(&attempt) else {
                self.clean(attempt, false);
                continue;
            };
            self.seen = true;
            self.conditions.remove(&attempt);
            self.told.remove(&attempt);
            // One that was lost with its node is not the cluster's any more, whatever it has done since.
            if self.cluster.attempt(attempt).is_none() {
                self.clean(attempt, false);
                continue;
            }
            let end = self.end_of(attempt, &live, stays);
            endings.push(Ending { attempt, live, at, end });
        }
        self.commit(&mut endings)?;
        endings.into_iter().try_for_each(|ending| self.record(ending))
    }

    fn end_of(&mut self, attempt: AttemptId, live: &Live, stays: Option<String>) -> End {
        let finished = self.cluster.task(attempt.task).is_none_or(hindmost_core::cluster::Task::is_finished);
        if finished {
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
        match (live.kill, marker) {
            (Some(Kill::Decided(_) | Kill::Shutdown), _) => End::Stopped,
            (Some(Kill::Chaos), _) => End::Failed("killed by the rehearsal".to_owned(), false),
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
    fn not_durable(&mut self, error: std::io::Error) -> RunError {
        self.distrusted = true;
        RunError::NotDurable { path: self.store.folder().into(), error }
    }

    fn record(&mut self, ending: Ending) -> Result<(), RunError> {
        let Ending { attempt, live, at, end } = ending;
        // One that ended while nobody looked took no longer than until its end.
        let mut observed = self.observe(attempt, &live);
        observed.age -= self.ended_ago(attempt, live.since).seconds();
        self.was_at = at;
        let recorded = match end {
            End::Won => {
                self.clean(attempt, true);
                self.counts[attempt.task.phase as usize].copies_won += u64::from(self.redundant.contains(&attempt));
                self.learner.won(&observed);
                self.happen(&Event::AttemptFinished { attempt }).map(|_| ())
            }
            End::Stopped | End::Good => {
                self.learner.ended(&observed);
                self.clean(attempt, false);
                self.happen(&Event::AttemptStopped { attempt }).map(|_| ())
            }
            End::Scarce(what) => {
                self.was_at = None;
                return self.wait_to_start(attempt, &what);
            }
            End::Failed(reason, counted) => self.broke(attempt, reason, counted),
        };
        self.was_at = None;
        recorded?;
        self.tries.remove(&attempt);
        self.launch_heir_of(attempt)?;
        self.check_given_up(attempt);
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
        let wanted = self.live.get(&attempt).is_some_and(|live| live.kill.is_none())
            && self.cluster.task(attempt.task).is_some_and(|task| !task.is_finished());
        if !wanted {
            return self.ended(vec![(attempt, None, None)]);
        }
        self.live.remove(&attempt);
        self.wait_to_start(attempt, what)
    }

    /// True while an attempt that can't be started is tried again.
    pub(super) fn may_wait(&self, attempt: AttemptId) -> bool {
        self.tries.get(&attempt).is_none_or(|tries| *tries < TRIES) || !self.live.is_empty()
    }

    /// An attempt is started later, when there may be what it takes; one that has waited for too long has failed.
    pub(super) fn wait_to_start(&mut self, attempt: AttemptId, what: &str) -> Result<(), RunError> {
        if !self.may_wait(attempt) {
            return self.broke(attempt, format!("could not be started: {what}"), true);
        }
        self.clean(attempt, false);
        if self.tries.is_empty() {
            self.follower.message(&format!("attempts wait until they can be started: {what}"));
        }
        let tries = self.tries.entry(attempt).or_default();
        *tries += 1;
        let pause = Time(RETRY.0 * u64::from(*tries).min(10));
        self.scarce.insert(attempt);
        self.deadlines.push(self.engine.now() + pause, Deadline::Launch(attempt));
        Ok(())
    }

    /// An attempt broke; `counted` against its task's retries.
    pub(super) fn broke(&mut self, attempt: AttemptId, reason: String, counted: bool) -> Result<(), RunError> {
        let (task, at) = (attempt.task, attempt.task.phase as usize);
        let stderr = self.store.stderr_tail(attempt);
        self.clean(attempt, true);
        self.tries.remove(&attempt);
        self.counts[at].failed += 1;
        let phase = &self.plan.phases[at];
        self.follower.message(&format!("{}/{} attempt {}: {reason}", phase.name, task.index, attempt.copy));
        if counted {
            self.count_failure(task, &reason, stderr);
        }
        self.happen(&Event::AttemptFailed { attempt, reason: counted.then(|| reason.into()) })?;
        self.check_given_up(attempt);
        Ok(())
    }

    /// Counts a failure against a task's retries.
    pub(super) fn count_failure(&mut self, task: TaskId, reason: &str, stderr: String) {
        let failures = self.failures.entry(task).or_default();
        *failures += 1;
        let phase = self.plan.phases[task.phase as usize].name.clone();
        let failed = FailedTask { phase, task: task.index, failures: *failures, reason: reason.to_owned(), stderr };
        self.last_failure.insert(task, failed);
    }

    /// A task that has failed more often than it may, and of which nothing is alive, ends the job.
    pub(super) fn check_given_up(&mut self, attempt: AttemptId) {
        if !self.is_given_up(attempt.task) {
            return;
        }
        let ends_the_job = self.shutdown.is_none();
        // What fails while the run ends is no news, unless it was let go on to its end.
        if ends_the_job || !self.plan.phases[attempt.task.phase as usize].idempotent {
            self.failed_tasks.extend(self.last_failure.remove(&attempt.task));
        }
        if ends_the_job {
            self.shut_down(RunState::Failed);
        }
    }

    /// True if a task has failed more often than it may, and nothing of it is alive.
    pub(super) fn is_given_up(&self, task: TaskId) -> bool {
        let retries = self.plan.phases[task.phase as usize].retries;
        let failures = self.failures.get(&task).copied().unwrap_or(0);
        failures > retries && self.cluster.task(task).is_some_and(hindmost_core::cluster::Task::is_pending)
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
