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
//! **Demands.** A copy needs one CPU. If the log has the size of containers (Hadoop 2.x counts their memory-time, Rumen
//! has `jobMapMB`), it also needs memory of this size. [`HadoopTrace::node_memory`] returns the memory that each node
//! needs for the attempts that ran on it.
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
mod kept;
mod objects;
mod phases;
mod recording;
mod rumen;
mod shape;
mod text_history;
mod workload;

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use hindmost_core::workload::WorkloadJob;

use hindmost_core::metrics::Diagnosis;

use crate::diagnosis::{RecordedWorkload, RecordedWorld, Recording};
use crate::error::TraceError;
use crate::reading::compression::Plain;
use crate::reading::progress::{OnProgress, Progress};
use crate::reading::warnings::{some, warn};
use crate::recorded::{RecordedAttempt, RecordedNode};
use crate::summary::TraceSummary;
pub use crate::summary::{HadoopFacts, JobEnds, Locality, OtherAttempts, Splits};
use collect::Collector;
pub use format::{HadoopFormat, sniff};
use hindmost_core::metrics::Findings;
use issues::Source;
use objects::Objects;
use shape::Shape;
use workload::Workload;

/// A Hadoop log, ready for a replay. Times are in seconds from the trace's origin: the submission of the first job
/// with a task that succeeded.
#[derive(Clone, Debug)]
pub struct HadoopTrace {
    summary: TraceSummary,
    facts: HadoopFacts,
    origin: f64,
    jobs: Vec<WorkloadJob>,
    nodes: Vec<RecordedNode>,
    memory: Vec<Option<f64>>,
    attempts: Vec<RecordedAttempt>,
    world: RecordedWorld,
}

impl HadoopTrace {
    /// Returns the counts, and warnings about problems that the reader worked around.
    pub fn summary(&self) -> &TraceSummary {
        &self.summary
    }

    /// Returns the counts that only Hadoop logs have.
    pub fn facts(&self) -> &HadoopFacts {
        &self.facts
    }

    /// Returns the trace's origin in seconds since 1970.
    pub fn origin(&self) -> f64 {
        self.origin
    }

    /// Returns the jobs with a task that succeeded, by arrival. Durations are
    /// [`Recorded`](hindmost_core::workload::Durations::Recorded): each task takes as long as its winner. A log has
    /// no durations of copies that never ran (see [`crate::COPIES_NOTE`]).
    ///
    /// If the log has the size of containers, phases demand `memory` in bytes in addition to `cpus`. In this case the
    /// nodes of the replay need memory (see [`node_memory`](HadoopTrace::node_memory)), or the demands must be removed
    /// with [`without_memory`](HadoopTrace::without_memory).
    pub fn workload_jobs(&self) -> &[WorkloadJob] {
        &self.jobs
    }

    /// Returns the machines on which maps or reduces ran, in the order in which the log names them.
    pub fn cluster_nodes(&self) -> &[RecordedNode] {
        &self.nodes
    }

    /// Returns the most bytes that the containers on each of the [`cluster_nodes`](HadoopTrace::cluster_nodes) used
    /// at the same time; `None` if the log has no size of any container.
    pub fn node_memory(&self) -> &[Option<f64>] {
        &self.memory
    }

    /// Removes the demands for memory, for clusters whose nodes only have slots.
    pub fn without_memory(mut self) -> HadoopTrace {
        for phase in self.jobs.iter_mut().flat_map(|job| &mut job.spec.phases) {
            phase.demand.remove("memory");
        }
        self
    }

    /// Returns the attempts that did not win and the speculative attempts that won, by start time. Winners that were
    /// not speculative are left out. An attempt's application is the job's number in the order of the log, counted from
    /// 0; its stage is 0 for maps and 1 for reduces.
    pub fn attempts(&self) -> &[RecordedAttempt] {
        &self.attempts
    }

    /// Returns how the jobs ran.
    pub fn world(&self) -> &RecordedWorld {
        &self.world
    }

