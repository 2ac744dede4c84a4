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

mod files;
mod opening;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hindmost_core::ids::{AttemptId, TaskId};

use crate::engine::{END_MARKER, end_line};
use files::{read_end, remove_all, rename_anew, write_beside};
pub use opening::{BegunWith, JobRecord, Opened, Opening, StoreError};

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
    /// The attempt has no output folder: its command removed it, or put something else in its place.
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

    /// The run, as engines know it.
    pub fn run(&self) -> crate::engine::RunIdentity {
        crate::engine::RunIdentity { id: self.job.run.clone(), folder: self.folder.clone() }
    }

    /// Opens an attempt's folder.
    pub fn open_attempt(&self, attempt: AttemptId) -> io::Result<File> {
        File::open(self.attempt(attempt))
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
        let bytes = read_end(&self.attempt(attempt).join(END_MARKER), TAIL).map(|(bytes, _)| bytes).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let code = text.strip_prefix("exit ").and_then(|rest| rest.split_once(' ')?.0.parse().ok());
        let code = code.filter(|code| text == end_line(*code, &self.job.run, attempt));
        code.map_or(EndMarker::Missing, EndMarker::Exit)
    }

    /// How long ago an attempt wrote its end marker, if it has.
    pub fn ended_ago(&self, attempt: AttemptId) -> Option<Duration> {
        let written = fs::metadata(self.attempt(attempt).join(END_MARKER)).ok()?.modified().ok()?;
        written.elapsed().ok()
    }

    /// The progress that an attempt's command has last reported, in [0, 1], and how long ago.
    pub fn reported_progress(&self, attempt: AttemptId) -> Option<(f64, Duration)> {
        // The last line is near the end, however much has been written.
        let (tail, found) = read_end(&self.attempt(attempt).join("progress"), TAIL).ok()?;
        let ago = found.modified().ok().and_then(|written| written.elapsed().ok()).unwrap_or_default();
        let complete = &tail[..tail.iter().rposition(|byte| *byte == b'\n')?];
        let complete = String::from_utf8_lossy(complete);
        let values = complete.lines().rev().filter_map(|line| line.trim().parse::<f64>().ok());
        values.filter(|share| share.is_finite()).map(|share| (share.clamp(0.0, 1.0), ago)).next()
    }

    /// Makes an attempt's output its task's result, if the task has none.
    ///
    /// # Errors
    /// If the rename fails for another reason than those of [`Commit`].
    pub fn commit(&self, attempt: AttemptId) -> io::Result<Commit> {
        let (from, to) = (self.attempt(attempt).join("out"), self.result(attempt.task));
        // A command may have put something else in its place.
        let is_there = || from.symlink_metadata().is_ok_and(|found| found.is_dir());
        if from.symlink_metadata().is_ok() && !is_there() {
            return Ok(Commit::NoOutput);
        }
        let mut renamed = rename_anew(&from, &to);
        if let (Err(error), Some(parent)) = (&renamed, to.parent())
            && error.kind() == io::ErrorKind::NotFound
            && is_there()
        {
            // Somebody has removed the phase's folder.
            fs::create_dir_all(parent)?;
            renamed = rename_anew(&from, &to);
        }
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
        let bytes = read_end(&self.attempt(attempt).join("stderr"), STDERR_TAIL).map(|(bytes, _)| bytes);
        String::from_utf8_lossy(&bytes.unwrap_or_default()).trim_end().to_owned()
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

    /// Writes what came of the run. A run that was done already is left as it is.
    ///
    /// # Errors
    /// If that fails.
    pub fn write_summary(&self, json: &str) -> io::Result<()> {
        let path = self.folder.join(".hindmost/summary.json");
        let is_there = fs::read(&path).is_ok_and(|held| held == json.as_bytes());
        if is_there { Ok(()) } else { write_beside(&path, json.as_bytes()) }
    }
}

/// Bytes at the end of a progress file that are read.
const TAIL: u64 = 256;
/// Bytes at the end of standard error that are shown.
const STDERR_TAIL: u64 = 2048;
