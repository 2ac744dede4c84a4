//! The expected ends of attempts in order of time, which can be counted without visiting them.
//!
//! The future is divided into [`BUCKETS`] buckets of equal length. A Fenwick tree holds how many ends are in each, so the
//! number of ends before a time is the sum of `log₂ BUCKETS` numbers and of the ends in two buckets that are only partly
//! in the range. The buckets form a ring that moves on with the clock: every end enters and leaves it at most once.

use std::collections::BTreeSet;

use hindmost_core::ids::{AttemptId, JobId, NodeId, TaskId};
use hindmost_core::time::Time;

/// The expected end of an attempt, with its node.
pub(super) type End = (Time, NodeId, AttemptId);

/// Number of buckets, a power of two.
const BUCKETS: usize = 4096;

/// The smallest id of an attempt.
const FIRST: AttemptId = AttemptId { task: TaskId { job: JobId(0), phase: 0, index: 0 }, copy: 0 };

/// Returns the first end that is possible at a time.
fn first(at: Time) -> End {
    (at, NodeId(0), FIRST)
}

/// The expected ends of attempts.
#[derive(Debug, Default)]
pub(super) struct EndsByTime {
    ends: BTreeSet<End>,
    /// The counts by bucket; `None` until ends are counted for the first time.
    counts: Option<Counts>,
}

impl EndsByTime {
    /// Adds an end. Returns false if it was there.
    pub(super) fn insert(&mut self, end: End) -> bool {
        let is_new = self.ends.insert(end);
        if let Some(counts) = self.counts.as_mut().filter(|_| is_new) {
            counts.change(end.0, 1);
        }
        is_new
    }

    /// Removes an end. Returns false if it was not there.
    pub(super) fn remove(&mut self, end: &End) -> bool {
        let was_there = self.ends.remove(end);
        if let Some(counts) = self.counts.as_mut().filter(|_| was_there) {
            counts.change(end.0, -1);
        }
        was_there
    }

    /// Returns the ends after `now` and before `until`, in order of time and node.
    pub(super) fn between(&self, now: Time, until: Time) -> impl Iterator<Item = &End> {
        let ends = (until > now).then(|| self.ends.range(first(now + Time::TICK)..first(until)));
        ends.into_iter().flatten()
    }

    /// Returns the number of ends after `now` and before `until`. `now` must not be before that of an earlier count.
    pub(super) fn count_between(&mut self, now: Time, until: Time) -> u64 {
        if until <= now {
            return 0;
        }
        let counts = match &mut self.counts {
            Some(counts) if counts.covers(until - now) => counts,
            counts => counts.insert(Counts::new(now, until - now, &self.ends)),
        };
        counts.advance(now, &self.ends);
        let (whole_from, whole_to) = ((now.0 >> counts.shift) + 1, until.0 >> counts.shift);
        if whole_from >= whole_to {
            return self.between(now, until).count() as u64;
        }
        let whole = counts.sum(whole_from, whole_to);
        let (whole_from, whole_to) = (Time(whole_from << counts.shift), Time(whole_to << counts.shift));
        let before = self.between(now, whole_from).count() as u64;
        let after = self.ends.range(first(whole_to)..first(until)).count() as u64;
        before + whole + after
    }
}

/// The numbers of ends in the buckets of the near future.
#[derive(Debug)]
struct Counts {
    /// A bucket has 2^shift ticks.
    shift: u32,
    /// Number of the first bucket of the ring, counted from the start of time.
    base: u64,
    /// A Fenwick tree over the places of the ring: place of a bucket = its number modulo [`BUCKETS`].
    tree: Vec<i64>,
}

impl Counts {
    /// Creates counts that cover spans of at least `span` from `now` on.
    fn new(now: Time, span: Time, ends: &BTreeSet<End>) -> Counts {
        let least = span.0 / (BUCKETS as u64 / 4) + 1;
        let shift = u64::BITS - least.leading_zeros();
        let mut counts = Counts { shift, base: now.0 >> shift, tree: vec![0; BUCKETS + 1] };
        let first_tick = Time(counts.base << shift);
        for end in ends.range(first(first_tick)..) {
            counts.change(end.0, 1);
        }
        counts
    }

