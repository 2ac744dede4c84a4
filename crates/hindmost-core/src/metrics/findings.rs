//! What a log shows about its stragglers, as `hindmost trace info --json` prints it.
//!
//! Times and durations are in seconds. The *winner* of a task is its first attempt to succeed, in the order of the log;
//! its other attempts are *losers*. A *straggler* is a task whose winner took more than 1.5 times as long as the median
//! winner of its phase. Counts and sums outside the lists of phases, jobs and nodes cover the whole log, including
//! phases and jobs that are not listed.

use serde::Serialize;

use super::diagnosis::FailingNode;

use hindmost_math::fit::Fit;

/// What a log shows about stragglers and their cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Findings {
    /// Number of tasks with a winner.
    pub tasks: u64,
    /// Attempts that ended, by outcome.
    pub attempts: AttemptCounts,
    /// Speculative copies: how many ended and won, and their machine time.
    pub speculation: Speculation,
    /// Machine time that attempts held.
    pub machine_time: MachineTime,
    /// Time that jobs spent waiting for the last 5 % of their phases' tasks: the sum over jobs, and its share of the
    /// sum of the jobs' spans.
    pub waiting: Waiting,
    /// Stragglers by their explanation.
    pub stragglers: Stragglers,
    /// Phases. Phases for whose last tasks a job waited come first, sorted by waiting time; phases without waiting time
    /// follow, sorted by work. Both are in descending order.
    pub phases: Vec<PhaseFinding>,
    /// The jobs with the longest waiting times, longest first.
    pub jobs: Vec<JobFinding>,
    /// Nodes on which nearly all tasks failed, although tasks of the same phases did not fail elsewhere: of each, what the application with
    /// the most failures there shows. Most failures first.
    pub failing_nodes: Vec<FailingNode>,
    /// Nodes on which tasks took longer than elsewhere, slowest first.
    pub slow_nodes: Vec<SlowNode>,
    /// Number of nodes that were tested for slowness. A node is tested if it has enough tasks of phases that also ran
    /// on other nodes.
    pub nodes_tested: u64,
    /// Number of phases that have attempts and are not listed in `phases`.
    pub left_out: u64,
    /// Number of jobs that are not listed in `jobs`.
    pub jobs_left_out: u64,
}

/// Counts of attempts that ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AttemptCounts {
    /// Number of all attempts that ended.
    pub ended: u64,
    /// Number of attempts that succeeded, as the winner of their task or later.
    pub succeeded: u64,
    /// Number of attempts that failed.
    pub failed: u64,
    /// Number of attempts that were killed.
    pub killed: u64,
}

/// Counts and machine time of speculative copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Speculation {
    /// Number of speculative copies that ended.
    pub started: u64,
    /// Number of speculative copies that won their task.
    pub won: u64,
    /// Number of speculative copies that did not win.
    pub lost: u64,
    /// Machine time of speculative copies that won, seconds.
    pub won_seconds: f64,
    /// Machine time of speculative copies that did not win, seconds.
    pub lost_seconds: f64,
}

/// Machine time of attempts whose start and end are known, seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MachineTime {
    /// Machine time of all attempts.
    pub total: f64,
    /// Machine time of winners.
    pub winners: f64,
    /// Machine time of losers: attempts that were killed or succeeded, and ran at the same time as the winner of their task.
    pub losers: f64,
    /// Machine time of attempts that began after their task had succeeded, such as because the output was lost, and did not fail.
    pub repeated: f64,
    /// Machine time of attempts that failed.
    pub failed: f64,
    /// Machine time of attempts that were killed although no other attempt had won, and of attempts that ended with their
    /// node or with the run.
    pub killed: f64,
}

/// Time spent waiting for the last 5 % of tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Waiting {
    /// Time from the finish of 95 % of a phase's tasks (rounded up) to the finish of the last one, seconds. If several
    /// phases of a job waited at the same time, this time counts once. Phases of fewer than 20 tasks have no waiting
    /// time.
    pub seconds: f64,
    /// The waiting time as a share of the span of the phase or job; `None` if no times are known.
    pub share: Option<f64>,
}

/// Stragglers by their explanation. An explanation must account for at least half of the difference between the
/// logarithms of the straggler's duration and of the median.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stragglers {
    /// Number of stragglers.
    pub tasks: u64,
    /// Sum, over classified stragglers, of the seconds beyond their phase's median.
    pub excess_seconds: f64,
    /// Number of stragglers that more input explains, in phases whose durations depend on the input.
    pub skew: u64,
    /// Number of other stragglers that ran on a slow node, as listed in [`Findings::slow_nodes`].
    pub slow_node: u64,
    /// Number of stragglers with neither explanation.
    pub other: u64,
    /// Number of stragglers that were not classified. Only the 1 024 longest ones of a phase are.
    pub unclassified: u64,
}

