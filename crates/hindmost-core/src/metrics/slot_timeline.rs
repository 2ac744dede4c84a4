//! The slots of an application over time: how many there were, and for what they were used.

use serde::Serialize;

use super::spent::Spent;

/// The slots of an application over time, in at most 600 steps. A step is as long as nothing changes if that gives no more
/// steps; otherwise all steps are equally long, and their numbers are averages.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SlotTimeline {
    /// Length of the timeline, seconds: the wall time.
    pub seconds: f64,
    /// When each step begins, seconds after the application began. A step ends where the next one begins.
    pub starts: Vec<f64>,
    /// Number of slots in each step.
    pub slots: Vec<f64>,
    /// What most of each step was spent on.
    pub spent: Vec<Spent>,
    /// Slots in use in each step, by what ran there. Uses that never occur are left out.
    pub uses: Vec<SlotUses>,
    /// The phases with the most machine time, at most 40, in the order of their begin.
    pub phases: Vec<PhaseSpan>,
    /// Number of other phases.
    pub other_phases: u64,
    /// The longest jobs, at most 100, in the order of their begin; empty if the log does not say when jobs ran.
    pub jobs: Vec<JobSpan>,
    /// Number of other jobs.
    pub other_jobs: u64,
}

/// Slots that one kind of attempts used.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SlotUses {
    /// What ran there.
    pub what: SlotUse,
    /// Number of slots in each step.
    pub slots: Vec<f64>,
}

/// For what a slot is used. The last of these that is true of an attempt counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SlotUse {
    /// An attempt that wins its task.
    Work,
    /// An attempt in its executor's first wave.
    FirstWave,
    /// An attempt that does not win its task: it fails, is killed or is too late.
    Lost,
    /// An attempt that has taken more than 1.5 times as long as is typical.
    Straggler,
    /// An attempt that repeats work that failed or was lost.
    Retry,
}

impl SlotUse {
    /// All uses, in order.
    pub const ALL: [SlotUse; 5] =
        [SlotUse::Work, SlotUse::FirstWave, SlotUse::Lost, SlotUse::Straggler, SlotUse::Retry];
}

/// When a phase ran.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseSpan {
    /// Number of the phase.
    pub phase: u32,
    /// Name of the phase; `None` if the log has none.
    pub name: Option<String>,
    /// Number of its tasks.
    pub tasks: u64,
    /// When it began, seconds after the application began.
    pub from: f64,
    /// When it ended, seconds after the application began.
    pub to: f64,
    /// Sum of the durations of its attempts, seconds.
    pub machine_seconds: f64,
}

/// When a job ran.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobSpan {
    /// Number of the job; `None` if the log has none.
    pub job: Option<u32>,
    /// When it began, seconds after the application began.
    pub from: f64,
    /// When it ended, seconds after the application began.
    pub to: f64,
}
