//! Spark event logs: plain JSON lines as Spark 1.4 to 4.x write them, whole or cut short.
//!
//! The log streams through one buffer. Of most events no more is looked at than the name at the
//! beginning of the line; of the others only the fields that are needed are taken. What is kept for
//! counting is a bit or two a task, and for a replay 24 bytes a task more, plus the attempts that
//! did not win.
//!
//! | Spark | here |
//! | --- | --- |
//! | job | job, arriving when it was submitted; the first one at 0 |
//! | stage | phase of the first job that was active and lists it when it was submitted |
//! | parents of a stage | phases to wait for; through a skipped stage, its parents |
//! | task | task; its duration runs from the launch to the finish of its first success |
//! | executor | node with as many slots as tasks fit its cores and other resources |
//!
//! Where a stage was submitted again, the first success of each task counts, over all submissions:
//! the later ones ran again because their output had been lost.

mod collect;
mod events;
mod executors;
mod lines;
mod reader;
mod sniff;
mod tables;
mod values;
mod warnings;
mod workload;

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use hindmost_core::workload::WorkloadJob;

use crate::error::TraceError;
use crate::record::{RecordedAttempt, RecordedNode};
use crate::summary::TraceSummary;
use collect::Keep;
use workload::Workload;

/// A Spark event log, ready to be replayed. Times are in seconds from the trace's origin: the
/// submission of the first job of which a stage ran.
#[derive(Clone, Debug)]
pub struct SparkTrace {
    summary: TraceSummary,
    applications: Vec<SparkApplication>,
    origin: f64,
    jobs: Vec<WorkloadJob>,
    nodes: Vec<RecordedNode>,
    attempts: Vec<RecordedAttempt>,
}

/// An application of which a log tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SparkApplication {
    /// Its id, such as `application_1628109047826_1317105`.
    pub id: Option<String>,
    /// Its name.
    pub name: Option<String>,
    /// The version of Spark that wrote the log.
    pub spark_version: Option<String>,
}

impl SparkTrace {
    /// The counts and everything the reader had to get around or leave out.
    pub fn summary(&self) -> &TraceSummary {
        &self.summary
    }

    /// The applications, in the order of the log; nearly always one.
    pub fn applications(&self) -> &[SparkApplication] {
        &self.applications
    }

    /// The trace's second 0, in seconds since 1970.
    pub fn origin(&self) -> f64 {
        self.origin
    }

    /// The jobs of which a task succeeded, by arrival. Their durations are
    /// [`Recorded`](hindmost_core::workload::Durations::Recorded): each task's first success; what
    /// copies would have taken that never ran is not in a log (see [`crate::COPIES_NOTE`]).
    pub fn workload_jobs(&self) -> &[WorkloadJob] {
        &self.jobs
    }

    /// The executors, in the order in which the log names them.
    pub fn cluster_nodes(&self) -> &[RecordedNode] {
        &self.nodes
    }

    /// The attempts that did not win, and the speculative ones that did, by launch. All others are
    /// their task's one winner.
    pub fn attempts(&self) -> &[RecordedAttempt] {
        &self.attempts
    }

    /// The same, without a copy of it.
    pub fn into_parts(self) -> (TraceSummary, Vec<WorkloadJob>, Vec<RecordedNode>, Vec<RecordedAttempt>) {
        (self.summary, self.jobs, self.nodes, self.attempts)
    }
}

/// Told of the bytes read so far, and of all there are where that is known.
pub type OnProgress<'a> = &'a mut dyn FnMut(u64, Option<u64>);

/// Reads a Spark event log for a replay. `name` is what errors call it.
///
/// # Errors
///
/// If reading fails, or it isn't a plain Spark event log with at least one complete event.
pub fn read_spark(reader: impl Read, name: &str, progress: Option<OnProgress<'_>>) -> Result<SparkTrace, TraceError> {
    read_for_replay(reader, name, None, progress)
}

/// Counts what a Spark event log holds, keeping less in memory than [`read_spark`].
///
/// # Errors
///
/// As [`read_spark`].
pub fn summarize_spark(
    reader: impl Read,
    name: &str,
    progress: Option<OnProgress<'_>>,
) -> Result<TraceSummary, TraceError> {
    Ok(reading(reader, name, Keep::Counts, None, progress)?.summary())
}

/// Reads the Spark event log in a file for a replay.
///
/// # Errors
///
/// If the file can't be opened, is a directory, or as [`read_spark`].
pub fn open(path: &Path, progress: Option<OnProgress<'_>>) -> Result<SparkTrace, TraceError> {
    let (file, total) = open_file(path)?;
    read_for_replay(file, &path.display().to_string(), total, progress)
}

/// Counts what the Spark event log in a file holds.
///
/// # Errors
///
/// As [`open`].
pub fn summarize(path: &Path, progress: Option<OnProgress<'_>>) -> Result<TraceSummary, TraceError> {
    let (file, total) = open_file(path)?;
    let name = path.display().to_string();
    Ok(reading(file, &name, Keep::Counts, total, progress)?.summary())
}

fn read_for_replay(
    reader: impl Read,
    name: &str,
    total: Option<u64>,
    progress: Option<OnProgress<'_>>,
) -> Result<SparkTrace, TraceError> {
    let reading = reading(reader, name, Keep::Workload, total, progress)?;
    let mut summary = reading.summary();
    let applications = reading.collected.applications.iter();
    let applications = applications
        .map(|application| SparkApplication {
            id: application.id.clone(),
            name: application.name.clone(),
            spark_version: application.version.clone(),
        })
        .collect();
    let Workload { origin, jobs, nodes, attempts } = workload::assemble(reading.collected, &mut summary.warnings);
    let origin = origin as f64 / 1000.0;
    Ok(SparkTrace { summary, applications, origin, jobs, nodes, attempts })
}

fn reading(
    reader: impl Read,
    name: &str,
    keep: Keep,
    total: Option<u64>,
    progress: Option<OnProgress<'_>>,
) -> Result<reader::Reading, TraceError> {
    match progress {
        Some(tell) => {
            let mut tell = |position: u64| tell(position, total);
            reader::read(reader, name, keep, Some(&mut tell))
        }
        None => reader::read(reader, name, keep, None),
    }
}

/// The file and, unless it is a pipe or the like, its size.
fn open_file(path: &Path) -> Result<(File, Option<u64>), TraceError> {
    let failed = |source| TraceError::Open { path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    let about = file.metadata().map_err(failed)?;
    if about.is_dir() {
        return Err(TraceError::Directory { path: path.to_owned() });
    }
    Ok((file, about.is_file().then_some(about.len())))
}
