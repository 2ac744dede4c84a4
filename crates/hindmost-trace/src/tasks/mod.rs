//! Reads logs of which each row is an attempt: tables, Slurm's accounting, job logs of GNU parallel, traces of Nextflow,
//! timelines of Ray, queries of Trino, jobs of Flink, Dask's streams of tasks, Snakemake's metadata, HTCondor's event logs and SWF.
//!
//! | file | what it does |
//! | --- | --- |
//! | `row.rs` | an attempt, as a reader takes it from a row |
//! | `collect.rs` | holds the rows of each application until they are complete |
//! | `held.rs` | the rows of an application, and the names in them |
//! | `active.rs` | when jobs ran, or could have run |
//! | `attempts.rs` | which rows are attempts of the same task, and which of them won |
//! | `finish.rs` | counts and records the rows of an application |
//! | `recording.rs` | the rows of an application as a recording |
//! | `shared.rs` | the slots that jobs share |
//! | `long_tasks.rs` | tasks that are long in several jobs |
//! | `folders.rs` | the files of a log that is a folder |
//! | `issues.rs` | rows that were left out, as warnings |
//! | `delimited.rs`, `units.rs` | fields of a row; times, durations and amounts of bytes |
//! | `lines.rs`, `header.rs` | lines of a log, and rows under a header that names their fields |
//!
//! The readers themselves are modules next to this one: [`crate::table`], `slurm`, `parallel`, `nextflow`, `ray`,
//! `trino`, `flink`, `dask`, `snakemake`, `condor`, `swf`.
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

mod active;
mod attempts;
mod collect;
pub(crate) mod delimited;
mod finish;
pub(crate) mod folders;
pub(crate) mod header;
mod held;
mod issues;
pub(crate) mod lines;
mod long_tasks;
mod recording;
pub(crate) mod row;
mod shared;
#[cfg(test)]
mod tests;
pub(crate) mod units;

use crate::error::TraceError;
use crate::format::{Beginning, Format, Input, Kind, LOOKED_AT, Source, TaskFormat};
use crate::reading::compression::Plain;
use crate::reading::sniff::refuse;
use crate::reading::warnings::some;
use crate::reading::window::Window;
use crate::recorder::Recorder;
use crate::summary::TraceSummary;

pub(crate) use collect::{Collector, Rules};

/// Seconds of a year.
const YEAR: f64 = 365.25 * 86_400.0;
/// Years that a log may span; a longer one has wrong times.
const MOST_YEARS: f64 = 10.0;

/// A reader of rows that are attempts.
pub(crate) struct Rows<'a> {
    /// The format.
    pub format: TaskFormat,
    /// Returns whether a log with this decompressed beginning is of the format.
    pub is_one: fn(&[u8]) -> bool,
    /// Returns whether a file with this beginning is part of a log that is a folder of such files; `None` if a log is one file.
    pub in_folders: Option<fn(&[u8]) -> bool>,
    /// Gives all rows to a collector. The text is the log's name in errors.
    pub read: &'a (dyn Fn(Window<'_>, &str, &mut Collector) -> Result<(), TraceError> + Sync),
}

impl Format for Rows<'_> {
    fn kind(&self) -> Kind {
        Kind::Tasks(self.format)
    }

    fn is_one(&self, beginning: &Beginning<'_>) -> bool {
        !beginning.is_event_of_spark() && (self.is_one)(beginning.plain)
    }

    fn read(&self, source: Source<'_>, recorder: &mut Recorder) -> Result<TraceSummary, TraceError> {
        let (name, reader, left_out) = match (source.input, self.in_folders) {
            (Input::Folder(path), Some(is_part)) => {
                let files = folders::find(path, is_part).unwrap_or_default();
                let left_out = files.left_out;
                (path.display().to_string(), files.watched(source.progress), left_out)
            }
            (input, _) => {
                let (name, reader) = Source { input, progress: source.progress }.stream()?;
                (name, reader, 0)
            }
        };
        let failed = |source| TraceError::Read { name: name.clone(), position: 0, source };
        let mut window = Window::new(Plain::new(reader).map_err(failed)?);
        let beginning = window.hold(LOOKED_AT).map_err(failed)?;
        if let Err(error) = refuse(beginning, &name)
            // GNU parallel writes a line feed within a command as a zero byte.
            && !(self.format == TaskFormat::Parallel && matches!(error, TraceError::Binary { .. }))
        {
            return Err(error);
        }
        if beginning.starts_with("\u{feff}".as_bytes()) {
            window.take(3);
        }
        let mut collector = Collector::new(std::mem::take(recorder));
        name.rsplit('/').next().unwrap_or(&name).clone_into(&mut collector.name);
        if left_out > 0 {
            let files = some(left_out, "file", "files");
            collector.issues.note(format!("{files} in the folder belong to no such log, and were left out."));
        }
        (self.read)(window, &name, &mut collector)?;
        if !collector.found_any() {
            let (format, why) = (self.format.name(), collector.why_none());
            return Err(TraceError::NoAttempt { name, format, why });
        }
        collector.end();
        *recorder = std::mem::take(&mut collector.recorder);
        recorder.finish();
        collector.issues.undiagnosed = recorder.undiagnosed;
        collector.issues.late = recorder.late();
        Ok(summary(&collector, self.format))
    }
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
