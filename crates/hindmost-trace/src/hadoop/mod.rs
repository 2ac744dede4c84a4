//! Reads Hadoop logs: job history files (`.jhist`) of MapReduce 0.23 to 3.x in Avro's JSON or binary encoding, job
//! histories of Hadoop 0.16 to 1.x (text), and Rumen traces; plain or compressed; as one file or a folder of files.
//!
//! The log is read through one buffer. The reader keeps the tasks and attempts of a job until the job ends; a history
//! holds one job. The text of a Rumen trace is read task by task. A finished job is diagnosed and dropped, but for its id and
//! the names of machines; a replay keeps everything about its attempts.
//!
//! | Hadoop | replay |
//! | --- | --- |
//! | job | job; it arrives when it was submitted, the first one at 0 |
//! | maps, reduces | phases `map` (0) and `reduce` (1); reduces wait for the last map |
//! | task | task; its duration is that of its winner |
//! | task attempt | attempt |
//! | host | node; its slots are the largest number of attempts that ran on it at the same time |
//!
//! **What counts.** Each attempt of a map or reduce counts once, if it has ended, whatever its outcome. An attempt that
//! succeeded and was later reported as failed, because its output was lost, counts as failed; its finish time is the
//! time of its success. Setup and cleanup tasks, which MapReduce had before YARN, belong to no phase and are in no
//! count except [`HadoopFacts::setup_and_cleanup`]. A task that never had an attempt counts as a task; one whose attempts
//! have not ended does not.
//!
//! **Ends of jobs.** A Rumen trace may name an outcome for a job that had not finished: its finish time is -1, and the job
//! counts as unfinished.
//!
//! **Speculative attempts.** From Hadoop 2.5 on the log says for each attempt whether it is speculative (`avataar`). In
//! older logs an attempt counts as speculative if it started while another attempt of the same task was running, unless
//! a restarted ApplicationMaster started it, because earlier attempts ended with the previous ApplicationMaster.
//!
//! **Winners.** A task's winner is the attempt that the log names (`successfulAttemptId`), otherwise the attempt that
//! succeeded first. A killed attempt of a task with a winner is a killed loser.
//!
//! **Reduces** may start before the last map has ended, and then wait. If the last map ended during a reduce's run, the
//! reduce's duration counts from that time; otherwise from its start.
//!
//! **Demands.** A copy needs one CPU. These logs have the size of containers at best, not the memory of nodes.
//!
//! **Settings.** A history does not have the settings of its job. They are in the job's configuration, which Hadoop keeps beside
//! the history (`job_ID_conf.xml`). A diagnosis and a replay have the settings from there that matter for stragglers, if the log is
//! read from a file.

mod avro;
mod collect;
mod configuration;
mod counters;
mod diagnostics;
mod events;
mod files;
mod format;
mod hosts;
mod ids;
mod issues;
mod jhist;
mod job;
mod objects;
mod phases;
mod recording;
mod rumen;
mod shape;
mod text_history;

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::error::TraceError;
use crate::format::{Beginning, Format, Input, Kind, Source};
use crate::reading::compression::Plain;
use crate::reading::progress::{OnProgress, Progress};
use crate::reading::warnings::{some, warn};
use crate::recorder::Recorder;
use crate::summary::TraceSummary;
pub use crate::summary::{HadoopFacts, JobEnds, Locality, OtherAttempts, Splits};
use collect::Collector;
pub use format::{HadoopFormat, sniff};
use objects::Objects;
use shape::Shape;

/// Hadoop logs: one, or all in a folder together. Each job is an application.
pub(crate) struct Hadoop;

impl Format for Hadoop {
    fn kind(&self) -> Kind {
        Kind::Hadoop
    }

    fn is_one(&self, beginning: &Beginning<'_>) -> bool {
        sniff(beginning.plain).is_some()
    }

    fn read(&self, source: Source<'_>, recorder: &mut Recorder) -> Result<TraceSummary, TraceError> {
        let mut collector = Collector::default();
        collector.recorder = std::mem::take(recorder);
        let format = match source.input {
            Input::Folder(path) => read_folder(path, &mut collector, source.progress)?,
            Input::Stream(stream) => {
                let path = stream.path.map(Path::to_owned);
                let log = issues::Source { name: stream.name.clone(), path, file: 0, one_of_several: false };
                read_from(stream.watched(source.progress), log, &mut collector)?
            }
        };
        let summary = summary(format, &collector);
        *recorder = std::mem::take(&mut collector.recorder);
        let hosts = &collector.hosts;
        recorder.kept.machines = hosts.that_ran().map(|host| hosts.name(host).to_owned()).collect();
        Ok(summary)
    }
}

/// Returns whether a folder holds a Hadoop log at any depth.
///
/// # Errors
///
/// If the folder can't be read.
pub(crate) fn is_log_directory(path: &Path) -> io::Result<bool> {
    Ok(!files::find_logs(path)?.files.is_empty())
}

