//! Errors of run folders.

use std::io;
use std::path::PathBuf;

use super::folder::Distrust;

/// A run's folder that can't be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file or folder can't be read or created.
    #[error("{}: {error}", path.display())]
    Io {
        /// Path of the file or folder.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The folder can't be created or written into.
    #[error("can't write into the output folder {}: {error}; make it writable or choose another one with --out DIR", path.display())]
    Unwritable {
        /// Path of the folder.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The folder holds files that do not belong to a run.
    #[error("{} is not empty and holds no run; choose a new folder with --out DIR", .0.display())]
    NotEmpty(PathBuf),
    /// The folder holds a run, and `--resume` was not given.
    #[error("{} holds {} of job {job:?}: {}use --out DIR to run the job in another folder, or remove the folder to run it again",
        path.display(), if *done { "the finished run" } else { "a run" }, if *done { "use --resume --redo PHASE to run parts \
                                                                                      again, " } else { "use \
                                                                                                                                                --resume \
                                                                                                                                                to \
                                                                                                                                                continue \
                                                                                                                                                it, " })]
    HoldsRun {
        /// Path of the folder.
        path: PathBuf,
        /// Name of the job in the folder.
        job: String,
        /// True if the run is done.
        done: bool,
    },
    /// The folder holds another job's run.
    #[error("{} holds a run of another job, {held:?}: {difference}use --out DIR to run {given:?} in another folder, or remove \
        the folder", path.display())]
    OtherJob {
        /// Path of the folder.
        path: PathBuf,
        /// Name of the job in the folder.
        held: String,
        /// Name of the job that the user wants to run.
        given: String,
        /// How the job differs, and what the user can do about it, as the first part of a sentence.
        difference: String,
    },
    /// The folder holds a run without its job's record.
    #[error("{} holds a run, but its record .hindmost/job.json is missing, so the job of its results is unknown; \
        use --out DIR to run the job in another folder, or remove the folder to run it again", .0.display())]
    RecordMissing(PathBuf),
    /// The folder holds results of commands that have changed.
    #[error("{} holds results of phase {phase:?} of job {job:?}, whose command, variables or folder have changed since: \
        use --resume --keep-results to keep these results, --redo-changed to run all tasks again whose command has changed, --redo \
        {phase} to run this phase again, or --out DIR to run the job in another folder", path.display())]
    Changed {
        /// Path of the folder.
        path: PathBuf,
        /// Name of the job.
        job: String,
        /// Name of the first phase that has changed.
        phase: String,
    },
    /// The folder holds results of a map whose command has changed.
    #[error("{} holds results of another command: the command, its shell or the folder in which it runs has changed since; \
        use --resume --keep-results to keep these results and to run the new command for the other values, or --out DIR to run all \
        values in another folder", .0.display())]
    ChangedCommand(PathBuf),
    /// The folder holds a map over other values, which are too long to be recognised one by one.
    #[error("{} holds a run over other values, and they are too long to be compared one by one; use --out DIR to run these \
        values in another folder", .0.display())]
    OtherValues(PathBuf),
    /// A part of the job that is to run again does not exist.
    #[error("{0}")]
    Redo(String),
    /// A task's output file would be in the run's own folder.
    #[error("the output {} is in the run's own folder: choose a place outside it, or another folder with --out DIR", .0.display())]
    OutputInside(PathBuf),
    /// A file is in the place of a task's output file.
    #[error("{} exists, and {task} has not made it as it is now{}: move it away, choose another output, or replace such files \
             with --overwrite",
        path.display(), match more { 0 => String::new(), 1 => " (and 1 more)".to_owned(), more => format!(" (and {more} more)") })]
    InTheWay {
        /// Path of the file.
        path: PathBuf,
        /// The task, in words.
        task: String,
        /// Number of further such files.
        more: u64,
    },
    /// The folder holds no run.
    #[error("{} holds no run; give the output folder of one, such as NAME.out", .0.display())]
    NoRun(PathBuf),
    /// Another process holds the folder's lock.
    #[error("{} is in use: another `hindmost` process runs this job now; wait until it ends, or use --out DIR", .0.display())]
    InUse(PathBuf),
    /// A file or folder of the run is not valid.
    #[error("{} is damaged: {reason}; restore it, or use --out DIR to run the job in another folder", path.display())]
    Damaged {
        /// Path of the file or folder.
        path: PathBuf,
        /// Why it is not valid.
        reason: String,
    },
    /// Other users can change the folder's content.
    #[error("{} {}, who could change results and commands; choose a folder of your own with --out DIR{}, or use \
        --trust-folder if you trust them", path.display(), match distrust {
            Distrust::OthersOwn => "belongs to another user",
            Distrust::OthersWrite => "may be written to by other users",
            Distrust::NotPlain => "is a link of another user",
        }, if *distrust == Distrust::OthersWrite { " (chmod go-w takes this right from them)" } else { "" })]
    Untrusted {
        /// Path of the folder or file.
        path: PathBuf,
        /// Why other users can change it.
        distrust: Distrust,
    },
    /// The folder was moved, removed or replaced during the run.
    #[error("{} was moved, removed or replaced during the run, so the run has ended; if it was moved, continue with --resume \
        --out DIR, where DIR is its new place", .0.display())]
    Displaced(PathBuf),
}
