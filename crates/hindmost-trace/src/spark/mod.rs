//! Reads Spark event logs: JSON lines of Spark 1.4 to 4.x (also indented, or as an array), complete or cut short, plain
//! or compressed, as one file, a rolling log of several files, the parts that Databricks delivers, or a directory with
//! logs of several applications.
//!
//! The log is read through one buffer. Of most events only the name at the beginning of the line is read; of the other
//! events only the needed fields are parsed. A diagnosis keeps about 100 bytes for each attempt of an application until the
//! application has ended. A replay keeps these for all applications, 24 bytes for each task, and the attempts that did not win.
//!
//! | Spark | replay |
//! | --- | --- |
//! | job | job; it arrives when it was submitted, the first one at 0 (SQL queries: see below) |
//! | stage | phase of the first active job that lists the stage when it is submitted |
//! | parents of a stage | phases that the phase waits for; a skipped parent is replaced by its own parents |
//! | task | task; its duration is the time from launch to finish of its first success |
//! | executor | node; its slots are the number of tasks that fit its cores and other resources, but at least as many as ran on it at the same time |
//!
//! In a resubmitted stage, the first success of each task counts, over all submissions: later attempts only ran
//! because the output was lost. In a barrier stage, where a failed task fails all tasks, the success in the last
//! submission counts.
//!
//! **What counts as an attempt.** Each task end event is an attempt, with two exceptions. First, when an executor is
//! lost, Spark writes a second end event (`Resubmitted`) for the attempts whose output is lost with it. It counts in
//! `attempts`, which counts task end events, and in `outputs_lost`, but neither as a failure nor in the attempts of the
//! findings. Second, an attempt counts once: an event with the task id and the outcome of an earlier event is a duplicate
//! line and is ignored, and if an attempt of a lost executor ends again, its last end counts.
//!
//! **SQL queries.** With adaptive execution a query runs as several jobs, one for each exchange and one for the result.
//! Later jobs list the stages of earlier jobs again under other numbers, and skip them. The counts are those of Spark's
//! jobs. A replay joins the jobs of a query that wait for each other's stages, because a job can start earlier if the
//! job that it waits for ends earlier.

mod application;
mod collect;
mod events;
mod executors;
mod fields;
mod id_sets;
mod identity;
mod jobs;
mod oddities;
mod queries;
mod reader;
mod reasons;
mod recorder;
mod resubmission;
mod rollover;
mod second_ends;
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

use hindmost_core::metrics::Diagnosis;
use hindmost_core::workload::WorkloadJob;

use crate::diagnosis::{RecordedWorld, world};
use crate::error::TraceError;
use crate::reading::progress::{OnProgress, Progress};
use crate::recorded::{RecordedAttempt, RecordedNode};
use crate::summary::{SparkCounts, TraceSummary};
use application::Keep;
use collect::Collected;
use hindmost_core::metrics::Findings;
use reader::{Reading, Stream};
use sources::Sources;
use workload::Workload;

/// A Spark event log, ready for a replay. Times are in seconds from the trace's origin: the submission of the first
/// job with a stage that ran.
#[derive(Clone, Debug)]
pub struct SparkTrace {
    summary: TraceSummary,
    applications: Vec<SparkApplication>,
    origin: f64,
    jobs: Vec<WorkloadJob>,
    nodes: Vec<RecordedNode>,
    attempts: Vec<RecordedAttempt>,
    world: Option<RecordedWorld>,
    uses_sql: bool,
}

/// An application in a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SparkApplication {
    /// The application's id, such as `application_1628109047826_1317105`; `None` if the log does not say.
    pub id: Option<String>,
    /// The number of the application's attempt, as YARN assigns it; `None` if the cluster manager does not number
    /// attempts.
    pub attempt: Option<String>,
    /// The application's name.
    pub name: Option<String>,
    /// The version of Spark that wrote the log.
    pub spark_version: Option<String>,
}

impl SparkTrace {
    /// Returns the counts, and warnings about problems that the reader worked around.
    pub fn summary(&self) -> &TraceSummary {
        &self.summary
    }

    /// Returns the applications in the order of the log; nearly always one application.
    pub fn applications(&self) -> &[SparkApplication] {
        &self.applications
    }

    /// Returns the trace's origin in seconds since 1970.
    pub fn origin(&self) -> f64 {
        self.origin
    }

    /// Returns the jobs with a task that succeeded, by arrival. Durations are
    /// [`Recorded`](hindmost_core::workload::Durations::Recorded): each task takes as long as its first success. A
    /// log has no durations of copies that never ran (see [`crate::COPIES_NOTE`]).
    pub fn workload_jobs(&self) -> &[WorkloadJob] {
        &self.jobs
    }

    /// Returns the executors in the order in which the log names them.
    pub fn cluster_nodes(&self) -> &[RecordedNode] {
        &self.nodes
    }

    /// Returns the attempts that did not win and the speculative attempts that won, by start time. Winners that were
    /// not speculative are left out.
    pub fn attempts(&self) -> &[RecordedAttempt] {
        &self.attempts
    }

    /// Returns how the application ran, if the log has one application.
    pub fn world(&self) -> Option<&RecordedWorld> {
        self.world.as_ref()
    }

