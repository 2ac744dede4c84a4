//! How a run's folder is opened: whose it is, and whether it may be gone on with.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use hindmost_core::estimator::Knowledge;
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};

use super::Store;
use super::files::write_beside;
use crate::engine::NodeOffer;
use crate::job_file::Plan;

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
    #[error("{} holds a run of {held:?} as it was: name, phases, numbers of tasks or inputs differ from what the job file of {given:?} says now; --out DIR runs it elsewhere, or remove the folder", path.display())]
    OtherJob {
        /// The folder.
        path: PathBuf,
        /// The job that it holds.
        held: String,
        /// The job that was given.
        given: String,
    },
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
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> StoreError + '_ {
    move |error| StoreError::Io { path: path.to_owned(), error }
}

/// What a run was begun with, for a resumption of one that was killed before it wrote its journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BegunWith {
    /// The policy, where one was named.
    pub policy: Option<String>,
    /// What it may know, where that was named.
    pub knowledge: Option<Knowledge>,
    /// The nodes.
    pub nodes: Vec<NodeOffer>,
}

/// What a run's folder says of its job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct JobRecord {
    /// The job's name.
    pub job: String,
    /// Identifies the job and all that its commands do ([`Plan::digest`]).
    pub digest: String,
    /// Identifies its tasks ([`Plan::shape`]).
    pub shape: String,
    /// Identifies what each phase's commands do ([`PlannedPhase::digest`](crate::job_file::PlannedPhase::digest)).
    pub phases: Vec<String>,
    /// Identifies the run: every process of it carries this in its environment.
    pub run: String,
    /// When it began, nanoseconds since 1970.
    pub began: u64,
    /// What it was begun with.
    #[serde(default)]
    pub begun_with: Option<BegunWith>,
}

/// How a folder is to be opened.
#[derive(Clone, Debug, Default)]
pub struct Opening {
    /// Go on with the run that is there.
    pub resume: bool,
    /// Go on although phases that have results do something else now.
    pub keep_results: bool,
    /// What a new run is begun with.
    pub begun_with: Option<BegunWith>,
}

/// A folder that has been opened.
pub struct Opened {
    /// It.
    pub store: Store,
    /// True if it holds a run that has begun.
    pub begun: bool,
    /// Phases that do something else than when the run was last at work.
    pub changed: Vec<String>,
}

impl Store {
    /// Opens or makes the folder of a job's run.
    ///
    /// # Errors
    /// If it holds something else, is in use, can't be written, holds a run that is not to be resumed, or
    /// results of commands that have changed.
    pub fn open(folder: &Path, plan: &Plan, opening: &Opening) -> Result<Opened, StoreError> {
        let inner = folder.join(".hindmost");
        if !inner.exists() && fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(StoreError::NotEmpty(folder.to_owned()));
        }
        let unwritable = |error| StoreError::Unwritable { path: folder.to_owned(), error };
        fs::create_dir_all(&inner).map_err(unwritable)?;
        let folder = fs::canonicalize(folder).map_err(at(folder))?;
        let inner = folder.join(".hindmost");
        let lock_file = inner.join("lock");
        let lock = File::options().create(true).truncate(false).write(true).open(&lock_file);
        let unwritable = |error| StoreError::Unwritable { path: folder.clone(), error };
        let lock = lock.map_err(unwritable)?;
        if !locked(&lock) {
            return Err(StoreError::InUse(folder));
        }
        let job_file = inner.join("job.json");
        // A run that was stopped before it wrote anything has not begun.
        let begun = fs::metadata(inner.join("journal.jsonl")).is_ok_and(|found| found.len() > 0);
        let now = JobRecord::of(plan, opening);
        let held = fs::read_to_string(&job_file);
        let is_new = held.is_err();
        let (job, changed) = match held {
            Ok(text) => {
                let held: JobRecord = serde_json::from_str(&text)
                    .map_err(|error| StoreError::Damaged { path: job_file.clone(), reason: error.to_string() })?;
                let changed = held.check(&folder, plan, opening, begun)?;
                (JobRecord { run: held.run, began: held.began, begun_with: held.begun_with, ..now }, changed)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => (now, Vec::new()),
            Err(error) => return Err(StoreError::Io { path: job_file, error }),
        };
        if is_new || !changed.is_empty() {
            let text = serde_json::to_string_pretty(&job).unwrap_or_default();
            write_beside(&job_file, text.as_bytes()).map_err(unwritable)?;
        }
        for name in ["attempts", "logs"] {
            let made = inner.join(name);
            fs::create_dir_all(&made).map_err(unwritable)?;
        }
        let phases: Vec<String> = plan.phases.iter().map(|phase| phase.name.clone()).collect();
        for name in &phases {
            let made = folder.join(name);
            fs::create_dir_all(&made).map_err(unwritable)?;
        }
        Ok(Opened { store: Store { folder, job, phases, _lock: lock }, begun, changed })
    }
}

/// Locks a run's folder. A child that a process was just starting when it was killed holds its files, and so the
/// lock, for a moment longer: a few tries.
fn locked(lock: &File) -> bool {
    for _ in 0..20 {
        if rustix::fs::flock(lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
            return true;
        }
        std::thread::sleep(std::time::Duration::from_millis(25));
    }
    false
}

impl JobRecord {
    fn of(plan: &Plan, opening: &Opening) -> JobRecord {
        let began = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
        JobRecord {
            job: plan.name.clone(),
            digest: plan.digest(),
            shape: plan.shape(),
            phases: plan.phases.iter().map(crate::job_file::PlannedPhase::digest).collect(),
            run: format!("{began:x}-{:x}", std::process::id()),
            began,
            begun_with: opening.begun_with.clone(),
        }
    }

    /// Whether the run that a folder holds may be gone on with: the names of phases that have changed.
    fn check(&self, folder: &Path, plan: &Plan, opening: &Opening, begun: bool) -> Result<Vec<String>, StoreError> {
        let path = || folder.to_owned();
        if self.shape != plan.shape() {
            return Err(StoreError::OtherJob { path: path(), held: self.job.clone(), given: plan.name.clone() });
        }
        if !opening.resume && begun {
            let summary = fs::read_to_string(folder.join(".hindmost/summary.json")).unwrap_or_default();
            let done = summary.contains("\"state\": \"done\"");
            return Err(StoreError::HoldsRun { path: path(), job: self.job.clone(), done });
        }
        let phases = plan.phases.iter().zip(&self.phases);
        let changed: Vec<String> =
            phases.filter(|(now, held)| now.digest() != **held).map(|(now, _)| now.name.clone()).collect();
        let has_results =
            |phase: &&String| fs::read_dir(folder.join(phase)).is_ok_and(|mut results| results.next().is_some());
        match changed.iter().find(has_results).filter(|_| !opening.keep_results) {
            Some(phase) => Err(StoreError::Changed { path: path(), job: plan.name.clone(), phase: phase.clone() }),
            None => Ok(changed),
        }
    }
}
