//! Which jobs of a queue need not be asked again whether they have something to start at once: most have put their
//! tasks off until a time that they know.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::ops::Bound;

use hindmost_core::ids::JobId;
use hindmost_core::policy::queue_place::Place;
use hindmost_core::time::Time;

/// The jobs that were asked since the last [`AskedJobs::forget`].
#[derive(Debug, Default)]
pub(crate) struct AskedJobs {
    /// Jobs in this place of the queue and before sleep, except those that are awake.
    until: Option<Place>,
    /// Jobs to be asked again. Some are no longer in these places.
    awake: BTreeSet<Place>,
    /// When jobs that sleep are to be asked again.
    wakes: BinaryHeap<Reverse<(Time, JobId)>>,
    /// Those of `wakes` that are not in there yet: mostly all is forgotten before the first of them is due.
    new_wakes: Vec<(Time, JobId)>,
    /// The first of these; without any, whatever there was.
    first_new: Time,
    /// Jobs of which the place may have changed, or what they would answer.
    pub touched: Vec<JobId>,
    /// Counts how often all was forgotten.
    pub generation: u64,
}

impl AskedJobs {
    /// All jobs are to be asked.
    pub fn forget(&mut self) {
        self.until = None;
        self.awake.clear();
        self.wakes.clear();
        self.new_wakes.clear();
        self.touched.clear();
        self.generation += 1;
    }

    /// A job is to be asked, if it is in this place.
    pub fn wake(&mut self, place: Place) {
        if Some(place) <= self.until {
            self.awake.insert(place);
        }
    }

    /// The next job whose time has come.
    pub fn next_due(&mut self, now: Time) -> Option<JobId> {
        if self.first_new <= now {
            self.wakes.extend(self.new_wakes.drain(..).map(Reverse));
        }
        self.wakes.peek().filter(|Reverse((at, _))| *at <= now)?;
        self.wakes.pop().map(|Reverse((_, job))| job)
    }

    /// A job has nothing to start before this time.
    pub fn sleep(&mut self, place: Place, until: Option<Time>) {
        self.remove(place);
        let Some(until) = until else { return };
        self.first_new = if self.new_wakes.is_empty() { until } else { self.first_new.min(until) };
        self.new_wakes.push((until, place.job()));
    }

    /// The next job to be asked after a place, of those that are not beyond all that were asked.
    pub fn next(&self, after: Option<Place>) -> Option<Place> {
        // None is awake beyond those that were asked.
        if after >= self.until {
            return None;
        }
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.awake.range((from, Bound::Unbounded)).next().copied()
    }

    /// The last place of those that were asked.
    pub fn until(&self) -> Option<Place> {
        self.until
    }

    /// All jobs in this place and before were asked.
    pub fn asked_until(&mut self, place: Place) {
        if self.until < Some(place) {
            self.until = Some(place);
        }
    }

    /// The place is no longer anybody's.
    pub fn remove(&mut self, place: Place) {
        if Some(place) <= self.until {
            self.awake.remove(&place);
        }
    }
}

/// The next jobs of a queue, looked up several at once: in an overloaded cluster hundreds have nothing due before one has.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    /// The next one last.
    places: Vec<Place>,
    /// So many were looked up at once.
    most: usize,
}

/// So many jobs are looked up at once, at most.
const MOST_AHEAD: usize = 32;

impl Ahead {
    /// The queue has changed, or what fits.
    pub fn forget(&mut self) {
        self.places.clear();
        self.most = 0;
    }

    /// The next job after a place; `look_up` appends so many.
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
