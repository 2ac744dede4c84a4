//! Helpers for tests of readers whose rows are attempts.

use hindmost_core::metrics::Diagnosis;

use super::{Collector, TaskFormat, TaskTrace, for_replay, read, sniff, with_diagnoses};
use crate::error::TraceError;
use crate::summary::TraceSummary;
use crate::table::Columns;
use hindmost_core::metrics::Findings;

/// Counts, findings and diagnoses of a log.
pub(crate) struct Found {
    pub summary: TraceSummary,
    pub findings: Findings,
    pub diagnoses: Vec<Diagnosis>,
    pub trace: TaskTrace,
}

/// Reads a log in every way. It must be recognised as of this format.
pub(crate) fn found(log: &str, format: TaskFormat) -> Found {
    assert_eq!(sniff(log.as_bytes(), &Columns::default()), Some(format), "{log}");
    found_with(log, format, "").unwrap()
}

/// Reads a log in every way, with named columns.
pub(crate) fn found_with(log: &str, format: TaskFormat, columns: &str) -> Result<Found, TraceError> {
    found_in(log, format, &columns.parse().unwrap())
}

/// Does the same with columns and the meanings of states.
pub(crate) fn found_in(log: &str, format: TaskFormat, columns: &Columns) -> Result<Found, TraceError> {
    let collector = read(log.as_bytes(), "logs/my.log", format, columns, Collector::diagnosing())?;
    let (summary, findings, diagnoses) = with_diagnoses(collector, format);
    let kept = read(log.as_bytes(), "logs/my.log", format, columns, Collector::keeping())?;
    let trace = for_replay(kept, format);
    let same = |summary: &TraceSummary| TraceSummary { warnings: Vec::new(), ..summary.clone() };
    assert_eq!(same(&summary), same(trace.summary()));
    Ok(Found { summary, findings, diagnoses, trace })
}

/// Name of a phase, the phases for which it waits, and the durations of its tasks.
pub(crate) type ReplayedPhase = (String, Vec<u32>, Vec<f64>);

/// Returns the durations of the tasks of each phase of each job, with job, arrival in seconds and phase.
pub(crate) fn replayed(trace: &TaskTrace) -> Vec<(String, f64, Vec<ReplayedPhase>)> {
    let durations = |durations: &hindmost_core::workload::Durations| match durations {
        hindmost_core::workload::Durations::Recorded(seconds) => seconds.clone(),
        other => panic!("{other:?}"),
    };
    trace
        .workload_jobs()
        .iter()
        .map(|job| {
            let phases = job.spec.phases.iter().zip(&job.durations);
            let phases =
                phases.map(|(phase, seconds)| (phase.name.to_string(), phase.after.clone(), durations(seconds)));
            (job.spec.name.to_string(), job.spec.arrival.seconds(), phases.collect())
        })
        .collect()
}
