//! What the reader had to get around, in sentences for people.

use std::io;

use super::files::Found;
use crate::error::TraceError;
use crate::reading::compression::Damage;
use crate::reading::warnings::{Happened, names, some, warn};

/// The log that is being read.
#[derive(Debug)]
pub(super) struct Source {
    /// What errors call it.
    pub name: String,
    /// Its number among the files that are read together.
    pub file: u32,
    /// Whether there are others, so that warnings have to name it.
    pub one_of_several: bool,
}

impl Source {
    /// The error of reading that failed behind so many bytes of the file.
    pub(super) fn failed(&self, position: u64, source: io::Error) -> TraceError {
        TraceError::Read { name: self.name.clone(), position, source }
    }
}

/// What was odd in what was read. Counts are of maps and reduces.
#[derive(Debug, Default)]
pub(super) struct Issues {
    cut: Happened<String>,
    damaged: Happened<String>,
    unreadable: Happened<String>,
    /// The file and line last counted among the unreadable ones.
    last_unreadable: (u32, u64),
    /// Files of a folder that can't be read at all.
    failed: Happened<String>,
    /// Objects with bytes that JSON doesn't allow, which were replaced.
    pub replaced: u64,
    /// Starts of attempts taken out of events that can't be read.
    pub mended: u64,
    /// Jobs that stand in a second file.
    pub twice: u64,
    pub nameless: u64,
    pub repeated: u64,
    pub unended: u64,
    /// Ends without a start.
    pub startless: u64,
    /// Successes without a finish, or that finish before they start.
    pub untimed: u64,
    pub never_succeeded: u64,
    /// Tasks that a job says have succeeded, beyond those that the log holds.
    pub missing: u64,
    pub found: Found,
}

fn place(source: &Source, rest: &str) -> String {
    if source.one_of_several { format!("{rest} of {}", source.name) } else { rest.to_owned() }
}

impl Issues {
    /// The log ends too early.
    pub(super) fn cut(&mut self, source: &Source, at: &str) {
        self.cut.once(|| place(source, at));
    }

    /// The log can't be decompressed any further.
    pub(super) fn cut_by(&mut self, source: &Source, damage: &Damage) {
        self.cut(source, &format!("where it can't be decompressed ({damage})"));
    }

    /// The log can't be read any further.
    pub(super) fn damaged(&mut self, source: &Source, at: &str, why: &str) {
        self.damaged.once(|| format!("{} ({why})", place(source, at)));
    }

    /// An object, or a text where an object should be, that can't be read.
    pub(super) fn unreadable(&mut self, source: &Source, line: u64, why: &str) {
        // Damage in a line may leave several pieces of it.
        if self.last_unreadable != (source.file, line) || self.unreadable.count == 0 {
            self.last_unreadable = (source.file, line);
            self.unreadable.once(|| format!("{}: {why}", place(source, &format!("line {line}"))));
        }
    }

    /// An event of a binary history that can't be read.
    pub(super) fn unreadable_event(&mut self, source: &Source, number: u64) {
        self.unreadable.once(|| place(source, &format!("event {number}")));
    }

    /// A file of a folder that can't be read at all.
    pub(super) fn failed(&mut self, error: &dyn std::error::Error) {
        self.failed.once(|| error.to_string());
    }

    /// All of it in sentences.
    pub(super) fn tell(&self, warnings: &mut Vec<String>) {
        if let Some(at) = &self.cut.first {
            warnings.push(match self.cut.count {
                1 => format!("The log is cut short {at}; everything before was read."),
                count => format!("{count} logs are cut short, the first {at}; everything before was read."),
            });
        }
        if let Some(at) = &self.damaged.first {
            warnings.push(format!(
                "{} damaged and read only up to the damage; the first at {at}.",
                some(self.damaged.count, "log is", "logs are")
            ));
        }
        if let Some(first) = &self.unreadable.first {
            warnings.push(format!(
                "{} not readable and skipped; the first is {first}.",
                some(self.unreadable.count, "record is", "records are")
            ));
        }
        if let Some(first) = &self.failed.first {
            let count = some(self.failed.count, "file", "files");
            warnings.push(format!("{count} of the folder could not be read and left out; the first: {first}."));
        }
        #[rustfmt::skip]
        warn(warnings, &[
            (self.mended, "attempt's", "attempts'", "start was taken out of an event that is not readable as a whole."),
            (self.replaced, "record", "records", "with bytes that JSON does not allow, which were replaced."),
            (self.found.unopened, "file or folder", "files or folders", "could not be opened and left out."),
            (self.found.superseded, "history", "histories", "of jobs of which there is a later one, left out."),
            (self.found.rumen_left_out, "Rumen trace", "Rumen traces",
                "beside job histories, left out: the same jobs may be in both."),
        ]);
        if self.found.spark_left_out > 0 {
            let logs = some(self.found.spark_left_out, "Spark event log", "Spark event logs");
            warnings.push(format!(
                "{logs} beside Hadoop's logs in the folder, left out, since these are read as one trace: {}; give them by themselves.",
                names(&self.found.spark, self.found.spark_left_out)
            ));
        }
        #[rustfmt::skip]
        warn(warnings, &[
            (self.twice, "job stands", "jobs stand", "in a second file; only the first was read."),
            (self.nameless, "end", "ends", "of attempts that do not say of which: counted among the attempts only."),
            (self.repeated, "end", "ends", "of attempts told again; each attempt counts once, as it is told last."),
            (self.unended, "attempt", "attempts", "started and had not ended when the log does; not counted."),
            (self.startless, "attempt", "attempts", "without a start time; counted."),
            (self.untimed, "success", "successes", "without start or finish time, left out of replays."),
            (self.never_succeeded, "task", "tasks", "never succeeded; left out of replays."),
            (self.missing, "task", "tasks", "succeeded as their jobs say and are not in the log."),
        ]);
    }
}
