//! Reads what is new in the folder of a run. Nothing in the folder is changed.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use hindmost_core::ids::{AttemptId, JobId};
use hindmost_core::metrics::RunState;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::Deserialize;

use super::followed::Followed;
use super::snapshot::{JobState, JobView, PhaseView};
use crate::store::{
    ATTEMPTS, Folder, INNER, JOB, JOURNAL, JobRecord, LOCK, LONGEST_RECORD, SUMMARY, reported_progress,
};
use crate::submission::{JOBS, JobEntry};

/// Name of the report in a run's folder.
const REPORT: &str = "report.html";
/// Number of bytes of a journal that are read at once.
const BLOCK: usize = 1 << 20;
/// Longest line of a journal: 256 MiB.
const LONGEST_LINE: usize = 256 << 20;

/// Why a run can't be shown.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// There is no such folder.
    #[error("{}: there is no such folder", .0.display())]
    NoFolder(PathBuf),
    /// The folder holds no run.
    #[error("{}: this folder holds no run of Hindmost; give the output folder of `hindmost run` or `hindmost map`", .0.display())]
    NoRun(PathBuf),
    /// The folder is that of a job that runs together with others.
    #[error("{}: this is the folder of job {job:?} of the run in {}, which has the journal: give that folder", folder.display(), run.display())]
    PartOfRun {
        /// The folder of the job.
        folder: PathBuf,
        /// Name of the job.
        job: String,
        /// Folder of the run.
        run: PathBuf,
    },
    /// The journal can't be read from its beginning.
    #[error("{}: {problem}", path.display())]
    BadJournal {
        /// Path of the journal.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A file could not be read.
    #[error("{}: {error}", path.display())]
    Io {
        /// Path of the file or folder.
        path: PathBuf,
        /// Why it could not be read.
        error: io::Error,
    },
}

/// Whether a process holds the lock of a run's folder.
pub(super) enum Held {
    Yes,
    No,
    Unknown,
}

/// Identifies a version of a file: device, inode and time of the last change.
type Version = (u64, u64, i64, i64);

/// A file that is read again when it has changed.
struct Cached<T> {
    version: Option<Version>,
    value: Option<T>,
}

impl<T> Default for Cached<T> {
    fn default() -> Cached<T> {
        Cached { version: None, value: None }
    }
}

impl<T: for<'a> Deserialize<'a>> Cached<T> {
    /// Reads the file if it has changed. A file that is missing or can't be read has no value.
    fn refresh(&mut self, folder: &Folder, name: &str) {
        let read = || -> Option<(Version, File)> {
            let file = folder.file(name).ok()?;
            let found = file.metadata().ok()?;
            Some(((found.dev(), found.ino(), found.mtime(), found.mtime_nsec()), file))
        };
        let Some((version, file)) = read() else {
            *self = Cached::default();
            return;
        };
        if self.version != Some(version) {
            let mut text = Vec::new();
            let read = file.take(LONGEST_RECORD).read_to_end(&mut text);
            self.value = read.ok().and_then(|_| serde_json::from_slice(&text).ok());
            self.version = Some(version);
        }
    }
}

/// The part of a run's summary that a view needs.
#[derive(Deserialize)]
struct Ended {
    state: RunState,
    attempts: u64,
    #[serde(default)]
    failed_tasks: Vec<serde::de::IgnoredAny>,
    #[serde(default)]
    flowtime: f64,
    #[serde(default)]
    phases: Vec<EndedPhase>,
}

/// The part of a phase's summary that a view needs.
#[derive(Deserialize)]
struct EndedPhase {
    name: String,
    tasks: u64,
    finished: u64,
}

/// How a run ended.
pub(super) struct End {
    pub state: RunState,
    /// Number of the run's attempts until then.
    pub attempts: u64,
    /// Number of tasks that had failed permanently.
    pub failed_tasks: u64,
}

/// What is read from the folder of a job, and from that of a run.
#[derive(Default)]
struct OfFolder {
    job: Cached<JobRecord>,
    summary: Cached<Ended>,
    has_report: bool,
    /// The open folder of attempts.
    attempts: Option<Folder>,
}

impl OfFolder {
    /// Reads what a run or job writes when it ends, and opens the folder of its attempts.
    fn refresh(&mut self, root: &Folder, inner: &Folder) {
        self.summary.refresh(inner, SUMMARY);
        self.has_report = root.has_file(REPORT);
        self.attempts = inner.sub(ATTEMPTS).ok();
    }

