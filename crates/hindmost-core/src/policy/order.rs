//! Orders of jobs: which job comes next when resources are free.

use crate::cluster::{Applied, Cluster, Job};
use crate::ids::{JobId, TaskId};
use crate::record::Event;

use super::queue_place::Place;

/// The jobs whose sort keys an event may have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Concerned {
    /// No job.
    Nobody,
    /// The job that the event is about.
    ItsJob,
    /// These jobs, and the job that the event is about.
    These(Vec<JobId>),
    /// All jobs.
    AllJobs,
}

/// An order of jobs. Keys are recomputed when a job has started attempts, and for the jobs that [`Order::observe`]
/// returns.
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

    /// Returns true if starting a task can make another job the next one. Otherwise the tasks of the next job are
    /// started until it has none left.
    fn takes_turns(&self) -> bool {
        false
    }

    /// Returns true if a job's key changes when an attempt ends, even if no task becomes pending again.
    fn follows_ends(&self) -> bool {
        false
    }

    /// Returns false if another copy of the task (its first one included) would give its job or queue more than the
    /// order allows now. Called before any copy is started, also before backups.
    fn permits(&mut self, _task: TaskId, _cluster: &Cluster) -> bool {
        true
    }

    /// Returns the resources that an order with limits has left for all jobs: see [`Order::slack_needed`].
    fn slack(&self) -> f64 {
        0.0
    }

    /// Returns the smallest [`Order::slack`] with which [`Order::permits`] can be true for a task with a running copy,
    /// as long as its job holds the same resources and has the same work left. Saves calling `permits` for each
    /// straggler in each round.
    fn slack_needed(&self, _task: TaskId, _cluster: &Cluster) -> f64 {
        f64::NEG_INFINITY
    }

    /// Skips jobs that can't start anything: returns the last of the consecutive jobs from this place on for which
    /// [`Order::permits`] is false for all pending tasks. `None` if the job in this place may start a task, or if the
    /// order does not know; then `permits` is called for each of its tasks.
    fn blocked_until(&self, _place: Place) -> Option<Place> {
        None
    }

    /// Called in a round for every copy that was started.
    fn started(&mut self, _task: TaskId, _cluster: &Cluster) {}

    /// Observes an event after it was applied. Returns the jobs whose keys it may have changed.
    fn observe(&mut self, event: &Event, applied: Applied, _cluster: &Cluster) -> Concerned {
        concerned(event, applied, self.follows_ends())
    }
}

/// Returns the jobs whose keys an event may change in an order that has no state of its own.
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
        // Tasks of many jobs may be pending again, and the capacity has changed.
        Event::NodeLost { .. } | Event::NodeReturned { .. } | Event::NodeJoined { .. } => Concerned::AllJobs,
        Event::NodeSpeedLearned { .. }
        | Event::AttemptRunning { .. }
        | Event::WatchMet { .. }
        | Event::Woken
        | Event::Round => Concerned::Nobody,
    }
}
