//! How an attempt's output becomes its task's result, and whether results are still what they were.

use std::collections::BTreeSet;
use std::io;

use hindmost_core::ids::{AttemptId, TaskId};
use rustix::fs::{FileType, StatxFlags};

use super::listing::{Listing, checksum_at};
use super::manifest::Line;
use super::{ASIDE, Folder, INNER, JOURNAL, Store, StoreError, old_journal};
use crate::job_file::Plan;

/// What became of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Commit {
    /// The attempt's output is the task's result. What stood in its place, if something did, was set aside: there.
    Won(Option<String>),
    /// The task has a result already.
    TooLate,
    /// The attempt has no output folder: its command removed it, or put something else in its place.
    NoOutput,
}

/// Whether a task's result is what was committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResultState {
    /// It is.
    Stands,
    /// Nothing is in its place.
    Gone,
    /// Something else is in its place: what differs, in words.
    Changed(String),
}

impl Store {
    /// Lists what an attempt's output holds, before it is committed; false if it has no output folder.
    ///
    /// # Errors
    /// If its files can't be looked at.
    pub fn prepare(&mut self, attempt: AttemptId) -> io::Result<bool> {
        let Ok(folder) = self.attempts.sub(self.attempt_name(attempt)) else { return Ok(false) };
        if !folder.has_folder("out") {
            return Ok(false);
        }
        let listing = match folder.sub("out") {
            Ok(out) => Listing::of(&out, self.checksums)?,
            // A folder that its owner may not read can be a result all the same.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Listing::default(),
            Err(error) => return Err(error),
        };
        let task = attempt.task;
        self.manifest.add(Line {
            phase: task.phase,
            task: task.index,
            attempt: attempt.copy,
            run: self.job.run.clone(),
            command: self.command(task).to_owned(),
            inode: folder.statx("out", StatxFlags::INO)?.stx_ino,
            listing,
        })?;
        Ok(true)
    }

    /// True if an attempt's output was once about to be its task's result, and is not in its own folder any more.
    pub fn was_committed(&self, attempt: AttemptId) -> bool {
        let is_its = |line: &Line| line.run == self.job.run && line.attempt == attempt.copy;
        self.manifest.of(attempt.task).any(is_its)
    }

    /// What attempts have written, and the lines of the manifest, survive a power cut once this returns.
    ///
    /// # Errors
    /// If not all of it could be written: then none of it may become a result.
    pub fn make_durable(&mut self) -> io::Result<()> {
        self.manifest.flush()?;
        if self.sync { self.attempts.sync_file_system() } else { Ok(()) }
    }

    /// Makes an attempt's output its task's result, if the task has none. What stands in its place and is no result
    /// is set aside.
    ///
    /// # Errors
    /// If the rename fails for another reason than those of [`Commit`].
    pub fn commit(&self, attempt: AttemptId) -> io::Result<Commit> {
        let task = attempt.task;
        let Ok(from) = self.attempts.sub(self.attempt_name(attempt)) else { return Ok(Commit::NoOutput) };
        // A command may have put something else in its place.
        if !from.has_folder("out") {
            return Ok(Commit::NoOutput);
        }
        // Somebody may have removed the phase's folder.
        let to = self.root.make_sub(self.phase(task))?;
        let name = task.index.to_string();
        let mut aside = None;
        loop {
            match from.rename_new("out", &to, &name) {
                Ok(()) => return Ok(Commit::Won(aside)),
                Err(error) => match error.kind() {
                    io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty if aside.is_none() => {
                        if self.result_state(task)? == ResultState::Stands {
                            return Ok(Commit::TooLate);
                        }
                        aside = self.set_aside(task)?;
                    }
                    _ => return Err(error),
                },
            }
        }
    }

    /// The renames of these tasks' phases survive a power cut once this returns.
    ///
    /// # Errors
    /// If they could not be written.
    pub fn sync_results(&self, tasks: impl Iterator<Item = TaskId>) -> io::Result<()> {
        if !self.sync {
            return Ok(());
        }
        let phases: BTreeSet<&str> = tasks.map(|task| self.phase(task)).collect();
        phases.into_iter().try_for_each(|phase| self.root.sub(phase)?.sync())
    }

