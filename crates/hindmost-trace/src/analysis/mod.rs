//! What stragglers cost in a log, and why: phase by phase, in memory that does not grow with the log.
//!
//! Readers tell an [`Analysis`] of each attempt that ended, in the order of the log; it keeps sums and
//! sketches, and gives [`Findings`] in the end.

use serde::Serialize;

/// A phase as a reader numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PhaseKey {
    /// The application, or the Hadoop job.
    pub application: u32,
    /// The stage, or 0 for map and 1 for reduce.
    pub phase: u32,
}

/// What is known of a phase besides its attempts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PhaseFacts {
    /// Its name, for people.
    pub name: Option<String>,
    /// The job it belongs to, for people.
    pub job: Option<String>,
    /// Its number of tasks.
    pub tasks: Option<u32>,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ended {
    /// Its work was done, in time or too late.
    Succeeded,
    /// It broke.
    Failed,
    /// It was killed.
    Killed,
}

/// An attempt that ended, as every format tells it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EndedAttempt {
    /// The task, an index within its phase.
    pub task: u32,
    /// The machine, as the reader numbers machines (not executors); `None` where unknown.
    pub node: Option<u32>,
    /// When it started, seconds on the log's clock; `None` where unknown.
    pub start: Option<f64>,
    /// When it ended.
    pub end: Option<f64>,
    /// Bytes that it read: input, shuffle; `None` where the log doesn't say.
    pub bytes_read: Option<u64>,
    /// Whether it was started as a speculative copy.
    pub speculative: bool,
    /// How it ended.
    pub ended: Ended,
}

/// Takes attempts in and gives findings. See the module's documentation.
#[derive(Debug, Default)]
pub struct Analysis {}

impl Analysis {
    /// One that has seen nothing.
    pub fn new() -> Analysis {
        Analysis::default()
    }

    /// Tells what is known of a phase; later facts fill the gaps of earlier ones.
    pub fn phase(&mut self, key: PhaseKey, facts: PhaseFacts) {
        let _ = (key, facts);
    }

    /// Takes in an attempt that ended.
    pub fn ended(&mut self, key: PhaseKey, attempt: &EndedAttempt) {
        let _ = (key, attempt);
    }

    /// Tells that a phase is over: what it needed while it ran can go. A few attempts may still follow
    /// (killed losers), and it may even be submitted again.
    pub fn closed(&mut self, key: PhaseKey) {
        let _ = key;
    }

    /// What was found; `node` names the machines.
    pub fn findings(self, node: &dyn Fn(u32) -> String) -> Findings {
        let _ = node;
        Findings {}
    }
}

/// What an [`Analysis`] found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Findings {}
