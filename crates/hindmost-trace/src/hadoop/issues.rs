//! Counts problems in Hadoop logs, and turns them into warnings.

use std::io;
use std::path::{Path, PathBuf};

use super::files::Found;
use crate::error::TraceError;
use crate::reading::compression::Damage;
use crate::reading::warnings::{Occurrences, names, some, warn};

/// The log that is being read.
#[derive(Debug)]
pub(super) struct Source {
    /// The log's name in errors.
    pub name: String,
    /// The log's file; `None` for a stream.
    pub path: Option<PathBuf>,
    /// The log's number among the files that are read together.
    pub file: u32,
    /// Whether several files are read together, so that warnings name the file.
    pub one_of_several: bool,
}

impl Source {
    /// Returns the error for a read that failed after this many bytes of the file.
    pub(super) fn failed(&self, position: u64, source: io::Error) -> TraceError {
        TraceError::Read { name: self.name.clone(), position, source }
    }
}

/// Counts of problems in the logs. Only attempts and tasks of maps and reduces are counted.
#[derive(Debug, Default)]
pub(super) struct Issues {
    cut: Occurrences<String>,
    damaged: Occurrences<String>,
    unreadable: Occurrences<String>,
    /// File and line of the last unreadable record that was counted.
    last_unreadable: (u32, u64),
    /// Files in a folder that can't be read at all.
    failed: Occurrences<String>,
    /// Configurations of jobs that can't be read.
    configurations: Occurrences<String>,
    /// Records with bytes that JSON does not allow, which were replaced.
    pub replaced: u64,
    /// Starts of attempts that were recovered from unreadable events.
    pub recovered_starts: u64,
    /// Jobs that occur in a second file and were ignored there.
    pub twice: u64,
    pub unidentified: u64,
    pub repeated: u64,
    pub unended: u64,
    /// Attempts that ended and have no start time.
    pub without_start: u64,
    /// Successful attempts without a start or finish time, or whose finish is before their start.
    pub untimed: u64,
    pub never_succeeded: u64,
    /// Tasks that succeeded according to their job, but are not in the log.
    pub missing: u64,
    pub found: Found,
}

fn place(source: &Source, rest: &str) -> String {
    if source.one_of_several { format!("{rest} of {}", source.name) } else { rest.to_owned() }
}

impl Issues {
    /// Records that the log ends early.
    pub(super) fn cut(&mut self, source: &Source, at: &str) {
        self.cut.add(|| place(source, at));
    }

    /// Records that the log can't be decompressed further.
    pub(super) fn cut_by(&mut self, source: &Source, damage: &Damage) {
        self.cut(source, &format!("where it can't be decompressed ({damage})"));
    }

    /// Records that the log can't be read further.
    pub(super) fn damaged(&mut self, source: &Source, at: &str, why: &str) {
        self.damaged.add(|| format!("{} ({why})", place(source, at)));
    }

    /// Records an object, or a text instead of an object, that can't be read.
    pub(super) fn unreadable(&mut self, source: &Source, line: u64, why: &str) {
        // A damaged line may be split into several unreadable pieces; it counts once.
        if self.last_unreadable != (source.file, line) || self.unreadable.count == 0 {
            self.last_unreadable = (source.file, line);
            self.unreadable.add(|| format!("{}: {why}", place(source, &format!("line {line}"))));
        }
    }

    /// Records an event of a binary history that can't be read.
    pub(super) fn unreadable_event(&mut self, source: &Source, number: u64) {
        self.unreadable.add(|| place(source, &format!("event {number}")));
    }

    /// Records a file in a folder that can't be read at all.
    pub(super) fn failed(&mut self, error: &dyn std::error::Error) {
        self.failed.add(|| error.to_string());
    }

    /// Records a configuration of a job that can't be read.
    pub(super) fn configuration(&mut self, path: &Path, why: &str) {
        self.configurations.add(|| format!("{}: {why}", path.display()));
    }

    /// Adds a warning for each kind of problem that occurred.
    pub(super) fn add_warnings(&self, warnings: &mut Vec<String>) {
        if let Some(at) = &self.cut.first {
            warnings.push(match self.cut.count {
                1 => format!("The log is cut short {at}; everything before that was read."),
                count => format!("{count} logs are cut short, the first {at}; everything before was read."),
            });
        }
        if let Some(at) = &self.damaged.first {
            warnings.push(format!(
                "{} damaged and read only up to the damage; the first at {at}.",
                some(self.damaged.count, "log was", "logs were")
            ));
        }
        if let Some(first) = &self.unreadable.first {
            warnings.push(format!(
                "{}; the first is {first}.",
                some(
                    self.unreadable.count,
                    "record was skipped, because it can't be read",
                    "records were skipped, because they can't be read"
                )
            ));
        }
        if let Some(first) = &self.failed.first {
            let count = some(self.failed.count, "file", "files");
            warnings.push(format!(
                "{count} of the folder could not be read and were left out; the first error is: {first}."
            ));
        }
        if let Some(first) = &self.configurations.first {
            let count = some(self.configurations.count, "configuration of a job", "configurations of jobs");
            warnings.push(format!("{count} could not be read, so settings are missing; the first is {first}."));
        }
        #[rustfmt::skip]
        warn(warnings, &[
            (self.recovered_starts, "start of an attempt was", "starts of attempts were", "recovered from an unreadable event."),
            (self.replaced, "record had", "records had", "bytes that JSON does not allow; they were replaced."),
            (self.found.unopened, "file or folder", "files or folders", "could not be opened; left out."),
            (self.found.superseded, "job history was", "job histories were", "left out, because the same job has a later one."),
            (self.found.rumen_left_out, "Rumen trace was", "Rumen traces were",
                "left out, because the folder has job histories, which may hold the same jobs."),
        ]);
        if self.found.spark_left_out > 0 {
            let logs = some(self.found.spark_left_out, "Spark event log was", "Spark event logs were");
            warnings.push(format!(
                "{logs} left out, because only the Hadoop logs of a folder with both are read: {}; read these separately.",
                names(&self.found.spark, self.found.spark_left_out)
            ));
        }
        #[rustfmt::skip]
        warn(warnings, &[
            (self.twice, "job is", "jobs are", "in a second file, too; only the first file's record was read."),
            (self.unidentified, "event ends", "events end", "an attempt without naming it; counted in the number of attempts only."),
            (self.repeated, "event repeats", "events repeat", "the end of an attempt; each attempt counts once, by its last end."),
            (self.unended, "attempt was", "attempts were", "still running when the log ends; not counted."),
            (self.without_start, "attempt has", "attempts have", "no start time; counted."),
            (self.untimed, "successful attempt has", "successful attempts have", "no start or finish time; left out of replays."),
            (self.never_succeeded, "task", "tasks", "never succeeded; left out of replays."),
            (self.missing, "task", "tasks", "succeeded according to the job, but not in the log: records are missing."),
        ]);
    }
}
