//! Records: events (what happened) and decisions (what a policy requests).
//!
//! The cluster's state changes only by applying records, in simulated, live and replayed runs alike. The sequence of
//! records is the journal. See `ARCHITECTURE.md`, "Data flows in one direction".

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ids::{AttemptId, JobId, NodeId, TaskId};
use crate::power::PowerModel;
use crate::profiles::{Profile, Weights};
use crate::resources::Resources;
use crate::time::Time;
use crate::usage::Usage;
use crate::workload::JobSpec;
use hindmost_math::distribution::Distribution;

/// An attempt that may still run although its node is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MayRun {
    /// Number of the attempt within its task.
    pub copy: u32,
    /// Id of the lost node.
    pub node: NodeId,
}

/// Something that happened. The driver reports it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A node joined the cluster. Nodes join in the order of their ids.
    NodeJoined {
        /// Id of the new node: the number of nodes that joined before it.
        node: NodeId,
        /// Name of the node, for display.
        name: Arc<str>,
        /// Resources of the node when nothing runs on it.
        capacity: Resources,
        /// Work done per second, relative to a node of speed 1.
        speed: f64,
        /// The rack that the node is in. Nodes without a rack count as one rack.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rack: Option<Arc<str>>,
        /// Power model of the node; `None` if its power is unknown. Also `None` in journals of older versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        power: Option<Arc<PowerModel>>,
    },
    /// A node was lost. Its attempts have ended, and their tasks are pending again unless another copy of them runs.
    NodeLost {
        /// Id of the lost node.
        node: NodeId,
        /// True if the time was up for which the node was allocated. Also false in journals of older versions.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        time_is_up: bool,
    },
    /// A node takes no more attempts. Those that run there go on, and what they held leaves the cluster when they end.
    NodeLeaving {
        /// Id of the node that leaves.
        node: NodeId,
    },
    /// A lost node returned. No attempts run on it yet.
    NodeReturned {
        /// Id of the node that returned.
        node: NodeId,
    },
    /// A job was submitted. Jobs arrive in the order of their ids.
    JobArrived {
        /// Id of the new job: the number of jobs that arrived before it.
        job: JobId,
        /// The job as policies see it.
        spec: Arc<JobSpec>,
    },
    /// A starting attempt is now running.
    AttemptRunning {
        /// Id of the attempt that runs now.
        attempt: AttemptId,
        /// Time from the start of the attempt to the begin of its command, if the command did not begin at once; `None` if it did.
        /// Also `None` in journals of older versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        waited: Option<Time>,
    },
    /// What an attempt needed has been measured. Its end follows at the same time. Journals of older versions lack this event.
    AttemptMeasured {
        /// Id of the attempt.
        attempt: AttemptId,
        /// What it needed.
        usage: Usage,
    },
    /// An attempt finished its work. The first copy of a task to finish is the task's winner.
    AttemptFinished {
        /// Id of the attempt that finished.
        attempt: AttemptId,
    },
    /// An attempt failed. Its task is pending again if it is unfinished and no other copy of it runs.
    AttemptFailed {
        /// Id of the attempt that failed.
        attempt: AttemptId,
        /// Error of the attempt; `None` if something other than the attempt itself ended it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Arc<str>>,
        /// What ended the attempt from outside, such as the loss of its process. `None` if the attempt itself failed.
        /// Also `None` in journals of older versions, which did not record this cause.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        external: Option<Arc<str>>,
    },
    /// A stopping attempt has stopped, and its resources are free.
    AttemptStopped {
        /// Id of the attempt that has stopped.
        attempt: AttemptId,
    },
    /// No other attempt of a task starts while attempts of it run. Live runs do this with tasks that have used up their retries,
    /// so that a task that always fails does not get one copy after the other, and with tasks of which an attempt writes a file that a copy
    /// would write too.
    NoMoreCopies {
        /// Id of the task.
        task: TaskId,
        /// True if its attempt may be stopped instead, so that the task starts again.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        may_restart: bool,
    },
    /// A pending task is withheld: it gets no attempt until it returns. Live runs do this with tasks that have failed, and with tasks
    /// that may not run twice while an attempt of them may still run on a lost node.
    TaskWithheld {
        /// Id of the task.
        task: TaskId,
        /// Time at which the task returns; `None` if it has failed permanently and returns only when the run is resumed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Time>,
        /// The attempt for whose end the task waits, because it may not run twice; `None` if it does not wait for one. The task returns
        /// once this attempt has surely ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        may_run: Option<MayRun>,
    },
    /// From now on each attempt of a task demands this instead of what its phase says: an attempt of it was killed because it needed
    /// more memory. No attempt of the task runs.
    TaskDemands {
        /// Id of the task.
        task: TaskId,
        /// What an attempt of it demands.
        demand: Box<Resources>,
    },
    /// A withheld task is pending again.
    TaskReturned {
        /// Id of the task.
        task: TaskId,
    },
    /// A task without running copies is given up, because its job allows it to fail: it counts as finished, and has no result.
    TaskGivenUp {
        /// Id of the task.
        task: TaskId,
    },
    /// A job is given up from outside, for example because one of its tasks has failed permanently and other jobs go on. It
    /// has the effects of [`Decision::Abandon`]: the job gets no further attempt, and the policy stops those that run.
    JobGivenUp {
        /// Id of the job.
        job: JobId,
    },
    /// A watched condition has come true, or the expected finish that was reported for an attempt has changed.
    WatchMet {
        /// Id of the watched attempt.
        attempt: AttemptId,
        /// Time at which the attempt is now expected to finish; `None` if its progress does not show it yet.
        expected_finish: Option<Time>,
        /// The conditions that have come true; empty if only the expected finish has changed. `None` if a condition has
        /// come true in a simulation or in a journal of an older version, which do not record which one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        conditions: Option<Vec<Condition>>,
        /// True if the attempt has reported no progress yet, or so little that the expected finish is only a guess.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        guessed: bool,
        /// True if the attempt has reported no progress for much longer than its earlier pace lets one expect. Then the expected
        /// finish is only a lower bound: nothing shows that the attempt will go on at that pace.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        stalled: bool,
    },
    /// The distribution of a phase's durations was estimated from copies that ran. A later estimate for the same phase
    /// replaces an earlier one.
    DurationsLearned {
        /// Id of the job to which the phase belongs.
        job: JobId,
        /// Index of the phase within its job, from 0.
        phase: u32,
        /// Distribution of the duration of a new copy, seconds on a node of speed 1.
        durations: Distribution,
        /// Median duration, seconds on a node of speed 1.
        median: f64,
        /// 90th percentile of the duration, seconds on a node of speed 1.
        p90: f64,
        /// True if copies report progress while they run.
        progress: bool,
        /// Number of copies in the estimate.
        samples: u32,
    },
    /// The speed of a node was estimated from attempts that ran on it.
    NodeSpeedLearned {
        /// Id of the node.
        node: NodeId,
        /// Work done per second, relative to a node of speed 1.
        speed: f64,
    },
    /// Profiles of earlier runs are known, for predictions under the progress model `profiles`. The oldest come first.
    ProfilesRecalled {
        /// The profiles.
        profiles: Arc<[Profile]>,
    },
    /// The weights with which durations of a phase depend on factors were fitted to profiles. They replace earlier
    /// weights for the same job type, phase and node.
    WeightsFitted {
        /// The weights.
        weights: Arc<Weights>,
    },
    /// The time that a [`Decision::Wake`] requested has come.
    Woken,
    /// A round: the policy decides how free resources are used. In a journal, its decisions follow this event.
    Round,
}

