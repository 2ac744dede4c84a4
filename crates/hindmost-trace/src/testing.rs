//! Helpers for tests: small recordings, and logs read in every way.

pub mod rows;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use hindmost_core::metrics::{Diagnosis, Findings};
use hindmost_core::workload::WorkloadJob;

use crate::error::TraceError;
use crate::format::{Format, Input, Stream};
use crate::log::{Log, read_with};
use crate::reading::progress::OnProgress;
use crate::recorder::Wanted;
use crate::recording::{AttemptRow, Ended, Executor, PhaseRows, Recording, TaskTimes};
use crate::replay::{RecordedNode, RecordedWorld, Replay};
use crate::summary::{HadoopFacts, TraceSummary};

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
        is_unmatched: false,
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

/// Reads a log of this format.
pub fn read(
    format: &dyn Format,
    log: impl Read,
    name: &str,
    wanted: Wanted,
    progress: Option<OnProgress<'_>>,
) -> Result<Log, TraceError> {
    let stream = Stream { reader: Box::new(log), name: name.to_owned(), path: None, size: None };
    read_with(format, Input::Stream(stream), wanted, progress)
}

/// Reads the log of this format at a path.
pub fn read_path(
    format: &dyn Format,
    path: &Path,
    wanted: Wanted,
    progress: Option<OnProgress<'_>>,
) -> Result<Log, TraceError> {
    if path.is_dir() {
        return read_with(format, Input::Folder(path), wanted, progress);
    }
    let file = File::open(path).map_err(|source| TraceError::Open { path: path.to_owned(), source })?;
    let (name, size) = (path.display().to_string(), Some(file.metadata().unwrap().len()));
    let stream = Stream { reader: Box::new(file), name, path: Some(path), size };
    read_with(format, Input::Stream(stream), wanted, progress)
}

/// Returns the counts, findings and diagnoses of a log.
pub fn diagnosed(
    format: &dyn Format,
    log: impl Read,
    name: &str,
) -> Result<(TraceSummary, Findings, Vec<Diagnosis>), TraceError> {
    let Log { summary, findings, diagnoses, .. } = read(format, log, name, Wanted::DIAGNOSES, None)?;
    Ok((summary, findings, diagnoses))
}

/// A log that was read for a replay.
#[derive(Clone, Debug)]
pub struct Trace {
    summary: TraceSummary,
    replay: Replay,
}

impl Trace {
    /// Reads a log of this format.
    pub fn read(format: &dyn Format, log: impl Read, name: &str) -> Result<Trace, TraceError> {
        Ok(Trace::of(read(format, log, name, Wanted::REPLAYS, None)?))
    }

    /// Takes a log that was read.
    pub fn of(log: Log) -> Trace {
        let mut summary = log.summary.clone();
        let (replay, warnings) = log.into_replay();
        summary.warnings.extend(warnings);
        Trace { summary, replay }
    }

    pub fn summary(&self) -> &TraceSummary {
        &self.summary
    }

    pub fn facts(&self) -> &HadoopFacts {
        self.summary.hadoop.as_deref().unwrap()
    }

    pub fn workload_jobs(&self) -> &[WorkloadJob] {
        &self.replay.jobs
    }

    pub fn cluster_nodes(&self) -> &[RecordedNode] {
        &self.replay.nodes
    }

    pub fn world(&self) -> Option<&RecordedWorld> {
        self.replay.world.as_ref()
    }
}
