//! The interface through which a program follows a run ([`Follower`]), and the counts that it receives.
//!
//! Invariant: a copy is counted as started once, even if the driver tries several times to start it.

use std::time::Duration;

use hindmost_core::cluster::{Phase, Task};
use hindmost_core::ids::{AttemptId, JobId, TaskId};
use hindmost_core::metrics::{PhaseProgress, RunState};
use hindmost_core::time::Time;
use rustc_hash::FxHashSet;

use super::attempts::Running;
use super::jobs::LiveJob;
use super::{Driver, EarlierResult, Next, TaskEnd};
use crate::job_file::PlannedPhase;

/// Receives the progress of a run.
pub trait Follower {
    /// Receives the progress of each phase, and the time since the run began.
    fn phases(&mut self, phases: &[PhaseProgress], elapsed: Duration);

    /// Receives the number of running attempts on each node.
    fn nodes(&mut self, _running: &[(String, u64)]) {}

    /// True if the follower wants to receive the running attempts ([`Follower::running`]). It is called after
    /// [`Follower::phases`].
    fn wants_running(&mut self) -> bool {
        false
    }

    /// Receives the running attempts, the oldest first, and the time since each was started.
    fn running(&mut self, _attempts: &[(AttemptId, Duration)]) {}

    /// Receives a line for the user, for example about a lost node.
    fn message(&mut self, line: &str);

    /// Receives a line for the user about a slow task that gets a second attempt.
    fn second_attempt(&mut self, line: &str) {
        self.message(line);
    }

    /// Receives a line for the user about an attempt that has failed.
    fn failure(&mut self, line: &str) {
        self.message(line);
    }

    /// Receives a line for the user about a task whose output could not be placed.
    fn failure_of_output(&mut self, line: &str) {
        self.failure(line);
    }

    /// Receives the end of a task: its success, or its last failure. The logs of the attempt are in place. Returns whether the
    /// run continues.
    fn task_ended(&mut self, _end: &TaskEnd) -> Next {
        Next::Continue
    }

    /// True if the follower wants to receive the results that tasks had before this process ([`Follower::earlier`]).
    fn wants_earlier(&self) -> bool {
        false
    }

    /// Receives a task that had its result before this process, before any task ends.
    fn earlier(&mut self, _earlier: &EarlierResult) {}
}

/// A follower that ignores everything.
pub struct Unfollowed;

impl Follower for Unfollowed {
    fn phases(&mut self, _phases: &[PhaseProgress], _elapsed: Duration) {}

    fn message(&mut self, _line: &str) {}
}

/// The counts of one phase.
#[derive(Clone, Debug, Default)]
struct OfPhase {
    copies_started: u64,
    copies_won: u64,
    killed: u64,
    failed: u64,
}

/// The counts of all phases.
pub(super) struct Counts {
    phases: Vec<OfPhase>,
    /// Copies that were started while another copy of their task ran.
    redundant: FxHashSet<AttemptId>,
}

impl Counts {
    /// Creates counts of zero for `phases` phases.
    pub(super) fn new(phases: usize) -> Counts {
        Counts { phases: vec![OfPhase::default(); phases], redundant: FxHashSet::default() }
    }

    fn of(&mut self, attempt: AttemptId) -> &mut OfPhase {
        &mut self.phases[attempt.task.phase as usize]
    }

    /// Counts a copy that is started while another copy of its task runs. A second try to start it does not count again.
    pub(super) fn copy_started(&mut self, attempt: AttemptId) {
        if self.redundant.insert(attempt) {
            self.of(attempt).copies_started += 1;
        }
    }

    /// Counts an attempt that has won.
    pub(super) fn won(&mut self, attempt: AttemptId) {
        let is_copy = self.redundant.contains(&attempt);
        self.of(attempt).copies_won += u64::from(is_copy);
    }

    /// Counts an attempt that the policy has stopped.
    pub(super) fn killed(&mut self, attempt: AttemptId) {
        self.of(attempt).killed += 1;
    }

    /// Counts an attempt that has failed.
    pub(super) fn failed(&mut self, attempt: AttemptId) {
        self.of(attempt).failed += 1;
    }

    /// Returns the progress of a phase, without its withdrawn tasks. `number` is its index. `phase` is its state in the
    /// cluster, or, once the job has finished, the number of its tasks that have failed. `done` is the sum of the shares of
    /// work that running attempts have done, for one attempt of each task. `starting` is the number of tasks of which attempts are
    /// starting and none runs.
    pub(super) fn progress(
        &self,
        number: usize,
        planned: &PlannedPhase,
        phase: Result<&Phase, u64>,
        (done, starting): (f64, u64),
    ) -> PhaseProgress {
        let counts = &self.phases[number];
        let tasks = u64::from(planned.tasks - planned.withdrawn());
        let left = |failed: u64| (tasks.saturating_sub(failed), 0, 0);
        let (finished, started, running) = phase.map_or_else(left, |phase| {
            let unfinished = u64::from(phase.unfinished());
            // Withdrawn tasks count as finished or given up.
            let has_ended = |index: &u32| phase.tasks().get(*index as usize).is_some_and(Task::is_finished);
            let withdrawn = planned.withdrawn_tasks().filter(has_ended).count() as u64;
            let given_up = |index: &u32| phase.tasks().get(*index as usize).is_some_and(Task::is_abandoned);
            let withdrawn_given_up = planned.withdrawn_tasks().filter(given_up).count() as u64;
            let failed = u64::from(phase.abandoned()) - withdrawn_given_up;
            let ended = phase.tasks().len() as u64 - unfinished - withdrawn;
            (ended - failed, u64::from(phase.running_tasks()), u64::from(phase.running_copies()))
        });
        PhaseProgress {
            name: planned.name.clone(),
            tasks,
            finished,
            running: started.saturating_sub(starting),
            starting: starting.min(started),
            copies: running.saturating_sub(started),
            copies_started: counts.copies_started,
            copies_won: counts.copies_won,
            killed: counts.killed,
            failed: counts.failed,
            progress: ((finished as f64 + done) / tasks.max(1) as f64).min(1.0),
            waiting: phase.is_ok_and(|phase| !phase.is_open()),
        }
    }
}

