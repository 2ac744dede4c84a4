//! The machines and attempts of a recorded run.

/// A node of the recorded cluster: of a Spark log, one executor.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedNode {
    /// Its id in the log; where several applications share a file, with the application's before.
    pub name: String,
    /// The machine it ran on; empty where the log doesn't say.
    pub host: String,
    /// How many tasks it could run at a time, at least 1.
    pub slots: u32,
    /// Whether `slots` comes from the log's own numbers of cores; otherwise it is the largest
    /// number of tasks seen to run at a time.
    pub slots_known: bool,
    /// When it came, in seconds from the trace's origin (negative: before); `None` where unknown.
    pub added: Option<f64>,
    /// When it went; `None` if it stayed to the end.
    pub removed: Option<f64>,
}

/// What became of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The first of its task to succeed.
    Won,
    /// Another attempt of the task won; this one was killed, or succeeded later.
    Lost,
    /// Succeeded too, but was started after the winner had finished: the winner's output had been
    /// lost. Also in a stage that was submitted again, where the log does not tell which task it is of.
    Repeated,
    /// Killed, and no attempt of the task succeeded: the stage or job was cancelled.
    Killed,
    /// Failed, for whatever reason.
    Failed,
}

/// An attempt that is more than its task's plain winner: a loser, a failure, or speculative.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedAttempt {
    /// Which application of the file, from 0.
    pub application: u32,
    /// Stage id.
    pub stage: u32,
    /// Which submission of the stage, from 0.
    pub stage_attempt: u32,
    /// The task within the stage: its partition where the log names it, else its index (of a later
    /// submission that names none and whose tasks are not known, the index there).
    pub task: u32,
    /// Which attempt of the task within this submission of the stage, from 0.
    pub attempt: u32,
    /// The node it ran on, an index into the trace's nodes.
    pub node: Option<u32>,
    /// When it was launched, in seconds from the trace's origin; `None` where unknown.
    pub launch: Option<f64>,
    /// When it ended; `None` where unknown.
    pub finish: Option<f64>,
    /// Whether it was started as a speculative copy.
    pub speculative: bool,
    /// What became of it.
    pub outcome: Outcome,
}
