//! `smallest_workload`: started jobs before new ones, and the least work not yet started first (Xu & Lau 2015).
//!
//! Key: pending tasks × mean duration. No parameters.

use hindmost_core::cluster::{Cluster, Job};
use hindmost_core::policy::order::Order;

/// Started jobs before new ones, and the least work not yet started first (Xu & Lau 2015).
pub struct SmallestWorkload;

impl Order for SmallestWorkload {
    fn key(&self, job: &Job, _cluster: &Cluster) -> f64 {
        job.pending_workload()
    }

    fn started_first(&self) -> bool {
        true
    }
}
