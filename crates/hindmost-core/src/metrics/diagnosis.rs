//! Where the time of an application went and why its stragglers were slow, as `hindmost advise --json` prints it.
//!
//! Times and durations are in seconds. The *winner* of a task is its first attempt to succeed. A *straggler* is a task whose
//! winner took more than 1.5 times as long as is typical of its phase. An executor's *first wave* in a phase are the attempts
//! that started there before any attempt of the phase had ended there. If a phase has twice as many later winners as winners
//! of first waves, and at least 5, the typical duration is the median of the later ones; otherwise it is the median of all.

use std::collections::BTreeMap;

use serde::Serialize;

use super::comparison::RecordedTime;
use super::findings::{Skew, SlowNode, Stragglers};
use super::needs::{PhaseNeeds, Suggestion};
use super::slot_timeline::SlotTimeline;
use super::spent::Spent;

/// What an application of a log, a job of a Hadoop log or a recorded run spent its time on.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Diagnosis {
    /// Number of the application within the log, counted from 0.
    pub application: u32,
    /// The application's id; `None` if the log has none.
    pub id: Option<String>,
    /// The application's name; `None` if the log has none.
    pub name: Option<String>,
    /// Number of jobs that the log names.
    pub jobs: u64,
    /// Number of tasks with a winner.
    pub tasks: u64,
    /// Number of all tasks of the phases that ran: as the log states, or at least those that have attempts.
    pub all_tasks: u64,
    /// What runs attempts and keeps programs and data from one to the next: its first attempts are first waves.
    pub workers: Workers,
    /// How it ended, if the log says that it did not succeed.
    pub unsuccessful: Option<Unsuccessful>,
    /// The jobs within it that failed because a phase did, in the order of their ends, at most 100; left out if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed_jobs: Vec<FailedJob>,
    /// The wall time and what it was spent on; `None` if the log has no times.
    pub wall_time: Option<WallTime>,
    /// The slots over time; `None` if the log has no times.
    pub timeline: Option<SlotTimeline>,
    /// Machine time of all attempts, and what the log says it went into.
    pub task_time: TaskTime,
    /// Machine time in which attempts ran that did not win, seconds.
    pub lost: LostWork,
    /// Failed attempts by reason, most seconds first.
    pub failures: Vec<FailureCost>,
    /// What the phases waited for last.
    pub finished_last: FinishedLast,
    /// The stragglers by cause.
    pub stragglers: StragglersByCause,
    /// The stragglers of each phase. Not printed: the findings of the log have them.
    #[serde(skip)]
    pub by_phase: Vec<StragglersOfPhase>,
    /// What the durations of tasks depend on; `None` if there are too few tasks.
    pub variance: Option<Variance>,
    /// Nodes on which nearly all tasks failed, although tasks of the same phases did not fail elsewhere, most failures first.
    pub failing_nodes: Vec<FailingNode>,
    /// Nodes that were slow in both halves of the time for which the log shows them, slowest first.
    pub slow_nodes: Vec<SlowNode>,
    /// Number of nodes that were tested for slowness.
    pub nodes_tested: u64,
    /// Nodes that ran too few tasks beside others to be tested.
    pub nodes_untested: Untested,
    /// True if the nodes that were tested are the executors of a single host.
    pub are_executors_tested: bool,
    /// The engine's settings that matter for stragglers, with their values in the log.
    pub settings: BTreeMap<String, String>,
    /// What the winners of its phases needed; left out if the log does not record it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<PhaseNeeds>,
    /// Better values for `memory` and `cpus` of its phases; left out if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suggestions: Vec<Suggestion>,
    /// What would have made the application faster, by replays of the log; left out if nothing was replayed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<Advice>,
}

/// The stragglers of a phase.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StragglersOfPhase {
    /// Number of the phase.
    pub phase: u32,
    /// Number of its job, where jobs are recorded together; otherwise 0.
    pub of_job: u32,
    /// The stragglers by their explanation.
    pub stragglers: Stragglers,
    /// How durations grow with the input; `None` if too few tasks show it.
    pub skew: Option<Skew>,
}

