//! `hadoop` starts a backup for the task that is expected to end last, once its job has no pending tasks. It does so
//! only if a new copy is expected to end sooner.
//!
//! Source: `DefaultSpeculator` of Apache Hadoop MapReduce.
//!
//! Algorithm: in a job without pending tasks, each running task whose remaining time is above the mean duration of its
//! phase gets one backup, the longest remaining time first. The number of a job's running backups is limited to the
//! largest of three numbers: a fixed number, a share of the job's tasks, and a share of its running tasks.
//!
//! Passes: `[Originals(order), Backups(hadoop rule, when nothing is pending)]`.
//!
//! Readings:
//! - Hadoop's rule uses elapsed time, so attempts whose progress is unknown are tested too. Their remaining time is its
//!   expectation given their age.
//! - "Expected to end sooner" compares the remaining time with the phase's mean duration.
//! - A task gets one backup at a time.

use hindmost_core::cluster::{Cluster, Job, Phase};
use hindmost_core::estimator::Test;
use hindmost_core::ids::{AttemptId, JobId};
use hindmost_core::policy::Round;

use super::candidates::Candidates;
use super::straggler_test::{self, ByTest};

crate::parameters! {
    /// The parameters of `hadoop`: three limits. A job may run as many backups as the largest limit allows.
    pub struct HadoopParameters {
        /// backups that a job may always run at the same time (mapreduce.job.speculative.minimum-allowed-tasks)
        pub minimum_allowed: u32 = 10, in 0..=1_000_000, unit "backups";
        /// backups that a job may run at the same time, as a share of its tasks
        /// (mapreduce.job.speculative.speculative-cap-total-tasks)
        pub of_total_tasks: f64 = 0.01, in 0.0..=1.0;
        /// backups that a job may run at the same time, as a share of its running tasks
        /// (mapreduce.job.speculative.speculative-cap-running-tasks)
        pub of_running_tasks: f64 = 0.1, in 0.0..=1.0;
    }
}

/// The rule by which Hadoop MapReduce starts backups.
pub struct HadoopRule {
    parameters: HadoopParameters,
    candidates: Candidates,
}

impl HadoopRule {
    /// Creates the rule with these parameters.
    pub fn new(parameters: HadoopParameters) -> HadoopRule {
        HadoopRule { parameters, candidates: Candidates::default() }
    }

    /// Returns the number of backups that a job may run at the same time; not rounded.
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

    /// Returns true if the job has no pending tasks and may have another backup now.
    fn allows(&self, job: JobId, cluster: &Cluster) -> bool {
        let Some(job) = cluster.job(job) else { return false };
        if job.runnable() > 0 {
            return false;
        }
        f64::from(job.running_copies().saturating_sub(job.running_tasks())) < self.cap(job)
    }

    fn help(&mut self, id: AttemptId, round: &mut Round<'_>) {
        // Another backup of this round may have reached the job's limit.
        if self.allows(id.task.job, round.cluster())
            && let Some(test) = round.cluster().phase(id.task).map(|phase| self.test(phase))
        {
            straggler_test::start_backups(id, test, 1, round);
        }
    }
}
