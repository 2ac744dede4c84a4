//! Keeps the jobs that `carbyne` has checked and found without a due task, so that rounds can skip them. For most of
//! these jobs, it is known when their next task is due.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::ops::Bound;

use hindmost_core::ids::JobId;
use hindmost_core::policy::queue_place::Place;
use hindmost_core::time::Time;

/// The jobs that were checked since the last [`CheckedJobs::clear`]. Rounds skip a checked job until
/// [`CheckedJobs::check_again`] is called for it.
#[derive(Debug, Default)]
pub(crate) struct CheckedJobs {
    /// The place of the queue up to which all jobs were checked. Rounds skip them, except the jobs in `again`.
    until: Option<Place>,
    /// The places of jobs to check again. It may contain places whose job has moved to another place since.
    again: BTreeSet<Place>,
    /// The times at which skipped jobs must be checked again.
    due_times: BinaryHeap<Reverse<(Time, JobId)>>,
    /// Times that are not in `due_times` yet. Usually `clear` removes them before the earliest of these times.
    new_due_times: Vec<(Time, JobId)>,
    /// The earliest time in `new_due_times`; not valid if `new_due_times` is empty.
    first_new: Time,
    /// Jobs whose place or due tasks may have changed.
    pub changed: Vec<JobId>,
    /// The number of calls of `clear`.
    pub generation: u64,
}

impl CheckedJobs {
    /// Marks all jobs as not checked.
    pub fn clear(&mut self) {
        self.until = None;
        self.again.clear();
        self.due_times.clear();
        self.new_due_times.clear();
        self.changed.clear();
        self.generation += 1;
    }

    /// Marks the job at this place to be checked again.
    pub fn check_again(&mut self, place: Place) {
        if Some(place) <= self.until {
            self.again.insert(place);
        }
    }

    /// Removes and returns a skipped job that must be checked again at `now` or before; `None` if there is none.
    pub fn next_due(&mut self, now: Time) -> Option<JobId> {
        if self.first_new <= now {
            self.due_times.extend(self.new_due_times.drain(..).map(Reverse));
        }
        self.due_times.peek().filter(|Reverse((at, _))| *at <= now)?;
        self.due_times.pop().map(|Reverse((_, job))| job)
    }

    /// Notes that the job at this place has no due task before `until`. `None`: it has none until
    /// [`CheckedJobs::check_again`] is called for it.
    pub fn skip_until(&mut self, place: Place, until: Option<Time>) {
        self.remove(place);
        let Some(until) = until else { return };
        self.first_new = if self.new_due_times.is_empty() { until } else { self.first_new.min(until) };
        self.new_due_times.push((until, place.job()));
    }

    /// Returns the place of the next job to check again, after a place and up to the last checked place.
    pub fn next(&self, after: Option<Place>) -> Option<Place> {
        // No place in `again` is after `until`.
        if after >= self.until {
            return None;
        }
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.again.range((from, Bound::Unbounded)).next().copied()
    }

    /// Returns the last checked place; `None` if no job was checked.
    pub fn until(&self) -> Option<Place> {
        self.until
    }

    /// Notes that all jobs at this place and before it were checked.
    pub fn checked_until(&mut self, place: Place) {
        if self.until < Some(place) {
            self.until = Some(place);
        }
    }

    /// Removes a place from the places to check again.
    pub fn remove(&mut self, place: Place) {
        if Some(place) <= self.until {
            self.again.remove(&place);
        }
    }
}

/// The next jobs of a queue, looked up several at a time, because in an overloaded cluster hundreds of jobs may precede
/// the first one with a due task.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    /// The places that were looked up, in reverse order: the next place is last.
    places: Vec<Place>,
    /// The number of places in the last look-up.
    most: usize,
}

/// Maximum number of jobs in one look-up.
const MOST_AHEAD: usize = 32;

impl Ahead {
    /// Clears the looked-up places. Call it after the queue or the free resources have changed.
    pub fn clear(&mut self) {
        self.places.clear();
        self.most = 0;
    }

    /// Returns the next place after `after`. `look_up` receives a place and a number, and appends up to that many
    /// places that follow it.
    pub fn next(
        &mut self,
        after: Option<Place>,
        look_up: impl FnOnce(Option<Place>, usize, &mut Vec<Place>),
    ) -> Option<Place> {
        while let Some(place) = self.places.pop() {
            if Some(place) > after {
                return Some(place);
            }
        }
        self.most = (self.most * 2).clamp(1, MOST_AHEAD);
        look_up(after, self.most, &mut self.places);
        self.places.reverse();
        self.places.pop()
    }
}
