//! `srpt` serves the job with the shortest remaining processing time first. It measures phases by their effective time.
//!
//! Paper: Xu, Liu & Lau 2022.
//!
//! Key: the longest path through the job's unfinished phases. No parameters.

use hindmost_core::cluster::{Cluster, Job};
use hindmost_core::policy::order::Order;

use super::effective_time::effective_time;

/// Shortest remaining processing time first: the longest path through unfinished phases, each with its effective time.
pub struct Srpt;

impl Order for Srpt {
    fn key(&self, job: &Job, _cluster: &Cluster) -> f64 {
        job.longest_remaining_path(effective_time)
    }
}
