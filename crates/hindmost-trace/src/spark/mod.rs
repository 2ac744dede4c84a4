//! Reads Spark event logs: JSON lines of Spark 1.4 to 4.x (also indented, or as an array), complete or cut short, plain
//! or compressed, as one file, a rolling log of several files, the parts that Databricks delivers, or a directory with
//! logs of several applications.
//!
//! The log is read through one buffer. Of most events only the name at the beginning of the line is read; of the other
//! events only the needed fields are parsed. About 100 bytes are kept for each attempt of an application until the
//! application has ended. A replay keeps these for all applications.
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
mod closing;
mod collect;
mod connect;
mod decommissioned;
mod events;
mod executors;
mod fields;
mod id_sets;
mod identity;
mod jobs;
mod oddities;
mod parts;
mod pauses;
mod plan;
mod queries;
mod reader;
mod reasons;
mod recording;
mod resubmission;
mod rollover;
mod second_ends;
mod sources;
mod stage;
mod stages;
mod tally;
mod task_end;
mod task_ids;

#[cfg(test)]
mod tests;

use std::fs::File;
use std::path::Path;

use crate::error::TraceError;
use crate::format::{Beginning, Format, Input, Kind, Source};
use crate::reading::progress::Progress;
use crate::recorder::Recorder;
use crate::summary::{SparkCounts, TraceSummary};
use collect::Collected;
use reader::{Reading, Stream};
use sources::Sources;

/// Spark event logs: a file, the directory of a rolling log, or a directory of both, whose applications are read as one trace. Nodes
/// are hosts, phases are stages, and times are seconds since 1970.
pub(crate) struct Spark;

impl Format for Spark {
    fn kind(&self) -> Kind {
        Kind::Spark
    }

    /// Spark's reader takes every log that no other one takes: its errors describe it.
    fn is_one(&self, _: &Beginning<'_>) -> bool {
        true
    }

    fn read(&self, source: Source<'_>, recorder: &mut Recorder) -> Result<TraceSummary, TraceError> {
        let Source { input, progress } = source;
        let (reading, is_directory) = match input {
            Input::Folder(path) => {
                let sources = sources::find(path)?;
                let mut progress = Progress::new(progress, sources.total());
                (read_sources(sources, recorder, &mut progress)?, true)
            }
            Input::Stream(stream) => {
                let mut reading = Reading::new(std::mem::take(recorder), false);
                let name = stream.name.clone();
                let of_stream = Stream { name: &name, label: None, later_part: false, may_be_empty: false };
                reading.read(stream.watched(progress), &of_stream)?;
                (reading, false)
            }
        };
        let Reading { collector, warnings } = reading;
        let collected;
        (collected, *recorder) = collector.finish();
        // An application may have no event but its start.
        recorder.kept.applications = collected.tally.applications as usize;
        collected.oddities.add_warnings(&mut recorder.kept.about);
        Ok(summary(&collected, warnings, is_directory))
    }
}

/// Returns whether a path is a directory with Spark event logs: a rolling log, or several logs of any kind. Always
/// false for a file.
pub(crate) fn is_log_directory(path: &Path) -> bool {
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

fn read_sources(sources: Sources, recorder: &mut Recorder, progress: &mut Progress<'_>) -> Result<Reading, TraceError> {
    let Sources { logs, warnings } = sources;
    let mut reading = Reading::new(std::mem::take(recorder), logs.len() > 1);
    reading.warnings = warnings;
    let mut first_error = None;
    let mut any = false;
    for log in &logs {
        let mut begun = false;
        for (number, part) in log.parts.iter().enumerate() {
            let name = part.path.display().to_string();
            let stream = Stream {
                name: &name,
                label: Some(&part.label),
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
                    reading.warnings.push(format!("{} is left out: {error}.", part.label));
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
        _ => Ok(reading),
    }
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
