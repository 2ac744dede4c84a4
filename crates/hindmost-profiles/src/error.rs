//! Errors of the store and of fits.

use std::path::PathBuf;

/// An error while a file of profiles is opened, read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file can't be opened, read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// The error of the operating system.
        error: std::io::Error,
    },
    /// The file is damaged, or is no file of profiles.
    #[error(
        "{}: not a readable file of profiles: {why}; if it was one, move it away, and the next run begins a new one",
        path.display()
    )]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// Another process uses the file, and still does after some seconds.
    #[error("{}: another process uses this file of profiles", path.display())]
    InUse {
        /// Path of the file.
        path: PathBuf,
    },
    /// The process that wrote the file was killed while the file was open. Opening it for writing repairs it.
    #[error(
        "{}: the last process that wrote this file of profiles was killed; the next run or simulation with --profiles \
         and this file repairs it",
        path.display()
    )]
    NotClosed {
        /// Path of the file.
        path: PathBuf,
    },
    /// The file was opened to be read.
    #[error("{}: this file of profiles was opened for reading only", path.display())]
    ReadOnly {
        /// Path of the file.
        path: PathBuf,
    },
    /// The file was written by a newer version.
    #[error("{}: the file of profiles has format {found}, and this version reads formats up to {known}", path.display())]
    TooNew {
        /// Path of the file.
        path: PathBuf,
        /// The file's format.
        found: u64,
        /// The newest format that this version reads.
        known: u64,
    },
}

/// An error while weights are fitted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FitError {
    /// A number is not finite, or the columns have different lengths.
    #[error("the numbers of the quadratic program are not valid")]
    Invalid,
    /// The solver found no solution.
    #[error("the quadratic program was not solved: {0}")]
    Unsolved(String),
}
