//! Why a log could not be read.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

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

    /// The path names a directory.
    #[error(
        "{} is a directory; give the event log file itself (logs in several files, such as eventlog_v2_… directories, are not read as one)",
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
    #[error("the log {name} is empty; expected a Spark event log (one JSON event a line)")]
    Empty {
        /// The log's name.
        name: String,
    },

    /// It begins as a compressed file does.
    #[error("the log {name} is compressed ({kind}); only plain event logs are read: decompress it first ({how})")]
    Compressed {
        /// The log's name.
        name: String,
        /// The compression found.
        kind: &'static str,
        /// How to decompress it.
        how: &'static str,
    },

    /// It isn't text.
    #[error("the log {name} is not a text file ({found}); expected a Spark event log (one JSON event a line)")]
    Binary {
        /// The log's name.
        name: String,
        /// What it looks like.
        found: String,
    },

    /// Text, but not a Spark event log.
    #[error(
        "the log {name} is not a Spark event log: line {line} is {found}; expected one JSON event a line, such as {{\"Event\":\"SparkListenerApplicationStart\",…}}"
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
}

fn why_open(source: &io::Error) -> String {
    match source.kind() {
        io::ErrorKind::NotFound => "there is no such file; check the path".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied; make it readable for this user".to_owned(),
        _ => source.to_string(),
    }
}
