//! A snapshot of a run in progress, as `hindmost watch --json` prints it and `run --serve` serves it.

use std::collections::BTreeMap;

use hindmost_core::metrics::{PhaseProgress, RunState};
use hindmost_core::timeline::AttemptKind;
use schemars::JsonSchema;
use serde::Serialize;

/// The state of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// A process has opened the run's folder and has not begun the run yet.
    #[default]
    Starting,
    /// The run is in progress.
    Running,
    /// Every task has its result, or has failed as its phase allows.
    Done,
    /// A task failed more often than allowed.
    Failed,
    /// The policy abandoned the job.
    Abandoned,
    /// The user interrupted the run.
    Interrupted,
    /// The run has not ended, but no process runs it any more: it was killed, or the machine was switched off.
    Gone,
}

impl State {
    /// Returns false while the run may still continue without a new command.
    pub fn is_over(self) -> bool {
        !matches!(self, State::Starting | State::Running)
    }
}

impl From<RunState> for State {
    fn from(state: RunState) -> State {
        match state {
            RunState::Done => State::Done,
            RunState::Failed => State::Failed,
            RunState::Abandoned => State::Abandoned,
            RunState::Interrupted => State::Interrupted,
        }
    }
}

/// The state of a run at one moment. Times are in seconds since the run began and include its pauses, if nothing else is
/// said.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Snapshot {
    /// State of the run.
    pub state: State,
    /// Folder of the run.
    pub folder: String,
    /// Path of the run's report; missing as long as there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<String>,
    /// The policy, as the user named it.
    pub policy: String,
    /// The progress model of the policy.
    pub knowledge: String,
    /// Time of the snapshot; the time of the last record if the run is over.
    pub now: f64,
    /// Seconds for which the run has been active: `now` without the pauses.
    pub elapsed: f64,
    /// Estimated time that the running phases still need, seconds; `null` if it is unknown or the run is over.
    pub left: Option<f64>,
    /// True if other phases follow the running ones, so that the run takes longer than `left`.
    pub more_phases: bool,
    /// Number of tasks of all jobs, without withdrawn ones.
    pub tasks: u64,
    /// Number of tasks that have their result.
    pub finished: u64,
    /// Number of attempts started.
    pub attempts: u64,
    /// Number of attempts that failed or lost their node.
    pub failed_attempts: u64,
    /// Number of tasks that have failed permanently.
    pub failed_tasks: u64,
    /// Redundant copies.
    pub copies: Copies,
    /// The jobs, in the order of their arrival. A job that was submitted again after its end counts once. Jobs that had ended
    /// when the run began again, and jobs that have not begun, come last.
    pub jobs: Vec<JobView>,
    /// The nodes, in the order in which they joined.
    pub nodes: Vec<NodeView>,
    /// Number of running attempts, without those that are starting.
    pub running_attempts: u64,
    /// Number of attempts that are starting: their commands have not begun.
    pub starting_attempts: u64,
    /// Number of tasks that may not run twice and wait until their attempts on lost nodes have surely ended.
    pub awaiting_tasks: u64,
    /// The running attempts that have run longest, and after them those that are starting; see `running_attempts` and
    /// `starting_attempts` for the numbers of all.
    pub running: Vec<AttemptView>,
    /// The attempts that ended last, in the last minutes; the newest first.
    pub ended: Vec<EndedView>,
    /// The last failures, the newest first.
    pub failures: Vec<FailureView>,
    /// Why a part of the state is unknown; missing if nothing is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Numbers of redundant copies: attempts that ran at the same time as another copy of their task, or that replaced one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Copies {
    /// Number of running copies.
    pub running: u64,
    /// Number of copies started.
    pub launched: u64,
    /// Number of copies that finished first.
    pub won: u64,
}

/// The state of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// No attempt of the job has started.
    Waiting,
    /// Attempts of the job have started.
    Running,
    /// Every task has its result, or has failed as its phase allows.
    Done,
    /// A task failed more often than allowed.
    Failed,
    /// The policy has abandoned the job.
    Abandoned,
    /// The user interrupted the run before the job was done.
    Interrupted,
}

impl From<RunState> for JobState {
    fn from(state: RunState) -> JobState {
        match state {
            RunState::Done => JobState::Done,
            RunState::Failed => JobState::Failed,
            RunState::Abandoned => JobState::Abandoned,
            RunState::Interrupted => JobState::Interrupted,
        }
    }
}

/// A job of a run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct JobView {
    /// Name of the job.
    pub name: String,
    /// State of the job.
    pub state: JobState,
    /// Time at which the job arrived; 0 if it had ended when the run began again.
    pub arrival: f64,
    /// Time at which the job finished or was given up; `null` if it has not ended. For a job that had ended when the run began
    /// again, the time that it took.
    pub end: Option<f64>,
    /// Time by which the job should be finished; `null` if it has no deadline.
    pub deadline: Option<f64>,
    /// Number of tasks, without withdrawn ones.
    pub tasks: u64,
    /// Number of tasks that have their result.
    pub finished: u64,
    /// Number of tasks that have failed permanently.
    pub failed_tasks: u64,
    /// Path of the job's own report; missing if it has none, as in a run of one job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<String>,
    /// The job's phases, in the order of the job file.
    pub phases: Vec<PhaseView>,
}