/// A condition on a running attempt. When it comes true, the policy is notified once. An attempt can have several
/// conditions. A condition that is requested twice is reported once.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// The attempt's remaining time has become known.
    Revealed,
    /// The attempt's remaining time is known and longer than this, seconds.
    RemainingAbove(f64),
    /// The attempt has been running for longer than this, seconds.
    ElapsedAbove(f64),
    /// The attempt's remaining time is known and longer than the first value; or it is unknown, and the attempt has
    /// been running for longer than the second value. Both values are in seconds.
    RemainingOrElapsedAbove(f64, f64),
    /// The attempt has been running for longer than `after`, and its average progress per second is below `rate`.
    Lagging {
        /// Average progress below which the attempt lags, as a share of its work per second of running time.
        rate: f64,
        /// Running time, in seconds, up to which the attempt does not lag.
        after: f64,
    },
}

/// Why an attempt is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// Another copy of the task has won.
    Lost,
    /// A replacement is expected to finish earlier.
    Replaced,
    /// Another copy of the task is expected to finish well before this attempt.
    #[serde(rename = "outrun")]
    Overtaken,
    /// The node is so slow that the task is relaunched as soon as another node has free resources.
    #[serde(rename = "moved")]
    Relaunched,
    /// The attempt seems to hang, and its task may have only one attempt at a time: the task starts again once this one has ended.
    Restarted,
    /// The job of the attempt is abandoned.
    Abandoned,
}

