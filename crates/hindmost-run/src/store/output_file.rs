//! The file that a task's standard output becomes, where its phase has the key `output`.
//!
//! The winner's standard output gets into its place in the steps of a result (`mod.rs`). Before the manifest's line is written, the
//! output gets a second name beside the file's: a hard link, or on another file system a synced copy. This name is renamed to the
//! file's own, which replaces nothing but what an attempt of the same task has made, unless the user allows it. So the
//! file is complete whenever it exists, and a process that resumes the run knows whose it is.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use hindmost_core::ids::{AttemptId, JobId, TaskId};
use rustix::fs::Mode;
use rustix::io::Errno;

use super::error::StoreError;
use super::folder::Folder;
use super::input::InputState;
use super::manifest::Line;
use super::recorded_output::OutputFile;
use super::{STDOUT, Store};
use crate::escape::escaped;
use crate::job_file::{Plan, place_of};

/// Returns the name that an attempt's output has beside the file that it becomes, until it is renamed.
fn staged(run: &str, attempt: AttemptId) -> String {
    let TaskId { phase, index, .. } = attempt.task;
    format!(".hindmost-{run}-{phase}-{index}-{}.part", attempt.copy)
}

/// Splits the path of a file into its folder and its name.
fn split(path: &Path) -> io::Result<(&Path, &OsStr)> {
    path.parent().zip(path.file_name()).ok_or_else(|| io::Error::other(format!("{} is no file", path.display())))
}

/// Adds a path to an error.
fn about(path: &Path) -> impl Fn(io::Error) -> io::Error + '_ {
    move |error| io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Returns the rights of new files, as the user's mask has them.
fn new_rights() -> Mode {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    let mask = mask.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok()).unwrap_or(0o022);
    Mode::from_raw_mode(0o666 & !mask)
}

/// Gives the standard output in an attempt's folder this name in another folder, or copies it there if it is on another file system.
fn link_or_copy(from: &Folder, to: &Folder, name: &str) -> io::Result<()> {
    match to.remove_file(name) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => return Err(error.into()),
    }
    if from.make_name(STDOUT, to, name).is_ok() {
        return Ok(());
    }
    let mut original = from.file(STDOUT)?;
    let mut copy = to.new_file(name)?;
    // A power cut may lose the file, but must not leave a part of it.
    let copied = io::copy(&mut original, &mut copy).and_then(|_| copy.sync_all());
    if copied.is_err() {
        let _ = to.remove_file(name);
    }
    copied
}

/// Returns why an output can't be placed.
fn refused(path: &Path) -> String {
    format!("{} exists, and the task has not made it as it is now: --overwrite replaces such files", path.display())
}

impl Line {
    /// Removes the name that the attempt's output has beside the file that it does not become.
    pub(super) fn unstage(&self) {
        let Some(output) = &self.output else { return };
        let task = TaskId { job: JobId(0), phase: self.phase, index: self.task };
        if let Some(to) = output.path().parent().and_then(|parent| Folder::open(parent).ok()) {
            let _ = to.remove_file(staged(&self.run, AttemptId { task, copy: self.attempt }));
        }
    }
}

