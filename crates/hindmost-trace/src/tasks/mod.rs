//! Reads logs of which each row is an attempt: tables, Slurm's accounting, job logs of GNU parallel, traces of Nextflow,
//! timelines of Ray and lists of its tasks, queries of Trino, jobs of Flink, Dask's streams of tasks, Snakemake's metadata, HTCondor's event
//! logs and SWF.
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

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::error::TraceError;
use crate::format::{Beginning, Format, Input, Kind, LOOKED_AT, Source, TaskFormat};
use crate::reading::compression::Plain;
use crate::reading::progress::{OnProgress, Progress};
use crate::reading::sniff::refuse;
use crate::reading::warnings::some;
use crate::reading::window::Window;
use crate::recorder::Recorder;
use crate::summary::TraceSummary;

pub(crate) use collect::{Collector, Rules};
pub(crate) use held::Names;

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
    /// How a folder is a log; `None` if a log is one file.
    pub in_folders: Option<InFolders>,
    /// Gives all rows to a collector. The text is the log's name in errors.
    pub read: &'a (dyn Fn(Window<'_>, &str, &mut Collector) -> Result<(), TraceError> + Sync),
}

/// How a folder of files is a log.
#[derive(Clone, Copy)]
pub(crate) struct InFolders {
    /// Returns whether a file with this beginning is one of the log's.
    pub is_part: fn(&[u8]) -> bool,
    /// Whether the files are lines of one log; otherwise each is read alone.
    pub are_lines: bool,
}

impl Rows<'_> {
    /// Gives all rows of a folder to a collector.
    fn read_folder(
        &self,
        (folder, how): (&Path, InFolders),
        progress: Option<OnProgress<'_>>,
        collector: &mut Collector,
    ) -> Result<(), TraceError> {
        let files = folders::find(folder, how.is_part).unwrap_or_default();
        let name = folder.display().to_string();
        if files.left_out > 0 {
            let files = some(files.left_out, "file", "files");
            collector.issues.note(format!("{files} in the folder belong to no such log, and were left out."));
        }
        let mut progress = Progress::new(progress, Some(files.bytes()));
        if how.are_lines {
            return (self.read)(opened(progress.watch_all(files.joined()), &name)?, &name, collector);
        }
        let mut first_error = None;
        for path in files.paths {
            let name = path.display().to_string();
            collector.issues.file = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
            let file = File::open(&path).map_err(|source| TraceError::Open { path, source });
            match file.and_then(|file| (self.read)(opened(progress.watch(file), &name)?, &name, collector)) {
                Ok(()) => {}
                // Such as the archive of an application, beside those of its jobs.
                Err(error @ TraceError::NoAttempt { .. }) => first_error = first_error.or(Some(error)),
                Err(error) => {
                    collector.issues.note(format!("A file was left out: {error}."));
                    first_error = first_error.or(Some(error));
                }
            }
        }
        collector.issues.file.clear();
        first_error.filter(|_| !collector.found_any()).map_or(Ok(()), Err)
    }
}

/// Opens a log, and holds its beginning, without a byte order mark.
fn opened<'r>(reader: impl Read + 'r, name: &str) -> Result<Window<'r>, TraceError> {
    let failed = |source| TraceError::Read { name: name.to_owned(), position: 0, source };
    let mut window = Window::new(Plain::new(reader).map_err(failed)?);
    window.hold(LOOKED_AT).map_err(failed)?;
    if window.held().starts_with("\u{feff}".as_bytes()) {
        window.take(3);
    }
    Ok(window)
}

impl Format for Rows<'_> {
    fn kind(&self) -> Kind {
        Kind::Tasks(self.format)
    }

    fn is_one(&self, beginning: &Beginning<'_>) -> bool {
        !beginning.is_event_of_spark() && (self.is_one)(beginning.plain)
    }

    fn read(&self, source: Source<'_>, recorder: &mut Recorder) -> Result<TraceSummary, TraceError> {
        let mut collector = Collector::new(std::mem::take(recorder));
        let name = match (source.input, self.in_folders) {
            (Input::Folder(path), Some(how)) => {
                let name = path.display().to_string();
                name.rsplit('/').next().unwrap_or(&name).clone_into(&mut collector.name);
                self.read_folder((path, how), source.progress, &mut collector)?;
                name
            }
            (input, _) => {
                let (name, reader) = Source { input, progress: source.progress }.stream()?;
                let window = opened(reader, &name)?;
                if let Err(error) = refuse(window.held(), &name)
                    // GNU parallel writes a line feed within a command as a zero byte.
                    && !(self.format == TaskFormat::Parallel && matches!(error, TraceError::Binary { .. }))
                {
                    return Err(error);
                }
                name.rsplit('/').next().unwrap_or(&name).clone_into(&mut collector.name);
                (self.read)(window, &name, &mut collector)?;
                name
            }
        };
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
