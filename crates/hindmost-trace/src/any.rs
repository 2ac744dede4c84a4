//! Recognises the format of a log, then counts and diagnoses the log.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

use hindmost_core::metrics::Diagnosis;

use crate::error::TraceError;
use crate::reading::compression::Plain;
use crate::reading::progress::OnProgress;
use crate::summary::TraceSummary;
use crate::table::Columns;
use crate::tasks::{self, TaskFormat};
use crate::{hadoop, journal, spark};
use hindmost_core::metrics::Findings;

/// The path that stands for the standard input.
pub const STANDARD_INPUT: &str = "-";

/// Bytes of a stream that are read to recognise its format.
const LOOKED_AT: usize = 64 << 10;

/// The format of the log at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogKind {
    /// The journal of a Hindmost run, and its path.
    Journal(PathBuf),
    /// A Hadoop job history, a Rumen trace, or a folder of them.
    Hadoop,
    /// A log of which each row is an attempt.
    Tasks(TaskFormat),
    /// A Spark event log, or a folder of them. Also any file whose format is not recognised; the Spark reader returns
    /// the error that describes it.
    Spark,
}

/// Returns the format of the log at a path. A file is recognised by its first bytes, a folder by its contents. A folder
/// that holds Spark logs directly counts as Spark; any other folder with logs of several kinds counts as Hadoop. The
/// readers' warnings name the logs that they leave out.
///
/// # Errors
/// If the path can't be read, or is a folder without any log.
pub fn kind(path: &Path) -> Result<LogKind, TraceError> {
    kind_with(path, &Columns::default())
}

/// Does the same as [`kind`]. If `columns` names any column, a file is read as a table.
///
/// # Errors
/// As for [`kind`].
pub fn kind_with(path: &Path, columns: &Columns) -> Result<LogKind, TraceError> {
    let failed = |source| TraceError::Open { path: path.to_owned(), source };
    if path.is_dir() {
        if let Some(journal) = journal::of_folder(path) {
            return Ok(LogKind::Journal(journal));
        }
        if spark::is_log_directory(path) {
            return Ok(LogKind::Spark);
        }
        let hadoop = hadoop::find(path).map_err(failed)?;
        return if hadoop { Ok(LogKind::Hadoop) } else { Err(TraceError::Directory { path: path.to_owned() }) };
    }
    if !columns.is_empty() {
        return Ok(LogKind::Tasks(TaskFormat::Table));
    }
    if let Some(journal) = journal::find(path)? {
        return Ok(LogKind::Journal(journal));
    }
    // A pipe can be read only once, so this function must not read its first bytes. It counts every pipe as Spark.
    if !path.is_file() {
        return Ok(LogKind::Spark);
    }
    if hadoop::find(path).map_err(failed)? {
        return Ok(LogKind::Hadoop);
    }
    Ok(tasks::find(path, columns).map_err(failed)?.map_or(LogKind::Spark, LogKind::Tasks))
}

/// Returns what is in a folder that is not a log itself, in order; empty for a folder that is one log, and for a file.
pub fn parts(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() || journal::of_folder(path).is_some() || spark::is_one_log(path) {
        return Vec::new();
    }
    let Ok(entries) = std::fs::read_dir(path) else { return Vec::new() };
    let mut entries: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    let is_hidden =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(['.', '_']));
    entries.retain(|entry| !is_hidden(entry) && !is_beside_logs(entry));
    entries.sort();
    entries
}

/// Returns whether a file is no log, but belongs to one beside it: the configuration of a job of Hadoop.
pub fn is_beside_logs(path: &Path) -> bool {
    hadoop::is_configuration(path)
}

/// Counts what a log holds, finds what stragglers cost in it and why, and finds out what each application of the log spent its time on. The
/// path `-` is the standard input. The standard input and pipes may hold a log of any format.
///
/// # Errors
/// As for [`kind`], and the errors of the format's own reader.
pub fn diagnose(
    path: &Path,
    progress: Option<OnProgress<'_>>,
) -> Result<(TraceSummary, Findings, Vec<Diagnosis>), TraceError> {
    diagnose_with(path, &Columns::default(), progress)
}

