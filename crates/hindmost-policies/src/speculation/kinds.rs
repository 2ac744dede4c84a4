//! Kinds of phases: what policies learn from one job counts for later jobs of the same type.

use std::hash::{Hash, Hasher};

use hindmost_core::cluster::Cluster;
use hindmost_core::ids::JobId;
use hindmost_core::profiles::job_type;
use rustc_hash::FxHasher;

/// Returns a number that stands for the type of a job and the name of its phase.
pub(super) fn kind(job: JobId, phase: u32, cluster: &Cluster) -> Option<u64> {
    let spec = cluster.job(job)?.spec();
    let mut hasher = FxHasher::default();
    (job_type(&spec.name), &spec.phases.get(phase as usize)?.name).hash(&mut hasher);
    Some(hasher.finish())
}