    /// Whether a task's result is what was committed, by names, sizes and times; by content too where checksums are
    /// asked for and were recorded.
    ///
    /// # Errors
    /// If it can't be looked at: then nobody knows.
    pub fn result_state(&self, task: TaskId) -> io::Result<ResultState> {
        Ok(self.line_of_result(task)?.map_or_else(|state| state, |_| ResultState::Stands))
    }

    /// The line of the manifest that a task's result equals; none where results are not listed, as in folders of earlier
    /// versions. The inner error is how the result does not stand.
    fn line_of_result(&self, task: TaskId) -> io::Result<Result<Option<&Line>, ResultState>> {
        let changed = |how: &str| Ok(Err(ResultState::Changed(how.to_owned())));
        let name = task.index.to_string();
        let Some(results) = self.results_of(self.phase(task))? else { return Ok(Err(ResultState::Gone)) };
        match results.kind(&name)? {
            Some(FileType::Directory) => {}
            None => return Ok(Err(ResultState::Gone)),
            Some(FileType::Symlink) => return changed("a link is in its place"),
            Some(_) => return changed("a file is in its place"),
        }
        let phase = task.phase as usize;
        let lines = || self.manifest.of(task).filter(|line| self.accepts(phase, &line.command));
        if lines().next().is_none() {
            let is_listed = self.manifest.of(task).next().is_some();
            return match (self.job.manifest, is_listed) {
                (false, _) => Ok(Ok(None)),
                (true, true) => changed("it is of another command"),
                (true, false) => changed("it is not listed"),
            };
        }
        let (now, folder) = match results.sub(&name) {
            Ok(folder) => (Listing::of(&folder, false)?, Some(folder)),
            // A folder that its owner may not read is as much as can be seen of it.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => (Listing::default(), None),
            Err(error) => return Err(error),
        };
        let checksum = |name: &str| checksum_at(folder.as_ref()?, name);
        let mut first = None;
        for line in lines() {
            let with_content = self.checksums && line.listing.has_checksums();
            let full =
                if with_content { folder.as_ref().and_then(|folder| Listing::of(folder, true).ok()) } else { None };
            match line.listing.difference(full.as_ref().unwrap_or(&now), checksum) {
                None => return Ok(Ok(Some(line))),
                Some(difference) => _ = first.get_or_insert(difference),
            }
        }
        Ok(Err(ResultState::Changed(first.unwrap_or_default())))
    }

    /// The attempt whose output is in a task's place, if that stands and is of this run.
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

    /// Failures, in journals of the run that were put away, of tasks that may not run twice.
    pub fn earlier_failures(&self) -> Vec<(TaskId, u32)> {
        let task = |phase, index| TaskId { job: hindmost_core::ids::JobId(0), phase, index };
        self.job.failures.iter().map(|(phase, index, count)| (task(*phase, *index), *count)).collect()
    }

    /// True if results of a command, by its digest, are results of the phase.
    fn accepts(&self, phase: usize, command: &str) -> bool {
        let is_now = self.phases.get(phase).is_some_and(|(_, now)| now == command);
        is_now || (self.keep_results || self.job.keeps(phase, command)) && self.job.accepts(phase, command)
    }

    /// Moves what stands in a result's place among the run's own files; where it is now, if something was there.
    ///
    /// # Errors
    /// If it can't be moved.
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

    /// The run begins again with the results that it has: it gets another identity, and then its journal is put away. If it
    /// is cut off in between, opening the folder does the rest.
    /// `failures` are those of tasks that may not run twice.
    ///
    /// # Errors
    /// If the journal can't be put away, or the record not be written.
    pub fn begin_again(&mut self, plan: &Plan, failures: &[(TaskId, u32)]) -> Result<(), StoreError> {
        let mut number = self.job.journals + 1;
        while self.inner.has_file(old_journal(number)) {
            number += 1;
        }
        self.adopt_place(plan);
        self.job.begin_again(number, failures);
        self.write_record()?;
        put_journal_away(&self.inner, number)
            .map_err(|error| StoreError::Unwritable { path: self.folder.clone(), error })
    }
}

/// Gives a run's journal the name of an old one.
pub(super) fn put_journal_away(inner: &Folder, number: u32) -> io::Result<()> {
    match inner.rename_new(JOURNAL, inner, old_journal(number)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
