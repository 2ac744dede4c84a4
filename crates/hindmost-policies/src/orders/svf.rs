//! `svf` serves the job with the smallest remaining effective volume first.
//!
//! Paper: Xu, Liu & Lau 2022, Eq. 16.
//!
//! Key: remaining effective volume. No parameters.

use hindmost_core::cluster::{Cluster, Job};
use hindmost_core::policy::order::Order;

use super::effective_time::{EFFECTIVE_TIME_DEVIATIONS, effective_volume};

/// Smallest effective volume first. The volume is the sum of unfinished tasks × effective time × dominant share of one
/// copy over all unfinished phases (Xu, Liu & Lau 2022, Eq. 16).
pub struct Svf;

impl Order for Svf {
    fn key(&self, job: &Job, cluster: &Cluster) -> f64 {
        let volume = |phase| effective_volume(phase, cluster.total(), EFFECTIVE_TIME_DEVIATIONS);
        job.phases().iter().map(volume).sum()
    }

    fn follows_ends(&self) -> bool {
        true
    }
}
