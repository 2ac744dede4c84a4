//! `fewest_remaining`: the order of SCA (Xu & Lau 2015, Algorithm 1).
//!
//! Key: of started jobs, which come first, the number of pending tasks; of new jobs, pending tasks × mean duration. No
//! parameters.

use hindmost_core::cluster::{Cluster, Job};
use hindmost_core::policy::order::Order;

/// Started jobs with the fewest tasks not yet started first, then new jobs by workload: Algorithm 1
/// of Xu & Lau 2015.
pub struct FewestRemaining;

impl Order for FewestRemaining {
    fn key(&self, job: &Job, _cluster: &Cluster) -> f64 {
        if job.started().is_some() {
            job.phases().iter().map(|phase| f64::from(phase.pending())).sum()
        } else {
            job.pending_workload()
        }
    }

    fn started_first(&self) -> bool {
        true
    }
}
