//! Identities of jobs, tasks, attempts and nodes.
//!
//! Jobs are numbered in the order of their arrival, nodes in the order in which they joined, tasks
//! within their phase, copies of a task in the order in which they were started. Every tie in a
//! decision is broken by these numbers, so none depends on memory layout.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A job: its place in the order of arrivals, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobId(pub u32);

/// A node: its place in the order of joining, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeId(pub u32);

/// A task of a phase of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TaskId {
    /// The job.
    pub job: JobId,
    /// The phase within the job, from 0.
    pub phase: u32,
    /// The task within the phase, from 0.
    pub index: u32,
}

/// One copy of a task: the `copy`-th that was started, from 0, retries and restarts included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AttemptId {
    /// The task.
    pub task: TaskId,
    /// Which of the task's copies, from 0.
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
        write!(f, "{} copy {}", self.task, self.copy)
    }
}