/// What a policy requests of the driver. It takes effect on the cluster's state when it is made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Start an attempt on a node.
    Start {
        /// Id of the attempt, which is the next copy of its task.
        attempt: AttemptId,
        /// Id of the node on which the attempt starts.
        node: NodeId,
        /// Share of the work that is already done and need not be repeated, in [0, 1).
        from_progress: f64,
    },
    /// Stop a running attempt. Its resources are free when the driver reports that it has stopped.
    Stop {
        /// Id of the attempt to stop.
        attempt: AttemptId,
        /// Why the attempt is stopped.
        reason: StopReason,
    },
    /// Stop an attempt and start the next copy of its task on the same resources (kill-restart).
    Replace {
        /// Id of the attempt to stop.
        attempt: AttemptId,
        /// Share of the work that the replacement need not repeat, in [0, 1).
        from_progress: f64,
    },
    /// Reserve resources of a node, for one task or for any later start on the node; other uses are excluded until the
    /// reservation ends.
    Reserve {
        /// Id of the node whose resources are reserved.
        node: NodeId,
        /// Amount to reserve. Without a task, it must be free. For a task, the reservation takes what comes free on the
        /// node until it holds this amount. Boxed, because it would double the size of all other decisions.
        #[serde(rename = "room")]
        resources: Box<Resources>,
        /// Time at which the reservation ends, if it has not ended before.
        until: Time,
        /// The task for which the resources are reserved; `None` if any start on the node may use them. A reservation
        /// for a task also ends when the task starts an attempt or finishes. Boxed to keep decisions small.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<Box<TaskId>>,
    },
    /// End the reservation for a task before its time.
    Release {
        /// The task for which resources are reserved.
        task: TaskId,
    },
    /// Give up a job, for example because it has missed its deadline. None of its tasks starts another attempt, and the
    /// reservations for its tasks end. The last pass of the policy stops its attempts
    /// ([`losing_copies`](crate::policy::losing_copies)). The job leaves the cluster when the last one has ended.
    Abandon {
        /// Id of the job, which has neither finished nor been abandoned before.
        job: JobId,
    },
    /// Request a round at a time.
    Wake {
        /// Time of the round. If this time has passed, the round takes place immediately.
        at: Time,
    },
    /// Request a notification when a condition on an attempt comes true.
    Watch {
        /// Id of the attempt to watch.
        attempt: AttemptId,
        /// Condition to watch for.
        condition: Condition,
    },
}

/// An event or a decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Something that happened.
    Event(Event),
    /// A decision of the policy.
    Decision(Decision),
}

/// One line of the journal: a change and its time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Time of the change, in ticks (nanoseconds) since the run began.
    pub at: Time,
    /// What changed the state at that time: an event or a decision.
    #[serde(flatten)]
    pub change: Change,
}

// A round may make many decisions.
const _: () = assert!(size_of::<Decision>() <= 40);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renamed_fields_keep_their_names_in_journals() {
        let resources = Box::new(Resources::ONE_SLOT);
        let reserve = |task| Decision::Reserve { node: NodeId(1), resources: resources.clone(), until: Time(5), task };
        let task = TaskId { job: JobId(2), phase: 0, index: 7 };
        let (any, one) = (reserve(None), reserve(Some(Box::new(task))));
        let texts = [
            (any, r#"{"reserve":{"node":1,"room":[1000,0,0,0,0,0,0,0],"until":5}}"#),
            (
                one,
                r#"{"reserve":{"node":1,"room":[1000,0,0,0,0,0,0,0],"until":5,"task":{"job":2,"phase":0,"index":7}}}"#,
            ),
            (Decision::Release { task }, r#"{"release":{"task":{"job":2,"phase":0,"index":7}}}"#),
            (Decision::Abandon { job: JobId(2) }, r#"{"abandon":{"job":2}}"#),
        ];
        for (decision, text) in texts {
            assert_eq!(serde_json::to_string(&decision).unwrap(), text);
            assert_eq!(serde_json::from_str::<Decision>(text).unwrap(), decision);
        }
        let reasons = [
            StopReason::Lost,
            StopReason::Replaced,
            StopReason::Overtaken,
            StopReason::Relaunched,
            StopReason::Restarted,
            StopReason::Abandoned,
        ];
        assert_eq!(
            serde_json::to_string(&reasons).unwrap(),
            r#"["lost","replaced","outrun","moved","restarted","abandoned"]"#
        );
    }
}