/// A node on which nearly all tasks failed. A task counts once on each node on which it ran.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailingNode {
    /// Name of the node.
    pub node: String,
    /// The phase in which they failed; `None` if the node is compared over all phases, or the phase has no name.
    pub phase: Option<String>,
    /// Number of tasks that ran there, of phases that also ran elsewhere, and that were not stopped from outside.
    pub tasks: u64,
    /// Number of them that failed there.
    pub failed: u64,
    /// Number of tasks of the same phases on other nodes.
    pub tasks_elsewhere: u64,
    /// Number of them that failed.
    pub failed_elsewhere: u64,
    /// Probability that as many fail there by chance.
    pub p: f64,
    /// The same for the number of nodes.
    pub p_corrected: f64,
}

/// Nodes that ran too few tasks beside those of other nodes to be tested for slowness.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Untested {
    /// Number of these nodes.
    pub nodes: u64,
    /// Names of up to 8 of them.
    pub names: Vec<String>,
    /// Up to 8 of them whose tasks took much longer than those of other nodes, the slowest first. Too few tasks ran there to prove that the
    /// nodes were slow.
    pub perhaps_slow: Vec<PerhapsSlow>,
}

/// A node whose tasks took longer, although too few ran there to prove that it was slow.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PerhapsSlow {
    /// Name of the node.
    pub node: String,
    /// Number of its tasks that can be compared with those of other nodes.
    pub tasks: u64,
    /// How many times as long they took, in the middle.
    pub ratio: f64,
}

/// What runs attempts one after the other and keeps programs and data from one to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Workers {
    /// Executors, whose processes run many attempts (Spark).
    Executors,
    /// Nodes: each attempt has a process of its own, or the log does not say.
    #[default]
    Nodes,
}

/// How an application or job ended that did not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Unsuccessful {
    /// It failed.
    Failed,
    /// It was killed.
    Killed,
    /// The log has no end of it.
    Unfinished,
}

/// A job that failed because a phase did.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailedJob {
    /// Name of the job, with its description.
    pub job: String,
    /// Number of the phase that failed.
    pub phase: u32,
    /// Name of the phase; `None` if the log has none.
    pub name: Option<String>,
    /// Why the last attempt of it failed that did.
    pub reason: String,
}

/// Machine time of all attempts, and the parts of it that the log gives; 0 where it does not. In seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskTime {
    /// All of it.
    pub seconds: f64,
    /// Collection of garbage.
    pub garbage_collection: f64,
    /// Deserialization of tasks.
    pub deserialization: f64,
    /// Wait for shuffle data.
    pub fetch_wait: f64,
    /// Time between launch and work, and between work and the arrival of the result.
    pub delay: f64,
}

/// What would have made an application faster.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Advice {
    /// Recorded against replayed times. Nothing is tried unless they agree.
    pub calibration: Option<RecordedTime>,
    /// Number of seeds of each replay.
    pub seeds: u64,
    /// The changes that were tried, the largest gain first.
    pub tried: Vec<Recommended>,
    /// Whether the long tasks would also have taken long in a copy, as far as the log shows it, and what would show it; `None` if this
    /// makes no difference.
    pub evidence: Option<String>,
    /// Why settings are not offered that were not tried, in words.
    pub not_offered: Vec<String>,
    /// What speaks against copies, and what the log can't say.
    pub warnings: Vec<String>,
}

