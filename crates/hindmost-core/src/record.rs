//! Records: what happened (events) and what was asked (decisions).
//!
//! The cluster's state changes only by applying records, in the simulator, live and on replay
//! alike; the journal is their sequence. See `ARCHITECTURE.md`, "Events in, decisions out".

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ids::{AttemptId, JobId, NodeId};
use crate::resources::Resources;
use crate::time::Time;
use crate::workload::JobSpec;
use hindmost_math::distribution::Distribution;

/// Something that happened, told by the driver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A node joined the cluster. Nodes join in the order of their ids.
    NodeJoined {
        /// The node.
        node: NodeId,
        /// Its name for people.
        name: Arc<str>,
        /// Its room.
        capacity: Resources,
        /// Work done in a second, relative to a node of speed 1.
        speed: f64,
        /// The rack that it is in; nodes of which none is told share one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rack: Option<Arc<str>>,
    },
    /// A node went away; what ran on it is lost and its tasks are pending again.
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
        /// What may be known of it.
        spec: Arc<JobSpec>,
    },
    /// A starting attempt is now running.
    AttemptRunning {
        /// The attempt.
        attempt: AttemptId,
    },
    /// An attempt finished its work; the first of a task's copies to do so is its winner.
    AttemptFinished {
        /// The attempt.
        attempt: AttemptId,
    },
    /// An attempt broke; its task is pending again if no other copy runs.
    AttemptFailed {
        /// The attempt.
        attempt: AttemptId,
        /// What happened, where the attempt itself is to blame; `None` if it was ended from outside.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Arc<str>>,
        /// What ended it from outside, such as the loss of its process. `None` where the attempt itself is to blame, and
        /// in journals of versions that did not record it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        external: Option<Arc<str>>,
    },
    /// An attempt that was asked to stop has stopped, and its room is free.
    AttemptStopped {
        /// The attempt.
        attempt: AttemptId,
    },
    /// A condition that was watched has come true, or an expected finish that was reported has turned out wrong.
    WatchMet {
        /// The attempt that was watched.
        attempt: AttemptId,
        /// When it is now expected to finish, where its progress tells.
        expected_finish: Option<Time>,
        /// The conditions that have come true; empty if only the expected finish has changed. `None` in simulations, and
        /// in journals of versions that did not record them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        conditions: Option<Vec<Condition>>,
        /// True if the attempt has reported nothing, and its expected finish is a guess from that.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        guessed: bool,
    },
    /// How long the copies of a phase take has been learned, or learned better, from those that ran.
    DurationsLearned {
        /// The job.
        job: JobId,
        /// The phase within the job, from 0.
        phase: u32,
        /// Seconds of a fresh copy on a node of speed 1.
        durations: Distribution,
        /// The duration that half of the copies do not exceed, seconds on a node of speed 1.
        median: f64,
        /// As `median`, for nine of ten copies.
        p90: f64,
        /// True if copies tell their progress while they run.
        progress: bool,
        /// How many copies told.
        samples: u32,
    },
    /// How fast a node goes through its work has been learned from what ran there.
    NodeSpeedLearned {
        /// The node.
        node: NodeId,
        /// Work done in a second, relative to a node of speed 1.
        speed: f64,
    },
    /// The time of a wake-up has come.
    Woken,
    /// The policy is asked to decide: what follows, up to the next event, are its decisions.
    Round,
}

/// A condition on a running attempt of which a policy is notified once. Conditions on one attempt, of one kind or of
/// several, do not replace each other; one that is asked for twice counts once.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// Its remaining time has become known.
    Revealed,
    /// Its remaining time is known and longer than so many seconds.
    RemainingAbove(f64),
    /// It has been running for longer than so many seconds.
    ElapsedAbove(f64),
    /// Either: its remaining time is known and above the first, or it has run for longer than the
    /// second, whichever is seen first.
    RemainingOrElapsedAbove(f64, f64),
    /// It has run for longer than `after` seconds and has made less progress than `rate` a second.
    Lagging {
        /// Share of the work in a second.
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
    /// A fresh copy is expected to do better.
    Replaced,
    /// Another copy of its task is expected to finish well before it.
    #[serde(rename = "outrun")]
    Overtaken,
    /// Its node is so slow that its task is relaunched as soon as another node has free resources.
    #[serde(rename = "moved")]
    Relaunched,
}

/// Something that a policy asks for. It takes effect on the cluster's state when it is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Start an attempt on a node.
    Start {
        /// The attempt: the next copy of its task.
        attempt: AttemptId,
        /// Where.
        node: NodeId,
        /// Share of the work that is already done and need not be repeated, in [0, 1).
        from_progress: f64,
    },
    /// Stop a running attempt; its room is free when the driver says so.
    Stop {
        /// The attempt.
        attempt: AttemptId,
        /// Why.
        reason: StopReason,
    },
    /// Stop an attempt and start the next copy of its task in the same room (kill-restart).
    Replace {
        /// The attempt that ends.
        attempt: AttemptId,
        /// Share of the work that the fresh copy need not repeat, in [0, 1).
        from_progress: f64,
    },
    /// Keep room on a node for this policy's own later use.
    Reserve {
        /// The node.
        node: NodeId,
        /// How much; it must be free. Boxed, as it would make every other decision twice as large.
        room: Box<Resources>,
        /// Until when; then it is free again.
        until: Time,
    },
    /// Ask for a round at this time.
    Wake {
        /// When; a time that has passed means at once.
        at: Time,
    },
    /// Ask to be told when a condition on an attempt comes true.
    Watch {
        /// The attempt.
        attempt: AttemptId,
        /// The condition.
        condition: Condition,
    },
}

/// What a record says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// What happened.
    Event(Event),
    /// What was asked.
    Decision(Decision),
}

/// One line of the journal: a change and its time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// When, in ticks since the run began.
    pub at: Time,
    /// What.
    #[serde(flatten)]
    pub change: Change,
}
