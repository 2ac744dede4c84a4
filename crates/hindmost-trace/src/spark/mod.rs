//! Spark event logs: JSON lines as Spark 1.4 to 4.x write them, whole or cut short, plain or compressed,
//! in one file or rolled over many, of one application or a directory of them.
//!
//! The log streams through one buffer. Of most events no more is looked at than the name at the
//! beginning of the line; of the others only the fields that are needed are taken. What is kept for
//! counts and findings is a bit or two a task of the stages that run, and of those that are over next to
//! nothing; for a replay it is 24 bytes a task more, plus the attempts that did not win.
//!
//! | Spark | here |
//! | --- | --- |
//! | job | job, arriving when it was submitted; the first one at 0 (of queries: see below) |
//! | stage | phase of the first job that was active and lists it when it was submitted |
//! | parents of a stage | phases to wait for; through a skipped stage, its parents |
//! | task | task; its duration runs from the launch to the finish of its first success |
//! | executor | node with as many slots as tasks fit its cores and other resources |
//!
//! Where a stage was submitted again, the first success of each task counts, over all submissions:
//! the later ones ran again because their output had been lost. In a barrier stage, where the failure of
//! one task fails them all, it is the success of the last submission.
//!
//! **What counts.** A record of a task's end is an attempt, with two exceptions in the findings: where an executor
//! dies, Spark tells a second end of the attempts whose output went with it (`Resubmitted`). It counts among the
//! attempts, since records of ends are what these are, and as an output that was lost, but neither as a failure nor
//! among the attempts of findings. A record whose task id has ended the same way before is a line that stands in the
//! log twice, and counts nowhere.
//!
//! With adaptive execution a query runs as several jobs, one for each exchange and one for the result;
//! later jobs list the stages of earlier ones anew, by other numbers, and skip them. What is counted are
//! Spark's jobs; a replay joins those of a query that wait for each other's stages, since a policy that
//! makes one end sooner lets the next one begin sooner.

mod again;
mod application;
mod census;
mod collect;
mod events;
mod executors;
mod feed;
mod fields;
mod id_sets;
mod identity;
mod jobs;
mod oddities;
mod queries;
mod reader;
mod reasons;
mod sources;
mod stage;
mod stages;
mod tables;
mod tally;
mod task_end;
mod task_ids;
mod workload;

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use hindmost_core::workload::WorkloadJob;

use crate::analysis::Findings;
use crate::error::TraceError;
use crate::reading::progress::{OnProgress, Progress};
use crate::recorded::{RecordedAttempt, RecordedNode};
use crate::summary::{SparkCounts, TraceSummary};
use application::Keep;
use collect::Collected;
use reader::{Reading, Stream};
use sources::Sources;
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
    /// Which attempt of the application it is, where the cluster manager numbers them, as YARN does.
    pub attempt: Option<String>,
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

/// Reads a Spark event log for a replay. `name` is what errors call it.
///
/// # Errors
///
/// If reading fails, or it isn't a Spark event log with at least one complete event.
pub fn read_spark(reader: impl Read, name: &str, progress: Option<OnProgress<'_>>) -> Result<SparkTrace, TraceError> {
    Ok(for_replay(read_stream(reader, name, Keep::Workload, progress)?, false))
}

/// Counts what a Spark event log holds, in memory that does not grow with it.
///
/// # Errors
///
/// As [`read_spark`].
pub fn summarize_spark(
    reader: impl Read,
    name: &str,
    progress: Option<OnProgress<'_>>,
) -> Result<TraceSummary, TraceError> {
    let (collected, warnings) = read_stream(reader, name, Keep::Counts, progress)?;
    Ok(summary(&collected, warnings, false))
}

/// Counts what a Spark event log holds and finds what stragglers cost in it, in memory that does not grow
/// with it.
///
/// # Errors
///
/// As [`read_spark`].
pub fn analyse_spark(
    reader: impl Read,
    name: &str,
    progress: Option<OnProgress<'_>>,
) -> Result<(TraceSummary, Findings), TraceError> {
    Ok(with_findings(read_stream(reader, name, Keep::Findings, progress)?, false))
}

/// Reads Spark event logs for a replay: a file, a rolling log's directory, or a directory of both, whose
/// applications are read as one trace.
///
/// # Errors
///
/// If nothing can be opened there, a directory holds no event log, or as [`read_spark`]. Of several
/// files, those that can't be read are warnings as long as one can.
pub fn open(path: &Path, progress: Option<OnProgress<'_>>) -> Result<SparkTrace, TraceError> {
    let (read, directory) = read_path(path, Keep::Workload, progress)?;
    Ok(for_replay(read, directory))
}

/// Counts what the Spark event logs at a path hold, in memory that does not grow with them.
///
/// # Errors
///
/// As [`open`].
pub fn summarize(path: &Path, progress: Option<OnProgress<'_>>) -> Result<TraceSummary, TraceError> {
    let ((collected, warnings), directory) = read_path(path, Keep::Counts, progress)?;
    Ok(summary(&collected, warnings, directory))
}

