//! Why a run can't be done.

use std::io;
use std::path::PathBuf;

use hindmost_core::cluster::RecordError;
use hindmost_core::journal::JournalError;
use hindmost_core::resources::ResourceError;
use hindmost_policies::catalogue::CatalogueError;

use crate::store::StoreError;

/// Why a run could not be done.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// What was asked for makes no sense.
    #[error("{0}")]
    Input(String),
    /// The run's folder.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The policy.
    #[error(transparent)]
    Policy(#[from] CatalogueError),
    /// A demand or a node's room.
    #[error(transparent)]
    Resource(#[from] ResourceError),
    /// The journal can't be read or written.
    #[error("journal {}: {error}", path.display())]
    Journal {
        /// The journal.
        path: PathBuf,
        /// Why.
        error: JournalError,
    },
    /// A file of the run.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// What was written did not all get to the disk.
    #[error("{}: results could not be written to the disk ({error}), so none of what was being made counts; --resume makes it again", path.display())]
    NotDurable {
        /// The run's folder.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A record that the state does not allow: a defect of the policy or the driver.
    #[error("internal error, please report it: {0}")]
    Record(#[from] RecordError),
    /// Tasks that wait while nothing is at work: a defect of the policy.
    #[error("internal error, please report it: tasks wait, but the policy starts nothing")]
    Stuck,
}
