//! The folder of a run: results, attempts' own folders, end markers, logs, the journal's place.
//!
//! ```text
//! DIR/PHASE/TASK/…              results, renamed into place once
//! DIR/.hindmost/journal.jsonl   records
//! DIR/.hindmost/job.json        which job this is, and when it began
//! DIR/.hindmost/summary.json    what came of it
//! DIR/.hindmost/attempts/…      attempts at work, each with its output folder `out`
//! DIR/.hindmost/logs/PHASE/…    what commands wrote to standard output and error
//! ```
//!
//! The rename of an attempt's `out` to `DIR/PHASE/TASK` is the commit: it never replaces what is there, so
//! a task has one winner whatever dies when.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hindmost_core::estimator::Knowledge;
use hindmost_core::ids::{AttemptId, TaskId};
use rustix::fs::{CWD, FlockOperation, RenameFlags};
use serde::{Deserialize, Serialize};

use crate::engine::{END_MARKER, NodeOffer};

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
    #[error("{} holds a run of {held:?} as it was: name, phases, commands, inputs, environment or folders differ from what the job file of {given:?} says now; --out DIR runs it elsewhere, or remove the folder", path.display())]
    OtherJob {
        /// The folder.
        path: PathBuf,
        /// The job that it holds.
        held: String,
        /// The job that was given.
        given: String,
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
    /// Identifies its contents.
    pub digest: String,
    /// Identifies the run: every process of it carries this in its environment.
    pub run: String,
    /// When it began, nanoseconds since 1970.
    pub began: u64,
    /// What it was begun with.
    #[serde(default)]
    pub begun_with: Option<BegunWith>,
}

/// What an attempt left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndMarker {
    /// Its command ended with this exit code.
    Exit(i32),
    /// None: it was killed, or could not write.
    Missing,
}

/// What became of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commit {
    /// The attempt's output is the task's result.
    Won,
    /// The task has a result already.
    TooLate,
    /// The attempt has no output folder: its command removed it.
    NoOutput,
}

/// A run's folder, locked while this lives.
pub struct Store {
    folder: PathBuf,
    job: JobRecord,
    /// Names of the phases, by number.
    phases: Vec<String>,
    _lock: File,
}

impl Store {
    /// Opens or makes the folder of a run. True if it holds a run that has begun.
    ///
    /// # Errors
    /// If it holds something else, is in use, can't be written, or holds a run while `resume` is false.
    pub fn open(
        folder: &Path,
        name: &str,
        digest: &str,
        phases: Vec<String>,
        resume: bool,
    ) -> Result<(Store, bool), StoreError> {
        Store::open_with(folder, (name, digest), phases, resume, None)
    }