    /// Returns the state of a job of this name that is not in the journal of its run, at the time `now`.
    fn view(&self, name: &str, now: f64) -> JobView {
        let phase = |name: &str, tasks: u64, finished: u64| PhaseView {
            name: name.to_owned(),
            tasks,
            finished,
            progress: if tasks > 0 { (finished as f64 / tasks as f64).min(1.0) } else { 0.0 },
            ..PhaseView::default()
        };
        let (record, end) = (self.job.value.as_ref(), self.summary.value.as_ref());
        let phases: Vec<PhaseView> = match (end, record) {
            (Some(end), _) => end.phases.iter().map(|of| phase(&of.name, of.tasks, of.finished)).collect(),
            (None, Some(record)) => record.tasks.iter().map(|of| phase(&of.name, of.tasks.into(), 0)).collect(),
            (None, None) => Vec::new(),
        };
        JobView {
            name: name.to_owned(),
            state: end.map_or(JobState::Waiting, |end| JobState::from(end.state)),
            arrival: if end.is_some() { 0.0 } else { now },
            end: end.map(|end| end.flowtime),
            deadline: None,
            tasks: phases.iter().map(|phase| phase.tasks).sum(),
            finished: phases.iter().map(|phase| phase.finished).sum(),
            failed_tasks: end.map_or(0, |end| end.failed_tasks.len() as u64),
            report: None,
            phases,
        }
    }

    /// Reads the folder of a job of a run of several jobs. What is missing stays unknown.
    fn refresh_job(&mut self, home: &Folder, name: &str) {
        // The name comes from a journal of unknown origin and must not lead out of the folder.
        let mut parts = Path::new(name).components();
        if !matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)) {
            return;
        }
        let Ok(root) = home.sub(name) else { return };
        let Ok(inner) = root.sub(INNER) else { return };
        self.job.refresh(&inner, JOB);
        self.refresh(&root, &inner);
    }
}

/// The files of a run.
#[derive(Default)]
pub(super) struct Files {
    /// The journal, by device and inode.
    journal: Option<(u64, u64)>,
    /// Length of the journal's lines that were read.
    position: u64,
    run: OfFolder,
    /// The list of the jobs of a run of several jobs. Jobs that were done when the run began again are not in its journal.
    list: Cached<Vec<JobEntry>>,
    /// The folders of the jobs of a run of several jobs, by name.
    jobs: BTreeMap<String, OfFolder>,
}

