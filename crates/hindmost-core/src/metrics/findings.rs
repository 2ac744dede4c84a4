//! What a log says about its stragglers, as `hindmost trace info --json` prints it.
//!
//! Times and durations are in seconds. The *winner* of a task is its first attempt to succeed, in the order of
//! the log; whatever else was attempted of the task has *lost*. A *straggler* is a task whose winner took more
//! than 1.5 times as long as the median winner of its phase. Counts and sums outside the lists are of the whole
//! log, also of phases and jobs that are not listed.

use serde::Serialize;

use hindmost_math::fit::Fit;

/// What a log says about its stragglers.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Findings {
    /// Tasks with a winner.
    pub tasks: u64,
    /// Attempts that ended, by how.
    pub attempts: AttemptCounts,
    /// What speculative copies did.
    pub speculation: Speculation,
    /// Machine time that attempts held.
    pub machine_time: MachineTime,
    /// Time that jobs spent waiting for the last 5 % of their phases' tasks: the sum over jobs, and its share of
    /// the sum of their spans.
    pub waiting: Waiting,
    /// Stragglers by what explains them.
    pub stragglers: Stragglers,
    /// The phases that made their jobs wait longest, and of those that made none wait the ones with the most
    /// work; in this order.
    pub phases: Vec<PhaseFinding>,
    /// The jobs that waited longest, in this order.
    pub jobs: Vec<JobFinding>,
    /// Nodes that are slow by the test, the slowest first.
    pub slow_nodes: Vec<SlowNode>,
    /// How many nodes had enough tasks beside other nodes' to be tested.
    pub nodes_tested: u64,
    /// How many phases with attempts are not listed.
    pub left_out: u64,
    /// How many jobs are not listed.
    pub jobs_left_out: u64,
}

/// Attempts that ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AttemptCounts {
    /// All of them.
    pub ended: u64,
    /// Those that succeeded, in time or too late.
    pub succeeded: u64,
    /// Those that failed.
    pub failed: u64,
    /// Those that were killed.
    pub killed: u64,
}

/// What speculative copies did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Speculation {
    /// Copies that ended.
    pub started: u64,
    /// Those that won their task.
    pub won: u64,
    /// Those that did not.
    pub lost: u64,
    /// Machine time of those that won, seconds.
    pub won_seconds: f64,
    /// Machine time of those that did not, seconds.
    pub lost_seconds: f64,
}

/// Machine time of attempts whose times are known, seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct MachineTime {
    /// All of it.
    pub total: f64,
    /// Of winners.
    pub winners: f64,
    /// Of losers: attempts that were killed or succeeded though their task had another winner.
    pub losers: f64,
    /// Of attempts that ran, and did not fail, because the output of one that had won was lost.
    pub repeated: f64,
    /// Of attempts that failed.
    pub failed: f64,
    /// Of attempts that were killed though no other won.
    pub killed: f64,
}

/// Time spent waiting for the last 5 % of tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Waiting {
    /// From the moment when 95 % of a phase's tasks (rounded up) had finished to the finish of the last,
    /// seconds. Where phases of one job waited at the same time it counts once. Phases of fewer than 20 tasks
    /// wait for none.
    pub seconds: f64,
    /// Its share of the span of the phase or job; `None` without times.
    pub share: Option<f64>,
}

/// Stragglers, by what explains at least half of how much longer (in logarithms) they took than the median.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Stragglers {
    /// How many there are.
    pub tasks: u64,
    /// Seconds that they took beyond their phases' medians, together: of the classified ones.
    pub excess_seconds: f64,
    /// Those that had more input, in phases where duration follows input.
    pub skew: u64,
    /// Those, among the others, that ran on a node found slow.
    pub slow_node: u64,
    /// Those that neither explains.
    pub other: u64,
    /// Those that were not classified: of a phase only the 1 024 longest are.
    pub unclassified: u64,
}

