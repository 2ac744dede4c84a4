//! What a log holds, in numbers.

use serde::Serialize;

/// What a log holds, in numbers, as `trace info` prints it: serialised, its keys come in this order.
///
/// One file may hold several applications one after the other; their jobs, stages and executors
/// are counted apart even where they bear the same numbers. What is counted in a journal is said last,
/// where it differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceSummary {
    /// Format of the log: `spark` or `journal`.
    pub format: &'static str,
    /// Spark jobs that were submitted: distinct job ids among `SparkListenerJobStart` events.
    /// Journal: jobs that arrived.
    pub jobs: u64,
    /// Stages that were submitted or ran: distinct stage ids among `SparkListenerStageSubmitted`,
    /// `SparkListenerStageCompleted` and `SparkListenerTaskEnd` events. A stage that was submitted
    /// several times counts once; one that was skipped, since its output was there, not at all.
    /// Journal: phases of the jobs that arrived.
    pub stages: u64,
    /// Tasks of which at least one attempt ended, well or not: distinct pairs of stage and task
    /// among `SparkListenerTaskEnd` events. The task is the partition where the log names it
    /// (`Partition ID`, from Spark 3.3 on), the index within the stage elsewhere: a stage that is
    /// submitted again for a few lost partitions numbers their indices from 0 anew.
    pub tasks: u64,
    /// `SparkListenerTaskEnd` events read, whatever their outcome.
    /// Journal: attempts that ended, however.
    pub attempts: u64,
    /// Those of them whose task info says `Speculative`.
    /// Journal: those that were started beside another copy of their task, or in the place of one.
    pub speculative_attempts: u64,
    /// Those that ended neither in success nor by being killed: exceptions, lost executors, failed
    /// fetches, denied commits, results lost.
    /// Journal: those that broke or whose node was lost.
    pub failed_attempts: u64,
    /// Those that were killed (end reason `TaskKilled`, or no success and `Killed` in the task
    /// info), because another attempt won, or the stage or job was cancelled.
    /// Journal: those that were stopped: another copy had won or took their place, or the run was
    /// stopped.
    pub killed_attempts: u64,
    /// Executors: distinct ids among `SparkListenerExecutorAdded`, `SparkListenerBlockManagerAdded`
    /// (the driver's aside) and the task ends. In local mode the driver is the one executor.
    /// Journal: nodes that joined.
    pub nodes: u64,
    /// Seconds since 1970 at which the (first) application started; where the log doesn't say, the
    /// earliest time of an event that was read. `None` if there is no time at all.
    /// Journal: 0, since it counts from the beginning of the run.
    pub from: Option<f64>,
    /// Seconds since 1970 at which the (last) application ended; where the log doesn't say, the
    /// latest time of an event that was read.
    /// Journal: the time of its last record, seconds from the beginning of the run.
    pub to: Option<f64>,
    /// What the reader had to get around, in sentences for people.
    pub warnings: Vec<String>,
}
