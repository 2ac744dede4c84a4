//! Readers of the logs people already have.
//!
//! Spark event logs, so far: [`spark::open`] reads one into a [`spark::SparkTrace`], with the jobs
//! and nodes that a replay needs; [`spark::summarize`] only counts, in less memory. Both stream:
//! nothing they keep grows with the bytes of the log.

mod error;
pub mod record;
pub mod spark;
mod summary;

pub use error::TraceError;
pub use record::{Outcome, RecordedAttempt, RecordedNode};
pub use summary::TraceSummary;

/// What to tell the user of a replay about copies that the log never saw.
pub const COPIES_NOTE: &str = "Durations of copies that never ran are drawn from the recorded tasks of the same stage.";
