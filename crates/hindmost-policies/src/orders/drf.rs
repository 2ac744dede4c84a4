//! `drf` is dominant resource fairness with weights: the job with the smallest dominant share, relative to its weight,
//! is next. The dominant share is the largest share of any resource that the job holds.
//!
//! Paper: Ghodsi, Zaharia, Hindman, Konwinski, Shenker and Stoica, "Dominant Resource Fairness: Fair Allocation of
//! Multiple Resource Types", NSDI 2011.
//!
//! Algorithm: a job's share of a resource is the amount that its copies hold, divided by the cluster's amount. Its
//! dominant share s_i is the largest of these shares. In Algorithm 1 (progressive filling) the job with the smallest
//! s_i starts its next task. With weights (section 4.3, one weight w_i per job for all resources) it is the job with
//! the smallest s_i/w_i.
//!
//! Key: dominant share in use divided by weight. No parameters.
//!
//! Readings:
//! - Each job counts as one of the paper's users.
//! - If the next task of the job with the smallest share fits nowhere, this round skips the job. Tasks are not divided.
//! - Backups count as resources that their job holds.
//! - The cluster consists of the nodes that are up.
//! - On one-slot machines the dominant share is the number of machines in use divided by the number of all machines.
//! - On nodes with several resources, `fair` has the same key as `drf`, so both decide the same. `drf` follows the
//!   paper's definition on every cluster.

use hindmost_core::cluster::{Cluster, Job};

use hindmost_core::policy::order::Order;

/// Dominant resource fairness: the job with the smallest dominant share, relative to its weight, is next.
pub struct Drf;

impl Order for Drf {
    fn key(&self, job: &Job, cluster: &Cluster) -> f64 {
        job.in_use().dominant_share(cluster.total()) / job.spec().weight
    }

    fn takes_turns(&self) -> bool {
        true
    }

    fn follows_ends(&self) -> bool {
        true
    }
}
