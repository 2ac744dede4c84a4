//! The jobs that `carbyne` has checked and found without a due task, so that a round can skip them. Most jobs have
//! delayed their tasks until a known time.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::ops::Bound;

use hindmost_core::ids::JobId;
use hindmost_core::policy::queue_place::Place;
use hindmost_core::time::Time;

/// The jobs that were checked since the last [`CheckedJobs::forget`]. A checked job sleeps until it is woken or its
/// time comes.
#[derive(Debug, Default)]
pub(crate) struct CheckedJobs {
    /// Jobs at this place of the queue and before it sleep, except those in `awake`.
    until: Option<Place>,
    /// Places of jobs to check again. Some may be out of date: the job has another place now.
    awake: BTreeSet<Place>,
    /// The times at which sleeping jobs must be checked again.
    wakes: BinaryHeap<Reverse<(Time, JobId)>>,
    /// Times not yet added to `wakes`. Usually `forget` clears them before the first of them is due.
    new_wakes: Vec<(Time, JobId)>,
    /// The earliest of `new_wakes`. Not valid if `new_wakes` is empty.
    first_new: Time,
    /// Jobs whose place or due tasks may have changed.
    pub touched: Vec<JobId>,
    /// The number of calls of `forget`.
    pub generation: u64,
}

impl CheckedJobs {
    /// Marks all jobs as not checked.
    pub fn forget(&mut self) {
        self.until = None;
        self.awake.clear();
        self.wakes.clear();
        self.new_wakes.clear();
        self.touched.clear();
        self.generation += 1;
    }

    /// Marks the job at this place as to be checked.
    pub fn wake(&mut self, place: Place) {
        if Some(place) <= self.until {
            self.awake.insert(place);
        }
    }

    /// Removes and returns the next sleeping job whose time has come; `None` if there is none at `now`.
    pub fn next_due(&mut self, now: Time) -> Option<JobId> {
        if self.first_new <= now {
            self.wakes.extend(self.new_wakes.drain(..).map(Reverse));
        }
        self.wakes.peek().filter(|Reverse((at, _))| *at <= now)?;
        self.wakes.pop().map(|Reverse((_, job))| job)
    }

    /// Notes that the job at this place has nothing to start before `until`. `None`: not before it is woken.
    pub fn sleep(&mut self, place: Place, until: Option<Time>) {
        self.remove(place);
        let Some(until) = until else { return };
        self.first_new = if self.new_wakes.is_empty() { until } else { self.first_new.min(until) };
        self.new_wakes.push((until, place.job()));
    }

    /// Returns the place of the next job to check again, after a place and up to the last checked place.
    pub fn next(&self, after: Option<Place>) -> Option<Place> {
        // All places in `awake` are at `until` or before it.
        if after >= self.until {
            return None;
        }
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.awake.range((from, Bound::Unbounded)).next().copied()
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

    /// Removes a place at which there is no job to check any more.
    pub fn remove(&mut self, place: Place) {
        if Some(place) <= self.until {
            self.awake.remove(&place);
        }
    }
}

/// The next jobs of a queue, looked up several at a time. In an overloaded cluster, hundreds of jobs may have nothing
/// due before one has.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    /// In reverse order: the next place is last.
    places: Vec<Place>,
    /// The number of places in the last look-up.
    most: usize,
}

/// Maximum number of jobs in one look-up.
const MOST_AHEAD: usize = 32;

impl Ahead {
    /// Clears the looked-up places. Call it after the queue or the free resources have changed.
    pub fn forget(&mut self) {
        self.places.clear();
        self.most = 0;
    }

    /// Returns the next place after a place. `look_up` appends that many places after the given one.
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
