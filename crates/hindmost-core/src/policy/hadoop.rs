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
//!
//! Parameters, named after Hadoop's settings: `minimum_allowed`, 10
//! (`mapreduce.job.speculative.minimum-allowed-tasks`); `of_total_tasks`, 0.01
//! (`…speculative-cap-total-tasks`); `of_running_tasks`, 0.1 (`…speculative-cap-running-tasks`).

use crate::cluster::{Job, Phase};
use crate::estimator::Test;

use super::stragglers::StragglerRule;

/// Hadoop's rule. See the module's documentation.
pub struct HadoopRule {
    /// Backups always allowed at a time, a job.
    pub minimum_allowed: u32,
    /// Backups allowed at a time as a share of the job's tasks.
    pub of_total_tasks: f64,
    /// Backups allowed at a time as a share of the job's running tasks.
    pub of_running_tasks: f64,
}

impl StragglerRule for HadoopRule {
    fn test(&mut self, phase: &Phase) -> Test {
        Test::RemainingOrByAgeAbove(phase.mean())
    }

    fn allows(&self, job: &Job) -> bool {
        if job.runnable() > 0 {
            return false;
        }
        let running = job.running_tasks();
        let backups = job.alive().saturating_sub(running);
        let cap = f64::from(self.minimum_allowed)
            .max(self.of_total_tasks * job.task_count() as f64)
            .max(self.of_running_tasks * f64::from(running));
        f64::from(backups) < cap
    }
}
