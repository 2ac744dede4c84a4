//! Small recordings for tests.

use super::recording::{AttemptRow, Executor, PhaseRows, Recording, TaskTimes};
use crate::diagnosis::Ended;

/// An attempt that won.
pub fn row(task: u32, executor: u32, start: f64, end: f64) -> AttemptRow {
    AttemptRow {
        task,
        executor,
        start,
        end,
        bytes_read: None,
        spent: TaskTimes::default(),
        ended: Ended::Succeeded,
        wins: true,
        speculative: false,
        repeated: false,
    }
}

/// A phase with these attempts.
pub fn phase(rows: Vec<AttemptRow>) -> PhaseRows {
    PhaseRows { rows, ..PhaseRows::default() }
}

/// An executor with this many slots.
pub fn executor(host: &str, slots: u32) -> Executor {
    Executor { host: host.to_owned(), slots: Some(slots), ..Executor::default() }
}

/// An application with these phases and executors.
pub fn recording(phases: Vec<PhaseRows>, executors: Vec<Executor>) -> Recording {
    Recording { executors, phases, ..Recording::default() }
}
