//! The folder of a run: its results, journal, logs, and the folders and end markers of its attempts.
//!
//! ```text
//! DIR/PHASE/TASK/…                results, renamed into place once
//! DIR/.hindmost/journal.jsonl     records
//! DIR/.hindmost/manifest.jsonl    what each result contained when it was committed
//! DIR/.hindmost/job.json          which job this is, when and where its run began
//! DIR/.hindmost/summary.json      the outcome of the run
//! DIR/.hindmost/lock              locked while a process uses the folder
//! DIR/.hindmost/attempts/…        running attempts, each with its output folder `out`
//! DIR/.hindmost/logs/PHASE/…      what commands wrote to standard output and error
//! DIR/.hindmost/empty/            what links in the places of empty results point to
//! DIR/.hindmost/set-aside/…       files and folders that were in a result's place and were not the result
//! ```
//!
//! A task's result gets into its place in four steps: its files are listed in the manifest; everything is synced; the attempt's
//! `out` is renamed to `DIR/PHASE/TASK`, which never replaces anything; the rename is synced. Then its finish is recorded. Where
//! standard output becomes a file of the user's, that file is placed first (`output_file.rs`). So at any moment of a crash, a
//! folder in a result's place that equals a line of the manifest is complete, and a task has one winner. If `out` is empty, a link
//! to `DIR/.hindmost/empty` is created in the result's place instead, which never replaces anything either.
//!
//! An open folder is accessed by handles only (`folder.rs`). Links in it are never followed, and another folder that is put
//! at its path is not written to.

mod appended;
mod aside;
mod error;
mod folder;
mod identity;
mod input;
mod listing;
mod manifest;
mod opening;
mod output_file;
mod reads;
mod record;
mod recorded_output;
mod recycling;
mod removal;
mod results;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hindmost_core::ids::{AttemptId, TaskId};
use rustix::fs::{AtFlags, CWD, FileType, Statx, StatxFlags, statx};
use rustix::io::Errno;

use crate::engine::process_file::PROCESS_FILE;
use crate::engine::{END_MARKER, RunIdentity, end_line};
pub(crate) use appended::Appended;
pub use aside::{Aside, SetAside};
pub use error::StoreError;
pub use folder::Distrust;
pub(crate) use folder::Folder;
pub use identity::{CacheIdentity, FolderIdentity};
pub use input::InputState;
pub(crate) use listing::WRITTEN_AGAIN;
use manifest::Manifest;
pub(crate) use opening::LONGEST_RECORD;
pub use opening::{Opened, Opening};
use reads::Checksums;
pub use reads::{ReadChange, Reads};
pub use record::{BegunWith, GivenUp, JobRecord, begun_with};
use recycling::Spares;
use removal::Removal;
pub(crate) use removal::remove_tree;
pub use results::{Commit, ResultState};

/// Name of the folder that holds a run's internal files.
pub(crate) const INNER: &str = ".hindmost";
/// Name of the record of the run's job.
pub(crate) const JOB: &str = "job.json";
/// Name of the journal.
pub(crate) const JOURNAL: &str = "journal.jsonl";
/// Name of the run's summary.
pub(crate) const SUMMARY: &str = "summary.json";
/// Name of the file that is locked while a process uses the folder.
pub(crate) const LOCK: &str = "lock";
/// Name of the folder of attempts' own folders.
pub(crate) const ATTEMPTS: &str = "attempts";
/// Name of the output folder in an attempt's folder.
const OUT: &str = "out";
/// Name of an attempt's standard output in its folder.
const STDOUT: &str = "stdout";
/// Name of the note about the state of an attempt's input file.
const READS: &str = "reads";
/// Name of the empty folder to which the links in the places of empty results point.
const EMPTY: &str = "empty";
/// Name of the link of which the links in the places of empty results are further names.
const EMPTY_LINK: &str = "empty-link";
/// Name of the folder to which files and folders are moved that were in a result's place and were not the result.
const ASIDE: &str = "set-aside";

/// Largest size of a page that is read: 256 MiB.
const LONGEST_PAGE: u64 = 256 << 20;

/// Returns the name of an earlier journal of a run that has begun again, counted from 1.
fn old_journal(number: u32) -> String {
    format!("journal-{number}.jsonl")
}

/// Returns the name of a log of an attempt.
fn log_name(attempt: AttemptId, ending: &str) -> String {
    format!("{}.{}.{ending}", attempt.task.index, attempt.copy)
}