/// Returns whether a file is named like the configuration of a job, which is beside its history and is no log.
pub(crate) fn is_configuration(path: &Path) -> bool {
    configuration::is_named_like_one(path)
}

fn summary(format: &'static str, collector: &Collector) -> TraceSummary {
    let Collector { counts, issues, hosts, .. } = collector;
    let facts = collector.facts();
    let mut warnings = Vec::new();
    issues.add_warnings(&mut warnings);
    if facts.jobs.unfinished > 0 {
        let jobs = some(facts.jobs.unfinished, "job has", "jobs have");
        warnings.push(format!(
            "{jobs} no end in the log: still running, or the log was cut short; read as far as possible."
        ));
    }
    let rest = "replays have only the tasks that succeeded.";
    #[rustfmt::skip]
        warn(&mut warnings, &[
            (facts.jobs.failed, "job failed;", "jobs failed;", rest),
            (facts.jobs.killed, "job was killed;", "jobs were killed;", rest),
            (facts.tasks_without_attempt, "task never had an attempt:", "tasks never had an attempt:",
                "their jobs ended before, or had not ended; left out of replays."),
        ]);
    let others = facts.setup_and_cleanup.attempts;
    if others > 0 {
        let attempts = some(others, "attempt", "attempts");
        warnings.push(format!("{attempts} of setup and cleanup tasks belong to no phase and are not counted."));
    }
    let seconds = |milliseconds: i64| milliseconds as f64 / 1000.0;
    TraceSummary {
        format,
        jobs: counts.jobs,
        stages: counts.phases,
        tasks: counts.tasks,
        attempts: counts.attempts,
        speculative_attempts: counts.speculative,
        failed_attempts: counts.failed,
        killed_attempts: counts.killed,
        nodes: hosts.that_ran().count() as u64,
        from: counts.from.map(seconds),
        to: counts.to.map(seconds),
        paused: None,
        warnings,
        failures: facts.failures.clone(),
        killed_by: facts.kills.clone(),
        spark: None,
        hadoop: Some(Box::new(facts)),
    }
}

/// Reads all logs in a folder; returns the name of the format of the first one.
fn read_folder(
    path: &Path,
    collector: &mut Collector,
    on_progress: Option<OnProgress<'_>>,
) -> Result<&'static str, TraceError> {
    let cannot_open = |source| TraceError::Open { path: path.to_owned(), source };
    collector.issues.found = files::find_logs(path).map_err(cannot_open)?;
    let files: Vec<PathBuf> = std::mem::take(&mut collector.issues.found.files);
    let total = files.iter().map(|file| std::fs::metadata(file).map_or(0, |about| about.len())).sum();
    let mut progress = Progress::new(on_progress, Some(total));
    let mut format = None;
    let mut first_error = None;
    for (number, file) in (0..).zip(&files) {
        let name = file.strip_prefix(path).unwrap_or(file).display().to_string();
        let source = issues::Source { name, path: Some(file.clone()), file: number, one_of_several: files.len() > 1 };
        match read_file(file, source, collector, &mut progress) {
            Ok(found) => format = format.or(Some(found)),
            Err(error) => {
                collector.issues.failed(&error);
                first_error.get_or_insert(error);
            }
        }
    }
    match (format, first_error) {
        (Some(format), _) => Ok(format),
        (None, Some(error)) => Err(error),
        (None, None) => Err(TraceError::NoHadoopLog { path: path.to_owned() }),
    }
}

/// Reads one file; returns the name of its format.
fn read_file(
    path: &Path,
    source: issues::Source,
    collector: &mut Collector,
    progress: &mut Progress<'_>,
) -> Result<&'static str, TraceError> {
    let file = File::open(path).map_err(|source| TraceError::Open { path: path.to_owned(), source })?;
    read_from(progress.watch(file), source, collector)
}

/// Reads one log; returns the name of its format.
fn read_from(reader: impl Read, source: issues::Source, collector: &mut Collector) -> Result<&'static str, TraceError> {
    let failed = |error| source.failed(0, error);
    let mut objects = Objects::new(Plain::new(reader).map_err(failed)?, Shape::Events);
    let beginning = objects.beginning(format::LOOKED_AT).map_err(failed)?;
    let Some(format) = sniff(beginning) else {
        let found = format::describe(beginning);
        return Err(TraceError::NotHadoop { name: source.name, found });
    };
    match format {
        HadoopFormat::HistoryJson | HadoopFormat::HistoryBinary => {
            jhist::read(objects, &source, collector)?;
            Ok("hadoop-jhist")
        }
        HadoopFormat::HistoryText => {
            text_history::read(objects, &source, collector)?;
            Ok("hadoop-history")
        }
        HadoopFormat::Rumen => {
            objects.set_shape(Shape::Jobs);
            rumen::read(objects, &source, collector)?;
            Ok("rumen")
        }
    }
}
