//! The folder of a run: results, attempts' own folders, end markers, logs, the journal's place.
//!
//! ```text
//! DIR/PHASE/TASK/…                results, renamed into place once
//! DIR/.hindmost/journal.jsonl     records
//! DIR/.hindmost/manifest.jsonl    what each result was when it was committed
//! DIR/.hindmost/job.json          which job this is, when and where it began
//! DIR/.hindmost/summary.json      what came of it
//! DIR/.hindmost/lock              held while a process is at work here
//! DIR/.hindmost/attempts/…        attempts at work, each with its output folder `out`
//! DIR/.hindmost/logs/PHASE/…      what commands wrote to standard output and error
//! DIR/.hindmost/set-aside/…       what stood in a result's place and was not the result
//! ```
//!
//! A task's result gets into its place in four steps: its files are listed in the manifest; everything is synced; the
//! attempt's `out` is renamed to `DIR/PHASE/TASK`, which never replaces what is there; the rename is synced. Then its
//! finish is recorded. So whatever dies when, what is in a result's place and equals a line of the manifest is whole,
//! and a task has one winner.
//!
//! Once it is open the folder is reached by handles only (`folder.rs`): links in it are never followed, and whatever is
//! put at its path meanwhile is not written to.

mod error;
mod folder;
mod identity;
mod listing;
mod manifest;
mod opening;
mod record;
mod removal;
mod results;

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hindmost_core::ids::{AttemptId, TaskId};
use rustix::fs::{AtFlags, CWD, FileType, Statx, StatxFlags, statx};
use rustix::io::Errno;

use crate::engine::{END_MARKER, RunIdentity, end_line};
pub use error::StoreError;
pub use folder::Distrust;
pub(crate) use folder::Folder;
pub use identity::{CacheIdentity, FolderIdentity};
use manifest::Manifest;
pub use opening::{Opened, Opening};
pub use record::{BegunWith, JobRecord};
use removal::Removal;
pub use results::{Commit, ResultState};

/// Name of the folder of a run's own files.
const INNER: &str = ".hindmost";
/// Names of files in it.
const JOB: &str = "job.json";
pub(crate) const JOURNAL: &str = "journal.jsonl";
const SUMMARY: &str = "summary.json";
const LOCK: &str = "lock";
/// Name of the folder of attempts' own folders.
const ATTEMPTS: &str = "attempts";
/// Name of the folder for what stood in results' places.
const ASIDE: &str = "set-aside";

/// Name of an earlier journal of a run that has begun again, from 1.
fn old_journal(number: u32) -> String {
    format!("journal-{number}.jsonl")
}

/// What an attempt left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndMarker {
    /// Its command ended with this exit code.
    Exit(i32),
    /// Its command ended, but its folder was not where its command knew it then.
    Moved,
    /// None: it was killed, or could not write.
    Missing,
}

/// Where a run's folder is, beside where it was when the run was last at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whereabouts {
    /// Where it was. Attempts may still be at work, and what they have left counts.
    Same,
    /// The same folder at another path. What was started then knows the old one.
    Moved,
    /// Its file system was mounted again since: what was not synced may be lost.
    Remounted,
    /// It is a copy. What the original run has started is none of its business.
    Copied,
}

/// What must stay where it is while a run is at work: device and inode of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Anchors {
    root: (u32, u32, u64),
    inner: (u32, u32, u64),
    lock: (u32, u32, u64),
    attempts: (u32, u32, u64),
}

fn place(found: &Statx) -> (u32, u32, u64) {
    (found.stx_dev_major, found.stx_dev_minor, found.stx_ino)
}

impl Anchors {
    fn of(root: &Folder, inner: &Folder, lock: &File, attempts: &Folder) -> io::Result<Anchors> {
        let lock = statx(lock, "", AtFlags::EMPTY_PATH, StatxFlags::INO)?;
        let of = |folder: &Folder| folder.own_statx(StatxFlags::INO).map(|found| place(&found));
        Ok(Anchors { root: of(root)?, inner: of(inner)?, lock: place(&lock), attempts: of(attempts)? })
    }

