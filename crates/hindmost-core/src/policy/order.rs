//! Orders of jobs: which one is next when room is free.
//!
//! | name | key, smallest first; ties by job id |
//! | --- | --- |
//! | `fifo` | arrival |
//! | `fair` | living attempts (one-slot machines), else dominant share in use, over weight |
//! | `smallest_workload` | started jobs before new ones; then pending tasks × mean duration |
//! | `srpt` | longest remaining path of phases, in effective times |
//! | `fewest_remaining` | started jobs, fewest pending tasks first; then new ones by workload (SCA) |

use crate::cluster::{Cluster, Job, Phase};

/// An order of jobs. Keys are recomputed when a job starts or ends an attempt or opens a phase.
pub trait Order: Send {
    /// The job's key; the smallest is next. Must not be NaN.
    fn key(&self, job: &Job, cluster: &Cluster) -> f64;

    /// True if every started job comes before every new one.
    fn started_first(&self) -> bool {
        false
    }

    /// True if starting a task can make another job the next one; otherwise the next job's tasks
    /// are started until it has none left.
    fn takes_turns(&self) -> bool {
        false
    }

    /// True if a key changes when an attempt ends.
    fn follows_ends(&self) -> bool {
        false
    }
}

/// First in, first out: by arrival.
pub struct Fifo;

impl Order for Fifo {
    fn key(&self, job: &Job, _cluster: &Cluster) -> f64 {
        job.arrival().0 as f64
    }
}

/// Fair sharing: the job with the least in use, over its weight.
pub struct Fair;

impl Order for Fair {
    fn key(&self, job: &Job, cluster: &Cluster) -> f64 {
        let in_use = if cluster.dimensions().is_one_slot() {
            f64::from(job.alive())
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

/// Started jobs with the fewest tasks not yet started first, then new jobs by workload: Algorithm 1
/// of Xu & Lau 2015.
pub struct FewestRemaining;

impl Order for FewestRemaining {
    fn key(&self, job: &Job, _cluster: &Cluster) -> f64 {
        if job.started().is_some() {
            job.phases().iter().map(|phase| f64::from(phase.pending())).sum()
        } else {
            job.pending_workload()
        }
    }

    fn started_first(&self) -> bool {
        true
    }
}

/// Shortest remaining processing time: the longest path through unfinished phases, each taken at its
/// effective time.
pub struct Srpt;

/// Weight of the standard deviation in a phase's effective time e = θ + r·σ (Xu, Liu & Lau 2022,
/// who write r = 1.5).
pub const EFFECTIVE_TIME_DEVIATIONS: f64 = 1.5;

/// A phase's effective time, seconds: its mean duration and 1.5 standard deviations where known.
pub fn effective_time(phase: &Phase) -> f64 {
    phase.mean() + EFFECTIVE_TIME_DEVIATIONS * phase.sd().unwrap_or(0.0)
}

impl Order for Srpt {
    fn key(&self, job: &Job, _cluster: &Cluster) -> f64 {
        job.longest_remaining_path(effective_time)
    }
}
