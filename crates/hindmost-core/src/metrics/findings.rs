//! What a log shows about its stragglers, as `hindmost trace info --json` prints it.
//!
//! Times and durations are in seconds. The *winner* of a task is its first attempt to succeed, in the order of the log;
//! its other attempts are *losers*. A *straggler* is a task whose winner took more than 1.5 times as long as the median
//! winner of its phase. Counts and sums outside the lists cover the whole log, also phases and jobs that are not
//! listed.

use serde::Serialize;

use hindmost_math::fit::Fit;

/// What a log shows about its stragglers.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Findings {
    /// Number of tasks with a winner.
    pub tasks: u64,
    /// Attempts that ended, by outcome.
    pub attempts: AttemptCounts,
    /// What speculative copies did.
    pub speculation: Speculation,
    /// Machine time that attempts held.
    pub machine_time: MachineTime,
    /// Time that jobs spent waiting for the last 5 % of their phases' tasks: the sum over jobs, and its share of the
    /// sum of the jobs' spans.
    pub waiting: Waiting,
    /// Stragglers by their explanation.
    pub stragglers: Stragglers,
    /// The phases whose last tasks made their jobs wait longest, then the phases that made none wait, by work; largest
    /// first.
    pub phases: Vec<PhaseFinding>,
    /// The jobs that waited longest, longest first.
    pub jobs: Vec<JobFinding>,
    /// Nodes that the test finds slow, slowest first.
    pub slow_nodes: Vec<SlowNode>,
    /// Number of nodes that had enough tasks, in phases that also ran on other nodes, to be tested.
    pub nodes_tested: u64,
    /// Number of phases with attempts that are not listed.
    pub left_out: u64,
    /// Number of jobs that are not listed.
    pub jobs_left_out: u64,
}

/// Counts of attempts that ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AttemptCounts {
    /// All attempts.
    pub ended: u64,
    /// Attempts that succeeded, in time or too late.
    pub succeeded: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// Attempts that were killed.
    pub killed: u64,
}

/// What speculative copies did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Speculation {
    /// Number of copies that ended.
    pub started: u64,
    /// Number of copies that won their task.
    pub won: u64,
    /// Number of copies that did not win.
    pub lost: u64,
    /// Machine time of copies that won, seconds.
    pub won_seconds: f64,
    /// Machine time of copies that did not win, seconds.
    pub lost_seconds: f64,
}

/// Machine time of attempts with known times, seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MachineTime {
    /// All attempts.
    pub total: f64,
    /// Winners.
    pub winners: f64,
    /// Losers: attempts that were killed or succeeded although their task had another winner.
    pub losers: f64,
    /// Attempts that ran without failing because the output of an earlier winner was lost.
    pub repeated: f64,
    /// Attempts that failed.
    pub failed: f64,
    /// Attempts that were killed although no other attempt won.
    pub killed: f64,
}

/// Time spent waiting for the last 5 % of tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Waiting {
    /// Time from when 95 % of a phase's tasks (rounded up) had finished until the last one finished, seconds. Time in
    /// which several phases of a job waited counts once. Phases of fewer than 20 tasks have no waiting time.
    pub seconds: f64,
    /// Share of the span of the phase or job; `None` without times.
    pub share: Option<f64>,
}

/// Stragglers by what explains at least half of their excess over the median, in logarithms of the duration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stragglers {
    /// Number of stragglers.
    pub tasks: u64,
    /// Sum of the seconds that classified stragglers took beyond their phases' medians.
    pub excess_seconds: f64,
    /// Stragglers with more input, in phases where duration depends on input.
    pub skew: u64,
    /// Other stragglers that ran on a node found slow.
    pub slow_node: u64,
    /// Stragglers with neither explanation.
    pub other: u64,
    /// Stragglers that were not classified: only the 1 024 longest of a phase are.
    pub unclassified: u64,
}

