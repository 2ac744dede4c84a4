//! `srpt`: shortest remaining processing time, in effective times (Xu, Liu & Lau 2022).
//!
//! Key: the longest path through unfinished phases. No parameters.

use hindmost_core::cluster::{Cluster, Job};
use hindmost_core::policy::order::Order;

use super::effective_time::effective_time;

/// Shortest remaining processing time: the longest path through unfinished phases, each taken at its
/// effective time.
pub struct Srpt;

impl Order for Srpt {
    fn key(&self, job: &Job, _cluster: &Cluster) -> f64 {
        job.longest_remaining_path(effective_time)
    }
}