    /// Returns the trace's summary, jobs, nodes and attempts.
    pub fn into_parts(self) -> (TraceSummary, Vec<WorkloadJob>, Vec<RecordedNode>, Vec<RecordedAttempt>) {
        (self.summary, self.jobs, self.nodes, self.attempts)
    }
}

/// Returns whether there is a Hadoop log at a path: a file that begins like one, or a folder that holds one at any
/// depth.
///
/// # Errors
///
/// If the file or folder can't be read.
pub(crate) fn find(path: &Path) -> io::Result<bool> {
    if path.is_dir() {
        return Ok(!files::find_logs(path)?.files.is_empty());
    }
    Ok(files::format_of(path)?.is_some())
}

/// Returns whether a file is named like the configuration of a job, which is beside its history and is no log.
pub(crate) fn is_configuration(path: &Path) -> bool {
    configuration::is_named_like_one(path)
}

/// Counts what a Hadoop log holds, finds what stragglers cost in it, and finds out what each job spent its time on. `name` is the
/// log's name in errors.
///
/// # Errors
///
/// If reading fails, it is not a Hadoop log, or it holds no complete event or job.
pub fn diagnose_hadoop(
    reader: impl Read,
    name: &str,
    progress: Option<OnProgress<'_>>,
) -> Result<(TraceSummary, Findings, Vec<Diagnosis>), TraceError> {
    Ok(with_diagnoses(read_stream(reader, name, Collector::diagnosing(), progress)?))
}

/// Reads a Hadoop log for a replay. `name` is the log's name in errors.
///
/// # Errors
///
/// As for [`diagnose_hadoop`].
pub fn read_hadoop(reader: impl Read, name: &str, progress: Option<OnProgress<'_>>) -> Result<HadoopTrace, TraceError> {
    Ok(for_replay(read_stream(reader, name, Collector::keeping(), progress)?))
}

/// Does the same as [`diagnose_hadoop`] for a Hadoop log, or for all logs in a folder together.
///
/// # Errors
///
/// If the path can't be opened or read, is not a Hadoop log, or holds no complete event or job. If there are several
/// files and at least one can be read, unreadable files become warnings instead.
pub fn diagnose(
    path: &Path,
    progress: Option<OnProgress<'_>>,
) -> Result<(TraceSummary, Findings, Vec<Diagnosis>), TraceError> {
    Ok(with_diagnoses(read(path, Collector::diagnosing(), progress)?))
}

/// Reads a Hadoop log, or all logs in a folder together, for a replay.
///
/// # Errors
///
/// As for [`diagnose`].
pub fn open(path: &Path, progress: Option<OnProgress<'_>>) -> Result<HadoopTrace, TraceError> {
    Ok(for_replay(read(path, Collector::keeping(), progress)?))
}

/// Reads a Hadoop log as it ran: jobs, nodes and worlds of the jobs with these numbers, each alone, without those that have no task that
/// succeeded.
///
/// # Errors
///
/// As for [`diagnose`].
pub fn as_recorded(
    path: &Path,
    wanted: &[u32],
    progress: Option<OnProgress<'_>>,
) -> Result<Vec<(u32, RecordedWorkload)>, TraceError> {
    let mut reading = read(path, Collector::keeping(), progress)?;
    let recordings = reading.collector.take_kept().recordings.into_iter();
    let of = |mut recording: Recording| {
        let number = recording.application;
        if let Some(from) = recording.from {
            (recording.active, recording.active_ids) = (vec![(from, recording.to)], vec![0]);
        }
        Some((number, crate::diagnosis::workload(recording)?))
    };
    Ok(recordings.filter(|one| wanted.contains(&one.application)).filter_map(of).collect())
}

fn with_diagnoses(mut reading: Reading) -> (TraceSummary, Findings, Vec<Diagnosis>) {
    let (findings, diagnoses) = reading.collector.take_applications().end();
    (reading.summary(), findings, diagnoses)
}

