//! Starts attempts, and tries again later if the system lacks processes, open files or memory.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use hindmost_core::cluster::{Attempt, AttemptState, Job, Task};
use hindmost_core::ids::{AttemptId, NodeId, TaskId};
use hindmost_core::record::Event;
use hindmost_core::time::Time;

use super::deadlines::Deadline;
use super::full_disk::is_full;
use super::progress::FIRST_POLL;
use super::what_counts::{self, read_from_begin};
use super::{Driver, RunError};
use crate::engine::{Engine, KEY_VARIABLE, Launch, RUN_VARIABLE, key};
use crate::job_file::cleans_up;
use crate::store::{ReadChange, Reads};

/// An attempt that starts at least this long after its start was decided did not begin at once: 50 ms.
const LATE: Time = FIRST_POLL;
/// Median duration in seconds below which attempts of a phase need not outlive this process: nothing is lost if they start
/// again.
const SHORT: f64 = 0.1;

/// True if a start failed only because the system has no free process, open file or memory at this moment.
fn is_scarce(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let scarce = [Errno::MFILE, Errno::NFILE, Errno::AGAIN, Errno::NOMEM];
    scarce.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// Returns a command with the number of its slot in the place of each NUL.
fn with_slot(command: &OsStr, slot: u32) -> Cow<'_, OsStr> {
    if !command.as_bytes().contains(&0) {
        return Cow::Borrowed(command);
    }
    let parts: Vec<&[u8]> = command.as_bytes().split(|byte| *byte == 0).collect();
    Cow::Owned(OsString::from_vec(parts.join(slot.to_string().as_bytes())))
}

