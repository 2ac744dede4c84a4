//! Opens a run's folder: checks its owner, its job, and whether its run may be resumed.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;

use hindmost_core::ids::{JobId, TaskId};
use hindmost_core::metrics::RunState;
use hindmost_core::time::Time;
use rustix::fs::{FileType, FlockOperation, StatxFlags};
use serde::Deserialize;

use super::error::StoreError;
use super::folder::{Distrust, Folder, distrust};
use super::identity::{CacheIdentity, FolderIdentity};
use super::manifest::{MANIFEST, Manifest};
use super::output_file::check_places;
use super::reads::Checksums;
use super::record::{BegunWith, JobRecord};
use super::recycling::Spares;
use super::results::put_journal_away;
use super::{Anchors, JOB, JOURNAL, LOCK, PAGES, SUMMARY, Store, Whereabouts};
use crate::job_file::{Later, Plan, PlannedPhase, Redo, TaskChanges};

/// Largest size of a job's record: 64 MiB.
pub(crate) const LONGEST_RECORD: u64 = 64 << 20;

/// Options for opening a folder.
#[derive(Clone, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "switches of a command line")]
pub struct Opening {
    /// Resume the run in the folder.
    pub resume: bool,
    /// Keep results of phases whose commands have changed.
    pub keep_results: bool,
    /// Parts of the job that run again.
    pub redo: Vec<Redo>,
    /// Tasks run again whose results were made by another command.
    pub redo_changed: bool,
    /// Options of a new run, which are written to the record of its job.
    pub begun_with: Option<BegunWith>,
    /// Do not sync results and journal: a power cut may lose them.
    pub no_sync: bool,
    /// Record checksums of results, and compare them with recorded ones.
    pub checksum: bool,
    /// Use the folder even if other users own it or may write to it.
    pub trust_folder: bool,
    /// Replace files that are in the place of tasks' output files.
    pub overwrite: bool,
}

/// A folder that has been opened.
pub struct Opened {
    /// The opened folder of the run.
    pub store: Store,
    /// True if the folder holds a journal, so that the run has begun.
    pub begun: bool,
    is_new: bool,
    /// True if the folder holds a journal, a manifest or an earlier journal.
    has_traces: bool,
    /// Names of the phases whose command, variables or folder have changed since the run was last active.
    pub changed: Vec<String>,
    /// The plan, in which tasks have the numbers with which the run began.
    pub plan: Plan,
    /// How the tasks of the plan differ from those with which the run was last active.
    pub tasks: TaskChanges,
    /// Tasks that run again on request: the number of the phase and that of the task.
    pub redo: BTreeSet<(u32, u32)>,
}

impl Opened {
    /// True if nothing of the job has run in its folder.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// True if the run has begun and its journal is missing: somebody has removed it, or Hindmost was killed while the run began
    /// again.
    pub fn lacks_journal(&self) -> bool {
        self.has_traces && !self.begun
    }

    /// True if the run was done when it ended, and the job has not changed since. Nothing is left to run then, unless results
    /// have been changed or removed.
    pub fn was_done(&self) -> bool {
        let is_same = self.changed.is_empty() && self.tasks.is_empty() && self.redo.is_empty();
        let summary = || self.store.inner.read(SUMMARY, LONGEST_RECORD);
        self.begun && is_same && summary().is_ok_and(|summary| is_done(&summary))
    }
}

pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> StoreError + '_ {
    move |error| StoreError::Io { path: path.to_owned(), error }
}

