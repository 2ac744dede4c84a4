//! `smallest_workload` serves started jobs before new ones. Among each, the job with the least pending work is next.
//!
//! Paper: Xu & Lau 2015.
//!
//! Key: pending tasks × mean duration. No parameters.

use hindmost_core::cluster::{Cluster, Job};
use hindmost_core::policy::order::Order;

/// Started jobs before new ones; among each, the least pending work first (Xu & Lau 2015).
pub struct SmallestWorkload;

impl Order for SmallestWorkload {
    fn key(&self, job: &Job, _cluster: &Cluster) -> f64 {
        job.pending_workload()
    }

    fn started_first(&self) -> bool {
        true
    }
}
