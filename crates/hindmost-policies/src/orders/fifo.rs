//! `fifo` serves jobs in order of arrival: first in, first out.
//!
//! Key: arrival time. No parameters.

use hindmost_core::cluster::{Cluster, Job};
use hindmost_core::policy::order::Order;

/// First in, first out: jobs in order of arrival.
pub struct Fifo;

impl Order for Fifo {
    fn key(&self, job: &Job, _cluster: &Cluster) -> f64 {
        job.arrival().0 as f64
    }
}
