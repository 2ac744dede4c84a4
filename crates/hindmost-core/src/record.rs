//! Records: events (what happened) and decisions (what a policy orders).
//!
//! The cluster's state changes only by applying records, in simulated, live and replayed runs alike. The sequence of
//! records is the journal. See `ARCHITECTURE.md`, "Data goes one way".

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ids::{AttemptId, JobId, NodeId};
use crate::resources::Resources;
use crate::time::Time;
use crate::workload::JobSpec;
use hindmost_math::distribution::Distribution;

/// Something that happened. The driver reports it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A node joined the cluster. Nodes join in the order of their ids.
    NodeJoined {
        /// The node.
        node: NodeId,
        /// Its name for people.
        name: Arc<str>,
        /// Its capacity.
        capacity: Resources,
        /// Work done per second, relative to a node of speed 1.
        speed: f64,
        /// The rack that the node is in. Nodes without a rack count as one rack.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rack: Option<Arc<str>>,
    },
    /// A node went away. The attempts that ran on it are lost, and their tasks are pending again.
    NodeLost {
        /// The node.
        node: NodeId,
    },
    /// A lost node came back, empty.
    NodeReturned {
        /// The node.
        node: NodeId,
    },
    /// A job was submitted. Jobs arrive in the order of their ids.
    JobArrived {
        /// The job.
        job: JobId,
        /// The job as policies see it.
        spec: Arc<JobSpec>,
    },
    /// A starting attempt is now running.
    AttemptRunning {
        /// The attempt.
        attempt: AttemptId,
    },
    /// An attempt finished its work. The first copy of a task to finish is the task's winner.
    AttemptFinished {
        /// The attempt.
        attempt: AttemptId,
    },
    /// An attempt failed. Its task is pending again if no other copy runs.
    AttemptFailed {
        /// The attempt.
        attempt: AttemptId,
        /// The error, if the attempt itself failed; `None` if something else ended it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Arc<str>>,
        /// What ended it from outside, such as the loss of its process. `None` if the attempt itself failed, and in
        /// journals of versions that did not record this.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        external: Option<Arc<str>>,
    },
    /// A stopping attempt has stopped, and its resources are free.
    AttemptStopped {
        /// The attempt.
        attempt: AttemptId,
    },
    /// A watched condition has come true, or an expected finish that was reported has changed.
    WatchMet {
        /// The attempt that was watched.
        attempt: AttemptId,
        /// When it is now expected to finish; `None` while its progress does not show it.
        expected_finish: Option<Time>,
        /// The conditions that have come true; empty if only the expected finish has changed. `None` in simulations,
        /// and in journals of versions that did not record them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        conditions: Option<Vec<Condition>>,
        /// True if the attempt has reported no progress, and its expected finish is a guess from that.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        guessed: bool,
    },
    /// The distribution of a phase's durations was estimated, or estimated better, from copies that ran.
    DurationsLearned {
        /// The job.
        job: JobId,
        /// The phase within the job, from 0.
        phase: u32,
        /// Duration of a new copy on a node of speed 1, seconds.
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
        /// The node.
        node: NodeId,
        /// Work done per second, relative to a node of speed 1.
        speed: f64,
    },
    /// The time of a wake-up ([`Decision::Wake`]) has come.
    Woken,
    /// The policy must decide. The decisions up to the next event are its decisions.
    Round,
}

/// A condition on a running attempt. When it comes true, the policy is notified once. Different conditions on one
/// attempt exist side by side; a condition that is requested twice counts once.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// Its remaining time has become known.
    Revealed,
    /// Its remaining time is known and longer than this, seconds.
    RemainingAbove(f64),
    /// It has been running for longer than this, seconds.
    ElapsedAbove(f64),
    /// Its remaining time is known and longer than the first value, or it has been running for longer than the second.
    /// Both in seconds.
    RemainingOrElapsedAbove(f64, f64),
    /// It has been running for longer than `after` and has made less progress than `rate`.
    Lagging {
        /// Share of the work per second.
        rate: f64,
        /// Seconds.
        after: f64,
    },
}

/// Why an attempt is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// Another copy of its task has won.
    Lost,
    /// A replacement is expected to finish earlier.
    Replaced,
    /// Another copy of its task is expected to finish well before it.
    #[serde(rename = "outrun")]
    Overtaken,
    /// Its node is so slow that its task is relaunched as soon as another node has free resources.
    #[serde(rename = "moved")]
    Relaunched,
}

/// An order of a policy. It takes effect on the cluster's state when it is made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Start an attempt on a node.
    Start {
        /// The attempt: the next copy of its task.
        attempt: AttemptId,
        /// The node.
        node: NodeId,
        /// Share of the work that is already done and need not be repeated, in [0, 1).
        from_progress: f64,
    },
    /// Stop a running attempt. Its resources are free when the driver reports that it has stopped.
    Stop {
        /// The attempt.
        attempt: AttemptId,
        /// The reason.
        reason: StopReason,
    },
    /// Stop an attempt and start the next copy of its task on the same resources (kill-restart).
    Replace {
        /// The attempt that ends.
        attempt: AttemptId,
        /// Share of the work that the replacement need not repeat, in [0, 1).
        from_progress: f64,
    },
    /// Reserve resources on a node for this policy's own later use.
    Reserve {
        /// The node.
        node: NodeId,
        /// How much; it must be free. Boxed, because it would double the size of every other decision.
        #[serde(rename = "room")]
        resources: Box<Resources>,
        /// When the reservation ends.
        until: Time,
    },
    /// Request a round at this time.
    Wake {
        /// The time; if it has passed, the round is at once.
        at: Time,
    },
    /// Request a notification when a condition on an attempt comes true.
    Watch {
        /// The attempt.
        attempt: AttemptId,
        /// The condition.
        condition: Condition,
    },
}

/// An event or a decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// What happened.
    Event(Event),
    /// A decision of the policy.
    Decision(Decision),
}

/// One line of the journal: a change and its time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The time, in ticks since the run began.
    pub at: Time,
    /// The event or decision.
    #[serde(flatten)]
    pub change: Change,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renamed_fields_keep_their_names_in_journals() {
        let resources = Box::new(Resources::ONE_SLOT);
        let reserve = Decision::Reserve { node: NodeId(1), resources, until: Time(5) };
        let text = serde_json::to_string(&reserve).unwrap();
        assert_eq!(text, r#"{"reserve":{"node":1,"room":[1000,0,0,0,0,0,0,0],"until":5}}"#);
        assert_eq!(serde_json::from_str::<Decision>(&text).unwrap(), reserve);
        let reasons = [StopReason::Lost, StopReason::Replaced, StopReason::Overtaken, StopReason::Relaunched];
        assert_eq!(serde_json::to_string(&reasons).unwrap(), r#"["lost","replaced","outrun","moved"]"#);
    }
}
