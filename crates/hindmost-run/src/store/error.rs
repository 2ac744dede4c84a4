//! Why a run's folder can't be used.

use std::io;
use std::path::PathBuf;

use super::folder::Distrust;

/// Why a run's folder can't be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Something in the way of making or reading it.
    #[error("{}: {error}", path.display())]
    Io {
        /// What.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It can't be made or written into.
    #[error("can't write into the output folder {}: {error}", path.display())]
    Unwritable {
        /// The folder.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// There are files in it that are not a run's.
    #[error("{} is not empty and holds no run; give --out a new folder", .0.display())]
    NotEmpty(PathBuf),
    /// It holds a run, and going on was not asked for.
    #[error("{} holds {} of {job:?}: {}--out DIR runs the job elsewhere, or remove the folder to run it again", path.display(),
        if *done { "the finished run" } else { "a run" }, if *done { "" } else { "--resume goes on with it, " })]
    HoldsRun {
        /// The folder.
        path: PathBuf,
        /// The job that it holds.
        job: String,
        /// True if the run is done.
        done: bool,
    },
    /// It holds another job's run.
    #[error("{} holds another job's run, of {held:?}: its name, phases, numbers of tasks or inputs are not those of {given:?}; --out DIR runs that elsewhere, or remove the folder", path.display())]
    OtherJob {
        /// The folder.
        path: PathBuf,
        /// The job that it holds.
        held: String,
        /// The job that was given.
        given: String,
    },
    /// It holds a run, and not which job's.
    #[error("{} holds a run, but its record .hindmost/job.json is missing, so nobody knows of which job its results are; \
        --out DIR runs the job elsewhere, or remove the folder to run it again", .0.display())]
    RecordMissing(PathBuf),
    /// Phases of the job do something else now, and have results of what they did.
    #[error("{} holds results of phase {phase:?} of {job:?}, whose command, variables or folder have changed since: --resume --keep-results \
        goes on with them all the same, --out DIR runs the job elsewhere", path.display())]
    Changed {
        /// The folder.
        path: PathBuf,
        /// The job.
        job: String,
        /// The first of those phases.
        phase: String,
    },
    /// Another process is at work in it.
    #[error("{} is in use: another hindmost runs this job now", .0.display())]
    InUse(PathBuf),
    /// What it says of its job can't be read.
    #[error("{}: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Other users can change what is in it.
    #[error("{} {}, who could change results and commands; give --out a folder of your own{}, or --trust-folder if you \
        trust them", path.display(), match distrust {
            Distrust::OthersOwn => "belongs to another user",
            Distrust::OthersWrite => "may be written to by other users",
            Distrust::NotPlain => "is a link of another user",
        }, if *distrust == Distrust::OthersWrite { " (chmod go-w keeps others out)" } else { "" })]
    Untrusted {
        /// The folder or file.
        path: PathBuf,
        /// Who can.
        distrust: Distrust,
    },
    /// While a run was at work, its folder was moved, removed or replaced.
    #[error("{} was moved, removed or replaced while the run was at work in it, so the run has ended: with --out DIR it \
        goes on where the folder is now", .0.display())]
    Displaced(PathBuf),
}