/// The findings of one phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseFinding {
    /// The number of the application or Hadoop job, as assigned by the reader.
    pub application: u32,
    /// The phase's number: the stage, or 0 for map and 1 for reduce.
    pub phase: u32,
    /// Its name; `None` if the log has none.
    pub name: Option<String>,
    /// The job it belongs to; `None` if the log does not name it.
    pub job: Option<String>,
    /// Number of tasks with a winner.
    pub tasks: u64,
    /// The number of tasks as stated in the log; `None` if the log does not state it.
    pub tasks_stated: Option<u32>,
    /// Attempts that ended.
    pub attempts: AttemptCounts,
    /// What speculative copies did.
    pub speculation: Speculation,
    /// Machine time of its attempts.
    pub machine_time: MachineTime,
    /// When its first attempt started, seconds on the log's clock.
    pub start: Option<f64>,
    /// When its last winner finished, seconds on the log's clock.
    pub finish: Option<f64>,
    /// Winners' durations, seconds.
    pub durations: Durations,
    /// Time spent waiting for its last 5 % of tasks, and the share of the phase's span.
    pub waiting: Waiting,
    /// Its stragglers.
    pub stragglers: Stragglers,
    /// Whether input size explains durations; `None` if fewer than 10 tasks have both, or all inputs are equal.
    pub skew: Option<Skew>,
    /// The distribution that the durations follow. For rounded durations see [`hindmost_math::fit`].
    pub fit: Fit,
}

/// Winners' durations, seconds. Exact for up to 2 048 tasks. With more, quantiles have an error of up to 0.4 %, except
/// among the 1 024 longest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Durations {
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Median: the smallest value with at least half of the values at or below it.
    pub p50: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// Maximum.
    pub max: Option<f64>,
}

/// Regression of ln duration on ln bytes read, over the winners that read any bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Skew {
    /// Number of tasks in the regression.
    pub tasks: u64,
    /// The exponent with which durations grow with bytes: 1 is proportional, 0 is no growth.
    pub elasticity: f64,
    /// Its 95 % interval (Student's t).
    pub elasticity_ci95: [f64; 2],
    /// The share of the variance of ln duration that ln bytes explains.
    pub r_squared: f64,
    /// Two-sided p-value: the probability of such an elasticity if input had no effect.
    pub p: f64,
    /// True if durations depend on input: `p` below 0.01, a positive elasticity and an `r_squared` of at least 0.1.
    pub explains: bool,
}

/// The findings of a job: a Spark job or, if the log names none, the application.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobFinding {
    /// The number of the application or Hadoop job, as assigned by the reader.
    pub application: u32,
    /// The job; `None` if the log does not name it.
    pub job: Option<String>,
    /// Number of its phases with attempts.
    pub phases: u64,
    /// Number of tasks with a winner.
    pub tasks: u64,
    /// Time from its first attempt's start to its last winner's finish, seconds.
    pub span: f64,
    /// Time in which at least one of its phases waited for its last 5 % of tasks, and the share of the span.
    pub waiting: Waiting,
    /// Machine time of losers, seconds.
    pub losers_seconds: f64,
}

/// A node on which tasks took longer than tasks of the same phases on other nodes.
///
/// Tested by van Elteren's stratified rank sum test (one-sided; phases are the strata), with Holm's correction for the
/// number of nodes tested. Each task gives one observation: its winner, or its original if a speculative copy won; the
/// original's duration is then at least the time it ran. If input explains durations, its effect is removed first.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SlowNode {
    /// Its name.
    pub node: String,
    /// Number of tasks in the test.
    pub tasks: u64,
    /// Number of phases of these tasks.
    pub phases: u64,
    /// The median, over its tasks, of the duration divided by the median of the tasks of the same phase on other nodes.
    /// If several nodes are slow, only the other nodes that are not slow count. Uses up to 262 144 tasks; with more, a
    /// sample of the phases.
    pub ratio: f64,
    /// Its 95 % interval.
    pub ratio_ci95: [f64; 2],
    /// The p-value, before correction.
    pub p: f64,
    /// The p-value corrected for the number of nodes tested.
    pub p_corrected: f64,
    /// Number of stragglers that its slowness explains.
    pub stragglers: u64,
}
