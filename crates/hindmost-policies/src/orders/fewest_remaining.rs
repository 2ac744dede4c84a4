//! `fewest_remaining` serves started jobs before new ones. The started job with the fewest tasks to start is next; new
//! jobs follow in order of their workload.
//!
//! Paper: Xu & Lau 2015, Algorithm 1 (the order of SCA).
//!
//! Key: the number of pending tasks for started jobs; pending tasks × mean duration for new jobs. No parameters.

use hindmost_core::cluster::{Cluster, Job};
use hindmost_core::policy::order::Order;

/// Started jobs in order of their pending tasks, then new jobs in order of their workload (Xu & Lau 2015, Algorithm 1).
pub struct FewestRemaining;

impl Order for FewestRemaining {
    fn key(&self, job: &Job, _cluster: &Cluster) -> f64 {
        if job.started().is_some() {
            job.phases().iter().map(|phase| f64::from(phase.to_start())).sum()
        } else {
            job.pending_workload()
        }
    }

    fn started_first(&self) -> bool {
        true
    }
}
