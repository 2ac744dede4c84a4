//! What a reader of a format is.

use std::io::{self, Read};
use std::path::Path;

use crate::error::TraceError;
use crate::reading::progress::{OnProgress, Progress};
use crate::recorder::Recorder;
use crate::summary::TraceSummary;

/// Bytes of a log that are looked at to recognise its format.
pub(crate) const LOOKED_AT: usize = 64 << 10;

/// The format of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The journal of a Hindmost run.
    Journal,
    /// A Hadoop job history, a Rumen trace, or a folder of them.
    Hadoop,
    /// A log of which each row is an attempt.
    Tasks(TaskFormat),
    /// A Spark event log, or a folder of them. Also any file whose format is not recognised; the Spark reader returns
    /// the error that describes it.
    Spark,
}

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
    /// A timeline of Ray, or a list of its tasks.
    Ray,
    /// A query of Trino or Presto.
    Trino,
    /// A job of Flink: its archive, or pages of its vertices.
    Flink,
    /// A task stream or a log of transitions of Dask.
    Dask,
    /// Records of Snakemake's jobs.
    Snakemake,
    /// An event log of HTCondor.
    Condor,
    /// A workload in the Standard Workload Format.
    Swf,
}

impl TaskFormat {
    /// All formats.
    pub const ALL: [TaskFormat; 11] = [
        TaskFormat::Table,
        TaskFormat::Slurm,
        TaskFormat::Parallel,
        TaskFormat::Nextflow,
        TaskFormat::Ray,
        TaskFormat::Trino,
        TaskFormat::Flink,
        TaskFormat::Dask,
        TaskFormat::Snakemake,
        TaskFormat::Condor,
        TaskFormat::Swf,
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
            TaskFormat::Flink => "flink",
            TaskFormat::Dask => "dask",
            TaskFormat::Snakemake => "snakemake",
            TaskFormat::Condor => "condor",
            TaskFormat::Swf => "swf",
        }
    }
}

/// A reader of a format.
pub(crate) trait Format: Sync {
    /// Returns the format.
    fn kind(&self) -> Kind;

    /// Returns whether a log that begins like this is of the format.
    fn is_one(&self, beginning: &Beginning<'_>) -> bool;

    /// Reads a log to its end, gives the recording of each application to `recorder`, and returns the counts, with warnings about
    /// problems that the reader worked around.
    ///
    /// # Errors
    /// If the log can't be opened or read, or is not of the format.
    fn read(&self, source: Source<'_>, recorder: &mut Recorder) -> Result<TraceSummary, TraceError>;
}

/// The beginning of a log.
pub(crate) struct Beginning<'a> {
    /// The first bytes of the file.
    pub raw: &'a [u8],
    /// The first bytes of its decompressed content, without a byte order mark.
    pub plain: &'a [u8],
}

impl<'a> Beginning<'a> {
    pub(crate) fn new(raw: &'a [u8], plain: &'a [u8]) -> Beginning<'a> {
        Beginning { raw, plain: plain.strip_prefix("\u{feff}".as_bytes()).unwrap_or(plain) }
    }

    /// True if the log begins with an event of Spark: most logs do, and to look for the columns of a table takes longer than to read a
    /// small log.
    pub(crate) fn is_event_of_spark(&self) -> bool {
        let first = self.plain.trim_ascii_start().strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
        first
            .and_then(|object| object.strip_prefix(br#""Event""#))
            .is_some_and(|rest| rest.trim_ascii_start().starts_with(b":"))
    }
}

/// What is to be read.
pub(crate) struct Source<'a> {
    /// Where it is.
    pub input: Input<'a>,
    /// Receives the progress.
    pub progress: Option<OnProgress<'a>>,
}

/// Where a log is.
pub(crate) enum Input<'a> {
    /// In a folder.
    Folder(&'a Path),
    /// In a file, or in something else that can be read from its beginning to its end.
    Stream(Stream<'a>),
}

/// A log that is read from its beginning to its end.
pub(crate) struct Stream<'a> {
    /// Reads it.
    pub reader: Box<dyn Read + 'a>,
    /// Its name in errors.
    pub name: String,
    /// The path of its file, if it has one.
    pub path: Option<&'a Path>,
    /// Its size in bytes; `None` if it is not known.
    pub size: Option<u64>,
}

impl<'a> Stream<'a> {
    /// Returns the reader, whose progress is reported.
    pub(crate) fn watched(self, progress: Option<OnProgress<'a>>) -> Box<dyn Read + 'a> {
        Box::new(Progress::new(progress, self.size).watch_all(self.reader))
    }
}

impl<'a> Source<'a> {
    /// Returns the log's name and its reader, for formats whose logs are files.
    ///
    /// # Errors
    /// If the log is a folder.
    pub(crate) fn stream(self) -> Result<(String, Box<dyn Read + 'a>), TraceError> {
        match self.input {
            Input::Stream(stream) => {
                let name = stream.name.clone();
                Ok((name, stream.watched(self.progress)))
            }
            Input::Folder(path) => {
                Err(TraceError::Open { path: path.to_owned(), source: io::ErrorKind::IsADirectory.into() })
            }
        }
    }
}