/// A change that was tried in a replay.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Recommended {
    /// The change in words.
    pub title: String,
    /// The settings that make it; empty for policies that the engine does not have.
    pub settings: Vec<SettingChange>,
    /// The policy that was replayed; `None` for other changes.
    pub policy: Option<String>,
    /// Whether the change is about copies of tasks.
    pub is_about_copies: bool,
    /// On what the gain depends that the replay does not know, in words; `None` for changes that do what the replay does.
    pub condition: Option<String>,
    /// True if the change may do less than the replay assumes, so that the gain is anything up to the upper end of the range.
    pub is_bound: bool,
    /// Whether the change is recommended: its gain is worth it, and it does no harm in the whole range.
    pub recommended: bool,
    /// Seconds of wall time that it would have saved; negative if it would have cost time.
    pub gain_seconds: f64,
    /// The least and the largest gain of all replays: over seeds, and over everything that the log leaves open.
    pub gain_seconds_range: [f64; 2],
    /// `gain_seconds` as a share of the wall time.
    pub gain_share: f64,
    /// The range of this share.
    pub gain_share_range: [f64; 2],
    /// Slot-hours that it would have used in addition; negative if it would have used less.
    pub extra_core_hours: f64,
}

/// A setting of the engine and the value to give it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SettingChange {
    /// Name of the setting.
    pub name: String,
    /// Its value in the log; `None` if the log does not state it.
    pub recorded: Option<String>,
    /// The value to give it.
    pub value: String,
}

/// All applications of some logs together.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiagnosisTotal {
    /// Number of applications.
    pub applications: u64,
    /// Sum of their wall times, seconds.
    pub seconds: f64,
    /// What it was spent on, longest first.
    pub parts: Vec<TotalPart>,
    /// All stragglers by cause.
    pub stragglers: StragglersByCause,
    /// What the phases waited for last.
    pub finished_last: FinishedLast,
    /// Machine time of attempts that did not win.
    pub lost: LostWork,
}

/// A part of the wall time of all applications.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TotalPart {
    /// What the time was spent on.
    pub what: Spent,
    /// Sum over the applications, seconds.
    pub seconds: f64,
    /// Share of the sum of the wall times.
    pub share: f64,
}

impl DiagnosisTotal {
    /// Adds up applications.
    pub fn of<'a>(applications: impl Iterator<Item = &'a Diagnosis>) -> DiagnosisTotal {
        let mut total = DiagnosisTotal::default();
        for one in applications {
            total.add(&DiagnosisTotal::of_one(one));
        }
        total
    }

    /// Returns the sums of one application.
    pub fn of_one(one: &Diagnosis) -> DiagnosisTotal {
        let time = one.wall_time.as_ref();
        let part = |part: &TimePart| TotalPart { what: part.what, seconds: part.seconds, share: part.share };
        DiagnosisTotal {
            applications: 1,
            seconds: time.map_or(0.0, |time| time.seconds),
            parts: time.map_or_else(Vec::new, |time| time.parts.iter().map(part).collect()),
            stragglers: one.stragglers.clone(),
            finished_last: one.finished_last,
            lost: one.lost,
        }
    }

    /// Adds other applications.
    pub fn add(&mut self, other: &DiagnosisTotal) {
        self.applications += other.applications;
        self.seconds += other.seconds;
        for part in &other.parts {
            match self.parts.iter_mut().find(|sum| sum.what == part.what) {
                Some(sum) => sum.seconds += part.seconds,
                None => self.parts.push(*part),
            }
        }
        for part in &mut self.parts {
            part.share = if self.seconds > 0.0 { part.seconds / self.seconds } else { 0.0 };
        }
        self.parts.sort_by(|a, b| b.seconds.total_cmp(&a.seconds).then(a.what.cmp(&b.what)));
        self.stragglers.tasks += other.stragglers.tasks;
        self.stragglers.excess_seconds += other.stragglers.excess_seconds;
        let causes = &mut self.stragglers.causes;
        for found in &other.stragglers.causes {
            match causes.iter_mut().find(|sum| sum.cause == found.cause) {
                Some(sum) => {
                    sum.tasks += found.tasks;
                    sum.excess_seconds += found.excess_seconds;
                }
                None => causes.push(*found),
            }
        }
        causes.sort_by(|a, b| b.excess_seconds.total_cmp(&a.excess_seconds).then(a.cause.cmp(&b.cause)));
        self.finished_last.add(&other.finished_last);
        self.lost.failed += other.lost.failed;
        self.lost.losers += other.lost.losers;
        self.lost.repeated += other.lost.repeated;
        self.lost.killed += other.lost.killed;
    }
}