impl Store {
    /// Opens or creates the folder of a job's run, and locks it.
    ///
    /// # Errors
    /// If the folder holds other files or another job, is in use, can't be written, or holds a run that is not to be
    /// resumed or results of commands that have changed; or if other users can change its content.
    pub fn open(folder: &Path, plan: &Plan, opening: &Opening) -> Result<Opened, StoreError> {
        let mut plan = plan.clone();
        let trust = opening.trust_folder;
        if !opening.overwrite && !folder.join(super::INNER).exists() {
            // A folder that was made would have to be removed again.
            check_places(&plan, |_, _| false)?;
        }
        let root = open_root(folder, trust)?;
        let path = fs::canonicalize(folder).map_err(at(folder))?;
        let unwritable = |error| StoreError::Unwritable { path: path.clone(), error };
        let entries = root.entries().map_err(at(&path))?;
        if !entries.is_empty() && !entries.iter().any(|(name, _)| name == super::INNER) {
            return Err(StoreError::NotEmpty(path));
        }
        let inner = open_own(&root, &path, super::INNER, trust)?;
        let lock = lock_of(&inner, &path)?;
        check_files(&inner, &path.join(super::INNER), trust)?;
        let attempts = open_own(&inner, &path.join(super::INNER), super::ATTEMPTS, trust)?;
        let anchors = Anchors::of(&root, &inner, &lock, &attempts).map_err(at(&path))?;
        open_own(&inner, &path.join(super::INNER), "logs", trust)?;
        if inner.kind(super::ASIDE).map_err(at(&path))?.is_some() {
            open_own(&inner, &path.join(super::INNER), super::ASIDE, trust)?;
        }

        // A run that was stopped before it wrote anything to its journal has not begun.
        let mut has_journal = length(&inner, JOURNAL) > 0;
        let has_traces = has_journal || length(&inner, MANIFEST) > 0 || inner.has_file(super::old_journal(1));
        let identity = FolderIdentity::of(&root).map_err(at(&path))?;
        let cache = CacheIdentity::of(&root).ok();
        let held = inner.read(JOB, LONGEST_RECORD);
        let mut tasks = TaskChanges::default();
        let (mut job, changed, whereabouts) = match held {
            Ok(text) => {
                let held: JobRecord = serde_json::from_str(&text).map_err(|error| StoreError::Damaged {
                    path: path.join(super::INNER).join(JOB),
                    reason: error.to_string(),
                })?;
                tasks = check_job(&held, &path, &mut plan, opening, has_traces, &inner)?;
                if held.journals > 0 && !inner.has_file(super::old_journal(held.journals)) {
                    // The run was about to begin again when its process died.
                    put_journal_away(&inner, held.journals).map_err(unwritable)?;
                    has_journal = false;
                }
                let changed = held.changed(&plan);
                let whereabouts = whereabouts(&held, &path, identity, cache.as_ref());
                (held, changed, whereabouts)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if has_traces || !attempts.is_empty() || holds_results(&root, &entries) {
                    return Err(StoreError::RecordMissing(path));
                }
                (JobRecord::new(&plan, opening.begun_with.clone()), Vec::new(), Whereabouts::Same)
            }
            Err(error) => return Err(StoreError::Io { path: path.join(super::INNER).join(JOB), error }),
        };
        let is_new = job.folder.is_none() && !has_traces;
        let manifest = Manifest::open(&inner).map_err(unwritable)?;
        let redo = plan.tasks_of_redo(&opening.redo).map_err(StoreError::Redo)?;
        if has_traces && !opening.keep_results && !opening.redo_changed {
            check_commands(&root, &path, &job, &manifest, &plan, (&redo, &tasks), &changed)?;
        }
        job.path = Some(job.path.take().unwrap_or_else(|| JobRecord::path_text(&path)));
        let phases = plan.phases.iter().map(|phase| (phase.name.clone(), phase.digest())).collect();
        let mut store = Store {
            folder: path.clone(),
            root: Arc::new(root),
            inner: Arc::new(inner),
            attempts,
            _lock: lock,
            anchors,
            earlier_path: job.path.clone(),
            job,
            phases,
            manifest,
            whereabouts,
            identity,
            cache,
            sync: !opening.no_sync,
            checksums: opening.checksum,
            keep_results: opening.keep_results,
            overwrite: opening.overwrite,
            spares: Spares::default(),
            used: Checksums::default(),
        };
        store.check_place()?;
        store.check_outputs(&plan)?;
        if is_new {
            store.accept(&plan)?;
        }
        for phase in &plan.phases {
            // Whoever only looks at a run changes nothing: the folders of new phases are created for their first results.
            if !has_traces || store.root.kind(&phase.name).map_err(at(&path))?.is_some() {
                open_own(&store.root, &path, &phase.name, trust)?;
            }
        }
        Ok(Opened { store, begun: has_journal, is_new, has_traces, changed, plan, tasks, redo })
    }

    /// Records the folder's place and the plan's commands, and removes incomplete files of killed processes. Call this after all
    /// checks, so that a refused run changes nothing.
    ///
    /// # Errors
    /// If the record can't be written.
    pub fn accept(&mut self, plan: &Plan) -> Result<(), StoreError> {
        if self.whereabouts == Whereabouts::Copied {
            self.job.renew_identity();
        }
        self.root.remove_parts(|name| PAGES.contains(&name));
        self.inner.remove_parts(|_| true);
        self.remove_all_staged(plan);
        self.adopt_place(plan);
        self.make_empty().map_err(|error| StoreError::Unwritable { path: self.folder.clone(), error })?;
        self.write_record()
    }

