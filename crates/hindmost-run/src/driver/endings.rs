//! Handles attempts that have ended: their output becomes a result, or they count as failed or stopped.
//!
//! Attempts that end at about the same time are handled together, so that they share the cost of syncing. First the driver
//! finds out how each attempt ended. Then it syncs the output of the successful attempts, renames it into place and syncs
//! the renames. Then it records the ends in the order in which the engine reported them.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;

use hindmost_core::ids::{AttemptId, JobId, TaskId};
use hindmost_core::record::Event;
use hindmost_core::time::Time;
use hindmost_core::usage::Usage;
use hindmost_math::plain::Plain;

use super::attempts::{Kill, Running};
use super::full_disk::{is_full, without_end_marker};
use super::jobs::LiveJob;
use super::{Driver, RunError};
use crate::engine::Happened;
use crate::job_file::PlannedPhase;
use crate::store::{Commit, EndMarker, InputState, ReadChange, Store};

/// Parts of the messages that shells print when they can't start a process.
const NO_PROCESS: [&str; 4] = [
    "annot fork",
    "an't fork",
    "fork: Resource temporarily unavailable",
    "fork: retry: Resource temporarily unavailable",
];

/// How the error of an attempt begins that has reached its time limit.
pub(super) const TIMED_OUT: &str = "took longer than its time limit";

/// An attempt that has ended.
struct Ending {
    attempt: AttemptId,
    running: Running,
    /// What it has used; `None` if that is unknown.
    usage: Option<Usage>,
    /// The time at which the attempt ended, if no Hindmost process ran at that time; `None` if it has only just ended.
    at: Option<Time>,
    end: End,
}

/// How an attempt ended.
pub(super) enum End {
    /// The command succeeded, and its output is listed in the manifest.
    Good,
    /// The attempt's output has become the task's result.
    Won,
    /// The attempt was stopped.
    Stopped,
    /// The command failed because a disk is full; holds a message about it.
    Full(String),
    /// The command could not start a process, because the system lacked something that may be available soon; holds a
    /// message about it.
    Scarce(String),
    /// The attempt was killed because it needed too much memory; holds the reason.
    OutOfMemory(String),
    /// The attempt failed; holds the reason, and whether the failure counts against the task's retries.
    Failed(String, bool),
    /// The attempt failed in a way that no further try can mend; holds the reason.
    Hopeless(String),
}