/// The findings of one phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseFinding {
    /// The number of the application or Hadoop job, as assigned by the reader.
    pub application: u32,
    /// Number of the phase. Spark: the stage; Hadoop: 0 for map, 1 for reduce.
    pub phase: u32,
    /// Name of the phase; `None` if the log has none.
    pub name: Option<String>,
    /// Job to which the phase belongs; `None` if the log does not name it.
    pub job: Option<String>,
    /// Number of tasks with a winner.
    pub tasks: u64,
    /// The number of tasks as stated in the log; `None` if the log does not state it.
    pub tasks_stated: Option<u32>,
    /// Attempts of the phase that ended, by outcome.
    pub attempts: AttemptCounts,
    /// Speculative copies of the phase.
    pub speculation: Speculation,
    /// Machine time of the phase's attempts.
    pub machine_time: MachineTime,
    /// Time at which the first attempt started, seconds on the log's clock; `None` if it is unknown.
    pub start: Option<f64>,
    /// Time at which the last winner finished, seconds on the log's clock; `None` if it is unknown.
    pub finish: Option<f64>,
    /// Winners' durations, seconds.
    pub durations: Durations,
    /// Time spent waiting for the last 5 % of the phase's tasks, and its share of the phase's span.
    pub waiting: Waiting,
    /// Stragglers of the phase.
    pub stragglers: Stragglers,
    /// Whether input size explains durations; `None` if input and duration are known of fewer than 10 tasks, or if all
    /// inputs are equal.
    pub skew: Option<Skew>,
    /// Fits of distributions to the durations. [`hindmost_math::fit`] says how rounded durations are treated.
    pub fit: Fit,
}

/// Winners' durations, seconds. Exact for up to 2 048 tasks. For more tasks, quantiles below the 1 024 longest
/// durations have an error of up to 0.4 %.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Durations {
    /// Arithmetic mean of the durations.
    pub mean: Option<f64>,
    /// Median; for an even number of values, the mean of the middle two.
    pub p50: Option<f64>,
    /// 95th percentile of the durations.
    pub p95: Option<f64>,
    /// Longest duration.
    pub max: Option<f64>,
    /// True if there are so many tasks that p50 and p95 may be approximate; so may be when the wait for the last tasks began.
    pub are_approximate: bool,
}

impl Durations {
    /// The largest number of tasks for which all quantiles are exact.
    pub const EXACT: u64 = 2048;
}

/// Regression of ln duration on ln bytes read, over the winners that read any bytes. Where an application is diagnosed as a whole,
/// the first waves of executors and each distance from the input have means of their own, and durations are without what slow nodes
/// explain.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Skew {
    /// Number of tasks in the regression.
    pub tasks: u64,
    /// The exponent with which durations grow with bytes: 1 is proportional, 0 is no growth.
    pub elasticity: f64,
    /// The 95 % interval of the elasticity (Student's t).
    pub elasticity_ci95: [f64; 2],
    /// The share of the variance of ln duration that ln bytes explains.
    pub r_squared: f64,
    /// Two-sided p-value: the probability of such an elasticity if input had no effect.
    pub p: f64,
    /// True if durations depend on input: `p` below 0.01, a positive elasticity and an `r_squared` of at least 0.1; in a diagnosis,
    /// `p` below
    /// 0.00005 over all phases together, an elasticity of 0.1 to 2.5, an `r_squared` of at least 0.25, and not by a single task alone.
    pub explains: bool,
}

/// The findings of a job: a Spark job or, if the log names none, the application.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobFinding {
    /// The number of the application or Hadoop job, as assigned by the reader.
    pub application: u32,
    /// Name of the job; `None` if the log does not name it.
    pub job: Option<String>,
    /// Number of the job's phases that have attempts.
    pub phases: u64,
    /// Number of tasks with a winner.
    pub tasks: u64,
    /// Time from the start of the job's first attempt to the finish of its last winner, seconds.
    pub span: f64,
    /// Time in which at least one phase of the job waited for its last 5 % of tasks, and its share of the job's span.
    pub waiting: Waiting,
    /// Machine time of the job's losers, seconds.
    pub losers_seconds: f64,
}

/// A node on which tasks took longer than tasks of the same phases on other nodes.
///
/// The test is van Elteren's stratified rank sum test (one-sided; phases are the strata), with Holm's correction for
/// the number of nodes tested. Each task gives one observation: its winner or, if a speculative copy won, its original.
/// In the second case the observed duration is a lower limit, the time for which the original ran. If input explains
/// durations, the effect of input is removed first.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SlowNode {
    /// Name of the node.
    pub node: String,
    /// Number of tasks on the node that the test uses.
    pub tasks: u64,
    /// Number of phases to which these tasks belong.
    pub phases: u64,
    /// How much slower the node is: the median, over the tasks on the node, of their duration divided by the median
    /// duration of the same phase on other nodes. Other slow nodes do not count. If the node has more than 262 144
    /// tasks, the ratio uses a sample of the phases.
    pub ratio: f64,
    /// The 95 % interval of `ratio`.
    pub ratio_ci95: [f64; 2],
    /// The p-value of the test, before correction.
    pub p: f64,
    /// The p-value corrected for the number of nodes tested.
    pub p_corrected: f64,
    /// Number of stragglers that the node's slowness explains.
    pub stragglers: u64,
}