    /// As [`Store::open`] of a job's name and digest; a new folder says what the run is begun with.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_with(
        folder: &Path,
        (name, digest): (&str, &str),
        phases: Vec<String>,
        resume: bool,
        begun_with: Option<BegunWith>,
    ) -> Result<(Store, bool), StoreError> {
        let inner = folder.join(".hindmost");
        if !inner.exists() && fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(StoreError::NotEmpty(folder.to_owned()));
        }
        fs::create_dir_all(&inner).map_err(at(&inner))?;
        let folder = fs::canonicalize(folder).map_err(at(folder))?;
        let inner = folder.join(".hindmost");
        let lock_file = inner.join("lock");
        let lock = File::options().create(true).truncate(false).write(true).open(&lock_file).map_err(at(&lock_file))?;
        if rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Err(StoreError::InUse(folder));
        }
        let job_file = inner.join("job.json");
        let job = match fs::read_to_string(&job_file) {
            Ok(text) => {
                let held: JobRecord = serde_json::from_str(&text)
                    .map_err(|error| StoreError::Damaged { path: job_file, reason: error.to_string() })?;
                if held.digest != digest {
                    return Err(StoreError::OtherJob { path: folder, held: held.job, given: name.to_owned() });
                }
                // A run that was stopped before it wrote anything has not begun.
                let begun = fs::metadata(inner.join("journal.jsonl")).is_ok_and(|found| found.len() > 0);
                if !resume && begun {
                    let summary = fs::read_to_string(inner.join("summary.json")).unwrap_or_default();
                    let done = summary.contains("\"state\": \"done\"");
                    return Err(StoreError::HoldsRun { path: folder, job: held.job, done });
                }
                held
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let began = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
                let run = format!("{began:x}-{:x}", std::process::id());
                let job = JobRecord { job: name.to_owned(), digest: digest.to_owned(), run, began, begun_with };
                let text = serde_json::to_string_pretty(&job).unwrap_or_default();
                write_beside(&job_file, text.as_bytes()).map_err(at(&job_file))?;
                job
            }
            Err(error) => return Err(StoreError::Io { path: job_file, error }),
        };
        let begun = fs::metadata(inner.join("journal.jsonl")).is_ok_and(|found| found.len() > 0);
        for name in ["attempts", "logs"] {
            let made = inner.join(name);
            fs::create_dir_all(&made).map_err(at(&made))?;
        }
        for name in &phases {
            let made = folder.join(name);
            fs::create_dir_all(&made).map_err(at(&made))?;
        }
        Ok((Store { folder, job, phases, _lock: lock }, begun))
    }

    /// The folder, absolute.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What the folder says of its job.
    pub fn job(&self) -> &JobRecord {
        &self.job
    }

    /// Where the journal is.
    pub fn journal(&self) -> PathBuf {
        self.folder.join(".hindmost/journal.jsonl")
    }

    fn phase(&self, task: TaskId) -> &str {
        self.phases.get(task.phase as usize).map_or("", String::as_str)
    }

    /// Where a task's result is once it has one.
    pub fn result(&self, task: TaskId) -> PathBuf {
        self.folder.join(self.phase(task)).join(task.index.to_string())
    }

    /// True if a task has its result.
    pub fn has_result(&self, task: TaskId) -> bool {
        self.result(task).symlink_metadata().is_ok()
    }

    /// An attempt's own folder.
    pub fn attempt(&self, attempt: AttemptId) -> PathBuf {
        let task = attempt.task;
        self.folder.join(format!(".hindmost/attempts/{}-{}.{}", task.phase, task.index, attempt.copy))
    }

    /// Makes an attempt's folder afresh, with its empty output folder and progress file.
    ///
    /// # Errors
    /// If that fails.
    pub fn make_attempt(&self, attempt: AttemptId) -> io::Result<PathBuf> {
        let folder = self.attempt(attempt);
        match fs::create_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                remove_all(&folder)?;
                fs::create_dir(&folder)?;
            }
            other => other?,
        }
        fs::create_dir(folder.join("out"))?;
        Ok(folder)
    }

    /// How an attempt ended.
    pub fn end_marker(&self, attempt: AttemptId) -> EndMarker {
        let text = fs::read_to_string(self.attempt(attempt).join(END_MARKER)).unwrap_or_default();
        let code =
            text.strip_prefix("exit ").and_then(|rest| rest.strip_suffix('\n')).and_then(|code| code.parse().ok());
        code.map_or(EndMarker::Missing, EndMarker::Exit)
    }

    /// How long ago an attempt wrote its end marker, if it has.
    pub fn ended_ago(&self, attempt: AttemptId) -> Option<Duration> {
        let written = fs::metadata(self.attempt(attempt).join(END_MARKER)).ok()?.modified().ok()?;
        written.elapsed().ok()
    }

    /// The progress that an attempt's command has last reported, in [0, 1], and how long ago.
    pub fn reported_progress(&self, attempt: AttemptId) -> Option<(f64, Duration)> {
        let path = self.attempt(attempt).join("progress");
        // Opening a pipe would wait for somebody to write.
        if !fs::metadata(&path).ok()?.is_file() {
            return None;
        }
        let mut file = File::open(path).ok()?;
        let found = file.metadata().ok()?;
        let length = found.len();
        let ago = found.modified().ok().and_then(|written| written.elapsed().ok()).unwrap_or_default();
        // The last line is near the end, however much has been written.
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL))).ok()?;
        let mut tail = String::new();
        file.take(TAIL).read_to_string(&mut tail).ok()?;
        let complete = &tail[..tail.rfind('\n')?];
        let values = complete.lines().rev().filter_map(|line| line.trim().parse::<f64>().ok());
        values.filter(|share| share.is_finite()).map(|share| (share.clamp(0.0, 1.0), ago)).next()
    }

    /// Makes an attempt's output its task's result, if the task has none.
    ///
    /// # Errors
    /// If the rename fails for another reason than those of [`Commit`].
    pub fn commit(&self, attempt: AttemptId) -> io::Result<Commit> {
        let (from, to) = (self.attempt(attempt).join("out"), self.result(attempt.task));
        let renamed = match rustix::fs::renameat_with(CWD, &from, CWD, &to, RenameFlags::NOREPLACE) {
            // Not every file system knows renames that don't replace; the lock keeps others away.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS | rustix::io::Errno::NOTSUP) => {
                if self.has_result(attempt.task) {
                    return Ok(Commit::TooLate);
                }
                fs::rename(&from, &to)
            }
            other => other.map_err(io::Error::from),
        };
        let renamed = match renamed {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && fs::metadata(&from).is_ok() => {
                rename_unwritable(&from, &to)
            }
            other => other,
        };
        match renamed {
            Ok(()) => Ok(Commit::Won),
            Err(error) => match error.kind() {
                io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty => Ok(Commit::TooLate),
                io::ErrorKind::NotFound if self.has_result(attempt.task) => Ok(Commit::TooLate),
                io::ErrorKind::NotFound => Ok(Commit::NoOutput),
                _ => Err(error),
            },
        }
    }

    /// True if an attempt ended well and its output is gone: it was renamed into place.
    pub fn was_committed(&self, attempt: AttemptId) -> bool {
        self.end_marker(attempt) == EndMarker::Exit(0)
            && !self.attempt(attempt).join("out").exists()
            && self.has_result(attempt.task)
    }

    /// Removes what an attempt leaves; `keep_logs` keeps what it wrote to standard output and error.
    ///
    /// # Errors
    /// If something can't be removed.
    pub fn remove_attempt(&self, attempt: AttemptId, keep_logs: bool) -> io::Result<()> {
        let folder = self.attempt(attempt);
        if keep_logs {
            for (name, ending) in [("stdout", "out"), ("stderr", "err")] {
                let log = folder.join(name);
                if fs::metadata(&log).is_ok_and(|found| found.len() > 0) {
                    let to = self.log(attempt, ending);
                    if let Some(parent) = to.parent() {
                        fs::create_dir_all(parent)?;
                    }
                    fs::rename(&log, &to)?;
                }
            }
        }
        remove_all(&folder)
    }

    /// Where an attempt's log is kept; `ending` is `out` or `err`.
    pub fn log(&self, attempt: AttemptId, ending: &str) -> PathBuf {
        let (task, copy) = (attempt.task, attempt.copy);
        self.folder.join(format!(".hindmost/logs/{}/{}.{copy}.{ending}", self.phase(task), task.index))
    }

    /// The last of what an attempt that is still there wrote to standard error.
    pub fn stderr_tail(&self, attempt: AttemptId) -> String {
        let Ok(mut file) = File::open(self.attempt(attempt).join("stderr")) else { return String::new() };
        let length = file.metadata().map_or(0, |found| found.len());
        let mut bytes = Vec::new();
        if file.seek(SeekFrom::Start(length.saturating_sub(STDERR_TAIL))).is_ok() {
            let _ = file.take(STDERR_TAIL).read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).trim_end().to_owned()
    }

    /// Removes attempts' folders that `keep` does not want.
    ///
    /// # Errors
    /// If one can't be removed.
    pub fn remove_strays(&self, keep: impl Fn(&Path) -> bool) -> io::Result<()> {
        for entry in fs::read_dir(self.folder.join(".hindmost/attempts"))? {
            let path = entry?.path();
            if !keep(&path) {
                remove_all(&path)?;
            }
        }
        Ok(())
    }

    /// Writes what came of the run.
    ///
    /// # Errors
    /// If that fails.
    pub fn write_summary(&self, json: &str) -> io::Result<()> {
        write_beside(&self.folder.join(".hindmost/summary.json"), json.as_bytes())
    }
}

/// Renames a folder that its owner may not write: moving it changes its own entry for its parent.
fn rename_unwritable(from: &Path, to: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let before = fs::metadata(from)?.permissions();
    fs::set_permissions(from, fs::Permissions::from_mode(before.mode() | 0o700))?;
    let renamed = rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE).map_err(io::Error::from);
    let at = if renamed.is_ok() { to } else { from };
    fs::set_permissions(at, before)?;
    renamed
}

/// Bytes at the end of a progress file that are read.
const TAIL: u64 = 256;
/// Bytes at the end of standard error that are shown.
const STDERR_TAIL: u64 = 2048;

/// Writes a file beside its place and renames it, so that it is never half there.
fn write_beside(path: &Path, content: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("part");
    let mut file = File::create(&beside)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&beside, path)
}

/// Removes a folder with all that is in it. A dying process may still be making a file in it: a few tries.
fn remove_all(folder: &Path) -> io::Result<()> {
    let mut tries = 0;
    loop {
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if tries >= 20 => return Err(error),
            Err(_) => {
                tries += 1;
                make_removable(folder);
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            Ok(()) => return Ok(()),
        }
    }
}

/// A command may have taken its own folders' permission to be changed.
fn make_removable(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            make_removable(&entry.path());
        }
    }
}
