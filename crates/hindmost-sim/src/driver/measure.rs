//! Measures jobs and attempts when they end.

use std::sync::Arc;

use hindmost_core::cluster::Job;
use hindmost_core::ids::{AttemptId, JobId, NodeId};
use hindmost_core::metrics::JobResult;
use hindmost_core::resources::MAX_DIMENSIONS;
use hindmost_core::time::Time;
use hindmost_core::workload::JobSpec;

use super::{Driver, RunResult, SimulationError};
use crate::output::{AttemptResult, Outcome};

impl Driver<'_> {
    /// Returns the share of the cluster's resources that an attempt holds, for each dimension.
    pub(super) fn shares_of(&self, attempt: AttemptId) -> [f64; MAX_DIMENSIONS] {
        if self.one_slot {
            return self.slot_shares;
        }
        let demand = self.session.cluster().phase(attempt.task).map(hindmost_core::cluster::Phase::demand);
        demand.map_or([0.0; MAX_DIMENSIONS], |demand| demand.shares_of(self.session.cluster().joined_total()))
    }

    /// Returns the job of an attempt for the output; `None` if the output receives no attempts.
    pub(super) fn output_spec(&self, id: AttemptId) -> Option<Arc<JobSpec>> {
        if !self.wants_attempts {
            return None;
        }
        self.session.cluster().job(id.task.job).map(|job| Arc::clone(job.spec()))
    }

    /// Adds the measurements of a finished job to the result and the output, or counts an abandoned one.
    pub(super) fn measure(&mut self, job: &Job) -> Result<(), SimulationError> {
        if job.abandoned().is_some() {
            self.result.abandoned += 1;
            self.result.deadlines += u64::from(job.deadline().is_some());
            self.count_unfinished(job);
            return Ok(());
        }
        let Some(mut measured) = JobResult::of(job, self.session.cluster(), self.setup.gamma) else { return Ok(()) };
        if let Some(ideal) = self.hidden_path(job.id()).filter(|ideal| *ideal > 0.0) {
            measured.slowdown = measured.flowtime() / ideal;
        }
        measured.energy = self.meter.as_ref().map(|meter| meter.of_job(job.id()));
        let finish = job.finished().unwrap_or(Time::ZERO);
        let result = &mut self.result;
        let index = job.id().0 as usize;
        result.flowtime[index] = measured.flowtime();
        result.running_time[index] = measured.running_time();
        result.resource[index] = measured.resource;
        result.slowdown[index] = measured.slowdown;
        if let Some(place) = result.lateness.get_mut(index) {
            *place = measured.lateness();
        }
        result.finished += 1;
        result.tasks += measured.tasks;
        result.attempts += measured.attempts;
        result.copies_launched += measured.copies_launched;
        result.copies_won += measured.copies_won;
        result.wasted += measured.wasted;
        result.deadlines += u64::from(measured.met_deadline.is_some());
        result.met_deadlines += u64::from(measured.met_deadline == Some(true));
        self.last_finish = self.last_finish.max(finish);
        self.recorder.output.job(&job.spec().name, &measured)?;
        Ok(())
    }

    /// Counts the tasks and attempts of a job that has not finished.
    fn count_unfinished(&mut self, job: &Job) {
        let result = &mut self.result;
        result.tasks += job.task_count();
        result.attempts += u64::from(job.attempts());
        result.copies_launched += job.extra_copies();
        result.copies_won += u64::from(job.copies_won());
    }

    /// Adds the jobs and attempts that have not ended to the result, and returns it. Runs that drain have none.
    pub(super) fn finish(mut self) -> Result<RunResult, SimulationError> {
        let now = self.session.cluster().now();
        let left: Vec<JobId> = self.session.cluster().jobs().map(Job::id).collect();
        let mut running: Vec<(AttemptId, NodeId, Time, bool)> = Vec::new();
        for node in 0..self.session.cluster().nodes().len() as u32 {
            let attempts = self.session.cluster().attempts_on(NodeId(node));
            running
                .extend(attempts.map(|attempt| (attempt.id(), attempt.node(), attempt.since(), attempt.is_relaunch())));
        }
        let end = self.setup.horizon.unwrap_or(now);
        for (attempt, node, start, is_relaunch) in running {
            self.busy.add(&self.shares_of(attempt), start, end);
            let outcome = Outcome::Unfinished;
            let ended = self.energy_ends(attempt, end);
            let energy = self.energy_of(ended, outcome);
            if let Some(job) = self.output_spec(attempt) {
                let node_name = self.session.cluster().node(node).map_or("", |node| node.name());
                self.recorder.output.attempt(&AttemptResult {
                    attempt,
                    job: &job,
                    node,
                    node_name,
                    start,
                    end,
                    outcome,
                    is_relaunch,
                    energy,
                })?;
            }
        }
        for id in left {
            let Some(job) = self.session.cluster().job(id).cloned() else { continue };
            // A finished job is still in the cluster if its policy lets losing copies of its tasks run on.
            if job.is_over() {
                self.measure(&job)?;
                continue;
            }
            self.result.unfinished += 1;
            self.result.deadlines += u64::from(job.deadline().is_some());
            self.result.undecided_deadlines += u64::from(job.deadline().is_some_and(|deadline| deadline > end));
            self.count_unfinished(&job);
        }
        let result = &mut self.result;
        result.rate_changes = self.rates.as_ref().map_or(0, |rates| rates.changes);
        result.events = self.recorder.events;
        result.drawn = self.truth.drawn();
        if let Some(meter) = self.meter {
            // A run that stops at its horizon uses energy until then, every other one until its last attempt has ended.
            let stops = self.setup.horizon.filter(|_| !self.setup.drain);
            let end = stops.unwrap_or(self.last_end.max(self.last_finish)).max(meter.latest());
            result.energy = Some(meter.finish(end, result.flowtime.iter().map(|flowtime| flowtime.is_finite())));
        }
        result.makespan = self.last_finish.seconds();
        result.utilization = self.busy.utilization(self.last_end.max(self.last_finish));
        result.counts = self.session.counts();
        result.profiles = self.profiles.take().map_or_else(Vec::new, |profiles| profiles.kept());
        self.recorder.output.end(&self.result);
        Ok(self.result)
    }
}