    /// Records that the run was paused from `begin` to `end`, in time since the run began.
    ///
    /// # Errors
    /// If the record can't be written.
    pub fn add_pause(&mut self, begin: Time, end: Time) -> Result<(), StoreError> {
        self.job.add_pause(begin, end);
        self.write_record()
    }

    /// Sets the plan's commands and the folder's place in the record.
    pub(super) fn adopt_place(&mut self, plan: &Plan) {
        self.job.take_over(plan, self.keep_results);
        self.job.folder = Some(self.identity);
        self.job.path = Some(JobRecord::path_text(&self.folder));
        self.job.cache.clone_from(&self.cache);
    }

    pub(super) fn write_record(&self) -> Result<(), StoreError> {
        let unwritable = |error| StoreError::Unwritable { path: self.folder.clone(), error };
        let text = serde_json::to_string_pretty(&self.job).map_err(|error| unwritable(error.into()))?;
        if self.inner.read(JOB, LONGEST_RECORD).is_ok_and(|held| held == text) {
            return Ok(());
        }
        self.inner.replace(JOB, text.as_bytes(), self.sync).map_err(unwritable)?;
        if self.sync {
            self.root.sync().map_err(unwritable)?;
        }
        Ok(())
    }
}

/// Opens the folder that the user has named, and creates it if it does not exist.
pub(super) fn open_root(folder: &Path, trust: bool) -> Result<Folder, StoreError> {
    let unwritable = |error| StoreError::Unwritable { path: folder.to_owned(), error };
    let untrusted = |distrust| StoreError::Untrusted { path: folder.to_owned(), distrust };
    match fs::symlink_metadata(folder) {
        Ok(found) if found.is_symlink() => {
            let owner = found.uid();
            if !trust && owner != 0 && owner != rustix::process::geteuid().as_raw() {
                return Err(untrusted(Distrust::NotPlain));
            }
        }
        Ok(_) => {}
        Err(_) => {
            if let Some(parent) = folder.parent().filter(|parent| !parent.as_os_str().is_empty()) {
                fs::create_dir_all(parent).map_err(unwritable)?;
            }
            match fs::DirBuilder::new().mode(0o755).create(folder) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(unwritable(error)),
                _ => {}
            }
        }
    }
    let root = Folder::open(folder).map_err(unwritable)?;
    match root.distrust().map_err(at(folder))? {
        Some(distrust) if !trust => Err(untrusted(distrust)),
        _ => Ok(root),
    }
}

/// Opens an internal folder of the run, and creates it if it does not exist.
fn open_own(parent: &Folder, path: &Path, name: &str, trust: bool) -> Result<Folder, StoreError> {
    let path = path.join(name);
    let made = parent.make_sub(name).map_err(|error| match rustix::io::Errno::from_io_error(&error) {
        Some(rustix::io::Errno::LOOP | rustix::io::Errno::NOTDIR) => StoreError::Damaged {
            path: path.clone(),
            reason: "it is not a folder (links are not followed here)".to_owned(),
        },
        _ => StoreError::Unwritable { path: path.clone(), error },
    })?;
    match made.distrust().map_err(at(&path))? {
        Some(distrust) if !trust => Err(StoreError::Untrusted { path, distrust }),
        _ => Ok(made),
    }
}

/// Opens an internal folder of the run; `None` if it does not exist.
pub(super) fn opened_own(parent: &Folder, path: &Path, name: &str, trust: bool) -> Result<Option<Folder>, StoreError> {
    match parent.kind(name).map_err(at(path))? {
        Some(_) => open_own(parent, path, name, trust).map(Some),
        None => Ok(None),
    }
}

/// Locks the folder of a run at this path. The lock is held until the file is dropped.
pub(super) fn lock_of(inner: &Folder, path: &Path) -> Result<File, StoreError> {
    let lock = inner.own_file(LOCK).map_err(|error| refused(&path.join(super::INNER).join(LOCK), error))?;
    if locked(&lock) { Ok(lock) } else { Err(StoreError::InUse(path.to_owned())) }
}

