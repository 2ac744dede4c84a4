//! `drf`: dominant resource fairness (Ghodsi, Zaharia, Hindman, Konwinski, Shenker and Stoica, "Dominant
//! Resource Fairness: Fair Allocation of Multiple Resource Types", NSDI 2011), weighted.
//!
//! A job's share of a resource is what its copies hold of it, over what the cluster has; its dominant share
//! s_i is the largest of these. The paper's Algorithm 1 (progressive filling): the job with the smallest s_i
//! gets its next task; with weights (section 4.3, one weight a job for all resources), the smallest s_i/w_i.
//!
//! Readings: the paper's users are jobs. If the next task of the job with the smallest share fits nowhere, the
//! job is passed over in this round and the next one gets its turn; tasks are not divided. Rules' backups
//! count as what their job holds. The cluster is the nodes that are up. On one-slot machines the dominant share
//! is the machines in use over all machines. `fair` compares the same numbers where nodes have several
//! resources, so the two differ in nothing there; here the definition is the paper's on every cluster.
//!
//! Key: dominant share in use over weight. No parameters.

use hindmost_core::cluster::{Cluster, Job};

use hindmost_core::policy::order::Order;

/// Dominant resource fairness. See the module's documentation.
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