fn for_replay(mut reading: Reading) -> HadoopTrace {
    let mut summary = reading.summary();
    let facts = reading.collector.facts();
    let Workload { origin, jobs, nodes, memory, attempts, world } = workload::assemble(&mut reading.collector);
    if !nodes.is_empty() {
        summary.warnings.push(
            "The log does not say how many slots nodes had; each node gets as many slots as the most attempts that ran on it at the same time."
                .to_owned(),
        );
    }
    let idle = summary.jobs - jobs.len() as u64;
    if idle > 0 {
        let jobs = some(idle, "job has", "jobs have");
        summary.warnings.push(format!("{jobs} no task that succeeded; left out of replays."));
    }
    HadoopTrace { summary, facts, origin: origin as f64 / 1000.0, jobs, nodes, memory, attempts, world }
}

/// The result of reading a log.
struct Reading {
    format: &'static str,
    collector: Collector,
}

impl Reading {
    fn summary(&self) -> TraceSummary {
        let Collector { counts, issues, hosts, .. } = &self.collector;
        let facts = self.collector.facts();
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
            format: self.format,
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
}

/// Reads a log from a reader.
fn read_stream(
    reader: impl Read,
    name: &str,
    mut collector: Collector,
    on_progress: Option<OnProgress<'_>>,
) -> Result<Reading, TraceError> {
    let source = Source { name: name.to_owned(), path: None, file: 0, one_of_several: false };
    let format = read_from(Progress::new(on_progress, None).watch(reader), source, &mut collector)?;
    Ok(Reading { format, collector })
}

/// Reads a file, or all logs in a folder.
fn read(path: &Path, mut collector: Collector, on_progress: Option<OnProgress<'_>>) -> Result<Reading, TraceError> {
    let cannot_open = |source| TraceError::Open { path: path.to_owned(), source };
    let about = std::fs::metadata(path).map_err(cannot_open)?;
    if !about.is_dir() {
        let mut progress = Progress::new(on_progress, about.is_file().then_some(about.len()));
        let source =
            Source { name: path.display().to_string(), path: Some(path.to_owned()), file: 0, one_of_several: false };
        let format = read_file(path, source, &mut collector, &mut progress)?;
        return Ok(Reading { format, collector });
    }

    collector.issues.found = files::find_logs(path).map_err(cannot_open)?;
    let files: Vec<PathBuf> = std::mem::take(&mut collector.issues.found.files);
    let total = files.iter().map(|file| std::fs::metadata(file).map_or(0, |about| about.len())).sum();
    let mut progress = Progress::new(on_progress, Some(total));
    let mut format = None;
    let mut first_error = None;
    for (number, file) in (0..).zip(&files) {
        let name = file.strip_prefix(path).unwrap_or(file).display().to_string();
        let source = Source { name, path: Some(file.clone()), file: number, one_of_several: files.len() > 1 };
        match read_file(file, source, &mut collector, &mut progress) {
            Ok(found) => format = format.or(Some(found)),
            Err(error) => {
                collector.issues.failed(&error);
                first_error.get_or_insert(error);
            }
        }
    }
    match (format, first_error) {
        (Some(format), _) => Ok(Reading { format, collector }),
        (None, Some(error)) => Err(error),
        (None, None) => Err(TraceError::NoHadoopLog { path: path.to_owned() }),
    }
}

/// Reads one file; returns the name of its format.
fn read_file(
    path: &Path,
    source: Source,
    collector: &mut Collector,
    progress: &mut Progress<'_>,
) -> Result<&'static str, TraceError> {
    let file = File::open(path).map_err(|source| TraceError::Open { path: path.to_owned(), source })?;
    read_from(progress.watch(file), source, collector)
}

/// Reads one log; returns the name of its format.
fn read_from(reader: impl Read, source: Source, collector: &mut Collector) -> Result<&'static str, TraceError> {
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