/// Counts what the Spark event logs at a path hold and finds what stragglers cost in them, in memory that
/// does not grow with them. Machines are hosts, phases are stages, times are seconds since 1970.
///
/// # Errors
///
/// As [`open`].
pub fn analyse(path: &Path, progress: Option<OnProgress<'_>>) -> Result<(TraceSummary, Findings), TraceError> {
    let (read, directory) = read_path(path, Keep::Findings, progress)?;
    Ok(with_findings(read, directory))
}

/// Whether a path is a directory with Spark event logs in it: a rolling log, or several logs of any kind.
/// Of a file it says no, whatever it holds.
pub fn is_log_directory(path: &Path) -> bool {
    sources::may_be_logs(path)
}

/// Whether a file is a Spark event log, by its first events.
pub(crate) fn is_log(path: &Path) -> bool {
    identity::identify(path).is_ok()
}

/// What was kept of logs, and warnings.
type ReadLogs = (Collected, Vec<String>);

fn read_stream(
    reader: impl Read,
    name: &str,
    keep: Keep,
    progress: Option<OnProgress<'_>>,
) -> Result<ReadLogs, TraceError> {
    let mut reading = Reading::new(keep, false);
    let stream = Stream { name, label: None, later_part: false, may_be_empty: false };
    reading.read(Progress::new(progress, None).watch(reader), &stream)?;
    Ok(reading.finish())
}

fn read_path(path: &Path, keep: Keep, progress: Option<OnProgress<'_>>) -> Result<(ReadLogs, bool), TraceError> {
    let sources = sources::find(path)?;
    let mut progress = Progress::new(progress, sources.total());
    let directory = sources.directory;
    Ok((read_sources(sources, keep, &mut progress)?, directory))
}

fn read_sources(sources: Sources, keep: Keep, progress: &mut Progress<'_>) -> Result<ReadLogs, TraceError> {
    let Sources { logs, directory, warnings } = sources;
    let mut reading = Reading::new(keep, logs.len() > 1);
    reading.warnings = warnings;
    let mut first_error = None;
    let mut any = false;
    for log in &logs {
        let mut begun = false;
        for (number, part) in log.parts.iter().enumerate() {
            let name = part.path.display().to_string();
            let stream = Stream {
                name: &name,
                label: directory.then_some(&part.label),
                later_part: begun,
                // The last part may just have been begun.
                may_be_empty: number > 0 && number + 1 == log.parts.len(),
            };
            let before = progress.read();
            let result = File::open(&part.path)
                .map_err(|source| TraceError::Open { path: part.path.clone(), source })
                .and_then(|file| reading.read(progress.watch(file), &stream));
            match result {
                Ok(()) => (any, begun) = (true, true),
                Err(error) => {
                    if directory {
                        reading.warnings.push(format!("{} is left out: {error}.", part.label));
                    }
                    first_error.get_or_insert(error);
                }
            }
            if let Some(size) = part.size {
                progress.reach(before + size);
            }
        }
    }
    match first_error {
        Some(error) if !any => Err(error),
        _ => Ok(reading.finish()),
    }
}

fn with_findings((mut collected, warnings): ReadLogs, directory: bool) -> (TraceSummary, Findings) {
    let summary = summary(&collected, warnings, directory);
    let feed = collected.feed.take().unwrap_or_default();
    (summary, feed.findings())
}

fn for_replay((collected, warnings): ReadLogs, directory: bool) -> SparkTrace {
    let mut summary = summary(&collected, warnings, directory);
    let applications = collected.applications.iter();
    let applications = applications
        .map(|application| SparkApplication {
            id: application.id.clone(),
            attempt: application.attempt.clone(),
            name: application.name.clone(),
            spark_version: application.version.clone(),
        })
        .collect();
    let Workload { origin, jobs, nodes, attempts } = workload::assemble(collected.applications, &mut summary.warnings);
    let origin = origin as f64 / 1000.0;
    SparkTrace { summary, applications, origin, jobs, nodes, attempts }
}

/// The counts, and what was odd.
fn summary(collected: &Collected, mut warnings: Vec<String>, directory: bool) -> TraceSummary {
    let tally = &collected.tally;
    let seconds = |milliseconds: i64| milliseconds as f64 / 1000.0;
    oddities::of_events(tally, directory, &mut warnings);
    TraceSummary {
        format: "spark",
        jobs: tally.jobs,
        stages: tally.stages,
        tasks: tally.tasks,
        attempts: tally.attempts,
        speculative_attempts: tally.speculative,
        failed_attempts: tally.failed,
        killed_attempts: tally.killed,
        nodes: tally.executors,
        from: tally.from.map(seconds),
        to: tally.to.map(seconds),
        warnings,
        failures: collected.failures.counts().clone(),
        killed_by: collected.killed_by.counts().clone(),
        spark: Some(SparkCounts {
            applications: tally.applications,
            winners: tally.winners,
            speculative_winners: tally.speculative_winners,
            speculation_requests: tally.speculation_asked,
            skipped_stages: tally.skipped_stages,
            resubmitted_stages: tally.resubmitted_stages,
            barrier_stages: tally.barrier_stages,
            excluded_executors: tally.excluded_executors,
            excluded_nodes: tally.excluded_hosts,
            outputs_lost: tally.outputs_lost,
            stages_without_job: tally.without_job,
        }),
        hadoop: None,
    }
}
