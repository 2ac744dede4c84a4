//! Recognises the format of a log, then counts and analyses the log.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

use hindmost_core::metrics::Diagnosis;

use crate::analysis::Findings;
use crate::error::TraceError;
use crate::reading::compression::Plain;
use crate::reading::progress::OnProgress;
use crate::summary::TraceSummary;
use crate::{hadoop, journal, spark};

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
    if let Some(journal) = journal::find(path)? {
        return Ok(LogKind::Journal(journal));
    }
    // A pipe can be read only once, so this function must not read its first bytes. It counts every pipe as Spark.
    let is_hadoop = path.is_file() && hadoop::find(path).map_err(failed)?;
    Ok(if is_hadoop { LogKind::Hadoop } else { LogKind::Spark })
}

/// Counts what a log holds and finds what stragglers cost in it, and why. The path `-` is the standard input. The
/// standard input and pipes may hold a log of any format.
///
/// # Errors
/// As for [`kind`], and the errors of the format's own reader.
pub fn analyse(path: &Path, progress: Option<OnProgress<'_>>) -> Result<(TraceSummary, Findings), TraceError> {
    if path == Path::new(STANDARD_INPUT) {
        return analyse_stream(io::stdin().lock(), "standard input", progress);
    }
    if let Some(file) = pipe(path)? {
        return analyse_stream(file, &path.display().to_string(), progress);
    }
    match kind(path)? {
        LogKind::Journal(journal) => journal::analyse(&journal, progress),
        LogKind::Hadoop => hadoop::analyse(path, progress),
        LogKind::Spark => spark::analyse(path, progress),
    }
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
    entries.retain(|entry| !is_hidden(entry));
    entries.sort();
    entries
}

/// Does the same as [`analyse`], and finds out what each application of the log spent its time on.
///
/// # Errors
/// As for [`analyse`].
pub fn diagnose(
    path: &Path,
    progress: Option<OnProgress<'_>>,
) -> Result<(TraceSummary, Findings, Vec<Diagnosis>), TraceError> {
    if path == Path::new(STANDARD_INPUT) {
        return diagnose_stream(io::stdin().lock(), "standard input", progress);
    }
    if let Some(file) = pipe(path)? {
        return diagnose_stream(file, &path.display().to_string(), progress);
    }
    match kind(path)? {
        LogKind::Journal(journal) => journal::diagnose(&journal, progress),
        LogKind::Hadoop => hadoop::diagnose(path, progress),
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
    let (kind, whole) = recognised(reader, name)?;
    match kind {
        StreamKind::Journal => journal::diagnose_journal(whole, name),
        StreamKind::Hadoop => hadoop::diagnose_hadoop(whole, name, progress),
        StreamKind::Spark => spark::diagnose_spark(whole, name, progress),
    }
}

/// Does the same as [`analyse`] for a log that is read from `reader`. `name` is the log's name in errors.
///
/// # Errors
/// If reading fails, and the errors of the format's own reader.
pub fn analyse_stream(
    reader: impl Read,
    name: &str,
    progress: Option<OnProgress<'_>>,
) -> Result<(TraceSummary, Findings), TraceError> {
    let (kind, whole) = recognised(reader, name)?;
    match kind {
        StreamKind::Journal => journal::analyse_journal(whole, name),
        StreamKind::Hadoop => hadoop::analyse_hadoop(whole, name, progress),
        StreamKind::Spark => spark::analyse_spark(whole, name, progress),
    }
}

/// The format of a stream.
enum StreamKind {
    Journal,
    Hadoop,
    Spark,
}

/// Recognises the format of a stream, and returns the whole stream.
fn recognised<R: Read>(mut reader: R, name: &str) -> Result<(StreamKind, impl Read + use<R>), TraceError> {
    let mut beginning = Vec::new();
    let read = reader.by_ref().take(LOOKED_AT as u64).read_to_end(&mut beginning);
    read.map_err(|source| TraceError::Read { name: name.to_owned(), position: 0, source })?;
    let kind = match () {
        () if journal::begins_like_one(&beginning) => StreamKind::Journal,
        () if hadoop::sniff(&plain(&beginning)).is_some() => StreamKind::Hadoop,
        () => StreamKind::Spark,
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