    fn covers(&self, span: Time) -> bool {
        (span.0 >> self.shift) + 2 < BUCKETS as u64
    }

    /// Adds to the count of the bucket at a time, if the ring has it.
    fn change(&mut self, at: Time, by: i64) {
        let bucket = at.0 >> self.shift;
        if (self.base..self.base + BUCKETS as u64).contains(&bucket) {
            let mut place = bucket as usize % BUCKETS + 1;
            while place <= BUCKETS {
                self.tree[place] += by;
                place += place & place.wrapping_neg();
            }
        }
    }

    /// Moves the ring on to the bucket of `now`.
    fn advance(&mut self, now: Time, ends: &BTreeSet<End>) {
        let (old, new) = (self.base, now.0 >> self.shift);
        if new <= old {
            return;
        }
        let size = BUCKETS as u64;
        let start = |bucket: u64| first(Time(bucket.saturating_mul(1 << self.shift)));
        let passed = ends.range(start(old)..start(new.min(old + size)));
        let passed: Vec<Time> = passed.map(|end| end.0).collect();
        let entering: Vec<Time> =
            ends.range(start((old + size).max(new))..start(new + size)).map(|end| end.0).collect();
        for at in passed {
            self.change(at, -1);
        }
        self.base = new;
        for at in entering {
            self.change(at, 1);
        }
    }

    /// Returns the number of ends in the places before `place`.
    fn before(&self, place: usize) -> i64 {
        let (mut place, mut sum) = (place, 0);
        while place > 0 {
            sum += self.tree[place];
            place &= place - 1;
        }
        sum
    }

    /// Returns the number of ends in the buckets from `from` to before `to`, all of which the ring has.
    fn sum(&self, from: u64, to: u64) -> u64 {
        let (start, end) = (from as usize % BUCKETS, to as usize % BUCKETS);
        let sum = if start < end {
            self.before(end) - self.before(start)
        } else {
            self.before(BUCKETS) - self.before(start) + self.before(end)
        };
        sum.unsigned_abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(at: u64, node: u32) -> End {
        (Time(at), NodeId(node), FIRST)
    }

    #[test]
    fn counts_are_those_of_a_visit() {
        // Numbers by a linear congruence, so that failures can be repeated.
        let mut state = 1_u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for span in [3_u64, 1_000, 5_000_000, 40_000_000_000_000] {
            let mut ends = EndsByTime::default();
            let mut now = 0;
            for step in 0..3000 {
                // Some ends lie in the past, and some far beyond the ring.
                let at = (now + draw(span * 20)).saturating_sub(span / 2);
                ends.insert(end(at, draw(4) as u32));
                if step % 3 == 0
                    && let Some(gone) = ends.ends.iter().nth(draw(ends.ends.len() as u64) as usize).copied()
                {
                    ends.remove(&gone);
                }
                if step % 5 == 0 {
                    now += draw(if step % 700 == 0 { span * 30_000 } else { span });
                    let until = now + draw(span * 3);
                    let visited = ends.between(Time(now), Time(until)).count() as u64;
                    assert_eq!(ends.count_between(Time(now), Time(until)), visited, "{span} {step}");
                }
            }
            assert!(ends.counts.is_some());
        }
    }

    #[test]
    fn ends_at_the_borders_do_not_count() {
        let mut ends = EndsByTime::default();
        for at in [9, 10, 11, 19, 20, 21] {
            ends.insert(end(at, 0));
        }
        assert_eq!(ends.count_between(Time(10), Time(20)), 2);
        assert_eq!(ends.count_between(Time(10), Time(10)), 0);
        assert_eq!(ends.count_between(Time(20), Time(1 << 60)), 1);
    }
}