impl FinishedLast {
    fn add(&mut self, other: &FinishedLast) {
        let sums = [
            (&mut self.all, other.all),
            (&mut self.long_attempt, other.long_attempt),
            (&mut self.late_start, other.late_start),
            (&mut self.retry, other.retry),
            (&mut self.retry_without_failure, other.retry_without_failure),
        ];
        for (sum, more) in sums {
            sum.phases += more.phases;
            sum.seconds += more.seconds;
        }
    }
}

/// The wall time of an application, split into disjoint parts.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WallTime {
    /// When the application began, seconds on the log's clock.
    pub from: f64,
    /// When it ended, seconds on the log's clock.
    pub to: f64,
    /// `to` − `from`.
    pub seconds: f64,
    /// The slots that it had, on average over this time.
    pub slots: f64,
    /// True if the log says how many slots there were. Otherwise they are the most attempts that ran at the same time.
    pub slots_known: bool,
    /// The share of the slots that was in use, over the whole time; `None` if there was no slot.
    pub used_share: Option<f64>,
    /// The share of the slots that the engine left free on nodes that it counted as slow, although tasks waited. It counts as neither free
    /// nor used where `what` a part was spent on is found out.
    pub left_free_share: Option<f64>,
    /// The parts, longest first. Their seconds add up to the whole.
    pub parts: Vec<TimePart>,
    /// When no job was running.
    pub no_job: NoJobTime,
}

/// The time without a running job, seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NoJobTime {
    /// Before the first job.
    pub before_first: f64,
    /// Between jobs.
    pub between: f64,
    /// After the last job.
    pub after_last: f64,
}

/// A part of the wall time.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimePart {
    /// What the time was spent on.
    pub what: Spent,
    /// Length of the part.
    pub seconds: f64,
    /// Share of the wall time.
    pub share: f64,
    /// The share of the slots that was in use in this part; `None` if there was no slot.
    pub used_share: Option<f64>,
    /// The share of the used slot time of this part that was the excess of first waves over the typical duration; `None` if no
    /// slot was in use.
    pub first_wave_share: Option<f64>,
    /// The share of the used slot time of this part that attempts had that did not win their task; `None` if no slot was in use.
    pub lost_share: Option<f64>,
    /// The phases that had most of this part, longest first, at most 5.
    pub phases: Vec<PhaseTime>,
    /// The phases of a single task in this part; missing if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub single_tasks: Option<SingleTasks>,
}

/// The phases of a single task in a part of the wall time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SingleTasks {
    /// Number of these phases.
    pub phases: u64,
    /// Their time in this part, seconds.
    pub seconds: f64,
}

/// The time of a part in which one phase had most of the running attempts.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseTime {
    /// Number of the phase.
    pub phase: u32,
    /// Name of the phase; `None` if the log has none.
    pub name: Option<String>,
    /// Job to which the phase belongs; `None` if the log does not name it.
    pub job: Option<String>,
    /// Number of tasks of the phase.
    pub tasks: u64,
    /// Length of the time.
    pub seconds: f64,
}

/// Machine time of attempts that did not win their task, seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LostWork {
    /// Of attempts that failed.
    pub failed: f64,
    /// Of attempts that were killed or succeeded, and ran at the same time as the winner of their task.
    pub losers: f64,
    /// Of attempts that began after their task had succeeded, such as because the output was lost.
    pub repeated: f64,
    /// Of attempts that were killed although no other attempt had won, and of attempts that ended with their node or with the run.
    pub killed: f64,
}

/// What the failed attempts with one reason cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailureCost {
    /// The reason, as in the `failures` of `trace info`.
    pub reason: String,
    /// Number of failed attempts whose times the log has.
    pub attempts: u64,
    /// Machine time that they took.
    pub seconds: f64,
}

