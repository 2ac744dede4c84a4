//! Ids of jobs, tasks, attempts and nodes.
//!
//! Jobs are numbered in the order in which they arrive, nodes in the order in which they join, tasks within their
//! phase, and copies of a task in the order in which they start. Every tie in a decision is broken by these numbers, so
//! decisions do not depend on memory layout.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The id of a job: its position in the order of arrival, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobId(pub u32);

/// The id of a node: its position in the order of joining, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeId(pub u32);

/// The id of a task: its job, phase and index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TaskId {
    /// Id of the job to which the task belongs.
    pub job: JobId,
    /// Index of the phase within the job, from 0.
    pub phase: u32,
    /// Index of the task within the phase, from 0.
    pub index: u32,
}

/// The id of an attempt, which is one execution (copy) of a task. The copies of a task are numbered in the order in
/// which they start; retries and relaunches count as copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AttemptId {
    /// Id of the task that the attempt executes.
    pub task: TaskId,
    /// The number of the copy within its task, from 0.
    pub copy: u32,
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "job {}", self.0)
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {}", self.0)
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task {}/{}/{}", self.job.0, self.phase, self.index)
    }
}

impl fmt::Display for AttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} attempt {}", self.task, self.copy)
    }
}