impl Driver<'_> {
    /// Handles what the engine reports.
    pub(super) fn happened(&mut self, happened: Vec<Happened>) -> Result<(), RunError> {
        let mut ended = Vec::new();
        for one in happened {
            match one {
                Happened::Begun(attempt, after) => self.begun(attempt, after)?,
                Happened::Ended(attempt) => ended.push((attempt, None, None)),
                Happened::CutShort(attempt, why) => {
                    self.attempts.note_cut_short(attempt, why);
                    ended.push((attempt, None, None));
                }
                Happened::Stays(attempt, what) => ended.push((attempt, Some(what), None)),
                Happened::NotBegun(attempt, what) => self.not_begun(attempt, &what)?,
                Happened::NodeLost(node, loss) => self.node_lost(node, &loss)?,
                Happened::NodeReturned(node) => self.node_returned(node)?,
                Happened::Notice(what) => self.follower.message(&what),
            }
        }
        self.ended(ended)
    }

    /// Handles attempts that have ended: commits or removes their output, and records their ends. `ended` holds for
    /// each attempt a message about a process of it that does not end, if there is one, and the time of its end, if no
    /// Hindmost process ran at that time.
    pub(super) fn ended(&mut self, ended: Vec<(AttemptId, Option<String>, Option<Time>)>) -> Result<(), RunError> {
        if !ended.is_empty() {
            // If the run's folder is gone, no task is to blame and nothing may be committed.
            self.check_places()?;
        }
        let mut endings = Vec::new();
        for (attempt, stays, at) in ended {
            let used = self.engine.take_used(attempt).unwrap_or_default();
            let (usage, killed_for_memory) =
                (Some(used.usage).filter(|usage| !usage.is_empty()), used.killed_for_memory);
            let Some(running) = self.attempts.remove(attempt) else {
                if !self.no_longer_awaited(attempt)? {
                    self.clean(attempt, false);
                }
                continue;
            };
            self.learner.set_due();
            // The cluster has removed an attempt whose node was lost, so its output does not count.
            if self.attempt(attempt).is_none() {
                self.watches.forget(attempt);
                if !self.no_longer_awaited(attempt)? {
                    self.clean(attempt, false);
                }
                continue;
            }
            let end = self.end_of(attempt, &running, (stays, killed_for_memory), at);
            endings.push(Ending { attempt, running, usage, at, end });
        }
        self.commit(&mut endings)?;
        endings.into_iter().try_for_each(|ending| self.record(ending))
    }

    /// Returns how an attempt ended. `at` is the time of its end, if no Hindmost process ran at that time.
    fn end_of(
        &mut self,
        attempt: AttemptId,
        running: &Running,
        (stays, killed_for_memory): (Option<String>, bool),
        at: Option<Time>,
    ) -> End {
        if self.is_finished(attempt.task) {
            return End::Stopped;
        }
        if let Some(what) = stays {
            return End::Failed(format!("a process that it has started does not end: {what}"), true);
        }
        let job = &self.jobs[attempt.task.job];
        let idempotent = job.phase(attempt.task).idempotent;
        let marker = match job.store.end_marker(attempt) {
            Ok(marker) => marker,
            Err(error) => return End::Failed(format!("its end marker can't be read: {error}"), !idempotent),
        };
        if running.kill() == Some(Kill::SharedFile) {
            let failed = || End::Failed("two attempts of the task had one file open for writing".to_owned(), false);
            return self.spoiled(attempt.task).map_or_else(failed, End::Hopeless);
        }
        if marker == EndMarker::Exit(0)
            && let Some(what) = self.met_full_disk_unnoticed(attempt, running.progress.since)
        {
            return ended_by_full_disk(job.phase(attempt.task), what);
        }
        if marker == EndMarker::Exit(0) {
            if let Some(path) = self.written_by_others(attempt, &running.wrote) {
                let failed = || format!("another attempt of the task has {} open for writing", path.display());
                return self.spoiled(attempt.task).map_or_else(|| End::Failed(failed(), false), End::Hopeless);
            }
            return match self.prepare_output(attempt, running, at) {
                Ok(true) => End::Good,
                Ok(false) if self.jobs[attempt.task.job].store.was_committed(attempt) => {
                    End::Failed("its result was in place and has been removed".to_owned(), !idempotent)
                }
                Ok(false) => no_output(),
                Err(error) if is_full(&error) => {
                    ended_by_full_disk(self.jobs[attempt.task.job].phase(attempt.task), error.to_string())
                }
                Err(error) => End::Failed(format!("its output can't be read: {error}"), true),
            };
        }
        if let Some(why) = running.cut_short.as_ref().filter(|_| running.kill().is_none()) {
            // If another copy runs, the task may still finish.
            let is_alone = self.session.cluster().task(attempt.task).is_some_and(|task| task.running_copies() <= 1);
            let allowed = job.phase(attempt.task).allowed_losses;
            return match is_alone.then(|| self.lost.lost(attempt.task, allowed)).flatten() {
                Some(reason) => End::Failed(format!("{reason}: {why}"), true),
                None => End::Failed(format!("lost: {why}"), false),
            };
        }
        match (running.kill(), marker) {
            (Some(Kill::Decided | Kill::Shutdown | Kill::SharedFile), _) => End::Stopped,
            (Some(Kill::FaultInjection), _) => End::Failed("killed by fault injection".to_owned(), false),
            (Some(Kill::NodeLost), _) => End::Failed("its node was lost".to_owned(), false),
            (Some(Kill::TimeLimit), _) => {
                let limit = job.limits.of(attempt.task).unwrap_or_default();
                self.jobs[attempt.task.job].limits.timed_out(attempt.task);
                End::Failed(format!("{TIMED_OUT} of {} s", Plain(limit.seconds())), true)
            }
            (Some(Kill::Memory(needed)), _) => End::OutOfMemory(self.needed_too_much(attempt.task, needed)),
            (None, marker) if killed_for_memory => {
                let code =
                    if let EndMarker::Exit(code) = marker { format!("exit code {code}: ") } else { String::new() };
                End::OutOfMemory(format!(
                    "{code}the system has killed it because the memory of its control group was used up"
                ))
            }
            (None, EndMarker::Exit(code)) => {
                if idempotent && self.may_wait(attempt) && self.had_no_processes(attempt) {
                    return End::Scarce("no process could be started".to_owned());
                }
                if let Some(what) = self.met_full_disk(attempt) {
                    return End::Full(what);
                }
                let signal = if code > 128 { format!(" (killed by signal {})", code - 128) } else { String::new() };
                End::Failed(format!("exit code {code}{signal}"), true)
            }
            (None, EndMarker::Moved) => {
                End::Failed("its folder was moved or removed while it ran".to_owned(), !idempotent)
            }
            (None, EndMarker::Missing) => {
                let free = job.store.free_space();
                match self.met_full_disk(attempt) {
                    Some(what) => End::Full(what),
                    None => End::Failed(without_end_marker(free, self.disk.was_full(self.engine.now())), true),
                }
            }
        }
    }

    /// Adds the output of a successful attempt to the manifest. `at` is the time of its end, if no Hindmost process ran at that
    /// time. Returns false if there is none.
    fn prepare_output(&mut self, attempt: AttemptId, running: &Running, at: Option<Time>) -> std::io::Result<bool> {
        let seconds = match at {
            None => Some((self.engine.now() - running.progress.since).seconds()),
            Some(_) => self.jobs[attempt.task.job].store.ran_for(attempt).map(|time| time.as_secs_f64()),
        };
        let job = &mut self.jobs[attempt.task.job];
        let plan = Arc::clone(&job.plan);
        let phase = &plan.phases[attempt.task.phase as usize];
        let output = phase.output_of(attempt.task.index);
        let now = phase.reads(attempt.task.index);
        let mut reads = running.reads.clone();
        if phase.may_change_inputs() {
            // The command may have changed the file, so its state at the end counts.
            reads.input = now.input.as_deref().and_then(InputState::of_file);
        }
        if let Some(change) = reads.difference(&now) {
            let (name, path) = (job.name(attempt.task), now.input.as_deref().unwrap_or(Path::new("")).display());
            let what = match change {
                ReadChange::Input(how) => format!("the input {path} of {name} has changed while the task ran ({how})"),
                ReadChange::Used(path, how) => {
                    format!("{}, which {name} uses, has changed while the task ran ({how})", path.display())
                }
                ReadChange::Row(how) => format!("the row of {name} has changed ({how})"),
            };
            self.follower.message(&format!("{what}: --resume runs the task again"));
        }
        job.store.prepare(attempt, Some((&now, reads)), seconds, output.as_deref())
    }

    /// True if an attempt failed because the system could start no more processes.
    fn had_no_processes(&self, attempt: AttemptId) -> bool {
        let stderr = self.jobs[attempt.task.job].store.output_tail(attempt, "stderr");
        NO_PROCESS.iter().any(|text| stderr.contains(text)) || !self.engine.can_start()
    }

    /// Makes the output of successful attempts their tasks' results, so that it survives a power cut.
    fn commit(&mut self, endings: &mut [Ending]) -> Result<(), RunError> {
        let good = |ending: &Ending| matches!(ending.end, End::Good);
        let jobs: BTreeSet<JobId> =
            endings.iter().filter(|ending| good(ending)).map(|ending| ending.attempt.task.job).collect();
        jobs.into_iter().try_for_each(|job| self.commit_of(job, endings))
    }

    /// Makes the output of a job's successful attempts their tasks' results.
    fn commit_of(&mut self, job: JobId, endings: &mut [Ending]) -> Result<(), RunError> {
        let LiveJob { store, plan, .. } = &mut self.jobs[job];
        let is_its = |ending: &&mut Ending| ending.attempt.task.job == job && matches!(ending.end, End::Good);
        if let Err(error) = store.describe_outputs()
            && is_full(&error)
        {
            for ending in endings.iter_mut().filter(is_its) {
                store.withdraw(ending.attempt);
                ending.end = ended_by_full_disk(&plan.phases[ending.attempt.task.phase as usize], error.to_string());
            }
            return Ok(());
        }
        store.make_durable().map_err(|error| not_durable(store, error))?;
        let mut won: HashSet<TaskId> = HashSet::new();
        for ending in endings.iter_mut().filter(is_its) {
            let task = ending.attempt.task;
            ending.end = match store.commit(ending.attempt) {
                Ok(Commit::Won(aside)) => {
                    if let Some(aside) = aside {
                        let name = &plan.phases[task.phase as usize].name;
                        let index = task.index;
                        self.follower.message(&format!(
                            "something else was in the place of the result of {name}/{index}; it has been moved to {aside}"
                        ));
                    }
                    won.insert(task);
                    End::Won
                }
                // The task has a result already. Unless another of these endings has won the task, the result is this
                // attempt's output, which an earlier process moved into place without recording the end.
                Ok(Commit::TooLate) if won.insert(task) => End::Won,
                Ok(Commit::TooLate) => End::Stopped,
                Ok(Commit::NoOutput) => no_output(),
                Ok(Commit::Refused(why)) => {
                    let name = &plan.phases[task.phase as usize].name;
                    self.follower.failure_of_output(&format!("{name}/{}: {why}", task.index));
                    // The command has done its work; running it again would not change what is in the way.
                    End::Hopeless(why)
                }
                Err(error) if is_full(&error) => {
                    ended_by_full_disk(&plan.phases[task.phase as usize], error.to_string())
                }
                Err(error) => End::Failed(format!("its output could not be moved into place: {error}"), true),
            };
        }
        store.sync_results(won.into_iter()).map_err(|error| not_durable(store, error))
    }

    fn record(&mut self, ending: Ending) -> Result<(), RunError> {
        let Ending { attempt, running, usage, at, end } = ending;
        // The age of an attempt that ended while no Hindmost ran does not include the time since its end.
        let mut observed = running.observed(attempt, self.engine.now());
        observed.age -= self.ended_ago(attempt, running.progress.since).seconds();
        if let End::Scarce(what) = end {
            return self.wait_to_start(attempt, &what);
        }
        if let End::Full(what) = end {
            self.note_failure(attempt, &running);
            return self.wait_for_space(attempt, &what);
        }
        self.was_at = at;
        let recorded = match end {
            End::Won => {
                if at.is_some() {
                    self.clean(attempt, true);
                } else {
                    let left = self.jobs[attempt.task.job].store.release_attempt(attempt);
                    self.report_left(left);
                }
                self.disk.has_space();
                self.jobs[attempt.task.job].counts.won(attempt);
                self.learner.won(&observed);
                self.test_last_report(
                    attempt,
                    &running.progress,
                    running.progress.since + Time::from_seconds(observed.age),
                );
                self.finished_in(attempt.task, observed.age);
                let since = running.progress.since;
                if let Some(usage) = usage {
                    self.happen(&Event::AttemptMeasured { attempt, usage })?;
                }
                self.happen(&Event::AttemptFinished { attempt }).map(|_| self.report_success(attempt, since))
            }
            End::Failed(reason, counted) => {
                self.note_failure(attempt, &running);
                self.record_failure(attempt, reason, counted)
            }
            End::OutOfMemory(reason) => {
                self.note_failure(attempt, &running);
                self.record_failure(attempt, reason, true)?;
                self.grow_memory(attempt.task)
            }
            End::Hopeless(reason) => {
                self.note_failure(attempt, &running);
                self.jobs[attempt.task.job].failures.exhaust(attempt.task);
                self.record_failure(attempt, reason, true)
            }
            End::Stopped | End::Good | End::Scarce(_) | End::Full(_) => {
                if !running.is_starting() {
                    self.learner.ended(&observed);
                }
                self.clean(attempt, false);
                self.happen(&Event::AttemptStopped { attempt }).map(drop)
            }
        };
        self.was_at = None;
        recorded?;
        self.waiting.forget(attempt);
        self.launch_replacement_of(attempt)?;
        self.check_given_up(attempt.task)
    }

    /// Returns how long ago an attempt ended, by the time of its end marker. `since` is the time of its start. Returns zero
    /// if the marker seems older than the attempt, which happens when somebody sets the clock.
    pub(super) fn ended_ago(&self, attempt: AttemptId, since: Time) -> Time {
        let age = self.engine.now() - since;
        let ago = self.jobs[attempt.task.job].store.ended_ago(attempt).map(|ago| Time(ago.as_nanos() as u64));
        ago.filter(|ago| *ago <= age).unwrap_or(Time::ZERO)
    }

    /// Handles an attempt whose command the engine could not start.
    fn not_begun(&mut self, attempt: AttemptId, what: &str) -> Result<(), RunError> {
        let is_wanted = self.attempts.get(attempt).is_some_and(|running| running.kill().is_none());
        if !is_wanted || self.is_finished(attempt.task) {
            return self.ended(vec![(attempt, None, None)]);
        }
        self.attempts.remove(attempt);
        self.wait_to_start(attempt, what)
    }

    /// Records the failure of an attempt. `counted` says whether it counts against its task's retries.
    pub(super) fn record_failure(&mut self, attempt: AttemptId, reason: String, counted: bool) -> Result<(), RunError> {
        let task = attempt.task;
        let job = &mut self.jobs[task.job];
        let tails = ["stdout", "stderr"].map(|name| job.store.output_tail(attempt, name));
        job.counts.failed(attempt);
        self.clean(attempt, true);
        self.waiting.forget(attempt);
        let line = format!("{} attempt {}: {reason}", self.jobs.name(task), attempt.copy);
        let (reason, external) = if counted {
            let failed = self.failed_attempt(attempt, &reason, tails);
            self.jobs[task.job].failures.count(task, failed);
            (Some(reason.into()), None)
        } else {
            (None, Some(reason.into()))
        };
        self.happen(&Event::AttemptFailed { attempt, reason, external })?;
        let next = if counted { self.next_try(task) } else { String::new() };
        self.follower.failure(&(line + &next));
        if counted { self.after_failure(task) } else { self.check_given_up(task) }
    }

    /// Removes the files of an attempt, except its logs if `keep_logs` is true. Reports files that can't be removed.
    pub(super) fn clean(&mut self, attempt: AttemptId, keep_logs: bool) {
        // Its folder shows whether it still runs.
        if self.lost.is_awaited(attempt) {
            return;
        }
        let left = self.jobs[attempt.task.job].store.remove_attempt(attempt, keep_logs);
        self.report_left(left);
    }

    /// Reports files of an attempt that can't be removed.
    fn report_left(&mut self, left: Option<String>) {
        if let Some(left) = left {
            self.follower.message(&format!("files of an attempt can't be removed and are left: {left}"));
        }
    }
}

/// Returns the error of a failed sync. The disk may hold something else than what was written, so the output must not
/// become a result, neither now nor after the run is resumed.
fn not_durable(store: &Store, error: std::io::Error) -> RunError {
    RunError::NotDurable { path: store.folder().into(), error }
}

/// Returns the end of an attempt whose output folder is missing.
fn no_output() -> End {
    End::Failed("its command removed its output folder, or put something else in its place".to_owned(), true)
}

/// Returns how an attempt of a phase ended that a full disk has ended, or whose output may lack something because of it.
fn ended_by_full_disk(phase: &PlannedPhase, what: String) -> End {
    match (phase.may_repeat(), phase.idempotent) {
        (true, _) => End::Full(what),
        // What it has added to a file would be there twice.
        (false, true) => End::Hopeless(format!(
            "{what}; its command can't be repeated: look at what it has written before it runs again"
        )),
        (false, false) => End::Failed(what, true),
    }
}
