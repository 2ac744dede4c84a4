//! Orders of jobs: which one is next when resources are free.

use crate::cluster::{Applied, Cluster, Job};
use crate::ids::{JobId, TaskId};
use crate::record::Event;

use super::queue_place::Place;

/// The jobs whose sort keys an event may have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Concerned {
    /// Nobody's.
    Nobody,
    /// Those of the job that the event is about.
    ItsJob,
    /// Those of these jobs, and of the job that the event is about.
    These(Vec<JobId>),
    /// Those of all jobs.
    AllJobs,
}

/// An order of jobs. Keys are recomputed when a job has started attempts and when the order says so of an event.
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

    /// What an order that limits what jobs may hold has left over for all of them: see [`Order::slack_needed`].
    fn slack(&self) -> f64 {
        0.0
    }

    /// The [`Order::slack`] below which [`Order::permits`] is certainly false of a task with a running copy, as long as its
    /// job holds as much and has as much to do. Saves asking for each straggler in each round.
    fn slack_needed(&self, _task: TaskId, _cluster: &Cluster) -> f64 {
        f64::NEG_INFINITY
    }

    /// The last of the jobs that follow one another in the queue's order, beginning with the one in this place, and
    /// that [`Order::permits`] lets start none of their waiting tasks. `None` if the first may start one, or the order
    /// does not know: then its tasks are asked for one by one.
    fn blocked_until(&self, _place: Place) -> Option<Place> {
        None
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
