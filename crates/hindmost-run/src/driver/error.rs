//! Errors of runs.

use std::io;
use std::path::PathBuf;

use hindmost_core::cluster::RecordError;
use hindmost_core::journal::JournalError;
use hindmost_core::resources::ResourceError;
use hindmost_policies::catalogue::CatalogueError;

use crate::store::StoreError;

/// A run that could not be started or had to end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The job file, the options and the run's folder do not fit each other.
    #[error("{0}")]
    Input(String),
    /// The run's folder can't be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The policy can't be built.
    #[error(transparent)]
    Policy(#[from] CatalogueError),
    /// A demand or a node's capacity is not valid.
    #[error(transparent)]
    Resource(#[from] ResourceError),
    /// The journal can't be read or written.
    #[error("journal {}: {error}", path.display())]
    Journal {
        /// Path of the journal.
        path: PathBuf,
        /// Why it can't be read or written.
        error: JournalError,
    },
    /// A file or folder of the run can't be read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// Path of the file or folder.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// Results could not be synced to the disk.
    #[error("{}: results could not be written to the disk ({error}); the output of attempts \
            that were running does not count. Check the disk's free space and health, then run again with --resume", path.display())]
    NotDurable {
        /// Path of the run's folder.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// A record contradicts the cluster's state. This is a defect of the policy or the driver.
    #[error("internal error, please report it: {0}")]
    Record(#[from] RecordError),
    /// Tasks wait, nothing runs and the policy starts nothing. This is a defect of the policy.
    #[error("internal error, please report it: tasks wait and nothing runs, but the policy starts no attempt")]
    Stuck,
}
