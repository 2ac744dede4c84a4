//! Why a log could not be read.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::JOURNAL_IN_FOLDER;

/// What readers take, for errors.
const EXPECTED: &str = "a Spark event log (one JSON event a line, such as {\"Event\":\"SparkListenerApplicationStart\",…}), a Hadoop job history (.jhist, whose first line is Avro-Json or Avro-Binary), a Rumen trace (not its topology), or the journal of a run";

/// Why a log could not be read at all. What a reader could get around is a warning instead, in
/// [`TraceSummary::warnings`](crate::TraceSummary::warnings).
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file is missing, or may not be read.
    #[error("cannot open the log {}: {}", path.display(), why_open(source))]
    Open {
        /// The path as it was given.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },

    /// The path names a directory that is neither a run's output folder nor holds event logs.
    #[error(
        "{} is a directory without a run's journal or a Spark event log, and without Hadoop's logs; give the log itself, a rolling log's directory (eventlog_v2_…), or the directory that holds them",
        path.display()
    )]
    Directory {
        /// The path as it was given.
        path: PathBuf,
    },

    /// Reading failed half way.
    #[error("cannot read the log {name} past byte {position}: {source}")]
    Read {
        /// The log's name.
        name: String,
        /// Bytes read before.
        position: u64,
        /// What the system said.
        source: io::Error,
    },

    /// Nothing in it.
    #[error("the log {name} is empty; expected {EXPECTED}")]
    Empty {
        /// The log's name.
        name: String,
    },

    /// It is compressed or packed in a way that isn't read.
    #[error(
        "the log {name} is compressed ({kind}); plain logs are read, and those compressed by gzip, zstd, LZ4 or Snappy: unpack it first ({how})"
    )]
    Compressed {
        /// The log's name.
        name: String,
        /// What it is packed with.
        kind: String,
        /// How to unpack it.
        how: &'static str,
    },

    /// Its compressed data are damaged, or break off, before the first event.
    #[error("the log {name} holds no complete event: {what}; copy it again, whole")]
    Damaged {
        /// The log's name.
        name: String,
        /// What is wrong with it, and at which byte.
        what: String,
    },

    /// It isn't text.
    #[error("the log {name} is not a text file ({found}); expected {EXPECTED}")]
    Binary {
        /// The log's name.
        name: String,
        /// What it looks like.
        found: String,
    },

    /// Text, but not a Spark event log.
    #[error(
        "the log {name} is not a Spark event log, nor one of Hadoop's: line {line} is {found}; expected {EXPECTED}"
    )]
    NotSpark {
        /// The log's name.
        name: String,
        /// The first line that isn't blank, from 1.
        line: u64,
        /// What that line is.
        found: String,
    },

    /// A Spark event log that ends before its first event does.
    #[error("the log {name} holds no complete event: it is cut short in line {line}; copy it again, whole")]
    NothingComplete {
        /// The log's name.
        name: String,
        /// The line that is cut, from 1.
        line: u64,
    },

    /// Neither a Hadoop job history nor a Rumen trace.
    #[error(
        "{name} is no Hadoop log: it is {found}; expected a job history (.jhist, whose first line is Avro-Json or Avro-Binary), a Rumen trace, or a folder that holds them"
    )]
    NotHadoop {
        /// The log's name.
        name: String,
        /// What it is.
        found: String,
    },

    /// A folder without a Hadoop log.
    #[error("{} holds no Hadoop log: no job history (.jhist) and no Rumen trace", path.display())]
    NoHadoopLog {
        /// The path as it was given.
        path: PathBuf,
    },

    /// A directory where the output folder of a run is asked for.
    #[error("{} holds no {JOURNAL_IN_FOLDER}; give the output folder of a run, or the journal itself", path.display())]
    NoJournal {
        /// The path as it was given.
        path: PathBuf,
    },

    /// Another file where a journal is asked for.
    #[error(
        "{name} is not a journal: its first line is no header with \"hindmost_journal\"; give the journal of a run, {JOURNAL_IN_FOLDER} in its output folder, or that folder"
    )]
    NotJournal {
        /// The file's name.
        name: String,
    },

    /// A journal of a newer version.
    #[error(
        "the journal {name} has format {found}, and this version reads formats up to {known}; read it with the version that wrote it",
        known = hindmost_core::journal::VERSION
    )]
    JournalTooNew {
        /// The journal's name.
        name: String,
        /// Its format's version.
        found: u32,
    },

    /// A line of a journal, other than its last one cut short, that is no record.
    #[error(
        "the journal {name} is damaged: line {line} can't be read ({error}); restore it, or keep the lines before as a journal of their own"
    )]
    BadRecord {
        /// The journal's name.
        name: String,
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        error: serde_json::Error,
    },

    /// Reading a journal failed half way.
    #[error("cannot read the journal {name} past line {line}: {source}")]
    ReadJournal {
        /// The journal's name.
        name: String,
        /// Lines read before.
        line: u64,
        /// What the system said.
        source: io::Error,
    },

    /// A journal with jobs that no computer could hold.
    #[error("the journal {name} is damaged: by line {line} its jobs have {tasks} tasks, which is more than {most}")]
    TooManyTasks {
        /// The journal's name.
        name: String,
        /// The line, from 1.
        line: u64,
        /// Tasks of all jobs so far.
        tasks: u64,
        /// As many as are read.
        most: u64,
    },

    /// A journal with a job that cannot be.
    #[error(
        "the journal {name} is damaged: in line {line} phase {phase:?} of job {job:?} waits for itself or a later phase"
    )]
    WaitsForItself {
        /// The journal's name.
        name: String,
        /// The line, from 1.
        line: u64,
        /// The job's name.
        job: String,
        /// The phase's name.
        phase: String,
    },

    /// A journal that ends before any task has finished.
    #[error("no task has finished in the journal {name}, so there is nothing to replay; let the run go on first")]
    NothingFinished {
        /// The journal's name.
        name: String,
    },
}

fn why_open(source: &io::Error) -> String {
    match source.kind() {
        io::ErrorKind::NotFound => "there is no such file; check the path".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied; make it readable for this user".to_owned(),
        _ => source.to_string(),
    }
}
