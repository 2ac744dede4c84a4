//! Nodes and attempts of a recorded run.

/// A node of the recorded cluster. In a Spark log, a node is an executor.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedNode {
    /// Its id in the log, with the application's id before it where several applications are read together.
    pub name: String,
    /// The machine it ran on; empty where the log does not name it.
    pub host: String,
    /// How many tasks it could run at the same time, at least 1.
    pub slots: u32,
    /// Whether `slots` follows from the number of cores in the log. If not, it is the largest number of tasks seen
    /// running at the same time.
    pub slots_known: bool,
    /// When it was added, in seconds from the trace's origin (negative: before it); `None` where unknown.
    pub added: Option<f64>,
    /// When it was removed, in seconds from the trace's origin; `None` if it stayed to the end.
    pub removed: Option<f64>,
}

/// How an attempt ended, relative to the others of its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Won: it was the first attempt of its task to succeed.
    Won,
    /// Another attempt of the task won; this one was killed, or succeeded later.
    Lost,
    /// Succeeded after the winner's output had been lost: it started after the winner had finished. Also used for
    /// attempts of a resubmitted stage whose task is unknown.
    Repeated,
    /// Was killed, and no attempt of the task succeeded: the stage or job was cancelled.
    Killed,
    /// Failed for any reason.
    Failed,
}

/// An attempt other than a winner that was its task's original: a loser, a failed one, or a speculative one.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedAttempt {
    /// The application within the trace, counted from 0.
    pub application: u32,
    /// The stage's id.
    pub stage: u32,
    /// The submission of the stage, counted from 0.
    pub stage_attempt: u32,
    /// The task within the stage: its partition where the log names it, else its index. For an attempt of a
    /// resubmitted stage whose task is unknown, the index within that submission.
    pub task: u32,
    /// The attempt's number among those of the task within this submission of the stage, from 0.
    pub attempt: u32,
    /// The node it ran on, as an index into the trace's nodes; `None` where unknown.
    pub node: Option<u32>,
    /// When it started, in seconds from the trace's origin; `None` where unknown.
    pub launch: Option<f64>,
    /// When it ended, in seconds from the trace's origin; `None` where unknown.
    pub finish: Option<f64>,
    /// Whether it was started as a speculative copy.
    pub speculative: bool,
    /// How it ended.
    pub outcome: Outcome,
}
