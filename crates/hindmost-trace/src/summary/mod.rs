//! What a log holds, in numbers.

mod hadoop_facts;

use std::collections::BTreeMap;

use serde::Serialize;

pub use hadoop_facts::{HadoopFacts, JobEnds, Locality, OtherAttempts, Splits};

/// What a log holds, in numbers, as `trace info` prints it: serialised, its keys come in this order.
///
/// One file may hold several applications one after the other; their jobs, stages and executors
/// are counted apart even where they bear the same numbers. What is counted in a journal is said last,
/// where it differs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TraceSummary {
    /// Format of the log: `spark`, `hadoop-jhist`, `rumen` or `journal`.
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
    /// submitted again for a few lost partitions numbers their indices from 0 anew. Where these can be told from
    /// the number of tasks without a success they are; else attempts of such a submission count for no task.
    pub tasks: u64,
    /// `SparkListenerTaskEnd` events read, whatever their outcome, those that stand in the log twice once.
    /// Journal: attempts that ended, however.
    pub attempts: u64,
    /// Those of them whose task info says `Speculative`.
    /// Journal: those that were started beside another copy of their task, or in the place of one.
    pub speculative_attempts: u64,
    /// Those that ended neither in success nor by being killed: exceptions, lost executors, failed
    /// fetches, denied commits, results lost. Outputs that were lost later are counted apart.
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
    /// Why attempts failed, and how many for each cause; together `failed_attempts`. Not written where none
    /// did. Of Spark, the end reason's name, with the exception's class or what an executor's loss is put
    /// down to after a colon: `ExceptionFailure: java.io.IOException`, `FetchFailed`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub failures: BTreeMap<String, u64>,
    /// Why attempts were killed, and how many for each reason; together `killed_attempts`. Not written
    /// where none were. Of Spark: `another attempt succeeded`, `stage cancelled`, `stage finished`,
    /// `job cancelled`, `a task of the barrier stage failed`, `executor decommissioned`, `executor gone`,
    /// `preempted`, `killed by the user`, `other`, and before Spark 2.2 `not said`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub killed_by: BTreeMap<String, u64>,
    /// More counts of Spark event logs, written beside the others.
    #[serde(flatten)]
    pub spark: Option<SparkCounts>,
    /// What only Hadoop's logs tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hadoop: Option<Box<HadoopFacts>>,
}

/// What only Spark event logs have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SparkCounts {
    /// Applications in the file or directory; attempts of an application count apart.
    pub applications: u64,
    /// Tasks of which an attempt succeeded.
    pub winners: u64,
    /// Those of them whose first success in the log is a speculative attempt's.
    pub speculative_winners: u64,
    /// Copies that the scheduler asked for (`SparkListenerSpeculativeTaskSubmitted`), whether or not they
    /// found room.
    pub speculation_requests: u64,
    /// Stages that a job lists and that were not submitted before it ended, mostly because their output
    /// was there; those of several jobs count for each.
    pub skipped_stages: u64,
    /// Stages that were submitted more than once.
    pub resubmitted_stages: u64,
    /// Stages all of whose tasks must run at once.
    pub barrier_stages: u64,
    /// Executors that were excluded (blacklisted) because of failures, for a stage or altogether.
    pub excluded_executors: u64,
    /// Hosts likewise.
    pub excluded_nodes: u64,
    /// Attempts that had succeeded and whose output was lost with their executor before the stage had ended: their
    /// second `SparkListenerTaskEnd`, with the reason `Resubmitted`. Counted in `attempts`, as records of ends, and
    /// neither in `failed_attempts` nor in the findings' attempts: `attempts` are the findings' `attempts.ended`,
    /// these, and the ends that don't say of which task they are.
    pub outputs_lost: u64,
    /// Stages that ran for no job that was running: the start of their job is missing in the log.
    pub stages_without_job: u64,
}