/// What was found in a phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseFinding {
    /// The application or Hadoop job, as the reader numbers them.
    pub application: u32,
    /// The phase's number: the stage, or 0 for map and 1 for reduce.
    pub phase: u32,
    /// Its name, where the log has one.
    pub name: Option<String>,
    /// The job it belongs to, where the log says.
    pub job: Option<String>,
    /// Tasks with a winner.
    pub tasks: u64,
    /// Tasks as the log states their number.
    pub tasks_stated: Option<u32>,
    /// Attempts that ended.
    pub attempts: AttemptCounts,
    /// What speculative copies did.
    pub speculation: Speculation,
    /// Machine time of its attempts.
    pub machine_time: MachineTime,
    /// When its first attempt started, on the log's clock.
    pub start: Option<f64>,
    /// When its last winner finished.
    pub finish: Option<f64>,
    /// Winners' durations, seconds.
    pub durations: Durations,
    /// Time spent waiting for its last 5 % of tasks, and the share of the phase's span.
    pub waiting: Waiting,
    /// Its stragglers.
    pub stragglers: Stragglers,
    /// Whether input explains durations; `None` where too few tasks (10) have both, or inputs don't differ.
    pub skew: Option<Skew>,
    /// What distribution the durations follow. Of rounded durations see [`hindmost_math::fit`].
    pub fit: Fit,
}

/// Winners' durations, seconds. Exact of up to 2 048 tasks; of more the quantiles are to 0.4 %, the 1 024 longest
/// aside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Durations {
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Smallest value with at least half of the values at or below.
    pub p50: Option<f64>,
    /// As `p50`, for 95 of a hundred.
    pub p95: Option<f64>,
    /// The longest.
    pub max: Option<f64>,
}

/// ln duration regressed on ln bytes read, over the winners that read any.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Skew {
    /// Tasks in the regression.
    pub tasks: u64,
    /// By what power of the bytes durations grow: 1 is in proportion, 0 not at all.
    pub elasticity: f64,
    /// Its 95 % interval, by Student's t.
    pub elasticity_ci95: [f64; 2],
    /// The share of the variance of ln duration that ln bytes explain.
    pub r_squared: f64,
    /// The probability of such an elasticity, on either side, if input made no difference.
    pub p: f64,
    /// Whether durations follow input: `p` below 0.01, a positive elasticity and an `r_squared` of at least 0.1.
    pub explains: bool,
}

/// What was found of a job: of a Spark job or, where the log names none, of the application.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JobFinding {
    /// The application or Hadoop job, as the reader numbers them.
    pub application: u32,
    /// The job, where the log names it.
    pub job: Option<String>,
    /// Its phases with attempts.
    pub phases: u64,
    /// Tasks with a winner.
    pub tasks: u64,
    /// From its first attempt's start to its last winner's finish, seconds.
    pub span: f64,
    /// Time in which at least one of its phases waited for its last 5 % of tasks, and the share of the span.
    pub waiting: Waiting,
    /// Machine time of losers, seconds.
    pub losers_seconds: f64,
}

/// A node on which tasks took longer than those of the same phases on other nodes.
///
/// Tested by van Elteren's stratified rank sum test (one-sided; phases are the strata), with Holm's correction
/// over all nodes tested. One observation a task: its winner; where a speculative copy won, the original, which
/// took at least as long as it ran. Where input explains durations, what it explains is taken off first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SlowNode {
    /// Its name.
    pub node: String,
    /// Tasks that the test rests on.
    pub tasks: u64,
    /// Phases among which they are.
    pub phases: u64,
    /// How many times as long they took as the median of the other nodes' tasks of the same phase: the median. Where
    /// several nodes are slow, as those of the nodes that are not (of up to 262 144 tasks; of more in a sample of
    /// the phases).
    pub ratio: f64,
    /// Its 95 % interval.
    pub ratio_ci95: [f64; 2],
    /// The p-value, before correction.
    pub p: f64,
    /// The p-value corrected for the number of nodes tested.
    pub p_corrected: f64,
    /// Stragglers that its slowness explains.
    pub stragglers: u64,
}