impl Files {
    /// Reads what is new, and passes the new lines of the journal on.
    pub(super) fn refresh(&mut self, folder: &Path, followed: &mut Followed) -> Result<Held, LiveError> {
        let failed = |error: io::Error| LiveError::Io { path: folder.join(INNER), error };
        let root = Folder::open(folder).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => LiveError::NoFolder(folder.to_owned()),
            io::ErrorKind::NotADirectory => LiveError::NoRun(folder.to_owned()),
            _ => LiveError::Io { path: folder.to_owned(), error },
        })?;
        let inner = root.sub(INNER).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => LiveError::NoRun(folder.to_owned()),
            _ => failed(error),
        })?;
        // Whether the lock is held is determined first: what a process has written before it released the lock is then read.
        let held = held(&inner);
        self.run.job.refresh(&inner, JOB);
        match inner.file(JOURNAL) {
            Ok(file) => {
                self.read(file, followed)
                    .map_err(|error| LiveError::Io { path: folder.join(INNER).join(JOURNAL), error })?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.begin_again(None, followed);
                if let Some((job, run)) = part_of_run(folder) {
                    return Err(LiveError::PartOfRun { folder: folder.to_owned(), job, run });
                }
                if matches!(held, Held::No) && self.run.job.value.is_none() {
                    return Err(LiveError::NoRun(folder.to_owned()));
                }
            }
            Err(error) => return Err(failed(error)),
        }
        self.run.refresh(&root, &inner);
        if self.has_several_jobs() {
            self.list.refresh(&inner, JOBS);
            let arrived = followed.builder.timeline().jobs.iter().map(|job| &*job.spec.name);
            for name in arrived.chain(self.list.value.iter().flatten().map(|entry| entry.name.as_str())) {
                match self.jobs.get_mut(name) {
                    Some(of) => of.refresh_job(&root, name),
                    None => self.jobs.entry(name.to_owned()).or_default().refresh_job(&root, name),
                }
            }
        }
        Ok(held)
    }

    fn begin_again(&mut self, journal: Option<(u64, u64)>, followed: &mut Followed) {
        if self.journal != journal || self.position > 0 {
            (self.journal, self.position) = (journal, 0);
            self.jobs.clear();
            *followed = Followed::default();
        }
    }

    /// Reads the journal from the end of the last complete line that was read.
    fn read(&mut self, mut file: File, followed: &mut Followed) -> io::Result<()> {
        let found = file.metadata()?;
        let journal = Some((found.dev(), found.ino()));
        if self.journal != journal || found.len() < self.position {
            self.begin_again(journal, followed);
        }
        file.seek(SeekFrom::Start(self.position))?;
        let mut buffer = Vec::new();
        loop {
            let begin = buffer.len();
            if (&mut file).take(BLOCK as u64).read_to_end(&mut buffer)? == 0 {
                return Ok(());
            }
            // The rest of a line that was searched before has no end of a line.
            let whole = buffer[begin..].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| begin + at + 1);
            let used = followed.feed(&buffer[..whole]);
            self.position += used as u64;
            buffer.drain(..used);
            if buffer.len() > LONGEST_LINE {
                return Err(io::Error::other(format!("a line is longer than {LONGEST_LINE} bytes")));
            }
        }
    }

    /// Returns the record of the run: that of its job, or that of several jobs.
    pub(super) fn record(&self) -> Option<&JobRecord> {
        self.run.job.value.as_ref()
    }

    /// Returns true if the jobs of the run have folders of their own. The record of such a run has no phases.
    pub(super) fn has_several_jobs(&self) -> bool {
        self.record().is_some_and(|record| record.phases.is_empty())
    }

    /// Returns the jobs of the run's list that are not among those of its journal: jobs that had ended when the run began again,
    /// and jobs that have not begun.
    pub(super) fn not_arrived(&self, journal: &[&str], now: f64) -> Vec<JobView> {
        let entries = self.list.value.iter().flatten().filter(|_| self.has_several_jobs());
        let entries = entries.filter(|entry| !journal.contains(&entry.name.as_str()));
        let unknown = OfFolder::default();
        entries.map(|entry| self.jobs.get(&entry.name).unwrap_or(&unknown).view(&entry.name, now)).collect()
    }

    /// Returns what was read from the folder of a job; `None` if it is unknown which folder this is.
    fn of_job(&self, id: JobId, name: &str) -> Option<&OfFolder> {
        if self.has_several_jobs() { self.jobs.get(name) } else { (id == JobId(0)).then_some(&self.run) }
    }

    /// Returns the record of a job.
    pub(super) fn job(&self, id: JobId, name: &str) -> Option<&JobRecord> {
        self.of_job(id, name)?.job.value.as_ref()
    }

    /// Returns how a job ended last; `None` if it has not ended yet.
    pub(super) fn summary(&self, id: JobId, name: &str) -> Option<End> {
        let Ended { state, attempts, failed_tasks, .. } = self.of_job(id, name)?.summary.value.as_ref()?;
        Some(End { state: *state, attempts: *attempts, failed_tasks: failed_tasks.len() as u64 })
    }

    /// Returns the path of the run's report in its folder; `None` if there is none.
    pub(super) fn report(&self, folder: &Path) -> Option<String> {
        self.run.has_report.then(|| folder.join(REPORT).display().to_string())
    }

    /// Returns the path of the report of a job that has a folder of its own; `None` if there is none.
    pub(super) fn job_report(&self, folder: &Path, name: &str) -> Option<String> {
        let has_report = self.jobs.get(name)?.has_report;
        has_report.then(|| folder.join(name).join(REPORT).display().to_string())
    }

    /// Returns the progress that an attempt's command has reported last, in [0, 1]; `None` if it has reported none.
    pub(super) fn progress(&self, attempt: AttemptId, job: &str) -> Option<f64> {
        let of = self.of_job(attempt.task.job, job)?;
        let record = of.job.value.as_ref()?;
        let name = record.attempt_name(attempt, record.phases.get(attempt.task.phase as usize)?);
        reported_progress(of.attempts.as_ref()?, &name).map(|(share, _)| share)
    }
}

/// Returns the name of the job and the folder of the run to which a job's folder belongs; `None` if it belongs to none.
fn part_of_run(folder: &Path) -> Option<(String, PathBuf)> {
    let path = std::fs::canonicalize(folder).ok()?;
    let (name, home) = (path.file_name()?.to_str()?, path.parent()?);
    let mut list = Cached::<Vec<JobEntry>>::default();
    list.refresh(&Folder::open(home).ok()?.sub(INNER).ok()?, JOBS);
    let is_listed = list.value?.iter().any(|entry| entry.name == name);
    is_listed.then(|| (name.to_owned(), home.to_owned()))
}

/// Finds out whether a process holds the lock of a run's folder: takes the lock together with other readers, and releases it
/// at once. A run that begins at this moment tries again.
fn held(inner: &Folder) -> Held {
    match inner.file(LOCK) {
        Ok(lock) => match flock(&lock, FlockOperation::NonBlockingLockShared) {
            Ok(()) => Held::No,
            Err(Errno::WOULDBLOCK) => Held::Yes,
            Err(_) => Held::Unknown,
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Held::No,
        Err(_) => Held::Unknown,
    }
}
