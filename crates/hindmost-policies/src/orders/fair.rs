//! `fair` shares the cluster between jobs in proportion to their weights: the job that uses least, relative to its
//! weight, is next.
//!
//! Key: the job's use divided by its weight. On one-slot machines, the use is the number of running attempts; on other
//! machines, it is the dominant share. No parameters.

use hindmost_core::cluster::{Cluster, Job};
use hindmost_core::policy::order::Order;

/// Fair sharing: the job that uses least, relative to its weight, is next.
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