    /// What is at the paths now.
    fn now(path: &Path, root: &Folder, inner: &Folder) -> io::Result<Anchors> {
        let of_path = statx(CWD, path, AtFlags::empty(), StatxFlags::INO)?;
        let of_inner = |name: &str| inner.statx(name, StatxFlags::INO).map(|found| place(&found));
        let (lock, attempts) = (of_inner(LOCK)?, of_inner(ATTEMPTS)?);
        let inner = root.statx(INNER, StatxFlags::INO)?;
        Ok(Anchors { root: place(&of_path), inner: place(&inner), lock, attempts })
    }
}

/// A run's folder, locked while this lives.
pub struct Store {
    folder: PathBuf,
    root: Arc<Folder>,
    inner: Arc<Folder>,
    attempts: Folder,
    /// Holds the lock.
    _lock: File,
    anchors: Anchors,
    job: JobRecord,
    /// Names of the phases, and what their commands are, by number.
    phases: Vec<(String, String)>,
    manifest: Manifest,
    whereabouts: Whereabouts,
    identity: FolderIdentity,
    cache: Option<CacheIdentity>,
    /// The folder's path when the run was last at work.
    earlier_path: Option<String>,
    sync: bool,
    checksums: bool,
    keep_results: bool,
}

/// Where a run's pages are written, also after it has given its folder back.
#[derive(Clone, Debug)]
pub struct Pages {
    root: Arc<Folder>,
    inner: Arc<Folder>,
}

