//! Orders of jobs: which job comes next when resources are free.

use crate::cluster::{Applied, Cluster, Job};
use crate::ids::{JobId, TaskId};
use crate::record::Event;

use super::queue_place::Place;

/// Which sort keys an event may have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Concerned {
    /// The event changes no keys.
    Nobody,
    /// The key of the job that the event is about.
    ItsJob,
    /// The keys of these jobs and of the job that the event is about.
    These(Vec<JobId>),
    /// The keys of all jobs.
    AllJobs,
}

/// An order of jobs by a key. A job's key is recomputed after the job has started attempts, and whenever
/// [`Order::observe`] returns the job.
///
/// ```
/// use hindmost_core::cluster::{Cluster, Job};
/// use hindmost_core::policy::order::Order;
///
/// /// The job with the least pending work (task-seconds) comes first.
/// struct LeastWork;
///
/// impl Order for LeastWork {
///     fn key(&self, job: &Job, _cluster: &Cluster) -> f64 {
///         job.pending_workload()
///     }
/// }
/// ```
pub trait Order: Send {
    /// Returns the job's key. The job with the smallest key is next. Must not be NaN.
    fn key(&self, job: &Job, cluster: &Cluster) -> f64;

    /// Returns true if every started job comes before every new one.
    fn started_first(&self) -> bool {
        false
    }

    /// Returns true if starting a task of the next job can make another job the next one. If false, the tasks of one
    /// job are started until the job has no pending tasks left.
    fn takes_turns(&self) -> bool {
        false
    }

    /// Returns true if a job's key changes when an attempt ends, even if no task becomes pending again.
    fn follows_ends(&self) -> bool {
        false
    }

    /// Returns false if another copy of the task (its first one included) would give its job or queue more than the
    /// order allows now. Passes call this before they start any copy, including backups.
    fn permits(&mut self, _task: TaskId, _cluster: &Cluster) -> bool {
        true
    }

    /// Returns true if the pass that starts originals also serves requests for backups, in turn with pending tasks. It
    /// receives them from [`Round::take_requests`](super::Round::take_requests).
    fn serves_requests(&self) -> bool {
        false
    }

    /// Returns how far jobs may now exceed their limits, for orders that give each job a limit. 0 if jobs may not
    /// exceed it. The order defines the unit; [`Order::slack_needed`] has the same unit.
    fn slack(&self) -> f64 {
        0.0
    }

    /// Returns the smallest [`Order::slack`] with which [`Order::permits`] can be true for a task with a running copy.
    /// The value stays valid until the job's held resources or remaining work change. Passes use it to avoid calling
    /// `permits` for each straggler in each round.
    fn slack_needed(&self, _task: TaskId, _cluster: &Cluster) -> f64 {
        f64::NEG_INFINITY
    }

    /// Returns the place of the last job of a sequence of jobs that may start no task. The sequence begins at `place`,
    /// and [`Order::permits`] is false for all pending tasks of its jobs, so the caller can skip them. `None` if the
    /// job at `place` may start a task, or if the order does not know; the caller then calls `permits` for each task of
    /// that job.
    fn blocked_until(&self, _place: Place) -> Option<Place> {
        None
    }

    /// Must be called in a round after every start of a copy.
    fn started(&mut self, _task: TaskId, _cluster: &Cluster) {}

    /// Must be called in a round after a job was abandoned. Orders that keep numbers of each job forget it here. The job
    /// has no pending tasks left; its attempts are stopped after the current pass, and their ends are events as always.
    /// Returns the jobs whose keys the abandonment may have changed.
    fn abandoned(&mut self, _job: JobId, _cluster: &Cluster) -> Concerned {
        Concerned::ItsJob
    }

    /// Observes an event after it was applied. Returns the jobs whose keys the event may have changed.
    fn observe(&mut self, event: &Event, applied: Applied, _cluster: &Cluster) -> Concerned {
        concerned(event, applied, self.follows_ends())
    }
}

/// Returns the jobs whose keys an event may change in an order that has no state of its own.
pub fn concerned(event: &Event, applied: Applied, follows_ends: bool) -> Concerned {
    match event {
        Event::JobArrived { .. }
        | Event::DurationsLearned { .. }
        | Event::NoMoreCopies { .. }
        | Event::TaskDemands { .. }
        | Event::TaskWithheld { .. }
        | Event::TaskReturned { .. }
        | Event::TaskGivenUp { .. }
        | Event::JobGivenUp { .. } => Concerned::ItsJob,
        Event::AttemptFinished { .. } | Event::AttemptFailed { .. } | Event::AttemptStopped { .. } => {
            if applied.makes_pending() || follows_ends { Concerned::ItsJob } else { Concerned::Nobody }
        }
        // Tasks of many jobs may be pending again, and the capacity has changed.
        Event::NodeLost { .. } | Event::NodeLeaving { .. } | Event::NodeReturned { .. } | Event::NodeJoined { .. } => {
            Concerned::AllJobs
        }
        Event::NodeSpeedLearned { .. }
        | Event::ProfilesRecalled { .. }
        | Event::WeightsFitted { .. }
        | Event::AttemptRunning { .. }
        | Event::AttemptMeasured { .. }
        | Event::WatchMet { .. }
        | Event::Woken
        | Event::Round => Concerned::Nobody,
    }
}