/// The time from the end of 95 % of a phase's tasks to the end of the last one, summed over phases of at least 20 tasks, by
/// what finished last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FinishedLast {
    /// All of it.
    pub all: Waited,
    /// The last task was a straggler. Only this part can be cured by copies.
    pub long_attempt: Waited,
    /// The last task was no straggler, but started late. More slots, or an order that starts long tasks first, cures it.
    pub late_start: Waited,
    /// The last task ran again after an attempt of it had failed, was killed or had lost its output.
    pub retry: Waited,
    /// The part of `retry` in which no attempt of the task had failed: they were killed, lost with their node, or had lost their output.
    pub retry_without_failure: Waited,
}

/// How many phases waited, and for how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Waited {
    /// Number of phases.
    pub phases: u64,
    /// Sum of their waiting times.
    pub seconds: f64,
}

/// The stragglers by cause.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StragglersByCause {
    /// Number of stragglers.
    pub tasks: u64,
    /// Sum of the seconds beyond the typical durations of their phases.
    pub excess_seconds: f64,
    /// The causes that were found, most seconds first.
    pub causes: Vec<StragglerCause>,
}

/// The stragglers with one cause.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StragglerCause {
    /// The cause.
    pub cause: Cause,
    /// Number of stragglers.
    pub tasks: u64,
    /// Sum of their seconds beyond the typical durations.
    pub excess_seconds: f64,
}

/// Why a straggler was slow. A cause must account for at least half of the seconds beyond the typical duration, or, where it
/// is known as a ratio, of the difference of the logarithms. The first one that does counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// It was in the first wave of its executor (or node, see `workers`): classes are loaded, code is compiled, caches are cold.
    FirstWave,
    /// Collection of garbage.
    GarbageCollection,
    /// Wait for shuffle data of other nodes.
    FetchWait,
    /// Deserialization of the task on its executor.
    Deserialization,
    /// Time between launch and work, and between work and result: the scheduler and the transfer of the result.
    Delay,
    /// More input than other tasks of the phase, where durations depend on the input.
    Input,
    /// Memory that did not suffice, so that data were written to disk; other tasks of the phase did this less.
    Spill,
    /// A node that was slow all the time.
    SlowNode,
    /// A node that was slow at this time: other tasks took longer there too.
    BusyNode,
    /// Input that was farther away than that of other tasks of the phase, where this matters.
    Locality,
    /// The task itself: a copy of it took long too, or the same task in several other phases or jobs and mostly there, and neither
    /// the input nor anything that the log measures explains that. A copy does not cure it.
    TaskItself,
    /// None of these, and all else is as usual: the tasks around it on its node, its input, garbage collection, waits. So it was
    /// chance, or a hang that the log does not explain. A copy is most likely to cure it.
    Isolated,
    /// None of these.
    Unexplained,
}

/// What the logarithms of durations depend on within a phase: shares of their variance.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Variance {
    /// Number of tasks.
    pub tasks: u64,
    /// Variance of the natural logarithm of the durations within phases.
    pub total: f64,
    /// The executors' first waves.
    pub first_wave: VarianceShare,
    /// The input of the task.
    pub input: VarianceShare,
    /// The node, all the time; `None` if most nodes have too few tasks to distinguish it from the rest.
    pub node: Option<VarianceShare>,
    /// The node at the time of the task; `None` as for `node`.
    pub node_time: Option<VarianceShare>,
    /// The rest: the task's own work, or luck. Without several attempts of a task, a log can't say which. It has the parts of the
    /// node too where these are `None`.
    pub rest: VarianceShare,
    /// The least and the largest share that belongs to the task itself, so that a copy would have it too: the share of the
    /// input, and that share and the rest. The simulator's `correlation` lies between them.
    pub task_itself: [f64; 2],
}

/// A share of a variance with its 95 % interval (bootstrap over phases and tasks).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VarianceShare {
    /// The share.
    pub share: f64,
    /// Its 95 % interval.
    pub ci95: [f64; 2],
}