impl Driver<'_> {
    /// Returns the name of a node.
    pub(super) fn node_name(&self, node: NodeId) -> String {
        self.session.cluster().node(node).map_or("", |node| node.name()).to_owned()
    }

    /// Calls `act` with the engine and with the [`Launch`] that it needs to start or adopt an attempt. `from` is the share of
    /// its task's work that the attempt leaves out.
    ///
    /// # Errors
    /// If the attempt's folder can't be opened.
    pub(super) fn with_launch<T>(
        &mut self,
        attempt: AttemptId,
        (node, from): (NodeId, f64),
        act: impl FnOnce(&mut dyn Engine, &Launch<'_>) -> T,
    ) -> io::Result<T> {
        let job = &self.jobs[attempt.task.job];
        let phase = job.phase(attempt.task);
        let folder = job.store.attempt(attempt);
        let input = phase.input_of(attempt.task.index);
        let default_shell = job.store.job().shell();
        let own = |name: &str, value: OsString| (OsString::from(name), value);
        let mut environment: Vec<(OsString, OsString)> =
            phase.environment.iter().map(|(name, value)| (name.into(), value.into())).collect();
        environment.extend(phase.variables(attempt.task.index).map(|(name, value)| (name.into(), value.into())));
        environment.extend([
            own("HINDMOST_TASK", attempt.task.index.to_string().into()),
            own("HINDMOST_TASKS", phase.tasks.to_string().into()),
            own("HINDMOST_ATTEMPT", attempt.copy.to_string().into()),
            own("HINDMOST_NODE", self.node_name(node).into()),
            own("HINDMOST_OUTPUT", folder.join("out").into()),
            own("HINDMOST_FROM", job.store.folder().into()),
            own("HINDMOST_PROGRESS", folder.join("progress").into()),
            own(RUN_VARIABLE, job.store.job().run.clone().into()),
            own(KEY_VARIABLE, key(attempt).into()),
        ]);
        let of_job = self.session.cluster().job(attempt.task.job).map(Job::spec);
        let edges = of_job.and_then(|spec| spec.phases.get(attempt.task.phase as usize)).map(|phase| &phase.edges[..]);
        let cluster = self.session.cluster();
        let has_none =
            |phase, index| cluster.task(TaskId { phase, index, ..attempt.task }).is_some_and(Task::is_abandoned);
        let parents = job.plan.parents_of(attempt.task.index, edges.unwrap_or_default(), has_none);
        environment.extend(parents.map(|(name, tasks)| (name.into(), tasks.into())));
        environment.extend((from > 0.0).then(|| own("HINDMOST_FROM_PROGRESS", from.to_string().into())));
        environment.extend(input.map(|input| own("HINDMOST_INPUT", input.into())));
        let task = phase.commands.as_ref().and_then(|commands| commands.get(attempt.task.index));
        let slot = self.attempts.next_slot();
        if let Some(task) = task {
            environment.push(own("PARALLEL_SEQ", task.number.to_string().into()));
            environment.push(own("PARALLEL_JOBSLOT", slot.to_string().into()));
            environment.push(own("PARALLEL_PID", std::process::id().to_string().into()));
        }
        let command = task.map_or(Cow::Borrowed(OsStr::new(&phase.command)), |task| {
            with_slot(OsStr::from_bytes(&task.command), slot)
        });
        let run = job.store.run();
        let handle = job.store.open_attempt(attempt)?;
        let demand = self.demand(attempt.task);
        let launch = Launch {
            attempt,
            node,
            run: &run,
            folder: &folder,
            handle: handle.as_fd(),
            shell: phase.shell.as_deref().unwrap_or(&default_shell),
            command: &command,
            directory: &phase.directory,
            environment: &environment,
            input,
            demand: &demand,
            slowed: self.faults.slowed(node),
            outlives: !phase.idempotent || !self.learner.median(attempt.task).is_some_and(|median| median < SHORT),
            tmpdir: self.options.tmpdir.as_deref(),
            cleans_up: cleans_up(&command),
            kill_after: phase.kill_after,
            is_single: !phase.idempotent,
        };
        Ok(act(&mut *self.engine, &launch))
    }

    /// Starts an attempt that the policy has decided, unless its task has finished or is withdrawn, or the run ends.
    pub(super) fn launch(&mut self, attempt: AttemptId) -> Result<(), RunError> {
        self.waiting.tries(attempt);
        let Some(found) = self.attempt(attempt) else { return Ok(()) };
        let (node, state) = (found.node(), found.state());
        if self.jobs[attempt.task.job].shutdown.has_begun()
            || self.is_finished(attempt.task)
            || self.jobs[attempt.task.job].phase(attempt.task).is_withdrawn(attempt.task.index)
            || state == AttemptState::Stopping
        {
            // An earlier process may have left files of this attempt.
            self.clean(attempt, false);
            self.waiting.forget(attempt);
            self.happen(&Event::AttemptStopped { attempt })?;
            return self.launch_replacement_of(attempt);
        }
        if self.session.cluster().task(attempt.task).is_some_and(|task| task.running_copies() > 1) {
            if self.would_share(attempt)? {
                return Ok(());
            }
            self.jobs[attempt.task.job].counts.copy_started(attempt);
        }
        // Results outrank the journal: a task whose result is in place does not run again.
        if self.jobs[attempt.task.job].in_place.contains(&attempt.task) {
            self.happen(&Event::AttemptRunning { attempt, waited: None })?;
            return self.finish_with_result(attempt);
        }
        if self.still_waits_for_space(attempt)? {
            return Ok(());
        }
        self.write_table_before(attempt.task);
        let from = self.resumes_from(attempt);
        let reads = self.reads(attempt.task);
        let store = &mut self.jobs[attempt.task.job].store;
        let made = store.make_attempt(attempt).map(drop);
        let made = made.and_then(|()| if reads.is_empty() { Ok(()) } else { store.note_reads(attempt, &reads) });
        let untouched = self.untouched_before(attempt);
        let started =
            made.and_then(|()| self.with_launch(attempt, (node, from), |engine, launch| engine.start(launch))?);
        match started {
            Ok(()) => {
                let has_begun = self.engine.has_begun(attempt);
                let waited = self.attempt(attempt).map_or(Time::ZERO, |found| self.engine.now() - found.since());
                if has_begun && state == AttemptState::Starting && waited >= LATE {
                    // It has waited for an earlier attempt or for the system, or its start was decided by an earlier process.
                    self.happen(&Event::AttemptRunning { attempt, waited: Some(waited) })?;
                    self.enter(attempt, node, from, reads, true);
                    self.attempts.note_untouched(attempt, untouched);
                    return Ok(());
                }
                self.enter(attempt, node, from, reads, has_begun);
                self.attempts.note_untouched(attempt, untouched);
                if has_begun && state == AttemptState::Starting {
                    self.happen(&Event::AttemptRunning { attempt, waited: None })?;
                }
                Ok(())
            }
            Err(error) if is_full(&error) => self.wait_for_space(attempt, &format!("could not be started: {error}")),
            Err(error) if is_scarce(&error) => self.wait_to_start(attempt, &error.to_string()),
            Err(error) => {
                // If the run's folder is gone, the task is not to blame.
                self.jobs[attempt.task.job].store.check_place()?;
                self.record_failure(attempt, format!("could not be started: {error}"), true)
            }
        }
    }

    /// True if an attempt that could not be started may be tried again.
    pub(super) fn may_wait(&self, attempt: AttemptId) -> bool {
        self.waiting.may_retry(attempt, !self.attempts.is_empty())
    }

    /// Schedules another try to start an attempt. `what` is a message about what the system lacks. After too many tries the
    /// attempt fails.
    pub(super) fn wait_to_start(&mut self, attempt: AttemptId, what: &str) -> Result<(), RunError> {
        if !self.may_wait(attempt) {
            return self.record_failure(attempt, format!("could not be started: {what}"), true);
        }
        self.clean(attempt, false);
        let (pause, is_first) = self.waiting.retry(attempt);
        if is_first {
            self.follower
                .message(&format!("attempts wait because they can't be started now; they are tried again: {what}"));
        }
        self.deadlines.push(self.engine.now() + pause, Deadline::Launch(attempt));
        Ok(())
    }

    /// Looks up the replacement of an attempt, and lets the replacement wait for the end of the attempt.
    pub(super) fn find_replacement(&mut self, attempt: AttemptId) {
        let mut copies = self.session.cluster().copies(attempt.task);
        if let Some(replacement) = copies.find(|copy| copy.replaces() == Some(attempt)).map(Attempt::id) {
            self.waiting.replace(attempt, replacement);
        }
    }

    /// Starts the replacement that has waited for the end of this attempt, if there is one.
    pub(super) fn launch_replacement_of(&mut self, attempt: AttemptId) -> Result<(), RunError> {
        let Some(replacement) = self.waiting.replacement_of(attempt) else { return Ok(()) };
        if self.attempt(replacement).is_none() || self.attempts.contains(replacement) {
            return Ok(());
        }
        // The end of the old attempt must be on the disk before the new one starts: a process that resumes the run must know
        // that the resources of the old attempt are free.
        if !self.write_journal()? {
            self.waiting.retry(replacement);
            self.deadlines.push(self.engine.now() + Time(1_000_000_000), Deadline::Launch(replacement));
            return Ok(());
        }
        self.recorder.journal.sync()?;
        self.launch(replacement)
    }

    /// Records the end of an attempt whose task's result is in place: as finished, or as stopped if the task has a recorded
    /// winner already.
    pub(super) fn finish_with_result(&mut self, attempt: AttemptId) -> Result<(), RunError> {
        self.attempts.remove(attempt);
        self.clean(attempt, true);
        let is_won = self.is_finished(attempt.task);
        let event = if is_won { Event::AttemptStopped { attempt } } else { Event::AttemptFinished { attempt } };
        let since = self.attempt(attempt).map_or(Time::ZERO, Attempt::since);
        self.happen(&event)?;
        if !is_won {
            self.report_success(attempt, since);
        }
        Ok(())
    }

    /// Returns the present state of what a task reads.
    pub(super) fn reads(&self, task: TaskId) -> Reads {
        Reads::of(&read_from_begin(self.jobs[task.job].phase(task), task.index))
    }

    /// Returns the state of what an attempt reads when it began, as far as it is known. The attempt was started by an earlier process.
    pub(super) fn earlier_reads(&self, attempt: AttemptId) -> Reads {
        self.jobs[attempt.task.job].store.noted_reads(attempt).unwrap_or_else(|| self.reads(attempt.task))
    }

    /// Returns what of that which an attempt reads has changed since it began, so that it does not count.
    pub(super) fn changed_since(&self, attempt: AttemptId) -> Option<ReadChange> {
        let job = &self.jobs[attempt.task.job];
        what_counts::changed_since(&job.plan, &job.store, attempt)
    }

    /// Adds an attempt that the engine runs and that leaves out the share `from` of its task's work. `reads` is what it reads, as it was
    /// when it began. If the attempt's command has not begun yet, its age does not count yet.
    pub(super) fn enter(&mut self, attempt: AttemptId, node: NodeId, from: f64, reads: Reads, has_begun: bool) {
        let now = self.engine.now();
        let since = self.attempt(attempt).map_or(now, |found| match found.state() {
            AttemptState::Starting => found.since(),
            _ => found.began(now),
        });
        self.attempts.insert(attempt, node, (since, from), reads);
        if has_begun {
            self.follow_attempt(attempt);
        } else {
            self.attempts.launched(attempt, now);
        }
    }

    /// Handles the begin of an attempt's command, this long after the engine was requested to start it.
    pub(super) fn begun(&mut self, attempt: AttemptId, after: Time) -> Result<(), RunError> {
        let Some(began) = self.attempts.begin(attempt, after, self.engine.now()) else { return Ok(()) };
        if let Some(found) = self.attempt(attempt) {
            let waited = Some(began - found.since()).filter(|waited| *waited > Time::ZERO);
            self.happen(&Event::AttemptRunning { attempt, waited })?;
        }
        self.follow_attempt(attempt);
        Ok(())
    }

    /// Schedules the polls of an attempt whose command has begun, its time limit, fault and tests.
    fn follow_attempt(&mut self, attempt: AttemptId) {
        let now = self.engine.now();
        let Some(since) = self.attempts.get(attempt).map(|running| running.progress.since) else { return };
        self.deadlines.push(now + FIRST_POLL, Deadline::Poll(attempt));
        if let Some(limit) = self.jobs[attempt.task.job].limits.of(attempt.task) {
            self.deadlines.push(since + limit, Deadline::TimeLimit(attempt));
        }
        let typical = self.learner.median(attempt.task).unwrap_or(1.0);
        if let Some(after) = self.faults.killed_after(attempt, typical) {
            self.deadlines.push(now + after, Deadline::Kill(attempt));
        }
        self.test_later(attempt);
    }
}
