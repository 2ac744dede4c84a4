//! Helpers for tests of readers whose rows are attempts.

use hindmost_core::metrics::{Diagnosis, Findings};

use super::Trace;
use crate::error::TraceError;
use crate::format::{Kind, TaskFormat};
use crate::log::{Log, read_as, sniff};
use crate::recorder::Wanted;
use crate::summary::TraceSummary;
use crate::table::Columns;

/// Counts, findings and diagnoses of a log, and the log as a replay has it.
pub struct Found {
    pub summary: TraceSummary,
    pub findings: Findings,
    pub diagnoses: Vec<Diagnosis>,
    pub trace: Trace,
}

/// Reads a log in every way. It must be recognised as of this format.
pub fn found(log: &str, format: TaskFormat) -> Found {
    assert_eq!(sniff(log.as_bytes(), &Columns::default()), Some(format), "{log}");
    read(log, format).unwrap()
}

/// Reads a log of this format in every way.
pub fn read(log: &str, format: TaskFormat) -> Result<Found, TraceError> {
    let read = |wanted| read_as(Kind::Tasks(format), log.as_bytes(), "logs/my.log", &Columns::default(), wanted, None);
    let Log { summary, findings, diagnoses, .. } = read(Wanted::DIAGNOSES)?;
    let trace = Trace::of(read(Wanted::REPLAYS)?);
    let same = |summary: &TraceSummary| TraceSummary { warnings: Vec::new(), ..summary.clone() };
    assert_eq!(same(&summary), same(trace.summary()));
    Ok(Found { summary, findings, diagnoses, trace })
}
