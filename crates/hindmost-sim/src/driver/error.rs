//! Errors of simulations.

use hindmost_core::cluster::RecordError;
use hindmost_core::ids::AttemptId;

use crate::agenda::MOST_COPIES;

/// The reason why a simulation failed.
#[derive(Debug, thiserror::Error)]
pub enum SimulationError {
    /// The workload cannot be read or is not valid.
    #[error("{0}")]
    Workload(String),
    /// A copy whose duration the workload does not list.
    #[error("{attempt} has no duration: the workload lists fewer copies of this task than the policy starts")]
    NoDuration {
        /// Id of the copy.
        attempt: AttemptId,
    },
    /// A copy whose duration the workload does not list, with the names of its job and phase.
    #[error(
        "job {job:?}, phase {phase:?}, task {task}: the workload lists {} of it, but {policy} starts one more: list \
         more durations, or choose a policy or parameters with fewer copies",
        durations(*listed)
    )]
    TooFewDurations {
        /// The job's name.
        job: String,
        /// The phase's name.
        phase: String,
        /// The task's number within the phase, from 0.
        task: u32,
        /// Number of copies of the task whose durations the workload lists.
        listed: u32,
        /// The policy's name, or "the policy".
        policy: String,
    },
    /// A task that fits on no node.
    #[error(
        "phase {phase:?} of job {job:?} fits on no node, not even an empty one: a copy needs {wants}, and the node that \
         comes closest has {has}"
    )]
    DoesNotFit {
        /// The job's name.
        job: String,
        /// The phase's name.
        phase: String,
        /// The demand of a copy, as text.
        wants: String,
        /// The capacity of the node that comes closest to the demand, as text.
        has: String,
    },
    /// A copy that demands more than the maximum capacity of its job's queue.
    #[error(
        "job {job:?} can never run: one copy of its phase {phase:?} demands more than the maximum capacity of its queue \
         ({queue})"
    )]
    BeyondMaximum {
        /// The job's name.
        job: String,
        /// The phase's name.
        phase: String,
        /// The name of the job's queue in quotes, or "the default queue".
        queue: String,
    },
    /// A job waits for nodes that do not return.
    #[error(
        "job {0:?} can never finish: the nodes on which it could run are lost and do not return (cluster.outage without \
         duration)"
    )]
    NodesLost(String),
    /// A task whose node fails each time before the task finishes.
    #[error(
        "job {job:?} can never finish: task {task} of its phase {phase:?} started {MOST_COPIES} times, and each time its \
         node failed before it finished. Set `between` of cluster.failures, or of the failures of the nodes\' class, to more \
         than the task takes, or to a distribution such as {{ exponential = {{ mean = 100 }} }}, or make tasks shorter"
    )]
    NodesFail {
        /// The job's name.
        job: String,
        /// The phase's name.
        phase: String,
        /// The task's number within the phase, from 0.
        task: u32,
    },
    /// A limit of the simulator is exceeded, such as the number of jobs or tasks.
    #[error("{0}")]
    TooLarge(String),
    /// The cluster refused a decision or an event: a defect of the policy or the driver.
    #[error("internal error, please report it: {0}")]
    Record(#[from] RecordError),
    /// This many jobs wait, but no more events will occur: a defect of the policy.
    #[error("internal error, please report it: {0} jobs wait, but the policy starts nothing")]
    Stuck(usize),
    /// A result could not be written.
    #[error("a result could not be written: {0}")]
    Output(#[from] std::io::Error),
    /// The run was interrupted.
    #[error("interrupted")]
    Interrupted,
}

/// Describes the number of listed durations.
fn durations(listed: u32) -> String {
    match listed {
        0 => "no duration".to_owned(),
        1 => "the duration of one copy".to_owned(),
        _ => format!("the durations of {listed} copies"),
    }
}