/// Returns the error of an internal file that can't be opened.
fn refused(path: &Path, error: io::Error) -> StoreError {
    match error.kind() {
        io::ErrorKind::Other => StoreError::Damaged { path: path.to_owned(), reason: error.to_string() },
        _ => StoreError::Unwritable { path: path.to_owned(), error },
    }
}

/// Checks that the internal files are regular files that no other user can change.
pub(super) fn check_files(inner: &Folder, path: &Path, trust: bool) -> Result<(), StoreError> {
    for name in [JOB, JOURNAL, MANIFEST, SUMMARY, LOCK] {
        let found = match inner.statx(name, StatxFlags::BASIC_STATS) {
            Ok(found) => found,
            Err(rustix::io::Errno::NOENT) => continue,
            Err(error) => return Err(StoreError::Io { path: path.join(name), error: error.into() }),
        };
        let path = path.join(name);
        let is_file = FileType::from_raw_mode(found.stx_mode.into()).is_file();
        if !is_file {
            let reason = "it is not a regular file (links are not followed here)".to_owned();
            return Err(StoreError::Damaged { path, reason });
        }
        if found.stx_nlink != 1 {
            let reason = "it has a second name (a hard link), so it may be somebody else's file".to_owned();
            return Err(StoreError::Damaged { path, reason });
        }
        if let Some(distrust) = distrust(&found).filter(|_| !trust) {
            return Err(StoreError::Untrusted { path, distrust });
        }
    }
    Ok(())
}

/// True if the folder holds more than the internal folder and empty folders of phases.
fn holds_results(root: &Folder, entries: &[(OsString, FileType)]) -> bool {
    let is_empty = |name: &OsString| root.sub(name).is_ok_and(|folder| folder.is_empty());
    entries.iter().any(|(name, _)| name != super::INNER && !is_empty(name))
}

fn length(inner: &Folder, name: &str) -> u64 {
    inner.statx(name, StatxFlags::SIZE).map_or(0, |found| found.stx_size)
}

/// Locks a run's folder; false if another process holds the lock. Tries for half a second, because a child of a killed
/// process may hold the lock for a moment longer.
fn locked(lock: &File) -> bool {
    for _ in 0..20 {
        if rustix::fs::flock(lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
            return true;
        }
        std::thread::sleep(std::time::Duration::from_millis(25));
    }
    false
}

/// Checks whether the run in a folder may be resumed, and gives the plan's tasks the numbers that they have in this run.
/// Returns which tasks have changed.
fn check_job(
    held: &JobRecord,
    folder: &Path,
    plan: &mut Plan,
    opening: &Opening,
    has_traces: bool,
    inner: &Folder,
) -> Result<TaskChanges, StoreError> {
    let path = || folder.to_owned();
    // The name of a map is that of its command, which may change.
    let is_map = plan.has_own_commands() && held.tasks.iter().all(|phase| phase.own_commands) && !held.tasks.is_empty();
    if is_map {
        plan.name.clone_from(&held.job);
    }
    // Even if nothing has changed, tasks may have other numbers than in a new run.
    let same_job = if held.job == plan.name { plan.numbered_as(&held.tasks) } else { None };
    let same_shape = (held.shape == plan.shape()).then(TaskChanges::default);
    let difference = if held.job == plan.name {
        plan.differs_from(&held.tasks).unwrap_or_else(|| "its phases are others; ".to_owned())
    } else {
        format!("its name is not {:?}; ", plan.name)
    };
    let other_job =
        || StoreError::OtherJob { path: path(), held: held.job.clone(), given: plan.name.clone(), difference };
    let other = || if is_map { StoreError::OtherValues(path()) } else { other_job() };
    let changes = same_job.or(same_shape).ok_or_else(other)?;
    if !opening.resume && has_traces {
        let done = inner.read(SUMMARY, LONGEST_RECORD).is_ok_and(|summary| is_done(&summary));
        return Err(StoreError::HoldsRun { path: path(), job: held.job.clone(), done });
    }
    Ok(changes)
}

