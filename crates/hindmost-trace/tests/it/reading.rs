//! Logs that are read for a diagnosis, or for a replay.

use std::io::Read;
use std::path::Path;

use hindmost_core::metrics::{Diagnosis, Findings};
use hindmost_core::workload::WorkloadJob;
use hindmost_trace::recording::{AttemptRow, Recording};
use hindmost_trace::replay::{RecordedNode, Replay};
use hindmost_trace::table::Columns;
use hindmost_trace::{Log, OnProgress, TraceError, TraceSummary, Wanted, log};

/// Counts, findings and diagnoses of a log.
pub type Diagnosed = (TraceSummary, Findings, Vec<Diagnosis>);

fn diagnosed(log: Log) -> Diagnosed {
    (log.summary, log.findings, log.diagnoses)
}

/// Diagnoses the log at a path.
pub fn diagnose(path: &Path, progress: Option<OnProgress<'_>>) -> Result<Diagnosed, TraceError> {
    log::read(path, &Columns::default(), Wanted::DIAGNOSES, progress).map(diagnosed)
}

/// Diagnoses a log that is read from `reader`.
pub fn diagnose_stream(reader: impl Read, name: &str) -> Result<Diagnosed, TraceError> {
    log::read_stream(reader, name, &Columns::default(), Wanted::DIAGNOSES, None).map(diagnosed)
}

/// Returns the counts of the log at a path.
pub fn counts_at(path: &Path, progress: Option<OnProgress<'_>>) -> Result<TraceSummary, TraceError> {
    diagnose(path, progress).map(|found| found.0)
}

/// Returns the counts of a log that is read from `reader`.
pub fn counts_of(reader: impl Read) -> Result<TraceSummary, TraceError> {
    diagnose_stream(reader, "log").map(|found| found.0)
}

/// A log that was read for a replay.
#[derive(Debug)]
pub struct Trace {
    summary: TraceSummary,
    recordings: Vec<Recording>,
    replay: Replay,
}

impl Trace {
    fn of(log: Log) -> Trace {
        let (mut summary, recordings) = (log.summary.clone(), log.recordings().to_vec());
        let (replay, warnings) = log.into_replay();
        summary.warnings.extend(warnings);
        Trace { summary, recordings, replay }
    }

    pub fn summary(&self) -> &TraceSummary {
        &self.summary
    }

    pub fn recordings(&self) -> &[Recording] {
        &self.recordings
    }

    pub fn workload_jobs(&self) -> &[WorkloadJob] {
        &self.replay.jobs
    }

    pub fn cluster_nodes(&self) -> &[RecordedNode] {
        &self.replay.nodes
    }

    /// All attempts with known times, by phase.
    pub fn attempts(&self) -> Vec<AttemptRow> {
        let phases = self.recordings.iter().flat_map(|recording| &recording.phases);
        phases.flat_map(|phase| &phase.rows).copied().collect()
    }
}

/// Reads the log at a path for a replay.
pub fn open(path: &Path) -> Result<Trace, TraceError> {
    log::read(path, &Columns::default(), Wanted::REPLAYS, None).map(Trace::of)
}

/// Reads a log for a replay.
pub fn open_stream(reader: impl Read, name: &str) -> Result<Trace, TraceError> {
    log::read_stream(reader, name, &Columns::default(), Wanted::REPLAYS, None).map(Trace::of)
}
