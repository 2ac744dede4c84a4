//! A log of any format: which it is, counted, and analysed.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

use crate::analysis::Findings;
use crate::error::TraceError;
use crate::reading::compression::Plain;
use crate::reading::progress::OnProgress;
use crate::summary::TraceSummary;
use crate::{hadoop, journal, spark};

/// The name that stands for the standard input.
pub const STANDARD_INPUT: &str = "-";

/// As many first bytes of a stream tell which log it is.
const LOOKED_AT: usize = 64 << 10;

/// What there is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogKind {
    /// A journal of one of our own runs: where it is.
    Journal(PathBuf),
    /// Job histories or Rumen traces of Hadoop, or a folder of them.
    Hadoop,
    /// A Spark event log, or a folder of them; also whatever is no log at all: its reader says so.
    Spark,
}

/// Tells which format the log at a path has: by its first bytes, and in a folder by what is in it. Of a folder with
/// logs of several kinds it is Spark if such logs are in the folder itself, and else Hadoop; their readers' warnings
/// name what they leave out.
///
/// # Errors
/// If there is nothing that can be read, or the path is a folder without any log.
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
    // A pipe can be read but once: only Spark's reader takes those.
    let is_hadoop = path.is_file() && hadoop::find(path).map_err(failed)?;
    Ok(if is_hadoop { LogKind::Hadoop } else { LogKind::Spark })
}

/// Counts what a log holds, and finds what stragglers cost in it, and why. The path `-` is the standard input; that and
/// pipes may hold a log of any kind.
///
/// # Errors
/// As [`kind`], and as the format's own reader.
pub fn analyse(path: &Path, progress: Option<OnProgress<'_>>) -> Result<(TraceSummary, Findings), TraceError> {
    if path == Path::new(STANDARD_INPUT) {
        return analyse_stream(io::stdin().lock(), "standard input", progress);
    }
    let about = std::fs::metadata(path);
    if about.is_ok_and(|about| !about.is_file() && !about.is_dir()) {
        let file = File::open(path).map_err(|source| TraceError::Open { path: path.to_owned(), source })?;
        return analyse_stream(file, &path.display().to_string(), progress);
    }
    match kind(path)? {
        LogKind::Journal(journal) => journal::analyse(&journal, progress),
        LogKind::Hadoop => hadoop::analyse(path, progress),
        LogKind::Spark => spark::analyse(path, progress),
    }
}

/// As [`analyse`], of what comes from a reader. `name` is what errors call it.
///
/// # Errors
/// If reading fails, and as the format's own reader.
pub fn analyse_stream(
    mut reader: impl Read,
    name: &str,
    progress: Option<OnProgress<'_>>,
) -> Result<(TraceSummary, Findings), TraceError> {
    let mut beginning = Vec::new();
    let read = reader.by_ref().take(LOOKED_AT as u64).read_to_end(&mut beginning);
    read.map_err(|source| TraceError::Read { name: name.to_owned(), position: 0, source })?;
    let plain = plain(&beginning);
    let whole = Cursor::new(&beginning).chain(reader);
    if journal::begins_like_one(&beginning) {
        journal::analyse_journal(whole, name)
    } else if hadoop::sniff(&plain).is_some() {
        hadoop::analyse_hadoop(whole, name, progress)
    } else {
        spark::analyse_spark(whole, name, progress)
    }
}

/// The beginning of a log, decompressed as far as it goes.
fn plain(beginning: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    if let Ok(reader) = Plain::new(beginning) {
        // It breaks off where the bytes that were looked at end.
        let _ = reader.take(LOOKED_AT as u64).read_to_end(&mut plain);
    }
    plain
}
