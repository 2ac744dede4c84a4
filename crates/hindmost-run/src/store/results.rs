//! Commits an attempt's output as its task's result, and checks committed results.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use hindmost_core::ids::{AttemptId, TaskId};
use rustix::fs::{FileType, StatxFlags};

use super::listing::{Listing, checksum_at};
use super::manifest::Line;
use super::reads::{FileStates, ReadChange, Reads, difference};
use super::{ASIDE, EMPTY, EMPTY_LINK, Folder, GivenUp, INNER, JOURNAL, OUT, STDOUT, Store, StoreError, old_journal};
use crate::escape::unescaped;
use crate::job_file::{Plan, TaskReads};

/// Target of the links in the places of empty results.
const EMPTY_RESULT: &str = "../.hindmost/empty";

/// The outcome of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Commit {
    /// The attempt's output is the task's result now. If something else was in the result's place, holds the path to which it
    /// was moved.
    Won(Option<String>),
    /// The task has a result already.
    TooLate,
    /// The attempt has no output folder: its command removed it, or put something else in its place.
    NoOutput,
    /// The file that its standard output becomes can't be replaced; holds why.
    Refused(String),
}

/// Whether a task's result is the committed one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResultState {
    /// The result is the one that was committed.
    Valid,
    /// The result is missing.
    Gone,
    /// Another command made the result, before the job was changed.
    OtherCommand,
    /// The result differs from the one that was committed; holds the difference as text.
    Changed(String),
}