/// A phase of a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct PhaseView {
    /// Name of the phase.
    pub name: String,
    /// Number of tasks, without withdrawn ones.
    pub tasks: u64,
    /// Number of tasks that have their result.
    pub finished: u64,
    /// Number of tasks that have failed permanently.
    pub failed_tasks: u64,
    /// Number of tasks with running attempts.
    pub running: u64,
    /// Number of tasks of which attempts are starting and none runs.
    pub starting: u64,
    /// Number of attempts started.
    pub attempts: u64,
    /// Redundant copies.
    pub copies: Copies,
    /// Number of attempts that lost against another copy, or were replaced.
    pub killed: u64,
    /// Number of attempts that failed or lost their node.
    pub failed: u64,
    /// Share of the phase's work that is done, in [0, 1].
    pub progress: f64,
    /// True if a parent phase is not finished yet, so that no task of this phase can start.
    pub waiting: bool,
    /// Median duration of the attempts that won, seconds; `null` if there are none.
    pub median: Option<f64>,
    /// Estimated time until the phase is finished, seconds; `null` if it is unknown.
    pub left: Option<f64>,
}

impl PhaseView {
    /// Returns the counts that the progress display of a run shows.
    pub fn progress(&self) -> PhaseProgress {
        PhaseProgress {
            name: self.name.clone(),
            tasks: self.tasks,
            finished: self.finished,
            running: self.running,
            starting: self.starting,
            copies: self.copies.running,
            copies_started: self.copies.launched,
            copies_won: self.copies.won,
            killed: self.killed,
            failed: self.failed,
            progress: self.progress,
            waiting: self.waiting,
        }
    }
}

/// A node of a run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NodeView {
    /// Name of the node.
    pub name: String,
    /// True if the node is lost.
    pub lost: bool,
    /// Speed that the run has learned for a slow node, relative to the speed with which it joined; `null` if it counts as
    /// normal.
    pub slow: Option<f64>,
    /// Resources of the node, by dimension; memory in bytes.
    pub capacity: BTreeMap<String, f64>,
    /// Resources that attempts hold or that are reserved, by dimension; `null` if they are unknown.
    pub used: Option<BTreeMap<String, f64>>,
    /// Number of attempts that run or are starting.
    pub attempts: u64,
}

/// The state of a running attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttemptState {
    /// The policy has decided the start, and the attempt's command has not begun yet.
    Starting,
    /// The attempt runs.
    Running,
    /// The policy has decided to stop the attempt, and it still runs.
    Stopping,
}

/// A running attempt.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AttemptView {
    /// Number of the job, from 0.
    pub job: u32,
    /// Name of the phase.
    pub phase: String,
    /// Number of the task, from 0.
    pub task: u32,
    /// Number of the attempt, from 0, over all attempts of the task.
    pub copy: u32,
    /// Name of the node.
    pub node: String,
    /// How the attempt relates to the other attempts of its task.
    pub kind: AttemptKind,
    /// State of the attempt.
    pub state: AttemptState,
    /// Time at which the attempt started.
    pub start: f64,
    /// Time for which the attempt has been running, seconds. For an attempt that is starting, the time since its start.
    pub elapsed: f64,
    /// Time at which the attempt is expected to finish, from its progress; `null` if it is unknown.
    pub expected_finish: Option<f64>,
    /// Share of the work that the attempt has reported as done, in [0, 1]; `null` if it has reported none, or if so many
    /// attempts run that not all reports are read.
    pub progress: Option<f64>,
    /// Number of running copies of the task, with this one.
    pub copies: u32,
    /// Why the policy started the attempt; `null` if it gave no reason.
    pub because: Option<String>,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was the first copy of its task to finish.
    Won,
    /// Another copy won, or was expected to.
    Lost,
    /// A replacement follows.
    Replaced,
    /// It failed, or something else ended it.
    Failed,
    /// Its node was lost.
    NodeLost,
    /// It was stopped because its job was abandoned or the run was interrupted.
    Stopped,
}

/// An attempt that has ended.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EndedView {
    /// Number of the job, from 0.
    pub job: u32,
    /// Name of the phase.
    pub phase: String,
    /// Number of the task, from 0.
    pub task: u32,
    /// Number of the attempt, from 0.
    pub copy: u32,
    /// Name of the node.
    pub node: String,
    /// How the attempt relates to the other attempts of its task.
    pub kind: AttemptKind,
    /// Time at which the attempt started.
    pub start: f64,
    /// Time at which the attempt ended.
    pub end: f64,
    /// How the attempt ended.
    pub outcome: Outcome,
}

/// A failure of an attempt.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FailureView {
    /// Number of the job, from 0.
    pub job: u32,
    /// Name of the phase.
    pub phase: String,
    /// Number of the task, from 0.
    pub task: u32,
    /// Number of the attempt, from 0.
    pub copy: u32,
    /// Name of the node.
    pub node: String,
    /// Time of the failure.
    pub at: f64,
    /// What went wrong.
    pub message: String,
}