/// Does the same as [`diagnose`]. If `columns` names any column, a file is read as a table.
///
/// # Errors
/// As for [`diagnose`].
pub fn diagnose_with(
    path: &Path,
    columns: &Columns,
    progress: Option<OnProgress<'_>>,
) -> Result<(TraceSummary, Findings, Vec<Diagnosis>), TraceError> {
    if path == Path::new(STANDARD_INPUT) {
        return diagnose_stream_with(io::stdin().lock(), "standard input", columns, progress);
    }
    if let Some(file) = pipe(path)? {
        return diagnose_stream_with(file, &path.display().to_string(), columns, progress);
    }
    match kind_with(path, columns)? {
        LogKind::Journal(journal) => journal::diagnose(&journal, progress),
        LogKind::Hadoop => hadoop::diagnose(path, progress),
        LogKind::Tasks(format) => tasks::diagnose(path, format, columns, progress),
        LogKind::Spark => spark::diagnose(path, progress),
    }
}

/// Does the same as [`diagnose`] for a log that is read from `reader`. `name` is the log's name in errors.
///
/// # Errors
/// If reading fails, and the errors of the format's own reader.
pub fn diagnose_stream(
    reader: impl Read,
    name: &str,
    progress: Option<OnProgress<'_>>,
) -> Result<(TraceSummary, Findings, Vec<Diagnosis>), TraceError> {
    diagnose_stream_with(reader, name, &Columns::default(), progress)
}

/// Does the same as [`diagnose_stream`]. If `columns` names any column, the log is read as a table.
///
/// # Errors
/// As for [`diagnose_stream`].
pub fn diagnose_stream_with(
    reader: impl Read,
    name: &str,
    columns: &Columns,
    progress: Option<OnProgress<'_>>,
) -> Result<(TraceSummary, Findings, Vec<Diagnosis>), TraceError> {
    let (kind, whole) = recognised(reader, name, columns)?;
    match kind {
        StreamKind::Journal => journal::diagnose_journal(whole, name),
        StreamKind::Hadoop => hadoop::diagnose_hadoop(whole, name, progress),
        StreamKind::Tasks(format) => tasks::diagnose_tasks(whole, name, format, columns, progress),
        StreamKind::Spark => spark::diagnose_spark(whole, name, progress),
    }
}

/// The format of a stream.
enum StreamKind {
    Journal,
    Hadoop,
    Tasks(TaskFormat),
    Spark,
}

/// Recognises the format of a stream, and returns the whole stream.
fn recognised<R: Read>(
    mut reader: R,
    name: &str,
    columns: &Columns,
) -> Result<(StreamKind, impl Read + use<R>), TraceError> {
    let mut beginning = Vec::new();
    let read = reader.by_ref().take(LOOKED_AT as u64).read_to_end(&mut beginning);
    read.map_err(|source| TraceError::Read { name: name.to_owned(), position: 0, source })?;
    let plain = plain(&beginning);
    let kind = match tasks::sniff(&plain, columns) {
        _ if columns.is_empty() && journal::begins_like_one(&beginning) => StreamKind::Journal,
        _ if columns.is_empty() && hadoop::sniff(&plain).is_some() => StreamKind::Hadoop,
        Some(format) => StreamKind::Tasks(format),
        None => StreamKind::Spark,
    };
    Ok((kind, Cursor::new(beginning).chain(reader)))
}

/// Opens a pipe, or another file that can be read only once; `None` for other paths.
fn pipe(path: &Path) -> Result<Option<File>, TraceError> {
    let about = std::fs::metadata(path);
    if !about.is_ok_and(|about| !about.is_file() && !about.is_dir()) {
        return Ok(None);
    }
    File::open(path).map(Some).map_err(|source| TraceError::Open { path: path.to_owned(), source })
}

/// Returns the decompressed beginning of a log, as far as the given bytes reach.
fn plain(beginning: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    if let Ok(reader) = Plain::new(beginning) {
        // An error is expected here: the compressed data end after `LOOKED_AT` bytes.
        let _ = reader.take(LOOKED_AT as u64).read_to_end(&mut plain);
    }
    plain
}