    /// True if a stage that ran belongs to a query of Spark SQL.
    pub fn uses_sql(&self) -> bool {
        self.uses_sql
    }

    /// Returns the trace's summary, jobs, nodes and attempts.
    pub fn into_parts(self) -> (TraceSummary, Vec<WorkloadJob>, Vec<RecordedNode>, Vec<RecordedAttempt>) {
        (self.summary, self.jobs, self.nodes, self.attempts)
    }
}

/// Reads a Spark event log for a replay. `name` is the log's name in errors.
///
/// # Errors
///
/// If reading fails, or it is not a Spark event log with at least one complete event.
pub fn read_spark(reader: impl Read, name: &str, progress: Option<OnProgress<'_>>) -> Result<SparkTrace, TraceError> {
    Ok(for_replay(read_stream(reader, name, Keep::Workload, progress)?, false))
}

/// Reads Spark event logs for a replay: a file, the directory of a rolling log, or a directory of both, whose
/// applications are read as one trace.
///
/// # Errors
///
/// If the path can't be opened, a directory holds no event log, or as for [`read_spark`]. If there are several files
/// and at least one can be read, unreadable files become warnings instead.
pub fn open(path: &Path, progress: Option<OnProgress<'_>>) -> Result<SparkTrace, TraceError> {
    let (read, directory) = read_path(path, Keep::Workload, progress)?;
    Ok(for_replay(read, directory))
}

/// Counts what the Spark event logs at a path hold, finds what stragglers cost in them, and finds out what each application spent its time
/// on, in memory that grows with the largest application. Nodes are hosts, phases are stages, and times are seconds since 1970.
///
/// # Errors
///
/// As for [`open`].
pub fn diagnose(
    path: &Path,
    progress: Option<OnProgress<'_>>,
) -> Result<(TraceSummary, Findings, Vec<Diagnosis>), TraceError> {
    let (read, directory) = read_path(path, Keep::Diagnosis, progress)?;
    Ok(with_diagnoses(read, directory))
}

/// Does the same as [`diagnose`] for a log that is read from `reader`. `name` is the log's name in errors.
///
/// # Errors
///
/// As for [`read_spark`].
pub fn diagnose_spark(
    reader: impl Read,
    name: &str,
    progress: Option<OnProgress<'_>>,
) -> Result<(TraceSummary, Findings, Vec<Diagnosis>), TraceError> {
    Ok(with_diagnoses(read_stream(reader, name, Keep::Diagnosis, progress)?, false))
}

/// Returns whether a path is a directory with Spark event logs: a rolling log, or several logs of any kind. Always
/// false for a file.
pub fn is_log_directory(path: &Path) -> bool {
    sources::may_be_logs(path)
}

/// Returns whether a folder holds the parts of a single event log.
pub(crate) fn is_one_log(path: &Path) -> bool {
    sources::find(path).is_ok_and(|sources| matches!(&sources.logs[..], [log] if log.parts.len() > 1))
}

/// Returns whether a file is a Spark event log, by its first events.
pub(crate) fn is_log(path: &Path) -> bool {
    identity::identify(path).is_ok()
}

/// The collected data of logs, and warnings.
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
                // Spark may just have created the last part, without any event.
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

fn with_diagnoses((collected, warnings): ReadLogs, directory: bool) -> (TraceSummary, Findings, Vec<Diagnosis>) {
    let summary = summary(&collected, warnings, directory);
    let (findings, diagnoses) = collected.recorder.into_diagnoses();
    (summary, findings, diagnoses)
}

fn for_replay((collected, warnings): ReadLogs, directory: bool) -> SparkTrace {
    let mut summary = summary(&collected, warnings, directory);
    let applications = collected.applications.iter();
    let applications: Vec<SparkApplication> = applications
        .map(|application| SparkApplication {
            id: application.id.clone(),
            attempt: application.attempt.clone(),
            name: application.name.clone(),
            spark_version: application.version.clone(),
        })
        .collect();
    let uses_sql = collected
        .applications
        .iter()
        .any(|application| application.stages.iter().any(|(_, stage)| stage.ran && stage.execution.is_some()));
    let recordings = collected.recorder.into_recordings();
    let Workload { origin, jobs, nodes, attempts, sources } =
        workload::assemble(collected.applications, &mut summary.warnings);
    let origin = origin as f64 / 1000.0;
    let world = match &recordings[..] {
        [recording] if applications.len() == 1 => Some(world(recording, origin, (&jobs, &sources), (false, None))),
        // Applications that shared a cluster had executors of their own, so their jobs can't be replayed together as they ran.
        _ => None,
    };
    SparkTrace { summary, applications, origin, jobs, nodes, attempts, world, uses_sql }
}

/// Returns the counts and all warnings.
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
        paused: None,
        warnings,
        failures: collected.failures.counts().clone(),
        killed_by: collected.killed_by.counts().clone(),
        spark: Some(SparkCounts {
            applications: tally.applications,
            winners: tally.winners,
            speculative_winners: tally.speculative_winners,
            speculation_requests: tally.speculation_requests,
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