impl Store {
    /// Returns the tasks that had failed permanently when the run last ended, if its job failed, each as the name of its phase
    /// and its number.
    pub(crate) fn failed_tasks(&self) -> Vec<(String, u32)> {
        #[derive(Deserialize)]
        struct Failed {
            phase: String,
            task: u32,
        }
        #[derive(Deserialize)]
        struct Ended {
            state: RunState,
            failed_tasks: Vec<Failed>,
        }
        let ended = self.inner.read(SUMMARY, LONGEST_RECORD).ok().and_then(|text| serde_json::from_str(&text).ok());
        let ended = ended.filter(|ended: &Ended| ended.state == RunState::Failed);
        ended.into_iter().flat_map(|ended| ended.failed_tasks).map(|failed| (failed.phase, failed.task)).collect()
    }
}

impl Store {
    /// Removes the summary of a job that was done.
    ///
    /// # Errors
    /// If it can't be removed.
    pub(crate) fn forget_done(&self) -> io::Result<()> {
        if self.inner.read(SUMMARY, LONGEST_RECORD).is_ok_and(|summary| is_done(&summary)) {
            self.inner.remove_file(SUMMARY)?;
        }
        Ok(())
    }
}

/// True if a run's summary says that every task has its result.
fn is_done(summary: &str) -> bool {
    #[derive(Deserialize)]
    struct Ended {
        state: RunState,
    }
    serde_json::from_str(summary).is_ok_and(|Ended { state }| state == RunState::Done)
}

/// Checks that no result comes from a command that has changed, unless its task runs again: by request (`redo`), because its
/// phase has another number of tasks, or because it comes after tasks that run again or are new.
fn check_commands(
    root: &Folder,
    folder: &Path,
    job: &JobRecord,
    manifest: &Manifest,
    plan: &Plan,
    (redo, tasks): (&BTreeSet<(u32, u32)>, &TaskChanges),
    changed: &[String],
) -> Result<(), StoreError> {
    let renewed: BTreeSet<u32> = tasks.renewed.iter().map(|(phase, _)| *phase).collect();
    let redone = redo.iter().chain(&tasks.added).copied().collect();
    let later = Later::of(plan, &redone, &renewed);
    let is_old = |at: usize, phase: &PlannedPhase| -> bool {
        if renewed.contains(&(at as u32)) {
            return false;
        }
        let Ok(results) = root.sub(&phase.name) else { return false };
        // Results of earlier commands are kept only until the command changes again.
        let (now, kept) = (phase.digest(), job.kept.get(at).filter(|_| !changed.contains(&phase.name)));
        let is_kept = |command: &String| *command == now || kept.is_some_and(|kept| kept.contains(command));
        results.entries().unwrap_or_default().iter().any(|(name, _)| {
            let Some(index) = name.to_str().and_then(|name| name.parse().ok()) else { return false };
            let task = TaskId { job: JobId(0), phase: at as u32, index };
            if redo.contains(&(task.phase, index)) || later.contains(task) {
                return false;
            }
            let mut lines = manifest.of(task).peekable();
            if lines.peek().is_none() {
                // Earlier versions had no manifest.
                return !job.manifest && changed.contains(&phase.name);
            }
            !lines.any(|line| is_kept(&line.command))
        })
    };
    match plan.phases.iter().enumerate().find(|(at, phase)| is_old(*at, phase)) {
        Some((_, phase)) if phase.commands.is_some() => Err(StoreError::ChangedCommand(folder.to_owned())),
        Some((_, phase)) => {
            Err(StoreError::Changed { path: folder.to_owned(), job: plan.name.clone(), phase: phase.name.clone() })
        }
        None => Ok(()),
    }
}

/// Returns where a folder is, compared with its recorded place.
fn whereabouts(held: &JobRecord, path: &Path, identity: FolderIdentity, cache: Option<&CacheIdentity>) -> Whereabouts {
    match held.folder {
        Some(known) if known != identity => Whereabouts::Copied,
        _ if held.path.as_ref().is_some_and(|known| *known != JobRecord::path_text(path)) => Whereabouts::Moved,
        _ if held.cache.is_some() && held.cache.as_ref() != cache => Whereabouts::Remounted,
        _ => Whereabouts::Same,
    }
}

#[cfg(test)]
mod tests {
    use super::is_done;

    #[test]
    fn a_summary_is_parsed_and_not_searched() {
        assert!(is_done("{\"job\":\"j\",\"state\":\"done\",\"tasks\":3}"));
        assert!(!is_done("{\"job\": \"j\", \"phases\": [{\"state\": \"done\"}], \"state\": \"failed\"}"));
        assert!(!is_done("\"state\": \"done\""));
        assert!(!is_done(""));
    }
}
