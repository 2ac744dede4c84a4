//! The queue of jobs with pending tasks, sorted by a policy's order.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::cluster::{Applied, Cluster, Job};
use crate::ids::{AttemptId, JobId, TaskId};
use crate::record::Event;

use super::order::{Concerned, Order};
use super::queue_place::{Place, Which, add_after, first_of, next_after, ordered};
use super::runnable_by_demand::{Stuck, Waiting};

/// Maximum number of changed keys in the log. Beyond it, the log is cleared.
const MOST_CHANGES: usize = 4096;

/// The jobs with pending tasks in open phases, sorted by a policy's order.
pub struct JobQueue {
    order: Box<dyn Order>,
    /// Places of the queued jobs with a started attempt.
    started: BTreeSet<Place>,
    /// Places of the queued jobs without a started attempt.
    new: BTreeSet<Place>,
    /// The place of each queued job, and whether the job has a started attempt.
    places: FxHashMap<JobId, (Place, bool)>,
    /// The queued jobs by the demands of their pending tasks; `None` on one-slot machines, where every copy takes one
    /// slot.
    waiting: Option<Waiting>,
    /// Log of jobs whose keys changed without an event about them. See [`JobQueue::changed_since`].
    changed: Vec<JobId>,
    /// Number of earlier changes, which are no longer in the log.
    changes_before: u64,
    /// Jobs that have started tasks since they got their place, so that the place may be outdated.
    stale: Vec<JobId>,
    /// Attempts for which a backup was requested, if the order serves requests.
    requests: Vec<AttemptId>,
}

impl JobQueue {
    /// Creates an empty queue in this order.
    pub fn new(order: Box<dyn Order>) -> JobQueue {
        let places = FxHashMap::default();
        let (started, new) = (BTreeSet::new(), BTreeSet::new());
        JobQueue {
            order,
            started,
            new,
            places,
            waiting: None,
            changed: Vec::new(),
            changes_before: 0,
            stale: Vec::new(),
            requests: Vec::new(),
        }
    }

    /// Returns the number of queued jobs: those with pending tasks in open phases.
    pub fn jobs(&self) -> usize {
        self.places.len()
    }

    /// Returns the number of queued jobs without a started attempt.
    pub fn new_jobs(&self) -> usize {
        self.new.len()
    }

