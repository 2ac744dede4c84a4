//! Hadoop's logs: job history files (`.jhist`) of MapReduce 0.23 to 3.x, in Avro's JSON or binary
//! encoding, and Rumen traces; plain or gzip; one file, or a folder of them.
//!
//! The log streams through one buffer. What is held is a job's tasks and attempts, until the job ends: a
//! history holds one job; of a Rumen trace a task's text at most is held at a time. Summary and analysis
//! keep nothing of a job that has ended but its id and the names of machines; a replay keeps 8 bytes a
//! task and 32 an attempt.
//!
//! | Hadoop | here |
//! | --- | --- |
//! | job | job, arriving when it was submitted; the first one at 0 |
//! | maps, reduces | phases `map` (0) and `reduce` (1); reduces wait for the last map |
//! | task | task; its duration is that of its winner |
//! | task attempt | attempt |
//! | host | node with as many slots as attempts were seen to run there at a time |
//!
//! **What counts.** Attempts are those of maps and reduces that ended, however; each attempt counts once.
//! One that had succeeded and is later said to have failed, since its output was lost, counts as failed,
//! and ran until it had succeeded. Setup and cleanup tasks, which MapReduce had before YARN, are in no
//! phase and no count; [`HadoopFacts::setup_and_cleanup`] tells how many there were.
//!
//! **Speculative attempts.** From Hadoop 2.5 on the start of an attempt says whether it is speculative
//! (`avataar`). Elsewhere an attempt is speculative if it started while another attempt of the same task
//! was running. (An attempt of a later life of the master is not: the former ones died with it.)
//!
//! **Winners.** A task's winner is the attempt that the log names, where it does
//! (`successfulAttemptId`), else the one of those that succeeded which finished first. A killed attempt of
//! a task with a winner is a killed loser.
//!
//! **Reduces** start before the last map has ended, and wait. Their durations, in replays and in the
//! analysis, run from the end of the last map if they started before it; of an attempt that ended before,
//! from its start.
//!
//! **Demands.** A copy needs one cpu and, where the log tells the size of containers (Hadoop 2.x counts
//! their memory-time, Rumen has `jobMapMB`), that much memory; [`HadoopTrace::node_memory`] is what nodes
//! must have to run what they ran.

mod avro;
mod collect;
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
mod rumen;
mod shape;
mod workload;

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use hindmost_core::workload::WorkloadJob;

use crate::analysis::Findings;
use crate::error::TraceError;
use crate::reading::compression::Plain;
use crate::reading::progress::{OnProgress, Progress};
use crate::reading::warnings::some;
use crate::recorded::{RecordedAttempt, RecordedNode};
use crate::summary::TraceSummary;
pub use crate::summary::{HadoopFacts, JobEnds, Locality, OtherAttempts, Splits};
use collect::Collector;
pub use format::{HadoopFormat, sniff};
use issues::Source;
use objects::Objects;
use shape::Shape;
use workload::Workload;

/// A Hadoop log, ready to be replayed. Times are in seconds from the trace's origin: the submission of the
/// first job of which a task succeeded.
#[derive(Clone, Debug)]
pub struct HadoopTrace {
    summary: TraceSummary,
    facts: HadoopFacts,
    origin: f64,
    jobs: Vec<WorkloadJob>,
    nodes: Vec<RecordedNode>,
    memory: Vec<Option<f64>>,
    attempts: Vec<RecordedAttempt>,
}

impl HadoopTrace {
    /// The counts and everything the reader had to get around or leave out.
    pub fn summary(&self) -> &TraceSummary {
        &self.summary
    }

    /// What Hadoop's logs tell beyond the counts.
    pub fn facts(&self) -> &HadoopFacts {
        &self.facts
    }

    /// The trace's second 0, in seconds since 1970.
    pub fn origin(&self) -> f64 {
        self.origin
    }

    /// The jobs of which a task succeeded, by arrival. Their durations are
    /// [`Recorded`](hindmost_core::workload::Durations::Recorded): each task's winner; what copies would
    /// have taken that never ran is not in a log (see [`crate::COPIES_NOTE`]).
    ///
    /// Phases of which the log tells the size of containers demand `memory`, in bytes, beside `cpus`: the
    /// cluster must have it, see [`node_memory`](HadoopTrace::node_memory), or
    /// [`without_memory`](HadoopTrace::without_memory).
    pub fn workload_jobs(&self) -> &[WorkloadJob] {
        &self.jobs
    }

