//! A view of a run in progress: follows the run's journal from outside and returns snapshots of its state.
//!
//! The view reads the files of the run's folder and never writes. It needs nothing from the process that runs the job, so
//! it also shows runs of other users and, on a shared file system, of other machines. The state comes from the same parts
//! as everywhere else: a [`Timeline`](hindmost_core::timeline::Timeline) built record by record, and a replayed
//! [`Session`](hindmost_core::session::Session), which knows nodes, expected finishes and the policy's reasons.
//!
//! | file | what it does |
//! | --- | --- |
//! | `files.rs` | reads what is new in the run's folder, and finds out whether a process holds its lock |
//! | `followed.rs` | applies the lines of the journal to timeline and session |
//! | `summing.rs` | counts the state, and makes the snapshot |
//! | `snapshot.rs` | the snapshot as data |

mod files;
mod followed;
mod snapshot;
mod summing;

use std::path::{Path, PathBuf};

pub use files::LiveError;
use files::{End, Files, Held};
use followed::Followed;
pub use snapshot::{
    AttemptState, AttemptView, Copies, EndedView, FailureView, JobState, JobView, NodeView, Outcome, PhaseView,
    Snapshot, State,
};

use crate::store::{INNER, JOURNAL, JobRecord};
use hindmost_core::ids::JobId;
use hindmost_core::time::Time;
use hindmost_core::timeline::TimelineJob;

/// Follows the run in a folder.
pub struct LiveView {
    folder: PathBuf,
    files: Files,
    followed: Followed,
    /// True if the run's process holds the lock of the folder; `None` if this could not be determined.
    held: Option<bool>,
}

impl LiveView {
    /// Creates a view of the run in a folder. Nothing is read before the first [`refresh`](LiveView::refresh), so the folder
    /// need not exist yet.
    pub fn new(folder: &Path) -> LiveView {
        LiveView { folder: folder.to_owned(), files: Files::default(), followed: Followed::default(), held: None }
    }

    /// Reads what the run has written since the last call. If the run has begun a new journal, reads that one from its
    /// beginning. An incomplete last line is left for the next call.
    ///
    /// # Errors
    /// If the folder holds no run, or its files can't be read.
    pub fn refresh(&mut self) -> Result<(), LiveError> {
        let held = self.files.refresh(&self.folder, &mut self.followed)?;
        if let (None, Some(problem)) = (self.followed.header(), self.followed.problem()) {
            return Err(LiveError::BadJournal { path: self.folder.join(INNER).join(JOURNAL), problem });
        }
        self.held = match held {
            Held::Yes => Some(true),
            Held::No => Some(false),
            Held::Unknown => None,
        };
        Ok(())
    }

    /// Returns the state at the last [`refresh`](LiveView::refresh).
    pub fn snapshot(&self) -> Snapshot {
        let state = self.state();
        let end = self.followed.end();
        let now = if state.is_over() { end } else { self.files.record().map_or(end, |job| Time(job.age()).max(end)) };
        let ends = self.ends(state.is_over());
        let mut snapshot = summing::snapshot(&self.followed, &self.files, &ends, state, now);
        snapshot.folder = self.folder.display().to_string();
        snapshot.report = self.files.report(&self.folder);
        for job in &mut snapshot.jobs {
            job.report = self.files.job_report(&self.folder, &job.name);
        }
        snapshot
    }

    /// Returns how each job ended; `None` for a job that has not ended, or of which attempts have started since then.
    fn ends(&self, run_is_over: bool) -> Vec<Option<End>> {
        let mut attempts = vec![0; self.followed.builder.timeline().jobs.len()];
        for row in &self.followed.builder.timeline().rows {
            if let Some(count) = attempts.get_mut(row.attempt.task.job.0 as usize) {
                *count += 1;
            }
        }
        let of = |(id, (job, attempts)): (u32, (&TimelineJob, u64))| {
            // A job that goes on after a pause has the summary of its earlier end.
            let is_over = run_is_over || job.finish.or(job.abandoned).is_some();
            let end = self.files.summary(JobId(id), &job.spec.name).filter(|end| end.attempts == attempts);
            end.filter(|_| is_over)
        };
        (0..).zip(self.followed.builder.timeline().jobs.iter().zip(attempts)).map(of).collect()
    }

    fn state(&self) -> State {
        let begun = self.followed.header().is_some();
        match self.held {
            Some(true) if begun => State::Running,
            Some(true) => State::Starting,
            Some(false) => self.ended().unwrap_or(State::Gone),
            None => self.ended().unwrap_or(if begun { State::Running } else { State::Starting }),
        }
    }

    /// Returns how the run ended: as its job, or as that of its jobs which ended worst. `None` if a job has not ended. A job
    /// that has not begun counts as interrupted.
    fn ended(&self) -> Option<State> {
        let jobs = &self.followed.builder.timeline().jobs;
        let finished = |at: usize| jobs.get(at)?.finish.map(|_| State::Done);
        let state = |(at, end): (usize, Option<End>)| end.map(|end| State::from(end.state)).or_else(|| finished(at));
        let several = self.files.has_several_jobs();
        let last = |at: usize| !several || is_last(jobs, at);
        let ends = self.ends(true).into_iter().enumerate().filter(|(at, _)| last(*at));
        let mut states = ends.map(state).collect::<Option<Vec<State>>>()?;
        let names: Vec<&str> = jobs.iter().map(|job| &*job.spec.name).collect();
        states.extend(self.files.not_arrived(&names, 0.0).iter().map(|job| match job.state {
            JobState::Done => State::Done,
            JobState::Failed => State::Failed,
            JobState::Abandoned => State::Abandoned,
            JobState::Waiting | JobState::Running | JobState::Interrupted => State::Interrupted,
        }));
        // A run that has accepted jobs and has none is done once its process has ended.
        if states.is_empty() && !(several && self.followed.header().is_some()) {
            return None;
        }
        let bad = [State::Interrupted, State::Failed, State::Abandoned];
        bad.into_iter().find(|state| states.contains(state)).or(Some(State::Done))
    }
}

/// False if a job of the same name arrived later: the job was submitted again after its end.
fn is_last(jobs: &[TimelineJob], at: usize) -> bool {
    jobs.get(at).is_some_and(|job| jobs[at + 1..].iter().all(|later| later.spec.name != job.spec.name))
}

/// Returns the length of the pauses of a run before a time.
fn paused(job: Option<&JobRecord>, until: Time) -> Time {
    job.map_or(Time::ZERO, |job| job.paused_until(until))
}
