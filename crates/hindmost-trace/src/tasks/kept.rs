//! Data of a log that are kept for a replay.

use rustc_hash::FxHashMap;

use crate::recorded::Outcome;

/// All data that a replay needs. Times are in seconds on the log's clock.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// Jobs, by application and job.
    pub jobs: FxHashMap<(u32, u32, u32), KeptJob>,
    /// Attempts that lost, failed or were copies.
    pub attempts: Vec<KeptAttempt>,
    /// When attempts ran, and where.
    pub intervals: Vec<Interval>,
}

/// A job of a replay.
#[derive(Debug, Default)]
pub(crate) struct KeptJob {
    pub name: String,
    /// When it was submitted, or its first attempt started.
    pub submitted: Option<f64>,
    /// Its phases, in the order in which the log names them.
    pub phases: Vec<KeptPhase>,
}

/// A phase of a replay.
#[derive(Debug, Default)]
pub(crate) struct KeptPhase {
    pub number: u32,
    pub name: String,
    /// Durations of the winners in seconds, in the order of their tasks.
    pub seconds: Vec<f64>,
    /// Slots that each of them used.
    pub slots: Vec<f32>,
    /// When the first winner started and the last one ended.
    pub span: (f64, f64),
}

/// When an attempt ran.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interval {
    pub node: u32,
    pub start: f64,
    pub end: f64,
    pub application: u32,
    pub phase: u32,
}

/// An attempt that did not win, or was a copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeptAttempt {
    pub application: u32,
    pub phase: u32,
    pub task: u32,
    pub number: u32,
    pub node: Option<u32>,
    pub start: Option<f64>,
    pub end: Option<f64>,
    pub speculative: bool,
    pub outcome: Outcome,
}
