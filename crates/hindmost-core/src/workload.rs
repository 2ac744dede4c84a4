//! Jobs as they are given: what a policy may know of them, and how long their copies really take.
//!
//! A [`WorkloadJob`] comes from a generator, an exact workload file or a log. The driver splits it:
//! the [`JobSpec`] travels in the arrival record and is all that policies and estimators see; the
//! [`Durations`] stay with the simulated driver.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ids::NodeId;
use crate::time::Time;
use hindmost_math::distribution::Distribution;

/// What one copy of a task needs, by dimension name: `cpus` in cores, `memory` in bytes, others in
/// their own unit. Empty: one slot on one-slot machines, one cpu elsewhere.
pub type DemandByName = BTreeMap<String, f64>;

/// One phase (stage, vertex) of a job: tasks of one kind whose durations share a distribution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseSpec {
    /// Name, unique within the job.
    pub name: Arc<str>,
    /// Indices of the phases that must be finished first. Each is smaller than this phase's own.
    pub after: Vec<u32>,
    /// Number of tasks; at least 1.
    pub tasks: u32,
    /// Demand of one copy.
    pub demand: DemandByName,
    /// Mean duration of one copy on a node of speed 1, seconds.
    pub mean: f64,
    /// Standard deviation of that duration, seconds; `None` where unknown or infinite.
    pub sd: Option<f64>,
    /// The distribution of durations, where it is known.
    pub tail: Option<Distribution>,
    /// What its tasks read, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<InputSpec>,
    /// True if mean and deviation are a guess, made before any copy has run: rules that compare
    /// durations leave the phase alone until [`Event::DurationsLearned`](crate::record::Event) tells.
    #[serde(default, skip_serializing_if = "is_default")]
    pub assumed: bool,
    /// True if no second copy of a task may run beside another: its work must not be done twice.
    #[serde(default, skip_serializing_if = "is_default")]
    pub never_copied: bool,
    /// Indices of the tasks whose results exist from before the job arrived, ascending. These tasks are finished from
    /// the start: no attempt of them ever runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub finished: Vec<u32>,
}

impl PhaseSpec {
    /// Returns the number of tasks that were not finished before the job arrived.
    pub fn tasks_to_do(&self) -> u32 {
        self.tasks.saturating_sub(self.finished.len() as u32)
    }
}

/// What the tasks of a phase read, and where it lies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputSpec {
    /// Bytes that each task reads, one entry a task.
    pub bytes: Vec<u64>,
    /// The nodes that hold a replica of each task's input, one entry a task. Empty where the phase reads what its
    /// parents have put out or, without parents, what lies outside the cluster.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replicas: Vec<Vec<NodeId>>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
fn is_default(value: &bool) -> bool {
    !value
}

/// A queue that jobs are submitted to, among which orders such as `capacity` share the cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueSpec {
    /// Its path: names from the top, separated by dots (`production.reports` is below `production`).
    pub name: Arc<str>,
    /// Share of the queue above it, or of the cluster, that it is guaranteed, in [0, 1].
    pub guaranteed: f64,
    /// Share of the queue above it, or of the cluster, that it never exceeds, in (0, 1]; 1 unless given.
    #[serde(default = "everything")]
    pub maximum: f64,
}

fn everything() -> f64 {
    1.0
}

/// A job as policies see it on arrival.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobSpec {
    /// Name for people and reports.
    pub name: Arc<str>,
    /// When it is submitted.
    pub arrival: Time,
    /// Deadline, counted from its arrival.
    pub deadline: Option<Time>,
    /// Weight among jobs for fair orders; 1 unless given.
    pub weight: f64,
    /// The queue that it is submitted to, as a path such as `production.reports`; orders that share the
    /// cluster among queues need one, others don't look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Arc<str>>,
    /// Phases in an order in which parents come before children.
    pub phases: Vec<PhaseSpec>,
}

/// How long the copies of one phase's tasks take on a node of speed 1.
#[derive(Clone, Debug, PartialEq)]
pub enum Durations {
    /// Every copy's duration is drawn from this distribution, independently.
    Drawn(Distribution),
    /// Seconds of the first, second, … copy of each task; a copy past the list is an error.
    Listed(Vec<Vec<f64>>),
    /// Seconds of each task's first copy as a log recorded it; further copies take as long as
    /// another task of the phase, drawn at random.
    Recorded(Vec<f64>),
    /// What a recorded run tells of each copy of each task. A copy that is not told of takes as long
    /// as one of the phase's `known` durations, drawn at random.
    Observed {
        /// The first, second, … copy of each task. Tasks past the list have no copy that is told of.
        tasks: Vec<Vec<ObservedCopy>>,
        /// Durations of the phase to draw from, seconds, ascending; at least one.
        known: Vec<f64>,
    },
}

/// What a recorded run tells of how long a copy takes on a node of speed 1, from scratch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ObservedCopy {
    /// So many seconds.
    Took(f64),
    /// It was ended after so many seconds, unfinished: it takes as long as one of the phase's longer
    /// known durations, drawn at random; exactly this long where none is longer.
    AtLeast(f64),
}

/// A job with the truth about its durations, one entry a phase.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadJob {
    /// What policies may know.
    pub spec: JobSpec,
    /// The truth, one entry a phase of `spec`.
    pub durations: Vec<Durations>,
}
