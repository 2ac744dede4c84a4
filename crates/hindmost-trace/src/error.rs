//! Errors that stop a reader.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Path of the journal within the output folder of a run.
pub(crate) const JOURNAL_IN_FOLDER: &str = ".hindmost/journal.jsonl";

/// The formats that the readers accept, for error messages.
const EXPECTED: &str = "a Spark event log (one JSON event a line, such as {\"Event\":\"SparkListenerApplicationStart\",…}), a \
                        Hadoop job history (.jhist, whose first line is Avro-Json or Avro-Binary), a Rumen trace (not its \
                        topology), the journal of a run, output of Slurm's sacct --parsable2, a job log of GNU parallel, a \
                        trace of Nextflow, a log of Ray, Trino, Flink, Dask, Snakemake or HTCondor, a workload in SWF, or a \
                        table with a header line and columns for the start and end of each task (which --columns start=NAME,end=NAME can name; see docs/logs.md)";

/// Why a log could not be read at all. Problems that a reader can work around become warnings instead, in
/// [`TraceSummary::warnings`](crate::TraceSummary::warnings).
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file is missing, or this user may not read it.
    #[error("cannot open the log {}: {}", path.display(), why_open(source))]
    Open {
        /// The path as given by the user.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },

    /// The directory is not the output folder of a run and holds no logs.
    #[error(
        "{} is a directory without a log that can be read (docs/logs.md lists them); give the log itself, the directory of a \
         rolling log (eventlog_v2_…), or a directory that holds logs",
        path.display()
    )]
    Directory {
        /// The path as given by the user.
        path: PathBuf,
    },

    /// Reading failed part of the way through the log.
    #[error("cannot read the log {name} after byte {position}: {source}")]
    Read {
        /// The log's name.
        name: String,
        /// Bytes read before the failure.
        position: u64,
        /// The system's error.
        source: io::Error,
    },

    /// The log is empty.
    #[error("the log {name} is empty; expected {EXPECTED}")]
    Empty {
        /// The log's name.
        name: String,
    },

    /// The log is compressed or packed in an unsupported way.
    #[error(
        "the log {name} is compressed in an unsupported way ({kind}; supported are gzip, zstd, LZ4, Snappy and LZF); unpack it \
         first ({how})"
    )]
    Compressed {
        /// The log's name.
        name: String,
        /// The name of the compression or archive format.
        kind: String,
        /// The command that unpacks it.
        how: &'static str,
    },

    /// The compressed data are damaged, or end early, before the first event.
    #[error("the log {name} holds no complete event: {what}; copy the whole log again")]
    Damaged {
        /// The log's name.
        name: String,
        /// What is wrong, and at which byte.
        what: String,
    },

    /// The log is not a text file.
    #[error("the log {name} is not a text file ({found}); expected {EXPECTED}")]
    Binary {
        /// The log's name.
        name: String,
        /// Description of what the file seems to be.
        found: String,
    },

    /// The log is text, but none that can be read.
    #[error("the log {name} is none that can be read: line {line} is {found}; expected {EXPECTED}")]
    NotSpark {
        /// The log's name.
        name: String,
        /// The first line that isn't blank, counted from 1.
        line: u64,
        /// Description of this line.
        found: String,
    },

    /// The log ends before its first event is complete.
    #[error("the log {name} holds no complete event: it is cut short in line {line}; copy the whole log again")]
    NothingComplete {
        /// The log's name.
        name: String,
        /// The line that is cut, counted from 1.
        line: u64,
    },

    /// The log is neither a Hadoop job history nor a Rumen trace.
    #[error(
        "{name} is no Hadoop log: it is {found}; expected a job history (.jhist, whose first line is Avro-Json or \
         Avro-Binary), a Rumen trace, or a folder that holds them"
    )]
    NotHadoop {
        /// The log's name.
        name: String,
        /// Description of what the file is instead.
        found: String,
    },

    /// The log holds no attempt.
    #[error("the log {name} was read as format {format}, but it holds no attempt{why}")]
    NoAttempt {
        /// The log's name.
        name: String,
        /// The name of the format.
        format: &'static str,
        /// Why not, if that is known, after a colon.
        why: String,
    },

    /// The table lacks a column that is needed.
    #[error(
        "the table {name} has no column for {missing}; its columns are {columns}; name the column with --columns, such as \
         --columns start=StartTime,end=EndTime"
    )]
    NoColumn {
        /// The log's name.
        name: String,
        /// What is missing.
        missing: String,
        /// The columns that it has.
        columns: String,
    },

    /// A column of a table is named as the start and as the end.
    #[error(
        "--columns names the column {column:?} of the table {name} as start and as end; name two columns, or the duration"
    )]
    StartIsEnd {
        /// The log's name.
        name: String,
        /// The column.
        column: String,
    },

    /// The folder holds no Hadoop log.
    #[error("{} holds no Hadoop log: no job history (.jhist) and no Rumen trace", path.display())]
    NoHadoopLog {
        /// The path as given by the user.
        path: PathBuf,
    },

    /// The directory is not the output folder of a run.
    #[error("{} holds no {JOURNAL_IN_FOLDER}; give the output folder of a run, or the journal itself; if the job ran together \
             with others, give the folder that holds the folders of all of them", path.display())]
    NoJournal {
        /// The path as given by the user.
        path: PathBuf,
    },

    /// The file is not a journal.
    #[error(
        "{name} is not a journal: its first line is no header with \"hindmost_journal\"; give the journal of a run, \
         {JOURNAL_IN_FOLDER} in its output folder, or that folder"
    )]
    NotJournal {
        /// The file's name.
        name: String,
    },

    /// The journal has a newer format than this version can read.
    #[error(
        "the journal {name} has format {found}, and this version reads formats up to {known}; read it with the version that wrote it",
        known = hindmost_core::journal::VERSION
    )]
    JournalTooNew {
        /// The journal's name.
        name: String,
        /// The version of the journal's format.
        found: u32,
    },

    /// A line of the journal is no record. The last line may be cut short; that is no error.
    #[error(
        "the journal {name} is damaged: line {line} can't be read ({error}); restore it, or keep only the lines before this \
         one as a new journal"
    )]
    BadRecord {
        /// The journal's name.
        name: String,
        /// The line, counted from 1.
        line: u64,
        /// What is wrong with it.
        error: serde_json::Error,
    },

    /// Reading the journal failed part of the way.
    #[error("cannot read the journal {name} after line {line}: {source}")]
    ReadJournal {
        /// The journal's name.
        name: String,
        /// Lines read before the failure.
        line: u64,
        /// The system's error.
        source: io::Error,
    },

    /// The jobs of the journal have more tasks than the reader accepts.
    #[error(
        "the journal {name} is damaged: up to line {line} its jobs have {tasks} tasks, and at most {most} can be read"
    )]
    TooManyTasks {
        /// The journal's name.
        name: String,
        /// The line, counted from 1.
        line: u64,
        /// Tasks of all jobs so far.
        tasks: u64,
        /// The most tasks that the reader accepts.
        most: u64,
    },

    /// A phase of a job in the journal depends on itself or on a later phase, or its edges do not fit.
    #[error("the journal {name} is damaged: in line {line}, job {job:?}: {fault}")]
    BadPhases {
        /// The journal's name.
        name: String,
        /// The line, counted from 1.
        line: u64,
        /// The job's name.
        job: String,
        /// What is wrong with its phases.
        fault: String,
    },

    /// No task has finished in the journal.
    #[error("no task has finished in the journal {name}, so there is nothing to replay; let the run continue first")]
    NothingFinished {
        /// The journal's name.
        name: String,
    },
}

/// Describes why a log could not be opened.
fn why_open(source: &io::Error) -> String {
    match source.kind() {
        io::ErrorKind::NotFound => "there is no such file; check the path".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied; make it readable for this user".to_owned(),
        _ => source.to_string(),
    }
}
