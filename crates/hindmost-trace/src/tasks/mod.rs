//! Reads logs of which each row is an attempt: tables, Slurm's accounting, job logs of GNU parallel, traces of Nextflow,
//! timelines of Ray and queries of Trino.
//!
//! | file | what it does |
//! | --- | --- |
//! | `row.rs` | an attempt, as a reader takes it from a row |
//! | `collect.rs` | holds the rows of each application until they are complete |
//! | `finish.rs` | counts, diagnoses and keeps the rows of an application |
//! | `diagnosing.rs` | diagnoses applications in other threads |
//! | `recording.rs` | the rows of an application, or of all, as a recording |
//! | `shared.rs` | the slots that jobs share |
//! | `long_tasks.rs` | tasks that are long in several jobs |
//! | `workload.rs` | jobs and nodes for a replay of a log that is too large to be one recording |
//! | `issues.rs` | rows that were left out, as warnings |
//! | `delimited.rs`, `units.rs` | fields of a row; times, durations and amounts of bytes |
//! | `lines.rs`, `header.rs` | lines of a log, and rows under a header that names their fields |
//!
//! The readers themselves are modules next to this one: [`crate::table`], `slurm`, `parallel`, `nextflow`, `ray`,
//! `trino`.
//!
//! **Winners.** The first attempt of a task to succeed wins it. An attempt counts as a copy if the log says so, or if it
//! began while another attempt of its task was running.
//!
//! **Replays.** Jobs arrive when they were submitted, or when their first attempt began. A phase waits for the phases
//! that had ended before it began; what else tasks wait for, no such log says. A node has as many slots as attempts used on it at
//! the same time. If the log names no nodes, the replay has machines with one slot each. A log of which all rows can be held at the
//! same time is also kept as it ran, as a world like those of other engines.
//!
//! **Repeats.** In tables and in Slurm's output, tasks with the same name in phases with the same name and number of tasks do the same work
//! in every job: a task that is long in each of them is long by its own.

mod collect;
pub(crate) mod delimited;
mod diagnosing;
mod finish;
pub(crate) mod header;
mod issues;
mod kept;
pub(crate) mod lines;
mod long_tasks;
mod recording;
pub(crate) mod row;
mod shared;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
pub(crate) mod units;
mod workload;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use hindmost_core::metrics::Diagnosis;
use hindmost_core::workload::WorkloadJob;

use crate::diagnosis::{RecordedWorkload, Recording, workload as workload_of, workload_in_log};
use crate::error::TraceError;
use crate::reading::compression::Plain;
use crate::reading::progress::{OnProgress, Progress};
use crate::reading::sniff::refuse;
use crate::reading::window::Window;
use crate::recorded::{RecordedAttempt, RecordedNode};
use crate::summary::TraceSummary;
use crate::table::{self, Columns};
use crate::{nextflow, parallel, ray, slurm, trino};
use hindmost_core::metrics::Findings;

pub(crate) use collect::{Collector, Rules};
use recording::Joined;

/// Decompressed bytes of a log that are looked at to recognise its format.
pub(crate) const LOOKED_AT: usize = 64 << 10;

/// Seconds of a year.
const YEAR: f64 = 365.25 * 86_400.0;
/// Years that a log may span; a longer one has wrong times.
const MOST_YEARS: f64 = 10.0;

/// A format of which each row is an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskFormat {
    /// A table as CSV, TSV or JSON lines.
    Table,
    /// Output of Slurm's `sacct --parsable2`.
    Slurm,
    /// A job log of GNU parallel.
    Parallel,
    /// A trace of Nextflow.
    Nextflow,
    /// A timeline of Ray.
    Ray,
    /// A query of Trino or Presto.
    Trino,
}

impl TaskFormat {
    /// All formats.
    pub const ALL: [TaskFormat; 6] = [
        TaskFormat::Table,
        TaskFormat::Slurm,
        TaskFormat::Parallel,
        TaskFormat::Nextflow,
        TaskFormat::Ray,
        TaskFormat::Trino,
    ];