/// How an attempt's command ended, according to the attempt's end marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndMarker {
    /// The command ended with this exit code.
    Exit(i32),
    /// The command ended after the attempt's folder was moved or removed.
    Moved,
    /// There is no marker: the attempt was killed, or could not write the marker.
    Missing,
}

/// Where a run's folder is, compared with its place when the run was last active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whereabouts {
    /// The folder is at the same place. Attempts may still run, and their files count.
    Same,
    /// The folder was moved to another path. Attempts that were started before the move use the old path.
    Moved,
    /// The folder's file system was mounted again, so data that was not synced may be lost.
    Remounted,
    /// The folder is a copy of the run's folder. Processes of the original run do not belong to it.
    Copied,
}

/// The folders and files that must not be moved during a run, by device and inode.
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

    /// Returns what is at these paths now.
    fn now(path: &Path, root: &Folder, inner: &Folder) -> io::Result<Anchors> {
        let of_path = statx(CWD, path, AtFlags::empty(), StatxFlags::INO)?;
        let of_inner = |name: &str| inner.statx(name, StatxFlags::INO).map(|found| place(&found));
        let (lock, attempts) = (of_inner(LOCK)?, of_inner(ATTEMPTS)?);
        let inner = root.statx(INNER, StatxFlags::INO)?;
        Ok(Anchors { root: place(&of_path), inner: place(&inner), lock, attempts })
    }
}

/// A run's folder, opened and locked. Dropping this releases the lock and removes folders that were kept for
/// later attempts.
#[allow(clippy::struct_excessive_bools, reason = "switches of a command line")]
pub struct Store {
    folder: PathBuf,
    root: Arc<Folder>,
    inner: Arc<Folder>,
    attempts: Folder,
    /// Holds the lock.
    _lock: File,
    anchors: Anchors,
    job: JobRecord,
    /// Name and digest of the command of each phase.
    phases: Vec<(String, String)>,
    manifest: Manifest,
    whereabouts: Whereabouts,
    identity: FolderIdentity,
    cache: Option<CacheIdentity>,
    /// The folder's path when the run was last active.
    earlier_path: Option<String>,
    sync: bool,
    checksums: bool,
    keep_results: bool,
    overwrite: bool,
    spares: Spares,
    /// Checksums of files that tasks use.
    used: Checksums,
}

/// Writes a run's pages, also after its folder's lock is released.
#[derive(Clone, Debug)]
pub struct Pages {
    root: Arc<Folder>,
    inner: Arc<Folder>,
}

/// Pages in the run's folder, beside the folders of phases.
const PAGES: [&str; 2] = ["report.html", "results.tsv"];

impl Pages {
    /// Reads a page from the run's folder, or from among its internal files.
    ///
    /// # Errors
    /// If there is no such page, or if it can't be read.
    pub fn read(&self, name: &str, among_own_files: bool) -> io::Result<String> {
        let folder = if among_own_files { &self.inner } else { &self.root };
        folder.read(name, LONGEST_PAGE)
    }

    /// Writes a page into the run's folder, or among its internal files.
    ///
    /// # Errors
    /// If the page can't be written. In that case an older page stays.
    pub fn write(&self, name: &str, among_own_files: bool, content: &str) -> io::Result<()> {
        let folder = if among_own_files { &self.inner } else { &self.root };
        folder.replace(name, content.as_bytes(), false)
    }

    /// Writes a page among the run's internal files, so that it survives a power cut.
    ///
    /// # Errors
    /// If the page can't be written. In that case an older page stays.
    pub(crate) fn write_synced(&self, name: &str, content: &str) -> io::Result<()> {
        self.inner.replace(name, content.as_bytes(), true)
    }
}

impl Store {
    /// Returns the folder's absolute path.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the record of the folder's job.
    pub fn job(&self) -> &JobRecord {
        &self.job
    }

    /// Returns the path of the journal.
    pub fn journal(&self) -> PathBuf {
        self.folder.join(INNER).join(JOURNAL)
    }

    /// Returns the open folder of the run's internal files.
    pub(crate) fn inner(&self) -> &Folder {
        &self.inner
    }

    /// Returns the run's identity for engines.
    pub fn run(&self) -> RunIdentity {
        RunIdentity { id: self.job.run.clone(), folder: self.folder.clone() }
    }

    /// Returns the run's identity for processes that were started before the folder was moved; `None` if it was not moved.
    pub fn run_before_move(&self) -> Option<RunIdentity> {
        let earlier = self.earlier_path.as_ref().filter(|_| self.whereabouts == Whereabouts::Moved)?;
        Some(RunIdentity { id: self.job.run.clone(), folder: PathBuf::from(earlier) })
    }

