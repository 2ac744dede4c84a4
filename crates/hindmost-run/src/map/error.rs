//! Errors of `hindmost map` before anything runs.

use std::io;
use std::path::PathBuf;

/// Why the tasks can't be made.
#[derive(Debug, thiserror::Error)]
pub enum MapError {
    /// The template of the command is not valid.
    #[error("{0}")]
    Template(String),
    /// The input sources do not fit each other, or a value can't be used.
    #[error("{0}")]
    Values(String),
    /// An option's value is not valid.
    #[error("{0}")]
    Option(String),
    /// A file with values, or the job log, can't be read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
}
