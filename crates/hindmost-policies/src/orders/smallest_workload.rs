//! `smallest_workload` serves started jobs before new ones. Among started jobs, and among new jobs, the job with the
//! least pending work is next.
//!
//! Paper: Xu & Lau 2015.
//!
//! Key: pending tasks × mean duration. No parameters.

use hindmost_core::cluster::{Cluster, Job};
use hindmost_core::policy::order::Order;

/// Serves started jobs before new ones, and within each of these groups the job with the least pending work first (Xu &
/// Lau 2015).
pub struct SmallestWorkload;

impl Order for SmallestWorkload {
    fn key(&self, job: &Job, _cluster: &Cluster) -> f64 {
        job.pending_workload()
    }

    fn started_first(&self) -> bool {
        true
    }
}