    /// Returns where the folder is, compared with its place when the run was last active.
    pub fn whereabouts(&self) -> Whereabouts {
        self.whereabouts
    }

    /// True if results and journal survive a power cut.
    pub fn is_synced(&self) -> bool {
        self.sync
    }

    /// Returns a writer of the run's pages.
    pub fn pages(&self) -> Pages {
        Pages { root: Arc::clone(&self.root), inner: Arc::clone(&self.inner) }
    }

    fn phase(&self, task: TaskId) -> &str {
        self.phases.get(task.phase as usize).map_or("", |(name, _)| name)
    }

    /// Returns the digest of the task's current command.
    fn command(&self, task: TaskId) -> &str {
        self.phases.get(task.phase as usize).map_or("", |(_, digest)| digest)
    }

    /// Checks that the folder and its lock are still at their path.
    ///
    /// # Errors
    /// If the folder was moved, removed or replaced.
    pub fn check_place(&self) -> Result<(), StoreError> {
        match Anchors::now(&self.folder, &self.root, &self.inner) {
            Ok(now) if now == self.anchors => Ok(()),
            _ => Err(StoreError::Displaced(self.folder.clone())),
        }
    }

    /// Returns the name of an attempt's folder. It contains the run and the command's digest, so that an attempt of another
    /// run or command is not mistaken for this one.
    fn attempt_name(&self, attempt: AttemptId) -> String {
        self.job.attempt_name(attempt, self.command(attempt.task))
    }

    /// Returns the path of an attempt's folder.
    pub fn attempt(&self, attempt: AttemptId) -> PathBuf {
        self.folder.join(INNER).join(ATTEMPTS).join(self.attempt_name(attempt))
    }

    /// True if an attempt's folder exists.
    ///
    /// # Errors
    /// If this can't be determined.
    pub fn has_attempt(&self, attempt: AttemptId) -> io::Result<bool> {
        Ok(self.attempts.kind(self.attempt_name(attempt))? == Some(FileType::Directory))
    }

    /// Returns the attempts of the current commands whose folders exist, sorted.
    ///
    /// # Errors
    /// If the folder of attempts can't be read.
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

