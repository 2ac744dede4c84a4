//! How attempts begin, and how they are killed.

use std::ffi::OsString;

use hindmost_core::cluster::{AttemptState, Node};
use hindmost_core::ids::{AttemptId, NodeId};
use hindmost_core::record::Event;
use hindmost_core::time::Time;

use super::deadlines::Deadline;
use super::watches::Progress;
use super::{Driver, Kill, Live, RunError};
use crate::engine::{KEY_VARIABLE, Launch, RUN_VARIABLE, key};
use crate::learn::Observed;

/// True of what stands in the way of starting a process now, and may not in a while.
fn is_scarce(error: &std::io::Error) -> bool {
    use rustix::io::Errno;
    let scarce = [Errno::MFILE, Errno::NFILE, Errno::AGAIN, Errno::NOMEM];
    scarce.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

impl Driver<'_> {
    /// Calls `act` with what the engine needs to know of an attempt.
    ///
    /// # Errors
    /// If the attempt's folder can't be opened.
    pub(super) fn with_launch<T>(
        &mut self,
        attempt: AttemptId,
        node: NodeId,
        act: impl FnOnce(&mut dyn crate::engine::Engine, &Launch<'_>) -> T,
    ) -> std::io::Result<T> {
        let phase = &self.plan.phases[attempt.task.phase as usize];
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
        let run = self.store.run();
        let handle = self.store.open_attempt(attempt)?;
        let launch = Launch {
            attempt,
            node,
            run: &run,
            folder: &folder,
            handle: std::os::fd::AsFd::as_fd(&handle),
            command: &phase.command,
            directory: &phase.directory,
            environment: &environment,
            input: input.map(std::path::PathBuf::as_path),
            slowed: self.options.chaos.slowed(&node_name),
        };
        Ok(act(&mut *self.engine, &launch))
    }

    /// Starts an attempt that was decided, unless it is not wanted any more.
    pub(super) fn launch(&mut self, attempt: AttemptId) -> Result<(), RunError> {
        self.scarce.remove(&attempt);
        let Some(found) = self.cluster.attempt(attempt) else { return Ok(()) };
        let (node, state) = (found.node(), found.state());
        let finished = self.cluster.task(attempt.task).is_none_or(hindmost_core::cluster::Task::is_finished);
        if self.shutdown.is_some() || finished || state == AttemptState::Stopping {
            // An earlier process may have begun with it.
            self.clean(attempt, false);
            self.tries.remove(&attempt);
            self.happen(&Event::AttemptStopped { attempt })?;
            return self.launch_heir_of(attempt);
        }
        let redundant = self.cluster.task(attempt.task).is_some_and(|task| task.alive() > 1);
        if redundant && self.redundant.insert(attempt) {
            self.counts[attempt.task.phase as usize].copies_started += 1;
        }
        // Results outrank the journal: one that is there is not made again.
        if self.in_place.contains(&attempt.task) {
            self.happen(&Event::AttemptRunning { attempt })?;
            return self.finish_with_result(attempt);
        }
        let made = self.store.make_attempt(attempt).map(|_| ());
        let started = match made {
            Ok(()) => {
                self.with_launch(attempt, node, |engine, launch| engine.start(launch)).and_then(|started| started)
            }
            Err(error) => Err(error),
        };
        match started {
            Ok(()) => {
                self.enter(attempt, node);
                if state == AttemptState::Starting {
                    self.happen(&Event::AttemptRunning { attempt })?;
                }
                Ok(())
            }
            Err(error) if is_scarce(&error) => self.wait_to_start(attempt, &error.to_string()),
            Err(error) => {
                // Where the run's folder is gone, no task is to blame.
                self.store.check_place()?;
                self.broke(attempt, format!("could not be started: {error}"), true)
            }
        }
    }

    /// What waited for the room of an attempt gets it.
    pub(super) fn launch_heir_of(&mut self, attempt: AttemptId) -> Result<(), RunError> {
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
        self.clean(attempt, true);
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
