//! Nodes and attempts of a recorded run.

/// A node of the recorded cluster. In a Spark log, a node is an executor.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedNode {
    /// The node's id in the log. If several applications are read together, the application's id comes before it.
    pub name: String,
    /// Name of the machine; empty if the log does not name it.
    pub host: String,
    /// The most tasks that the node could run at the same time, at least 1.
    pub slots: u32,
    /// Whether `slots` follows from the number of cores in the log. If not, `slots` is the largest number of attempts
    /// of the log that ran on the node at the same time: the log does not say the number of cores, or it is too small.
    pub slots_known: bool,
    /// When the node was added, in seconds after the trace's origin (negative: before the origin); `None` if unknown.
    pub added: Option<f64>,
    /// When the node was removed, in seconds after the trace's origin; `None` if it stayed to the end.
    pub removed: Option<f64>,
}

/// How an attempt ended, compared with the other attempts of its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The attempt was the first of its task to succeed.
    Won,
    /// Another attempt of the task won; this one was killed, or succeeded later.
    Lost,
    /// The attempt succeeded, but started after the winner had finished, because the winner's output was lost. Also
    /// used for attempts of a resubmitted stage whose task is unknown.
    Repeated,
    /// The attempt was killed, and no attempt of the task succeeded: the stage or job was cancelled.
    Killed,
    /// The attempt failed, for any reason.
    Failed,
}

/// An attempt that lost, failed or was speculative. Originals that won their task are not recorded here.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedAttempt {
    /// Index of the attempt's application within the trace, counted from 0.
    pub application: u32,
    /// Id of the attempt's stage; for Hadoop, 0 for maps and 1 for reduces.
    pub stage: u32,
    /// Number of the stage's submission to which the attempt belongs, counted from 0.
    pub stage_attempt: u32,
    /// The task within the stage: its partition if the log names it, otherwise its index. For an attempt of a
    /// resubmitted stage whose task is unknown, the index within that submission.
    pub task: u32,
    /// The attempt's number among the attempts of the task within this submission of the stage, counted from 0.
    pub attempt: u32,
    /// The node of the attempt, as an index into the trace's nodes; `None` if unknown.
    pub node: Option<u32>,
    /// When the attempt started, in seconds after the trace's origin; `None` if unknown.
    pub launch: Option<f64>,
    /// When the attempt ended, in seconds after the trace's origin; `None` if unknown.
    pub finish: Option<f64>,
    /// Whether the attempt was started as a speculative copy.
    pub speculative: bool,
    /// How the attempt ended.
    pub outcome: Outcome,
}
