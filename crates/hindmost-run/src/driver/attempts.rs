//! The life of attempts: launched, ended, committed, killed.

use std::ffi::OsString;

use hindmost_core::cluster::{AttemptState, Node};
use hindmost_core::ids::{AttemptId, NodeId};
use hindmost_core::metrics::{FailedTask, RunState};
use hindmost_core::record::Event;
use hindmost_core::time::Time;

use super::deadlines::Deadline;
use super::watches::Progress;
use super::{Driver, Kill, Live, RunError};
use crate::engine::{KEY_VARIABLE, Launch, RUN_VARIABLE, key};
use crate::learn::Observed;
use crate::store::{Commit, EndMarker};

/// How often an attempt is tried to be started while nothing else is at work whose end could help.
const LAUNCHES: u32 = 50;
/// Time between two tries.
const RELAUNCH: Time = Time(100_000_000);

/// True of what stands in the way of starting a process now, and may not in a while.
fn is_scarce(error: &std::io::Error) -> bool {
    use rustix::io::Errno;
    let scarce = [Errno::MFILE, Errno::NFILE, Errno::AGAIN, Errno::NOMEM];
    scarce.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// How an attempt ended, as far as the driver can tell.
enum End {
    /// Its output is the task's result, or the task had one already.
    Won,
    /// It was stopped.
    Stopped,
    /// It broke, and whether that counts against the task's retries.
    Failed(String, bool),
}

impl Driver<'_> {
    /// Calls `act` with what the engine needs to know of an attempt.
    pub(super) fn with_launch<T>(
        &mut self,
        attempt: AttemptId,
        node: NodeId,
        act: impl FnOnce(&mut dyn crate::engine::Engine, &Launch<'_>) -> T,
    ) -> Option<T> {
        let phase = self.plan.phases.get(attempt.task.phase as usize)?;
        let node_name = self.cluster.node(node).map_or("", |node| node.name()).to_owned();
        let folder = self.store.attempt(attempt);
        let input = phase.inputs.as_ref().and_then(|inputs| inputs.get(attempt.task.index as usize));
        let own = |name: &str, value: OsString| (OsString::from(name), value);
        let mut environment: Vec<(OsString, OsString)> =
            phase.environment.iter().map(|(name, value)| (name.into(), value.into())).collect();
        environment.extend([
            own("HINDMOST_TASK", attempt.task.index.to_string().into()),
            own("HINDMOST_TASKS", phase.tasks.to_string().into()),
            own("HINDMOST_ATTEMPT", attempt.copy.to_string().into()),
            own("HINDMOST_NODE", node_name.clone().into()),
            own("HINDMOST_OUTPUT", folder.join("out").into()),
            own("HINDMOST_FROM", self.store.folder().into()),
            own("HINDMOST_PROGRESS", folder.join("progress").into()),
            own(RUN_VARIABLE, self.store.job().run.clone().into()),
            own(KEY_VARIABLE, key(attempt).into()),
        ]);
        if let Some(input) = input {
            environment.push(own("HINDMOST_INPUT", input.into()));
        }
        let launch = Launch {
            attempt,
            node,
            folder: &folder,
            command: &phase.command,
            directory: &phase.directory,
            environment: &environment,
            input: input.map(std::path::PathBuf::as_path),
            slowed: self.options.chaos.slowed(&node_name),
        };
        Some(act(&mut *self.engine, &launch))
    }

    /// Starts an attempt that was decided, unless it is not wanted any more.
    pub(super) fn launch(&mut self, attempt: AttemptId) -> Result<(), RunError> {
        let tried = self.scarce.remove(&attempt).unwrap_or(0);
        let Some(found) = self.cluster.attempt(attempt) else { return Ok(()) };
        let (node, state) = (found.node(), found.state());
        if self.shutdown.is_some() || state == AttemptState::Stopping {
            // An earlier process may have begun with it.
            self.clean(attempt, false)?;
            self.happen(&Event::AttemptStopped { attempt })?;
            return self.launch_heir_of(attempt);
        }
        let redundant = self.cluster.task(attempt.task).is_some_and(|task| task.alive() > 1);
        if redundant && self.redundant.insert(attempt) {
            self.counts[attempt.task.phase as usize].copies_started += 1;
        }
        // Results outrank the journal: one that is there is not made again.
        if self.store.has_result(attempt.task) {
            self.happen(&Event::AttemptRunning { attempt })?;
            return self.finish_with_result(attempt);
        }
        let made = self.store.make_attempt(attempt).map(|_| ());
        let started = match made {
            Ok(()) => self.with_launch(attempt, node, |engine, launch| engine.start(launch)).unwrap_or(Ok(())),
            Err(error) => Err(error),
        };
        match started {
            Ok(()) => {
                self.enter(attempt, node);
                self.happen(&Event::AttemptRunning { attempt })?;
                Ok(())
            }
            Err(error) if is_scarce(&error) && (tried < LAUNCHES || !self.live.is_empty()) => {
                self.clean(attempt, false)?;
                if tried == 0 && self.scarce.is_empty() {
                    self.follower.message(&format!("attempts wait until they can be started: {error}"));
                }
                self.scarce.insert(attempt, tried + 1);
                self.deadlines.push(self.engine.now() + RELAUNCH, Deadline::Launch(attempt));
                Ok(())
            }
            Err(error) => self.broke(attempt, format!("could not be started: {error}"), true),
        }
    }

    /// What waited for the room of an attempt gets it.
    fn launch_heir_of(&mut self, attempt: AttemptId) -> Result<(), RunError> {
        let Some(heir) = self.heirs.remove(&attempt) else { return Ok(()) };
        if self.cluster.attempt(heir).is_none() || self.live.contains_key(&heir) {
            return Ok(());
        }
        // Whoever resumes must know that the old one's room is free before the new one is there.
        self.journal.sync()?;
        self.launch(heir)
    }

    /// An attempt counts as finished because its task has its result; as stopped if another one does already.
    pub(super) fn finish_with_result(&mut self, attempt: AttemptId) -> Result<(), RunError> {
        self.live.remove(&attempt);
        self.clean(attempt, true)?;
        let is_won = self.cluster.task(attempt.task).is_none_or(hindmost_core::cluster::Task::is_finished);
        let event = if is_won { Event::AttemptStopped { attempt } } else { Event::AttemptFinished { attempt } };
        self.happen(&event)?;
        Ok(())
    }

    /// Keeps an eye on an attempt that the engine runs.
    pub(super) fn enter(&mut self, attempt: AttemptId, node: NodeId) {
        let now = self.engine.now();
        let since = self.cluster.attempt(attempt).map_or(now, hindmost_core::cluster::Attempt::since);
        self.live.insert(attempt, Live { node, since, kill: None, progress: Progress::default(), told_at: None });
        self.deadlines.push(now + super::watches::FIRST_LOOK, Deadline::Poll(attempt));
        let phase = &self.plan.phases[attempt.task.phase as usize];
        if let Some(limit) = phase.time_limit {
            self.deadlines.push(since + Time(limit.as_nanos() as u64), Deadline::TimeLimit(attempt));
        }
        let typical = self.learner.median(attempt.task.phase).unwrap_or(1.0);
        if let Some(after) = self.options.chaos.killed_after(attempt, typical) {
            self.deadlines.push(now + after, Deadline::Kill(attempt));
        }
        self.test_later(attempt);
    }

    /// Kills an attempt, for the first reason that is given.
    pub(super) fn kill(&mut self, attempt: AttemptId, why: Kill) {
        let Some(live) = self.live.get_mut(&attempt) else { return };
        if live.kill.is_none() || why == Kill::NodeLost {
            live.kill = Some(why);
        }
        self.counts[attempt.task.phase as usize].killed += u64::from(matches!(why, Kill::Decided(_)));
        self.engine.kill(attempt);
    }

    /// Nothing is left of an attempt at work: what it has done counts, or is removed.
    pub(super) fn ended(&mut self, attempt: AttemptId) -> Result<(), RunError> {
        let Some(live) = self.live.remove(&attempt) else { return self.clean(attempt, false) };
        self.seen = true;
        self.conditions.remove(&attempt);
        self.told.remove(&attempt);
        // One that was lost with its node is not the cluster's any more, whatever it has done since.
        if self.cluster.attempt(attempt).is_none() {
            return self.clean(attempt, false);
        }
        // One that ended while nobody looked took no longer than until its end.
        let ago = self.store.ended_ago(attempt).map_or(0.0, |ago| ago.as_secs_f64());
        let mut observed = self.observe(attempt, &live);
        observed.age = (observed.age - ago).max(0.0);
        match self.end_of(attempt, &live) {
            End::Won => {
                let stderr_kept = self.clean(attempt, true);
                self.counts[attempt.task.phase as usize].copies_won += u64::from(self.redundant.contains(&attempt));
                self.learner.won(&observed);
                self.happen(&Event::AttemptFinished { attempt })?;
                stderr_kept?;
            }
            End::Stopped => {
                self.learner.ended(&observed);
                self.clean(attempt, false)?;
                self.happen(&Event::AttemptStopped { attempt })?;
            }
            End::Failed(reason, counted) => self.broke(attempt, reason, counted)?,
        }
        self.launch_heir_of(attempt)?;
        self.check_given_up(attempt);
        Ok(())
    }

    fn end_of(&self, attempt: AttemptId, live: &Live) -> End {
        let marker = self.store.end_marker(attempt);
        let unfinished = self.cluster.task(attempt.task).is_some_and(|task| !task.is_finished());
        if !unfinished {
            return End::Stopped;
        }
        if marker == EndMarker::Exit(0) {
            return match self.store.commit(attempt) {
                Ok(Commit::Won | Commit::TooLate) => End::Won,
                Ok(Commit::NoOutput) => End::Failed(
                    "its command removed its output folder, or put something else in its place".to_owned(),
                    true,
                ),
                Err(error) => End::Failed(format!("its output could not be moved into place: {error}"), true),
            };
        }
        match (live.kill, marker) {
            (Some(Kill::Decided(_) | Kill::Shutdown), _) => End::Stopped,
            (Some(Kill::Chaos), _) => End::Failed("killed by the rehearsal".to_owned(), false),
            (Some(Kill::NodeLost), _) => End::Failed("its node was lost".to_owned(), false),
            (Some(Kill::TimeLimit), _) => {
                let limit = self.plan.phases[attempt.task.phase as usize].time_limit.unwrap_or_default();
                End::Failed(format!("took longer than its time limit of {} s", limit.as_secs_f64()), true)
            }
            (None, EndMarker::Exit(code)) => {
                let signal = if code > 128 { format!(" (killed by signal {})", code - 128) } else { String::new() };
                End::Failed(format!("exit code {code}{signal}"), true)
            }
            (None, EndMarker::Missing) => End::Failed(
                "ended without an end marker: it was killed from outside, or its disk is full".to_owned(),
                true,
            ),
        }
    }

    /// An attempt broke; `counted` against its task's retries.
    pub(super) fn broke(&mut self, attempt: AttemptId, reason: String, counted: bool) -> Result<(), RunError> {
        let (task, at) = (attempt.task, attempt.task.phase as usize);
        let stderr = self.store.stderr_tail(attempt);
        self.clean(attempt, true)?;
        self.counts[at].failed += 1;
        let phase = &self.plan.phases[at];
        self.follower.message(&format!("{}/{} attempt {}: {reason}", phase.name, task.index, attempt.copy));
        if counted {
            let failures = self.failures.entry(task).or_default();
            *failures += 1;
            let failed = FailedTask {
                phase: phase.name.clone(),
                task: task.index,
                failures: *failures,
                reason: reason.clone(),
                stderr,
            };
            self.last_failure.insert(task, failed);
        }
        self.happen(&Event::AttemptFailed { attempt, reason: counted.then(|| reason.into()) })?;
        self.check_given_up(attempt);
        Ok(())
    }

    /// A task that has failed more often than it may, and of which nothing is alive, ends the job.
    fn check_given_up(&mut self, attempt: AttemptId) {
        let task = attempt.task;
        let retries = self.plan.phases[task.phase as usize].retries;
        let failures = self.failures.get(&task).copied().unwrap_or(0);
        let pending = self.cluster.task(task).is_some_and(hindmost_core::cluster::Task::is_pending);
        if failures > retries && pending && self.shutdown.is_none() {
            self.failed_tasks.extend(self.last_failure.remove(&task));
            self.shut_down(RunState::Failed);
        }
    }

    fn clean(&self, attempt: AttemptId, keep_logs: bool) -> Result<(), RunError> {
        let removed = self.store.remove_attempt(attempt, keep_logs);
        removed.map_err(|error| RunError::Io { path: self.store.attempt(attempt), error })
    }

    /// The rehearsal takes a node away.
    pub(super) fn lose(&mut self, loss: usize) -> Result<(), RunError> {
        let Some((node, away)) = self.lost_node(loss) else { return Ok(()) };
        if self.finished || self.shutdown.is_some() {
            return Ok(());
        }
        self.follower.message(&format!("node {} is lost (rehearsal)", self.options.chaos.lose[loss].node));
        self.happen(&Event::NodeLost { node })?;
        let on_node = self.live.iter().filter(|(_, live)| live.node == node);
        let mut lost: Vec<AttemptId> = on_node.map(|(attempt, _)| *attempt).collect();
        lost.sort_unstable();
        for attempt in &lost {
            self.kill(*attempt, Kill::NodeLost);
        }
        for attempt in lost {
            self.check_given_up(attempt);
        }
        let back = self.engine.now() + away;
        let known = self.away.entry(node).or_default();
        *known = back.max(*known);
        self.deadlines.push(back, Deadline::Return(loss));
        Ok(())
    }

    /// The rehearsal brings a node back, once nothing of what ran there is left.
    pub(super) fn bring_back(&mut self, loss: usize) -> Result<(), RunError> {
        let Some((node, _)) = self.lost_node(loss) else { return Ok(()) };
        // Another loss may keep it away for longer.
        if self.away.get(&node).is_some_and(|until| *until > self.engine.now()) {
            return Ok(());
        }
        if self.live.values().any(|live| live.node == node) {
            self.deadlines.push(self.engine.now() + super::watches::FIRST_LOOK, Deadline::Return(loss));
            return Ok(());
        }
        if !self.finished && self.shutdown.is_none() {
            self.follower.message(&format!("node {} is back", self.options.chaos.lose[loss].node));
            self.happen(&Event::NodeReturned { node })?;
        }
        Ok(())
    }

    fn lost_node(&self, loss: usize) -> Option<(NodeId, Time)> {
        let loss = self.options.chaos.lose.get(loss)?;
        let at = self.cluster.nodes().iter().position(|node: &Node| **node.name() == *loss.node)?;
        Some((NodeId(at as u32), loss.away))
    }

    /// What the learner is told of an attempt.
    pub(super) fn observe(&self, attempt: AttemptId, live: &Live) -> Observed {
        let age = (self.engine.now() - live.since).seconds();
        let progress = Some(live.progress.now(live.since, self.engine.now())).filter(|share| *share > 0.0);
        let foretells = live.progress.share < 1.0 && live.progress.stands(live.since, self.engine.now()).is_none();
        Observed { attempt, node: live.node, age, progress, foretells }
    }

    pub(super) fn observed(&self) -> Vec<Observed> {
        let mut running: Vec<Observed> = self
            .live
            .iter()
            .filter(|(_, live)| live.kill.is_none())
            .map(|(attempt, live)| self.observe(*attempt, live))
            .collect();
        running.sort_unstable_by_key(|seen| seen.attempt);
        running
    }
}