    /// Returns the name of the format, as [`TraceSummary::format`] has it.
    pub fn name(self) -> &'static str {
        match self {
            TaskFormat::Table => "table",
            TaskFormat::Slurm => "slurm",
            TaskFormat::Parallel => "parallel",
            TaskFormat::Nextflow => "nextflow",
            TaskFormat::Ray => "ray",
            TaskFormat::Trino => "trino",
        }
    }
}

/// A log whose rows are attempts, ready for a replay. Times are in seconds from the trace's origin.
#[derive(Clone, Debug)]
pub struct TaskTrace {
    summary: TraceSummary,
    origin: f64,
    jobs: Vec<WorkloadJob>,
    nodes: Vec<RecordedNode>,
    attempts: Vec<RecordedAttempt>,
    as_it_ran: Option<RecordedWorkload>,
}

impl TaskTrace {
    /// Returns the counts, and warnings about problems that the reader worked around.
    pub fn summary(&self) -> &TraceSummary {
        &self.summary
    }

    /// Returns the trace's origin, in seconds on the log's clock.
    pub fn origin(&self) -> f64 {
        self.origin
    }

    /// Returns the jobs with a task that succeeded, by arrival.
    pub fn workload_jobs(&self) -> &[WorkloadJob] {
        &self.jobs
    }

    /// Returns the nodes on which attempts ran.
    pub fn cluster_nodes(&self) -> &[RecordedNode] {
        &self.nodes
    }

    /// Returns the attempts that did not win and the copies that won, by start time.
    pub fn attempts(&self) -> &[RecordedAttempt] {
        &self.attempts
    }

    /// Returns all jobs together as they ran; `None` if the log is too large for that.
    pub fn as_it_ran(&self) -> Option<&RecordedWorkload> {
        self.as_it_ran.as_ref()
    }

    /// Returns the trace's summary, jobs, nodes and attempts.
    pub fn into_parts(self) -> (TraceSummary, Vec<WorkloadJob>, Vec<RecordedNode>, Vec<RecordedAttempt>) {
        (self.summary, self.jobs, self.nodes, self.attempts)
    }
}

/// Returns whether a log with this beginning is of a format.
type IsOne = fn(&[u8]) -> bool;

/// Returns the format of a log with this decompressed beginning; `None` if it is of none of these formats. A table is
/// recognised by its columns, or by those of `columns`.
pub fn sniff(beginning: &[u8], columns: &Columns) -> Option<TaskFormat> {
    let beginning = beginning.strip_prefix("\u{feff}".as_bytes()).unwrap_or(beginning);
    if !columns.is_empty() {
        return Some(TaskFormat::Table);
    }
    if is_event_of_spark(beginning) {
        return None;
    }
    let recognised: [(TaskFormat, IsOne); 6] = [
        (TaskFormat::Ray, ray::is_one),
        (TaskFormat::Trino, trino::is_one),
        (TaskFormat::Parallel, parallel::is_one),
        (TaskFormat::Slurm, slurm::is_one),
        (TaskFormat::Nextflow, nextflow::is_one),
        (TaskFormat::Table, table::is_one),
    ];
    recognised.into_iter().find(|(_, is_one)| is_one(beginning)).map(|(format, _)| format)
}

