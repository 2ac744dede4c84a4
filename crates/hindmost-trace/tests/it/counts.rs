//! What a diagnosis of a Spark log counts.

use std::io::Read;
use std::path::Path;

use hindmost_trace::spark::{diagnose, diagnose_spark};
use hindmost_trace::{OnProgress, TraceError, TraceSummary};

/// Returns the counts of the log at a path.
pub fn counts_at(path: &Path, progress: Option<OnProgress<'_>>) -> Result<TraceSummary, TraceError> {
    diagnose(path, progress).map(|found| found.0)
}

/// Returns the counts of a log that is read from `reader`.
pub fn counts_of(reader: impl Read) -> Result<TraceSummary, TraceError> {
    diagnose_spark(reader, "log", None).map(|found| found.0)
}
