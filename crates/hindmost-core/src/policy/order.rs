//! Orders of jobs: which one is next when room is free.
//!
//! | name | key, smallest first; ties by job id |
//! | --- | --- |
//! | `fifo` | arrival |
//! | `fair` | living attempts (one-slot machines), else dominant share in use, over weight |
//! | `smallest_workload` | started jobs before new ones; then pending tasks × mean duration |
//! | `srpt` | longest remaining path of phases, in effective times |
//! | `svf` | remaining effective volume: tasks not finished × effective time × dominant share |
//! | `fewest_remaining` | started jobs, fewest pending tasks first; then new ones by workload (SCA) |
//!
//! Orders that need more than a key have files of their own: `drf`, `capacity`, `tetris`, `dollymp`, `carbyne`,
//! `graphene`, `hopper`.

use crate::cluster::{Applied, Cluster, Job, Phase};
use crate::ids::TaskId;
use crate::record::Event;
use crate::resources::Resources;

/// Whose keys an event may have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concerned {
    /// Nobody's.
    Nobody,
    /// Those of the job that the event is about.
    ItsJob,
    /// Those of all jobs.
    AllJobs,
}

/// An order of jobs. Keys are recomputed when a job starts an attempt, when a pass asks for it
/// ([`Round::requeue`](super::Round::requeue)), and when the order says so of an event.
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

    /// True if a key changes when an attempt ends, even if no task becomes pending by it.
    fn follows_ends(&self) -> bool {
        false
    }

    /// False if another copy of the task, or its first, would give its job or queue more than the order lets
    /// it have now. Asked before copies are started, backups too.
    fn permits(&mut self, _task: TaskId, _cluster: &Cluster) -> bool {
        true
    }

    /// Is told in a round of every copy that was started.
    fn started(&mut self, _task: TaskId, _cluster: &Cluster) {}

    /// Is told of an event after it was applied; tells whose keys may have changed.
    fn observe(&mut self, event: &Event, applied: Applied, _cluster: &Cluster) -> Concerned {
        concerned(event, applied, self.follows_ends())
    }
}

/// Whose keys an event changes in an order without a memory of its own.
pub fn concerned(event: &Event, applied: Applied, follows_ends: bool) -> Concerned {
    match event {
        Event::JobArrived { .. } | Event::DurationsLearned { .. } => Concerned::ItsJob,
        Event::AttemptFinished { .. } | Event::AttemptFailed { .. } | Event::AttemptStopped { .. } => {
            if applied.pending_again || applied.phase_finished || follows_ends {
                Concerned::ItsJob
            } else {
                Concerned::Nobody
            }
        }
        // Tasks of many jobs may be pending again, and shares of the cluster have changed.
        Event::NodeLost { .. } | Event::NodeReturned { .. } | Event::NodeJoined { .. } => Concerned::AllJobs,
        Event::NodeSpeedLearned { .. }
        | Event::AttemptRunning { .. }
        | Event::WatchMet { .. }
        | Event::Woken
        | Event::Round => Concerned::Nobody,
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
    effective_time_with(phase, EFFECTIVE_TIME_DEVIATIONS)
}

/// As [`effective_time`], with so many standard deviations.
pub fn effective_time_with(phase: &Phase, deviations: f64) -> f64 {
    phase.mean() + deviations * phase.sd().unwrap_or(0.0)
}

impl Order for Srpt {
    fn key(&self, job: &Job, _cluster: &Cluster) -> f64 {
        job.longest_remaining_path(effective_time)
    }
}

/// Smallest (effective) volume first: Σ over unfinished phases of tasks not finished × effective time ×
/// dominant share of one copy (Xu, Liu & Lau 2022, Eq. 16).
pub struct Svf;

/// A phase's remaining effective volume, seconds of the whole cluster, with effective times that count
/// so many standard deviations.
pub fn effective_volume(phase: &Phase, total: &Resources, deviations: f64) -> f64 {
    f64::from(phase.unfinished()) * effective_time_with(phase, deviations) * phase.demand().dominant_share(total)
}

impl Order for Svf {
    fn key(&self, job: &Job, cluster: &Cluster) -> f64 {
        let volume = |phase| effective_volume(phase, cluster.total(), EFFECTIVE_TIME_DEVIATIONS);
        job.phases().iter().map(volume).sum()
    }

    fn follows_ends(&self) -> bool {
        true
    }
}
