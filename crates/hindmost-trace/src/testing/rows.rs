//! Helpers for tests of readers whose rows are attempts.

use hindmost_core::metrics::{Diagnosis, Findings};
use hindmost_core::workload::Durations;

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
    found_with(log, format, "").unwrap()
}

/// Reads a log of this format in every way, with named columns.
pub fn found_with(log: &str, format: TaskFormat, columns: &str) -> Result<Found, TraceError> {
    found_in(log, format, &columns.parse().unwrap())
}

/// Does the same with columns and the meanings of states.
pub fn found_in(log: &str, format: TaskFormat, columns: &Columns) -> Result<Found, TraceError> {
    let read = |wanted| read_as(Kind::Tasks(format), log.as_bytes(), "logs/my.log", columns, wanted, None);
    let Log { summary, findings, diagnoses, .. } = read(Wanted::DIAGNOSES)?;
    let trace = Trace::of(read(Wanted::REPLAYS)?);
    let same = |summary: &TraceSummary| TraceSummary { warnings: Vec::new(), ..summary.clone() };
    assert_eq!(same(&summary), same(trace.summary()));
    Ok(Found { summary, findings, diagnoses, trace })
}

/// Name of a phase, the phases for which it waits, and the durations of its tasks.
pub type ReplayedPhase = (String, Vec<u32>, Vec<f64>);

/// Returns the durations of the tasks of each phase of each job, with job, arrival in seconds and phase.
pub fn replayed(trace: &Trace) -> Vec<(String, f64, Vec<ReplayedPhase>)> {
    let durations = |durations: &Durations| match durations {
        Durations::Recorded(seconds) => seconds.clone(),
        other => panic!("{other:?}"),
    };
    let of_job = |job: &hindmost_core::workload::WorkloadJob| {
        let phases = job.spec.phases.iter().zip(&job.durations);
        let phases = phases.map(|(phase, seconds)| (phase.name.to_string(), phase.after.clone(), durations(seconds)));
        (job.spec.name.to_string(), job.spec.arrival.seconds(), phases.collect())
    };
    trace.workload_jobs().iter().map(of_job).collect()
}
