//! A log of any format: which it is, counted, and analysed.

use std::path::{Path, PathBuf};

use crate::analysis::Findings;
use crate::error::TraceError;
use crate::spark::OnProgress;
use crate::summary::TraceSummary;
use crate::{hadoop, journal, spark};

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

/// Tells which format the log at a path has: by its first bytes, and in a folder by what is in it.
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

/// Counts what a log holds, and finds what stragglers cost in it, and why.
///
/// # Errors
/// As [`kind`], and as the format's own reader.
pub fn analyse(path: &Path, progress: Option<OnProgress<'_>>) -> Result<(TraceSummary, Findings), TraceError> {
    match kind(path)? {
        LogKind::Journal(journal) => journal::analyse(&journal, progress),
        LogKind::Hadoop => hadoop::analyse(path, progress),
        LogKind::Spark => spark::analyse(path, progress),
    }
}