impl Pages {
    /// Writes a page in the run's folder, or among its own files.
    ///
    /// # Errors
    /// If that fails; then nothing has changed.
    pub fn write(&self, name: &str, among_own_files: bool, content: &str) -> io::Result<()> {
        let folder = if among_own_files { &self.inner } else { &self.root };
        folder.replace(name, content.as_bytes(), false)
    }
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
        self.folder.join(INNER).join(JOURNAL)
    }

    /// The folder of the run's own files, opened.
    pub(crate) fn inner(&self) -> &Folder {
        &self.inner
    }

    /// The run, as engines know it.
    pub fn run(&self) -> RunIdentity {
        RunIdentity { id: self.job.run.clone(), folder: self.folder.clone() }
    }

    /// The run as its processes know it that were started before the folder was moved, if it was.
    pub fn run_before_move(&self) -> Option<RunIdentity> {
        let earlier = self.earlier_path.as_ref().filter(|_| self.whereabouts == Whereabouts::Moved)?;
        Some(RunIdentity { id: self.job.run.clone(), folder: PathBuf::from(earlier) })
    }

    /// Where the folder is, beside where it was.
    pub fn whereabouts(&self) -> Whereabouts {
        self.whereabouts
    }

    /// True if results and journal survive a power cut.
    pub fn is_synced(&self) -> bool {
        self.sync
    }

    /// Where pages of the run are written.
    pub fn pages(&self) -> Pages {
        Pages { root: Arc::clone(&self.root), inner: Arc::clone(&self.inner) }
    }

    fn phase(&self, task: TaskId) -> &str {
        self.phases.get(task.phase as usize).map_or("", |(name, _)| name)
    }

    /// What the task's command is now.
    fn command(&self, task: TaskId) -> &str {
        self.phases.get(task.phase as usize).map_or("", |(_, digest)| digest)
    }

    /// Checks that the folder is still the one that was opened, where it was, with its lock.
    ///
    /// # Errors
    /// If it was moved, removed or replaced.
    pub fn check_place(&self) -> Result<(), StoreError> {
        match Anchors::now(&self.folder, &self.root, &self.inner) {
            Ok(now) if now == self.anchors => Ok(()),
            _ => Err(StoreError::Displaced(self.folder.clone())),
        }
    }

    /// The name of an attempt's own folder: it names the run and what the command is, so that nothing of another run,
    /// or of another command, is taken for this attempt's.
    fn attempt_name(&self, attempt: AttemptId) -> String {
        let task = attempt.task;
        format!("{}-{}.{}.{}.{}", task.phase, task.index, attempt.copy, self.job.run, self.command(task))
    }

    /// An attempt's own folder.
    pub fn attempt(&self, attempt: AttemptId) -> PathBuf {
        self.folder.join(INNER).join(ATTEMPTS).join(self.attempt_name(attempt))
    }

    /// True if an attempt's own folder is there.
    ///
    /// # Errors
    /// If that can't be seen.
    pub fn has_attempt(&self, attempt: AttemptId) -> io::Result<bool> {
        Ok(self.attempts.kind(self.attempt_name(attempt))? == Some(FileType::Directory))
    }

    /// The attempts whose own folders are there, with the commands that they have now.
    ///
    /// # Errors
    /// If that can't be seen.
    pub fn attempts_there(&self) -> io::Result<Vec<AttemptId>> {
        let parse = |name: &str| {
            let (phase, rest) = name.split_once('-')?;
            let mut rest = rest.splitn(3, '.');
            let (index, copy) = (rest.next()?.parse().ok()?, rest.next()?.parse().ok()?);
            let task = TaskId { job: hindmost_core::ids::JobId(0), phase: phase.parse().ok()?, index };
            Some(AttemptId { task, copy })
        };
        let entries = self.attempts.entries()?;
        let named = entries.iter().filter_map(|(name, _)| Some((name, parse(name.to_str()?)?)));
        let mut there: Vec<AttemptId> =
            named.filter(|(name, found)| **name == *self.attempt_name(*found)).map(|(_, found)| found).collect();
        there.sort_unstable();
        Ok(there)
    }

    /// The results of a phase; none if it has no folder.
    fn results_of(&self, phase: &str) -> io::Result<Option<Folder>> {
        match self.root.sub(phase) {
            Ok(results) => Ok(Some(results)),
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
                _ => Err(error),
            },
        }
    }

    /// True if something is among the results of a phase.
    ///
    /// # Errors
    /// If that can't be seen.
    pub fn has_results(&self, phase: u32) -> io::Result<bool> {
        let Some((name, _)) = self.phases.get(phase as usize) else { return Ok(false) };
        self.results_of(name)?.map_or(Ok(false), |results| Ok(!results.entries()?.is_empty()))
    }

    /// Opens an attempt's folder.
    ///
    /// # Errors
    /// If it is not there.
    pub fn open_attempt(&self, attempt: AttemptId) -> io::Result<impl AsFd + use<>> {
        self.attempts.sub(self.attempt_name(attempt))
    }

    /// Makes an attempt's folder afresh, with its empty output folder and progress file.
    ///
    /// # Errors
    /// If that fails.
    pub fn make_attempt(&self, attempt: AttemptId) -> io::Result<PathBuf> {
        let name = self.attempt_name(attempt);
        match self.attempts.make_new(&name, 0o755) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let removed = Removal::new(&self.attempts).remove(&self.attempts, name.as_ref());
                removed.map_err(|left| io::Error::other(format!("what an earlier attempt has left: {left}")))?;
                self.attempts.make_new(&name, 0o755)?;
            }
            other => other?,
        }
        self.attempts.sub(&name)?.make_new("out", 0o777)?;
        Ok(self.attempt(attempt))
    }

    /// How an attempt ended.
    ///
    /// # Errors
    /// If its end marker is there and can't be read.
    pub fn end_marker(&self, attempt: AttemptId) -> io::Result<EndMarker> {
        let read = self.attempts.sub(self.attempt_name(attempt)).and_then(|folder| folder.read_end(END_MARKER, TAIL));
        let bytes = match read {
            Ok((bytes, _)) => bytes,
            // A command may have put anything in its place.
            Err(error) => match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::Other => {
                    return Ok(EndMarker::Missing);
                }
                _ => return Err(error),
            },
        };
        let text = String::from_utf8_lossy(&bytes);
        let ended = text.strip_prefix("moved ").map(|rest| (rest, true));
        let ended = ended.or_else(|| text.strip_prefix("exit ").map(|rest| (rest, false)));
        let Some((rest, moved)) = ended else { return Ok(EndMarker::Missing) };
        let code = rest.split_once(' ').and_then(|(code, _)| code.parse().ok());
        let is_its = |code: &i32| end_line(*code, &self.job.run, attempt).strip_prefix("exit ") == Some(rest);
        Ok(match code.filter(is_its) {
            Some(_) if moved => EndMarker::Moved,
            Some(code) => EndMarker::Exit(code),
            None => EndMarker::Missing,
        })
    }

    /// How long ago an attempt wrote its end marker, if it has, by the clock of the file system.
    pub fn ended_ago(&self, attempt: AttemptId) -> Option<Duration> {
        let folder = self.attempts.sub(self.attempt_name(attempt)).ok()?;
        let written = folder.file(END_MARKER).ok()?.metadata().ok()?.modified().ok()?;
        written.elapsed().ok()
    }

    /// The progress that an attempt's command has last reported, in [0, 1], and how long ago.
    pub fn reported_progress(&self, attempt: AttemptId) -> Option<(f64, Duration)> {
        // The last line is near the end, however much has been written.
        let folder = self.attempts.sub(self.attempt_name(attempt)).ok()?;
        let (tail, found) = folder.read_end("progress", TAIL).ok()?;
        let ago = found.modified().ok().and_then(|written| written.elapsed().ok()).unwrap_or_default();
        let complete = &tail[..tail.iter().rposition(|byte| *byte == b'\n')?];
        let complete = String::from_utf8_lossy(complete);
        let values = complete.lines().rev().filter_map(|line| line.trim().parse::<f64>().ok());
        values.filter(|share| share.is_finite()).map(|share| (share.clamp(0.0, 1.0), ago)).next()
    }

    /// Removes what an attempt leaves; `keep_logs` keeps what it wrote to standard output and error. Returns what
    /// could not be removed, in words.
    pub fn remove_attempt(&self, attempt: AttemptId, keep_logs: bool) -> Option<String> {
        let name = self.attempt_name(attempt);
        let logs = if keep_logs { self.keep_logs(attempt, &name).err() } else { None };
        let removed = Removal::new(&self.attempts).remove(&self.attempts, name.as_ref());
        let left = removed.err().map(|left| format!("{}: {left}", self.attempt(attempt).display()));
        left.or_else(|| {
            let lost = |error| format!("{}, whose logs could not be kept: {error}", self.attempt(attempt).display());
            logs.map(lost)
        })
    }

    fn keep_logs(&self, attempt: AttemptId, name: &str) -> io::Result<()> {
        let Ok(folder) = self.attempts.sub(name) else { return Ok(()) };
        for (name, ending) in [("stdout", "out"), ("stderr", "err")] {
            let Ok(found) = folder.statx(name, StatxFlags::TYPE | StatxFlags::SIZE) else { continue };
            if FileType::from_raw_mode(found.stx_mode.into()).is_file() && found.stx_size > 0 {
                let logs = self.inner.make_sub("logs")?.make_sub(self.phase(attempt.task))?;
                folder.rename_over(name, &logs, format!("{}.{}.{ending}", attempt.task.index, attempt.copy))?;
            }
        }
        Ok(())
    }

    /// The last of what an attempt that is still there wrote to standard error.
    pub fn stderr_tail(&self, attempt: AttemptId) -> String {
        let read = self.attempts.sub(self.attempt_name(attempt));
        let bytes = read.and_then(|folder| folder.read_end("stderr", STDERR_TAIL)).map(|(bytes, _)| bytes);
        String::from_utf8_lossy(&bytes.unwrap_or_default()).trim_end().to_owned()
    }

    /// Removes what is among the attempts' folders and of none of these attempts. Returns what could not be removed,
    /// in words.
    ///
    /// # Errors
    /// If the folder can't be read.
    pub fn remove_strays(&self, keep: &[AttemptId]) -> io::Result<Vec<String>> {
        let kept: std::collections::HashSet<String> = keep.iter().map(|attempt| self.attempt_name(*attempt)).collect();
        let mut left = Vec::new();
        for (name, _) in self.attempts.entries()? {
            if !name.to_str().is_some_and(|name| kept.contains(name))
                && let Err(one) = Removal::new(&self.attempts).remove(&self.attempts, &name)
            {
                let folder = self.folder.join(INNER).join(ATTEMPTS).join(&name);
                left.push(format!("{}: {one}", folder.display()));
            }
        }
        Ok(left)
    }

    /// Writes what came of the run. A run that was done already is left as it is.
    ///
    /// # Errors
    /// If that fails.
    pub fn write_summary(&self, json: &str) -> io::Result<()> {
        let is_there = self.inner.read(SUMMARY, json.len() as u64 + 1).is_ok_and(|held| held == json);
        if is_there { Ok(()) } else { self.inner.replace(SUMMARY, json.as_bytes(), self.sync) }
    }
}

/// Bytes at the end of a progress file or end marker that are read.
const TAIL: u64 = 256;
/// Bytes at the end of standard error that are shown.
const STDERR_TAIL: u64 = 2048;
