//! Runs of several jobs: jobs that arrive while others run, and how such a run is resumed.
//!
//! Each job has a folder of its own, which holds everything but the journal. The journal is in the folder of the run. A run of
//! several jobs that is resumed begins again: its journal is put away, and each job arrives with the results that it has.
//! Attempts that still ran are stopped, and those that ended well count.

use hindmost_core::ids::JobId;
use hindmost_core::record::{Change, Event, Record};

use super::again::Again;
use super::arrivals::{Arrival, arrival, live_job};
use super::jobs::LiveJob;
use super::options::{check_features, check_fits};
use super::permanent::FailedAgain;
use super::{Driver, Follower, RunError, RunOptions, journal, recheck, what_counts};
use crate::engine::Engine;
use crate::store::Opened;

/// Prepares the folders of a run of several jobs. Commits what has ended well, stops what still runs, leaves out the jobs
/// that have all of their results, and puts the journal away. `records` are those of the run's journal. If no job is left and no
/// other may arrive (`is_closed`), the journal stays: there is nothing to run.
///
/// # Errors
/// If a task that may not run twice would have to, or a folder can't be changed.
pub(super) fn begin_again(
    (home, jobs): (&mut Opened, &mut Vec<Opened>),
    (records, is_closed): (Option<&[Record]>, bool),
    options: &RunOptions,
    engine: &mut dyn Engine,
    follower: &mut dyn Follower,
) -> Result<(), RunError> {
    // Before anything of another job is stopped.
    for opened in jobs.iter() {
        recheck::may_begin_again(&opened.plan, &opened.store, engine)?;
    }
    for opened in jobs.iter_mut() {
        job_begins_again(opened, records, options, engine, follower)?;
    }
    let mut kept = Vec::new();
    for opened in std::mem::take(jobs) {
        let given_up = what_counts::given_up(&opened.plan, &opened.store, &[], &[]);
        let valid = what_counts::valid_results(&opened.plan, &opened.store, &given_up)?;
        if valid.union(&given_up).count() as u64 == opened.plan.tasks() {
            follower.message(&format!(
                "job {} is already done: its results are in {}",
                opened.plan.name,
                opened.store.folder().display()
            ));
        } else {
            forget_end(&opened)?;
            kept.push(opened);
        }
    }
    *jobs = kept;
    if !jobs.is_empty() || !is_closed {
        home.store.begin_again(&home.plan, &[], Vec::new())?;
    }
    Ok(())
}

/// Prepares the folder of one of several jobs that begins again: commits what has ended well, and stops what still runs.
/// `records` are those of the run in which the job was last active.
fn job_begins_again(
    opened: &mut Opened,
    records: Option<&[Record]>,
    options: &RunOptions,
    engine: &mut dyn Engine,
    follower: &mut dyn Follower,
) -> Result<(), RunError> {
    let Opened { store, changed, plan, tasks, redo, .. } = opened;
    let own = records.and_then(|records| Some(LiveJob::records(arrived(records, &plan.name)?, records)));
    let (retry, held) = (options.retry_failed, own.as_deref().unwrap_or_default());
    let failed = FailedAgain::of(plan, store, retry, changed, (tasks, redo), held);
    let again = Again::of(plan, store, own.as_deref(), failed, tasks, redo)?;
    for line in again.messages() {
        follower.message(&format!("{}: {line}", plan.name));
    }
    recheck::begin_again(&again, plan, store, own.as_deref(), engine, follower)
}

/// Removes the summary of a job that was done and has to run again, so that nobody takes the job for done meanwhile.
fn forget_end(opened: &Opened) -> Result<(), RunError> {
    let folder = opened.store.folder();
    opened.store.forget_done().map_err(|error| RunError::Io { path: folder.into(), error })
}

/// Returns the number of the job of this name that arrived last according to a journal.
fn arrived(records: &[Record], name: &str) -> Option<JobId> {
    let mut jobs = records.iter().rev().filter_map(|record| match &record.change {
        Change::Event(Event::JobArrived { job, spec }) if *spec.name == *name => Some(*job),
        _ => None,
    });
    jobs.next()
}

impl Driver<'_> {
    /// Lets the jobs arrive that have been submitted since the last call.
    pub(super) fn submitted(&mut self) -> Result<(), RunError> {
        while self.may_arrive() {
            let Some(opened) = self.submissions.next(self.engine.nodes()) else { return Ok(()) };
            let name = opened.plan.name.clone();
            match self.admit(opened) {
                Ok((job, mut arrival)) => {
                    arrival.spec.arrival = self.engine.now();
                    let failures = self.jobs[job].store.earlier_failures();
                    self.arrive(job, arrival, &failures)?;
                    self.learner.set_due();
                }
                Err(why) => self.submissions.refused(&name, &why),
            }
        }
        Ok(())
    }

    /// Adds a submitted job to those of the run.
    ///
    /// # Errors
    /// If it can't run on the nodes, has all of its results, or the profiles of earlier runs can't be read. Then the run goes on
    /// without it.
    fn admit(&mut self, mut opened: Opened) -> Result<(JobId, Arrival), RunError> {
        check_fits(&opened.plan, self.engine.nodes())?;
        check_features(&opened.plan, &self.header.dimensions)?;
        if !opened.is_new() {
            self.recorder.journal.sync()?;
            let held = self.home().map(journal::read).transpose()?.flatten();
            let records = held.as_ref().map(|(_, records)| records.as_slice());
            job_begins_again(&mut opened, records, self.options, self.engine, self.follower)?;
        }
        let arrival = arrival(&opened.plan, &opened.store)?;
        forget_end(&opened)?;
        let id = self.jobs.next();
        let job = live_job(id, opened, self.options, self.header.knowledge, &mut self.learner)?;
        self.jobs.add(job);
        Ok((id, arrival))
    }

    /// Ends a run of which every job has ended.
    pub(super) fn close(mut self) -> Result<(), RunError> {
        if let Some(home) = &self.home {
            recheck::kill(&home.run(), self.engine, self.follower);
        }
        self.recorder.journal.sync()
    }

    /// Gives up a job that has ended before it was done, if other jobs go on.
    pub(super) fn leave_to_others(&mut self, job: JobId) -> Result<(), RunError> {
        let is_known = self.session.cluster().job(job).is_some_and(|found| !found.is_over());
        if self.home.is_some() && is_known && !self.is_stopped {
            self.happen(&Event::JobGivenUp { job })?;
        }
        Ok(())
    }
}
