//! Why a simulation could not be carried out.

use hindmost_core::cluster::RecordError;
use hindmost_core::ids::AttemptId;

/// Why a simulation could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum SimulationError {
    /// The workload can't be read or makes no sense.
    #[error("{0}")]
    Workload(String),
    /// A copy whose duration is not given.
    #[error("{attempt} has no duration: the workload lists fewer copies of this task than the policy starts")]
    NoDuration {
        /// The copy.
        attempt: AttemptId,
    },
    /// The same, by the names that users know.
    #[error(
        "job {job:?}, phase {phase:?}, task {task}: the workload lists {} of it, and {policy} starts one more: list \
         more durations there, or name a policy or parameters with fewer copies",
        durations(*listed)
    )]
    TooFewDurations {
        /// The job's name.
        job: String,
        /// The phase's name.
        phase: String,
        /// The task's number, from 0.
        task: u32,
        /// Copies whose durations are listed.
        listed: u32,
        /// The policy's name, or what stands for it.
        policy: String,
    },
    /// A task that fits on no node.
    #[error(
        "phase {phase:?} of job {job:?} fits on no node, even an empty one: a copy wants {wants}, and the node that \
         comes nearest has {has}"
    )]
    DoesNotFit {
        /// The job's name.
        job: String,
        /// The phase's name.
        phase: String,
        /// What a copy demands.
        wants: String,
        /// What the node has that comes nearest.
        has: String,
    },
    /// A copy that is more than its job's queue may ever hold.
    #[error(
        "job {job:?} waits for ever: one copy of its phase {phase:?} is more than its queue may hold at most ({queue})"
    )]
    BeyondMaximum {
        /// The job's name.
        job: String,
        /// The phase's name.
        phase: String,
        /// The queue that it names, in words.
        queue: String,
    },
    /// A job or task outside what the simulator can number.
    #[error("{0}")]
    TooLarge(String),
    /// A decision or event that the state does not allow: a defect of the policy or the driver.
    #[error("internal error, please report it: {0}")]
    Record(#[from] RecordError),
    /// Jobs that wait while nothing happens any more: a defect of the policy.
    #[error("internal error, please report it: {0} jobs wait, but the policy starts nothing")]
    Stuck(usize),
    /// A result could not be written.
    #[error("a result could not be written: {0}")]
    Output(#[from] std::io::Error),
    /// The run was asked to stop.
    #[error("interrupted")]
    Interrupted,
}

/// So many durations of copies, in words.
fn durations(listed: u32) -> String {
    match listed {
        0 => "no duration".to_owned(),
        1 => "the duration of one copy".to_owned(),
        _ => format!("the durations of {listed} copies"),
    }
}
