//! Counts of what a log holds.

mod hadoop_facts;

use std::collections::BTreeMap;

use serde::Serialize;

pub use hadoop_facts::{HadoopFacts, JobEnds, Locality, OtherAttempts, Splits};

/// Counts of what a log holds. `hindmost trace info --json` serialises this struct, with the keys in this order.
///
/// If a file or folder holds several applications, jobs, stages and executors of different applications count
/// separately even if they have the same number. The documentation of each field describes Spark first; the paragraph
/// "Journal:" describes what a journal counts instead.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceSummary {
    /// The log's format: `spark`, `hadoop-jhist`, `hadoop-history`, `rumen`, `journal`, `table`, `slurm`,
    /// `parallel`, `nextflow`, `ray`, `trino`, `flink`, `dask`, `snakemake`, `condor` or `swf`.
    pub format: &'static str,
    /// Spark jobs that were submitted: distinct job ids among `SparkListenerJobStart` events.
    ///
    /// Journal: jobs that arrived.
    pub jobs: u64,
    /// Stages that were submitted or ran: distinct stage ids among `SparkListenerStageSubmitted`,
    /// `SparkListenerStageCompleted` and `SparkListenerTaskEnd` events. A resubmitted stage counts once. A skipped
    /// stage (one whose output already existed) does not count.
    ///
    /// Journal: phases of the jobs that arrived.
    pub stages: u64,
    /// Tasks with at least one attempt that ended, successfully or not: distinct pairs of stage and task among
    /// `SparkListenerTaskEnd` events. A task is identified by its partition if the log has it (`Partition ID`, Spark
    /// 3.3 and later), otherwise by its index within the stage. A stage that is resubmitted for a few lost partitions
    /// numbers its tasks from 0 again. If the submission has as many tasks as have not succeeded before, the reader
    /// matches its tasks with these, in order of their indices; otherwise the submission's attempts count for no task.
    ///
    /// Hadoop: also tasks of the log that never had an attempt.
    pub tasks: u64,
    /// `SparkListenerTaskEnd` events, whatever their outcome. An event that is in the log twice counts once.
    ///
    /// Journal: attempts that ended, for any reason.
    pub attempts: u64,
    /// Attempts whose task info has `Speculative` set.
    ///
    /// Journal: attempts that were started while another copy of the task was running, or replaced one.
    pub speculative_attempts: u64,
    /// Attempts that failed: exceptions, lost executors, failed fetches, denied commits, lost results. An output that
    /// is lost after the attempt succeeded is not a failure.
    ///
    /// Journal: attempts that failed themselves, which counts against the retries of their task.
    pub failed_attempts: u64,
    /// Attempts that were killed (end reason `TaskKilled`, or no success and `Killed` in the task info), because
    /// another attempt won, or the stage or job was cancelled.
    ///
    /// Journal: attempts that were stopped, because another copy won or replaced them or the run was stopped, and
    /// attempts that ended from outside, such as with their node.
    pub killed_attempts: u64,
    /// Executors: distinct ids among `SparkListenerExecutorAdded`, `SparkListenerBlockManagerAdded` (without the
    /// driver's) and `SparkListenerTaskEnd` events. In local mode the driver is the only executor.
    ///
    /// Journal: nodes that joined.
    pub nodes: u64,
    /// When the first application started, in seconds since 1970. If the log does not say, this is the earliest time in
    /// the log; `None` if the log has no time at all.
    ///
    /// Journal: 0, the beginning of the run.
    pub from: Option<f64>,
    /// When the last application ended, in seconds since 1970. If the log does not say, this is the latest time in the
    /// log; `None` if the log has no time at all.
    ///
    /// Journal: the time of the last record, in seconds from the beginning of the run.
    pub to: Option<f64>,
    /// Journal in the folder of a resumed run: for how long the run was paused, in seconds. All times leave the pauses
    /// out. `None` without a pause, and for other formats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<f64>,
    /// Problems that the reader worked around, as sentences for the user.
    pub warnings: Vec<String>,
    /// Failed attempts by cause; they add up to `failed_attempts`. Not serialised if empty. For Spark, a cause is the
    /// name of the end reason, and after a colon the exception's class or the reason why the executor was lost:
    /// `ExceptionFailure: java.io.IOException`, `FetchFailed`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub failures: BTreeMap<String, u64>,
    /// Killed attempts by cause; they add up to `killed_attempts`. Not serialised if empty. For Spark: `another
    /// attempt succeeded`, `stage cancelled`, `stage finished`, `job cancelled`, `a task of the barrier stage
    /// failed`, `executor decommissioned`, `executor gone`, `preempted`, `killed by the user`, `other`, and before
    /// Spark 2.2 `not said`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub killed_by: BTreeMap<String, u64>,
    /// Counts that only Spark event logs have. In JSON their keys are on the same level as the keys above.
    #[serde(flatten)]
    pub spark: Option<SparkCounts>,
    /// Counts that only Hadoop logs have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hadoop: Option<Box<HadoopFacts>>,
}

/// Counts that only Spark event logs have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SparkCounts {
    /// Applications in the file or directory. Several attempts of an application count separately.
    pub applications: u64,
    /// Tasks with an attempt that succeeded.
    pub winners: u64,
    /// Tasks whose first successful attempt in the log is speculative.
    pub speculative_winners: u64,
    /// Speculative copies that the scheduler requested (`SparkListenerSpeculativeTaskSubmitted`), whether or not they
    /// got a free slot.
    pub speculation_requests: u64,
    /// Stages that a job lists and that were not submitted before the job ended, mostly because their output already
    /// existed. A stage that several jobs skip counts for each of them.
    pub skipped_stages: u64,
    /// Stages that were submitted more than once.
    pub resubmitted_stages: u64,
    /// Barrier stages, whose tasks all run at the same time.
    pub barrier_stages: u64,
    /// Executors that were excluded (blacklisted) after failures, for a stage or for the whole application.
    pub excluded_executors: u64,
    /// Hosts that were excluded after failures, for a stage or for the whole application.
    pub excluded_nodes: u64,
    /// Attempts whose output was lost with their executor, before the stage ended, after they had succeeded:
    /// `SparkListenerTaskEnd` events with the reason `Resubmitted`. They count in `attempts`, which counts task end
    /// events, but neither in `failed_attempts` nor in the findings. So `attempts` is `attempts.ended` of the findings,
    /// plus `outputs_lost`, plus the number of task end events that do not name their task.
    pub outputs_lost: u64,
    /// Stages that ran while no job that lists them was running, because the log lacks the start of their job.
    pub stages_without_job: u64,
}
