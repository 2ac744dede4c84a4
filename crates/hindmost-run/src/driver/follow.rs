//! Reports the progress of a run to its follower.

use std::time::Duration;

use hindmost_core::ids::{AttemptId, JobId, TaskId};
use hindmost_core::metrics::{PhaseProgress, RunState};
use hindmost_core::time::Time;

use super::Driver;
use super::attempts::Running;
use super::jobs::LiveJob;
use crate::job_file::PlannedPhase;

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