    /// The machines on which maps or reduces ran, in the order in which the log names them.
    pub fn cluster_nodes(&self) -> &[RecordedNode] {
        &self.nodes
    }

    /// Of each of the [`cluster_nodes`](HadoopTrace::cluster_nodes), the most bytes that the containers on
    /// it held at a time; `None` where the log doesn't tell the size of any.
    pub fn node_memory(&self) -> &[Option<f64>] {
        &self.memory
    }

    /// The same with demands of one cpu alone, for clusters of slots.
    pub fn without_memory(mut self) -> HadoopTrace {
        for phase in self.jobs.iter_mut().flat_map(|job| &mut job.spec.phases) {
            phase.demand.remove("memory");
        }
        self
    }

    /// The attempts that did not win, and the speculative ones that did, by launch. All others are their
    /// task's one winner. Their application is the job's number in the order of the log, from 0; their
    /// stage 0 for maps and 1 for reduces.
    pub fn attempts(&self) -> &[RecordedAttempt] {
        &self.attempts
    }

    /// The same, without a copy of it.
    pub fn into_parts(self) -> (TraceSummary, Vec<WorkloadJob>, Vec<RecordedNode>, Vec<RecordedAttempt>) {
        (self.summary, self.jobs, self.nodes, self.attempts)
    }
}

/// Whether there is a Hadoop log at a path: a file that begins as one does, or a folder that holds one,
/// however deep.
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

/// Counts what a Hadoop log holds, as [`summarize`] does of a file. `name` is what errors call it.
///
/// # Errors
///
/// If reading fails, it is no Hadoop log, or holds no complete event or job.
pub fn summarize_hadoop(
    reader: impl Read,
    name: &str,
    progress: Option<OnProgress<'_>>,
) -> Result<TraceSummary, TraceError> {
    Ok(read_stream(reader, name, Collector::new(false, false), progress)?.summary())
}

/// Counts what a Hadoop log holds and finds what stragglers cost in it, as [`analyse`] does of a file.
///
/// # Errors
///
/// As [`summarize_hadoop`].
pub fn analyse_hadoop(
    reader: impl Read,
    name: &str,
    progress: Option<OnProgress<'_>>,
) -> Result<(TraceSummary, Findings), TraceError> {
    Ok(with_findings(read_stream(reader, name, Collector::new(true, false), progress)?))
}

/// Reads a Hadoop log for a replay, as [`open`] does a file.
///
/// # Errors
///
/// As [`summarize_hadoop`].
pub fn read_hadoop(reader: impl Read, name: &str, progress: Option<OnProgress<'_>>) -> Result<HadoopTrace, TraceError> {
    Ok(for_replay(read_stream(reader, name, Collector::new(false, true), progress)?))
}

/// Counts what a Hadoop log holds; of a folder, all logs in it together.
///
/// # Errors
///
/// If it can't be opened or read, is no Hadoop log, or holds no complete event or job. Of several files
/// those that can't be read are left out, with a warning, unless it is all of them.
pub fn summarize(path: &Path, progress: Option<OnProgress<'_>>) -> Result<TraceSummary, TraceError> {
    Ok(read(path, Collector::new(false, false), progress)?.summary())
}

/// Finds what stragglers cost in a Hadoop log, and why.
///
/// # Errors
///
/// As [`summarize`].
pub fn analyse(path: &Path, progress: Option<OnProgress<'_>>) -> Result<(TraceSummary, Findings), TraceError> {
    Ok(with_findings(read(path, Collector::new(true, false), progress)?))
}

/// Reads a Hadoop log for a replay; of a folder, all logs in it together.
///
/// # Errors
///
/// As [`summarize`].
pub fn open(path: &Path, progress: Option<OnProgress<'_>>) -> Result<HadoopTrace, TraceError> {
    Ok(for_replay(read(path, Collector::new(false, true), progress)?))
}

