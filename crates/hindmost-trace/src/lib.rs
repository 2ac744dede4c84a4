//! Readers of the logs people already have, and of the journals of our own runs.
//!
//! Spark event logs: [`spark::open`] reads one into a [`spark::SparkTrace`], with the jobs and nodes
//! that a replay needs; [`spark::summarize`] only counts, and [`spark::analyse`] counts and finds what
//! stragglers cost, in memory that does not grow with the log.
//!
//! Journals: [`journal::open`] reads one into a [`journal::JournalTrace`], [`journal::summarize`]
//! counts, [`journal::records`] gives record by record; [`journal::find`] tells journals from logs.

pub mod analysis;
pub mod any;
mod compression;
mod error;
pub mod hadoop;
pub mod journal;
mod moments;
pub mod record;
pub mod spark;
mod summary;

pub use error::TraceError;
pub use record::{Outcome, RecordedAttempt, RecordedNode};
pub use summary::{SparkCounts, TraceSummary};

/// What to tell the user of a replay about copies that the log never saw.
pub const COPIES_NOTE: &str = "Durations of copies that never ran are drawn from the recorded tasks of the same stage.";