impl Store {
    /// Adds an attempt's output to the manifest before it is committed. `reads` is what the task reads and
    /// its state when the attempt began. `seconds` is how long the attempt ran, if that is known. `output` is the file that its standard
    /// output becomes. Returns false if the attempt has no
    /// output folder.
    ///
    /// # Errors
    /// If the files of the output can't be read, or no file can be created where standard output is to be.
    pub fn prepare(
        &mut self,
        attempt: AttemptId,
        reads: Option<(&TaskReads<'_>, Reads)>,
        seconds: Option<f64>,
        output: Option<&Path>,
    ) -> io::Result<bool> {
        let Ok(folder) = self.attempts.sub(self.attempt_name(attempt)) else { return Ok(false) };
        if !folder.has_folder(OUT) {
            return Ok(false);
        }
        let (listing, empty) = match folder.sub(OUT) {
            Ok(out) => {
                let listing = Listing::of(&out, self.checksums)?;
                let empty = listing == Listing::default();
                (listing, empty)
            }
            // A folder that its owner may not read can still be a result.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => (Listing::default(), false),
            Err(error) => return Err(error),
        };
        let task = attempt.task;
        let inode = folder.statx(OUT, StatxFlags::INO)?.stx_ino;
        let output = output.map(|path| self.stage_output(attempt, &folder, path)).transpose()?;
        let (task_reads, mut reads) = reads.map_or((None, Reads::default()), |(task, reads)| (Some(task), reads));
        if let Some(now) = task_reads.filter(|_| self.checksums) {
            reads.input = reads.input.zip(now.input.as_ref()).map(|(state, path)| state.with_checksum(path));
            let used = std::mem::take(&mut reads.used).into_iter().map(|(text, state)| {
                let path = PathBuf::from(OsString::from_vec(unescaped(&text)));
                (text, self.used.add_to(state, &path))
            });
            reads.used = used.collect();
        }
        let used = self.manifest.add_used(reads.used)?;
        self.manifest.add(Line {
            phase: task.phase,
            task: task.index,
            attempt: attempt.copy,
            run: self.job.run.clone(),
            command: self.command(task).to_owned(),
            inode,
            input: reads.input,
            used,
            row: reads.row,
            empty,
            written: [STDOUT, "stderr"].map(|name| {
                let is_log = name != STDOUT || output.is_none();
                folder.statx(name, StatxFlags::SIZE).ok().filter(|_| is_log).map_or(0, |found| found.stx_size)
            }),
            output,
            seconds: seconds.map(|seconds| (seconds * 1000.0).round() / 1000.0),
            listing,
        })?;
        Ok(true)
    }

    /// True if the manifest has a line of this attempt. If its folder has no output any more, the output was committed.
    pub fn was_committed(&self, attempt: AttemptId) -> bool {
        self.line_of(attempt).is_some()
    }

    /// Writes what describes the outputs of successful attempts, before [`Store::make_durable`]. These outputs must not become results if
    /// this fails.
    ///
    /// # Errors
    /// If the disk is full, or can't be written.
    pub fn describe_outputs(&mut self) -> io::Result<()> {
        self.manifest.flush()
    }

    /// Removes what was prepared in the place of an attempt's output file, because the attempt does not count.
    pub fn withdraw(&self, attempt: AttemptId) {
        self.line_of(attempt).into_iter().for_each(Line::unstage);
    }

    /// Syncs the attempts' output and the manifest, so that they survive a power cut.
    ///
    /// # Errors
    /// If something could not be written. In that case no output may be committed.
    pub fn make_durable(&mut self) -> io::Result<()> {
        let flushed = self.manifest.flush();
        let durable = flushed.and_then(|()| if self.sync { self.attempts.sync_file_system() } else { Ok(()) });
        // No later process knows of these outputs if their lines could not be written.
        durable.inspect_err(|_| self.manifest.all().for_each(Line::unstage))
    }

    /// Makes an attempt's output its task's result, unless the task has a valid result. First moves anything else in the
    /// result's place to the folder `set-aside`. In the place of an empty output comes a link to an empty folder.
    ///
    /// # Errors
    /// If the rename fails for another reason than those of [`Commit`].
    pub fn commit(&self, attempt: AttemptId) -> io::Result<Commit> {
        let committed = self.try_commit(attempt);
        if !matches!(committed, Ok(Commit::Won(_))) {
            self.withdraw(attempt);
        }
        committed
    }

    fn try_commit(&self, attempt: AttemptId) -> io::Result<Commit> {
        let task = attempt.task;
        let Ok(from) = self.attempts.sub(self.attempt_name(attempt)) else { return Ok(Commit::NoOutput) };
        // The command may have replaced its output folder by something else.
        if !from.has_folder(OUT) {
            return Ok(Commit::NoOutput);
        }
        if let Some(output) = self.line_of(attempt).and_then(|line| line.output.as_ref()) {
            if self.result_state(task)? == ResultState::Valid {
                return Ok(Commit::TooLate);
            }
            if let Some(why) = self.place_output(attempt, output)? {
                return Ok(Commit::Refused(why));
            }
        }
        // Another process may have removed the phase's folder.
        let to = self.root.make_sub(self.phase(task))?;
        let name = task.index.to_string();
        let mut aside = None;
        loop {
            match self.move_into_place(attempt, &from, &to, &name) {
                Ok(()) => return Ok(Commit::Won(aside)),
                Err(error) => match error.kind() {
                    io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty if aside.is_none() => {
                        if self.result_state(task)? == ResultState::Valid {
                            return Ok(Commit::TooLate);
                        }
                        aside = self.set_aside(task)?;
                    }
                    _ => return Err(error),
                },
            }
        }
    }

    /// Returns the line of the manifest of an attempt of this run.
    fn line_of(&self, attempt: AttemptId) -> Option<&Line> {
        self.manifest.of(attempt.task).find(|line| line.run == self.job.run && line.attempt == attempt.copy)
    }

    /// True if an attempt's standard output has become the file that its phase names.
    pub(super) fn is_placed(&self, attempt: AttemptId) -> bool {
        let output = self.line_of(attempt).and_then(|line| line.output.as_ref());
        output.is_some_and(|output| output.difference(false).is_none())
    }

    /// Moves the output in the attempt's folder `from` to the name in the folder of results, or creates the link that stands
    /// for an empty output. Fails if the name exists.
    fn move_into_place(&self, attempt: AttemptId, from: &Folder, to: &Folder, name: &str) -> io::Result<()> {
        if self.line_of(attempt).is_some_and(|line| line.empty) {
            let made = self.make_empty().and_then(|()| self.link_to_empty(to, name));
            // Some file systems have no links. There, the empty folder itself is moved.
            match made {
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
                Err(error) if error.kind() == io::ErrorKind::Unsupported => {}
                made => return made,
            }
        }
        from.rename_new(OUT, to, name)
    }

    /// Creates the link in the place of an empty result. All these links are names of one link, which costs less than a link
    /// for each, as long as the file system allows it.
    fn link_to_empty(&self, to: &Folder, name: &str) -> io::Result<()> {
        if !self.inner.has_link(EMPTY_LINK, EMPTY_RESULT) {
            to.make_link(name, EMPTY_RESULT)?;
            // This is only about speed.
            let _ = to.make_name(name, &self.inner, EMPTY_LINK);
            return Ok(());
        }
        match self.inner.make_name(EMPTY_LINK, to, name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
            Ok(()) => Ok(()),
            // The link has as many names as it can have.
            Err(_) => {
                let _ = self.inner.remove_file(EMPTY_LINK);
                to.make_link(name, EMPTY_RESULT)
            }
        }
    }

    /// Creates the empty folder to which the links in the places of empty results point.
    pub(super) fn make_empty(&self) -> io::Result<()> {
        match self.inner.make_new(EMPTY, 0o555) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    }

    /// Syncs the folders of these tasks' phases and output files, so that their renames survive a power cut.
    ///
    /// # Errors
    /// If a folder could not be synced.
    pub fn sync_results(&self, tasks: impl Iterator<Item = TaskId>) -> io::Result<()> {
        if !self.sync {
            return Ok(());
        }
        let tasks: Vec<TaskId> = tasks.collect();
        self.sync_outputs(tasks.iter().copied())?;
        let phases: BTreeSet<&str> = tasks.iter().map(|task| self.phase(*task)).collect();
        phases.into_iter().try_for_each(|phase| self.root.sub(phase)?.sync())
    }

    /// Returns whether a task's result is the committed one. Compares names, sizes and times, and checksums if they are
    /// requested and were recorded.
    ///
    /// # Errors
    /// If the result can't be read.
    pub fn result_state(&self, task: TaskId) -> io::Result<ResultState> {
        Ok(self.line_of_result(task)?.map_or_else(|state| state, |_| ResultState::Valid))
    }

    /// Returns the line of the manifest that a task's result equals; `None` in folders of earlier versions, which have no
    /// manifest. The inner error says why the result is not valid.
    fn line_of_result(&self, task: TaskId) -> io::Result<Result<Option<&Line>, ResultState>> {
        let changed = |how: &str| Ok(Err(ResultState::Changed(how.to_owned())));
        let name = task.index.to_string();
        let Some(results) = self.results_of(self.phase(task))? else { return Ok(Err(ResultState::Gone)) };
        match results.kind(&name)? {
            Some(FileType::Directory) => {}
            None => return Ok(Err(ResultState::Gone)),
            Some(FileType::Symlink) if results.has_link(&name, EMPTY_RESULT) => {}
            Some(FileType::Symlink) => return changed("a link is in its place"),
            Some(_) => return changed("a file is in its place"),
        }
        let phase = task.phase as usize;
        let lines = || self.manifest.of(task).filter(|line| self.accepts(phase, &line.command));
        if lines().next().is_none() {
            let is_listed = self.manifest.of(task).next().is_some();
            return match (self.job.manifest, is_listed) {
                (false, _) => Ok(Ok(None)),
                (true, true) => Ok(Err(ResultState::OtherCommand)),
                (true, false) => changed("the manifest does not list it"),
            };
        }
        let is_link = results.kind(&name)? == Some(FileType::Symlink);
        let opened = if is_link { self.inner.sub(EMPTY) } else { results.sub(&name) };
        let (now, folder) = match opened {
            Ok(folder) => (Listing::of(&folder, false)?, Some(folder)),
            // A power cut may have lost the empty folder, which is created again.
            Err(error) if is_link && error.kind() == io::ErrorKind::NotFound => (Listing::default(), None),
            // A folder that its owner may not read is compared without its content.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => (Listing::default(), None),
            Err(error) => return Err(error),
        };
        let checksum = |name: &str| checksum_at(folder.as_ref()?, name);
        let mut first = None;
        for line in lines() {
            // The digest of a large result covers the checksums, if they were recorded.
            let other_digest = line.listing.digest.is_some() && line.listing.digest != now.digest;
            let with_content = self.checksums && line.listing.has_checksums() || other_digest;
            let full =
                if with_content { folder.as_ref().and_then(|folder| Listing::of(folder, true).ok()) } else { None };
            match line.listing.difference(full.as_ref().unwrap_or(&now), checksum) {
                None => match line.output.as_ref().and_then(|output| output.difference(self.checksums)) {
                    None => return Ok(Ok(Some(line))),
                    Some(difference) => _ = first.get_or_insert(difference),
                },
                Some(difference) => _ = first.get_or_insert(difference),
            }
        }
        Ok(Err(ResultState::Changed(first.unwrap_or_default())))
    }

    /// Returns the attempt whose output is a task's result; `None` if the result is not valid or not of this run.
    pub fn winner(&self, task: TaskId) -> Option<AttemptId> {
        let equal = self.line_of_result(task).ok()?.ok()??;
        let place = self
            .root
            .sub(self.phase(task))
            .and_then(|results| Ok(results.statx(task.index.to_string(), StatxFlags::INO)?));
        let inode = place.map_or(0, |found| found.stx_ino);
        let line = self.manifest.of(task).find(|line| line.inode == inode).unwrap_or(equal);
        (line.run == self.job.run).then_some(AttemptId { task, copy: line.attempt })
    }

    /// Returns the number of the attempt whose output is a task's valid result, also if the run has begun again since; `None` if
    /// it is not known. Of several attempts without files, the last one counts.
    pub fn attempt_of_result(&self, task: TaskId) -> Option<u32> {
        self.winner(task).map(|winner| winner.copy).or_else(|| Some(self.line_of_result(task).ok()?.ok()??.attempt))
    }

    /// Returns for how many seconds the attempt ran whose output is a task's result, also if the run has begun again since;
    /// `None` if it is not known. `winner` is the number of that attempt, if it is one of this run.
    pub fn seconds_of_result(&self, task: TaskId, winner: Option<u32>) -> Option<f64> {
        if let Some(winner) = winner {
            let is_its = |line: &&Line| line.attempt == winner && line.run == self.job.run;
            return self.manifest.of(task).find(is_its)?.seconds;
        }
        let mut lines = self.manifest.of(task);
        match (lines.next(), lines.next()) {
            (Some(only), None) => only.seconds,
            _ => self.line_of_result(task).ok()?.ok()??.seconds,
        }
    }

    /// True if the logs of a successful attempt do not hold all that its command wrote, because they were removed or changed.
    pub fn lacks_logs(&self, attempt: AttemptId) -> bool {
        let Some(line) = self.manifest.of(attempt.task).find(|line| line.attempt == attempt.copy) else { return false };
        let size = |path: PathBuf| std::fs::metadata(path).map_or(0, |found| found.len());
        line.written != self.logs(attempt).map(size) && line.written != [0, 0]
    }

    /// Returns how what a task reads differs from that from which its valid result was made; `None` if it does not differ, or is not
    /// known. Reads the contents of files if checksums are requested and were recorded.
    pub fn read_difference(&self, task: TaskId, now: &TaskReads<'_>) -> Option<ReadChange> {
        let line = self.line_of_result(task).ok()?.ok()??;
        // Two results have equal listings only if both are empty, because listings have times.
        let is_equal = |other: &&Line| std::ptr::eq(*other, line) || !line.empty && other.listing == line.listing;
        let equal = self.manifest.of(task).filter(is_equal);
        let mut first = None;
        for line in equal {
            let read = (line.input.as_ref(), self.manifest.used_by(line), &line.row);
            match difference(read, now, |state, path| self.used.difference(state, path, self.checksums)) {
                None => return None,
                Some(difference) => _ = first.get_or_insert(difference),
            }
        }
        first
    }

    /// True if checksums are requested, and none is known of a task's valid result or of the input from which it was made.
    pub fn lacks_checksums(&self, task: TaskId) -> bool {
        if !self.checksums {
            return false;
        }
        let Ok(Ok(Some(line))) = self.line_of_result(task) else { return false };
        // The digest of a large result differs from that of its names, sizes and times if it covers checksums.
        let equals_plain = || {
            let results = self.results_of(self.phase(task)).ok().flatten()?;
            let plain = Listing::of(&results.sub(task.index.to_string()).ok()?, false).ok()?;
            Some(plain.digest == line.listing.digest)
        };
        let is_plain = line.listing.digest.is_some() && equals_plain() == Some(true);
        let used = self.manifest.used_by(line).into_iter().flat_map(FileStates::values);
        let input_lacks = line.input.iter().chain(used).any(|state| state.checksum.is_none());
        is_plain || line.listing.lacks_checksums() || input_lacks
    }

    /// Returns the failures of tasks that may not run twice, from earlier journals of the run.
    pub fn earlier_failures(&self) -> Vec<(TaskId, u32)> {
        let task = |phase, index| TaskId { job: hindmost_core::ids::JobId(0), phase, index };
        self.job.failures.iter().map(|(phase, index, count)| (task(*phase, *index), *count)).collect()
    }

    /// True if results of the command with this digest count as results of the phase.
    fn accepts(&self, phase: usize, command: &str) -> bool {
        let is_now = self.phases.get(phase).is_some_and(|(_, now)| now == command);
        is_now || (self.keep_results || self.job.keeps(phase, command)) && self.job.accepts(phase, command)
    }

    /// Moves what is in a result's place into the folder `set-aside`. Returns its new place; `None` if nothing was there.
    ///
    /// # Errors
    /// If the file or folder can't be moved.
    pub fn set_aside(&self, task: TaskId) -> io::Result<Option<String>> {
        let phase = self.phase(task);
        let Some(results) = self.results_of(phase)? else { return Ok(None) };
        let aside = self.inner.make_sub(ASIDE)?;
        let mut number = 1;
        loop {
            let name = format!("{phase}.{}.{number}", task.index);
            match results.rename_new(task.index.to_string(), &aside, &name) {
                Ok(()) => return Ok(Some(format!("{INNER}/{ASIDE}/{name}"))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => match error.kind() {
                    io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty => number += 1,
                    _ => return Err(error),
                },
            }
        }
    }

    /// Prepares the run to begin again with its valid results: gives it a new identity, then puts its journal away. If the
    /// process dies between these two steps, opening the folder completes the second one. `failures` are the failures of
    /// tasks that may not run twice, `given_up` the tasks that stay failed.
    ///
    /// # Errors
    /// If the journal can't be renamed, or the record can't be written.
    pub fn begin_again(
        &mut self,
        plan: &Plan,
        failures: &[(TaskId, u32)],
        given_up: Vec<GivenUp>,
    ) -> Result<(), StoreError> {
        // A run that died while it began again has no journal to put away.
        let mut number = self.job.journals;
        if self.inner.has_file(JOURNAL) {
            number += 1;
            while self.inner.has_file(old_journal(number)) {
                number += 1;
            }
        }
        self.adopt_place(plan);
        self.job.begin_again(number, failures, given_up);
        self.write_record()?;
        put_journal_away(&self.inner, number)
            .map_err(|error| StoreError::Unwritable { path: self.folder.clone(), error })
    }
}

impl Store {
    /// Keeps the logs of the attempts whose outputs are results, before the files of all attempts are removed.
    ///
    /// # Errors
    /// If the folder of attempts can't be read.
    pub fn keep_logs_of_results(&self) -> io::Result<()> {
        for attempt in self.attempts_there()? {
            if self.winner(attempt.task) == Some(attempt) {
                // A log that can't be kept is reported when it is needed.
                let _ = self.keep_logs(attempt, &self.attempt_name(attempt));
            }
        }
        Ok(())
    }

    /// Returns the names of the journals that were put away, the last one first.
    pub fn earlier_journals(&self) -> impl Iterator<Item = String> + '_ {
        (1..=self.job.journals).rev().map(old_journal).filter(|name| self.inner.has_file(name))
    }

    /// Returns the name of the journal that was put away last; `None` if none was.
    pub fn last_journal(&self) -> Option<String> {
        // Numbers may be missing: a run can die after it has noted the number and before it puts the journal away.
        let entries = self.inner.entries().ok()?;
        let number = |name: &str| name.strip_prefix("journal-")?.strip_suffix(".jsonl")?.parse::<u32>().ok();
        let numbers = entries.iter().filter_map(|(name, _)| number(name.to_str()?));
        numbers.max().map(old_journal).filter(|name| self.inner.has_file(name))
    }

    /// Takes the journal with this name, which was put away last, back as the journal of the run. `failures` are the failures
    /// that it holds of tasks that may not run twice: they are no longer those of an earlier journal.
    ///
    /// # Errors
    /// If the journal can't be renamed, or the record can't be written.
    pub fn take_back(&mut self, name: &str, failures: &[(TaskId, u32)]) -> Result<(), StoreError> {
        self.job.take_back_journal(failures);
        self.write_record()?;
        let renamed = self.inner.rename_over(name, &self.inner, JOURNAL);
        renamed.map_err(|error| StoreError::Unwritable { path: self.folder.clone(), error })
    }
}

/// Renames a run's journal, so that it is kept as the earlier journal with this number.
pub(super) fn put_journal_away(inner: &Folder, number: u32) -> io::Result<()> {
    match inner.rename_new(JOURNAL, inner, old_journal(number)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