fn with_findings(mut reading: Reading) -> (TraceSummary, Findings) {
    let analysis = reading.collector.take_analysis().unwrap_or_default();
    let hosts = &reading.collector.hosts;
    let findings = analysis.findings(&|host| hosts.name(host).to_owned());
    (reading.summary(), findings)
}

fn for_replay(mut reading: Reading) -> HadoopTrace {
    let mut summary = reading.summary();
    let facts = reading.collector.facts();
    let Workload { origin, jobs, nodes, memory, attempts } = workload::assemble(&mut reading.collector);
    if !nodes.is_empty() {
        summary.warnings.push(
            "The log does not say how many slots nodes had; they are the most attempts seen to run there at a time."
                .to_owned(),
        );
    }
    let idle = summary.jobs - jobs.len() as u64;
    if idle > 0 {
        let jobs = some(idle, "job", "jobs");
        summary.warnings.push(format!("{jobs} without a task that succeeded, left out of replays."));
    }
    HadoopTrace { summary, facts, origin: origin as f64 / 1000.0, jobs, nodes, memory, attempts }
}

/// A log that has been read.
struct Reading {
    format: &'static str,
    collector: Collector,
}

impl Reading {
    fn summary(&self) -> TraceSummary {
        let Collector { counts, issues, hosts, .. } = &self.collector;
        let facts = self.collector.facts();
        let mut warnings = Vec::new();
        issues.tell(&mut warnings);
        if facts.jobs.unfinished > 0 {
            let jobs = some(facts.jobs.unfinished, "job has", "jobs have");
            warnings.push(format!(
                "{jobs} no end in the log: still running, or the log was cut short; read as far as it goes."
            ));
        }
        let others = facts.setup_and_cleanup.attempts;
        if others > 0 {
            let attempts = some(others, "attempt", "attempts");
            warnings.push(format!("{attempts} of setup and cleanup tasks, in no phase and not counted."));
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
            warnings,
            failures: facts.failures.clone(),
            killed_by: facts.kills.clone(),
            spark: None,
            hadoop: Some(Box::new(facts)),
        }
    }
}

/// Reads what comes from a reader.
fn read_stream(
    reader: impl Read,
    name: &str,
    mut collector: Collector,
    tell: Option<OnProgress<'_>>,
) -> Result<Reading, TraceError> {
    let source = Source { name: name.to_owned(), file: 0, one_of_several: false };
    let format = read_from(Progress::new(tell, None).watch(reader), source, &mut collector)?;
    Ok(Reading { format, collector })
}

/// Reads a file or all of a folder.
fn read(path: &Path, mut collector: Collector, tell: Option<OnProgress<'_>>) -> Result<Reading, TraceError> {
    let cannot_open = |source| TraceError::Open { path: path.to_owned(), source };
    let about = std::fs::metadata(path).map_err(cannot_open)?;
    if !about.is_dir() {
        let mut progress = Progress::new(tell, about.is_file().then_some(about.len()));
        let source = Source { name: path.display().to_string(), file: 0, one_of_several: false };
        let format = read_file(path, source, &mut collector, &mut progress)?;
        return Ok(Reading { format, collector });
    }

    collector.issues.found = files::find_logs(path).map_err(cannot_open)?;
    let files: Vec<PathBuf> = std::mem::take(&mut collector.issues.found.files);
    let total = files.iter().map(|file| std::fs::metadata(file).map_or(0, |about| about.len())).sum();
    let mut progress = Progress::new(tell, Some(total));
    let mut format = None;
    let mut first_error = None;
    for (number, file) in (0..).zip(&files) {
        let name = file.strip_prefix(path).unwrap_or(file).display().to_string();
        let source = Source { name, file: number, one_of_several: files.len() > 1 };
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

/// Reads one file; gives its format's name.
fn read_file(
    path: &Path,
    source: Source,
    collector: &mut Collector,
    progress: &mut Progress<'_>,
) -> Result<&'static str, TraceError> {
    let file = File::open(path).map_err(|source| TraceError::Open { path: path.to_owned(), source })?;
    read_from(progress.watch(file), source, collector)
}

/// Reads one log; gives its format's name.
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
        HadoopFormat::Rumen => {
            objects.set_shape(Shape::Jobs);
            rumen::read(objects, &source, collector)?;
            Ok("rumen")
        }
    }
}