    /// Returns the queued jobs without a started attempt, in order.
    pub fn iter_new(&self) -> impl Iterator<Item = JobId> + '_ {
        self.new.iter().map(|place| place.job)
    }

    /// Returns the place of the first selected job or, if `after` is a place, of the first one after that place. `None`
    /// if there is no such job.
    pub fn next(&self, which: Which, after: Option<Place>) -> Option<Place> {
        first_of(which, next_after(&self.started, after), next_after(&self.new, after))
    }

    /// As [`JobQueue::next`], but skips jobs without a pending task that fits on a node now, and jobs of which the
    /// order permits no task to start ([`Order::blocked_until`]). Demands that fit on no node are added to `stuck`;
    /// they need not be tried again until free resources grow.
    pub fn next_that_fits(
        &self,
        which: Which,
        mut after: Option<Place>,
        stuck: &mut Stuck,
        cluster: &Cluster,
    ) -> Option<Place> {
        loop {
            let next = match &self.waiting {
                Some(waiting) => waiting.next(which, after, stuck, |demand| cluster.fits_somewhere(demand)),
                None => self.next(which, after),
            }?;
            after = self.order.blocked_until(next);
            if after.is_none() {
                return Some(next);
            }
        }
    }

    /// Appends to `places` the places that repeated calls of [`JobQueue::next_that_fits`] return, until `places` has
    /// `most` entries or no job is left.
    pub(super) fn next_ones_that_fit(
        &self,
        which: Which,
        mut after: Option<Place>,
        most: usize,
        stuck: &mut Stuck,
        cluster: &Cluster,
        places: &mut Vec<Place>,
    ) {
        let sets = match &self.waiting {
            None => Some((&self.started, &self.new)),
            Some(waiting) => waiting.of_one_demand(|demand| stuck.is_empty() && cluster.fits_somewhere(demand)),
        };
        if let Some((started, new)) = sets {
            let may = |place| self.order.blocked_until(place).is_none();
            add_after((which, started, new), after, most, may, places);
        }
        // The loop above stops at a job of which the order permits no task to start. From there on, search job by job.
        while places.len() < most {
            after = places.last().copied().or(after);
            let Some(next) = self.next_that_fits(which, after, stuck, cluster) else { return };
            places.push(next);
        }
    }

    /// Returns true if another job must go next, because the key of `job` has changed: the other job is after the place
    /// `after` and comes before the new place of `job`. Always false if the jobs of this order do not take turns.
    pub fn should_yield(&self, job: JobId, which: Which, after: Option<Place>, cluster: &Cluster) -> bool {
        if !self.order.takes_turns() {
            return false;
        }
        let Some(place) = self.place_of(job, cluster) else { return true };
        // The queue still has the job in its old place, which is skipped. Another job goes next if its place is before
        // the new place.
        let mut other = self.next(which, after);
        if other.is_some_and(|other| other.job == job) {
            other = self.next(which, other);
        }
        other.is_some_and(|other| other < place)
    }

    /// Keeps a request for a backup of an attempt, if the order serves requests.
    pub(super) fn request(&mut self, attempt: AttemptId) {
        if self.order.serves_requests() {
            self.requests.push(attempt);
        }
    }

    /// Removes and returns the requests for backups.
    pub(super) fn take_requests(&mut self) -> Vec<AttemptId> {
        std::mem::take(&mut self.requests)
    }

    fn place_of(&self, job: JobId, cluster: &Cluster) -> Option<Place> {
        let found = cluster.job(job).filter(|found| found.runnable() > 0)?;
        let class = u8::from(self.order.started_first() && found.started().is_none());
        Some(Place { class, key: ordered(self.order.key(found, cluster)), job })
    }

    /// Moves a job to its current place, or removes it from the queue if it has no pending tasks.
    pub fn refresh(&mut self, job: JobId, cluster: &Cluster) {
        let place = self.place_of(job, cluster);
        let started = cluster.job(job).is_some_and(|found| found.started().is_some());
        let now = place.map(|place| (place, started));
        let before = self.places.get(&job).copied();
        if !cluster.dimensions().is_one_slot() {
            let waiting = self.waiting.get_or_insert_default();
            match (place, cluster.job(job)) {
                (Some(place), Some(found)) => waiting.set(place, found),
                _ => waiting.remove(job),
            }
        }
        if now == before {
            return;
        }
        if let Some((place, started)) = before {
            let set = if started { &mut self.started } else { &mut self.new };
            set.remove(&place);
        }
        match now {
            Some((place, started)) => {
                let set = if started { &mut self.started } else { &mut self.new };
                set.insert(place);
                self.places.insert(job, (place, started));
            }
            None => {
                self.places.remove(&job);
            }
        }
    }

    /// Returns false if the order does not let the task have another copy now: see [`Order::permits`].
    pub fn permits(&mut self, task: TaskId, cluster: &Cluster) -> bool {
        self.order.permits(task, cluster)
    }

    /// Returns the order's slack: see [`Order::slack`].
    pub(super) fn slack(&self) -> f64 {
        self.order.slack()
    }

    /// Returns the slack that a task needs for another copy: see [`Order::slack_needed`].
    pub(super) fn slack_needed(&self, task: TaskId, cluster: &Cluster) -> f64 {
        self.order.slack_needed(task, cluster)
    }

    /// Must be called after a copy of the task was started in a round.
    pub(super) fn started(&mut self, task: TaskId, cluster: &Cluster) {
        self.order.started(task, cluster);
        if self.stale.last() != Some(&task.job) {
            self.stale.push(task.job);
        }
    }

    /// Must be called after a job was abandoned or given up.
    pub(super) fn abandoned(&mut self, job: JobId, cluster: &Cluster) {
        self.requests.retain(|attempt| attempt.task.job != job);
        let concerned = self.order.abandoned(job, cluster);
        self.refresh(job, cluster);
        self.refresh_concerned(concerned, cluster);
    }

    /// Moves the jobs that have started tasks to their current places. A job moves once, however many tasks it has
    /// started.
    pub(super) fn settle(&mut self, cluster: &Cluster) {
        if self.stale.is_empty() {
            return;
        }
        let mut stale = std::mem::take(&mut self.stale);
        if stale.len() > 1 {
            stale.sort_unstable();
            stale.dedup();
        }
        for job in stale.drain(..) {
            self.refresh(job, cluster);
        }
        // Keep the empty list to reuse its memory.
        self.stale = stale;
    }

    /// Returns a job's current key as bits that sort as keys do. The job need not have pending tasks.
    pub fn key_of(&self, job: &Job, cluster: &Cluster) -> u64 {
        ordered(self.order.key(job, cluster))
    }

    /// Returns true if starting a task changes its job's key.
    pub fn takes_turns(&self) -> bool {
        self.order.takes_turns()
    }

    /// Returns how many times so far a job's key has changed without an event about that job.
    pub fn changes(&self) -> u64 {
        self.changes_before + self.changed.len() as u64
    }

    /// Returns the jobs whose keys have changed since [`JobQueue::changes`] returned `changes`. `None` if these changes
    /// are no longer in the log, or if all keys may have changed.
    pub fn changed_since(&self, changes: u64) -> Option<&[JobId]> {
        let from = changes.checked_sub(self.changes_before)?;
        self.changed.get(from as usize..)
    }

    /// Observes an event after it was applied, and moves the jobs whose keys it changed.
    pub fn observe(&mut self, event: &Event, applied: Applied, cluster: &Cluster) {
        let concerned = self.order.observe(event, applied, cluster);
        let its_job = matches!(concerned, Concerned::ItsJob | Concerned::These(_));
        self.refresh_concerned(concerned, cluster);
        if its_job {
            self.refresh_its_job(event, applied, cluster);
        }
    }

    /// Moves the jobs whose keys have changed, except the job that an event is about.
    fn refresh_concerned(&mut self, concerned: Concerned, cluster: &Cluster) {
        match concerned {
            Concerned::Nobody | Concerned::ItsJob => {}
            Concerned::AllJobs => {
                self.forget_changes();
                // Skip a number, so that `changed_since` returns `None` for every number that a caller can have.
                self.changes_before += 1;
                let jobs: Vec<JobId> = cluster.jobs().map(Job::id).collect();
                for job in jobs {
                    self.refresh(job, cluster);
                }
            }
            Concerned::These(jobs) => {
                if self.changed.len() > MOST_CHANGES {
                    self.forget_changes();
                }
                for job in &jobs {
                    self.refresh(*job, cluster);
                }
                self.changed.extend(jobs);
            }
        }
    }

    fn forget_changes(&mut self) {
        self.changes_before += self.changed.len() as u64;
        self.changed.clear();
    }

    fn refresh_its_job(&mut self, event: &Event, applied: Applied, cluster: &Cluster) {
        let job = match event {
            Event::JobArrived { job, .. } | Event::DurationsLearned { job, .. } | Event::JobGivenUp { job } => *job,
            Event::TaskWithheld { task, .. } | Event::TaskReturned { task } | Event::TaskGivenUp { task } => task.job,
            Event::AttemptFinished { attempt }
            | Event::AttemptFailed { attempt, .. }
            | Event::AttemptStopped { attempt } => {
                if !applied.makes_pending() && !self.places.contains_key(&attempt.task.job) {
                    return;
                }
                attempt.task.job
            }
            _ => return,
        };
        self.refresh(job, cluster);
    }
}
