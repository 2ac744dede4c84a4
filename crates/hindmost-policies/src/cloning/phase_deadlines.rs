//! The time that each phase of a job has until the job's deadline.
//!
//! Formulas for jobs of one phase are used for jobs of several phases in this way: an open phase gets the share of the
//! remaining time that its mean duration has in the longest path of mean durations from it to the end of the job. With one
//! phase this is all of the remaining time.

use hindmost_core::cluster::Job;

/// Returns the share of the remaining time that each phase of a job may use, in (0, 1], by phase.
pub(crate) fn shares(job: &Job) -> Vec<f64> {
    let phases = job.phases();
    // Longest path of the phases after each phase.
    let mut after = vec![0.0f64; phases.len()];
    let mut shares = vec![1.0; phases.len()];
    // Parents come before their children.
    for (at, phase) in phases.iter().enumerate().rev() {
        let mean = if phase.is_finished() { 0.0 } else { phase.mean() };
        let whole = mean + after[at];
        if after[at] > 0.0 && mean > 0.0 {
            shares[at] = mean / whole;
        }
        for parent in &job.spec().phases[at].after {
            let path = &mut after[*parent as usize];
            *path = path.max(whole);
        }
    }
    shares
}