impl Store {
    /// Gives an attempt's standard output a name beside the file that it becomes, and returns what the manifest records of it.
    pub(super) fn stage_output(&self, attempt: AttemptId, from: &Folder, path: &Path) -> io::Result<OutputFile> {
        // The command may have put something else in its place.
        from.file(STDOUT).map_err(|error| io::Error::new(error.kind(), format!("its standard output: {error}")))?;
        let (parent, _) = split(path)?;
        fs::create_dir_all(parent).map_err(about(parent))?;
        let to = Folder::open(parent).map_err(about(parent))?;
        let rights = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file);
        let rights = rights.map_or_else(new_rights, |found| Mode::from_raw_mode(found.permissions().mode() & 0o777));
        from.set_mode(OsStr::new(STDOUT), rights)?;
        let name = staged(&self.job.run, attempt);
        link_or_copy(from, &to, &name).map_err(about(path))?;
        let recorded = || {
            to.set_mode(OsStr::new(&name), rights)?;
            let file = to.file(&name)?;
            let state = InputState::of_open(&file)?;
            Ok(if self.checksums { state.with_checksum_of(&file) } else { state })
        };
        let state = recorded().map_err(|error| {
            let _ = to.remove_file(&name);
            about(path)(error)
        })?;
        Ok(OutputFile { path: escaped(path.as_os_str()), state })
    }

    /// Removes the staged outputs of this run that a killed process has left beside output files.
    pub(super) fn remove_all_staged(&self, plan: &Plan) {
        let in_plan = plan.phases.iter().filter(|phase| phase.output.is_some());
        let in_plan = in_plan.flat_map(|phase| (0..phase.tasks).filter_map(|task| phase.output_of(task)));
        let recorded = self.manifest.all().filter_map(|line| Some(line.output.as_ref()?.path()));
        let parents: BTreeSet<PathBuf> =
            recorded.chain(in_plan).filter_map(|path| Some(path.parent()?.to_owned())).collect();
        let own = format!(".hindmost-{}-", self.job.run);
        for folder in parents.iter().filter_map(|parent| Folder::open(parent).ok()) {
            for (name, _) in folder.entries().unwrap_or_default() {
                if name.to_str().is_some_and(|name| name.starts_with(&own)) {
                    let _ = folder.remove_file(&name);
                }
            }
        }
    }

    /// Renames an attempt's staged output to the file that it becomes. Returns why not, if another file is there.
    pub(super) fn place_output(&self, attempt: AttemptId, output: &OutputFile) -> io::Result<Option<String>> {
        let path = output.path();
        let (parent, name) = split(&path)?;
        let to = Folder::open(parent).map_err(about(parent))?;
        let staged = staged(&self.job.run, attempt);
        let replaces = match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(about(&path)(error)),
            Ok(found) if !found.is_file() => {
                return Ok(Some(format!("{} is not a regular file", path.display())));
            }
            Ok(_) if self.overwrite || self.is_made_by(attempt.task, &path) => true,
            Ok(_) => return Ok(Some(refused(&path))),
        };
        let placed = if replaces {
            to.rename_over(&staged, &to, name)
        } else {
            // A hard link never replaces anything, on any file system that has such links.
            match to.make_name(&staged, &to, name) {
                Err(error) if !matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound) => {
                    to.rename_new(&staged, &to, name)
                }
                linked => linked,
            }
        };
        match placed {
            Ok(()) => {
                // It is still there after a link, or if both names were those of one file before.
                let _ = to.remove_file(&staged);
                Ok(None)
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Some(refused(&path))),
            // An earlier process has placed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound && output.difference(false).is_none() => Ok(None),
            Err(error) => Err(about(&path)(error)),
        }
    }

    /// True if an attempt of the task has made the file at this path.
    fn is_made_by(&self, task: TaskId, path: &Path) -> bool {
        self.manifest.of(task).filter_map(|line| line.output.as_ref()).any(|output| output.is_at(path))
    }

    /// Syncs the folders of these tasks' output files, so that their renames survive a power cut.
    pub(super) fn sync_outputs(&self, tasks: impl Iterator<Item = TaskId>) -> io::Result<()> {
        let of = |task| self.manifest.of(task).find_map(|line| Some(line.output.as_ref()?.path().parent()?.to_owned()));
        let folders: BTreeSet<PathBuf> = tasks.filter_map(of).collect();
        folders
            .iter()
            .try_for_each(|folder| File::open(folder).and_then(|folder| folder.sync_all()).map_err(about(folder)))
    }

    /// Checks that no output file is in the run's folder, and that no file is in the place of one whose task has not made it, unless such
    /// files are to be replaced.
    ///
    /// # Errors
    /// If there is one.
    pub(super) fn check_outputs(&self, plan: &Plan) -> Result<(), StoreError> {
        for phase in plan.phases.iter().filter(|phase| phase.output.is_some()) {
            let mut paths = (0..phase.tasks).filter_map(|task| phase.output_of(task));
            if let Some(path) = paths.find(|path| place_of(path).starts_with(&self.folder)) {
                return Err(StoreError::OutputInside(path));
            }
        }
        if self.overwrite { Ok(()) } else { check_places(plan, |task, path| self.is_made_by(task, path)) }
    }
}

/// Checks that no file is in the place of an output file, unless `is_made_by` says that an attempt of the task has made it.
///
/// # Errors
/// If there is one.
pub(super) fn check_places(plan: &Plan, is_made_by: impl Fn(TaskId, &Path) -> bool) -> Result<(), StoreError> {
    let mut first = None;
    let mut found = 0;
    for (at, phase) in (0..).zip(&plan.phases).filter(|(_, phase)| phase.output.is_some()) {
        for index in (0..phase.tasks).filter(|index| !phase.is_withdrawn(*index)) {
            let task = TaskId { job: JobId(0), phase: at, index };
            let Some(path) = phase.output_of(index) else { continue };
            if fs::symlink_metadata(&path).is_ok() && !is_made_by(task, &path) {
                found += 1;
                first.get_or_insert((path, phase.name_of(index)));
            }
        }
    }
    first.map_or(Ok(()), |(path, task)| Err(StoreError::InTheWay { path, task, more: found - 1 }))
}