impl Driver<'_> {
    /// Reports the progress of the run to the follower.
    pub(super) fn follow(&mut self) {
        let (cluster, now) = (self.session.cluster(), self.engine.now());
        let mut progress = self.ended.clone();
        for job in self.jobs.iter() {
            let Some(of_job) = self.progress_of(job) else { return };
            progress.extend(of_job);
        }
        let nodes = cluster.nodes().iter().map(|node| (node.name().to_string(), node.attempts() as u64));
        self.follower.nodes(&nodes.collect::<Vec<_>>());
        let paused = self.home().map_or(Time::ZERO, |home| home.job().paused_until(now));
        self.follower.phases(&progress, Duration::from_nanos((now - paused).0));
        if self.follower.wants_running() {
            let running = self.attempts.iter();
            let mut running: Vec<_> = running.map(|(attempt, of)| (of.progress.since, attempt)).collect();
            running.sort_unstable();
            let age = |since: Time| Duration::from_nanos(now.max(since).0 - since.0);
            self.follower.running(&running.into_iter().map(|(since, at)| (at, age(since))).collect::<Vec<_>>());
        }
    }

    /// Returns the progress of a job's phases. If the run may have several jobs, the names of phases contain that of the job.
    /// Returns `None` if the job is abandoned and has left the state, which then does not contain how many tasks had finished.
    fn progress_of(&self, job: &LiveJob) -> Option<Vec<PhaseProgress>> {
        let cluster = self.session.cluster();
        if cluster.job(job.id()).is_none() && job.shutdown.end() == Some(RunState::Abandoned) {
            return None;
        }
        let mut done = vec![0.0; job.plan.phases.len()];
        for (attempt, running) in self.attempts.iter().filter(|(attempt, _)| attempt.task.job == job.id()) {
            let is_newest = cluster.copies(attempt.task).next().is_some_and(|copy| copy.id() == attempt);
            done[attempt.task.phase as usize] += if is_newest { running.progress.of_task() } else { 0.0 };
        }
        let mut starting = vec![0; job.plan.phases.len()];
        let mut tasks: Vec<TaskId> =
            self.attempts.iter().filter(|(_, of)| of.is_starting()).map(|(id, _)| id.task).collect();
        tasks.sort_unstable();
        tasks.dedup();
        for task in tasks.into_iter().filter(|task| task.job == job.id()) {
            let is_starting = |copy: AttemptId| self.attempts.get(copy).is_none_or(Running::is_starting);
            if cluster.copies(task).all(|copy| is_starting(copy.id())) {
                starting[task.phase as usize] += 1;
            }
        }
        // A job that is no longer in the cluster has finished.
        let phases = cluster.job(job.id()).map_or(&[][..], |job| job.phases());
        let planned = job.plan.phases.iter().enumerate();
        let progress = |(at, phase): (usize, &PlannedPhase)| {
            let state = phases.get(at).ok_or_else(|| job.failures.given_up_in(&phase.name));
            let progress = job.counts.progress(at, phase, state, (done[at], starting[at]));
            match self.home {
                Some(_) => PhaseProgress { name: format!("{}/{}", job.plan.name, progress.name), ..progress },
                None => progress,
            }
        };
        Some(planned.map(progress).collect())
    }

    /// Keeps the last progress of a job that ends while others run.
    pub(super) fn keep_progress(&mut self, job: JobId) {
        if self.home.is_some()
            && let Some(progress) = self.jobs.get(job).and_then(|job| self.progress_of(job))
        {
            self.ended.extend(progress);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// A phase of this many tasks.
    fn planned(tasks: u32) -> PlannedPhase {
        let text = format!("[[phase]]\nname = \"map\"\ntasks = {tasks}\ncommand = \"true\"\n");
        let plan = crate::job_file::parse(&text, Path::new("job.toml"), Path::new("/")).unwrap();
        plan.phases.into_iter().next().unwrap()
    }

    #[test]
    fn withdrawn_tasks_are_left_out() {
        let mut phase = planned(4);
        phase.places = Some(vec![None, Some(0), None, Some(1)]);
        let progress = Counts::new(1).progress(0, &phase, Err(1), (0.0, 0));
        assert_eq!((progress.tasks, progress.finished, progress.progress), (2, 1, 0.5));
    }

    #[test]
    fn a_tasks_only_attempt_is_not_counted_as_a_copy() {
        let attempt = |copy| AttemptId { task: TaskId { job: JobId(0), phase: 1, index: 0 }, copy };
        let mut counts = Counts::new(2);
        counts.copy_started(attempt(1));
        counts.copy_started(attempt(1));
        counts.won(attempt(0));
        assert_eq!(counts.progress(1, &planned(4), Err(0), (0.0, 0)).copies_won, 0);
        counts.won(attempt(1));
        counts.killed(attempt(0));
        let phase = counts.progress(1, &planned(4), Err(0), (0.5, 0));
        assert_eq!((phase.copies_started, phase.copies_won, phase.killed, phase.failed), (1, 1, 1, 0));
        assert_eq!((phase.finished, phase.running, phase.progress), (4, 0, 1.0));
        assert_eq!(counts.progress(0, &planned(1), Err(1), (0.0, 0)).finished, 0);
    }
}