    /// Opens the folder of a phase's results; `None` if there is none.
    fn results_of(&self, phase: &str) -> io::Result<Option<Folder>> {
        match self.root.sub(phase) {
            Ok(results) => Ok(Some(results)),
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
                _ => Err(error),
            },
        }
    }

    /// True if the folder of a phase's results is not empty.
    ///
    /// # Errors
    /// If the folder can't be read.
    pub fn has_results(&self, phase: u32) -> io::Result<bool> {
        let Some((name, _)) = self.phases.get(phase as usize) else { return Ok(false) };
        self.results_of(name)?.map_or(Ok(false), |results| Ok(!results.entries()?.is_empty()))
    }

    /// Opens an attempt's folder.
    ///
    /// # Errors
    /// If the folder does not exist.
    pub fn open_attempt(&self, attempt: AttemptId) -> io::Result<impl AsFd + use<>> {
        self.attempts.sub(self.attempt_name(attempt))
    }

    /// Creates an attempt's folder with an empty output folder, and removes an earlier one. Returns its path.
    ///
    /// # Errors
    /// If the old folder can't be removed or the new one can't be created.
    pub fn make_attempt(&mut self, attempt: AttemptId) -> io::Result<PathBuf> {
        let name = self.attempt_name(attempt);
        if self.spares.give(&self.attempts, &name) {
            return Ok(self.attempt(attempt));
        }
        match self.attempts.make_new(&name, 0o755) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let removed = Removal::new(&self.attempts).remove(&self.attempts, name.as_ref());
                removed
                    .map_err(|left| io::Error::other(format!("can't remove files of an earlier attempt: {left}")))?;
                self.attempts.make_new(&name, 0o755)?;
            }
            other => other?,
        }
        let folder = self.attempts.sub(&name)?;
        folder.make_new(OUT, 0o777)?;
        self.spares.note_new(&folder);
        Ok(self.attempt(attempt))
    }

    /// Notes in an attempt's folder in which state what it reads was when it began.
    ///
    /// # Errors
    /// If the note can't be written.
    pub fn note_reads(&self, attempt: AttemptId, reads: &Reads) -> io::Result<()> {
        let text = serde_json::to_vec(reads).map_err(io::Error::other)?;
        self.attempts.sub(self.attempt_name(attempt))?.new_file(READS)?.write_all(&text)
    }

    /// Returns the noted state of what an attempt reads; `None` if there is no note, as in folders of earlier versions.
    pub fn noted_reads(&self, attempt: AttemptId) -> Option<Reads> {
        let text = self.attempts.sub(self.attempt_name(attempt)).ok()?.read(READS, opening::LONGEST_RECORD).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Returns how an attempt's command ended, according to the attempt's end marker.
    ///
    /// # Errors
    /// If its end marker exists and can't be read.
    pub fn end_marker(&self, attempt: AttemptId) -> io::Result<EndMarker> {
        let read = self.attempts.sub(self.attempt_name(attempt)).and_then(|folder| folder.read_end(END_MARKER, TAIL));
        let bytes = match read {
            Ok((bytes, _)) => bytes,
            // The command may have replaced the marker by something else.
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

    /// Removes the end marker of an attempt that does not count although its command has ended well.
    pub fn forget_end(&self, attempt: AttemptId) {
        if let Ok(folder) = self.attempts.sub(self.attempt_name(attempt)) {
            let _ = folder.remove_file(END_MARKER);
        }
    }

    /// Returns the time since an attempt wrote its end marker, by the file system's clock; `None` without a marker.
    pub fn ended_ago(&self, attempt: AttemptId) -> Option<Duration> {
        // A killed attempt has an empty file, whose time is that of the attempt's start.
        self.end_marker(attempt).ok().filter(|marker| *marker != EndMarker::Missing)?;
        let folder = self.attempts.sub(self.attempt_name(attempt)).ok()?;
        let written = folder.file(END_MARKER).ok()?.metadata().ok()?.modified().ok()?;
        written.elapsed().ok()
    }

    /// True if an attempt's folder has an output folder.
    pub fn has_output(&self, attempt: AttemptId) -> bool {
        self.attempts.sub(self.attempt_name(attempt)).is_ok_and(|folder| folder.has_folder(OUT))
    }

    /// Returns for how long an attempt has run that has written its end marker, by the times of its files: it began when the
    /// engine noted its process. `None` if these times are not known or contradict each other, because somebody has set the clock.
    pub fn ran_for(&self, attempt: AttemptId) -> Option<Duration> {
        self.end_marker(attempt).ok().filter(|marker| *marker != EndMarker::Missing)?;
        let folder = self.attempts.sub(self.attempt_name(attempt)).ok()?;
        let time = |name: &str| folder.file(name).ok()?.metadata().ok()?.modified().ok();
        time(END_MARKER)?.duration_since(time(PROCESS_FILE)?).ok()
    }

    /// Returns the progress that an attempt's command has reported last, in [0, 1], and the time since this report; `None` if
    /// it has reported none.
    pub fn reported_progress(&self, attempt: AttemptId) -> Option<(f64, Duration)> {
        reported_progress(&self.attempts, &self.attempt_name(attempt))
    }

    /// Removes an attempt's folder. If `keep_logs` is true, keeps its standard output and error. Returns a text about what could not be
    /// removed; `None` if all is removed.
    pub fn remove_attempt(&self, attempt: AttemptId, keep_logs: bool) -> Option<String> {
        let name = self.attempt_name(attempt);
        let logs = if keep_logs { self.keep_logs(attempt, &name).err() } else { None };
        let removed = Removal::new(&self.attempts).remove(&self.attempts, name.as_ref());
        let left = removed.err().map(|left| format!("{}: {left}", self.attempt(attempt).display()));
        left.or_else(|| logs.map(|error| self.without_logs(attempt, &error)))
    }

    /// Returns a text about an attempt whose logs could not be kept.
    fn without_logs(&self, attempt: AttemptId, error: &io::Error) -> String {
        format!("{}, whose logs could not be kept: {error}", self.attempt(attempt).display())
    }

    fn keep_logs(&self, attempt: AttemptId, name: &str) -> io::Result<()> {
        let Ok(folder) = self.attempts.sub(name) else { return Ok(()) };
        for (name, ending) in [(STDOUT, "out"), ("stderr", "err")] {
            if name == STDOUT && self.is_placed(attempt) {
                // It has become a file of the user's.
                let _ = folder.remove_file(name);
                continue;
            }
            let Ok(found) = folder.statx(name, StatxFlags::TYPE | StatxFlags::SIZE) else { continue };
            if FileType::from_raw_mode(found.stx_mode.into()).is_file() && found.stx_size > 0 {
                let logs = self.inner.make_sub("logs")?.make_sub(self.phase(attempt.task))?;
                folder.rename_over(name, &logs, log_name(attempt, ending))?;
            } else if self.job.journals > 0
                && let Ok(logs) = self.inner.sub("logs").and_then(|logs| logs.sub(self.phase(attempt.task)))
            {
                // A run that has begun again counts attempts anew: this log would be that of another attempt.
                let _ = logs.remove_file(log_name(attempt, ending));
            }
        }
        Ok(())
    }

    /// Returns the paths of the logs that are kept of an attempt: standard output and error. A log exists if it is not empty.
    pub fn logs(&self, attempt: AttemptId) -> [PathBuf; 2] {
        let logs = self.folder.join(INNER).join("logs").join(self.phase(attempt.task));
        ["out", "err"].map(|ending| logs.join(log_name(attempt, ending)))
    }

    /// Returns the end of an attempt's output, `stdout` or `stderr`, up to 2048 bytes, while its folder exists.
    pub fn output_tail(&self, attempt: AttemptId, name: &str) -> String {
        let read = self.attempts.sub(self.attempt_name(attempt));
        tail_text(read.and_then(|folder| folder.read_end(name, OUTPUT_TAIL)))
    }

    /// Returns the paths of the logs of an attempt that are kept, of its standard output and error. A path is `None` if there is
    /// no such log, because the attempt wrote nothing.
    pub fn kept_logs(&self, attempt: AttemptId) -> [Option<PathBuf>; 2] {
        let folder = self.inner.sub("logs").and_then(|logs| logs.sub(self.phase(attempt.task))).ok();
        let is_there = |name: &str| folder.as_ref().is_some_and(|folder| folder.has_file(name));
        self.logs(attempt)
            .map(|path| Some(path).filter(|path| path.file_name().and_then(OsStr::to_str).is_some_and(is_there)))
    }

    /// Returns the free space of the disk with the run's folder, in bytes; `None` if it is not known.
    pub fn free_space(&self) -> Option<u64> {
        self.inner.free_space().ok()
    }

    /// Returns false if the disk with the run's folder has fewer free bytes than `enough`, and less than an eighth of it is free: a
    /// small disk never has more.
    pub fn has_space(&self, enough: u64) -> bool {
        self.inner.space().map_or(true, |[free, size]| free >= enough.min(size / 8))
    }

    /// Returns the end of a log of an attempt that is kept; `ending` is `out` or `err`.
    pub fn kept_log_tail(&self, attempt: AttemptId, ending: &str) -> String {
        let logs = self.inner.sub("logs").and_then(|logs| logs.sub(self.phase(attempt.task)));
        tail_text(logs.and_then(|logs| logs.read_end(log_name(attempt, ending), OUTPUT_TAIL)))
    }

    /// Removes all folders of attempts except these. Returns a text about each one that could not be removed.
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

    /// Writes the run's summary, unless the file already has this content.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn write_summary(&self, json: &str) -> io::Result<()> {
        let is_there = self.inner.read(SUMMARY, json.len() as u64 + 1).is_ok_and(|held| held == json);
        if is_there { Ok(()) } else { self.inner.replace(SUMMARY, json.as_bytes(), self.sync) }
    }
}

/// Returns the progress that an attempt's command has reported last, in [0, 1], and the time since this report; `None` if it
/// has reported none. `name` is that of the attempt's folder among those of all attempts.
pub(crate) fn reported_progress(attempts: &Folder, name: &str) -> Option<(f64, Duration)> {
    // The file may be long, so only its end is read.
    let folder = attempts.sub(name).ok()?;
    let (tail, found) = folder.read_end("progress", TAIL).ok()?;
    let ago = found.modified().ok().and_then(|written| written.elapsed().ok()).unwrap_or_default();
    let complete = &tail[..tail.iter().rposition(|byte| *byte == b'\n')?];
    let complete = String::from_utf8_lossy(complete);
    let values = complete.lines().rev().filter_map(|line| line.trim().parse::<f64>().ok());
    values.filter(|share| share.is_finite()).map(|share| (share.clamp(0.0, 1.0), ago)).next()
}

/// Number of bytes that are read from the end of a progress file or end marker.
const TAIL: u64 = 256;
/// Number of bytes that are shown from the end of an output.
const OUTPUT_TAIL: u64 = 2048;

/// Returns what was read from the end of an output as text; empty if it could not be read.
fn tail_text(read: io::Result<(Vec<u8>, std::fs::Metadata)>) -> String {
    String::from_utf8_lossy(&read.map(|(bytes, _)| bytes).unwrap_or_default()).trim_end().to_owned()
}
