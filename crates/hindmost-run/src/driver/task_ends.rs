//! How tasks have ended, for the follower of a run.

use std::path::PathBuf;
use std::time::Duration;

use hindmost_core::ids::{AttemptId, TaskId};
use hindmost_core::metrics::RunState;
use rustc_hash::FxHashMap;

/// How a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// The task has its result.
    Succeeded,
    /// The task has failed permanently.
    Failed {
        /// Exit code of its last attempt's command, 128 plus the signal if one ended it; `None` if the command was killed
        /// or not started.
        exit: Option<i32>,
        /// True if the last attempt took longer than its time limit.
        timed_out: bool,
    },
}

/// The end of a task: that of its winner, or of its last failed attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskEnd {
    /// The attempt that decided.
    pub attempt: AttemptId,
    /// Time from the begin of the run to the start of the attempt.
    pub start: Duration,
    /// How long the attempt took.
    pub took: Duration,
    /// How the task ended.
    pub how: How,
    /// Why the task has failed; empty if it has not, or if it was stopped.
    pub reason: String,
    /// Paths of the attempt's standard output and error. A file exists if something was written.
    pub logs: [PathBuf; 2],
}

/// A result that a task had before this process resumed its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EarlierResult {
    /// The attempt whose result it is.
    pub attempt: AttemptId,
    /// Paths of the attempt's standard output and error. A file exists if something was written.
    pub logs: [PathBuf; 2],
    /// True if these files do not hold all that was written, because they were removed or changed.
    pub lacks_logs: bool,
}

/// Whether a run continues after the end of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The run continues.
    Continue,
    /// Running attempts finish, no others start, and the run ends in this state.
    Finish(RunState),
    /// Running attempts are stopped, and the run ends in this state.
    Stop(RunState),
}

/// The last failed attempts of tasks that have not succeeded.
#[derive(Default)]
pub(super) struct Failing(pub(super) FxHashMap<TaskId, TaskEnd>);
