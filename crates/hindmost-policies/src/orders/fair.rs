//! `fair`: fair sharing between jobs.
//!
//! Key: running attempts on one-slot machines, else the dominant share in use, over the job's weight. No parameters.

use hindmost_core::cluster::{Cluster, Job};
use hindmost_core::policy::order::Order;

/// Fair sharing: the job with the least in use, over its weight.
pub struct Fair;

impl Order for Fair {
    fn key(&self, job: &Job, cluster: &Cluster) -> f64 {
        let in_use = if cluster.dimensions().is_one_slot() {
            f64::from(job.running_copies())
        } else {
            job.in_use().dominant_share(cluster.total())
        };
        in_use / job.spec().weight
    }

    fn takes_turns(&self) -> bool {
        true
    }

    fn follows_ends(&self) -> bool {
        true
    }
}