/// True if a log begins with an event of Spark: most logs do, and to look for the columns of a table takes longer than to read a small one.
fn is_event_of_spark(beginning: &[u8]) -> bool {
    let first = beginning.trim_ascii_start().strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
    first
        .and_then(|object| object.strip_prefix(br#""Event""#))
        .is_some_and(|rest| rest.trim_ascii_start().starts_with(b":"))
}

/// Returns the format of the file at a path, from its first kilobytes.
///
/// # Errors
///
/// If the file can't be opened or read.
pub(crate) fn find(path: &Path, columns: &Columns) -> std::io::Result<Option<TaskFormat>> {
    let mut beginning = Vec::new();
    Plain::new(File::open(path)?)?.take(LOOKED_AT as u64).read_to_end(&mut beginning)?;
    Ok(sniff(&beginning, columns))
}

/// Counts what the log at a path holds, finds what stragglers cost in it, and finds out what each application spent its time on.
///
/// # Errors
///
/// If the path can't be opened, and as for [`diagnose_tasks`].
pub fn diagnose(
    path: &Path,
    format: TaskFormat,
    columns: &Columns,
    progress: Option<OnProgress<'_>>,
) -> Result<(TraceSummary, Findings, Vec<Diagnosis>), TraceError> {
    Ok(with_diagnoses(read_path(path, format, columns, Collector::diagnosing(), progress)?, format))
}

/// Does the same as [`diagnose`] for a log that is read from `reader`. `name` is the log's name in errors.
///
/// # Errors
///
/// If reading fails, the log is not of this format, or it has no row that is an attempt.
pub fn diagnose_tasks(
    reader: impl Read,
    name: &str,
    format: TaskFormat,
    columns: &Columns,
    progress: Option<OnProgress<'_>>,
) -> Result<(TraceSummary, Findings, Vec<Diagnosis>), TraceError> {
    let collector = Collector::diagnosing();
    let mut progress = Progress::new(progress, None);
    Ok(with_diagnoses(read(progress.watch(reader), name, format, columns, collector)?, format))
}

fn with_diagnoses(mut collector: Collector, format: TaskFormat) -> (TraceSummary, Findings, Vec<Diagnosis>) {
    let diagnoses = collector.take_diagnoses();
    let findings = std::mem::take(&mut collector.gathering).findings(&diagnoses);
    (summary(&collector, format), findings, diagnoses)
}

/// Reads a log for a replay. `name` is the log's name in errors.
///
/// # Errors
///
/// As for [`diagnose_tasks`].
pub fn read_tasks(
    reader: impl Read,
    name: &str,
    format: TaskFormat,
    columns: &Columns,
) -> Result<TaskTrace, TraceError> {
    Ok(for_replay(read(reader, name, format, columns, Collector::keeping())?, format))
}

/// Reads the log at a path for a replay.
///
/// # Errors
///
/// As for [`diagnose`].
pub fn open(
    path: &Path,
    format: TaskFormat,
    columns: &Columns,
    progress: Option<OnProgress<'_>>,
) -> Result<TaskTrace, TraceError> {
    Ok(for_replay(read_path(path, format, columns, Collector::keeping(), progress)?, format))
}

/// Reads the log at a path as it ran: jobs, nodes and worlds of the applications with these numbers, without those that have no task that
/// succeeded or are too large to be held.
///
/// # Errors
///
/// As for [`diagnose`].
pub fn as_recorded(
    path: &Path,
    format: TaskFormat,
    columns: &Columns,
    wanted: &[u32],
    progress: Option<OnProgress<'_>>,
) -> Result<Vec<(u32, RecordedWorkload)>, TraceError> {
    let collector = read_path(path, format, columns, Collector::of_recordings(wanted), progress)?;
    let found = collector.recordings.map(|kept| kept.found).unwrap_or_default();
    // Other jobs may show whether tasks are long by their own.
    let all = collector.joined.and_then(Joined::whole).and_then(workload_of);
    let in_log = all.map(|all| all.world.repeats);
    let of = |one: Recording| Some((one.application, workload_in_log(one, in_log.as_ref())?));
    Ok(found.into_iter().filter_map(of).collect())
}

fn read_path(
    path: &Path,
    format: TaskFormat,
    columns: &Columns,
    collector: Collector,
    progress: Option<OnProgress<'_>>,
) -> Result<Collector, TraceError> {
    let failed = |source| TraceError::Open { path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    let about = file.metadata().map_err(failed)?;
    let mut progress = Progress::new(progress, about.is_file().then_some(about.len()));
    read(progress.watch(file), &path.display().to_string(), format, columns, collector)
}

fn read(
    reader: impl Read,
    name: &str,
    format: TaskFormat,
    columns: &Columns,
    mut collector: Collector,
) -> Result<Collector, TraceError> {
    let failed = |source| TraceError::Read { name: name.to_owned(), position: 0, source };
    let mut window = Window::new(Plain::new(reader).map_err(failed)?);
    let beginning = window.hold(LOOKED_AT).map_err(failed)?;
    refuse(beginning, name)?;
    if beginning.starts_with("\u{feff}".as_bytes()) {
        window.take(3);
    }
    name.rsplit('/').next().unwrap_or(name).clone_into(&mut collector.name);
    match format {
        TaskFormat::Table => table::read(window, name, columns, &mut collector)?,
        TaskFormat::Slurm => slurm::read(window, name, &mut collector)?,
        TaskFormat::Parallel => parallel::read(window, name, &mut collector)?,
        TaskFormat::Nextflow => nextflow::read(window, name, &mut collector)?,
        TaskFormat::Ray => ray::read(window, name, &mut collector)?,
        TaskFormat::Trino => trino::read(window, name, &mut collector)?,
    }
    if !collector.found_any() {
        return Err(TraceError::NoAttempt { name: name.to_owned(), format: format.name(), why: collector.why_none() });
    }
    collector.end();
    Ok(collector)
}

fn for_replay(mut collector: Collector, format: TaskFormat) -> TaskTrace {
    let workload = workload::assemble(&mut collector);
    let as_it_ran = collector.joined.take().and_then(Joined::whole).and_then(workload_of);
    let as_it_ran =
        as_it_ran.map(|found| RecordedWorkload { nodes: with_unnamed(found.nodes, &workload.nodes), ..found });
    let mut summary = summary(&collector, format);
    if !workload.nodes.is_empty() {
        summary.warnings.push(
            "The log does not say how many slots nodes had; each node gets as many slots as were used on it at the same time."
                .to_owned(),
        );
    }
    if workload.unnamed > 0 {
        summary.warnings.push(format!(
            "Attempts whose node is not known ran on up to {} slots at the same time; the replay has as many slots on machines of its own for them.",
            workload.unnamed
        ));
    }
    if as_it_ran.is_none() && !workload.jobs.is_empty() {
        summary.warnings.push(
            "The log is too large to be replayed as it ran: failed attempts are left out, and recorded and replayed times are not compared. In the replay a phase waits for the phases that had ended before it began, and its tasks start when slots are free."
                .to_owned(),
        );
    }
    let workload::Workload { origin, jobs, nodes, attempts, .. } = workload;
    TaskTrace { summary, origin, jobs, nodes, attempts, as_it_ran }
}

/// Returns the nodes of a recording with machines like those of `all` for the attempts whose node the log does not name: engines
/// start copies on other machines.
fn with_unnamed(mut nodes: Vec<RecordedNode>, all: &[RecordedNode]) -> Vec<RecordedNode> {
    nodes.retain(|node| !node.host.is_empty());
    nodes.extend(all.iter().filter(|node| node.host.is_empty()).cloned());
    nodes
}

fn summary(collector: &Collector, format: TaskFormat) -> TraceSummary {
    let counts = &collector.counts;
    let mut warnings = Vec::new();
    collector.issues.add_warnings(&mut warnings);
    if let (Some(from), Some(to)) = (counts.from, counts.to)
        && to - from > MOST_YEARS * YEAR
    {
        warnings.push(format!(
            "The log spans {:.0} years: a wrong unit of its times may be the cause, or a number that stands for no time.",
            (to - from) / YEAR
        ));
    }
    TraceSummary {
        format: format.name(),
        jobs: counts.jobs,
        stages: counts.phases,
        tasks: counts.tasks,
        attempts: counts.attempts,
        speculative_attempts: counts.speculative,
        failed_attempts: counts.failed,
        killed_attempts: counts.killed,
        nodes: collector.nodes.len() as u64,
        from: counts.from,
        to: counts.to,
        paused: None,
        warnings,
        failures: collector.failures.counts().clone(),
        killed_by: collector.kills.counts().clone(),
        spark: None,
        hadoop: None,
    }
}
