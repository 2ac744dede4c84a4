//! `hadoop`: the rule of Hadoop MapReduce's speculator.
//!
//! Once nothing of the job is pending, the task expected to end last gets one backup if a fresh copy
//! is expected to end sooner.
//!
//! Passes: `[Originals(order), Backups(hadoop rule, when nothing is pending)]`.
//!
//! Readings: a rule on elapsed time, so it is asked of attempts whose progress is unknown too; their
//! remaining time is its expectation given their age. "Expected to end sooner" compares remaining
//! times with the phase's mean duration. One backup a task. As in Hadoop's `DefaultSpeculator` the
//! copies running beside their originals are limited to the largest of a fixed number, a share of the
//! job's tasks and a share of its running ones.

use hindmost_core::cluster::{Cluster, Job, Phase};
use hindmost_core::estimator::Test;
use hindmost_core::ids::{AttemptId, JobId};
use hindmost_core::policy::Round;

use super::candidates::Candidates;
use super::straggler_test::{self, ByTest};

crate::parameters! {
    /// The parameters of Hadoop's rule. See the module's documentation.
    pub struct HadoopParameters {
        /// backups always allowed at a time, a job (mapreduce.job.speculative.minimum-allowed-tasks)
        pub minimum_allowed: u32 = 10, in 0..=1_000_000, unit "backups";
        /// backups allowed at a time, as a share of the job's tasks (mapreduce.job.speculative.speculative-cap-total-tasks)
        pub of_total_tasks: f64 = 0.01, in 0.0..=1.0;
        /// backups allowed at a time, as a share of the job's running tasks (mapreduce.job.speculative.speculative-cap-running-tasks)
        pub of_running_tasks: f64 = 0.1, in 0.0..=1.0;
    }
}

/// Hadoop's rule. See the module's documentation.
pub struct HadoopRule {
    parameters: HadoopParameters,
    candidates: Candidates,
}

impl HadoopRule {
    /// With these parameters.
    pub fn new(parameters: HadoopParameters) -> HadoopRule {
        HadoopRule { parameters, candidates: Candidates::default() }
    }

    /// Backups that a job may have at a time.
    fn cap(&self, job: &Job) -> f64 {
        let HadoopParameters { minimum_allowed, of_total_tasks, of_running_tasks } = self.parameters;
        let running = f64::from(job.running_tasks());
        f64::from(minimum_allowed).max(of_total_tasks * job.task_count() as f64).max(of_running_tasks * running)
    }
}

impl ByTest for HadoopRule {
    fn candidates(&mut self) -> &mut Candidates {
        &mut self.candidates
    }

    fn test(&mut self, phase: &Phase) -> Test {
        Test::RemainingOrByAgeAbove(phase.mean())
    }

    /// True if the job has nothing pending and may have another backup now.
    fn allows(&self, job: JobId, cluster: &Cluster) -> bool {
        let Some(job) = cluster.job(job) else { return false };
        if job.runnable() > 0 {
            return false;
        }
        f64::from(job.running_copies().saturating_sub(job.running_tasks())) < self.cap(job)
    }

    fn help(&mut self, id: AttemptId, round: &mut Round<'_>) {
        // A backup of this round may have used up what the job is allowed.
        if self.allows(id.task.job, round.cluster())
            && let Some(test) = round.cluster().phase(id.task).map(|phase| self.test(phase))
        {
            straggler_test::start_backups(id, test, 1, round);
        }
    }
}
